"""Tests of single events and values of whole runs.

A *measure* is what is kept about all events of a channel, so that an aggregate over a run costs the
same however long the run is. Every entry holds the sums before it, and the sum over a run is a
difference. Sums are exact: whole numbers and fractions of 2^-64 are kept apart, with their carry.
For the smallest and largest value every entry knows the next one that exceeds it; the way from the
first entry of a run along these ends at the extreme, and is made shorter whenever it is gone.

What does not fit into that (ints and doubles that are very large, doubles that are very small) is
counted, and a run that holds such a number is looked through.
"""

from __future__ import annotations

import math

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import ints, tags
from cepheid.kernel.programs import REGISTER_CELL, REGISTER_TAG, holds
from cepheid.kernel.run_state import (
    BLOCK,
    CHANNEL,
    CHANNEL_ENTRY,
    CHANNEL_MEASURES,
    CHANNEL_MEASURES_END,
    CHANNEL_TOTALS,
    COUNT,
    RUN_ENTRY,
    RUN_MEASURE,
    RUN_PARTITION,
    RUN_TEST,
    RUN_VALUE,
    field_of,
)
from cepheid.kernel.store import ROW_CELLS, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.sums import AVG, MAX, MIN, SUM, add_to_sum, begin_sum, divided, end_sum
from cepheid.kernel.sums import COUNT as COUNTED
from cepheid.kernel.values import BOOL, DOUBLE, INT, MISSING, as_cell, as_float

TEST_PROGRAM, TEST_MISSING, TEST_COLUMN, TEST_LOW, TEST_HIGH, TEST_LEAST, TEST_MOST = range(7)
TEST_WIDTH = 7
"""A test: the program of a condition on one event. Where it only asks whether a number lies in a
range, that is known by column: the range of ints, and the range of doubles as cells."""

MEASURE_KIND, MEASURE_COLUMN, MEASURE_TEST = range(3)
MEASURE_WIDTH = 3
TOTAL, TALLY, LEAST, MOST = range(4)
"""A measure: its kind, the column (-1: the event itself), and the test of its filter. It keeps a
sum, a count, or the smallest or largest value."""

VALUE_REGISTER, VALUE_FUNCTION, VALUE_MEASURE, VALUE_COLUMN, VALUE_TEST = range(5)
VALUE_WIDTH = 5
ITEM = 5
"""A value of a run: the register that it goes to, a function (or `ITEM`), the measure that knows it
(-1: none), the column, and the test of its filter, or an item's index."""

WHOLE, FRACTION, COUNTS = range(3)
LINK, NUMBER = 0, 1
MEASURE_WORDS = 3
"""The words of a measure: whole numbers, fractions, and three counts in one: of numbers (or of
whatever is counted), of doubles among them, and of numbers that were left out. For extremes the
first two words of an entry are its own number (NaN: none) and a link: to the next entry that
exceeds it, counted from here (above 0), or where there is none yet, to the one before it for which
that is so too (below 0; 0 is none)."""

_BITS = 21
_LONG = 1 << _BITS
_LARGE = 1 << 40
_EXACT = 1 << 53
NOT_KNOWN = -1
"""The tag of a value that a measure does not know."""


@inlined
def passes(m: int, test: int, row: int) -> bool:
    """Whether an event passes a test; -1 is none."""
    if test < 0:
        return True
    table, at = ints(m, RUN_TEST), test * TEST_WIDTH
    column = table[at + TEST_COLUMN]
    if column >= 0:
        where = row * scalar(m, WIDTH) + column
        tag, cell = tags(m, ROW_TAGS)[where], ints(m, ROW_CELLS)[where]
        if tag == INT:
            return bool(table[at + TEST_LOW] <= cell <= table[at + TEST_HIGH])
        if tag == DOUBLE:
            number = as_float(cell)
            return as_float(table[at + TEST_LEAST]) <= number <= as_float(table[at + TEST_MOST])
    return holds(m, table[at + TEST_PROGRAM], row, table[at + TEST_MISSING] == 1)


@inlined
def measure(m: int, channel: int, record: int, at: int, row: int) -> None:
    """Write the sums so far into an entry, and add its event to them."""
    entries, state, table = ints(m, RUN_ENTRY), ints(m, RUN_PARTITION), ints(m, RUN_MEASURE)
    total = record + field_of(m, channel, CHANNEL_TOTALS)
    for number in range(
        field_of(m, channel, CHANNEL_MEASURES), field_of(m, channel, CHANNEL_MEASURES_END)
    ):
        about = number * MEASURE_WIDTH
        for word in range(1, 1 + MEASURE_WORDS):
            entries[at + word] = state[total + word - 1]
        kind, tag, cell = table[about + MEASURE_KIND], MISSING, 0
        if passes(m, table[about + MEASURE_TEST], row):
            tag, cell = BOOL, 1
            column = table[about + MEASURE_COLUMN]
            if column >= 0:
                where = row * scalar(m, WIDTH) + column
                tag, cell = int(tags(m, ROW_TAGS)[where]), ints(m, ROW_CELLS)[where]
        if kind == TALLY:
            state[total + COUNTS] += 1 if tag != MISSING else 0
        elif kind >= LEAST:
            _add_extreme(m, channel, record, at + 1, kind, tag, cell)
            _count_extreme(m, total, tag, cell)
        elif tag == INT and -_LARGE < cell < _LARGE:
            state[total + WHOLE] += cell
            state[total + COUNTS] += 1
        elif tag == INT or tag == DOUBLE:
            _add_number(m, total, tag, cell)
        at += MEASURE_WORDS
        total += MEASURE_WORDS


@inlined
def _count_extreme(m: int, total: int, tag: int, cell: int) -> None:
    """Count a number; ints that are no doubles are left out."""
    state = ints(m, RUN_PARTITION)
    if tag == DOUBLE:
        state[total + COUNTS] += 1 + (1 << _BITS)
    elif tag == INT:
        state[total + COUNTS] += 1 if abs(cell) <= _EXACT else 1 << (2 * _BITS)


@compiled
def _add_extreme(
    m: int, channel: int, record: int, at: int, kind: int, tag: int, cell: int
) -> None:
    """Link an entry with those before it that it exceeds.

    Entries that no run holds any more may be among them. They do no harm, and are gone when the
    block is moved, which is why links are distances.
    """
    entries = ints(m, RUN_ENTRY)
    width, place = field_of(m, channel, CHANNEL_ENTRY), ints(m, RUN_PARTITION)[record + COUNT]
    number = math.nan
    if tag == DOUBLE:
        number = as_float(cell)
    elif tag == INT:
        number = float(cell)
    entries[at + NUMBER] = as_cell(number)
    back = 1
    while back <= place:
        before = at - back * width
        if not _exceeds(number, as_float(entries[before + NUMBER]), kind):
            break
        step = -entries[before + LINK]
        entries[before + LINK] = back
        back = back + step if step > 0 else place + 1
    entries[at + LINK] = -back if back <= place else 0


@inlined
def _exceeds(number: float, other: float, kind: int) -> bool:
    """Whether a number comes instead of an earlier one; of equal ones the first stays."""
    if math.isnan(other):
        return True
    return number < other if kind == LEAST else number > other


@compiled
def _add_number(m: int, total: int, tag: int, cell: int) -> None:
    """Add a double as whole and fraction, or count it as left out, as ints that are too large."""
    state, number = ints(m, RUN_PARTITION), as_float(cell)
    whole = np.floor(abs(number))
    scaled = (abs(number) - whole) * 2.0**64
    if tag == INT or abs(number) >= _LARGE or scaled != np.floor(scaled):
        state[total + COUNTS] += 1 << (2 * _BITS)
        return
    fraction, before = np.uint64(scaled), np.uint64(state[total + FRACTION])
    if number >= 0:
        after = before + fraction
        state[total + WHOLE] += int(whole) + (1 if after < before else 0)
    else:
        after = before - fraction
        state[total + WHOLE] -= int(whole) + (1 if after > before else 0)
    state[total + FRACTION] = np.int64(after)
    state[total + COUNTS] += 1 + (1 << _BITS)


@compiled
def set_values(m: int, record: int, begin: int, values: int, values_end: int) -> None:
    """Put values of the run from an entry on into the registers."""
    table = ints(m, RUN_VALUE)
    for at in range(values * VALUE_WIDTH, values_end * VALUE_WIDTH, VALUE_WIDTH):
        if table[at + VALUE_FUNCTION] == ITEM:
            tag, cell = _item(m, record, begin, table[at + VALUE_TEST], table[at + VALUE_COLUMN])
        else:
            tag, cell = NOT_KNOWN, 0
            if table[at + VALUE_MEASURE] >= 0:
                tag, cell = _measured(m, record, begin, at)
            if tag == NOT_KNOWN:
                tag, cell = _walked(m, record, begin, at)
        ints(m, REGISTER_TAG)[table[at + VALUE_REGISTER]] = tag
        ints(m, REGISTER_CELL)[table[at + VALUE_REGISTER]] = cell


@inlined
def _item(m: int, record: int, begin: int, index: int, column: int) -> tuple[int, int]:
    """The value of the i-th event (from 1; -1 is the last)."""
    state = ints(m, RUN_PARTITION)
    place = begin + index - 1 if index > 0 else state[record + COUNT] + index
    if not begin <= place < state[record + COUNT]:
        return MISSING, 0
    width = field_of(m, state[record + CHANNEL], CHANNEL_ENTRY)
    row = ints(m, RUN_ENTRY)[state[record + BLOCK] + place * width]
    where = row * scalar(m, WIDTH) + column
    return int(tags(m, ROW_TAGS)[where]), int(ints(m, ROW_CELLS)[where])


@compiled
def _measured(m: int, record: int, begin: int, at: int) -> tuple[int, int]:
    """An aggregate from what the entries know, where they know it."""
    state, entries = ints(m, RUN_PARTITION), ints(m, RUN_ENTRY)
    channel, offset = state[record + CHANNEL], ints(m, RUN_VALUE)[at + VALUE_MEASURE]
    now = record + field_of(m, channel, CHANNEL_TOTALS) + MEASURE_WORDS * offset
    before = state[record + BLOCK] + begin * field_of(m, channel, CHANNEL_ENTRY)
    before += 1 + MEASURE_WORDS * offset
    counts = state[now + COUNTS] - entries[before + COUNTS]
    if state[record + COUNT] - begin >= _LONG or counts >> (2 * _BITS) != 0:
        return NOT_KNOWN, 0
    found, doubles = counts & (_LONG - 1), counts >> _BITS
    function = ints(m, RUN_VALUE)[at + VALUE_FUNCTION]
    if function == COUNTED:
        return INT, found
    if found == 0:
        return MISSING, 0
    if function == MIN or function == MAX:
        cell = _extreme(m, before, field_of(m, channel, CHANNEL_ENTRY))
        return (INT, int(as_float(cell))) if doubles == 0 else (DOUBLE, cell)
    whole = state[now + WHOLE] - entries[before + WHOLE]
    if doubles == 0:
        return (INT, whole) if function == SUM else (DOUBLE, as_cell(divided(whole, 0, found)))
    fraction = np.uint64(state[now + FRACTION]) - np.uint64(entries[before + FRACTION])
    if np.uint64(state[now + FRACTION]) < np.uint64(entries[before + FRACTION]):
        whole -= 1
    return _rounded(m, function, whole, fraction, found)


@inlined
def _extreme(m: int, first: int, width: int) -> int:
    """The cell of the extreme from an entry on; the way to it becomes one step."""
    entries = ints(m, RUN_ENTRY)
    last = first
    while entries[last + LINK] > 0:
        last += entries[last + LINK] * width
    at = first
    while at < last:
        following = at + entries[at + LINK] * width
        entries[at + LINK] = (last - at) // width
        at = following
    return int(entries[last + NUMBER])


@compiled
def _rounded(m: int, function: int, whole: int, fraction: np.uint64, found: int) -> tuple[int, int]:
    """A sum that is not whole as a double, rounded once; an average is rounded once more."""
    begin_sum(m)
    add_to_sum(m, SUM, INT, whole)
    high, low = fraction >> np.uint64(32), fraction & np.uint64(0xFFFFFFFF)
    add_to_sum(m, SUM, DOUBLE, as_cell(float(high) * 2.0**-32))
    add_to_sum(m, SUM, DOUBLE, as_cell(float(low) * 2.0**-64))
    tag, cell = end_sum(m, SUM)
    return tag, as_cell(as_float(cell) / found) if function == AVG else cell


@compiled
def _walked(m: int, record: int, begin: int, at: int) -> tuple[int, int]:
    """An aggregate over the events of the run, one by one."""
    table, state, entries = ints(m, RUN_VALUE), ints(m, RUN_PARTITION), ints(m, RUN_ENTRY)
    function, column = table[at + VALUE_FUNCTION], table[at + VALUE_COLUMN]
    width = field_of(m, state[record + CHANNEL], CHANNEL_ENTRY)
    begin_sum(m)
    for place in range(begin, state[record + COUNT]):
        row = entries[state[record + BLOCK] + place * width]
        if not passes(m, table[at + VALUE_TEST], row):
            continue
        where = row * scalar(m, WIDTH) + column
        if column < 0:
            add_to_sum(m, function, BOOL, 1)
        else:
            add_to_sum(m, function, int(tags(m, ROW_TAGS)[where]), ints(m, ROW_CELLS)[where])
    return end_sum(m, function)
