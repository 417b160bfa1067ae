"""Branches of detectors, and the lists in which they are found.

A branch is a line in one slot; branches of one machine have the same size, so that a free one is
used again. A branch is in the list of its state, or in the list of a key (an attribute of one of
its events that the next event must share), or in both.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.chains import mixed
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.detector_slots import (
    BRANCH,
    BRANCH_FLAGS,
    BRANCH_FREE,
    BRANCH_HEAP,
    BRANCH_MACHINE,
    BRANCH_NODE,
    BRANCH_STATE,
    BRANCH_TIMERS,
    COUNTERS,
    KEY,
    KEY_CELL,
    KEY_HEAD,
    KEY_OTHER,
    KEY_SEEN,
    KEY_TAG,
    KEY_WAY,
    KEY_WIDTH,
    KEYS_USED,
    MACHINE,
    MACHINE_LISTS,
    MACHINE_LISTS_AT,
    MACHINE_ORDERED,
    MACHINE_REGISTERS_AT,
    MACHINE_SIZE,
    MACHINE_WAYS,
    MACHINE_WIDTH,
    ORDER_ENDS,
    PASSING,
    STATE,
    STATE_HEAD,
    STATE_REBINDS,
    STATE_WAYS,
    STATE_WIDTH,
    WAY,
    WAY_COLUMN,
    WAY_REGISTER,
    WAY_WIDTH,
)
from cepheid.kernel.memory import ints, resize, size, tags
from cepheid.kernel.store import ROW_CELLS, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.timers import leave_heap
from cepheid.kernel.values import DOUBLE, INT, MISSING, as_float

NONE, UNLINKED, FIRST = -1, -1, -2
"""No branch; the link to the branch before: in no list, or (and below) the head of one."""


@inlined
def key_of(tag: int, cell: int) -> tuple[int, int]:
    """A value as a key: equal numbers have one key, whether int or double."""
    if tag == DOUBLE:
        number = as_float(cell)
        if -(2.0**63) <= number < 2.0**63 and number == np.floor(number):
            return INT, int(number)
    return tag, cell


# --- branches ----------------------------------------------------------------


@compiled
def new_branch(m: int, machine: int) -> int:
    """Room for a branch that is in no list and has neither timers nor events."""
    line = ints(m, MACHINE)[MACHINE_WIDTH * machine : MACHINE_WIDTH * (machine + 1)]
    free = ints(m, BRANCH_FREE)
    at = free[machine]
    if at >= 0:
        free[machine] = ints(m, BRANCH)[at + BRANCH_NODE]
    else:
        at = size(m, BRANCH)
        resize(m, BRANCH, at + line[MACHINE_SIZE])
    records = ints(m, BRANCH)
    records[at + BRANCH_MACHINE] = machine
    records[at + BRANCH_FLAGS] = 0
    records[at + BRANCH_HEAP] = NONE
    records[at + BRANCH_TIMERS] = 0
    for place in range(at + line[MACHINE_REGISTERS_AT], at + line[MACHINE_LISTS_AT]):
        records[place] = NONE
    for place in range(at + line[MACHINE_LISTS_AT], at + line[MACHINE_SIZE]):
        records[place] = UNLINKED
    return int(at)


@compiled
def free_branch(m: int, at: int) -> None:
    """Forget a branch; what it was made of must have been released."""
    records = ints(m, BRANCH)
    machine = records[at + BRANCH_MACHINE]
    line = MACHINE_WIDTH * machine
    if records[at + BRANCH_HEAP] >= 0:
        leave_heap(m, at)
    if ints(m, MACHINE)[line + MACHINE_ORDERED]:
        _leave_order(m, at)
    else:
        for number in range(ints(m, MACHINE)[line + MACHINE_LISTS]):
            unlink(m, at, number)
    records[at + BRANCH_STATE] = NONE
    records[at + BRANCH_NODE] = ints(m, BRANCH_FREE)[machine]
    ints(m, BRANCH_FREE)[machine] = at


@inlined
def lists_at(m: int, machine: int) -> int:
    """Where in a branch the links of its lists begin."""
    return int(ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_LISTS_AT])


# --- lists -------------------------------------------------------------------


@compiled
def relink(m: int, at: int, before: int, state: int) -> None:
    """Put a branch into the lists of its new state; before (or -1) is the state it was in."""
    states = ints(m, STATE)
    wanted = states[STATE_WIDTH * state + STATE_WAYS]
    left = 0
    if before >= 0:
        was = states[STATE_WIDTH * before + STATE_WAYS]
        stays = was & wanted & ~states[STATE_WIDTH * state + STATE_REBINDS]
        if before != state:
            stays &= ~1
        left, wanted = was & ~stays, wanted & ~stays
    number = 0
    while left | wanted:
        if left & 1:
            unlink(m, at, number)
        if wanted & 1:
            link(m, at, number, state)
        left, wanted, number = left >> 1, wanted >> 1, number + 1


@compiled
def link(m: int, at: int, number: int, state: int) -> None:
    """Put a branch into its state's list (number 0) or into the list of a key."""
    records = ints(m, BRANCH)
    machine = records[at + BRANCH_MACHINE]
    place = at + lists_at(m, machine) + 2 * number
    if number == 0:
        heads, slot, head = ints(m, STATE_HEAD), state, -3 - 2 * state
    else:
        slot = _slot_of_branch(m, at, machine, number)
        if slot < 0:
            return
        heads, head = ints(m, KEY), -2 - 2 * slot
        slot = KEY_WIDTH * slot + KEY_HEAD
    following = heads[slot]
    records[place], records[place + 1] = head, following
    heads[slot] = at
    if following >= 0:
        records[following + lists_at(m, machine) + 2 * number] = at


@compiled
def unlink(m: int, at: int, number: int) -> None:
    """Take a branch out of a list, if it is in it."""
    records = ints(m, BRANCH)
    links = lists_at(m, records[at + BRANCH_MACHINE]) + 2 * number
    before, after = records[at + links], records[at + links + 1]
    if before == UNLINKED:
        return
    if before >= 0:
        records[before + links + 1] = after
    elif before & 1:
        ints(m, STATE_HEAD)[(-3 - before) // 2] = after
    else:
        ints(m, KEY)[KEY_WIDTH * ((-2 - before) // 2) + KEY_HEAD] = after
    if after >= 0:
        records[after + links] = before
    records[at + links] = UNLINKED


# --- order -------------------------------------------------------------------


@compiled
def join_order(m: int, at: int, before: int) -> None:
    """Put a branch into the order of its machine, before another one or (-1) at the end."""
    records, ends = ints(m, BRANCH), ints(m, ORDER_ENDS)
    machine = records[at + BRANCH_MACHINE]
    links = lists_at(m, machine)
    previous = ends[2 * machine + 1] if before < 0 else records[before + links]
    records[at + links], records[at + links + 1] = previous, before
    if previous >= 0:
        records[previous + links + 1] = at
    else:
        records[at + links] = FIRST
        ends[2 * machine] = at
    if before >= 0:
        records[before + links] = at
    else:
        ends[2 * machine + 1] = at


@compiled
def _leave_order(m: int, at: int) -> None:
    records, ends = ints(m, BRANCH), ints(m, ORDER_ENDS)
    machine = records[at + BRANCH_MACHINE]
    links = lists_at(m, machine)
    before, after = records[at + links], records[at + links + 1]
    if before == UNLINKED:
        return
    if before >= 0:
        records[before + links + 1] = after
    else:
        ends[2 * machine] = after
    if after >= 0:
        records[after + links] = before
    else:
        ends[2 * machine + 1] = before if before >= 0 else NONE


# --- keys --------------------------------------------------------------------


@inlined
def _home(way: int, tag: int, cell: int, mask: int) -> int:
    return mixed(cell ^ (way << 40) ^ (tag << 60)) & mask


@inlined
def find_key(m: int, way: int, tag: int, cell: int) -> int:
    """The place of a key in the slot, or the empty place where it belongs."""
    keys, mask = ints(m, KEY), size(m, KEY) // KEY_WIDTH - 1
    slot = _home(way, tag, cell, mask)
    while True:
        at = KEY_WIDTH * slot
        if keys[at + KEY_WAY] == 0 or (
            keys[at + KEY_CELL] == cell
            and keys[at + KEY_WAY] == way + 1
            and keys[at + KEY_TAG] == tag
        ):
            return slot
        slot = (slot + 1) & mask


@inlined
def seen_key(m: int, way: int, tag: int, cell: int) -> int:
    """The same; an event looks for branches of its key before it becomes one of them."""
    keys, slot = ints(m, KEY), ints(m, PASSING)[KEY_SEEN]
    at = KEY_WIDTH * slot
    if at < size(m, KEY) and (
        keys[at + KEY_CELL] == cell and keys[at + KEY_WAY] == way + 1 and keys[at + KEY_TAG] == tag
    ):
        return int(slot)
    slot = find_key(m, way, tag, cell)
    ints(m, PASSING)[KEY_SEEN] = slot
    return slot


@compiled
def _slot_of_branch(m: int, at: int, machine: int, number: int) -> int:
    """The place of a branch's key; -1 when the value is missing, which equals nothing."""
    way = ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_WAYS] + number - 1
    line, registers = ints(m, WAY)[WAY_WIDTH * way :], ints(m, MACHINE)[MACHINE_WIDTH * machine :]
    row = ints(m, BRANCH)[at + registers[MACHINE_REGISTERS_AT] + line[WAY_REGISTER]]
    if row < 0:
        return NONE
    place = row * scalar(m, WIDTH) + line[WAY_COLUMN]
    tag, cell = key_of(int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place])
    if tag == MISSING:
        return NONE
    slot = seen_key(m, way, tag, cell)
    if ints(m, KEY)[KEY_WIDTH * slot] != 0:
        return slot
    if 2 * ints(m, COUNTERS)[KEYS_USED] >= size(m, KEY) // KEY_WIDTH:
        rebuild_keys(m)
        slot = find_key(m, way, tag, cell)
    keys, to = ints(m, KEY), KEY_WIDTH * slot
    keys[to + KEY_WAY], keys[to + KEY_TAG] = way + 1, tag
    keys[to + KEY_CELL], keys[to + KEY_HEAD] = cell, NONE
    ints(m, COUNTERS)[KEYS_USED] += 1
    return slot


@compiled
def rebuild_keys(m: int) -> None:
    """Forget keys without branches, and give the others room enough."""
    count = size(m, KEY)
    resize(m, KEY_OTHER, count)
    others, keys = ints(m, KEY_OTHER), ints(m, KEY)
    others[:count] = keys[:count]
    used = 0
    for at in range(0, count, KEY_WIDTH):
        used += 1 if others[at + KEY_WAY] != 0 and others[at + KEY_HEAD] >= 0 else 0
    wanted = 64
    while wanted < 4 * used:
        wanted *= 2
    resize(m, KEY, KEY_WIDTH * wanted)
    others, keys, records = ints(m, KEY_OTHER), ints(m, KEY), ints(m, BRANCH)
    keys[: KEY_WIDTH * wanted] = 0
    for at in range(0, count, KEY_WIDTH):
        head = others[at + KEY_HEAD]
        if others[at + KEY_WAY] == 0 or head < 0:
            continue
        way = others[at + KEY_WAY] - 1
        slot = find_key(m, way, others[at + KEY_TAG], others[at + KEY_CELL])
        keys[KEY_WIDTH * slot : KEY_WIDTH * slot + KEY_WIDTH] = others[at : at + KEY_WIDTH]
        machine = records[head + BRANCH_MACHINE]
        number = way - ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_WAYS] + 1
        records[head + lists_at(m, machine) + 2 * number] = -2 - 2 * slot
    ints(m, COUNTERS)[KEYS_USED] = used
