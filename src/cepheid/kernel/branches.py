"""Branches of detectors: what they are made of, the lists in which they are found, their timers.

A branch is a line in one slot; branches of one machine have the same size, so that a free one is
used again. What a branch is made of is a chain of nodes that branches share, from the newest event
to the oldest; a node is free as soon as nobody uses it. A branch is in the list of its state, or in
the list of a key (an attribute of one of its events that the next event must share), or in both.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.detector_slots import (
    AWAIT,
    BRANCH,
    BRANCH_FLAGS,
    BRANCH_FREE,
    BRANCH_HEAP,
    BRANCH_MACHINE,
    BRANCH_NODE,
    BRANCH_STATE,
    BRANCH_TIMER,
    BRANCH_TIMERS,
    COUNTERS,
    FREE_NODE,
    HEAP,
    HEAP_WIDTH,
    KEY,
    KEY_CELL,
    KEY_HEAD,
    KEY_OTHER,
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
    NODE,
    NODE_PARENT,
    NODE_ROW,
    NODE_STATE,
    NODE_USERS,
    NODE_WIDTH,
    ORDER_ENDS,
    PASSING,
    SELF_COUNT,
    SELF_ROW,
    STATE,
    STATE_AWAITS,
    STATE_HEAD,
    STATE_REBINDS,
    STATE_WAYS,
    STATE_WIDTH,
    WAY,
    WAY_COLUMN,
    WAY_REGISTER,
    WAY_WIDTH,
)
from cepheid.kernel.memory import ints, resize, set_size, size, tags
from cepheid.kernel.store import NEVER, ROW_CELLS, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.values import DOUBLE, INT, MISSING, Ints, as_float

NONE, UNLINKED, FIRST = -1, -1, -2
"""No branch; the link to the branch before: in no list, or (and below) the head of one."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX2 = np.uint64(0xBF58476D1CE4E5B9)
_MIX3 = np.uint64(0x94D049BB133111EB)


@inlined
def plain(value: int) -> int:
    """A number that the compiler does not take for a constant.

    A function that is called with a constant is compiled once more for it.
    """
    return value + 0


@inlined
def mixed(value: int) -> int:
    """A number whose bits all depend on all bits of another (splitmix64)."""
    bits = (np.uint64(value) + _MIX) * _MIX2
    bits = (bits ^ (bits >> np.uint64(27))) * _MIX3
    return int(np.int64(bits ^ (bits >> np.uint64(31))))


@inlined
def key_of(tag: int, cell: int) -> tuple[int, int]:
    """A value as a key: equal numbers have one key, whether int or double."""
    if tag == DOUBLE:
        number = as_float(cell)
        if -(2.0**63) <= number < 2.0**63 and number == np.floor(number):
            return INT, int(number)
    return tag, cell


# --- nodes -------------------------------------------------------------------


@inlined
def hold(m: Ints, node: int) -> None:
    """Say that somebody more uses a node."""
    if node >= 0:
        ints(m, NODE)[NODE_WIDTH * node + NODE_USERS] += 1


@compiled
def new_node(m: Ints, parent: int, row: int, state: int) -> int:
    """A node with one user, for an event that came after those of another node."""
    counters = ints(m, COUNTERS)
    node = counters[FREE_NODE]
    if node >= 0:
        counters[FREE_NODE] = ints(m, NODE)[NODE_WIDTH * node + NODE_PARENT]
    else:
        node = size(m, NODE) // NODE_WIDTH
        resize(m, NODE, NODE_WIDTH * (node + 1))
    nodes, at = ints(m, NODE), NODE_WIDTH * node
    nodes[at + NODE_PARENT], nodes[at + NODE_ROW] = parent, row
    nodes[at + NODE_STATE], nodes[at + NODE_USERS] = state, 1
    if parent >= 0:
        nodes[NODE_WIDTH * parent + NODE_USERS] += 1
    passing = ints(m, PASSING)
    if row == passing[SELF_ROW]:
        passing[SELF_COUNT] += 1
    return int(node)


@compiled
def release(m: Ints, node: int) -> None:
    """Say that somebody less uses a node; what nobody uses is free, with what came before it."""
    nodes, counters, passing = ints(m, NODE), ints(m, COUNTERS), ints(m, PASSING)
    while node >= 0:
        at = NODE_WIDTH * node
        nodes[at + NODE_USERS] -= 1
        if nodes[at + NODE_USERS] > 0:
            return
        if nodes[at + NODE_ROW] == passing[SELF_ROW]:
            passing[SELF_COUNT] -= 1
        parent = nodes[at + NODE_PARENT]
        nodes[at + NODE_PARENT] = counters[FREE_NODE]
        counters[FREE_NODE] = node
        node = parent


# --- branches ----------------------------------------------------------------


@compiled
def new_branch(m: Ints, machine: int) -> int:
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
def free_branch(m: Ints, at: int) -> None:
    """Forget a branch; what it was made of must have been released."""
    records = ints(m, BRANCH)
    machine = records[at + BRANCH_MACHINE]
    line = MACHINE_WIDTH * machine
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
def lists_at(m: Ints, machine: int) -> int:
    """Where in a branch the links of its lists begin."""
    return int(ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_LISTS_AT])


# --- lists -------------------------------------------------------------------


@compiled
def relink(m: Ints, at: int, before: int, state: int) -> None:
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
def link(m: Ints, at: int, number: int, state: int) -> None:
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
def unlink(m: Ints, at: int, number: int) -> None:
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
def join_order(m: Ints, at: int, before: int) -> None:
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
def _leave_order(m: Ints, at: int) -> None:
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
def find_key(m: Ints, way: int, tag: int, cell: int) -> int:
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


@compiled
def _slot_of_branch(m: Ints, at: int, machine: int, number: int) -> int:
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
    slot = find_key(m, way, tag, cell)
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
def rebuild_keys(m: Ints) -> None:
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


# --- timers ------------------------------------------------------------------


@inlined
def is_awaited(m: Ints, state: int, timer: int) -> bool:
    """Whether a timer lies in the domain of a state."""
    base = ints(m, STATE)[STATE_WIDTH * state + STATE_AWAITS]
    return bool(ints(m, AWAIT)[2 * (base + timer)] >= 0)


@compiled
def drop_timer(m: Ints, at: int, timer: int) -> None:
    """Stop a timer of a branch, if it runs; the others keep their order."""
    records = ints(m, BRANCH)
    first, count = at + BRANCH_TIMER, records[at + BRANCH_TIMERS]
    to = first
    for place in range(first, first + 2 * count, 2):
        if records[place] != timer:
            records[to], records[to + 1] = records[place], records[place + 1]
            to += 2
    records[at + BRANCH_TIMERS] = (to - first) // 2


@inlined
def add_timer(m: Ints, at: int, timer: int, time: int) -> None:
    """Let a timer run that does not run yet."""
    records = ints(m, BRANCH)
    place = at + BRANCH_TIMER + 2 * records[at + BRANCH_TIMERS]
    records[place], records[place + 1] = timer, time
    records[at + BRANCH_TIMERS] += 1


@compiled
def wait_for_timers(m: Ints, at: int) -> None:
    """Bring the heap up to date with the timers that a branch waits for in its state."""
    records, nearest = ints(m, BRANCH), NEVER
    for place in range(at + BRANCH_TIMER, at + BRANCH_TIMER + 2 * records[at + BRANCH_TIMERS], 2):
        if records[place + 1] < nearest and is_awaited(
            m, records[at + BRANCH_STATE], records[place]
        ):
            nearest = records[place + 1]
    spot = records[at + BRANCH_HEAP]
    if spot >= 0:
        if ints(m, HEAP)[HEAP_WIDTH * spot] == nearest:
            return
        leave_heap(m, at)
    if nearest < NEVER:
        spot = size(m, HEAP) // HEAP_WIDTH
        resize(m, HEAP, HEAP_WIDTH * (spot + 1))
        _rise(m, spot, nearest, at)


@compiled
def leave_heap(m: Ints, at: int) -> None:
    """Take a branch out of the heap, if it is in it."""
    spot = ints(m, BRANCH)[at + BRANCH_HEAP]
    if spot < 0:
        return
    ints(m, BRANCH)[at + BRANCH_HEAP] = NONE
    last = size(m, HEAP) // HEAP_WIDTH - 1
    set_size(m, HEAP, HEAP_WIDTH * last)
    if spot == last:
        return
    heap = ints(m, HEAP)
    time, other = heap[HEAP_WIDTH * last], heap[HEAP_WIDTH * last + 1]
    if spot > 0 and time < heap[HEAP_WIDTH * ((spot - 1) // 2)]:
        _rise(m, spot, time, other)
    else:
        _sink(m, spot, time, other)


@compiled
def _rise(m: Ints, spot: int, time: int, at: int) -> None:
    """Put a branch into the heap, at a spot or nearer to the front."""
    heap, records = ints(m, HEAP), ints(m, BRANCH)
    while spot > 0:
        parent = (spot - 1) // 2
        if heap[HEAP_WIDTH * parent] <= time:
            break
        other = heap[HEAP_WIDTH * parent + 1]
        heap[HEAP_WIDTH * spot], heap[HEAP_WIDTH * spot + 1] = heap[HEAP_WIDTH * parent], other
        records[other + BRANCH_HEAP] = spot
        spot = parent
    heap[HEAP_WIDTH * spot], heap[HEAP_WIDTH * spot + 1] = time, at
    records[at + BRANCH_HEAP] = spot


@compiled
def _sink(m: Ints, spot: int, time: int, at: int) -> None:
    """Put a branch into the heap, at a spot or further from the front."""
    heap, records = ints(m, HEAP), ints(m, BRANCH)
    count = size(m, HEAP) // HEAP_WIDTH
    while 2 * spot + 1 < count:
        child = 2 * spot + 1
        if child + 1 < count and heap[HEAP_WIDTH * (child + 1)] < heap[HEAP_WIDTH * child]:
            child += 1
        if heap[HEAP_WIDTH * child] >= time:
            break
        other = heap[HEAP_WIDTH * child + 1]
        heap[HEAP_WIDTH * spot], heap[HEAP_WIDTH * spot + 1] = heap[HEAP_WIDTH * child], other
        records[other + BRANCH_HEAP] = spot
        spot = child
    heap[HEAP_WIDTH * spot], heap[HEAP_WIDTH * spot + 1] = time, at
    records[at + BRANCH_HEAP] = spot
