"""Bad rows: what cannot be read as an event, with the reason, for the dead-letter output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from cepheid.errors import EventError
from cepheid.spark.messages import LETTERS, SOONEST, Message
from cepheid.tables.arrow import Array, Arrow, Bools, pa, present
from cepheid.tables.times import Times
from cepheid.units import TIME_MAX

SCHEMA = pa.schema({"event": pa.string(), "reason": pa.string()})
CORRUPT = "_corrupt_record"
"""The column in which Spark keeps the text of a row that it could not read."""
_SHOWN = 4096
"""How much of a row is told."""


def reasons(columns: Mapping[str, Array], times: Times) -> list[tuple[str, Bools]]:
    """What can be wrong with rows, each with the rows where it is."""
    count = len(columns["ts"])
    found: list[tuple[str, Bools]] = []
    if CORRUPT in columns:
        unread = columns[CORRUPT].is_valid().to_numpy(zero_copy_only=False)
        found.append(("the text cannot be read with the columns that it should have", unread))
    found += [
        (f"column {name} has no value", ~there)
        for name in ("type", "ts")
        if (there := present(columns[name])) is not None
    ]
    size = _size(times)
    for name in ("ts", "start"):
        if name in columns and not pa.types.is_null(columns[name].type):
            counts = columns[name].cast(pa.int64()).fill_null(0).to_numpy()
            beyond = np.abs(counts.astype(np.float64)) * size >= TIME_MAX
            found.append((f"column {name} is beyond 64 bits of microseconds", beyond))
    if "start" in columns:
        starts, ends = (columns[name].cast(pa.int64()) for name in ("start", "ts"))
        after = pa.compute.greater(starts, ends).fill_null(fill_value=False)
        found.append(("column start lies after column ts", after.to_numpy(zero_copy_only=False)))
    return [(reason, bad) for reason, bad in found if len(bad) == count and bad.any()]


def _size(times: Times) -> int:
    """How many microseconds a unit of the columns is."""
    if times.type is None:
        return times.clock.unit or 1
    return {"s": 1_000_000, "ms": 1_000}.get(times.type.unit, 1)


def split_bad(
    table: Arrow,
    columns: Mapping[str, Array],
    times: Times,
) -> tuple[Any, Any]:
    """The rows that can be read, and the others with their reasons."""
    found = reasons(columns, times)
    if not found:
        return table, None
    bad = np.logical_or.reduce([mask for _, mask in found])
    rows = np.flatnonzero(bad)
    whys = [next(reason for reason, mask in found if mask[row]) for row in rows.tolist()]
    told = [json.dumps(row, default=str)[:_SHOWN] for row in table.take(pa.array(rows)).to_pylist()]
    letters = pa.table({"event": told, "reason": whys}, SCHEMA)
    return table.filter(pa.array(~bad)), letters


def of_letters(shard: str, letters: Any) -> Message:  # noqa: ANN401 (a table of Arrow)
    """Bad rows for the shard that hands them on."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as stream:
        stream.write_table(letters)
    return Message(shard, LETTERS, SOONEST, sink.getvalue().to_pybytes())


def letters_of(payload: bytes) -> Arrow:
    """The bad rows of a message."""
    return pa.ipc.open_stream(pa.py_buffer(payload)).read_all()


def refused(letters: Any) -> EventError:  # noqa: ANN401 (a table of Arrow)
    """The error for bad rows where nobody asked for them."""
    first = letters.slice(0, 1).to_pylist()[0]
    return EventError(
        f"every row must be an event; got {len(letters)} that are not, the first: "
        f"{first['reason']}: {first['event']}\n\n"
        'hint: filter them out, or ask for them: detect(events, outputs="all")'
    )
