"""What a tree asks of the event of one component: its window, its filters, its policy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cepheid.algebra import (
    Component,
    Expression,
    Policy,
    conjuncts,
)
from cepheid.automaton import words as drawn
from cepheid.events import CompositeEvent, Event
from cepheid.oracle.tree import TreeEvaluator
from cepheid.oracle.values import (
    Bound,
    Tick,
    bounds,
    inside,
)
from cepheid.why.attempts import Means, Test
from cepheid.why.changes import Add, Change, Move, Remove
from cepheid.why.measure import condition_check
from cepheid.why.results import Check
from cepheid.why.words import counted


@dataclass
class ComponentTests(TreeEvaluator):
    """A tree at the moment of one terminator, for looking at single events of a match."""

    means: Means = field(init=False)
    consumers: dict[int, CompositeEvent] = field(init=False)

    def _candidates(self, component: Component, bound: Bound) -> list[Event]:
        assert component.window is not None  # noqa: S101 (only the terminator has no window)
        low, high = bounds(component.window, bound, self.world.order)
        return [
            event
            for event in self.world.history
            if inside(event, low, high) and self._is_candidate(event, component, bound)
        ]

    def _conditions(self) -> list[Expression]:
        return [part for condition in self.tree.conditions for part in conjuncts(condition)]

    def _component_tests(self, component: Component, bound: Bound) -> list[Test]:
        """What is asked of the event of a component, and whether the policy chooses it."""
        found = self._own_tests(component, bound)
        return found + self._selected(component, bound) if _hold(found) else found

    def _own_tests(self, component: Component, bound: Bound) -> list[Test]:
        event = bound[component.label][0]
        found = [self._consumed_test(component, event)] if id(event) in self._consumed else []
        if component.window is not None:
            found.append(self._in_window(component, bound))
        for part in conjuncts(component.predicate.filter):
            if self._labels(part) <= bound.keys():
                found.append(self._condition("filter", part, bound, event, component.label))
        return found

    def _condition(
        self, kind: str, part: Expression, bound: Bound, own: Event | None = None, label: str = ""
    ) -> Test:
        scope = self._scope(bound, own)
        check = condition_check(kind, part, scope, label)
        repairs = () if check.holds else tuple(self.means.solver.make(part, scope))
        return Test(check, repairs)

    def _consumed_test(self, component: Component, event: Event) -> Test:
        by = self.consumers.get(id(event))
        words, after = self.means.words, ""
        repairs: list[Change] = [Add(replace(event, id=None), words=words)]
        if by is not None:
            after = f" by {words.event(by)}"
            last = max((e for _, e in by.events), key=self.world.order.key)
            step = self.means.solver.step
            repairs += [
                Remove(last, words=words),
                self.means.move(event, last.end - event.end + step),
            ]
        check = Check(
            "consumed",
            f"{component.label} has not been used up",
            f"{words.event(event)} was used up{after}",
            holds=False,
            events=(event,),
        )
        return Test(check, tuple(repairs))

    # --- windows and policies ------------------------------------------------

    def _in_window(self, component: Component, bound: Bound) -> Test:
        assert component.window is not None  # noqa: S101 (only the terminator has no window)
        event = bound[component.label][0]
        low, high = bounds(component.window, bound, self.world.order)
        held = inside(event, low, high)
        text = f"{component.label} {drawn.window(component.window)}"
        missed = 0 if held else past(event, low, high)
        found = self._distance(component, bound) if held else self._misses(event, low, high)
        check = Check("window", text, found, held, None if held else missed / 1e6, (event,))
        return Test(check, () if held else tuple(self._moves(component, bound, low, high)))

    def _distance(self, component: Component, bound: Bound) -> str:
        parent = bound[component.parent or ""][0]
        event = bound[component.label][0]
        return f"{self.means.words.span(parent.start - event.end)} before it"

    def _misses(self, event: Event, low: float, high: float) -> str:
        words = self.means.words
        if low >= high:
            return "there is no room between the two"
        if event.end >= high:
            if event.end == high:
                return f"it is at {words.time(event.end)}, the very end, which does not count"
            late = words.span(event.end - high)
            return f"it is at {words.time(event.end)}, {late} past the end"
        if event.start == low:
            return f"it is at {words.time(event.start)}, exactly as long before, which is too long"
        early = words.span(low - event.start)
        return f"it is at {words.time(event.start)}, {early} too early"

    def _moves(
        self, component: Component, bound: Bound, low: float, high: float
    ) -> Iterator[Change]:
        """The event moved into the window, or the window to the event."""
        event, parent = bound[component.label][0], bound[component.parent or ""][0]
        if parent.start != parent.end:
            yield Move(parent, parent.end, parent.end, words=self.means.words)
        shift = _shift(event, low, high, self.means.solver.step)
        scale = round(high - low) if math.isfinite(high - low) else None
        if shift is not None and not isinstance(event, Tick):
            yield self.means.move(event, shift, scale)
        if shift is not None and not isinstance(parent, Tick):
            yield self.means.move(parent, -shift, scale)

    def _selected(self, component: Component, bound: Bound) -> list[Test]:
        """Whether the policy chooses the event, given that it is a candidate."""
        if component.selection.policy is Policy.EACH:
            return []
        event = bound[component.label][0]
        candidates = sorted(self._candidates(component, bound), key=self.world.order.key)
        count = component.selection.count
        last = component.selection.policy is Policy.LAST
        picked = candidates[-count:] if last else candidates[:count]
        text = f"{component.label} is {drawn.selection(component.selection)}"
        if any(event is other for other in picked):
            found = f"of {counted(len(candidates), 'candidate')}"
            return [Test(Check("selection", text, found))]
        if not picked:
            return []
        words = self.means.words
        found = f"{words.events(picked)} was chosen instead of {words.event(event)}"
        check = Check("selection", text, found, holds=False, events=(event, *picked))
        return [Test(check, tuple(self._instead(component, event, picked)))]

    def _instead(self, component: Component, event: Event, picked: list[Event]) -> Iterator[Change]:
        rival = picked[0] if component.selection.policy is Policy.LAST else picked[-1]
        sign = 1 if component.selection.policy is Policy.LAST else -1
        shift = rival.end - event.end + sign * self.means.solver.step
        yield Remove(rival, words=self.means.words)
        yield self.means.move(event, shift, abs(shift))


def _hold(tests: list[Test]) -> bool:
    return all(test.check.holds for test in tests)


def past(event: Event, low: float, high: float) -> float:
    """By how many microseconds an event misses an open interval."""
    if low >= high:
        return low - high
    return event.end - high if event.end >= high else low - event.start


def _shift(event: Event, low: float, high: float, step: int) -> int | None:
    """By how much an event must move to lie in an open interval; None when it has no room."""
    length = event.end - event.start
    for size in (step, 1_000, 1):
        first = -math.inf if low == -math.inf else low + size
        last = math.inf if high == math.inf else high - size
        if first + length <= last:
            if event.end > last:
                return int(last - event.end)
            return int(first - event.start)
    return None
