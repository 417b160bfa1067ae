"""Cepheid's runner: the same steps as the peers', in a process of its own.

python -m bench.peers.own CONTEST COUNT ANSWERS CHECKED BUDGET REPEAT

Batches of Arrow go into the embedded engine, Arrow tables of composite events come out, on one
core: rule, times and attributes, which is what the peers' rules select. The same with ids and all
constituents, and the kernel alone (columns in, matches out as columns), are measured beside it, and
so is one event at a time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

from bench import measure
from bench.figure import Options
from bench.peers.contest import Contest
from bench.peers.data import Lines, save
from bench.scenario import Scenario
from bench.streams import Column, Stream
from cepheid.tables.arrow import arrow_of, text_array

FIRST = 1000
ENOUGH = 0.5
"""Seconds of a run that tells how fast it goes."""
PUSHED = 20_000
"""So many events at most are pushed one by one."""
PATIENCE = 10.0
"""For so many seconds at most."""


def table(stream: Stream) -> Any:  # noqa: ANN401 (a table of Arrow)
    """The stream with its texts as dictionaries: like the peers, nobody compares letters."""

    def column(one: Column) -> Any:  # noqa: ANN401 (an array of Arrow)
        missing = None if one.present is None else ~one.present
        if not one.texts:
            return arrow_of(one.values, missing)
        codes = arrow_of(one.values.astype(np.int32), missing)
        return pa.DictionaryArray.from_arrays(codes, text_array(one.texts))

    types = column(Column(stream.kinds, stream.names))
    columns = {name: column(one) for name, one in stream.columns.items()}
    return pa.table({"type": types, "ts": arrow_of(stream.times), **columns})


def lines(contest: Contest, stream: Stream, found: Any) -> Lines:  # noqa: ANN401
    """Composite events as the peers tell them."""
    numbers = {rule.name: number for number, rule in enumerate(contest.rules)}
    names = found["rule"].combine_chunks().dictionary_encode()
    names = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
    codes = np.array([numbers[name] for name in names.dictionary.to_pylist()], np.int64)
    rules = codes[names.indices.to_numpy()] if len(found) else np.zeros(0, np.int64)
    return np.column_stack((rules, _made_of(contest, stream, found))).astype(np.int32)


def _made_of(contest: Contest, stream: Stream, found: Any) -> Any:  # noqa: ANN401
    def rows(times: Any) -> Any:  # noqa: ANN401 (columns)
        return np.searchsorted(stream.times, np.asarray(times, np.int64))

    if contest.made_of == "ends":
        return np.column_stack((rows(found["start"]), rows(found["ts"])))
    if contest.made_of == "value":
        measured = np.floor(1000 * np.asarray(found["measured"], np.float64) + 0.5)
        return np.column_stack((rows(found["ts"]), measured.astype(np.int64)))
    made = found["events"].combine_chunks().flatten().field("ts")
    return np.sort(rows(made).reshape(-1, contest.width), axis=1)


@dataclass(frozen=True)
class Run:
    """One run: seconds on the wall and of computing, composite events."""

    seconds: float
    computed: float
    composites: int


def selected(contest: Contest) -> list[str]:
    """The columns that peers' rules give too."""
    attributes = [one.name for rule in contest.rules for one in rule.output.attributes]
    return list(dict.fromkeys(["rule", "ts", "start", *attributes]))


def embedded(
    contest: Contest,
    whole: Any,  # noqa: ANN401 (a table of Arrow)
    columns: list[str] | None,
    keep: list[Any] | None = None,
) -> Run:
    """All events of a table through a new engine, in batches."""
    batches = [whole.slice(cut, contest.batch) for cut in range(0, len(whole), contest.batch)]
    with contest.rules.engine(unit="us", cores=1, columns=columns) as engine:
        engine.push_batch(whole.slice(0, 0))  # rules are planned with the first batch
        wall, computed, count = time.perf_counter(), time.process_time(), 0
        for number in range(len(batches) + 1):
            if number < len(batches):
                found = engine.push_batch(batches[number])
            elif len(whole):
                found = engine.advance(whole["ts"][-1].as_py() + contest.patience)
            count += len(found)
            if keep is not None:
                keep.append(found)
        return Run(time.perf_counter() - wall, time.process_time() - computed, count)


def kernel(contest: Contest, stream: Stream) -> Run:
    """All events through a new kernel, in batches."""
    scenario = Scenario(
        contest.name, "", str, contest.stream, len, len(stream), patience=contest.patience
    )
    options = Options(batch=contest.batch, cpu=True, shared=True)
    found = measure.run(contest.rules.rules, scenario, stream, options)
    return Run(found.seconds, found.seconds, sum(found.counts.values()))


def affordable(run: Callable[[int], Run], limit: int, budget: float) -> int:
    """How many events fit into a run that is not too long; the runs before it warm up."""
    count = min(FIRST, limit)
    run(count)
    while True:
        # Computing time: on a machine that others use too, the wall would tell of them.
        seconds = max(run(count).computed, 1e-6)
        if count == limit or seconds >= min(ENOUGH, budget):
            return int(min(limit, max(FIRST, count * budget / seconds)))
        count = int(min(limit, count * min(8.0, 1.0 + ENOUGH / seconds)))


def pushed(contest: Contest, stream: Stream) -> list[float]:
    """Microseconds of each event that is pushed on its own, as a dictionary."""
    names = list(stream.columns)
    events = [
        {
            "type": stream.names[stream.kinds[row]],
            "ts": int(stream.times[row]),
            **{name: stream.columns[name].at(row) for name in names},
        }
        for row in range(len(stream))
    ]
    with contest.rules.engine(unit="us", columns=selected(contest)) as engine:
        waits, end = [], time.perf_counter() + PATIENCE
        for event in events:
            begin = time.perf_counter()
            if begin > end:
                break
            engine.push(event)
            waits.append(1e6 * (time.perf_counter() - begin))
    return waits


def forget_peak() -> None:
    """Let `peak` tell of what comes from now on, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", "utf-8")


def peak() -> int:
    """The most bytes that this process had in memory, ever or since that was to be forgotten."""
    fields = Path("/proc/self/status").read_text("utf-8").split()
    return 1024 * int(fields[fields.index("VmHWM:") + 1])


def main(arguments: list[str]) -> None:
    """Measure and print one line of JSON, as the peers' runners do."""
    from bench.peers.contests import named

    name, total, answers, checked, budget, repeat = arguments
    contest, found = named(name), dict[str, Any]()
    begin = time.perf_counter()
    len(contest.rules)
    found["deploy"] = time.perf_counter() - begin
    # The peers read their events from a file: to make them is no part of what they need.
    whole = table(contest.stream(int(total)))
    forget_peak()
    found |= _measured(contest, whole, float(budget), int(repeat))
    stream = contest.stream(int(total))
    found |= _beside(contest, stream.head(found["events"]), int(repeat))
    kept: list[Any] = []
    few = stream.head(int(checked))
    embedded(contest, table(few), None, kept)
    save(np.concatenate([lines(contest, few, one) for one in kept]), Path(answers))
    found["version"] = f"Cepheid {version('cepheid')}"
    print(json.dumps(found))


def _measured(
    contest: Contest,
    whole: Any,  # noqa: ANN401 (a table of Arrow)
    budget: float,
    repeat: int,
) -> dict[str, Any]:
    """What the peers measure too, and the same with ids and constituents."""
    chosen = selected(contest)
    count = affordable(lambda n: embedded(contest, whole.slice(0, n), chosen), len(whole), budget)
    part = whole.slice(0, count)
    runs = [embedded(contest, part, chosen) for _ in range(1 + repeat)][1:]
    most = peak()
    full = [embedded(contest, part, None) for _ in range(repeat)]
    return {
        "events": count,
        "composites": runs[0].composites,
        "seconds": median(run.seconds for run in runs),
        "computed": median(run.computed for run in runs),
        "whole": median(run.seconds for run in full),
        "peak": most,
    }


def _beside(contest: Contest, part: Stream, repeat: int) -> dict[str, Any]:
    """The kernel alone, and one event at a time."""
    alone = [kernel(contest, part) for _ in range(1 + repeat)][1:]
    waits = pushed(contest, part.head(PUSHED))
    waits = waits[len(waits) // 10 :]
    return {
        "kernel": median(run.seconds for run in alone),
        **{f"p{name}": float(np.percentile(waits, p)) for name, p in _PERCENTILES.items()},
    }


_PERCENTILES = {"50": 50, "99": 99, "999": 99.9}

if __name__ == "__main__":
    main(sys.argv[1:])
