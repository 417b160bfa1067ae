"""Arranging: matches of all shapes are brought into the total order, piece by piece.

The order is by end first, so matches can be cut into pieces where ends differ. What pieces share
is looked up before: a piece needs nothing but arrays, and several can be worked on at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from cepheid.kernel.found import Found
from cepheid.kernel.values import MISSING
from cepheid.tables.arrow import Bools, Ints
from cepheid.tables.cells import Tags
from cepheid.tables.ids import Lanes
from cepheid.tables.mixing import identify
from cepheid.tables.parts import Parts, distinct
from cepheid.tables.payload import Payload
from cepheid.tables.ranking import sorted_keys, sorted_parts
from cepheid.tables.sorting import sort_matches

PIECE = 1 << 17
"""How many matches are arranged at a time; those of one moment stay together."""


@dataclass(frozen=True)
class Matches:
    """Matches of one shape, as columns."""

    names: tuple[str, ...]
    rules: Ints
    failing: Bools
    starts: Ints
    ends: Ints
    tags: Tags
    cells: Ints

    def __len__(self) -> int:
        return len(self.rules)

    def cells_of(self, name: str) -> tuple[Tags, Ints]:
        """The cells of an attribute; missing if there is none of that name."""
        if name not in self.names:
            return np.full(len(self), MISSING, np.uint8), np.zeros(len(self), np.int64)
        place = self.names.index(name)
        return self.tags[place], self.cells[place]

    @staticmethod
    def of(founds: Sequence[Found]) -> Matches:
        """The matches of portions of one shape."""
        rules = np.concatenate([found.rules for found in founds])
        return Matches(
            founds[0].names,
            rules,
            np.full(len(rules), founds[0].failure, np.bool_),
            np.concatenate([found.starts for found in founds]),
            np.concatenate([found.times for found in founds]),
            np.concatenate([found.tags for found in founds], axis=1),
            np.concatenate([found.cells for found in founds], axis=1),
        )


class Arrangement:
    """All matches, numbered shape after shape.

    Constituents that are told have their places among the known `origins` and `labels`.
    """

    def __init__(self, payload: Payload, shapes: Sequence[Matches], parts: Parts) -> None:
        self._payload = payload
        self.shapes = shapes
        self.begins = np.cumsum([0, *map(len, shapes)])
        self.starts = _joined([matches.starts for matches in shapes])
        self.ends = _joined([matches.ends for matches in shapes])
        self._heads = _joined([2 * matches.rules + matches.failing for matches in shapes])
        self.known_heads = payload.composer.heads
        self._head_ranks = self.known_heads.ranks[self._heads]
        self._parts, self._keys = parts, sorted_keys(payload, parts)
        self._depths = np.zeros(len(parts), np.int64)
        if int(parts.origins.min(initial=0)) < 0:
            origins, places = distinct(parts.origins)
            self._depths = parts.largest(payload.spans(origins)[2][places])

    def cells(self, name: str) -> tuple[Tags, Ints]:
        """The cells of an attribute that rules give, for all matches."""
        if len(self.shapes) == 1 and name in self.shapes[0].names:
            return self.shapes[0].cells_of(name)
        found = [matches.cells_of(name) for matches in self.shapes]
        tags, cells = np.zeros(0, np.uint8), np.zeros(0, np.int64)
        return (
            np.concatenate([tags, *(own for own, _ in found)]),
            np.concatenate([cells, *(own for _, own in found)]),
        )

    def heads(self, rows: Ints) -> Ints:
        """The heads of matches, as numbers of the known ones."""
        return self._heads[rows]

    @cached_property
    def _placed(self) -> tuple[Ints, Ints, Parts]:
        """The known origins and labels, and constituents by their places among them."""
        parts, _ = sorted_parts(self._payload, self._parts)
        (origins, places), (labels, label_places) = map(distinct, (parts.origins, parts.labels))
        return origins, labels, Parts(parts.offsets, places, label_places)

    @property
    def origins(self) -> Ints:
        """The different origins of constituents."""
        return self._placed[0]

    @property
    def labels(self) -> Ints:
        """The different labels of constituents."""
        return self._placed[1]

    @cached_property
    def identities(self) -> Lanes:
        """The identities of all constituents."""
        return self._payload.identities(self.origins)

    @cached_property
    def label_fields(self) -> Lanes:
        """What labels are called in ids."""
        return self._payload.composer.label_fields(self.labels)

    def pieces(self) -> Iterator[Ints]:
        """The matches in parts of which each ends before the next one, in the order of the ends."""
        rows = np.argsort(self.ends, kind="stable")
        begin, ends = 0, self.ends[rows]
        while begin < len(rows):
            last = min(len(rows), begin + PIECE) - 1
            end = int(np.searchsorted(ends, ends[last], side="right"))
            yield rows[begin:end]
            begin = end

    def ordered(self, rows: Ints) -> tuple[Ints, Callable[[], Parts]]:
        """Matches of a piece in the total order, and a function for their constituents.

        By end, start, depth, constituents, type and rule, as composite events are ordered.
        """
        times = self.ends, self.starts, self._depths
        parts, known = (self._parts.offsets, self._keys), self.known_heads
        order = sort_matches(rows, *times, *parts, self._head_ranks, len(known.ranks))
        return order, cache(lambda: self._placed[2].take(order))

    def lanes(self, rows: Ints, parts: Parts) -> Lanes:
        """The ids of matches."""
        lanes = np.zeros((2, len(rows)), np.uint64)
        wholes = self.known_heads.lanes[:, self.heads(rows)]
        none = np.zeros((2, 0), np.uint64)
        known = (self.label_fields, parts.origins, self.identities)
        identify(parts.offsets, parts.labels, *known, wholes, none, lanes)
        return lanes


def _joined(columns: Sequence[Ints]) -> Ints:
    if len(columns) == 1:
        return columns[0]
    return np.concatenate([np.zeros(0, np.int64), *columns])
