"""Collections: constraints that free events meet, the oldest first (LAIPE, section 3.2).

On the arrival of an event, the first assignment of free events to constraints that contains it
and satisfies everything becomes a composite event; its events are consumed. "First" goes by the
constraints in the order of the text, each trying its oldest candidates first.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cepheid.algebra import (
    Absence,
    Accumulate,
    Alternation,
    Body,
    Collection,
    Conjunction,
    CountWindow,
    Pick,
    Rule,
    Sequence,
    Take,
    TimeWindow,
    walk,
)
from cepheid.errors import LimitError
from cepheid.events import CompositeEvent, Event
from cepheid.oracle.matches import World, labelled
from cepheid.oracle.run import PartitionKey, partition_of
from cepheid.oracle.values import (
    Scope,
    collected,
    holds,
    inside,
    related,
    satisfies,
    value_of,
)

TRY_LIMIT = 100_000
"""How many assignments are tried for one event."""


@dataclass(frozen=True)
class Assignment:
    """Which events meet which constraints so far, and what must be absent."""

    bound: dict[str, tuple[Event, ...]] = field(default_factory=dict)
    absent: tuple[Absence, ...] = ()

    @property
    def events(self) -> list[Event]:
        """All events that are assigned."""
        return [event for _, event in labelled(self.bound)]

    def uses(self, event: Event) -> bool:
        """Whether an event is assigned already."""
        return any(event is used for used in self.events)

    def plus(self, label: str, events: list[Event]) -> Assignment:
        """The assignment with one constraint more."""
        return replace(self, bound={**self.bound, label: tuple(events)})


@dataclass
class CollectionEvaluator:
    """Evaluates a rule whose pattern is a collection."""

    rule: Rule
    collection: Collection
    world: World
    _seen: dict[PartitionKey, list[Event]] = field(default_factory=dict)
    _consumed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._types = {
            type_ for node in walk(self.collection.body) for type_ in getattr(node, "types", ())
        }
        leaves = [n for n in walk(self.collection.body) if isinstance(n, Take | Accumulate | Pick)]
        named = Counter(t for leaf in leaves for t in _types_of(leaf))
        self._shared_types = {type_ for type_, count in named.items() if count > 1}

    def see(self, event: Event) -> list[CompositeEvent]:
        """The composite event that an event completes."""
        partition = partition_of(event, self.collection.partition)
        if partition is None or event.type not in self._types:
            return []
        seen = self._seen.setdefault(partition, [])
        seen.append(event)
        pool = [other for other in self._window(seen) if id(other) not in self._consumed]
        tries = self._assignments(self.collection.body, Assignment(), pool, None)
        for number, assignment in enumerate(tries):
            if number == TRY_LIMIT:
                raise LimitError(
                    f"rule {self.rule.name} must be decided within {TRY_LIMIT} assignments of "
                    "events to constraints\n\nhint: write a shorter window or a smaller count"
                )
            if assignment.uses(event) and self._fits(assignment, seen):
                self._consumed.update(map(id, assignment.events))
                return [self._compose(assignment)]
        return []

    def due(self) -> int | None:
        """Collections wait for events, never for time."""
        return None

    def fire(self, now: int) -> list[CompositeEvent]:
        """Nothing happens because time passes."""
        return []

    def _window(self, seen: list[Event]) -> list[Event]:
        """The events of the window that ends at the newest one."""
        window = self.collection.window
        if isinstance(window, CountWindow):
            return seen[-window.size :]
        if isinstance(window, TimeWindow):
            return [event for event in seen if event.start >= seen[-1].end - window.length]
        return seen

    # --- assignments ---------------------------------------------------------

    def _assignments(
        self, body: Body, so_far: Assignment, pool: list[Event], after: int | None
    ) -> Iterator[Assignment]:
        """All ways to meet a part of the pattern with events that start after a time."""
        if isinstance(body, Alternation):
            for part in body.parts:
                yield from self._assignments(part, so_far, pool, after)
        elif isinstance(body, Conjunction):
            yield from self._conjoined(body.parts, so_far, pool, after)
        elif isinstance(body, Sequence):
            yield from self._sequenced(body.parts, so_far, pool, after)
        elif isinstance(body, Absence):
            yield replace(so_far, absent=(*so_far.absent, body))
        elif isinstance(body, Take | Accumulate | Pick):
            for events in self._candidates(body, so_far, pool, after):
                yield so_far.plus(body.label, events)

    def _conjoined(
        self, parts: tuple[Body, ...], so_far: Assignment, pool: list[Event], after: int | None
    ) -> Iterator[Assignment]:
        if not parts:
            yield so_far
            return
        for assignment in self._assignments(parts[0], so_far, pool, after):
            yield from self._conjoined(parts[1:], assignment, pool, after)

    def _sequenced(
        self, parts: tuple[Body, ...], so_far: Assignment, pool: list[Event], after: int | None
    ) -> Iterator[Assignment]:
        """Each part strictly after the part before it is complete."""
        if not parts:
            yield so_far
            return
        used = set(map(id, so_far.events))
        for assignment in self._assignments(parts[0], so_far, pool, after):
            new = [event.end for event in assignment.events if id(event) not in used]
            yield from self._sequenced(parts[1:], assignment, pool, max(new, default=after))

    def _candidates(
        self,
        leaf: Take | Accumulate | Pick,
        so_far: Assignment,
        pool: list[Event],
        after: int | None,
    ) -> Iterator[list[Event]]:
        used = set(map(id, so_far.events))
        free = [
            event
            for event in pool
            if id(event) not in used and (after is None or event.start > after)
        ]
        if isinstance(leaf, Pick):
            yield from self._picked(leaf, pool, free)
            return
        fitting = [event for event in free if satisfies(event, leaf.predicate, self._scope())]
        if isinstance(leaf, Take):
            yield from self._taken(leaf, fitting)
        else:
            yield from self._accumulated(leaf, fitting)

    def _taken(self, leaf: Take, fitting: list[Event]) -> Iterator[list[Event]]:
        """So many events, the oldest first; neighbours suffice unless constraints share a type."""
        if set(leaf.predicate.types) & self._shared_types:
            yield from map(list, itertools.combinations(fitting, leaf.count))
        else:
            for start in range(len(fitting) - leaf.count + 1):
                yield fitting[start : start + leaf.count]

    def _picked(self, leaf: Pick, pool: list[Event], free: list[Event]) -> Iterator[list[Event]]:
        """The i-th event of the types in the window, if it is free and satisfies the condition."""
        of_types = [event for event in pool if event.type in leaf.types]
        index = leaf.index - 1 if leaf.index > 0 else leaf.index
        if -len(of_types) <= index < len(of_types):
            event = of_types[index]
            is_free = any(event is other for other in free)
            if is_free and holds(leaf.condition, replace(self._scope(), own=event)):
                yield [event]

    def _accumulated(self, leaf: Accumulate, fitting: list[Event]) -> Iterator[list[Event]]:
        """The events collected so far, as soon as the relation holds."""
        bound = value_of(leaf.bound, self._scope())
        for count in range(1, len(fitting) + 1):
            value = collected(leaf.function, fitting[:count], leaf.attribute)
            if value is not None and bound is not None and related(leaf.relation, value, bound):
                yield fitting[:count]
                return

    # --- the match -----------------------------------------------------------

    def _fits(self, assignment: Assignment, seen: list[Event]) -> bool:
        """Whether the whole match lies in its window and nothing is there that must not be."""
        return self._within(assignment) and self._absences_hold(assignment, seen)

    def _within(self, assignment: Assignment) -> bool:
        window, events = self.collection.window, assignment.events
        if not isinstance(window, TimeWindow):
            return True
        return max(e.end for e in events) - min(e.start for e in events) <= window.length

    def _absences_hold(self, assignment: Assignment, seen: list[Event]) -> bool:
        """No event that must be absent lies between the first and the last constituent."""
        events = sorted(assignment.events, key=self.world.order.key)
        first, last = events[0], events[-1]
        between = [
            event
            for event in seen
            if inside(event, first.end, last.start) and not assignment.uses(event)
        ]
        return not any(
            satisfies(event, absence.predicate, self._scope())
            for absence in assignment.absent
            for event in between
        )

    def _scope(self) -> Scope:
        return Scope(missing=self.rule.missing)

    def _compose(self, assignment: Assignment) -> CompositeEvent:
        scope = replace(self._scope(), bound=assignment.bound)
        start = min(event.start for event in assignment.events)
        end = max(event.end for event in assignment.events)
        return self.world.compose(self.rule, labelled(assignment.bound), scope, start, end)


def _types_of(leaf: Take | Accumulate | Pick) -> tuple[str, ...]:
    return leaf.types if isinstance(leaf, Pick) else leaf.predicate.types
