"""Matches with any number of constituents as columns.

A plain loop writes them out: indexing by arrays takes longer than finding the matches.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.matches import (
    MATCH_CELL,
    MATCH_LABEL,
    MATCH_ROW,
    MATCH_ROWS,
    MATCH_TAG,
    MATCH_TIME,
    MATCH_VALUES,
    match_count,
)
from cepheid.kernel.memory import ints, size
from cepheid.kernel.store import ROW_ORIGIN, ROW_START
from cepheid.kernel.values import Ints, Tags


@inlined
def _parts_end(m: int, match: int) -> int:
    """Where the constituents of a match end."""
    last = match + 1 == match_count(m)
    return size(m, MATCH_ROW) if last else int(ints(m, MATCH_ROWS)[match + 1])


@compiled
def varied_heads(m: int, chosen: Ints, point: bool) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Interval, offsets, constituents and labels of every match."""
    starts, times = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    offsets = np.zeros(len(chosen) + 1, np.int64)
    for at in range(len(chosen)):
        first = ints(m, MATCH_ROWS)[chosen[at]]
        offsets[at + 1] = offsets[at] + _parts_end(m, chosen[at]) - first
    parts, labels = np.empty(offsets[-1], np.int64), np.empty(offsets[-1], np.int64)
    row_starts, row_origins = ints(m, ROW_START), ints(m, ROW_ORIGIN)
    rows, codes = ints(m, MATCH_ROW), ints(m, MATCH_LABEL)
    for at in range(len(chosen)):
        time, begin = ints(m, MATCH_TIME)[chosen[at]], ints(m, MATCH_ROWS)[chosen[at]]
        start = time
        for to in range(offsets[at], offsets[at + 1]):
            place = begin + to - offsets[at]
            start = min(start, row_starts[rows[place]])
            parts[to], labels[to] = row_origins[rows[place]], codes[place]
        starts[at], times[at] = time if point else start, time
    return starts, times, offsets, parts, labels


@compiled
def varied_values(m: int, chosen: Ints, names: int) -> tuple[Tags, Ints]:
    """The values of output attributes of every match."""
    tags = np.empty((names, len(chosen)), np.uint8)
    cells = np.empty((names, len(chosen)), np.int64)
    for at in range(len(chosen)):
        first = ints(m, MATCH_VALUES)[chosen[at]]
        for attribute in range(names):
            tags[attribute, at] = ints(m, MATCH_TAG)[first + attribute]
            cells[attribute, at] = ints(m, MATCH_CELL)[first + attribute]
    return tags, cells


@compiled
def take_parts(offsets: Ints, origins: Ints, labels: Ints, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Offsets, origins and labels of some matches, in that order."""
    taken = np.zeros(len(rows) + 1, np.int64)
    for number in range(len(rows)):
        row = rows[number]
        taken[number + 1] = taken[number] + offsets[row + 1] - offsets[row]
    own_origins, own_labels = np.empty(taken[-1], np.int64), np.empty(taken[-1], np.int64)
    for number in range(len(rows)):
        begin = offsets[rows[number]] - taken[number]
        for to in range(taken[number], taken[number + 1]):
            own_origins[to], own_labels[to] = origins[begin + to], labels[begin + to]
    return taken, own_origins, own_labels
