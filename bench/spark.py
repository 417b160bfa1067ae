"""`python -m bench.spark`: the pipeline on Spark beside what Spark does without it, in one run.

python -m bench.spark [--only PATTERN] [--scale F] [--repeat N] [--cpu] [--json FILE]

Every figure is a ratio of two measurements that take turns: a job, and the same data through an
identity, a count, or the embedded engine. With `--cpu` it is the computing time of all processes,
for a machine that others use too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same

import cepheid
from bench import fires, report
from bench.figure import Figure
from bench.scenario import Reach

OUT = Path(__file__).parent / "out" / "spark.json"
RULE = """Rule R1
define Fire(area: string, measuredTemp: double)
from Smoke(area = $a) and each Temp(area = $a and value > {limit}) within 5 min from Smoke
where area = Smoke.area and measuredTemp = Temp.value"""
FEW = 99.9
"""Of the readings, one in a thousand is above it."""
FILES = 8
BATCH = 1 << 16
WARM = 40
"""So many small batches pass before they are measured: the JVM compiles what it runs often."""
SECOND = 1_000_000


@dataclass
class Bench:
    """Where data lies, and how it is measured."""

    folder: Path
    scale: float
    repeat: int
    cpu: bool

    @cached_property
    def spark(self) -> Any:  # noqa: ANN401 (a session)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        from pyspark.sql import SparkSession

        settings = {
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.driver.memory": "4g",
            "spark.log.level": "ERROR",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.streaming.stateStore.providerClass": (
                "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
            ),
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
            "spark.python.unix.domain.socket.enabled": "true",
            "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
        }
        builder = SparkSession.builder.master("local[2]").appName("cepheid bench")
        for name, value in settings.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()

    def clock(self) -> float:
        """Seconds of the wall, or of computing in this process and all below it."""
        return _computed() if self.cpu else time.perf_counter()

    def compare(self, *ways: Callable[[], object]) -> list[float]:
        """The shortest times of several ways to do something, which take turns."""
        best = [float("inf")] * len(ways)
        for turn in range(self.repeat + 1):
            for number, way in enumerate(ways):
                begin = self.clock()
                way()
                if turn:  # the first turn warms up
                    best[number] = min(best[number], self.clock() - begin)
        return best

    def events(self, count: int, keys: int, files: int = FILES) -> Path:
        """Readings and smoke in areas, in files by time."""
        count = max(files * 1000, int(count * self.scale))
        folder = self.folder / f"events-{count}-{keys}-{files}"
        if not folder.exists():
            folder.mkdir(parents=True)
            chance = np.random.default_rng(7)
            for number in range(files):
                pq.write_table(
                    _readings(chance, number * (count // files), count // files, keys),
                    folder / f"{number:04}.parquet",
                )
                os.utime(folder / f"{number:04}.parquet", (number, number))
        return folder

    def fresh(self, name: str) -> str:
        """An empty folder."""
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        return str(path)


def _computed() -> float:
    """Seconds of computing in this process and all below it."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text()
            except OSError:
                continue
            fields = text.rpartition(")")[2].split()
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    own, total = os.getpid(), 0
    for process, count in ticks.items():
        above = process
        while above not in (0, 1, own):
            above = parents.get(above, 0)
        total += count if above == own else 0
    return total / os.sysconf("SC_CLK_TCK")


def _readings(chance: np.random.Generator, first: int, count: int, keys: int) -> Any:  # noqa: ANN401
    times = (first + np.arange(count)) * 1000 + 1_700_000_000 * SECOND
    areas = np.char.add("area-", chance.integers(0, keys, count).astype(str))
    return pa.table(
        {
            "type": np.where(chance.random(count) < 0.1, "Smoke", "Temp"),
            "ts": pa.array(times).cast(pa.timestamp("us", tz="UTC")),
            "area": areas,
            "value": chance.random(count) * 100,
        }
    )


def rules(limit: float = FEW) -> cepheid.Rules:
    """The rule of most measurements."""
    return cepheid.load(RULE.format(limit=limit), language="tesla")


def identity(batches: Iterator[Any]) -> Iterator[Any]:
    """Hands on what comes."""
    yield from batches


def _nowhere(df: Any) -> None:  # noqa: ANN401 (a DataFrame)
    df.write.format("noop").mode("overwrite").save()


# --- batch ---------------------------------------------------------------------------------------


def batch(bench: Bench) -> Iterator[Figure]:
    """A finite table, against reading, repartitioning and an identity."""
    folder = bench.events(8_000_000, 10_000)
    spark, rule = bench.spark, rules()

    def ours() -> None:
        _nowhere(rule.detect(spark.read.parquet(str(folder))))

    def plain() -> None:
        df = spark.read.parquet(str(folder))
        _nowhere(df.repartition(2, "area").mapInArrow(identity, df.schema))

    own, other = bench.compare(ours, plain)
    count = pq.ParquetDataset(folder).read(columns=["ts"]).num_rows
    found = rule.detect(spark.read.parquet(str(folder))).count()
    expected = len(rule.detect(pq.read_table(folder)))
    details = {"events/s": count / own, "composites": found, "expected": expected}
    yield Figure(
        "spark/batch", own / other, "× time", Reach(rate=1.0), less=True,
        right=found == expected > 0, details=details,
    )  # fmt: skip


def keys(bench: Bench) -> Iterator[Figure]:
    """The same with few and many keys, against ten thousand."""
    spark = bench.spark
    folders = {count: bench.events(2_000_000, count) for count in (10_000, 10, 1_000_000)}
    # With fewer keys a reading meets more smoke: as many composite events for all.
    by_count = {count: rules(100 - (100 - FEW) * count / 10_000) for count in folders}

    def way(count: int) -> Callable[[], None]:
        read = spark.read.parquet(str(folders[count]))
        return lambda: _nowhere(by_count[count].detect(read))

    usual, *others = bench.compare(*map(way, folders))
    for count, seconds in zip(list(folders)[1:], others, strict=True):
        found = by_count[count].detect(spark.read.parquet(str(folders[count]))).count()
        right = found == len(by_count[count].detect(pq.read_table(folders[count])))
        yield Figure(
            f"spark/keys {count}",
            seconds / usual,
            "× time",
            Reach(rate=2.0),
            less=True,
            right=right,
        )


def thousand(bench: Bench) -> Iterator[Figure]:
    """T-Rex's R2, a thousand rules, against the embedded engine on one core."""
    size = fires.Size()
    many = cepheid.load(fires.text(fires.KINDS["R2"], size), language="tesla", limit=100_000_000)
    stream = fires.stream(0.5, size, max(20_000, int(1_000_000 * bench.scale)))
    table = stream.table()
    path = bench.folder / f"fires-{len(stream)}.parquet"
    pq.write_table(table, path)
    spark = bench.spark

    def ours() -> None:
        _nowhere(many.detect(spark.read.parquet(str(path)), unit="us"))

    counts = []

    def embedded() -> None:
        # In batches: all composite events at once would not fit into memory.
        engine = many.engine(unit="us", cores=1)
        parts = [table.slice(begin, BATCH) for begin in range(0, len(table), BATCH)]
        counts.append(sum(len(engine.push_batch(part)) for part in parts))

    own, other = bench.compare(ours, embedded)
    found = many.detect(spark.read.parquet(str(path)), unit="us").count()
    right = {found} == set(counts)
    details = {"events/s": len(stream) / own, "composites": found}
    yield Figure(
        "spark/1000 rules", other / own, "× events/s", Reach(rate=0.5), right=right, details=details
    )


# --- streams -------------------------------------------------------------------------------------


def _streamed(bench: Bench, df: Any, name: str, mode: str = "append") -> Sequence[Any]:  # noqa: ANN401
    """Run a stream over what is there; the progress of its batches."""
    query = (
        df.writeStream.format("noop")
        .outputMode(mode)
        .option("checkpointLocation", bench.fresh(f"checkpoint-{name}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found: Sequence[Any] = query.recentProgress
    return found


def _source(bench: Bench, folder: Path) -> Any:  # noqa: ANN401 (a DataFrame)
    schema = bench.spark.read.parquet(str(folder)).schema
    reader = bench.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def stream(bench: Bench) -> Iterator[Figure]:
    """A million events in a micro-batch, against an identity without state; and Python's source.

    What counts is the time of a batch while a stream runs. How long a stream takes with its
    beginning and its end, for as many events, is told besides.
    """
    from cepheid.spark.files import detect_files

    folder = bench.events(8_000_000, 10_000)
    rule = rules()

    triggers: dict[str, list[float]] = {"ours": [], "plain": [], "native": []}

    def run(df: Any, name: str) -> None:  # noqa: ANN401 (a DataFrame)
        # In its first batch a stream opens everything that it needs.
        batches = _streamed(bench, df, name)[1:]
        triggers[name].append(_spent(batches)["ms"])

    def ours() -> None:
        run(rule.detect(_source(bench, folder)), "ours")

    def plain() -> None:
        df = _source(bench, folder)
        run(df.mapInArrow(identity, df.schema), "plain")

    def native() -> None:
        log = bench.fresh("log")
        df = detect_files(rule, bench.spark, str(folder), stream=True, log=log, files_per_batch=1)
        run(df, "native")

    own, other, past = bench.compare(ours, plain, native)
    mine, theirs, read = (min(found[1:]) for found in triggers.values())
    yield Figure(
        "spark/stream", theirs / mine, "× events/s", Reach(rate=0.8),
        details={"ms": mine, "identity ms": theirs, "s in all": own, "identity s in all": other},
    )  # fmt: skip
    yield Figure(
        "spark/native source", mine / read, "× events/s", Reach(rate=2.0),
        details={"ms": read, "DataFrame ms": mine, "s in all": past, "DataFrame s in all": own},
    )  # fmt: skip


def small(bench: Bench) -> Iterator[Figure]:
    """The time of a trigger with two thousand events, against a streaming count."""
    count = 2 * WARM
    folder = bench.events(int(2000 * count / bench.scale), 100, files=count)
    rule = rules()

    def triggers(df: Any, name: str, mode: str) -> dict[str, float]:  # noqa: ANN401
        return _spent(_streamed(bench, df, name, mode)[WARM:])

    def least(found: list[dict[str, float]]) -> dict[str, float]:
        return min(found, key=lambda spent: spent["ms"])

    own, other = [], []
    for _ in range(bench.repeat):
        own.append(triggers(rule.detect(_source(bench, folder)), "small", "append"))
        counted = _source(bench, folder).groupBy("area").count()
        other.append(triggers(counted, "count", "update"))
    mine, theirs = least(own), least(other)
    yield Figure(
        "spark/small batches", mine["ms"] / theirs["ms"], "× time", Reach(rate=1.4), less=True,
        details={**mine, **{f"count {name}": value for name, value in theirs.items()}},
    )  # fmt: skip


def _spent(batches: Sequence[Any]) -> dict[str, float]:
    """Where the time of micro-batches goes, by what Spark says of them: medians."""

    def median(value: Callable[[Any], float]) -> float:
        return float(np.median([value(batch) for batch in batches]))

    def spent(name: str) -> float:
        return median(lambda batch: batch["durationMs"].get(name, 0))

    def of_state(name: str) -> float:
        return median(lambda batch: sum(own[name] for own in batch["stateOperators"]))

    return {
        "ms": spent("triggerExecution"),
        "batch ms": spent("addBatch"),
        "state update ms": of_state("allUpdatesTimeMs"),
        "state commit ms": of_state("commitTimeMs"),
        "offsets ms": spent("commitOffsets"),
        "files ms": spent("latestOffset"),
    }


def state(bench: Bench) -> Iterator[Figure]:
    """What is written into the state per batch while a window holds many events."""
    folder = bench.events(6_000_000, 10_000, files=60)
    rule = cepheid.load(
        "QUERY Q EVENT SEQ(Temp x, Never y) WHERE [area] WITHIN 5 hours", language="sase"
    )
    checkpoint = bench.fresh("checkpoint-state")
    query = (
        rule.detect(_source(bench, folder)).writeStream.format("noop")
        .option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    )  # fmt: skip
    seen: dict[str, int] = {}
    while query.isActive:
        time.sleep(0.2)
        for file in Path(checkpoint, "state").rglob("*"):
            if file.is_file() and not file.name.startswith("."):
                seen[str(file)] = max(seen.get(str(file), 0), _size(file))
    query.awaitTermination()
    batches = len(query.recentProgress)
    table = pq.read_table(folder)
    share = sum(seen.values()) / table.nbytes
    details = {"bytes": sum(seen.values()), "of events": table.nbytes, "batches": batches}
    yield Figure(
        "spark/state written", share, "× bytes", Reach(rate=3.0), less=True, details=details
    )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


TASKS = {
    "batch": batch, "keys": keys, "1000 rules": thousand, "stream": stream, "small": small,
    "state": state,
}  # fmt: skip


def main() -> int:
    """Measure what is asked for; 1 when a count is wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", action="append", metavar="PATTERN")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of events")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cpu", action="store_true", help="computing time of all processes")
    parser.add_argument("--json", type=Path, default=OUT)
    options = parser.parse_args()
    found: dict[str, Figure] = {}
    print(report.head(), flush=True)
    with tempfile.TemporaryDirectory(prefix="cepheid-bench-") as folder:
        bench = Bench(Path(folder), options.scale, options.repeat, options.cpu)
        for name, task in TASKS.items():
            if options.only and not any(fnmatchcase(name, f"*{p}*") for p in options.only):
                continue
            for figure in task(bench):
                found[figure.name] = figure
                print(report.row(figure, found), flush=True)
                print("   ", {k: round(v, 3) for k, v in figure.details.items()}, flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    command = ["python", "-m", "bench.spark", *sys.argv[1:]]
    options.json.write_text(report.as_json(found, command) + "\n", "utf-8")
    return 0 if all(figure.right for figure in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
