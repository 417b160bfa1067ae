"""The relational runner: DuckDB joins the whole table on one thread.

python -m bench.peers.relational CONTEST COUNT ANSWERS CHECKED BUDGET REPEAT

It stands where SASE's paper had a relational stream engine. It gets all events at once and answers
at the end, so it is a bound for what a stream engine can do rather than one itself.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import numpy as np

from bench.peers.contest import MILLISECOND, Contest
from bench.peers.data import save
from bench.peers.own import Run, affordable, forget_peak, peak
from bench.streams import Stream


def columns(stream: Stream) -> Any:  # noqa: ANN401 (a table of Arrow)
    """The events as the queries see them: texts by their code, as in a normalised table."""
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

    attributes = {name: column.values for name, column in stream.columns.items()}
    rows = np.arange(len(stream), dtype=np.int32)
    times = stream.times // MILLISECOND
    return pa.table({"row": rows, "kind": stream.kinds, "ts": times, **attributes})


def joined(contest: Contest, stream: Stream, keep: list[Any] | None = None) -> Run:
    """The query over a table of these events, which is loaded before the clock starts."""
    with duckdb.connect() as database:
        database.execute("SET threads = 1")
        database.register("given", columns(stream))
        database.execute("CREATE TABLE events AS SELECT * FROM given")
        told = contest.told("duckdb")
        assert told is not None  # noqa: S101 (the caller asks for contests that have a query)
        wall, computed = time.perf_counter(), time.process_time()
        found = database.sql(told["sql"]).to_arrow_table()
        run = Run(time.perf_counter() - wall, time.process_time() - computed, len(found))
    if keep is not None:
        keep.append(found)
    return run


def main(arguments: list[str]) -> None:
    """Measure and print one line of JSON, as the other runners do."""
    from bench.peers.contests import named

    name, total, answers, checked, budget, repeat = arguments
    contest = named(name)
    stream = contest.stream(int(total))
    forget_peak()
    count = affordable(lambda n: joined(contest, stream.head(n)), len(stream), float(budget))
    runs = [joined(contest, stream.head(count)) for _ in range(1 + int(repeat))][1:]
    found = {
        "events": count,
        "composites": runs[0].composites,
        "seconds": median(run.seconds for run in runs),
        "computed": median(run.computed for run in runs),
        "peak": peak(),
    }
    kept: list[Any] = []
    joined(contest, stream.head(int(checked)), kept)
    cells = [np.asarray(column, np.int64) for column in kept[0].columns]
    save(np.column_stack(cells).astype(np.int32), Path(answers))
    print(json.dumps(found | {"version": f"DuckDB {duckdb.__version__}"}))


if __name__ == "__main__":
    main(sys.argv[1:])
