"""The compiled order of matches: by end, start, depth, constituents, type and rule.

Matches come by their ends, and mostly in order otherwise; only those of one end are compared.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.tables.arrow import Ints

_BLOCK = 8
"""So many matches are sorted by inserting each where it belongs."""
_FEW = 13
"""So few constituents are sorted in the same way."""
_SPREAD = 16
"""Rules are counted rather than compared if there is one for so many ranks."""
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
    """Put the constituents of every match in the order of their keys; or, without, keys alone."""
    carried = len(origins) > 0
    for number in range(len(offsets) - 1):
        first, last = offsets[number], offsets[number + 1]
        for gap in _GAPS[-1:] if last - first <= _FEW else _GAPS:
            for begin in range(first + gap, last):
                key, to = keys[begin], begin
                origin, label = (origins[begin], labels[begin]) if carried else (0, 0)
                while to - gap >= first and keys[to - gap] > key:
                    keys[to] = keys[to - gap]
                    if carried:
                        origins[to], labels[to] = origins[to - gap], labels[to - gap]
                    to -= gap
                keys[to] = key
                if carried:
                    origins[to], labels[to] = origin, label


@inlined
def _compared(  # noqa: PLR0917 (compiled functions take arrays by position)
    one: int, other: int, starts: Ints, depths: Ints, offsets: Ints, keys: Ints
) -> int:
    """Which of two matches of the same end comes first, but for their rules; 0 if they are alike.

    The result is below 0 if it is the first one.
    """
    if starts[one] != starts[other]:
        return -1 if starts[one] < starts[other] else 1
    if depths[one] != depths[other]:
        return -1 if depths[one] < depths[other] else 1
    at, to = offsets[one], offsets[other]
    last, end = offsets[one + 1], offsets[other + 1]
    while at < last and to < end:
        if keys[at] != keys[to]:
            return -1 if keys[at] < keys[to] else 1
        at += 1
        to += 1
    return int(at < last) - int(to < end)


@inlined
def _is_later(  # noqa: PLR0917 (compiled functions take arrays by position)
    one: int, other: int, starts: Ints, depths: Ints, offsets: Ints, keys: Ints, ranks: Ints
) -> bool:
    """Whether one match comes after another of the same end."""
    found = _compared(one, other, starts, depths, offsets, keys)
    return bool(found > 0 or (found == 0 and ranks[one] > ranks[other]))


@inlined
def _sort_alike(order: Ints, begin: int, end: int, ranks: Ints, slots: Ints) -> bool:
    """Sort matches that are alike but for their rules, if these differ and are near each other.

    `slots` has a place for every rank, with -1 in it.
    """
    low = high = ranks[order[begin]]
    put = begin
    while put < end:
        rank = ranks[order[put]]
        low, high = min(low, rank), max(high, rank)
        if slots[rank] >= 0 or high - low > _SPREAD * (end - begin):
            break
        slots[rank] = order[put]
        put += 1
    if put < end:
        for at in range(begin, put):
            slots[ranks[order[at]]] = -1
        return False
    to = begin
    for rank in range(low, high + 1):
        if slots[rank] >= 0:
            order[to], slots[rank] = slots[rank], -1
            to += 1
    return True


@inlined
def _sort_all(  # noqa: PLR0917 (compiled functions take arrays by position)
    order: Ints,
    spare: Ints,
    begin: int,
    end: int,
    starts: Ints,
    depths: Ints,
    offsets: Ints,
    keys: Ints,
    ranks: Ints,
) -> None:
    """Sort matches of one end: a few at a time, then longer and longer runs are merged."""
    for first in range(begin, end, _BLOCK):
        for at in range(first + 1, min(first + _BLOCK, end)):
            own, to = order[at], at
            while to > first and _is_later(
                order[to - 1], own, starts, depths, offsets, keys, ranks
            ):
                order[to] = order[to - 1]
                to -= 1
            order[to] = own
    width = _BLOCK
    while width < end - begin:
        for first in range(begin, end - width, 2 * width):
            middle, last = first + width, min(first + 2 * width, end)
            left, right, to = first, middle, first
            if _is_later(
                order[left + width - 1], order[right], starts, depths, offsets, keys, ranks
            ):
                spare[first:middle] = order[first:middle]
                while left < middle and right < last:
                    if _is_later(spare[left], order[right], starts, depths, offsets, keys, ranks):
                        order[to] = order[right]
                        right += 1
                    else:
                        order[to] = spare[left]
                        left += 1
                    to += 1
                order[to : to + middle - left] = spare[left:middle]
        width *= 2


@inlined
def _turn(order: Ints, spare: Ints, groups: Ints, count: int) -> None:
    """Put groups the other way round; each of them stays as it is."""
    begin = to = groups[0]
    spare[begin : groups[count]] = order[begin : groups[count]]
    for group in range(count - 1, -1, -1):
        length = groups[group + 1] - groups[group]
        order[to : to + length] = spare[groups[group] : groups[group + 1]]
        to += length


@compiled
def sort_matches(  # noqa: PLR0917 (compiled functions take arrays by position)
    rows: Ints,
    ends: Ints,
    starts: Ints,
    depths: Ints,
    offsets: Ints,
    keys: Ints,
    ranks: Ints,
    count: int,
) -> Ints:
    """Some matches in order; their ends rise already, and what is equal stays as it is.

    `ranks` are those of their rules, below a count.
    """
    order, spare = rows.copy(), np.empty(len(rows), np.int64)
    slots, groups = np.full(count, -1, np.int64), np.empty(len(rows) + 1, np.int64)
    begin = 0
    while begin < len(rows):
        # Groups of matches that are alike but for their rules; the search finds the newest first.
        rising, falling, sorted_, at = True, True, True, begin + 1
        groups[0], last = begin, 1
        while at < len(rows) and ends[rows[at]] == ends[rows[begin]]:
            found = _compared(rows[at - 1], rows[at], starts, depths, offsets, keys)
            if found != 0:
                rising, falling = rising and found < 0, falling and found > 0
                sorted_ = _sort_alike(order, groups[last - 1], at, ranks, slots) and sorted_
                groups[last] = at
                last += 1
            at += 1
        sorted_ = _sort_alike(order, groups[last - 1], at, ranks, slots) and sorted_
        groups[last] = at
        if sorted_ and falling and not rising:
            _turn(order, spare, groups, last)
        elif not (sorted_ and rising):
            _sort_all(order, spare, begin, at, starts, depths, offsets, keys, ranks)
        begin = at
    return order
