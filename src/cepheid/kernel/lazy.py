"""The lazy strategy: store candidates in stacks, construct matches backwards from a terminator.

SASE's active instance stacks and partitioned stacks (sections 4.1, 4.2) and T-Rex's shared storage
of events, over arrays. Windows, keys and conditions are applied while a match is constructed, so
that a dead end costs one step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from cepheid.kernel.columns import Ints
from cepheid.kernel.plan import (
    ABSENT,
    COMPUTE,
    NARROW,
    PREFIX,
    PROBE_ALL,
    PROBE_FILTER,
    PROBE_HIGH,
    PROBE_HIGH_OFFSET,
    PROBE_KEY,
    PROBE_LOW,
    PROBE_LOW_OFFSET,
    PROBE_STACK,
    PROBE_SWAPS,
    SUFFIX,
    TEST,
)
from cepheid.kernel.programs import run
from cepheid.kernel.store import (
    CONSUMED,
    MATCH_ROWS,
    MATCH_VALUES,
    MATCHES,
    ROWS,
    as_key,
    consume,
    head_of,
    is_consumed,
    push,
)
from cepheid.kernel.values import (
    AT_LEAST,
    AT_MOST,
    BOOL,
    DOUBLE,
    EQUAL,
    GREATER,
    INT,
    LESS,
    MISSING,
    compare,
)

AVG, SUM, MIN, MAX, COUNT = range(5)
FIRST, LAST = 1, 2
ALL_MEMBERS = 2**62
DONE, MATCHES_FULL, PICKS_FULL, CONSUMED_FULL = 0, 1, 2, 3


class Matches(NamedTuple):
    """Room for matches: family, its members, time, then rows and values one after the other."""

    rule: Ints
    low: Ints
    high: Ints
    time: Ints
    rows: Ints
    tags: Ints
    cells: Ints


class Scratch(NamedTuple):
    """Room for the search: picks of all depths, their bounds, and partial sums."""

    picks: Ints
    lows: Ints
    highs: Ints
    begins: Ints
    ends: Ints
    sums: np.ndarray[tuple[int], np.dtype[np.float64]]


@njit(cache=True)
def feed(begin, end, batch, tables, code, store, frame, matches, scratch, ranks):
    """Take events of a batch from `begin` on; the result is where it stopped, and why.

    It stops before an event for which there is not enough room; nothing of that event is kept.
    """
    for at in range(begin, end):
        if batch.types[at] >= 0:
            status = _enter(at, batch, tables, code, store, frame, matches, scratch, ranks)
            if status != DONE:
                return at, status
    return end, DONE


@njit(cache=True)
def _enter(at, batch, tables, code, store, frame, matches, scratch, ranks):
    """Search where an event completes something, then store it where it may be needed."""
    row = store.counts[ROWS]
    store.starts[row] = batch.starts[at]
    store.ends[row] = batch.ends[at]
    for column in range(batch.tags.shape[0]):
        store.tags[column, row] = batch.tags[column, at]
        store.cells[column, row] = batch.cells[column, at]
    found, found_rows = store.counts[MATCHES], store.counts[MATCH_ROWS]
    found_values = store.counts[MATCH_VALUES]
    needed = False
    status = DONE
    type_ = batch.types[at]
    first, last = tables.predicate_begins[type_], tables.predicate_begins[type_ + 1]
    for index in range(first, last):
        predicate = tables.predicate_of_type[index]
        if not _is_meant(predicate, row, tables, code, store, frame, ranks):
            continue
        needed = needed or tables.stack_begins[predicate] < tables.stack_begins[predicate + 1]
        for number in range(tables.rule_begins[predicate], tables.rule_begins[predicate + 1]):
            rule = tables.rule_of_predicate[number]
            status = _search(rule, row, tables, code, store, frame, matches, scratch, ranks)
            if status != DONE:
                break
        if status != DONE:
            break
    if status == DONE:
        status = _consume(found, found_rows, tables, store, matches)
    if status != DONE:
        store.counts[MATCHES], store.counts[MATCH_ROWS] = found, found_rows
        store.counts[MATCH_VALUES] = found_values
        return status
    if needed:
        _store(row, type_, tables, code, store, frame, ranks)
    if needed or store.counts[MATCHES] > found:
        store.counts[ROWS] += 1
    return DONE


@njit(cache=True)
def _is_meant(predicate, row, tables, code, store, frame, ranks):
    program = tables.predicate_program[predicate]
    if program < 0:
        return True
    return _holds(program, row, code, store, frame, ranks, tables.predicate_missing[predicate] == 1)


@njit(cache=True)
def _holds(program, own, code, store, frame, ranks, missing):
    _, value, _ = run(program, code, frame, own, store.tags, store.cells, ranks, missing)
    return value == 1


@njit(cache=True)
def _store(row, type_, tables, code, store, frame, ranks):
    """Put an event on every stack that it belongs to."""
    for index in range(tables.predicate_begins[type_], tables.predicate_begins[type_ + 1]):
        predicate = tables.predicate_of_type[index]
        begin, end = tables.stack_begins[predicate], tables.stack_begins[predicate + 1]
        if begin < end and _is_meant(predicate, row, tables, code, store, frame, ranks):
            for number in range(begin, end):
                stack = tables.stack_of_predicate[number]
                tag, cell = np.int64(BOOL), np.int64(0)
                column = tables.stack_column[stack]
                if column >= 0:
                    tag, cell = as_key(np.int64(store.tags[column, row]), store.cells[column, row])
                low, high = np.int64(0), np.int64(1)
                hole = tables.stack_hole[stack]
                if hole >= 0:
                    low, high = _members_of_row(hole, row, tables, store, ranks, tables.predicate_missing[predicate] == 1)
                if low < high:
                    push(store, stack, tag, cell, row, low, high if hole >= 0 else ALL_MEMBERS)


@njit(cache=True)
def _consume(found, found_rows, tables, store, matches):
    """After all composite events of a terminator, take the named events away from their rules."""
    at = found_rows
    for match in range(found, store.counts[MATCHES]):
        rule = matches.rule[match]
        width = tables.component_begins[rule + 1] - tables.component_begins[rule]
        if tables.consumes[rule] and 2 * (store.counts[CONSUMED] + width + 1) > len(
            store.consumed_rule
        ):
            return CONSUMED_FULL
        at += width
    at = found_rows
    for match in range(found, store.counts[MATCHES]):
        rule = matches.rule[match]
        width = tables.component_begins[rule + 1] - tables.component_begins[rule]
        for depth in range(width):
            if (tables.consumes[rule] >> depth) & 1:
                consume(store, rule, matches.rows[at + depth])
        at += width
    return DONE


# --- families ----------------------------------------------------------------


@njit(cache=True)
def _members_of_row(hole, row, tables, store, ranks, missing):
    column = tables.hole[hole, 1]
    tag, cell = np.int64(store.tags[column, row]), store.cells[column, row]
    number = np.int64(cell).view(np.float64) if tag == DOUBLE else 0.0
    return _members(hole, tag, cell, number, tables, ranks, missing)


@njit(cache=True)
def _members(hole, tag, cell, number, tables, ranks, missing):
    """The members of a family whose constant is in relation to a value, as a range."""
    relation, begin, end = tables.hole[hole, 0], tables.hole[hole, 2], tables.hole[hole, 3]
    count = end - begin
    if tag == MISSING:
        return (0, count) if missing else (0, 0)
    if tag != INT and tag != DOUBLE:
        return 0, 0
    below = _count(begin, end, tag, cell, number, tables, ranks, False)
    if relation == GREATER:
        return 0, below
    if relation == AT_MOST:
        return below, count
    upto = _count(begin, end, tag, cell, number, tables, ranks, True)
    if relation == AT_LEAST:
        return 0, upto
    if relation == LESS:
        return upto, count
    return below, upto


@njit(cache=True)
def _count(begin, end, tag, cell, number, tables, ranks, inclusive):
    """How many constants are below a value, or (inclusive) not above it."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        other_tag, other = tables.threshold_tags[middle], tables.threshold_cells[middle]
        other_number = np.int64(other).view(np.float64) if other_tag == DOUBLE else 0.0
        order = compare(other_tag, other, other_number, tag, cell, number, ranks)
        if order < 0 or (inclusive and order == 0):
            low = middle + 1
        else:
            high = middle
    return low - begin


# --- search ------------------------------------------------------------------


@njit(cache=True)
def _search(rule, row, tables, code, store, frame, matches, scratch, ranks):
    """Construct all matches that a terminator completes, depth first."""
    begin = tables.component_begins[rule]
    width = tables.component_begins[rule + 1] - begin
    frame.rows[0] = row
    missing = tables.rule_missing[rule] == 1
    frame.lows[0] = 0
    frame.highs[0] = tables.member_begins[rule + 1] - tables.member_begins[rule]
    if tables.rule_hole[rule] >= 0:
        frame.lows[0], frame.highs[0] = _members_of_row(tables.rule_hole[rule], row, tables, store, ranks, missing)
        if frame.lows[0] >= frame.highs[0]:
            return DONE
    if not (
        _passes(rule, 0, tables.candidate_begins[begin], tables.candidate_ends[begin], row, tables, code, store, frame, scratch, ranks)
        and _passes(rule, 0, tables.pick_begins[begin], tables.pick_ends[begin], row, tables, code, store, frame, scratch, ranks)
    ):
        return DONE
    if width == 1:
        return _emit(rule, width, tables, code, store, frame, matches, ranks)
    scratch.ends[0] = 0
    depth = 1
    if not _pick(rule, depth, tables, code, store, frame, scratch, ranks):
        return PICKS_FULL
    while depth > 0:
        if scratch.begins[depth] == scratch.ends[depth]:
            depth -= 1
            continue
        at = scratch.begins[depth]
        candidate = scratch.picks[at]
        scratch.begins[depth] += 1
        frame.rows[depth] = candidate
        frame.lows[depth], frame.highs[depth] = scratch.lows[at], scratch.highs[at]
        if frame.lows[depth] >= frame.highs[depth]:
            continue
        component = begin + depth
        if not _passes(rule, depth, tables.pick_begins[component], tables.pick_ends[component], candidate, tables, code, store, frame, scratch, ranks):
            continue
        if depth + 1 == width:
            status = _emit(rule, width, tables, code, store, frame, matches, ranks)
            if status != DONE:
                return status
        else:
            depth += 1
            if not _pick(rule, depth, tables, code, store, frame, scratch, ranks):
                return PICKS_FULL
    return DONE


@njit(cache=True)
def _pick(rule, depth, tables, code, store, frame, scratch, ranks):
    """The candidates of a component that its policy chooses; False without room.

    They come newest first. With `first`, the walk goes on to the oldest before it chooses.
    """
    component = tables.component_begins[rule] + depth
    probe = tables.component_probe[component]
    policy, count = tables.component_policy[component], tables.component_count[component]
    cover = tables.component_cover[component]
    missing = tables.rule_missing[rule] == 1
    low, high = _bounds(probe, tables, store, frame)
    open_low, open_high = frame.lows[depth - 1], frame.highs[depth - 1]
    at = scratch.ends[depth - 1]
    scratch.begins[depth] = at
    for part in range(2):
        entry = _entry(probe, part, tables, code, store, frame, ranks, missing)
        while entry >= 0:
            row, first, last = store.entry_row[entry], store.entry_low[entry], store.entry_high[entry]
            entry = store.entry_before[entry]
            if store.ends[row] <= low:
                break
            if store.ends[row] >= high or store.starts[row] <= low:
                continue
            first, last = max(first, open_low), min(last, open_high)
            if first >= last or (tables.consumes[rule] and is_consumed(store, rule, row)):
                continue
            frame.rows[depth] = row
            if not _passes(rule, depth, tables.candidate_begins[component], tables.candidate_ends[component], row, tables, code, store, frame, scratch, ranks):
                continue
            if at == len(scratch.picks):
                return False
            scratch.picks[at], scratch.lows[at], scratch.highs[at] = row, first, last
            at += 1
            if policy == LAST:
                if cover == PREFIX:
                    open_low = last
                elif cover == SUFFIX:
                    open_high = first
                if open_low >= open_high or (cover < 0 and at - scratch.begins[depth] == count):
                    break
    if policy == FIRST:
        if cover < 0:
            scratch.begins[depth] = max(scratch.begins[depth], at - count)
        else:
            _cover_from_oldest(scratch.begins[depth], at, cover, open_low, open_high, scratch)
    scratch.ends[depth] = at
    return True


@njit(cache=True)
def _cover_from_oldest(begin, end, cover, open_low, open_high, scratch):
    """Give every member of a family the oldest candidate that it accepts."""
    for at in range(end - 1, begin - 1, -1):
        scratch.lows[at] = max(scratch.lows[at], open_low)
        scratch.highs[at] = min(scratch.highs[at], open_high)
        if scratch.lows[at] < scratch.highs[at]:
            if cover == PREFIX:
                open_low = scratch.highs[at]
            else:
                open_high = scratch.lows[at]


@njit(cache=True)
def _entry(probe, part, tables, code, store, frame, ranks, missing):
    """The newest entry that a probe looks at; `part` 1 are the events without the key.

    Where a comparison with nothing holds, events without the attribute fit every key, and a key
    that is missing fits every event.
    """
    row = tables.probe[probe]
    if row[PROBE_KEY] < 0:
        return head_of(store, row[PROBE_STACK], BOOL, 0) if part == 0 else -1
    tag, value, number = run(row[PROBE_KEY], code, frame, 0, store.tags, store.cells, ranks, missing)
    if tag == MISSING:
        if not missing or part == 1:
            return -1
        return head_of(store, row[PROBE_ALL], BOOL, 0)
    if part == 1:
        return head_of(store, row[PROBE_STACK], MISSING, 0) if missing else -1
    tag, value = as_key(tag, value)
    return head_of(store, row[PROBE_STACK], tag, value)


@njit(cache=True)
def _bounds(probe, tables, store, frame):
    """The open interval of a probe's window, given the rows that it hangs on."""
    row = tables.probe[probe]
    low_at, high_at = row[PROBE_LOW], row[PROBE_HIGH]
    if row[PROBE_SWAPS]:
        first, second = frame.rows[low_at], frame.rows[high_at]
        if _precedes(second, first, store):
            low_at, high_at = high_at, low_at
    low, high = row[PROBE_LOW_OFFSET], row[PROBE_HIGH_OFFSET]
    if low_at >= 0:
        low = store.ends[frame.rows[low_at]] + row[PROBE_LOW_OFFSET]
    if high_at >= 0:
        high = store.starts[frame.rows[high_at]] + row[PROBE_HIGH_OFFSET]
    return low, high


@njit(cache=True)
def _precedes(one, other, store):
    """The total order of stored events; rows are stored in it."""
    if store.ends[one] != store.ends[other]:
        return store.ends[one] < store.ends[other]
    if store.starts[one] != store.starts[other]:
        return store.starts[one] < store.starts[other]
    return one < other


@njit(cache=True)
def _passes(rule, depth, begin, end, own, tables, code, store, frame, scratch, ranks):
    """Take steps until one does not hold."""
    missing = tables.rule_missing[rule] == 1
    for step in range(begin, end):
        kind, argument = tables.step_kind[step], tables.step_argument[step]
        if kind == TEST:
            if not _holds(argument, own, code, store, frame, ranks, missing):
                return False
        elif kind == ABSENT:
            if _exists(rule, argument, tables, code, store, frame, ranks):
                return False
        elif kind == COMPUTE:
            _compute(rule, argument, tables, code, store, frame, scratch, ranks)
        elif kind == NARROW:
            program, hole = tables.narrow[argument, 0], tables.narrow[argument, 1]
            tag, value, number = run(program, code, frame, own, store.tags, store.cells, ranks, missing)
            low, high = _members(hole, tag, value, number, tables, ranks, missing)
            frame.lows[depth] = max(frame.lows[depth], low)
            frame.highs[depth] = min(frame.highs[depth], high)
            if frame.lows[depth] >= frame.highs[depth]:
                return False
        else:
            earliest, latest = store.starts[frame.rows[0]], store.ends[frame.rows[0]]
            for other in range(1, argument + 1):
                earliest = min(earliest, store.starts[frame.rows[other]])
                latest = max(latest, store.ends[frame.rows[other]])
            if latest - earliest >= tables.rule_within[rule]:
                return False
    return True


@njit(cache=True)
def _exists(rule, probe, tables, code, store, frame, ranks):
    """Whether a probe finds an event."""
    missing = tables.rule_missing[rule] == 1
    low, high = _bounds(probe, tables, store, frame)
    filter_ = tables.probe[probe, PROBE_FILTER]
    for part in range(2):
        entry = _entry(probe, part, tables, code, store, frame, ranks, missing)
        while entry >= 0:
            row = store.entry_row[entry]
            entry = store.entry_before[entry]
            if store.ends[row] <= low:
                break
            if store.ends[row] >= high or store.starts[row] <= low:
                continue
            if tables.consumes[rule] and is_consumed(store, rule, row):
                continue
            if filter_ < 0 or _holds(filter_, row, code, store, frame, ranks, missing):
                return True
    return False


# --- aggregates --------------------------------------------------------------


@njit(cache=True)
def _compute(rule, register, tables, code, store, frame, scratch, ranks):
    """Put an aggregate over what a probe finds into its register."""
    probe = tables.register_probe[register]
    function, column = tables.register_function[register], tables.register_column[register]
    missing = tables.rule_missing[rule] == 1
    low, high = _bounds(probe, tables, store, frame)
    filter_ = tables.probe[probe, PROBE_FILTER]
    count, whole, parts = 0, True, 0
    total, overflow = np.int64(0), False
    least_int, most_int = np.int64(0), np.int64(0)
    least, most = 0.0, 0.0
    for part in range(2):
        entry = _entry(probe, part, tables, code, store, frame, ranks, missing)
        while entry >= 0:
            row = store.entry_row[entry]
            entry = store.entry_before[entry]
            if store.ends[row] <= low:
                break
            if store.ends[row] >= high or store.starts[row] <= low:
                continue
            if tables.consumes[rule] and is_consumed(store, rule, row):
                continue
            if filter_ >= 0 and not _holds(filter_, row, code, store, frame, ranks, missing):
                continue
            if column < 0:
                count += 1
                continue
            tag, cell = store.tags[column, row], store.cells[column, row]
            if function == COUNT:
                count += 1 if tag != MISSING else 0
                continue
            if tag != INT and tag != DOUBLE:
                continue
            number = float(cell) if tag == INT else np.int64(cell).view(np.float64)
            whole = whole and tag == INT
            if tag == INT:
                summed = total + cell
                overflow = overflow or ((total ^ summed) & (cell ^ summed)) < 0
                total = summed
                least_int = cell if count == 0 else min(least_int, cell)
                most_int = cell if count == 0 else max(most_int, cell)
            least = number if count == 0 else min(least, number)
            most = number if count == 0 else max(most, number)
            parts = _add_exactly(scratch.sums, parts, number)
            count += 1
    tag, cell = _aggregate(function, count, whole, total, overflow, least_int, most_int, least, most, scratch.sums, parts)
    frame.register_tags[register], frame.register_cells[register] = tag, cell


@njit(cache=True)
def _aggregate(function, count, whole, total, overflow, least_int, most_int, least, most, sums, parts):
    if function == COUNT:
        return INT, np.int64(count)
    if count == 0:
        return MISSING, np.int64(0)
    if function == MIN or function == MAX:
        if whole:
            return INT, least_int if function == MIN else most_int
        return DOUBLE, np.float64(least if function == MIN else most).view(np.int64)
    if whole and function == SUM:
        return (MISSING, np.int64(0)) if overflow else (INT, total)
    number = float(total) if whole and not overflow else _rounded(sums, parts)
    if np.isnan(number):
        return MISSING, np.int64(0)
    if function == AVG:
        number /= count
    return DOUBLE, np.float64(number).view(np.int64)


@njit(cache=True)
def _add_exactly(sums, parts, number):
    """Add a number to a sum that is kept as parts that do not overlap (Shewchuk 1997)."""
    kept = 0
    for index in range(parts):
        other = sums[index]
        if abs(number) < abs(other):
            number, other = other, number
        high = number + other
        rest = other - (high - number)
        if rest != 0.0:
            sums[kept] = rest
            kept += 1
        number = high
    sums[kept] = number
    return kept + 1


@njit(cache=True)
def _rounded(sums, parts):
    """The sum of parts, rounded once, half to even."""
    if parts == 0:
        return 0.0
    at = parts - 1
    high = sums[at]
    low = 0.0
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
    return high


# --- matches -----------------------------------------------------------------


@njit(cache=True)
def _emit(rule, width, tables, code, store, frame, matches, ranks):
    """Write a match down: its rule, its time, its rows, the values of its attributes."""
    at, rows = store.counts[MATCHES], store.counts[MATCH_ROWS]
    values = store.counts[MATCH_VALUES]
    first, last = tables.output_begins[rule], tables.output_begins[rule + 1]
    if (
        at == len(matches.rule)
        or rows + width > len(matches.rows)
        or values + last - first > len(matches.tags)
    ):
        return MATCHES_FULL
    matches.rule[at] = rule
    matches.low[at], matches.high[at] = frame.lows[width - 1], frame.highs[width - 1]
    matches.time[at] = store.ends[frame.rows[0]]
    deadline = tables.rule_deadline[rule]
    if deadline >= 0:
        matches.time[at] = store.starts[frame.rows[deadline]] + tables.rule_deadline_offset[rule]
    for depth in range(width):
        matches.rows[rows + depth] = frame.rows[depth]
    for index in range(first, last):
        tag, value, number = run(
            tables.output_program[index], code, frame, frame.rows[0], store.tags, store.cells, ranks,
            tables.rule_missing[rule] == 1,
        )
        matches.tags[values] = tag
        matches.cells[values] = np.float64(number).view(np.int64) if tag == DOUBLE else value
        values += 1
    store.counts[MATCHES] = at + 1
    store.counts[MATCH_ROWS] = rows + width
    store.counts[MATCH_VALUES] = values
    return DONE


@njit(cache=True)
def decide(rule, rows, tables, code, store, frame, scratch, ranks):
    """Whether a match that waited for its deadline passes its last steps."""
    for depth in range(len(rows)):
        frame.rows[depth] = rows[depth]
    return _passes(
        rule, 0, tables.final_begins[rule], tables.final_ends[rule], rows[0], tables, code, store, frame,
        scratch, ranks,
    )
