"""The lazy strategy: store candidates in stacks, construct matches backwards from a terminator.

SASE's active instance stacks and T-Rex's shared storage of events, over arrays. Windows, keys and
conditions are applied while a match is constructed, so that a dead end costs one step. A search
carries the range of a family's members for which it is still good.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.cpython.unsafe import numbers

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.filters import find_meant
from cepheid.kernel.matches import (
    MATCH_HIGH,
    MATCH_LABEL,
    MATCH_LOW,
    MATCH_ROW,
    MATCH_ROWS,
    add_outputs,
    match_count,
    open_match,
)
from cepheid.kernel.members import members_of_row
from cepheid.kernel.memory import (
    append,
    capacity,
    grow,
    ints,
    reserve,
    set_size,
    shorts,
    size,
    tags,
)
from cepheid.kernel.probes import (
    KNOWN_TAG,
    KNOWN_WIDTH,
    UNKNOWN,
    bounds,
    newest,
    newest_below,
)
from cepheid.kernel.programs import FRAME_HIGH, FRAME_LOW, FRAME_ROW
from cepheid.kernel.stacks import (
    ALL_MEMBERS,
    CONSUMED_BITS,
    ENTRY,
    ENTRY_BEFORE,
    ENTRY_MEMBERS,
    ENTRY_WIDTH,
    MEMBERS_HIGH,
    MEMBERS_SKIP,
    MEMBERS_WIDTH,
    PREFIX,
    STACK,
    STACK_COLUMN,
    STACK_HOLE,
    STACK_STAIRCASE,
    STACK_WIDTH,
    SUFFIX,
    UNKEYED,
    consume,
    find_consumed,
    find_list,
    is_consumed,
    key_of,
    mark_stacks,
    move_consumed,
    move_stacks,
    push,
    range_bits,
)
from cepheid.kernel.steps import passes
from cepheid.kernel.store import (
    MOVED,
    NEVER,
    ROW_CELLS,
    ROW_END,
    ROW_START,
    ROW_TAGS,
    WIDTH,
    keep,
    scalar,
)
from cepheid.kernel.tables import (
    CANDIDATE_BEGIN,
    CANDIDATE_END,
    COMPONENT,
    COMPONENT_COUNT,
    COMPONENT_COVER,
    COMPONENT_LABEL,
    COMPONENT_POLICY,
    COMPONENT_PROBE,
    COMPONENT_WIDTH,
    FINAL_BEGIN,
    FINAL_END,
    KNOWN,
    MEANT,
    OPEN,
    PICK_BEGIN,
    PICK_END,
    PICK_HIGH,
    PICK_LOW,
    PICK_ROW,
    PICKED_BEGIN,
    PICKED_END,
    PREDICATE,
    PREDICATE_FAMILY,
    PREDICATE_MISSING,
    PREDICATE_STACK,
    PREDICATE_WIDTH,
    PROBE,
    PROBE_STACK,
    PROBE_WIDTH,
    STACKS_BEGIN,
    STACKS_END,
    TREE,
    TREE_ALIVE,
    TREE_COMPONENTS,
    TREE_CONSUMES,
    TREE_DEADLINE,
    TREE_DEADLINE_OFFSET,
    TREE_FAMILY,
    TREE_HOLE,
    TREE_MEMBERS,
    TREE_MISSING,
    TREE_SIZE,
    TREE_SPLIT,
    TREE_WIDTH,
    TREE_WITHIN,
    TREES_BEGIN,
    TREES_END,
    WAIT,
    WAIT_HEAP,
    WAIT_HIGH,
    WAIT_LOW,
    WAIT_ROW,
    WAIT_ROWS,
    WAIT_TIME,
    WAIT_TREE,
    WAIT_WIDTH,
)
from cepheid.kernel.values import BOOL

trailing_zeros: Any = numbers.trailing_zeros
FIRST, LAST = 1, 2


@compiled
def see_trees(m: int, row: int) -> bool:
    """Search where an event completes something, then store it where it may be needed."""
    count = find_meant(m, row)
    found, waiting, stored = match_count(m), size(m, WAIT_HEAP), False
    for index in range(count):
        at, table = PREDICATE_WIDTH * ints(m, MEANT)[index], ints(m, PREDICATE)
        stored = stored or table[at + STACKS_BEGIN] < table[at + STACKS_END]
        for number in range(table[at + TREES_BEGIN], table[at + TREES_END]):
            _search(m, ints(m, PREDICATE_FAMILY)[number], row)
    if stored:
        for index in range(count):
            _store(m, ints(m, MEANT)[index], row)
    return stored or match_count(m) > found or size(m, WAIT_HEAP) > waiting


@inlined
def _store(m: int, predicate: int, row: int) -> None:
    """Put an event on every stack of a predicate."""
    at = PREDICATE_WIDTH * predicate
    missing = ints(m, PREDICATE)[at + PREDICATE_MISSING] == 1
    width = scalar(m, WIDTH)
    for number in range(ints(m, PREDICATE)[at + STACKS_BEGIN], ints(m, PREDICATE)[at + STACKS_END]):
        stack = ints(m, PREDICATE_STACK)[number]
        column = ints(m, STACK)[STACK_WIDTH * stack + STACK_COLUMN]
        hole = ints(m, STACK)[STACK_WIDTH * stack + STACK_HOLE]
        tag, cell = BOOL, 0
        if column >= 0:
            place = row * width + column
            tag, cell = key_of(int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place])
        elif column < UNKEYED and find_list(m, stack, BOOL, 0) < 0:
            continue
        low, high = 0, ALL_MEMBERS
        if hole >= 0:
            low, high = members_of_row(m, hole, row, missing)
        if low < high:
            push(m, stack, tag, cell, row, low, high)


# --- search ------------------------------------------------------------------


@compiled
def _search(m: int, tree: int, row: int) -> None:
    """Construct all matches that a terminator completes, depth first."""
    table = ints(m, TREE)[TREE_WIDTH * tree : TREE_WIDTH * (tree + 1)]
    components = ints(m, COMPONENT)
    begin, width = table[TREE_COMPONENTS], table[TREE_SIZE]
    rows, lows, highs = ints(m, FRAME_ROW), ints(m, FRAME_LOW), ints(m, FRAME_HIGH)
    rows[0], lows[0], highs[0] = row, 0, table[TREE_MEMBERS]
    if table[TREE_HOLE] >= 0:
        lows[0], highs[0] = members_of_row(m, table[TREE_HOLE], row, table[TREE_MISSING] == 1)
        if lows[0] >= highs[0]:
            return
    at = COMPONENT_WIDTH * begin
    if not (
        passes(m, tree, 0, components[at + CANDIDATE_BEGIN], components[at + CANDIDATE_END], row)
        and passes(m, tree, 0, components[at + PICKED_BEGIN], components[at + PICKED_END], row)
    ):
        return
    found = match_count(m)
    if width == 1:
        _complete(m, tree)
    else:
        _descend(m, tree, begin, width)
    if table[TREE_CONSUMES] and match_count(m) > found:
        _consume(m, tree, found)


@compiled
def _descend(m: int, tree: int, begin: int, width: int) -> None:
    """Bind component after component, each to every event that its policy picks."""
    components = ints(m, COMPONENT)
    rows, lows, highs = ints(m, FRAME_ROW), ints(m, FRAME_LOW), ints(m, FRAME_HIGH)
    begins, ends = ints(m, PICK_BEGIN), ints(m, PICK_END)
    ends[0] = 0
    for later in range(2, width):
        ints(m, KNOWN)[KNOWN_WIDTH * later + KNOWN_TAG] = UNKNOWN
    depth = 1
    left = ints(m, TREE)[TREE_WIDTH * tree + TREE_SPLIT] == 1
    if left:
        _pick_left(m, tree, begin, depth)
    else:
        _pick(m, tree, begin, depth)
    while depth > 0:
        at = begins[depth]
        if at == ends[depth]:
            depth -= 1
            continue
        begins[depth] = at + 1
        rows[depth] = ints(m, PICK_ROW)[at]
        lows[depth], highs[depth] = ints(m, PICK_LOW)[at], ints(m, PICK_HIGH)[at]
        if lows[depth] >= highs[depth]:
            continue
        component = COMPONENT_WIDTH * (begin + depth)
        first, last = components[component + PICKED_BEGIN], components[component + PICKED_END]
        if first < last and not passes(m, tree, depth, first, last, rows[depth]):
            continue
        if depth + 1 == width:
            _complete(m, tree)
        else:
            depth += 1
            lows[depth], highs[depth] = lows[depth - 1], highs[depth - 1]
            if left:
                _pick_left(m, tree, begin, depth)
            else:
                _pick(m, tree, begin, depth)


@compiled
def _pick(m: int, tree: int, begin: int, depth: int) -> None:
    """The candidates of a component that its policy chooses, newest first.

    With `first`, the walk goes on to the oldest before it chooses.
    """
    component = ints(m, COMPONENT)[
        COMPONENT_WIDTH * (begin + depth) : COMPONENT_WIDTH * (begin + depth + 1)
    ]
    probe, policy, count = (
        component[COMPONENT_PROBE],
        component[COMPONENT_POLICY],
        component[COMPONENT_COUNT],
    )
    cover = component[COMPONENT_COVER]
    steps, steps_end = component[CANDIDATE_BEGIN], component[CANDIDATE_END]
    missing = ints(m, TREE)[TREE_WIDTH * tree + TREE_MISSING] == 1
    consumes = ints(m, TREE)[TREE_WIDTH * tree + TREE_CONSUMES] != 0
    low, high = bounds(m, probe)
    rows = ints(m, FRAME_ROW)
    low = _pushed(m, tree, low)
    open_low, open_high = ints(m, FRAME_LOW)[depth - 1], ints(m, FRAME_HIGH)[depth - 1]
    row_ends, row_starts = ints(m, ROW_END), ints(m, ROW_START)
    picks, lows, highs = ints(m, PICK_ROW), ints(m, PICK_LOW), ints(m, PICK_HIGH)
    start = at = ints(m, PICK_END)[depth - 1]
    # On a staircase an event in the window hides those that serve no member more.
    stack = ints(m, PROBE)[PROBE_WIDTH * probe + PROBE_STACK]
    stairs = ints(m, STACK)[STACK_WIDTH * stack + STACK_STAIRCASE] >= 0
    hole = ints(m, STACK)[STACK_WIDTH * stack + STACK_HOLE] >= 0
    for part in range(2 if missing else 1):
        if depth == 1:
            entry = newest(m, probe, part, missing)
        else:
            entry = newest_below(m, probe, depth, part, missing, high)
        entries, satisfied, above = shorts(m, ENTRY), shorts(m, ENTRY_MEMBERS), -1
        while entry >= 0:
            row, number = int(np.int64(entries[ENTRY_WIDTH * entry])), entry
            entry = int(np.int64(entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]))
            if row_ends[row] <= low:
                break
            if consumes:
                # What is gone leaves the list, which belongs to this tree alone.
                gone = is_consumed(m, tree, row)
                if gone and above >= 0:
                    entries[ENTRY_WIDTH * above + ENTRY_BEFORE] = entry
                    continue
                above = number
                if gone:
                    continue
            if row_ends[row] >= high or row_starts[row] <= low:
                continue
            first, last = open_low, open_high
            if hole:
                place = MEMBERS_WIDTH * number
                first = max(first, int(np.int64(satisfied[place])))
                last = min(last, int(np.int64(satisfied[place + MEMBERS_HIGH])))
                if stairs:
                    entry = int(np.int64(satisfied[place + MEMBERS_SKIP]))
            if first >= last:
                continue
            if steps < steps_end:
                rows[depth] = row
                holds = passes(m, tree, depth, steps, steps_end, row)
                # A negation may have asked for a list of all events, which was made then.
                entries, satisfied = shorts(m, ENTRY), shorts(m, ENTRY_MEMBERS)
                if not holds:
                    continue
            if at == picks.shape[0]:
                for slot in (PICK_ROW, PICK_LOW, PICK_HIGH):
                    grow(m, slot, at + 1, 8)
                picks, lows, highs = ints(m, PICK_ROW), ints(m, PICK_LOW), ints(m, PICK_HIGH)
            picks[at], lows[at], highs[at] = row, first, last
            at += 1
            if policy == LAST:
                if cover == PREFIX:
                    open_low = last
                elif cover == SUFFIX:
                    open_high = first
                if open_low >= open_high or (cover < 0 and at - start == count):
                    break
    if policy == FIRST and cover < 0:
        start = max(start, at - count)
    elif policy == FIRST:
        _cover_from_oldest(m, start, at, cover, open_low, open_high)
    ints(m, PICK_BEGIN)[depth], ints(m, PICK_END)[depth] = start, at


@inlined
def _pushed(m: int, tree: int, low: int) -> int:
    """Where a window begins, given that over the whole match, which ends with the terminator."""
    within = ints(m, TREE)[TREE_WIDTH * tree + TREE_WITHIN]
    if within < 0:
        return low
    return max(low, int(ints(m, ROW_END)[ints(m, FRAME_ROW)[0]] - within))


@inlined
def _words(m: int, tree: int) -> int:
    """How many words hold a bit for every member."""
    return (int(ints(m, TREE)[TREE_WIDTH * tree + TREE_MEMBERS]) + 63) // 64


@compiled
def _pick_left(m: int, tree: int, begin: int, depth: int) -> None:
    """The candidates of a component of a family that consumes, newest first.

    An event may be gone for some members and not for others; it is picked for what is left, in
    ranges. With `last`, `OPEN` has a bit for every member that has not got its event yet. What is
    gone for all members is taken out of the list, which belongs to this tree alone.
    """
    component = ints(m, COMPONENT)[
        COMPONENT_WIDTH * (begin + depth) : COMPONENT_WIDTH * (begin + depth + 1)
    ]
    probe, newest_only = component[COMPONENT_PROBE], component[COMPONENT_POLICY] == LAST
    steps, steps_end = component[CANDIDATE_BEGIN], component[CANDIDATE_END]
    words = _words(m, tree)
    low, high = bounds(m, probe)
    low = _pushed(m, tree, low)
    for word in range(words):
        bits = range_bits(ints(m, FRAME_LOW)[depth - 1], ints(m, FRAME_HIGH)[depth - 1], word)
        ints(m, OPEN)[word] = bits
    entries, row_ends, row_starts = shorts(m, ENTRY), ints(m, ROW_END), ints(m, ROW_START)
    stack = ints(m, PROBE)[PROBE_WIDTH * probe + PROBE_STACK]
    hole = ints(m, STACK)[STACK_WIDTH * stack + STACK_HOLE] >= 0
    set_size(m, PICK_ROW, ints(m, PICK_END)[depth - 1])
    ints(m, PICK_BEGIN)[depth] = size(m, PICK_ROW)
    entry, above, waiting = newest(m, probe, 0, False), -1, True
    while entry >= 0 and waiting:
        number, row = entry, int(np.int64(entries[ENTRY_WIDTH * entry]))
        entry = int(np.int64(entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]))
        if row_ends[row] <= low:
            break
        first, last = 0, ALL_MEMBERS
        if hole:
            satisfied = shorts(m, ENTRY_MEMBERS)[MEMBERS_WIDTH * number :]
            first, last = int(np.int64(satisfied[0])), int(np.int64(satisfied[MEMBERS_HIGH]))
        gone = find_consumed(m, tree, row)
        if gone >= 0 and above >= 0 and _is_gone(m, first, last, gone, words):
            entries[ENTRY_WIDTH * above + ENTRY_BEFORE] = entry
            continue
        above = number
        if row_ends[row] >= high or row_starts[row] <= low:
            continue
        ints(m, FRAME_ROW)[depth] = row
        if steps < steps_end:
            holds = passes(m, tree, depth, steps, steps_end, row)
            entries = shorts(m, ENTRY)  # as in `_pick`
            if not holds:
                continue
        waiting = _pick_ranges(m, row, first, last, gone, words, newest_only)
    ints(m, PICK_END)[depth] = size(m, PICK_ROW)


@inlined
def _is_gone(m: int, first: int, last: int, gone: int, words: int) -> bool:
    """Whether an entry is gone for all members that it satisfies."""
    bits = ints(m, CONSUMED_BITS)
    for word in range(words):
        satisfied = range_bits(first, last, word)
        if satisfied & ~bits[gone + word]:
            return False
    return True


@inlined
def _pick_ranges(
    m: int, row: int, first: int, last: int, gone: int, words: int, newest_only: bool
) -> bool:
    """Pick an entry for the members that are left; False when no member waits any more."""
    bits, open_ = ints(m, CONSUMED_BITS), ints(m, OPEN)
    waiting = False
    for word in range(words):
        left = open_[word] & range_bits(first, last, word)
        if gone >= 0:
            left &= ~bits[gone + word]
        if newest_only:
            open_[word] &= ~left
        waiting = waiting or open_[word] != 0
        at, rest = 64 * word, np.uint64(left)
        while rest != np.uint64(0):
            skipped = int(trailing_zeros(rest))
            rest >>= np.uint64(skipped)
            length = int(trailing_zeros(~rest))
            at += skipped
            _add_pick(m, row, at, at + length)
            rest = rest >> np.uint64(length) if length < 64 else np.uint64(0)
            at += length
    return waiting


@inlined
def _add_pick(m: int, row: int, low: int, high: int) -> None:
    at = append(m, PICK_ROW, row)
    if at >= capacity(m, PICK_LOW):
        grow(m, PICK_LOW, at + 1, 8)
        grow(m, PICK_HIGH, at + 1, 8)
    ints(m, PICK_LOW)[at], ints(m, PICK_HIGH)[at] = low, high


@inlined
def _cover_from_oldest(
    m: int, begin: int, end: int, cover: int, open_low: int, open_high: int
) -> None:
    """Give every member of a family the oldest candidate that it accepts."""
    lows, highs = ints(m, PICK_LOW), ints(m, PICK_HIGH)
    for at in range(end - 1, begin - 1, -1):
        lows[at], highs[at] = max(lows[at], open_low), min(highs[at], open_high)
        if lows[at] < highs[at]:
            if cover == PREFIX:
                open_low = highs[at]
            else:
                open_high = lows[at]


# --- matches -----------------------------------------------------------------


@inlined
def _complete(m: int, tree: int) -> None:
    """Write a match down, or let it wait for its deadline."""
    table = ints(m, TREE)[TREE_WIDTH * tree : TREE_WIDTH * (tree + 1)]
    rows, last = ints(m, FRAME_ROW), table[TREE_SIZE] - 1
    if table[TREE_DEADLINE] < 0:
        _emit(m, tree, ints(m, ROW_END)[rows[0]])
        return
    start = ints(m, ROW_START)[rows[table[TREE_DEADLINE]]]
    number = size(m, WAIT) // WAIT_WIDTH
    append(m, WAIT, start + table[TREE_DEADLINE_OFFSET])
    append(m, WAIT, tree)
    append(m, WAIT, ints(m, FRAME_LOW)[last])
    append(m, WAIT, ints(m, FRAME_HIGH)[last])
    append(m, WAIT, size(m, WAIT_ROW))
    for depth in range(last + 1):
        append(m, WAIT_ROW, rows[depth])
    _push_wait(m, number)


@compiled
def _emit(m: int, tree: int, time: int) -> None:
    """Write a match down: its family and members, its time, its rows, its computed values."""
    table = ints(m, TREE)[TREE_WIDTH * tree : TREE_WIDTH * (tree + 1)]
    last = table[TREE_SIZE] - 1
    low, high = ints(m, FRAME_LOW)[last], ints(m, FRAME_HIGH)[last]
    open_match(m, table[TREE_FAMILY], low, high, time)
    reserve(m, MATCH_ROW, last + 1)
    reserve(m, MATCH_LABEL, last + 1)
    to, rows, labels = size(m, MATCH_ROW), ints(m, MATCH_ROW), ints(m, MATCH_LABEL)
    for depth in range(last + 1):
        at = COMPONENT_WIDTH * (table[TREE_COMPONENTS] + depth) + COMPONENT_LABEL
        rows[to + depth], labels[to + depth] = ints(m, FRAME_ROW)[depth], ints(m, COMPONENT)[at]
    set_size(m, MATCH_ROW, to + last + 1)
    set_size(m, MATCH_LABEL, to + last + 1)
    add_outputs(m, table[TREE_FAMILY], ints(m, FRAME_ROW)[0], table[TREE_MISSING] == 1)


@compiled
def _consume(m: int, tree: int, found: int) -> None:
    """After all composite events of a terminator, take the named events away from the rule."""
    consumed = ints(m, TREE)[TREE_WIDTH * tree + TREE_CONSUMES]
    words = _words(m, tree)
    for match in range(found, match_count(m)):
        begin = ints(m, MATCH_ROWS)[match]
        for depth in range(ints(m, TREE)[TREE_WIDTH * tree + TREE_SIZE]):
            if (consumed >> depth) & 1:
                row = ints(m, MATCH_ROW)[begin + depth]
                low, high = ints(m, MATCH_LOW)[match], ints(m, MATCH_HIGH)[match]
                consume(m, tree, row, low, high, words)


# --- deadlines ---------------------------------------------------------------


@inlined
def _wait_time(m: int, place: int) -> int:
    return int(ints(m, WAIT)[WAIT_WIDTH * ints(m, WAIT_HEAP)[place] + WAIT_TIME])


@compiled
def _push_wait(m: int, number: int) -> None:
    """Put a waiting match into the heap, the nearest deadline on top."""
    at = append(m, WAIT_HEAP, number)
    heap = ints(m, WAIT_HEAP)
    while at > 0 and _wait_time(m, (at - 1) // 2) > _wait_time(m, at):
        above = (at - 1) // 2
        heap[at], heap[above] = heap[above], heap[at]
        at = above


@compiled
def _pop_wait(m: int) -> int:
    """Take the match with the nearest deadline from the heap."""
    heap, count = ints(m, WAIT_HEAP), size(m, WAIT_HEAP) - 1
    number = heap[0]
    heap[0] = heap[count]
    set_size(m, WAIT_HEAP, count)
    at = 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and _wait_time(m, below + 1) < _wait_time(m, below):
            below += 1
        if _wait_time(m, at) <= _wait_time(m, below):
            break
        heap[at], heap[below] = heap[below], heap[at]
        at = below
    return int(number)


@inlined
def due_trees(m: int) -> int:
    """The nearest deadline of a match that waits."""
    return _wait_time(m, 0) if size(m, WAIT_HEAP) > 0 else NEVER


@compiled
def fire_trees(m: int, now: int) -> None:
    """Write down the matches whose deadline has come without a negated event."""
    while size(m, WAIT_HEAP) > 0 and _wait_time(m, 0) <= now:
        number = _pop_wait(m)
        wait = ints(m, WAIT)[WAIT_WIDTH * number : WAIT_WIDTH * (number + 1)]
        tree = wait[WAIT_TREE]
        table = ints(m, TREE)[TREE_WIDTH * tree : TREE_WIDTH * (tree + 1)]
        if table[TREE_ALIVE] == 0:
            continue
        rows, last = ints(m, FRAME_ROW), table[TREE_SIZE] - 1
        for depth in range(last + 1):
            rows[depth] = ints(m, WAIT_ROW)[wait[WAIT_ROWS] + depth]
        if passes(m, tree, 0, table[FINAL_BEGIN], table[FINAL_END], rows[0]):
            ints(m, FRAME_LOW)[last], ints(m, FRAME_HIGH)[last] = wait[WAIT_LOW], wait[WAIT_HIGH]
            _emit(m, tree, now)


# --- compaction --------------------------------------------------------------


@compiled
def mark_trees(m: int, now: int) -> None:
    """Forget what has expired, and say which rows are needed."""
    mark_stacks(m, now)
    for place in range(size(m, WAIT_HEAP)):
        at = WAIT_WIDTH * ints(m, WAIT_HEAP)[place]
        tree, begin = ints(m, WAIT)[at + WAIT_TREE], ints(m, WAIT)[at + WAIT_ROWS]
        for depth in range(ints(m, TREE)[TREE_WIDTH * tree + TREE_SIZE]):
            keep(m, ints(m, WAIT_ROW)[begin + depth])


@compiled
def move_trees(m: int) -> None:
    """Take the new numbers of rows, and give up the room of matches that no longer wait."""
    move_stacks(m)
    words = np.empty(size(m, TREE) // TREE_WIDTH, np.int64)
    for tree in range(len(words)):
        words[tree] = _words(m, tree)
    move_consumed(m, words)
    count, moved = size(m, WAIT_HEAP), ints(m, MOVED)
    waits = ints(m, WAIT)[: size(m, WAIT)].copy()
    rows = ints(m, WAIT_ROW)[: size(m, WAIT_ROW)].copy()
    set_size(m, WAIT, 0)
    set_size(m, WAIT_ROW, 0)
    for place in range(count):
        at = WAIT_WIDTH * ints(m, WAIT_HEAP)[place]
        for word in range(WAIT_ROWS):
            append(m, WAIT, waits[at + word])
        append(m, WAIT, size(m, WAIT_ROW))
        tree = waits[at + WAIT_TREE]
        for depth in range(ints(m, TREE)[TREE_WIDTH * tree + TREE_SIZE]):
            append(m, WAIT_ROW, moved[rows[waits[at + WAIT_ROWS] + depth]])
        ints(m, WAIT_HEAP)[place] = place
