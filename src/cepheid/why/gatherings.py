"""Collections: why events met all constraints, and which of them was left open."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from cepheid.algebra import (
    Absence,
    Accumulate,
    Attribute,
    Comparison,
    CountWindow,
    Literal,
    Pick,
    Take,
    TimeWindow,
    conjuncts,
)
from cepheid.automaton import words as drawn
from cepheid.events import CompositeEvent, Event
from cepheid.literals import format_value
from cepheid.oracle.collection import Assignment, CollectionEvaluator
from cepheid.oracle.run import partition_of
from cepheid.oracle.values import Scope, collected, inside, related, satisfies, value_of
from cepheid.why.attempts import Aim, Attempt, Means, Test, Told, best
from cepheid.why.changes import ADD_COST, REMOVE_COST, Add, Change, Remove, together
from cepheid.why.lacks import PRODUCED_COST
from cepheid.why.measure import condition_check, seen_by
from cepheid.why.plans import (
    Bound,
    Leaf,
    Plan,
    condition_of,
    plan_of,
    plans,
    predicate_of,
    types_in,
)
from cepheid.why.results import Check, Place
from cepheid.why.runs import key_tests, key_ties
from cepheid.why.words import counted

ATTEMPTS = 8
"""How many attempts are told."""
CANDIDATES = 4
"""How many events are tried for a constraint that takes one."""
BEAM = 12
"""How many partial attempts are followed at a time."""


@dataclass
class CollectionTrace(CollectionEvaluator):
    """Evaluates a collection and remembers what it made of which events."""

    made: dict[str, Assignment] = field(default_factory=dict)
    consumers: dict[int, CompositeEvent] = field(default_factory=dict)

    def _compose(self, assignment: Assignment) -> CompositeEvent:
        found = super()._compose(assignment)
        self.made[str(found.id)] = assignment
        for event in assignment.events:
            self.consumers[id(event)] = found
        return found

    def tell(self, event: CompositeEvent, means: Means) -> Told:
        """Why an event was found."""
        assignment = self.made[str(event.id)]
        view = CollectionView(self, means, frozenset())
        plan = plan_of(self.collection.body, assignment)
        tests = view.tests(plan, assignment.bound)
        checks = tuple(test.check for test in tests)
        places = tuple(view.places(assignment.bound))
        return Told(places, checks, consumed=tuple(assignment.events))

    def averting(self, event: CompositeEvent, means: Means) -> Iterator[Change]:
        """Changes with which an event would not have been found."""
        view = CollectionView(self, means, frozenset())
        plan = plan_of(self.collection.body, self.made[str(event.id)])
        for leaf, _ in plan.leaves:
            for own in self.made[str(event.id)].bound[leaf.label][:1]:
                for part in conjuncts(condition_of(leaf)):
                    yield from means.solver.make(part, view.scope(own), wanted=False)

    def attempts(self, aim: Aim, means: Means) -> list[Attempt]:
        """How far the rule came, the attempts that are nearest to a match first."""
        view = CollectionView(self, means, frozenset(self._consumed))
        found = [one for plan in plans(self.collection.body) for one in view.attempts(plan, aim)]
        return best(found, aim, ATTEMPTS)


@dataclass(frozen=True)
class CollectionView:
    """A collection with all events, for looking at single matches and attempts."""

    trace: CollectionTrace
    means: Means
    consumed: frozenset[int]

    @property
    def history(self) -> list[Event]:
        """All events so far."""
        return self.trace.world.history

    def scope(self, own: Event | None = None) -> Scope:
        """What conditions speak of."""
        return Scope(own=own, history=self.history, missing=self.trace.rule.missing)

    def places(self, bound: Bound) -> Iterator[Place]:
        """The events of a match or an attempt."""
        pairs = [(label, event) for label, events in bound.items() for event in events]
        for label, event in self.trace.world.sorted(pairs):
            yield self.means.place(label, event, "the oldest that was free")

    # --- attempts ------------------------------------------------------------

    def attempts(self, plan: Plan, aim: Aim) -> list[Attempt]:
        """The ways to meet a plan that cost least."""
        beam: list[tuple[float, Bound]] = [(0.0, {})]
        for leaf, after in plan.leaves:
            beam = sorted(
                (
                    more
                    for cost, bound in beam
                    for more in self._longer(cost, bound, leaf, after, aim)
                ),
                key=lambda scored: scored[0],
            )[:BEAM]
        return [
            Attempt(tuple(self.places(bound)), tuple(self.tests(plan, bound, aim)))
            for _, bound in beam
        ]

    def _longer(
        self, cost: float, bound: Bound, leaf: Leaf, after: frozenset[str], aim: Aim
    ) -> Iterator[tuple[float, Bound]]:
        """An attempt with each of the best choices for a constraint, and without any."""
        yield cost + ADD_COST, {**bound, leaf.label: ()}
        weights = (
            (self._weight(event, leaf, bound, after) + aim.distance([event]), number)
            for number, event in enumerate(self.history)
            if event.type in types_in(leaf)
        )
        weighed = sorted(pair for pair in weights if pair[0] < math.inf)
        if isinstance(leaf, Take) and leaf.count == 1:
            for weight, number in weighed[:CANDIDATES]:
                yield cost + weight, {**bound, leaf.label: (self.history[number],)}
        elif isinstance(leaf, Take):
            chosen = [pair for pair in weighed[: leaf.count] if pair[0] < ADD_COST]
            missing = (leaf.count - len(chosen)) * ADD_COST
            events = tuple(self.history[number] for number in sorted(n for _, n in chosen))
            if events:
                yield cost + missing + sum(w for w, _ in chosen), {**bound, leaf.label: events}
        elif weighed:
            near = [self.history[n] for w, n in weighed if w < REMOVE_COST]
            chosen_events = self._gathered(leaf, sorted(near, key=self.trace.world.order.key))
            for events in chosen_events:
                yield cost, {**bound, leaf.label: events}

    def _gathered(self, leaf: Leaf, near: list[Event]) -> Iterator[tuple[Event, ...]]:
        if isinstance(leaf, Accumulate):
            if near:
                yield self._accumulated(leaf, near)
            return
        assert isinstance(leaf, Pick)  # noqa: S101 (there is no other constraint)
        index = leaf.index - 1 if leaf.index > 0 else leaf.index
        if -len(near) <= index < len(near):
            yield (near[index],)

    def _accumulated(self, leaf: Accumulate, near: list[Event]) -> tuple[Event, ...]:
        bound = value_of(leaf.bound, self.scope())
        fitting = [e for e in near if satisfies(e, leaf.predicate, self.scope())] or near
        for count in range(1, len(fitting) + 1):
            value = collected(leaf.function, fitting[:count], leaf.attribute)
            if value is not None and bound is not None and related(leaf.relation, value, bound):
                return tuple(fitting[:count])
        return tuple(fitting)

    def _weight(self, event: Event, leaf: Leaf, bound: Bound, after: frozenset[str]) -> float:
        """What it would cost to take an event for a constraint."""
        weight = 0.9 * ADD_COST if id(event) in self.consumed else 0.0
        taken = [other for events in bound.values() for other in events]
        if any(event is other for other in taken):
            return math.inf
        weight += sum(test.cost for test in self._filters(leaf, event))
        weight += 0.5 * sum(
            not test.check.holds
            for test in key_tests(self.trace.collection.partition, [*taken, event], self.means)
        )
        ends = [other.end for label in after for other in bound.get(label, ())]
        if ends and event.start <= max(ends):
            weight += 0.3
        return weight + self._too_far(event, taken)

    def _too_far(self, event: Event, taken: list[Event]) -> float:
        window = self.trace.collection.window
        if not isinstance(window, TimeWindow) or not taken:
            return 0.0
        span = max(event.end, *(e.end for e in taken)) - min(event.start, *(e.start for e in taken))
        return min(max(span - window.length, 0) / max(window.length, 1), 1.0)

    # --- tests ---------------------------------------------------------------

    def tests(self, plan: Plan, bound: Bound, aim: Aim | None = None) -> list[Test]:
        """Everything that the rule asks of events, as far as they are there."""
        found: list[Test] = []
        for leaf, after in plan.leaves:
            found += self._leaf_tests(leaf, after, bound, aim)
        events = [event for chosen in bound.values() for event in chosen]
        if events:
            found += key_tests(self.trace.collection.partition, events, self.means)
            found += self._window(events)
            found += [self._absent(absence, events) for absence in plan.absences]
        return found

    def _leaf_tests(
        self, leaf: Leaf, after: frozenset[str], bound: Bound, aim: Aim | None
    ) -> Iterator[Test]:
        events = bound[leaf.label]
        for event in events:
            if id(event) in self.consumed:
                yield self._used_up(leaf, event)
            yield from self._filters(leaf, event)
        if isinstance(leaf, Accumulate) and events:
            yield self._sum(leaf, events)
        else:
            yield self._count(leaf, after, bound, aim)
        yield from self._order(leaf, after, bound)

    def _filters(self, leaf: Leaf, event: Event) -> Iterator[Test]:
        for part in conjuncts(condition_of(leaf)):
            check = condition_check("filter", part, self.scope(event), event.type)
            repairs = () if check.holds else tuple(self.means.solver.make(part, self.scope(event)))
            yield Test(check, repairs)

    def _used_up(self, leaf: Leaf, event: Event) -> Test:
        words, by = self.means.words, self.trace.consumers.get(id(event))
        after = f" by {words.event(by)}" if by is not None else ""
        check = Check(
            "consumed",
            f"{leaf.label} has not been used up",
            f"{words.event(event)} was used up{after}",
            holds=False,
            events=(event,),
        )
        step = self.means.solver.step
        last = max((e for _, e in by.events), key=self.trace.world.order.key) if by else event
        again = replace(event, id=None, start=last.end + step, end=last.end + step)
        return Test(
            check, (Add(again, words=words), self.means.move(event, last.end + step - event.start))
        )

    def _count(self, leaf: Leaf, after: frozenset[str], bound: Bound, aim: Aim | None) -> Test:
        wanted = leaf.count if isinstance(leaf, Take) else 1
        events = bound[leaf.label]
        missing = wanted - len(events)
        what = " or ".join(types_in(leaf)) if events else drawn.signal(predicate_of(leaf))
        text = what if wanted == 1 else f"{wanted} of {what}"
        found = self.means.words.events(events) if events else "there is none"
        if missing > 0 and events:
            found = f"{counted(len(events), 'event')}, {missing} too few"
        kind = "count" if events else "missing"
        check = Check(kind, text, found, missing <= 0, max(missing, 0) or None, tuple(events))
        if missing <= 0:
            return Test(check)
        asks = tuple(t for t in types_in(leaf) if t in self.means.solver.produced)
        return Test(check, tuple(self._added(leaf, missing, after, bound, aim)), asks)

    def _added(
        self, leaf: Leaf, missing: int, after: frozenset[str], bound: Bound, aim: Aim | None
    ) -> Iterator[Change]:
        """Further events for a constraint, in the window of those that are there."""
        solver, scope = self.means.solver, self.scope()
        taken = [event for events in bound.values() for event in events]
        like = taken[0] if taken else None
        predicate = predicate_of(leaf)
        ties = [*key_ties(self.trace.collection.partition, predicate.types[0], like)]
        for times in self._times(missing, after, bound, aim):
            drafts = [solver.draft(predicate, scope, time, ties) for time in times]
            found = [self._bounded(leaf, draft) for draft in drafts if draft is not None]
            if len(found) == missing:
                extra = PRODUCED_COST if found[0].type in solver.produced else 0.0
                yield together([Add(e, extra, words=self.means.words) for e in found])

    def _bounded(self, leaf: Leaf, draft: Event) -> Event:
        """An event whose value alone satisfies what is accumulated."""
        if not isinstance(leaf, Accumulate):
            return draft
        goal = value_of(leaf.bound, self.scope())
        if goal is None:
            return draft
        wanted = Comparison(leaf.relation, Attribute(None, leaf.attribute), Literal(goal))
        fitted = self.means.solver.fitted(draft, [wanted], self.scope())
        return fitted or draft

    def _times(
        self, count: int, after: frozenset[str], bound: Bound, aim: Aim | None
    ) -> Iterator[list[int]]:
        step = self.means.solver.step
        taken = [event for events in bound.values() for event in events]
        if not taken:
            newest = max((event.end for event in self.history), default=0)
            start = newest if aim is None or aim.time is None else aim.time
            yield [start + step * (n + 1) for n in range(count)]
            return
        low = max((e.end for label in after for e in bound.get(label, ())), default=None)
        first, last = min(e.start for e in taken), max(e.end for e in taken)
        start = last if low is None else low
        yield [max(start, last) + step * (n + 1) for n in range(count)]
        yield [start + step * (n + 1) for n in range(count)]
        yield [first + step * n for n in range(count)]
        yield [first - step * (n + 1) for n in range(count)]
        yield [last] * count

    def _sum(self, leaf: Accumulate, events: Sequence[Event]) -> Test:
        goal = value_of(leaf.bound, self.scope())
        value = collected(leaf.function, events, leaf.attribute)
        held = value is not None and goal is not None and related(leaf.relation, value, goal)
        text = (
            f"{leaf.function}({leaf.label}.{leaf.attribute}) {leaf.relation.value} "
            f"{format_value(goal)}"
        )
        found = f"{format_value(value)}, {seen_by(leaf.function, list(events), leaf.attribute)}"
        numbers = isinstance(value, int | float) and isinstance(goal, int | float)
        by = abs(float(value) - float(goal)) if numbers and not held else None  # type: ignore[arg-type]
        check = Check("aggregate", text, found, held, by, tuple(events))
        if held or goal is None:
            return Test(check)
        options = self.means.solver.over(leaf.function, events, leaf.attribute, leaf.relation, goal)
        return Test(check, tuple(options))

    def _order(self, leaf: Leaf, after: frozenset[str], bound: Bound) -> Iterator[Test]:
        events = bound[leaf.label]
        before = [event for label in after for event in bound.get(label, ())]
        if not events or not before:
            return
        last = max(before, key=lambda e: e.end)
        early = [event for event in events if event.start <= last.end]
        words, step = self.means.words, self.means.solver.step
        text = f"{leaf.label} comes after {' and '.join(sorted(after))}"
        found = "" if not early else f"{words.event(early[0])} is not after {words.event(last)}"
        by = (last.end - early[0].start) / 1e6 if early else None
        check = Check("order", text, found, not early, by, tuple(early))
        repairs: list[Change] = []
        if early:
            shift = last.end - early[0].start + step
            repairs = [self.means.move(early[0], shift, 10 * step)]
            repairs.append(self.means.move(last, -shift, 10 * step))
        yield Test(check, tuple(repairs))

    def _window(self, events: list[Event]) -> Iterator[Test]:
        window = self.trace.collection.window
        if isinstance(window, TimeWindow):
            yield self._in_time(events, window.length)
        elif isinstance(window, CountWindow):
            yield self._among(events, window.size)

    def _in_time(self, events: list[Event], length: int) -> Test:
        first, last = min(events, key=lambda e: e.start), max(events, key=lambda e: e.end)
        span, words = last.end - first.start, self.means.words
        over = span - length
        found = words.span(span) + (f", {words.span(over)} too long" if over > 0 else "")
        text = f"from the first to the last event at most {words.span(length)}"
        check = Check("within", text, found, over <= 0, max(over, 0) / 1e6 or None, tuple(events))
        moves = (self.means.move(first, over, length), self.means.move(last, -over, length))
        return Test(check, () if over <= 0 else moves)

    def _among(self, events: list[Event], size: int) -> Test:
        """All lie among so many events of the rule's types and partition."""
        key = self.trace.world.order.key
        ordered = sorted(events, key=key)
        keys = self.trace.collection.partition
        mine = partition_of(ordered[0], keys)
        between = [
            event
            for event in self.history
            if event.type in self.trace._types
            and key(ordered[0]) <= key(event) <= key(ordered[-1])
            and partition_of(event, keys) == mine
        ]
        over = len(between) - size
        text = f"from the first to the last event at most {counted(size, 'event')}"
        check = Check(
            "within", text, counted(len(between), "event"), over <= 0, max(over, 0) or None
        )
        others = [event for event in between if not any(event is e for e in events)]
        gone = [Remove(event, words=self.means.words) for event in others[: max(over, 0)]]
        return Test(check, (together(gone),) if over > 0 and len(gone) == over else ())

    def _absent(self, absence: Absence, events: list[Event]) -> Test:
        ordered = sorted(events, key=self.trace.world.order.key)
        low, high = ordered[0].end, ordered[-1].start
        keys = self.trace.collection.partition
        mine = partition_of(ordered[0], keys)
        there = [
            event
            for event in self.history
            if inside(event, low, high)
            and event.type in absence.predicate.types
            and partition_of(event, keys) == mine
            and not any(event is e for e in events)
        ]
        bad = [event for event in there if satisfies(event, absence.predicate, self.scope())]
        words = self.means.words
        found = "none is there"
        if bad:
            found = f"{words.events(bad)} {'was' if len(bad) == 1 else 'were'} there"
        elif there:
            found = f"{counted(len(there), 'event')} looked at, none of this kind"
        text = f"no {drawn.signal(absence.predicate)} between the first and the last event"
        check = Check("negation", text, found, not bad, events=tuple(bad or there))
        return Test(check, tuple(self._averted(absence, bad, low, high)))

    def _averted(self, absence: Absence, bad: list[Event], low: int, high: int) -> Iterator[Change]:
        for event in bad[:1]:
            yield Remove(event, words=self.means.words)
            yield self.means.move(event, low - event.start, high - low)
            yield self.means.move(event, high - event.end, high - low)
            for part in conjuncts(absence.predicate.filter):
                yield from self.means.solver.make(part, self.scope(event), wanted=False)
