"""Constituents of matches, in one form: flat, with the places where those of each match begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cepheid.kernel.columns import Encoder
from cepheid.kernel.found import Found
from cepheid.kernel.varied import take_parts
from cepheid.tables.arrow import Ints
from cepheid.units import INT_MIN


@dataclass(frozen=True)
class Parts:
    """Origins and labels of constituents: those of match i are at offsets[i] to offsets[i + 1].

    Labels are codes of the encoder's texts.
    """

    offsets: Ints
    origins: Ints
    labels: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """How many constituents each match has."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> Ints:
        """The match that each constituent belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def known_origins(self) -> tuple[Ints, Ints]:
        """The different origins, and for every constituent the place of its own."""
        return distinct(self.origins)

    @cached_property
    def known_labels(self) -> tuple[Ints, Ints]:
        """The different labels, and for every constituent the place of its own."""
        return distinct(self.labels)

    def take(self, rows: Ints) -> Parts:
        """The constituents of some matches, in that order."""
        return Parts(*take_parts(self.offsets, self.origins, self.labels, rows))

    def at(self, position: int, rows: Ints, values: Ints) -> Ints:
        """The values that constituents at a position have, for some matches.

        The least of all where a match has none there, and 0 where a row is -1.
        """
        there = (rows >= 0) & (self.lengths[rows] > position)
        places = np.where(there, self.offsets[rows] + position, 0)
        return np.where(there, values[places], np.where(rows < 0, 0, INT_MIN))

    def largest(self, values: Ints) -> Ints:
        """The largest of the values that each match's constituents have; 0 for none."""
        found = np.zeros(len(self), np.int64)
        full = np.flatnonzero(self.lengths)
        if len(full):
            found[full] = np.maximum.reduceat(values, self.offsets[full])
        return found


def parts_of(found: Found, encoder: Encoder) -> Parts:
    """The constituents of matches."""
    if found.offsets is not None and found.label_codes is not None:
        return Parts(found.offsets, found.constituents, found.label_codes)
    width, count = found.constituents.shape
    labels = np.array([encoder.texts.code(label) for label in found.labels], np.int64)
    offsets = np.arange(0, width * count + 1, max(1, width), dtype=np.int64)
    if width == 0:
        offsets = np.zeros(count + 1, np.int64)
    return Parts(offsets, found.constituents.T.ravel(), np.tile(labels, count))


def concat_parts(parts: Sequence[Parts]) -> Parts:
    """The constituents of several groups of matches, one group after the other."""
    if len(parts) == 1:
        return parts[0]
    lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    none = np.zeros(0, np.int64)
    return Parts(
        offsets,
        np.concatenate([none, *(part.origins for part in parts)]),
        np.concatenate([none, *(part.labels for part in parts)]),
    )


def distinct(values: Ints) -> tuple[Ints, Ints]:
    """The different values, sorted, and for every value its place among them."""
    if len(values) == 0:
        return values, values
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1024:
        return np.unique(values, return_inverse=True)
    seen = np.zeros(high - low + 1, np.bool_)
    seen[values - low] = True
    return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[values - low]


def text_order(texts: Iterable[str]) -> Ints:
    """For every text its place in the order of texts."""
    listed = list(texts)
    places = {text: place for place, text in enumerate(sorted(set(listed)))}
    return np.array([places[text] for text in listed], np.int64)
