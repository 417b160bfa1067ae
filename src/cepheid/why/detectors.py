"""Detectors: why a regular expression matched, and where its branches ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property

from cepheid.algebra import (
    Atom,
    EventPredicate,
    Expression,
    Parallel,
    TimerSignal,
    conjuncts,
)
from cepheid.automaton import words as drawn
from cepheid.events import CompositeEvent, Event
from cepheid.oracle.automaton import START, Automaton
from cepheid.oracle.detector import (
    Branch,
    DetectorEvaluator,
    Machine,
    Pair,
    ParallelMachine,
    TimerEvent,
)
from cepheid.oracle.values import Scope, Tick, holds
from cepheid.why.attempts import Aim, Attempt, Means, Test, Told, best
from cepheid.why.changes import Add, Change, PassTime, Remove, together
from cepheid.why.measure import condition_check
from cepheid.why.results import Check, Place
from cepheid.why.trees import PRODUCED_COST

ATTEMPTS = 10
"""How many attempts are told."""
ENDS = 40
"""How many branches are looked at, those that came furthest."""
STEP_COST = 0.3
"""What each state that is still to come counts for at least, in comparing branches."""
MOVED = 3
"""How many events that came too early or too late are proposed to be moved."""


@dataclass(frozen=True)
class TracedBranch(Branch):
    """A branch that remembers its way: the states, with the event or timer that led to each."""

    path: tuple[tuple[str, Event], ...] = ()


@dataclass(frozen=True)
class End:
    """Where a branch came to: it waits, or an event or a timer ended it."""

    machine: MachineTrace
    branch: Branch
    event: Event | None = None


class MachineTrace(Machine):
    """A machine that remembers the branches that ended; its lane is named as in the drawing."""

    lane = ""
    numbers: list[int]

    def __post_init__(self) -> None:
        self.start_at("", [])

    def start_at(self, lane: str, numbers: list[int]) -> None:
        """Begin anew as a lane; the numbers are those of the parallel parts so far."""
        self.lane, self.ended = lane, list[End]()
        self.automaton = Automaton.of(self.body)
        self.branches: list[Branch] = []
        self.parallels: dict[int, ParallelMachine] = {}
        named: list[tuple[int, Parallel, int]] = []
        for state, atom in enumerate(self.automaton.atoms):
            if isinstance(atom, Parallel):
                numbers.append(len(numbers) + 1)
                named.append((state, atom, numbers[-1]))
        for state, atom, number in named:
            self.parallels[state] = ParallelTrace.of(atom, self, number, numbers)

    def state_name(self, state: int) -> str:
        """A state as the drawing calls it."""
        return f"{self.lane}.S{state + 1}" if self.lane else f"S{state + 1}"

    def machines(self) -> Iterator[MachineTrace]:
        """This machine and those of the sides of its parallel parts."""
        yield self
        for parallel in self.parallels.values():
            for side in parallel.sides:
                assert isinstance(side, MachineTrace)  # noqa: S101 (made by ParallelTrace)
                yield from side.machines()

    def _advance(self, branch: Branch, taken: list, event: Event) -> list[Branch]:  # type: ignore[type-arg]
        if not taken and branch.state != START:
            self.ended.append(End(self, branch, event))
        return super()._advance(branch, taken, event)

    def _moved(self, branch: Branch, state: int, event: Event) -> Branch:
        moved = super()._moved(branch, state, event)
        path = branch.path if isinstance(branch, TracedBranch) else ()
        known = {item.name: getattr(moved, item.name) for item in fields(Branch)}
        return TracedBranch(**known, path=(*path, (self.state_name(state), event)))

    # --- what may come next --------------------------------------------------

    @cached_property
    def distances(self) -> dict[int, int]:
        """How many steps lead from each state to a match at least."""
        found = dict.fromkeys(self.automaton.accepting, 0)
        while True:
            more = {
                state: 1 + min(found[t.target] for t in steps if t.target in found)
                for state, steps in self.automaton.transitions.items()
                if state not in found and any(t.target in found for t in steps)
            }
            if not more:
                return found
            found.update(more)

    def awaited(self, branch: Branch) -> list[tuple[Atom | Parallel, bool]]:
        """The atoms that may come next, and whether they must follow strongly."""
        steps = self.automaton.transitions[branch.state]
        return [(self.automaton.atoms[step.target], step.strong) for step in steps]

    def timers(self, branch: Branch) -> dict[str, int]:
        """The timers that a branch waits for."""
        return self._awaited(branch)


class ParallelTrace(ParallelMachine):
    """A parallel part whose sides remember, and which keeps its pairs."""

    @staticmethod
    def of(
        parallel: Parallel, machine: MachineTrace, number: int, numbers: list[int]
    ) -> ParallelTrace:
        """The parallel part of a machine with a number."""
        made = ParallelTrace(parallel, machine.world, machine.bounded, machine.missing)
        made.pairs = []
        sides = []
        for body, name in ((parallel.left, "a"), (parallel.right, "b")):
            side = MachineTrace(body, machine.world, machine.bounded, machine.missing)
            side.start_at(f"P{number}{name}", numbers)
            sides.append(side)
        made.sides = list(sides)
        return made

    pairs: list[Pair]

    def _paired(self, new: list[list[Branch]]) -> list[Pair]:
        found = super()._paired(new)
        self.pairs += found
        return found


@dataclass
class DetectorTrace(DetectorEvaluator):
    """Evaluates a detector and remembers its branches."""

    made: dict[str, Branch] = field(default_factory=dict)
    refused: list[Branch] = field(default_factory=list)

    def __post_init__(self) -> None:
        bounded = self.detector.within is not None
        self.machine = MachineTrace(self.detector.body, self.world, bounded, self.rule.missing)
        self._machine = self.machine

    def _composed(self, matches: list[Branch]) -> Iterator[CompositeEvent]:
        for match in matches:
            found = list(super()._composed([match]))
            for event in found:
                self.made[str(event.id)] = match
            if not found and match.constituents and match.key not in self._told:
                self.refused.append(match)
            yield from found

    def tell(self, event: CompositeEvent, means: Means) -> Told:
        """Why an event was found."""
        branch = self.made[str(event.id)]
        view = DetectorView(self, means)
        checks = [*view.steps(branch), *(test.check for test in view.whole(branch))]
        return Told(tuple(view.places(branch)), tuple(checks))

    def averting(self, event: CompositeEvent, means: Means) -> Iterator[Change]:
        """Changes with which an event would not have been found."""
        scope = DetectorView(self, means).scope(self.made[str(event.id)])
        for part in conjuncts(self.detector.where):
            yield from means.solver.make(part, scope, wanted=False)

    def attempts(self, aim: Aim, means: Means) -> list[Attempt]:
        """How far the rule came, the attempts that are nearest to a match first."""
        view = DetectorView(self, means)
        found = [
            Attempt(tuple(view.places(branch)), tuple(view.whole(branch)))
            for branch in self.refused[-ENDS:]
        ]
        for machine in self.machine.machines():
            ends = [*machine.ended, *(End(machine, branch) for branch in machine.branches)]
            ends.sort(key=lambda end: (_rank(end), aim.distance(_events(end.branch))))
            found += [view.attempt(end, aim) for end in ends[:ENDS]]
            found.append(view.attempt(End(machine, Branch(START)), aim))
        return best(found, aim, ATTEMPTS)


def _rank(end: End) -> tuple[int, int]:
    return end.machine.distances.get(end.branch.state, 99), -len(end.branch.constituents)


def _events(branch: Branch) -> list[Event]:
    return [event for _, event in branch.constituents]


@dataclass(frozen=True)
class DetectorView:
    """The branches of a detector, looked at one by one."""

    trace: DetectorTrace
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
        states = dict(_states(branch))
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
        for state, event in _path(branch):
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
        events = _events(branch)
        first, last = min(events, key=lambda e: e.start), max(events, key=lambda e: e.end)
        span, words = last.end - first.start, self.means.words
        over = span - length
        found = words.span(span) + (f", {words.span(over)} too long" if over > 0 else "")
        text = f"from the first to the last event at most {words.span(length)}"
        check = Check("within", text, found, over <= 0, max(over, 0) / 1e6 or None, tuple(events))
        moves = (self.means.move(first, over, length), self.means.move(last, -over, length))
        return Test(check, () if over <= 0 else moves)

    # --- attempts ------------------------------------------------------------

    def attempt(self, end: End, aim: Aim) -> Attempt:
        """A branch that ended or waits, with what would have led it on."""
        test = self._waits(end, aim) if end.event is None else self._ended(end, end.event)
        if end.branch.state == START:
            test = self._unbegun(end, aim)
        steps = end.machine.distances.get(end.branch.state, 99)
        passed = tuple(Test(check) for check in self.steps(end.branch))
        to_come = STEP_COST * max(steps - 1, 0)
        if end.machine.lane:
            to_come += STEP_COST
        return Attempt(tuple(self.places(end.branch)), (*passed, test), to_come)

    def _next(self, end: End) -> str:
        """What may come next, in words."""
        found = []
        for atom, _ in end.machine.awaited(end.branch):
            if isinstance(atom, Parallel):
                found.append("a pair")
            elif atom.negated:
                found.append(f"{drawn.signals(atom.domain)} but not {drawn.signals(atom.accepts)}")
            else:
                found.append(drawn.signals(atom.accepts))
        return " or ".join(dict.fromkeys(found))

    def _waits(self, end: End, aim: Aim) -> Test:
        last = end.branch.last
        after = f"after {self.means.words.event(last)}" if last and last.type else "then"
        check = Check("missing", f"{after} comes {self._next(end)}", self._near(end), holds=False)
        when = (int(self._room(end, aim)[0]) + self.means.solver.step,)
        return Test(check, tuple(self._led_on(end, aim)), self._asked(end), when)

    def _unbegun(self, end: End, aim: Aim) -> Test:
        check = Check("missing", f"it begins with {self._next(end)}", self._near(end), holds=False)
        return Test(check, tuple(self._led_on(end, aim)), self._asked(end))

    def _near(self, end: End) -> str:
        """The event that came nearest to what was waited for, and why it was none."""
        words, scope, last = self.means.words, self.scope(end.branch), end.branch.last
        for predicate, strong in self._predicates(end):
            for event in self._of_types(predicate)[::-1]:
                if any(event is other for other in _events(end.branch)):
                    continue
                if last is not None and not self._after(end.branch, event, strong=strong):
                    early = words.span(last.end - event.start)
                    return f"{words.event(event)} came, {early} too early to follow it"
                own = Scope(scope.bound, event, missing=scope.missing)
                for part in conjuncts(predicate.filter):
                    if not holds(part, own):
                        return str(condition_check("filter", part, own, event.type))[2:]
        return "nothing of it came"

    def _asked(self, end: End) -> tuple[str, ...]:
        types = [t for p, _ in self._predicates(end) for t in p.types]
        return tuple(dict.fromkeys(t for t in types if t in self.means.solver.produced))

    def _predicates(self, end: End) -> Iterator[tuple[EventPredicate, bool]]:
        """The events that may come next; a pair may begin with either of its sides."""
        for atom, strong in end.machine.awaited(end.branch):
            if isinstance(atom, Parallel):
                yield from ((predicate, strong) for predicate in _beginnings(atom))
            elif atom.negated:
                yield from ((p, strong) for p in atom.domain if isinstance(p, EventPredicate))
            else:
                yield from ((p, strong) for p in atom.accepts if isinstance(p, EventPredicate))

    def _led_on(self, end: End, aim: Aim) -> Iterator[Change]:
        """What would have led a waiting branch on: time, other events, or further ones."""
        yield from self._timers(end)
        yield from self._pairs_moved(end)
        yield from self._adapted(end)
        yield from self._moved(end)
        low, high = self._room(end, aim)
        yield from self._added(end, low, high)

    def _timers(self, end: End) -> Iterator[Change]:
        timers = end.machine.timers(end.branch)
        for atom, _ in end.machine.awaited(end.branch):
            for element in atom.accepts if isinstance(atom, Atom) else ():
                if isinstance(element, TimerSignal) and element.name in timers:
                    yield PassTime(timers[element.name], words=self.means.words)

    def _room(self, end: End, aim: Aim) -> tuple[float, float]:
        """The open interval of time in which the next event can come."""
        step = self.means.solver.step
        last = end.branch.last
        history = self.trace.world.history
        newest = max((event.end for event in history), default=0)
        low = last.end if last is not None else newest
        if last is None and aim.time is not None:
            low = min(low, aim.time - step)
        timers = end.machine.timers(end.branch).values()
        limits = [time for time in timers if time > low]
        if self.trace.detector.within is not None and end.branch.constituents:
            first = min(event.start for event in _events(end.branch))
            limits.append(first + self.trace.detector.within + 1)
        return low, min(limits, default=max(newest, low) + 2 * step)

    def _added(self, end: End, low: float, high: float) -> Iterator[Change]:
        solver, scope = self.means.solver, self.scope(end.branch)
        for predicate, _ in self._predicates(end):
            for time in solver.times((low, high), scope)[:4]:
                draft = solver.draft(predicate, scope, time)
                if draft is not None and self._not_refused(end, draft):
                    extra = PRODUCED_COST if draft.type in solver.produced else 0.0
                    yield Add(draft, extra, words=self.means.words)

    def _not_refused(self, end: End, draft: Event) -> bool:
        """A negated atom takes what is in its domain and not what it names."""
        return any(
            isinstance(atom, Parallel) or end.machine._accepts(step.target, draft, end.branch, None)
            for step in end.machine.automaton.transitions[end.branch.state]
            for atom in (end.machine.automaton.atoms[step.target],)
        )

    def _adapted(self, end: End) -> Iterator[Change]:
        """Later events of a type that may come next, with other values."""
        scope = self.scope(end.branch)
        for predicate, strong in self._predicates(end):
            for event in self._of_types(predicate):
                if self._after(end.branch, event, strong=strong):
                    own = Scope(scope.bound, event, missing=scope.missing)
                    yield from self._satisfying(predicate.filter, own)

    def _satisfying(self, condition: Expression | None, own: Scope) -> Iterator[Change]:
        for part in conjuncts(condition):
            if not holds(part, own):
                yield from self.means.solver.make(part, own)
                return

    def _moved(self, end: End) -> Iterator[Change]:
        """Events that came too early, after the last one; or that one before them."""
        last, step = end.branch.last, self.means.solver.step
        if last is None:
            return
        for predicate, strong in self._predicates(end):
            early = [
                e
                for e in self._of_types(predicate)
                if not self._after(end.branch, e, strong=strong)
            ]
            taken = [id(event) for event in _events(end.branch)]
            for event in [e for e in early if id(e) not in taken][-MOVED:]:
                shift = last.end - event.start + step
                yield self.means.move(event, shift, max(shift, 10 * step))
                if not isinstance(last, TimerEvent | Tick):
                    yield self.means.move(last, -shift, max(shift, 10 * step))

    def _pairs_moved(self, end: End) -> Iterator[Change]:
        """Pairs that were there before the last event."""
        last, step = end.branch.last, self.means.solver.step
        if last is None:
            return
        for parallel in end.machine.parallels.values():
            for pair in parallel.pairs[-MOVED:] if isinstance(parallel, ParallelTrace) else ():
                early = [event for _, event in pair.events if event.start <= last.end]
                moves = [self.means.move(e, last.end - e.start + step, 10 * step) for e in early]
                if moves:
                    yield together(moves)
                    yield self.means.move(last, pair.start - last.end - step, 10 * step)

    def _of_types(self, predicate: EventPredicate) -> list[Event]:
        return [
            event
            for event in self.trace.world.history
            if event.type in predicate.types and not isinstance(event, Tick)
        ]

    def _after(self, branch: Branch, event: Event, *, strong: bool) -> bool:
        if branch.last is None:
            return True
        if strong:
            return branch.last.precedes(event)
        key = self.trace.world.order.key
        return key(branch.last) < key(event)

    # --- branches that were ended --------------------------------------------

    def _ended(self, end: End, event: Event) -> Test:
        last, words = end.branch.last, self.means.words
        after = f"after {words.event(last)}" if last and last.type else "then"
        if isinstance(event, TimerEvent):
            found = f"timer {event.type} fired first, at {words.time(event.end)}"
        elif self._accepted_but_for_order(end, event):
            found = f"{words.event(event)} came before it had ended"
        else:
            found = f"{words.event(event)} came first, which it looks at and does not take"
        text = f"{after} comes {self._next(end)}"
        check = Check("ends", text, found, holds=False, by=self._late(end, event), events=(event,))
        return Test(check, tuple(self._kept_alive(end, event)), self._asked(end))

    def _late(self, end: End, event: Event) -> float | None:
        """By how much the next event came after the timer."""
        if not isinstance(event, TimerEvent):
            return None
        later = [
            other.end - event.end
            for predicate, _ in self._predicates(end)
            for other in self._of_types(predicate)
            if other.end >= event.end
        ]
        return min(later, default=0) / 1e6 or None

    def _accepted_but_for_order(self, end: End, event: Event) -> bool:
        machine = end.machine
        return any(
            machine._accepts(step.target, event, end.branch, None)
            for step in machine.automaton.transitions[end.branch.state]
            if not isinstance(machine.automaton.atoms[step.target], Parallel)
        )

    def _kept_alive(self, end: End, event: Event) -> Iterator[Change]:
        """What would have kept an event or a timer from ending a branch."""
        last, step = end.branch.last, self.means.solver.step
        assert last is not None  # noqa: S101 (a branch that ended had begun)
        if isinstance(event, TimerEvent):
            yield from self._in_time(end, event)
        else:
            yield Remove(event, words=self.means.words)
            first = min((e.start for e in _events(end.branch)), default=last.start)
            yield self.means.move(event, first - event.end - step, 10 * step)
            if not event.start > last.end:
                yield self.means.move(event, last.end - event.start + step, 10 * step)
            yield from self._put_off(end, event)
            yield from self._turned(end, event)
        yield from self._added(end, last.end, event.start)

    def _in_time(self, end: End, timer: TimerEvent) -> Iterator[Change]:
        """Events that came after the timer, before it."""
        last, step = end.branch.last, self.means.solver.step
        assert last is not None  # noqa: S101 (a branch that ended had begun)
        for predicate, _ in self._predicates(end):
            late = [event for event in self._of_types(predicate) if event.end >= timer.end]
            for event in late[:MOVED]:
                shift = timer.end - step - event.end
                if event.start + shift > last.end:
                    yield self.means.move(event, shift, max(timer.end - last.end, 1))

    def _put_off(self, end: End, event: Event) -> Iterator[Change]:
        """The event that ended the branch, after the one that was waited for."""
        for predicate, strong in self._predicates(end):
            scope = self.scope(end.branch)
            for other in self._of_types(predicate):
                fits = holds(predicate.filter, Scope(scope.bound, other, missing=scope.missing))
                if (
                    fits
                    and other.end >= event.end
                    and self._after(end.branch, other, strong=strong)
                ):
                    shift = other.end - event.start + self.means.solver.step
                    yield self.means.move(event, shift, max(shift, 1))
                    break

    def _turned(self, end: End, event: Event) -> Iterator[Change]:
        """The event with values with which it is taken, or not looked at."""
        scope = self.scope(end.branch)
        own = Scope(scope.bound, event, missing=scope.missing)
        for predicate, _ in self._predicates(end):
            if event.type in predicate.types:
                yield from self._satisfying(predicate.filter, own)
        for atom, _ in end.machine.awaited(end.branch):
            for element in (*atom.domain, *atom.accepts) if isinstance(atom, Atom) else ():
                if isinstance(element, EventPredicate) and event.type in element.types:
                    for part in conjuncts(element.filter):
                        yield from self.means.solver.make(part, own, wanted=False)


def _beginnings(parallel: Parallel) -> Iterator[EventPredicate]:
    """What either side of a parallel part may begin with."""
    for side in (parallel.left, parallel.right):
        automaton = Automaton.of(side)
        for step in automaton.transitions[START]:
            atom = automaton.atoms[step.target]
            if isinstance(atom, Parallel):
                yield from _beginnings(atom)
            else:
                yield from (p for p in atom.accepts if isinstance(p, EventPredicate))


def _path(branch: Branch) -> tuple[tuple[str, Event], ...]:
    return branch.path if isinstance(branch, TracedBranch) else ()


def _states(branch: Branch) -> Iterator[tuple[int, str]]:
    """The states of all events, those of pairs included."""
    for state, event in _path(branch):
        if isinstance(event, Pair):
            for part in event.parts:
                yield from _states(part)
        else:
            yield id(event), state
