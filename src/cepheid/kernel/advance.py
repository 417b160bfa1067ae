"""How branches of detectors advance: the next event of a state's domain decides.

An event comes through a *door* to the places where it may matter. Where it follows the last event
of a branch and lies in the domain of the branch's state, the branch takes every transition that
the event fits, or ends (framework paper, "Composite event detectors" and appendix B).
"""

from __future__ import annotations

from cepheid.kernel.branches import (
    free_branch,
    join_order,
    key_of,
    lists_at,
    new_branch,
    relink,
    seen_key,
)
from cepheid.kernel.chains import NONE, chained, extended, hold, latest, mixed, plain, release
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.deciding import decide, is_too_long
from cepheid.kernel.detector_slots import (
    AT_KEY,
    AT_START,
    AT_STATE,
    AWAIT,
    AWAIT_TARGET,
    BRANCH,
    BRANCH_END,
    BRANCH_FLAGS,
    BRANCH_HASH,
    BRANCH_HASH2,
    BRANCH_HEAP,
    BRANCH_LAST,
    BRANCH_LAST_END,
    BRANCH_MACHINE,
    BRANCH_NODE,
    BRANCH_START,
    BRANCH_STATE,
    BRANCH_TIMER,
    BRANCH_TIMERS,
    CASE,
    CASE_COLUMN,
    CASE_LIST,
    CASE_TYPE,
    CASE_WIDTH,
    ENTRY,
    ENTRY_MORE,
    ENTRY_PLACE,
    ENTRY_WIDTH,
    IS_DUE,
    KEY,
    KEY_HEAD,
    KEY_WIDTH,
    MACHINE,
    MACHINE_LISTS_AT,
    MACHINE_ORDERED,
    MACHINE_POSITIONS,
    MACHINE_REGISTERS,
    MACHINE_REGISTERS_AT,
    MACHINE_RUNGS,
    MACHINE_SIDE,
    MACHINE_SPLITS,
    MACHINE_WIDTH,
    ORDER_ENDS,
    PAIR_LEFT,
    PAIR_RIGHT,
    PAIR_USER,
    PASSING,
    REGISTER,
    SET_FIXED,
    SET_TIME,
    SET_TIMER,
    SET_WIDTH,
    STATE,
    STATE_AWAITS,
    STATE_CASES,
    STATE_CASES_END,
    STATE_ENDS,
    STATE_GOES_ON,
    STATE_HEAD,
    STATE_REBINDS,
    STATE_REGISTER,
    STATE_SETS,
    STATE_SETS_END,
    STATE_WIDTH,
    TAKEN,
    TIMER,
    TIMER_SET,
    TWIN,
    WAS_TOLD,
    WAY,
    WAY_LIST,
    WAY_WIDTH,
)
from cepheid.kernel.ladders import climb, step_on
from cepheid.kernel.memory import append, ints, set_size, size, tags
from cepheid.kernel.sides import add_match
from cepheid.kernel.store import (
    FIRED,
    NEVER,
    NOW,
    ROW_CELLS,
    ROW_END,
    ROW_START,
    ROW_TAGS,
    WIDTH,
    scalar,
)
from cepheid.kernel.telling import name_of, tell
from cepheid.kernel.timers import add_timer, drop_timer, is_awaited, wait_for_timers
from cepheid.kernel.told import hash_of, is_fresh, remember_fresh
from cepheid.kernel.values import MISSING

# --- doors -------------------------------------------------------------------


@compiled
def visit(m: int, entry: int, row: int, type_: int) -> None:
    """Show an event (or a pair, which is one) to one place: a start, or branches in a list."""
    entries, line = ints(m, ENTRY), ENTRY_WIDTH * entry
    kind, place, more = entries[line], entries[line + ENTRY_PLACE], entries[line + ENTRY_MORE]
    if kind == AT_START:
        if decide(m, place, plain(NONE), more, row):
            if ints(m, MACHINE)[MACHINE_WIDTH * place + MACHINE_RUNGS]:
                if size(m, TAKEN) > 0:
                    step_on(m, place, ints(m, TAKEN)[0], row)
            else:
                follow(m, place, plain(NONE), row, plain(NONE), plain(0))
        return
    case, number = more, 0
    if kind == AT_STATE:
        at = ints(m, STATE_HEAD)[place]
    elif kind == AT_KEY:
        at, number = _first_of_key(m, place, more, row), ints(m, WAY)[WAY_WIDTH * place + WAY_LIST]
    else:
        at = ints(m, ORDER_ENDS)[2 * place]
    while at >= 0:
        machine = ints(m, BRANCH)[at + BRANCH_MACHINE]
        following = ints(m, BRANCH)[at + lists_at(m, machine) + 2 * number + 1]
        if kind != AT_STATE:
            column = more if kind == AT_KEY else NONE
            case = _case_of(m, ints(m, BRANCH)[at + BRANCH_STATE], type_, number, column)
        if case < 0:
            pass
        elif ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_RUNGS]:
            climb(m, machine, at, case, row)
        elif decide(m, machine, at, case, row):
            follow(m, machine, at, row, plain(NONE), plain(0))
        at = following


@compiled
def _first_of_key(m: int, way: int, column: int, row: int) -> int:
    """The first branch whose key the event has in a column, or -1."""
    place = row * scalar(m, WIDTH) + column
    tag, cell = key_of(int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place])
    if tag == MISSING:
        return NONE
    slot = KEY_WIDTH * seen_key(m, way, tag, cell)
    return int(ints(m, KEY)[slot + KEY_HEAD]) if ints(m, KEY)[slot] != 0 else NONE


@inlined
def _case_of(m: int, state: int, type_: int, number: int, column: int) -> int:
    """What events of a type mean to a state, or -1 when they are outside of its domain.

    Where branches were found by a key (the number of the list and the column), the case must be
    one that goes by this key.
    """
    states, cases = ints(m, STATE), ints(m, CASE)
    begin = states[STATE_WIDTH * state + STATE_CASES]
    for case in range(begin, states[STATE_WIDTH * state + STATE_CASES_END]):
        line = CASE_WIDTH * case
        if cases[line + CASE_TYPE] == type_:
            fits = cases[line + CASE_LIST] == number and cases[line + CASE_COLUMN] == column
            return case if fits else NONE
    return NONE


# --- moving ------------------------------------------------------------------


@compiled
def follow(m: int, machine: int, at: int, row: int, timer: int, time: int) -> None:
    """Follow every transition in `TAKEN` with an event, or (row -1) with a timer.

    The branch itself goes on with the last transition that leads on; others are copies of it, in
    front of it, so that branches stay in the order of the transitions. A branch that does not go
    on is gone.
    """
    count, lasting = size(m, TAKEN), NONE
    if count == 0:
        if at >= 0:
            release(m, ints(m, BRANCH)[at + BRANCH_NODE])
            free_branch(m, at)
        return
    for number in range(count):
        target = STATE_WIDTH * ints(m, TAKEN)[number]
        if ints(m, STATE)[target + STATE_GOES_ON]:
            lasting = number
    line = MACHINE_WIDTH * machine
    side, ordered = ints(m, MACHINE)[line + MACHINE_SIDE], ints(m, MACHINE)[line + MACHINE_ORDERED]
    node, start, end, one, other, flags = plain(NONE), NEVER, -NEVER, 0, 0, 0
    if at >= 0:
        records = ints(m, BRANCH)
        node, flags = records[at + BRANCH_NODE], records[at + BRANCH_FLAGS]
        start, end = records[at + BRANCH_START], records[at + BRANCH_END]
        one, other = records[at + BRANCH_HASH], records[at + BRANCH_HASH2]
    if row >= 0:
        flags &= ~WAS_TOLD
        start, end = min(start, ints(m, ROW_START)[row]), max(end, ints(m, ROW_END)[row])
        time = ints(m, ROW_END)[row]
    if count > 1:
        flags |= TWIN
    if is_too_long(m, machine, start, end):
        count = 0
    survives = False
    for number in range(count):
        state, stays = ints(m, TAKEN)[number], number == lasting and at >= 0
        place, known = STATE_WIDTH * state, flags
        if number < count - 1:
            hold(m, node)
        grown = _grown(m, node, row, state)
        hash1, hash2 = one, other
        if row >= 0 and ints(m, MACHINE)[line + MACHINE_SPLITS]:
            more, most = hash_of(m, name_of(m, row, state), row)
            hash1, hash2 = one + more, other + most
        if ints(m, STATE)[place + STATE_ENDS]:
            if side >= 0:
                hold(m, grown)
                add_match(m, side, grown, start, end)
            elif tell(m, machine, grown, plain(NONE), start, end, hash1, hash2, flags):
                known |= WAS_TOLD
        if not ints(m, STATE)[place + STATE_GOES_ON]:
            release(m, grown)
            continue
        to = at if stays else _copied(m, machine, at)
        records = ints(m, BRANCH)
        before = records[to + BRANCH_STATE] if stays else NONE
        records[to + BRANCH_STATE], records[to + BRANCH_NODE] = state, grown
        records[to + BRANCH_START], records[to + BRANCH_END] = start, end
        records[to + BRANCH_HASH], records[to + BRANCH_HASH2] = hash1, hash2
        records[to + BRANCH_FLAGS] = known
        records[to + BRANCH_LAST], records[to + BRANCH_LAST_END] = row, time
        if row < 0:
            records[to + BRANCH_LAST] = TIMER
            drop_timer(m, to, timer)
        elif ints(m, PASSING)[PAIR_LEFT] >= 0:
            _bind_pair(m, machine, to, grown)
        elif ints(m, STATE)[place + STATE_REGISTER] >= 0:
            registers = to + ints(m, MACHINE)[line + MACHINE_REGISTERS_AT]
            records[registers + ints(m, STATE)[place + STATE_REGISTER]] = row
        if ints(m, STATE)[place + STATE_SETS] < ints(m, STATE)[place + STATE_SETS_END]:
            _set_timers(m, to, state)
        if not ordered and known & TWIN and _is_double(m, to):
            release(m, grown)
            if not stays:
                free_branch(m, to)
            continue
        if ordered and not stays:
            join_order(m, to, at)
        elif not ordered and (before != state or ints(m, STATE)[place + STATE_REBINDS]):
            relink(m, to, before, state)
        if records[to + BRANCH_TIMERS] > 0 or records[to + BRANCH_HEAP] >= 0:
            wait_for_timers(m, to)
        survives = survives or stays
    if count == 0:
        release(m, node)
    if at >= 0 and not survives:
        free_branch(m, at)


@inlined
def _grown(m: int, node: int, row: int, target: int) -> int:
    """A chain (which is used up) with one event more; a pair brings all its own, a timer none."""
    if row < 0:
        return node
    passing = ints(m, PASSING)
    if passing[PAIR_LEFT] < 0:
        return extended(m, node, row, target)
    return chained(m, chained(m, node, passing[PAIR_LEFT]), passing[PAIR_RIGHT])


@compiled
def _copied(m: int, machine: int, at: int) -> int:
    """A branch with the timers and registers of another one, in no list."""
    to = new_branch(m, machine)
    if at >= 0:
        records = ints(m, BRANCH)
        length = ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_LISTS_AT] - BRANCH_TIMERS
        for place in range(BRANCH_TIMERS, BRANCH_TIMERS + length):
            records[to + place] = records[at + place]
    return to


@compiled
def _bind_pair(m: int, machine: int, at: int, node: int) -> None:
    """Note the latest events under the labels that filters speak of, when a pair was taken."""
    append(m, PAIR_USER, at)
    line = MACHINE_WIDTH * machine
    registers = at + ints(m, MACHINE)[line + MACHINE_REGISTERS_AT]
    positions = ints(m, MACHINE)[line + MACHINE_POSITIONS]
    for register in range(ints(m, MACHINE)[line + MACHINE_REGISTERS]):
        position = ints(m, REGISTER)[positions + register]
        ints(m, BRANCH)[registers + register] = latest(m, node, position)


@compiled
def _set_timers(m: int, at: int, state: int) -> None:
    """Let the timers run that a state sets; a fixed time in the past never comes.

    For what timers cause, their own instant is the past.
    """
    states, sets = ints(m, STATE), ints(m, TIMER_SET)
    line = STATE_WIDTH * state
    for number in range(states[line + STATE_SETS], states[line + STATE_SETS_END]):
        timer, time = sets[SET_WIDTH * number + SET_TIMER], sets[SET_WIDTH * number + SET_TIME]
        drop_timer(m, at, timer)
        if not sets[SET_WIDTH * number + SET_FIXED]:
            add_timer(m, at, timer, scalar(m, NOW) + time)
        elif time >= scalar(m, NOW) and time != scalar(m, FIRED):
            add_timer(m, at, timer, time)


@compiled
def _is_double(m: int, at: int) -> bool:
    """Whether a twin is in the same state with the same events and timers; one of them is enough.

    Without this, an event that fits two transitions doubles the branches each time.
    """
    records = ints(m, BRANCH)
    one, other = records[at + BRANCH_HASH], records[at + BRANCH_HASH2]
    salt = mixed(records[at + BRANCH_LAST_END] ^ mixed(~records[at + BRANCH_STATE]))
    timers = at + BRANCH_TIMER
    for place in range(timers, timers + 2 * records[at + BRANCH_TIMERS]):
        salt = mixed(salt ^ records[place])
    if is_fresh(m, one ^ salt, other ^ salt):
        return True
    remember_fresh(m, one ^ salt, other ^ salt)
    return False


# --- timers ------------------------------------------------------------------


@compiled
def take_timer(m: int, at: int, now: int) -> tuple[int, int]:
    """The first timer that is due and for which a branch waits, and its time.

    `TAKEN` are the transitions that it takes.
    """
    records = ints(m, BRANCH)
    records[at + BRANCH_FLAGS] &= ~IS_DUE
    state, timer, time = records[at + BRANCH_STATE], plain(NONE), now + 1
    timers = at + BRANCH_TIMER
    for place in range(timers, timers + 2 * records[at + BRANCH_TIMERS], 2):
        if records[place + 1] < time and is_awaited(m, state, records[place]):
            timer, time = records[place], records[place + 1]
    base = ints(m, STATE)[STATE_WIDTH * state + STATE_AWAITS] + timer
    set_size(m, TAKEN, 0)
    for number in range(ints(m, AWAIT)[2 * base], ints(m, AWAIT)[2 * base + 1]):
        append(m, TAKEN, ints(m, AWAIT_TARGET)[number])
    return timer, time
