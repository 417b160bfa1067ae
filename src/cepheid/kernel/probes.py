"""Probes: looking for events of a stack, by key, in a window."""

from __future__ import annotations

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.machine import Machine, holds
from cepheid.kernel.store import Store, head_of, is_consumed, key_of
from cepheid.kernel.tables import (
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
)
from cepheid.kernel.values import BOOL, MISSING


@inlined
def bounds(m: Machine, probe: int) -> tuple[int, int]:
    """The open interval of a probe's window, given the rows that it hangs on."""
    row = m.tables.probe[probe]
    low_at, high_at = row[PROBE_LOW], row[PROBE_HIGH]
    if row[PROBE_SWAPS] and _precedes(m.store, m.frame.rows[high_at], m.frame.rows[low_at]):
        low_at, high_at = high_at, low_at
    low, high = row[PROBE_LOW_OFFSET], row[PROBE_HIGH_OFFSET]
    if low_at >= 0:
        low += m.store.ends[m.frame.rows[low_at]]
    if high_at >= 0:
        high += m.store.starts[m.frame.rows[high_at]]
    return low, high


@inlined
def _precedes(store: Store, one: int, other: int) -> bool:
    """The total order of stored events; rows are stored in it."""
    if store.ends[one] != store.ends[other]:
        return bool(store.ends[one] < store.ends[other])
    if store.starts[one] != store.starts[other]:
        return bool(store.starts[one] < store.starts[other])
    return one < other


@inlined
def newest(m: Machine, probe: int, part: int, missing: bool) -> int:
    """The newest entry that a probe looks at; part 1 are the events without the key.

    Where a comparison with nothing holds, events without the attribute fit every key, and a key
    that is missing fits every event.
    """
    row = m.tables.probe[probe]
    at = row[PROBE_KEY_AT]
    if at < 0:
        return head_of(m.store, row[PROBE_STACK], BOOL, 0) if part == 0 else -1
    column, bound = row[PROBE_KEY_COLUMN], m.frame.rows[at]
    tag = int(m.store.tags[column, bound])
    if tag == MISSING:
        return head_of(m.store, row[PROBE_ALL], BOOL, 0) if missing and part == 0 else -1
    if part == 1:
        return head_of(m.store, row[PROBE_STACK], MISSING, 0)
    tag, cell = key_of(tag, m.store.cells[column, bound])
    return head_of(m.store, row[PROBE_STACK], tag, cell)


@compiled
def exists(m: Machine, family: int, probe: int) -> bool:
    """Whether a probe finds an event."""
    missing = m.tables.family_missing[family] == 1
    consumes = m.tables.consumes[family] != 0
    low, high = bounds(m, probe)
    filter_ = m.tables.probe[probe, PROBE_FILTER]
    for part in range(2 if missing else 1):
        entry = newest(m, probe, part, missing)
        while entry >= 0:
            row = m.store.entry_row[entry]
            entry = m.store.entry_before[entry]
            if m.store.ends[row] <= low:
                break
            if m.store.ends[row] >= high or m.store.starts[row] <= low:
                continue
            if consumes and is_consumed(m.store, family, row):
                continue
            if filter_ < 0 or holds(m, filter_, row, missing):
                return True
    return False
