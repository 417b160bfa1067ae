"""One event as a batch of one row: the short way of an event that comes alone."""

from __future__ import annotations

from struct import Struct
from typing import Any

import numpy as np

from cepheid.events import Event
from cepheid.kernel.columns import Batch, Encoder
from cepheid.kernel.values import BOOL, DOUBLE, INT, TEXT

_PACK = Struct("=4q").pack_into


class Row:
    """Writes events into the same row again and again; made anew when the columns change."""

    def __init__(self, encoder: Encoder) -> None:
        width = len(encoder.columns)
        self._types = {name: code for code, name in enumerate(encoder.types.names())}
        self._columns = {name: code for code, name in enumerate(encoder.columns.names())}
        self._texts = encoder.texts
        heads: Any = np.zeros(4, np.int64)
        tags, cells = np.zeros((1, width), np.uint8), np.zeros((1, width), np.int64)
        self._batch = Batch(heads[:1], heads[1:2], heads[2:3], heads[3:], tags, cells)
        # Views of the same memory that are written to faster than arrays; a double is written
        # without being converted.
        self._heads = memoryview(heads).cast("B")
        self._tags: Any = memoryview(tags[0])
        self._cells: Any = memoryview(cells[0])
        self._doubles: Any = memoryview(cells[0].view(np.float64))
        self._no_tags, self._no_cells = memoryview(tags[0].copy()), memoryview(cells[0].copy())
        self.is_looked_at = False

    def encode(self, event: Event, origin: int) -> Batch:
        """The event as a batch, which is good until the next one."""
        code = self._types.get(event.type, -1)
        _PACK(self._heads, 0, origin, code, event.start, event.end)
        self.is_looked_at = code >= 0
        if code >= 0:
            self._tags[:], self._cells[:] = self._no_tags, self._no_cells
            for name, value in event.attributes.items():
                column = self._columns.get(name)
                if column is not None:
                    self._write(column, value)
        return self._batch

    def _write(self, column: int, value: str | float) -> None:
        kind = type(value)
        if kind is float:
            self._tags[column], self._doubles[column] = DOUBLE, value
        elif kind is str:
            self._tags[column], self._cells[column] = TEXT, self._texts.code(value)  # type: ignore[arg-type]  # a text, see above
        elif kind is int:
            self._tags[column], self._cells[column] = INT, value
        elif isinstance(value, bool):
            self._tags[column], self._cells[column] = BOOL, value
        elif isinstance(value, str):
            # Values of subclasses, such as numpy's.
            self._write(column, str(value))
        else:
            self._write(column, float(value) if isinstance(value, float) else int(value))
