"""Encoding: a table in the total order becomes batches for the kernel.

Only columns that rules look at are read. A text is looked up once for all rows that have it.
"""

from __future__ import annotations

import numpy as np

from cepheid.events import Kind
from cepheid.kernel.columns import Batch, Dictionary, Encoder
from cepheid.kernel.values import BOOL, DOUBLE, INT, TEXT, Ints, Tags
from cepheid.tables.arrow import Array, coded, codes, kind, numbers, present, texts
from cepheid.tables.table import Table

_TAGS = {Kind.INT: INT, Kind.DOUBLE: DOUBLE, Kind.STRING: TEXT, Kind.BOOL: BOOL}


class Encoding:
    """A table as the kernel reads it, to be cut into batches."""

    def __init__(self, table: Table, encoder: Encoder) -> None:
        self._table = table
        self._width = len(encoder.columns)
        self._types = _found(table.types, encoder.types)
        self._columns = [
            _Column(encoder.columns.find(name), array, encoder)
            for name, array in table.columns
            if encoder.columns.find(name) >= 0
        ]

    def batch(self, begin: int, end: int, first: int) -> Batch:
        """The events of some rows; the origin of the first is `first`, of the next one more."""
        count = end - begin
        tags = np.zeros((count, self._width), np.uint8)
        cells = np.zeros((count, self._width), np.int64)
        for column in self._columns:
            column.write(begin, tags, cells)
        return Batch(
            np.arange(first, first + count, dtype=np.int64),
            self._types[begin:end],
            self._table.starts[begin:end],
            self._table.ends[begin:end],
            tags,
            cells,
        )


class _Column:
    """A column of the table and the place where its cells go."""

    def __init__(self, place: int, array: Array, encoder: Encoder) -> None:
        self._place = place
        self._tag = _TAGS[kind(array)]
        self._lookup: Ints | None = None
        if self._tag == TEXT:
            array = coded(array)
            self._lookup = np.append(encoder.texts.codes(texts(array.dictionary)), 0)
            array = array.indices
        self._array = array

    def write(self, begin: int, tags: Tags, cells: Ints) -> None:
        """Write the cells of as many rows as there is room for."""
        part = self._array.slice(begin, len(cells))
        found, there = self._cells(part), present(part)
        if there is None:
            tags[:, self._place] = self._tag
            cells[:, self._place] = found
        else:
            # Another column may hold the values of the same attribute in other rows.
            np.putmask(tags[:, self._place], there, np.uint8(self._tag))
            np.copyto(cells[:, self._place], found, where=there)

    def _cells(self, part: Array) -> Ints:
        found = numbers(part)
        if self._lookup is not None:
            codes_: Ints = self._lookup[found]
            return codes_
        cells: Ints = found.astype(np.int64) if self._tag == BOOL else found.view(np.int64)
        return cells


def _found(types: Array, known: Dictionary) -> Ints:
    """The codes of types; -1 for those that no rule looks at."""
    own, names = codes(types)
    lookup = np.array([*(known.find(name) for name in texts(names)), -1], np.int64)
    return lookup[own]
