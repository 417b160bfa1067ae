"""Collections to automata: a state for each constraint that is met (LAIPE, sections 3.2 and 5.1).

`Then` leads on from a state, `Or` parts into several ways. `And` forks: all ways are gone at the
same time, in any order, and meet again in a join; an `Or` in it stands between two choices, so
that it is one of these ways. What must be absent hangs on the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cepheid.algebra import (
    Absence,
    Accumulate,
    Alternation,
    Body,
    Collected,
    Collection,
    Comparison,
    Conjunction,
    EventPredicate,
    Pick,
    Rule,
    Sequence,
    Take,
    find,
)
from cepheid.automaton.model import (
    Absent,
    Arrival,
    Automaton,
    Form,
    Guard,
    Lane,
    Limit,
    Stage,
    State,
    Transition,
)
from cepheid.automaton.runs import END, START, keys


def compile_collection(rule: Rule, collection: Collection) -> Automaton:
    """The automaton of a rule whose pattern is a collection."""
    gathering = _Gathering(collection)
    lane = gathering.lane()
    labels = tuple(dict.fromkeys(state.event for state in lane.states if state.event))
    window = collection.window
    return Automaton(
        rule,
        Form.COLLECTION,
        (lane,),
        keys(collection.partition, labels),
        tuple(gathering.absent),
        limit=None if window is None else Limit(window, closed=True),
    )


@dataclass
class _Gathering:
    collection: Collection
    states: list[State] = field(default_factory=lambda: [State(START, START, Stage.START)])
    transitions: list[Transition] = field(default_factory=list)
    absent: list[Absent] = field(default_factory=list)

    def lane(self) -> Lane:
        """The one lane of the automaton."""
        exits = self._build(self.collection.body, [START], None)
        middle = {state.name for state in self.states if state.stage is Stage.MIDDLE}
        joins = [name for name in exits if name not in middle]
        ends = set(exits) - set(joins)
        self.states = [
            replace(state, title=END, stage=Stage.END, wait=None) if state.name in ends else state
            for state in self.states
        ]
        if joins:
            self._state(END, Stage.END)
            self._lead(joins, END)
        return Lane("A1", tuple(self.states), tuple(self.transitions))

    def _build(self, body: Body, sources: list[str], strong: bool | None) -> list[str]:
        """Add a part of the pattern after some states; the result is where it is complete."""
        if isinstance(body, Alternation):
            return [exit_ for part in body.parts for exit_ in self._option(part, sources, strong)]
        if isinstance(body, Sequence):
            return self._sequence(body, sources, strong)
        if isinstance(body, Conjunction):
            return self._conjunction(body, sources, strong)
        if isinstance(body, Absence):
            self.absent.append(Absent("", body.predicate, None, ()))
            return sources
        return self._leaf(body, sources, strong)

    def _option(self, part: Body, sources: list[str], strong: bool | None) -> list[str]:
        """One way of several; one that only asks for an absence has a state of its own."""
        exits = self._build(part, sources, strong)
        if exits != sources:
            return exits
        state = self._state(f"S{len(self.states)}", Stage.MIDDLE)
        self._lead(sources, state)
        return [state]

    def _sequence(self, body: Sequence, sources: list[str], strong: bool | None) -> list[str]:
        for part in body.parts:
            after = self._build(part, sources, strong)
            strong = strong if after == sources else True
            sources = after
        return sources

    def _conjunction(self, body: Conjunction, sources: list[str], strong: bool | None) -> list[str]:
        present = [part for part in body.parts if not isinstance(part, Absence)]
        for part in body.parts:
            if isinstance(part, Absence):
                self._build(part, sources, strong)
        if len(present) < 2:
            return self._build(present[0], sources, strong) if present else sources
        fork = self._state(f"F{len(self.states)}", Stage.FORK)
        self._lead(sources, fork)
        exits = [exit_ for part in present for exit_ in self._way(part, fork, strong)]
        join = self._state(f"J{len(self.states)}", Stage.JOIN)
        self._lead(exits, join)
        return [join]

    def _way(self, part: Body, fork: str, strong: bool | None) -> list[str]:
        """One of the ways of a fork, which begins and ends in one state."""
        if not any(find(part, Alternation)):
            return self._option(part, [fork], strong)
        choice = self._state(f"C{len(self.states)}", Stage.CHOICE)
        self._lead([fork], choice)
        exits = self._build(part, [choice], strong)
        merge = self._state(f"C{len(self.states)}", Stage.CHOICE)
        self._lead(exits, merge)
        return [merge]

    def _leaf(self, leaf: Body, sources: list[str], strong: bool | None) -> list[str]:
        assert isinstance(leaf, Take | Accumulate | Pick)  # noqa: S101 (no other parts)
        state = self._state(f"S{len(self.states)}", Stage.MIDDLE, leaf.label)
        for source in sources:
            self.transitions.append(_step(leaf, Transition(source, state, strong=strong)))
        return [state]

    def _state(self, name: str, stage: Stage, event: str | None = None) -> str:
        wait = self.collection.window if stage is Stage.MIDDLE else None
        self.states.append(State(name, name, stage, event, wait=wait))
        return name

    def _lead(self, sources: list[str], target: str) -> None:
        self.transitions += [Transition(source, target) for source in sources]


def _step(leaf: Take | Accumulate | Pick, step: Transition) -> Transition:
    if isinstance(leaf, Pick):
        # The i-th event is found first and judged then, so its condition is no filter.
        arrival, guard = Arrival((EventPredicate(leaf.types),)), Guard(condition=leaf.condition)
        return replace(step, trigger=arrival, index=leaf.index, guard=guard)
    step = replace(step, trigger=Arrival((leaf.predicate,)))
    if isinstance(leaf, Take):
        return replace(step, times=leaf.count)
    value = Collected(leaf.function, leaf.label, leaf.attribute)
    return replace(step, until=Comparison(leaf.relation, value, leaf.bound))
