"""Compilation: every function of the inner loops goes through here.

Compiled code is kept on disk, so that only the very first run on a machine waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """A function as machine code, compiled at its first call or taken from the cache."""
    return cast("F", njit(cache=True)(function))


def inlined(function: F) -> F:
    """A small function as machine code that becomes a part of its callers.

    A call passes every array of its named tuples by value, which costs more than such a function
    does. Larger ones are not worth it: compilation time grows with every copy.
    """
    return cast("F", njit(cache=True, forceinline=True)(function))
