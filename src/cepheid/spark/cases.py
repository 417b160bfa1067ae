"""Spec cases on Spark: many cases in one job, each with a plan of its own.

Events come in the normal form, so that an attribute may have values of several kinds; everything
behind the reading of columns is what any job runs: routing, messages, shards, state. Cases in a
stream are cut into micro-batches at random, and what is in a batch comes in any order.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no types

from cepheid.events import CompositeEvent, Event, Order
from cepheid.records import Clock
from cepheid.rules import Rules
from cepheid.runtime.settings import DEPTH_LIMIT, settings_of
from cepheid.runtime.tabular import Tabular
from cepheid.spark import messages
from cepheid.spark.daemon import STRATEGIES
from cepheid.spark.encode import Sender
from cepheid.spark.frames import in_order, packed, rows
from cepheid.spark.generate import COMPOSITE, LATE
from cepheid.spark.history import history
from cepheid.spark.messages import Message, of_heard, table_of
from cepheid.spark.plan import Plan, Plans, plan_rules
from cepheid.spark.route import Newest
from cepheid.spark.stream import FOUND, matched, stream_bytes
from cepheid.tables.arrow import Arrow, pa
from cepheid.tables.frames import Frame
from cepheid.tables.table import from_events
from cepheid.tables.times import Times
from cepheid.testing import Case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHARDS = 2
_CUTS = 4
"""Into how many micro-batches the events of a case are cut."""
_OUTPUTS = frozenset({COMPOSITE, LATE})
_SCHEMA = pa.schema({"plan": pa.string(), "events": pa.binary(), "beat": pa.int64()})
_SPARK_SCHEMA = "plan string, events binary, beat bigint"


@dataclass
class Found:
    """What came of a case."""

    events: list[CompositeEvent] = field(default_factory=list)
    late: int = 0


@dataclass(frozen=True)
class Portion:
    """Events of a case that come together, or the time that passes after them."""

    plan: str
    events: tuple[Event, ...] = ()
    beat: int | None = None


def session() -> SparkSession:
    """The session that is there, or a small local one."""
    from pyspark.sql import SparkSession

    from cepheid.kernel.ready import PATTERNS, flags, written

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault(STRATEGIES, written(flags(PATTERNS)))
    builder = SparkSession.builder.master("local[2]").appName("cepheid test")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # Workers come with the engine loaded.
        "spark.python.daemon.module": "cepheid.spark.daemon",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run_on_spark(given: Sequence[tuple[Rules, Case]], *, streaming: bool, seed: int) -> list[Found]:
    """What the rules of cases find in their events, all in one job."""
    chance = random.Random(seed)  # noqa: S311 (it cuts streams, nothing else)
    plans = Plans({str(n): _plan(*case, streaming).written() for n, case in enumerate(given)})
    batches = _batches(given, chance, streaming=streaming)
    run = _stream if streaming else _batch
    found = [Found() for _ in given]
    for address, table in run(session(), plans, batches):
        _add(found[int(address.partition("|")[0])], table)
    return found


def _plan(rules: Rules, case: Case, streaming: bool) -> Plan:
    settings = settings_of(
        policy=case.policy if streaming else "guaranteed",
        delay=case.delay if streaming else 0,
        heartbeats=(),
        sources=None,
        unit="us",
        failures=case.failures,
        limits=None,
        depth_limit=DEPTH_LIMIT,
        late_limit=0,
    )
    form = Tabular(Frame.ARROW, Times(Clock.of("us")), loose=True)
    # What is observed of single events differs from shard to shard.
    shards = 1 if case.policy.startswith("probable") else _SHARDS
    return plan_rules(
        rules.rules, rules.schema, settings, form, shards=shards, partitions=2, until=case.until
    )


# --- cutting -----------------------------------------------------------------------------------


def _batches(
    given: Sequence[tuple[Rules, Case]], chance: random.Random, *, streaming: bool
) -> list[list[Portion]]:
    """The events of all cases, batch by batch."""
    cut = [_cut(rules, case, chance, streaming=streaming) for rules, case in given]
    found: list[list[Portion]] = [[] for _ in range(max(map(len, cut), default=0))]
    for number, portions in enumerate(cut):
        for at, events in enumerate(portions):
            half = chance.randint(0, len(events))
            for part in (events[:half], events[half:]):
                if part:
                    found[at].append(Portion(str(number), tuple(part)))
    if streaming:
        found.append([_end(str(number), case) for number, (_, case) in enumerate(given)])
    for batch in found:
        chance.shuffle(batch)
    return found


def _cut(rules: Rules, case: Case, chance: random.Random, *, streaming: bool) -> list[list[Event]]:
    if case.arrives and streaming:
        return [[event] for event in case.events]
    events = sorted(case.events, key=Order(rules.schema).key)
    cuts = sorted(chance.randint(0, len(events)) for _ in range(_CUTS - 1)) if streaming else []
    bounds = [0, *cuts, len(events)]
    portions = [events[low:high] for low, high in pairwise(bounds)]
    for portion in portions:
        chance.shuffle(portion)
    return portions


def _end(plan: str, case: Case) -> Portion:
    """Time goes on past the end of a case, so that all that is due by then has happened."""
    ends = [event.end for event in case.events]
    if not ends:
        return Portion(plan)
    return Portion(plan, (), max([*ends, *([] if case.until is None else [case.until])]) + 1)


def _rows(batch: Sequence[Portion]) -> Arrow:
    return pa.table(
        {
            "plan": [portion.plan for portion in batch],
            "events": [
                from_events(portion.events).written().tobytes() if portion.events else None
                for portion in batch
            ],
            "beat": pa.array([portion.beat for portion in batch], pa.int64()),
        },
        _SCHEMA,
    )


# --- the jobs ------------------------------------------------------------------------------------


def _batch(
    spark: SparkSession, plans: Plans, given: list[list[Portion]]
) -> Iterator[tuple[str, Arrow]]:
    whole = [portion for batch in given for portion in batch]
    with tempfile.TemporaryDirectory(prefix="cepheid-") as folder:
        pq.write_table(_rows(whole), f"{folder}/cases.parquet")
        df = spark.read.schema(_SPARK_SCHEMA).parquet(folder).repartition(_SHARDS)
        sent = df.mapInArrow(_encoding(plans), messages.SPARK_SCHEMA)
        yield from _collected(in_order(sent, _SHARDS).mapInArrow(_matching(plans), FOUND))


def _stream(
    spark: SparkSession, plans: Plans, given: list[list[Portion]]
) -> Iterator[tuple[str, Arrow]]:
    with tempfile.TemporaryDirectory(prefix="cepheid-") as folder:
        events, out = Path(folder, "events"), Path(folder, "found")
        events.mkdir()
        for number, batch in enumerate(given):
            pq.write_table(_rows(batch), events / f"{number:06}.parquet")
            os.utime(events / f"{number:06}.parquet", (number, number))
        reader = spark.readStream.schema(_SPARK_SCHEMA).option("maxFilesPerTrigger", 1)
        df = reader.parquet(str(events)).repartition(_SHARDS)
        sent = df.mapInArrow(_encoding(plans), messages.SPARK_SCHEMA)
        query = (
            matched(sent, plans, _OUTPUTS, None)
            .writeStream.format("parquet")
            .option("checkpointLocation", f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start(str(out))
        )
        query.awaitTermination()
        yield from _collected(spark.read.schema(FOUND).parquet(str(out)))


def _encoding(plans: Plans) -> Callable[[Iterator[Arrow]], Iterator[Arrow]]:
    def encode(batches: Iterator[Arrow]) -> Iterator[Arrow]:
        yield from packed(m for batch in batches for m in _messages(plans, batch))

    return encode


def _messages(plans: Plans, batch: Arrow) -> Iterator[Message]:
    for row in batch.to_pylist():
        name, plan = row["plan"], plans[row["plan"]]
        sender = Sender(plan, keep_bad=False)
        if row["events"] is not None:
            for message in sender.route(table_of(row["events"])):
                yield replace(message, shard=plans.address(name, message.shard))
        beats: Newest = {} if row["beat"] is None else {None: row["beat"] + plan.settings.delay}
        for shard in plan.shards:
            yield of_heard(plans.address(name, shard), sender.newest, beats)


def _matching(plans: Plans) -> Callable[[Iterator[Arrow]], Iterator[Arrow]]:
    def match(batches: Iterator[Arrow]) -> Iterator[Arrow]:
        for address, table in history(plans, rows(batches), None, _OUTPUTS):
            found = {"shard": [address], "output": [""], "payload": [stream_bytes(table)]}
            yield pa.RecordBatch.from_pydict(found)

    return match


# --- what was found --------------------------------------------------------------------------


def _collected(df: DataFrame) -> Iterator[tuple[str, Arrow]]:
    for row in df.collect():
        yield row["shard"], pa.ipc.open_stream(pa.py_buffer(row["payload"])).read_all()


def _add(found: Found, table: Arrow) -> None:
    if "attributes" not in table.schema.names:
        found.late += table.num_rows
        return
    for row in table.to_pylist():
        attributes = json.loads(row["attributes"])
        found.events.append(
            CompositeEvent(
                row["type"], row["start"], row["ts"], attributes, row["id"], rule=row["rule"]
            )
        )
