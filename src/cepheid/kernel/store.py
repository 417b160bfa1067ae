"""The state of the lazy strategy: stored events, and stacks of them by key.

A stack is a list per key, threaded from the newest entry to the oldest. Arrays get room before a
batch comes in, so that compiled code never has to ask for it. Rows and entries are in the total
order of events, so that what has expired is always a front part of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.values import DOUBLE, INT, Ints, Tags, as_float

ROWS, ENTRIES, LISTS, MATCHES, MATCH_ROWS, MATCH_VALUES, CONSUMED = range(7)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_ROOM = 64


class Store(NamedTuple):
    """Stored events by row, entries of stacks, the newest entry of every list, and counters.

    `origins` are the numbers that the events came with.
    """

    origins: Ints
    starts: Ints
    ends: Ints
    tags: Tags
    cells: Ints
    entry_row: Ints
    entry_before: Ints
    entry_low: Ints
    entry_high: Ints
    list_stack: Ints
    list_tag: Ints
    list_cell: Ints
    list_head: Ints
    slots: Ints
    consumed_rule: Ints
    consumed_row: Ints
    counts: Ints


_ROW_ARRAYS = ("origins", "starts", "ends", "tags", "cells")
_ENTRY_ARRAYS = ("entry_row", "entry_before", "entry_low", "entry_high")
_LIST_ARRAYS = ("list_stack", "list_tag", "list_cell", "list_head")


def new_store(columns: int) -> Store:
    """An empty store."""

    def ints(size: int) -> Ints:
        return np.zeros(size, np.int64)

    return Store._make(
        (
            *(ints(_ROOM) for _ in range(3)),
            np.zeros((columns, _ROOM), np.uint8),
            np.zeros((columns, _ROOM), np.int64),
            *(ints(_ROOM) for _ in _ENTRY_ARRAYS),
            *(ints(_ROOM) for _ in _LIST_ARRAYS),
            np.full(2 * _ROOM, -1, np.int64),
            np.full(_ROOM, -1, np.int64),
            ints(_ROOM),
            ints(8),
        )
    )


# --- room --------------------------------------------------------------------


def with_room(store: Store, rows: int, entries: int) -> Store:
    """The store with room for so many rows and entries more."""
    counts = store.counts
    changes = _grown(store, _ROW_ARRAYS, int(counts[ROWS]) + rows)
    changes |= _grown(store, _ENTRY_ARRAYS, int(counts[ENTRIES]) + entries)
    lists = _grown(store, _LIST_ARRAYS, int(counts[LISTS]) + entries)
    if not lists:
        return store._replace(**changes)
    size = _power_of_two(2 * len(lists["list_head"]))
    grown = store._replace(**changes, **lists, slots=np.full(size, -1, np.int64))
    rehash(grown)
    return grown


def with_room_to_consume(store: Store) -> Store:
    """The store with room to consume as many events again."""
    size = 2 * len(store.consumed_rule)
    grown = store._replace(
        consumed_rule=np.full(size, -1, np.int64), consumed_row=np.zeros(size, np.int64)
    )
    grown.counts[CONSUMED] = 0
    _consume_all(grown, store.consumed_rule, store.consumed_row, 0)
    return grown


def _grown(store: Store, names: tuple[str, ...], needed: int) -> dict[str, Any]:
    size = getattr(store, names[0]).shape[-1]
    if needed <= size:
        return {}
    return {name: _resized(getattr(store, name), max(needed, size + size // 2)) for name in names}


def _resized(array: Ints | Tags, size: int) -> Ints | Tags:
    grown = np.zeros((*array.shape[:-1], size), array.dtype)
    grown[..., : array.shape[-1]] = array
    return grown


def _power_of_two(size: int) -> int:
    return 1 << (size - 1).bit_length()


def compact(store: Store, oldest: int) -> int:
    """Forget events that ended at or before a time, once there are as many of them as others.

    The result is by how much rows have moved.
    """
    rows = int(store.counts[ROWS])
    dead = int(np.searchsorted(store.ends[:rows], oldest, side="right"))
    if dead < _ROOM or 2 * dead < rows:
        return 0
    entries = int(store.counts[ENTRIES])
    gone = int(np.searchsorted(store.entry_row[:entries], dead))
    for name in _ROW_ARRAYS:
        array = getattr(store, name)
        array[..., : rows - dead] = array[..., dead:rows].copy()
    for name in _ENTRY_ARRAYS:
        array = getattr(store, name)
        array[: entries - gone] = array[gone:entries].copy()
    store.counts[ROWS], store.counts[ENTRIES] = rows - dead, entries - gone
    store.entry_row[: entries - gone] -= dead
    before = store.entry_before[: entries - gone]
    np.copyto(before, np.where(before < gone, -1, before - gone))
    _compact_lists(store, gone)
    rules, consumed = store.consumed_rule.copy(), store.consumed_row.copy()
    rules[consumed < dead] = -1
    store.consumed_rule[:] = -1
    store.counts[CONSUMED] = 0
    _consume_all(store, rules, consumed, dead)
    return dead


def _compact_lists(store: Store, gone: int) -> None:
    count = int(store.counts[LISTS])
    alive = np.flatnonzero(store.list_head[:count] >= gone)
    for name in _LIST_ARRAYS:
        array = getattr(store, name)
        array[: len(alive)] = array[alive]
    store.list_head[: len(alive)] -= gone
    store.counts[LISTS] = len(alive)
    store.slots[:] = -1
    rehash(store)


# --- lists -------------------------------------------------------------------


@inlined
def hashed(stack: int, tag: int, cell: int, mask: int) -> int:
    """A slot for a stack and a key."""
    mixed = (np.uint64(cell) ^ (np.uint64(stack) << np.uint64(40)) ^ np.uint64(tag)) * _MIX
    mixed ^= mixed >> np.uint64(29)
    return int((mixed * _MIX) >> np.uint64(20)) & mask


@compiled
def rehash(store: Store) -> None:
    """Fill the empty slots with all lists."""
    mask = len(store.slots) - 1
    for number in range(store.counts[LISTS]):
        slot = hashed(
            store.list_stack[number], store.list_tag[number], store.list_cell[number], mask
        )
        while store.slots[slot] >= 0:
            slot = (slot + 1) & mask
        store.slots[slot] = number


@inlined
def find_slot(store: Store, stack: int, tag: int, cell: int) -> int:
    """The slot of a list, or the empty slot where it belongs."""
    mask = len(store.slots) - 1
    slot = hashed(stack, tag, cell, mask)
    while True:
        number = store.slots[slot]
        if number < 0 or (
            store.list_stack[number] == stack
            and store.list_tag[number] == tag
            and store.list_cell[number] == cell
        ):
            return slot
        slot = (slot + 1) & mask


@inlined
def head_of(store: Store, stack: int, tag: int, cell: int) -> int:
    """The newest entry of a list, or -1."""
    number = store.slots[find_slot(store, stack, tag, cell)]
    return store.list_head[number] if number >= 0 else -1


@inlined
def push(store: Store, stack: int, tag: int, cell: int, row: int, low: int, high: int) -> None:
    """Put a row on top of a list, with the members of the family that it satisfies."""
    slot = find_slot(store, stack, tag, cell)
    number = store.slots[slot]
    if number < 0:
        number = store.counts[LISTS]
        store.counts[LISTS] += 1
        store.slots[slot] = number
        store.list_stack[number] = stack
        store.list_tag[number] = tag
        store.list_cell[number] = cell
        store.list_head[number] = -1
    entry = store.counts[ENTRIES]
    store.counts[ENTRIES] += 1
    store.entry_row[entry] = row
    store.entry_low[entry] = low
    store.entry_high[entry] = high
    store.entry_before[entry] = store.list_head[number]
    store.list_head[number] = entry


@inlined
def key_of(tag: int, cell: int) -> tuple[int, int]:
    """A value as a key: equal numbers have one key, whether int or double."""
    if tag == DOUBLE:
        number = as_float(cell)
        if -9.2e18 < number < 9.2e18 and number == np.floor(number):
            return INT, int(number)
    return tag, cell


# --- consumption -------------------------------------------------------------


@inlined
def is_consumed(store: Store, rule: int, row: int) -> bool:
    """Whether an event is gone for a rule."""
    mask = len(store.consumed_rule) - 1
    slot = hashed(rule, 0, row, mask)
    while store.consumed_rule[slot] >= 0:
        if store.consumed_rule[slot] == rule and store.consumed_row[slot] == row:
            return True
        slot = (slot + 1) & mask
    return False


@compiled
def consume(store: Store, rule: int, row: int) -> None:
    """Take an event away from a rule."""
    mask = len(store.consumed_rule) - 1
    slot = hashed(rule, 0, row, mask)
    while store.consumed_rule[slot] >= 0:
        if store.consumed_rule[slot] == rule and store.consumed_row[slot] == row:
            return
        slot = (slot + 1) & mask
    store.consumed_rule[slot] = rule
    store.consumed_row[slot] = row
    store.counts[CONSUMED] += 1


@compiled
def _consume_all(store: Store, rules: Ints, rows: Ints, shift: int) -> None:
    for index in range(len(rules)):
        if rules[index] >= 0:
            consume(store, rules[index], rows[index] - shift)
