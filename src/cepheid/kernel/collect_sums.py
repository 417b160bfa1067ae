"""Candidates of constraints that accumulate: the oldest events, until an aggregate is enough.

There is at most one candidate after a given time. Where it is not enough yet, the running sum is
kept with the list and goes on from there when the next event comes. Where further events can only
bring an aggregate closer to its bound, a sum that holds too much tells at least that the bound is
not reached, so that it is seldom computed anew while events expire.
"""

from __future__ import annotations

from cepheid.kernel.collect_choice import first_after, is_free
from cepheid.kernel.collect_slots import (
    CACHE,
    CACHE_AFTER,
    CACHE_EARLIEST,
    CACHE_FIRST,
    CACHE_HELD,
    CACHE_PARTS,
    CACHE_SUM,
    CACHE_UPTO,
    CACHE_WIDTH,
    ENTRY,
    ENTRY_NUMBER,
    ENTRY_START,
    ENTRY_TOP,
    ENTRY_WIDTH,
    FAILED,
    FAILED_BELOW,
    FAILED_FORCED,
    FAILED_FROM,
    FAILED_SEEN,
    FAILED_STAMP,
    FAILED_WIDTH,
    FAILS,
    FIRST,
    FLOOR,
    HOPELESS,
    LATE,
    LEAF,
    LEAF_COLUMN,
    LEAF_FUNCTION,
    LEAF_PROGRAM,
    LEAF_RELATION,
    LEAF_RISES,
    LEAF_SHARED,
    LEAST,
    LIST,
    LIST_CACHE,
    LIST_TAIL,
    LOW,
    NEW_ROW,
    NO_OTHER,
    SEARCH,
    SET_ASIDE,
    STAMP,
    TRAIL,
    UNMET,
    USED,
)
from cepheid.kernel.collect_state import place_of, plain
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import append, floats, grow, ints, size, tags
from cepheid.kernel.programs import value_of
from cepheid.kernel.store import RANKS, ROW_CELLS, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.sums import (
    SUM,
    SUM_PARTS,
    SUM_STATE,
    add_to_sum,
    begin_sum,
    end_sum,
)
from cepheid.kernel.values import DOUBLE, MISSING, as_cell, as_float, related

_FOUND, _INTS, _CARRY, _LEAST_INT, _PARTS, _WORDS = 0, 1, 3, 4, 6, 7
_LEAST, _FIRST_PART = 0, 2
"""Where the running aggregate keeps what, in the slots of `sums`."""


@compiled
def accumulate(
    m: int, leaf: int, base: int, list_: int, after: int, forced: bool, trail: int
) -> int:
    """The oldest events, as soon as a function over them satisfies the bound."""
    search, entries, shared = (
        ints(m, SEARCH),
        ints(m, ENTRY),
        ints(m, LEAF)[base + LEAF_SHARED] != 0,
    )
    if not shared and _is_known_to_fail(m, leaf, after, forced):
        return FAILS
    first, tail = _first_free(m, list_, after, shared), ints(m, LIST)[list_ + LIST_TAIL]
    if first == tail:
        return NO_OTHER if shared else HOPELESS
    if entries[first + ENTRY_TOP] < search[FLOOR]:
        return NO_OTHER if shared else FAILS
    if shared or search[LATE] != 0:
        begin_sum(m)
        held, _, earliest = _go_on(m, base, first, tail, after, shared)
    else:
        held, earliest = _held(m, leaf, base, list_, first, tail, after)
    if held >= 0 and not (forced and entries[held] != search[NEW_ROW]):
        return _fill_up(m, first, held, after, shared, trail)
    if shared:
        return NO_OTHER
    if held < 0:
        if _can_only_rise(m, base):
            return HOPELESS
        _remember_failure(m, leaf, after, earliest, forced)
    return FAILS


@inlined
def _first_free(m: int, list_: int, after: int, shared: bool) -> int:
    """The oldest event that may be taken; the end of the list if there is none."""
    entries, used, search = ints(m, ENTRY), tags(m, USED), ints(m, SEARCH)
    at, tail = first_after(m, list_, after, plain(LEAST)), ints(m, LIST)[list_ + LIST_TAIL]
    low, number = search[LOW], search[FIRST]
    while at < tail and not is_free(entries, used, at, low, number, after, shared):
        at += ENTRY_WIDTH
    return int(at)


@compiled
def _go_on(m: int, base: int, at: int, tail: int, after: int, shared: bool) -> tuple[int, int, int]:
    """Add events to the running sum until it is enough.

    The result is where it is enough (-1 is nowhere), the last number added, the earliest start.
    """
    leaves, search = ints(m, LEAF), ints(m, SEARCH)
    entries, used = ints(m, ENTRY), tags(m, USED)
    program, unmet = leaves[base + LEAF_PROGRAM], search[UNMET] != 0
    limit_tag, limit, limit_number = value_of(m, program, search[NEW_ROW], unmet)
    function, relation = leaves[base + LEAF_FUNCTION], leaves[base + LEAF_RELATION]
    column, width = leaves[base + LEAF_COLUMN], scalar(m, WIDTH)
    low, first = search[LOW], search[FIRST]
    last, earliest = 0, -LEAST
    while at < tail:
        if is_free(entries, used, at, low, first, after, shared):
            place = entries[at] * width + column
            add_to_sum(m, function, int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place])
            last, earliest = entries[at + ENTRY_NUMBER], min(earliest, entries[at + ENTRY_START])
            tag, value = _sum_so_far(m, function)
            number = as_float(value) if tag == DOUBLE else 0.0
            enough = (
                tag != MISSING
                and limit_tag != MISSING
                and related(
                    relation, tag, value, number, limit_tag, limit, limit_number, ints(m, RANKS)
                )
            )
            if enough:
                return int(at), last, earliest
        at += ENTRY_WIDTH
    return -1, last, earliest


@inlined
def _sum_so_far(m: int, function: int) -> tuple[int, int]:
    """The aggregate so far; its parts are set aside, because the end of a sum uses them up."""
    parts, aside = floats(m, SUM_PARTS), floats(m, SET_ASIDE)
    count = ints(m, SUM_STATE)[_PARTS]
    for at in range(count):
        aside[at] = parts[_FIRST_PART + at]
    tag, value = end_sum(m, function)
    for at in range(count):
        parts[_FIRST_PART + at] = aside[at]
    return tag, value


@compiled
def _fill_up(m: int, at: int, held: int, after: int, shared: bool, trail: int) -> int:
    """Put all free events from one place to another on the trail."""
    entries, used, search = ints(m, ENTRY), tags(m, USED), ints(m, SEARCH)
    grow(m, TRAIL, trail + (held - at) // ENTRY_WIDTH + 1, 8)
    places, taken = ints(m, TRAIL), 0
    while at <= held:
        if is_free(entries, used, at, search[LOW], search[FIRST], after, shared):
            places[trail + taken] = at
            taken += 1
        at += ENTRY_WIDTH
    return taken


# --- failures ----------------------------------------------------------------


@inlined
def _is_known_to_fail(m: int, leaf: int, after: int, forced: bool) -> bool:
    """Whether it has failed in this search after a time that leaves the same events."""
    failed, place = ints(m, FAILED), FAILED_WIDTH * leaf
    return bool(
        failed[place + FAILED_STAMP] == ints(m, SEARCH)[STAMP]
        and failed[place + FAILED_FROM] <= after < failed[place + FAILED_BELOW]
        and (forced or failed[place + FAILED_FORCED] == 0)
    )


@inlined
def _remember_failure(m: int, leaf: int, after: int, earliest: int, forced: bool) -> None:
    """Until another of these events starts, it fails the same way after later times."""
    failed, place = ints(m, FAILED), FAILED_WIDTH * leaf
    failed[place + FAILED_STAMP], failed[place + FAILED_FORCED] = ints(m, SEARCH)[STAMP], forced
    failed[place + FAILED_FROM], failed[place + FAILED_BELOW] = after, earliest


@inlined
def _can_only_rise(m: int, base: int) -> bool:
    """Whether every event that was added has brought the aggregate closer to its bound."""
    state, parts, leaves = ints(m, SUM_STATE), floats(m, SUM_PARTS), ints(m, LEAF)
    if leaves[base + LEAF_RISES] == 0 or leaves[base + LEAF_FUNCTION] != SUM:
        return bool(leaves[base + LEAF_RISES] != 0)
    ints_rise = state[_INTS] == 0 or (state[_LEAST_INT] >= 0 and state[_CARRY] == 0)
    return bool(ints_rise and (state[_FOUND] == state[_INTS] or parts[_LEAST] >= 0.0))


# --- running sums of lists ---------------------------------------------------


@compiled
def _held(
    m: int, leaf: int, base: int, list_: int, first: int, tail: int, after: int
) -> tuple[int, int]:
    """Where the aggregate is enough (-1 is nowhere), and the earliest start of its events."""
    cache, number = _cache(m, list_), ints(m, ENTRY)[first + ENTRY_NUMBER]
    words, search = ints(m, CACHE), ints(m, SEARCH)
    fresh = ints(m, FAILED)[FAILED_WIDTH * leaf + FAILED_SEEN] != search[STAMP]
    ints(m, FAILED)[FAILED_WIDTH * leaf + FAILED_SEEN] = search[STAMP]
    known = words[cache + CACHE_UPTO] > 0 and words[cache + CACHE_AFTER] <= after
    exact = words[cache + CACHE_AFTER] == after and words[cache + CACHE_FIRST] == number
    if known and exact and words[cache + CACHE_EARLIEST] >= search[LOW]:
        held = words[cache + CACHE_HELD]
        if held > 0:
            return place_of(m, list_, held), words[cache + CACHE_EARLIEST]
        return _continue(m, base, list_, cache, tail)
    rises = ints(m, LEAF)[base + LEAF_RISES] != 0
    if known and rises and words[cache + CACHE_HELD] == 0:
        held, earliest = _continue(m, base, list_, cache, tail)
        if held < 0 and _can_only_rise(m, base):
            return held, earliest
    begin_sum(m)
    held, last, earliest = _go_on(m, base, first, tail, after, plain(0) > 0)
    # Of several times in one search the first is kept: it is the one that comes again.
    if fresh:
        words[cache + CACHE_AFTER], words[cache + CACHE_FIRST] = after, number
        words[cache + CACHE_EARLIEST] = -LEAST
        _save(m, cache, held, last, earliest)
    return held, earliest


@inlined
def _cache(m: int, list_: int) -> int:
    """Where the running sum of a list is kept."""
    lists = ints(m, LIST)
    if lists[list_ + LIST_CACHE] == 0:
        lists[list_ + LIST_CACHE] = size(m, CACHE) // CACHE_WIDTH + 1
        for _ in range(CACHE_WIDTH):
            append(m, CACHE, 0)
    return int(CACHE_WIDTH * (lists[list_ + LIST_CACHE] - 1))


@compiled
def _continue(m: int, base: int, list_: int, cache: int, tail: int) -> tuple[int, int]:
    """Go on from where the running sum of a list has come to."""
    words, state = ints(m, CACHE), ints(m, SUM_STATE)
    parts, place = floats(m, SUM_PARTS), cache + CACHE_SUM
    for at in range(_WORDS):
        state[at] = words[place + at]
    for at in range(_FIRST_PART + state[_PARTS]):
        parts[at] = as_float(words[place + _WORDS + at])
    begin = place_of(m, list_, words[cache + CACHE_UPTO] + 1)
    until = words[cache + CACHE_AFTER]
    held, last, earliest = _go_on(m, base, begin, tail, until, plain(0) > 0)
    _save(m, cache, held, last, earliest)
    return held, words[cache + CACHE_EARLIEST]


@inlined
def _save(m: int, cache: int, held: int, last: int, earliest: int) -> None:
    """Keep the running sum, unless it has too many parts."""
    words, state, parts = ints(m, CACHE), ints(m, SUM_STATE), floats(m, SUM_PARTS)
    if last > 0:
        words[cache + CACHE_UPTO] = last if state[_PARTS] <= CACHE_PARTS else 0
    words[cache + CACHE_HELD] = last if held >= 0 else 0
    words[cache + CACHE_EARLIEST] = min(words[cache + CACHE_EARLIEST], earliest)
    place = cache + CACHE_SUM
    for at in range(_WORDS):
        words[place + at] = state[at]
    for at in range(_FIRST_PART + min(state[_PARTS], CACHE_PARTS)):
        words[place + _WORDS + at] = as_cell(parts[at])
