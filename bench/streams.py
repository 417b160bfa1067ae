"""Random streams, made directly as columns: what the kernel reads and the oracle can read too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cepheid.events import Event, Value

if TYPE_CHECKING:
    from cepheid.kernel.columns import Batch, Encoder

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SECOND = 1_000_000
"""Microseconds in a second: the kernel's unit of time."""


@dataclass(frozen=True)
class Column:
    """Values of an attribute, one per event: ints, or codes of `texts`; `present` says where."""

    values: Ints
    texts: tuple[str, ...] = ()
    present: Bools | None = None

    def head(self, count: int) -> Column:
        """The column of the first events."""
        present = None if self.present is None else self.present[:count]
        return replace(self, values=self.values[:count], present=present)

    def where(self, kept: Bools) -> Column:
        """The column of the events that are kept."""
        present = None if self.present is None else self.present[kept]
        return replace(self, values=self.values[kept], present=present)

    def at(self, row: int) -> Value | None:
        """The value of one event."""
        if self.present is not None and not self.present[row]:
            return None
        value = int(self.values[row])
        return self.texts[value] if self.texts else value


@dataclass(frozen=True)
class Stream:
    """Events in the total order: `kinds` are places in `names`, times are in microseconds."""

    names: tuple[str, ...]
    kinds: Ints
    times: Ints
    columns: Mapping[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.kinds)

    def head(self, count: int) -> Stream:
        """The first events of the stream."""
        columns = {name: column.head(count) for name, column in self.columns.items()}
        return Stream(self.names, self.kinds[:count], self.times[:count], columns)

    def where(self, kept: Bools) -> Stream:
        """Only the events that are kept."""
        columns = {name: column.where(kept) for name, column in self.columns.items()}
        return Stream(self.names, self.kinds[kept], self.times[kept], columns)

    def again(self, after: int) -> Stream:
        """The stream twice, the second time so much later."""
        columns = {
            name: Column(np.tile(column.values, 2), column.texts, _twice(column.present))
            for name, column in self.columns.items()
        }
        times = np.concatenate((self.times, self.times + after))
        return Stream(self.names, np.tile(self.kinds, 2), times, columns)

    def rows(self, name: str) -> Ints:
        """The rows of the events of a type."""
        return np.flatnonzero(self.kinds == self.names.index(name))

    def rows_by_kind(self) -> list[Ints]:
        """The rows of the events of each type, by its place in the names."""
        order = np.argsort(self.kinds, kind="stable")
        ends = np.searchsorted(self.kinds[order], np.arange(1, len(self.names)))
        return [np.asarray(rows, np.int64) for rows in np.split(order, ends)]

    def events(self) -> list[Event]:
        """The stream as events; the row is the id, which keeps ties in the order of the rows."""
        return [
            Event(
                self.names[self.kinds[row]],
                int(self.times[row]),
                int(self.times[row]),
                {
                    name: value
                    for name, column in self.columns.items()
                    if (value := column.at(row)) is not None
                },
                id=row,
            )
            for row in range(len(self))
        ]

    def table(self) -> Any:  # noqa: ANN401 (a table of Arrow)
        """The stream as a table, with times in microseconds."""
        import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

        def column(one: Column) -> Any:  # noqa: ANN401 (an array of Arrow)
            found = pa.array(one.values, mask=None if one.present is None else ~one.present)
            return pa.array(one.texts).take(found) if one.texts else found

        columns = {name: column(one) for name, one in self.columns.items()}
        types = pa.array(self.names).take(pa.array(self.kinds))
        return pa.table({"type": types, "ts": self.times, **columns})

    def batch(self, encoder: Encoder) -> Batch:
        """The whole stream as the kernel reads it, for the rules that the encoder knows."""
        from cepheid.kernel.columns import Batch

        codes = np.array([encoder.types.find(name) for name in self.names], np.int64)
        shape = (len(self), len(encoder.columns))
        tags, cells = np.zeros(shape, np.uint8), np.zeros(shape, np.int64)
        for name, column in self.columns.items():
            place = encoder.columns.find(name)
            if place >= 0:
                tags[:, place], cells[:, place] = _cells(column, encoder)
        origins = np.arange(len(self), dtype=np.int64)
        return Batch(origins, codes[self.kinds], self.times, self.times, tags, cells)


def _twice(present: Bools | None) -> Bools | None:
    return None if present is None else np.tile(present, 2)


def _cells(column: Column, encoder: Encoder) -> tuple[npt.NDArray[np.uint8], Ints]:
    from cepheid.kernel.values import INT, MISSING, TEXT

    codes = np.array([encoder.texts.code(text) for text in column.texts], np.int64)
    tags = np.full(len(column.values), TEXT if column.texts else INT, np.uint8)
    if column.present is not None:
        tags[~column.present] = MISSING
    return tags, codes[column.values] if column.texts else column.values


def parts(batch: Batch, size: int) -> list[Batch]:
    """A batch cut into batches of a size; no column is copied."""
    cuts = range(0, len(batch.origins), size)
    return [type(batch)._make(column[cut : cut + size] for column in batch) for cut in cuts]


def every(count: int, gap: int) -> Ints:
    """Times of events that come one after the other, a gap apart."""
    return np.arange(count, dtype=np.int64) * gap


def uneven(random: np.random.Generator, count: int, rate: float) -> Ints:
    """Times of events that come at random at a rate per second, no two at the same time."""
    gaps = random.exponential(SECOND / rate, count).astype(np.int64) + 1
    return np.cumsum(gaps, dtype=np.int64)
