"""Arrow from numpy's side: what the other modules of tables need of an array.

pyarrow has no types of its own for a type checker, so it is imported here alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # the same

from cepheid.errors import EventError
from cepheid.events import Kind

__all__ = [
    "Array",
    "Arrow",
    "Bools",
    "Bytes",
    "Ints",
    "arrow_of",
    "coded",
    "codes",
    "damaged",
    "is_same",
    "kind",
    "numbers",
    "numpy_of",
    "pa",
    "pc",
    "present",
    "single",
    "strings",
    "text_array",
    "text_array_of",
    "text_bytes",
    "texts",
]

Array = Any
"""An array of Arrow."""
Arrow = Any
"""A table, a record batch or a schema of Arrow."""
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

_SMALL = 2**30
"""How many bytes of text an array with short offsets may surely hold."""


def kind(array: Array) -> Kind:
    """The kind of the values of a column in normal form."""
    if pa.types.is_int64(array.type):
        return Kind.INT
    if pa.types.is_float64(array.type):
        return Kind.DOUBLE
    return Kind.BOOL if pa.types.is_boolean(array.type) else Kind.STRING


def present(array: Array) -> Bools | None:
    """Where an array has values; None when it has them everywhere."""
    if array.null_count == 0:
        return None
    return numpy_of(array.is_valid())


def numbers(array: Array) -> npt.NDArray[Any]:
    """The numbers of a column of ints, doubles or bools; 0 where there is none."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    there, found = present(array), numpy_of(array)
    return found if there is None else np.where(there, found, found.dtype.type(0))


def coded(array: Array) -> Array:
    """A column of texts with a dictionary.

    A few rows taken from a table still have the dictionary of all of it: then it is made anew, so
    that nobody looks at texts which are in no row.
    """
    if pa.types.is_dictionary(array.type):
        if len(array.dictionary) <= len(array):
            return array
        array = array.dictionary_decode()
    return array.dictionary_encode()


def codes(array: Array) -> tuple[Ints, Array]:
    """A column of texts as codes and the texts that they stand for; -1 where there is none."""
    array = coded(array)
    indices = array.indices.cast(pa.int64())
    there, found = present(indices), numpy_of(indices)
    return found if there is None else np.where(there, found, -1), array.dictionary


def slim(array: Array) -> Array:
    """A column without those texts of its dictionary that are in no row."""
    if not pa.types.is_dictionary(array.type):
        return array
    there, found = present(array.indices), numpy_of(array.indices)
    is_used = np.zeros(len(array.dictionary), np.bool_)
    is_used[found if there is None else found[there]] = True
    if is_used.all():
        return array
    places = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    if there is not None:
        found = np.where(there, found, 0)
    indices = arrow_of(places[found], None if there is None else ~there)
    return pa.DictionaryArray.from_arrays(
        indices, array.dictionary.take(arrow_of(np.flatnonzero(is_used)))
    )


def is_same(one: Array, other: Array) -> bool:
    """Whether two arrays are the same piece of memory."""
    return _place(one) == _place(other)


def _place(array: Array) -> tuple[Any, ...]:
    where = (buffer and buffer.address for buffer in array.buffers())
    return array.type, len(array), array.offset, *where


def texts(array: Array) -> list[str]:
    """The texts of a dictionary."""
    found: list[str] = array.to_pylist()
    return found


def text_bytes(array: Array) -> tuple[Ints, Bytes]:
    """Texts without a dictionary as UTF-8: where each begins in the data and the last one ends.

    Where there is none, it is an empty one.
    """
    if array.null_count:
        array = array.fill_null(text_array([""])[0])
    size = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, bounds, data = array.buffers()
    if len(array) == 0:
        return np.zeros(1, np.int64), np.frombuffer(b"", np.uint8)
    found = np.frombuffer(bounds, size)[array.offset : array.offset + len(array) + 1]
    own, held = found.astype(np.int64), np.frombuffer(data or b"", np.uint8)
    if own[0] < 0 or own[-1] > len(held) or bool((own[1:] < own[:-1]).any()):
        raise damaged("texts that lie outside of its data")
    return own, held


def damaged(what: str) -> EventError:
    """An error for what no library would make: nobody after this looks whether places exist."""
    return EventError(
        f"a column of texts must be sound; got {what}\n\n"
        "hint: the table is damaged; its validate(full=True) says where"
    )


def text_array_of(bounds: Ints, data: Bytes, missing: Bools | None = None) -> Array:
    """The array of texts that `text_bytes` gives."""
    there = None if missing is None else pa.py_buffer(_bits(~missing))
    small = bounds[-1] < _SMALL
    own = pa.py_buffer(bounds.astype(np.int32) if small else bounds)
    type_ = pa.string() if small else pa.large_string()
    return pa.Array.from_buffers(type_, len(bounds) - 1, [there, own, pa.py_buffer(data)])


def strings(array: Array) -> Array:
    """A column of texts without a dictionary."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def single(column: Array) -> Array:
    """A column in one piece, without a copy if it is in one piece already."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    elif pa.types.is_string(column.type) and column.nbytes > _SMALL:
        column = column.cast(pa.large_string())
    return column.combine_chunks()


def arrow_of(values: npt.NDArray[Any], missing: Bools | None = None) -> Array:
    """Numbers or bools of numpy as an array, numbers without a copy.

    `pyarrow.array` looks whether it is given something of pandas, for which it imports all of it.

    >>> arrow_of(np.array([True, False, True]), np.array([False, True, False])).to_pylist()
    [True, None, True]
    """
    type_ = pa.from_numpy_dtype(values.dtype)
    data = _bits(values) if values.dtype == np.bool_ else np.ascontiguousarray(values)
    there = None if missing is None else pa.py_buffer(_bits(~missing))
    return pa.Array.from_buffers(type_, len(values), [there, pa.py_buffer(data)])


def numpy_of(array: Array) -> npt.NDArray[Any]:
    """Numbers or bools of an array, numbers without a copy; anything where there is none.

    Its own `to_numpy` imports pandas too.

    >>> numpy_of(arrow_of(np.array([True, False, True]))[1:]).tolist()
    [False, True]
    """
    begin, end, data = array.offset, array.offset + len(array), array.buffers()[1]
    if data is None:
        return np.zeros(len(array), array.type.to_pandas_dtype())
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(data, np.uint8)
        return np.unpackbits(bits, count=end, bitorder="little")[begin:].view(np.bool_)
    return np.frombuffer(data, array.type.to_pandas_dtype(), end)[begin:]


def _bits(values: Bools) -> Bytes:
    return np.packbits(values, bitorder="little")


def text_array(values: Iterable[str | None]) -> Array:
    """Texts as an array; what no text of Arrow can hold (half of a surrogate pair) becomes `?`."""
    listed = list(values)
    try:
        written = [b"" if value is None else value.encode() for value in listed]
    except UnicodeEncodeError:
        written = [b"" if value is None else value.encode("utf-8", "replace") for value in listed]
    bounds = np.zeros(1 + len(listed), np.int64)
    np.cumsum([len(text) for text in written], out=bounds[1:])
    missing = np.array([value is None for value in listed], np.bool_)
    data = np.frombuffer(b"".join(written), np.uint8)
    return text_array_of(bounds, data, missing if missing.any() else None)
