"""Cores: work that has parts is spread over threads, as compiled code lets others run meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from cepheid.errors import EventError

MOST = 4
"""More threads than this bring nothing: the parts that only one can do take the rest."""

T = TypeVar("T")
R = TypeVar("R")
Spread = Callable[[Callable[[T], R], Iterable[T]], Iterator[R]]
"""Calls a function with every part, and gives the results in the order of the parts."""


def cores_of(given: int | None) -> int:
    """How many cores work may use; unless told, those that the process may use, at most `MOST`.

    >>> cores_of(1)
    1
    """
    if given is None:
        return min(MOST, _allowed())
    if type(given) is not int or given < 1:
        raise EventError(f"cores must be a number of at least 1, or None; got {given!r}")
    return given


def _allowed() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def spreading(cores: int) -> Iterator[Callable[[Callable[[T], R], Iterable[T]], Iterator[R]]]:
    """Something like `map` that works on several parts at a time.

    >>> with spreading(2) as spread:
    ...     list(spread(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    if cores == 1:
        yield map
        return
    with ThreadPoolExecutor(cores, thread_name_prefix="cepheid") as pool:
        yield pool.map
