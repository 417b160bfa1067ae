"""The state of the lazy strategy: stored events, and stacks of them by key.

A stack is a list per key, threaded from the newest entry to the oldest. All arrays have room to
spare; `Memory` gives them more before a batch comes in, so that compiled code never has to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from cepheid.kernel.columns import Ints, Tags
from cepheid.kernel.values import DOUBLE, INT

ROWS, ENTRIES, LISTS, MATCHES, MATCH_ROWS, MATCH_VALUES, CONSUMED = range(7)
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Store(NamedTuple):
    """Stored events by row, entries of stacks, the newest entry of every list, and counters."""

    types: Ints
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


def new_store(columns: int, rows: int = 64) -> Store:
    """An empty store with room for some rows."""
    return Store(
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros((columns, rows), np.uint8),
        np.zeros((columns, rows), np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.zeros(rows, np.int64),
        np.full(2 * rows, -1, np.int64),
        np.full(64, -1, np.int64),
        np.zeros(64, np.int64),
        np.zeros(8, np.int64),
    )


def with_room(store: Store, rows: int, entries: int) -> Store:
    """The store with room for so many rows and entries more."""
    needed_rows = int(store.counts[ROWS]) + rows
    needed_entries = int(store.counts[ENTRIES]) + entries
    needed_lists = int(store.counts[LISTS]) + entries
    changes: dict[str, Ints | Tags] = {}
    if needed_rows > len(store.types):
        size = _grown(len(store.types), needed_rows)
        for name in ("types", "starts", "ends", "tags", "cells"):
            changes[name] = _resized(getattr(store, name), size)
    if needed_entries > len(store.entry_row):
        size = _grown(len(store.entry_row), needed_entries)
        for name in ("entry_row", "entry_before", "entry_low", "entry_high"):
            changes[name] = _resized(getattr(store, name), size)
    if needed_lists > len(store.list_head):
        size = _grown(len(store.list_head), needed_lists)
        for name in ("list_stack", "list_tag", "list_cell", "list_head"):
            changes[name] = _resized(getattr(store, name), size)
        changes["slots"] = np.full(_power_of_two(2 * size), -1, np.int64)
    grown = store._replace(**changes)
    if "slots" in changes:
        rehash(grown)
    return grown


def _grown(size: int, needed: int) -> int:
    return max(needed, size + size // 2)


def _power_of_two(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _resized(array: Ints | Tags, size: int) -> Ints | Tags:
    shape = (*array.shape[:-1], size)
    grown = np.zeros(shape, array.dtype)
    grown[..., : array.shape[-1]] = array
    return grown


@njit(cache=True)
def hashed(stack, tag, cell, mask):
    """A slot for a stack and a key."""
    mixed = (np.uint64(cell) ^ (np.uint64(stack) << np.uint64(40)) ^ np.uint64(tag)) * _MIX
    mixed ^= mixed >> np.uint64(29)
    return np.int64((mixed * _MIX) >> np.uint64(20)) & mask


@njit(cache=True)
def rehash(store):
    """Fill the slots anew after they grew."""
    mask = len(store.slots) - 1
    for number in range(store.counts[LISTS]):
        slot = hashed(store.list_stack[number], store.list_tag[number], store.list_cell[number], mask)
        while store.slots[slot] >= 0:
            slot = (slot + 1) & mask
        store.slots[slot] = number


@njit(cache=True)
def find_slot(store, stack, tag, cell):
    """The slot of a list, or the empty slot where it belongs."""
    mask = len(store.slots) - 1
    slot = hashed(stack, tag, cell, mask)
    while True:
        number = store.slots[slot]
        if number < 0:
            return slot
        if (
            store.list_stack[number] == stack
            and store.list_tag[number] == tag
            and store.list_cell[number] == cell
        ):
            return slot
        slot = (slot + 1) & mask


@njit(cache=True)
def head_of(store, stack, tag, cell):
    """The newest entry of a list, or -1."""
    number = store.slots[find_slot(store, stack, tag, cell)]
    return store.list_head[number] if number >= 0 else -1


@njit(cache=True)
def push(store, stack, tag, cell, row, low, high):
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


@njit(cache=True)
def as_key(tag, cell):
    """A value as a key: equal numbers have one key, whether int or double."""
    if tag == DOUBLE:
        number = np.int64(cell).view(np.float64)
        if -9.2e18 < number < 9.2e18 and number == np.floor(number):
            return INT, np.int64(number)
    return tag, cell


@njit(cache=True)
def is_consumed(store, rule, row):
    """Whether an event is gone for a rule."""
    mask = len(store.consumed_rule) - 1
    slot = hashed(rule, 0, row, mask)
    while store.consumed_rule[slot] >= 0:
        if store.consumed_rule[slot] == rule and store.consumed_row[slot] == row:
            return True
        slot = (slot + 1) & mask
    return False


@njit(cache=True)
def consume(store, rule, row):
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


def with_room_to_consume(store: Store, more: int) -> Store:
    """The store with room to consume so many events more."""
    needed = 2 * (int(store.counts[CONSUMED]) + more)
    if needed <= len(store.consumed_rule):
        return store
    size = _power_of_two(2 * needed)
    grown = store._replace(
        consumed_rule=np.full(size, -1, np.int64), consumed_row=np.zeros(size, np.int64)
    )
    grown.counts[CONSUMED] = 0
    for rule, row in zip(store.consumed_rule, store.consumed_row, strict=True):
        if rule >= 0:
            consume(grown, rule, row)
    return grown
