"""What is missing in a tree: events that could be added for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Comparison,
    Component,
    Expression,
    Literal,
    Relation,
    conjunction,
    conjuncts,
    find,
)
from cepheid.algebra import (
    Parameter as ParameterNode,
)
from cepheid.automaton import words as drawn
from cepheid.oracle.matches import labelled
from cepheid.oracle.values import (
    Bound,
    bounds,
    of_type,
)
from cepheid.why.attempts import Test
from cepheid.why.changes import Add, Change
from cepheid.why.components import ComponentTests
from cepheid.why.measure import named, unnamed
from cepheid.why.results import Check

ASKED_TIMES = 2
"""At how many times other rules are asked for an event that is missing."""
PRODUCED_COST = 2.0
"""What it costs more to add an event that a rule should have made."""


class LackTests(ComponentTests):
    """Tests for components that have no event."""

    def _lack(self, component: Component, bound: Bound) -> Test:
        assert component.window is not None  # noqa: S101 (only the terminator has no window)
        low, high = bounds(component.window, bound, self.world.order)
        if self.tree.within is not None:
            ends = [event.end for _, event in labelled(bound)]
            low = max(low, max(ends) - self.tree.within)
        times = self.means.solver.times((low, high), self._scope(bound))
        repairs = tuple(self._added(component, bound, times))
        test = self._missing(component, repairs, f" {drawn.window(component.window)}")
        return replace(test, when=tuple(times[:ASKED_TIMES]))

    def _missing(self, component: Component, repairs: tuple[Change, ...], where: str) -> Test:
        predicate = component.predicate
        asks = tuple(t for t in predicate.types if t in self.means.solver.produced)
        what = drawn.signal(predicate, component.label)
        there = [event for event in self.world.history if of_type(event, predicate)]
        found = f"none of {len(there)} fits" if there else "there is none"
        check = Check("missing", f"{what}{where}", found, holds=False)
        return Test(check, repairs, asks)

    def _added(self, component: Component, bound: Bound, times: list[int]) -> Iterator[Change]:
        solver, predicate = self.means.solver, component.predicate
        ties = [*self._ties(bound), *self._agreements(component, bound)]
        needed = replace(predicate, filter=self._decidable(predicate.filter, bound))
        for time in times:
            draft = solver.draft(needed, self._scope(bound), time, ties)
            if draft is not None:
                extra = PRODUCED_COST if draft.type in solver.produced else 0.0
                yield Add(draft, extra, words=self.means.words)
            else:
                yield from solver.supplied(needed, self._scope(bound), time)

    def _agreements(self, component: Component, bound: Bound) -> Iterator[Expression]:
        """What stands elsewhere in the rule about an event of a component, as its own conditions.

        Only as far as the other events that it speaks of are there.
        """
        known = bound.keys() | {component.label}
        stated = self._conditions() + [
            named(part, other.label)
            for other in self.tree.components
            if other.label in bound
            for part in conjuncts(other.predicate.filter)
        ]
        for part in stated:
            labels = self._labels(part)
            if (
                component.label in labels
                and labels <= known
                and not _computes(part, self._parameters)
            ):
                yield unnamed(part, component.label, self._parameters)

    def _decidable(self, filter_: Expression | None, bound: Bound) -> Expression | None:
        return conjunction([p for p in conjuncts(filter_) if self._labels(p) <= bound.keys()])

    def _ties(self, bound: Bound) -> Iterator[Expression]:
        """What equivalence tests ask of one event more."""
        for equivalence in self.tree.equivalences:
            value = equivalence.value
            for _, event in labelled(bound):
                value = event.attributes.get(equivalence.attribute) if value is None else value
            if value is not None:
                own = Attribute(None, equivalence.attribute)
                yield Comparison(Relation.EQUAL, own, Literal(value))


def _computes(part: Expression, parameters: Mapping[str, Expression]) -> bool:
    """Whether a condition speaks of aggregates, which only the whole match can tell."""
    found = {node.name for node in find(part, ParameterNode)}
    nodes = [part, *(parameters[name] for name in found)]
    return any(next(find(node, Aggregate), None) is not None for node in nodes)
