"""Which members of a family a value satisfies: a range of their sorted constants."""

from __future__ import annotations

from cepheid.kernel.compiled import compiled, inlined
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

_FEW = 8
"""Among so few constants, halving is as fast as anything."""


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
    upto = _upto(m, begin + below, end, tag, cell, number) - begin
    if relation == AT_LEAST:
        return 0, upto
    if relation == LESS:
        return upto, count
    return below, upto


@inlined
def _upto(m: int, begin: int, end: int, tag: int, cell: int, number: float) -> int:
    """Where the constants end that equal a value, given where they begin: mostly at once."""
    at = begin
    while at < end and at <= begin + 1:
        if not _is_below(m, at, tag, cell, number, True):
            return at
        at += 1
    return at + _count(m, at, end, tag, cell, number, True)


@compiled
def _count(
    m: int, begin: int, end: int, tag: int, cell: int, number: float, inclusive: bool
) -> int:
    """How many constants are below a value, or (inclusive) not above it."""
    low, high = begin, end
    if tag == INT and end - begin > _FEW:
        low, high = _near(m, begin, end, cell, inclusive)
    while low < high:
        middle = (low + high) // 2
        if _is_below(m, middle, tag, cell, number, inclusive):
            low = middle + 1
        else:
            high = middle
    return low - begin


@inlined
def _near(m: int, begin: int, end: int, cell: int, inclusive: bool) -> tuple[int, int]:
    """Between which places a whole number belongs: a few, if the constants are evenly spread.

    Halving takes a step for every bit, and the processor guesses every other one wrong.
    """
    known, constants = ints(m, THRESHOLD_TAG), ints(m, THRESHOLD_CELL)
    first, last = float(constants[begin]), float(constants[end - 1])
    if known[begin] != INT or known[end - 1] != INT or not first < float(cell) < last:
        return begin, end
    share = (float(cell) - first) / (last - first)
    guess = begin + int(share * (end - 1 - begin) + 0.5)
    low, high = max(begin, guess - 2), min(end - 1, guess + 2)
    if known[low] != INT or known[high] != INT:
        return begin, end
    if constants[low] < cell or (inclusive and constants[low] == cell):
        begin = low + 1
    if constants[high] > cell or (not inclusive and constants[high] == cell):
        end = high
    return begin, end


@inlined
def _is_below(m: int, at: int, tag: int, cell: int, number: float, inclusive: bool) -> bool:
    """Whether a constant is below a value, or (inclusive) not above it."""
    known, other = ints(m, THRESHOLD_TAG)[at], ints(m, THRESHOLD_CELL)[at]
    if tag == INT and known == INT:
        return bool(other < cell or (inclusive and other == cell))
    other_number = as_float(other) if known == DOUBLE else 0.0
    order = compare(known, other, other_number, tag, cell, number, ints(m, RANKS))
    return order < 0 or (inclusive and order == 0)
