"""How fast the kernel is on T-Rex's scenarios (section 5.1.2 and 5.1.3 of its paper).

1,000 rules are 10 event types × 100 thresholds; 1,000 events are in a window, values are uniform
in 1 to 100, all events have one area. Every run's number of composite events is checked against a
count that is made in another way, so that a fast wrong engine fails. Prints a table; `--json FILE`
writes the figures down.

    python bench/kernel.py [--events N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import cepheid
from cepheid.algebra import Rule
from cepheid.kernel.columns import Batch
from cepheid.kernel.trees import TreeKernel
from cepheid.kernel.values import INT, MISSING, TEXT

TYPES, THRESHOLDS, WINDOW = 10, 100, 1000
STEP = 10_000
"""Events per batch."""

PAPER = {"R1": (1070, 450, 1100), "R2": (5900, 5600, 2700), "R5": (2700, 1800, 1900)}
"""Events per second of the C++ T-Rex, one thread, at 10, 50 and 90 % terminators."""
SHARES = (0.1, 0.5, 0.9)

_TEXTS = {
    "R1": "each Temp{t}(area=$a and value>{n}) within 1000 s from Smoke{t}",
    "R2": "last Temp{t}(area=$a and value>{n}) within 1000 s from Smoke{t}",
    "R5": "{low} < $t = Avg(Temp{t}(area=$a).value within 1000 s from Smoke{t})",
}
_VALUES = {"R1": "Temp{t}.value", "R2": "Temp{t}.value", "R5": "$t"}


@dataclass(frozen=True)
class Figure:
    """One measurement."""

    scenario: str
    terminators: float
    events_per_second: float
    composites_per_second: float
    times_t_rex: float
    checked: bool


def rules(scenario: str) -> tuple[Rule, ...]:
    """The thousand rules of a scenario."""
    texts = [
        f"""
        Rule R{t}_{n}
        define Fire{t}(area: string, measured: double)
        from Smoke{t}(area=$a) and {_TEXTS[scenario].format(t=t, n=n, low=n - 200)}
        where area=Smoke{t}.area and measured={_VALUES[scenario].format(t=t)}
        """
        for t in range(TYPES)
        for n in range(1, THRESHOLDS + 1)
    ]
    return cepheid.load("\n".join(texts), language="tesla", limit=1_000_000).rules


@dataclass(frozen=True)
class Stream:
    """A random stream: which events are Smoke, their number, and the readings."""

    smoke: np.ndarray[tuple[int], np.dtype[np.bool_]]
    kind: np.ndarray[tuple[int], np.dtype[np.int64]]
    value: np.ndarray[tuple[int], np.dtype[np.int64]]

    @staticmethod
    def random(count: int, share: float, seed: int = 1) -> Stream:
        """A stream with a share of terminators."""
        random = np.random.default_rng(seed)
        return Stream(
            random.random(count) < share,
            random.integers(0, TYPES, count),
            random.integers(1, 101, count),
        )

    def batch(self, kernel: TreeKernel) -> Batch:
        """The stream as the kernel reads it; one event a second."""
        encoder, count = kernel.registry.encoder, len(self.smoke)
        temp = np.array([encoder.types.find(f"Temp{t}") for t in range(TYPES)])
        smoke = np.array([encoder.types.find(f"Smoke{t}") for t in range(TYPES)])
        times = np.arange(count, dtype=np.int64) * 1_000_000
        tags = np.zeros((len(encoder.columns), count), np.uint8)
        cells = np.zeros((len(encoder.columns), count), np.int64)
        area, value = encoder.columns.find("area"), encoder.columns.find("value")
        tags[area], cells[area] = TEXT, encoder.texts.code("A1")
        tags[value], cells[value] = np.where(self.smoke, MISSING, INT), self.value
        types = np.where(self.smoke, smoke[self.kind], temp[self.kind]).astype(np.int64)
        return Batch(np.arange(count, dtype=np.int64), types, times, times, tags, cells)

    def expected(self, scenario: str) -> int:
        """How many composite events there must be, counted without the kernel."""
        total = 0
        for kind in range(TYPES):
            mine = self.kind == kind
            at = np.flatnonzero(mine & ~self.smoke)
            readings = self.value[at]
            for smoke in np.flatnonzero(mine & self.smoke):
                seen = readings[
                    np.searchsorted(at, smoke - WINDOW + 1) : np.searchsorted(at, smoke)
                ]
                if len(seen):
                    total += _matches(scenario, seen)
        return total


def _matches(scenario: str, seen: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """What one Smoke gives: a reading v is above v - 1 of the thresholds 1 to 100."""
    if scenario == "R1":
        return int((seen - 1).sum())
    return int(seen.max() - 1) if scenario == "R2" else THRESHOLDS


def part(batch: Batch, begin: int, end: int) -> Batch:
    """Some events of a batch."""
    flat = [getattr(batch, name)[begin:end] for name in ("origins", "types", "starts", "ends")]
    wide = [np.ascontiguousarray(getattr(batch, name)[:, begin:end]) for name in ("tags", "cells")]
    return Batch._make((*flat, *wide))


def measure(scenario: str, share: float, position: int, count: int) -> Figure:
    """Run a scenario once."""
    stream = Stream.random(count, share)
    kernel = TreeKernel(rules(scenario))
    batch = stream.batch(kernel)
    parts = [part(batch, begin, begin + STEP) for begin in range(0, count, STEP)]
    begin, found = time.perf_counter(), 0
    for events in parts:
        found += sum(len(matches.rules) for matches in kernel.feed(events))
    seconds = time.perf_counter() - begin
    rate = count / seconds
    checked = found == stream.expected(scenario)
    against = rate / PAPER[scenario][position]
    return Figure(scenario, share, rate, found / seconds, against, checked)


def main() -> int:
    """Measure everything; 1 when a count is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print("compiling, or taking compiled code from the cache …", file=sys.stderr)
    measure("R1", 0.5, 1, 100)
    figures = []
    print("scenario  terminators   events/s   composites/s   × T-Rex   count")
    for scenario in PAPER:
        size = options.events // 5 if scenario == "R1" else options.events
        for position, share in enumerate(SHARES):
            figure = measure(scenario, share, position, size)
            figures.append(figure)
            print(
                f"{scenario:8}  {share:11.0%}  {figure.events_per_second:9,.0f}"
                f"  {figure.composites_per_second:13,.0f}  {figure.times_t_rex:8.0f}"
                f"   {'right' if figure.checked else 'WRONG'}"
            )
    if options.json:
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1))
    return 0 if all(figure.checked for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
