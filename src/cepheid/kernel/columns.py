"""Events as columns: what the kernel reads.

Every attribute that rules look at is a column over all types. A cell is 64 bits and a tag, so
that a column may hold whatever the types put there. Texts are codes of a dictionary that grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cepheid.events import Event, Kind, Value, kind_of
from cepheid.kernel.values import BOOL, DOUBLE, INT, MISSING, TEXT, Ints, Tags

_TAGS = {Kind.INT: INT, Kind.DOUBLE: DOUBLE, Kind.STRING: TEXT, Kind.BOOL: BOOL}


class Batch(NamedTuple):
    """Events in the order they are consumed, as arrays; cells and tags have a line per event.

    `origins` are numbers by which the caller knows the events: increasing, from 0 on. A type of
    -1 is one that no rule looks at.
    """

    origins: Ints
    types: Ints
    starts: Ints
    ends: Ints
    tags: Tags
    cells: Ints


class Dictionary:
    """Codes for names and texts, handed out in the order of appearance."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, code: int) -> str:
        """The text of a code."""
        return self._texts[code]

    def code(self, text: str) -> int:
        """The code of a text, new if need be."""
        found = self._codes.get(text)
        if found is None:
            found = self._codes[text] = len(self._texts)
            self._texts.append(text)
        return found

    def find(self, text: str) -> int:
        """The code of a text, or -1."""
        return self._codes.get(text, -1)

    def texts(self) -> list[str]:
        """All texts, by code."""
        return list(self._texts)

    def ranks(self) -> Ints:
        """For every code the place of its text in the order of texts."""
        ranks = np.empty(max(1, len(self._codes)), np.int64)
        for rank, text in enumerate(sorted(self._codes)):
            ranks[self._codes[text]] = rank
        return ranks


class Encoder:
    """Turns events into columns, and cells back into values."""

    def __init__(self) -> None:
        self.types = Dictionary()
        self.columns = Dictionary()
        self.texts = Dictionary()

    def cell(self, value: Value | None) -> tuple[int, int]:
        """The tag and the bits of a value."""
        if value is None:
            return MISSING, 0
        tag = _TAGS[kind_of(value)]
        if tag == TEXT:
            return TEXT, self.texts.code(str(value))
        if tag == DOUBLE:
            return DOUBLE, int(np.float64(value).view(np.int64))
        return tag, int(value)

    def encode(self, events: Sequence[Event], first: int) -> Batch:
        """Events in the total order as a batch; what no rule looks at is left out.

        The origin of the first event is `first`, that of the next one more, and so on.
        """
        count, width = len(events), len(self.columns)
        batch = Batch(
            np.arange(first, first + count, dtype=np.int64),
            np.full(count, -1, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.zeros((count, width), np.uint8),
            np.zeros((count, width), np.int64),
        )
        for row, event in enumerate(events):
            batch.types[row] = self.types.find(event.type)
            batch.starts[row], batch.ends[row] = event.start, event.end
            for name, value in event.attributes.items():
                column = self.columns.find(name)
                if column >= 0:
                    batch.tags[row, column], batch.cells[row, column] = self.cell(value)
        return batch

    def decode(self, tags: Iterable[int], cells: Iterable[int]) -> list[Value | None]:
        """Cells as values."""
        texts = self.texts.texts()
        return [_value(tag, bits, texts) for tag, bits in zip(tags, cells, strict=True)]


def _value(tag: int, bits: int, texts: list[str]) -> Value | None:
    if tag == MISSING:
        return None
    if tag == TEXT:
        return texts[bits]
    if tag == DOUBLE:
        return float(np.int64(bits).view(np.float64))
    return bool(bits) if tag == BOOL else int(bits)
