"""Cepheid on Spark with two cores: the runner beside Flink with two slots.

python -m bench.peers.pipeline CONTEST COUNT ANSWERS CHECKED BUDGET REPEAT [dataframe]

Events lie in Parquet files by time. Python's workers read them, as with `cepheid run --reader
native`, or Spark does and hands them over as a DataFrame. The answer is computed in full and
written nowhere. Reading the files is part of the time, which the peers are spared: their events are
objects in memory.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same

from bench.peers.contest import Contest
from bench.peers.data import save
from bench.peers.own import Run, lines, selected, table
from bench.spark import FILES, Bench, _computed
from bench.streams import Stream
from cepheid.spark.files import detect_files

WARM = 5.0
"""So many seconds of computing pass before anything is measured, as with the peers."""


class Pipeline:
    """A session, and a folder for events; whether Spark itself reads them."""

    def __init__(self, contest: Contest, stream: Stream, folder: Path, *, by_spark: bool) -> None:
        self.contest, self.stream, self.folder = contest, stream, folder
        self.by_spark = by_spark
        self.spark = Bench(folder, 1.0, 1, cpu=False).spark

    def written(self, count: int) -> Path:
        """The first events as files by time."""
        path = self.folder / f"events-{count}"
        if not path.exists():
            path.mkdir()
            whole = _plain(table(self.stream.head(count)))
            size = -(-len(whole) // FILES)
            for number in range(FILES):
                part = whole.slice(number * size, size)
                pq.write_table(part, path / f"{number:04}.parquet")
        return path

    def found(self, count: int, columns: list[str] | None = None) -> Any:  # noqa: ANN401
        """What the rules find in the first events, as a DataFrame."""
        until = int(self.stream.times[count - 1]) + self.contest.patience
        path, rules = str(self.written(count)), self.contest.rules
        if self.by_spark:
            events = self.spark.read.parquet(path)
            return rules.detect(events, unit="us", until=until, columns=columns)
        return detect_files(rules, self.spark, path, unit="us", until=until, columns=columns)

    def run(self, count: int) -> Run:
        """One job, for the columns that peers' rules give too."""
        self.written(count)
        wall, computed = time.perf_counter(), _computed()
        self.found(count, selected(self.contest)).write.format("noop").mode("overwrite").save()
        return Run(time.perf_counter() - wall, _computed() - computed, 0)


def _plain(events: Any) -> Any:  # noqa: ANN401 (a table of Arrow)
    """Texts as texts: Parquet has a dictionary of its own."""
    columns = [
        one.cast(pa.string()) if pa.types.is_dictionary(one.type) else one for one in events.columns
    ]
    return pa.table(columns, events.column_names)


def peak() -> int:
    """The largest sizes of this process and of all below it, added up."""
    sizes: dict[int, int] = {}
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "status").read_text("utf-8").split()
            except OSError:
                continue
            if "VmHWM:" in fields:
                sizes[int(entry.name)] = 1024 * int(fields[fields.index("VmHWM:") + 1])
                parents[int(entry.name)] = int(fields[fields.index("PPid:") + 1])
    own = os.getpid()
    return sum(size for process, size in sizes.items() if _below(process, own, parents))


def _below(process: int, own: int, parents: dict[int, int]) -> bool:
    while process not in (0, 1, own):
        process = parents.get(process, 0)
    return process == own


def main(arguments: list[str]) -> None:
    """Measure and print one line of JSON, as the other runners do."""
    from bench.peers.contests import named

    name, total, answers, checked, _, repeat, *way = arguments
    contest = named(name)
    stream = contest.stream(int(total))
    with tempfile.TemporaryDirectory(prefix="cepheid-peers-") as folder:
        pipeline = Pipeline(contest, stream, Path(folder), by_spark="dataframe" in way)
        # All events, whatever the budget: a job takes a second before its first one.
        count = len(stream)
        warm = 0.0
        while warm < WARM:
            warm += pipeline.run(count).computed
        runs = [pipeline.run(count) for _ in range(int(repeat))]
        found = {
            "events": count,
            "composites": pipeline.found(count).count(),
            "seconds": median(run.seconds for run in runs),
            "computed": median(run.computed for run in runs),
            "peak": peak(),
        }
        few = min(int(checked), len(stream))
        made = pa.Table.from_pandas(
            pipeline.found(few).select("rule", "ts", "start", "events").toPandas()
        )
        save(lines(contest, stream, made), Path(answers))
    print(json.dumps(found | {"version": f"Cepheid on Spark {pipeline.spark.version}"}))


if __name__ == "__main__":
    main(sys.argv[1:])
