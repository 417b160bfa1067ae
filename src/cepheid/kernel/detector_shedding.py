"""Giving up on purpose: what a detector keeps is counted, and the oldest of it is dropped.

Used where a rule has limits; see `limits`. What was begun is a branch, a rung of a ladder, or a
match of one side of a parallel expression that waits for the other.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.branches import free_branch
from cepheid.kernel.chains import NONE, begin_gathering, gather, release
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.deciding import is_doomed
from cepheid.kernel.detector_slots import (
    BRANCH,
    BRANCH_MACHINE,
    BRANCH_NODE,
    BRANCH_RUNGS,
    BRANCH_START,
    BRANCH_STATE,
    GATHERED_ROW,
    MACHINE,
    MACHINE_DETECTOR,
    MACHINE_REGISTERS_AT,
    MACHINE_RUNGS,
    MACHINE_SIDE,
    MACHINE_SIZE,
    MACHINE_WIDTH,
    MATCH_END,
    MATCH_NEXT,
    MATCH_NODE,
    MATCH_START,
    MATCH_WIDTH,
    SIDE,
    SIDE_COUNT,
    SIDE_HEAD,
    SIDE_MATCH,
    SIDE_WIDTH,
)
from cepheid.kernel.ladders import trim
from cepheid.kernel.memory import append, ints, size
from cepheid.kernel.sides import drop_match, sweep_side
from cepheid.kernel.store import NEVER, ROW_END, ROW_START
from cepheid.kernel.values import Ints

GIVEN_UP = -NEVER


@inlined
def _is_of(m: int, machine: int, detector: int) -> bool:
    return bool(ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR] == detector)


@compiled
def _begun(m: int, detector: int, now: int) -> Ints:
    """Everything that a rule has begun, in threes: its start, its chain, and where it is.

    A branch is at its place; a match of a side is at -2 less its number. In place of a chain, a
    rung of a ladder has -2 less its number.
    """
    sides, records, machines = ints(m, SIDE), ints(m, BRANCH), ints(m, MACHINE)
    count, at = 0, 0
    for machine in range(size(m, MACHINE) // MACHINE_WIDTH):
        if _is_of(m, machine, detector) and machines[MACHINE_WIDTH * machine + MACHINE_SIDE] >= 0:
            sweep_side(m, machine, now)
            count += sides[SIDE_WIDTH * machine + SIDE_COUNT]
    found = np.empty((count + size(m, BRANCH), 3), np.int64)
    count = 0
    while at < size(m, BRANCH):
        machine = records[at + BRANCH_MACHINE]
        alive = records[at + BRANCH_STATE] >= 0 and _is_of(m, machine, detector)
        if machines[MACHINE_WIDTH * machine + MACHINE_RUNGS]:
            if alive and trim(m, machine, at, now):
                count = _add_rungs(m, machine, at, found, count)
        elif alive and not is_doomed(m, machine, at, now):
            found[count, 0], found[count, 2] = records[at + BRANCH_START], at
            found[count, 1] = records[at + BRANCH_NODE]
            count += 1
        at += machines[MACHINE_WIDTH * machine + MACHINE_SIZE]
    for machine in range(size(m, MACHINE) // MACHINE_WIDTH):
        match = sides[SIDE_WIDTH * machine + SIDE_HEAD]
        while match >= 0 and _is_of(m, machine, detector):
            line = ints(m, SIDE_MATCH)[MATCH_WIDTH * match : MATCH_WIDTH * (match + 1)]
            found[count, 0], found[count, 1] = line[MATCH_START], line[MATCH_NODE]
            found[count, 2] = -2 - match
            count += 1
            match = line[MATCH_NEXT]
    return found[:count]


@compiled
def _add_rungs(m: int, machine: int, at: int, found: Ints, count: int) -> int:
    """Note the rungs of a ladder; how many there are then in all."""
    latest = at + ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_REGISTERS_AT]
    rungs, rung, start = ints(m, BRANCH)[at + BRANCH_RUNGS], 0, NEVER
    while rungs >> rung:
        start = min(start, ints(m, ROW_START)[ints(m, BRANCH)[latest + rung]])
        if rungs >> rung & 1:
            found[count, 0], found[count, 1], found[count, 2] = start, -2 - rung, at
            count += 1
        rung += 1
    return count


@inlined
def _gather_begun(m: int, begun: Ints, number: int) -> None:
    """The events of something that was begun."""
    begin_gathering(m)
    chain, at = begun[number, 1], begun[number, 2]
    if chain > -2:
        gather(m, chain)
        return
    machine = ints(m, BRANCH)[at + BRANCH_MACHINE]
    latest = at + ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_REGISTERS_AT]
    for place in range(latest, latest - 1 - chain):
        append(m, GATHERED_ROW, ints(m, BRANCH)[place])


@compiled
def _users_of_rows(m: int, begun: Ints) -> Ints:
    """By row how much of what was begun holds it."""
    users = np.zeros(size(m, ROW_END), np.int64)
    for number in range(len(begun)):
        _gather_begun(m, begun, number)
        for at in range(size(m, GATHERED_ROW)):
            users[ints(m, GATHERED_ROW)[at]] += 1
    return users


@compiled
def held_by(m: int, detector: int, now: int) -> tuple[int, int]:
    """How many events a detector keeps, and how much it has begun."""
    begun = _begun(m, detector, now)
    events = 0
    for users in _users_of_rows(m, begun):
        events += 1 if users > 0 else 0
    return events, len(begun)


@compiled
def shed(m: int, detector: int, now: int, stored: int, partial: int) -> None:
    """Give up what was begun first, until so many events and so much that was begun are gone."""
    begun = _begun(m, detector, now)
    users = _users_of_rows(m, begun)
    for number in np.argsort(begun[:, 0]):
        if stored <= 0 and partial <= 0:
            break
        _gather_begun(m, begun, number)
        for at in range(size(m, GATHERED_ROW)):
            row = ints(m, GATHERED_ROW)[at]
            users[row] -= 1
            stored -= 1 if users[row] == 0 else 0
        partial -= 1
        chain, place = begun[number, 1], begun[number, 2]
        if chain <= -2:
            ints(m, BRANCH)[place + BRANCH_RUNGS] &= ~(1 << (-2 - chain))
            if ints(m, BRANCH)[place + BRANCH_RUNGS] == 0:
                free_branch(m, place)
        elif place >= 0:
            release(m, chain)
            free_branch(m, place)
        else:
            ints(m, SIDE_MATCH)[MATCH_WIDTH * (-2 - place) + MATCH_END] = GIVEN_UP
    for machine in range(size(m, MACHINE) // MACHINE_WIDTH):
        if _is_of(m, machine, detector):
            _drop_given_up(m, machine)


@compiled
def _drop_given_up(m: int, side: int) -> None:
    before, match = NONE, ints(m, SIDE)[SIDE_WIDTH * side + SIDE_HEAD]
    while match >= 0:
        following = ints(m, SIDE_MATCH)[MATCH_WIDTH * match + MATCH_NEXT]
        if ints(m, SIDE_MATCH)[MATCH_WIDTH * match + MATCH_END] == GIVEN_UP:
            drop_match(m, side, before, match)
        else:
            before = match
        match = following
