"""The lazy strategy: store candidates in stacks, construct matches backwards from a terminator.

SASE's active instance stacks and partitioned stacks (sections 4.1, 4.2) and T-Rex's shared storage
of events, over arrays. Windows, keys and conditions are applied while a match is constructed, so
that a dead end costs one step. A search carries the range of a family's members for which it is
still good.
"""

from __future__ import annotations

from cepheid.kernel.aggregates import compute
from cepheid.kernel.columns import Batch
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.machine import Machine, holds, value_of
from cepheid.kernel.members import members, members_of_row
from cepheid.kernel.probes import bounds, exists, newest
from cepheid.kernel.store import (
    CONSUMED,
    MATCH_ROWS,
    MATCH_VALUES,
    MATCHES,
    ROWS,
    consume,
    is_consumed,
    key_of,
    push,
)
from cepheid.kernel.tables import ABSENT, COMPUTE, NARROW, PREFIX, SUFFIX, TEST
from cepheid.kernel.values import BOOL, DOUBLE, Ints, as_cell

FIRST, LAST = 1, 2
ALL_MEMBERS = 2**62
DONE, MATCHES_FULL, PICKS_FULL, CONSUMED_FULL = 0, 1, 2, 3


@compiled
def feed(m: Machine, batch: Batch, begin: int, end: int) -> tuple[int, int]:
    """Take events of a batch from `begin` on; the result is where it stopped, and why.

    It stops before an event for which there is not enough room; nothing of that event is kept.
    """
    for at in range(begin, end):
        if batch.types[at] >= 0:
            status = _enter(m, batch, at)
            if status != DONE:
                return at, status
    return end, DONE


@compiled
def _enter(m: Machine, batch: Batch, at: int) -> int:
    """Search where an event completes something, then store it where it may be needed."""
    store, tables = m.store, m.tables
    row, type_ = store.counts[ROWS], batch.types[at]
    _copy(m, batch, at, row)
    found, found_rows = store.counts[MATCHES], store.counts[MATCH_ROWS]
    found_values = store.counts[MATCH_VALUES]
    needed, status = False, DONE
    for index in range(tables.predicate_begins[type_], tables.predicate_begins[type_ + 1]):
        predicate = tables.predicate_of_type[index]
        if not _is_meant(m, predicate, row):
            continue
        needed = needed or tables.stack_begins[predicate] < tables.stack_begins[predicate + 1]
        for number in range(tables.family_begins[predicate], tables.family_begins[predicate + 1]):
            if status == DONE:
                status = _search(m, tables.family_of_predicate[number], row)
    if status == DONE:
        status = _consume(m, found, found_rows)
    if status != DONE:
        store.counts[MATCHES], store.counts[MATCH_ROWS] = found, found_rows
        store.counts[MATCH_VALUES] = found_values
        return status
    if needed:
        _store(m, type_, row)
    if needed or store.counts[MATCHES] > found:
        store.counts[ROWS] += 1
    return DONE


@inlined
def _copy(m: Machine, batch: Batch, at: int, row: int) -> None:
    m.store.origins[row] = batch.origins[at]
    m.store.starts[row] = batch.starts[at]
    m.store.ends[row] = batch.ends[at]
    for column in range(batch.tags.shape[0]):
        m.store.tags[column, row] = batch.tags[column, at]
        m.store.cells[column, row] = batch.cells[column, at]


@compiled
def _is_meant(m: Machine, predicate: int, row: int) -> bool:
    program = m.tables.predicate_program[predicate]
    return program < 0 or holds(m, program, row, m.tables.predicate_missing[predicate] == 1)


@compiled
def _store(m: Machine, type_: int, row: int) -> None:
    """Put an event on every stack that it belongs to."""
    store, tables = m.store, m.tables
    for index in range(tables.predicate_begins[type_], tables.predicate_begins[type_ + 1]):
        predicate = tables.predicate_of_type[index]
        begin, end = tables.stack_begins[predicate], tables.stack_begins[predicate + 1]
        if begin == end or not _is_meant(m, predicate, row):
            continue
        missing = tables.predicate_missing[predicate] == 1
        for number in range(begin, end):
            stack = tables.stack_of_predicate[number]
            column, hole = tables.stack_column[stack], tables.stack_hole[stack]
            tag, cell = BOOL, 0
            if column >= 0:
                tag, cell = key_of(int(store.tags[column, row]), store.cells[column, row])
            low, high = 0, ALL_MEMBERS
            if hole >= 0:
                low, high = members_of_row(m, hole, row, missing)
            if low < high:
                push(store, stack, tag, cell, row, low, high)


@compiled
def _consume(m: Machine, found: int, found_rows: int) -> int:
    """After all composite events of a terminator, take the named events away from their rules."""
    tables, store = m.tables, m.store
    needed = 0
    for match in range(found, store.counts[MATCHES]):
        family = m.matches.family[match]
        if tables.consumes[family]:
            needed += tables.component_begins[family + 1] - tables.component_begins[family]
    if needed == 0:
        return DONE
    if 2 * (store.counts[CONSUMED] + needed) > len(store.consumed_rule):
        return CONSUMED_FULL
    at = found_rows
    for match in range(found, store.counts[MATCHES]):
        family = m.matches.family[match]
        width = tables.component_begins[family + 1] - tables.component_begins[family]
        for depth in range(width):
            if (tables.consumes[family] >> depth) & 1:
                consume(store, family, m.matches.rows[at + depth])
        at += width
    return DONE


# --- search ------------------------------------------------------------------


@compiled
def _search(m: Machine, family: int, row: int) -> int:
    """Construct all matches that a terminator completes, depth first."""
    tables, frame, scratch = m.tables, m.frame, m.scratch
    begin = tables.component_begins[family]
    width = tables.component_begins[family + 1] - begin
    frame.rows[0] = row
    frame.lows[0] = 0
    frame.highs[0] = tables.member_begins[family + 1] - tables.member_begins[family]
    hole = tables.family_hole[family]
    if hole >= 0:
        missing = tables.family_missing[family] == 1
        frame.lows[0], frame.highs[0] = members_of_row(m, hole, row, missing)
        if frame.lows[0] >= frame.highs[0]:
            return DONE
    if not (
        _passes(m, family, 0, tables.candidate_begins[begin], tables.candidate_ends[begin], row)
        and _passes(m, family, 0, tables.pick_begins[begin], tables.pick_ends[begin], row)
    ):
        return DONE
    if width == 1:
        return _emit(m, family, width)
    scratch.ends[0] = 0
    depth = 1
    if not _pick(m, family, depth):
        return PICKS_FULL
    while depth > 0:
        at = scratch.begins[depth]
        if at == scratch.ends[depth]:
            depth -= 1
            continue
        scratch.begins[depth] = at + 1
        frame.rows[depth] = scratch.picks[at]
        frame.lows[depth], frame.highs[depth] = scratch.lows[at], scratch.highs[at]
        if frame.lows[depth] >= frame.highs[depth]:
            continue
        component = begin + depth
        steps, steps_end = tables.pick_begins[component], tables.pick_ends[component]
        if steps < steps_end and not _passes(m, family, depth, steps, steps_end, frame.rows[depth]):
            continue
        if depth + 1 == width:
            status = _emit(m, family, width)
            if status != DONE:
                return status
        else:
            depth += 1
            frame.lows[depth], frame.highs[depth] = frame.lows[depth - 1], frame.highs[depth - 1]
            if not _pick(m, family, depth):
                return PICKS_FULL
    return DONE


@compiled
def _pick(m: Machine, family: int, depth: int) -> bool:
    """The candidates of a component that its policy chooses; False without room.

    They come newest first. With `first`, the walk goes on to the oldest before it chooses.
    """
    tables, store, frame, scratch = m.tables, m.store, m.frame, m.scratch
    component = tables.component_begins[family] + depth
    probe = tables.component_probe[component]
    policy, count = tables.component_policy[component], tables.component_count[component]
    cover = tables.component_cover[component]
    missing = tables.family_missing[family] == 1
    consumes = tables.consumes[family] != 0
    steps, steps_end = tables.candidate_begins[component], tables.candidate_ends[component]
    low, high = bounds(m, probe)
    open_low, open_high = frame.lows[depth - 1], frame.highs[depth - 1]
    at = scratch.ends[depth - 1]
    scratch.begins[depth] = at
    for part in range(2 if missing else 1):
        entry = newest(m, probe, part, missing)
        while entry >= 0:
            row = store.entry_row[entry]
            first, last = store.entry_low[entry], store.entry_high[entry]
            entry = store.entry_before[entry]
            if store.ends[row] <= low:
                break
            if store.ends[row] >= high or store.starts[row] <= low:
                continue
            first, last = max(first, open_low), min(last, open_high)
            if first >= last or (consumes and is_consumed(store, family, row)):
                continue
            frame.rows[depth] = row
            if steps < steps_end and not _passes(m, family, depth, steps, steps_end, row):
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
    if policy == FIRST and cover < 0:
        scratch.begins[depth] = max(scratch.begins[depth], at - count)
    elif policy == FIRST:
        _cover_from_oldest(m, scratch.begins[depth], at, cover, open_low, open_high)
    scratch.ends[depth] = at
    return True


@inlined
def _cover_from_oldest(
    m: Machine, begin: int, end: int, cover: int, open_low: int, open_high: int
) -> None:
    """Give every member of a family the oldest candidate that it accepts."""
    scratch = m.scratch
    for at in range(end - 1, begin - 1, -1):
        scratch.lows[at] = max(scratch.lows[at], open_low)
        scratch.highs[at] = min(scratch.highs[at], open_high)
        if scratch.lows[at] < scratch.highs[at]:
            if cover == PREFIX:
                open_low = scratch.highs[at]
            else:
                open_high = scratch.lows[at]


# --- what must hold ----------------------------------------------------------


@compiled
def _passes(m: Machine, family: int, depth: int, begin: int, end: int, own: int) -> bool:
    """Take steps until one does not hold; callers in a loop see to it that there are any."""
    missing = m.tables.family_missing[family] == 1
    for step in range(begin, end):
        kind, argument = m.tables.step_kind[step], m.tables.step_argument[step]
        if kind == TEST:
            if not holds(m, argument, own, missing):
                return False
        elif kind == ABSENT:
            if exists(m, family, argument):
                return False
        elif kind == COMPUTE:
            compute(m, family, argument)
        elif kind == NARROW:
            if not _narrow(m, depth, argument, own, missing):
                return False
        elif not _is_within(m, family, argument):
            return False
    return True


@compiled
def _narrow(m: Machine, depth: int, narrow: int, own: int, missing: bool) -> bool:
    """Keep the members of the family whose constant fits a value; False when none is left."""
    program, hole = m.tables.narrow[narrow, 0], m.tables.narrow[narrow, 1]
    tag, value, number = value_of(m, program, own, missing)
    low, high = members(m, hole, tag, value, number, missing)
    m.frame.lows[depth] = max(m.frame.lows[depth], low)
    m.frame.highs[depth] = min(m.frame.highs[depth], high)
    return bool(m.frame.lows[depth] < m.frame.highs[depth])


@inlined
def _is_within(m: Machine, family: int, last: int) -> bool:
    """Whether the events that are bound so far fit into the window over the whole match."""
    earliest, latest = m.store.starts[m.frame.rows[0]], m.store.ends[m.frame.rows[0]]
    for depth in range(1, last + 1):
        earliest = min(earliest, m.store.starts[m.frame.rows[depth]])
        latest = max(latest, m.store.ends[m.frame.rows[depth]])
    return bool(latest - earliest < m.tables.family_within[family])


@compiled
def decide(m: Machine, family: int, rows: Ints) -> bool:
    """Whether a match that waited for its deadline passes its last steps."""
    for depth in range(len(rows)):
        m.frame.rows[depth] = rows[depth]
    begin, end = m.tables.final_begins[family], m.tables.final_ends[family]
    return _passes(m, family, 0, begin, end, rows[0])


# --- matches -----------------------------------------------------------------


@inlined
def _emit(m: Machine, family: int, width: int) -> int:
    """Write a match down: its family and members, its time, its rows, its computed values."""
    tables, matches, counts = m.tables, m.matches, m.store.counts
    at, rows, values = counts[MATCHES], counts[MATCH_ROWS], counts[MATCH_VALUES]
    first, last = tables.output_begins[family], tables.output_begins[family + 1]
    if (
        at == len(matches.family)
        or rows + width > len(matches.rows)
        or values + last - first > len(matches.tags)
    ):
        return MATCHES_FULL
    matches.family[at] = family
    matches.low[at], matches.high[at] = m.frame.lows[width - 1], m.frame.highs[width - 1]
    matches.time[at] = m.store.ends[m.frame.rows[0]]
    deadline = tables.family_deadline[family]
    if deadline >= 0:
        waited = tables.family_deadline_offset[family]
        matches.time[at] = m.store.starts[m.frame.rows[deadline]] + waited
    for depth in range(width):
        matches.rows[rows + depth] = m.frame.rows[depth]
    missing = tables.family_missing[family] == 1
    for index in range(first, last):
        tag, value, number = value_of(m, tables.output_program[index], m.frame.rows[0], missing)
        matches.tags[values] = tag
        matches.cells[values] = as_cell(number) if tag == DOUBLE else value
        values += 1
    counts[MATCHES], counts[MATCH_ROWS], counts[MATCH_VALUES] = at + 1, rows + width, values
    return DONE
