"""Draws plots as small SVG files; the only module that needs matplotlib.

Labels stand at the end of their curves; where they would meet, they are moved apart. Cepheid's
curves are coloured, those of other engines grey, and what a paper says is dashed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import other_figures, trex_figures
from bench.curves import OWN, PAPER, Curve, Panel, Plot
from bench.recorded import Results

FOLDER = Path(__file__).parent.parent / "docs" / "images" / "bench"
COLOURS = ("#0b6e99", "#c2571a", "#3f7d20", "#7a4a9e", "#a3214b", "#6b6b00")
GREYS = ("#555555", "#777777", "#999999", "#aaaaaa")
LINES: tuple[dict[str, Any], ...] = (
    {"linestyle": "-", "linewidth": 1.8},
    {"linestyle": "-.", "linewidth": 1.3},
    {"linestyle": ":", "linewidth": 1.1},
)
INK = "#333333"
WIDTH, HEIGHT = 5.4, 3.4
"""Inches of a panel, with the room for its labels."""
ROOM = 0.062
"""The least distance of two labels, as a share of the height."""

SETTINGS: Any = {
    "svg.fonttype": "none",  # text stays text: small files, and it can be searched
    "svg.hashsalt": "cepheid",  # the same figures give the same file
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.axisbelow": True,
}


def plots(results: Results) -> list[Plot]:
    """All figures of the papers, in the order of the document."""
    return [*trex_figures.plots(results), *other_figures.plots(results)]


def draw(plot: Plot, folder: Path) -> Path | None:
    """Write a plot into a folder; nothing if nothing of it was measured."""
    import matplotlib as mpl

    if not plot.drawn:
        return None
    mpl.use("Agg")
    from matplotlib import pyplot

    with mpl.rc_context(SETTINGS):
        columns = min(plot.columns, len(plot.drawn))
        rows = -(-len(plot.drawn) // columns)
        size = (WIDTH * columns, HEIGHT * rows + 0.4)
        figure, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False)
        for panel, place in zip(plot.drawn, axes.flat, strict=False):
            _panel(place, panel)
        figure.suptitle(plot.title, x=0.02, ha="left", fontsize=11, fontweight="bold")
        figure.tight_layout()
        path = folder / f"{plot.name}.svg"
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
    return path


def _panel(axes: Any, panel: Panel) -> None:  # noqa: ANN401 (axes of matplotlib)
    axes.set_title(panel.title, fontsize=9, loc="left", color=INK)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    _scales(axes, panel)
    styles = _styles(panel.drawn)
    for curve, style in zip(panel.drawn, styles, strict=True):
        axes.plot(*zip(*curve.points, strict=True), **style)
    levels = [level for level in panel.levels if level.value > 0]
    kinds = [_level_style(level.whose, place) for place, level in enumerate(levels)]
    for level, style in zip(levels, kinds, strict=True):
        axes.axhline(level.value, **style)
    ends = [
        (c.label, c.points[-1][1], s["color"]) for c, s in zip(panel.drawn, styles, strict=True)
    ]
    ends += [(n.label, n.value, s["color"]) for n, s in zip(levels, kinds, strict=True)]
    _labels(axes, panel, ends)


def _scales(axes: Any, panel: Panel) -> None:  # noqa: ANN401
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_xscale("log" if panel.x_log else "linear")
    axes.set_yscale("log" if panel.y_log else "linear")
    written = FuncFormatter(lambda number, _: short(number))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(written)
        axis.set_minor_locator(NullLocator())
    places = [point for curve in panel.drawn for point in curve.points]
    for axis, log, side in ((axes.xaxis, panel.x_log, 0), (axes.yaxis, panel.y_log, 1)):
        if log:
            axis.set_major_locator(LogLocator(subs=_subs([point[side] for point in places])))
    if panel.ticks:
        axes.set_xticks(range(len(panel.ticks)), panel.ticks)
    elif not panel.x_log:
        axes.xaxis.get_major_locator().set_params(integer=True)


def _subs(values: Sequence[float]) -> tuple[float, ...]:
    """Where an axis of powers has ticks: also within a power of ten, where there are few."""
    return (1.0,) if max(values) > 100 * min(values) else (1.0, 2.0, 5.0)


def short(number: float) -> str:
    """A number as it is read on an axis.

    >>> short(2_000_000), short(1500), short(0.25)
    ('2 M', '1.5 k', '0.25')
    """
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(number) >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"


def _styles(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """A colour for each group of Cepheid's curves, a line for each member; greys for the others."""
    groups = list(dict.fromkeys(curve.group for curve in curves if curve.whose == OWN))
    found: list[dict[str, Any]] = []
    for place, curve in enumerate(curves):
        if curve.whose == OWN:
            member = sum(c.group == curve.group and c.whose == OWN for c in curves[:place])
            colour = COLOURS[groups.index(curve.group) % len(COLOURS)]
            style = LINES[member % len(LINES)] | {"color": colour, "marker": "o"}
        else:
            grey = GREYS[sum(c.whose != OWN for c in curves[:place]) % len(GREYS)]
            dash = "--" if curve.whose == PAPER else "-"
            style = {"color": grey, "linewidth": 1.3, "linestyle": dash, "marker": "s"}
        found.append(style | {"markersize": 3.5})
    return found


def _level_style(whose: str, place: int) -> dict[str, Any]:
    if whose == OWN:
        return {"color": COLOURS[1], "linewidth": 1.4}
    dash = "--" if whose == PAPER else "-"
    return {"color": GREYS[place % len(GREYS)], "linewidth": 1.1, "linestyle": dash}


def _labels(axes: Any, panel: Panel, ends: Sequence[tuple[str, float, str]]) -> None:  # noqa: ANN401
    """Labels to the right of the axes, each at the height of its end, none over another."""
    axes.margins(x=0.03)
    if not panel.y_log:
        axes.set_ylim(0.0, 1.06 * max(axes.dataLim.y1, 1e-9))
    axes.figure.canvas.draw()
    heights = [_height(axes, at) for _, at, _ in ends]
    for (label, _, colour), height in zip(ends, spread(heights, ROOM), strict=True):
        axes.text(
            1.015, height, label, transform=axes.transAxes, color=colour, fontsize=8, va="center"
        )


def _height(axes: Any, value: float) -> float:  # noqa: ANN401
    """A value's place on the axis, 0 at the bottom and 1 at the top."""
    shown = axes.transData.transform((1.0, value))
    return float(min(1.0, max(0.0, axes.transAxes.inverted().transform(shown)[1])))


def spread(heights: Sequence[float], room: float) -> list[float]:
    """Heights moved as little upwards or downwards as keeps them apart, in the same order.

    >>> spread([0.5, 0.5, 0.1], 0.1)
    [0.45, 0.55, 0.1]
    """
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    groups: list[list[int]] = []
    for place in order:
        groups.append([place])
        while (
            len(groups) > 1
            and _middle(groups[-1], heights) - _middle(groups[-2], heights)
            < room * (len(groups[-1]) + len(groups[-2])) / 2
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    found = [0.0] * len(heights)
    for group in groups:
        lowest = _middle(group, heights) - room * (len(group) - 1) / 2
        lowest = min(lowest, 1.0 - room * (len(group) - 1))
        for step, place in enumerate(group):
            found[place] = round(lowest + step * room, 6)
    return found


def _middle(group: Sequence[int], heights: Sequence[float]) -> float:
    return sum(heights[place] for place in group) / len(group)


def draw_all(results: Results, folder: Path = FOLDER) -> list[Path]:
    """Write every plot that has something to show, and remove those that have not."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [path for plot in plots(results) if (path := draw(plot, folder))]
    for old in set(folder.glob("*.svg")) - set(written):
        old.unlink()
    return written
