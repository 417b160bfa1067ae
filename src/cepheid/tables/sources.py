"""Where the events of a payload are: rows of tables, objects, and ticks of periodic timers.

Each source finds its events by origin and tells of many of them at once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cepheid.events import Event, identity_of
from cepheid.runtime.snapshot import decode_events, encode_events
from cepheid.tables.arrow import Bools, Ints, arrow_of, pa, text_array
from cepheid.tables.growing import Growing
from cepheid.tables.ids import Lanes, event_identities
from cepheid.tables.table import Table, concat, from_events

Names = Collection[str] | None
"""Attributes that are asked for; None means all."""

TIMER = "Timer"
"""The type of ticks."""


class Source(Protocol):
    """Events that are told of by row."""

    def __len__(self) -> int: ...

    def find(self, origins: Ints) -> Ints:
        """The rows of events; -1 for those that are not here."""

    def table(self, rows: Ints, names: Names) -> Table:
        """Events as a table."""

    def spans(self, rows: Ints) -> tuple[Ints, Ints, Ints | int]:
        """Starts and ends of events, and how deep they are."""

    def identities(self, rows: Ints) -> Lanes:
        """The identities of events."""

    def leaders(self, rows: Ints) -> Ints:
        """For each event the first origin of those that are equal to it in everything."""


def selected(table: Table, names: Names) -> Table:
    """The table with some of its attributes only."""
    if names is None:
        return table
    kept = tuple(pair for pair in table.columns if pair[0] in names)
    return Table(table.types, table.starts, table.ends, table.ids, kept)


class Rows:
    """Rows of a table, whose origins rise.

    `borrowed` says that somebody else made the table: its memory may be a small part of what it
    keeps from being given back.
    """

    def __init__(
        self, origins: Ints, rows: Table, leaders: Ints | None = None, *, borrowed: bool = False
    ) -> None:
        self.origins = origins
        self.rows = rows
        self.equal = leaders
        self._borrowed = borrowed
        self._lanes: Lanes | None = None
        self._done: Bools = np.zeros(0, np.bool_)

    def __len__(self) -> int:
        return len(self.origins)

    def find(self, origins: Ints) -> Ints:
        """The rows of origins; -1 for those that are not here."""
        first, count = self.origins[0], len(self.origins)
        if self.origins[-1] - first == count - 1:
            rows = origins - first
            return np.where((rows >= 0) & (rows < count), rows, -1)
        rows = np.minimum(np.searchsorted(self.origins, origins), count - 1)
        return np.where(self.origins[rows] == origins, rows, -1)

    def table(self, rows: Ints, names: Names) -> Table:
        """Events as a table."""
        return selected(self.rows, names).take(rows)

    def spans(self, rows: Ints) -> tuple[Ints, Ints, int]:
        """Starts and ends of events."""
        return self.rows.starts[rows], self.rows.ends[rows], 0

    def identities(self, rows: Ints) -> Lanes:
        """The identities of events, each computed once."""
        if self._lanes is None:
            self._lanes = np.zeros((2, len(self)), np.uint64)
            self._done = np.zeros(len(self), np.bool_)
        wanted = np.zeros(len(self), np.bool_)
        wanted[rows] = True
        missing = np.flatnonzero(wanted & ~self._done)
        if len(missing):
            self._lanes[:, missing] = event_identities(self.rows.take(missing))
            self._done[missing] = True
        return self._lanes[:, rows]

    def leaders(self, rows: Ints) -> Ints:
        """The first origin of those that are equal in everything."""
        return self.origins[rows] if self.equal is None else self.equal[rows]

    def event(self, row: int) -> Event:
        """One event."""
        return self.rows.event(row)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything, as arrays by name."""
        found: dict[str, npt.NDArray[Any]] = {"origins": self.origins, "table": self.rows.written()}
        return found if self.equal is None else found | {"equal": self.equal}

    @staticmethod
    def of(state: Mapping[str, npt.NDArray[Any]]) -> Rows:
        """The rows of a state."""
        return Rows(state["origins"], Table.read(state["table"]), state.get("equal"))

    def keep(self, live: Ints) -> Rows:
        """Only the rows of some origins, which are sorted; all of them if that would free little.

        What was borrowed is copied, whatever it frees.
        """
        first, last = np.searchsorted(live, self.origins[[0, -1]])
        rows = self.find(live[first : last + 1])
        rows = rows[rows >= 0]
        if 2 * len(rows) > len(self) and not self._borrowed:
            return self
        equal = None if self.equal is None else self.equal[rows]
        return Rows(self.origins[rows], self.rows.take(rows), equal)


def merged(rows: Iterable[Rows]) -> Rows:
    """Rows of several tables as those of one."""
    listed = list(rows)
    equal = None
    if any(part.equal is not None for part in listed):
        equal = np.concatenate([part.leaders(np.arange(len(part))) for part in listed])
    origins = np.concatenate([part.origins for part in listed])
    return Rows(origins, concat([part.rows for part in listed]), equal)


class Objects:
    """Events as they were given, one by one; their row is their origin."""

    def __init__(self) -> None:
        self.events: dict[int, Event] = {}
        self.equal: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.events)

    def find(self, origins: Ints) -> Ints:
        """The rows of origins; -1 for those that are not here."""
        return np.array([o if o in self.events else -1 for o in origins.tolist()], np.int64)

    def _chosen(self, rows: Ints) -> list[Event]:
        return [self.events[origin] for origin in rows.tolist()]

    def table(self, rows: Ints, names: Names) -> Table:
        """Events as a table."""
        return selected(from_events(self._chosen(rows)), names)

    def spans(self, rows: Ints) -> tuple[Ints, Ints, int]:
        """Starts and ends of events."""
        found = [(event.start, event.end) for event in self._chosen(rows)]
        starts, ends = np.array(found, np.int64).reshape(-1, 2).T
        return starts, ends, 0

    def identities(self, rows: Ints) -> Lanes:
        """The identities of events."""
        found = [identity_of(event) for event in self._chosen(rows)]
        return np.array(found, np.uint64).reshape(-1, 2).T

    def leaders(self, rows: Ints) -> Ints:
        """The first origin of those that are equal in everything."""
        if not self.equal:
            return rows
        return np.array([self.equal.get(origin, origin) for origin in rows.tolist()], np.int64)

    def keep(self, live: Ints) -> None:
        """Give up all events but those of some origins."""
        if not self.events:
            return
        known = self.events
        self.events = {origin: known[origin] for origin in live.tolist() if origin in known}
        self.equal = {at: leader for at, leader in self.equal.items() if at in self.events}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything, as arrays by name."""
        written = json.dumps(encode_events(self.events.values())).encode()
        return {
            "origins": np.array(list(self.events), np.int64),
            "events": np.frombuffer(written, np.uint8),
            "equal": np.array(list(self.equal.items()), np.int64).reshape(-1, 2),
        }

    def load(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state."""
        events = decode_events(json.loads(state["events"].tobytes()))
        self.events = dict(zip(state["origins"].tolist(), events, strict=True))
        self.equal = dict(state["equal"].tolist())


class Ticks:
    """Events of periodic timers, whose origins fall."""

    def __init__(self) -> None:
        self._origins, self._times = Growing(np.int64), Growing(np.int64)

    def __len__(self) -> int:
        return len(self._origins)

    def add(self, origins: Ints, times: Ints) -> None:
        """Keep ticks, which are newer than all before."""
        self._origins.append(origins)
        self._times.append(times)

    def find(self, origins: Ints) -> Ints:
        """The rows of origins; -1 for those that are not here."""
        known = self._origins.view
        if len(known) == 0:
            return np.full(len(origins), -1, np.int64)
        rows = np.minimum(np.searchsorted(-known, -origins), len(known) - 1)
        return np.where(known[rows] == origins, rows, -1)

    def table(self, rows: Ints, _names: Names) -> Table:
        """Events as a table."""
        times = self._times.view[rows]
        codes = arrow_of(np.zeros(len(rows), np.int32))
        types = pa.DictionaryArray.from_arrays(codes, text_array([TIMER]))
        return Table(types, times, times)

    def spans(self, rows: Ints) -> tuple[Ints, Ints, int]:
        """Starts and ends of events."""
        times = self._times.view[rows]
        return times, times, 0

    def identities(self, rows: Ints) -> Lanes:
        """The identities of events."""
        return event_identities(self.table(rows, None))

    def leaders(self, rows: Ints) -> Ints:
        """Ticks of one time are equal in everything."""
        return np.zeros(len(rows), np.int64)

    def event(self, row: int) -> Event:
        """One event."""
        time = int(self._times.view[row])
        return Event(TIMER, time, time)

    def keep(self, live: Ints) -> None:
        """Give up all ticks but those of some origins."""
        rows = np.sort(self.find(live))
        rows = rows[rows >= 0]
        self._origins.replace(self._origins.view[rows])
        self._times.replace(self._times.view[rows])

    def state(self) -> dict[str, Ints]:
        """Everything, as arrays by name."""
        return {"origins": self._origins.view.copy(), "times": self._times.view.copy()}

    def load(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state."""
        self._origins.replace(state["origins"])
        self._times.replace(state["times"])
