"""Garbage: what Spark's Python workers look through after every task.

A worker that is used again collects garbage when a task ends, and walks through everything that was
ever loaded: with a compiled engine that takes longer than the task of a small micro-batch. What
is alive when a task begins has survived such a walk, so it is left out of the next ones.
"""

from __future__ import annotations

import gc
from itertools import count

_TASKS = count(1)
_ALL_AFTER = 1000
"""After so many tasks everything is looked through, as what was left out may have died since."""


def spare_old() -> None:
    """At the beginning of a task: leave out of later collections what is there already."""
    if next(_TASKS) % _ALL_AFTER == 0:
        gc.unfreeze()
        gc.collect()
    gc.freeze()
