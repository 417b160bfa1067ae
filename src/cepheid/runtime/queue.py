"""The input queue: events wait here, in a bounded room, for an engine that works beside the caller.

Bursts are taken up by the queue; what happens when it is full is the caller's choice, and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from cepheid.errors import EventError
from cepheid.events import Event
from cepheid.records import check_event, from_record

if TYPE_CHECKING:
    from cepheid.runtime.engine import Engine

Full = Literal["block", "drop newest", "drop oldest"]
"""What a full queue does with another event."""
QUEUE_SIZE = 10_000
"""How many events may wait, if nothing is said."""


@dataclass(frozen=True)
class QueueCounters:
    """The counters of an input queue at one moment.

    Of the events that were `offered`, each was `taken` by the engine, `dropped`, or is `waiting`;
    `most` is how many waited at one time.

    >>> QueueCounters(offered=5, taken=3, dropped=2).dropped
    2
    """

    offered: int = 0
    taken: int = 0
    dropped: int = 0
    waiting: int = 0
    most: int = 0


class InputQueue:
    """A bounded queue before an engine, which takes events in a thread of its own.

    Made by `Engine.queue`. What is found goes to the engine's subscribers, in that thread. While
    the queue is open, the engine is used through `paused` alone.

    >>> import cepheid
    >>> rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
    >>> engine = rules.engine(unit="s")
    >>> _ = engine.subscribe("AB", lambda found: print(cepheid.format_event(found)))
    >>> with engine.queue(size=100, full="drop oldest") as queue:
    ...     for event in ({"type": "A", "ts": 1}, {"type": "B", "ts": 2}):
    ...         _ = queue.offer(event)
    AB@[1,2]
    >>> queue.counters.taken, queue.counters.dropped
    (2, 0)
    """

    def __init__(self, engine: Engine, size: int, full: Full) -> None:
        if type(size) is not int or size < 1:
            raise EventError(f"size of a queue must be a number from 1 on; got {size!r}")
        if full not in get_args(Full):
            choices = ", ".join(map(repr, get_args(Full)))
            raise EventError(f"full must be one of {choices}; got {full!r}")
        self.size = size
        self.full = full
        self._engine = engine
        self._events: deque[Event] = deque()
        self._changed = threading.Condition()
        self._busy = threading.Lock()
        self._offered = self._taken = self._dropped = self._most = 0
        self._open = True
        self._errors: list[Exception] = []
        self._thread = threading.Thread(target=self._work, name="cepheid queue", daemon=True)
        self._thread.start()

    # --- the caller's side ---------------------------------------------------

    def offer(self, event: Event | Mapping[str, Any], *, timeout: float | None = None) -> bool:
        """Let an event wait for the engine; whether it may.

        An event that cannot be read is an error here. A full queue drops the new event or the
        oldest one, or blocks until there is room, at most for `timeout` seconds if that is given.
        """
        given = self._read(event)
        with self._changed:
            self._require_open()
            self._raise_error()
            self._offered += 1
            if len(self._events) >= self.size and not self._make_room(timeout):
                self._dropped += 1
                return False
            self._events.append(given)
            self._most = max(self._most, len(self._events))
            self._changed.notify_all()
            return True

    def _read(self, event: Event | Mapping[str, Any]) -> Event:
        given = event if isinstance(event, Event) else from_record(event, self._engine.clock)
        if self._engine.schema:
            check_event(given, self._engine.schema)
        return given

    def _make_room(self, timeout: float | None) -> bool:
        if self.full == "drop newest":
            return False
        if self.full == "drop oldest":
            self._events.popleft()
            self._dropped += 1
            return True
        self._changed.wait_for(lambda: len(self._events) < self.size or not self._open, timeout)
        self._require_open()
        return len(self._events) < self.size

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the engine has taken everything; whether it has."""
        with self._changed:
            done = self._changed.wait_for(lambda: self._is_done, timeout)
            self._raise_error()
            return done

    @contextmanager
    def paused(self) -> Iterator[Engine]:
        """The engine between two events, for rules that come and go, snapshots and counters."""
        with self._busy:
            yield self._engine

    def close(self) -> None:
        """Wait until the engine has taken everything, and take no more."""
        self._stop(drain=True)
        self._raise_error()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close; but after an error what waits is left."""
        if kind is None:
            self.close()
        else:
            self._stop(drain=False)

    @property
    def counters(self) -> QueueCounters:
        """What has happened to events so far."""
        with self._changed:
            waiting = self._offered - self._taken - self._dropped
            return QueueCounters(self._offered, self._taken, self._dropped, waiting, self._most)

    @property
    def _is_done(self) -> bool:
        return self._offered == self._taken + self._dropped

    def _require_open(self) -> None:
        if not self._open:
            raise EventError(
                "queue must be open to take events; it was closed\n\n"
                "hint: make a new one: engine.queue()"
            )

    def _raise_error(self) -> None:
        """What a subscriber raised comes out of the next call."""
        if self._errors:
            raise self._errors.pop(0)

    def _stop(self, *, drain: bool) -> None:
        with self._changed:
            if not drain:
                self._dropped += len(self._events)
                self._events.clear()
            self._open = False
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # --- the engine's side ---------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._events or not self._open)
                if not self._events:
                    return
                event = self._events.popleft()
                self._changed.notify_all()
            error = self._push(event)
            with self._changed:
                self._taken += 1
                if error is not None:
                    self._errors.append(error)
                self._changed.notify_all()

    def _push(self, event: Event) -> Exception | None:
        try:
            with self._busy:
                self._engine.push(event)
        except Exception as error:
            return error
        return None
