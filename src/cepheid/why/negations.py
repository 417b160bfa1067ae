"""What must not be in a tree: events that were there, and those that were passed over."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from cepheid.algebra import (
    Attribute,
    Comparison,
    Literal,
    Negation,
    Relation,
    conjuncts,
)
from cepheid.automaton import words as drawn
from cepheid.events import Event
from cepheid.oracle.matches import labelled
from cepheid.oracle.values import (
    Bound,
    Scope,
    Tick,
    bounds,
    holds,
    inside,
    of_type,
    satisfies,
)
from cepheid.why.attempts import Test
from cepheid.why.changes import Change, Remove
from cepheid.why.components import ComponentTests
from cepheid.why.measure import condition_check
from cepheid.why.results import Check
from cepheid.why.words import counted

SHOWN = 2
"""How many of the events that a negation passed over are told."""


class NegationTests(ComponentTests):
    """Tests for negations."""

    def _decided(self, negation: Negation, bound: Bound) -> bool:
        return self._negation_labels(negation) <= bound.keys()

    def _negated(self, negation: Negation, bound: Bound) -> Test:
        low, high = bounds(negation.window, bound, self.world.order)
        scope = self._scope(bound)
        there = [
            event
            for event in self.world.history
            if inside(event, low, high) and of_type(event, negation.predicate)
        ]
        bad = [
            e
            for e in there
            if satisfies(e, negation.predicate, scope) and self._equivalent(bound, e)
        ]
        what = drawn.signal(negation.predicate, negation.label)
        text = f"no {what} {drawn.window(negation.window)}"
        found = self._was_there(bad) if bad else self._looked_at(negation, there, scope)
        check = Check("negation", text, found, not bad, events=tuple(bad or there))
        repairs = [c for e in bad[:1] for c in self._averted(negation, e, bound, (low, high))]
        repairs += self._escaped(negation, bad, bound)
        return Test(check, tuple(repairs), times=max(len(bad), 1))

    def _was_there(self, bad: list[Event]) -> str:
        verb = "was" if len(bad) == 1 else "were"
        return f"{self.means.words.events(bad)} {verb} there"

    def _looked_at(self, negation: Negation, there: list[Event], scope: Scope) -> str:
        """What a negation that holds has seen."""
        if not there:
            return "none is there"
        noun = f"{' or '.join(negation.predicate.types)} event"
        groups: dict[str, dict[str, None]] = {}
        for event in there:
            text, value = self._spared(negation, event, scope)
            groups.setdefault(text, {})[value] = None
        reasons = [f"{text}{_some(list(values))}" for text, values in groups.items()]
        return f"{counted(len(there), noun)} looked at, none {'; none '.join(reasons)}"

    def _spared(self, negation: Negation, event: Event, scope: Scope) -> tuple[str, str]:
        """What an event in the window of a negation lacks to matter, and what it has instead."""
        if id(event) in self._consumed:
            return "that is not used up", ""
        own = replace(scope, own=event)
        for part in conjuncts(negation.predicate.filter):
            if not holds(part, own):
                check = condition_check("filter", part, own, event.type)
                return f"with {check.text}", check.found
        return "of the same key", self.means.words.event(event)

    def _averted(
        self, negation: Negation, event: Event, bound: Bound, window: tuple[float, float]
    ) -> Iterator[Change]:
        """The event is not there, or elsewhere, or another one."""
        words, scope = self.means.words, replace(self._scope(bound), own=event)
        yield Remove(event, words=words)
        low, high = window
        scale = round(high - low) if math.isfinite(high - low) else None
        if math.isfinite(low):
            yield self.means.move(event, int(low) - event.start, scale)
        if math.isfinite(high):
            yield self.means.move(event, int(high) - event.end, scale)
        for part in conjuncts(negation.predicate.filter):
            yield from self.means.solver.make(part, scope, wanted=False)
        for equivalence in self.tree.equivalences:
            yield from self._estranged(equivalence.attribute, event, bound)

    def _escaped(self, negation: Negation, bad: list[Event], bound: Bound) -> Iterator[Change]:
        """The event whose window it is happens so late that nothing bad is left in it."""
        length, high = negation.window.length, negation.window.high
        if not bad or length is None or high is None:
            return
        owner = bound[high.label][0]
        if not isinstance(owner, Tick):
            shift = max(event.start for event in bad) + length - owner.end
            yield self.means.move(owner, shift, length)

    def _estranged(self, attribute: str, event: Event, bound: Bound) -> Iterator[Change]:
        """The event has another key than the match."""
        for _, other in labelled(bound):
            value = other.attributes.get(attribute)
            if value is not None:
                relation = Comparison(Relation.UNEQUAL, Attribute(None, attribute), Literal(value))
                yield from self.means.solver.make(relation, Scope(own=event))
                return


def _some(found: list[str]) -> str:
    """What was found instead; of many, only the first."""
    shown = ", ".join(filter(None, found[:SHOWN]))
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f": {shown}{more}" if shown else ""
