"""Detecting: a table or a list of events goes through the kernel in portions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from cepheid.algebra import Rule, input_types
from cepheid.cores import spreading
from cepheid.events import CompositeEvent, Event, Order, Schema
from cepheid.kernel.columns import Batch, Encoder
from cepheid.kernel.found import Found
from cepheid.kernel.kernel import Kernel
from cepheid.kernel.registry import FAILURE
from cepheid.records import Clock
from cepheid.tables.arrow import kind
from cepheid.tables.encode import Encoding
from cepheid.tables.frames import give
from cepheid.tables.order import ordering
from cepheid.tables.payload import Payload
from cepheid.tables.reading import Reading, read
from cepheid.tables.results import Results
from cepheid.tables.table import Table
from cepheid.tables.teams import teams_of
from cepheid.tables.writing import Form, check_columns, write

PORTION = 1 << 16
"""How many events go into the kernel at a time."""


class Detection:
    """Teams of rules in a kernel each, with what they find."""

    def __init__(self, teams: Sequence[Sequence[Rule]], schema: Schema, *, failures: bool) -> None:
        self._failures = failures
        listened = any(FAILURE in input_types(rule) for team in teams for rule in team)
        self.encoder = Encoder()
        self._kernels: list[Kernel] = []
        numbered: dict[int, Rule] = {}
        for team in teams:
            kernel = Kernel(
                failures=failures or listened, encoder=self.encoder, first=len(numbered)
            )
            numbered |= zip(kernel.deploy(team), team, strict=True)
            self._kernels.append(kernel)
        for kernel in self._kernels[:-1]:
            kernel.refresh()
        self.payload = Payload(self.encoder, numbered, schema)
        self.results = Results(self.payload)

    def run(self, batches: Iterable[Batch], until: int) -> None:
        """Feed events in the total order, and let time pass up to a moment."""
        with spreading(len(self._kernels)) as spread:
            for batch in batches:
                self._take(spread(lambda kernel: list(kernel.feed(batch)), self._kernels))  # noqa: B023 (taken at once)
            self._take(spread(lambda kernel: list(kernel.advance(until)), self._kernels))

    def _take(self, portions: Iterable[Sequence[Found]]) -> None:
        for found in chain.from_iterable(portions):
            self.payload.add_found(found)
            if self._failures or not found.failure:
                self.results.add(found)
        for kernel in self._kernels:
            self.payload.add_ticks(*kernel.take_ticks())


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
    detection = Detection([rules], schema, failures=failures)
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
    columns: Sequence[str] | None = None,
) -> Any:  # noqa: ANN401 (a table of any library)
    """Everything that rules find in a table of events, as the same kind of table."""
    reading = read(events, clock, schema)
    teams = teams_of(rules, len(reading.table), cores)
    detection = Detection(teams, schema, failures=failures)
    ids = {kind(array) for array in reading.table.ids}
    form = Form.of(rules, reading.times, reading.kinds, ids, failures=failures)
    check_columns(columns, form.attributes)
    end = None if until is None else reading.times.clock.read(until)
    run(detection, reading, schema, end)
    found = write(detection.results, detection.payload, form.chosen(columns), cores)
    return give(found, reading.frame)


def run(detection: Detection, reading: Reading, schema: Schema, until: int | None) -> Table:
    """Feed a table of events; the result is its events in the total order, row by origin."""
    found = ordering(reading.table, schema)
    table = reading.table if found.rows is None else reading.table.take(found.rows)
    if len(table) == 0:
        return table
    detection.payload.add_table(0, table, found.ranks)
    encoding = Encoding(table, detection.encoder)
    batches = (encoding.batch(begin, end, begin) for begin, end in _portions(len(table)))
    last = int(table.ends[-1])
    detection.run(batches, last if until is None else max(last, until))
    return table


def _portions(count: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, count, PORTION):
        yield begin, min(count, begin + PORTION)
