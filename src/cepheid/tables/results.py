"""Results: the matches of a detection, collected by shape and brought into the total order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.events import CompositeEvent, Kind
from cepheid.kernel.columns import Encoder
from cepheid.kernel.found import Found
from cepheid.kernel.values import MISSING
from cepheid.tables.arrow import Bools, Ints
from cepheid.tables.cells import KINDS, Tags
from cepheid.tables.order import Ties
from cepheid.tables.parts import Parts, concat_parts, distinct, parts_of
from cepheid.tables.payload import Payload
from cepheid.tables.ranking import refine_by_parts, refine_rows, sorted_parts


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

    def take(self, rows: Ints) -> Matches:
        """Some of the matches."""
        return Matches(
            self.names,
            self.rules[rows],
            self.failing[rows],
            self.starts[rows],
            self.ends[rows],
            self.tags[:, rows],
            self.cells[:, rows],
        )


@dataclass(frozen=True)
class Ordered:
    """All matches, shape after shape.

    `parts` are the constituents of all of them, in the total order; `order` is that of the matches.
    """

    shapes: list[Matches]
    parts: Parts
    order: Ints


class Results:
    """Collects matches; their constituents must stay in the payload."""

    def __init__(self, payload: Payload) -> None:
        self._payload = payload
        self._shapes: dict[tuple[Any, ...], list[Found]] = {}

    def add(self, found: Found) -> None:
        """Keep the matches of a portion."""
        if len(found):
            shape = (found.names, found.labels, found.failure)
            self._shapes.setdefault(shape, []).append(found)

    def events(self) -> list[CompositeEvent]:
        """All composite events as objects, in the total order."""
        built = self._payload.builder.composites
        made = [e for founds in self._shapes.values() for found in founds for e in built(found)]
        return [made[place] for place in self.ordered().order.tolist()]

    def kind(self, name: str) -> Kind | None:
        """The kind of the values that an attribute has, if they are of one kind."""
        tags: set[int] = set()
        for names, *rest in self._shapes:
            for found in self._shapes[names, *rest] if name in names else ():
                tags.update(np.unique(found.tags[names.index(name)]).tolist())
        kinds = {KINDS[tag] for tag in tags - {MISSING}}
        if kinds == {Kind.INT, Kind.DOUBLE}:
            return Kind.DOUBLE
        return kinds.pop() if len(kinds) == 1 else None

    def ordered(self) -> Ordered:
        """All matches in the total order."""
        shapes = [Matches.of(founds) for founds in self._shapes.values()]
        given = [parts for founds in self._shapes.values() for parts in self._parts(founds)]
        parts, *keys = sorted_parts(self._payload, concat_parts(given))
        return Ordered(shapes, parts, self._order(shapes, parts, keys))

    def _parts(self, founds: Sequence[Found]) -> list[Parts]:
        encoder: Encoder = self._payload.encoder
        return [parts_of(found, encoder) for found in founds]

    def _order(self, shapes: Sequence[Matches], parts: Parts, keys: Sequence[Ints]) -> Ints:
        """By end, start, depth, constituents, type and rule, as composite events are ordered."""
        if not shapes:
            return np.zeros(0, np.int64)
        rows = np.arange(len(parts))
        ties = Ties.by(np.concatenate([matches.ends for matches in shapes]))
        refine_rows(ties, rows, [np.concatenate([m.starts for m in shapes]), self._depths(parts)])
        refine_by_parts(ties, rows, parts, keys)
        if ties:
            rules = np.concatenate([matches.rules for matches in shapes])
            failing = np.concatenate([matches.failing for matches in shapes])
            refine_rows(ties, rows, self._payload.composer.head_ranks(rules, failing))
        return ties.order

    def _depths(self, parts: Parts) -> Ints:
        """How deep composite events are, beyond being made of something."""
        if len(parts.origins) == 0 or parts.origins.min() >= 0:
            return np.zeros(len(parts), np.int64)
        origins, places = distinct(parts.origins)
        return parts.largest(self._payload.spans(origins)[2][places])
