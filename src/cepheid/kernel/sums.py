"""Aggregate functions over values that come one by one, as exact as the oracle's.

A running aggregate lives in two slots, so that it can be passed on without its parts: ints are
summed with their carry, doubles as parts that do not overlap (Shewchuk 1997).
"""

from __future__ import annotations

import math

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import CODE, floats, ints
from cepheid.kernel.values import DOUBLE, INT, MISSING, Floats, as_cell, as_float

AVG, SUM, MIN, MAX, COUNT = range(5)
SUM_STATE, SUM_PARTS = CODE + 28, CODE + 29
"""Slots of the running aggregate; both have room from the start."""

_FOUND, _INTS, _TOTAL, _CARRY, _LEAST_INT, _MOST_INT, _PARTS = range(7)
_LEAST, _MOST, _FIRST_PART = 0, 1, 2
SUM_ROOM = 80
_EXACT = 1 << 53
_ZERO, _ONE, _TWO_MORE = np.uint64(0), np.uint64(1), np.uint64(1 << 54)


@inlined
def begin_sum(m: int) -> None:
    """Forget what was added before."""
    state = ints(m, SUM_STATE)
    for at in range(7):
        state[at] = 0


@compiled
def add_to_sum(m: int, function: int, tag: int, cell: int) -> None:
    """Add a value; those that are not numbers only count."""
    state = ints(m, SUM_STATE)
    if function == COUNT:
        state[_FOUND] += 1 if tag != MISSING else 0
    elif tag == INT:
        if state[_INTS] == 0:
            state[_LEAST_INT] = state[_MOST_INT] = cell
        state[_LEAST_INT] = min(state[_LEAST_INT], cell)
        state[_MOST_INT] = max(state[_MOST_INT], cell)
        total = state[_TOTAL]
        summed = total + cell
        if ((total ^ summed) & (cell ^ summed)) < 0:
            state[_CARRY] += 1 if cell > 0 else -1
        state[_TOTAL] = summed
        state[_INTS] += 1
        state[_FOUND] += 1
    elif tag == DOUBLE:
        parts, number = floats(m, SUM_PARTS), as_float(cell)
        if state[_FOUND] == state[_INTS]:
            parts[_LEAST] = parts[_MOST] = number
        parts[_LEAST], parts[_MOST] = min(parts[_LEAST], number), max(parts[_MOST], number)
        state[_PARTS] = _add_exactly(parts, state[_PARTS], number)
        state[_FOUND] += 1


@compiled
def end_sum(m: int, function: int) -> tuple[int, int]:
    """The tag and the cell of the aggregate; over nothing only Count is defined."""
    state, parts = ints(m, SUM_STATE), floats(m, SUM_PARTS)
    found, whole = state[_FOUND], state[_INTS]
    if function == COUNT:
        return INT, found
    if found == 0:
        return MISSING, 0
    if function == MIN or function == MAX:
        if whole == found:
            return INT, state[_LEAST_INT] if function == MIN else state[_MOST_INT]
        least, most = parts[_LEAST], parts[_MOST]
        if whole > 0:
            least = min(least, float(state[_LEAST_INT]))
            most = max(most, float(state[_MOST_INT]))
        return DOUBLE, as_cell(least if function == MIN else most)
    return _sum(parts, function == AVG, found, whole, state[_PARTS], state[_TOTAL], state[_CARRY])


@compiled
def _sum(
    parts: Floats, average: bool, found: int, whole: int, count: int, total: int, carry: int
) -> tuple[int, int]:
    """Sum or average; the ints sum up to total + carry * 2^64."""
    if whole == found and not average:
        return (MISSING, 0) if carry != 0 else (INT, total)
    if whole == found:
        return DOUBLE, as_cell(divided(total, carry, found))
    count = _add_exactly(parts, count, carry * 2.0**64)
    count = _add_exactly(parts, count, float(total >> 32) * 2.0**32)
    count = _add_exactly(parts, count, float(total & 0xFFFFFFFF))
    number = _rounded(parts, count)
    if math.isnan(number):
        return MISSING, 0
    return DOUBLE, as_cell(number / found if average else number)


@compiled
def divided(total: int, carry: int, found: int) -> float:
    """What total + carry * 2^64 is, divided by a number; rounded once, half to even."""
    if carry == 0 and abs(total) <= _EXACT and found <= _EXACT:
        return float(total) / float(found)
    negative = carry < 0 or (carry == 0 and total < 0)
    high, low = np.uint64(carry - 1 if total < 0 else carry), np.uint64(total)
    if negative:
        high, low = ~high, ~low + _ONE
        high += _ONE if low == _ZERO else _ZERO
    # Division bit by bit; the quotient of ints of 64 bits has no more than these. It goes on
    # behind the point until there are two bits more than a double has.
    number, rest, quotient, behind = np.uint64(found), _ZERO, _ZERO, 0
    for at in range(127, -1, -1):
        word = high if at >= 64 else low
        rest = (rest << _ONE) | ((word >> np.uint64(at & 63)) & _ONE)
        quotient <<= _ONE
        if rest >= number:
            rest, quotient = rest - number, quotient | _ONE
    while rest != _ZERO and quotient < _TWO_MORE:
        rest, quotient, behind = rest << _ONE, quotient << _ONE, behind + 1
        if rest >= number:
            rest, quotient = rest - number, quotient | _ONE
    if rest != _ZERO:
        quotient |= _ONE
    result = float(quotient) * 2.0**-behind
    return -result if negative else result


@compiled
def _add_exactly(sums: Floats, parts: int, number: float) -> int:
    """Add a number to a sum that is kept as parts that do not overlap."""
    kept = 0
    for index in range(parts):
        other = sums[_FIRST_PART + index]
        if abs(number) < abs(other):
            number, other = other, number
        high = number + other
        # Beyond the range of doubles the sum is infinite, and nothing of it is left over.
        rest = 0.0 if math.isinf(high) else other - (high - number)
        if rest != 0.0:
            sums[_FIRST_PART + kept] = rest
            kept += 1
        number = high
    sums[_FIRST_PART + kept] = number
    return kept + 1


@compiled
def _rounded(sums: Floats, parts: int) -> float:
    """The sum of parts, rounded once, half to even."""
    at = _FIRST_PART + parts - 1
    high, low = sums[at], 0.0
    while at > _FIRST_PART:
        at -= 1
        before = high
        high = before + sums[at]
        low = sums[at] - (high - before)
        if low != 0.0:
            break
    if at > _FIRST_PART and (
        (low < 0.0 and sums[at - 1] < 0.0) or (low > 0.0 and sums[at - 1] > 0.0)
    ):
        doubled = low * 2.0
        other = high + doubled
        if doubled == other - high:
            high = other
    return float(high)
