"""Scopes: in which places of an expression a label or a timer is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cepheid.algebra import (
    Alternation,
    Atom,
    Body,
    Iteration,
    Parallel,
    Sequence,
    TimerSignal,
    Timing,
    labels_of,
)
from cepheid.languages.lowering import Lowering

PARALLEL_LIMIT = 32
"""The most || that a rule may have."""


class Hints(NamedTuple):
    """Advice in the words of a language; {name} is the name of what is meant."""

    side: str = "both sides must have an event: [A] [A]* instead of [A]*"
    timer: str = "{name} holds in the second part of its timing operator, outside of ||"
    label: str = (
        "a filter refers to events that come before, on the same side of ||; "
        "put the condition behind where"
    )


CORE_HINTS = Hints()


class Step(NamedTuple):
    """One step down from the root of an expression: the node, and the number of the child."""

    node: Body
    child: int


Path = tuple[Step, ...]


@dataclass(frozen=True)
class Place:
    """A node of an expression and the way to it from the root."""

    node: Body
    path: Path


def children(body: Body) -> tuple[Body, ...]:
    """The parts of an expression, in the order of the text."""
    if isinstance(body, Sequence | Alternation):
        return body.parts
    if isinstance(body, Iteration):
        return (body.body,)
    if isinstance(body, Parallel):
        return (body.left, body.right)
    return (body.first, body.second) if isinstance(body, Timing) else ()


def places(body: Body) -> Iterator[Place]:
    """Every node of an expression, in the order of the text."""
    stack = [Place(body, ())]
    while stack:
        place = stack.pop()
        yield place
        below = [
            Place(child, (*place.path, Step(place.node, number)))
            for number, child in enumerate(children(place.node))
        ]
        stack.extend(reversed(below))


def nullable(body: Body) -> bool:
    """Whether an expression accepts nothing at all."""
    if isinstance(body, Iteration):
        return True
    if isinstance(body, Alternation):
        return any(map(nullable, body.parts))
    below = children(body)
    return bool(below) and all(map(nullable, below))


def timer_reaches(name: str, path: Path) -> bool:
    """Whether a place is in the second part of the timing operator that sets a timer.

    The sides of a parallel expression are detectors of their own, which no timer of the
    surrounding expression reaches.
    """
    for node, child in reversed(path):
        if isinstance(node, Parallel):
            return False
        if isinstance(node, Timing) and node.timer == name:
            return child == 1
    return False


def label_reaches(path: Path, here: Path) -> bool:
    """Whether the event of an atom (at `path`) can be known when another one is tested (`here`)."""
    common = common_steps([path, here])
    if any(isinstance(step.node, Parallel) for step in here[common:]):
        return False
    if common < min(len(path), len(here)):
        ordered = isinstance(here[common].node, Sequence | Timing)
        if ordered and path[common].child < here[common].child:
            return True
    return _repeated(here[: common + 1])


def _repeated(path: Path) -> bool:
    """Whether an earlier round of an iteration can have passed the place."""
    for step in reversed(path):
        if isinstance(step.node, Parallel):
            return False
        if isinstance(step.node, Iteration):
            return True
    return False


def common_steps(paths: list[Path]) -> int:
    """How many steps all paths have in common."""
    shortest = min(map(len, paths))
    for depth in range(shortest):
        first = paths[0][depth]
        if any(p[depth].node is not first.node or p[depth].child != first.child for p in paths):
            return depth
    return shortest


def check_scope(body: Body, lowering: Lowering, hints: Hints = CORE_HINTS) -> None:
    """Report labels and timers where they are not known, and sides of || without an event."""
    found = list(places(body))
    labelled = {place.node.label: place.path for place in found if isinstance(place.node, Atom)}
    for place in found:
        if isinstance(place.node, Atom):
            _check_timers(place.node, place.path, lowering, hints.timer)
            _check_labels(place.node, place.path, labelled, lowering, hints.label)
        elif isinstance(place.node, Parallel):
            _check_sides(place.node, lowering, hints.side)


def _check_sides(parallel: Parallel, lowering: Lowering, hint: str) -> None:
    for side in (parallel.left, parallel.right):
        if nullable(side):
            lowering.error(
                "EMPTY_MATCH",
                f"a side of || in rule {lowering.rule} accepts nothing at all",
                side.span,
                hint=hint,
            )


def _check_timers(atom: Atom, path: Path, lowering: Lowering, hint: str) -> None:
    for item in (*atom.accepts, *atom.domain):
        if isinstance(item, TimerSignal) and not timer_reaches(item.name, path):
            lowering.error(
                "WRONG_STRUCTURE",
                f"timer {item.name} in rule {lowering.rule} is not set here",
                item.span,
                hint=hint.format(name=item.name),
            )


def _check_labels(
    atom: Atom, path: Path, labelled: dict[str | None, Path], lowering: Lowering, hint: str
) -> None:
    for item in (*atom.accepts, *atom.domain):
        for label in sorted(labels_of(item)):
            if not label_reaches(labelled[label], path):
                lowering.error(
                    "WRONG_STRUCTURE",
                    f"event {label} in rule {lowering.rule} is not known in this filter",
                    item.span,
                    hint=hint,
                )
