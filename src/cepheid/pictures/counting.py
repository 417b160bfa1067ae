"""Counting: how many events and matches there are in each stretch of time, track by track.

Every event and every match is counted, whatever is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheid.tables.arrow import Ints

SECOND = 1_000_000
_TENS = [step * power for power in (1, 10, 100, 1000, 10_000, 100_000) for step in (1, 2, 5)]
_SIXTIES = [step * SECOND for step in (1, 2, 5, 10, 15, 30)]
_MINUTES = [60 * step for step in _SIXTIES]
_HOURS = [step * 3600 * SECOND for step in (1, 2, 3, 6, 12)]
_DAYS = [step * 86400 * SECOND for step in (1, 2, 7, 28, 91, 365)]
STEPS = (*_TENS, *_SIXTIES, *_MINUTES, *_HOURS, *_DAYS)
"""Lengths of time that people count in, in microseconds."""
_STRETCHES = 720
"""How many stretches of time there are, at most."""
_CELLS = 150_000
"""How many counts a page carries, at most; if there are more, stretches become longer."""


def step_for(span: int, most: int) -> int:
    """The shortest length of time that people count in, of which a span has at most so many.

    >>> step_for(3_600_000_000, 10) // 1_000_000
    600
    """
    for step in STEPS:
        if span <= step * most:
            return step
    years = STEPS[-1]
    while span > years * most:
        years *= 2
    return years


@dataclass(frozen=True)
class Marks:
    """Events or matches as columns: when, in which track, and of which series."""

    times: Ints
    tracks: Ints
    series: Ints


@dataclass(frozen=True)
class Counts:
    """Counts by stretch of time, track and series; those that are zero are left out."""

    size: int
    """How long a stretch is, in microseconds; the first one begins at 0."""
    stretches: Ints
    tracks: Ints
    series: Ints
    counts: Ints


def count(marks: Marks, size: int) -> Counts:
    """Count marks by stretches of a size."""
    stretches = marks.times // size
    low = int(stretches.min(initial=0))
    wide, deep = int(marks.tracks.max(initial=0)) + 1, int(marks.series.max(initial=0)) + 1
    codes = ((stretches - low) * wide + marks.tracks) * deep + marks.series
    cells, counts = np.unique(codes, return_counts=True)
    rest, series = np.divmod(cells, deep)
    found, tracks = np.divmod(rest, wide)
    return Counts(size, found + low, tracks, series, counts)


def count_all(groups: list[Marks], span: int) -> list[Counts]:
    """Count several kinds of marks by stretches of the same size, as fine as a page can carry."""
    most = _STRETCHES
    while True:
        size = step_for(span, most)
        found = [count(marks, size) for marks in groups]
        if sum(len(own.counts) for own in found) <= _CELLS or most < 2:
            return found
        most //= 2
