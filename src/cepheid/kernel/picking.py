"""Picking: a search binds each component to the candidates that its policy chooses.

It carries the range of a family's members for which it is still good.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.cpython.unsafe import numbers

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.completing import complete
from cepheid.kernel.memory import append, capacity, grow, ints, set_size, shorts, size
from cepheid.kernel.probes import (
    KNOWN_TAG,
    KNOWN_WIDTH,
    UNKNOWN,
    bounds,
    has_key,
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
    STACK_HOLE,
    STACK_STAIRCASE,
    STACK_WIDTH,
    SUFFIX,
    find_consumed,
    is_consumed,
    range_bits,
)
from cepheid.kernel.steps import passes
from cepheid.kernel.store import ROW_END, ROW_START
from cepheid.kernel.tables import (
    CANDIDATE_BEGIN,
    CANDIDATE_END,
    COMPONENT,
    COMPONENT_COUNT,
    COMPONENT_COVER,
    COMPONENT_POLICY,
    COMPONENT_PROBE,
    COMPONENT_PROVEN,
    COMPONENT_WIDTH,
    KEPT_BY_MEMBER,
    KNOWN,
    NOT_KEPT,
    OPEN,
    PICK_BEGIN,
    PICK_END,
    PICK_HIGH,
    PICK_LOW,
    PICK_ROW,
    PICK_STEP,
    PICKED_BEGIN,
    PICKED_END,
    PROBE,
    PROBE_STACK,
    PROBE_WIDTH,
    TREE,
    TREE_CONSUMED,
    TREE_MEMBERS,
    TREE_MISSING,
    TREE_WIDTH,
    TREE_WITHIN,
)

trailing_zeros: Any = numbers.trailing_zeros
FIRST, LAST = 1, 2


@compiled
def descend(m: int, tree: int, begin: int, width: int) -> None:
    """Bind component after component, each to every event that its policy picks."""
    components = ints(m, COMPONENT)
    rows, lows, highs = ints(m, FRAME_ROW), ints(m, FRAME_LOW), ints(m, FRAME_HIGH)
    begins, ends = ints(m, PICK_BEGIN), ints(m, PICK_END)
    ends[0] = 0
    for later in range(2, width):
        ints(m, KNOWN)[KNOWN_WIDTH * later + KNOWN_TAG] = UNKNOWN
    depth = 1
    left = ints(m, TREE)[TREE_WIDTH * tree + TREE_CONSUMED] == KEPT_BY_MEMBER
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
        first, last = ints(m, PICK_STEP)[depth], components[component + PICKED_END]
        if first < last and not passes(m, tree, depth, first, last, rows[depth]):
            continue
        if depth + 1 == width:
            complete(m, tree)
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
    consumes = ints(m, TREE)[TREE_WIDTH * tree + TREE_CONSUMED] != NOT_KEPT
    low, high = bounds(m, probe)
    rows = ints(m, FRAME_ROW)
    low = pushed(m, tree, low)
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
    proven = component[COMPONENT_PROVEN] if has_key(m, probe) else 0
    ints(m, PICK_STEP)[depth] = component[PICKED_BEGIN] + proven


@inlined
def pushed(m: int, tree: int, low: int) -> int:
    """Where a window begins, given that over the whole match, which ends with the terminator."""
    within = ints(m, TREE)[TREE_WIDTH * tree + TREE_WITHIN]
    if within < 0:
        return low
    return max(low, int(ints(m, ROW_END)[ints(m, FRAME_ROW)[0]] - within))


@inlined
def words_of(m: int, tree: int) -> int:
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
    words = words_of(m, tree)
    low, high = bounds(m, probe)
    low = pushed(m, tree, low)
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
    ints(m, PICK_STEP)[depth] = component[PICKED_BEGIN]


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
