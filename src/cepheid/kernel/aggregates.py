"""Aggregates over what a probe finds, as exact as the oracle's."""

from __future__ import annotations

import math

from cepheid.kernel.compiled import compiled
from cepheid.kernel.machine import Machine, holds
from cepheid.kernel.probes import bounds, newest
from cepheid.kernel.store import is_consumed
from cepheid.kernel.tables import PROBE_FILTER
from cepheid.kernel.values import DOUBLE, INT, MISSING, Floats, as_cell, as_float

AVG, SUM, MIN, MAX, COUNT = range(5)


@compiled
def compute(m: Machine, family: int, register: int) -> None:
    """Put an aggregate into its register."""
    probe = m.tables.register_probe[register]
    function, column = m.tables.register_function[register], m.tables.register_column[register]
    missing = m.tables.family_missing[family] == 1
    consumes = m.tables.consumes[family] != 0
    low, high = bounds(m, probe)
    filter_ = m.tables.probe[probe, PROBE_FILTER]
    found, ints, parts, carry = 0, 0, 0, 0
    total, least_int, most_int = 0, 0, 0
    least, most = 0.0, 0.0
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
            if filter_ >= 0 and not holds(m, filter_, row, missing):
                continue
            if column < 0:
                found += 1
                continue
            tag, cell = m.store.tags[column, row], m.store.cells[column, row]
            if function == COUNT:
                found += 1 if tag != MISSING else 0
            elif tag == INT:
                least_int = cell if ints == 0 else min(least_int, cell)
                most_int = cell if ints == 0 else max(most_int, cell)
                summed = total + cell
                if ((total ^ summed) & (cell ^ summed)) < 0:
                    carry += 1 if cell > 0 else -1
                total = summed
                ints += 1
                found += 1
            elif tag == DOUBLE:
                number = as_float(cell)
                least = number if found == ints else min(least, number)
                most = number if found == ints else max(most, number)
                parts = _add_exactly(m.scratch.sums, parts, number)
                found += 1
    tag, cell = MISSING, 0
    if function == COUNT:
        tag, cell = INT, found
    elif found > 0 and (function == MIN or function == MAX):
        tag, cell = _extreme(function == MIN, found, ints, least_int, most_int, least, most)
    elif found > 0:
        tag, cell = _sum(m.scratch.sums, function == AVG, found, ints, parts, total, carry)
    m.frame.register_tags[register], m.frame.register_cells[register] = tag, cell


@compiled
def _extreme(
    lowest: bool, found: int, ints: int, least_int: int, most_int: int, least: float, most: float
) -> tuple[int, int]:
    if ints == found:
        return INT, least_int if lowest else most_int
    if ints > 0:
        least, most = min(least, float(least_int)), max(most, float(most_int))
    return DOUBLE, as_cell(least if lowest else most)


@compiled
def _sum(
    sums: Floats, average: bool, found: int, ints: int, parts: int, total: int, carry: int
) -> tuple[int, int]:
    """Sum or average; the ints sum up to total + carry * 2^64."""
    if ints == found and not average:
        return (MISSING, 0) if carry != 0 else (INT, total)
    high = float(total)
    if ints == found:
        return DOUBLE, as_cell((high + carry * 2.0**64) / found)
    parts = _add_exactly(sums, parts, carry * 2.0**64)
    parts = _add_exactly(sums, parts, high)
    parts = _add_exactly(sums, parts, float(total - int(high)) if abs(high) < 9e18 else 0.0)
    number = _rounded(sums, parts)
    if math.isnan(number):
        return MISSING, 0
    return DOUBLE, as_cell(number / found if average else number)


@compiled
def _add_exactly(sums: Floats, parts: int, number: float) -> int:
    """Add a number to a sum that is kept as parts that do not overlap (Shewchuk 1997)."""
    kept = 0
    for index in range(parts):
        other = sums[index]
        if abs(number) < abs(other):
            number, other = other, number
        high = number + other
        # Beyond the range of doubles the sum is infinite, and nothing of it is left over.
        rest = 0.0 if math.isinf(high) else other - (high - number)
        if rest != 0.0:
            sums[kept] = rest
            kept += 1
        number = high
    sums[kept] = number
    return kept + 1


@compiled
def _rounded(sums: Floats, parts: int) -> float:
    """The sum of parts, rounded once, half to even."""
    at = parts - 1
    high, low = sums[at], 0.0
    while at > 0:
        at -= 1
        before = high
        high = before + sums[at]
        low = sums[at] - (high - before)
        if low != 0.0:
            break
    if at > 0 and ((low < 0.0 and sums[at - 1] < 0.0) or (low > 0.0 and sums[at - 1] > 0.0)):
        doubled = low * 2.0
        other = high + doubled
        if doubled == other - high:
            high = other
    return float(high)
