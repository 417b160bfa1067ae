"""The lazy strategy: store candidates in stacks, construct matches backwards from a terminator.

SASE's active instance stacks and T-Rex's shared storage of events, over arrays. Windows, keys and
conditions are applied while a match is constructed, so that a dead end costs one step. A search
carries the range of a family's members for which it is still good.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.completing import complete, recheck
from cepheid.kernel.filters import find_meant
from cepheid.kernel.matches import MATCH_HIGH, MATCH_LOW, MATCH_ROW, MATCH_ROWS, match_count
from cepheid.kernel.members import members_of_row
from cepheid.kernel.memory import append, ints, set_size, size, tags
from cepheid.kernel.picking import descend, words_of
from cepheid.kernel.programs import FRAME_HIGH, FRAME_LOW, FRAME_ROW
from cepheid.kernel.stacks import (
    ALL_MEMBERS,
    STACK,
    STACK_COLUMN,
    STACK_HOLE,
    STACK_WIDTH,
    UNKEYED,
    consume,
    find_list,
    key_of,
    mark_stacks,
    move_consumed,
    move_stacks,
    push,
    take_out,
)
from cepheid.kernel.steps import passes
from cepheid.kernel.store import MOVED, ROW_CELLS, ROW_TAGS, WIDTH, keep, scalar
from cepheid.kernel.tables import (
    CANDIDATE_BEGIN,
    CANDIDATE_END,
    COMPONENT,
    COMPONENT_PROBE,
    COMPONENT_WIDTH,
    MEANT,
    NOT_KEPT,
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
    TREE_COMPONENTS,
    TREE_CONSUMED,
    TREE_CONSUMES,
    TREE_HOLE,
    TREE_MEMBERS,
    TREE_MISSING,
    TREE_SIZE,
    TREE_WALKS,
    TREE_WIDTH,
    TREES_BEGIN,
    TREES_END,
    WAIT,
    WAIT_HEAP,
    WAIT_ROW,
    WAIT_ROWS,
    WAIT_TREE,
    WAIT_WIDTH,
)
from cepheid.kernel.values import BOOL
from cepheid.kernel.walking import walk


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
        complete(m, tree)
    elif table[TREE_WALKS]:
        walk(m, tree, begin, width)
    else:
        descend(m, tree, begin, width)
    if table[TREE_CONSUMES] and match_count(m) > found:
        _consume(m, tree, found)


@compiled
def _consume(m: int, tree: int, found: int) -> None:
    """After all composite events of a terminator, take the named events away from the rule."""
    consumed = ints(m, TREE)[TREE_WIDTH * tree + TREE_CONSUMES]
    kept = ints(m, TREE)[TREE_WIDTH * tree + TREE_CONSUMED] != NOT_KEPT
    words, first = words_of(m, tree), ints(m, TREE)[TREE_WIDTH * tree + TREE_COMPONENTS]
    for match in range(found, match_count(m)):
        begin = ints(m, MATCH_ROWS)[match]
        for depth in range(ints(m, TREE)[TREE_WIDTH * tree + TREE_SIZE]):
            if (consumed >> depth) & 1:
                row = ints(m, MATCH_ROW)[begin + depth]
                if kept:
                    low, high = ints(m, MATCH_LOW)[match], ints(m, MATCH_HIGH)[match]
                    consume(m, tree, row, low, high, words)
                elif depth > 0:
                    probe = ints(m, COMPONENT)[COMPONENT_WIDTH * (first + depth) + COMPONENT_PROBE]
                    take_out(m, ints(m, PROBE)[PROBE_WIDTH * probe + PROBE_STACK], row)


# --- compaction --------------------------------------------------------------


@compiled
def mark_trees(m: int, now: int) -> None:
    """Forget what has expired, and say which rows are needed."""
    recheck(m)
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
        words[tree] = words_of(m, tree)
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
