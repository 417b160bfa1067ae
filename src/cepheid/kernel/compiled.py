"""Compilation: every function of the inner loops goes through here.

Compiled code is kept on disk, so that only the very first run on a machine waits for it. The cache
of numba notices a change in a function's own file but not in the files of what it calls; therefore
the folder of the cache is named after the content of the whole kernel.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config

F = TypeVar("F", bound=Callable[..., object])

_CONFIG: Any = config
"""numba's settings, which have no types."""


def _cache_folder() -> str:
    """Where compiled code of this version of the kernel is kept."""
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(home) / "cepheid" / f"kernel-{digest.hexdigest()}")


_CACHE_FOLDER = os.environ.get("NUMBA_CACHE_DIR") or _cache_folder()


def compiled(function: F) -> F:
    """A function as machine code, compiled at its first call or taken from the cache."""
    return _compiled(function, forceinline=False)


def inlined(function: F) -> F:
    """A small function as machine code that becomes a part of its callers.

    A call passes every array of its named tuples by value, which costs more than such a function
    does. Larger ones are not worth it: compilation time grows with every copy.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: F, *, forceinline: bool) -> F:
    """The folder of the cache is chosen when a function is decorated; others keep their own."""
    before, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, _CACHE_FOLDER
    try:
        return cast("F", numba.njit(cache=True, forceinline=forceinline)(function))
    finally:
        _CONFIG.CACHE_DIR = before
