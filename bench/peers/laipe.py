"""LAIPE's rules 4-1 and 4-2 (section 7 of its paper) for every engine: 20 equal rules over runs.

A run that is gathered for a time is a row pattern in Esper (reference, chapter 8, match_recognize)
and a pattern with a loop in Flink (its page on pattern processing, "Looping Patterns", "After Match
Skip Strategy"). Esper's own batch by time begins with the clock, not with the first event, so it
would gather other runs. A run of a number of readings is Esper's `#length_batch`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bench import laipl
from bench.peers.contest import Contest, Told, numbered, slower
from bench.streams import SECOND

LENGTH = 100
"""Seconds that a run is gathered for: the paper's 0.1 s in a stream that is so much slower."""
NUMBER = 10
SELECTIVITIES = (10, 50, 90)

_CANNOT = {"flink-sql": "20 equal statements are what Flink's planner merges into one"}
_OVERLAP = "sequences that start with every event overlap; none waits for the end of the one before"


def _esper_time(selectivity: int) -> Told:
    text = (
        f"select r0, r1 from CPU_Usage(value > {selectivity}) match_recognize ("
        "measures a.row as r0, c.row as r1 pattern (a b* c) define "
        f"b as b.ts - a.ts < {1000 * LENGTH}, "
        f"c as c.ts - a.ts >= {1000 * LENGTH})"
    )
    return {"statements": numbered([text] * laipl.RULES)}


def _esper_number(selectivity: int) -> Told:
    text = f"select first(row), last(row) from CPU_Usage(value > {selectivity})"
    return {"statements": numbered([f"{text}#length_batch({NUMBER})"] * laipl.RULES)}


def _flink(selectivity: int, by: str) -> Told:
    told = {"pattern": f"run by {by}", "above": selectivity, "rules": laipl.RULES}
    return told | {"window": 1000 * LENGTH, "number": NUMBER}


def _siddhi_number(selectivity: int) -> Told:
    text = (
        f"from CPU_Usage[value > {selectivity}L]#window.lengthBatch({NUMBER}) "
        "select min(row) as r0, max(row) as r1"
    )
    return {"queries": [text] * laipl.RULES}


def _contest(name: str, selectivity: int) -> Contest:
    by_time = name == "4-1"
    engines = {
        "esper": partial(_esper_time if by_time else _esper_number, selectivity),
        "flink": partial(_flink, selectivity, "time" if by_time else "number"),
    }
    if not by_time:
        engines["siddhi"] = partial(_siddhi_number, selectivity)
    counted = (
        partial(laipl.by_time, selectivity, LENGTH * SECOND)
        if by_time
        else partial(laipl.by_number, selectivity, NUMBER)
    )
    window = f"Within({LENGTH} sec)" if by_time else f"Batch({NUMBER})"
    return Contest(
        f"laipe/{name}/{selectivity}",
        "laipl",
        partial(laipl.text, window, selectivity),
        lambda count: slower(laipl.stream(count)),
        1_000_000,
        "reading",
        engines,
        made_of="ends",
        expected=counted,
        checked=4000,
        cannot=_CANNOT | ({"siddhi": _OVERLAP} if by_time else {}),
    )


def contests() -> Iterator[Contest]:
    """Both rules at three selectivities."""
    for name in ("4-1", "4-2"):
        for selectivity in SELECTIVITIES:
            yield _contest(name, selectivity)
