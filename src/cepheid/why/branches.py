"""The branches of a detector that did not become a match, and what would have led them on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cepheid.algebra import (
    Atom,
    EventPredicate,
    Expression,
    Parallel,
    TimerSignal,
    conjuncts,
)
from cepheid.automaton import words as drawn
from cepheid.events import Event
from cepheid.oracle.automaton import START, Automaton
from cepheid.oracle.detector import (
    Branch,
    TimerEvent,
)
from cepheid.oracle.values import Scope, Tick, holds
from cepheid.why.attempts import Aim, Attempt, Test
from cepheid.why.branch_matches import MatchView
from cepheid.why.changes import Add, Change, PassTime, Remove, together
from cepheid.why.lacks import PRODUCED_COST
from cepheid.why.machines import (
    End,
    ParallelTrace,
    events_in,
)
from cepheid.why.measure import condition_check
from cepheid.why.results import Check

STEP_COST = 0.3
"""What each state that is still to come counts for at least, in comparing branches."""
WAITING_COST = 0.9
"""What it counts for where nothing more came at all."""
MOVED = 3
"""How many events that came too early or too late are proposed to be moved."""


@dataclass(frozen=True)
class BranchView(MatchView):
    """Branches that ended or wait, looked at one by one."""

    # --- attempts ------------------------------------------------------------

    def attempt(self, end: End, aim: Aim) -> Attempt:
        """A branch that ended or waits, with what would have led it on."""
        test = self._waits(end, aim) if end.event is None else self._ended(end, end.event)
        if end.branch.state == START:
            test = self._unbegun(end, aim)
        steps = end.machine.distances.get(end.branch.state, 99)
        passed = tuple(Test(check) for check in self.steps(end.branch))
        ahead = STEP_COST if end.event is not None else WAITING_COST
        to_come = ahead * max(steps - 1, 0)
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
                if any(event is other for other in events_in(end.branch)):
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
                yield from ((predicate, strong) for predicate in beginnings(atom))
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
            first = min(event.start for event in events_in(end.branch))
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
            taken = [id(event) for event in events_in(end.branch)]
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
            first = min((e.start for e in events_in(end.branch)), default=last.start)
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


def beginnings(parallel: Parallel) -> Iterator[EventPredicate]:
    """What either side of a parallel part may begin with."""
    for side in (parallel.left, parallel.right):
        automaton = Automaton.of(side)
        for step in automaton.transitions[START]:
            atom = automaton.atoms[step.target]
            if isinstance(atom, Parallel):
                yield from beginnings(atom)
            else:
                yield from (p for p in atom.accepts if isinstance(p, EventPredicate))
