"""Figures: what a measurement gives, and what it is measured against."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from bench.scenario import Reach

RATE = "events/s"


@dataclass(frozen=True)
class Options:
    """How to measure."""

    events: int | None = None
    scale: float = 1.0
    batch: int = 32_768
    repeat: int = 3
    cpu: bool = False
    shared: bool = False

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds: of the wall, or of computing, where others use the machine at the same time."""
        return time.process_time if self.cpu else time.perf_counter

    def count(self, usual: int) -> int:
        """How many events to measure with, where a scenario usually has so many."""
        return max(1, self.events or int(usual * self.scale))


@dataclass(frozen=True)
class Figure:
    """One measurement.

    With `less`, a smaller value is a better one. `right` tells whether what came out is what has
    to come out; `error` what kept it from being measured at all. `details` say more, by name.
    """

    name: str
    value: float
    unit: str = RATE
    reach: Reach | None = None
    known: float | None = None
    less: bool = False
    right: bool = True
    error: str = ""
    details: Mapping[str, float] = field(default_factory=dict)

    def target(self, figures: Mapping[str, Figure]) -> float | None:
        """The value to reach, given the figures so far."""
        if self.reach is None:
            return None
        if self.reach.of:
            other = figures.get(self.reach.of)
            return self.reach.share * other.value if other and not other.error else None
        return self.reach.rate

    def ratio(self, target: float | None) -> float | None:
        """How far it is to a value: 1 and more means reached."""
        if not target or not self.value:
            return None
        return target / self.value if self.less else self.value / target


@dataclass(frozen=True)
class Task:
    """Something to measure. A `sweep` is for the full run, what is `long` for the long one."""

    name: str
    run: Callable[[Options], Iterable[Figure]]
    sweep: bool = False
    long: bool = False
