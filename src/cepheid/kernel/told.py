"""What detectors have told already: equal constituents give one composite event.

What a match is made of is a sum of hashes (128 bits), one for each constituent with its name, so
the order in which branches took them does not matter. How long must a sum be remembered?

- A match that an event completes holds that event. No match before that event held it, so only
  matches of the same event can be equal: they are remembered while the event passes (`FRESH`).
- A match that a timer completes holds no new event. A branch without twins remembers by a flag
  that its own events were told. Otherwise (twins, pairs) the same events may have been told
  before, and may come again as long as branches or matches of sides hold all of them. So the sum
  is remembered with one of its events, and forgotten once nothing holds that event (`TOLD`).
"""

from __future__ import annotations

from cepheid.kernel.chains import mixed
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.detector_slots import (
    COUNTERS,
    FRESH,
    FRESH_COUNT,
    KEY_OTHER,
    NODE,
    NODE_COUNT,
    NODE_FIRST,
    NODE_USERS,
    NODE_WIDTH,
    PASSING,
    REFERRED,
    STAMP,
    TOLD,
    TOLD_COUNT,
    TOLD_HASH,
    TOLD_HASH2,
    TOLD_LIMIT,
    TOLD_ORIGIN,
    TOLD_ROW,
    TOLD_WIDTH,
)
from cepheid.kernel.memory import grow, ints, resize, size, tags
from cepheid.kernel.store import MOVED, ROW_END, ROW_ORIGIN

FRESH_WIDTH = 3
FEW_TOLD = 32


@inlined
def hash_of(m: int, name: int, row: int) -> tuple[int, int]:
    """The hash of a constituent; a row may move, its origin does not change."""
    one = mixed(ints(m, ROW_ORIGIN)[row] ^ mixed(name))
    return one, mixed(one ^ 0x5851F42D4C957F2D)


# --- while an event passes ---------------------------------------------------


@compiled
def _fresh_slot(m: int, one: int, other: int) -> int:
    """Where a sum of this event is, or the place where it belongs."""
    table, stamp = ints(m, FRESH), ints(m, PASSING)[STAMP]
    mask = size(m, FRESH) // FRESH_WIDTH - 1
    slot = one & mask
    while table[FRESH_WIDTH * slot] == stamp and not (
        table[FRESH_WIDTH * slot + 1] == one and table[FRESH_WIDTH * slot + 2] == other
    ):
        slot = (slot + 1) & mask
    return slot


@compiled
def is_fresh(m: int, one: int, other: int) -> bool:
    """Whether a sum was remembered while this event passes."""
    slot = _fresh_slot(m, one, other)
    return bool(ints(m, FRESH)[FRESH_WIDTH * slot] == ints(m, PASSING)[STAMP])


@compiled
def remember_fresh(m: int, one: int, other: int) -> None:
    """Remember a sum that is not remembered yet, until the next event comes."""
    passing = ints(m, PASSING)
    passing[FRESH_COUNT] += 1
    if 2 * FRESH_WIDTH * passing[FRESH_COUNT] > size(m, FRESH):
        _grow_fresh(m)
    table, slot = ints(m, FRESH), _fresh_slot(m, one, other)
    table[FRESH_WIDTH * slot] = passing[STAMP]
    table[FRESH_WIDTH * slot + 1], table[FRESH_WIDTH * slot + 2] = one, other


@compiled
def _grow_fresh(m: int) -> None:
    count, stamp = size(m, FRESH), ints(m, PASSING)[STAMP]
    resize(m, KEY_OTHER, count)
    others = ints(m, KEY_OTHER)
    others[:count] = ints(m, FRESH)[:count]
    resize(m, FRESH, 2 * count)
    table = ints(m, FRESH)
    table[: 2 * count] = 0
    for at in range(0, count, FRESH_WIDTH):
        if others[at] == stamp:
            slot = FRESH_WIDTH * _fresh_slot(m, others[at + 1], others[at + 2])
            table[slot : slot + FRESH_WIDTH] = others[at : at + FRESH_WIDTH]


# --- as long as it may come again --------------------------------------------


@compiled
def _told_slot(m: int, one: int, other: int) -> int:
    table, mask = ints(m, TOLD), size(m, TOLD) // TOLD_WIDTH - 1
    slot = one & mask
    while table[TOLD_WIDTH * slot + TOLD_ORIGIN] != 0 and not (
        table[TOLD_WIDTH * slot + TOLD_HASH] == one
        and table[TOLD_WIDTH * slot + TOLD_HASH2] == other
    ):
        slot = (slot + 1) & mask
    return slot


@compiled
def is_told(m: int, one: int, other: int) -> bool:
    """Whether a sum was told."""
    return bool(ints(m, TOLD)[TOLD_WIDTH * _told_slot(m, one, other) + TOLD_ORIGIN] != 0)


@compiled
def remember_told(m: int, one: int, other: int, row: int) -> None:
    """Remember a sum, as long as anything holds the row."""
    counters = ints(m, COUNTERS)
    if counters[TOLD_COUNT] >= counters[TOLD_LIMIT]:
        sweep_told(m)
    counters[TOLD_COUNT] += 1
    _put_told(m, one, other, row, _odd(ints(m, ROW_ORIGIN)[row]))


@inlined
def _odd(origin: int) -> int:
    """An origin as a number that is never 0, which is an empty place."""
    return 2 * origin + 1


@compiled
def _put_told(m: int, one: int, other: int, row: int, origin: int) -> None:
    table, at = ints(m, TOLD), TOLD_WIDTH * _told_slot(m, one, other)
    table[at + TOLD_HASH], table[at + TOLD_HASH2] = one, other
    table[at + TOLD_ROW], table[at + TOLD_ORIGIN] = row, origin


@compiled
def sweep_told(m: int) -> None:
    """Forget what cannot come again, because nothing holds its events."""
    rows, nodes = size(m, ROW_END), ints(m, NODE)
    grow(m, REFERRED, rows, 1)
    referred = tags(m, REFERRED)
    referred[:rows] = 0
    for at in range(0, size(m, NODE), NODE_WIDTH):
        first = at + NODE_FIRST
        if nodes[at + NODE_USERS] > 0:
            for place in range(first, first + 2 * nodes[at + NODE_COUNT], 2):
                referred[nodes[place]] = 1
    count, kept = size(m, TOLD), 0
    resize(m, KEY_OTHER, count)
    others, table, origins = ints(m, KEY_OTHER), ints(m, TOLD), ints(m, ROW_ORIGIN)
    for at in range(0, count, TOLD_WIDTH):
        row = table[at + TOLD_ROW]
        held = table[at + TOLD_ORIGIN] != 0 and row < rows and referred[row]
        if held and table[at + TOLD_ORIGIN] == _odd(origins[row]):
            others[kept : kept + TOLD_WIDTH] = table[at : at + TOLD_WIDTH]
            kept += TOLD_WIDTH
    # The work that a sweep is pays for as many sums that are remembered until the next one.
    work = (rows + size(m, NODE) // 2) // 4
    _fill_told(m, kept // TOLD_WIDTH, max(work, 2 * (kept // TOLD_WIDTH)))


@compiled
def _fill_told(m: int, count: int, limit: int) -> None:
    """Let the table hold what was set aside, and have room for so many."""
    limit = max(FEW_TOLD, limit)
    wanted = 64
    while wanted < 2 * limit:
        wanted *= 2
    resize(m, TOLD, TOLD_WIDTH * wanted)
    ints(m, TOLD)[: TOLD_WIDTH * wanted] = 0
    counters, others = ints(m, COUNTERS), ints(m, KEY_OTHER)
    counters[TOLD_COUNT], counters[TOLD_LIMIT] = count, limit
    for at in range(0, TOLD_WIDTH * count, TOLD_WIDTH):
        _put_told(m, others[at], others[at + 1], others[at + TOLD_ROW], others[at + TOLD_ORIGIN])


@compiled
def move_told(m: int) -> None:
    """Follow rows to where compaction put them; those that nobody holds have been swept."""
    table, moved = ints(m, TOLD), ints(m, MOVED)
    for at in range(0, size(m, TOLD), TOLD_WIDTH):
        if table[at + TOLD_ORIGIN] != 0:
            table[at + TOLD_ROW] = moved[table[at + TOLD_ROW]]
