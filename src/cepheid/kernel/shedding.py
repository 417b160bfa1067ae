"""Giving up on purpose: what a tree keeps is counted, and the oldest of it is dropped.

Used where a rule has limits; see `limits`.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled
from cepheid.kernel.memory import ints, set_size, shorts, size
from cepheid.kernel.stacks import (
    ENTRY,
    ENTRY_BEFORE,
    ENTRY_MEMBERS,
    ENTRY_WIDTH,
    FOR_EVER,
    LIST,
    LIST_HEAD,
    MEMBERS_SKIP,
    MEMBERS_WIDTH,
    STACK,
    STACK_RETENTION,
    STACK_STAIRCASE,
    STACK_WIDTH,
)
from cepheid.kernel.store import ROW_END
from cepheid.kernel.tables import WAIT, WAIT_HEAP, WAIT_TREE, WAIT_WIDTH
from cepheid.kernel.values import Ints


@compiled
def rows_of(m: int, stacks: Ints, now: int) -> Ints:
    """The rows that stacks keep and that are alive now, each as often as they keep it."""
    wanted = np.zeros(size(m, STACK) // STACK_WIDTH, np.bool_)
    wanted[stacks] = True
    found = np.empty(size(m, ENTRY) // ENTRY_WIDTH, np.int64)
    entries, lists, ends = shorts(m, ENTRY), ints(m, LIST), ints(m, ROW_END)
    count = 0
    for number in range(size(m, LIST) // 4):
        stack = lists[4 * number]
        if not wanted[stack]:
            continue
        retention = ints(m, STACK)[STACK_WIDTH * stack + STACK_RETENTION]
        oldest = now - retention if retention != FOR_EVER else -(2**62)
        entry = lists[4 * number + LIST_HEAD]
        while entry >= 0 and ends[entries[ENTRY_WIDTH * entry]] > oldest:
            found[count] = entries[ENTRY_WIDTH * entry]
            count += 1
            entry = entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]
    return found[:count]


@compiled
def drop_rows(m: int, stacks: Ints, dropped: Ints) -> None:
    """Take rows, which are the oldest of all in these stacks, out of their lists."""
    wanted = np.zeros(size(m, STACK) // STACK_WIDTH, np.bool_)
    wanted[stacks] = True
    gone = np.zeros(size(m, ROW_END), np.bool_)
    gone[dropped] = True
    entries, lists = shorts(m, ENTRY), ints(m, LIST)
    members = shorts(m, ENTRY_MEMBERS)
    for number in range(size(m, LIST) // 4):
        if not wanted[lists[4 * number]]:
            continue
        stairs = ints(m, STACK)[STACK_WIDTH * lists[4 * number] + STACK_STAIRCASE] >= 0
        head = lists[4 * number + LIST_HEAD]
        while head >= 0 and gone[entries[ENTRY_WIDTH * head]]:
            head = entries[ENTRY_WIDTH * head + ENTRY_BEFORE]
        lists[4 * number + LIST_HEAD] = entry = head
        while entry >= 0:
            place = ENTRY_WIDTH * entry
            below = entries[place + ENTRY_BEFORE]
            while below >= 0 and gone[entries[ENTRY_WIDTH * below]]:
                below = entries[ENTRY_WIDTH * below + ENTRY_BEFORE]
            entries[place + ENTRY_BEFORE] = below
            if stairs:
                skip = members[MEMBERS_WIDTH * entry + MEMBERS_SKIP]
                if skip >= 0 and gone[entries[ENTRY_WIDTH * skip]]:
                    # The nearest older one that is left is a right step, if not the longest.
                    members[MEMBERS_WIDTH * entry + MEMBERS_SKIP] = below
            entry = below


@compiled
def waiting_of(m: int, tree: int) -> int:
    """How many matches of a tree wait for their deadline."""
    count = 0
    for place in range(size(m, WAIT_HEAP)):
        at = WAIT_WIDTH * ints(m, WAIT_HEAP)[place]
        count += 1 if ints(m, WAIT)[at + WAIT_TREE] == tree else 0
    return count


@compiled
def drop_waiting(m: int, tree: int, dropped: int) -> None:
    """Give up so many waiting matches of a tree, those with the nearest deadlines first.

    What is left is sorted by its deadline, which is a heap.
    """
    count = size(m, WAIT_HEAP)
    heap = ints(m, WAIT_HEAP)[:count].copy()
    times = np.empty(count, np.int64)
    for place in range(count):
        times[place] = ints(m, WAIT)[WAIT_WIDTH * heap[place]]
    to = 0
    for place in np.argsort(times):
        tree_of = ints(m, WAIT)[WAIT_WIDTH * heap[place] + WAIT_TREE]
        if tree_of == tree and dropped > 0:
            dropped -= 1
            continue
        ints(m, WAIT_HEAP)[to] = heap[place]
        to += 1
    set_size(m, WAIT_HEAP, to)
