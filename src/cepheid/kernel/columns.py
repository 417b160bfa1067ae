"""Events as columns: what the kernel reads.

Every attribute that rules look at is a column over all types. A cell is 64 bits and a tag, so
that a column may hold whatever the types put there. Texts are codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cepheid.events import Event, Kind, Value, kind_of
from cepheid.kernel.texts import Texts
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
    """Codes for names, handed out in the order of appearance."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def code(self, name: str) -> int:
        """The code of a name, new if need be."""
        return self._codes.setdefault(name, len(self._codes))

    def find(self, name: str) -> int:
        """The code of a name, or -1."""
        return self._codes.get(name, -1)

    def names(self) -> list[str]:
        """All names, by code."""
        return list(self._codes)

    def ranks(self) -> Ints:
        """For every code the place of its name in the order of names."""
        ranks = np.zeros(max(1, len(self)), np.int64)
        ranks[[self._codes[name] for name in sorted(self._codes)]] = np.arange(len(self))
        return ranks

    def load(self, names: Iterable[str]) -> None:
        """Go on from these names."""
        self._codes = {name: code for code, name in enumerate(names)}


def text_codes(tags: Tags, cells: Ints) -> Ints:
    """The codes of texts among some cells."""
    codes: Ints = cells[tags == TEXT]
    return codes


class Encoder:
    """Turns events into columns, and cells back into values."""

    def __init__(self) -> None:
        self.types = Dictionary()
        self.columns = Dictionary()
        self.texts = Texts()
        self.lookups: dict[str, Any] = {}
        """What whoever encodes remembers of a column, by its name."""
        self._room = np.zeros(0, np.int64)

    def room(self, count: int) -> Ints:
        """Room for the cells of so many events, with anything in it.

        It is the same at the next call: memory that was never written takes longer to write.
        """
        needed = count * len(self.columns)
        if len(self._room) < needed:
            self._room = np.empty(needed, np.int64)
        return self._room[:needed].reshape(count, len(self.columns))

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
        return [_value(tag, bits, self.texts) for tag, bits in zip(tags, cells, strict=True)]


def _value(tag: int, bits: int, texts: Texts) -> Value | None:
    if tag == MISSING:
        return None
    if tag == TEXT:
        return texts[bits]
    if tag == DOUBLE:
        return float(np.int64(bits).view(np.float64))
    return bool(bits) if tag == BOOL else int(bits)
