"""How long something may take, on a machine whose speed is not known and changes meanwhile."""

from __future__ import annotations

import time
from collections import Counter

_USUAL = 0.02
"""Seconds of computing that a piece of work takes where the limits of tests were set."""
_TRIES = 5


def within(took: float, limit: float) -> bool:
    """Whether something took less than a limit in seconds, given how slow the machine is now.

    Only a machine on which a piece of known work takes longer than usual makes the limit larger.
    """
    return took < limit or took < limit * max(_piece() for _ in range(_TRIES)) / _USUAL


def _piece() -> float:
    """The time that a piece of ordinary Python takes."""
    begin = time.process_time()
    sorted(Counter(str(number * 7919 % 100_003) for number in range(60_000)))
    return time.process_time() - begin
