"""Candidates of constraints that take events one by one: so many of them, or the i-th.

A candidate is a list of places of entries on the trail, the oldest event first.
"""

from __future__ import annotations

from cepheid.kernel.collect_slots import (
    ENTRY,
    ENTRY_NUMBER,
    ENTRY_START,
    ENTRY_TOP,
    ENTRY_WIDTH,
    FIRST,
    FLOOR,
    HOLE,
    HOPELESS,
    LEAF,
    LEAF_COUNT,
    LEAF_PROGRAM,
    LEAF_SHARED,
    LEAST,
    LIST,
    LIST_HEAD,
    LIST_TAIL,
    LOW,
    NEW_ROW,
    NO_OTHER,
    SEARCH,
    TRAIL,
    UNMET,
    USED,
)
from cepheid.kernel.collect_state import plain
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import grow, ints, tags
from cepheid.kernel.programs import holds
from cepheid.kernel.store import ROW_END
from cepheid.kernel.values import Ints, Tags


@inlined
def is_free(
    entries: Ints, used: Tags, at: int, low: int, first: int, after: int, shared: bool
) -> bool:
    """Whether a constraint may take an entry."""
    row, start = entries[at], entries[at + ENTRY_START]
    if row == HOLE or start < low or start <= after or entries[at + ENTRY_NUMBER] < first:
        return False
    return not (shared and used[row] != 0)


@inlined
def first_after(m: int, list_: int, after: int, floor: int) -> int:
    """Where in a list events may begin to start after a time and end no earlier than another."""
    lists, entries = ints(m, LIST), ints(m, ENTRY)
    low, high = lists[list_ + LIST_HEAD] // ENTRY_WIDTH, lists[list_ + LIST_TAIL] // ENTRY_WIDTH
    wanted = max(after + 1, floor)
    if wanted > LEAST + 1:
        while low < high:
            middle = (low + high) // 2
            if entries[ENTRY_WIDTH * middle + ENTRY_TOP] < wanted:
                low = middle + 1
            else:
                high = middle
    return int(ENTRY_WIDTH * low)


# --- so many events ----------------------------------------------------------


@compiled
def take(m: int, base: int, list_: int, after: int, forced: bool, trail: int, fresh: bool) -> int:
    """The oldest events; neighbours suffice unless constraints share a type."""
    leaves = ints(m, LEAF)
    count, shared = int(leaves[base + LEAF_COUNT]), leaves[base + LEAF_SHARED] != 0
    none = HOPELESS if fresh and not shared else NO_OTHER
    grow(m, TRAIL, trail + count, 8)
    end, places = ints(m, LIST)[list_ + LIST_TAIL], ints(m, TRAIL)
    choosing = count
    if forced:
        if (not fresh and (count == 1 or not shared)) or not _ends_with_new(m, list_, after):
            return none
        end -= ENTRY_WIDTH
        places[trail + count - 1] = end
        choosing -= 1
        if not shared:
            return count if _fill_back(m, list_, trail, choosing, end, after) else none
    if fresh:
        at = first_after(m, list_, after, ints(m, SEARCH)[FLOOR])
        return count if _fill(m, trail, plain(0), choosing, at, end, after, shared) else none
    place = choosing - 1 if shared else 0
    while place >= 0:
        at = places[trail + place] + ENTRY_WIDTH
        if _fill(m, trail, place, choosing, at, end, after, shared):
            return count
        place -= 1
    return none


@inlined
def _ends_with_new(m: int, list_: int, after: int) -> bool:
    """Whether the new event is in a list, where it is the last one, and starts after a time."""
    lists, entries = ints(m, LIST), ints(m, ENTRY)
    at = lists[list_ + LIST_TAIL] - ENTRY_WIDTH
    return bool(
        at >= lists[list_ + LIST_HEAD]
        and entries[at] == ints(m, SEARCH)[NEW_ROW]
        and entries[at + ENTRY_START] > after
    )


@compiled
def _fill(
    m: int, trail: int, place: int, count: int, at: int, end: int, after: int, shared: bool
) -> bool:
    """Let the places of a candidate from one on be the next free events."""
    entries, places, used = ints(m, ENTRY), ints(m, TRAIL), tags(m, USED)
    search = ints(m, SEARCH)
    low, first = search[LOW], search[FIRST]
    while place < count:
        while at < end and not is_free(entries, used, at, low, first, after, shared):
            at += ENTRY_WIDTH
        if at >= end:
            return False
        places[trail + place] = at
        at += ENTRY_WIDTH
        place += 1
    return True


@compiled
def _fill_back(m: int, list_: int, trail: int, place: int, at: int, after: int) -> bool:
    """Let the places of a candidate before one be the free events before the new one."""
    entries, places, used = ints(m, ENTRY), ints(m, TRAIL), tags(m, USED)
    search, head = ints(m, SEARCH), ints(m, LIST)[list_ + LIST_HEAD]
    low, first, floor = search[LOW], search[FIRST], search[FLOOR]
    while place > 0:
        at -= ENTRY_WIDTH
        if at < head or entries[at + ENTRY_TOP] <= after or entries[at + ENTRY_TOP] < floor:
            return False
        if is_free(entries, used, at, low, first, after, False):
            place -= 1
            places[trail + place] = at
    return True


# --- the i-th event ----------------------------------------------------------


@compiled
def pick(m: int, base: int, list_: int, after: int, forced: bool, trail: int) -> int:
    """The i-th event of the window, from the front or from the back."""
    leaves, search, used = ints(m, LEAF), ints(m, SEARCH), tags(m, USED)
    none = NO_OTHER if leaves[base + LEAF_SHARED] != 0 else HOPELESS
    at = _counted(m, list_, leaves[base + LEAF_COUNT])
    if at < 0:
        return none
    row, start = ints(m, ENTRY)[at], ints(m, ENTRY)[at + ENTRY_START]
    if used[row] != 0 or start <= after or ints(m, ROW_END)[row] < search[FLOOR]:
        return none
    if forced and row != search[NEW_ROW]:
        return none
    program = leaves[base + LEAF_PROGRAM]
    if program >= 0 and not holds(m, program, row, search[UNMET] != 0):
        return none
    grow(m, TRAIL, trail + 1, 8)
    ints(m, TRAIL)[trail] = at
    return 1


@inlined
def _counted(m: int, list_: int, index: int) -> int:
    """Where the i-th event of the window is, from 1 on or from -1 backwards; -1 if nowhere."""
    entries, used, search = ints(m, ENTRY), tags(m, USED), ints(m, SEARCH)
    head, tail = ints(m, LIST)[list_ + LIST_HEAD], ints(m, LIST)[list_ + LIST_TAIL]
    at, way = (head, ENTRY_WIDTH) if index > 0 else (tail - ENTRY_WIDTH, -ENTRY_WIDTH)
    left = abs(index)
    while head <= at < tail:
        if is_free(entries, used, at, search[LOW], search[FIRST], LEAST, False):
            left -= 1
            if left == 0:
                return int(at)
        at += way
    return -1
