"""Solving: which values, events or absences would have made a condition hold.

A condition that failed is followed down to the attributes it speaks of. What it gives are
proposals: each is judged by the oracle before anybody is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest

from cepheid.algebra import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Coalesce,
    Collected,
    Comparison,
    EventPredicate,
    Expression,
    Function,
    Item,
    Negative,
    Not,
    Or,
    Parameter,
    Relation,
    conjuncts,
    find,
)
from cepheid.events import Event, Kind, Schema, Value, kind_of
from cepheid.oracle.values import (
    Scope,
    Tick,
    bounds,
    collected,
    holds,
    related,
    value_of,
)
from cepheid.why.changes import Add, Change, Remove, SetValue, together
from cepheid.why.drafts import free_times, like, onward, spread
from cepheid.why.measure import aggregate_events
from cepheid.why.numbers import OPPOSITE, inverted, nearest, wanted_count
from cepheid.why.words import Words

PROPOSALS = 6
"""How many events of an aggregate are proposed to be another."""
NEIGHBOURS = 24
"""How many events of its type one that could be added is like."""
ROUNDS = 12
"""How often an event that could be added is adapted to its filter."""


@dataclass(frozen=True)
class Solver:
    """Proposes changes for conditions; `produced` are the types that rules make."""

    schema: Schema = field(default_factory=Schema)
    produced: frozenset[str] = frozenset()
    step: int = 1_000_000
    words: Words = field(default_factory=Words)

    def make(self, condition: Expression, scope: Scope, *, wanted: bool = True) -> Iterator[Change]:
        """Changes after which a condition holds, or does not hold, or comes nearer to it."""
        if isinstance(condition, Not):
            yield from self.make(condition.operand, scope, wanted=not wanted)
        elif isinstance(condition, And | Or):
            yield from self._several(condition, scope, wanted)
        elif isinstance(condition, Comparison):
            yield from self._compare(condition, scope, wanted)
        else:
            relation = Relation.EQUAL if wanted else Relation.UNEQUAL
            yield from self.reach(condition, relation, True, scope)

    def _several(self, condition: And | Or, scope: Scope, wanted: bool) -> Iterator[Change]:
        """All must be met together, or any of them alone."""
        failing = [part for part in condition.operands if holds(part, scope) is not wanted]
        if isinstance(condition, And) is wanted:
            failing = failing[:1]
        for part in failing:
            yield from self.make(part, scope, wanted=wanted)

    def _compare(self, condition: Comparison, scope: Scope, wanted: bool) -> Iterator[Change]:
        relation = condition.relation if wanted else OPPOSITE[condition.relation]
        left, right = value_of(condition.left, scope), value_of(condition.right, scope)
        if left is None and right is None:
            for side in (condition.left, condition.right):
                yield from self.reach(side, Relation.EQUAL, self._any(condition, scope), scope)
        if right is not None:
            yield from self.reach(condition.left, relation, right, scope)
        if left is not None:
            yield from self.reach(condition.right, relation.mirrored, left, scope)

    def _any(self, condition: Comparison, scope: Scope) -> Value:
        """Some value for what is missing on both sides, such as other events have."""
        names = [node.name for node in find(condition, Attribute)]
        for name in names:
            known = (event.attributes.get(name) for event in scope.history)
            found = next((value for value in known if value is not None), None)
            if found is not None:
                return found
        kinds = [kinds[name] for kinds in self.schema.values() for name in names if name in kinds]
        defaults: dict[Kind, Value] = {Kind.STRING: "x", Kind.BOOL: True}
        return defaults.get(kinds[0], 1) if kinds else 1

    # --- from a condition to attributes --------------------------------------

    def reach(
        self, side: Expression, relation: Relation, goal: Value, scope: Scope
    ) -> Iterator[Change]:
        """Changes with which an expression stands in a relation to a value."""
        if isinstance(side, Attribute):
            event = scope.own if side.label is None else _last(scope, side.label)
            yield from self._set(event, side.name, relation, goal)
        elif isinstance(side, Item):
            yield from self._set(_item(scope, side), side.attribute, relation, goal)
        elif isinstance(side, Parameter):
            inner = replace(scope, own=None)
            yield from self.reach(scope.parameters[side.name], relation, goal, inner)
        elif isinstance(side, Coalesce):
            for option in side.options:
                yield from self.reach(option, relation, goal, scope)
        elif isinstance(side, Aggregate):
            yield from self._aggregate(side, relation, goal, scope)
        elif isinstance(side, Collected):
            kept = [e for e in scope.bound.get(side.label, ()) if _kept(side, e, scope)]
            yield from self.over(side.function, kept, side.attribute, relation, goal)
            yield from self._filtered(side, scope)
        elif _is_number(goal) and isinstance(goal, int | float):
            yield from self._arithmetic(side, relation, goal, scope)

    def _arithmetic(
        self, side: Expression, relation: Relation, goal: float, scope: Scope
    ) -> Iterator[Change]:
        if isinstance(side, Negative):
            yield from self.reach(side.operand, relation.mirrored, -goal, scope)
        if not isinstance(side, Arithmetic):
            return
        for varied, fixed, on_left in (
            (side.left, side.right, True),
            (side.right, side.left, False),
        ):
            value = value_of(fixed, scope)
            if isinstance(value, int | float) and _is_number(value):
                needed = inverted(side.sign, relation, goal, value, on_left=on_left)
                if needed is not None:
                    yield from self.reach(varied, *needed, scope)

    def _set(
        self, event: Event | None, name: str, relation: Relation, goal: Value
    ) -> Iterator[Change]:
        if event is None or isinstance(event, Tick):
            return
        before = event.attributes.get(name)
        value = nearest(relation, goal, before, self.schema.get(event.type, {}).get(name))
        if value is not None and (value != before or kind_of(value) != _kind(before)):
            yield SetValue(event, name, value, words=self.words)

    # --- aggregates ----------------------------------------------------------

    def _aggregate(
        self, node: Aggregate, relation: Relation, goal: Value, scope: Scope
    ) -> Iterator[Change]:
        events = aggregate_events(node, scope)
        yield from self.over(node.function, events, node.attribute, relation, goal)
        yield from self._counting(node, events, relation, goal, scope)

    def over(
        self,
        function: Function,
        events: Sequence[Event],
        attribute: str | None,
        relation: Relation,
        goal: Value,
    ) -> Iterator[Change]:
        """Changes of events with which a function over them stands in a relation to a value."""
        if not isinstance(goal, int | float) or isinstance(goal, bool):
            return
        options = [*self._raised(function, events, attribute, relation, goal)]
        options += [[Remove(event, words=self.words)] for event in events[:PROPOSALS]]
        if function is Function.COUNT:
            wanted = wanted_count(relation, goal, len(events))
            if wanted is not None and wanted < len(events):
                gone = events[wanted:]
                options.append([Remove(event, words=self.words) for event in gone])
        for changes in filter(None, options):
            after = _after(events, changes)
            value = collected(function, after, attribute)
            if value is not None and related(relation, value, goal):
                yield together(changes)

    def _raised(
        self,
        function: Function,
        events: Sequence[Event],
        attribute: str | None,
        relation: Relation,
        goal: float,
    ) -> Iterator[list[Change]]:
        """Other values of the events, one at a time, or of all that are beyond the goal."""
        numbers = [(e, e.attributes.get(attribute or "")) for e in events]
        known = [(e, v) for e, v in numbers if isinstance(v, int | float) and _is_number(v)]
        current = collected(function, events, attribute)
        if function is Function.COUNT or attribute is None or not isinstance(current, int | float):
            return
        target = nearest(relation, goal, None, Kind.DOUBLE)
        if not isinstance(target, int | float):
            return
        for event, value in known[:PROPOSALS]:
            yield list(self._lifted(function, (event, value), attribute, target - current, known))
        yield [
            change
            for event, value in known
            if not related(relation, value, goal)
            for change in self._set(event, attribute, relation, goal)
        ]

    def _lifted(
        self,
        function: Function,
        one: tuple[Event, float],
        attribute: str,
        missing: float,
        known: Sequence[tuple[Event, float]],
    ) -> Iterator[Change]:
        """One event's value by which a sum, an average or an extreme comes where it should be."""
        event, value = one
        if function in (Function.MIN, Function.MAX):
            extreme = (min if function is Function.MIN else max)(v for _, v in known)
            goal = extreme + missing
        else:
            goal = value + missing * (len(known) if function is Function.AVG else 1)
        relation = Relation.AT_LEAST if goal > value else Relation.AT_MOST
        yield from self._set(event, attribute, relation, goal)

    def _counting(
        self,
        node: Aggregate,
        events: list[Event],
        relation: Relation,
        goal: Value,
        scope: Scope,
    ) -> Iterator[Change]:
        """Further events in the window of an aggregate."""
        if not isinstance(goal, int | float):
            return
        window = bounds(node.window, scope.bound, scope.order)
        missing = 1
        if node.function is Function.COUNT:
            wanted = wanted_count(relation, goal, len(events))
            missing = 0 if wanted is None else wanted - len(events)
        if not 0 < missing <= 100:
            return
        if self.draft(node.predicate, scope, 0) is None:
            yield from self.supplied(node.predicate, scope, 0)
            return
        for times in spread(window, missing, scope, self.step):
            for trend in (False, True):
                drafts = [self.draft(node.predicate, scope, time, trend=trend) for time in times]
                found = [draft for draft in drafts if draft is not None]
                if len(found) == len(times):
                    adapted = self._adapted(node, events, found, relation, goal)
                    yield together([Add(event, words=self.words) for event in adapted])

    def _adapted(
        self,
        node: Aggregate,
        events: list[Event],
        drafts: list[Event],
        relation: Relation,
        goal: Value,
    ) -> list[Event]:
        """A further event with the value that brings a function where it should be."""
        if node.function is Function.COUNT or node.attribute is None:
            return drafts
        (draft,) = drafts
        if draft.attributes.get(node.attribute) is None:
            value = nearest(
                relation, goal, None, self.schema.get(draft.type, {}).get(node.attribute)
            )
            draft = _with(draft, node.attribute, value)
        for change in self.over(node.function, [*events, draft], node.attribute, relation, goal):
            if isinstance(change, SetValue) and change.event is draft:
                return [change.follow(draft)]
        return [draft]

    def _filtered(self, side: Collected, scope: Scope) -> Iterator[Change]:
        """Events that are there and could count, did they satisfy the filter."""
        if side.filter is None:
            return
        for event in scope.bound.get(side.label, ()):
            own = replace(scope, own=event)
            kept = holds(side.filter, own)
            yield from self.make(side.filter, own, wanted=not kept)

    # --- events that could be added ------------------------------------------

    def times(self, window: tuple[float, float], scope: Scope) -> list[int]:
        """Where in an open interval an event could be added."""
        return free_times(window, scope, self.step)

    def draft(
        self,
        predicate: EventPredicate,
        scope: Scope,
        time: int,
        ties: Sequence[Expression] = (),
        *,
        trend: bool = False,
    ) -> Event | None:
        """An event of a predicate that could be added at a time; None when there can be none.

        It is like its neighbours; with `trend` it goes on as those before it went.
        """
        if predicate.every is not None:
            return None
        for type_ in sorted(predicate.types, key=lambda name: name in self.produced):
            alike = (e for e in scope.history if e.type == type_ and not isinstance(e, Tick))
            likes = nsmallest(NEIGHBOURS, alike, key=lambda e: abs(e.end - time))
            needed = [*conjuncts(predicate.filter), *ties]
            draft = like(type_, time, likes, needed, scope)
            if trend and not any(e.end > time for e in likes):
                draft = onward(draft, [e for e in likes if e.end < time])
            found = self.fitted(draft, needed, scope)
            if found is not None:
                return found
        return None

    def supplied(self, predicate: EventPredicate, scope: Scope, time: int) -> Iterator[Change]:
        """What the events that are there lack, for another one to agree with them."""
        own = Event(predicate.types[0], time, time) if predicate.types else None
        for part in conjuncts(predicate.filter):
            for change in self.make(part, replace(scope, own=own)):
                if isinstance(change, SetValue) and change.event is not own:
                    yield change

    def fitted(self, event: Event, needed: Sequence[Expression], scope: Scope) -> Event | None:
        """An event with its attributes changed until it satisfies all conditions."""
        for _ in range(ROUNDS):
            own = replace(scope, own=event)
            failing = next((part for part in needed if not holds(part, own)), None)
            if failing is None:
                return event
            changed = self._first_of(event, failing, own)
            if changed is None:
                return None
            event = changed
        return None

    def _first_of(self, event: Event, failing: Expression, own: Scope) -> Event | None:
        for change in self.make(failing, own):
            if isinstance(change, SetValue) and change.event is event:
                return change.follow(event)
        return None


def _with(event: Event, name: str, value: Value | None) -> Event:
    return event if value is None else replace(event, attributes={**event.attributes, name: value})


def _after(events: Sequence[Event], changes: Sequence[Change]) -> list[Event]:
    gone = [id(c.event) for c in changes if isinstance(c, Remove)]
    kept = [event for event in events if id(event) not in gone]
    sets = {id(c.event): c for c in changes if isinstance(c, SetValue)}
    return [sets[id(e)].follow(e) if id(e) in sets else e for e in kept]


def _kept(side: Collected, event: Event, scope: Scope) -> bool:
    return holds(side.filter, replace(scope, own=event))


def _last(scope: Scope, label: str) -> Event | None:
    events = scope.bound.get(label, ())
    return events[-1] if events else None


def _item(scope: Scope, side: Item) -> Event | None:
    events = scope.bound.get(side.label, ())
    index = side.index - 1 if side.index > 0 else side.index
    return events[index] if -len(events) <= index < len(events) else None


def _is_number(value: Value) -> bool:
    return kind_of(value).numeric


def _kind(value: Value | None) -> Kind | None:
    return None if value is None else kind_of(value)
