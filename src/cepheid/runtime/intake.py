"""The intake: events arrive, wait as long as the policy asks, and are given on in their order.

What comes too late is kept and counted; heartbeats only tell the time.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cepheid.events import Event, Schema, Value
from cepheid.runtime.arrival import NEVER, Arrival, arrival_of
from cepheid.runtime.settings import Settings
from cepheid.runtime.snapshot import decode_events, encode_events
from cepheid.runtime.waiting import Waiting


class Intake:
    """Decides for every event whether it is consumed, waits, is late, or only tells the time."""

    def __init__(self, settings: Settings, schema: Schema) -> None:
        self.arrival: Arrival = arrival_of(settings.policy, settings.delay, settings.sources)
        self.waiting = Waiting(schema)
        self.late: deque[Event] = deque(maxlen=settings.late_limit)
        self.counts: Counter[str] = Counter()
        self.newest = NEVER
        self.looked_at: frozenset[str] = frozenset()
        """The types that rules look at; heartbeats of other types are no events to them."""
        self._heartbeats = frozenset(settings.heartbeats)
        self._late_now: list[Event] = []

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
        if time <= arrival.ready and not self.waiting:
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
        taken = self.waiting.take(self.arrival.ready)
        self.counts["consumed"] += len(taken)
        return taken

    def take_late(self) -> list[Event]:
        """The events that were late since this was last asked."""
        taken, self._late_now = self._late_now, []
        return taken

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

    def state(self) -> dict[str, Any]:
        """Everything that the intake depends on, as JSON values."""
        return {
            "arrival": self.arrival.state(),
            "waiting": encode_events(self.waiting.events()),
            "late": encode_events(self.late),
            "counts": dict(self.counts),
            "newest": self.newest,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.arrival.load(state["arrival"])
        self.waiting.add(decode_events(state["waiting"]))
        self.late.extend(decode_events(state["late"]))
        self.counts = Counter(state["counts"])
        self.newest = int(state["newest"])
