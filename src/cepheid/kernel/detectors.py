"""Detectors in compiled code: an event comes in, timers fire, rows are given up.

The eager strategy of the core language. The state of a detector is a list of branches, each of
them a partial match; see `advance` for what an event does to them, `parallel` for machines beside
each other, and `detector_plan` for the tables.
"""

from __future__ import annotations

from cepheid.kernel.advance import follow, take_timer, visit
from cepheid.kernel.branches import free_branch, key_of, lists_at, rebuild_keys
from cepheid.kernel.chains import NONE, mixed, plain, release
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.deciding import is_doomed
from cepheid.kernel.detector_slots import (
    BRANCH,
    BRANCH_FLAGS,
    BRANCH_FREE,
    BRANCH_LAST,
    BRANCH_MACHINE,
    BRANCH_MOVED,
    BRANCH_NODE,
    BRANCH_STATE,
    COUNTERS,
    DETECTOR,
    DETECTOR_ALIVE,
    DETECTOR_STEPS,
    DETECTOR_STEPS_END,
    DETECTOR_WIDTH,
    DOOR,
    DOOR_ENTRIES,
    DOOR_ENTRIES_END,
    DOOR_GATES,
    DOOR_GATES_END,
    DOOR_WIDTH,
    DUE_BRANCH,
    EMPTY_LADDER,
    ENTRY,
    ENTRY_PLACE,
    ENTRY_WIDTH,
    FREE_NODE,
    FRESH_COUNT,
    GATE,
    GATED,
    GATED_CELL,
    GATED_COLUMN,
    GATED_DOOR,
    GATED_ENTRIES,
    GATED_ENTRIES_END,
    GATED_SLOT,
    GATED_TAG,
    GATED_WIDTH,
    HEAP,
    HEAP_WIDTH,
    IS_DUE,
    KEY,
    KEY_HEAD,
    KEY_WIDTH,
    MACHINE,
    MACHINE_DETECTOR,
    MACHINE_REGISTERS,
    MACHINE_REGISTERS_AT,
    MACHINE_RUNGS,
    MACHINE_SIDE,
    MACHINE_SIZE,
    MACHINE_WIDTH,
    MATCH_NODE,
    MATCH_WIDTH,
    NODE,
    NODE_COUNT,
    NODE_FIRST,
    NODE_MOVED,
    NODE_PARENT,
    NODE_USERS,
    NODE_WIDTH,
    ORDER_ENDS,
    PAIR_LEFT,
    PASSING,
    SELF_COUNT,
    SELF_ROW,
    SIDE,
    SIDE_HEAD,
    SIDE_MATCH,
    SIDE_WIDTH,
    STAMP,
    STATE_HEAD,
    TYPE_DOOR,
    WHOLE_RULE,
)
from cepheid.kernel.ladders import clear_ladder, forget_unused, trim
from cepheid.kernel.memory import append, ints, resize, set_size, size, tags
from cepheid.kernel.parallel import take_turns
from cepheid.kernel.sides import drop_match, sweep_side
from cepheid.kernel.store import (
    MOVED,
    NEVER,
    ROW_CELLS,
    ROW_TAGS,
    ROW_TYPE,
    WIDTH,
    keep,
    scalar,
)
from cepheid.kernel.timers import leave_heap
from cepheid.kernel.told import move_told, sweep_told
from cepheid.kernel.values import MISSING, Ints


@compiled
def see_detectors(m: int, row: int) -> bool:
    """Show an event to all detectors; whether they hold it now."""
    type_ = ints(m, ROW_TYPE)[row]
    door = ints(m, TYPE_DOOR)[type_] if type_ < size(m, TYPE_DOOR) else NONE
    if door < 0:
        return False
    _begin(m, row)
    doors = ints(m, DOOR)[DOOR_WIDTH * door : DOOR_WIDTH * (door + 1)]
    begin, end, gate = doors[DOOR_ENTRIES], doors[DOOR_ENTRIES_END], doors[DOOR_GATES]
    while True:
        for entry in range(begin, end):
            if ints(m, ENTRY)[ENTRY_WIDTH * entry] == WHOLE_RULE:
                place = ints(m, ENTRY)[ENTRY_WIDTH * entry + ENTRY_PLACE]
                take_turns(m, place, row, type_, plain(0))
            else:
                visit(m, entry, row, type_)
        if gate == doors[DOOR_GATES_END]:
            clear_ladder(m)
            return bool(ints(m, PASSING)[SELF_COUNT] > 0)
        begin, end = _behind_gate(m, door, ints(m, GATE)[gate], row)
        gate += 1


@inlined
def _begin(m: int, row: int) -> None:
    """An event (or, with row -1, a time) passes; nothing of it is known yet."""
    passing = ints(m, PASSING)
    passing[STAMP] += 1
    passing[SELF_ROW], passing[SELF_COUNT] = row, 0
    passing[PAIR_LEFT], passing[FRESH_COUNT], passing[EMPTY_LADDER] = NONE, 0, NONE


# --- gates -------------------------------------------------------------------


@inlined
def _home(door: int, column: int, tag: int, cell: int, mask: int) -> int:
    return mixed(cell ^ mixed(door ^ (column << 30) ^ (tag << 60))) & mask


@compiled
def _behind_gate(m: int, door: int, column: int, row: int) -> tuple[int, int]:
    """The entries that are open to an event because of its value in a column."""
    place = row * scalar(m, WIDTH) + column
    tag, cell = key_of(int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place])
    slots, gated = ints(m, GATED_SLOT), ints(m, GATED)
    mask = size(m, GATED_SLOT) - 1
    slot = _home(door, column, tag, cell, mask)
    while slots[slot] > 0 and tag != MISSING:
        line = GATED_WIDTH * (slots[slot] - 1)
        if (
            gated[line + GATED_CELL] == cell
            and gated[line + GATED_TAG] == tag
            and gated[line + GATED_COLUMN] == column
            and gated[line + GATED_DOOR] == door
        ):
            return gated[line + GATED_ENTRIES], gated[line + GATED_ENTRIES_END]
        slot = (slot + 1) & mask
    return 0, 0


@compiled
def fill_gates(m: int) -> None:
    """Let the gates be found by their values."""
    count = size(m, GATED) // GATED_WIDTH
    wanted = 16
    while wanted < 2 * count:
        wanted *= 2
    resize(m, GATED_SLOT, wanted)
    slots, gated = ints(m, GATED_SLOT), ints(m, GATED)
    slots[:wanted] = 0
    for number in range(count):
        line = GATED_WIDTH * number
        slot = _home(
            gated[line + GATED_DOOR],
            gated[line + GATED_COLUMN],
            gated[line + GATED_TAG],
            gated[line + GATED_CELL],
            wanted - 1,
        )
        while slots[slot] > 0:
            slot = (slot + 1) & (wanted - 1)
        slots[slot] = number + 1


# --- time --------------------------------------------------------------------


@compiled
def due_detectors(m: int) -> int:
    """When the next timer fires for which a branch waits."""
    return int(ints(m, HEAP)[0]) if size(m, HEAP) > 0 else NEVER


@compiled
def fire_detectors(m: int, now: int) -> None:
    """Let every branch with a timer that is due take one step; what it sets fires later.

    Where no branch waits for one, it may be that there is no detector at all.
    """
    if due_detectors(m) > now:
        return
    _begin(m, NONE)
    set_size(m, DUE_BRANCH, 0)
    while size(m, HEAP) > 0 and ints(m, HEAP)[0] <= now:
        at = ints(m, HEAP)[1]
        leave_heap(m, at)
        if _detector_of(m, at)[DETECTOR_ALIVE]:
            ints(m, BRANCH)[at + BRANCH_FLAGS] |= IS_DUE
            append(m, DUE_BRANCH, at)
    for number in range(size(m, DUE_BRANCH)):
        at = ints(m, DUE_BRANCH)[number]
        if not ints(m, BRANCH)[at + BRANCH_FLAGS] & IS_DUE:
            continue
        machine, line = ints(m, BRANCH)[at + BRANCH_MACHINE], _detector_of(m, at)
        if line[DETECTOR_STEPS_END] > line[DETECTOR_STEPS]:
            detector = ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR]
            take_turns(m, detector, plain(NONE), plain(0), now)
        else:
            timer, time = take_timer(m, at, now)
            follow(m, machine, at, plain(NONE), timer, time)


@inlined
def _detector_of(m: int, at: int) -> Ints:
    machine = ints(m, BRANCH)[at + BRANCH_MACHINE]
    line = DETECTOR_WIDTH * ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR]
    return ints(m, DETECTOR)[line : line + DETECTOR_WIDTH]


# --- compaction --------------------------------------------------------------


@compiled
def mark_detectors(m: int, now: int) -> None:
    """Drop what has expired or belongs to removed rules; keep the rows of what is left."""
    _drop_branches(m, now)
    _drop_matches(m, now)
    nodes, records = ints(m, NODE), ints(m, BRANCH)
    for node in range(0, size(m, NODE), NODE_WIDTH):
        first = node + NODE_FIRST
        if nodes[node + NODE_USERS] > 0:
            for place in range(first, first + 2 * nodes[node + NODE_COUNT], 2):
                keep(m, nodes[place])
    at = 0
    while at < size(m, BRANCH):
        # The last event is among the nodes, unless it is a pair.
        if records[at + BRANCH_STATE] >= 0 and records[at + BRANCH_LAST] >= 0:
            keep(m, records[at + BRANCH_LAST])
            _keep_ladder(m, at)
        at += _size_of(m, at)
    sweep_told(m)


@inlined
def _keep_ladder(m: int, at: int) -> None:
    """Keep the rows of a branch that is a ladder."""
    machine = ints(m, BRANCH)[at + BRANCH_MACHINE]
    line = MACHINE_WIDTH * machine
    if ints(m, MACHINE)[line + MACHINE_RUNGS]:
        latest = at + ints(m, MACHINE)[line + MACHINE_REGISTERS_AT]
        for place in range(latest, latest + forget_unused(m, machine, at)):
            keep(m, ints(m, BRANCH)[place])


@inlined
def _size_of(m: int, at: int) -> int:
    machine = ints(m, BRANCH)[at + BRANCH_MACHINE]
    return int(ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_SIZE])


@compiled
def _drop_branches(m: int, now: int) -> None:
    records, at = ints(m, BRANCH), 0
    while at < size(m, BRANCH):
        if records[at + BRANCH_STATE] >= 0:
            removed, machine = not _detector_of(m, at)[DETECTOR_ALIVE], records[at + BRANCH_MACHINE]
            if ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_RUNGS]:
                doomed = not trim(m, machine, at, now)
            else:
                doomed = is_doomed(m, machine, at, now)
            if removed or doomed:
                release(m, records[at + BRANCH_NODE])
                free_branch(m, at)
        at += _size_of(m, at)


@compiled
def _drop_matches(m: int, now: int) -> None:
    for machine in range(size(m, MACHINE) // MACHINE_WIDTH):
        line = MACHINE_WIDTH * machine
        if ints(m, MACHINE)[line + MACHINE_SIDE] < 0:
            continue
        detector = DETECTOR_WIDTH * ints(m, MACHINE)[line + MACHINE_DETECTOR]
        if ints(m, DETECTOR)[detector + DETECTOR_ALIVE]:
            sweep_side(m, machine, now)
            continue
        while ints(m, SIDE)[SIDE_WIDTH * machine + SIDE_HEAD] >= 0:
            drop_match(m, machine, NONE, ints(m, SIDE)[SIDE_WIDTH * machine + SIDE_HEAD])


@compiled
def move_detectors(m: int) -> None:
    """Follow rows to where compaction put them, and give up room that is not used."""
    moved, nodes, records = ints(m, MOVED), ints(m, NODE), ints(m, BRANCH)
    for node in range(0, size(m, NODE), NODE_WIDTH):
        first = node + NODE_FIRST
        if nodes[node + NODE_USERS] > 0:
            for place in range(first, first + 2 * nodes[node + NODE_COUNT], 2):
                nodes[place] = moved[nodes[place]]
    at = 0
    while at < size(m, BRANCH):
        if records[at + BRANCH_STATE] >= 0:
            if records[at + BRANCH_LAST] >= 0:
                records[at + BRANCH_LAST] = moved[records[at + BRANCH_LAST]]
            line = MACHINE_WIDTH * records[at + BRANCH_MACHINE]
            first = at + ints(m, MACHINE)[line + MACHINE_REGISTERS_AT]
            for place in range(first, first + ints(m, MACHINE)[line + MACHINE_REGISTERS]):
                if records[place] >= 0:
                    records[place] = moved[records[place]]
        at += _size_of(m, at)
    move_told(m)
    _pack_nodes(m)
    _pack_branches(m)
    rebuild_keys(m)


@compiled
def _pack_nodes(m: int) -> None:
    """Put the nodes that are used next to each other."""
    count = size(m, NODE) // NODE_WIDTH
    resize(m, NODE_MOVED, count)
    nodes, moved, to = ints(m, NODE), ints(m, NODE_MOVED), 0
    for node in range(count):
        if nodes[NODE_WIDTH * node + NODE_USERS] > 0:
            moved[node] = to
            for word in range(NODE_WIDTH):
                nodes[NODE_WIDTH * to + word] = nodes[NODE_WIDTH * node + word]
            to += 1
    set_size(m, NODE, NODE_WIDTH * to)
    ints(m, COUNTERS)[FREE_NODE] = NONE
    for node in range(to):
        parent = nodes[NODE_WIDTH * node + NODE_PARENT]
        if parent >= 0:
            nodes[NODE_WIDTH * node + NODE_PARENT] = moved[parent]
    records, at = ints(m, BRANCH), 0
    while at < size(m, BRANCH):
        if records[at + BRANCH_STATE] >= 0 and records[at + BRANCH_NODE] >= 0:
            records[at + BRANCH_NODE] = moved[records[at + BRANCH_NODE]]
        at += _size_of(m, at)
    matches = ints(m, SIDE_MATCH)
    for at in range(MATCH_NODE, size(m, SIDE_MATCH), MATCH_WIDTH):
        if matches[at] >= 0:
            matches[at] = moved[matches[at]]


@compiled
def _pack_branches(m: int) -> None:
    """Put the branches that are alive next to each other."""
    count, to = size(m, BRANCH), 0
    resize(m, BRANCH_MOVED, count)
    records, moved, at = ints(m, BRANCH), ints(m, BRANCH_MOVED), 0
    while at < count:
        length = _size_of(m, at)
        if records[at + BRANCH_STATE] >= 0:
            moved[at] = to
            for word in range(length):
                records[to + word] = records[at + word]
            to += length
        at += length
    set_size(m, BRANCH, to)
    ints(m, BRANCH_FREE)[: size(m, BRANCH_FREE)] = NONE
    _follow_branches(m)


@compiled
def _follow_branches(m: int) -> None:
    """Let everything that speaks of branches follow them."""
    records, moved, at = ints(m, BRANCH), ints(m, BRANCH_MOVED), 0
    while at < size(m, BRANCH):
        length = _size_of(m, at)
        for place in range(at + lists_at(m, records[at + BRANCH_MACHINE]), at + length):
            if records[place] >= 0:
                records[place] = moved[records[place]]
        at += length
    for slot in (STATE_HEAD, ORDER_ENDS):
        heads = ints(m, slot)
        for place in range(size(m, slot)):
            if heads[place] >= 0:
                heads[place] = moved[heads[place]]
    keys, heap = ints(m, KEY), ints(m, HEAP)
    for place in range(KEY_HEAD, size(m, KEY), KEY_WIDTH):
        if keys[place] >= 0 and keys[place - KEY_HEAD] != 0:
            keys[place] = moved[keys[place]]
    for place in range(1, size(m, HEAP), HEAP_WIDTH):
        heap[place] = moved[heap[place]]
