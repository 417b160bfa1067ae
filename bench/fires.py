"""T-Rex's comparison with other systems: rules R1, R2, R5 of section 5.1, R3 and R8, and filters.

A thousand rules are 10 event types × 100 thresholds. Events come one a second and windows are
1,000 s long, so that 1,000 events are in a window. Values are uniform in 1 to 100, all events have
one area. A share of the events are Smoke, the terminator; the others are Temp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench.counting import any_between, largest, sums, taken_last, window
from bench.scenario import Counts, Reach, Scenario
from bench.streams import SECOND, Column, Ints, Stream, every

SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Size:
    """How many rules there are, and how long their windows are."""

    types: int = 10
    thresholds: int = 100
    window: int = 1000
    filters: int = 1000


TINY = Size(types=2, thresholds=5, window=12, filters=20)


@dataclass(frozen=True)
class Kind:
    """A rule of the paper: what it looks back for, its measured value, what it uses up."""

    pattern: str
    value: str = "Temp{t}.value"
    consuming: str = ""
    attributes: bool = True


KINDS = {
    "R1": Kind("each Temp{t}(area=$a and value>{n}) within {w} s from Smoke{t}"),
    "R1 matches": Kind(
        "each Temp{t}(area=$a and value>{n}) within {w} s from Smoke{t}", attributes=False
    ),
    "R2": Kind("last Temp{t}(area=$a and value>{n}) within {w} s from Smoke{t}"),
    "R5": Kind("{low} < $t = Avg(Temp{t}(area=$a).value within {w} s from Smoke{t})", "$t"),
    "R3": Kind(
        "each Temp{t}(area=$a and value>{n}) within {w} s from Smoke{t}", consuming="Temp{t}"
    ),
    "R8": Kind(
        "last Temp{t}(area=$a and value>{n}) within {w} s from Smoke{t}", consuming="Temp{t}"
    ),
}

T_REX = {"R1": (1070, 450, 1100), "R2": (5900, 5600, 2700), "R5": (2700, 1800, 1900)}
"""Events per second of the C++ T-Rex, one thread, at 10, 50 and 90 % terminators."""
T_REX_FILTERS = 11_600

EVENTS = {"R1": 40_000, "R1 matches": 40_000, "R2": 400_000, "R5": 400_000}
EVENTS |= {"R3": 40_000, "R8": 100_000}


def text(kind: Kind, size: Size) -> str:
    """The rules: every threshold for every type."""
    return "\n".join(
        _rule(kind, size, t, n) for t in range(size.types) for n in range(1, size.thresholds + 1)
    )


def _rule(kind: Kind, size: Size, t: int, n: int) -> str:
    pattern = kind.pattern.format(t=t, n=n, w=size.window, low=n - 200)
    value = kind.value.format(t=t)
    consuming = f"consuming {kind.consuming.format(t=t)}" if kind.consuming else ""
    given = f"where area=Smoke{t}.area and measured={value}" if kind.attributes else ""
    declared = "area: string, measured: double" if kind.attributes else ""
    return f"""
        Rule R{t}_{n}
        define Fire{t}({declared})
        from Smoke{t}(area=$a) and {pattern}
        {given}
        {consuming}"""


def stream(share: float, size: Size, count: int) -> Stream:
    """Temp and Smoke events of all types, a share of them Smoke."""
    random = np.random.default_rng(1)
    smoke = random.random(count) < share
    names = [f"{name}{t}" for name in ("Temp", "Smoke") for t in range(size.types)]
    values = random.integers(1, size.thresholds + 1, count)
    columns = {
        "area": Column(np.zeros(count, np.int64), ("A1",)),
        "value": Column(values, present=~smoke),
    }
    kinds = random.integers(0, size.types, count) + smoke * size.types
    return Stream(tuple(names), kinds, every(count, SECOND), columns)


def by_type(events: Stream, size: Size) -> Iterator[tuple[int, Ints, Ints, Ints]]:
    """For every type: its number, the times of Temp with their values, the times of Smoke."""
    rows, values = events.rows_by_kind(), events.columns["value"].values
    for t in range(size.types):
        temp, smoke = rows[t], rows[size.types + t]
        yield t, events.times[temp], values[temp], events.times[smoke]


def each(size: Size, events: Stream) -> int:
    """R1: a reading of v is above v - 1 thresholds, and every Smoke takes all of its window."""
    total = 0
    for _, times, values, smokes in by_type(events, size):
        begins, ends = window(times, smokes, size.window * SECOND)
        above = sums(values - 1)
        total += int((above[ends] - above[begins]).sum())
    return total


def last(size: Size, events: Stream) -> int:
    """R2: a Smoke gives one for each threshold that some reading of its window is above."""
    total = 0
    for _, times, values, smokes in by_type(events, size):
        begins, ends = window(times, smokes, size.window * SECOND)
        most = largest(values, begins, ends)
        total += int((most - 1)[ends > begins].sum())
    return total


def average(size: Size, events: Stream) -> Counts:
    """R5: every Smoke with a reading in its window gives one for each threshold."""
    counts: dict[str, int] = {}
    for t, times, _, smokes in by_type(events, size):
        begins, ends = window(times, smokes, size.window * SECOND)
        found = int(np.count_nonzero(ends > begins))
        counts |= {f"R{t}_{n}": found for n in range(1, size.thresholds + 1)}
    return counts


def each_consuming(size: Size, events: Stream) -> int:
    """R3: a reading is used once, by the first Smoke after it, if that comes in time."""
    total = 0
    for _, times, values, smokes in by_type(events, size):
        used = any_between(smokes, times, times + size.window * SECOND)
        total += int((values - 1)[used].sum())
    return total


def last_consuming(size: Size, events: Stream) -> Counts:
    """R8: for every threshold, readings above it and Smokes nest like brackets."""
    return {
        f"R{t}_{n}": taken_last(times[values > n], smokes, size.window * SECOND)
        for t, times, values, smokes in by_type(events, size)
        for n in range(1, size.thresholds + 1)
    }


COUNTS: dict[str, Callable[[Size, Stream], int | Counts]] = {
    "R1": each,
    "R1 matches": each,
    "R2": last,
    "R5": average,
    "R3": each_consuming,
    "R8": last_consuming,
}


def _reach(name: str, place: int) -> Reach:
    percent = f"{SHARES[place]:.0%}"
    if name in ("R3", "R8"):
        return Reach(share=0.5, of=f"fires/{'R1' if name == 'R3' else 'R2'}/{percent}")
    times = {"R1": 50}.get(name, 100)
    return Reach(rate=times * T_REX[name[:2]][place])


def _fires(name: str, place: int, size: Size) -> Scenario:
    share, known = SHARES[place], T_REX.get(name[:2])
    return Scenario(
        f"fires/{name}/{share:.0%}",
        "tesla",
        partial(text, KINDS[name], size),
        partial(stream, share, size),
        partial(COUNTS[name], size),
        EVENTS[name],
        _reach(name, place),
        known[place] if known else None,
        sweep=name in ("R3", "R8") and place != 1,
    )


def filter_text(pattern: str, size: Size) -> str:
    """Filters of which one matches each event."""
    return "\n".join(
        f"""
        Rule F{n}
        define Passed(value: int)
        from Reading({pattern.format(n=n, low=10 * n, high=10 * n + 10)})
        where value=Reading.value"""
        for n in range(size.filters)
    )


def filter_stream(step: int, size: Size, count: int) -> Stream:
    """Readings, uniform over all that filters look for."""
    random = np.random.default_rng(2)
    values = random.integers(0, step * size.filters, count)
    kinds = np.zeros(count, np.int64)
    return Stream(("Reading",), kinds, every(count, SECOND), {"value": Column(values)})


def filtered(step: int, size: Size, events: Stream) -> Counts:
    """Each event passes one filter: the one that its value belongs to."""
    values = events.columns["value"].values // step
    counts = np.bincount(values, minlength=size.filters)
    return {f"F{n}": int(count) for n, count in enumerate(counts)}


def _filters(name: str, pattern: str, step: int, size: Size) -> Scenario:
    return Scenario(
        f"filters/{name}",
        "tesla",
        partial(filter_text, pattern, size),
        partial(filter_stream, step, size),
        partial(filtered, step, size),
        2_000_000,
        Reach(rate=3e6),
        T_REX_FILTERS,
    )


def scenarios(tiny: bool = False) -> list[Scenario]:
    """All of them, or the same with few rules and short windows."""
    size = TINY if tiny else Size()
    fires = [_fires(name, place, size) for name in KINDS for place in range(len(SHARES))]
    equal = _filters("equal", "value = {n}", 1, size)
    between = _filters("between", "value >= {low} and value < {high}", 10, size)
    return [*fires, equal, between]
