"""Detecting: a table or a list of events goes through the kernel in portions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain, repeat
from typing import Any

import numpy as np

from cepheid.algebra import Rule, input_types
from cepheid.cores import spreading
from cepheid.events import CompositeEvent, Event, Order, Schema
from cepheid.kernel.columns import Batch, Encoder
from cepheid.kernel.found import Found
from cepheid.kernel.kernel import Kernel
from cepheid.kernel.registry import FAILURE
from cepheid.records import Clock
from cepheid.tables.arrow import Ints, kind
from cepheid.tables.encode import Encoding
from cepheid.tables.frames import give
from cepheid.tables.order import ordering
from cepheid.tables.payload import Payload
from cepheid.tables.reading import Reading, read
from cepheid.tables.results import Results
from cepheid.tables.shares import Divider, Division, divide
from cepheid.tables.writing import Form, write

PORTION = 1 << 16
"""How many events go into the kernel at a time."""


class _Part:
    """A kernel with a share of the work, and how what it finds is called outside."""

    def __init__(self, kernel: Kernel, number: int, parts: int, numbers: Sequence[int]) -> None:
        self.kernel = kernel
        self._number, self._parts = number, parts
        self._numbers = np.array(numbers, np.int64)

    def feed(self, batch: Batch) -> list[Found]:
        """What events cause."""
        return [self._outside(found) for found in self.kernel.feed(batch)]

    def advance(self, time: int) -> list[Found]:
        """What the passing of time causes."""
        return [self._outside(found) for found in self.kernel.advance(time)]

    def _outside(self, found: Found) -> Found:
        if self._parts == 1:
            return found
        return replace(
            found,
            rules=self._numbers[found.rules],
            origins=None if found.origins is None else self._origins(found.origins),
            constituents=self._origins(found.constituents),
        )

    def _origins(self, origins: Ints) -> Ints:
        """Every kernel counts down the events that it makes; so that none are called the same."""
        if len(origins) == 0 or origins.min() >= 0:
            return origins
        return np.where(origins < 0, origins * self._parts - self._number, origins)


class Detection:
    """Rules in kernels of their own, with what they find."""

    def __init__(
        self,
        rules: Sequence[Rule],
        schema: Schema,
        *,
        failures: bool,
        division: Division | None = None,
    ) -> None:
        self._failures = failures
        listened = any(FAILURE in input_types(rule) for rule in rules)
        division = division or Division((tuple(range(len(rules))),))
        self.encoder = Encoder()
        self._parts: list[_Part] = []
        for number, own in enumerate(division.shares):
            kernel = Kernel(
                failures=failures or listened,
                encoder=self.encoder,
                patterns={type(rule.pattern) for rule in rules},
            )
            kernel.deploy([rules[rule] for rule in own])
            self._parts.append(_Part(kernel, number, len(division), own))
        for part in self._parts:
            part.kernel.fit()
        self._divider = Divider(division, rules, self.encoder)
        self.payload = Payload(self.encoder, dict(enumerate(rules)), schema)
        self.results = Results(self.payload)

    def run(self, batches: Iterable[Batch], until: int) -> None:
        """Feed events in the total order, and let time pass up to a moment."""
        with spreading(len(self._parts)) as spread:
            for batch in batches:
                self._take(spread(_Part.feed, self._parts, self._divider.shares(batch)))
            self._take(spread(_Part.advance, self._parts, repeat(until)))

    def _take(self, shares: Iterable[Iterable[Found]]) -> None:
        for found in chain.from_iterable(shares):
            self.payload.add_found(found)
            if self._failures or not found.failure:
                self.results.add(found)
        for part in self._parts:
            self.payload.add_ticks(*part.kernel.take_ticks())


def detect_events(
    rules: Sequence[Rule],
    schema: Schema,
    events: Iterable[Event],
    *,
    until: int | None = None,
    failures: bool = False,
) -> list[CompositeEvent]:
    """Everything that rules find in a list of events, in the total order."""
    ordered = sorted(events, key=Order(schema).key)
    if not ordered:
        return []
    detection = Detection(rules, schema, failures=failures)
    detection.payload.add_events(0, ordered)
    encode = detection.encoder.encode
    batches = (encode(ordered[begin:end], begin) for begin, end in _portions(len(ordered)))
    last = ordered[-1].end
    detection.run(batches, last if until is None else max(last, until))
    return detection.results.events()


def detect_table(
    rules: Sequence[Rule],
    schema: Schema,
    events: object,
    clock: Clock,
    *,
    until: int | datetime | None = None,
    failures: bool = False,
    cores: int = 1,
) -> Any:  # noqa: ANN401 (a table of any library)
    """Everything that rules find in a table of events, as the same kind of table."""
    reading = read(events, clock, schema)
    division = divide(rules, reading.table, cores)
    detection = Detection(rules, schema, failures=failures, division=division)
    ids = {kind(array) for array in reading.table.ids}
    form = Form.of(rules, reading.times, reading.kinds, ids, failures=failures)
    end = None if until is None else reading.times.clock.read(until)
    _run(detection, reading, schema, end)
    found = write(detection.results, detection.payload, form, cores)
    return give(found, reading.frame)


def _run(detection: Detection, reading: Reading, schema: Schema, until: int | None) -> None:
    found = ordering(reading.table, schema)
    table = reading.table if found.rows is None else reading.table.take(found.rows)
    if len(table) == 0:
        return
    detection.payload.add_table(0, table, found.ranks)
    encoding = Encoding(table, detection.encoder)
    batches = (encoding.batch(begin, end, begin) for begin, end in _portions(len(table)))
    last = int(table.ends[-1])
    detection.run(batches, last if until is None else max(last, until))


def _portions(count: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, count, PORTION):
        yield begin, min(count, begin + PORTION)
