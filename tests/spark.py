"""Spark in tests: one session in a process, streams out of files, results as lists.

CEPHEID_SPARK says which session: `local` (in this process), `connect` (a client of a local server)
or `cluster` (executors in processes of their own). A process can hold one kind only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
import pytest

from cepheid.spark import cases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]

MARKS = [
    pytest.mark.spark,
    # Spark's own code warns of what is to go in Python and pandas.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""Of a file whose tests start jobs of Spark."""

KIND = os.environ.get("CEPHEID_SPARK", "local")
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
}


ARROW = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us", "UTC"),
}


def session() -> SparkSession:
    """The session of this process, of the kind that is asked for."""
    if KIND == "local":
        return cases.session()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    if KIND == "connect":
        builder = SparkSession.builder.remote("local[2]")
    else:
        import pyspark

        os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class Stream:
    """A folder of event files, each a micro-batch, and a query over it that can be run again."""

    def __init__(self, spark: SparkSession, folder: Path, schema: str) -> None:
        self.spark, self.folder, self.schema = spark, folder, schema
        self.events = folder / "events"
        self.events.mkdir(parents=True)
        self._files = 0

    def add(self, *batches: Sequence[Row]) -> Stream:
        """Let events come, batch by batch."""
        for batch in batches:
            self._files += 1
            path = self.events / f"{self._files:06}.parquet"
            write_events(path, batch, self.schema)
        return self

    @property
    def df(self) -> DataFrame:
        """The events as a stream of Spark."""
        reader = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.events))

    def run(self, found: DataFrame, name: str = "found") -> list[Row]:
        """Run to the end of what is there; gives all that was found since the beginning."""
        out = self.folder / name
        query = (
            found.writeStream.format("parquet")
            .option("checkpointLocation", str(self.folder / f"{name}.checkpoint"))
            .trigger(availableNow=True)
            .start(str(out))
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return rows(self.spark.read.schema(found.schema).parquet(str(out)))


def write_events(path: Path, batch: Iterable[Row], schema: str) -> None:
    """Events as a file, in the order of the number of its name."""
    fields = (part.split() for part in schema.split(", "))
    arrow = pa.schema({name: ARROW[type_] for name, type_ in fields})
    table = pa.Table.from_pylist([dict(row) for row in batch], arrow)
    pq.write_table(table, path)
    number = int(path.stem)
    os.utime(path, (number, number))


def rows(found: DataFrame) -> list[Row]:
    """The rows of a result, in an order of their own."""
    return ordered(found.toArrow().to_pylist())


def ordered(given: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Rows in an order that does not depend on where they come from."""
    return sorted((dict(row) for row in given), key=repr)
