"""Automata as plain text: a drawing in lines, from top to bottom.

`○` is a state, `◎` one that completes a match. Below a state stand the steps out of it: the line
that goes down leads to the next state, an arrow to the side names the state it leads to.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from cepheid.automaton import words
from cepheid.automaton.model import (
    Automaton,
    Form,
    Lane,
    Stage,
    State,
    Tie,
    Transition,
    lane_of,
)

WIDTH = 96
_SIGNS = {Stage.END: "◎", Stage.FORK: "╤", Stage.JOIN: "╧", Stage.CHOICE: "◇"}


def draw_text(automaton: Automaton) -> str:
    """An automaton as lines of text.

    >>> import cepheid
    >>> from cepheid.automaton import compile_rule
    >>> (rule,) = cepheid.load("define Visit as [a: Door] ; [b: Person]", language="core")
    >>> print(draw_text(compile_rule(rule)))
    Visit → Visit: detector, eager
    <BLANKLINE>
      ○ S0
      │ Door
      ▼
      ○ S1 a         looks at Person
      │ Person
      │ strongly after
      ▼
      ◎ S2 b
    """
    rule = automaton.rule
    form = f"{words.size(automaton)}, {words.STRATEGY[automaton.form]}"
    blocks = [f"{rule.name} → {words.headline(rule)}: {form}"]
    blocks += ["\n".join(_lane(automaton, lane)) for lane in automaton.lanes]
    below = _below(automaton)
    return "\n\n".join([*blocks, "\n".join(below)] if below else blocks)


def entry(name: str, text: str) -> list[str]:
    """A line with a name in front, wrapped under itself."""
    lines = textwrap.wrap(
        text, WIDTH - 12, break_long_words=False, break_on_hyphens=False, subsequent_indent="  "
    )
    return [f"  {name if not n else '':<10}{line}" for n, line in enumerate(lines or [""])]


def entries(name: str, texts: Iterable[str]) -> list[str]:
    """Several lines, the name in front of the first."""
    return [line for n, text in enumerate(texts) for line in entry("" if n else name, text)]


# --- lanes -------------------------------------------------------------------


def _lane(automaton: Automaton, lane: Lane) -> list[str]:
    order = _ordered(lane)
    lines = [_heading(automaton, lane)] if len(automaton.lanes) > 1 else []
    for state, following in zip(order, [*order[1:], None], strict=True):
        lines += _state(automaton, state)
        steps = [step for step in lane.transitions if step.source == state.name]
        down = [step for step in steps if following and step.target == following.name]
        aside = [step for step in steps if step not in down]
        for step in aside:
            lines += _aside(automaton, step, last=not down and step is aside[-1])
        if down:
            lines += _down(automaton, down)
        elif following:
            lines.append("")
    return lines


def _heading(automaton: Automaton, lane: Lane) -> str:
    if automaton.form is Form.TREE:
        return lane.name
    return f"{lane.name}: each match is a side of a pair" if lane.name else "the whole"


def _ordered(lane: Lane) -> list[State]:
    """Depth first, so that a state stands below one that leads to it wherever that can be."""
    by_name = {state.name: state for state in lane.states}
    following: dict[str, list[str]] = {}
    for step in lane.transitions:
        following.setdefault(step.source, []).append(step.target)
    found: dict[str, None] = {}
    stack = [lane.start.name]
    while stack:
        name = stack.pop()
        if name not in found:
            found[name] = None
            stack += reversed(following.get(name, []))
    return [by_name[name] for name in found]


def _state(automaton: Automaton, state: State) -> list[str]:
    sign = _SIGNS.get(state.stage, "○")
    head = f"  {sign} {words.title(state)}"
    remarks = [*words.remarks(automaton, state), *_shared(automaton, state)]
    if not remarks:
        return [head]
    indent = max(len(head) + 2, 17)
    width = max(WIDTH - indent, 40)
    lines = [line for remark in remarks for line in textwrap.wrap(remark, width)]
    first = f"{head:<{indent}}{lines[0]}"
    bar = "│" if _leads_on(automaton, state) else " "
    return [first, *(f"  {bar:<{indent - 2}}{line}" for line in lines[1:])]


def _leads_on(automaton: Automaton, state: State) -> bool:
    return any(step.source == state.name for step in automaton.transitions)


def _shared(automaton: Automaton, state: State) -> list[str]:
    """Where a state is shared, or half of a pair."""
    found = []
    for join in automaton.joins:
        if state.name in join.states and join.tie is Tie.SHARED:
            others = [lane_of(name) for name in join.states if name != state.name]
            found.append(f"the same event as in {', '.join(others)}")
    return found


def _down(automaton: Automaton, steps: list[Transition]) -> list[str]:
    """The steps to the state below, one after the other."""
    lines: list[str] = []
    for number, step in enumerate(steps):
        lines += ["  │ or"] if number else []
        texts = words.transition(automaton, step)
        lines += [f"  │ {line}" for text in texts for line in _wrapped(text)]
    return [*lines, "  ▼"]


def _aside(automaton: Automaton, step: Transition, *, last: bool) -> list[str]:
    """A step to a state elsewhere in the drawing."""
    sign, bar = ("└─▶", " ") if last else ("├─▶", "│")
    itself = step.source == step.target
    target = "itself" if itself else words.title(automaton.state(step.target))
    texts = words.transition(automaton, step)
    head = f"  {sign} {target}" + (": " if texts else "")
    lines = [line for text in texts for line in _wrapped(text)] or [""]
    return [f"{head}{lines[0]}", *(f"  {bar:<{len(head) - 2}}{line}" for line in lines[1:])]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH - 20, break_long_words=False, break_on_hyphens=False)


# --- below the drawing -------------------------------------------------------


def _below(automaton: Automaton) -> list[str]:
    lines = entries("ties", dict.fromkeys(map(words.constraint, automaton.constraints)))
    lines += entries("absent", map(words.absent, automaton.negations))
    lines += entries("computed", map(words.computed, words.apart(automaton)))
    return lines + entries("whole", words.footnotes(automaton))
