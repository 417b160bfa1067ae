"""Automata as Mermaid state diagrams, which many documents and code hosts draw by themselves."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from cepheid.automaton import words
from cepheid.automaton.model import Automaton, Stage, State, Tie, lane_of

_PLAIN = frozenset(" .,()/=+*$_…'")
_WIDTH = 36


def draw_mermaid(automata: Iterable[Automaton]) -> str:
    """Automata as one state diagram, each in a state of its own.

    Mermaid's states have no dashed lines between them, so what ties states stands in notes.

    >>> import cepheid
    >>> from cepheid.automaton import compile_rule
    >>> (rule,) = cepheid.load("define Visit as [a: Door] ; [b: Person]", language="core")
    >>> print(draw_mermaid([compile_rule(rule)]))
    stateDiagram-v2
      direction LR
      state "Visit#58; Visit" as r0 {
        direction LR
        state "S0" as r0_0
        [*] --> r0_0
        state "S1 a<br/>looks at Person" as r0_1
        state "S2 b" as r0_2
        r0_2 --> [*]
        r0_0 --> r0_1 : Door
        r0_1 --> r0_2 : Person<br/>strongly after
      }
    """
    lines = ["stateDiagram-v2", "  direction LR"]
    for number, automaton in enumerate(automata):
        lines += _automaton(automaton, f"r{number}")
    return "\n".join(lines)


def _automaton(automaton: Automaton, name: str) -> Iterator[str]:
    head = f"{automaton.rule.name}: {words.headline(automaton.rule)}"
    yield f'  state "{_text([head])}" as {name} {{'
    yield "    direction LR"
    ids = {state.name: f"{name}_{place}" for place, state in enumerate(automaton.states)}
    for state in automaton.states:
        yield from _state(automaton, state, ids[state.name])
    for step in automaton.transitions:
        label = _text(words.transition(automaton, step))
        after = f" : {label}" if label else ""
        yield f"    {ids[step.source]} --> {ids[step.target]}{after}"
    for place, notes in _notes(automaton, ids).items():
        yield f"    note right of {place}"
        yield from (f"      {line}" for line in notes)
        yield "    end note"
    yield "  }"


def _state(automaton: Automaton, state: State, name: str) -> Iterator[str]:
    if state.stage in (Stage.FORK, Stage.JOIN, Stage.CHOICE):
        yield f"    state {name} <<{state.stage}>>"
        return
    text = _text([words.title(state), *words.remarks(automaton, state)])
    yield f'    state "{text}" as {name}'
    if state.stage is Stage.START:
        yield f"    [*] --> {name}"
    elif state.stage is Stage.END:
        yield f"    {name} --> [*]"


def _notes(automaton: Automaton, ids: dict[str, str]) -> dict[str, list[str]]:
    """What hangs on states, beside the last state that it hangs on."""
    found: dict[str, list[str]] = {}
    last = automaton.lanes[0].states[-1].name
    for hanging in words.hangings(automaton):
        name = hanging.ends(automaton)[-1]
        found.setdefault(ids[name], []).extend(_lines([hanging.text]))
    for join in automaton.joins:
        why = "the same event in" if join.tie is Tie.SHARED else "a pair with"
        name = join.states[0]
        others = ", ".join(other for other in join.states if lane_of(other) != lane_of(name))
        found.setdefault(ids[name], []).extend(_lines([f"{why} {others}"]))
    for text in words.footnotes(automaton):
        found.setdefault(ids[last], []).extend(_lines([text]))
    return found


def _text(lines: Iterable[str]) -> str:
    return "<br/>".join(_lines(lines))


def _lines(lines: Iterable[str]) -> list[str]:
    """Lines wrapped, and escaped: signs that mean something to Mermaid become their numbers."""
    wrapped = [part for line in lines for part in textwrap.wrap(line, _WIDTH) or [""]]
    return ["".join(map(_escaped, part)) for part in wrapped]


def _escaped(sign: str) -> str:
    return sign if sign.isalnum() or sign in _PLAIN else f"#{ord(sign)};"
