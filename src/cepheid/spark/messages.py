"""Messages: what goes from the reading of events to a shard, as rows of Spark.

A row has the name of a shard, what it holds, the earliest end of its events, and the payload as
bytes. A shard gets a few rows in a batch, each with thousands of events: one row per event would
cost many times more than matching does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from cepheid.events import Value
from cepheid.runtime.arrival import Heard
from cepheid.spark.route import Newest
from cepheid.tables.arrow import Arrow, pa
from cepheid.tables.table import Table

EVENTS, HEARD, LETTERS, CHANGE = range(4)
"""What a message holds: events, the newest times of all events, rows that are no events, and
changes of rules."""
SOONEST = -(2**63)
"""The earliest end of what has no events: it is read before them."""
KEPT, PASSED = "zstd", "lz4"
"""How events are compressed that stay in a log, and those that are read once: with more bytes, in
much less time.
"""

SCHEMA = pa.schema(
    {"shard": pa.string(), "kind": pa.int32(), "low": pa.int64(), "payload": pa.binary()}
)
SPARK_SCHEMA = "shard string, kind int, low bigint, payload binary"


@dataclass(frozen=True)
class Message:
    """One row."""

    shard: str
    kind: int
    low: int
    payload: bytes


def batch_of(messages: Iterable[Message]) -> Arrow:
    """Messages as rows."""
    rows = list(messages)
    return pa.RecordBatch.from_arrays(
        [
            pa.array([row.shard for row in rows], pa.string()),
            pa.array([row.kind for row in rows], pa.int32()),
            pa.array([row.low for row in rows], pa.int64()),
            pa.array([row.payload for row in rows], pa.binary()),
        ],
        schema=SCHEMA,
    )


def of_table(shard: str, table: Table, compression: str = KEPT) -> Message:
    """Events for a shard."""
    payload = table.slim().written(compression).tobytes()
    return Message(shard, EVENTS, int(table.ends.min()), payload)


def table_of(payload: bytes) -> Table:
    """The events of a message."""
    return Table.read(np.frombuffer(payload, np.uint8))


def of_heard(shard: str, newest: Newest, beats: Newest, rows: int = 0) -> Message:
    """What was heard in one part of a batch, which had so many rows, for a shard."""
    told = {"newest": list(newest.items()), "beats": list(beats.items()), "rows": rows}
    text = json.dumps(told)
    return Message(shard, HEARD, SOONEST, text.encode())


def heard_of(payloads: Iterable[bytes]) -> Heard:
    """What was heard in all parts of a batch."""
    newest: dict[Value | None, int] = {}
    beats: dict[Value | None, int] = {}
    for payload in payloads:
        parts: Mapping[str, list[tuple[Value | None, int]]] = json.loads(payload)
        merge(newest, dict(parts["newest"]))
        merge(beats, dict(parts["beats"]))
    return Heard(newest, beats)


def rows_of(payloads: Iterable[bytes]) -> int:
    """How many rows all parts of a batch had."""
    return sum(int(json.loads(payload)["rows"]) for payload in payloads)


def merge(known: Newest, new: Newest) -> None:
    """Take the later time of each source."""
    for source, time in new.items():
        known[source] = max(time, known.get(source, time))
