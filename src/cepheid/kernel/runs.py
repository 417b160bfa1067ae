"""Runs: events of one type, watched until the window is full (LAIPE, sections 4 and 5.3).

Every event that enters the stream comes through `see_runs`. It finds the channels that the event
belongs to, adds it to a partition of each, and judges the runs that are full by then. Most events
only become an entry: a partition knows when the next of its runs will be full.
"""

from __future__ import annotations

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.matches import (
    MATCH_LABEL,
    MATCH_ROW,
    add_value,
    open_match,
)
from cepheid.kernel.memory import ints, reserve, set_size, size, tags
from cepheid.kernel.programs import (
    FRAME_ROW,
    REGISTER_CELL,
    REGISTER_TAG,
    holds,
    value_of,
)
from cepheid.kernel.run_state import (
    BLOCK,
    CASE_BEGIN,
    CASE_CELL,
    CASE_END,
    CASE_TAG,
    CASE_WIDTH,
    CHANNEL,
    CHANNEL_BEGINS,
    CHANNEL_ENTRY,
    CHANNEL_KEYS,
    CHANNEL_RUNNERS,
    CHANNEL_RUNNERS_END,
    CHANNEL_TESTS,
    COUNT,
    LISTED_CHANNEL,
    LISTED_ELSE,
    LISTED_KEYS,
    LISTED_KEYS_END,
    LISTED_TEST,
    LISTED_WIDTH,
    NEXT_COUNT,
    NEXT_TIME,
    OUTPUT_KIND,
    OUTPUT_PROGRAM,
    OUTPUT_REGISTER,
    OUTPUT_WIDTH,
    ROOM,
    RUN_CASE,
    RUN_ENTRY,
    RUN_FAILURE,
    RUN_HOME,
    RUN_LISTED,
    RUN_OUTPUT,
    RUN_PARTITION,
    RUN_RUNNER,
    RUN_SETTING,
    RUN_SWITCH,
    RUN_TYPE,
    RUN_WORDS,
    RUNNER_COMPARED,
    RUNNER_CONDITION,
    RUNNER_COUNTED,
    RUNNER_EACH,
    RUNNER_FAILURES,
    RUNNER_FAILURES_END,
    RUNNER_FAMILY,
    RUNNER_HIGH,
    RUNNER_LABEL,
    RUNNER_LEAST,
    RUNNER_LENGTH,
    RUNNER_LOW,
    RUNNER_MEMBERS,
    RUNNER_MISSING,
    RUNNER_MOST,
    RUNNER_OUTPUTS,
    RUNNER_OUTPUTS_END,
    RUNNER_PLACE,
    RUNNER_RESULTS,
    RUNNER_RESULTS_END,
    RUNNER_VALUES,
    RUNNER_WIDTH,
    SWITCH_CASES,
    SWITCH_CASES_END,
    SWITCH_COLUMN,
    SWITCH_WIDTH,
    TYPE_BEGIN,
    TYPE_END,
    TYPE_SWITCH,
    TYPE_SWITCH_END,
    TYPE_WIDTH,
    UNKNOWN,
    UNSORTED,
    drop_last_partition,
    field_of,
    find_partition,
    key_of,
    make_room,
    mark_runs,
    move_runs,
    new_partition,
    register_partition,
)
from cepheid.kernel.run_values import measure, passes, set_values
from cepheid.kernel.store import (
    ROW_CELLS,
    ROW_END,
    ROW_START,
    ROW_TAGS,
    ROW_TYPE,
    WIDTH,
    compare_rows,
    scalar,
)
from cepheid.kernel.values import DOUBLE, INT, TEXT, as_float

__all__ = ["mark_runs", "move_runs", "see_runs"]

SETTING_FAILURES, SETTING_BROKEN, SETTING_UNMET = range(3)
"""Settings: whether failures are wanted, and the codes of the reasons."""

_AT_ONCE, _NEVER = -(2**63), 2**63 - 1


# --- events ------------------------------------------------------------------


@compiled
def see_runs(m: int, row: int) -> bool:
    """An event enters; whether a run holds it afterwards."""
    type_ = ints(m, ROW_TYPE)[row]
    if type_ < 0 or (type_ + 1) * TYPE_WIDTH > size(m, RUN_TYPE):
        return False
    about = ints(m, RUN_TYPE)[type_ * TYPE_WIDTH : (type_ + 1) * TYPE_WIDTH]
    held = _see_listed(m, about[TYPE_BEGIN], about[TYPE_END], row)
    for switch in range(about[TYPE_SWITCH], about[TYPE_SWITCH_END]):
        case = _find_case(m, switch * SWITCH_WIDTH, row)
        if case >= 0:
            cases = ints(m, RUN_CASE)
            if _see_listed(m, cases[case + CASE_BEGIN], cases[case + CASE_END], row):
                held = True
    return held


@inlined
def _find_case(m: int, switch: int, row: int) -> int:
    """Where the case for the value of a switch is, or -1."""
    table, cases = ints(m, RUN_SWITCH), ints(m, RUN_CASE)
    where = row * scalar(m, WIDTH) + table[switch + SWITCH_COLUMN]
    tag, cell = key_of(int(tags(m, ROW_TAGS)[where]), ints(m, ROW_CELLS)[where])
    low = table[switch + SWITCH_CASES]
    left = table[switch + SWITCH_CASES_END] - low
    while left > 1:
        half = left // 2
        case = (low + half) * CASE_WIDTH
        other = cases[case + CASE_TAG]
        if other < tag or (other == tag and cases[case + CASE_CELL] <= cell):
            low += half
        left -= half
    case = low * CASE_WIDTH
    found = cases[case + CASE_TAG] == tag and cases[case + CASE_CELL] == cell
    return case if found else -1


@compiled
def _see_listed(m: int, at: int, end: int, row: int) -> bool:
    """An event enters the channels of some entries; whether a run holds it afterwards."""
    held, passed = False, -1
    listed = ints(m, RUN_LISTED)
    while at < end:
        place = at * LISTED_WIDTH
        test = listed[place + LISTED_TEST]
        if test != passed:
            if not passes(m, test, row):
                at = listed[place + LISTED_ELSE]
                continue
            passed = test
        channel = listed[place + LISTED_CHANNEL]
        keys, keys_end = listed[place + LISTED_KEYS], listed[place + LISTED_KEYS_END]
        if keys == keys_end and channel < size(m, RUN_HOME):
            record = ints(m, RUN_HOME)[channel] - 1
        else:
            record = find_partition(m, channel, keys, keys_end, row)
        if record >= 0:
            if _enter(m, channel, record, row):
                held = True
        elif record == UNKNOWN and _open(m, channel, row):
            held = True
        at += 1
    return held


@inlined
def _enter(m: int, channel: int, record: int, row: int) -> bool:
    """An event enters a partition; whether a run holds it afterwards."""
    _add(m, channel, record, row)
    state = ints(m, RUN_PARTITION)
    if (
        state[record + COUNT] < state[record + NEXT_COUNT]
        and ints(m, ROW_END)[row] < state[record + NEXT_TIME]
        and field_of(m, channel, CHANNEL_TESTS) == 0
    ):
        return True
    return _watch(m, channel, record, row)


@compiled
def _open(m: int, channel: int, row: int) -> bool:
    """An event opens a partition; whether a run holds it afterwards.

    Otherwise nothing is left of the partition, as there may be very many that hold nothing.
    """
    record = new_partition(m, channel)
    ints(m, RUN_PARTITION)[record + NEXT_TIME] = _AT_ONCE
    _add(m, channel, record, row)
    held = _watch(m, channel, record, row)
    if held or field_of(m, channel, CHANNEL_KEYS) == 0:
        register_partition(m, record)
    else:
        drop_last_partition(m, record)
    return held


@inlined
def _add(m: int, channel: int, record: int, row: int) -> None:
    """Make an entry for an event."""
    state = ints(m, RUN_PARTITION)
    place = state[record + COUNT]
    if place == state[record + ROOM]:
        make_room(m, record)
        place = state[record + COUNT]
    width = field_of(m, channel, CHANNEL_ENTRY)
    at = state[record + BLOCK] + place * width
    entries = ints(m, RUN_ENTRY)
    entries[at] = row
    if width > 1:
        measure(m, channel, record, at, row)
    if place > 0:
        # The entry before is in a run, since a list that no run holds begins anew.
        before, ends = entries[at - width], ints(m, ROW_END)
        if ends[before] >= ends[row] and compare_rows(m, before, row) > 0:
            state[record + UNSORTED] = place
    state[record + COUNT] = place + 1


# --- runs --------------------------------------------------------------------


@compiled
def _watch(m: int, channel: int, record: int, row: int) -> bool:
    """Look at every run of a partition after an event was added; whether any of them holds it."""
    state, table = ints(m, RUN_PARTITION), ints(m, RUN_RUNNER)
    begins, count = record + field_of(m, channel, CHANNEL_BEGINS), state[record + COUNT]
    first, next_count, next_time = count, _NEVER, _NEVER
    for number in range(
        field_of(m, channel, CHANNEL_RUNNERS), field_of(m, channel, CHANNEL_RUNNERS_END)
    ):
        runner = number * RUNNER_WIDTH
        run = begins + RUN_WORDS * table[runner + RUNNER_PLACE]
        begin = state[run]
        counted, length = table[runner + RUNNER_COUNTED], table[runner + RUNNER_LENGTH]
        if not passes(m, table[runner + RUNNER_EACH], row):
            if count - begin > 1:
                _fail(m, runner, record, begin, SETTING_BROKEN)
            begin = count
        elif counted:
            if count - begin >= length and not _judge(m, runner, record, begin, row):
                begin = count - length + 1
            elif count - begin >= length:
                begin = count
        else:
            if begin == count - 1:
                state[run + 1] = ints(m, ROW_START)[row] + length
            if ints(m, ROW_END)[row] >= state[run + 1]:
                if _judge(m, runner, record, begin, row):
                    begin = count
                else:
                    begin = _give_up(m, record, begin, run, length)
        state[run] = begin
        first = min(first, begin)
        if counted:
            next_count = min(next_count, begin + length)
        else:
            next_time = min(next_time, state[run + 1] if begin < count else _AT_ONCE)
    state[record + NEXT_COUNT], state[record + NEXT_TIME] = next_count, next_time
    if first == count:
        _begin_anew(m, channel, record)
    return bool(first < count)


@inlined
def _begin_anew(m: int, channel: int, record: int) -> None:
    """No run holds anything: entries count from the beginning of the block again."""
    state, table = ints(m, RUN_PARTITION), ints(m, RUN_RUNNER)
    begins = record + field_of(m, channel, CHANNEL_BEGINS)
    state[record + NEXT_COUNT] -= state[record + COUNT]
    state[record + COUNT] = state[record + UNSORTED] = 0
    for number in range(
        field_of(m, channel, CHANNEL_RUNNERS), field_of(m, channel, CHANNEL_RUNNERS_END)
    ):
        state[begins + RUN_WORDS * table[number * RUNNER_WIDTH + RUNNER_PLACE]] = 0


@compiled
def _give_up(m: int, record: int, begin: int, run: int, length: int) -> int:
    """Where a run begins after its oldest events were dropped until it is no longer full."""
    state, entries, starts = ints(m, RUN_PARTITION), ints(m, RUN_ENTRY), ints(m, ROW_START)
    width, count = field_of(m, state[record + CHANNEL], CHANNEL_ENTRY), state[record + COUNT]
    block = state[record + BLOCK]
    end = ints(m, ROW_END)[entries[block + (count - 1) * width]]
    while begin < count:
        state[run + 1] = starts[entries[block + begin * width]] + length
        if end < state[run + 1]:
            break
        begin += 1
    return begin


@compiled
def _judge(m: int, runner: int, record: int, begin: int, row: int) -> bool:
    """Judge a run that is full: a match, or a failure."""
    table = ints(m, RUN_RUNNER)
    ints(m, FRAME_ROW)[0] = row
    set_values(m, record, begin, table[runner + RUNNER_VALUES], table[runner + RUNNER_RESULTS])
    if not _holds(m, runner, row):
        _fail(m, runner, record, begin, SETTING_UNMET)
        return False
    values = table[runner + RUNNER_RESULTS], table[runner + RUNNER_RESULTS_END]
    set_values(m, record, begin, values[0], values[1])
    end = ints(m, ROW_END)[row]
    if begin < ints(m, RUN_PARTITION)[record + UNSORTED]:
        end = _last_end(m, record, begin)
    open_match(m, table[runner + RUNNER_FAMILY], 0, table[runner + RUNNER_MEMBERS], end)
    _add_run(m, record, begin, table[runner + RUNNER_LABEL])
    _add_outputs(m, runner, row)
    return True


@inlined
def _holds(m: int, runner: int, row: int) -> bool:
    """Whether the condition of a runner holds, given the values of the run."""
    table = ints(m, RUN_RUNNER)
    condition, register = table[runner + RUNNER_CONDITION], table[runner + RUNNER_COMPARED]
    if condition < 0:
        return True
    if register >= 0:
        tag, cell = ints(m, REGISTER_TAG)[register], ints(m, REGISTER_CELL)[register]
        if tag == INT:
            return bool(table[runner + RUNNER_LOW] <= cell <= table[runner + RUNNER_HIGH])
        if tag == DOUBLE:
            least, most = as_float(table[runner + RUNNER_LEAST]), table[runner + RUNNER_MOST]
            return least <= as_float(cell) <= as_float(most)
    return holds(m, condition, row, table[runner + RUNNER_MISSING] == 1)


@inlined
def _add_outputs(m: int, runner: int, row: int) -> None:
    """Write the values of a match down; most are values of the run as they are."""
    table, outputs = ints(m, RUN_RUNNER), ints(m, RUN_OUTPUT)
    for number in range(table[runner + RUNNER_OUTPUTS], table[runner + RUNNER_OUTPUTS_END]):
        at = number * OUTPUT_WIDTH
        register, kind = outputs[at + OUTPUT_REGISTER], outputs[at + OUTPUT_KIND]
        if register >= 0:
            cell = ints(m, REGISTER_CELL)[register]
            add_value(m, ints(m, REGISTER_TAG)[register], cell, as_float(cell), kind)
        else:
            missing = table[runner + RUNNER_MISSING] == 1
            tag, value, double = value_of(m, outputs[at + OUTPUT_PROGRAM], row, missing)
            add_value(m, tag, value, double, kind)


@compiled
def _last_end(m: int, record: int, begin: int) -> int:
    state, entries, ends = ints(m, RUN_PARTITION), ints(m, RUN_ENTRY), ints(m, ROW_END)
    width, block = field_of(m, state[record + CHANNEL], CHANNEL_ENTRY), state[record + BLOCK]
    last = ends[entries[block + begin * width]]
    for place in range(begin, state[record + COUNT]):
        last = max(last, ends[entries[block + place * width]])
    return int(last)


@compiled
def _add_run(m: int, record: int, begin: int, label: int) -> None:
    """Write the events of a run down as constituents, in the total order."""
    state = ints(m, RUN_PARTITION)
    width, count = field_of(m, state[record + CHANNEL], CHANNEL_ENTRY), state[record + COUNT]
    at, length = size(m, MATCH_ROW), count - begin
    reserve(m, MATCH_ROW, length)
    reserve(m, MATCH_LABEL, length)
    entries, rows, labels = ints(m, RUN_ENTRY), ints(m, MATCH_ROW), ints(m, MATCH_LABEL)
    source = state[record + BLOCK] + begin * width
    for place in range(length):
        rows[at + place] = entries[source + place * width]
        labels[at + place] = label
    set_size(m, MATCH_ROW, at + length)
    set_size(m, MATCH_LABEL, at + length)
    if begin < state[record + UNSORTED]:
        _sort(m, at, at + length)


@compiled
def _sort(m: int, begin: int, end: int) -> None:
    """Sort constituents; they nearly are, as only what rules make comes out of order."""
    rows = ints(m, MATCH_ROW)
    for at in range(begin + 1, end):
        row, to = rows[at], at
        while to > begin and compare_rows(m, rows[to - 1], row) > 0:
            rows[to] = rows[to - 1]
            to -= 1
        rows[to] = row


@compiled
def _fail(m: int, runner: int, record: int, begin: int, reason: int) -> None:
    """Write failures down, one for every rule of the runner, if anybody wants them."""
    if ints(m, RUN_SETTING)[SETTING_FAILURES] == 0:
        return
    table, state = ints(m, RUN_RUNNER), ints(m, RUN_PARTITION)
    width = field_of(m, state[record + CHANNEL], CHANNEL_ENTRY)
    last = ints(m, RUN_ENTRY)[state[record + BLOCK] + (state[record + COUNT] - 1) * width]
    for failure in range(table[runner + RUNNER_FAILURES], table[runner + RUNNER_FAILURES_END]):
        family, name = ints(m, RUN_FAILURE)[2 * failure], ints(m, RUN_FAILURE)[2 * failure + 1]
        open_match(m, family, 0, 1, ints(m, ROW_END)[last])
        _add_run(m, record, begin, table[runner + RUNNER_LABEL])
        add_value(m, TEXT, name, 0.0, TEXT)
        add_value(m, TEXT, ints(m, RUN_SETTING)[reason], 0.0, TEXT)
