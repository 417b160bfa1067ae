"""Steps: what must hold while a match of a tree is constructed, in the order of the tables."""

from __future__ import annotations

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.members import members
from cepheid.kernel.memory import ints, tags
from cepheid.kernel.probes import compute, exists
from cepheid.kernel.programs import FRAME_HIGH, FRAME_LOW, FRAME_ROW, holds, value_of
from cepheid.kernel.stacks import key_of
from cepheid.kernel.store import ROW_CELLS, ROW_END, ROW_START, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.tables import (
    ABSENT,
    COMPUTE,
    EQUIVALENT,
    NARROW,
    NARROW_HOLE,
    NARROW_PROGRAM,
    NARROW_WIDTH,
    NARROWED,
    STEP,
    STEP_ARGUMENT,
    STEP_WIDTH,
    TEST,
    TREE,
    TREE_MISSING,
    TREE_WIDTH,
    TREE_WITHIN,
)
from cepheid.kernel.values import MISSING


@compiled
def passes(m: int, tree: int, depth: int, begin: int, end: int, own: int) -> bool:
    """Take steps until one does not hold; callers in a loop see to it that there are any."""
    missing = ints(m, TREE)[TREE_WIDTH * tree + TREE_MISSING] == 1
    steps = ints(m, STEP)
    for step in range(STEP_WIDTH * begin, STEP_WIDTH * end, STEP_WIDTH):
        kind, argument = steps[step], steps[step + STEP_ARGUMENT]
        if kind == TEST:
            if not holds(m, argument, own, missing):
                return False
        elif kind == ABSENT:
            if exists(m, tree, argument):
                return False
        elif kind == COMPUTE:
            compute(m, tree, argument)
        elif kind == NARROWED:
            if not _narrow(m, depth, argument, own, missing):
                return False
        elif kind == EQUIVALENT:
            if not _is_equivalent(m, depth, argument, own):
                return False
        elif not _is_within(m, tree):
            return False
    return True


@inlined
def _is_equivalent(m: int, depth: int, column: int, own: int) -> bool:
    """Whether an event has the value in a column that those bound before it have.

    Those that have one are equal already, so that any of them will do.
    """
    rows, width = ints(m, FRAME_ROW), scalar(m, WIDTH)
    cell_tags, cells = tags(m, ROW_TAGS), ints(m, ROW_CELLS)
    tag = int(cell_tags[own * width + column])
    if tag == MISSING:
        return True
    tag, cell = key_of(tag, cells[own * width + column])
    for before in range(depth - 1, -1, -1):
        place = rows[before] * width + column
        if cell_tags[place] != MISSING:
            other_tag, other = key_of(int(cell_tags[place]), cells[place])
            return tag == other_tag and cell == other
    return True


@compiled
def _narrow(m: int, depth: int, narrow: int, own: int, missing: bool) -> bool:
    """Keep the members of the family whose constant fits a value; False when none is left."""
    program = ints(m, NARROW)[NARROW_WIDTH * narrow + NARROW_PROGRAM]
    hole = ints(m, NARROW)[NARROW_WIDTH * narrow + NARROW_HOLE]
    tag, value, number = value_of(m, program, own, missing)
    low, high = members(m, hole, tag, value, number, missing)
    lows, highs = ints(m, FRAME_LOW), ints(m, FRAME_HIGH)
    lows[depth], highs[depth] = max(lows[depth], low), min(highs[depth], high)
    return bool(lows[depth] < highs[depth])


@inlined
def _is_within(m: int, tree: int) -> bool:
    """Whether the terminator alone fits into the window over the whole match.

    The others are only looked for in that window.
    """
    row = ints(m, FRAME_ROW)[0]
    length = ints(m, ROW_END)[row] - ints(m, ROW_START)[row]
    return bool(length < ints(m, TREE)[TREE_WIDTH * tree + TREE_WITHIN])
