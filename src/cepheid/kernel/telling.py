"""How detectors tell a match: what it is made of, whether it was told before, its conditions."""

from __future__ import annotations

from cepheid.kernel.chains import begin_gathering, gather, mixed, plain
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.detector_slots import (
    DETECTOR,
    DETECTOR_FAMILY,
    DETECTOR_FRAME,
    DETECTOR_LISTS,
    DETECTOR_MISSING,
    DETECTOR_POSITIONS,
    DETECTOR_STEPS,
    DETECTOR_STEPS_END,
    DETECTOR_TIMED,
    DETECTOR_WHERE,
    DETECTOR_WIDTH,
    DETECTOR_WITHIN,
    GATHERED_NAME,
    GATHERED_ROW,
    GATHERED_STATE,
    MACHINE,
    MACHINE_DETECTOR,
    MACHINE_WIDTH,
    STATE,
    STATE_LABEL,
    STATE_POSITION,
    STATE_WIDTH,
    TWIN,
    TYPE_NAME,
    WAS_TOLD,
)
from cepheid.kernel.matches import add_constituent, add_outputs, open_match
from cepheid.kernel.memory import append, ints, resize, set_size, size
from cepheid.kernel.programs import FRAME_ROW, LIST_BEGIN, LIST_END, LIST_ROW, holds
from cepheid.kernel.store import RANKS, ROW_TYPE, compare_rows
from cepheid.kernel.told import hash_of, is_fresh, is_told, remember_fresh, remember_told


@inlined
def name_of(m: int, row: int, state: int) -> int:
    """Under which name an event was taken: the label of the atom, or the name of its own type."""
    label = ints(m, STATE)[STATE_WIDTH * state + STATE_LABEL]
    return int(label if label >= 0 else ints(m, TYPE_NAME)[ints(m, ROW_TYPE)[row]])


# --- what a match is made of -------------------------------------------------


@compiled
def frame_of_gathered(m: int, positions: int, lists: bool) -> None:
    """Let programs speak of what is gathered: the latest event of each label, perhaps all."""
    frame, states = ints(m, FRAME_ROW), ints(m, STATE)
    rows, taken = ints(m, GATHERED_ROW), ints(m, GATHERED_STATE)
    frame[:positions] = -1
    for at in range(size(m, GATHERED_ROW)):
        position = states[STATE_WIDTH * taken[at] + STATE_POSITION]
        if position >= 0:
            frame[position] = rows[at]
    if not lists:
        return
    set_size(m, LIST_ROW, 0)
    for position in range(positions):
        ints(m, LIST_BEGIN)[position] = size(m, LIST_ROW)
        for at in range(size(m, GATHERED_ROW)):
            if states[STATE_WIDTH * taken[at] + STATE_POSITION] == position:
                append(m, LIST_ROW, rows[at])
        ints(m, LIST_END)[position] = size(m, LIST_ROW)


@compiled
def sort_gathered(m: int) -> None:
    """Bring what is gathered into the total order, each event once under each name."""
    count = size(m, GATHERED_ROW)
    resize(m, GATHERED_NAME, count)
    rows, states, names = ints(m, GATHERED_ROW), ints(m, GATHERED_STATE), ints(m, GATHERED_NAME)
    kept = 0
    for at in range(count):
        row, state = rows[at], states[at]
        name, to, order = name_of(m, row, state), kept, 1
        while to > 0:
            order = compare_rows(m, rows[to - 1], row)
            if order == 0:
                order = _compare_names(m, names[to - 1], name)
            if order <= 0:
                break
            to -= 1
        if to > 0 and order == 0:
            continue
        for place in range(kept, to, -1):
            rows[place], states[place] = rows[place - 1], states[place - 1]
            names[place] = names[place - 1]
        rows[to], states[to], names[to] = row, state, name
        kept += 1
    for slot in (GATHERED_ROW, GATHERED_STATE, GATHERED_NAME):
        set_size(m, slot, kept)


@inlined
def _compare_names(m: int, one: int, other: int) -> int:
    if one == other:
        return 0
    ranks, known = ints(m, RANKS), size(m, RANKS)
    if one < known and other < known:
        return -1 if ranks[one] < ranks[other] else 1
    return -1 if one < other else 1


# --- telling -----------------------------------------------------------------


@compiled
def tell(
    m: int,
    machine: int,
    node: int,
    more: int,
    start: int,
    end: int,
    one: int,
    other: int,
    flags: int,
) -> bool:
    """Tell a match of a whole rule, made of one chain or of two; whether it is told by now.

    The events of a match with pairs in it may be out of order, and there more than once.
    """
    detector = ints(m, MACHINE)[MACHINE_WIDTH * machine + MACHINE_DETECTOR]
    line = ints(m, DETECTOR)[DETECTOR_WIDTH * detector : DETECTOR_WIDTH * (detector + 1)]
    if line[DETECTOR_WITHIN] >= 0 and end - start > line[DETECTOR_WITHIN]:
        return False
    if flags & WAS_TOLD:
        return True
    paired = line[DETECTOR_STEPS_END] > line[DETECTOR_STEPS]
    compared = paired or flags & TWIN
    begin_gathering(m)
    gather(m, node)
    gather(m, more)
    if not _holds_gathered(m, detector):
        return False
    if paired:
        one, other = _sort_gathered(m)
    one, other = one + mixed(~detector), other + mixed(~detector)
    if compared:
        if is_told(m, one, other) if line[DETECTOR_TIMED] else is_fresh(m, one, other):
            return True
        newest = ints(m, GATHERED_ROW)[size(m, GATHERED_ROW) - 1]
        if line[DETECTOR_TIMED]:
            remember_told(m, one, other, newest)
        else:
            remember_fresh(m, one, other)
    open_match(m, line[DETECTOR_FAMILY], 0, 1, end)
    for at in range(size(m, GATHERED_ROW)):
        row = ints(m, GATHERED_ROW)[at]
        add_constituent(m, row, name_of(m, row, ints(m, GATHERED_STATE)[at]))
    add_outputs(m, line[DETECTOR_FAMILY], plain(0), line[DETECTOR_MISSING] != 0)
    return True


@compiled
def _sort_gathered(m: int) -> tuple[int, int]:
    """Sort what is gathered; its sum of hashes."""
    sort_gathered(m)
    one = other = 0
    for at in range(size(m, GATHERED_ROW)):
        more, most = hash_of(m, ints(m, GATHERED_NAME)[at], ints(m, GATHERED_ROW)[at])
        one, other = one + more, other + most
    return one, other


@compiled
def _holds_gathered(m: int, detector: int) -> bool:
    """Whether the condition on the whole match holds; the frame stays for the outputs."""
    line = DETECTOR_WIDTH * detector
    detectors = ints(m, DETECTOR)
    if not detectors[line + DETECTOR_FRAME]:
        return True
    lists = detectors[line + DETECTOR_LISTS] != 0
    frame_of_gathered(m, detectors[line + DETECTOR_POSITIONS], lists)
    where = detectors[line + DETECTOR_WHERE]
    return where < 0 or holds(m, where, plain(0), detectors[line + DETECTOR_MISSING] != 0)
