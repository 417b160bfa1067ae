"""One event as a batch of one row: the short way of an event that comes alone."""

from __future__ import annotations

import numpy as np

from cepheid.events import Event
from cepheid.kernel.columns import Batch, Encoder
from cepheid.kernel.values import BOOL, DOUBLE, INT, TEXT


class Row:
    """Writes events into the same row again and again; made anew when the columns change."""

    def __init__(self, encoder: Encoder) -> None:
        width = len(encoder.columns)
        self._types = {name: code for code, name in enumerate(encoder.types.texts())}
        self._columns = {name: code for code, name in enumerate(encoder.columns.texts())}
        self._texts = encoder.texts
        self._batch = Batch(
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.zeros((1, width), np.uint8),
            np.zeros((1, width), np.int64),
        )
        self._tags = self._batch.tags[0]
        self._cells = self._batch.cells[0]
        # The same bits as doubles, so that a double is written without being converted.
        self._doubles = self._cells.view(np.float64)
        self.is_looked_at = False

    def encode(self, event: Event, origin: int) -> Batch:
        """The event as a batch, which is good until the next one."""
        batch = self._batch
        code = self._types.get(event.type, -1)
        batch.origins[0], batch.types[0] = origin, code
        batch.starts[0], batch.ends[0] = event.start, event.end
        self.is_looked_at = code >= 0
        if code >= 0:
            self._tags.fill(0)
            self._cells.fill(0)
            for name, value in event.attributes.items():
                column = self._columns.get(name)
                if column is not None:
                    self._write(column, value)
        return batch

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
