"""Results: the matches of a detection, collected by shape until they are arranged."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from cepheid.events import CompositeEvent, Kind
from cepheid.kernel.columns import Encoder
from cepheid.kernel.found import Found
from cepheid.kernel.values import MISSING
from cepheid.tables.arranging import Arrangement, Matches
from cepheid.tables.cells import KINDS
from cepheid.tables.parts import Parts, concat_parts, parts_of
from cepheid.tables.payload import Payload


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
        arranged = self.arranged()
        rows = (arranged.ordered(piece)[0].tolist() for piece in arranged.pieces())
        return [made[row] for row in chain.from_iterable(rows)]

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

    def arranged(self) -> Arrangement:
        """All matches, ready to be brought into the total order."""
        shapes = [Matches.of(founds) for founds in self._shapes.values()]
        given = [parts for founds in self._shapes.values() for parts in self._parts(founds)]
        return Arrangement(self._payload, shapes, concat_parts(given))

    def _parts(self, founds: Sequence[Found]) -> list[Parts]:
        encoder: Encoder = self._payload.encoder
        return [parts_of(found, encoder) for found in founds]
