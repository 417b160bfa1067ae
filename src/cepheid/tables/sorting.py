"""The compiled order of matches: by end, start, depth, constituents, type and rule.

Matches come by their ends, and mostly in order otherwise; only those of one end are compared.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.tables.arrow import Ints

_BLOCK = 8
"""So many matches are sorted by inserting each where it belongs."""
_GAPS = np.array([3 ** (power + 1) // 2 for power in range(38, -1, -1)], np.int64)
"""Distances of Shell's sort, after Knuth: 1, 4, 13, 40, and so on."""


@compiled
def key_parts(offsets: Ints, ranks: Ints, labels: Ints, label_ranks: Ints) -> tuple[Ints, bool]:
    """Keys by which constituents are sorted, and whether those of every match are in order.

    By rank, then by rank of the label, which is told for every label.
    """
    keys, in_order = np.empty(len(ranks), np.int64), True
    for number in range(len(offsets) - 1):
        for at in range(offsets[number], offsets[number + 1]):
            keys[at] = ranks[at] * len(label_ranks) + label_ranks[labels[at]]
            if at > offsets[number] and keys[at] < keys[at - 1]:
                in_order = False
    return keys, in_order


@compiled
def sort_parts(offsets: Ints, keys: Ints, origins: Ints, labels: Ints) -> None:
    """Put the constituents of every match in the order of their keys."""
    for number in range(len(offsets) - 1):
        first, last = offsets[number], offsets[number + 1]
        for gap in _GAPS:
            for begin in range(first + gap, last):
                key, origin, label, to = keys[begin], origins[begin], labels[begin], begin
                while to - gap >= first and keys[to - gap] > key:
                    keys[to] = keys[to - gap]
                    origins[to], labels[to] = origins[to - gap], labels[to - gap]
                    to -= gap
                keys[to], origins[to], labels[to] = key, origin, label


@inlined
def _is_later(  # noqa: PLR0917 (compiled functions take arrays by position)
    one: int,
    other: int,
    starts: Ints,
    depths: Ints,
    offsets: Ints,
    keys: Ints,
    heads: Ints,
    head_ranks: Ints,
) -> bool:
    """Whether one match comes after another of the same end."""
    if starts[one] != starts[other]:
        return bool(starts[one] > starts[other])
    if depths[one] != depths[other]:
        return bool(depths[one] > depths[other])
    at, to = offsets[one], offsets[other]
    last, end = offsets[one + 1], offsets[other + 1]
    while at < last and to < end:
        if keys[at] != keys[to]:
            return bool(keys[at] > keys[to])
        at += 1
        to += 1
    if at < last or to < end:
        return bool(at < last)
    return bool(head_ranks[heads[one]] > head_ranks[heads[other]])


@compiled
def sort_matches(  # noqa: PLR0917 (compiled functions take arrays by position)
    rows: Ints,
    ends: Ints,
    starts: Ints,
    depths: Ints,
    offsets: Ints,
    keys: Ints,
    heads: Ints,
    head_ranks: Ints,
) -> Ints:
    """Some matches in order; their ends rise already, and what is equal stays as it is."""
    order, spare = rows.copy(), np.empty(len(rows), np.int64)
    begin = 0
    while begin < len(rows):
        end = begin + 1
        while end < len(rows) and ends[rows[end]] == ends[rows[begin]]:
            end += 1
        for first in range(begin, end, _BLOCK):
            for at in range(first + 1, min(first + _BLOCK, end)):
                own, to = order[at], at
                while to > first and _is_later(
                    order[to - 1], own, starts, depths, offsets, keys, heads, head_ranks
                ):
                    order[to] = order[to - 1]
                    to -= 1
                order[to] = own
        width = _BLOCK
        while width < end - begin:
            for first in range(begin, end - width, 2 * width):
                middle, last = first + width, min(first + 2 * width, end)
                if not _is_later(
                    order[middle - 1],
                    order[middle],
                    starts,
                    depths,
                    offsets,
                    keys,
                    heads,
                    head_ranks,
                ):
                    continue
                spare[first:middle] = order[first:middle]
                left, right, to = first, middle, first
                while left < middle and right < last:
                    if _is_later(
                        spare[left], order[right], starts, depths, offsets, keys, heads, head_ranks
                    ):
                        order[to] = order[right]
                        right += 1
                    else:
                        order[to] = spare[left]
                        left += 1
                    to += 1
                order[to : to + middle - left] = spare[left:middle]
            width *= 2
        begin = end
    return order
