"""The stream: events in their order, timers in between, composite events after their cause.

What an event causes enters in waves: all the composite events that it caused, in the total order,
then what those caused. Each strategy sees every row; a strategy without rules is passed as None,
so that compiled code does not contain it.
"""

from __future__ import annotations

from cepheid.kernel.collecting import see_collections
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.completing import due_trees, fire_trees
from cepheid.kernel.detectors import due_detectors, fire_detectors, see_detectors
from cepheid.kernel.lazy import see_trees
from cepheid.kernel.matches import (
    FAMILY_LISTENED,
    FAMILY_MEMBERS,
    FAMILY_POINT,
    FAMILY_TARGETS,
    LISTENED,
    MATCH_CELL,
    MATCH_FAMILY,
    MATCH_HIGH,
    MATCH_LABEL,
    MATCH_LOW,
    MATCH_MADE,
    MATCH_ROW,
    MATCH_ROWS,
    MATCH_TAG,
    MATCH_TIME,
    MATCH_VALUES,
    MEMBER_RULE,
    MEMBER_TYPE,
    TARGET,
    TARGET_COLUMN,
    TARGET_KIND,
    TARGET_POSITION,
    TARGET_SOURCE,
    TARGET_WIDTH,
    converted,
    drop_matches,
    match_count,
)
from cepheid.kernel.memory import STREAM, append, ints, resize, set_size, shorts, size, tags
from cepheid.kernel.runs import see_runs
from cepheid.kernel.store import (
    CAUSED_LIMIT,
    CUT,
    DEPTH_LIMIT,
    FIRED,
    MADE_DEPTH,
    MADE_PARTS,
    MADE_PARTS_END,
    MADE_RULE,
    NEVER,
    NOW,
    OUTSIDE,
    PART_LABEL,
    PART_ROW,
    RANKS,
    ROW_CELLS,
    ROW_END,
    ROW_MADE,
    ROW_START,
    ROW_TAGS,
    TICK,
    TICKS,
    WIDTH,
    compare_rows,
    new_bare_row,
    new_origin,
    new_row,
    scalar,
    set_scalar,
)
from cepheid.kernel.values import Ints, Tags

(
    TICK_PERIOD,
    TICK_TYPE,
    TICK_NEXT,
    TICKED_ORIGIN,
    TICKED_TIME,
    QUEUE_ROW,
    QUEUE_LEVEL,
    WAVE,
    WAVE_SCRATCH,
) = range(STREAM, STREAM + 9)
"""Slots: periodic timers with the type of their events and the next time; the events they gave
since they were last asked for; composite events that are to enter; and room to sort a wave."""

NOT_STARTED = -(2**62)
PORTION = 1 << 16
"""So many matches at most are written down before compiled code returns, give or take an event."""
TICK_LIMIT = 1_000_000
"""How many events periodic timers may give in one call."""


@compiled
def feed(
    m: int,
    origins: Ints,
    types: Ints,
    starts: Ints,
    ends: Ints,
    cell_tags: Tags,
    cells: Ints,
    begin: int,
    trees: int | None,
    runs: int | None,
    collections: int | None,
    detectors: int | None,
) -> int:
    """Take events from `begin` on; the result is where it stopped because of many matches."""
    width = cells.shape[1]
    for at in range(begin, len(types)):
        if ends[at] > scalar(m, NOW) or size(m, TICK_NEXT) > 0:
            _start_ticks(m, ends[at])
            if not pass_time(m, ends[at] - 1, trees, runs, collections, detectors):
                return at
            set_scalar(m, NOW, max(scalar(m, NOW), ends[at]))
        if types[at] < 0:
            continue
        row = new_row(m, origins[at], types[at], starts[at], ends[at], OUTSIDE)
        row_tags, row_cells = tags(m, ROW_TAGS), ints(m, ROW_CELLS)
        for column in range(width):
            row_tags[row * width + column] = cell_tags[at, column]
            row_cells[row * width + column] = cells[at, column]
        _enter(m, row, trees, runs, collections, detectors)
        if match_count(m) >= PORTION:
            return at + 1
    return len(types)


@inlined
def _enter(
    m: int,
    row: int,
    trees: int | None,
    runs: int | None,
    collections: int | None,
    detectors: int | None,
) -> None:
    """Show an event to all rules, and then whatever it causes; forget it if nobody needs it."""
    found = match_count(m)
    kept = _see(m, row, trees, runs, collections, detectors)
    if match_count(m) > found:
        _settle(m, found, trees, runs, collections, detectors)
    elif not kept:
        set_size(m, ROW_END, row)


@inlined
def _see(
    m: int,
    row: int,
    trees: int | None,
    runs: int | None,
    collections: int | None,
    detectors: int | None,
) -> bool:
    kept = False
    if trees is not None:
        kept = see_trees(m, row) or kept
    if runs is not None:
        kept = see_runs(m, row) or kept
    if collections is not None:
        kept = see_collections(m, row) or kept
    if detectors is not None:
        kept = see_detectors(m, row) or kept
    return kept


# --- waves -------------------------------------------------------------------


@compiled
def _settle(
    m: int,
    found: int,
    trees: int | None,
    runs: int | None,
    collections: int | None,
    detectors: int | None,
) -> None:
    """Let composite events enter that rules listen to, wave after wave."""
    if size(m, LISTENED) == 0 and scalar(m, DEPTH_LIMIT) > 0 and scalar(m, CAUSED_LIMIT) > 0:
        return
    set_size(m, QUEUE_ROW, 0)
    set_size(m, QUEUE_LEVEL, 0)
    _admit(m, found, 1)
    at = 0
    while at < size(m, QUEUE_ROW):
        before, level = match_count(m), ints(m, QUEUE_LEVEL)[at]
        _see(m, ints(m, QUEUE_ROW)[at], trees, runs, collections, detectors)
        if match_count(m) > before:
            _admit(m, before, level + 1)
        at += 1


@compiled
def _admit(m: int, found: int, level: int) -> None:
    """Make events of new matches, in the total order; those too deep or too many are cut."""
    if level > scalar(m, DEPTH_LIMIT) or size(m, QUEUE_ROW) >= scalar(m, CAUSED_LIMIT):
        for match in range(found, match_count(m)):
            set_scalar(m, CUT, scalar(m, CUT) + _alive(m, match))
        drop_matches(m, found)
        return
    set_size(m, WAVE, 0)
    for match in range(found, match_count(m)):
        if ints(m, FAMILY_LISTENED)[ints(m, MATCH_FAMILY)[match]]:
            _make(m, match)
    count = size(m, WAVE)
    if count > 1:
        _sort_wave(m, count)
    for at in range(count):
        append(m, QUEUE_ROW, ints(m, WAVE)[at])
        append(m, QUEUE_LEVEL, level)


@compiled
def _alive(m: int, match: int) -> int:
    """For how many rules a match counts."""
    begin, alive = ints(m, FAMILY_MEMBERS)[ints(m, MATCH_FAMILY)[match]], 0
    for member in range(begin + ints(m, MATCH_LOW)[match], begin + ints(m, MATCH_HIGH)[match]):
        alive += 1 if ints(m, MEMBER_RULE)[member] >= 0 else 0
    return alive


@compiled
def _make(m: int, match: int) -> None:
    """A row for every member of a match to which a rule listens."""
    family = ints(m, MATCH_FAMILY)[match]
    begin = ints(m, FAMILY_MEMBERS)[family]
    parts, parts_end, depth, start = _make_parts(m, match)
    time = ints(m, MATCH_TIME)[match]
    start = time if ints(m, FAMILY_POINT)[family] else start
    for member in range(begin + ints(m, MATCH_LOW)[match], begin + ints(m, MATCH_HIGH)[match]):
        origin = new_origin(m)
        if ints(m, MATCH_MADE)[match] == 0:
            ints(m, MATCH_MADE)[match] = origin
        if ints(m, MEMBER_TYPE)[member] < 0:
            continue
        made = append(m, MADE_RULE, ints(m, MEMBER_RULE)[member])
        append(m, MADE_DEPTH, depth + 1)
        append(m, MADE_PARTS, parts)
        append(m, MADE_PARTS_END, parts_end)
        row = new_bare_row(m, origin, ints(m, MEMBER_TYPE)[member], start, time, made)
        _fill(m, row, match, family)
        append(m, WAVE, row)


@compiled
def _make_parts(m: int, match: int) -> tuple[int, int, int, int]:
    """The constituents of a match in the total order, how deep they are, and where they start."""
    begin, end = ints(m, MATCH_ROWS)[match], size(m, MATCH_ROW)
    if match + 1 < match_count(m):
        end = ints(m, MATCH_ROWS)[match + 1]
    first, depth, start = size(m, PART_ROW), 0, NEVER
    for at in range(begin, end):
        row, label = ints(m, MATCH_ROW)[at], ints(m, MATCH_LABEL)[at]
        start = min(start, ints(m, ROW_START)[row])
        made = shorts(m, ROW_MADE)[row]
        if made >= 0:
            depth = max(depth, ints(m, MADE_DEPTH)[made])
        to = append(m, PART_ROW, row)
        append(m, PART_LABEL, label)
        rows, labels, ranks = ints(m, PART_ROW), ints(m, PART_LABEL), ints(m, RANKS)
        while to > first:
            order = compare_rows(m, rows[to - 1], row)
            if order < 0 or (order == 0 and ranks[labels[to - 1]] <= ranks[label]):
                break
            rows[to], labels[to] = rows[to - 1], labels[to - 1]
            to -= 1
        rows[to], labels[to] = row, label
    return first, size(m, PART_ROW), depth, start


@compiled
def _fill(m: int, row: int, match: int, family: int) -> None:
    """The cells of a composite event that rules look at; nothing is known of the others."""
    width = scalar(m, WIDTH)
    cell_tags, cells, targets = tags(m, ROW_TAGS), ints(m, ROW_CELLS), ints(m, TARGET)
    for number in range(ints(m, FAMILY_TARGETS)[family], ints(m, FAMILY_TARGETS)[family + 1]):
        target = TARGET_WIDTH * number
        position, source = targets[target + TARGET_POSITION], targets[target + TARGET_SOURCE]
        if position >= 0:
            place = ints(m, MATCH_ROW)[ints(m, MATCH_ROWS)[match] + position] * width + source
            tag, cell = converted(
                int(cell_tags[place]), cells[place], targets[target + TARGET_KIND]
            )
        else:
            place = ints(m, MATCH_VALUES)[match] + source
            tag, cell = ints(m, MATCH_TAG)[place], ints(m, MATCH_CELL)[place]
        where = row * width + targets[target + TARGET_COLUMN]
        if tag != 0 or position < 0:
            cell_tags[where], cells[where] = tag, cell


@compiled
def _sort_wave(m: int, count: int) -> None:
    """Bring a wave into the total order, by merging ever longer parts of it."""
    resize(m, WAVE_SCRATCH, count)
    one, other = ints(m, WAVE), ints(m, WAVE_SCRATCH)
    length = 1
    while length < count:
        for begin in range(0, count, 2 * length):
            middle, end = min(begin + length, count), min(begin + 2 * length, count)
            left, right = begin, middle
            for to in range(begin, end):
                if right >= end or (left < middle and compare_rows(m, one[left], one[right]) <= 0):
                    other[to] = one[left]
                    left += 1
                else:
                    other[to] = one[right]
                    right += 1
        one[:count] = other[:count]
        length *= 2


# --- time --------------------------------------------------------------------


@inlined
def _start_ticks(m: int, time: int) -> None:
    """Periodic timers tick from the first event on."""
    for number in range(size(m, TICK_NEXT)):
        if ints(m, TICK_NEXT)[number] == NOT_STARTED:
            period = ints(m, TICK_PERIOD)[number]
            ints(m, TICK_NEXT)[number] = -(-time // period) * period


@compiled
def pass_time(
    m: int,
    until: int,
    trees: int | None,
    runs: int | None,
    collections: int | None,
    detectors: int | None,
) -> bool:
    """Let everything happen that is due at or before a time; False when matches must leave first.

    Ticks come before other timers of their instant.
    """
    while True:
        tick = _next_tick(m)
        timer = _next_timer(m, trees, detectors)
        if tick > until and timer > until:
            return True
        if match_count(m) >= PORTION:
            return False
        if tick <= timer:
            _tick(m, tick, trees, runs, collections, detectors)
        else:
            set_scalar(m, NOW, max(scalar(m, NOW), timer))
            found = match_count(m)
            if trees is not None:
                fire_trees(m, timer)
            if detectors is not None:
                fire_detectors(m, timer)
            if match_count(m) > found:
                set_scalar(m, FIRED, timer)
                _settle(m, found, trees, runs, collections, detectors)
                set_scalar(m, FIRED, NEVER)


@inlined
def _next_tick(m: int) -> int:
    nearest = NEVER
    for number in range(size(m, TICK_NEXT)):
        if ints(m, TICK_NEXT)[number] != NOT_STARTED:
            nearest = min(nearest, ints(m, TICK_NEXT)[number])
    return nearest


@inlined
def _next_timer(m: int, trees: int | None, detectors: int | None) -> int:
    nearest = NEVER
    if trees is not None:
        nearest = min(nearest, due_trees(m))
    if detectors is not None:
        nearest = min(nearest, due_detectors(m))
    return nearest


@compiled
def _tick(
    m: int,
    now: int,
    trees: int | None,
    runs: int | None,
    collections: int | None,
    detectors: int | None,
) -> None:
    """Let the events of periodic timers enter that are due now."""
    set_scalar(m, NOW, max(scalar(m, NOW), now))
    for number in range(size(m, TICK_NEXT)):
        if ints(m, TICK_NEXT)[number] != now:
            continue
        ints(m, TICK_NEXT)[number] = now + ints(m, TICK_PERIOD)[number]
        set_scalar(m, TICKS, scalar(m, TICKS) + 1)
        origin = new_origin(m)
        append(m, TICKED_ORIGIN, origin)
        append(m, TICKED_TIME, now)
        row = new_bare_row(m, origin, ints(m, TICK_TYPE)[number], now, now, TICK)
        _enter(m, row, trees, runs, collections, detectors)
