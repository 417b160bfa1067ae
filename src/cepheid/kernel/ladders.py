"""Ladders: branches that stand for all partial matches with the same last event.

Where every event that concerns a partial match decides about it, partial matches are made of events
in a row. So those that end with the same event differ in their length alone: the latest events,
kept once, and a bit for each length in use are all of them. A *rung* is such a length, and the
next event moves each rung that it fits one up. `ladder_shape` tells for which rules this holds.
"""

from __future__ import annotations

from cepheid.kernel.branches import free_branch, key_of, link, lists_at, new_branch, seen_key
from cepheid.kernel.chains import NONE, extended, plain, release
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.deciding import follows, is_too_long, is_true, passes
from cepheid.kernel.detector_slots import (
    ALWAYS,
    BRANCH,
    BRANCH_LAST,
    BRANCH_LAST_END,
    BRANCH_NODE,
    BRANCH_RUNGS,
    BRANCH_STATE,
    CASE,
    CASE_OPTIONS,
    CASE_OPTIONS_END,
    CASE_WIDTH,
    DETECTOR,
    DETECTOR_SLACK,
    DETECTOR_WIDTH,
    DETECTOR_WITHIN,
    EMPTY_LADDER,
    KEY,
    KEY_HEAD,
    KEY_WIDTH,
    MACHINE,
    MACHINE_DETECTOR,
    MACHINE_LISTS,
    MACHINE_POSITIONS,
    MACHINE_REGISTERS,
    MACHINE_REGISTERS_AT,
    MACHINE_RUNGS,
    MACHINE_WAYS,
    MACHINE_WIDTH,
    OPTION,
    OPTION_PROGRAM,
    OPTION_REACH,
    OPTION_TESTS,
    OPTION_TESTS_END,
    OPTION_WIDTH,
    PASSING,
    REACH_OWN,
    REGISTER,
    SELF_COUNT,
    STATE,
    STATE_CASES,
    STATE_HEAD,
    STATE_STRONG,
    STATE_WIDTH,
    WAY,
    WAY_COLUMN,
    WAY_WIDTH,
)
from cepheid.kernel.memory import ints, tags
from cepheid.kernel.programs import FRAME_ROW
from cepheid.kernel.store import (
    NEVER,
    NOW,
    ROW_CELLS,
    ROW_END,
    ROW_START,
    ROW_TAGS,
    WIDTH,
    scalar,
)
from cepheid.kernel.telling import tell
from cepheid.kernel.values import MISSING

# --- the first rung ----------------------------------------------------------


@compiled
def step_on(m: int, machine: int, state: int, row: int) -> None:
    """Let an event be the first of a partial match."""
    end = ints(m, ROW_END)[row]
    if is_too_long(m, machine, ints(m, ROW_START)[row], end):
        return
    keyed = ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_LISTS] - 1
    at = ints(m, STATE_HEAD)[state]
    if keyed:
        at = _first_ladder(m, machine, row)
        if at == MISSING_KEY:
            return
    links, passing, records = lists_at(m, machine) + 2 * keyed, ints(m, PASSING), ints(m, BRANCH)
    empty = passing[EMPTY_LADDER]
    while at >= 0 and records[at + BRANCH_LAST] != row and at != empty:
        at = records[at + links + 1]
    passing[SELF_COUNT] += 1
    if at >= 0:
        records[at + BRANCH_RUNGS] |= 1
        if at == empty:
            passing[EMPTY_LADDER] = NONE
        return
    at = new_branch(m, machine)
    records = ints(m, BRANCH)
    records[at + BRANCH_STATE], records[at + BRANCH_NODE] = state, NONE
    records[at + BRANCH_LAST], records[at + BRANCH_LAST_END] = row, end
    records[at + BRANCH_RUNGS] = 1
    records[at + ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_REGISTERS_AT]] = row
    link(m, at, keyed, state)


MISSING_KEY = -2
"""In place of a ladder: nothing can follow an event that has no key."""


@inlined
def _first_ladder(m: int, machine: int, row: int) -> int:
    """The first ladder whose key an event has, or -1."""
    way = ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_WAYS]
    place = row * scalar(m, WIDTH) + ints(m, WAY)[WAY_WIDTH * way + WAY_COLUMN]
    tag, cell = key_of(int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place])
    if tag == MISSING:
        return MISSING_KEY
    slot = KEY_WIDTH * seen_key(m, way, tag, cell)
    return int(ints(m, KEY)[slot + KEY_HEAD]) if ints(m, KEY)[slot] != 0 else NONE


# --- climbing ----------------------------------------------------------------


@compiled
def climb(m: int, machine: int, at: int, case: int, row: int) -> None:
    """Move every rung up that an event fits, and give up all others.

    `case` is what the event means to the first rung; to the next ones it means as much, at the
    same distance from the first of their cases. An event that does not follow the last one decides
    about nothing.
    """
    records, states = ints(m, BRANCH), ints(m, STATE)
    if not trim(m, machine, at, scalar(m, NOW)):
        free_branch(m, at)
        return
    state = records[at + BRANCH_STATE]
    if records[at + BRANCH_LAST_END] >= ints(m, ROW_START)[row] and (
        states[STATE_WIDTH * state + STATE_STRONG] or not follows(m, at, row)
    ):
        return
    line = ints(m, MACHINE)[MACHINE_WIDTH * machine : MACHINE_WIDTH * (machine + 1)]
    offset = case - states[STATE_WIDTH * state + STATE_CASES]
    rungs, grown = records[at + BRANCH_RUNGS], 0
    latest = at + line[MACHINE_REGISTERS_AT]
    start, end, within = ints(m, ROW_START)[row], ints(m, ROW_END)[row], _within(m, machine)
    asked, truth, rung = plain(NONE), False, 0
    while rungs >> rung:
        if within >= 0:
            start = min(start, ints(m, ROW_START)[records[latest + rung]])
            if end - start > within:
                break
        if rungs >> rung & 1:
            next_case = states[STATE_WIDTH * (state + rung) + STATE_CASES] + offset
            option = _option(m, next_case)
            if option >= 0:
                tests = ints(m, OPTION)[option + OPTION_TESTS]
                if tests == ints(m, OPTION)[option + OPTION_TESTS_END]:
                    truth, asked = _holds(m, machine, at, rung, option, row), plain(NONE)
                elif tests != asked:
                    truth, asked = passes(m, machine, at, option, row), tests
                grown |= 2 << rung if truth else 0
        rung += 1
    complete = line[MACHINE_RUNGS] - 1
    if grown >> complete:
        grown &= ~(1 << complete)
        _tell(m, machine, at, state, row)
    _end_with(m, at, latest, grown, row)


@inlined
def _within(m: int, machine: int) -> int:
    detector = DETECTOR_WIDTH * ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR]
    return int(ints(m, DETECTOR)[detector + DETECTOR_WITHIN])


@inlined
def _option(m: int, case: int) -> int:
    """The place of the transition that a case has, or -1."""
    cases, line = ints(m, CASE), CASE_WIDTH * case
    begin = cases[line + CASE_OPTIONS]
    return int(OPTION_WIDTH * begin) if begin < cases[line + CASE_OPTIONS_END] else NONE


@compiled
def _holds(m: int, machine: int, at: int, rung: int, option: int, row: int) -> bool:
    """Whether the condition of a rung's transition holds, where it is a program."""
    options = ints(m, OPTION)
    program, reach = options[option + OPTION_PROGRAM], options[option + OPTION_REACH]
    if program == ALWAYS:
        return True
    if reach > REACH_OWN:
        _set_frame(m, machine, at, rung)
    return is_true(m, machine, program, reach, row)


@inlined
def _set_frame(m: int, machine: int, at: int, rung: int) -> None:
    """Let programs speak of the events of a rung."""
    line = ints(m, MACHINE)[MACHINE_WIDTH * machine : MACHINE_WIDTH * (machine + 1)]
    positions, latest = line[MACHINE_POSITIONS], at + line[MACHINE_REGISTERS_AT]
    for number in range(line[MACHINE_REGISTERS]):
        position = ints(m, REGISTER)[positions + number]
        if position >= 0:
            bound = ints(m, BRANCH)[latest + rung - number] if number <= rung else NONE
            ints(m, FRAME_ROW)[position] = bound


@compiled
def _tell(m: int, machine: int, at: int, state: int, row: int) -> None:
    """Tell the match of all the latest events and one more."""
    line = ints(m, MACHINE)[MACHINE_WIDTH * machine : MACHINE_WIDTH * (machine + 1)]
    latest, before = at + line[MACHINE_REGISTERS_AT], line[MACHINE_REGISTERS]
    node, start = plain(NONE), ints(m, ROW_START)[row]
    for number in range(before):
        taken = ints(m, BRANCH)[latest + before - 1 - number]
        start = min(start, ints(m, ROW_START)[taken])
        node = extended(m, node, taken, state + number)
    node = extended(m, node, row, state + before)
    end = ints(m, ROW_END)[row]
    tell(m, machine, node, plain(NONE), start, end, plain(0), plain(0), plain(0))
    release(m, node)


@inlined
def _end_with(m: int, at: int, latest: int, rungs: int, row: int) -> None:
    """Let an event be the last one of a ladder; one without rungs may get a first one yet."""
    records, passing = ints(m, BRANCH), ints(m, PASSING)
    longest = 1
    while rungs >> longest:
        longest += 1
    for place in range(latest + longest - 1, latest, -1):
        records[place] = records[place - 1]
    records[latest] = records[at + BRANCH_LAST] = row
    records[at + BRANCH_LAST_END] = ints(m, ROW_END)[row]
    records[at + BRANCH_RUNGS] = rungs
    if rungs:
        passing[SELF_COUNT] += 1
        return
    clear_ladder(m)
    passing[EMPTY_LADDER] = at


@inlined
def clear_ladder(m: int) -> None:
    """Forget the ladder on which the passing event left nothing."""
    passing = ints(m, PASSING)
    if passing[EMPTY_LADDER] >= 0:
        free_branch(m, passing[EMPTY_LADDER])
        passing[EMPTY_LADDER] = NONE


# --- giving up ---------------------------------------------------------------


@compiled
def trim(m: int, machine: int, at: int, now: int) -> bool:
    """Give up rungs that are too old to be within the rule's time; whether any is left.

    What comes from now on ends now or later, but for composite events that are told late.
    """
    detector = DETECTOR_WIDTH * ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR]
    within = ints(m, DETECTOR)[detector + DETECTOR_WITHIN]
    if within < 0:
        return True
    oldest = now - within - ints(m, DETECTOR)[detector + DETECTOR_SLACK]
    records, starts = ints(m, BRANCH), ints(m, ROW_START)
    latest = at + ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_REGISTERS_AT]
    rungs, rung, start = records[at + BRANCH_RUNGS], 0, NEVER
    while rungs >> rung:
        start = min(start, starts[records[latest + rung]])
        if start < oldest:
            records[at + BRANCH_RUNGS] = rungs & ((1 << rung) - 1)
            break
        rung += 1
    return bool(records[at + BRANCH_RUNGS] != 0)


@compiled
def forget_unused(m: int, machine: int, at: int) -> int:
    """How many of the latest events of a ladder are in use; the others are forgotten."""
    line = ints(m, MACHINE)[MACHINE_WIDTH * machine : MACHINE_WIDTH * (machine + 1)]
    records, used = ints(m, BRANCH), 0
    while records[at + BRANCH_RUNGS] >> used:
        used += 1
    latest = at + line[MACHINE_REGISTERS_AT]
    for place in range(latest + used, latest + line[MACHINE_REGISTERS]):
        records[place] = NONE
    return used
