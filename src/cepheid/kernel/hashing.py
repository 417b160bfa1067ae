"""Hashes of texts: what all have in common, and those of a column for the routing of events."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.kernel.compiled import compiled

_OFFSET, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
"""FNV-1a with 64 bits (Fowler, Noll, Vo)."""


@compiled
def text_hashes(
    offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint64]:
    """A hash for every text, given where each begins and the last one ends."""
    found = np.empty(len(offsets) - 1, np.uint64)
    for text in range(len(found)):
        state = _OFFSET
        for at in range(offsets[text], offsets[text + 1]):
            state = (state ^ np.uint64(data[at])) * PRIME
        found[text] = state
    return found
