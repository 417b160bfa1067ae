"""Where a composite event stands among what `detect` gave, in whatever form that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cepheid.errors import EventError
from cepheid.events import CompositeEvent
from cepheid.why.given import Given

Place = tuple[int, int, str, frozenset[str]]
"""When a composite event starts and ends, its rule, and the types of its last events."""


def located(found: object, wanted: str, given: Given) -> Place:
    """The place of the composite event with an id."""
    if isinstance(found, Sequence):
        for event in found:
            if isinstance(event, CompositeEvent) and str(event.id) == wanted:
                return _of_event(event)
            if isinstance(event, Mapping) and event["id"] == wanted:
                return _of_record(event, given)
        raise _unknown(wanted, len(found))
    return _of_record(_row(found, wanted), given)


def _of_event(event: CompositeEvent) -> Place:
    parts = [part for _, part in event.events]
    last = [part.type for part in parts if part.end == max(p.end for p in parts)]
    start = min([event.start, *(part.start for part in parts)])
    return start, event.end, event.rule, frozenset(last)


def _of_record(record: Mapping[str, Any], given: Given) -> Place:
    times = [given.time(part["ts"]) for part in record["events"]]
    last = [
        part["type"]
        for part, time in zip(record["events"], times, strict=True)
        if time == max(times)
    ]
    start = min([given.time(record["start"]), *times])
    return start, given.time(record["ts"]), record["rule"], frozenset(last)


def _row(found: object, wanted: str) -> dict[str, Any]:
    """The row of a table, as a dictionary."""
    from cepheid.tables.arrow import pa, pc
    from cepheid.tables.frames import columns_of

    columns = columns_of(found)
    rows = pc.indices_nonzero(pc.equal(columns["id"].cast(pa.string()), wanted))
    if len(rows) == 0:
        raise _unknown(wanted, len(columns["id"]))
    place = rows[0].as_py()
    return {name: columns[name][place].as_py() for name in ("ts", "start", "rule", "events")}


def _unknown(wanted: str, count: int) -> EventError:
    return EventError(
        "composite event must be one that the rules find in these events; "
        f"got id {wanted}\n\nhint: they find {count} others"
    )
