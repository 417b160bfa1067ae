"""Timers of branches: each branch has its own, and waits for those in the domain of its state.

A branch with such timers is in a heap, once, with the time of the first of them.
"""

from __future__ import annotations

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.detector_slots import (
    AWAIT,
    BRANCH,
    BRANCH_HEAP,
    BRANCH_STATE,
    BRANCH_TIMER,
    BRANCH_TIMERS,
    HEAP,
    HEAP_WIDTH,
    STATE,
    STATE_AWAITS,
    STATE_WIDTH,
)
from cepheid.kernel.memory import ints, resize, set_size, size
from cepheid.kernel.store import NEVER

NONE = -1


@inlined
def is_awaited(m: int, state: int, timer: int) -> bool:
    """Whether a timer lies in the domain of a state."""
    base = ints(m, STATE)[STATE_WIDTH * state + STATE_AWAITS]
    return bool(ints(m, AWAIT)[2 * (base + timer)] >= 0)


@compiled
def drop_timer(m: int, at: int, timer: int) -> None:
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
def add_timer(m: int, at: int, timer: int, time: int) -> None:
    """Let a timer run that does not run yet."""
    records = ints(m, BRANCH)
    place = at + BRANCH_TIMER + 2 * records[at + BRANCH_TIMERS]
    records[place], records[place + 1] = timer, time
    records[at + BRANCH_TIMERS] += 1


@compiled
def wait_for_timers(m: int, at: int) -> None:
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
def leave_heap(m: int, at: int) -> None:
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
def _rise(m: int, spot: int, time: int, at: int) -> None:
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
def _sink(m: int, spot: int, time: int, at: int) -> None:
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
