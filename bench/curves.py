"""What a plot shows: panels with curves, and levels that a paper states; no drawing here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.recorded import Record, Results

Point = tuple[float, float]
Give = Callable[[Record], float]

OWN, PEER, PAPER = "own", "peer", "paper"
"""Whose a curve is: Cepheid's, another engine's measured here, or the paper's own."""


@dataclass(frozen=True)
class Curve:
    """Points in order, and whose they are.

    Curves whose labels are alike up to the first comma belong together.
    """

    label: str
    points: tuple[Point, ...]
    whose: str = OWN

    @property
    def group(self) -> str:
        """What it shares with others."""
        return self.label.partition(", ")[0]


@dataclass(frozen=True)
class Level:
    """A value that holds for all of a panel."""

    label: str
    value: float
    whose: str = PAPER


@dataclass(frozen=True)
class Panel:
    """One pair of axes; what is empty is left out."""

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...] = ()
    x_log: bool = False
    y_log: bool = False
    ticks: tuple[str, ...] = ()

    @property
    def drawn(self) -> tuple[Curve, ...]:
        """The curves that have points."""
        return tuple(curve for curve in self.curves if curve.points)


@dataclass(frozen=True)
class Plot:
    """A figure of a paper, measured again: `said` is what the paper says about its own."""

    name: str
    title: str
    said: str
    panels: tuple[Panel, ...]
    columns: int = 2

    @property
    def drawn(self) -> tuple[Panel, ...]:
        """The panels that have something to show."""
        return tuple(panel for panel in self.panels if panel.drawn)


def value(record: Record) -> float:
    """The figure itself."""
    return float(record["value"])


def detail(name: str) -> Give:
    """A detail of a figure."""
    return lambda record: float(record[name])


def microseconds(record: Record) -> float:
    """Time of one event, from events per second."""
    return 1e6 / float(record["value"])


def along(results: Results, places: Iterable[tuple[float, str]], give: Give) -> tuple[Point, ...]:
    """Points of figures by name, at given places; those that were not measured are left out."""
    figures = results.figures
    return tuple((x, give(figures[name])) for x, name in sorted(places) if name in figures)


def under(results: Results, prefix: str, place: str, give: Give) -> tuple[Point, ...]:
    """Points of all figures whose names begin so, at the place that a detail tells."""
    found = [f for name, f in results.figures.items() if name.startswith(prefix) and place in f]
    return tuple(sorted((float(figure[place]), give(figure)) for figure in found))


def relative(points: Sequence[Point], to: float) -> tuple[Point, ...]:
    """Values as a share of the one at a place."""
    base = dict(points).get(to)
    return tuple((x, y / base) for x, y in points) if base else ()


PEERS = {"esper": "Esper", "flink": "Flink CEP", "flink-sql": "Flink SQL", "siddhi": "Siddhi",
         "duckdb": "DuckDB (a join)"}  # fmt: skip
"""Other engines as they are called in plots."""


def peer_levels(results: Results, contest: str, give: Give) -> tuple[Level, ...]:
    """What other engines reach in a contest, as levels."""
    peers = results.peers(contest)
    return tuple(
        Level(f"{PEERS[name]}, measured here", give(peers[name]), PEER)
        for name in PEERS
        if name in peers
    )


def peer_curves(
    results: Results, places: Sequence[tuple[float, str]], give: Give
) -> tuple[Curve, ...]:
    """What other engines reach in several contests, as curves."""
    found: dict[str, list[Point]] = {}
    for x, contest in places:
        for name, result in results.peers(contest).items():
            found.setdefault(name, []).append((x, give(result)))
    return tuple(Curve(PEERS[n], tuple(found[n]), PEER) for n in PEERS if n in found)


def composites(result: Record) -> float:
    """Composite events per second of an engine in a contest."""
    return float(result["composites"] / result["seconds"])
