"""LAIPE's rules 4-1 and 4-2 (section 7 of its paper): 20 equal rules over runs of readings.

All events have one type and one source, values are uniform in 1 to 100. A reading counts if its
value is above the rule's constant Selectivity, 10 to 90. Rule 4-1 gathers readings for 0.1 s,
rule 4-2 gathers 10 of them, in Fig. 8 also 100. Events come at 1,000 a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from bench.scenario import Counts, Reach, Scenario
from bench.streams import SECOND, Column, Ints, Stream, uneven

RULES = 20
RATE = 1000.0
COUNTS = (200_000, 400_000, 600_000, 800_000, 1_000_000)
"""Numbers of events in Fig. 6 and 7, of which the paper's own are not known."""


def text(window: str, selectivity: int) -> str:
    """The rules, which differ in their names only."""
    rules = [
        f"""
        Rule 4-{number}
        Define CPU_Usage_High (Usage: Integer)
        From CPU_Usage
        Where CPU_Usage.value>Selectivity {window}"""
        for number in range(RULES)
    ]
    return f"Constant Selectivity = {selectivity}\n" + "\n".join(rules)


def stream(count: int) -> Stream:
    """Readings of one source."""
    random = np.random.default_rng(8)
    columns = {
        "source": Column(np.zeros(count, np.int64), ("S001",)),
        "value": Column(random.integers(1, 101, count)),
    }
    return Stream(("CPU_Usage",), np.zeros(count, np.int64), uneven(random, count, RATE), columns)


def _selected(selectivity: int, events: Stream) -> Ints:
    return events.times[events.columns["value"].values > selectivity]


def _each_rule(count: int) -> Counts:
    return {f"4-{number}": count for number in range(RULES)}


def by_time(selectivity: int, length: int, events: Stream) -> Counts:
    """A run ends with the first reading at least `length` after its first, and the next follows."""
    times = _selected(selectivity, events)
    ends, place, count = np.searchsorted(times, times + length, "left"), 0, 0
    while place < len(times) and ends[place] < len(times):
        place, count = int(ends[place]) + 1, count + 1
    return _each_rule(count)


def by_number(selectivity: int, size: int, events: Stream) -> Counts:
    """As many runs as full batches."""
    return _each_rule(len(_selected(selectivity, events)) // size)


def _scenario(
    name: str, selectivity: int, window: str, count: Callable[[Stream], Counts]
) -> Scenario:
    return Scenario(
        f"laipl/{name}/selectivity {selectivity}",
        "laipl",
        partial(text, window, selectivity),
        stream,
        count,
        1_000_000,
        Reach(rate=5e6),
        sweep=selectivity not in (10, 50, 90) or "of 100" in name,
    )


def scenarios(tiny: bool = False) -> list[Scenario]:
    """Both rules at all selectivities; small runs are right for tests too, as rules are few."""
    found = []
    for selectivity in range(10, 100, 10):
        time = partial(by_time, selectivity, SECOND // 10)
        found.append(_scenario("4-1", selectivity, "Within(0.1 sec)", time))
        for size in (10, 100):
            name = "4-2" if size == 10 else "4-2 of 100"
            number = partial(by_number, selectivity, 5 if tiny else size)
            window = f"Batch({5 if tiny else size})"
            found.append(_scenario(name, selectivity, window, number))
    return [*found, *_more(found)]


def _more(found: list[Scenario]) -> list[Scenario]:
    """Fig. 6 and 7: both rules at one selectivity, with more and more events."""
    usual = {one.name: one for one in found}
    return [
        replace(
            usual[f"laipl/{rule}/selectivity 50"],
            name=f"laipl/{rule}/events {count}",
            events=count,
            reach=None,
            sweep=True,
        )
        for rule in ("4-1", "4-2")
        for count in COUNTS
    ]
