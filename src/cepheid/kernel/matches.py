"""Matches on their way out: who found them, when, what they are made of, what was computed.

A match belongs to a *family*: rules of one shape, of which it counts for the members in a range.
Rules that are alone are families of one. The matches of a feed are written one after the other,
and leave as columns when compiled code returns.
"""

from __future__ import annotations

import math

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import MATCHES, append, capacity, grow, ints, set_size, size
from cepheid.kernel.programs import value_of
from cepheid.kernel.values import DOUBLE, INT, MISSING, as_cell, as_float

(
    MATCH_FAMILY,
    MATCH_LOW,
    MATCH_HIGH,
    MATCH_TIME,
    MATCH_ROWS,
    MATCH_VALUES,
    MATCH_MADE,
    MATCH_ROW,
    MATCH_LABEL,
    MATCH_TAG,
    MATCH_CELL,
    FAMILY_POINT,
    FAMILY_LISTENED,
    FAMILY_MEMBERS,
    MEMBER_RULE,
    MEMBER_TYPE,
    FAMILY_TARGETS,
    TARGET,
    FAMILY_OUTPUTS,
    OUTPUT_PROGRAM,
    OUTPUT_KIND,
    FAMILY_LOOK,
    LISTENED,
) = range(MATCHES, MATCHES + 23)
"""Slots: `MATCH_ROWS` and `MATCH_VALUES` are where a match begins in the slots `MATCH_ROW` and
`MATCH_LABEL`, and `MATCH_TAG` and `MATCH_CELL`. `MATCH_MADE` is the origin of the first composite
event made of it, or 0. Families: whether a composite event is a point, whether any rule listens to
it, and where its members and targets begin (one more entry than families). Members: their rule
(-1 when it was removed) and the code of their output type, -1 when nobody listens. Targets, in
fours: column, kind, position or -1, and the column of the source or the number of the value.
`FAMILY_LOOK` says which families look alike from outside. Outputs: the programs of the values that
are computed with a match, and the kinds they get. `LISTENED` has as many items as families to which
rules listen."""

OUTGOING = (
    MATCH_FAMILY,
    MATCH_LOW,
    MATCH_HIGH,
    MATCH_TIME,
    MATCH_ROWS,
    MATCH_VALUES,
    MATCH_MADE,
    MATCH_ROW,
    MATCH_LABEL,
    MATCH_TAG,
    MATCH_CELL,
)
"""Slots that are empty when matches have left."""
TARGET_COLUMN, TARGET_KIND, TARGET_POSITION, TARGET_SOURCE = range(4)
TARGET_WIDTH = 4
ANY_KIND = -1


@inlined
def open_match(m: int, family: int, low: int, high: int, time: int) -> None:
    """Begin to write a match down; what is added from now on belongs to it."""
    at = size(m, MATCH_FAMILY)
    if at == capacity(m, MATCH_FAMILY):
        _grow_matches(m, at + 1)
    ints(m, MATCH_FAMILY)[at] = family
    ints(m, MATCH_LOW)[at] = low
    ints(m, MATCH_HIGH)[at] = high
    ints(m, MATCH_TIME)[at] = time
    ints(m, MATCH_ROWS)[at] = size(m, MATCH_ROW)
    ints(m, MATCH_VALUES)[at] = size(m, MATCH_TAG)
    ints(m, MATCH_MADE)[at] = 0
    set_size(m, MATCH_FAMILY, at + 1)
    set_size(m, MATCH_LOW, at + 1)
    set_size(m, MATCH_HIGH, at + 1)
    set_size(m, MATCH_TIME, at + 1)
    set_size(m, MATCH_ROWS, at + 1)
    set_size(m, MATCH_VALUES, at + 1)
    set_size(m, MATCH_MADE, at + 1)


@compiled
def _grow_matches(m: int, count: int) -> None:
    """Room for so many matches, the same in all slots that have a number for each of them."""
    for slot in (MATCH_FAMILY, MATCH_LOW, MATCH_HIGH, MATCH_TIME):
        grow(m, slot, count, 8)
    for slot in (MATCH_ROWS, MATCH_VALUES, MATCH_MADE):
        grow(m, slot, count, 8)


@inlined
def add_constituent(m: int, row: int, label: int) -> None:
    """Say that an event is a constituent; the label is the code of its text."""
    append(m, MATCH_ROW, row)
    append(m, MATCH_LABEL, label)


@inlined
def add_value(m: int, tag: int, value: int, number: float, kind: int) -> None:
    """Write down the value of an output attribute, as its kind (a tag) or (-1) as it is."""
    tag, cell = converted(tag, as_cell(number) if tag == DOUBLE else value, kind)
    append(m, MATCH_TAG, tag)
    append(m, MATCH_CELL, cell)


@compiled
def add_outputs(m: int, family: int, own: int, missing: bool) -> None:
    """Compute the values of a match from the frame, and write them down."""
    for at in range(ints(m, FAMILY_OUTPUTS)[family], ints(m, FAMILY_OUTPUTS)[family + 1]):
        tag, value, number = value_of(m, ints(m, OUTPUT_PROGRAM)[at], own, missing)
        add_value(m, tag, value, number, ints(m, OUTPUT_KIND)[at])


@compiled
def converted(tag: int, cell: int, kind: int) -> tuple[int, int]:
    """A value as one of a kind: numbers are converted, what does not fit is missing."""
    if kind < 0 or tag == kind or tag == MISSING:
        return tag, cell
    if kind == DOUBLE and tag == INT:
        return DOUBLE, as_cell(float(cell))
    if kind == INT and tag == DOUBLE:
        number = as_float(cell)
        if math.isinf(number):
            return MISSING, 0
        nearest = np.rint(number)
        if -(2.0**63) <= nearest < 2.0**63:
            return INT, int(nearest)
    return MISSING, 0


@inlined
def match_count(m: int) -> int:
    """How many matches have been written down."""
    return size(m, MATCH_FAMILY)


@compiled
def drop_matches(m: int, count: int) -> None:
    """Forget all matches but the first ones."""
    if count == size(m, MATCH_FAMILY):
        return
    rows, values = ints(m, MATCH_ROWS)[count], ints(m, MATCH_VALUES)[count]
    for slot in (MATCH_FAMILY, MATCH_LOW, MATCH_HIGH, MATCH_TIME):
        set_size(m, slot, count)
    for slot in (MATCH_ROWS, MATCH_VALUES, MATCH_MADE):
        set_size(m, slot, count)
    set_size(m, MATCH_ROW, rows)
    set_size(m, MATCH_LABEL, rows)
    set_size(m, MATCH_TAG, values)
    set_size(m, MATCH_CELL, values)
