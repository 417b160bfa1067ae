"""The matches of the sides of parallel expressions, oldest first, as long as a pair needs them.

With a time for the whole rule (`within`), an old match is dropped once every pair with it would be
too long. A rule without such a time keeps a number of matches.
"""

from __future__ import annotations

from cepheid.kernel.chains import NONE, release
from cepheid.kernel.compiled import compiled
from cepheid.kernel.detector_slots import (
    COUNTERS,
    DETECTOR,
    DETECTOR_SLACK,
    DETECTOR_WIDTH,
    DETECTOR_WITHIN,
    FREE_MATCH,
    MACHINE,
    MACHINE_DETECTOR,
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
    SIDE_NEW,
    SIDE_SWEEP,
    SIDE_TAIL,
    SIDE_WIDTH,
)
from cepheid.kernel.memory import ints, resize, size
from cepheid.kernel.store import NOW, scalar

PARALLEL_LIMIT = 1000
"""How many matches each side of a parallel expression keeps, if the rule has no window."""
FEW_MATCHES = 64


@compiled
def add_match(m: int, side: int, node: int, start: int, end: int) -> None:
    """Add a new match to a side (the number of its machine); its chain is used up."""
    counters, line = ints(m, COUNTERS), SIDE_WIDTH * side
    match = counters[FREE_MATCH]
    if match >= 0:
        counters[FREE_MATCH] = ints(m, SIDE_MATCH)[MATCH_WIDTH * match + MATCH_NEXT]
    else:
        match = size(m, SIDE_MATCH) // MATCH_WIDTH
        resize(m, SIDE_MATCH, MATCH_WIDTH * (match + 1))
    matches, sides, at = ints(m, SIDE_MATCH), ints(m, SIDE), MATCH_WIDTH * match
    matches[at + MATCH_NEXT], matches[at + MATCH_NODE] = NONE, node
    matches[at + MATCH_START], matches[at + MATCH_END] = start, end
    if sides[line + SIDE_TAIL] >= 0:
        matches[MATCH_WIDTH * sides[line + SIDE_TAIL] + MATCH_NEXT] = match
    else:
        sides[line + SIDE_HEAD] = match
    sides[line + SIDE_TAIL] = match
    sides[line + SIDE_COUNT] += 1
    if sides[line + SIDE_NEW] < 0:
        sides[line + SIDE_NEW] = match
    if sides[line + SIDE_COUNT] > sides[line + SIDE_SWEEP]:
        sweep_side(m, side, scalar(m, NOW))


@compiled
def sweep_side(m: int, side: int, now: int) -> None:
    """Drop the matches of a side that no pair needs any more, up to the new ones."""
    detector = DETECTOR_WIDTH * ints(m, MACHINE)[MACHINE_WIDTH * side + MACHINE_DETECTOR]
    sides, line = ints(m, SIDE), SIDE_WIDTH * side
    within = ints(m, DETECTOR)[detector + DETECTOR_WITHIN]
    if within >= 0:
        _drop_old(m, side, now - within - ints(m, DETECTOR)[detector + DETECTOR_SLACK])
    sides[line + SIDE_SWEEP] = max(FEW_MATCHES, 2 * sides[line + SIDE_COUNT])


@compiled
def _drop_old(m: int, side: int, bound: int) -> None:
    """Drop matches that started before a time."""
    sides, matches, line = ints(m, SIDE), ints(m, SIDE_MATCH), SIDE_WIDTH * side
    before, match = NONE, sides[line + SIDE_HEAD]
    while match >= 0 and match != sides[line + SIDE_NEW]:
        at = MATCH_WIDTH * match
        following = matches[at + MATCH_NEXT]
        if matches[at + MATCH_START] < bound:
            drop_match(m, side, before, match)
        else:
            before = match
        match = following


@compiled
def drop_match(m: int, side: int, before: int, match: int) -> None:
    """Forget a match of a side, given the one before it."""
    sides, matches, line = ints(m, SIDE), ints(m, SIDE_MATCH), SIDE_WIDTH * side
    at = MATCH_WIDTH * match
    following = matches[at + MATCH_NEXT]
    if before >= 0:
        matches[MATCH_WIDTH * before + MATCH_NEXT] = following
    else:
        sides[line + SIDE_HEAD] = following
    if following < 0:
        sides[line + SIDE_TAIL] = before
    sides[line + SIDE_COUNT] -= 1
    release(m, matches[at + MATCH_NODE])
    matches[at + MATCH_NODE] = NONE
    matches[at + MATCH_NEXT] = ints(m, COUNTERS)[FREE_MATCH]
    ints(m, COUNTERS)[FREE_MATCH] = match


@compiled
def end_pairing(m: int, side: int) -> None:
    """What was new is new no longer; without a time, only so many matches are kept."""
    sides, line = ints(m, SIDE), SIDE_WIDTH * side
    sides[line + SIDE_NEW] = NONE
    detector = DETECTOR_WIDTH * ints(m, MACHINE)[MACHINE_WIDTH * side + MACHINE_DETECTOR]
    if ints(m, DETECTOR)[detector + DETECTOR_WITHIN] < 0:
        while sides[line + SIDE_COUNT] > PARALLEL_LIMIT:
            drop_match(m, side, NONE, sides[line + SIDE_HEAD])
