"""Which members of a family a value satisfies: a range of their sorted constants."""

from __future__ import annotations

from cepheid.kernel.compiled import compiled
from cepheid.kernel.machine import Machine
from cepheid.kernel.values import (
    AT_LEAST,
    AT_MOST,
    DOUBLE,
    GREATER,
    INT,
    LESS,
    MISSING,
    as_float,
    compare,
)


@compiled
def members_of_row(m: Machine, hole: int, row: int, missing: bool) -> tuple[int, int]:
    """The members that an event satisfies."""
    column = m.tables.hole[hole, 1]
    tag, cell = int(m.store.tags[column, row]), m.store.cells[column, row]
    return members(m, hole, tag, cell, as_float(cell) if tag == DOUBLE else 0.0, missing)


@compiled
def members(
    m: Machine, hole: int, tag: int, cell: int, number: float, missing: bool
) -> tuple[int, int]:
    """The members whose constant is in the hole's relation to a value."""
    relation, begin, end = m.tables.hole[hole, 0], m.tables.hole[hole, 2], m.tables.hole[hole, 3]
    count = end - begin
    if tag == MISSING:
        return (0, count) if missing else (0, 0)
    if tag != INT and tag != DOUBLE:
        return 0, 0
    below = _count(m, begin, end, tag, cell, number, False)
    if relation == GREATER:
        return 0, below
    if relation == AT_MOST:
        return below, count
    upto = _count(m, begin, end, tag, cell, number, True)
    if relation == AT_LEAST:
        return 0, upto
    if relation == LESS:
        return upto, count
    return below, upto


@compiled
def _count(
    m: Machine, begin: int, end: int, tag: int, cell: int, number: float, inclusive: bool
) -> int:
    """How many constants are below a value, or (inclusive) not above it."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        other_tag, other = m.tables.threshold_tags[middle], m.tables.threshold_cells[middle]
        other_number = as_float(other) if other_tag == DOUBLE else 0.0
        order = compare(other_tag, other, other_number, tag, cell, number, m.ranks)
        if order < 0 or (inclusive and order == 0):
            low = middle + 1
        else:
            high = middle
    return low - begin
