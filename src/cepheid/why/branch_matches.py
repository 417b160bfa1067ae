"""The matches of a detector, looked at one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from cepheid.algebra import (
    Detector,
    EventPredicate,
    Rule,
    conjuncts,
)
from cepheid.automaton import words as drawn
from cepheid.events import Event
from cepheid.oracle.detector import (
    Branch,
    Pair,
    TimerEvent,
)
from cepheid.oracle.matches import World
from cepheid.oracle.values import Scope
from cepheid.why.attempts import Means, Test
from cepheid.why.machines import (
    events_in,
    path_of,
    states_of,
)
from cepheid.why.measure import condition_check
from cepheid.why.results import Check, Place


class DetectorLike(Protocol):
    """What is needed of a detector that remembers."""

    rule: Rule
    detector: Detector
    world: World


@dataclass(frozen=True)
class MatchView:
    """The branches of a detector, looked at one by one."""

    trace: DetectorLike
    means: Means

    def scope(self, branch: Branch) -> Scope:
        """What conditions of a branch speak of."""
        world = self.trace.world
        return Scope(
            branch.bound,
            history=world.history,
            missing=self.trace.rule.missing,
            order=world.order,
        )

    # --- matches -------------------------------------------------------------

    def places(self, branch: Branch) -> Iterator[Place]:
        """The events of a branch, with the states that they led to."""
        states = dict(states_of(branch))
        for label, event in self.trace.world.sorted(branch.constituents):
            state = states.get(id(event), "")
            yield self.means.place(label, event, self._follows(state), state)

    def _follows(self, state: str) -> str:
        steps = [s for s in self.means.automaton.transitions if s.target == state]
        if not steps or steps[0].strong is None:
            return "begins a side of the pair" if "." in state else "begins the match"
        return "strongly after the one before" if steps[0].strong else "after the one before"

    def steps(self, branch: Branch) -> Iterator[Check]:
        """What each event was accepted as, and the timers on the way."""
        words = self.means.words
        for state, event in path_of(branch):
            if isinstance(event, TimerEvent):
                yield Check("time", f"timer {event.type}", f"it fired at {words.time(event.end)}")
            elif not isinstance(event, Pair):
                yield from self._accepted(state, event, branch)

    def _accepted(self, state: str, event: Event, branch: Branch) -> Iterator[Check]:
        for step in self.means.automaton.transitions:
            if step.target != state or step.trigger is None:
                continue
            text = f"{state} takes {drawn.trigger(step.trigger)}"
            values = self._filter_values(step.trigger, event, branch)
            yield Check("filter", text, values or self.means.words.event(event), events=(event,))
            return

    def _filter_values(self, trigger: object, event: Event, branch: Branch) -> str:
        scope = self.scope(branch)
        for element in getattr(trigger, "accepts", ()):
            if isinstance(element, EventPredicate) and event.type in element.types:
                own = Scope(scope.bound, event, missing=scope.missing)
                checks = [
                    condition_check("filter", p, own, event.type) for p in conjuncts(element.filter)
                ]
                if checks:
                    return "; ".join(f"{check.text}: {check.found}" for check in checks)
        return ""

    def whole(self, branch: Branch) -> Iterator[Test]:
        """The condition on the whole match, and its length."""
        scope = self.scope(branch)
        for part in conjuncts(self.trace.detector.where):
            check = condition_check("condition", part, scope)
            repairs = () if check.holds else tuple(self.means.solver.make(part, scope))
            yield Test(check, repairs)
        if self.trace.detector.within is not None:
            yield self._within(branch, self.trace.detector.within)

    def _within(self, branch: Branch, length: int) -> Test:
        events = events_in(branch)
        first, last = min(events, key=lambda e: e.start), max(events, key=lambda e: e.end)
        span, words = last.end - first.start, self.means.words
        over = span - length
        found = words.span(span) + (f", {words.span(over)} too long" if over > 0 else "")
        text = f"from the first to the last event at most {words.span(length)}"
        check = Check("within", text, found, over <= 0, max(over, 0) / 1e6 or None, tuple(events))
        moves = (self.means.move(first, over, length), self.means.move(last, -over, length))
        return Test(check, () if over <= 0 else moves)
