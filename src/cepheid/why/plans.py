"""Plans: the ways in which events can meet the constraints of a collection."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.algebra import (
    Absence,
    Accumulate,
    Alternation,
    Body,
    Conjunction,
    EventPredicate,
    Expression,
    Pick,
    Take,
)
from cepheid.algebra import Sequence as InOrder
from cepheid.events import Event
from cepheid.oracle.collection import Assignment

PLANS = 16
"""How many ways to meet a pattern with alternatives are looked at."""

Leaf = Take | Accumulate | Pick
Bound = dict[str, tuple[Event, ...]]


@dataclass(frozen=True)
class Plan:
    """Constraints that must all be met, each with those that must be complete before it."""

    leaves: tuple[tuple[Leaf, frozenset[str]], ...] = ()
    absences: tuple[Absence, ...] = ()

    def plus(self, other: Plan) -> Plan:
        """Both together."""
        return Plan((*self.leaves, *other.leaves), (*self.absences, *other.absences))

    @property
    def labels(self) -> frozenset[str]:
        """The labels of all constraints."""
        return frozenset(leaf.label for leaf, _ in self.leaves)


def plans(body: Body, after: frozenset[str] = frozenset()) -> list[Plan]:
    """The ways to meet a pattern, one for each choice among alternatives."""
    if isinstance(body, Alternation):
        return [plan for part in body.parts for plan in plans(part, after)][:PLANS]
    if isinstance(body, Conjunction):
        options = [plans(part, after) for part in body.parts]
        chosen = itertools.islice(itertools.product(*options), PLANS)
        return [_joined(parts) for parts in chosen]
    if isinstance(body, InOrder):
        return _in_order(body, after)
    if isinstance(body, Absence):
        return [Plan((), (body,))]
    assert isinstance(body, Take | Accumulate | Pick)  # noqa: S101 (there is no other constraint)
    return [Plan(((body, after),))]


def _joined(parts: Sequence[Plan]) -> Plan:
    whole = Plan()
    for part in parts:
        whole = whole.plus(part)
    return whole


def _in_order(body: InOrder, after: frozenset[str]) -> list[Plan]:
    found: list[tuple[Plan, frozenset[str]]] = [(Plan(), after)]
    for part in body.parts:
        found = [
            (plan.plus(more), more.labels or before)
            for plan, before in found
            for more in plans(part, before)
        ][:PLANS]
    return [plan for plan, _ in found]


def plan_of(body: Body, assignment: Assignment) -> Plan:
    """The way in which an assignment met a pattern."""
    options = [plan for plan in plans(body) if plan.labels == frozenset(assignment.bound)]
    return options[0] if options else Plan()


def types_in(leaf: Leaf) -> tuple[str, ...]:
    """The types of events that a constraint takes."""
    return leaf.types if isinstance(leaf, Pick) else leaf.predicate.types


def condition_of(leaf: Leaf) -> Expression | None:
    """What a constraint asks of each of its events."""
    return leaf.condition if isinstance(leaf, Pick) else leaf.predicate.filter


def predicate_of(leaf: Leaf) -> EventPredicate:
    """What events a constraint takes."""
    if isinstance(leaf, Pick):
        return EventPredicate(leaf.types, leaf.condition)
    return leaf.predicate
