"""What is drawn: a fair sample of the matches with all their events, and one of all events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.pictures.counting import Marks, step_for
from cepheid.pictures.sampling import fair
from cepheid.pictures.tracks import Tracks
from cepheid.tables.arrow import Array, Arrow, Ints, codes, pa
from cepheid.tables.tracing import Trace

_GRAINS = 200
"""Into how many stretches of time what is drawn is spread, about."""
_LINKS = 20_000
"""How many events drawn matches may be made of; larger matches are counted, not drawn."""
_DEEP = 64
"""How often composite events may be made of each other, in pictures."""


@dataclass(frozen=True)
class Series:
    """What marks are told apart by: the types of events, or the rules of matches."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    of: Ints

    @staticmethod
    def by(column: Array, most: int, other: str, order: Sequence[str] = ()) -> Series:
        """The values of a column of texts, the most common first; the rest are one together."""
        found, texts = codes(column)
        counts = np.bincount(found, minlength=len(texts))
        names = texts.to_pylist()
        absent = [name for name in order if name not in set(names)]
        ranked = sorted(range(len(names)), key=lambda at: (-int(counts[at]), names[at]))
        own, rest = ranked[:most], ranked[most:]
        places = np.full(len(names) + 1, len(own), np.int64)
        places[own] = np.arange(len(own))
        titles = [names[at] for at in own] + ([f"{len(rest):,} other {other}"] if rest else [])
        totals = [int(counts[at]) for at in own] + ([int(counts[rest].sum())] if rest else [])
        spare = absent[: max(0, most - len(titles))]
        return Series((*titles, *spare), (*totals, *[0] * len(spare)), places[found])


@dataclass(frozen=True)
class Scene:
    """Everything a picture is made from: what happened, in which tracks, of which series."""

    trace: Trace
    tracks: Tracks
    types: Series
    rules: Series
    begins: Ints
    """When the oldest event of each match began."""

    @property
    def begin(self) -> int:
        """The first moment."""
        moments = [own.min() for own in (self.trace.events.starts, self.begins) if len(own)]
        return int(min(moments, default=0))

    @property
    def end(self) -> int:
        """The last moment."""
        moments = [own.max() for own in (self.trace.events.ends, self.trace.ends) if len(own)]
        return int(max(moments, default=0))

    @property
    def event_marks(self) -> Marks:
        """All events."""
        return Marks(self.trace.events.ends, self.tracks.events, self.types.of)

    @property
    def match_marks(self) -> Marks:
        """All matches."""
        return Marks(self.trace.ends, self.tracks.matches, self.rules.of)


@dataclass(frozen=True)
class Drawn:
    """The rows of the events and of the matches that are drawn, both ascending."""

    events: Ints
    matches: Ints


def column_of(table: Arrow, name: str) -> Array:
    """A column of a table in one piece."""
    column = table[name].combine_chunks()
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def begins_of(trace: Trace) -> Ints:
    """When the oldest event of each match began."""
    begins = trace.starts.copy()
    full = np.flatnonzero(np.diff(trace.offsets))
    if not len(full):
        return begins
    leaves = _taken(trace.events.starts, trace.rows, np.iinfo(np.int64).max)
    for _ in range(_DEEP):
        times = np.minimum(leaves, _taken(begins, trace.wholes, np.iinfo(np.int64).max))
        older = begins.copy()
        older[full] = np.minimum(begins[full], np.minimum.reduceat(times, trace.offsets[full]))
        if np.array_equal(older, begins):
            break
        begins = older
    return begins


def _taken(values: Ints, rows: Ints, other: int) -> Ints:
    """Values at rows; another where a row is -1."""
    if not len(values):
        return np.full(len(rows), other, np.int64)
    return np.where(rows >= 0, values[rows], other)


def choose(scene: Scene, *, events: int, matches: int) -> Drawn:
    """About so many events and matches to draw; all events of a match that is drawn are too."""
    grain = step_for(max(1, scene.end - scene.begin), _GRAINS)
    chosen = _with_inner(scene.trace, _matches(scene, matches, grain))
    parts = np.isin(scene.trace.owners, chosen) & (scene.trace.rows >= 0)
    needed = np.unique(scene.trace.rows[parts])
    sampled = fair(_strata(scene.event_marks, grain), events)
    return Drawn(np.union1d(sampled, needed), chosen)


def _strata(marks: Marks, grain: int) -> Ints:
    """Series, track and stretch of time as one number."""
    wide = int(marks.tracks.max(initial=0)) + 1
    long = int((marks.times // grain).max(initial=0)) + 1
    low = min(0, int((marks.times // grain).min(initial=0)))
    stretches = marks.times // grain - low
    return (marks.series * wide + marks.tracks) * (long - low) + stretches


def _matches(scene: Scene, most: int, grain: int) -> Ints:
    """Matches to draw; fewer where they are made of many events."""
    sizes = np.diff(scene.trace.offsets)
    small = np.flatnonzero(sizes <= _LINKS)
    strata = _strata(scene.match_marks, grain)[small]
    chosen = small[fair(strata, most)]
    while sizes[chosen].sum() > _LINKS:
        most = max(1, len(chosen) // 2)
        chosen = small[fair(strata, most)]
    return chosen


def _with_inner(trace: Trace, chosen: Ints) -> Ints:
    """Matches with all those that they are made of."""
    for _ in range(_DEEP):
        inner = trace.wholes[np.isin(trace.owners, chosen) & (trace.wholes >= 0)]
        more = np.union1d(chosen, inner)
        if len(more) == len(chosen):
            break
        chosen = more
    return chosen


def stacked(begins: Ints, ends: Ints, tracks: Ints, gap: int, most: int) -> Ints:
    """The level of each match that is drawn, so that those of one track do not lie on each other.

    >>> one = np.zeros(3, np.int64)
    >>> stacked(np.array([0, 5, 20]), np.array([10, 15, 30]), one, 1, 4).tolist()
    [0, 1, 0]
    """
    free: dict[tuple[int, int], int] = {}
    levels = np.zeros(len(begins), np.int64)
    for at in np.lexsort((ends, begins)).tolist():
        track, begin = int(tracks[at]), int(begins[at])
        level = next((n for n in range(most) if free.get((track, n), begin) <= begin), most - 1)
        free[track, level] = max(free.get((track, level), begin), int(ends[at]) + gap)
        levels[at] = level
    return levels
