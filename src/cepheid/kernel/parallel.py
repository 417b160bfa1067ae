"""Parallel expressions: machines of their own for both sides, and the pairs of their matches.

A pair is an event for the machine around it. It gets a row of its own, so that it has its place in
the total order; the row goes again unless a branch has the pair as its last event.
"""

from __future__ import annotations

from cepheid.kernel.advance import follow, take_timer, visit
from cepheid.kernel.branches import lists_at
from cepheid.kernel.chains import NONE, begin_gathering, chained, gather, plain
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.deciding import is_too_long
from cepheid.kernel.detector_slots import (
    BRANCH,
    BRANCH_FLAGS,
    BRANCH_LAST,
    BRANCH_MACHINE,
    BRANCH_STATE,
    DETECTOR,
    DETECTOR_NUMBER,
    DETECTOR_PAIR_TYPE,
    DETECTOR_STEPS,
    DETECTOR_STEPS_END,
    DETECTOR_WIDTH,
    DOOR,
    DOOR_ENTRIES,
    DOOR_ENTRIES_END,
    DOOR_WIDTH,
    DUE_BRANCH,
    GATHERED_NAME,
    GATHERED_ROW,
    IS_DUE,
    MACHINE,
    MACHINE_DETECTOR,
    MACHINE_DOOR,
    MACHINE_DOORS,
    MACHINE_DOORS_END,
    MACHINE_ORDERED,
    MACHINE_SIDE,
    MACHINE_WIDTH,
    MATCH_END,
    MATCH_NEXT,
    MATCH_NODE,
    MATCH_START,
    MATCH_WIDTH,
    ORDER_ENDS,
    PAIR,
    PAIR_LEFT,
    PAIR_MOVED,
    PAIR_OTHER,
    PAIR_RIGHT,
    PAIR_USER,
    PAIRS_MADE,
    PAIRS_PARTS,
    PAIRS_ROWS,
    PARALLEL,
    PARALLEL_DIRECT,
    PARALLEL_DOOR,
    PARALLEL_LEFT,
    PARALLEL_MACHINE,
    PARALLEL_RIGHT,
    PARALLEL_TYPE,
    PARALLEL_WIDTH,
    PASSING,
    SIDE,
    SIDE_HEAD,
    SIDE_MATCH,
    SIDE_NEW,
    SIDE_WIDTH,
    STEP,
    STEP_MACHINE,
    STEP_WIDTH,
)
from cepheid.kernel.memory import append, ints, resize, set_size, shorts, size
from cepheid.kernel.sides import add_match, end_pairing, sweep_side
from cepheid.kernel.store import (
    MADE_DEPTH,
    MADE_PARTS,
    MADE_PARTS_END,
    MADE_RULE,
    NOW,
    PART_LABEL,
    PART_ROW,
    ROW_END,
    ROW_MADE,
    ROW_ORIGIN,
    ROW_START,
    ROW_TYPE,
    compare_rows,
    new_bare_row,
    new_origin,
    scalar,
)
from cepheid.kernel.telling import sort_gathered, tell

FOLLOWED = -10
"""A last event that has its new row already is so much less the row."""
PAIR_WIDTH = 3
"""A pair: its row (-1: it needs none), and the matches of its sides."""


@compiled
def take_turns(m: int, detector: int, row: int, type_: int, now: int) -> None:
    """Show an event, or (row -1) the time, to the machines of a rule, each before its pairs."""
    line = DETECTOR_WIDTH * detector
    steps = ints(m, DETECTOR)[line + DETECTOR_STEPS]
    for step in range(steps, ints(m, DETECTOR)[line + DETECTOR_STEPS_END]):
        kind, place = ints(m, STEP)[STEP_WIDTH * step], ints(m, STEP)[STEP_WIDTH * step + 1]
        if kind != STEP_MACHINE:
            for number in range(_pair_up(m, place)):
                shown, door, pair_type = _pass_pair(m, place, number)
                if shown < 0:
                    machine = ints(m, PARALLEL)[PARALLEL_WIDTH * place + PARALLEL_MACHINE]
                    one, other = ints(m, PASSING)[PAIR_LEFT], ints(m, PASSING)[PAIR_RIGHT]
                    start, end = _span_of_pair(m, number)
                    tell(m, machine, one, other, start, end, start, end, plain(0))
                    continue
                begin, end = _entries_of(m, door)
                for entry in range(begin, end):
                    visit(m, entry, shown, pair_type)
            _end_pairs(m, place)
        elif row >= 0:
            begin, end = _entries_of(m, _door_of(m, place, type_))
            for entry in range(begin, end):
                visit(m, entry, row, type_)
        else:
            at, cursor = _next_due(m, place, _first_due(m, place))
            while at >= 0:
                timer, time = take_timer(m, at, now)
                follow(m, place, at, plain(NONE), timer, time)
                at, cursor = _next_due(m, place, cursor)


@inlined
def _entries_of(m: int, door: int) -> tuple[int, int]:
    """The entries behind a door; none behind door -1."""
    if door < 0:
        return 0, 0
    line, doors = DOOR_WIDTH * door, ints(m, DOOR)
    return doors[line + DOOR_ENTRIES], doors[line + DOOR_ENTRIES_END]


@compiled
def _door_of(m: int, machine: int, type_: int) -> int:
    """The door of a machine for a type, or -1."""
    line, doors = MACHINE_WIDTH * machine, ints(m, MACHINE_DOOR)
    begin = ints(m, MACHINE)[line + MACHINE_DOORS]
    for number in range(begin, ints(m, MACHINE)[line + MACHINE_DOORS_END]):
        if doors[2 * number] == type_:
            return int(doors[2 * number + 1])
    return NONE


# --- timers ------------------------------------------------------------------


@inlined
def _first_due(m: int, machine: int) -> int:
    """Where to look first for branches that fire: in the order of the machine, or among all."""
    ordered = ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_ORDERED]
    return int(ints(m, ORDER_ENDS)[2 * machine]) if ordered else 0


@compiled
def _next_due(m: int, machine: int, cursor: int) -> tuple[int, int]:
    """The next branch of a machine that fires, or -1, and where to look after it."""
    records = ints(m, BRANCH)
    if ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_ORDERED]:
        at, links = cursor, lists_at(m, machine)
        while at >= 0 and not records[at + BRANCH_FLAGS] & IS_DUE:
            at = records[at + links + 1]
        return at, records[at + links + 1] if at >= 0 else NONE
    for number in range(cursor, size(m, DUE_BRANCH)):
        at = ints(m, DUE_BRANCH)[number]
        is_due = records[at + BRANCH_FLAGS] & IS_DUE
        if is_due and records[at + BRANCH_MACHINE] == machine:
            return at, number + 1
    return NONE, size(m, DUE_BRANCH)


# --- pairs -------------------------------------------------------------------


@compiled
def _pair_up(m: int, parallel: int) -> int:
    """Pair the new matches of both sides with all of the other; how many pairs are to be shown."""
    line = PARALLEL_WIDTH * parallel
    left = ints(m, PARALLEL)[line + PARALLEL_LEFT]
    right = ints(m, PARALLEL)[line + PARALLEL_RIGHT]
    new_left = ints(m, SIDE)[SIDE_WIDTH * left + SIDE_NEW]
    new_right = ints(m, SIDE)[SIDE_WIDTH * right + SIDE_NEW]
    passing = ints(m, PASSING)
    passing[PAIRS_ROWS], passing[PAIRS_MADE] = size(m, ROW_END), size(m, MADE_RULE)
    passing[PAIRS_PARTS] = size(m, PART_ROW)
    set_size(m, PAIR, 0)
    set_size(m, PAIR_USER, 0)
    if new_left >= 0:
        sweep_side(m, right, scalar(m, NOW))
        _pair_all(m, parallel, new_left, NONE, ints(m, SIDE)[SIDE_WIDTH * right + SIDE_HEAD])
    if new_right >= 0:
        sweep_side(m, left, scalar(m, NOW))
        head = ints(m, SIDE)[SIDE_WIDTH * left + SIDE_HEAD]
        _pair_all(m, parallel, head, new_left, new_right)
    if size(m, PAIR) > PAIR_WIDTH and ints(m, PAIR)[0] >= 0:
        _sort_pairs(m)
    return size(m, PAIR) // PAIR_WIDTH


@compiled
def _pair_all(m: int, parallel: int, one: int, until: int, others: int) -> None:
    """Pair the matches from one on, up to another, with all matches from others on.

    Where a pair is a match and nothing else, it is handed on or told; otherwise it gets a row.
    """
    line = PARALLEL_WIDTH * parallel
    machine, left = ints(m, PARALLEL)[line], ints(m, PARALLEL)[line + PARALLEL_LEFT]
    direct = ints(m, PARALLEL)[line + PARALLEL_DIRECT]
    is_side = ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_SIDE] >= 0
    while one != until and one >= 0:
        other = others
        while other >= 0:
            start, end = _span(m, one, other)
            if is_too_long(m, left, start, end):
                pass
            elif direct and is_side:
                node = chained(m, chained(m, plain(NONE), _node_of(m, one)), _node_of(m, other))
                add_match(m, machine, node, start, end)
            else:
                row = plain(NONE) if direct else _row_of_pair(m, machine, one, other)
                append(m, PAIR, row)
                append(m, PAIR, one)
                append(m, PAIR, other)
            other = ints(m, SIDE_MATCH)[MATCH_WIDTH * other + MATCH_NEXT]
        one = ints(m, SIDE_MATCH)[MATCH_WIDTH * one + MATCH_NEXT]


@inlined
def _span_of_pair(m: int, number: int) -> tuple[int, int]:
    pair = PAIR_WIDTH * number
    return _span(m, ints(m, PAIR)[pair + 1], ints(m, PAIR)[pair + 2])


@inlined
def _node_of(m: int, match: int) -> int:
    return int(ints(m, SIDE_MATCH)[MATCH_WIDTH * match + MATCH_NODE])


@inlined
def _span(m: int, one: int, other: int) -> tuple[int, int]:
    """The interval of a pair."""
    matches, left, right = ints(m, SIDE_MATCH), MATCH_WIDTH * one, MATCH_WIDTH * other
    return (
        min(matches[left + MATCH_START], matches[right + MATCH_START]),
        max(matches[left + MATCH_END], matches[right + MATCH_END]),
    )


@compiled
def _row_of_pair(m: int, machine: int, one: int, other: int) -> int:
    """A row for a pair, as if it were a composite event without a type."""
    begin_gathering(m)
    gather(m, _node_of(m, one))
    gather(m, _node_of(m, other))
    sort_gathered(m)
    first, depth = size(m, PART_ROW), 0
    for at in range(size(m, GATHERED_ROW)):
        row = ints(m, GATHERED_ROW)[at]
        append(m, PART_ROW, row)
        append(m, PART_LABEL, ints(m, GATHERED_NAME)[at])
        if shorts(m, ROW_MADE)[row] >= 0:
            depth = max(depth, ints(m, MADE_DEPTH)[shorts(m, ROW_MADE)[row]])
    line = DETECTOR_WIDTH * ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR]
    made = append(m, MADE_RULE, ints(m, DETECTOR)[line + DETECTOR_NUMBER])
    append(m, MADE_DEPTH, depth + 1)
    append(m, MADE_PARTS, first)
    append(m, MADE_PARTS_END, size(m, PART_ROW))
    start, end = _span(m, one, other)
    type_ = ints(m, DETECTOR)[line + DETECTOR_PAIR_TYPE]
    return new_bare_row(m, new_origin(m), type_, start, end, made)


@compiled
def _sort_pairs(m: int) -> None:
    """Bring pairs into the total order of their rows; equal ones stay as they are."""
    count = size(m, PAIR) // PAIR_WIDTH
    resize(m, PAIR_OTHER, PAIR_WIDTH * count)
    pairs, others = ints(m, PAIR), ints(m, PAIR_OTHER)
    length = 1
    while length < count:
        for begin in range(0, count, 2 * length):
            middle, end = min(begin + length, count), min(begin + 2 * length, count)
            left, right = begin, middle
            for to in range(begin, end):
                if right >= end or (
                    left < middle
                    and compare_rows(m, pairs[PAIR_WIDTH * left], pairs[PAIR_WIDTH * right]) <= 0
                ):
                    source, left = left, left + 1
                else:
                    source, right = right, right + 1
                for word in range(PAIR_WIDTH):
                    others[PAIR_WIDTH * to + word] = pairs[PAIR_WIDTH * source + word]
        for place in range(PAIR_WIDTH * count):
            pairs[place] = others[place]
        length *= 2


@compiled
def _pass_pair(m: int, parallel: int, number: int) -> tuple[int, int, int]:
    """Let a pair be the event that passes: its row, the door for it, and what stands for a type."""
    pair, passing, line = PAIR_WIDTH * number, ints(m, PASSING), PARALLEL_WIDTH * parallel
    passing[PAIR_LEFT] = _node_of(m, ints(m, PAIR)[pair + 1])
    passing[PAIR_RIGHT] = _node_of(m, ints(m, PAIR)[pair + 2])
    parallels = ints(m, PARALLEL)
    return (
        int(ints(m, PAIR)[pair]),
        int(parallels[line + PARALLEL_DOOR]),
        int(parallels[line + PARALLEL_TYPE]),
    )


@compiled
def _end_pairs(m: int, parallel: int) -> None:
    """No pair passes any more; of their rows those stay that are the last event of a branch."""
    passing, line = ints(m, PASSING), PARALLEL_WIDTH * parallel
    passing[PAIR_LEFT] = NONE
    first, count = passing[PAIRS_ROWS], size(m, ROW_END) - passing[PAIRS_ROWS]
    if count > 0:
        resize(m, PAIR_MOVED, count)
        ints(m, PAIR_MOVED)[:count] = NONE
        _mark_used(m, first)
        _pack_pairs(m, first, count)
        _follow_pairs(m, first)
    end_pairing(m, ints(m, PARALLEL)[line + PARALLEL_LEFT])
    end_pairing(m, ints(m, PARALLEL)[line + PARALLEL_RIGHT])


@compiled
def _mark_used(m: int, first: int) -> None:
    """Find the rows from one on that are the last event of a branch."""
    records, moved = ints(m, BRANCH), ints(m, PAIR_MOVED)
    for number in range(size(m, PAIR_USER)):
        at = ints(m, PAIR_USER)[number]
        if records[at + BRANCH_STATE] >= 0 and records[at + BRANCH_LAST] >= first:
            moved[records[at + BRANCH_LAST] - first] = 0


@compiled
def _pack_pairs(m: int, first: int, count: int) -> None:
    """Put the rows of pairs that are used next to each other, with what they are made of."""
    moved, passing = ints(m, PAIR_MOVED), ints(m, PASSING)
    parts, labels = ints(m, PART_ROW), ints(m, PART_LABEL)
    begins, ends = ints(m, MADE_PARTS), ints(m, MADE_PARTS_END)
    rules, depths = ints(m, MADE_RULE), ints(m, MADE_DEPTH)
    to, made, part = first, passing[PAIRS_MADE], passing[PAIRS_PARTS]
    for row in range(first, first + count):
        if moved[row - first] < 0:
            continue
        moved[row - first] = to
        number, begin = shorts(m, ROW_MADE)[row], part
        for at in range(begins[number], ends[number]):
            parts[part], labels[part] = parts[at], labels[at]
            part += 1
        begins[made], ends[made] = begin, part
        rules[made], depths[made] = rules[number], depths[number]
        for slot in (ROW_END, ROW_START, ROW_ORIGIN, ROW_TYPE):
            ints(m, slot)[to] = ints(m, slot)[row]
        shorts(m, ROW_MADE)[to] = made
        to, made = to + 1, made + 1
    set_size(m, ROW_END, to)
    for slot in (MADE_RULE, MADE_DEPTH, MADE_PARTS, MADE_PARTS_END):
        set_size(m, slot, made)
    set_size(m, PART_ROW, part)
    set_size(m, PART_LABEL, part)


@compiled
def _follow_pairs(m: int, first: int) -> None:
    """Let branches follow the rows of their pairs; one that took several is there repeatedly."""
    records, moved = ints(m, BRANCH), ints(m, PAIR_MOVED)
    for number in range(size(m, PAIR_USER)):
        at = ints(m, PAIR_USER)[number]
        if records[at + BRANCH_STATE] >= 0 and records[at + BRANCH_LAST] >= first:
            records[at + BRANCH_LAST] = FOLLOWED - moved[records[at + BRANCH_LAST] - first]
    for number in range(size(m, PAIR_USER)):
        at = ints(m, PAIR_USER)[number]
        if records[at + BRANCH_STATE] >= 0 and records[at + BRANCH_LAST] <= FOLLOWED:
            records[at + BRANCH_LAST] = FOLLOWED - records[at + BRANCH_LAST]
