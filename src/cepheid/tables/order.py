"""The total order over columns: what `cepheid.events.Order` says of two events, as a permutation.

Most tables are in order by their ends alone. What is tied is refined step by step: by start, id,
type and content, each step looking only at the rows that are still tied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cepheid.events import Kind, Schema
from cepheid.tables.arrow import (
    Array,
    Bools,
    Ints,
    arrow_of,
    codes,
    kind,
    numbers,
    numpy_of,
    pa,
    pc,
    present,
)
from cepheid.tables.table import Table
from cepheid.units import INT_MAX

Key = npt.NDArray[np.int64] | npt.NDArray[np.float64]
"""Something to sort by."""

_EXACT = 2.0**63
_NOTHING, _BOOL, _NUMBER, _TEXT, _SOURCE = 0, 1, 2, 3, 4
"""The classes of values, in their order; see `cepheid.events`."""


@dataclass(frozen=True)
class Ordering:
    """The rows of a table in the total order.

    `rows` is None when the table is in order already. `ranks` has equal numbers for events that
    are equal in everything; None when there are none.
    """

    rows: Ints | None
    ranks: Ints | None


class Ties:
    """Rows in an order that is being refined: `groups` tells which of them are still tied."""

    def __init__(self, rows: Ints, groups: Ints) -> None:
        self.places = np.arange(len(rows))
        self.rows = rows
        self.groups = groups
        self.order = rows.copy()
        self.starts = np.zeros(len(rows), np.bool_)
        self._settle(rows, groups)

    @staticmethod
    def by(values: Ints) -> Ties:
        """Rows in the order of values."""
        rows = np.argsort(values, kind="stable")
        ordered = values[rows]
        groups = np.zeros(len(rows), np.int64)
        np.cumsum(ordered[1:] != ordered[:-1], out=groups[1:])
        return Ties(rows, groups)

    def refine(self, *keys: Key) -> None:
        """Sort rows that are tied by keys, the first counting most."""
        rows, groups = self.rows, self.groups
        equal, in_order = _compared(groups, keys)
        if not in_order:
            order = np.lexsort((*reversed(keys), groups))
            rows, groups = rows[order], groups[order]
            equal, _ = _compared(groups, [key[order] for key in keys])
        elif bool((equal == (groups[1:] == groups[:-1])).all()):
            return  # nothing is told apart
        groups = np.zeros(len(rows), np.int64)
        np.cumsum(~equal, out=groups[1:])
        self._settle(rows, groups)

    def _settle(self, rows: Ints, groups: Ints) -> None:
        """Write the rows down at their places, and go on with those that share a group."""
        self.order[self.places] = rows
        if len(rows):
            first = np.concatenate([[True], groups[1:] != groups[:-1]])
            self.starts[self.places] = first
            alone = first & np.concatenate([first[1:], [True]])
            self.places, self.rows, self.groups = (
                self.places[~alone],
                rows[~alone],
                groups[~alone],
            )

    def __bool__(self) -> bool:
        return len(self.rows) > 0

    def ranks(self) -> Ints:
        """For each place that of the first row that is tied with it."""
        places = np.arange(len(self.order))
        return np.maximum.accumulate(np.where(self.starts, places, 0))


def _compared(groups: Ints, keys: Sequence[Key]) -> tuple[Bools, bool]:
    """Which rows are equal to those before them, and whether all are in order within groups."""
    equal: Bools = groups[1:] == groups[:-1]
    for key in keys:
        before, after = key[:-1], key[1:]
        if bool((equal & (before > after)).any()):
            return equal, False
        equal = equal & (before == after)
    return equal, True


def ordering(table: Table, schema: Schema | None = None) -> Ordering:
    """The rows of a table in the total order."""
    ends = table.ends
    if bool((ends[1:] > ends[:-1]).all()):
        return Ordering(None, None)
    ties = Ties.by(ends)
    for keys in _steps(table, schema or Schema(), ties):
        ties.refine(*keys)
        if not ties:
            break
    in_order = bool((ties.order[1:] > ties.order[:-1]).all())
    return Ordering(None if in_order else ties.order, ties.ranks() if ties else None)


def _steps(table: Table, schema: Schema, ties: Ties) -> Iterator[Sequence[Key]]:
    """What to sort by, step by step; each step looks at the rows that are still tied."""
    yield (table.starts[ties.rows],)
    yield from _identity(table, ties)
    types, names = codes(table.types)
    yield (text_ranks(names)[types[ties.rows]],)
    for declared, members in _declarations(names.to_pylist(), schema).items():
        yield from _content(table, declared, members[types], ties)


def _declarations(types: Sequence[str], schema: Schema) -> dict[tuple[str, ...], Bools]:
    """The types that have the same attributes declared, which are ordered in one go."""
    found: dict[tuple[str, ...], Bools] = {}
    for code, type_ in enumerate(types):
        declared = tuple(schema.get(type_, ()))
        found.setdefault(declared, np.zeros(len(types), np.bool_))[code] = True
    return found


def _content(
    table: Table, declared: Sequence[str], own: Bools, ties: Ties
) -> Iterator[Sequence[Key]]:
    """Attributes in the order of the schema, then the others; for the rows that are `own`."""
    for name in declared:
        if not own[ties.rows].any():
            return
        yield _only(own[ties.rows], value_keys(_taken(table, name, ties.rows)))
    rest = sorted({name for name, _ in table.columns} - set(declared))
    yield from _optional(table, rest, own, ties)


def _identity(table: Table, ties: Ties) -> Iterator[Sequence[Key]]:
    """The id, or where there is none, source and number."""
    rows = ties.rows
    ids = _keys([array.take(arrow_of(rows)) for array in table.ids], len(rows))
    sources = value_keys(_taken(table, "source", rows))
    numbers_ = value_keys(_taken(table, "seq", rows))
    numbered = (ids[0] == _NOTHING) & (sources[0] != _NOTHING) & (numbers_[0] != _NOTHING)
    zero = np.int64(0)
    yield (
        np.where(numbered, _SOURCE, ids[0]),
        *ids[1:],
        *(np.where(numbered, key, zero) for key in sources),
        *(np.where(numbered, key, zero) for key in numbers_),
    )


def _only(here: Bools, keys: Sequence[Key]) -> Sequence[Key]:
    """Keys that count for some of the rows; the others stay tied."""
    return [np.where(here, key, key.dtype.type(0)) for key in keys]


def _optional(
    table: Table, names: Sequence[str], own: Bools, ties: Ties
) -> Iterator[Sequence[Key]]:
    """Attributes that the schema does not name: those that an event has, by name and value.

    Where one event has an attribute and the other has not, the other goes on with a later name,
    which makes it greater, or has no further attributes, which makes it smaller.
    """
    for name, has_later in zip(names, _later(table, names), strict=True):
        rows = ties.rows
        if not own[rows].any():
            return
        keys = value_keys(_taken(table, name, rows))
        absent = np.where(has_later[rows], 1, -1)
        yield _only(own[rows], [np.where(keys[0] == _NOTHING, absent, 0), *keys])


def _later(table: Table, names: Sequence[str]) -> list[Bools]:
    """For every name, which rows have an attribute of a later name."""
    found: list[Bools] = []
    any_later = np.zeros(len(table), np.bool_)
    for name in reversed(names):
        found.append(any_later)
        for array in table.named(name):
            there = present(array)
            any_later = any_later | (True if there is None else there)
    return found[::-1]


def _taken(table: Table, name: str, rows: Ints) -> list[Array]:
    return [array.take(arrow_of(rows)) for array in table.named(name)] or [
        pa.nulls(len(rows), pa.bool_())
    ]


def value_keys(arrays: Sequence[Array]) -> tuple[Key, ...]:
    """Keys that order the values of an attribute: by class, then exactly by value."""
    return _keys(arrays, len(arrays[0]))


def _keys(arrays: Sequence[Array], count: int) -> tuple[Key, ...]:
    classes = np.zeros(count, np.int64)
    values = np.zeros(count, np.float64)
    rests = np.zeros(count, np.int64)
    for array in arrays:
        there = present(array)
        where = np.ones(count, np.bool_) if there is None else there
        own, value, rest = _key(array)
        classes[where] = own
        values[where] = value[where]
        rests[where] = rest[where]
    return classes, values, rests


def _key(array: Array) -> tuple[int, Key, Key]:
    """The class of a column's values, their nearest doubles, and what they differ from them."""
    own = kind(array)
    if own is Kind.STRING:
        found, known = codes(array)
        ranks = np.append(text_ranks(known), 0)
        return _TEXT, np.zeros(len(array)), ranks[found]
    values = numbers(array)
    if own is Kind.INT:
        nearest = values.astype(np.float64)
        beyond = nearest >= _EXACT
        whole = np.where(beyond, 0.0, nearest).astype(np.int64)
        return _NUMBER, nearest, np.where(beyond, values - INT_MAX - 1, values - whole)
    return (
        _NUMBER if own is Kind.DOUBLE else _BOOL,
        values.astype(np.float64),
        np.zeros(len(array), np.int64),
    )


def text_ranks(known: Array) -> Ints:
    """For every text of a dictionary its place in the order of texts, which is that of UTF-8."""
    if len(known) == 0:
        return np.zeros(1, np.int64)
    return numpy_of(pc.rank(known, tiebreaker="dense")).astype(np.int64)
