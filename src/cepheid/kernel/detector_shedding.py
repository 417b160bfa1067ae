"""Giving up on purpose: what a detector keeps is counted, and the oldest of it is dropped.

Used where a rule has limits; see `limits`. What was begun is a branch, or a match of one side of a
parallel expression that waits for the other.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.advance import is_doomed
from cepheid.kernel.branches import free_branch
from cepheid.kernel.chains import NONE, begin_gathering, gather, release
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.detector_slots import (
    BRANCH,
    BRANCH_MACHINE,
    BRANCH_NODE,
    BRANCH_START,
    BRANCH_STATE,
    GATHERED_ROW,
    MACHINE,
    MACHINE_DETECTOR,
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
from cepheid.kernel.memory import ints, size
from cepheid.kernel.sides import drop_match, sweep_side
from cepheid.kernel.store import NEVER, ROW_END
from cepheid.kernel.values import Ints

GIVEN_UP = -NEVER


@inlined
def _is_of(m: int, machine: int, detector: int) -> bool:
    return bool(ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR] == detector)


@compiled
def _begun(m: int, detector: int, now: int) -> Ints:
    """Everything that a rule has begun, in threes: its start, its chain, and where it is.

    A branch is at its place; a match of a side is at -2 less its number.
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
        if alive and not is_doomed(m, machine, at, now):
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
def _users_of_rows(m: int, begun: Ints) -> Ints:
    """By row how much of what was begun holds it."""
    users = np.zeros(size(m, ROW_END), np.int64)
    for number in range(len(begun)):
        begin_gathering(m)
        gather(m, begun[number, 1])
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
        begin_gathering(m)
        gather(m, begun[number, 1])
        for at in range(size(m, GATHERED_ROW)):
            row = ints(m, GATHERED_ROW)[at]
            users[row] -= 1
            stored -= 1 if users[row] == 0 else 0
        partial -= 1
        place = begun[number, 2]
        if place >= 0:
            release(m, begun[number, 1])
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
