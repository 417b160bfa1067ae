"""What is given: events in any form, as a list of `Event`s that is small enough to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cepheid.algebra import (
    Accumulate,
    Collection,
    CountWindow,
    Detector,
    EventPredicate,
    Instant,
    Rule,
    Run,
    TimeWindow,
    Timing,
    Tree,
    Window,
    find,
)
from cepheid.errors import EventError
from cepheid.events import Event, Schema
from cepheid.records import Clock, from_record, from_records
from cepheid.why.words import Words


@dataclass(frozen=True)
class Given:
    """Events that can be counted and looked at in part, and how those who ask write times."""

    count: int
    words: Words
    spans: tuple[Any, Any]
    """The starts and the ends of all events, as arrays or lists."""
    pick: Callable[[Sequence[int]], list[Event]]

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
        table = reading.table
        words = Words(reading.times.clock, literal=False)
        return Given(
            len(table),
            words,
            (table.starts.tolist(), table.ends.tolist()),
            lambda rows: [table.event(row) for row in rows],
        )

    def all(self) -> list[Event]:
        """All events."""
        return self.pick(range(self.count))

    def near(self, low: float, high: float, limit: int) -> list[Event]:
        """The events between two times; of too many, those in the middle."""
        starts, ends = self.spans
        rows = [row for row in range(self.count) if ends[row] >= low and starts[row] <= high]
        if len(rows) > limit:
            middle = (low + high) / 2
            rows = sorted(sorted(rows, key=lambda row: abs(ends[row] - middle))[:limit])
        return self.pick(rows)

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
        len(found),
        Words(clock, literal=as_events and unit is None),
        ([event.start for event in found], [event.end for event in found]),
        lambda rows: [found[row] for row in rows],
    )


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
