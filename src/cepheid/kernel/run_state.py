"""The state of runs: which events are being watched, by channel and partition.

A *channel* is what several rules have in common: a predicate and partition keys. In one partition
of a channel every run is a tail of the same list of events, because events are only ever added at
its end and given up from its beginning. So the list is kept once, and a run is the place where it
begins. With each event stand the sums of all before it (see `run_values`), so that a sum over a run
is a difference.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import RUNS, append, ints, reserve, resize, set_size, size, tags
from cepheid.kernel.store import MOVED, ROW_CELLS, ROW_TAGS, WIDTH, keep, scalar
from cepheid.kernel.values import DOUBLE, INT, MISSING, as_float

(
    RUN_TYPE,
    RUN_SWITCH,
    RUN_CASE,
    RUN_LISTED,
    RUN_TEST,
    RUN_KEY,
    RUN_CHANNEL,
    RUN_MEASURE,
    RUN_RUNNER,
    RUN_VALUE,
    RUN_OUTPUT,
    RUN_FAILURE,
    RUN_SETTING,
    RUN_HOME,
    RUN_PARTITION,
    RUN_BUCKET,
    RUN_TALLY,
    RUN_ENTRY,
    RUN_ASIDE,
    RUN_SOUGHT,
) = range(RUNS, RUNS + 20)
"""Slots. Tables up to `RUN_SETTING` (whether failures are wanted). State: `RUN_HOME` is by channel
the place of its partition where there are no keys, plus one; `RUN_PARTITION` are records of
different length; `RUN_BUCKET` finds records by key, with `RUN_TALLY` of them; `RUN_ENTRY` are
blocks of events. The last two are for passing use."""

TYPE_BEGIN, TYPE_END, TYPE_SWITCH, TYPE_SWITCH_END = range(4)
TYPE_WIDTH = 4
"""By type: the entries to look at, and the switches."""

SWITCH_COLUMN, SWITCH_CASES, SWITCH_CASES_END = range(3)
SWITCH_WIDTH = 3
CASE_TAG, CASE_CELL, CASE_BEGIN, CASE_END = range(4)
CASE_WIDTH = 4
"""A switch is a column and its cases, sorted by tag and cell. A case holds the entries to look at
when the column has that value."""

LISTED_TEST, LISTED_ELSE, LISTED_CHANNEL, LISTED_KEYS, LISTED_KEYS_END = range(5)
LISTED_WIDTH = 5
"""An entry: what an event must pass, where to go on when it does not, a channel, and its keys."""

KEY_COLUMN, KEY_FIXED, KEY_TAG, KEY_CELL = range(4)
KEY_WIDTH = 4

(
    CHANNEL_RUNNERS,
    CHANNEL_RUNNERS_END,
    CHANNEL_TESTS,
    CHANNEL_MEASURES,
    CHANNEL_MEASURES_END,
    CHANNEL_KEYS,
    CHANNEL_TOTALS,
    CHANNEL_BEGINS,
    CHANNEL_SIZE,
    CHANNEL_ENTRY,
) = range(10)
CHANNEL_WIDTH = 10
"""A channel: its runners that are left, whether any of them tests each event, its measures, how
many keys tell its partitions apart; where the totals and the runs are in a record, how long a
record is, and how long an entry."""

(
    RUNNER_PLACE,
    RUNNER_COUNTED,
    RUNNER_LENGTH,
    RUNNER_EACH,
    RUNNER_CONDITION,
    RUNNER_COMPARED,
    RUNNER_LOW,
    RUNNER_HIGH,
    RUNNER_LEAST,
    RUNNER_MOST,
    RUNNER_MISSING,
    RUNNER_LABEL,
    RUNNER_FAMILY,
    RUNNER_MEMBERS,
    RUNNER_VALUES,
    RUNNER_RESULTS,
    RUNNER_RESULTS_END,
    RUNNER_OUTPUTS,
    RUNNER_OUTPUTS_END,
    RUNNER_FAILURES,
    RUNNER_FAILURES_END,
) = range(21)
RUNNER_WIDTH = 21
"""A runner: rules that watch in the same way. Its place among those of its channel, its window (a
number of events or a length of time), the test of each event, the program of the condition and,
where that only compares a value of the run with a number, the value's register and the ranges that
are allowed. The label, the family of its matches and how many members that has. Values of the run
that the condition needs, then those that only results need; outputs; failures."""

OUTPUT_REGISTER, OUTPUT_PROGRAM, OUTPUT_KIND = range(3)
OUTPUT_WIDTH = 3

CHANNEL, BLOCK, ROOM, COUNT, UNSORTED, NEXT_COUNT, NEXT_TIME, HEADER = range(8)
"""A record: its channel, its block of entries with how many there is room for and how many there
are, the last entry that does not follow the one before it in the total order, and when a run will
be full: by the number of entries, or at a time. Keys, totals and runs follow. A run is a beginning
and, for windows by time, when it is full."""

RUN_WORDS = 2
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SMALL = 8
NOWHERE, UNKNOWN = -2, -1


@inlined
def field_of(m: int, channel: int, which: int) -> int:
    """What the table says about a channel."""
    return int(ints(m, RUN_CHANNEL)[channel * CHANNEL_WIDTH + which])


# --- partitions --------------------------------------------------------------


@inlined
def key_of(tag: int, cell: int) -> tuple[int, int]:
    """A value as a key: equal numbers have one key, whether int or double."""
    if tag == DOUBLE:
        number = as_float(cell)
        if -(2.0**63) <= number < 2.0**63 and number == np.floor(number):
            return INT, int(number)
    return tag, cell


@inlined
def mixed(code: int, tag: int, cell: int) -> int:
    """A number that depends on all of a code, a tag and a cell, never below 0."""
    whole = (np.uint64(code) * _MIX) ^ np.uint64(cell) ^ (np.uint64(tag) << np.uint64(56))
    whole ^= whole >> np.uint64(29)
    whole *= _MIX
    return int(np.int64(whole >> np.uint64(17)))


@compiled
def find_partition(m: int, channel: int, keys: int, keys_end: int, row: int) -> int:
    """The record of the partition that an event belongs to; `UNKNOWN` is one without a record.

    `NOWHERE` is an event of no partition. Its keys stay in `RUN_SOUGHT`, after their hash.
    """
    if keys == keys_end:
        return int(ints(m, RUN_HOME)[channel]) - 1 if channel < size(m, RUN_HOME) else UNKNOWN
    table, sought = ints(m, RUN_KEY), ints(m, RUN_SOUGHT)
    code, found = channel, 1
    first = row * scalar(m, WIDTH)
    for key in range(keys * KEY_WIDTH, keys_end * KEY_WIDTH, KEY_WIDTH):
        where = first + table[key + KEY_COLUMN]
        tag, cell = key_of(int(tags(m, ROW_TAGS)[where]), ints(m, ROW_CELLS)[where])
        if table[key + KEY_FIXED]:
            if tag != table[key + KEY_TAG] or cell != table[key + KEY_CELL]:
                return NOWHERE
            continue
        if tag == MISSING:
            return NOWHERE
        sought[found], sought[found + 1] = tag, cell
        code = mixed(code, tag, cell)
        found += 2
    sought[0] = code
    if found == 1:
        return int(ints(m, RUN_HOME)[channel]) - 1 if channel < size(m, RUN_HOME) else UNKNOWN
    return _find_record(m, channel, code, found)


@inlined
def _find_record(m: int, channel: int, code: int, found: int) -> int:
    if size(m, RUN_BUCKET) == 0:
        return UNKNOWN
    buckets, state, sought = ints(m, RUN_BUCKET), ints(m, RUN_PARTITION), ints(m, RUN_SOUGHT)
    mask = size(m, RUN_BUCKET) - 1
    bucket = code & mask
    while buckets[bucket] > 0:
        record = buckets[bucket] - 1
        same = state[record + CHANNEL] == channel
        for at in range(1, found):
            same = same and state[record + HEADER + at - 1] == sought[at]
        if same:
            return int(record)
        bucket = (bucket + 1) & mask
    return UNKNOWN


@compiled
def new_partition(m: int, channel: int) -> int:
    """A record at the end, for the keys that were sought last; nothing finds it yet."""
    record = size(m, RUN_PARTITION)
    resize(m, RUN_PARTITION, record + field_of(m, channel, CHANNEL_SIZE))
    state, sought = ints(m, RUN_PARTITION), ints(m, RUN_SOUGHT)
    state[record : size(m, RUN_PARTITION)] = 0
    state[record + CHANNEL] = channel
    state[record + BLOCK] = size(m, RUN_ENTRY)
    state[record + ROOM] = _SMALL
    for at in range(2 * field_of(m, channel, CHANNEL_KEYS)):
        state[record + HEADER + at] = sought[at + 1]
    resize(m, RUN_ENTRY, size(m, RUN_ENTRY) + _SMALL * field_of(m, channel, CHANNEL_ENTRY))
    return record


@compiled
def drop_last_partition(m: int, record: int) -> None:
    """Take back a record that was the last to be made, before anything could find it."""
    set_size(m, RUN_ENTRY, ints(m, RUN_PARTITION)[record + BLOCK])
    set_size(m, RUN_PARTITION, record)


@compiled
def register_partition(m: int, record: int) -> None:
    """Let a record be found."""
    channel = ints(m, RUN_PARTITION)[record + CHANNEL]
    if field_of(m, channel, CHANNEL_KEYS) == 0:
        homes = size(m, RUN_HOME)
        if channel >= homes:
            resize(m, RUN_HOME, channel + 1)
            ints(m, RUN_HOME)[homes : channel + 1] = 0
        ints(m, RUN_HOME)[channel] = record + 1
        return
    if size(m, RUN_TALLY) == 0:
        append(m, RUN_TALLY, 0)
    ints(m, RUN_TALLY)[0] += 1
    if 2 * ints(m, RUN_TALLY)[0] > size(m, RUN_BUCKET):
        _rehash(m)
    else:
        _put_bucket(m, channel, record)


@inlined
def _put_bucket(m: int, channel: int, record: int) -> None:
    buckets, state = ints(m, RUN_BUCKET), ints(m, RUN_PARTITION)
    mask, code = size(m, RUN_BUCKET) - 1, channel
    for key in range(field_of(m, channel, CHANNEL_KEYS)):
        at = record + HEADER + 2 * key
        code = mixed(code, state[at], state[at + 1])
    bucket = code & mask
    while buckets[bucket] > 0:
        bucket = (bucket + 1) & mask
    buckets[bucket] = record + 1


@compiled
def _rehash(m: int) -> None:
    """Find buckets for all records with keys anew, with room for as many again."""
    room = 64
    while room < 4 * ints(m, RUN_TALLY)[0]:
        room *= 2
    resize(m, RUN_BUCKET, room)
    ints(m, RUN_BUCKET)[:room] = 0
    record = 0
    while record < size(m, RUN_PARTITION):
        channel = ints(m, RUN_PARTITION)[record + CHANNEL]
        if field_of(m, channel, CHANNEL_KEYS) > 0:
            _put_bucket(m, channel, record)
        record += field_of(m, channel, CHANNEL_SIZE)


# --- entries -----------------------------------------------------------------


@compiled
def oldest(m: int, record: int) -> int:
    """The first entry that a run still holds; as many as there are when none does."""
    state, runners = ints(m, RUN_PARTITION), ints(m, RUN_RUNNER)
    channel = state[record + CHANNEL]
    begins = record + field_of(m, channel, CHANNEL_BEGINS)
    first = state[record + COUNT]
    for runner in range(
        field_of(m, channel, CHANNEL_RUNNERS), field_of(m, channel, CHANNEL_RUNNERS_END)
    ):
        place = runners[runner * RUNNER_WIDTH + RUNNER_PLACE]
        first = min(first, state[begins + RUN_WORDS * place])
    return int(first)


@compiled
def make_room(m: int, record: int) -> None:
    """Let a block that is full have room: move what is alive to its beginning, or to a larger one.

    Half of the block is free afterwards, so that an event costs no more than its own move.
    """
    first = oldest(m, record)
    state = ints(m, RUN_PARTITION)
    width = field_of(m, state[record + CHANNEL], CHANNEL_ENTRY)
    source = state[record + BLOCK] + first * width
    count, room = state[record + COUNT] - first, state[record + ROOM]
    if 2 * count > room:
        state[record + ROOM] = 2 * room
        if state[record + BLOCK] + room * width == size(m, RUN_ENTRY):
            resize(m, RUN_ENTRY, size(m, RUN_ENTRY) + room * width)
            return
        state[record + BLOCK] = size(m, RUN_ENTRY)
        resize(m, RUN_ENTRY, size(m, RUN_ENTRY) + 2 * room * width)
    entries, target = ints(m, RUN_ENTRY), state[record + BLOCK]
    for at in range(count * width):
        entries[target + at] = entries[source + at]
    _shift(m, record, first)


@compiled
def _shift(m: int, record: int, by: int) -> None:
    """Count entries from a later one on."""
    state = ints(m, RUN_PARTITION)
    channel = state[record + CHANNEL]
    state[record + COUNT] -= by
    state[record + NEXT_COUNT] -= by
    state[record + UNSORTED] = max(0, state[record + UNSORTED] - by)
    end = record + field_of(m, channel, CHANNEL_SIZE)
    for at in range(record + field_of(m, channel, CHANNEL_BEGINS), end, RUN_WORDS):
        state[at] -= by


# --- compaction --------------------------------------------------------------


@compiled
def mark_runs(m: int, now: int) -> None:
    """Say which rows runs still need. Nothing of a run expires by time."""
    record = 0
    while record < size(m, RUN_PARTITION):
        state = ints(m, RUN_PARTITION)
        channel = state[record + CHANNEL]
        width, block = field_of(m, channel, CHANNEL_ENTRY), state[record + BLOCK]
        for place in range(oldest(m, record), state[record + COUNT]):
            keep(m, ints(m, RUN_ENTRY)[block + place * width])
        record += field_of(m, channel, CHANNEL_SIZE)


@compiled
def move_runs(m: int) -> None:
    """Give up partitions without events, and follow the rows to where they have gone."""
    end, to = size(m, RUN_PARTITION), 0
    set_size(m, RUN_ASIDE, 0)
    ints(m, RUN_HOME)[: size(m, RUN_HOME)] = 0
    resize(m, RUN_TALLY, 1)
    ints(m, RUN_TALLY)[0] = 0
    record = 0
    while record < end:
        state = ints(m, RUN_PARTITION)
        channel = state[record + CHANNEL]
        length = field_of(m, channel, CHANNEL_SIZE)
        if oldest(m, record) < state[record + COUNT]:
            _move_entries(m, record)
            state[to : to + length] = state[record : record + length]
            if field_of(m, channel, CHANNEL_KEYS) == 0:
                ints(m, RUN_HOME)[channel] = to + 1
            else:
                ints(m, RUN_TALLY)[0] += 1
            to += length
        record += length
    set_size(m, RUN_PARTITION, to)
    resize(m, RUN_ENTRY, size(m, RUN_ASIDE))
    ints(m, RUN_ENTRY)[: size(m, RUN_ASIDE)] = ints(m, RUN_ASIDE)[: size(m, RUN_ASIDE)]
    set_size(m, RUN_ASIDE, 0)
    _rehash(m)


@compiled
def _move_entries(m: int, record: int) -> None:
    """Copy the entries of a record that are alive aside, with the rows' new places."""
    first = oldest(m, record)
    state, moved = ints(m, RUN_PARTITION), ints(m, MOVED)
    width = field_of(m, state[record + CHANNEL], CHANNEL_ENTRY)
    count, room = state[record + COUNT] - first, _SMALL
    while room < count:
        room *= 2
    source, target = state[record + BLOCK] + first * width, size(m, RUN_ASIDE)
    reserve(m, RUN_ASIDE, room * width)
    set_size(m, RUN_ASIDE, target + room * width)
    entries, aside = ints(m, RUN_ENTRY), ints(m, RUN_ASIDE)
    for at in range(count * width):
        aside[target + at] = entries[source + at]
    for place in range(count):
        aside[target + place * width] = moved[aside[target + place * width]]
    state[record + BLOCK], state[record + ROOM] = target, room
    _shift(m, record, first)
