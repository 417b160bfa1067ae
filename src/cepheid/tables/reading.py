"""Reading: tables of pandas, polars and Arrow become events in normal form.

Whatever cannot be read is told with its column and its row, counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.errors import EventError
from cepheid.events import Kind, Schema
from cepheid.records import Clock
from cepheid.tables.arrow import (
    Array,
    Bools,
    Ints,
    arrow_of,
    codes,
    kind,
    numbers,
    pa,
    pc,
    present,
    text_array,
)
from cepheid.tables.frames import Frame, columns_of, frame_of
from cepheid.tables.outputs import ANY, Kinds
from cepheid.tables.table import TYPES, Table, concat
from cepheid.tables.times import Times
from cepheid.units import INT_MAX

OWN = ("type", "ts", "start")
"""Columns that are no attributes."""
_HINTS: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (pa.types.is_decimal, "convert it to double, or to integers of a smaller unit"),
    (pa.types.is_temporal, "convert it to integers, such as microseconds since 1970, or to text"),
    (pa.types.is_nested, "leave the column out, or give each of its parts a column of its own"),
)


@dataclass(frozen=True)
class Reading:
    """Events in normal form, with the form of the table that they came in."""

    table: Table
    frame: Frame
    times: Times
    kinds: Mapping[str, Kinds]
    """The attributes of the types, by type where each has a table of its own; see outputs."""


def read(events: object, clock: Clock, schema: Schema) -> Reading:
    """A table of events, or a mapping from types to tables."""
    if isinstance(events, Mapping):
        return _read_mapping(events, clock, schema)
    columns = columns_of(events)
    types = _types(_needed(columns, "type"))
    times = Times.of(_needed(columns, "ts"), clock)
    table = _table(columns, types, times, schema)
    kinds = _kinds(columns, table, {})
    of_type = {type_: _kinds(columns, table, declared) for type_, declared in schema.items()}
    return Reading(table, frame_of(events), times, {ANY: kinds, **of_type})


def _read_mapping(tables: Mapping[Any, object], clock: Clock, schema: Schema) -> Reading:
    frames = [frame_of(table) for table in tables.values()]
    if not frames:
        raise EventError("a mapping of tables must have at least one table; got none")
    if len(set(frames)) > 1:
        names = " and ".join(sorted({str(frame) for frame in frames}))
        raise EventError(f"tables of a mapping must be of one library; got {names}")
    found: dict[str, Table] = {}
    kinds: dict[str, Kinds] = {}
    times: Times | None = None
    for type_, table in tables.items():
        try:
            columns = columns_of(table)
            times = times or Times.of(_needed(columns, "ts"), clock)
            own = _table(columns, _types_of(str(type_), columns), times, schema)
            declared = schema.get(str(type_), {})
            found[str(type_)], kinds[str(type_)] = own, _kinds(columns, own, declared)
        except EventError as error:
            raise EventError(f"table {type_}: {error}") from None
    assert times is not None  # noqa: S101 (there is at least one table)
    return Reading(concat(list(found.values())), frames[0], times, kinds)


def _kinds(columns: Mapping[str, Array], table: Table, declared: Mapping[str, Kind]) -> Kinds:
    """The kinds of attributes; that of a column without any value is the one that is declared."""
    return {
        name: declared.get(name) if pa.types.is_null(columns[name].type) else kind(array)
        for name, array in table.columns
    }


def _needed(columns: Mapping[str, Array], name: str) -> Array:
    if name not in columns:
        raise EventError(
            f"table must have a column {name}; got {', '.join(columns) or 'no column'}\n\n"
            "hint: rename the column that holds it; an index is not a column"
        )
    return columns[name]


def _table(columns: Mapping[str, Array], types: Array, times: Times, schema: Schema) -> Table:
    ends, there = times.read(columns["ts"], "ts")
    _check(there, "column ts must have a time in every row", "none")
    starts = _starts(columns, ends, times)
    own = [(name, _attribute(name, array)) for name, array in columns.items() if name not in OWN]
    ids = tuple(array for name, array in own if name == "id")
    table = Table(types, starts, ends, ids, tuple(own))
    _check_kinds(table, schema)
    return table


def _starts(columns: Mapping[str, Array], ends: Ints, times: Times) -> Ints:
    if "start" not in columns:
        return ends
    starts, there = times.read(columns["start"], "start")
    if there is not None:
        starts = np.where(there, starts, ends)
    _check(starts <= ends, "column start must not lie after column ts", "a later start")
    return starts


def _check(good: Bools | None, requirement: str, got: str) -> None:
    if good is not None and not good.all():
        raise EventError(f"{requirement}; got {got} in row {int(np.argmin(good))}")


def _types(column: Array) -> Array:
    """The column of types, as a dictionary of texts."""
    if pa.types.is_null(column.type) and len(column) == 0:
        return pa.nulls(0, TYPES)
    column = _attribute("type", column)
    if kind(column) is not Kind.STRING:
        raise EventError(f"column type must hold texts; got {column.type}")
    _check(present(column), "column type must have a text in every row", "none")
    return _dictionary(column)


def _types_of(type_: str, columns: Mapping[str, Array]) -> Array:
    """The types of a table in a mapping; a column of types may only repeat the mapping's key."""
    if "type" in columns:
        found, names = codes(_types(columns["type"]))
        same = np.array([name == type_ for name in names.to_pylist()], np.bool_)
        _check(same[found], f"column type must be {type_} in every row", "another type")
    count = len(columns["ts"])
    return pa.DictionaryArray.from_arrays(arrow_of(np.zeros(count, np.int32)), text_array([type_]))


def _dictionary(column: Array) -> Array:
    """A column of texts with the dictionary that types have."""
    if column.type == TYPES:
        return column
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        column.indices.cast(pa.int32()), column.dictionary.cast(pa.string())
    )


def _attribute(name: str, column: Array) -> Array:
    """A column in normal form: int64, double, bool or texts."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        return _decoded(name, column)
    if pa.types.is_null(type_):
        return pa.nulls(len(column), pa.string())
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_boolean(type_):
        return column
    if pa.types.is_string_view(type_):
        return column.cast(pa.large_string())
    if pa.types.is_integer(type_):
        return _whole(name, column)
    if pa.types.is_floating(type_):
        return _real(column)
    raise EventError(
        f"column {name} must hold strings, ints, doubles or bools; got {type_}\n\n"
        f"hint: {_hint(type_)}"
    )


def _hint(type_: Any) -> str:  # noqa: ANN401 (pyarrow has no types)
    found = (hint for is_it, hint in _HINTS if is_it(type_))
    return next(found, "leave the column out, or convert it to text")


def _decoded(name: str, column: Array) -> Array:
    """A column with a dictionary; one of texts keeps it, unless it has gaps of its own."""
    texts = pa.types.is_string(column.type.value_type) or pa.types.is_large_string(
        column.type.value_type
    )
    if texts and column.dictionary.null_count == 0:
        return column
    return _attribute(name, column.dictionary_decode())


def _whole(name: str, column: Array) -> Array:
    if pa.types.is_uint64(column.type):
        values = numbers(column)
        _check(values <= np.uint64(INT_MAX), f"column {name} must fit into 64 bits", "more")
    return column if pa.types.is_int64(column.type) else column.cast(pa.int64())


def _real(column: Array) -> Array:
    """Doubles, with null instead of NaN."""
    column = column if pa.types.is_float64(column.type) else column.cast(pa.float64())
    if not np.isnan(numbers(column)).any():
        return column
    return pc.if_else(pc.is_nan(column), None, column)


def _check_kinds(table: Table, schema: Schema) -> None:
    """An attribute that the schema declares must have the type that it says."""
    if not schema:
        return
    found, names = codes(table.types)
    for code, type_ in enumerate(names.to_pylist()):
        for name, wanted in schema.get(type_, {}).items():
            for column in table.named(name):
                own = kind(column)
                if own == wanted or (wanted is Kind.DOUBLE and own is Kind.INT):
                    continue
                there = present(column)
                wrong = (found == code) if there is None else (found == code) & there
                _check(~wrong, f"column {name} of event {type_} must be {wanted}", str(own))
