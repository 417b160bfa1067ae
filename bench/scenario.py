"""What is measured: rules as text, a stream, the count that must come out, a figure to reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

import cepheid
from bench.streams import Stream
from cepheid.rules import Rules

Counts = Mapping[str, int]
"""Composite events by the name of their rule; rules without any may be left out."""

TEXT_LIMIT = 100_000_000
"""Thousands of rules are longer than a text that a person writes."""


@dataclass(frozen=True)
class Reach:
    """A figure to reach: events per second, as a number or as a share of another scenario's."""

    rate: float = 0.0
    share: float = 0.0
    of: str = ""


@dataclass(frozen=True)
class Scenario:
    """A measurement of the kernel over columnar batches.

    `expected` counts composite events without the kernel, in all or by rule. A `sweep` belongs to
    the long run only. `patience` is how long time goes on after the last event, so that timers
    that are under way can fire. `known` is what the paper or its program reached, in events/s.
    """

    name: str
    language: str
    text: Callable[[], str]
    stream: Callable[[int], Stream]
    expected: Callable[[Stream], int | Counts]
    events: int
    reach: Reach | None = None
    known: float | None = None
    sweep: bool = False
    patience: int = 0

    def rules(self) -> Rules:
        """The rules, read and checked."""
        return cepheid.load(self.text(), language=self.language, name=self.name, limit=TEXT_LIMIT)

    def until(self, stream: Stream) -> int:
        """How far time goes."""
        return int(stream.times[-1]) + self.patience if len(stream) else self.patience


@dataclass(frozen=True)
class Load:
    """A scenario that is measured from full windows on.

    `warm` events come before those that are measured, without the ones that end a match: their
    types begin with `ending`.
    """

    scenario: Scenario
    warm: int = 0
    ending: str = ""

    def stream(self, count: int) -> tuple[Stream, int]:
        """A stream with so many events to measure, and how many come before them."""
        made = self.scenario.stream(self.warm + count)
        ends = np.array([bool(self.ending) and n.startswith(self.ending) for n in made.names])
        early = np.arange(len(made)) < self.warm
        kept = made.where(~(early & ends[made.kinds]))
        return kept, len(kept) - count


def agrees(expected: int | Counts, found: Counts) -> bool:
    """Whether composite events came out in the right number, of every rule if it is known."""
    if isinstance(expected, int):
        return sum(found.values()) == expected
    return {n: c for n, c in found.items() if c} == {n: c for n, c in expected.items() if c}
