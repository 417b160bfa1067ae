"""Encoding: a table in the total order becomes batches for the kernel.

Only columns that rules look at are read. A text of a dictionary is looked up once for all rows that
have it, and once for all tables that share the dictionary.
"""

from __future__ import annotations

import numpy as np

from cepheid.events import Kind
from cepheid.kernel.columns import Batch, Dictionary, Encoder
from cepheid.kernel.texts import Texts
from cepheid.kernel.values import BOOL, DOUBLE, INT, TEXT, Ints, Tags
from cepheid.tables.arrow import (
    Array,
    coded,
    damaged,
    is_same,
    kind,
    numbers,
    numpy_of,
    pa,
    present,
    strings,
    text_bytes,
    texts,
)
from cepheid.tables.table import Table

_TAGS = {Kind.INT: INT, Kind.DOUBLE: DOUBLE, Kind.STRING: TEXT, Kind.BOOL: BOOL}
_MORE = 16
"""A dictionary with so many times as many texts as a table has rows is not looked up at once."""


class Encoding:
    """A table as the kernel reads it, to be cut into batches."""

    def __init__(self, table: Table, encoder: Encoder) -> None:
        self._table = table
        self._encoder = encoder
        self._types = _found(table.types, encoder.types)
        self._columns = [
            _Column(name, array, encoder)
            for name, array in table.columns
            if encoder.columns.find(name) >= 0
        ]
        self._usual = np.zeros(len(encoder.columns), np.uint8)
        """The tags of an event that has all attributes which all events have."""
        for column in self._columns:
            if column.is_full:
                self._usual[column.place] = column.tag

    def batch(self, begin: int, end: int, first: int) -> Batch:
        """The events of some rows; the origin of the first is `first`, of the next one more.

        The batch before it is gone then.
        """
        count = end - begin
        tags = np.tile(self._usual, (count, 1))
        cells = self._encoder.room(count)
        if not self._usual.all():
            cells[:] = 0
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


class _Lookup:
    """The codes of a dictionary's texts, as far as they are known."""

    def __init__(self, dictionary: Array, known: Texts) -> None:
        self.dictionary = dictionary
        self._texts = known
        self._bytes = text_bytes(dictionary)
        self._codes = np.zeros(0, np.int64)
        self._epoch = -1

    def codes(self, indices: Array) -> Ints:
        """The codes of texts, given their places in the dictionary; that of any where none is."""
        if len(self.dictionary) == 0:
            return np.zeros(len(indices), np.int64)
        if self._epoch != self._texts.epoch:
            self._codes = np.full(len(self.dictionary), -1, np.int64)
            self._epoch = self._texts.epoch
        places = numbers(indices).astype(np.int64)
        if places.min(initial=0) < 0 or places.max(initial=0) >= len(self.dictionary):
            raise damaged("a place that its dictionary does not have")
        return self._texts.codes_at(places, self._codes, *self._bytes)


def _lookup(name: str, array: Array, encoder: Encoder) -> _Lookup | None:
    """What is known of a column's dictionary, which the next table may have too.

    A large dictionary that is seen for the first time is not worth it for a few rows.
    """
    if not pa.types.is_dictionary(array.type):
        return None
    known: _Lookup | None = encoder.lookups.get(name)
    if known is not None and is_same(known.dictionary, array.dictionary):
        return known
    found = _Lookup(array.dictionary, encoder.texts)
    encoder.lookups[name] = found
    return found if len(found.dictionary) <= _MORE * len(array) else None


class _Column:
    """A column of the table and the place where its cells go."""

    def __init__(self, name: str, array: Array, encoder: Encoder) -> None:
        self.place = encoder.columns.find(name)
        self.tag = _TAGS[kind(array)]
        self.is_full = array.null_count == 0
        self._array = array
        self._texts = encoder.texts
        self._lookup = _lookup(name, array, encoder) if self.tag == TEXT else None

    def write(self, begin: int, tags: Tags, cells: Ints) -> None:
        """Write the cells of as many rows as there is room for; tags where some have none."""
        part = self._array.slice(begin, len(cells))
        found, there = self._cells(part), None if self.is_full else present(part)
        if there is None:
            cells[:, self.place] = found
            if not self.is_full:
                tags[:, self.place] = self.tag
        else:
            # Another column may hold the values of the same attribute in other rows.
            np.putmask(tags[:, self.place], there, np.uint8(self.tag))
            np.copyto(cells[:, self.place], found, where=there)

    def _cells(self, part: Array) -> Ints:
        if self._lookup is not None:
            return self._lookup.codes(part.indices)
        if self.tag == TEXT:
            return self._texts.codes(*text_bytes(strings(part)))
        found = numbers(part)
        cells: Ints = found.astype(np.int64) if self.tag == BOOL else found.view(np.int64)
        return cells


def _found(types: Array, known: Dictionary) -> Ints:
    """The codes of types; -1 for those that no rule looks at."""
    types = coded(types)
    lookup = np.array([known.find(name) for name in texts(types.dictionary)], np.int64)
    return lookup.take(numpy_of(types.indices))
