"""Sinks: where composite events, late events and bad rows go.

A stream writes files under a folder for each batch, and replaces that folder when a batch is
repeated: so a crash at any moment loses nothing and gives nothing twice.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 (everybody calls it so)

from cepheid.errors import ProjectError
from cepheid.spark.generate import BAD, COMPOSITE, LATE, REFUSED
from cepheid.spark.project import FILES, Project
from cepheid.spark.sources import kafka_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

BATCH = "batch"
"""The folder of a batch is called batch=12, which readers understand as a column."""
_TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Times in texts, to the microsecond; Spark by itself would cut them to milliseconds."""
_DEFAULTS: dict[str, dict[str, str]] = {"json": _TIMES, "csv": {"header": "true", **_TIMES}}
"""Options of writers that are ours; the user's win."""


@dataclass(frozen=True)
class Sink:
    """One place for one output."""

    output: str
    path: str
    format: str
    options: dict[str, str]

    def part(self, found: DataFrame) -> DataFrame:
        """What belongs here, of everything that was found."""
        if "output" in found.columns:
            own = found.where(F.col("output") == self.output)
            found = own.drop("output", "event", "reason")
            if self.output == LATE:
                found = own.select("event")
            elif self.output in (BAD, REFUSED):
                found = own.select("event", "reason")
        return found

    def write(self, part: DataFrame, *, overwrite: bool) -> None:
        """Write everything at once."""
        if self.format == "kafka":
            self._to_kafka(part)
        elif self.format == "console":
            _show(part)
        else:
            mode = "overwrite" if overwrite else "error"
            self._to_files(part, self.path, mode, {})

    def write_batch(self, part: DataFrame, number: int, checkpoint: str) -> None:
        """Write a batch of a stream; the same batch once more replaces it."""
        if self.format in ("kafka", "console"):
            self.write(part, overwrite=False)
        elif self.format == "delta":
            # Delta remembers which batch of which query it has, and takes it once.
            query = _query_id(part.sparkSession, checkpoint)
            own = {"txnAppId": f"{query} {self.output}", "txnVersion": str(number)}
            self._to_files(part, self.path, "append", own)
        else:
            self._to_files(part, batch_folder(self.path, part, number), "overwrite", {})

    def _to_files(self, part: DataFrame, path: str, mode: str, own: dict[str, str]) -> None:
        options = {**_DEFAULTS.get(self.format, {}), **self.options, **own}
        if self.format == "csv" and "events" in part.columns:
            times = {name: options[name] for name in _TIMES}
            part = part.withColumn("events", F.to_json("events", times))
        part.write.format(self.format).mode(mode).options(**options).save(path)

    def _to_kafka(self, part: DataFrame) -> None:
        servers, topic = kafka_options(self.path)
        own = {"kafka.bootstrap.servers": servers, "topic": topic}
        message_of(part).write.format("kafka").options(**{**own, **self.options}).save()


def message_of(part: DataFrame) -> DataFrame:
    """Composite events as messages: texts of JSON, with their ids as keys."""
    return part.select(F.col("id").alias("key"), _text_of(part).alias("value"))


def _text_of(part: DataFrame) -> Column:
    return F.to_json(F.struct(*part.columns), _TIMES)


def _query_id(spark: SparkSession, checkpoint: str) -> str:
    """What Spark calls the stream of a checkpoint, the same after every start."""
    return str(spark.read.text(f"{checkpoint.rstrip('/')}/metadata").head()[0])  # type: ignore[index]


def batch_folder(path: str, part: DataFrame, number: int) -> str:
    """The folder of a batch; its name is none of the columns in it."""
    name = BATCH
    while name in part.columns:
        name += "_"
    return f"{path.rstrip('/')}/{name}={number}"


def _show(part: DataFrame) -> None:
    """Composite events as lines of JSON, in the order of time."""
    lines = part.orderBy("ts", "id").select(_text_of(part).alias("line"))
    for row in lines.toLocalIterator():
        sys.stdout.write(f"{row.line}\n")
    sys.stdout.flush()


def sinks_of(project: Project) -> list[Sink]:
    """All places that a project writes to."""
    format_ = project.output_format or "parquet"
    options = dict(project.output_option)
    found = [Sink(COMPOSITE, project.output or "", format_, options)]
    aside = format_ if format_ in (*FILES, "delta") else "json"
    aside_options = options if aside == format_ else {}
    others = {LATE: project.late, BAD: project.dead_letter, REFUSED: project.refused}
    for output, path in others.items():
        if path is not None:
            found.append(Sink(output, path, aside, aside_options))
    return found


def exists(spark: SparkSession, path: str) -> bool:
    """Whether something is at a path, of whatever file system."""
    try:
        _ = spark.read.format("binaryFile").load(path).schema  # a client looks when it must
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return False
        raise
    return True


def check_free(spark: SparkSession, sinks: list[Sink], *, overwrite: bool) -> None:
    """Raise if a batch would write where something is."""
    for sink in sinks:
        if sink.format in (*FILES, "delta") and not overwrite and exists(spark, sink.path):
            raise ProjectError(
                f"output {sink.path} must not be there yet\n\n"
                "hint: name another folder, or replace it with --overwrite"
            )


def check_continued(spark: SparkSession, sinks: list[Sink], checkpoint: str) -> None:
    """Raise if a stream that begins would write over the batches of another one."""
    if exists(spark, f"{checkpoint.rstrip('/')}/offsets"):
        return
    for sink in sinks:
        if sink.format in FILES and exists(spark, f"{sink.path.rstrip('/')}/{BATCH}=0"):
            raise ProjectError(
                f"output {sink.path} must be new for a stream that begins; it has the batches of "
                f"another one, and there is no state in {checkpoint}\n\n"
                "hint: name another folder, or the checkpoint with which it was written"
            )
