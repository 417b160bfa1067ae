"""What is given: events in any form, as a list of `Event`s that is small enough to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from cepheid.algebra import (
    Absence,
    Accumulate,
    Atom,
    Collection,
    CountWindow,
    Detector,
    EventPredicate,
    Instant,
    Pick,
    Rule,
    Run,
    TimeWindow,
    Timing,
    Tree,
    Window,
    find,
    input_types,
)
from cepheid.automaton import compile_rule
from cepheid.automaton.partition import partitions
from cepheid.errors import EventError
from cepheid.events import Event, Schema, Value, kind_of
from cepheid.records import Clock, from_record, from_records
from cepheid.tables.arrow import Bools, Ints, kind, pa, pc
from cepheid.tables.table import Table
from cepheid.why.words import Words


@dataclass(frozen=True)
class Near:
    """Which events are taken of many: of some types, first those of a key, nearest to a time."""

    types: frozenset[str]
    limit: int
    key: tuple[str, Value] | None = None


@dataclass(frozen=True)
class Given:
    """Events that can be counted and looked at in part, and how those who ask write times."""

    words: Words
    starts: Ints
    ends: Ints
    pick: Callable[[Sequence[int]], list[Event]]
    of_types: Callable[[frozenset[str]], Bools]
    """Which events are of some types."""
    having: Callable[[str, Value], Bools]
    """Which events have a value in an attribute."""

    @staticmethod
    def of(events: object, unit: str | None, schema: Schema) -> Given:
        """Events in any form that `detect` takes, except DataFrames of Spark."""
        if isinstance(events, Sequence) and not isinstance(events, str):
            return _listed(events, unit, schema)
        from cepheid.tables.frames import is_table

        if not is_table(events):
            raise EventError(
                "events must be a list of Events or dictionaries, a table, or a mapping from types "
                f"to tables; got {type(events).__name__}\n\nhint: for a DataFrame of Spark, take "
                "the part of it that is asked about: frame.where(...).toPandas()"
            )
        from cepheid.tables.reading import read

        reading = read(events, Clock.of(unit), schema)
        return _tabular(reading.table, Words(reading.times.clock, literal=False))

    @property
    def count(self) -> int:
        """How many events there are."""
        return len(self.ends)

    @property
    def end(self) -> int:
        """The time of the last event."""
        return int(self.ends.max()) if self.count else 0

    @property
    def length(self) -> int:
        """How long the events last from the first to the last."""
        return self.end - int(self.starts.min()) if self.count else 0

    def all(self) -> list[Event]:
        """All events."""
        return self.pick(range(self.count))

    def near(self, low: float, high: float, wanted: Near) -> list[Event]:
        """The events between two times; of too many, those in the middle."""
        inside = (self.ends >= low) & (self.starts <= high) & self.of_types(wanted.types)
        rows = np.flatnonzero(inside)
        if len(rows) > wanted.limit:
            away = np.abs(self.ends[rows] - (low + high) / 2)
            other = np.zeros(len(rows), np.bool_)
            if wanted.key is not None:
                other = ~self.having(*wanted.key)[rows]
            rows = np.sort(rows[np.lexsort((away, other))[: wanted.limit]])
        return self.pick(rows.tolist())

    def time(self, time: object) -> int:
        """A time as those who ask write it, in microseconds."""
        return self.words.clock.read(time)

    def event(self, given: Event | Mapping[str, Any]) -> Event:
        """An event as those who ask write it."""
        return given if isinstance(given, Event) else from_record(given, self.words.clock)


def _listed(events: Sequence[Any], unit: str | None, schema: Schema) -> Given:
    as_events = all(isinstance(event, Event) for event in events)
    clock = Clock.of("us" if as_events and unit is None else unit)
    found = from_records(events, clock, schema)
    return Given(
        Words(clock, literal=as_events and unit is None),
        np.array([event.start for event in found], np.int64),
        np.array([event.end for event in found], np.int64),
        lambda rows: [found[row] for row in rows],
        lambda types: np.array([event.type in types for event in found], np.bool_),
        lambda name, value: np.array(
            [event.attributes.get(name) == value for event in found], np.bool_
        ),
    )


def _tabular(table: Table, words: Words) -> Given:
    def of_types(types: frozenset[str]) -> Bools:
        found: Bools = pc.is_in(table.types, pa.array(sorted(types), pa.string())).to_numpy(
            zero_copy_only=False
        )
        return found

    def having(name: str, value: Value) -> Bools:
        found = np.zeros(len(table), np.bool_)
        for array in table.named(name):
            if kind(array) == kind_of(value):
                same = pc.equal(array, value).fill_null(False)
                found |= same.to_numpy(zero_copy_only=False)
        return found

    return Given(
        words,
        table.starts,
        table.ends,
        lambda rows: [table.event(row) for row in rows],
        of_types,
        having,
    )


def needed_for(rule: Rule, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """A rule with all rules whose composite events it may need, directly or through others."""
    known = list(rules)
    found = {rule.name: rule}
    waiting = [rule]
    while waiting:
        types = set(input_types(waiting.pop()))
        more = [r for r in known if r.output.type in types and r.name not in found]
        found.update({r.name: r for r in more})
        waiting += more
    return tuple(r for r in known if r.name in found)


def taken_types(rule: Rule) -> frozenset[str]:
    """The types of events that a match of a rule can be made of."""
    pattern = rule.pattern
    if isinstance(pattern, Tree):
        predicates = [component.predicate for component in pattern.components]
    elif isinstance(pattern, Detector):
        atoms = list(find(pattern, Atom))
        signals = [s for atom in atoms for s in (atom.domain if atom.negated else atom.accepts)]
        predicates = [signal for signal in signals if isinstance(signal, EventPredicate)]
    else:
        absent = {id(node.predicate) for node in find(pattern, Absence)}
        predicates = [p for p in find(pattern, EventPredicate) if id(p) not in absent]
    picked = [type_ for node in find(pattern, Pick) for type_ in node.types]
    return frozenset([*(type_ for p in predicates for type_ in p.types), *picked])


def types_of(rules: Iterable[Rule]) -> frozenset[str]:
    """All event types that rules look at."""
    return frozenset(type_ for rule in rules for type_ in input_types(rule))


def key_of_rules(rules: Iterable[Rule]) -> str | None:
    """An attribute that all events of a match share, whichever of the rules it is of."""
    names: set[str] | None = None
    for rule in rules:
        groups = partitions(compile_rule(rule))
        own = {group.attributes[0] for group in groups if len(group.attributes) == 1}
        names = own if names is None else names & own
    return min(names, default=None) if names else None


def key_with(rules: Sequence[Rule], event: Event | None) -> tuple[str, Value] | None:
    """The key that the events of a match share with an event."""
    name = key_of_rules(rules)
    value = event.attributes.get(name) if event is not None and name is not None else None
    return None if name is None or value is None else (name, value)


def is_time(around: object) -> bool:
    """Whether what is asked about is a time, not an event."""
    return isinstance(around, int | datetime)


def reach_of(rules: Iterable[Rule]) -> int | None:
    """How far from an event rules look at others, at most; None when that has no bound."""
    total = 0
    for rule in rules:
        own = _reach(rule)
        if own is None:
            return None
        total += own
    return total


def _reach(rule: Rule) -> int | None:
    if not _bounded(rule):
        return None
    total = sum(abs(node.offset) for node in find(rule, Instant))
    total += sum(node.length for node in find(rule, TimeWindow))
    total += sum(node.duration or 0 for node in find(rule, Timing))
    total += sum(node.every or 0 for node in find(rule, EventPredicate))
    return total + (getattr(rule.pattern, "within", None) or 0)


def _bounded(rule: Rule) -> bool:
    pattern = rule.pattern
    if isinstance(pattern, Tree):
        windows = find(pattern, Window)
        return pattern.within is not None or all(w.low is not None for w in windows)
    if isinstance(pattern, Detector):
        return pattern.within is not None
    if isinstance(pattern, Run | Collection):
        endless = next(find(pattern, Accumulate), None) is not None
        return isinstance(pattern.window, TimeWindow) and not endless
    return not isinstance(pattern, CountWindow)
