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

from cepheid.events import Kind

__all__ = [
    "Array",
    "Arrow",
    "Bools",
    "Ints",
    "codes",
    "kind",
    "numbers",
    "pa",
    "pc",
    "present",
    "single",
    "strings",
    "text_array",
    "texts",
]

Array = Any
"""An array of Arrow."""
Arrow = Any
"""A table, a record batch or a schema of Arrow."""
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

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
    found: Bools = array.is_valid().to_numpy(zero_copy_only=False)
    return found


def numbers(array: Array) -> npt.NDArray[Any]:
    """The numbers of a column of ints, doubles or bools; 0 where there is none."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    full = array.fill_null(0) if array.null_count else array
    found: npt.NDArray[Any] = full.to_numpy()
    return found


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
    full = indices.fill_null(-1) if indices.null_count else indices
    return full.to_numpy(), array.dictionary


def texts(array: Array) -> list[str]:
    """The texts of a dictionary."""
    found: list[str] = array.to_pylist()
    return found


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


def text_array(values: Iterable[str | None]) -> Array:
    """Texts as an array; what no text of Arrow can hold (half of a surrogate pair) becomes `?`."""
    listed = list(values)
    try:
        return pa.array(listed, pa.string())
    except UnicodeEncodeError:
        return pa.array(
            [value and value.encode("utf-8", "replace").decode() for value in listed], pa.string()
        )
