"""Conditions that can be met early: they become part of the description of an atom.

The framework paper filters pairs of events as soon as they are detected (section "Limitations of
Automata"). Where the order of the events of a condition is fixed, this goes one step further: an
event that does not fit is not of the description, so it is ignored like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

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
from cepheid.languages.core.scope import Path, common_steps, places


def in_definite_order(paths: list[Path]) -> bool:
    """Whether atoms stand in the same order in every match: sequences and timings part them."""
    common = common_steps(paths)
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
