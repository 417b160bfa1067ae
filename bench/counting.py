"""Counts of composite events that are made without the kernel and without the oracle.

Everything works on sorted times: what is before, after or inside of a window is a binary search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.streams import Bools, Ints


def sums(values: Ints) -> Ints:
    """Prefix sums: the sum of values[a:b] is sums[b] - sums[a]."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(values, dtype=np.int64)))


def window(times: Ints, ends: Ints, length: int) -> tuple[Ints, Ints]:
    """For each end the range of times in the open window (end - length, end)."""
    return np.searchsorted(times, ends - length, "right"), np.searchsorted(times, ends, "left")


def largest(values: Ints, begins: Ints, ends: Ints) -> Ints:
    """The largest of values[begin:end] for each range, 0 where it is empty; values are positive."""
    found = np.zeros(len(begins), np.int64)
    lengths, level, width = ends - begins, values, 1
    while len(level):
        here = (lengths >= width) & (lengths < 2 * width)
        left, right = begins[here], ends[here] - width
        found[here] = np.maximum(level[left], level[right])
        level, width = np.maximum(level[:-width], level[width:]), 2 * width
    return found


def taken_last(pushes: Ints, pops: Ints, length: int) -> int:
    """How many of the pops find a push: each takes the newest one left, if that is in its window.

    Pushes and pops nest like brackets. The stack's height tells which belong together: a pop takes
    the latest push that brought the stack to the height which the pop found.
    """
    times = np.concatenate((pushes, pops))
    order = np.argsort(times, kind="stable")
    times, steps = times[order], np.where(order < len(pushes), 1, -1)
    heights = np.cumsum(steps)
    floor = np.minimum.accumulate(np.minimum(heights, 0))
    idle = np.diff(floor, prepend=0) < 0  # a pop that finds an empty stack
    levels = np.where(idle, -1, heights - floor + (steps < 0))
    nested = np.argsort(levels, kind="stable")
    opened = times[nested[:-1]]
    closed = times[nested[1:]]
    is_pair = (steps[nested[1:]] < 0) & (levels[nested[1:]] > 0)
    return int(np.count_nonzero(is_pair & (closed - opened < length)))


@dataclass(frozen=True)
class Chosen:
    """Which of a component's candidates a policy takes, and in how many ways each can go on."""

    times: Ints
    ways: Ints

    def before(self, ends: Ints, length: int, policy: str) -> Ints:
        """For each end, in how many ways the events of its window that are chosen can go on."""
        begins, stops = window(self.times, ends, length)
        if policy == "each":
            total = sums(self.ways)
            return np.asarray(total[stops] - total[begins], np.int64)
        places = begins if policy == "first" else stops - 1
        places = np.minimum(np.maximum(places, 0), max(0, len(self.times) - 1))
        ways = self.ways[places] if len(self.ways) else np.zeros(len(ends), np.int64)
        return np.where(stops > begins, ways, 0)


def chain(times: Sequence[Ints], lengths: Sequence[int], policy: str) -> int:
    """Matches of a sequence: times of its states, first state first; windows between neighbours."""
    ways = np.ones(len(times[0]), np.int64)
    for earlier, later, length in zip(times, times[1:], lengths, strict=False):
        ways = Chosen(earlier, ways).before(later, length, policy)
    return int(ways.sum())


def star(ends: Ints, branches: Sequence[Ints], lengths: Sequence[int], policy: str) -> int:
    """Matches of sequences that meet in one terminator: a product over the branches."""
    ways = np.ones(len(ends), np.int64)
    for times, length in zip(branches, lengths, strict=True):
        ways *= Chosen(times, np.ones(len(times), np.int64)).before(ends, length, policy)
    return int(ways.sum())


@dataclass(frozen=True)
class Keyed:
    """Events of one type by key and time, for joins."""

    rows: Ints
    places: Ints
    span: int

    @staticmethod
    def of(rows: Ints, keys: Ints, span: int) -> Keyed:
        """The rows of a type, with a key for each of all rows; rows are smaller than the span."""
        places = keys[rows] * span + rows
        order = np.argsort(places, kind="stable")
        return Keyed(rows[order], places[order], span)

    def between(self, keys: Ints, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Ranges of `rows` with a key and with begin < row < end."""
        lower = np.searchsorted(self.places, keys * self.span + np.maximum(begins, -1), "right")
        upper = np.searchsorted(self.places, keys * self.span + ends, "left")
        return lower, np.maximum(lower, upper)


def spread(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """All places of all ranges, and for each the number of the range that it comes from."""
    lengths = ends - begins
    owners = np.repeat(np.arange(len(begins)), lengths)
    places = np.arange(len(owners)) - np.repeat(sums(lengths)[:-1], lengths) + begins[owners]
    return places, owners


def any_between(rows: Ints, begins: Ints, ends: Ints) -> Bools:
    """For each pair whether a row lies strictly between."""
    after = np.searchsorted(rows, begins, "right")
    before = np.searchsorted(rows, ends, "left")
    return np.asarray(before > after)
