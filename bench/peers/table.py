"""Results as a table of Markdown and as JSON: every loss as plainly as every win."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from os import sched_getaffinity
from typing import Any

from bench.peers.contest import Contest
from bench.peers.engines import CEPHEID, HEAP, OWN, SPARK
from bench.peers.result import Result
from bench.report import _processor

_HEAD = (
    "contest", "engine", "cores", "events/s", "Cepheid is", "aim", "composites/s", "p50 µs",
    "p99 µs", "peak MiB", "answer",
)  # fmt: skip
MIB = 1024 * 1024


def note(result: Result) -> str:
    """A line for who waits."""
    if not result.found:
        return f"    {result.wrong}"
    answer = result.wrong or result.differs or "the same answer"
    return f"    {result.rate:,.0f} events/s, {result.found['composites']:,} found; {answer}"


def own_of(result: Result, results: Iterable[Result]) -> Result | None:
    """Cepheid's result that belongs beside this one: the one on as many cores."""
    if result.engine in OWN:
        return None
    name = CEPHEID.name if result.cores == 1 else SPARK.name
    found = [r for r in results if (r.contest, r.engine) == (result.contest, name) and r.found]
    return found[0] if found else None


def ratio(result: Result, results: Sequence[Result]) -> float | None:
    """How many times as many events per second Cepheid takes."""
    own = own_of(result, results)
    return own.rate / result.rate if own and result.rate else None


def markdown(picked: Sequence[Contest], results: Sequence[Result]) -> str:
    """The table, what cannot be said, what differs, what is lost, and what is wrong."""
    aims = {contest.name: contest.aim for contest in picked}
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD))]
    for result in results:
        lines.append(_line(_cells(result, results, aims[result.contest])))
        lines += map(_line, _beside(result))
    return "\n".join([*lines, *_remarks(picked, results, aims)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(result: Result, results: Sequence[Result], aim: float) -> list[str]:
    found, times = result.found, ratio(result, results)
    answer = "WRONG" if result.wrong else "differs" if result.differs else "same"
    if not found:
        return [result.contest, result.engine, str(result.cores), *[""] * 7, "WRONG"]
    return [
        result.contest,
        result.engine,
        str(result.cores),
        f"{result.rate:,.0f}",
        f"{times:,.1f} ×" if times else "",
        f"{_aim(result, aim):g} ×" if times and aimed(result) else "",
        f"{found['composites'] / found['seconds']:,.0f}",
        f"{found['p50']:,.1f}" if "p50" in found else "",
        f"{found['p99']:,.1f}" if "p99" in found else "",
        f"{found['peak'] / MIB:,.0f}",
        answer,
    ]


def _beside(result: Result) -> Iterator[list[str]]:
    """Cepheid with ids and all constituents, and its matching alone: what these cost."""
    for name, words in (("whole", "with ids and constituents"), ("kernel", "kernel alone")):
        if name in result.found:
            seconds, found = result.found[name], result.found
            rates = (
                f"{found['events'] / seconds:,.0f}",
                "",
                "",
                f"{found['composites'] / seconds:,.0f}",
            )
            yield [result.contest, f"{result.engine}, {words}", "1", *rates, "", "", "", ""]


def aimed(result: Result) -> bool:
    """Whether a ratio to this engine was set as an aim: to Esper and to Flink."""
    return result.engine.startswith(("esper", "flink"))


def _aim(result: Result, aim: float) -> float:
    return aim if result.cores == 1 else 3.0


def _remarks(
    picked: Sequence[Contest], results: Sequence[Result], aims: dict[str, float]
) -> list[str]:
    said = []
    for result in results:
        times, where = ratio(result, results), f"{result.contest}, {result.engine}"
        own, aim = own_of(result, results), _aim(result, aims[result.contest])
        if times and times < 1:
            said.append(f"loss: {where}: Cepheid takes {times:.2f} × as many events per second")
        elif times and aimed(result) and times < aim:
            said.append(f"below the aim: {where}: {times:.1f} ×, not {aim:g} ×")
        if own and result.found and own.found["peak"] > result.found["peak"]:
            said.append(f"loss: {where}: its process is smaller")
        if own and result.found.get("p50") and own.found.get("p50", 0) > result.found["p50"]:
            said.append(f"loss: {where}: one event alone takes it less time")
        said += [f"WRONG: {where}: {result.wrong}"] if result.wrong else []
        said += [f"differs: {where}: {result.differs}"] if result.differs else []
    for contest in picked:
        said += [f"not run: {contest.name}, {name}: {why}" for name, why in contest.cannot.items()]
        said += [f"why: {contest.name}, {name}: {why}" for name, why in contest.differs.items()]
    return ["", *(f"- {line}" for line in said)] if said else []


def record(
    picked: Sequence[Contest], results: Sequence[Result], command: Sequence[str]
) -> dict[str, Any]:
    """All results with the machine, the versions and the command that they come from."""
    machine = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": len(sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
        "heap": HEAP,
        "command": ["python", "-m", "bench.peers", *command],
        **{name: version(name) for name in ("cepheid", "numba", "numpy", "pyarrow")},
    }
    aims = {contest.name: contest.aim for contest in picked}
    listed = [
        {
            "contest": result.contest,
            "engine": result.engine,
            "cores": result.cores,
            "rate": result.rate,
            "cepheid": ratio(result, results),
            "aim": _aim(result, aims[result.contest]) if aimed(result) else None,
            "answer": result.wrong or result.differs or "same",
            "right": not result.wrong,
            **result.found,
        }
        for result in results
    ]
    reasons = [
        {"contest": contest.name, "engine": name, "why": why}
        for contest in picked
        for name, why in (*contest.cannot.items(), *contest.differs.items())
    ]
    return {"machine": machine, "results": listed, "reasons": reasons}


def merged(before: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Results with some contests that were held again, and where and when these were."""
    names = list(dict.fromkeys(result["contest"] for result in found["results"]))
    order = dict.fromkeys(result["contest"] for result in (*before["results"], *found["results"]))
    by_contest: dict[str, list[Any]] = {name: [] for name in order}
    for result in (*(r for r in before["results"] if r["contest"] not in names), *found["results"]):
        by_contest[result["contest"]].append(result)
    former = [
        {**told, "contests": left}
        for told in before.get("again", ())
        if (left := [name for name in told["contests"] if name not in names])
    ]
    return {
        **before,
        "results": [result for held in by_contest.values() for result in held],
        "reasons": [
            *(one for one in before["reasons"] if one["contest"] not in names),
            *found["reasons"],
        ],
        "again": [*former, {**found["machine"], "contests": names}],
    }
