"""The normal form of a table of events, which everything behind reading works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cepheid.events import Event, Kind, Value, kind_of
from cepheid.tables.arrow import (
    Array,
    Arrow,
    Ints,
    arrow_of,
    coded,
    is_same,
    kind,
    numpy_of,
    pa,
    single,
    slim,
    strings,
    text_array,
)

TEXT = pa.string()
TYPES = pa.dictionary(pa.int32(), TEXT)
ARROW = {
    Kind.STRING: TEXT,
    Kind.INT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.BOOL: pa.bool_(),
}
"""The types of Arrow that stand for kinds."""
_NUMPY = {Kind.INT: np.int64, Kind.DOUBLE: np.float64, Kind.BOOL: np.bool_}


@dataclass(frozen=True)
class Table:
    """Events as columns; the times are microseconds.

    `types` is a dictionary of texts. Columns are of int64, double, bool, or texts with or without
    a dictionary; what is missing is null, never NaN. An attribute whose values are of several
    kinds has a column of its own for each, of which at most one has a value in a row; so have ids.
    """

    types: Array
    starts: Ints
    ends: Ints
    ids: tuple[Array, ...] = ()
    columns: tuple[tuple[str, Array], ...] = ()

    def __len__(self) -> int:
        return len(self.ends)

    @staticmethod
    def empty() -> Table:
        """No events."""
        none = np.zeros(0, np.int64)
        return Table(pa.nulls(0, TYPES), none, none)

    def named(self, name: str) -> list[Array]:
        """The columns of an attribute."""
        return [array for own, array in self.columns if own == name]

    def kinds(self) -> dict[str, set[Kind]]:
        """The kinds of each attribute."""
        found: dict[str, set[Kind]] = {}
        for name, array in self.columns:
            found.setdefault(name, set()).add(kind(array))
        return found

    def take(self, rows: Ints) -> Table:
        """The events of some rows, in that order."""
        at = arrow_of(rows)
        return Table(
            self.types.take(at),
            self.starts[rows],
            self.ends[rows],
            tuple(array.take(at) for array in self.ids),
            tuple((name, array.take(at)) for name, array in self.columns),
        )

    def slice(self, begin: int, end: int) -> Table:
        """The events of neighbouring rows, without a copy."""
        length = end - begin
        return Table(
            self.types.slice(begin, length),
            self.starts[begin:end],
            self.ends[begin:end],
            tuple(array.slice(begin, length) for array in self.ids),
            tuple((name, array.slice(begin, length)) for name, array in self.columns),
        )

    def slim(self) -> Table:
        """The same events, with dictionaries that have no text which no event has."""
        return Table(
            slim(self.types),
            self.starts,
            self.ends,
            tuple(slim(array) for array in self.ids),
            tuple((name, slim(array)) for name, array in self.columns),
        )

    def memory(self) -> dict[int, int]:
        """Where the columns are, with all bytes that stay there for as long as they are used."""
        arrays = [self.types, *self.ids, *(array for _, array in self.columns)]
        buffers = (buffer for array in arrays for buffer in array.buffers() if buffer)
        return {buffer.address: buffer.size for buffer in buffers}

    def event(self, row: int) -> Event:
        """The event of a row."""
        attributes: dict[str, Value] = {}
        for name, array in self.columns:
            value = array[row].as_py()
            if value is not None:
                attributes[name] = value
        ids = (array[row].as_py() for array in self.ids)
        return Event(
            self.types[row].as_py(),
            int(self.starts[row]),
            int(self.ends[row]),
            attributes,
            next((value for value in ids if value is not None), None),
        )

    def written(self, compression: str | None = None) -> npt.NDArray[np.uint8]:
        """The table as bytes of Arrow's format for files and streams.

        Starts are left out where they are the ends.
        """
        fields = {"type": self.types, "end": arrow_of(self.ends)}
        if self.starts is not self.ends and not np.array_equal(self.starts, self.ends):
            fields["start"] = arrow_of(self.starts)
        fields |= {f"id {number}": array for number, array in enumerate(self.ids)}
        fields |= {
            f"attribute {number} {name}": array for number, (name, array) in enumerate(self.columns)
        }
        batch = pa.RecordBatch.from_pydict(fields)
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_stream(sink, batch.schema, options=options) as stream:
            stream.write_batch(batch)
        return np.frombuffer(sink.getvalue(), np.uint8)

    @staticmethod
    def read(data: npt.NDArray[np.uint8]) -> Table:
        """The table that bytes stand for."""
        (batch,) = pa.ipc.open_stream(pa.py_buffer(data.tobytes()))
        named = list(zip(batch.schema.names, batch.columns, strict=True))
        ends = numpy_of(batch.column("end"))
        return Table(
            batch.column("type"),
            numpy_of(batch.column("start")) if "start" in batch.schema.names else ends,
            ends,
            tuple(array for name, array in named if name.startswith("id ")),
            tuple(
                (name.split(" ", 2)[2], array)
                for name, array in named
                if name.startswith("attribute ")
            ),
        )


def from_events(events: Sequence[Event]) -> Table:
    """Events as a table; there is a loop over them, for they are objects already."""
    places: dict[tuple[str, Kind], list[Value | None]] = {}
    ids: dict[Kind, list[Value | None]] = {}
    for row, event in enumerate(events):
        for name, value in event.attributes.items():
            _put(places, (name, kind_of(value)), row, value, len(events))
        if event.id is not None:
            _put(ids, kind_of(event.id), row, event.id, len(events))
    return Table(
        text_array(event.type for event in events).dictionary_encode(),
        np.array([event.start for event in events], np.int64),
        np.array([event.end for event in events], np.int64),
        tuple(_array(own, values) for own, values in ids.items()),
        tuple((name, _array(own, values)) for (name, own), values in places.items()),
    )


K = TypeVar("K")


def _put(places: dict[K, list[Value | None]], key: K, row: int, value: Value, count: int) -> None:
    if key not in places:
        places[key] = [None] * count
    places[key][row] = value


def _array(own: Kind, values: Sequence[Value | None]) -> Array:
    if own is Kind.STRING:
        return text_array(None if value is None else str(value) for value in values)
    missing = np.array([value is None for value in values], np.bool_)
    given: npt.NDArray[Any] = np.array(
        [0 if value is None else value for value in values], _NUMPY[own]
    )
    return arrow_of(given, missing if missing.any() else None)


def concat(tables: Sequence[Table]) -> Table:
    """The events of several tables, one table after the other."""
    if len(tables) == 1:
        return tables[0]
    if not tables:
        return Table.empty()
    lengths = [len(table) for table in tables]
    return Table(
        _joined([table.types for table in tables], lengths),
        np.concatenate([table.starts for table in tables]),
        np.concatenate([table.ends for table in tables]),
        tuple(array for _, array in _stacked([[("", a) for a in t.ids] for t in tables], lengths)),
        tuple(_stacked([table.columns for table in tables], lengths)),
    )


def _stacked(
    tables: Sequence[Sequence[tuple[str, Array]]], lengths: Sequence[int]
) -> list[tuple[str, Array]]:
    """Columns of one name and kind on top of each other; a gap where a table has none."""
    places: dict[tuple[str, Kind], list[Array | None]] = {}
    for number, columns in enumerate(tables):
        for name, array in columns:
            place = places.setdefault((name, kind(array)), [None] * len(tables))
            place[number] = array
    return [(name, _joined(arrays, lengths)) for (name, _), arrays in places.items()]


def _joined(arrays: Sequence[Array | None], lengths: Sequence[int]) -> Array:
    known = [array for array in arrays if array is not None]
    wanted = known[0].type
    if any(array.type != wanted for array in known):
        # Texts in different forms; whole texts can hold them all.
        wanted = pa.large_string()
        arrays = [None if array is None else strings(array).cast(wanted) for array in arrays]
    elif pa.types.is_dictionary(wanted):
        if all(is_same(array.dictionary, known[0].dictionary) for array in known):
            indices = [None if array is None else array.indices for array in arrays]
            joined = _single(indices, lengths, wanted.index_type)
            return pa.DictionaryArray.from_arrays(joined, known[0].dictionary)
        # Dictionaries are put together: only with texts that are in some row.
        wanted = pa.dictionary(pa.int32(), wanted.value_type)
        arrays = [None if array is None else coded(array).cast(wanted) for array in arrays]
    return _single(arrays, lengths, wanted)


def _single(arrays: Sequence[Array | None], lengths: Sequence[int], wanted: Arrow) -> Array:
    """Arrays of one type in one piece."""
    pieces = [
        pa.nulls(length, wanted) if array is None else array
        for array, length in zip(arrays, lengths, strict=True)
    ]
    return single(pa.chunked_array(pieces, wanted))
