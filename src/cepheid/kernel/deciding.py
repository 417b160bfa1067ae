"""Whether an event decides about a branch of a detector, and which transitions it fits."""

from __future__ import annotations

from cepheid.kernel.chains import NONE, begin_gathering, gather
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.detector_slots import (
    ALWAYS,
    BRANCH,
    BRANCH_HEAP,
    BRANCH_LAST,
    BRANCH_LAST_END,
    BRANCH_NODE,
    BRANCH_START,
    BRANCH_STATE,
    CASE,
    CASE_OPTIONS,
    CASE_OPTIONS_END,
    CASE_REACH,
    CASE_REST,
    CASE_WIDTH,
    DETECTOR,
    DETECTOR_MISSING,
    DETECTOR_POSITIONS,
    DETECTOR_SLACK,
    DETECTOR_WIDTH,
    DETECTOR_WITHIN,
    MACHINE,
    MACHINE_DETECTOR,
    MACHINE_POSITIONS,
    MACHINE_REGISTERS,
    MACHINE_REGISTERS_AT,
    MACHINE_WIDTH,
    OPTION,
    OPTION_PROGRAM,
    OPTION_REACH,
    OPTION_STRONG,
    OPTION_TARGET,
    OPTION_TESTS,
    OPTION_TESTS_END,
    OPTION_WIDTH,
    PASSING,
    REACH_ALL,
    REACH_OWN,
    REGISTER,
    STAMP,
    STATE,
    STATE_STRONG,
    STATE_WIDTH,
    TAKEN,
    TEST,
    TEST_COLUMN,
    TEST_OTHER,
    TEST_REGISTER,
    TEST_RELATION,
    TEST_WIDTH,
    TIMER,
    TRUTH,
)
from cepheid.kernel.memory import append, ints, set_size, tags
from cepheid.kernel.programs import FRAME_ROW, holds
from cepheid.kernel.store import (
    NOW,
    RANKS,
    ROW_CELLS,
    ROW_END,
    ROW_START,
    ROW_TAGS,
    WIDTH,
    compare_rows,
    scalar,
)
from cepheid.kernel.telling import frame_of_gathered
from cepheid.kernel.values import MISSING, as_float, related


@compiled
def decide(m: int, machine: int, at: int, case: int, row: int) -> bool:
    """Whether an event decides about a branch (or, with -1, a start): it follows the last one, and
    lies in the domain of the state. `TAKEN` are the transitions that it takes then.
    """
    strong = True
    set_size(m, TAKEN, 0)
    if at >= 0:
        records = ints(m, BRANCH)
        if is_doomed(m, machine, at, scalar(m, NOW)):
            return True
        strong = records[at + BRANCH_LAST_END] < ints(m, ROW_START)[row]
        if not strong:
            state = STATE_WIDTH * records[at + BRANCH_STATE]
            if ints(m, STATE)[state + STATE_STRONG] or not follows(m, at, row):
                return False
    cases, options = ints(m, CASE), ints(m, OPTION)
    line = CASE_WIDTH * case
    accepted, framed = False, REACH_OWN
    for option in range(cases[line + CASE_OPTIONS], cases[line + CASE_OPTIONS_END]):
        place = OPTION_WIDTH * option
        program, reach = options[place + OPTION_PROGRAM], options[place + OPTION_REACH]
        if options[place + OPTION_TESTS] < options[place + OPTION_TESTS_END]:
            if not passes(m, machine, at, place, row):
                continue
        elif program != ALWAYS:
            if reach > framed:
                _set_frame(m, machine, at, reach)
                framed = reach
            if not is_true(m, machine, program, reach, row):
                continue
        accepted = True
        if strong or not options[place + OPTION_STRONG]:
            append(m, TAKEN, options[place + OPTION_TARGET])
    rest, reach = cases[line + CASE_REST], cases[line + CASE_REACH]
    if accepted or rest < 0:
        return accepted or rest == ALWAYS
    if reach > framed:
        _set_frame(m, machine, at, reach)
    return is_true(m, machine, rest, reach, row)


@compiled
def passes(m: int, machine: int, at: int, option: int, row: int) -> bool:
    """Whether an event passes the tests of a transition, given the branch that would take it."""
    line = MACHINE_WIDTH * machine
    detector = DETECTOR_WIDTH * ints(m, MACHINE)[line + MACHINE_DETECTOR]
    registers = at + ints(m, MACHINE)[line + MACHINE_REGISTERS_AT]
    options, tests, records = ints(m, OPTION), ints(m, TEST), ints(m, BRANCH)
    cell_tags, cells, width = tags(m, ROW_TAGS), ints(m, ROW_CELLS), scalar(m, WIDTH)
    begin, end = options[option + OPTION_TESTS], options[option + OPTION_TESTS_END]
    for test in range(TEST_WIDTH * begin, TEST_WIDTH * end, TEST_WIDTH):
        bound = records[registers + tests[test + TEST_REGISTER]]
        one = row * width + tests[test + TEST_COLUMN]
        other = bound * width + tests[test + TEST_OTHER]
        if bound < 0 or cell_tags[one] == MISSING or cell_tags[other] == MISSING:
            if not ints(m, DETECTOR)[detector + DETECTOR_MISSING]:
                return False
        elif not related(
            tests[test + TEST_RELATION],
            int(cell_tags[one]),
            cells[one],
            as_float(cells[one]),
            int(cell_tags[other]),
            cells[other],
            as_float(cells[other]),
            ints(m, RANKS),
        ):
            return False
    return True


@inlined
def follows(m: int, at: int, row: int) -> bool:
    """Whether an event follows the last one of a branch in the total order."""
    records = ints(m, BRANCH)
    end, last_end = ints(m, ROW_END)[row], records[at + BRANCH_LAST_END]
    if end != last_end:
        return bool(end > last_end)
    last = records[at + BRANCH_LAST]
    if last == TIMER:
        # A timer is a point that comes before all else of its instant that is known later.
        return bool(ints(m, ROW_START)[row] == end)
    return compare_rows(m, last, row) < 0


@inlined
def is_doomed(m: int, machine: int, at: int, now: int) -> bool:
    """Whether a branch is too old to be within the rule's time any more.

    What comes from now on ends now or later, but for composite events that are told late. Only
    timers, which have no end in the match, can still complete what is old.
    """
    detector = DETECTOR_WIDTH * ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR]
    detectors, records = ints(m, DETECTOR), ints(m, BRANCH)
    within = detectors[detector + DETECTOR_WITHIN]
    if within < 0:
        return False
    lasts = within + detectors[detector + DETECTOR_SLACK]
    return bool(now - records[at + BRANCH_START] > lasts and records[at + BRANCH_HEAP] < 0)


@compiled
def is_true(m: int, machine: int, program: int, reach: int, row: int) -> bool:
    """Whether a condition holds; one that speaks of the event alone is computed once for it."""
    detector = DETECTOR_WIDTH * ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR]
    missing = ints(m, DETECTOR)[detector + DETECTOR_MISSING] != 0
    place, known = 2 * program + (1 if missing else 0), 2 * ints(m, PASSING)[STAMP]
    if reach == REACH_OWN and ints(m, TRUTH)[place] >= known:
        return bool(ints(m, TRUTH)[place] & 1)
    truth = holds(m, program, row, missing)
    if reach == REACH_OWN:
        ints(m, TRUTH)[place] = known + (1 if truth else 0)
    return truth


@compiled
def _set_frame(m: int, machine: int, at: int, reach: int) -> None:
    """Let programs speak of the events of a branch: the latest ones, or all."""
    line = MACHINE_WIDTH * machine
    machines, frame = ints(m, MACHINE), ints(m, FRAME_ROW)
    if reach == REACH_ALL:
        detector = machines[line + MACHINE_DETECTOR]
        count = ints(m, DETECTOR)[DETECTOR_WIDTH * detector + DETECTOR_POSITIONS]
        begin_gathering(m)
        if at >= 0:
            gather(m, ints(m, BRANCH)[at + BRANCH_NODE])
        frame_of_gathered(m, count, True)
        return
    positions = machines[line + MACHINE_POSITIONS]
    registers = at + machines[line + MACHINE_REGISTERS_AT]
    for number in range(machines[line + MACHINE_REGISTERS]):
        position = ints(m, REGISTER)[positions + number]
        frame[position] = ints(m, BRANCH)[registers + number] if at >= 0 else NONE


@inlined
def is_too_long(m: int, machine: int, start: int, end: int) -> bool:
    """Whether a match with such an interval is good for nothing."""
    detector = DETECTOR_WIDTH * ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR]
    within = ints(m, DETECTOR)[detector + DETECTOR_WITHIN]
    return bool(0 <= within < end - start)
