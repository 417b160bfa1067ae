"""Streams: shards in Spark's stateful operator, one group of rows for each.

In a micro-batch every shard gets its messages, and what was heard of all events, so that time
passes on every shard even if no event came its way. For what is kept in between, see
`cepheid.spark.state`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd  # type: ignore[import-untyped]  # it has no types
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid.spark import manifest
from cepheid.spark.bad import letters_of
from cepheid.spark.changes import change_messages
from cepheid.spark.garbage import spare_old
from cepheid.spark.generate import BAD, PROGRESS, aligned, batches, marked, told
from cepheid.spark.messages import LETTERS
from cepheid.spark.plan import Plans
from cepheid.spark.shard import Outcome, Shard, packed
from cepheid.spark.state import Head, State
from cepheid.tables.arrow import Arrow, pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cepheid.spark.frames import Job

PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The state store that Spark's operator needs."""
_PROVIDER_SETTING = "spark.sql.streaming.stateStore.providerClass"

FOUND = "shard string, output string, payload binary"


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
        spare_old()
        for batch in rows:
            for payload in batch.column("payload"):
                stream = pa.ipc.open_stream(payload.as_buffer())
                yield from batches([aligned(stream.read_all(), schema)])

    return generate


# --- the operator ----------------------------------------------------------------------------


class ShardProcessor(StatefulProcessor):
    """Runs in Spark's workers: messages of a shard in, what it finds out."""

    def __init__(self, plans: Plans, outputs: frozenset[str], schema: Arrow) -> None:
        self._plans = plans
        self._outputs = outputs
        self._schema = schema

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        spare_old()
        self._state = State(handle)

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
        shard, head, fresh = self._state.shard(plan, name)
        letters = [payload for kind, payload in messages if kind == LETTERS]
        record = packed([(kind, payload) for kind, payload in messages if kind != LETTERS])
        outcome = shard.take(messages)
        head = self._state.write(shard, head, record, fresh=fresh)
        yield from self._found(address, shard, outcome, letters, head)

    def _check_manifest(self) -> None:
        """Insist that rules are where their state is; see `cepheid.spark.manifest`."""
        stored, now = self._state.text(), manifest.written(self._plans[""])
        about = now if stored is None else manifest.checked(stored, now)
        if stored != about:
            self._state.put_text(about)

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
