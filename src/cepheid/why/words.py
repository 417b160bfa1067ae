"""Words: times, values and events as those who ask have written them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cepheid.automaton.words import duration
from cepheid.events import CompositeEvent, Event, Value
from cepheid.literals import format_value
from cepheid.records import Clock
from cepheid.units import format_time

LISTED = 5
"""How many events or values are named before the rest is only counted."""


@dataclass(frozen=True)
class Words:
    """How times are shown: as literals of events are written, or as the clock of records says."""

    clock: Clock = field(default_factory=lambda: Clock(1))
    literal: bool = True

    def time(self, time: int) -> str:
        """A time, such as `3min` or `2026-07-01 12:03:00`."""
        if self.literal:
            return format_time(time)
        shown = self.clock.write(time)
        return (
            shown.isoformat(" ").removesuffix("+00:00")
            if isinstance(shown, datetime)
            else str(shown)
        )

    def plain(self, time: int) -> str | int | float:
        """A time as it is written in JSON."""
        shown = self.clock.write(time)
        return shown.isoformat() if isinstance(shown, datetime) else shown

    def times(self, start: int, end: int) -> str:
        """A time, or from when to when."""
        return self.time(end) if start == end else f"from {self.time(start)} to {self.time(end)}"

    def span(self, microseconds: float) -> str:
        """A length of time, such as `5 min`, `42 s` or `4 min 48.6 s`."""
        return span(round(microseconds))

    def event(self, event: Event) -> str:
        """An event, such as `Temp@10(area="A1", value=24.5)`."""
        time = self.time(event.end)
        if event.start != event.end:
            time = f"[{self.time(event.start)}, {time}]"
        shown = {n: v for n, v in event.attributes.items() if n != "id" or v != event.id}
        inside = ", ".join(f"{name}={format_value(value)}" for name, value in shown.items())
        return f"{event.type}@{time}({inside})" if inside else f"{event.type}@{time}"

    def events(self, events: Sequence[Event]) -> str:
        """Several events; of many, the first are named and the others counted."""
        named = [self.event(event) for event in events[:LISTED]]
        return ", ".join(named) + _more(len(events))

    def record(self, event: Event) -> dict[str, Any]:
        """An event as plain values."""
        own: dict[str, Any] = {"type": event.type, "ts": self.plain(event.end)}
        if event.start != event.end:
            own["start"] = self.plain(event.start)
        if event.id is not None:
            own["id"] = event.id
        if isinstance(event, CompositeEvent):
            own["rule"] = event.rule
        return {**event.attributes, **own}


def span(microseconds: int) -> str:
    """A length of time in at most two units, to the millisecond from a second on.

    >>> span(300_000_000), span(288_604_317), span(4_505_333), span(1_500), span(0)
    ('5 min', '4 min 48.604 s', '4.505 s', '1500 us', '0')
    """
    seconds = round(abs(microseconds) / 1e6, 3)
    if abs(microseconds) < 1_000_000 or seconds < 60:
        whole = abs(microseconds) < 1_000_000 or microseconds % 1_000_000 == 0
        return duration(microseconds) if whole else f"{seconds:g} s"
    for size, name, smaller, below in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if seconds >= size:
            count, rest = divmod(seconds, size)
            parts = [f"{count:g} {name}", f"{round(rest / smaller, 1):g} {below}"]
            return " ".join(part for part in parts if not part.startswith("0 "))
    count, rest = divmod(seconds, 60)
    return f"{count:g} min" + (f" {round(rest, 3):g} s" if rest else "")


def values(found: Sequence[Value | None]) -> str:
    """Several values; of many, the first are named and the others counted."""
    return ", ".join(map(format_value, found[:LISTED])) + _more(len(found))


def _more(count: int) -> str:
    return f" and {count - LISTED} more" if count > LISTED else ""


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "event"), counted(3, "event")
    ('1 event', '3 events')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def number(value: float) -> str:
    """A difference, without the digits that only rounding brings.

    >>> number(45.0 - 43.5), number(0.1 + 0.2)
    ('1.5', '0.3')
    """
    return f"{value:.10g}"
