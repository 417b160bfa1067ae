"""Events in DataFrames: `Rules.detect` over Spark, batch and streaming.

    df ── named, checked ──▶ mapInArrow(encode) ──▶ by shard ──▶ match ──▶ composite events

A batch is sorted by shard and time by Spark itself, and matched in one pass. A stream goes through
Spark's stateful operator; see `cepheid.spark.stream`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas.types import from_arrow_schema

from cepheid.algebra import EventPredicate, Rule, Tree, find
from cepheid.errors import EventError, did_you_mean
from cepheid.records import Clock
from cepheid.rules import Rules
from cepheid.runtime.settings import DEPTH_LIMIT, Settings, settings_of
from cepheid.spark import messages
from cepheid.spark.changes import open_group
from cepheid.spark.columns import (
    chosen_of,
    form_of,
    named,
    narrow,
    output_schema,
    told_schema,
    union,
)
from cepheid.spark.encode import Sender
from cepheid.spark.garbage import spare_old
from cepheid.spark.generate import BAD, COMPOSITE, LATE, REFUSED, batches
from cepheid.spark.history import history
from cepheid.spark.messages import Message, batch_of
from cepheid.spark.options import SparkOptions
from cepheid.spark.plan import Plan, Plans, plan_open, plan_rules
from cepheid.spark.sieve import condition, either
from cepheid.tables.arrow import Arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OUTPUTS = {
    "composite": frozenset({COMPOSITE}),
    "all": frozenset({COMPOSITE, LATE, BAD, REFUSED}),
}
"""What can be asked for."""
_SENT = 1 << 22
"""How many bytes of messages go to Spark at a time; more of them take longer, as they do not fit
into the caches."""


def detect_frame(
    rules: Rules,
    events: DataFrame | Mapping[str, DataFrame],
    *,
    unit: str | None = None,
    until: int | datetime | None = None,
    failures: bool = False,
    columns: Sequence[str] | None = None,
    **options: Any,  # noqa: ANN401 (see SparkOptions)
) -> DataFrame:
    """Everything that rules find in a DataFrame of events, as a DataFrame."""
    job = Job(
        rules, events, unit=unit, until=until, failures=failures, columns=columns, options=options
    )
    if job.streaming:
        from cepheid.spark.stream import streamed

        return streamed(job)
    return finite(job)


class Job:
    """Rules over the events of a DataFrame: what every way to run them needs."""

    def __init__(
        self,
        rules: Rules,
        events: DataFrame | Mapping[str, DataFrame],
        *,
        unit: str | None = None,
        until: int | datetime | None = None,
        failures: bool = False,
        columns: Sequence[str] | None = None,
        options: Mapping[str, Any],
        streaming: bool | None = None,
    ) -> None:
        unknown = sorted(options.keys() - SparkOptions.__annotations__.keys())
        if unknown:
            near = did_you_mean(unknown[0], SparkOptions.__annotations__)
            raise EventError(f"detect has no option {unknown[0]} for Spark\n\nhint: {near}")
        self.outputs = _outputs(options.get("outputs", "composite"))
        self.df = _frame(events, options)
        if is_narrow(options):
            self.df = self.df.select(*map(_quoted, narrow(self.df.columns, rules.rules)))
        self.streaming = self.df.isStreaming if streaming is None else streaming
        self.session: SparkSession = self.df.sparkSession
        settings = _settings(options, unit, failures, streaming=self.streaming)
        form = form_of(self.df.schema, Clock.of(unit), rules.schema)
        self.changes = self._changes(options)
        form = replace(form, loose=self.changes is not None)
        composites = chosen_of(output_schema(rules, form, failures=failures), columns)
        if columns is not None:
            # A table without any column, where a rule gives none of these, would have no rows.
            form = replace(form, columns=tuple(dict.fromkeys((*columns, "ts"))))
        self.schema = composites if len(self.outputs) == 1 else told_schema(composites)
        self.partitions = int(self.session.conf.get("spark.sql.shuffle.partitions") or 1)
        spread = {
            "shards": self.partitions if options.get("shards") is None else options["shards"],
            "partitions": self.partitions,
        }
        if self.changes is None:
            end = None if until is None else form.times.clock.read(until)
            self.plan = plan_rules(
                rules.rules,
                rules.schema,
                settings,
                form,
                until=end,
                lasting=self.streaming,
                **spread,
            )
        else:
            rules, key = open_group(rules, options.get("key"))
            self.plan = plan_open(rules.rules, key, rules.schema, settings, form, **spread)
        if until is not None and self.streaming:
            raise EventError(
                "until must go with a finite table; got a stream\n\n"
                "hint: time goes on with events and heartbeats in the stream"
            )

    def _changes(self, options: Mapping[str, Any]) -> DataFrame | None:
        """The stream of changes, if rules change while this one runs."""
        given = options.get("changes")
        if given is None:
            if options.get("key") is not None:
                raise EventError(
                    "key must go with changes; rules that stay find their own\n\nhint: leave it out"
                )
            return None
        if not self.streaming:
            raise EventError("changes must go with a stream of events; got a finite table")
        if isinstance(given, str | Path):
            from cepheid.spark.folder import folder_changes

            return folder_changes(self.session, given)
        found: DataFrame = given
        return found

    @property
    def rules(self) -> Iterator[Rule]:
        """All rules."""
        return (rule for group in self.plan.groups for rule in group.rules)

    @property
    def spark_schema(self) -> Any:  # noqa: ANN401 (a StructType)
        """The columns of what comes out, for Spark."""
        return from_arrow_schema(self.schema)

    def messages(self) -> DataFrame:
        """The events as messages to shards."""
        df = self.df
        if not self.streaming and not any(_waits(rule) for rule in self.rules):
            # Nothing happens by time alone, so that other events do not even tell the time.
            parts = [(group.types, group.sieve) for group in self.plan.groups]
            types = set().union(*(types for types, _ in parts))
            df = df.where(condition(either(parts), types, df.schema))
        encode = _encoding(
            self.plan.written(), keep_bad=BAD in self.outputs, streaming=self.streaming
        )
        return df.mapInArrow(encode, messages.SPARK_SCHEMA)

    @property
    def plans(self) -> Plans:
        """The plan, as the parts of the job get it."""
        return Plans.single(self.plan)


def _outputs(given: object) -> frozenset[str]:
    if given not in OUTPUTS:
        raise EventError(f"outputs must be one of {', '.join(OUTPUTS)}; got {given!r}")
    return OUTPUTS[str(given)]


def is_narrow(options: Mapping[str, Any]) -> bool:
    """Whether only those columns are read that rules use."""
    if options.get("narrow") and options.get("changes") is not None:
        raise EventError(
            "narrow must go with rules that stay; which columns rules to come will use is not known"
            "\n\nhint: leave it out, and select the columns that they may use"
        )
    return bool(options.get("narrow"))


def _quoted(column: str) -> str:
    return f"`{column.replace('`', '``')}`"


def _frame(events: Any, options: Mapping[str, Any]) -> DataFrame:  # noqa: ANN401
    time = options.get("time", "ts")
    if isinstance(events, Mapping):
        if "type" in options:
            raise EventError("type must not be given with a mapping of DataFrames: its keys tell")
        return union(events, time)
    return named(events, options.get("type", "type"), time)


def _settings(
    options: Mapping[str, Any], unit: str | None, failures: bool, *, streaming: bool
) -> Settings:
    given = {
        name: options[name] for name in ("policy", "delay", "sources", "idle") if name in options
    }
    if given and not streaming:
        raise EventError(
            f"{', '.join(given)} must go with a stream; a finite table is put in order as a whole"
            "\n\nhint: leave it out"
        )
    return settings_of(
        policy=options.get("policy", "guaranteed"),
        delay=options.get("delay", 0),
        heartbeats=options.get("heartbeats", ()),
        sources=options.get("sources"),
        idle=options.get("idle"),
        unit=unit,
        failures=failures,
        limits=options.get("limits"),
        depth_limit=DEPTH_LIMIT,
        late_limit=0,
    )


# --- batch -----------------------------------------------------------------------------------


def finite(job: Job) -> DataFrame:
    """What the rules of a job find in all its events."""
    ordered = in_order(job.messages(), job.partitions)
    return ordered.mapInArrow(_matching(job.plans, job.schema, job.outputs), job.spark_schema)


def in_order(df: DataFrame, partitions: int) -> DataFrame:
    """Messages with those of a shard together, in the order of their times."""
    return df.repartition(partitions, "shard").sortWithinPartitions("shard", "low")


def _waits(rule: Rule) -> bool:
    """Whether the passing of time alone can complete a match or break a run."""
    pattern = rule.pattern
    if isinstance(pattern, Tree):
        ticks = any(predicate.every is not None for predicate in find(rule, EventPredicate))
        return ticks or pattern.deadline is not None
    return True


Batches = Iterator[Arrow]


def _encoding(plan: str, *, keep_bad: bool, streaming: bool) -> Callable[[Batches], Batches]:
    def encode(given: Batches) -> Batches:
        spare_old()
        sender = Sender(Plan.read(plan), keep_bad=keep_bad, streaming=streaming)
        yield from packed(sender.messages(given))

    return encode


def packed(found: Iterable[Message]) -> Batches:
    """Messages as record batches of a bounded size."""
    waiting: list[Message] = []
    size = 0
    for message in found:
        waiting.append(message)
        size += len(message.payload)
        if size >= _SENT:
            yield batch_of(waiting)
            waiting, size = [], 0
    if waiting:
        yield batch_of(waiting)


def _matching(plans: Plans, schema: Arrow, outputs: frozenset[str]) -> Callable[[Batches], Batches]:
    def match(found: Batches) -> Batches:
        spare_old()
        yield from batches(table for _, table in history(plans, rows(found), schema, outputs))

    return match


def rows(found: Batches) -> Iterator[Message]:
    """Record batches as messages."""
    for batch in found:
        columns = [column.to_pylist() for column in batch.columns]
        yield from (Message(*row) for row in zip(*columns, strict=True))
