"""Detectors: regular expressions over events (framework paper, "Composite event detectors").

The current state of a detector is a list of branches. In a branch, the next event of its state's
domain that follows the last one decides: it takes every transition that it matches, or the branch
ends. A new branch starts at every event that the start state accepts. Every branch that reaches
an accepting state gives a composite event; equal constituents give one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cepheid.algebra import (
    Atom,
    Body,
    Detector,
    EventPredicate,
    Parallel,
    Rule,
    TimerSignal,
    Timing,
)
from cepheid.events import CompositeEvent, Event
from cepheid.oracle.automaton import START, Automaton, Transition
from cepheid.oracle.matches import World
from cepheid.oracle.values import Scope, holds, satisfies

PARALLEL_LIMIT = 1000
"""How many matches each side of a parallel expression keeps, if the rule has no window."""


@dataclass(frozen=True)
class TimerEvent(Event):
    """A timer of one branch, at the time at which it fires."""

    __hash__ = Event.__hash__

    @property
    def key(self) -> tuple[str, int]:
        """Which timer it is of, and when."""
        return self.type, self.end


@dataclass(frozen=True)
class Pair(CompositeEvent):
    """A match of both sides of a parallel expression, as an event for what surrounds it."""

    parts: tuple[Branch, ...] = ()

    __hash__ = Event.__hash__

    @property
    def key(self) -> tuple[frozenset[tuple[str, int]], ...]:
        """Which events the match of each side is made of."""
        return tuple(part.key for part in self.parts)


@dataclass(frozen=True)
class Branch:
    """A partial match: its state, the last event, what it is made of, and its timers."""

    state: int
    last: Event | None = None
    bound: dict[str, tuple[Event, ...]] = field(default_factory=dict)
    constituents: tuple[tuple[str, Event], ...] = ()
    timers: dict[str, int] = field(default_factory=dict)

    @property
    def key(self) -> frozenset[tuple[str, int]]:
        """Which events it is made of, under which labels."""
        return frozenset((label, id(event)) for label, event in self.constituents)

    @property
    def future(self) -> tuple[object, ...]:
        """All that its future depends on: branches that are alike in it stay alike."""
        bound = {label: tuple(map(id, events)) for label, events in self.bound.items()}
        last = self.last.key if isinstance(self.last, Pair | TimerEvent) else id(self.last)
        return (self.state, last, self.key, tuple(bound.items()), frozenset(self.timers.items()))

    def with_event(self, label: str | None, event: Event) -> Branch:
        """The branch with one event more; a pair brings all of its own, a timer none."""
        if isinstance(event, TimerEvent):
            return self
        if isinstance(event, Pair):
            return _merged([self, *event.parts])
        name = label or event.type
        bound = dict(self.bound)
        if label is not None:
            bound[label] = (*bound.get(label, ()), event)
        return replace(self, bound=bound, constituents=(*self.constituents, (name, event)))


def _merged(branches: list[Branch]) -> Branch:
    bound: dict[str, tuple[Event, ...]] = {}
    constituents: dict[tuple[str, int], tuple[str, Event]] = {}
    for branch in branches:
        for label, events in branch.bound.items():
            bound[label] = (*bound.get(label, ()), *events)
        constituents.update(
            {(name, id(event)): (name, event) for name, event in branch.constituents}
        )
    return replace(branches[0], bound=bound, constituents=tuple(constituents.values()))


@dataclass
class Machine:
    """Runs the automaton of one expression over the stream and tells its matches."""

    body: Body
    world: World
    within: int | None
    missing: bool

    def __post_init__(self) -> None:
        self.automaton = Automaton.of(self.body)
        self.branches: list[Branch] = []
        self.parallels = {
            state: ParallelMachine(atom, self.world, self.within, self.missing)
            for state, atom in enumerate(self.automaton.atoms)
            if isinstance(atom, Parallel)
        }

    def see(self, event: Event) -> list[Branch]:
        """The matches that an event completes, directly or through a parallel expression."""
        matches = self._consider(event)
        for state, parallel in self.parallels.items():
            for pair in parallel.see(event):
                matches += self._consider(pair, state)
        return matches

    def due(self) -> int | None:
        """When the next timer fires."""
        own = [time for branch in self.branches for time in self._awaited(branch).values()]
        inner = [parallel.due() for parallel in self.parallels.values()]
        return min([*own, *(time for time in inner if time is not None)], default=None)

    def fire(self, now: int) -> list[Branch]:
        """The matches that timers complete."""
        matches: list[Branch] = []
        waiting, self.branches = self.branches, []
        for branch in waiting:
            awaited = self._awaited(branch)
            names = [name for name, time in awaited.items() if time <= now]
            if not names:
                self.branches.append(branch)
                continue
            name = min(names, key=lambda name: awaited[name])
            timer = TimerEvent(name, awaited[name], awaited[name])
            matches += self._advance(branch, self._taken(branch, timer, None), timer)
        self.branches = _unlike(self.branches)
        for state, parallel in self.parallels.items():
            for pair in parallel.fire(now):
                matches += self._consider(pair, state)
        return matches

    # --- steps ---------------------------------------------------------------

    def _consider(self, event: Event, source: int | None = None) -> list[Branch]:
        """Show an event to every branch; `source` is the parallel expression it comes from."""
        matches: list[Branch] = []
        waiting, self.branches = self.branches, []
        for branch in waiting:
            if self._decides(branch, event, source):
                matches += self._advance(branch, self._taken(branch, event, source), event)
            else:
                self.branches.append(branch)
        start = Branch(START)
        matches += self._advance(start, self._taken(start, event, source), event)
        self.branches = _unlike(self.branches)
        return matches

    def _decides(self, branch: Branch, event: Event, source: int | None) -> bool:
        """Whether the event follows the last one and lies in the domain of the branch's state."""
        transitions = self.automaton.transitions[branch.state]
        only_strong = all(transition.strong for transition in transitions)
        return self._follows(branch, event, strong=only_strong) and any(
            self._in_domain(transition.target, event, branch, source) for transition in transitions
        )

    def _follows(self, branch: Branch, event: Event, *, strong: bool) -> bool:
        if branch.last is None:
            return True
        if strong:
            return branch.last.precedes(event)
        return self.world.order.precedes(branch.last, event)

    def _taken(self, branch: Branch, event: Event, source: int | None) -> list[Transition]:
        return [
            transition
            for transition in self.automaton.transitions[branch.state]
            if self._accepts(transition.target, event, branch, source)
            and (
                isinstance(event, TimerEvent)
                or self._follows(branch, event, strong=transition.strong)
            )
        ]

    def _advance(self, branch: Branch, taken: list[Transition], event: Event) -> list[Branch]:
        """Follow every transition; the matches are those that reach an accepting state."""
        matches = []
        for transition in taken:
            moved = self._moved(branch, transition.target, event)
            if self.automaton.transitions[moved.state]:
                self.branches.append(moved)
            if moved.state in self.automaton.accepting:
                matches.append(moved)
        return matches

    def _moved(self, branch: Branch, state: int, event: Event) -> Branch:
        atom = self.automaton.atoms[state]
        label = atom.label if isinstance(atom, Atom) else None
        moved = replace(branch.with_event(label, event), state=state, last=event)
        timers = dict(branch.timers)
        if isinstance(event, TimerEvent):
            del timers[event.type]
        for transition in self.automaton.transitions[state]:
            for timing in transition.sets:
                timers.pop(timing.timer, None)
                time = _fires_at(timing, self.world)
                if time is not None:
                    timers[timing.timer] = time
        return replace(moved, timers=timers)

    # --- domains -------------------------------------------------------------

    def _accepts(self, state: int, event: Event, branch: Branch, source: int | None) -> bool:
        atom = self.automaton.atoms[state]
        if isinstance(atom, Parallel) or source is not None:
            return state == source
        accepted = any(self._is(element, event, branch) for element in atom.accepts)
        if not atom.negated:
            return accepted
        return not accepted and any(self._is(element, event, branch) for element in atom.domain)

    def _in_domain(self, state: int, event: Event, branch: Branch, source: int | None) -> bool:
        atom = self.automaton.atoms[state]
        if isinstance(atom, Parallel) or source is not None:
            return state == source
        elements = atom.domain if atom.negated else (*atom.domain, *atom.accepts)
        return any(self._is(element, event, branch) for element in elements)

    def _is(self, element: EventPredicate | TimerSignal, event: Event, branch: Branch) -> bool:
        if isinstance(element, TimerSignal) or isinstance(event, TimerEvent):
            return (
                isinstance(element, TimerSignal)
                and isinstance(event, TimerEvent)
                and element.name == event.type
            )
        return satisfies(event, element, Scope(branch.bound, missing=self.missing))

    def _awaited(self, branch: Branch) -> dict[str, int]:
        """The running timers that lie in the domain of the branch's state."""
        names: set[str] = set()
        for transition in self.automaton.transitions[branch.state]:
            names |= self.automaton.scopes[transition.target]
        return {name: time for name, time in branch.timers.items() if name in names}


def _unlike(branches: list[Branch]) -> list[Branch]:
    """Branches of which no two stay alike; those of `([A] | [A])*` would double with every A."""
    return list({branch.future: branch for branch in branches}.values())


def _fires_at(timing: Timing, world: World) -> int | None:
    """When a timer fires whose first part is detected now; a time in the past never comes.

    For what timers cause, their own instant is the past: otherwise a rule that waits for a moment
    and feeds on what it found there would never come to an end.
    """
    if timing.at is not None:
        return timing.at if timing.at >= world.now and timing.at != world.fired else None
    assert timing.duration is not None  # noqa: S101 (a timer has a duration or a fixed time)
    return world.now + timing.duration


@dataclass
class ParallelMachine:
    """Two independent machines; each pair of their matches is an event for what surrounds them.

    A pair that lasts longer than the whole rule may is none.
    """

    parallel: Parallel
    world: World
    within: int | None
    missing: bool

    def __post_init__(self) -> None:
        self.sides = [
            Machine(side, self.world, self.within, self.missing)
            for side in (self.parallel.left, self.parallel.right)
        ]
        self.matches: tuple[list[Branch], list[Branch]] = ([], [])

    def see(self, event: Event) -> list[Pair]:
        """The pairs that an event completes."""
        return self._paired([side.see(event) for side in self.sides])

    def due(self) -> int | None:
        """When the next timer of either side fires."""
        times = [side.due() for side in self.sides]
        return min((time for time in times if time is not None), default=None)

    def fire(self, now: int) -> list[Pair]:
        """The pairs that timers complete."""
        return self._paired([side.fire(now) for side in self.sides])

    def _paired(self, new: list[list[Branch]]) -> list[Pair]:
        left, right = self.matches
        pairs = [self._pair(one, other) for one in new[0] for other in [*right, *new[1]]]
        pairs += [self._pair(one, other) for one in left for other in new[1]]
        left.extend(new[0])
        right.extend(new[1])
        if self.within is None:
            del left[:-PARALLEL_LIMIT], right[:-PARALLEL_LIMIT]
        return sorted(filter(self._is_in_time, pairs), key=self.world.order.key)

    def _is_in_time(self, pair: Pair) -> bool:
        return self.within is None or pair.end - pair.start <= self.within

    def _pair(self, one: Branch, other: Branch) -> Pair:
        events = self.world.sorted(_merged([one, other]).constituents)
        return Pair(
            "",
            min(event.start for _, event in events),
            max(event.end for _, event in events),
            events=events,
            parts=(one, other),
        )


@dataclass
class DetectorEvaluator:
    """Evaluates a rule whose pattern is a detector."""

    rule: Rule
    detector: Detector
    world: World
    _told: set[frozenset[tuple[str, int]]] = field(default_factory=set)

    def __post_init__(self) -> None:
        within = self.detector.within
        self._machine = Machine(self.detector.body, self.world, within, self.rule.missing)

    def see(self, event: Event) -> list[CompositeEvent]:
        """The composite events that an event completes."""
        return list(self._composed(self._machine.see(event)))

    def due(self) -> int | None:
        """When the next timer fires."""
        return self._machine.due()

    def fire(self, now: int) -> list[CompositeEvent]:
        """The composite events that timers complete."""
        return list(self._composed(self._machine.fire(now)))

    def _composed(self, matches: list[Branch]) -> Iterator[CompositeEvent]:
        for match in matches:
            scope = Scope(match.bound, missing=self.rule.missing)
            events = [event for _, event in match.constituents]
            if not events or match.key in self._told or not holds(self.detector.where, scope):
                continue
            start, end = min(event.start for event in events), max(event.end for event in events)
            if self.detector.within is None or end - start <= self.detector.within:
                self._told.add(match.key)
                yield self.world.compose(self.rule, match.constituents, scope, start, end)
