"""The oldest of what a rule keeps, to be given up first where the rule has limits; see `limits`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.kernel.memory import Memory
from cepheid.kernel.store import ROW_END
from cepheid.kernel.values import Ints

Marks = npt.NDArray[np.bool_]
"""For every row (or whatever else there is) whether it is one of those meant."""


def oldest_rows(memory: Memory, rows: Ints, count: int) -> Marks:
    """Mark so many of some rows: those that ended first, then those that came first."""
    ends = memory.view(ROW_END)
    rows = np.sort(rows)
    marks = np.zeros(len(ends), np.bool_)
    marks[rows[np.argsort(ends[rows], kind="stable")[:count]]] = True
    return marks
