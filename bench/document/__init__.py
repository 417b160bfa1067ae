"""Writes docs/benchmarks.md: a page written by hand, into which tables and plots are put.

The page is `benchmarks.md` in this folder. A line `{{name}}` in it stands for what a function here
makes of the results of the latest runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from bench.document import losses, tables
from bench.recorded import Results

PAGE = Path(__file__).parent / "benchmarks.md"
OUT = Path(__file__).parent.parent.parent / "docs" / "benchmarks.md"
PLACE = re.compile(r"^\{\{(\w+)\}\}$", re.MULTILINE)

SECTIONS: dict[str, Callable[[Results], str]] = {
    "machine": tables.machine,
    "papers": tables.papers,
    "figures": tables.figures,
    "queue": tables.queue,
    "time": tables.time,
    "spark": tables.spark,
    "peers": tables.peers,
    "spent": tables.spent,
    "losses": losses.section,
}


def written(results: Results, page: str) -> str:
    """The page with everything in its place."""

    def put(found: re.Match[str]) -> str:
        make = SECTIONS.get(found[1])
        if make is None:
            known = ", ".join(SECTIONS)
            raise ValueError(f"{{{{{found[1]}}}}} must be one of {known}")
        return make(results)

    return PLACE.sub(put, page)


def write(results: Results, out: Path = OUT) -> Path:
    """Write the document."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(written(results, PAGE.read_text("utf-8")), "utf-8")
    return out
