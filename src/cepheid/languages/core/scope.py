"""Places in an expression: where labels and timers hold, and which conditions can be met early.

The framework paper filters pairs of events "as soon as they are detected" (section "Limitations
of Automata"). Where the order of the events of a condition is fixed, this goes one step further:
the condition becomes part of the description of the last of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from cepheid.algebra import (
    Alternation,
    And,
    Arithmetic,
    Atom,
    Attribute,
    Body,
    Collected,
    Comparison,
    EventPredicate,
    Expression,
    Iteration,
    Negative,
    Not,
    Or,
    Parallel,
    Sequence,
    TimerSignal,
    Timing,
    conjunction,
    find,
    labels_of,
)


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
    common = _common([path, here])
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


def _common(paths: list[Path]) -> int:
    """How many steps all paths have in common."""
    shortest = min(map(len, paths))
    for depth in range(shortest):
        first = paths[0][depth]
        if any(p[depth].node is not first.node or p[depth].child != first.child for p in paths):
            return depth
    return shortest


def in_definite_order(paths: list[Path]) -> bool:
    """Whether atoms stand in the same order in every match: sequences and timings part them."""
    common = _common(paths)
    return len(paths) == 1 or all(
        isinstance(step.node, Sequence | Timing) for path in paths for step in path[common:]
    )


def push(body: Body, conditions: Iterable[Expression]) -> tuple[Body, list[Expression]]:
    """Move conditions into the atoms that can decide them; those that must wait are given back."""
    labelled = {
        place.node.label: (number, place)
        for number, place in enumerate(places(body))
        if isinstance(place.node, Atom) and place.node.label is not None
    }
    pushed: dict[str, list[Expression]] = {}
    waiting: list[Expression] = []
    for condition in conditions:
        found = {label: labelled[label] for label in labels_of(condition)}
        paths = [place.path for _, place in found.values()]
        if not found or any(find(condition, Collected)) or not in_definite_order(paths):
            waiting.append(condition)
            continue
        last = max(found, key=lambda label: found[label][0])
        pushed.setdefault(last, []).append(_of_the_tested(condition, last))
    return (_rebuild(body, pushed) if pushed else body), waiting


def _of_the_tested(node: Expression, label: str) -> Expression:
    """An expression in which the event under a label is the one being tested."""
    if isinstance(node, Attribute):
        return replace(node, label=None) if node.label == label else node
    if isinstance(node, And | Or):
        return replace(node, operands=tuple(_of_the_tested(part, label) for part in node.operands))
    if isinstance(node, Arithmetic | Comparison):
        left, right = _of_the_tested(node.left, label), _of_the_tested(node.right, label)
        return replace(node, left=left, right=right)
    if isinstance(node, Not | Negative):
        return replace(node, operand=_of_the_tested(node.operand, label))
    return node


def _rebuild(body: Body, pushed: dict[str, list[Expression]]) -> Body:
    if isinstance(body, Atom):
        more = pushed.get(body.label) if body.label is not None else None
        return _narrow(body, more) if more else body
    if isinstance(body, Sequence | Alternation):
        return replace(body, parts=tuple(_rebuild(part, pushed) for part in body.parts))
    if isinstance(body, Iteration):
        return replace(body, body=_rebuild(body.body, pushed))
    if isinstance(body, Parallel):
        return replace(body, left=_rebuild(body.left, pushed), right=_rebuild(body.right, pushed))
    if isinstance(body, Timing):
        return replace(
            body, first=_rebuild(body.first, pushed), second=_rebuild(body.second, pushed)
        )
    return body


def _narrow(atom: Atom, conditions: list[Expression]) -> Atom:
    """An atom whose description also demands conditions: what does not fit is no longer meant.

    The event of a negated atom is one of the domain that is not rejected, so there the rest of
    the domain is narrowed and what is rejected stays.
    """

    def narrowed(item: EventPredicate | TimerSignal) -> EventPredicate | TimerSignal:
        if isinstance(item, TimerSignal):
            return item
        return replace(item, filter=conjunction([*_filters(item), *conditions]))

    domain = tuple(
        narrowed(item) if (item in atom.accepts) is not atom.negated else item
        for item in atom.domain
    )
    accepts = atom.accepts if atom.negated else tuple(map(narrowed, atom.accepts))
    return replace(atom, accepts=accepts, domain=domain)


def _filters(predicate: EventPredicate) -> list[Expression]:
    return [] if predicate.filter is None else [predicate.filter]
