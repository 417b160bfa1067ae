"""T-Rex's synthetic workloads: the default scenario of section 5.2 and the sweeps of Fig. 8 to 15.

By default 1,000 rules are sequences of two events; each event concerns exactly 1 % of the rules,
every rule and every state alike; windows between neighbours are 14 to 16 s long. The rules that
share their first event do not share their second one: the types of every state are dealt anew.

The paper does not give the input rate of its figures. Here it is 1,000 events a second. Where all
combinations are asked for (`each`), their number would explode with the states: there the rate
is lowered so that a terminator gives about 75 composite events of a rule however long that is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from bench.counting import any_between, chain, star, taken_last, window
from bench.scenario import Counts, Reach, Scenario
from bench.streams import SECOND, Column, Ints, Stream, uneven

RATE = 1000.0


@dataclass(frozen=True)
class Shape:
    """A workload: the rules' number and form, and the rate of events.

    At rate 0 it is such that a terminator gives about so many `ways` for each rule.
    """

    policy: str
    states: int = 2
    sequences: int = 1
    rules: int = 1000
    triggered: int = 10
    seconds: float = 15.0
    consuming: bool = False
    rate: float = RATE
    ways: float = 75.0

    @property
    def places(self) -> int:
        """How many events a match has: a chain of states, or branches and their terminator."""
        return self.states if self.sequences == 1 else self.sequences + 1

    @property
    def groups(self) -> int:
        """How many types each place has; a type concerns as many rules as an event triggers."""
        return self.rules // self.triggered

    @property
    def events_per_second(self) -> float:
        """The rate, or one at which candidates multiply to the ways."""
        if self.rate:
            return self.rate
        candidates = float(self.ways ** (1 / (self.places - 1)))
        return candidates * self.places * self.groups / self.seconds

    @cached_property
    def types(self) -> Ints:
        """The number of the type at every place (line) of every rule (column)."""
        random = np.random.default_rng(3)
        dealt = [random.permutation(self.rules) for _ in range(self.places)]
        return np.array(dealt, np.int64) // self.triggered

    @cached_property
    def milliseconds(self) -> Ints:
        """The window before every place but the first (line) of every rule (column)."""
        low, high = int(self.seconds * 1000 * 14 / 15), int(self.seconds * 1000 * 16 / 15)
        shape = (self.places - 1, self.rules)
        return np.random.default_rng(4).integers(low, high, shape, endpoint=True)


def text(shape: Shape) -> str:
    """The rules."""
    return "\n".join(_rule(shape, number) for number in range(shape.rules))


def _rule(shape: Shape, number: int) -> str:
    names = [f"E{place}_{kind}" for place, kind in enumerate(shape.types[:, number])]
    waits = shape.milliseconds[:, number]
    later = names[1:] if shape.sequences == 1 else [names[-1]] * (shape.places - 1)
    nodes = [
        f"and {shape.policy} {name}() within {wait} ms from {after}"
        for name, wait, after in zip(names, waits, later, strict=False)
    ]
    return f"""
        Rule S{number}
        define C{number // shape.triggered}(value: int)
        from {names[-1]}() {" ".join(reversed(nodes))}
        where value = {names[0]}.value
        {"consuming " + names[0] if shape.consuming else ""}"""


def stream(shape: Shape, count: int) -> Stream:
    """Events of all types, each as likely as any other."""
    random = np.random.default_rng(5)
    names = [f"E{place}_{kind}" for place in range(shape.places) for kind in range(shape.groups)]
    kinds = random.integers(0, len(names), count)
    times = uneven(random, count, shape.events_per_second)
    return Stream(tuple(names), kinds, times, {"value": Column(random.integers(1, 101, count))})


def expected(shape: Shape, events: Stream) -> Counts:
    """Composite events of every rule, counted by binary search in the times of its types."""
    times = [events.times[rows] for rows in events.rows_by_kind()]
    places = np.arange(shape.places) * shape.groups
    return {
        f"S{number}": _count(shape, number, [times[k] for k in places + shape.types[:, number]])
        for number in range(shape.rules)
    }


def _count(shape: Shape, number: int, times: list[Ints]) -> int:
    lengths = [int(wait) * 1000 for wait in shape.milliseconds[:, number]]
    if shape.consuming and shape.policy == "last":
        return taken_last(times[0], times[1], lengths[0])
    if shape.consuming:
        used = any_between(times[1], times[0], times[0] + lengths[0])
        return int(np.count_nonzero(used))
    if shape.sequences == 1:
        return chain(times, lengths, shape.policy)
    return star(times[-1], times[:-1], lengths, shape.policy)


@dataclass(frozen=True)
class Rain:
    """Fig. 14: fires of a type unless it rained in the second before, by thresholds."""

    share: float
    types: int = 10
    thresholds: int = 100
    rate: float = 20.0


def rain_text(rain: Rain) -> str:
    """The rules of section 5.2.7; the paper calls them R3, their form is that of R4."""
    return "\n".join(
        f"""
        Rule N{t}_{n}
        define Fire{t}(area: string, measured: double)
        from Temp{t}(area=$a and value>{n}) and not Rain{t}(area=$a) within 1 s from Temp{t}
        where area=Temp{t}.area and measured=Temp{t}.value"""
        for t in range(rain.types)
        for n in range(1, rain.thresholds + 1)
    )


def rain_stream(rain: Rain, count: int) -> Stream:
    """Temp and Rain events of all types, a share of them Rain."""
    random = np.random.default_rng(6)
    wet = random.random(count) < rain.share
    names = tuple(f"{name}{t}" for name in ("Temp", "Rain") for t in range(rain.types))
    kinds = random.integers(0, rain.types, count) + wet * rain.types
    values = random.integers(1, rain.thresholds + 1, count)
    columns = {
        "area": Column(np.zeros(count, np.int64), ("A1",)),
        "value": Column(values, present=~wet),
    }
    return Stream(names, kinds, uneven(random, count, rain.rate), columns)


def rain_expected(rain: Rain, events: Stream) -> int:
    """A dry reading of v is above v - 1 thresholds."""
    rows, values, total = events.rows_by_kind(), events.columns["value"].values, 0
    for t in range(rain.types):
        temps, rains = rows[t], events.times[rows[rain.types + t]]
        begins, ends = window(rains, events.times[temps], SECOND)
        total += int((values[temps] - 1)[begins == ends].sum())
    return total


def _scenario(
    name: str,
    shape: Shape,
    *,
    reach: Reach | None = None,
    known: float | None = None,
    sweep: bool = True,
) -> Scenario:
    return Scenario(
        f"sequences/{name}/{shape.policy}",
        "tesla",
        partial(text, shape),
        partial(stream, shape),
        partial(expected, shape),
        60_000 if shape.policy == "each" and not shape.consuming else 500_000,
        reach,
        1e6 / known if known else None,
        sweep,
    )


def _shapes(base: Shape) -> list[Scenario]:
    """All sweeps of one policy around a default scenario."""
    policy, tenth = base.policy, base.rules // 10
    usual = f"sequences/default/{policy}"
    paper = {"last": (70.0, 90.0), "each": (200.0, 800.0), "first": (0.0, 0.0)}[policy]
    lowered = replace(base, rate=0.0) if policy == "each" else base
    found = [
        _scenario(
            "default",
            base,
            reach=Reach(rate=500_000) if policy == "last" else None,
            known=paper[0],
            sweep=policy == "first",
        )
    ]
    for states in (3, 4, 5):
        shape = replace(lowered, states=states)
        found.append(_scenario(f"states {states}", shape, known=paper[1] if states == 5 else None))
    if policy == "first":
        return found  # the paper leaves first out of all figures but 8
    for count in (2, 3, 4, 5):
        shape = replace(lowered, sequences=count)
        slow = 100.0 if count == 5 and policy == "last" else None
        found.append(_scenario(f"sequences {count}", shape, known=slow))
    for rules in (2, 5, 10):
        reach = Reach(share=0.8, of=usual) if policy == "last" else None
        shape = replace(base, rules=rules * base.rules)
        found.append(_scenario(f"rules {rules * base.rules}", shape, reach=reach, sweep=rules < 10))
    for count in sorted({max(1, tenth * share // 100) for share in (1, 2, 5, 20, 50, 100)}):
        found.append(_scenario(f"triggered {count}", replace(lowered, triggered=count)))
    for seconds in (5, 10, 20, 25):
        found.append(_scenario(f"window {seconds} s", replace(base, seconds=float(seconds))))
    consuming = replace(base, consuming=True)
    found.append(_scenario("consuming", consuming, reach=Reach(share=0.5, of=usual), sweep=False))
    return found


def scenarios(tiny: bool = False) -> list[Scenario]:
    """The default scenario and its sweeps, or the same with few rules and little in a window."""
    found = []
    for policy in ("last", "each", "first"):
        base = Shape(policy)
        if tiny:
            base = replace(base, rules=20, triggered=4, rate=1.0, ways=4.0)
        found += _shapes(base)
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        rain = Rain(share, types=2, thresholds=4, rate=4.0) if tiny else Rain(share)
        found.append(
            Scenario(
                f"sequences/negation/{share:.0%}",
                "tesla",
                partial(rain_text, rain),
                partial(rain_stream, rain),
                partial(rain_expected, rain),
                400_000,
                sweep=share != 0.5,
            )
        )
    return found
