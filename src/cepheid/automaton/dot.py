"""Automata in the DOT language, for Graphviz and whatever else reads it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from cepheid.automaton import words
from cepheid.automaton.model import Automaton, Lane, Stage, State, Tie

_NODE = "shape=box, style=rounded"
_BAR = 'shape=box, style=filled, fillcolor=black, width=0.08, height=0.7, fixedsize=true, label=""'


def draw_dot(automata: Iterable[Automaton]) -> str:
    """Automata as one DOT graph, each in a frame of its own.

    >>> import cepheid
    >>> from cepheid.automaton import compile_rule
    >>> (rule,) = cepheid.load("define Visit as [a: Door] ; [b: Person]", language="core")
    >>> print(draw_dot([compile_rule(rule)]))
    digraph rules {
      rankdir=LR
      node [fontname="sans-serif", fontsize=11]
      edge [fontname="sans-serif", fontsize=10]
      subgraph cluster_0 {
        label="Visit: Visit"
        "0/S0" [label="S0", shape=box, style=rounded]
        "0/S1" [label="S1 a\\nlooks at Person", shape=box, style=rounded]
        "0/S2" [label="S2 b", shape=box, style=rounded, peripheries=2]
        "0/S0" -> "0/S1" [label="Door"]
        "0/S1" -> "0/S2" [label="Person\\nstrongly after"]
      }
    }
    """
    lines = [
        "digraph rules {",
        "  rankdir=LR",
        '  node [fontname="sans-serif", fontsize=11]',
        '  edge [fontname="sans-serif", fontsize=10]',
    ]
    for number, automaton in enumerate(automata):
        lines += _automaton(automaton, number)
    return "\n".join([*lines, "}"])


def _automaton(automaton: Automaton, number: int) -> Iterator[str]:
    yield f"  subgraph cluster_{number} {{"
    head = f"{automaton.rule.name}: {words.headline(automaton.rule)}"
    yield f"    label={_quoted([head, *words.footnotes(automaton)])}"
    prefix = f"{number}/"
    for lane in automaton.lanes:
        for state in lane.states:
            yield f"    {_id(prefix, state.name)} [{_node(automaton, state)}]"
        yield from _steps(automaton, lane, prefix)
    yield from _links(automaton, prefix)
    yield "  }"


def _node(automaton: Automaton, state: State) -> str:
    if state.stage in (Stage.FORK, Stage.JOIN):
        return _BAR
    if state.stage is Stage.CHOICE:
        return 'shape=diamond, width=0.25, height=0.25, label=""'
    label = _quoted([words.title(state), *words.remarks(automaton, state)])
    rings = ", peripheries=2" if state.stage is Stage.END else ""
    return f"label={label}, {_NODE}{rings}"


def _steps(automaton: Automaton, lane: Lane, prefix: str) -> Iterator[str]:
    for step in lane.transitions:
        ends = f"{_id(prefix, step.source)} -> {_id(prefix, step.target)}"
        label = f"label={_quoted(words.transition(automaton, step))}"
        style = ", style=dashed, color=firebrick" if step.failure else ""
        yield f"    {ends} [{label}{style}]"


def _links(automaton: Automaton, prefix: str) -> Iterator[str]:
    """What hangs on states, and what joins them: dashed lines without arrows."""
    for hanging in words.hangings(automaton):
        yield _link(prefix, hanging.ends(automaton), hanging.text, hanging.colour)
    for join in automaton.joins:
        name = "the same event" if join.tie is Tie.SHARED else "a pair"
        for one, other in join.pairs():
            yield _link(prefix, [one, other], name, "gray40")


def _link(prefix: str, ends: list[str], text: str, color: str) -> str:
    one, other = (_id(prefix, name) for name in (ends[0], ends[-1]))
    looks = f"style=dashed, dir=none, constraint=false, color={color}, fontcolor={color}"
    return f"    {one} -> {other} [label={_quoted([text])}, {looks}]"


def _id(prefix: str, name: str) -> str:
    return _quoted([f"{prefix}{name}"])


def _quoted(lines: Iterable[str]) -> str:
    """A string of DOT; lines are wrapped, and joined by the escape for a new line."""
    wrapped = [part for line in lines for part in textwrap.wrap(line, 32) or [""]]
    escaped = [part.replace("\\", "\\\\").replace('"', '\\"') for part in wrapped]
    return '"' + "\\n".join(escaped) + '"'
