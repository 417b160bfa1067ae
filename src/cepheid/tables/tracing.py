"""Tracing: composite events together with the rows of the events that each is made of.

`detect` tells constituents by label, type, time and id, which need not be unique. Pictures and
explanations need to know which event it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from cepheid.algebra import Rule
from cepheid.events import Event, Schema
from cepheid.records import Clock, from_records
from cepheid.tables.arrow import Arrow, Ints, arrow_of, kind, pa, pc
from cepheid.tables.detecting import Detection, run
from cepheid.tables.frames import Frame
from cepheid.tables.outputs import ANY
from cepheid.tables.parts import Parts, concat_parts
from cepheid.tables.reading import Reading, read
from cepheid.tables.results import Results
from cepheid.tables.table import Table, from_events
from cepheid.tables.teams import teams_of
from cepheid.tables.times import Times
from cepheid.tables.writing import Form, write


@dataclass(frozen=True)
class Trace:
    """Events in the total order, what was found in them, and of what that is made.

    The constituents of composite event i are at `offsets[i]` to `offsets[i + 1]` of `rows`, which
    are rows of `events`; -1 stands for a constituent that is a composite event or a timer, and
    `wholes` has the row of a composite event in `found`, or -1.
    """

    events: Table
    found: Arrow
    unit: int | None
    """What counts of time count, in microseconds; None where times are dates."""
    starts: Ints
    ends: Ints
    """When the composite events start and end, in microseconds."""
    offsets: Ints
    rows: Ints
    wholes: Ints

    @property
    def dates(self) -> bool:
        """Whether times are dates; else they are counts."""
        return self.unit is None

    @property
    def owners(self) -> Ints:
        """The composite event that each constituent belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def trace(
    rules: Sequence[Rule],
    schema: Schema,
    reading: Reading,
    *,
    until: int | datetime | None = None,
    failures: bool = False,
    cores: int = 1,
) -> Trace:
    """Everything that rules find in events, with the rows of what it is made of."""
    teams = teams_of(rules, len(reading.table), cores)
    detection = Detection(teams, schema, failures=failures)
    ids = {kind(array) for array in reading.table.ids}
    form = Form.of(rules, reading.times, reading.kinds, ids, failures=failures)
    end = None if until is None else reading.times.clock.read(until)
    events = run(detection, reading, schema, end)
    found = write(detection.results, detection.payload, form, cores)
    starts, ends, parts = _arranged(detection.results)
    rows = np.where(parts.origins < 0, -1, parts.origins)
    unit = reading.times.clock.unit if reading.times.type is None else None
    wholes = _wholes(found, rows)
    return Trace(events, found, unit, starts, ends, parts.offsets, rows, wholes)


def _arranged(results: Results) -> tuple[Ints, Ints, Parts]:
    """Starts, ends and constituents of all matches, in the order in which they are written."""
    arranged = results.arranged()
    ordered = [arranged.ordered(piece) for piece in arranged.pieces()]
    rows = np.concatenate([np.zeros(0, np.int64), *(own for own, _ in ordered)])
    parts = concat_parts([parts() for _, parts in ordered])
    outside = Parts(parts.offsets, arranged.origins[parts.origins], parts.labels)
    at = arranged.matches[rows]
    return arranged.starts[at], arranged.ends[at], outside


def _wholes(found: Arrow, rows: Ints) -> Ints:
    """The rows of constituents that are composite events themselves; -1 for others."""
    wholes = np.full(len(rows), -1, np.int64)
    inner = np.flatnonzero(rows < 0)
    if len(inner):
        ids = pc.struct_field(pc.list_flatten(found["events"].combine_chunks()), "id")
        places = pc.index_in(ids.take(arrow_of(inner)).cast(pa.string()), found["id"])
        wholes[inner] = places.fill_null(-1).to_numpy(zero_copy_only=False)
    return wholes


def reading_of(events: Any, unit: str | None, schema: Schema) -> Reading:  # noqa: ANN401 (any form)
    """Events of any form that `detect` takes, except those of Spark, in normal form."""
    if isinstance(events, Sequence) and not isinstance(events, str):
        return _read_list(events, unit, schema)
    return read(events, Clock.of(unit), schema)


def _read_list(
    events: Sequence[Event | Mapping[str, Any]], unit: str | None, schema: Schema
) -> Reading:
    as_events = bool(events) and all(isinstance(event, Event) for event in events)
    clock = Clock.of("us" if as_events and unit is None else unit)
    table = from_events(from_records(events, clock, schema))
    times = Times(clock) if clock.unit else Times(clock, pa.timestamp("us", "UTC"))
    kinds = {n: next(iter(own)) if len(own) == 1 else None for n, own in table.kinds().items()}
    return Reading(table, Frame.ARROW, times, {ANY: kinds})
