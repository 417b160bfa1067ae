"""Stacks: where trees keep their candidates, a list per key from the newest event to the oldest.

SASE's active instance stacks and partitioned stacks (sections 4.1, 4.2), over one vector of
entries. A list is in the total order of events; a composite event that comes late is put where it
belongs. Where `last` chooses for a family, a list is also a staircase: an entry knows the nearest
older one that serves a member it does not serve itself, so that a walk takes one step per stair.

Where events without a key must be found too, there is a stack of all events beside the one by key.
Its list is made when somebody first asks for it, as most streams have no such events.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import (
    NARROW,
    TREES,
    append,
    capacity,
    exchange,
    grow,
    ints,
    set_size,
    shorts,
    size,
    tags,
)
from cepheid.kernel.store import (
    MOVED,
    ROW_CELLS,
    ROW_END,
    ROW_START,
    ROW_TAGS,
    WIDTH,
    compare_rows,
    keep,
    scalar,
)
from cepheid.kernel.values import BOOL, DOUBLE, INT, Ints, as_float

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
ENTRY_MEMBERS, OTHER_MEMBERS, STACK_LIST = TREES + 60, TREES + 61, TREES + 62
"""Slots. Entries in twos: see `ENTRY_*`. Those of a stack with a hole have a place in
`ENTRY_MEMBERS` too, in threes: low and high are the range of members that it satisfies. Lists in
fours: stack, tag and cell of the key, newest entry. Stacks in fives: see `STACK_*`. `STACK_LIST`
is the number of the only list that a stack without a key has, or -1."""
NARROW.update(
    dict.fromkeys((ENTRY, ENTRY_MEMBERS, OTHER_ENTRY, OTHER_MEMBERS, LIST_SLOTS, STACK_LIST), 4)
)

ENTRY_ROW, ENTRY_BEFORE = range(2)
ENTRY_WIDTH = 2
MEMBERS_LOW, MEMBERS_HIGH, MEMBERS_SKIP = range(3)
MEMBERS_WIDTH = 3
ALL_MEMBERS = 2**31 - 1
LIST_STACK, LIST_TAG, LIST_CELL, LIST_HEAD = range(4)
STACK_COLUMN, STACK_HOLE, STACK_RETENTION, STACK_STAIRCASE, STACK_ALIVE = range(5)
STACK_WIDTH = 5
UNKEYED = -1
"""The column of a stack of all events; below it, that of one whose list is made when needed."""
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
        if -(2.0**63) <= number < 2.0**63 and number == np.floor(number):
            return INT, int(number)
    return tag, cell


@inlined
def find_list(m: int, stack: int, tag: int, cell: int) -> int:
    """The number of a list, or -1."""
    if ints(m, STACK)[STACK_WIDTH * stack + STACK_COLUMN] < 0:
        return int(np.int64(shorts(m, STACK_LIST)[stack]))
    slots, lists = shorts(m, LIST_SLOTS), ints(m, LIST)
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
def head_of(m: int, stack: int, tag: int, cell: int) -> int:
    """The newest entry of a list, or -1."""
    number = find_list(m, stack, tag, cell)
    return int(ints(m, LIST)[4 * number + LIST_HEAD]) if number >= 0 else -1


@compiled
def _new_list(m: int, stack: int, tag: int, cell: int) -> int:
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
def _put_slot(m: int, number: int) -> None:
    slots, lists = shorts(m, LIST_SLOTS), ints(m, LIST)
    if ints(m, STACK)[STACK_WIDTH * lists[4 * number] + STACK_COLUMN] < 0:
        shorts(m, STACK_LIST)[lists[4 * number]] = number
    mask = size(m, LIST_SLOTS) - 1
    slot = hashed(lists[4 * number], lists[4 * number + 1], lists[4 * number + 2], mask)
    while slots[slot] > 0:
        slot = (slot + 1) & mask
    slots[slot] = number + 1


@compiled
def rehash(m: int) -> None:
    """Find slots for all lists anew, with room for half as many more; a free slot is 0."""
    count, room = size(m, LIST) // 4, 64
    while room < 3 * count:
        room *= 2
    grow(m, LIST_SLOTS, room, 4)
    set_size(m, LIST_SLOTS, room)
    shorts(m, LIST_SLOTS)[:room] = 0
    shorts(m, STACK_LIST)[: size(m, STACK_LIST)] = -1
    for number in range(count):
        _put_slot(m, number)


@inlined
def push(m: int, stack: int, tag: int, cell: int, row: int, low: int, high: int) -> None:
    """Put a row on top of a list, with the members of the family that it satisfies."""
    number = find_list(m, stack, tag, cell)
    if number < 0:
        number = _new_list(m, stack, tag, cell)
    entry = size(m, ENTRY) // ENTRY_WIDTH
    place = ENTRY_WIDTH * entry
    if place + ENTRY_WIDTH > capacity(m, ENTRY):
        grow(m, ENTRY, place + ENTRY_WIDTH, 4)
    set_size(m, ENTRY, place + ENTRY_WIDTH)
    entries, lists, ends = shorts(m, ENTRY), ints(m, LIST), ints(m, ROW_END)
    head = lists[4 * number + LIST_HEAD]
    entries[place], entries[place + ENTRY_BEFORE] = row, head
    if ints(m, STACK)[STACK_WIDTH * stack + STACK_HOLE] >= 0:
        _put_members(m, entry, low, high, head)
    if head < 0 or ends[entries[ENTRY_WIDTH * head]] < ends[row]:
        lists[4 * number + LIST_HEAD] = entry
        cover = ints(m, STACK)[STACK_WIDTH * stack + STACK_STAIRCASE]
        if cover >= 0:
            _find_stair(m, entry, head, cover)
    else:
        _insert(m, number, entry)


@inlined
def _put_members(m: int, entry: int, low: int, high: int, skip: int) -> None:
    """Say which members of the family an entry satisfies."""
    place = MEMBERS_WIDTH * entry
    if place + MEMBERS_WIDTH > capacity(m, ENTRY_MEMBERS):
        grow(m, ENTRY_MEMBERS, place + MEMBERS_WIDTH, 4)
    set_size(m, ENTRY_MEMBERS, place + MEMBERS_WIDTH)
    members = shorts(m, ENTRY_MEMBERS)
    members[place], members[place + MEMBERS_HIGH] = low, high
    members[place + MEMBERS_SKIP] = skip


@compiled
def _insert(m: int, number: int, entry: int) -> None:
    """Put an entry where it belongs in the total order, which is mostly on top."""
    entries, lists = shorts(m, ENTRY), ints(m, LIST)
    stairs = ints(m, STACK)[STACK_WIDTH * lists[4 * number] + STACK_STAIRCASE] >= 0
    row, above = int(np.int64(entries[ENTRY_WIDTH * entry])), -1
    below = int(lists[4 * number + LIST_HEAD])
    while below >= 0 and _precedes(m, row, below):
        above, below = below, int(np.int64(entries[ENTRY_WIDTH * below + ENTRY_BEFORE]))
        if stairs:
            shorts(m, ENTRY_MEMBERS)[MEMBERS_WIDTH * above + MEMBERS_SKIP] = below
    entries[ENTRY_WIDTH * entry + ENTRY_BEFORE] = below
    if above < 0:
        lists[4 * number + LIST_HEAD] = entry
    else:
        entries[ENTRY_WIDTH * above + ENTRY_BEFORE] = entry
    if stairs:
        members = shorts(m, ENTRY_MEMBERS)
        members[MEMBERS_WIDTH * entry + MEMBERS_SKIP] = below
        if above >= 0:
            members[MEMBERS_WIDTH * above + MEMBERS_SKIP] = entry


@inlined
def _precedes(m: int, row: int, entry: int) -> bool:
    other = int(np.int64(shorts(m, ENTRY)[ENTRY_WIDTH * entry]))
    return compare_rows(m, row, other) < 0


@inlined
def _find_stair(m: int, entry: int, below: int, cover: int) -> None:
    """Set the nearest older entry that serves a member that this one does not serve.

    An older one that starts later may be in a window in which this one is not.
    """
    entries, members, starts = shorts(m, ENTRY), shorts(m, ENTRY_MEMBERS), ints(m, ROW_START)
    place = MEMBERS_WIDTH * entry
    start = starts[entries[ENTRY_WIDTH * entry]]
    low, high = members[place], members[place + MEMBERS_HIGH]
    while below >= 0:
        other = MEMBERS_WIDTH * below
        if starts[entries[ENTRY_WIDTH * below]] > start:
            break
        if cover == PREFIX and members[other + MEMBERS_HIGH] > high:
            break
        if cover == SUFFIX and members[other] < low:
            break
        below = members[other + MEMBERS_SKIP]
    members[place + MEMBERS_SKIP] = below


@compiled
def newest_of_all(m: int, stack: int, source: int) -> int:
    """The newest entry of a stack of all events; its list is made if nobody has asked before.

    The events are those of another stack, by key. Entries may move.
    """
    if find_list(m, stack, BOOL, 0) < 0:
        _new_list(m, stack, BOOL, 0)
        _gather_all(m, stack, source)
    return head_of(m, stack, BOOL, 0)


@compiled
def _gather_all(m: int, stack: int, source: int) -> None:
    """Put the events of all lists of a stack into one, in the order in which they came."""
    entries, lists = shorts(m, ENTRY), ints(m, LIST)
    places = np.full(size(m, ROW_END), -1, np.int64)
    for number in range(size(m, LIST) // 4):
        if lists[4 * number] == source:
            entry = int(lists[4 * number + LIST_HEAD])
            while entry >= 0:
                places[entries[ENTRY_WIDTH * entry]] = entry
                entry = int(np.int64(entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]))
    hole = ints(m, STACK)[STACK_WIDTH * stack + STACK_HOLE]
    low, high = 0, ALL_MEMBERS
    for row in range(len(places)):
        if places[row] < 0:
            continue
        if hole >= 0:
            members = shorts(m, ENTRY_MEMBERS)[MEMBERS_WIDTH * places[row] :]
            low, high = int(np.int64(members[0])), int(np.int64(members[MEMBERS_HIGH]))
        push(m, stack, BOOL, 0, row, low, high)


# --- consumption -------------------------------------------------------------
#
# Where an event can only be in one list of a tree, it is taken out of that. Else what was consumed
# is a set of (tree, row). For each of them there are bits, one per member of the family, in
# `CONSUMED_BITS`: the rules of a family each consume for themselves.


@compiled
def take_out(m: int, stack: int, row: int) -> None:
    """Take an event out of its list in a stack, if it is there: mostly it is among the newest."""
    column, tag, cell = ints(m, STACK)[STACK_WIDTH * stack + STACK_COLUMN], BOOL, 0
    if column >= 0:
        place = row * scalar(m, WIDTH) + column
        tag, cell = key_of(int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place])
    number = find_list(m, stack, tag, cell)
    if number < 0:
        return
    entries, ends, above = shorts(m, ENTRY), ints(m, ROW_END), -1
    entry = int(ints(m, LIST)[4 * number + LIST_HEAD])
    while entry >= 0 and ends[entries[ENTRY_WIDTH * entry]] >= ends[row]:
        below = int(np.int64(entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]))
        if entries[ENTRY_WIDTH * entry] == row:
            if above < 0:
                ints(m, LIST)[4 * number + LIST_HEAD] = below
            else:
                entries[ENTRY_WIDTH * above + ENTRY_BEFORE] = below
            return
        above, entry = entry, below


@inlined
def find_consumed(m: int, tree: int, row: int) -> int:
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
def is_consumed(m: int, tree: int, row: int) -> bool:
    """Whether an event is gone for a tree of one member."""
    return find_consumed(m, tree, row) >= 0


@compiled
def consume(m: int, tree: int, row: int, low: int, high: int, words: int) -> None:
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
def _put_consumed(m: int, tree: int, row: int, at: int) -> None:
    trees, rows = ints(m, CONSUMED_FAMILY), ints(m, CONSUMED_ROW)
    mask = size(m, CONSUMED_FAMILY) - 1
    slot = hashed(tree, 0, row, mask)
    while trees[slot] > 0:
        slot = (slot + 1) & mask
    trees[slot], rows[slot], ints(m, CONSUMED_AT)[slot] = tree + 1, row, at
    set_size(m, CONSUMED_COUNT, size(m, CONSUMED_COUNT) + 1)


@compiled
def _rebuild_consumed(m: int, room: int) -> None:
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
def move_consumed(m: int, words: Ints) -> None:
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
def mark_stacks(m: int, now: int) -> None:
    """Copy what is alive into new entries, list by list, and say which rows they need.

    A list is cut where its stack's retention ends; a list without entries is given up.
    """
    count = size(m, ENTRY) // ENTRY_WIDTH
    grow(m, OTHER_ENTRY, ENTRY_WIDTH * count, 4)
    if size(m, ENTRY_MEMBERS) > 0:
        grow(m, OTHER_MEMBERS, MEMBERS_WIDTH * count, 4)
    lists, stacks, to, kept = ints(m, LIST), ints(m, STACK), 0, 0
    for number in range(size(m, LIST) // 4):
        table = STACK_WIDTH * lists[4 * number]
        begin = to
        if stacks[table + STACK_ALIVE] == 1:
            retention = stacks[table + STACK_RETENTION]
            oldest = now - retention if retention != FOR_EVER else -(2**62)
            hole = stacks[table + STACK_HOLE] >= 0
            to = _copy_list(m, int(lists[4 * number + LIST_HEAD]), to, oldest, hole)
        if to > begin:
            for word in range(3):
                lists[4 * kept + word] = lists[4 * number + word]
            lists[4 * kept + LIST_HEAD] = begin
            kept += 1
    set_size(m, OTHER_ENTRY, ENTRY_WIDTH * to)
    set_size(m, OTHER_MEMBERS, MEMBERS_WIDTH * to if size(m, ENTRY_MEMBERS) > 0 else 0)
    set_size(m, LIST, 4 * kept)
    rehash(m)


@inlined
def _copy_list(m: int, entry: int, to: int, oldest: int, hole: bool) -> int:
    """Copy the entries of a list that end after some time; where the next list begins."""
    entries, other, ends = shorts(m, ENTRY), shorts(m, OTHER_ENTRY), ints(m, ROW_END)
    members, others = shorts(m, ENTRY_MEMBERS), shorts(m, OTHER_MEMBERS)
    begin = to
    while entry >= 0 and ends[entries[ENTRY_WIDTH * entry]] > oldest:
        row = int(np.int64(entries[ENTRY_WIDTH * entry]))
        other[ENTRY_WIDTH * to], other[ENTRY_WIDTH * to + ENTRY_BEFORE] = row, to + 1
        if hole:
            for word in range(MEMBERS_SKIP):
                others[MEMBERS_WIDTH * to + word] = members[MEMBERS_WIDTH * entry + word]
            others[MEMBERS_WIDTH * to + MEMBERS_SKIP] = to + 1
        keep(m, row)
        to += 1
        entry = int(np.int64(entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]))
    if to > begin:
        other[ENTRY_WIDTH * (to - 1) + ENTRY_BEFORE] = -1
        if hole:
            others[MEMBERS_WIDTH * (to - 1) + MEMBERS_SKIP] = -1
    return to


@compiled
def move_stacks(m: int) -> None:
    """Take the new entries, with the new numbers of rows."""
    exchange(m, ENTRY, OTHER_ENTRY)
    exchange(m, ENTRY_MEMBERS, OTHER_MEMBERS)
    set_size(m, OTHER_ENTRY, 0)
    set_size(m, OTHER_MEMBERS, 0)
    entries, moved = shorts(m, ENTRY), ints(m, MOVED)
    for at in range(0, size(m, ENTRY), ENTRY_WIDTH):
        entries[at] = moved[entries[at]]
    _find_stairs(m)


@compiled
def _find_stairs(m: int) -> None:
    """Find the stairs of all lists anew; a list lies in one piece, its newest entry first."""
    entries, lists, stacks = shorts(m, ENTRY), ints(m, LIST), ints(m, STACK)
    end = size(m, ENTRY) // ENTRY_WIDTH
    for number in range(size(m, LIST) // 4 - 1, -1, -1):
        begin = int(lists[4 * number + LIST_HEAD])
        cover = stacks[STACK_WIDTH * lists[4 * number] + STACK_STAIRCASE]
        if cover >= 0:
            for entry in range(end - 1, begin - 1, -1):
                below = int(np.int64(entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]))
                _find_stair(m, entry, below, cover)
        end = begin
