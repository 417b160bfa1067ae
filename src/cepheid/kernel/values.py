"""Values in compiled code: a tag, and a number that is read as the tag says.

The meaning is that of `cepheid.oracle.values`, written for arrays. An int travels in the int
half, a double in the float half, a text as its code, a bool as 0 or 1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cepheid.kernel.compiled import compiled, inlined

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Tags = npt.NDArray[np.uint8]
Shorts = npt.NDArray[np.int32]

MISSING, INT, DOUBLE, TEXT, BOOL = 0, 1, 2, 3, 4
EQUAL, UNEQUAL, LESS, AT_MOST, GREATER, AT_LEAST = 0, 1, 2, 3, 4, 5
ADD, SUBTRACT, MULTIPLY, DIVIDE = 0, 1, 2, 3

_MAX_SIZE, _MIN_SIZE, _ONE = np.uint64(2**63 - 1), np.uint64(2**63), np.uint64(1)
_EXACT = 2.0**63


@inlined
def is_number(tag: int) -> bool:
    """Whether a tag is that of a number."""
    return tag == INT or tag == DOUBLE


@compiled
def compare_int_float(i: int, f: float) -> int:
    """-1, 0 or 1 for an int against a double, by exact value; 2 when the double is not a number."""
    if math.isnan(f):
        return 2
    if f >= _EXACT:
        return -1
    if f < -_EXACT:
        return 1
    whole = math.floor(f)
    j = int(whole)
    if i < j:
        return -1
    if i > j:
        return 1
    return -1 if f > whole else 0


@compiled
def compare(tag1: int, i1: int, f1: float, tag2: int, i2: int, f2: float, ranks: Ints) -> int:
    """-1, 0 or 1 for two values of one family; 2 when they cannot be ordered."""
    if is_number(tag1) and is_number(tag2):
        if tag1 == INT and tag2 == INT:
            return -1 if i1 < i2 else (1 if i1 > i2 else 0)
        if tag1 == DOUBLE and tag2 == DOUBLE:
            if f1 < f2:
                return -1
            return 1 if f1 > f2 else (0 if f1 == f2 else 2)
        if tag1 == INT:
            return compare_int_float(i1, f2)
        found = compare_int_float(i2, f1)
        return found if found == 2 else -found
    if tag1 != tag2:
        return 2
    if i1 == i2:
        return 0
    # Texts that came after the ranks were made are only ever compared for equality.
    if tag1 == TEXT and max(i1, i2) < len(ranks):
        return -1 if ranks[i1] < ranks[i2] else 1
    return 3


@compiled
def related(
    relation: int, tag1: int, i1: int, f1: float, tag2: int, i2: int, f2: float, ranks: Ints
) -> bool:
    """Whether two present values are in a relation; see the oracle's function of this name."""
    order = compare(tag1, i1, f1, tag2, i2, f2, ranks)
    if relation == EQUAL:
        return order == 0
    if relation == UNEQUAL:
        return order != 0
    if order >= 2 or tag1 == BOOL:
        return False
    if relation == LESS:
        return order < 0
    if relation == AT_MOST:
        return order <= 0
    if relation == GREATER:
        return order > 0
    return order >= 0


@compiled
def arithmetic(
    sign: int, tag1: int, i1: int, f1: float, tag2: int, i2: int, f2: float
) -> tuple[int, int, float]:
    """Sum, difference, product or quotient; missing where it is not defined."""
    if not (is_number(tag1) and is_number(tag2)):
        return MISSING, 0, 0.0
    if tag1 == INT and tag2 == INT and sign != DIVIDE:
        return _int_arithmetic(sign, i1, i2)
    x = float(i1) if tag1 == INT else f1
    y = float(i2) if tag2 == INT else f2
    if sign == ADD:
        z = x + y
    elif sign == SUBTRACT:
        z = x - y
    elif sign == MULTIPLY:
        z = x * y
    elif y == 0.0:
        return MISSING, 0, 0.0
    else:
        z = x / y
    return (MISSING, 0, 0.0) if math.isnan(z) else (DOUBLE, 0, z)


@compiled
def _int_arithmetic(sign: int, a: int, b: int) -> tuple[int, int, float]:
    if sign == ADD:
        c = a + b
        overflow = ((a ^ c) & (b ^ c)) < 0
    elif sign == SUBTRACT:
        c = a - b
        overflow = ((a ^ b) & (a ^ c)) < 0
    else:
        c = a * b
        overflow = abs(float(a) * float(b)) >= 2.0**62 and _product_overflows(a, b)
    return (MISSING, 0, 0.0) if overflow else (INT, c, 0.0)


@compiled
def _product_overflows(a: int, b: int) -> bool:
    """Whether a product has more than 64 bits; the product itself is no help.

    The compiler takes for granted that it fits, and that dividing it gives back what went in.
    """
    if a == 0 or b == 0:
        return False
    most = _MAX_SIZE if (a < 0) == (b < 0) else _MIN_SIZE
    return bool(_size(a) > most // _size(b))


@compiled
def _size(number: int) -> np.uint64:
    """The distance from zero."""
    return np.uint64(number) if number >= 0 else np.uint64(-(number + 1)) + _ONE


@inlined
def as_float(cell: int) -> float:
    """The double that a cell holds."""
    return float(np.int64(cell).view(np.float64))


@inlined
def as_cell(number: float) -> int:
    """The cell that holds a double."""
    return int(np.float64(number).view(np.int64))
