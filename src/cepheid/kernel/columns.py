"""Events as columns: what the kernel reads.

Every attribute that rules look at is a column over all types. A cell is 64 bits and a tag, so
that a column may hold whatever the types put there. Texts are codes of a dictionary, which gives
up those that nothing refers to any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from cepheid.events import Event, Kind, Value, kind_of
from cepheid.kernel.values import BOOL, DOUBLE, INT, MISSING, TEXT, Ints, Tags

_TAGS = {Kind.INT: INT, Kind.DOUBLE: DOUBLE, Kind.STRING: TEXT, Kind.BOOL: BOOL}
_FEW_TEXTS = 1024
"""So many texts may be kept without need before they are looked through."""


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
    """Codes for names and texts, handed out in the order of appearance.

    Codes that `keep` gives up are handed out again, the smallest first.
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str | None] = []
        self._free: list[int] = []
        self._pinned: set[int] = set()
        self._pinning = False
        self._kept = 0
        self.version = 0
        """Goes up with every text that gets a code."""

    def __len__(self) -> int:
        """One more than the largest code."""
        return len(self._texts)

    def __getitem__(self, code: int) -> str:
        """The text of a code."""
        text = self._texts[code]
        assert text is not None  # noqa: S101 (nobody holds codes that were given up)
        return text

    def code(self, text: str) -> int:
        """The code of a text, new if need be."""
        found = self._codes.get(text)
        if found is None:
            self._add([text])
            found = self._codes[text]
        if self._pinning:
            self._pinned.add(found)
        return found

    def codes(self, texts: Sequence[str]) -> Ints:
        """The codes of many texts, new where need be."""
        self._add(list(dict.fromkeys(text for text in texts if text not in self._codes)))
        return np.fromiter(map(self._codes.__getitem__, texts), np.int64, len(texts))

    def _add(self, new: list[str]) -> None:
        """Give codes to texts that have none: those that were given up, then larger ones."""
        self.version += len(new)
        again = [self._free.pop() for _ in range(min(len(new), len(self._free)))]
        for code, text in zip(again, new, strict=False):
            self._texts[code] = text
        first, rest = len(self._texts), new[len(again) :]
        self._texts += rest
        self._codes.update(zip(new, (*again, *range(first, first + len(rest))), strict=True))

    def find(self, text: str) -> int:
        """The code of a text, or -1."""
        return self._codes.get(text, -1)

    def texts(self) -> list[str]:
        """All texts, by code; of a dictionary that has given up none."""
        return [self[code] for code in range(len(self))]

    def ranks(self) -> Ints:
        """For every code the place of its text in the order of texts."""
        ranks = np.zeros(max(1, len(self)), np.int64)
        for rank, text in enumerate(sorted(self._codes)):
            ranks[self._codes[text]] = rank
        return ranks

    # --- giving up -----------------------------------------------------------

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Within this, texts get codes that are never given up."""
        self._pinning = True
        try:
            yield
        finally:
            self._pinning = False

    @property
    def is_large(self) -> bool:
        """Whether there may be as many texts without need as with it."""
        return self._loose > 2 * self._kept + _FEW_TEXTS

    @property
    def _loose(self) -> int:
        return len(self._codes) - len(self._pinned)

    def keep(self, needed: Iterable[Ints]) -> None:
        """Give up all texts but those of some codes, and those that are pinned."""
        used = np.zeros(len(self), np.bool_)
        for codes in (*needed, np.array(list(self._pinned), np.int64)):
            used[codes] = True
        size = int(np.flatnonzero(used)[-1]) + 1 if used.any() else 0
        texts = zip(self._texts[:size], used.tolist(), strict=False)
        self.load([text if here else None for text, here in texts])

    def state(self) -> list[str | None]:
        """All texts by code, None for those that were given up."""
        return list(self._texts)

    def load(self, texts: Iterable[str | None]) -> None:
        """Go on from a state; what is pinned must have the code in it that it has here."""
        self._texts = list(texts)
        self._codes = {text: code for code, text in enumerate(self._texts) if text is not None}
        self._free = [code for code, text in enumerate(self._texts) if text is None][::-1]
        self._kept = self._loose
        self.version += 1


def text_codes(tags: Tags, cells: Ints) -> Ints:
    """The codes of texts among some cells."""
    codes: Ints = cells[tags == TEXT]
    return codes


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
        return [_value(tag, bits, self.texts) for tag, bits in zip(tags, cells, strict=True)]


def _value(tag: int, bits: int, texts: Dictionary) -> Value | None:
    if tag == MISSING:
        return None
    if tag == TEXT:
        return texts[bits]
    if tag == DOUBLE:
        return float(np.int64(bits).view(np.float64))
    return bool(bits) if tag == BOOL else int(bits)
