"""Which members of a family a value satisfies: a range of their sorted constants."""

from __future__ import annotations

from cepheid.kernel.compiled import compiled
from cepheid.kernel.memory import ints, tags
from cepheid.kernel.store import RANKS, ROW_CELLS, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.tables import (
    HOLE,
    HOLE_BEGIN,
    HOLE_COLUMN,
    HOLE_END,
    HOLE_RELATION,
    HOLE_WIDTH,
    THRESHOLD_CELL,
    THRESHOLD_TAG,
)
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
def members_of_row(m: int, hole: int, row: int, missing: bool) -> tuple[int, int]:
    """The members that an event satisfies."""
    at = row * scalar(m, WIDTH) + ints(m, HOLE)[HOLE_WIDTH * hole + HOLE_COLUMN]
    tag, cell = int(tags(m, ROW_TAGS)[at]), ints(m, ROW_CELLS)[at]
    return members(m, hole, tag, cell, as_float(cell) if tag == DOUBLE else 0.0, missing)


@compiled
def members(
    m: int, hole: int, tag: int, cell: int, number: float, missing: bool
) -> tuple[int, int]:
    """The members whose constant is in the hole's relation to a value."""
    holes = ints(m, HOLE)
    relation = holes[HOLE_WIDTH * hole + HOLE_RELATION]
    begin, end = holes[HOLE_WIDTH * hole + HOLE_BEGIN], holes[HOLE_WIDTH * hole + HOLE_END]
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
    m: int, begin: int, end: int, tag: int, cell: int, number: float, inclusive: bool
) -> int:
    """How many constants are below a value, or (inclusive) not above it."""
    threshold_tags, thresholds, ranks = (
        ints(m, THRESHOLD_TAG),
        ints(m, THRESHOLD_CELL),
        ints(m, RANKS),
    )
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        other_tag, other = threshold_tags[middle], thresholds[middle]
        if tag == INT and other_tag == INT:
            order = -1 if other < cell else (1 if other > cell else 0)
        else:
            other_number = as_float(other) if other_tag == DOUBLE else 0.0
            order = compare(other_tag, other, other_number, tag, cell, number, ranks)
        if order < 0 or (inclusive and order == 0):
            low = middle + 1
        else:
            high = middle
    return low - begin
