"""Memory: everything that compiled code reads and writes, behind one address.

A *slot* is a vector that can grow: an address, a count and a capacity, three words at the address
`m`. A call in compiled code passes `m` alone; a named tuple of all vectors would cost more than
most functions do (measured: 400 ns a call for 75 arrays), and an array has an owner who is counted
up and down with every call, which was a sixth of the time of detectors. Compiled code grows slots
by itself, so a search never has to stop for room.

A view (`ints`, `shorts`, `tags`, `floats`) is dead as soon as its slot grows: fetch it again after
any call that may append to it.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Sequence
from typing import Any, cast

import numba
import numpy as np
import numpy.typing as npt

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.values import Floats, Ints, Shorts, Tags
from cepheid.kernel.views import (
    as_floats,
    as_ints,
    as_shorts,
    as_tags,
    pointer,
    reallocated,
    word,
    write,
)

STORE, CODE, MATCHES, TREES, STREAM = 0, 40, 70, 100, 180
RUNS, COLLECTIONS, DETECTORS, SLOTS = 200, 240, 280, 350
"""Where the slots of each part of the kernel begin."""

carray: Any = numba.carray  # type: ignore[attr-defined]  # it is there
_WORDS = 3
_ROOM = 32
LARGE = 1 << 15
"""From so many items on, room counts: a slot grows in small steps and gives back what is empty."""
_STEP = 16
_MOVING, _WRONG = "CEPHEID_MOVING_MEMORY" in os.environ, 0x5A
"""Whether slots grow to what is needed, each time somewhere else: then a view that is used after
its slot grew shows nothing but this. For `make test-memory`, which has a cache of its own."""
_NOTHING = np.zeros(0, np.int64)
_NO_MEMORY = "the engine needs more memory than the system gives it"
NARROW: dict[int, int] = {}
"""The bytes of an item, for slots of which they are not 8."""


@inlined
def ints(m: int, slot: int) -> Ints:
    """A slot of whole numbers."""
    view: Ints = as_ints(word(m, 3 * slot), word(m, 3 * slot + 2))
    return view


@inlined
def shorts(m: int, slot: int) -> Shorts:
    """A slot of whole numbers of 32 bits: numbers of rows, entries and the like."""
    view: Shorts = as_shorts(word(m, 3 * slot), word(m, 3 * slot + 2))
    return view


@inlined
def tags(m: int, slot: int) -> Tags:
    """A slot of bytes."""
    view: Tags = as_tags(word(m, 3 * slot), word(m, 3 * slot + 2))
    return view


@inlined
def floats(m: int, slot: int) -> Floats:
    """A slot of doubles."""
    view: Floats = as_floats(word(m, 3 * slot), word(m, 3 * slot + 2))
    return view


@inlined
def unowned(array: Any) -> Any:
    """An array without its owner: for what the caller holds, and passes on again and again.

    The owner of an array is counted up and down whenever the array is passed to a function.
    """
    return carray(pointer(array.ctypes.data), array.shape, array.dtype)


@inlined
def size(m: int, slot: int) -> int:
    """How many items a slot holds."""
    return int(word(m, 3 * slot + 1))


@inlined
def capacity(m: int, slot: int) -> int:
    """How many items a slot has room for."""
    return int(word(m, 3 * slot + 2))


@inlined
def set_size(m: int, slot: int, count: int) -> None:
    """Say how many items a slot holds; there must be room."""
    write(m, 3 * slot + 1, count)


@inlined
def _leave(before: int, after: int, count: int) -> None:
    """Copy what a slot held, and let nobody find anything where it was; for tests."""
    old, new = carray(pointer(before), count, np.uint8), carray(pointer(after), count, np.uint8)
    for at in range(count):
        new[at], old[at] = old[at], _WRONG
    if count > 0:
        reallocated(before, 1)  # a part of it stays, so that it shows what it should for longer


@compiled
def grow(m: int, slot: int, needed: int, width: int) -> None:
    """Give a slot room for so many items of a width in bytes, and some more; new room is zero."""
    room = word(m, 3 * slot + 2)
    if needed <= room:
        return
    wanted = max(needed, 2 * room if room < LARGE else room + room // _STEP, _ROOM)
    if _MOVING:
        wanted = needed + needed // _STEP
    address = reallocated(0 if _MOVING else word(m, 3 * slot), wanted * width)
    if address == 0:
        raise MemoryError(_NO_MEMORY)
    if _MOVING:
        _leave(word(m, 3 * slot), address, room * width)
    write(m, 3 * slot, address)
    write(m, 3 * slot + 2, wanted)
    block = carray(pointer(word(m, 3 * slot)), wanted * width, np.uint8)
    block[room * width :] = 0


@inlined
def reserve(m: int, slot: int, more: int) -> None:
    """Give a slot of numbers room for so many items more."""
    if word(m, 3 * slot + 1) + more > word(m, 3 * slot + 2):
        grow(m, slot, word(m, 3 * slot + 1) + more, 8)


@inlined
def append(m: int, slot: int, value: int) -> int:
    """Add a whole number to a slot; the result is its place."""
    at = word(m, 3 * slot + 1)
    if at == word(m, 3 * slot + 2):
        grow(m, slot, at + 1, 8)
    ints(m, slot)[at] = value
    write(m, 3 * slot + 1, at + 1)
    return int(at)


@inlined
def exchange(m: int, slot: int, other: int) -> None:
    """Let two slots have what the other one had."""
    for part in range(3):
        held = word(m, 3 * slot + part)
        write(m, 3 * slot + part, word(m, 3 * other + part))
        write(m, 3 * other + part, held)


@inlined
def resize(m: int, slot: int, count: int) -> None:
    """Let a slot of numbers hold so many items."""
    if count > word(m, 3 * slot + 2):
        grow(m, slot, count, 8)
    write(m, 3 * slot + 1, count)


class Memory:
    """The memory of one kernel, as Python sees it. It is given back when nobody needs it."""

    def __init__(self) -> None:
        self.words: Ints = np.zeros(_WORDS * SLOTS, np.int64)
        self.m: int = self.words.ctypes.data
        weakref.finalize(self, _free, self.words)

    def put(
        self,
        slot: int,
        values: Sequence[object] | npt.NDArray[Any],
        dtype: npt.DTypeLike = np.int64,
    ) -> None:
        """Let a slot hold a copy of some values."""
        array = np.ascontiguousarray(values, dtype).ravel() if len(values) else _NOTHING
        if len(array) > self.words[_WORDS * slot + 2]:
            grow(self.m, slot, len(array), array.itemsize)
        self.words[_WORDS * slot + 1] = len(array)
        if len(array):
            address, _ = array.__array_interface__["data"]
            ctypes.memmove(int(self.words[_WORDS * slot]), address, array.nbytes)

    def get(self, slot: int, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
        """A copy of what a slot holds."""
        return self.view(slot, dtype).copy()

    def view(self, slot: int, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
        """What a slot holds, to be looked at before anything else happens."""
        count = int(self.words[_WORDS * slot + 1])
        kind = np.dtype(dtype)
        if count == 0:
            return np.empty(0, kind)
        block = (ctypes.c_char * (count * kind.itemsize)).from_address(
            int(self.words[_WORDS * slot])
        )
        found: npt.NDArray[Any] = np.frombuffer(cast("Any", block), kind)
        return found

    def count(self, slot: int) -> int:
        """How many items a slot holds."""
        return int(self.words[_WORDS * slot + 1])

    def room(self, slot: int) -> int:
        """How many items a slot has room for."""
        return int(self.words[_WORDS * slot + 2])

    def fit(self, slot: int, room: int) -> None:
        """Let a slot have room for so many items and no more."""
        block = _reallocate(int(self.words[_WORDS * slot]), max(1, room) * NARROW.get(slot, 8))
        self.words[_WORDS * slot], self.words[_WORDS * slot + 2] = block, max(1, room)

    def shrink(self, slot: int) -> None:
        """Give back room of a slot that is large and more than half empty."""
        wanted = spare(self.count(slot), self.room(slot))
        if wanted < self.room(slot):
            self.fit(slot, wanted)

    def release(self, slot: int) -> None:
        """Give back all the room of a slot that was only of passing use, if it is much."""
        if self.room(slot) >= LARGE:
            _python.PyMem_RawFree(int(self.words[_WORDS * slot]))
            self.words[_WORDS * slot : _WORDS * slot + _WORDS] = 0

    @property
    def bytes(self) -> int:
        """The bytes that there is room for in all slots together."""
        narrow = sum((8 - width) * self.room(slot) for slot, width in NARROW.items())
        return 8 * int(self.words[2::_WORDS].sum()) - narrow


def spare(count: int, room: int) -> int:
    """How much room so many items should have: some more than they need, where it is large."""
    return room if room < max(LARGE, 2 * count) else count + count // 4


_python = ctypes.pythonapi
_python.PyMem_RawRealloc.restype = ctypes.c_void_p
_python.PyMem_RawRealloc.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_python.PyMem_RawFree.argtypes = (ctypes.c_void_p,)


def _reallocate(address: int, count: int) -> int:
    block = _python.PyMem_RawRealloc(address, count)
    if not block:
        raise MemoryError(_NO_MEMORY)
    return int(block)


def _free(words: Ints) -> None:
    for slot in range(SLOTS):
        if words[_WORDS * slot]:
            _python.PyMem_RawFree(int(words[_WORDS * slot]))
    words[:] = 0
