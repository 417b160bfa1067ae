"""Matches with any number of constituents as columns, once per rule that they count for.

A plain loop writes them out: indexing by arrays takes longer than finding the matches.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.matches import (
    FAMILY_MEMBERS,
    MATCH_CELL,
    MATCH_FAMILY,
    MATCH_HIGH,
    MATCH_LABEL,
    MATCH_LOW,
    MATCH_MADE,
    MATCH_ROW,
    MATCH_ROWS,
    MATCH_TAG,
    MATCH_TIME,
    MATCH_VALUES,
    MEMBER_RULE,
    match_count,
)
from cepheid.kernel.memory import ints, size
from cepheid.kernel.store import ROW_ORIGIN, ROW_START
from cepheid.kernel.values import Ints, Tags

RULES, STARTS, TIMES, ORIGINS = range(4)
"""The lines of the heads: rule, interval, and the origin of the composite event or 0."""


@inlined
def _parts_end(m: int, match: int) -> int:
    """Where the constituents of a match end."""
    last = match + 1 == match_count(m)
    return size(m, MATCH_ROW) if last else int(ints(m, MATCH_ROWS)[match + 1])


@compiled
def count_varied(m: int, chosen: Ints) -> tuple[int, int]:
    """How many matches there are, once per rule that is left, and how many constituents."""
    matches, constituents = 0, 0
    for match in chosen:
        rules = 0
        begin = ints(m, FAMILY_MEMBERS)[ints(m, MATCH_FAMILY)[match]]
        for member in range(begin + ints(m, MATCH_LOW)[match], begin + ints(m, MATCH_HIGH)[match]):
            rules += 1 if ints(m, MEMBER_RULE)[member] >= 0 else 0
        matches += rules
        constituents += rules * (_parts_end(m, match) - ints(m, MATCH_ROWS)[match])
    return matches, constituents


@compiled
def spread_varied(
    m: int, chosen: Ints, point: bool, names: int
) -> tuple[Ints, Ints, Ints, Ints, Tags, Ints]:
    """Heads, offsets, constituents, labels, tags and cells of matches, once per rule."""
    matches, constituents = count_varied(m, chosen)
    heads, offsets = np.empty((4, matches), np.int64), np.zeros(matches + 1, np.int64)
    parts, labels = np.empty(constituents, np.int64), np.empty(constituents, np.int64)
    tags, cells = np.empty((names, matches), np.uint8), np.empty((names, matches), np.int64)
    row_starts, row_origins = ints(m, ROW_START), ints(m, ROW_ORIGIN)
    rows, codes, rules = ints(m, MATCH_ROW), ints(m, MATCH_LABEL), ints(m, MEMBER_RULE)
    at, to = 0, 0
    for match in chosen:
        low, high = ints(m, MATCH_LOW)[match], ints(m, MATCH_HIGH)[match]
        first, length = ints(m, MATCH_ROWS)[match], 0
        end = _parts_end(m, match)
        begin = ints(m, FAMILY_MEMBERS)[ints(m, MATCH_FAMILY)[match]]
        time, made = ints(m, MATCH_TIME)[match], ints(m, MATCH_MADE)[match]
        value, start, origin_at = ints(m, MATCH_VALUES)[match], time, to
        for member in range(low, high):
            if rules[begin + member] < 0:
                continue
            if length == 0:
                length = end - first
                for place in range(length):
                    row = rows[first + place]
                    start = min(start, row_starts[row])
                    parts[to + place], labels[to + place] = row_origins[row], codes[first + place]
            else:
                for place in range(np.uint64(length)):
                    parts[np.uint64(to) + place] = parts[np.uint64(origin_at) + place]
                    labels[np.uint64(to) + place] = labels[np.uint64(origin_at) + place]
            to += length
            heads[RULES, at], heads[STARTS, at] = rules[begin + member], time if point else start
            heads[TIMES, at] = time
            heads[ORIGINS, at] = made - (member - low) if made != 0 else 0
            for attribute in range(names):
                tags[attribute, at] = ints(m, MATCH_TAG)[value + attribute]
                cells[attribute, at] = ints(m, MATCH_CELL)[value + attribute]
            at += 1
            offsets[at] = to
    return heads, offsets, parts, labels, tags, cells
