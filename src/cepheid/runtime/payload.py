"""The events that origins stand for, as objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events import CompositeEvent, Event
from cepheid.kernel.found import Found
from cepheid.kernel.values import Ints
from cepheid.runtime.snapshot import decode_events, encode_events


class Payload:
    """Keeps events by their origin."""

    def __init__(self, compose: Callable[[Found], list[CompositeEvent]]) -> None:
        self._events: dict[int, Event] = {}
        self._compose = compose
        self.event = self._events.__getitem__

    def add_events(self, first: int, events: Sequence[Event]) -> None:
        """Keep events whose origins follow each other."""
        self._events.update(enumerate(events, first))

    def add_found(self, found: Found) -> None:
        """Keep composite events that have origins."""
        assert found.origins is not None  # noqa: S101
        self._events.update(zip(found.origins.tolist(), self._compose(found), strict=True))

    def add_ticks(self, origins: Ints, times: Ints) -> None:
        """Keep events of periodic timers."""
        for origin, time in zip(origins.tolist(), times.tolist(), strict=True):
            self._events[origin] = Event("Timer", time, time)

    def keep(self, live: Ints) -> None:
        """Give up all events but those."""
        self._events = {o: self._events[o] for o in live.tolist() if o in self._events}
        self.event = self._events.__getitem__

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that is kept."""
        text = json.dumps(encode_events(self._events.values())).encode()
        return {
            "origins": np.array(list(self._events), np.int64),
            "events": np.frombuffer(text, np.uint8),
        }

    def load(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state."""
        events = decode_events(json.loads(state["events"].tobytes()))
        self._events = dict(zip(state["origins"].tolist(), events, strict=True))
        self.event = self._events.__getitem__
