"""The intake: events arrive, wait as long as the policy asks, and are given on in their order.

What comes too late is kept and counted; heartbeats only tell the time.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events import Event, Schema, Value
from cepheid.runtime.arrival import ALWAYS, NEVER, Arrival, Heard, arrival_of
from cepheid.runtime.settings import Settings
from cepheid.runtime.snapshot import decode_events, encode_events
from cepheid.runtime.waiting import Waiting
from cepheid.tables.arrow import Ints, codes, texts
from cepheid.tables.order import Ordering, ordering
from cepheid.tables.table import Table, concat, from_events


class Intake:
    """Decides for every event whether it is consumed, waits, is late, or only tells the time."""

    def __init__(self, settings: Settings, schema: Schema) -> None:
        self.arrival: Arrival = arrival_of(
            settings.policy, settings.delay, settings.sources, settings.idle
        )
        self.waiting = Waiting(schema)
        self.late: deque[Event] = deque(maxlen=settings.late_limit)
        self.counts: Counter[str] = Counter()
        self.newest = NEVER
        self.looked_at: frozenset[str] = frozenset()
        """The types that rules look at; heartbeats of other types are no events to them."""
        self._heartbeats = frozenset(settings.heartbeats)
        self._late_now: list[Event] = []
        self._late_tables: list[Table] = []
        self._pending: Table | None = None

    def arrive(self, event: Event) -> Event | None:
        """Take an event; it comes back if it may be consumed at once."""
        self.counts["received"] += 1
        if event.type in self._heartbeats and not self._beat(event):
            return None
        arrival, time = self.arrival, event.end
        late = time < arrival.watermark
        arrival.arrive(event.attributes.get("source") if arrival.apart else None, time)
        if late:
            self._note_late(event)
            return None
        self.newest = max(self.newest, time)
        if time <= arrival.ready and not self.waiting and self._pending is None:
            self.counts["consumed"] += 1
            return event
        self.waiting.add([event])
        return None

    def arrive_together(self, events: Sequence[Event]) -> list[Event]:
        """Take events that arrive at one moment; those come back that may be consumed now.

        They are judged by what was known before, so that none is late because of another.
        """
        self.counts["received"] += len(events)
        watermark = self.arrival.watermark
        given = [e for e in events if e.type not in self._heartbeats or self._beat(e)]
        self._note_arrivals(given)
        in_time = []
        for event in given:
            if event.end >= watermark:
                in_time.append(event)
            else:
                self._note_late(event)
        self.newest = max([self.newest, *(event.end for event in in_time)])
        if self.arrival.in_order:
            self.waiting.add(in_time)
            return self.take()
        self.counts["consumed"] += len(in_time)
        return in_time

    def take(self) -> list[Event]:
        """The waiting events that may be consumed now."""
        self._as_events()
        taken = self.waiting.take(self.arrival.ready)
        self.counts["consumed"] += len(taken)
        return taken

    # --- tables --------------------------------------------------------------

    def arrive_table(self, table: Table, heard: Heard | None = None) -> tuple[Table, Ordering]:
        """Take the events of a table, which arrive at one moment, as `arrive_together` does.

        The result is what may be consumed now, in its order. No event becomes an object, unless
        it is one of the last late ones or meets waiting events that are objects. Where only some
        of the events that arrive come here, `heard` tells of all of them.
        """
        self.counts["received"] += len(table)
        watermark = self.arrival.watermark
        table = self._without_beats(table)
        if len(table) and (heard is None or self.arrival.observes):
            self.arrival.arrive_all(table.ends, *_sources(table, apart=self.arrival.apart))
        if heard is not None:
            self._hear(heard)
        if int(table.ends.min(initial=watermark)) < watermark:
            self._note_late_table(table.take(np.flatnonzero(table.ends < watermark)))
            table = table.take(np.flatnonzero(table.ends >= watermark))
        if len(table):
            self.newest = max(self.newest, int(table.ends.max()))
        if not self.arrival.in_order:
            self.counts["consumed"] += len(table)
            return table, Ordering(None, None)
        waiting = self._waiting_table()
        self._pending = concat([waiting, table]) if len(waiting) else table
        return self.take_table()

    def _hear(self, heard: Heard) -> None:
        for source, time in heard.beats.items():
            self.arrival.beat(source, time)
        if heard.newest:
            self.arrival.arrive_newest(heard.newest)
            self.newest = max(self.newest, *heard.newest.values())

    def take_table(self) -> tuple[Table, Ordering]:
        """The waiting rows of tables that may be consumed now, in the total order."""
        table = self._waiting_table()
        found = ordering(table, self.waiting.schema)
        table = table if found.rows is None else table.take(found.rows)
        ready = int(np.searchsorted(table.ends, self.arrival.ready, side="right"))
        self._pending = table.slice(ready, len(table)) if ready < len(table) else None
        self.counts["consumed"] += ready
        ranks = None if found.ranks is None else found.ranks[:ready]
        return table.slice(0, ready), Ordering(None, ranks)

    def _waiting_table(self) -> Table:
        """All waiting events as a table."""
        pending = Table.empty() if self._pending is None else self._pending
        if not self.waiting:
            return pending
        objects = from_events(self.waiting.take(ALWAYS))
        return concat([pending, objects]) if len(pending) else objects

    def _as_events(self) -> None:
        """Let the waiting rows of tables wait as objects, as single events do."""
        if self._pending is not None:
            self.waiting.add(self._pending.event(row) for row in range(len(self._pending)))
            self._pending = None

    def _without_beats(self, table: Table) -> Table:
        if not self._heartbeats:
            return table
        names = texts(codes(table.types)[1])
        beats = np.array([name in self._heartbeats for name in names], np.bool_)
        if not beats.any():
            return table
        own = codes(table.types)[0]
        is_beat = beats[own]
        for row in np.flatnonzero(is_beat).tolist():
            self._beat(table.event(row))
        looked_at = np.array([name in self.looked_at for name in names], np.bool_)
        return table.take(np.flatnonzero(~is_beat | looked_at[own]))

    def __len__(self) -> int:
        """How many events wait."""
        return len(self.waiting) + (0 if self._pending is None else len(self._pending))

    def take_late(self, *, wanted: bool = True) -> list[Event]:
        """The events that were late since this was last asked, if somebody wants them."""
        taken, self._late_now = self._late_now, []
        tables, self._late_tables = self._late_tables, []
        if not wanted:
            return []
        return taken + [table.event(row) for table in tables for row in range(len(table))]

    def take_late_table(self) -> Table:
        """The same as a table, where events came in tables."""
        tables, self._late_tables = self._late_tables, []
        return concat(tables)

    @property
    def was_late(self) -> bool:
        """Whether there are late events that nobody has taken."""
        return bool(self._late_now or self._late_tables)

    def _note_arrivals(self, events: Sequence[Event]) -> None:
        if not events:
            return
        codes: dict[Value | None, int] = {}
        apart = self.arrival.apart
        of = [
            codes.setdefault(event.attributes.get("source") if apart else None, len(codes))
            for event in events
        ]
        ends = np.array([event.end for event in events], np.int64)
        self.arrival.arrive_all(ends, np.array(of, np.int64), list(codes))

    def _beat(self, event: Event) -> bool:
        """Take note of a heartbeat; whether it is also an event that rules look at."""
        self.arrival.beat(event.attributes.get("source"), event.end)
        self.counts["heartbeats"] += 1
        return event.type in self.looked_at

    def _note_late(self, event: Event) -> None:
        self.counts["late"] += 1
        self.late.append(event)
        self._late_now.append(event)

    def _note_late_table(self, table: Table) -> None:
        self.counts["late"] += len(table)
        self._late_tables.append(table)
        kept = min(len(table), self.late.maxlen or 0)
        self.late.extend(table.event(row) for row in range(len(table) - kept, len(table)))

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Everything that the intake depends on, as JSON values and arrays."""
        head = {
            "arrival": self.arrival.state(),
            "waiting": encode_events(self.waiting.events()),
            "late": encode_events(self.late),
            "counts": dict(self.counts),
            "newest": self.newest,
        }
        return head, {} if self._pending is None else {"pending": self._pending.written()}

    def load(self, state: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state."""
        self._pending = Table.read(arrays["pending"]) if "pending" in arrays else None
        self.arrival.load(state["arrival"])
        self.waiting.add(decode_events(state["waiting"]))
        self.late.extend(decode_events(state["late"]))
        self.counts = Counter(state["counts"])
        self.newest = int(state["newest"])


def _sources(table: Table, *, apart: bool) -> tuple[Ints, list[Value | None]]:
    """The sources of events, as codes and what they stand for."""
    columns = table.named("source") if apart else []
    if not columns:
        return np.zeros(len(table), np.int64), [None]
    found = np.zeros(len(table), np.int64)
    known: list[Value | None] = [None]
    for column in columns:
        own, names = codes(column)
        # A gap has the code -1, which is the last place of the list.
        places = np.array([*range(len(known), len(known) + len(names)), 0], np.int64)
        found = np.maximum(found, places[own])
        known += names.to_pylist()
    return found, known
