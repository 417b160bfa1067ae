"""The table, line by line as figures come, and the same figures as JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bench.figure import Figure

_WIDTHS = (34, 14, 10, 14, 9, 9, 8)
_HEAD = ("scenario", "figure", "unit", "to reach", "× target", "× known", "of limit")


def head() -> str:
    """The first lines of the table."""
    line = _line(_HEAD) + "  composites/s  check"
    return f"{line}\n{'-' * len(line)}"


def row(figure: Figure, figures: Mapping[str, Figure]) -> str:
    """A line of the table; `figures` are those so far, for targets that refer to another."""
    if figure.error:
        return f"{figure.name:{_WIDTHS[0]}}  WRONG: {figure.error}"
    target = figure.target(figures)
    limit = figure.details.get("limit")
    cells = (
        figure.name,
        _number(figure.value),
        figure.unit,
        _number(target),
        _times(figure.ratio(target)),
        _times(figure.ratio(figure.known)),
        f"{figure.value / limit:.1%}" if limit else "",
    )
    composites = _number(figure.details.get("composites/s"))
    return f"{_line(cells)}  {composites:>12}  {'right' if figure.right else 'WRONG'}"


def _line(cells: tuple[str, ...]) -> str:
    first, *rest = (
        f"{cell:<{width}}" if place == 0 else f"{cell:>{width}}"
        for place, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )
    return "  ".join([first, *rest])


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}"


def as_json(figures: Mapping[str, Figure], command: Sequence[str] = ()) -> str:
    """All figures with the machine and the command that they come from."""
    machine = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
        "command": _command(command),
        **{name: version(name) for name in ("cepheid", "numba", "numpy", "pyarrow")},
    }
    listed = [_record(figure, figures) for figure in figures.values()]
    return json.dumps({"machine": machine, "figures": listed}, indent=1, ensure_ascii=False)


def _command(words: Sequence[str]) -> list[str]:
    """The command without the place of its output, which is of no use to others."""
    place = words.index("--json") if "--json" in words else len(words)
    return [*words[:place], *words[place + 2 :]]


def _record(figure: Figure, figures: Mapping[str, Figure]) -> dict[str, object]:
    target = figure.target(figures)
    return {
        "name": figure.name,
        "value": figure.value,
        "unit": figure.unit,
        "better": "less" if figure.less else "more",
        "target": target,
        "ratio": figure.ratio(target),
        "known": figure.known,
        "right": figure.right,
        "error": figure.error or None,
        **figure.details,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()


def summary(figures: Mapping[str, Figure]) -> str:
    """How many figures there are, how many reach their target, and which are wrong."""
    ratios = {name: figure.ratio(figure.target(figures)) for name, figure in figures.items()}
    aimed = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    short = [name for name, ratio in aimed.items() if ratio < 1]
    wrong = [name for name, figure in figures.items() if not figure.right]
    lines = [f"{len(figures)} figures; {len(aimed) - len(short)} of {len(aimed)} targets reached"]
    lines += [f"below target: {', '.join(short)}"] * bool(short)
    lines += [f"WRONG: {', '.join(wrong)}"] * bool(wrong)
    return "\n".join(lines)
