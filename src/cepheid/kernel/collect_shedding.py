"""Giving up on purpose: what a collection keeps is counted, and the oldest of it is dropped.

Used where a rule has limits; see `limits`.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.collect_slots import (
    COUNT,
    ENTRY,
    ENTRY_NUMBER,
    ENTRY_START,
    ENTRY_WIDTH,
    HOLE,
    LEAST,
    LIST,
    LIST_HEAD,
    LIST_TAIL,
    LIST_WIDTH,
    PART,
    PART_LISTS,
    PART_SEEN,
    PART_TOP,
    PART_WIDTH,
    PLAN,
    PLAN_LEAVES,
    PLAN_LENGTH,
    PLAN_LISTS,
    PLAN_SLACK,
    PLAN_WIDTH,
    PLAN_WINDOW,
    TIME,
)
from cepheid.kernel.collect_state import before, take_out
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import ints, size
from cepheid.kernel.oldest import Marks
from cepheid.kernel.store import ROW_END
from cepheid.kernel.values import Ints


@compiled
def held_by_parts(m: int, plan: int, now: int) -> tuple[Marks, Ints]:
    """The rows that a plan needs, and the first one of each partition that has begun.

    Events that forbid are kept, but begin nothing.
    """
    parts, line = ints(m, PART), PLAN_WIDTH * plan
    leaves, lists = ints(m, PLAN)[line + PLAN_LEAVES], ints(m, PLAN)[line + PLAN_LISTS]
    held = np.zeros(size(m, ROW_END), np.bool_)
    firsts = np.full(size(m, PART) // PART_WIDTH, len(held))
    for part in range(len(firsts)):
        if parts[PART_WIDTH * part] != plan:
            continue
        list_ = parts[PART_WIDTH * part + PART_LISTS]
        gone, number, earliest = _window(m, part, now)
        for leaf in range(list_, list_ + leaves):
            first, end = _mark(m, leaf, gone, number, held)
            firsts[part], earliest = min(firsts[part], first), min(earliest, end)
        # An absence counts only after the end of the first event of a match.
        for absence in range(list_ + leaves, list_ + lists):
            _mark(m, absence, max(gone, earliest + 1), 0, held)
    return held, firsts[firsts < len(held)]


@inlined
def _window(m: int, part: int, now: int) -> tuple[int, int, int]:
    """What a partition needs: from which start and number on; and when the next event may end."""
    plans, parts, place = ints(m, PLAN), ints(m, PART), PART_WIDTH * part
    plan = PLAN_WIDTH * parts[place]
    length, gone, first = plans[plan + PLAN_LENGTH], LEAST, 0
    earliest = before(max(now, parts[place + PART_TOP]), plans[plan + PLAN_SLACK])
    if plans[plan + PLAN_WINDOW] == TIME:
        gone = before(earliest, length)
    elif plans[plan + PLAN_WINDOW] == COUNT:
        first = parts[place + PART_SEEN] - length + 1
    return gone, first, earliest


@compiled
def _mark(m: int, list_: int, gone: int, number: int, held: Marks) -> tuple[int, int]:
    """Mark the rows of a list that are needed; the first of them, and the earliest end."""
    lists, entries, base = ints(m, LIST), ints(m, ENTRY), LIST_WIDTH * list_
    first, earliest = len(held), -LEAST
    for at in range(lists[base + LIST_HEAD], lists[base + LIST_TAIL], ENTRY_WIDTH):
        row = entries[at]
        needed = entries[at + ENTRY_START] >= gone and entries[at + ENTRY_NUMBER] >= number
        if row != HOLE and needed:
            held[row] = True
            first, earliest = min(first, row), min(earliest, ints(m, ROW_END)[row])
    return first, earliest


@compiled
def drop_from_parts(m: int, plan: int, dropped: Marks, whole: bool) -> None:
    """Take rows out of all lists of a plan; with `whole`, all that is in a partition with them."""
    parts, lists = ints(m, PART), ints(m, PLAN)[PLAN_WIDTH * plan + PLAN_LISTS]
    for part in range(size(m, PART) // PART_WIDTH):
        if parts[PART_WIDTH * part] != plan:
            continue
        first = parts[PART_WIDTH * part + PART_LISTS]
        everything = whole and _holds(m, first, lists, dropped)
        for list_ in range(first, first + lists):
            _take_rows_out(m, list_, dropped, everything)


@compiled
def _holds(m: int, first: int, lists: int, dropped: Marks) -> bool:
    """Whether any of some lists holds a row that is dropped."""
    entries = ints(m, ENTRY)
    for list_ in range(LIST_WIDTH * first, LIST_WIDTH * (first + lists), LIST_WIDTH):
        head, tail = ints(m, LIST)[list_ + LIST_HEAD], ints(m, LIST)[list_ + LIST_TAIL]
        for at in range(head, tail, ENTRY_WIDTH):
            if entries[at] != HOLE and dropped[entries[at]]:
                return True
    return False


@compiled
def _take_rows_out(m: int, list_: int, dropped: Marks, everything: bool) -> None:
    entries, base = ints(m, ENTRY), LIST_WIDTH * list_
    head, tail = ints(m, LIST)[base + LIST_HEAD], ints(m, LIST)[base + LIST_TAIL]
    for at in range(head, tail, ENTRY_WIDTH):
        if entries[at] != HOLE and (everything or dropped[entries[at]]):
            take_out(m, list_, at)
