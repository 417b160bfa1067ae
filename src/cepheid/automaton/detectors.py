"""Detectors to automata (framework paper, appendix B).

Each operator joins the automata of its parts by empty transitions, and each empty transition is
removed as soon as it is made: the steps out of the second part's start state begin in the last
states of the first part, and take over whether the empty transition was strong or weak. What
remains is a start state and one state for each atom. A state's domain is that of all atoms that
may come next, with the timers in whose scope they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.algebra import (
    Alternation,
    Atom,
    Body,
    Detector,
    Iteration,
    Parallel,
    Rule,
    Sequence,
    TimerSignal,
    TimeWindow,
    Timing,
    conjuncts,
    labels_of,
)
from cepheid.automaton.model import (
    Arrival,
    Automaton,
    Constraint,
    Form,
    Join,
    Lane,
    Limit,
    Pair,
    Signal,
    Stage,
    State,
    Tie,
    Timer,
    Transition,
    Trigger,
)


def compile_detector(rule: Rule, detector: Detector) -> Automaton:
    """The automaton of a rule whose pattern is a detector."""
    drawing = _Drawing()
    drawing.add("", detector.body, frozenset())
    within = detector.within
    return Automaton(
        rule,
        Form.DETECTOR,
        tuple(drawing.lanes),
        tuple(
            Constraint(tuple(sorted(labels_of(part))), part) for part in conjuncts(detector.where)
        ),
        joins=tuple(drawing.joins),
        timers=tuple(drawing.timers),
        limit=None if within is None else Limit(TimeWindow(within), closed=True),
    )


@dataclass
class _Drawing:
    """The lanes of a detector: the whole, and both sides of every parallel part."""

    lanes: list[Lane] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    _parallels: int = 0

    def add(self, name: str, body: Body, scope: frozenset[str]) -> Lane:
        """Build the lane of an expression, and those of its parallel parts after it."""
        plan = _LanePlan()
        whole = plan.part(body, scope)
        pairs = {
            place: self._names()
            for place, atom in enumerate(plan.atoms)
            if isinstance(atom, Parallel)
        }
        lane = plan.lane(name, whole, pairs)
        self.lanes.append(lane)
        self.timers += plan.timers(lane)
        for place, names in pairs.items():
            atom = plan.atoms[place]
            assert isinstance(atom, Parallel)  # noqa: S101 (pairs stand for these alone)
            self._add_sides(atom, names)
        return lane

    def _names(self) -> tuple[str, str]:
        self._parallels += 1
        return f"P{self._parallels}a", f"P{self._parallels}b"

    def _add_sides(self, parallel: Parallel, names: tuple[str, str]) -> None:
        """A timer around a parallel part is not for its sides: they are detected independently."""
        sides = (parallel.left, parallel.right)
        lanes = [self.add(name, body, frozenset()) for name, body in zip(names, sides, strict=True)]
        ends = [state.name for lane in lanes for state in lane.states if state.stage is Stage.END]
        self.joins.append(Join(Tie.PAIR, tuple(ends)))


@dataclass(frozen=True)
class _Part:
    """A part without empty transitions: its first and last atoms, and whether it may be nothing."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    empty: bool


_NOTHING = _Part((), (), empty=True)


@dataclass
class _LanePlan:
    """The atoms of a lane and the steps between them."""

    atoms: list[Atom | Parallel] = field(default_factory=list)
    scopes: list[frozenset[str]] = field(default_factory=list)
    steps: dict[tuple[int, int, bool], None] = field(default_factory=dict)
    timings: list[tuple[Timing, tuple[int, ...]]] = field(default_factory=list)

    def part(self, body: Body, scope: frozenset[str]) -> _Part:
        """Add an expression; every operator is a case of appendix B."""
        if isinstance(body, Sequence):
            whole = _NOTHING
            for item in body.parts:
                whole = self._then(whole, self.part(item, scope), strong=body.strong)
            return whole
        if isinstance(body, Timing):
            first = self.part(body.first, scope)
            second = self.part(body.second, scope | {body.timer})
            self.timings.append((body, first.last))
            return self._then(first, second, strong=False)
        if isinstance(body, Alternation):
            return _either([self.part(item, scope) for item in body.parts])
        if isinstance(body, Iteration):
            again = self.part(body.body, scope)
            self._connect(again, again, strong=False)
            return _Part(again.first, again.last, empty=True)
        assert isinstance(body, Atom | Parallel)  # noqa: S101 (a detector has no other parts)
        self.atoms.append(body)
        self.scopes.append(scope)
        return _Part((len(self.atoms) - 1,), (len(self.atoms) - 1,), empty=False)

    def _then(self, left: _Part, right: _Part, *, strong: bool) -> _Part:
        self._connect(left, right, strong=strong)
        first = left.first + (right.first if left.empty else ())
        last = right.last + (left.last if right.empty else ())
        return _Part(first, last, left.empty and right.empty)

    def _connect(self, left: _Part, right: _Part, *, strong: bool) -> None:
        self.steps.update(
            {(source, target, strong): None for source in left.last for target in right.first}
        )

    # --- states and transitions ----------------------------------------------

    def lane(self, name: str, whole: _Part, pairs: dict[int, tuple[str, str]]) -> Lane:
        """The lane with its states, the start state first."""
        self.prefix = f"{name}." if name else ""
        states = [State(self._name(None), "S0", Stage.START)]
        states += [
            self._state(place, Stage.END if place in whole.last else Stage.MIDDLE)
            for place in range(len(self.atoms))
        ]
        edges: list[tuple[int | None, int, bool | None]] = [(None, to, None) for to in whole.first]
        edges += sorted(self.steps)
        transitions = [
            Transition(self._name(source), self._name(to), self._trigger(to, pairs), strong)
            for source, to, strong in edges
        ]
        return Lane(name, tuple(states), tuple(transitions))

    def timers(self, lane: Lane) -> list[Timer]:
        """The timers that are set in this lane, with the states that look at them."""
        return [
            Timer(
                timing.timer,
                timing.duration,
                timing.at,
                tuple(map(self._name, places)),
                tuple(s.name for s in lane.states if TimerSignal(timing.timer) in s.domain),
            )
            for timing, places in self.timings
        ]

    def _name(self, place: int | None) -> str:
        return f"{self.prefix}S{0 if place is None else place + 1}"

    def _state(self, place: int, stage: Stage) -> State:
        atom = self.atoms[place]
        event = atom.label if isinstance(atom, Atom) else None
        sets = tuple(timing.timer for timing, places in self.timings if place in places)
        return State(
            self._name(place), f"S{place + 1}", stage, event, self._domain(place), tuple(sets)
        )

    def _domain(self, place: int) -> tuple[Signal, ...]:
        """What the atoms that may come next look at."""
        found: dict[Signal, None] = {}
        for source, target, _ in self.steps:
            if source == place:
                found.update(dict.fromkeys(_domain_of(self.atoms[target])))
                found.update(dict.fromkeys(map(TimerSignal, sorted(self.scopes[target]))))
        return tuple(found)

    def _trigger(self, place: int, pairs: dict[int, tuple[str, str]]) -> Trigger:
        atom = self.atoms[place]
        if isinstance(atom, Parallel):
            return Pair(pairs[place])
        if atom.negated:
            return Arrival(atom.domain, excludes=atom.accepts)
        return Arrival(atom.accepts)


def _domain_of(atom: Atom | Parallel) -> tuple[Signal, ...]:
    if isinstance(atom, Parallel):
        return ()
    return atom.domain if atom.negated else (*atom.domain, *atom.accepts)


def _either(parts: list[_Part]) -> _Part:
    return _Part(
        tuple(place for part in parts for place in part.first),
        tuple(place for part in parts for place in part.last),
        any(part.empty for part in parts),
    )
