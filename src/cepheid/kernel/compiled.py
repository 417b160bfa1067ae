"""Compilation: every function of the inner loops goes through here.

Compiled code is kept on disk, so that only the very first run on a machine waits for it. The cache
of numba notices a change in a function's own file but not in the files of what it calls; therefore
the folder of the cache is named after the content of the function's module and of all modules of
the kernel that it imports.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core import config

F = TypeVar("F", bound=Callable[..., object])

_CONFIG: Any = config
"""numba's settings, which have no types."""


_unliteral: Callable[[Any], Any] = types.unliteral
"""The type of a constant's values in general."""

_HERE = Path(__file__).parent
_IMPORTED = re.compile(rb"^from cepheid\.kernel\.(\w+) import", re.MULTILINE)


@cache
def _imported(module: str) -> tuple[str, ...]:
    """The modules of the kernel that a module imports directly."""
    found = _IMPORTED.findall((_HERE / f"{module}.py").read_bytes())
    return tuple(sorted({name.decode() for name in found}))


@cache
def cache_folder(module: str) -> str:
    """Where compiled code of a module is kept, given what it and its imports contain."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return os.environ["NUMBA_CACHE_DIR"]
    known, waiting = {module}, [module]
    while waiting:
        new = set(_imported(waiting.pop())) - known
        known |= new
        waiting += new
    digest = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    for name in sorted(known):
        digest.update((_HERE / f"{name}.py").read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(home) / "cepheid" / f"{module}-{digest.hexdigest()}")


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
    """The folder of the cache is chosen when a function is decorated; others keep their own.

    Other threads of Python may run meanwhile; a memory belongs to one kernel, and that to one.
    """
    module = function.__module__
    folder = _CONFIG.CACHE_DIR
    if module.startswith("cepheid.kernel."):
        folder = cache_folder(module.removeprefix("cepheid.kernel."))
    before, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, folder
    try:
        found = numba.njit(cache=True, nogil=True, forceinline=forceinline)(function)
    finally:
        _CONFIG.CACHE_DIR = before
    return cast("F", _one_writer(_for_all_constants(found)))


def _one_writer(dispatcher: Any) -> Any:  # noqa: ANN401 (numba has no types)
    """A function whose compiled code is written to the disk by one process at a time.

    The cache of numba has an index for each function, and numbered files for its signatures. Two
    processes that wrote two signatures at once would give them one number, and one of them would
    then run the code of the other.
    """
    save, folder = dispatcher._cache.save_overload, Path(dispatcher._cache.cache_path)

    def save_overload(signature: Any, data: Any) -> None:  # noqa: ANN401 (numba has no types)
        with locked(folder, "writing"):
            save(signature, data)

    dispatcher._cache.save_overload = save_overload
    return dispatcher


@contextmanager
def locked(folder: Path, name: str, waiting: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Let one process at a time do something in a folder; where files cannot be locked, all may."""
    try:
        import fcntl

        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / name).open("w")
    except (ImportError, OSError):
        yield
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _for_all_constants(dispatcher: Any) -> Any:  # noqa: ANN401 (numba has no types)
    """A function that is compiled once, not for every constant that it is called with.

    numba would compile the views of the memory more than a hundred times, once for each slot,
    which is a third of the time of all compilation; where it matters, LLVM puts the constants in.
    """
    template = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:  # noqa: ANN401 (numba has no types)
        plain = {name: _unliteral(given) for name, given in kws.items()}
        return template(tuple(map(_unliteral, args)), plain)

    dispatcher.get_call_template = get_call_template
    return dispatcher
