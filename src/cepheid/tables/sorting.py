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
def take_sorted(  # noqa: PLR0917 (compiled functions take arrays by position)
    offsets: Ints, origins: Ints, labels: Ints, ranks: Ints, label_ranks: Ints, rows: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    """Constituents of some matches, those of each in order: by rank, then by rank of the label.

    The result are offsets, origins, labels, and one key for both ranks. Origins and labels are
    places among the ranks.
    """
    taken = np.zeros(len(rows) + 1, np.int64)
    for number in range(len(rows)):
        row = rows[number]
        taken[number + 1] = taken[number] + offsets[row + 1] - offsets[row]
    own_origins, own_labels = np.empty(taken[-1], np.int64), np.empty(taken[-1], np.int64)
    keys = np.empty(taken[-1], np.int64)
    for number in range(len(rows)):
        first, last = taken[number], taken[number + 1]
        shift, in_order = offsets[rows[number]] - first, True
        for to in range(first, last):
            origin, label = origins[shift + to], labels[shift + to]
            own_origins[to], own_labels[to] = origin, label
            keys[to] = ranks[origin] * len(label_ranks) + label_ranks[label]
            in_order = in_order and (to == first or keys[to - 1] <= keys[to])
        if not in_order:
            _sort_parts(keys, own_origins, own_labels, first, last)
    return taken, own_origins, own_labels, keys


@inlined
def _sort_parts(keys: Ints, origins: Ints, labels: Ints, first: int, last: int) -> None:
    for gap in _GAPS:
        for begin in range(first + gap, last):
            key, origin, label, to = keys[begin], origins[begin], labels[begin], begin
            while to - gap >= first and keys[to - gap] > key:
                keys[to], origins[to], labels[to] = (
                    keys[to - gap],
                    origins[to - gap],
                    labels[to - gap],
                )
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
    types: Ints,
    rules: Ints,
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
    if types[one] != types[other]:
        return bool(types[one] > types[other])
    return bool(rules[one] > rules[other])


@compiled
def sort_matches(  # noqa: PLR0917 (compiled functions take arrays by position)
    ends: Ints,
    starts: Ints,
    depths: Ints,
    offsets: Ints,
    keys: Ints,
    types: Ints,
    rules: Ints,
) -> Ints:
    """The order of matches, whose ends rise; what is equal stays as it is."""
    order, spare = np.arange(len(ends)), np.empty(len(ends), np.int64)
    begin = 0
    while begin < len(ends):
        end = begin + 1
        while end < len(ends) and ends[end] == ends[begin]:
            end += 1
        for first in range(begin, end, _BLOCK):
            for at in range(first + 1, min(first + _BLOCK, end)):
                own, to = order[at], at
                while to > first and _is_later(
                    order[to - 1], own, starts, depths, offsets, keys, types, rules
                ):
                    order[to] = order[to - 1]
                    to -= 1
                order[to] = own
        width = _BLOCK
        while width < end - begin:
            for first in range(begin, end - width, 2 * width):
                middle, last = first + width, min(first + 2 * width, end)
                if not _is_later(
                    order[middle - 1], order[middle], starts, depths, offsets, keys, types, rules
                ):
                    continue
                spare[first:middle] = order[first:middle]
                left, right, to = first, middle, first
                while left < middle and right < last:
                    if _is_later(
                        spare[left], order[right], starts, depths, offsets, keys, types, rules
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
