"""Walking: a search through lists whose events are all taken, as SASE and `each` want it.

Such trees have no thresholds that differ, no policy that chooses and no memory of what was
consumed: a walk needs no room for candidates, and checks everything as soon as an event is bound.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.completing import complete
from cepheid.kernel.memory import ints, shorts
from cepheid.kernel.picking import pushed
from cepheid.kernel.probes import (
    KNOWN_ASIDE,
    KNOWN_ENTRY,
    KNOWN_FROM,
    KNOWN_LACKING,
    KNOWN_TAG,
    KNOWN_TO,
    KNOWN_WIDTH,
    UNKNOWN,
    bounds,
    has_key,
    newest_below,
)
from cepheid.kernel.programs import FRAME_HIGH, FRAME_LOW, FRAME_ROW
from cepheid.kernel.stacks import ENTRY, ENTRY_BEFORE, ENTRY_WIDTH
from cepheid.kernel.steps import passes
from cepheid.kernel.store import ROW_END, ROW_START
from cepheid.kernel.tables import (
    COMPONENT,
    COMPONENT_PROBE,
    COMPONENT_PROVEN,
    COMPONENT_WIDTH,
    KNOWN,
    PICK_STEP,
    PICKED_BEGIN,
    PICKED_END,
    TREE,
    TREE_MISSING,
    TREE_WIDTH,
)


@compiled
def walk(m: int, tree: int, begin: int, width: int) -> None:
    """Bind component after component to every event in its window, newest first, depth first.

    What is bound so far decides about a window alone, so there is nothing to be picked first: at
    every depth the search remembers the entry at which it goes on.
    """
    components, known, rows = ints(m, COMPONENT), ints(m, KNOWN), ints(m, FRAME_ROW)
    ends, starts = ints(m, ROW_END), ints(m, ROW_START)
    lows, highs = ints(m, FRAME_LOW), ints(m, FRAME_HIGH)
    for depth in range(1, width):
        known[KNOWN_WIDTH * depth + KNOWN_TAG] = UNKNOWN
        lows[depth], highs[depth] = lows[0], highs[0]
    depth = 1
    _enter(m, tree, begin, depth)
    entries = shorts(m, ENTRY)
    while depth > 0:
        at = KNOWN_WIDTH * depth
        entry, low = int(known[at + KNOWN_ENTRY]), known[at + KNOWN_FROM]
        row = int(np.int64(entries[ENTRY_WIDTH * entry])) if entry >= 0 else -1
        if row < 0 or ends[row] <= low:
            # Events without the key come after those with it.
            known[at + KNOWN_ENTRY], known[at + KNOWN_ASIDE] = known[at + KNOWN_ASIDE], -1
            if known[at + KNOWN_ENTRY] < 0:
                depth -= 1
            continue
        known[at + KNOWN_ENTRY] = entries[ENTRY_WIDTH * entry + ENTRY_BEFORE]
        if ends[row] >= known[at + KNOWN_TO] or starts[row] <= low:
            continue
        rows[depth] = row
        component = COMPONENT_WIDTH * (begin + depth)
        first, last = ints(m, PICK_STEP)[depth], components[component + PICKED_END]
        if first < last:
            holds = passes(m, tree, depth, first, last, row)
            entries = shorts(m, ENTRY)  # a negation may have asked for a list of all events
            if not holds:
                continue
        if depth + 1 == width:
            complete(m, tree)
        else:
            depth += 1
            _enter(m, tree, begin, depth)
            entries = shorts(m, ENTRY)


@inlined
def _enter(m: int, tree: int, begin: int, depth: int) -> None:
    """Find the window of a component, and its newest event that may be in it."""
    component, known = COMPONENT_WIDTH * (begin + depth), KNOWN_WIDTH * depth
    probe = ints(m, COMPONENT)[component + COMPONENT_PROBE]
    missing = ints(m, TREE)[TREE_WIDTH * tree + TREE_MISSING] == 1
    low, high = bounds(m, probe)
    ints(m, KNOWN)[known + KNOWN_FROM], ints(m, KNOWN)[known + KNOWN_TO] = (
        pushed(m, tree, low),
        high,
    )
    ints(m, KNOWN)[known + KNOWN_ENTRY] = newest_below(m, probe, depth, 0, missing, high)
    ints(m, KNOWN)[known + KNOWN_ASIDE] = ints(m, KNOWN)[known + KNOWN_LACKING]
    proven = ints(m, COMPONENT)[component + COMPONENT_PROVEN] if has_key(m, probe) else 0
    ints(m, PICK_STEP)[depth] = ints(m, COMPONENT)[component + PICKED_BEGIN] + proven
