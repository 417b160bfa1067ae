"""What branches of detectors are made of: chains of nodes that branches share.

A chain leads from the newest events to the oldest. A node holds some events in a row, so that most
steps of a branch only add to its newest node; branches that part share what they have in common.
A node is free as soon as nobody uses it.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.detector_slots import (
    COUNTERS,
    FREE_NODE,
    GATHERED_ROW,
    GATHERED_STATE,
    NODE,
    NODE_COUNT,
    NODE_FIRST,
    NODE_PARENT,
    NODE_ROOM,
    NODE_USERS,
    NODE_WIDTH,
    PASSING,
    SELF_COUNT,
    SELF_ROW,
    STATE,
    STATE_POSITION,
    STATE_WIDTH,
)
from cepheid.kernel.memory import ints, resize, set_size, size

NONE = -1

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


# --- nodes -------------------------------------------------------------------


@inlined
def hold(m: int, node: int) -> None:
    """Say that somebody more uses a node."""
    if node >= 0:
        ints(m, NODE)[NODE_WIDTH * node + NODE_USERS] += 1


@compiled
def extended(m: int, node: int, row: int, state: int) -> int:
    """A chain with one event more, in place of the chain, which is used up."""
    passing = ints(m, PASSING)
    if row == passing[SELF_ROW]:
        passing[SELF_COUNT] += 1
    nodes, at = ints(m, NODE), NODE_WIDTH * node
    if node < 0 or nodes[at + NODE_USERS] > 1 or nodes[at + NODE_COUNT] == NODE_ROOM:
        parent, counters = node, ints(m, COUNTERS)
        node = counters[FREE_NODE]
        if node >= 0:
            counters[FREE_NODE] = nodes[NODE_WIDTH * node + NODE_PARENT]
        else:
            node = size(m, NODE) // NODE_WIDTH
            resize(m, NODE, NODE_WIDTH * (node + 1))
            nodes = ints(m, NODE)
        at = NODE_WIDTH * node
        nodes[at + NODE_PARENT], nodes[at + NODE_USERS], nodes[at + NODE_COUNT] = parent, 1, 0
    place = at + NODE_FIRST + 2 * nodes[at + NODE_COUNT]
    nodes[place], nodes[place + 1] = row, state
    nodes[at + NODE_COUNT] += 1
    return int(node)


@compiled
def release(m: int, node: int) -> None:
    """Say that somebody less uses a node; what nobody uses is free, with what came before it."""
    nodes, counters, passing = ints(m, NODE), ints(m, COUNTERS), ints(m, PASSING)
    while node >= 0:
        at = NODE_WIDTH * node
        nodes[at + NODE_USERS] -= 1
        if nodes[at + NODE_USERS] > 0:
            return
        first = at + NODE_FIRST
        for place in range(first, first + 2 * nodes[at + NODE_COUNT], 2):
            if nodes[place] == passing[SELF_ROW]:
                passing[SELF_COUNT] -= 1
        parent = nodes[at + NODE_PARENT]
        nodes[at + NODE_PARENT] = counters[FREE_NODE]
        counters[FREE_NODE] = node
        node = parent


# --- chains ------------------------------------------------------------------


@inlined
def begin_gathering(m: int) -> None:
    """Nothing is gathered yet."""
    set_size(m, GATHERED_ROW, 0)
    set_size(m, GATHERED_STATE, 0)


@compiled
def gather(m: int, node: int) -> None:
    """Add the events of a chain to what is gathered, in the order in which they were taken."""
    nodes, length, walked = ints(m, NODE), 0, node
    while walked >= 0:
        length += nodes[NODE_WIDTH * walked + NODE_COUNT]
        walked = nodes[NODE_WIDTH * walked + NODE_PARENT]
    to = size(m, GATHERED_ROW) + length
    resize(m, GATHERED_ROW, to)
    resize(m, GATHERED_STATE, to)
    rows, states = ints(m, GATHERED_ROW), ints(m, GATHERED_STATE)
    while node >= 0:
        at = NODE_WIDTH * node
        count = nodes[at + NODE_COUNT]
        to -= count
        for number in range(count):
            rows[to + number] = nodes[at + NODE_FIRST + 2 * number]
            states[to + number] = nodes[at + NODE_FIRST + 2 * number + 1]
        node = nodes[at + NODE_PARENT]


@compiled
def chained(m: int, node: int, side: int) -> int:
    """A chain (which is used up) with the events of another one after its own."""
    begin_gathering(m)
    gather(m, side)
    for at in range(size(m, GATHERED_ROW)):
        node = extended(m, node, ints(m, GATHERED_ROW)[at], ints(m, GATHERED_STATE)[at])
    return node


@compiled
def latest(m: int, node: int, position: int) -> int:
    """The newest event of a chain under a label, or -1."""
    nodes, states = ints(m, NODE), ints(m, STATE)
    while node >= 0:
        first = NODE_WIDTH * node + NODE_FIRST
        count = nodes[NODE_WIDTH * node + NODE_COUNT]
        for place in range(first + 2 * count - 2, first - 1, -2):
            if states[STATE_WIDTH * nodes[place + 1] + STATE_POSITION] == position:
                return int(nodes[place])
        node = nodes[NODE_WIDTH * node + NODE_PARENT]
    return NONE
