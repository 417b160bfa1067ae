"""Probes: looking for events of a stack, by key, in a window; and aggregates over what is found."""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import ints, shorts, tags
from cepheid.kernel.programs import FRAME_ROW, REGISTER_CELL, REGISTER_TAG, holds
from cepheid.kernel.stacks import (
    ENTRY,
    ENTRY_BEFORE,
    ENTRY_WIDTH,
    head_of,
    is_consumed,
    key_of,
    newest_of_all,
)
from cepheid.kernel.store import (
    ROW_CELLS,
    ROW_END,
    ROW_START,
    ROW_TAGS,
    WIDTH,
    precedes,
    scalar,
)
from cepheid.kernel.sums import add_to_sum, begin_sum, end_sum
from cepheid.kernel.tables import (
    AGGREGATE,
    AGGREGATE_COLUMN,
    AGGREGATE_FUNCTION,
    AGGREGATE_PROBE,
    AGGREGATE_WIDTH,
    KNOWN,
    NOT_KEPT,
    PROBE,
    PROBE_ALL,
    PROBE_FILTER,
    PROBE_HIGH,
    PROBE_HIGH_OFFSET,
    PROBE_KEY_AT,
    PROBE_KEY_COLUMN,
    PROBE_LOW,
    PROBE_LOW_OFFSET,
    PROBE_STACK,
    PROBE_SWAPS,
    PROBE_WIDTH,
    TREE,
    TREE_CONSUMED,
    TREE_MISSING,
    TREE_WIDTH,
)
from cepheid.kernel.values import BOOL, MISSING

(
    KNOWN_TAG,
    KNOWN_CELL,
    KNOWN_HEAD,
    KNOWN_LACKING,
    KNOWN_NEXT,
    KNOWN_HIGH,
    KNOWN_ENTRY,
    KNOWN_ASIDE,
    KNOWN_FROM,
    KNOWN_TO,
) = range(10)
KNOWN_WIDTH = 10
"""What is known about the list of a component while a terminator is searched: its key, newest
entries with and without the attribute, and the entry at which a walk below a time began. Where a
search walks without picking: the next entry, the next list, and the window."""
UNKNOWN = -1


@compiled
def bounds(m: int, probe: int) -> tuple[int, int]:
    """The open interval of a probe's window, given the rows that it hangs on."""
    table, rows, at = ints(m, PROBE), ints(m, FRAME_ROW), PROBE_WIDTH * probe
    low_at, high_at = table[at + PROBE_LOW], table[at + PROBE_HIGH]
    if table[at + PROBE_SWAPS] and precedes(m, rows[high_at], rows[low_at]):
        low_at, high_at = high_at, low_at
    low, high = table[at + PROBE_LOW_OFFSET], table[at + PROBE_HIGH_OFFSET]
    if low_at >= 0:
        low += ints(m, ROW_END)[rows[low_at]]
    if high_at >= 0:
        high += ints(m, ROW_START)[rows[high_at]]
    return low, high


@compiled
def newest(m: int, probe: int, part: int, missing: bool) -> int:
    """The newest entry that a probe looks at; part 1 are the events without the key.

    Where a comparison with nothing holds, events without the attribute fit every key, and a key
    that is missing fits every event. Views of entries are dead afterwards.
    """
    table = ints(m, PROBE)
    row = PROBE_WIDTH * probe
    at, stack = table[row + PROBE_KEY_AT], table[row + PROBE_STACK]
    if at < 0:
        return head_of(m, stack, BOOL, 0) if part == 0 else -1
    place = ints(m, FRAME_ROW)[at] * scalar(m, WIDTH) + table[row + PROBE_KEY_COLUMN]
    tag = int(tags(m, ROW_TAGS)[place])
    if tag == MISSING:
        if not missing or part == 1:
            return -1
        return newest_of_all(m, table[row + PROBE_ALL], stack)
    if part == 1:
        return head_of(m, stack, MISSING, 0)
    tag, cell = key_of(tag, ints(m, ROW_CELLS)[place])
    return head_of(m, stack, tag, cell)


@inlined
def newest_below(m: int, probe: int, depth: int, part: int, missing: bool, high: int) -> int:
    """The newest entry that may end before a time; see `newest`.

    Matches of one terminator that are bound alike so far look into the same list, mostly ever
    further back: it is looked up once, and the walk goes on where the last one began. SASE's
    instances know the newest one before them, which is as good, but for one query only.
    """
    at, known = KNOWN_WIDTH * depth, ints(m, KNOWN)
    if part == 1:
        return int(known[at + KNOWN_LACKING])
    tag, cell = _key(m, probe)
    if known[at + KNOWN_TAG] != tag or known[at + KNOWN_CELL] != cell:
        known[at + KNOWN_TAG], known[at + KNOWN_CELL] = tag, cell
        known[at + KNOWN_HEAD] = known[at + KNOWN_NEXT] = newest(m, probe, 0, missing)
        known[at + KNOWN_LACKING] = newest(m, probe, 1, missing) if missing else -1
    elif high > known[at + KNOWN_HIGH]:
        known[at + KNOWN_NEXT] = known[at + KNOWN_HEAD]
    entries, ends, entry = shorts(m, ENTRY), ints(m, ROW_END), int(known[at + KNOWN_NEXT])
    while entry >= 0 and ends[entries[ENTRY_WIDTH * entry]] >= high:
        entry = int(np.int64(entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]))
    known[at + KNOWN_NEXT], known[at + KNOWN_HIGH] = entry, high
    return entry


@inlined
def _key(m: int, probe: int) -> tuple[int, int]:
    """The key of a probe as it stands in the row that is bound."""
    table, row = ints(m, PROBE), PROBE_WIDTH * probe
    at = table[row + PROBE_KEY_AT]
    if at < 0:
        return BOOL, 0
    place = ints(m, FRAME_ROW)[at] * scalar(m, WIDTH) + table[row + PROBE_KEY_COLUMN]
    return int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place]


@inlined
def has_key(m: int, probe: int) -> bool:
    """Whether the row that is bound has the attribute that is the key of a probe."""
    return _key(m, probe)[0] != MISSING


@inlined
def _settings(m: int, tree: int) -> tuple[bool, bool]:
    """What a comparison with nothing gives, and whether it must be asked what was consumed."""
    trees = ints(m, TREE)
    at = TREE_WIDTH * tree
    return trees[at + TREE_MISSING] == 1, trees[at + TREE_CONSUMED] != NOT_KEPT


@compiled
def exists(m: int, tree: int, probe: int) -> bool:
    """Whether a probe finds an event."""
    missing, consumes = _settings(m, tree)
    low, high = bounds(m, probe)
    filter_ = ints(m, PROBE)[PROBE_WIDTH * probe + PROBE_FILTER]
    ends, starts = ints(m, ROW_END), ints(m, ROW_START)
    for part in range(2 if missing else 1):
        entry = newest(m, probe, part, missing)
        entries = shorts(m, ENTRY)
        while entry >= 0:
            row = int(np.int64(entries[ENTRY_WIDTH * entry]))
            entry = int(np.int64(entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]))
            if ends[row] <= low:
                break
            if ends[row] >= high or starts[row] <= low:
                continue
            if consumes and is_consumed(m, tree, row):
                continue
            if filter_ < 0 or holds(m, filter_, row, missing):
                return True
    return False


@compiled
def compute(m: int, tree: int, aggregate: int) -> None:
    """Put an aggregate into its register."""
    at = AGGREGATE_WIDTH * aggregate
    table = ints(m, AGGREGATE)
    probe, column = table[at + AGGREGATE_PROBE], table[at + AGGREGATE_COLUMN]
    function = table[at + AGGREGATE_FUNCTION]
    missing, consumes = _settings(m, tree)
    low, high = bounds(m, probe)
    filter_ = ints(m, PROBE)[PROBE_WIDTH * probe + PROBE_FILTER]
    ends, starts = ints(m, ROW_END), ints(m, ROW_START)
    cell_tags, cells, width = tags(m, ROW_TAGS), ints(m, ROW_CELLS), scalar(m, WIDTH)
    begin_sum(m)
    for part in range(2 if missing else 1):
        entry = newest(m, probe, part, missing)
        entries = shorts(m, ENTRY)
        while entry >= 0:
            row = int(np.int64(entries[ENTRY_WIDTH * entry]))
            entry = int(np.int64(entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]))
            if ends[row] <= low:
                break
            if ends[row] >= high or starts[row] <= low:
                continue
            if consumes and is_consumed(m, tree, row):
                continue
            if filter_ >= 0 and not holds(m, filter_, row, missing):
                continue
            if column < 0:
                add_to_sum(m, function, BOOL, 1)
            else:
                place = row * width + column
                add_to_sum(m, function, int(cell_tags[place]), cells[place])
    tag, cell = end_sum(m, function)
    ints(m, REGISTER_TAG)[aggregate], ints(m, REGISTER_CELL)[aggregate] = tag, cell
