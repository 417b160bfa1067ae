"""Stacks: where trees keep their candidates, a list per key from the newest event to the oldest.

SASE's active instance stacks and partitioned stacks (sections 4.1, 4.2), over one vector of
entries. A list is in the total order of events; a composite event that comes late is put where it
belongs. Where `last` chooses for a family, a list is also a staircase: an entry knows the nearest
older one that serves a member it does not serve itself, so that a walk takes one step per stair.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import TREES, append, grow, ints, set_size, size
from cepheid.kernel.store import MOVED, ROW_END, ROW_START, compare_rows, keep
from cepheid.kernel.values import DOUBLE, INT, Ints, as_float

(
    ENTRY,
    LIST,
    LIST_SLOTS,
    CONSUMED_FAMILY,
    CONSUMED_ROW,
    CONSUMED_COUNT,
    STACK,
    OTHER_ENTRY,
    CONSUMED_AT,
    CONSUMED_BITS,
) = range(TREES, TREES + 10)
"""Slots. Entries in fives: see `ENTRY_*`; low and high are the range of members that it satisfies.
Lists in fours: stack, tag and cell of the key, newest entry. Stacks in fives: see `STACK_*`."""

ENTRY_ROW, ENTRY_BEFORE, ENTRY_LOW, ENTRY_HIGH, ENTRY_SKIP = range(5)
ENTRY_WIDTH = 5
LIST_STACK, LIST_TAG, LIST_CELL, LIST_HEAD = range(4)
STACK_COLUMN, STACK_HOLE, STACK_RETENTION, STACK_STAIRCASE, STACK_ALIVE = range(5)
STACK_WIDTH = 5
FOR_EVER = -1
PREFIX, SUFFIX, EXACT = range(3)

_MIX = np.uint64(0x9E3779B97F4A7C15)


@inlined
def hashed(stack: int, tag: int, cell: int, mask: int) -> int:
    """A slot for a stack and a key."""
    mixed = (np.uint64(cell) ^ (np.uint64(stack) << np.uint64(40)) ^ np.uint64(tag)) * _MIX
    mixed ^= mixed >> np.uint64(29)
    return int((mixed * _MIX) >> np.uint64(20)) & mask


@inlined
def key_of(tag: int, cell: int) -> tuple[int, int]:
    """A value as a key: equal numbers have one key, whether int or double."""
    if tag == DOUBLE:
        number = as_float(cell)
        if -9.2e18 < number < 9.2e18 and number == np.floor(number):
            return INT, int(number)
    return tag, cell


@inlined
def find_list(m: Ints, stack: int, tag: int, cell: int) -> int:
    """The number of a list, or -1."""
    slots, lists = ints(m, LIST_SLOTS), ints(m, LIST)
    mask = size(m, LIST_SLOTS) - 1
    slot = hashed(stack, tag, cell, mask)
    while True:
        number = slots[slot] - 1
        if number < 0 or (
            lists[4 * number] == stack
            and lists[4 * number + LIST_TAG] == tag
            and lists[4 * number + LIST_CELL] == cell
        ):
            return int(number)
        slot = (slot + 1) & mask


@inlined
def head_of(m: Ints, stack: int, tag: int, cell: int) -> int:
    """The newest entry of a list, or -1."""
    number = find_list(m, stack, tag, cell)
    return int(ints(m, LIST)[4 * number + LIST_HEAD]) if number >= 0 else -1


@compiled
def _new_list(m: Ints, stack: int, tag: int, cell: int) -> int:
    number = size(m, LIST) // 4
    append(m, LIST, stack)
    append(m, LIST, tag)
    append(m, LIST, cell)
    append(m, LIST, -1)
    if 2 * (number + 1) > size(m, LIST_SLOTS):
        rehash(m)
    else:
        _put_slot(m, number)
    return number


@inlined
def _put_slot(m: Ints, number: int) -> None:
    slots, lists = ints(m, LIST_SLOTS), ints(m, LIST)
    mask = size(m, LIST_SLOTS) - 1
    slot = hashed(lists[4 * number], lists[4 * number + 1], lists[4 * number + 2], mask)
    while slots[slot] > 0:
        slot = (slot + 1) & mask
    slots[slot] = number + 1


@compiled
def rehash(m: Ints) -> None:
    """Find slots for all lists anew, with room for as many again; a free slot is 0."""
    count, room = size(m, LIST) // 4, 64
    while room < 4 * count:
        room *= 2
    grow(m, LIST_SLOTS, room, 8)
    set_size(m, LIST_SLOTS, room)
    ints(m, LIST_SLOTS)[:room] = 0
    for number in range(count):
        _put_slot(m, number)


@inlined
def push(m: Ints, stack: int, tag: int, cell: int, row: int, low: int, high: int) -> None:
    """Put a row on top of a list, with the members of the family that it satisfies."""
    number = find_list(m, stack, tag, cell)
    if number < 0:
        number = _new_list(m, stack, tag, cell)
    place = size(m, ENTRY)
    if place + ENTRY_WIDTH > ints(m, ENTRY).shape[0]:
        grow(m, ENTRY, place + ENTRY_WIDTH, 8)
    set_size(m, ENTRY, place + ENTRY_WIDTH)
    entries, lists, ends = ints(m, ENTRY), ints(m, LIST), ints(m, ROW_END)
    head = lists[4 * number + LIST_HEAD]
    entries[place], entries[place + ENTRY_BEFORE] = row, head
    entries[place + ENTRY_LOW], entries[place + ENTRY_HIGH] = low, high
    entries[place + ENTRY_SKIP] = head
    if head < 0 or ends[entries[ENTRY_WIDTH * head]] < ends[row]:
        lists[4 * number + LIST_HEAD] = place // ENTRY_WIDTH
        cover = ints(m, STACK)[STACK_WIDTH * stack + STACK_STAIRCASE]
        if cover >= 0:
            _find_stair(m, place, head, cover)
    else:
        _insert(m, number, place // ENTRY_WIDTH)


@compiled
def _insert(m: Ints, number: int, entry: int) -> None:
    """Put an entry where it belongs in the total order, which is mostly on top."""
    entries, lists = ints(m, ENTRY), ints(m, LIST)
    row, above, below = entries[ENTRY_WIDTH * entry], -1, lists[4 * number + LIST_HEAD]
    while below >= 0 and compare_rows(m, row, entries[ENTRY_WIDTH * below]) < 0:
        above, below = below, entries[ENTRY_WIDTH * below + ENTRY_BEFORE]
        entries[ENTRY_WIDTH * above + ENTRY_SKIP] = below
    entries[ENTRY_WIDTH * entry + ENTRY_BEFORE] = below
    entries[ENTRY_WIDTH * entry + ENTRY_SKIP] = below
    if above < 0:
        lists[4 * number + LIST_HEAD] = entry
    else:
        entries[ENTRY_WIDTH * above + ENTRY_BEFORE] = entry
        entries[ENTRY_WIDTH * above + ENTRY_SKIP] = entry


@inlined
def _find_stair(m: Ints, place: int, below: int, cover: int) -> None:
    """Set the nearest older entry that serves a member that this one does not serve.

    An older one that starts later may be in a window in which this one is not.
    """
    entries, starts = ints(m, ENTRY), ints(m, ROW_START)
    start = starts[entries[place]]
    low, high = entries[place + ENTRY_LOW], entries[place + ENTRY_HIGH]
    while below >= 0:
        other = ENTRY_WIDTH * below
        if starts[entries[other]] > start:
            break
        if cover == PREFIX and entries[other + ENTRY_HIGH] > high:
            break
        if cover == SUFFIX and entries[other + ENTRY_LOW] < low:
            break
        below = entries[other + ENTRY_SKIP]
    entries[place + ENTRY_SKIP] = below


# --- consumption -------------------------------------------------------------
#
# What was consumed is a set of (tree, row). For each of them there are bits, one per member of the
# family, in `CONSUMED_BITS`: the rules of a family each consume for themselves.


@inlined
def find_consumed(m: Ints, tree: int, row: int) -> int:
    """Where the bits are that tell for which members an event is gone; -1 if it is for none."""
    trees, rows = ints(m, CONSUMED_FAMILY), ints(m, CONSUMED_ROW)
    mask = size(m, CONSUMED_FAMILY) - 1
    slot = hashed(tree, 0, row, mask)
    while trees[slot] > 0:
        if trees[slot] == tree + 1 and rows[slot] == row:
            return int(ints(m, CONSUMED_AT)[slot])
        slot = (slot + 1) & mask
    return -1


@inlined
def is_consumed(m: Ints, tree: int, row: int) -> bool:
    """Whether an event is gone for a tree of one member."""
    return find_consumed(m, tree, row) >= 0


@compiled
def consume(m: Ints, tree: int, row: int, low: int, high: int, words: int) -> None:
    """Take an event away from some members of a tree that has so many words of members."""
    at = find_consumed(m, tree, row)
    if at < 0:
        if 2 * (size(m, CONSUMED_COUNT) + 1) > size(m, CONSUMED_FAMILY):
            _rebuild_consumed(m, 2 * size(m, CONSUMED_FAMILY))
        at = size(m, CONSUMED_BITS)
        for _ in range(words):
            append(m, CONSUMED_BITS, 0)
        _put_consumed(m, tree, row, at)
    bits = ints(m, CONSUMED_BITS)
    for word in range(words):
        bits[at + word] |= range_bits(low, high, word)


@inlined
def range_bits(low: int, high: int, word: int) -> int:
    """The bits of a word that stand for the members in a range."""
    begin, end = max(low - 64 * word, 0), min(high - 64 * word, 64)
    if begin >= end:
        return 0
    upto = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - end)
    return int(np.int64(upto & (np.uint64(0xFFFFFFFFFFFFFFFF) << np.uint64(begin))))


@inlined
def _put_consumed(m: Ints, tree: int, row: int, at: int) -> None:
    trees, rows = ints(m, CONSUMED_FAMILY), ints(m, CONSUMED_ROW)
    mask = size(m, CONSUMED_FAMILY) - 1
    slot = hashed(tree, 0, row, mask)
    while trees[slot] > 0:
        slot = (slot + 1) & mask
    trees[slot], rows[slot], ints(m, CONSUMED_AT)[slot] = tree + 1, row, at
    set_size(m, CONSUMED_COUNT, size(m, CONSUMED_COUNT) + 1)


@compiled
def _rebuild_consumed(m: Ints, room: int) -> None:
    """Find slots anew for everything that was consumed, in so much room."""
    count = size(m, CONSUMED_FAMILY)
    trees, rows = ints(m, CONSUMED_FAMILY)[:count].copy(), ints(m, CONSUMED_ROW)[:count].copy()
    places = ints(m, CONSUMED_AT)[:count].copy()
    for slot in (CONSUMED_FAMILY, CONSUMED_ROW, CONSUMED_AT):
        grow(m, slot, room, 8)
        set_size(m, slot, room)
    set_size(m, CONSUMED_COUNT, 0)
    ints(m, CONSUMED_FAMILY)[:room] = 0
    for at in range(count):
        if trees[at] > 0:
            _put_consumed(m, trees[at] - 1, rows[at], places[at])


@compiled
def move_consumed(m: Ints, words: Ints) -> None:
    """Take the new numbers of rows; what was consumed and is no longer kept is forgotten.

    `words` tells how many words of bits each tree has.
    """
    room, moved = size(m, CONSUMED_FAMILY), ints(m, MOVED)
    trees, rows, places = (
        ints(m, CONSUMED_FAMILY),
        ints(m, CONSUMED_ROW),
        ints(m, CONSUMED_AT),
    )
    bits = ints(m, CONSUMED_BITS)[: size(m, CONSUMED_BITS)].copy()
    set_size(m, CONSUMED_BITS, 0)
    for slot in range(room):
        if trees[slot] == 0:
            continue
        rows[slot] = moved[rows[slot]]
        if rows[slot] < 0:
            trees[slot] = 0
            continue
        begin = places[slot]
        places[slot] = size(m, CONSUMED_BITS)
        for word in range(words[trees[slot] - 1]):
            append(m, CONSUMED_BITS, bits[begin + word])
    _rebuild_consumed(m, room)


# --- compaction --------------------------------------------------------------


@compiled
def mark_stacks(m: Ints, now: int) -> None:
    """Copy what is alive into new entries, list by list, and say which rows they need.

    A list is cut where its stack's retention ends; a list without entries is given up.
    """
    grow(m, OTHER_ENTRY, size(m, ENTRY), 8)
    entries, other, lists = ints(m, ENTRY), ints(m, OTHER_ENTRY), ints(m, LIST)
    ends, stacks = ints(m, ROW_END), ints(m, STACK)
    to, kept = 0, 0
    for number in range(size(m, LIST) // 4):
        stack = lists[4 * number]
        retention = stacks[STACK_WIDTH * stack + STACK_RETENTION]
        oldest = now - retention if retention != FOR_EVER else -(2**62)
        begin, entry = to, lists[4 * number + LIST_HEAD]
        if stacks[STACK_WIDTH * stack + STACK_ALIVE] == 0:
            entry = -1
        while entry >= 0 and ends[entries[ENTRY_WIDTH * entry]] > oldest:
            for word in range(ENTRY_WIDTH):
                other[to + word] = entries[ENTRY_WIDTH * entry + word]
            other[to + ENTRY_BEFORE] = other[to + ENTRY_SKIP] = to // ENTRY_WIDTH + 1
            keep(m, entries[ENTRY_WIDTH * entry])
            to += ENTRY_WIDTH
            entry = entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]
        if to > begin:
            other[to - ENTRY_WIDTH + ENTRY_BEFORE] = other[to - ENTRY_WIDTH + ENTRY_SKIP] = -1
            for word in range(3):
                lists[4 * kept + word] = lists[4 * number + word]
            lists[4 * kept + LIST_HEAD] = begin // ENTRY_WIDTH
            kept += 1
    set_size(m, OTHER_ENTRY, to)
    set_size(m, LIST, 4 * kept)
    rehash(m)


@compiled
def move_stacks(m: Ints) -> None:
    """Take the new entries, with the new numbers of rows."""
    count, moved = size(m, OTHER_ENTRY), ints(m, MOVED)
    entries, other = ints(m, ENTRY), ints(m, OTHER_ENTRY)
    entries[:count] = other[:count]
    for at in range(0, count, ENTRY_WIDTH):
        entries[at] = moved[entries[at]]
    set_size(m, ENTRY, count)
    _find_stairs(m)
    set_size(m, OTHER_ENTRY, 0)


@compiled
def _find_stairs(m: Ints) -> None:
    """Find the stairs of all lists anew; a list lies in one piece, its newest entry first."""
    entries, lists, stacks = ints(m, ENTRY), ints(m, LIST), ints(m, STACK)
    end = size(m, ENTRY)
    for number in range(size(m, LIST) // 4 - 1, -1, -1):
        begin = ENTRY_WIDTH * lists[4 * number + LIST_HEAD]
        cover = stacks[STACK_WIDTH * lists[4 * number] + STACK_STAIRCASE]
        if cover >= 0:
            for place in range(end - ENTRY_WIDTH, begin - 1, -ENTRY_WIDTH):
                _find_stair(m, place, entries[place + ENTRY_BEFORE], cover)
        end = begin
