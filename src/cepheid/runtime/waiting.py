"""The events that have arrived and are not consumed yet, in the total order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

from cepheid.events import Event, Order, Schema


class Waiting:
    """Gives events back in the total order, as far as they are ready.

    >>> waiting = Waiting(Schema())
    >>> waiting.add([Event("B", 2, 2), Event("A", 1, 1), Event("C", 3, 3)])
    >>> [event.type for event in waiting.take(2)], len(waiting)
    (['A', 'B'], 1)
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._heap: list[tuple[tuple[Any, ...], int, Event]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, events: Iterable[Event]) -> None:
        """Let events wait. Those that are equal in everything keep the order of arrival."""
        # An order remembers every composite event that it was asked for, so it must not live long.
        order = Order(self.schema)
        for event in events:
            self._count += 1
            heapq.heappush(self._heap, (order.key(event), self._count, event))

    def take(self, ready: int) -> list[Event]:
        """The waiting events that end at or before a time; they wait no longer."""
        found = []
        while self._heap and self._heap[0][2].end <= ready:
            found.append(heapq.heappop(self._heap)[2])
        return found

    def events(self) -> list[Event]:
        """All waiting events, in the total order."""
        return [event for _, _, event in sorted(self._heap, key=lambda entry: entry[:2])]
