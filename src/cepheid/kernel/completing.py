"""Completing: matches of trees are written down, at once or when their deadline has come."""

from __future__ import annotations

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.matches import MATCH_LABEL, MATCH_ROW, add_outputs, open_match
from cepheid.kernel.memory import append, ints, reserve, set_size, size
from cepheid.kernel.programs import FRAME_HIGH, FRAME_LOW, FRAME_ROW
from cepheid.kernel.steps import passes
from cepheid.kernel.store import NEVER, ROW_END, ROW_START
from cepheid.kernel.tables import (
    COMPONENT,
    COMPONENT_LABEL,
    COMPONENT_WIDTH,
    FINAL_BEGIN,
    FINAL_END,
    TREE,
    TREE_ALIVE,
    TREE_COMPONENTS,
    TREE_DEADLINE,
    TREE_DEADLINE_OFFSET,
    TREE_FAMILY,
    TREE_MISSING,
    TREE_RECHECKED,
    TREE_SIZE,
    TREE_WIDTH,
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


@inlined
def complete(m: int, tree: int) -> None:
    """Write a match down, or let it wait for its deadline."""
    table = ints(m, TREE)[TREE_WIDTH * tree : TREE_WIDTH * (tree + 1)]
    rows, last = ints(m, FRAME_ROW), table[TREE_SIZE] - 1
    if table[TREE_DEADLINE] < 0:
        emit(m, tree, ints(m, ROW_END)[rows[0]])
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
def emit(m: int, tree: int, time: int) -> None:
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
        if _stands(m, number):
            wait = ints(m, WAIT)[WAIT_WIDTH * number : WAIT_WIDTH * (number + 1)]
            tree = wait[WAIT_TREE]
            last = ints(m, TREE)[TREE_WIDTH * tree + TREE_SIZE] - 1
            ints(m, FRAME_LOW)[last], ints(m, FRAME_HIGH)[last] = wait[WAIT_LOW], wait[WAIT_HIGH]
            emit(m, tree, now)


@compiled
def _stands(m: int, number: int) -> bool:
    """Whether a match that waits has its rule still, and nothing that has come excludes it.

    Its rows are bound then.
    """
    wait = ints(m, WAIT)[WAIT_WIDTH * number : WAIT_WIDTH * (number + 1)]
    tree = wait[WAIT_TREE]
    table = ints(m, TREE)[TREE_WIDTH * tree : TREE_WIDTH * (tree + 1)]
    if table[TREE_ALIVE] == 0:
        return False
    rows = ints(m, FRAME_ROW)
    for depth in range(table[TREE_SIZE]):
        rows[depth] = ints(m, WAIT_ROW)[wait[WAIT_ROWS] + depth]
    return passes(m, tree, 0, table[FINAL_BEGIN], table[FINAL_END], rows[0])


@compiled
def recheck(m: int) -> None:
    """Give up matches that wait in vain, so that what excluded them need not be kept for them.

    Most orders are paid long before it is clear which ones were not.
    """
    count = size(m, WAIT_HEAP)
    heap = ints(m, WAIT_HEAP)[:count].copy()
    set_size(m, WAIT_HEAP, 0)
    for place in range(count):
        tree = ints(m, WAIT)[WAIT_WIDTH * heap[place] + WAIT_TREE]
        if ints(m, TREE)[TREE_WIDTH * tree + TREE_RECHECKED] == 0 or _stands(m, heap[place]):
            _push_wait(m, heap[place])
