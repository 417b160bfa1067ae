"""The compiled order of composite events: by end, start, depth, constituents, type and rule.

Matches come by their ends, and mostly in order otherwise; only those of one end are compared. The
composite events of a match differ by type and rule alone.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import unowned
from cepheid.tables.arrow import Ints

_BLOCK = 8
"""So many matches are sorted by inserting each where it belongs."""
_FEW = 13
"""So few constituents, or rules of a match, are sorted in the same way."""
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
def _compared(one: int, other: int, depths: Ints, offsets: Ints, keys: Ints) -> int:
    """Which of two matches of the same interval comes first; 0 if they are alike.

    The result is below 0 if it is the first one.
    """
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
def _sort_alike(order: Ints, begin: int, end: int, ranks: Ints, slots: Ints) -> bool:
    """Sort what is alike but for the rules, if these differ and are near each other.

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
def _sort_rules(order: Ints, begin: int, end: int, ranks: Ints, slots: Ints) -> None:
    """Sort composite events that are alike but for their rules; what is equal stays as it is."""
    if end - begin <= _FEW:
        for at in range(begin + 1, end):
            own, to = order[at], at
            while to > begin and ranks[order[to - 1]] > ranks[own]:
                order[to] = order[to - 1]
                to -= 1
            order[to] = own
    elif not _sort_alike(order, begin, end, ranks, slots):
        rows = order[begin:end].copy()
        order[begin:end] = rows[np.argsort(ranks[rows], kind="mergesort")]


@inlined
def _merge_all(  # noqa: PLR0917 (compiled functions take arrays by position)
    order: Ints,
    spare: Ints,
    begin: int,
    end: int,
    starts: Ints,
    depths: Ints,
    offsets: Ints,
    keys: Ints,
) -> None:
    """Sort matches of one end, whose blocks are sorted: longer and longer runs are merged."""
    width = _BLOCK
    while width < end - begin:
        for first in range(begin, end - width, 2 * width):
            middle, last = first + width, min(first + 2 * width, end)
            left, right, to = first, middle, first
            spare[first:middle] = order[first:middle]
            while left < middle and right < last:
                one, other = spare[left], order[right]
                if starts[one] > starts[other] or (
                    starts[one] == starts[other]
                    and _compared(one, other, depths, offsets, keys) > 0
                ):
                    order[to] = other
                    right += 1
                else:
                    order[to] = one
                    left += 1
                to += 1
            order[to : to + middle - left] = spare[left:middle]
        width *= 2


@compiled
def sort_matches(  # noqa: PLR0917 (compiled functions take arrays by position)
    matches: Ints,
    ends: Ints,
    starts: Ints,
    depths: Ints,
    offsets: Ints,
    keys: Ints,
    owned: Ints,
    ranks: Ints,
    count: int,
) -> Ints:
    """The composite events of some matches in order; their ends rise already.

    Those of match i are `owned[i]` to `owned[i + 1]`; `ranks` are those of their rules, below a
    count. What is equal stays as it is. Where all ends differ, nobody looks at depths and keys.
    """
    order, spare = matches.copy(), np.empty(len(matches), np.int64)
    starts, depths, ranks = unowned(starts), unowned(depths), unowned(ranks)
    offsets, keys = unowned(offsets), unowned(keys)
    total = 0
    for match in matches:
        total += owned[match + 1] - owned[match]
    found, slots = np.empty(total, np.int64), np.full(count, -1, np.int64)
    begin = to = 0
    while begin < len(order):
        # The search finds the newest first, so that those of one end often fall.
        rising, falling, at = True, True, begin + 1
        while at < len(order) and ends[order[at]] == ends[order[begin]]:
            one, other = order[at - 1], order[at]
            way = starts[one] - starts[other]
            if way == 0:
                way = _compared(one, other, depths, offsets, keys)
            rising, falling = rising and way <= 0, falling and way > 0
            at += 1
        if falling and not rising:
            order[begin:at] = order[begin:at][::-1].copy()
        elif not rising:
            for place in range(begin + 1, at):
                own, put, low = order[place], place, place - (place - begin) % _BLOCK
                while put > low and (
                    starts[order[put - 1]] > starts[own]
                    or (
                        starts[order[put - 1]] == starts[own]
                        and _compared(order[put - 1], own, depths, offsets, keys) > 0
                    )
                ):
                    order[put] = order[put - 1]
                    put -= 1
                order[put] = own
            if at - begin > _BLOCK:
                _merge_all(order, spare, begin, at, starts, depths, offsets, keys)
        first = to
        for place in range(begin, at):
            match = order[place]
            is_alike = (
                place > begin
                and starts[order[place - 1]] == starts[match]
                and _compared(order[place - 1], match, depths, offsets, keys) == 0
            )
            if not is_alike:
                if to - first > 1:
                    _sort_rules(found, first, to, ranks, slots)
                first = to
            for row in range(owned[match], owned[match + 1]):
                found[to] = row
                to += 1
        if to - first > 1:
            _sort_rules(found, first, to, ranks, slots)
        begin = at
    return found
