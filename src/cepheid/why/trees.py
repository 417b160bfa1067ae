"""Trees: why a tree of events matched, and how near others came to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cepheid.algebra import (
    Aggregate,
    Component,
    Policy,
    conjuncts,
    find,
)
from cepheid.automaton import words as drawn
from cepheid.events import CompositeEvent, Event
from cepheid.oracle.matches import World, labelled
from cepheid.oracle.tree import TreeEvaluator
from cepheid.oracle.values import (
    Bound,
    bounds,
    holds,
    inside,
    of_type,
)
from cepheid.why.attempts import Aim, Attempt, Means, Test, Told, best
from cepheid.why.changes import ADD_COST, Add, Change, PassTime, together
from cepheid.why.components import past
from cepheid.why.lacks import LackTests
from cepheid.why.measure import aggregate_check, parameter_value
from cepheid.why.negations import NegationTests
from cepheid.why.results import Check, Parameter, Place
from cepheid.why.wholes import WholeTests

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
UNREACHED_COST = 0.6
"""What each component counts for that could not even be looked for."""
UNBEGUN_COST = 1.0
"""What an attempt without a terminator counts for more: it has not begun."""


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


class TreeView(LackTests, NegationTests, WholeTests):
    """A tree at the moment of one terminator, for looking at single matches and attempts."""

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
            return aim.distance([event]), failing + outside, past(event, low, high)

        # No event comes before itself, however it were changed.
        above = [id(bound[label][0]) for label in self._ancestors[component.label]]
        fitting = [
            event
            for event in self.world.history
            if of_type(event, component.predicate) and id(event) not in above
        ]
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
        to_come = UNBEGUN_COST + UNREACHED_COST * (len(self.tree.components) - 1)
        return Attempt((), (self._missing(root, repairs, ""),), to_come)

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
        lacking = sum(test.check.kind == "missing" for test in tests)
        unreached = len(self.tree.components) - len(bound) - lacking
        return Attempt(
            tuple(self._places(bound, told=False)), tuple(tests), UNREACHED_COST * unreached
        )

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
