"""Streams: shards in Spark's stateful operator, one group of rows for each.

In a micro-batch every shard gets its messages, and what was heard of all events, so that time
passes on every shard even if no event came its way. State is kept in Spark's store as a snapshot
and a log (see `cepheid.spark.shard`). The engine itself stays in the process: when the next batch
of a shard comes to the same process, and the store says that nothing else happened in between,
nothing is read back.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd  # type: ignore[import-untyped]  # it has no types
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid.errors import SnapshotError
from cepheid.spark import manifest
from cepheid.spark.bad import letters_of
from cepheid.spark.changes import change_messages
from cepheid.spark.generate import BAD, PROGRESS, aligned, batches, marked, told
from cepheid.spark.messages import BAD as BAD_ROWS
from cepheid.spark.plan import Plan, Plans
from cepheid.spark.shard import Outcome, Shard, packed, restored
from cepheid.tables.arrow import Arrow, pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.spark.frames import Job

PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The state store that Spark's operator needs."""
_PROVIDER_SETTING = "spark.sql.streaming.stateStore.providerClass"

HEAD = "token string, about string, snapshot_bytes bigint, log_bytes bigint, records bigint"
PIECE = "bytes binary"
FOUND = "shard string, output string, payload binary"
_PIECE_SIZE = 1 << 23
"""The size of the pieces in which a snapshot is stored."""
_LEAST_LOG = 1 << 16
"""A log is not worth a snapshot before it has so many bytes."""
_MOST_RECORDS = 256
"""A log is not longer than so many batches, however small they are."""
_UNUSED = 64
"""So many batches later, an engine that other processes have gone on with is given up."""


def streamed(job: Job) -> DataFrame:
    """What the rules of a job find in its stream."""
    sent = job.messages()
    if job.changes is not None:
        sent = sent.unionByName(change_messages(job.changes, tuple(job.plan.shards)))
    found = matched(sent, job.plans, job.outputs, job.schema)
    return found.mapInArrow(_generating(job.schema), job.spark_schema)


def matched(messages: DataFrame, plans: Plans, outputs: frozenset[str], schema: Arrow) -> DataFrame:
    """What shards find, as tables in bytes."""
    conf = messages.sparkSession.conf
    if conf.get(_PROVIDER_SETTING) != PROVIDER:
        conf.set(_PROVIDER_SETTING, PROVIDER)
    return messages.groupBy("shard").transformWithStateInPandas(
        statefulProcessor=ShardProcessor(plans, outputs, schema),
        outputStructType=FOUND,
        outputMode="Append",
        timeMode="None",
    )


def _generating(schema: Arrow) -> Callable[[Iterator[Arrow]], Iterator[Arrow]]:
    def generate(rows: Iterator[Arrow]) -> Iterator[Arrow]:
        for batch in rows:
            for payload in batch.column("payload"):
                stream = pa.ipc.open_stream(payload.as_buffer())
                yield from batches([aligned(stream.read_all(), schema)])

    return generate


# --- the operator ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Head:
    """What the store knows of a shard: which engine wrote it, and how much.

    `about` is empty but under the key of the manifest.
    """

    token: str
    about: str = ""
    snapshot_bytes: int = 0
    log_bytes: int = 0
    records: int = 0

    @property
    def is_due(self) -> bool:
        """Whether the log has outgrown the snapshot."""
        grown = self.log_bytes > max(self.snapshot_bytes, _LEAST_LOG)
        return grown or self.records >= _MOST_RECORDS


_KEPT: dict[str, Shard] = {}
"""The engines of this process, by the token that the store has if it is theirs."""
_AGES: dict[str, int] = {}


class ShardProcessor(StatefulProcessor):
    """Runs in Spark's workers: messages of a shard in, what it finds out."""

    def __init__(self, plans: Plans, outputs: frozenset[str], schema: Arrow) -> None:
        self._plans = plans
        self._outputs = outputs
        self._schema = schema

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the parts of the state."""
        self._head = handle.getValueState("head", HEAD)
        self._snapshot = handle.getListState("snapshot", PIECE)
        self._log = handle.getListState("log", PIECE)

    def close(self) -> None:
        """There is nothing to close."""

    def handleInputRows(  # noqa: N802 (Spark's name)
        self,
        key: Any,  # noqa: ANN401 (a tuple with the name of the shard)
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ANN401, N803 (Spark's name)
    ) -> Iterator[pd.DataFrame]:
        """Take the messages of a shard in one batch."""
        address = str(key[0])
        if address == manifest.KEY:
            self._check_manifest()
            return
        plan, name = self._plans.of(address)
        messages = [
            (int(kind), bytes(payload))
            for frame in rows
            for kind, payload in zip(frame["kind"], frame["payload"], strict=True)
        ]
        shard, head, fresh = self._opened(plan, name)
        letters = [payload for kind, payload in messages if kind == BAD_ROWS]
        record = packed([(kind, payload) for kind, payload in messages if kind != BAD_ROWS])
        outcome = shard.take(messages)
        head = self._written(shard, head, record, fresh=fresh)
        yield from self._found(address, shard, outcome, letters, head)

    # --- state ---------------------------------------------------------------------------

    def _check_manifest(self) -> None:
        """Insist that rules are where their state is; see `cepheid.spark.manifest`."""
        stored, now = self._head.get(), manifest.written(self._plans[""])
        if stored is not None and stored[1] == now:
            return
        about = now if stored is None else manifest.checked(str(stored[1]), now)
        if stored is None or stored[1] != about:
            self._head.update(("", about, 0, 0, 0))

    def _opened(self, plan: Plan, name: str) -> tuple[Shard, Head, bool]:
        """The shard as the last batch left it, and whether it must be written as a whole."""
        stored = self._head.get()
        if stored is None:
            return Shard(plan, name), Head(""), True
        head = Head(*stored)
        shard = _KEPT.pop(head.token, None)
        _AGES.pop(head.token, None)
        if shard is None:
            shard = self._restored(plan, name, head)
            return shard, head, shard.take_rules()
        return shard, head, shard.settle(plan)

    def _restored(self, plan: Plan, name: str, head: Head) -> Shard:
        snapshot = b"".join(bytes(piece[0]) for piece in self._snapshot.get())
        log = [bytes(record[0]) for record in self._log.get()]
        wanted = (head.snapshot_bytes, head.records, head.log_bytes)
        found = (len(snapshot), len(log), sum(map(len, log)))
        if wanted != found:
            raise SnapshotError(
                f"state of shard {name} must be a snapshot of {wanted[0]} bytes and {wanted[1]} "
                f"records of {wanted[2]} bytes; got {found[0]}, {found[1]} and {found[2]}\n\n"
                "hint: start from an earlier batch of the checkpoint, or with a new one"
            )
        return restored(plan, name, snapshot, log)

    def _written(self, shard: Shard, head: Head, record: bytes, *, fresh: bool) -> Head:
        head = replace(
            head,
            token=uuid.uuid4().hex,
            log_bytes=head.log_bytes + len(record),
            records=head.records + 1,
        )
        if fresh or head.is_due:
            snapshot = shard.snapshot()
            pieces = range(0, len(snapshot), _PIECE_SIZE)
            self._snapshot.put([(snapshot[at : at + _PIECE_SIZE],) for at in pieces])
            self._log.clear()
            head = replace(head, snapshot_bytes=len(snapshot), log_bytes=0, records=0)
        else:
            self._log.appendValue((record,))
        self._head.update(
            (head.token, head.about, head.snapshot_bytes, head.log_bytes, head.records)
        )
        _keep(head.token, shard)
        return head

    # --- what is told ----------------------------------------------------------------------

    def _found(
        self, address: str, shard: Shard, outcome: Outcome, letters: list[bytes], head: Head
    ) -> Iterator[pd.DataFrame]:
        times = shard.plan.form.times
        tables = list(told(outcome, times, self._schema, self._outputs))
        tables += [marked(letters_of(letter), BAD, self._schema) for letter in letters]
        if PROGRESS in self._outputs:
            tables.append(marked(_progress(shard, outcome, letters, head), PROGRESS, self._schema))
        if tables:
            payloads = [stream_bytes(table) for table in tables]
            yield pd.DataFrame({"shard": address, "output": "", "payload": payloads})


def _keep(token: str, shard: Shard) -> None:
    for known in list(_AGES):
        _AGES[known] += 1
        if _AGES[known] > _UNUSED * max(1, len(shard.plan.shards)):
            _KEPT.pop(known, None)
            _AGES.pop(known)
    _KEPT[token], _AGES[token] = shard, 0


def _progress(shard: Shard, outcome: Outcome, letters: list[bytes], head: Head) -> Arrow:
    counters = shard.engine.counters
    found = {
        "shard": shard.name,
        "rows": outcome.rows,
        "composites": outcome.composites.num_rows,
        "late": len(outcome.late),
        "bad": sum(letters_of(letter).num_rows for letter in letters),
        "received": counters.received,
        "waiting": counters.waiting,
        "stored": counters.stored,
        "watermark": shard.engine.watermark,
        "state_bytes": head.snapshot_bytes + head.log_bytes,
        "limited": dict(counters.limited),
    }
    return pa.table({"event": pa.array([json.dumps(found)], pa.string())})


def stream_bytes(table: Arrow) -> bytes:
    """A table in the format of Arrow's streams."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found
