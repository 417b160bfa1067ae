"""LAIPE's Fig. 6 to 8 and SASE's experiments 1 to 6 from results, beside what the papers say."""

from __future__ import annotations

from bench import laipl
from bench.curves import (
    PAPER,
    PEER,
    Curve,
    Panel,
    Plot,
    Point,
    along,
    detail,
    microseconds,
    peer_curves,
    relative,
    under,
    value,
)
from bench.curves import PEERS as NAMES
from bench.recorded import Record, Results

RATE = "events a second"
DOMAINS = (10, 100, 500, 1000, 10_000)


def _seconds(record: Record) -> float:
    return float(record["events"] / record["value"])


def _time(results: Results, number: int, rule: str, said: str) -> Plot:
    """Time over the number of events; a peer's is a line through its rate in the contest."""
    own = under(results, f"laipl/{rule}/events ", "events", _seconds)
    curves = [Curve("Cepheid", own)]
    for name, peer in results.peers(f"laipe/{rule}/50").items():
        line = tuple((float(count), count / peer["rate"]) for count in laipl.COUNTS)
        curves.append(Curve(f"{NAMES[name]}, from its rate", line, PEER))
    kind = "runs by time" if rule == "4-1" else "runs by number"
    panel = Panel(f"20 rules {rule}", "events", "time, s", tuple(curves), y_log=len(curves) > 1)
    return Plot(f"laipe-{number:02}", f"LAIPE, Fig. {number}: {kind}", said, (panel,))


def _selectivity(results: Results) -> Plot:
    def curves(give: object) -> tuple[Curve, ...]:
        found = []
        for label, name in (("batch of 10", "4-2"), ("batch of 100", "4-2 of 100")):
            places = [(float(n), f"laipl/{name}/selectivity {n}") for n in range(10, 100, 10)]
            chosen = value if give == "rate" else microseconds
            found.append(Curve(label, along(results, places, chosen)))
        return tuple(found)

    axis = "selectivity, %"
    return Plot(
        "laipe-08",
        "LAIPE, Fig. 8: selectivity",
        "A greater selectivity and a smaller batch take less time; with batches of 100, time falls "
        "fast below 40 %.",
        (
            Panel("Throughput", axis, RATE, curves("rate")),
            Panel("Time of an event", axis, "time of one event, µs", curves("time")),
        ),
    )


def _domain(results: Results) -> Plot:
    places = [(float(n), f"sase/1/domain {n}") for n in (100, 300, 1000, 3000, 10_000)]
    own = Curve("Cepheid", along(results, places, value))
    panel = Panel(
        "SEQ of 3, window 10,000", "domain of attr1", RATE, (own,), x_log=True, y_log=True
    )
    said = (
        "Active instance stacks are 18 times as fast as the basic plan at a domain of 100, and "
        "about as fast at 10,000."
    )
    return Plot("sase-1", "SASE, experiment 1 (Fig. 8): sequence construction", said, (panel,))


def _window(results: Results) -> Plot:
    places = [(10_000.0, "sase/1/domain 10000")]
    places += [(float(n), f"sase/2/window {n}") for n in (20_000, 50_000, 100_000)]
    own = Curve("Cepheid, as in the paper (more types)", along(results, places, value))
    contests = [(float(n), f"sase/5.2 window {n}") for n in (10_000, 100_000)]
    tested = _own_in(results, contests)
    curves = (own, tested, *peer_curves(results, contests, detail("rate")))
    panel = Panel("SEQ of 3, domain 10,000", "window, events", RATE, curves, x_log=True, y_log=True)
    said = (
        "The basic plan loses throughput with the window much faster than active instance stacks."
    )
    return Plot("sase-2", "SASE, experiment 2 (Fig. 9): window", said, (panel,))


def _own_in(results: Results, contests: list[tuple[float, str]]) -> Curve:
    """Cepheid beside the peers: with the equivalence test, composite events written out."""
    rates = {r["contest"]: r["rate"] for r in results.contests if r["engine"] == "cepheid"}
    points = tuple((x, float(rates[name])) for x, name in contests if name in rates)
    return Curve("Cepheid, as the peers (a test)", points)


def _tests(results: Results) -> Plot:
    curves = [
        Curve(
            f"Cepheid, attr2 of {second}",
            along(results, [(n, f"sase/3/domain {n} and {second}") for n in DOMAINS], value),
        )
        for second in (20, 5)
    ]
    contests = [(100.0, "sase/5.3 domain 100 and 20")]
    curves += peer_curves(results, contests, detail("rate"))
    panel = Panel(
        "SEQ of 3, two tests", "domain of attr1", RATE, tuple(curves), x_log=True, y_log=True
    )
    said = (
        "Testing while sequences are constructed wins up to a domain of 500; beyond that three "
        "ways are alike."
    )
    return Plot("sase-3", "SASE, experiment 3 (Fig. 10): two equivalence tests", said, (panel,))


def _predicates(results: Results) -> Plot:
    names = ("domain 100 and 20", "simple", "compared", "both", "negation")
    places = [(0.0, "sase/3/domain 100 and 20")]
    places += [(float(n), f"sase/4/{name}") for n, name in enumerate(names[1:], 1)]
    contests = [(3.0, "sase/5.4 predicates"), (4.0, "sase/5.4 negation")]
    curves = (
        Curve("Cepheid", along(results, places, value)),
        *peer_curves(results, contests, detail("rate")),
    )
    ticks = ("two tests", "simple", "compared", "both", "negation")
    panel = Panel("SEQ of 3", "predicates", RATE, curves, y_log=True, ticks=ticks)
    said = (
        "Simple predicates always help; others cost little once these are pushed down; negation "
        "costs little where there are few results."
    )
    return Plot("sase-4", "SASE, experiment 4: more predicates", said, (panel,))


def _length(results: Results) -> Plot:
    own = along(results, [(n, f"sase/5/length {n}") for n in range(2, 7)], value)
    stated: tuple[Point, ...] = ((2, 1.0), (6, 0.5))
    other: tuple[Point, ...] = ((2, 1.0), (5, 0.01))
    shares = (
        Curve("Cepheid", relative(own, 2)),
        Curve("SASE, as its paper says", stated, PAPER),
        Curve("TelegraphCQ, below this from 5 on", other, PAPER),
    )
    axis = "length of the sequence"
    left = Panel("Share of length 2", axis, "share", shares if own else (), y_log=True)
    right = Panel("Domain 100, window 10,000", axis, RATE, (Curve("Cepheid", own),), y_log=True)
    said = (
        "SASE keeps half of its throughput at length 6; TelegraphCQ falls below a hundredth from "
        "5 on."
    )
    return Plot("sase-5", "SASE, experiment 5 (Fig. 11): length", said, (left, right))


def _selectivities(results: Results) -> Plot:
    one = along(results, [(n, f"sase/6/domain {n}") for n in (10, 100, 1000, 10_000)], value)
    two = along(results, [(n, f"sase/3/domain {n} and 20") for n in DOMAINS], value)
    labels = ("one test", "two tests")
    pairs = tuple(zip(labels, (one, two), strict=True))
    shares = tuple(Curve(label, relative(points, 10_000)) for label, points in pairs)
    rates = tuple(Curve(label, points) for label, points in pairs)
    axis = "domain of attr1"
    left = Panel("Share of domain 10,000", axis, "share", shares, x_log=True, y_log=True)
    right = Panel("SEQ of 3, window 10,000", axis, RATE, rates, x_log=True, y_log=True)
    said = "SASE falls much less than TelegraphCQ as the domain shrinks, above all with two tests."
    return Plot("sase-6", "SASE, experiment 6 (Fig. 12): domain", said, (left, right))


def plots(results: Results) -> list[Plot]:
    """All experiments of both papers."""
    return [
        _time(results, 6, "4-1", "LAIPE takes about half of Esper's time."),
        _time(
            results, 7, "4-2", "LAIPE takes about two thirds of Esper's time, with batches of 10."
        ),
        _selectivity(results),
        _domain(results),
        _window(results),
        _tests(results),
        _predicates(results),
        _length(results),
        _selectivities(results),
    ]
