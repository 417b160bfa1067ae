"""Arranging: composite events of all shapes are brought into the total order, piece by piece.

Matches are sorted, not what they stand for: all composite events of a match follow each other, by
type and rule. The order is by end first, so matches can be cut into pieces where ends differ. What
pieces share is looked up before: a piece needs nothing but arrays, and several can be worked on at
a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from cepheid.kernel.found import Found
from cepheid.kernel.values import MISSING
from cepheid.tables.arrow import Ints
from cepheid.tables.cells import Tags
from cepheid.tables.ids import Lanes
from cepheid.tables.mixing import identify
from cepheid.tables.parts import Parts, distinct
from cepheid.tables.payload import Payload
from cepheid.tables.ranking import sorted_keys, sorted_parts
from cepheid.tables.sorting import sort_matches

PIECE = 1 << 17
"""How many composite events are arranged at a time; those of one moment stay together."""


@dataclass(frozen=True)
class Matches:
    """Matches of one shape, as columns; `rules` and `matches` are by composite event."""

    names: tuple[str, ...]
    failing: bool
    rules: Ints
    matches: Ints
    starts: Ints
    ends: Ints
    tags: Tags
    cells: Ints

    def __len__(self) -> int:
        return len(self.ends)

    def cells_of(self, name: str) -> tuple[Tags, Ints]:
        """The cells of an attribute; missing if there is none of that name."""
        if name not in self.names:
            return np.full(len(self), MISSING, np.uint8), np.zeros(len(self), np.int64)
        place = self.names.index(name)
        return self.tags[place], self.cells[place]

    @staticmethod
    def of(founds: Sequence[Found]) -> Matches:
        """The matches of portions of one shape."""
        firsts = np.cumsum([0, *(len(found.times) for found in founds)]).tolist()
        return Matches(
            founds[0].names,
            founds[0].failure,
            np.concatenate([found.rules for found in founds]),
            np.concatenate([f.matches + first for f, first in zip(founds, firsts, strict=False)]),
            np.concatenate([found.starts for found in founds]),
            np.concatenate([found.times for found in founds]),
            np.concatenate([found.tags for found in founds], axis=1),
            np.concatenate([found.cells for found in founds], axis=1),
        )


class Arrangement:
    """All matches and their composite events, both numbered shape after shape.

    `matches` tells the match of each composite event; `starts` and `ends` are by match.
    Constituents that are told have their places among the known `origins` and `labels`.
    """

    def __init__(self, payload: Payload, shapes: Sequence[Matches], parts: Parts) -> None:
        self._payload = payload
        self.shapes = shapes
        self.begins = np.cumsum([0, *(len(shape.rules) for shape in shapes)])
        firsts = np.cumsum([0, *map(len, shapes)]).tolist()
        own = zip(shapes, firsts, strict=False)
        self.matches = _joined([shape.matches + first for shape, first in own])
        self.starts = _joined([shape.starts for shape in shapes])
        self.ends = _joined([shape.ends for shape in shapes])
        self._heads = _joined([2 * shape.rules + shape.failing for shape in shapes])
        self.known_heads = payload.composer.heads
        self._head_ranks = self.known_heads.ranks[self._heads]
        self._owned = np.zeros(len(parts) + 1, np.int64)
        counts = np.bincount(self.matches, minlength=len(parts))
        np.cumsum(counts, out=self._owned[1:])
        by_end = np.argsort(self.ends, kind="stable")
        self._by_end = by_end if counts.all() else by_end[counts[by_end] > 0]
        self._ranks = np.zeros(len(parts), np.int64)
        self._ranks[self._by_end] = np.arange(len(self._by_end))
        self._parts = parts
        # By their ends alone, most are in order.
        self._keys = self._depths = np.zeros(0, np.int64)
        ends = self.ends[self._by_end]
        if bool((ends[1:] == ends[:-1]).any()):
            self._keys, self._depths = sorted_keys(payload, parts), _depths(payload, parts)

    def cells(self, name: str) -> tuple[Tags, Ints]:
        """The cells of an attribute that rules give, by match."""
        if len(self.shapes) == 1 and name in self.shapes[0].names:
            return self.shapes[0].cells_of(name)
        found = [matches.cells_of(name) for matches in self.shapes]
        tags, cells = np.zeros(0, np.uint8), np.zeros(0, np.int64)
        return (
            np.concatenate([tags, *(own for own, _ in found)]),
            np.concatenate([cells, *(own for _, own in found)]),
        )

    def heads(self, rows: Ints) -> Ints:
        """The heads of composite events, as numbers of the known ones."""
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
        matches = self._by_end
        if 0 < len(self.matches) <= PIECE:
            yield matches
            return
        begin, ends = 0, self.ends[matches]
        sizes = np.cumsum(self._owned[matches + 1] - self._owned[matches])
        while begin < len(matches):
            done = int(sizes[begin - 1]) if begin else 0
            last = min(int(np.searchsorted(sizes, done + PIECE)), len(matches) - 1)
            end = int(np.searchsorted(ends, ends[last], side="right"))
            yield matches[begin:end]
            begin = end

    def ordered(self, matches: Ints) -> tuple[Ints, Callable[[], Parts]]:
        """Composite events of a piece in the total order, and a function for their constituents.

        By end, start, depth, constituents, type and rule, as composite events are ordered.
        """
        times = self.ends, self.starts, self._depths
        parts, rules = (self._parts.offsets, self._keys), (self._owned, self._head_ranks)
        rows = sort_matches(matches, *times, *parts, *rules, len(self.known_heads.ranks))
        return rows, cache(lambda: self._placed[2].take(self.matches[rows]))

    def places(self, matches: Ints, at: Ints) -> Ints | None:
        """Where matches are in their piece; None if they are all of it, in its order."""
        places = self._ranks[at] - self._ranks[matches[0]]
        in_order = len(at) == len(matches) and bool((places[1:] > places[:-1]).all())
        return None if in_order else places

    def lanes(self, rows: Ints, parts: Parts) -> Lanes:
        """The ids of composite events."""
        lanes = np.zeros((2, len(rows)), np.uint64)
        wholes = self.known_heads.lanes[:, self.heads(rows)]
        none = np.zeros((2, 0), np.uint64)
        known = (self.label_fields, parts.origins, self.identities)
        identify(parts.offsets, parts.labels, *known, wholes, none, lanes)
        return lanes


def _depths(payload: Payload, parts: Parts) -> Ints:
    """How deep the deepest constituent of each match is; 0 where none is a composite event."""
    if int(parts.origins.min(initial=0)) >= 0:
        return np.zeros(len(parts), np.int64)
    origins, places = distinct(parts.origins)
    return parts.largest(payload.spans(origins)[2][places])


def _joined(columns: Sequence[Ints]) -> Ints:
    if len(columns) == 1:
        return columns[0]
    return np.concatenate([np.zeros(0, np.int64), *columns])
