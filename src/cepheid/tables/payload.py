"""The payload: what events were, by the origins under which the kernel knows them.

Origins of events from outside are 0 and up, and rise; those of events that the kernel makes,
composite events and ticks, are below 0, and fall.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.algebra import Rule
from cepheid.events import Event, Order, Schema
from cepheid.kernel.columns import Encoder
from cepheid.kernel.found import Found
from cepheid.tables.arrow import Bools, Ints
from cepheid.tables.building import Builder
from cepheid.tables.composing import Composer
from cepheid.tables.ids import Lanes
from cepheid.tables.made import Made
from cepheid.tables.parts import Parts
from cepheid.tables.sources import Names, Objects, Rows, Source, Ticks, merged
from cepheid.tables.table import Table, concat

_LEVELS = 32
"""How far down the constituents of composite events are kept."""
_SMALL, _MANY = 4096, 16
"""So small tables are merged with others, once there are so many of them."""


class Payload:
    """Keeps events by their origin, as tables, objects, or matches of the kernel.

    `rules` are the rules by number; the mapping may grow, and keeps rules that were removed for as
    long as their composite events are of use.
    """

    def __init__(
        self, encoder: Encoder, rules: Mapping[int, Rule], schema: Schema | None = None
    ) -> None:
        self.encoder = encoder
        self.rules = rules
        self.schema = schema
        self.origins_tell = True
        """Whether origins of events from outside tell the total order, and none are equal."""
        self.borrowed = 0
        """Bytes of tables that others made, and that are kept from being given back."""
        self._newest: dict[int, int] = {}
        self._rows: list[Rows] = []
        self._objects = Objects()
        self._ticks = Ticks()
        self._made = Made(encoder)
        # In a circle, all events would stay until Python looks for such.
        own = weakref.proxy(self)
        self.composer = Composer(own, self._made)
        self.builder = Builder(own, self._made)
        self._last: Event | Table | None = None
        self._last_end = self._last_leader = 0

    # --- adding --------------------------------------------------------------

    def add_table(self, first: int, table: Table, ranks: Ints | None = None) -> None:
        """Keep the events of a table, the first of which has the origin `first`.

        `ranks` are those of `cepheid.tables.order`, when events are equal in everything.
        """
        count = len(table)
        if count == 0:
            return
        origins = np.arange(first, first + count, dtype=np.int64)
        leaders = origins if ranks is None else origins[ranks]
        leader = self._follow(first, int(table.ends[0]), table.slice(0, 1))
        if leader != first:
            leaders = np.where(leaders == first, leader, leaders)
        tied = ranks is not None or leader != first
        self.origins_tell = self.origins_tell and not tied
        self._rows.append(Rows(origins, table, leaders if tied else None, borrowed=True))
        self._borrow(table)
        self._last = table.slice(count - 1, count)
        self._last_end, self._last_leader = int(table.ends[-1]), int(leaders[-1])

    def _borrow(self, table: Table) -> None:
        """Count the memory of a table that is kept, unless the table before it has it too."""
        memory = table.memory()
        self.borrowed += sum(size for at, size in memory.items() if at not in self._newest)
        self._newest = memory

    def add_events(self, first: int, events: Sequence[Event]) -> None:
        """Keep events, the first of which has the origin `first`."""
        for origin, event in enumerate(events, first):
            leader = self._follow(origin, event.end, event)
            if leader != origin:
                self._objects.equal[origin] = leader
                self.origins_tell = False
            self._objects.events[origin] = event
            self._last, self._last_end, self._last_leader = event, event.end, leader

    def _follow(self, origin: int, end: int, event: Event | Table) -> int:
        """The origin of the first event that is equal to this one in everything."""
        if self._last is None or self._last_end < end or _by_id(self._last, event):
            return origin
        order = Order(self.schema)
        before, key = (
            order.key(one.event(0) if isinstance(one, Table) else one)
            for one in (self._last, event)
        )
        if key == before:
            return self._last_leader
        self.origins_tell = self.origins_tell and before < key
        return origin

    def add_found(self, found: Found) -> None:
        """Keep matches that are events themselves, of which others may be made."""
        self._made.add(found)

    def add_ticks(self, origins: Ints, times: Ints) -> None:
        """Keep events of periodic timers."""
        if len(origins):
            self._ticks.add(origins, times)

    # --- asking --------------------------------------------------------------

    def event(self, origin: int) -> Event:
        """One event."""
        known = self._objects.events.get(origin) or self.builder.known.get(origin)
        if known is not None:
            return known
        found = next(self._at(np.array([origin])), None)
        if found is None:
            raise KeyError(f"origin {origin} is not here")
        source, _, rows = found
        if source is self.composer:
            return self.builder.event(origin)
        return source.table(rows, None).event(0)

    def table(self, origins: Ints, names: Names = None) -> Table:
        """Events as a table, in the order of the origins, with some or all attributes."""
        found = [(places, source.table(rows, names)) for source, places, rows in self._at(origins)]
        whole = concat([table for _, table in found])
        if len(whole) < len(origins):
            raise KeyError(f"origins {origins[~self.has(origins)][:5].tolist()} are not here")
        order = _inverse([places for places, _ in found])
        return whole if order is None else whole.take(order)

    def identities(self, origins: Ints) -> Lanes:
        """The identities of events."""
        found = np.zeros((2, len(origins)), np.uint64)
        for source, places, rows in self._at(origins):
            found[:, places] = source.identities(rows)
        return found

    def spans(self, origins: Ints) -> tuple[Ints, Ints, Ints]:
        """Starts and ends of events, and how deep they are; 0 when they are not made of others."""
        starts, ends, depths = np.zeros((3, len(origins)), np.int64)
        for source, places, rows in self._at(origins):
            starts[places], ends[places], depths[places] = source.spans(rows)
        return starts, ends, depths

    def parts(self, origins: Ints) -> Parts:
        """The constituents of composite events."""
        return self._made.parts(self._made.rows(origins))

    def heads(self, origins: Ints) -> tuple[Ints, Bools]:
        """The numbers of composite events' rules, and which of them are failures."""
        rows = self._made.rows(origins)
        return self._made.column("rules")[rows], self._made.failures(rows)

    def are_ticks(self, origins: Ints) -> Bools:
        """Which events are of periodic timers."""
        return self._ticks.find(origins) >= 0

    def leaders(self, origins: Ints) -> Ints:
        """For each event the first origin of those that are equal to it in everything."""
        found = origins.copy()
        for source, places, rows in self._at(origins):
            found[places] = source.leaders(rows)
        return found

    def has(self, origins: Ints) -> Bools:
        """Which events are there."""
        found = np.zeros(len(origins), np.bool_)
        for _, places, _rows in self._at(origins):
            found[places] = True
        return found

    def _at(self, origins: Ints) -> Iterator[tuple[Source, Ints, Ints]]:
        """For every source the places of its events in what is asked for, and their rows.

        What is nowhere has been given up, and is left out.
        """
        left: Ints = np.arange(len(origins), dtype=np.int64)
        sources: list[Source] = [*self._rows, self.composer, self._ticks, self._objects]
        for source in filter(len, sources):
            rows = source.find(origins[left])
            here = rows >= 0
            if here.all():
                yield source, left, rows
                return
            if here.any():
                yield source, left[here], rows[here]
                left = left[~here]

    # --- giving up, writing down ---------------------------------------------

    def keep(self, live: Ints) -> None:
        """Give up all events but those of some origins, which are sorted, and what they need."""
        needed, cut = self._closure(live)
        if cut:
            self.composer.identify()
        self._rows = [part for part in (rows.keep(needed) for rows in self._rows) if len(part)]
        self.borrowed = 0
        small = [part for part in self._rows if len(part) < _SMALL]
        if len(small) > _MANY:
            large = [part for part in self._rows if len(part) >= _SMALL]
            self._rows = sorted([*large, merged(small)], key=lambda part: int(part.origins[0]))
        self._objects.keep(needed)
        self._ticks.keep(needed)
        rows = np.sort(self._made.rows(needed))
        self._made.keep(rows[rows >= 0])
        self.builder.keep(needed)

    def text_codes(self) -> Iterator[Ints]:
        """The codes of texts that composite events refer to."""
        return self._made.text_codes()

    def _closure(self, live: Ints) -> tuple[Ints, bool]:
        """Events with their constituents, and whether some of these are too far down."""
        needed = fresh = live
        if len(self._made) == 0:
            return needed, False
        for _ in range(_LEVELS):
            rows = self._made.rows(fresh[fresh < 0])
            parts = self._made.parts(rows[rows >= 0])
            fresh = np.setdiff1d(parts.origins, needed)
            if len(fresh) == 0:
                return needed, False
            needed = np.union1d(needed, fresh)
        return needed, True

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that is kept, as arrays by name; texts of matches are codes of the encoder."""
        found = {f"made/{name}": array for name, array in self._made.state().items()}
        found |= {f"ticks/{name}": array for name, array in self._ticks.state().items()}
        found |= {f"objects/{name}": array for name, array in self._objects.state().items()}
        for number, rows in enumerate(self._rows):
            found |= {f"rows/{number}/{name}": array for name, array in rows.state().items()}
        found["head"] = np.array([len(self._rows), self.origins_tell], np.int64)
        return found

    def load(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state, with an encoder that has the same codes."""
        count, tell = state["head"].tolist()
        self.origins_tell = bool(tell)
        self._made.load(under("made/", state))
        self._ticks.load(under("ticks/", state))
        self._objects.load(under("objects/", state))
        self._rows = [Rows.of(under(f"rows/{number}/", state)) for number in range(count)]
        self._resume()

    def _resume(self) -> None:
        """The next event may be equal to the newest one that is kept."""
        origins = [int(rows.origins[-1]) for rows in self._rows if len(rows)]
        newest = max([*origins, *self._objects.events], default=-1)
        if newest >= 0:
            self._last = self.event(newest)
            self._last_end = self._last.end
            self._last_leader = int(self.leaders(np.array([newest]))[0])


def _by_id(one: Event | Table, other: Event | Table) -> bool:
    """Whether events are in order because their ids are; a short way for most ties."""
    return (
        type(one) is type(other) is Event
        and (one.end, one.start) == (other.end, other.start)
        and type(one.id) is type(other.id) is int
        and one.id < other.id
    )


def under(prefix: str, state: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The arrays whose names begin in some way, without that beginning."""
    return {
        name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)
    }


def _inverse(places: Sequence[Ints]) -> Ints | None:
    """What brings parts into the order of their places; None when they are."""
    if len(places) <= 1:
        return None
    return np.argsort(np.concatenate(places))
