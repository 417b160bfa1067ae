"""Times in a table: timestamps of any unit and zone, or integers of a unit.

Inside they are microseconds; they leave in the form in which they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cepheid.algebra import EventPredicate, Rule, Tree, find
from cepheid.errors import EventError
from cepheid.records import NO_UNIT, Clock
from cepheid.tables.arrow import Array, Arrow, Bools, Ints, arrow_of, numbers, pa, present
from cepheid.units import TIME_MAX

_SIZES = {"s": 1_000_000, "ms": 1_000, "us": 1}
_NANOSECONDS = 1_000
"""How many of them are a microsecond."""


@dataclass(frozen=True)
class Times:
    """How a table writes times: as a type of timestamp, or as integers of `clock.unit`.

    `whole` says that every time to be written is a whole number of units.
    """

    clock: Clock
    type: Any = None
    whole: bool = True

    @staticmethod
    def of(column: Array, clock: Clock) -> Times:
        """The form of a column of times."""
        if pa.types.is_timestamp(column.type):
            return Times(Clock(), column.type)
        if pa.types.is_null(column.type):
            return Times(clock, None if clock.unit else pa.timestamp("us"))
        if not pa.types.is_integer(column.type):
            raise EventError(
                f"column ts must hold timestamps, or integers of a unit; got {column.type}\n\n"
                f"hint: {_advice(column)}"
            )
        if clock.unit is None:
            raise EventError(NO_UNIT)
        return Times(clock)

    def read(self, column: Array, name: str) -> tuple[Ints, Bools | None]:
        """Times in microseconds, and where there are any (None: everywhere)."""
        if pa.types.is_null(column.type):
            return np.zeros(len(column), np.int64), np.zeros(len(column), np.bool_)
        if self.type is not None and pa.types.is_timestamp(column.type):
            return _microseconds(column, name), present(column)
        if self.type is None and self.clock.unit and pa.types.is_integer(column.type):
            return _scaled(_integers(column, name), self.clock.unit, name), present(column)
        raise EventError(
            f"column {name} must hold times of the same form as column ts; got {column.type}"
        )

    def exact(self, rules: Iterable[Rule]) -> Times:
        """The form for what rules find, fine enough for every time that they may set."""
        size = self.clock.unit if self.type is None else _SIZES.get(self.type.unit, 1)
        if size is None or all(length % size == 0 for rule in rules for length in _moves(rule)):
            return self
        if self.type is None:
            return replace(self, whole=False)
        return replace(self, type=pa.timestamp("us", self.type.tz))

    @property
    def written(self) -> Any:  # noqa: ANN401 (pyarrow has no types)
        """The type of the columns that `write` gives."""
        if self.type is not None:
            return self.type
        return pa.int64() if self.whole else pa.float64()

    def write(self, times: Ints) -> Array:
        """Times in this form."""
        if self.type is None:
            assert self.clock.unit is not None  # noqa: S101 (integers have one, see `of`)
            unit = self.clock.unit
            if self.whole:
                return arrow_of(times if unit == 1 else times // unit)
            return arrow_of(times / unit)
        if self.type.unit != "ns":
            return arrow_of(times // _SIZES[self.type.unit]).view(self.type)
        fits = np.abs(times) < TIME_MAX // (_NANOSECONDS // 2)
        if not fits.all():
            raise EventError(
                f"times must fit into 64 bits of nanoseconds; got {times[~fits][0]} microseconds"
                "\n\nhint: convert column ts to microseconds"
            )
        return arrow_of(times * _NANOSECONDS).view(self.type)


def in_microseconds(events: Arrow, unit: str | None) -> tuple[Arrow, bool]:
    """The table with its times as counts of microseconds, which sort and subtract as they are."""
    clock = Clock.of(unit)
    times: Times | None = None
    for name in ("ts", "start"):
        if name in events.column_names:
            column = events[name].combine_chunks()
            times = times or Times.of(column, clock)
            found, there = times.read(column, name)
            array = arrow_of(found, None if there is None else ~there)
            events = events.set_column(events.column_names.index(name), name, array)
    return events, times is not None and times.type is None


def _advice(column: Array) -> str:
    if pa.types.is_floating(column.type):
        return "convert the column to integers; every row must have a time"
    return "convert the column to timestamps"


def _integers(column: Array, name: str) -> Ints:
    if not pa.types.is_uint64(column.type):
        whole = column if pa.types.is_int64(column.type) else column.cast(pa.int64())
        return numbers(whole)
    counts = numbers(column)
    _check_range(counts < TIME_MAX, counts, name)
    return counts.astype(np.int64)


def _microseconds(column: Array, name: str) -> Ints:
    counts: Ints = numbers(column.view(pa.int64()))
    if column.type.unit == "ns":
        return counts // _NANOSECONDS  # rounded down, also before 1970
    return _scaled(counts, _SIZES[column.type.unit], name)


def _scaled(counts: Ints, size: int, name: str) -> Ints:
    """Counts of a unit in microseconds; they must stay within the range of times."""
    limit = -(-TIME_MAX // size)
    if counts.min(initial=0) <= -limit or counts.max(initial=0) >= limit:
        _check_range((-limit < counts) & (counts < limit), counts, name)
    return counts if size == 1 else counts * size


def _check_range(good: Bools, counts: Ints, name: str) -> None:
    if not good.all():
        row = int(np.argmin(good))
        raise EventError(
            f"column {name} must stay within 64 bits of microseconds; "
            f"got {counts[row]} in row {row}"
        )


def _moves(rule: Rule) -> Iterator[int]:
    """The durations from which a rule makes times that no event has."""
    if isinstance(rule.pattern, Tree) and rule.pattern.deadline is not None:
        yield rule.pattern.deadline.offset
    for predicate in find(rule, EventPredicate):
        if predicate.every is not None:
            yield predicate.every
