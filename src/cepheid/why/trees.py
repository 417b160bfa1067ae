"""Trees: why a tree of events matched, and how near others came to it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Comparison,
    Component,
    Expression,
    Literal,
    Negation,
    Policy,
    Relation,
    conjunction,
    conjuncts,
    find,
)
from cepheid.algebra import (
    Parameter as ParameterNode,
)
from cepheid.automaton import words as drawn
from cepheid.events import CompositeEvent, Event, Value
from cepheid.literals import format_value
from cepheid.oracle.matches import World, labelled
from cepheid.oracle.tree import TreeEvaluator
from cepheid.oracle.values import (
    Bound,
    Scope,
    Tick,
    bounds,
    equal,
    holds,
    inside,
    of_type,
    satisfies,
)
from cepheid.why.attempts import Aim, Attempt, Means, Test, Told, best
from cepheid.why.changes import ADD_COST, Add, Change, Move, PassTime, Remove, SetValue, together
from cepheid.why.measure import aggregate_check, condition_check, named, parameter_value, unnamed
from cepheid.why.results import Check, Parameter, Place
from cepheid.why.words import counted

TERMINATORS = 8
"""How many terminators are looked at, those that are nearest to what is asked about."""
LIKELY = 12
"""How many events are looked at closely for each component."""
SHORTLIST = 5
"""How many events are tried for each component."""
BEAM = 8
"""How many partial attempts are followed at a time."""
ATTEMPTS = 8
"""How many attempts are told."""
SHOWN = 2
"""How many of the events that a negation passed over are told."""
ASKED_TIMES = 2
"""At how many times other rules are asked for an event that is missing."""
UNBEGUN_COST = 1.0
"""What an attempt without a terminator counts for more: it has not begun."""
PRODUCED_COST = 2.0
"""What it costs more to add an event that a rule should have made."""


@dataclass(frozen=True)
class Moment:
    """What the rule knew when a terminator came."""

    terminator: Event
    seen: int
    consumed: frozenset[int]


@dataclass
class TreeTrace(TreeEvaluator):
    """Evaluates a tree and remembers what it knew at each terminator."""

    moments: list[Moment] = field(default_factory=list)
    made: dict[str, dict[str, tuple[Event, ...]]] = field(default_factory=dict)
    consumers: dict[int, CompositeEvent] = field(default_factory=dict)
    _composed: dict[int, CompositeEvent] = field(default_factory=dict)

    def see(self, event: Event) -> list[CompositeEvent]:
        """All matches that the event completes as terminator."""
        if of_type(event, self.tree.terminator.predicate):
            moment = Moment(event, len(self.world.history), frozenset(self._consumed))
            self.moments.append(moment)
        return super().see(event)

    def _compose(self, bound: Bound, end: int) -> CompositeEvent:
        found = super()._compose(bound, end)
        self.made[str(found.id)] = dict(bound)
        self._composed[id(bound)] = found
        return found

    def _consume(self, matches: list[dict[str, tuple[Event, ...]]]) -> None:
        super()._consume(matches)
        for bound in matches:
            for label in self.rule.consuming:
                self.consumers.setdefault(id(bound[label][0]), self._composed[id(bound)])

    def tell(self, event: CompositeEvent, means: Means) -> Told:
        """Why an event was found."""
        bound = self.made[str(event.id)]
        terminator = bound[self.tree.terminator.label][0]
        moment = next(m for m in self.moments if m.terminator is terminator)
        return self._view(moment, means).told(bound)

    def averting(self, event: CompositeEvent, means: Means) -> Iterator[Change]:
        """Changes with which an event would not have been found."""
        bound = self.made[str(event.id)]
        terminator = bound[self.tree.terminator.label][0]
        moment = next(m for m in self.moments if m.terminator is terminator)
        yield from self._view(moment, means).averting(bound)

    def attempts(self, aim: Aim, means: Means) -> list[Attempt]:
        """How far the rule came, the attempts that are nearest to a match first."""
        moments = {id(moment.terminator): moment for moment in self.moments}
        terminators = aim.nearest([m.terminator for m in self.moments], TERMINATORS)
        found: list[Attempt] = []
        for terminator in terminators:
            found += self._view(moments[id(terminator)], means).completed(terminator, aim)
        rest = Moment(Event("", 0, 0), len(self.world.history), frozenset(self._consumed))
        found.append(self._view(rest, means).without_terminator(aim))
        return best(found, aim, ATTEMPTS)

    def _view(self, moment: Moment, means: Means) -> TreeView:
        seen = len(self.world.history) if self.tree.deadline is not None else moment.seen
        world = World(self.world.history[:seen], self.world.order)
        view = TreeView(self.rule, self.tree, world, set(moment.consumed))
        view.means, view.consumers = means, self.consumers
        return view


@dataclass
class TreeView(TreeEvaluator):
    """A tree at the moment of one terminator, for looking at single matches and attempts."""

    means: Means = field(init=False)
    consumers: dict[int, CompositeEvent] = field(init=False)

    # --- matches -------------------------------------------------------------

    def told(self, bound: Bound) -> Told:
        """Everything that holds for a match."""
        checks = [test.check for test in self.tests(bound)]
        return Told(
            tuple(self._places(bound)),
            (*checks, *self._aggregates(bound)),
            tuple(self._shown_parameters(bound)),
            tuple(bound[label][0] for label in self.rule.consuming),
        )

    def _places(self, bound: Bound, *, told: bool = True) -> Iterator[Place]:
        by_time = sorted(bound, key=lambda label: self.world.order.key(bound[label][0]))
        components = {component.label: component for component in self.tree.components}
        for label in by_time:
            chosen = self._chosen(components[label], bound, told=told)
            yield self.means.place(label, bound[label][0], chosen)

    def _chosen(self, component: Component, bound: Bound, *, told: bool) -> str:
        """Which policy chose the event of a component; if it is told, also among how many."""
        if component.window is None:
            waits = self.tree.deadline is not None
            return "the last event" if waits else "completes the match"
        where = drawn.window(component.window)
        if not told:
            return f"{drawn.selection(component.selection)} {where}"
        count = len(self._candidates(component, bound))
        if component.selection.policy is Policy.EACH:
            return (
                f"each {where} counts; there are {count}" if count > 1 else f"the only one {where}"
            )
        if count < 2:
            return f"the only one {where}"
        return f"{drawn.selection(component.selection)} of {count} {where}"

    def _candidates(self, component: Component, bound: Bound) -> list[Event]:
        assert component.window is not None  # noqa: S101 (only the terminator has no window)
        low, high = bounds(component.window, bound, self.world.order)
        return [
            event
            for event in self.world.history
            if inside(event, low, high) and self._is_candidate(event, component, bound)
        ]

    def _shown_parameters(self, bound: Bound) -> Iterator[Parameter]:
        scope = self._scope(bound)
        for binding in self.tree.bindings:
            value = parameter_value(binding.name, self._parameters, scope)
            yield Parameter(binding.name, value, drawn.expression(binding.value))

    def _aggregates(self, bound: Bound) -> Iterator[Check]:
        """Aggregates that give a parameter or an attribute their value."""
        scope = self._scope(bound)
        for binding in self.tree.bindings:
            for node in find(binding.value, Aggregate):
                yield aggregate_check(node, scope, binding.name)
        for attribute in self.rule.output.attributes:
            for node in find(attribute.value, Aggregate):
                yield aggregate_check(node, scope)

    def averting(self, bound: Bound) -> Iterator[Change]:
        """Values with which a match would not be one."""
        for component in self._ordered:
            own = bound[component.label][0]
            for part in conjuncts(component.predicate.filter):
                yield from self.means.solver.make(part, self._scope(bound, own), wanted=False)
        for part in self._conditions():
            yield from self.means.solver.make(part, self._scope(bound), wanted=False)

    # --- attempts ------------------------------------------------------------

    def completed(self, terminator: Event, aim: Aim) -> list[Attempt]:
        """The attempts with a terminator."""
        beam: list[tuple[float, dict[str, tuple[Event, ...]]]] = [
            (0.0, {self._ordered[0].label: (terminator,)})
        ]
        for component in self._ordered[1:]:
            beam = sorted(
                (longer for one in beam for longer in self._longer(*one, component, aim)),
                key=lambda scored: scored[0],
            )[:BEAM]
        return [self._attempt(bound, aim) for _, bound in beam]

    def _longer(
        self, cost: float, bound: dict[str, tuple[Event, ...]], component: Component, aim: Aim
    ) -> Iterator[tuple[float, dict[str, tuple[Event, ...]]]]:
        """A partial attempt with each of the best events for a component, and without any."""
        assert component.window is not None  # noqa: S101 (only the terminator has no window)
        yield cost + ADD_COST, bound
        if not component.window.labels <= bound.keys():
            return
        scored = []
        for event in self._likely(component, bound, aim):
            more = {**bound, component.label: (event,)}
            tests = self._own_tests(component, more)
            price = sum(test.cost for test in tests) + self._crowd(event, bound)
            scored.append((cost + price, more))
        scored.sort(key=lambda pair: (pair[0], aim.distance([pair[1][component.label][0]])))
        for price, more in scored[:SHORTLIST]:
            chosen = self._selected(component, more) if price == cost else []
            yield price + sum(test.cost for test in chosen), more

    def _likely(self, component: Component, bound: Bound, aim: Aim) -> list[Event]:
        """The events for which the fewest conditions fail, the nearest to the window first."""
        assert component.window is not None  # noqa: S101 (only the terminator has no window)
        low, high = bounds(component.window, bound, self.world.order)
        parts = [
            part
            for part in conjuncts(component.predicate.filter)
            if self._labels(part) <= bound.keys() | {component.label}
        ]

        def unlikely(event: Event) -> tuple[float, float, float]:
            scope = self._scope({**bound, component.label: (event,)}, event)
            failing = sum(not holds(part, scope) for part in parts)
            outside = not inside(event, low, high)
            return aim.distance([event]), failing + outside, _past(event, low, high)

        fitting = [event for event in self.world.history if of_type(event, component.predicate)]
        return sorted(fitting, key=unlikely)[:LIKELY]

    def _crowd(self, event: Event, bound: Bound) -> float:
        """An event that stands for two components at once is unlikely to be meant."""
        return 0.3 if any(event is other for _, other in labelled(bound)) else 0.0

    def without_terminator(self, aim: Aim) -> Attempt:
        """The attempt that lacks even the event that would complete it."""
        root = self._ordered[0]
        every = root.predicate.every
        repairs: tuple[Change, ...]
        if every is not None:
            repairs = (self._ticked(every, aim),)
        else:
            repairs = tuple(self._added(root, {}, self._ends(aim)))
        return Attempt((), (self._missing(root, repairs, ""),), UNBEGUN_COST)

    def _ticked(self, every: int, aim: Aim) -> Change:
        """Time goes on to the next tick; periodic timers tick from the first event on."""
        words = self.means.words
        wait = PassTime((aim.end // every + 1) * every, words=words)
        if self.world.history:
            return wait
        return together([Add(Event("Start", aim.end, aim.end), words=words), wait])

    def _ends(self, aim: Aim) -> list[int]:
        """Where a terminator could stand: after the other events, and near what is asked about."""
        step = self.means.solver.step
        last = max((event.end for event in self.world.history), default=aim.end)
        near = aim.time if aim.event is None else aim.event.end + step
        found = [last + step] if near is None else [near, near + step, last + step]
        return list(dict.fromkeys(found))

    def _attempt(self, bound: Bound, aim: Aim) -> Attempt:
        tests = self.tests(bound, aim)
        return Attempt(tuple(self._places(bound, told=False)), tuple(tests))

    # --- tests ---------------------------------------------------------------

    def tests(self, bound: Bound, aim: Aim | None = None) -> list[Test]:
        """Everything that the rule asks of events, as far as they are there."""
        found: list[Test] = []
        for component in self._ordered:
            if component.label in bound:
                found += self._component_tests(component, bound)
            elif component.window is not None and component.window.labels <= bound.keys():
                found.append(self._lack(component, bound))
        found += [self._negated(n, bound) for n in self.tree.negations if self._decided(n, bound)]
        if len(bound) < len(self.tree.components):
            return found
        found += self._whole_tests(bound)
        if aim is not None and all(test.check.holds for test in found):
            found += self._deadline(bound, aim)
        return found

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
        past = 0 if held else _past(event, low, high)
        found = self._distance(component, bound) if held else self._misses(event, low, high)
        check = Check("window", text, found, held, None if held else past / 1e6, (event,))
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

    # --- what is missing -----------------------------------------------------

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

    # --- the whole -----------------------------------------------------------

    def _whole_tests(self, bound: Bound) -> list[Test]:
        found = [self._in_time(bound)] if self.tree.within is not None else []
        found += [self._same(e.attribute, e.value, bound) for e in self.tree.equivalences]
        found += [self._condition("condition", part, bound) for part in self._conditions()]
        return found

    def _conditions(self) -> list[Expression]:
        return [part for condition in self.tree.conditions for part in conjuncts(condition)]

    def _in_time(self, bound: Bound) -> Test:
        assert self.tree.within is not None  # noqa: S101 (asked for only where there is one)
        events = [event for _, event in labelled(bound)]
        first, last = min(events, key=lambda e: e.start), max(events, key=lambda e: e.end)
        length, words = last.end - first.start, self.means.words
        held = length < self.tree.within
        over = length - self.tree.within
        text = f"from the first to the last event less than {words.span(self.tree.within)}"
        past = f", {words.span(over)} too long" if over > 0 else ", which is just too long"
        check = Check(
            "within",
            text,
            words.span(length) + ("" if held else past),
            held,
            None if held else over / 1e6,
            tuple(events),
        )
        shift = over + self.means.solver.step
        moves = [(first, shift), (last, -shift)]
        repairs = [
            self.means.move(event, by, self.tree.within)
            for event, by in moves
            if not isinstance(event, Tick)
        ]
        return Test(check, () if held else tuple(repairs))

    def _same(self, attribute: str, value: Value | None, bound: Bound) -> Test:
        """All have the same value in it; who has none fits where missing values are accepted."""
        events = [event for _, event in labelled(bound)]
        having = [event for event in events if attribute in event.attributes]
        found = [event.attributes[attribute] for event in having]
        wanted = [value] if value is not None else found
        alike = all(equal(wanted[0], other) for other in found) if found else True
        strict = not self.rule.missing and len(events) + (value is not None) > 1
        held = alike and not (strict and len(having) < len(events))
        text = f"all have the same {attribute}"
        if value is not None:
            text = f"every {attribute} = {format_value(value)}"
        missing = ["none"] if strict and len(having) < len(events) else []
        different = ", ".join(dict.fromkeys([*map(format_value, found), *missing]))
        check = Check("key", text, different, held, events=tuple(having))
        options = [] if held else dict.fromkeys(wanted)
        changed = events if strict else having
        return Test(check, tuple(self._agreed(attribute, one, changed) for one in options))

    def _agreed(self, attribute: str, value: Value, having: list[Event]) -> Change:
        return together(
            SetValue(event, attribute, value, words=self.means.words)
            for event in having
            if attribute not in event.attributes or not equal(event.attributes[attribute], value)
        )

    def _deadline(self, bound: Bound, aim: Aim) -> list[Test]:
        if self.tree.deadline is None:
            return []
        first = bound[self.tree.deadline.label][0]
        due = first.start + self.tree.deadline.offset
        words = self.means.words
        held = due <= aim.end
        found = f"it is decided at {words.time(due)}, time went on to {words.time(aim.end)}"
        by = None if held else (due - aim.end) / 1e6
        check = Check("time", "the time of the negation has passed", found, held, by)
        return [Test(check, () if held else (PassTime(due, words=words),))]

    # --- negations -----------------------------------------------------------

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


def _computes(part: Expression, parameters: Mapping[str, Expression]) -> bool:
    """Whether a condition speaks of aggregates, which only the whole match can tell."""
    found = {node.name for node in find(part, ParameterNode)}
    nodes = [part, *(parameters[name] for name in found)]
    return any(next(find(node, Aggregate), None) is not None for node in nodes)


def _some(found: list[str]) -> str:
    """What was found instead; of many, only the first."""
    shown = ", ".join(filter(None, found[:SHOWN]))
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f": {shown}{more}" if shown else ""


def _hold(tests: list[Test]) -> bool:
    return all(test.check.holds for test in tests)


def _past(event: Event, low: float, high: float) -> float:
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
