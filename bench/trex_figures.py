"""T-Rex's Fig. 5 to 17 from results, beside what its paper says in words: its plots are not given.

The machine of the paper had six cores at 2.8 GHz; its times are those of one event in the queue's
worker. Cepheid's are on one core: as columnar batches, and event by event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench import fires, queueing
from bench.curves import (
    PAPER,
    Curve,
    Level,
    Panel,
    Plot,
    along,
    composites,
    detail,
    microseconds,
    peer_levels,
    under,
    value,
)
from bench.recorded import Results

RATE = "events offered a second"
FOUND = "composite events a second"
TIME = "time of one event, µs"
LOST = "events lost, %"


SIX = (
    "Hundreds of thousands of composite events a second on six cores, more than Esper 4.0 in all "
    "cases; Esper's throughput with R2 falls beyond 6,000 events a second."
)
SEVEN = "T-Rex loses nothing at 10 % Smoke; Esper 4.0 begins to lose at 1,000 events a second."


@dataclass(frozen=True)
class Sweep:
    """A figure over a synthetic workload: places on the axis with the scenario measured there."""

    number: int
    axis: str
    places: tuple[tuple[float, str], ...]
    said: str
    stated: tuple[Curve, ...] = ()
    policies: tuple[str, ...] = ("each", "last")
    log: bool = False
    ticks: tuple[str, ...] = ()
    title: str = ""


def _offered(results: Results, name: str, contest: str, title: str, said: Sequence[Level]) -> Panel:
    """Composite events a second over the offered rate, with what other engines reach at most."""
    own = under(results, f"queue/{name}/", "offered/s", detail("composites/s"))
    batches = f"fires/{name}" if name != "filters" else "filters/equal"
    most = along(results, [(0.0, batches)], detail("composites/s"))
    levels = [Level("Cepheid, batches", y, "own") for _, y in most]
    levels += [*peer_levels(results, contest, composites), *said]
    curve = Curve("Cepheid, one by one, queue of 100", own)
    return Panel(title, RATE, FOUND, (curve,), tuple(levels), y_log=True)


def _five(results: Results) -> Plot:
    said = (
        Level("T-Rex, as its paper says", 45_000),
        Level("Esper 4.0, as T-Rex's paper says", 35_000),
    )
    panel = _offered(results, "filters", "trex/filters", "1,000 filters", said)
    return Plot(
        "trex-05",
        "T-Rex, Fig. 5: filtering over the input rate",
        "T-Rex loses nothing up to 40,000 events a second and gives at most about 45,000 composite "
        "events; Esper 4.0 loses events from 30,000 on and stays below 35,000.",
        (panel,),
    )


def _fires(results: Results, number: int, rules: Sequence[str], said: str) -> Plot:
    panels = tuple(
        _offered(
            results,
            f"{rule}/{share:.0%}",
            f"trex/{rule}/{share:.0%}",
            f"{rule}, {share:.0%} Smoke",
            [Level("C++ T-Rex, one core like ours", _known(results, rule, place))],
        )
        for place, share in enumerate(fires.SHARES)
        for rule in rules
    )
    title = " and ".join(rules)
    name = f"trex-{number:02}"
    return Plot(
        name, f"T-Rex, Fig. {number}: {title} over the input rate", said, panels, len(rules)
    )


def _known(results: Results, rule: str, place: int) -> float:
    """Composite events a second of the C++ T-Rex, from its events a second."""
    figure = results.figures.get(f"fires/{rule}/{fires.SHARES[place]:.0%}")
    each = figure["composites"] / figure["events"] if figure else 0.0
    return float(fires.T_REX[rule][place] * each)


def _swept(results: Results, sweep: Sweep) -> Plot:
    """The time of an event and composite events a second, by policy."""
    times, found = [], []
    for policy in sweep.policies:
        named = [(x, f"sequences/{name}/{policy}") for x, name in sweep.places]
        single = [(x, f"latency/{name}") for x, name in named]
        times += [
            Curve(f"{policy}, batches", along(results, named, microseconds)),
            Curve(f"{policy}, one by one", along(results, single, value)),
            Curve(f"{policy}, 99th percentile", along(results, single, detail("p99"))),
        ]
        found += [
            Curve(f"{policy}, batches", along(results, named, detail("composites/s"))),
            Curve(f"{policy}, one by one", along(results, single, detail("composites/s"))),
        ]
    axis, ticks = sweep.axis, sweep.ticks
    stated = sweep.stated if any(curve.points for curve in times) else ()
    left = Panel("Time of an event", axis, TIME, (*times, *stated), (), sweep.log, True, ticks)
    right = Panel("Throughput", axis, FOUND, tuple(found), (), sweep.log, True, ticks)
    title = f"T-Rex, Fig. {sweep.number}: {sweep.title or axis}"
    return Plot(f"trex-{sweep.number:02}", title, sweep.said, (left, right))


def _stated(label: str, *points: tuple[float, float]) -> Curve:
    return Curve(f"T-Rex's paper, {label}", points, PAPER)


def _cores(results: Results) -> Plot:
    said = "From one core to five, time falls to a half and throughput almost doubles."
    time = Curve("each, 100 rules an event", under(results, "cores/", "cores", microseconds))
    found = under(results, "cores/", "cores", detail("composites/s"))
    first = time.points[0][1] if time.points else 0.0
    stated = Curve("the paper's ratio, from our one core", ((1, first), (5, first / 2)), PAPER)
    curves = (time, stated) if first else (time,)
    left = Panel("Time of an event", "cores", TIME, curves)
    right = Panel("Throughput", "cores", FOUND, (Curve("each, 100 rules an event", found),))
    return Plot("trex-13", "T-Rex, Fig. 13: cores", said, (left, right))


def _negation(results: Results) -> Plot:
    shares = [
        (100 * share, f"sequences/negation/{share:.0%}") for share in (0.1, 0.3, 0.5, 0.7, 0.9)
    ]
    single = [(x, f"latency/{name}") for x, name in shares]
    axis = "share of Rain, %"
    times = (
        Curve("batches", along(results, shares, microseconds)),
        Curve("one by one", along(results, single, value)),
        Curve("one by one, 99th percentile", along(results, single, detail("p99"))),
    )
    found = (
        Curve("batches", along(results, shares, detail("composites/s"))),
        Curve("one by one", along(results, single, detail("composites/s"))),
    )
    said = "The share of Rain does not change the time; more of it leaves fewer composite events."
    left = Panel("Time of an event", axis, TIME, times, y_log=True)
    right = Panel("Throughput", axis, FOUND, found, y_log=True)
    return Plot("trex-14", "T-Rex, Fig. 14: negation", said, (left, right))


def _lost(results: Results, policy: str, kind: str, place: str, axis: str) -> Panel:
    curves = tuple(
        Curve(
            f"queue of {size:,}",
            under(results, f"queue/{policy}/{kind}/size {size}/", place, value),
        )
        for size in queueing.SIZES
    )
    return Panel(policy, axis, LOST, curves, x_log=True)


def _queues(results: Results) -> list[Plot]:
    policies = ("each", "last")
    rates = tuple(_lost(results, p, "rates", "offered/s", RATE) for p in policies)
    spikes = tuple(_lost(results, p, "spikes", "spike", "events in a spike") for p in policies)
    return [
        Plot(
            "trex-16",
            "T-Rex, Fig. 16: size of the input queue",
            "Between queues of 10 and of 10,000 the share that is lost differs by about 10 % with "
            "each and by about 3 % with last.",
            rates,
        ),
        Plot(
            "trex-17",
            "T-Rex, Fig. 17: spikes of events, 10 µs apart",
            "The size of the queue matters much, and with last less is lost.",
            spikes,
        ),
    ]


SWEEPS = {
    8: Sweep(
        8,
        "states of a sequence",
        ((2, "default"), (3, "states 3"), (4, "states 4"), (5, "states 5")),
        "With each, from about 200 µs with two states to 800 µs with five, and up to 600,000 "
        "composite events a second; with last, from 70 to less than 90 µs, and at least 12,000 "
        "events a second; first lies between them.",
        (_stated("each", (2, 200), (5, 800)), _stated("last", (2, 70), (5, 90))),
        policies=("each", "last", "first"),
    ),
    9: Sweep(
        9,
        "sequences of a rule",
        ((1, "default"), *((n, f"sequences {n}") for n in (2, 3, 4, 5))),
        "With each, time grows linearly, and about 1,000 events and a million composite events a "
        "second are reached; with last, from about 70 to 100 µs.",
        (_stated("last", (1, 70), (5, 100)),),
    ),
    10: Sweep(
        10,
        "rules, of which an event concerns ten",
        ((1000, "default"), *((n, f"rules {n}") for n in (2000, 5000, 10_000))),
        "With each, time falls slightly as rules become more; with last it grows.",
        log=True,
    ),
    11: Sweep(
        11,
        "rules that an event concerns",
        ((10, "default"), *((n, f"triggered {n}") for n in (1, 2, 5, 20, 50, 100))),
        "Twice as many rules take twice the time, with either policy.",
        log=True,
    ),
    12: Sweep(
        12,
        "window, s",
        ((15, "default"), *((n, f"window {n} s") for n in (5, 10, 20, 25))),
        "With each, time grows less than linearly; with last the window does not matter.",
    ),
    15: Sweep(
        15,
        "what is consumed",
        ((0, "default"), (1, "consuming")),
        "With each, consuming makes events cheaper, as less is kept; with last it adds work.",
        ticks=("nothing", "the first event"),
        title="consuming",
    ),
}


def plots(results: Results) -> list[Plot]:
    """All figures of section 5, in their order."""
    swept = {number: _swept(results, sweep) for number, sweep in SWEEPS.items()}
    return [
        _five(results),
        _fires(results, 6, ("R1", "R2"), SIX),
        _fires(results, 7, ("R5",), SEVEN),
        *(swept[number] for number in (8, 9, 10, 11, 12)),
        _cores(results),
        _negation(results),
        swept[15],
        *_queues(results),
    ]
