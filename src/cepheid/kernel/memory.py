"""Memory: everything that compiled code reads and writes, behind one array.

A *slot* is a vector that can grow: an address, a count and a capacity in the array `m`. A call in
compiled code passes `m` alone; a named tuple of all vectors would cost more than most functions do
(measured: 400 ns a call for 75 arrays). Compiled code grows slots by itself, so a search never has
to stop for room.

A view (`ints`, `tags`, `floats`) is dead as soon as its slot grows: fetch it again after any call
that may append to it.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any, cast

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types
from numba.extending import intrinsic

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.values import Floats, Ints, Tags

STORE, CODE, MATCHES, TREES, STREAM = 0, 40, 70, 100, 180
RUNS, COLLECTIONS, DETECTORS, SLOTS = 200, 240, 280, 350
"""Where the slots of each part of the kernel begin."""

carray: Any = numba.carray  # type: ignore[attr-defined]  # it is there
_WORDS = 3
_ROOM = 32


def _make_pointer(_context: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(address), generate


def _make_reallocated(_context: Any, address: Any, size: Any) -> Any:
    """The address of a block after it was given another size, by Python's allocator."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        kind = ir.FunctionType(pointer, [pointer, word])
        allocate = builder.module.globals.get("PyMem_RawRealloc") or ir.Function(
            builder.module, kind, "PyMem_RawRealloc"
        )
        block = builder.inttoptr(arguments[0], pointer)
        return builder.ptrtoint(builder.call(allocate, [block, arguments[1]]), word)

    return types.int64(types.int64, types.int64), generate


_pointer: Any = intrinsic(_make_pointer)
_reallocated: Any = intrinsic(_make_reallocated)


@inlined
def ints(m: Ints, slot: int) -> Ints:
    """A slot of whole numbers."""
    view: Ints = carray(_pointer(m[3 * slot]), m[3 * slot + 2], np.int64)
    return view


@inlined
def tags(m: Ints, slot: int) -> Tags:
    """A slot of bytes."""
    view: Tags = carray(_pointer(m[3 * slot]), m[3 * slot + 2], np.uint8)
    return view


@inlined
def floats(m: Ints, slot: int) -> Floats:
    """A slot of doubles."""
    view: Floats = carray(_pointer(m[3 * slot]), m[3 * slot + 2], np.float64)
    return view


@inlined
def size(m: Ints, slot: int) -> int:
    """How many items a slot holds."""
    return int(m[3 * slot + 1])


@inlined
def capacity(m: Ints, slot: int) -> int:
    """How many items a slot has room for."""
    return int(m[3 * slot + 2])


@inlined
def set_size(m: Ints, slot: int, count: int) -> None:
    """Say how many items a slot holds; there must be room."""
    m[3 * slot + 1] = count


@compiled
def grow(m: Ints, slot: int, needed: int, width: int) -> None:
    """Give a slot room for so many items of a width in bytes, and some more; new room is zero."""
    room = m[3 * slot + 2]
    if needed <= room:
        return
    wanted = max(needed, 2 * room, 32)
    m[3 * slot] = _reallocated(m[3 * slot], wanted * width)
    m[3 * slot + 2] = wanted
    block = carray(_pointer(m[3 * slot]), wanted * width, np.uint8)
    block[room * width :] = 0


@inlined
def reserve(m: Ints, slot: int, more: int) -> None:
    """Give a slot of numbers room for so many items more."""
    if m[3 * slot + 1] + more > m[3 * slot + 2]:
        grow(m, slot, m[3 * slot + 1] + more, 8)


@inlined
def append(m: Ints, slot: int, value: int) -> int:
    """Add a whole number to a slot; the result is its place."""
    at = m[3 * slot + 1]
    if at == m[3 * slot + 2]:
        grow(m, slot, at + 1, 8)
    ints(m, slot)[at] = value
    m[3 * slot + 1] = at + 1
    return int(at)


@inlined
def resize(m: Ints, slot: int, count: int) -> None:
    """Let a slot of numbers hold so many items."""
    if count > m[3 * slot + 2]:
        grow(m, slot, count, 8)
    m[3 * slot + 1] = count


class Memory:
    """The memory of one kernel, as Python sees it. It is given back when nobody needs it."""

    def __init__(self) -> None:
        self.m: Ints = np.zeros(_WORDS * SLOTS, np.int64)
        weakref.finalize(self, _free, self.m)

    def put(self, slot: int, values: npt.ArrayLike, dtype: npt.DTypeLike = np.int64) -> None:
        """Let a slot hold a copy of some values."""
        array = np.ascontiguousarray(values, dtype).ravel()
        if len(array) > self.m[_WORDS * slot + 2]:
            grow(self.m, slot, len(array), array.itemsize)
        self.m[_WORDS * slot + 1] = len(array)
        if len(array):
            ctypes.memmove(int(self.m[_WORDS * slot]), array.ctypes.data, array.nbytes)

    def get(self, slot: int, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
        """A copy of what a slot holds."""
        return self.view(slot, dtype).copy()

    def view(self, slot: int, dtype: npt.DTypeLike = np.int64) -> npt.NDArray[Any]:
        """What a slot holds, to be looked at before anything else happens."""
        count = int(self.m[_WORDS * slot + 1])
        kind = np.dtype(dtype)
        if count == 0:
            return np.empty(0, kind)
        block = (ctypes.c_char * (count * kind.itemsize)).from_address(int(self.m[_WORDS * slot]))
        found: npt.NDArray[Any] = np.frombuffer(cast("Any", block), kind)
        return found

    def count(self, slot: int) -> int:
        """How many items a slot holds."""
        return int(self.m[_WORDS * slot + 1])

    def shrink(self, slot: int, width: int = 8) -> None:
        """Give back the room of a slot that is mostly empty."""
        count, room = int(self.m[_WORDS * slot + 1]), int(self.m[_WORDS * slot + 2])
        if room <= max(_ROOM, 4 * count):
            return
        wanted = max(_ROOM, 2 * count)
        self.m[_WORDS * slot] = _reallocate(int(self.m[_WORDS * slot]), wanted * width)
        self.m[_WORDS * slot + 2] = wanted

    @property
    def room(self) -> int:
        """How many items there is room for in all slots together."""
        return int(self.m[2::_WORDS].sum())


_python = ctypes.pythonapi
_python.PyMem_RawRealloc.restype = ctypes.c_void_p
_python.PyMem_RawRealloc.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_python.PyMem_RawFree.argtypes = (ctypes.c_void_p,)


def _reallocate(address: int, count: int) -> int:
    return int(_python.PyMem_RawRealloc(address, count) or 0)


def _free(m: Ints) -> None:
    for slot in range(SLOTS):
        if m[_WORDS * slot]:
            _python.PyMem_RawFree(int(m[_WORDS * slot]))
    m[:] = 0
