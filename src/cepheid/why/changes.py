"""Changes: what could have been different in the events, so that a rule would have matched.

Each change can be told, has a cost, and can be applied to a list of events.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from cepheid.errors import EventError
from cepheid.events import Event, Value, kind_of
from cepheid.literals import format_value
from cepheid.records import Clock, from_record
from cepheid.why.words import Words

BASE_COST = 0.1
"""What changing a value or a time costs at least: two small changes are more than one."""
OTHER_COST = 0.5
"""What another value costs where values have no size, such as texts."""
GIVEN_COST = 0.6
"""What it costs to give an event an attribute that it lacks."""
WAIT_COST = 0.05
"""What it costs to let time pass: nothing that happened is another than it was."""
REMOVE_COST = 1.0
ADD_COST = 1.5
"""What it costs that an event had not happened, or had happened as well."""


@dataclass(frozen=True)
class Change(ABC):
    """Something that could have been different.

    `cost` says how far it is from what happened; the nearest change is the one that costs least.
    `until` is the time that must have come for it, if time must pass.
    """

    kind: ClassVar[str]
    words: Words = field(default_factory=Words, kw_only=True, repr=False, compare=False)

    @property
    @abstractmethod
    def cost(self) -> float:
        """How far it is from what happened."""

    @property
    def until(self) -> int | None:
        """The time, in microseconds, up to which time must go on; None where it need not."""
        return None

    def apply(self, events: Sequence[Any], *, unit: str | None = None) -> list[Any]:
        """The events as they would have been, in the form in which they are given.

        Events are `Event`s or dictionaries; integer times in dictionaries need a `unit`.
        """
        clock = Clock.of(unit) if unit else self.words.clock
        return list(self._applied(list(events), clock))

    def follow(self, event: Event) -> Event:
        """What becomes of an event."""
        return event

    def to_dict(self) -> dict[str, Any]:
        """It as plain values, as they are written in JSON."""
        return {"change": self.kind, "cost": round(self.cost, 4), "text": str(self)}

    @abstractmethod
    def _applied(self, events: list[Any], clock: Clock) -> list[Any]:
        """The events as they would have been."""


@dataclass(frozen=True)
class _OfEvent(Change):
    """A change of one event, which is found again by what it is."""

    event: Event

    def _place(self, events: list[Any], clock: Clock) -> int:
        for place, given in enumerate(events):
            if _same(given, self.event, clock):
                return place
        raise EventError(
            f"events must hold the one that is to change; got none that is "
            f"{self.words.event(self.event)}\n\nhint: apply the change to the events that were "
            "asked about"
        )

    def to_dict(self) -> dict[str, Any]:
        """It as plain values, as they are written in JSON."""
        return {**super().to_dict(), "event": self.words.record(self.event)}


def _same(given: Event | Mapping[str, Any], event: Event, clock: Clock) -> bool:
    if not isinstance(given, Event):
        given = from_record(given, clock)
    return given is event or given == event


@dataclass(frozen=True)
class SetValue(_OfEvent):
    """An attribute of an event has another value; None takes the attribute away.

    >>> from cepheid import parse_event
    >>> event = parse_event("Temp@10(value=43.5)")
    >>> change = SetValue(event, "value", 45.1)
    >>> print(change)
    Temp@10(value=43.5): value is 45.1 instead of 43.5
    >>> change.apply([event])[0].attributes
    {'value': 45.1}
    """

    kind = "set"
    name: str
    value: Value | None

    @property
    def cost(self) -> float:
        """By how much of its size a number changes; other values cost the same."""
        before = self.event.attributes.get(self.name)
        if before is None:
            return GIVEN_COST
        return BASE_COST + _distance(before, self.value)

    def follow(self, event: Event) -> Event:
        """What becomes of an event."""
        return self._changed() if event == self.event else event

    def _changed(self) -> Event:
        kept = {name: v for name, v in self.event.attributes.items() if name != self.name}
        if self.value is not None:
            kept = {n: kept.get(n, self.value) for n in (*self.event.attributes, self.name)}
        return replace(self.event, attributes=kept)

    def _applied(self, events: list[Any], clock: Clock) -> list[Any]:
        place = self._place(events, clock)
        if isinstance(events[place], Event):
            events[place] = self._changed()
        else:
            events[place] = {**events[place], self.name: self.value}
        return events

    def to_dict(self) -> dict[str, Any]:
        """It as plain values, as they are written in JSON."""
        return {**super().to_dict(), "attribute": self.name, "value": self.value}

    def __str__(self) -> str:
        before, after = self.event.attributes.get(self.name), format_value(self.value)
        event = self.words.event(self.event)
        if before is None:
            return f"{event}: it also has {self.name} = {after}"
        if self.value is None:
            return f"{event}: it has no {self.name}"
        return f"{event}: {self.name} is {after} instead of {format_value(before)}"


def _distance(before: Value, after: Value | None) -> float:
    """How far two values are apart, from 0 to 1 for numbers."""
    if after is None or not (kind_of(before).numeric and kind_of(after).numeric):
        return OTHER_COST
    one, other = float(before), float(after)
    return abs(one - other) / max(abs(one), abs(other), abs(one - other), 1e-9)


@dataclass(frozen=True)
class Move(_OfEvent):
    """An event happens at another time; `scale` is the length of the window it is about.

    >>> from cepheid import parse_event
    >>> event = parse_event("Temp@10")
    >>> change = Move(event, 8_000_000, 8_000_000)
    >>> print(change)
    Temp@10: it happens at 8 instead, 2 s earlier
    """

    kind = "move"
    start: int
    end: int
    scale: int = field(default=1_000_000, compare=False)

    @property
    def shift(self) -> int:
        """By how many microseconds it happens later."""
        return self.end - self.event.end or self.start - self.event.start

    @property
    def cost(self) -> float:
        """How much of the window's length it moves by, from 0 to 1."""
        return BASE_COST + min(abs(self.shift) / max(self.scale, 1), 1.0)

    def follow(self, event: Event) -> Event:
        """What becomes of an event."""
        return self._changed() if event == self.event else event

    def _changed(self) -> Event:
        return replace(self.event, start=self.start, end=self.end)

    def _applied(self, events: list[Any], clock: Clock) -> list[Any]:
        place = self._place(events, clock)
        if isinstance(events[place], Event):
            events[place] = self._changed()
        else:
            moved = {**events[place], "ts": clock.write(self.end)}
            if self.start != self.end or moved.get("start") is not None:
                moved["start"] = clock.write(self.start)
            events[place] = moved
        return events

    def to_dict(self) -> dict[str, Any]:
        """It as plain values, as they are written in JSON."""
        times = {"ts": self.words.plain(self.end), "start": self.words.plain(self.start)}
        return {**super().to_dict(), **times, "seconds": self.shift / 1e6}

    def __str__(self) -> str:
        event, times = self.words.event(self.event), self.words.times(self.start, self.end)
        if self.end - self.start != self.event.end - self.event.start:
            return f"{event}: it lasts {times} instead"
        way = "later" if self.shift > 0 else "earlier"
        at = "at " if self.start == self.end else ""
        return f"{event}: it happens {at}{times} instead, {self.words.span(abs(self.shift))} {way}"


@dataclass(frozen=True)
class Remove(_OfEvent):
    """An event does not happen.

    >>> from cepheid import parse_event
    >>> print(Remove(parse_event("Rain@12")))
    Rain@12: it does not happen
    """

    kind = "remove"

    @property
    def cost(self) -> float:
        """The same for every event."""
        return REMOVE_COST

    def _applied(self, events: list[Any], clock: Clock) -> list[Any]:
        del events[self._place(events, clock)]
        return events

    def __str__(self) -> str:
        return f"{self.words.event(self.event)}: it does not happen"


@dataclass(frozen=True)
class Add(_OfEvent):
    """One event more happens.

    >>> from cepheid import parse_event
    >>> print(Add(parse_event("Wind@12(speed=30)")))
    Wind@12(speed=30): it happens too
    """

    kind = "add"
    extra: float = field(default=0.0, compare=False)

    @property
    def cost(self) -> float:
        """The same for every event; more where a rule should have made it."""
        return ADD_COST + self.extra

    def _applied(self, events: list[Any], clock: Clock) -> list[Any]:
        as_records = bool(events) and isinstance(events[0], Mapping)
        return [*events, _record(self.event, clock) if as_records else self.event]

    def __str__(self) -> str:
        return f"{self.words.event(self.event)}: it happens too"


def _record(event: Event, clock: Clock) -> dict[str, Any]:
    found = {"type": event.type, "ts": clock.write(event.end), **event.attributes}
    if event.start != event.end:
        found["start"] = clock.write(event.start)
    return found


@dataclass(frozen=True)
class Arrive(_OfEvent):
    """An event that came too late arrives in time, in front of the event that was ahead of it.

    Without such an event, it is one that had been put aside, and is taken after all.

    >>> from cepheid import parse_events
    >>> late = parse_events("B@12 A@3")
    >>> change = Arrive(late[1], late[0])
    >>> [event.type for event in change.apply(late)]
    ['A', 'B']
    """

    kind = "arrive"
    before: Event | None = None
    scale: int = field(default=1_000_000, compare=False)

    @property
    def cost(self) -> float:
        """How much of the window's length it was late by, from 0 to 1."""
        late = 0 if self.before is None else self.before.end - self.event.end
        return BASE_COST + min(abs(late) / max(self.scale, 1), 1.0)

    def _applied(self, events: list[Any], clock: Clock) -> list[Any]:
        if self.before is None:
            return Add(self.event)._applied(events, clock)
        moved = events.pop(self._place(events, clock))
        places = [n for n, given in enumerate(events) if _same(given, self.before, clock)]
        events.insert(places[0] if places else 0, moved)
        return events

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.words.event(self.event)}: it arrives in time"
        return f"{self.words.event(self.event)}: it arrives before {self.words.event(self.before)}"


@dataclass(frozen=True)
class PassTime(Change):
    """Time goes on to a moment without further events.

    >>> change = PassTime(20_000_000)
    >>> print(change)
    time goes on to 20
    >>> change.until
    20000000
    """

    kind = "pass time"
    to: int

    @property
    def cost(self) -> float:
        """Hardly anything: all events stay what they were."""
        return WAIT_COST

    @property
    def until(self) -> int | None:
        """The time, in microseconds, up to which time must go on."""
        return self.to

    def _applied(self, events: list[Any], clock: Clock) -> list[Any]:
        return events

    def to_dict(self) -> dict[str, Any]:
        """It as plain values, as they are written in JSON."""
        return {**super().to_dict(), "ts": self.words.plain(self.to)}

    def __str__(self) -> str:
        return f"time goes on to {self.words.time(self.to)}"


@dataclass(frozen=True)
class Together(Change):
    """Several changes, one after the other.

    >>> from cepheid import parse_event
    >>> print(Together((Remove(parse_event("A@1")), PassTime(2_000_000))))
    A@1: it does not happen
    time goes on to 2
    """

    kind = "together"
    changes: tuple[Change, ...]

    @property
    def cost(self) -> float:
        """The sum of what they cost."""
        return sum(change.cost for change in self.changes)

    @property
    def until(self) -> int | None:
        """The latest time that must have come for one of them."""
        return max((c.until for c in self.changes if c.until is not None), default=None)

    def follow(self, event: Event) -> Event:
        """What becomes of an event."""
        for change in self.changes:
            event = change.follow(event)
        return event

    def _applied(self, events: list[Any], clock: Clock) -> list[Any]:
        for change in self.changes:
            events = change._applied(events, clock)
        return events

    def to_dict(self) -> dict[str, Any]:
        """It as plain values, as they are written in JSON."""
        return {**super().to_dict(), "changes": [change.to_dict() for change in self.changes]}

    def __str__(self) -> str:
        return "\n".join(map(str, self.changes))


def parts_of(change: Change) -> list[Change]:
    """The single changes of a change, in their order."""
    if isinstance(change, Together):
        return [part for one in change.changes for part in parts_of(one)]
    return [change]


def together(changes: Iterable[Change]) -> Change:
    """Changes as one; what is done to an added event is done before it is added.

    Changes that undo each other leave none at all, which is a change too.

    >>> from cepheid import parse_event
    >>> event = parse_event("A@1(n=1)")
    >>> print(together([Add(event), SetValue(event, "n", 2)]))
    A@1(n=2): it happens too
    """
    merged: list[Change] = []
    for change in (part for one in changes for part in parts_of(one)):
        place = _origin(merged, change)
        if place is None:
            merged.append(change)
            continue
        following = _followed(merged[place], change)
        merged[place : place + 1] = [] if following is None else [following]
    if len(merged) == 1:
        return merged[0]
    return Together(tuple(merged), words=merged[0].words if merged else Words())


def _origin(merged: list[Change], change: Change) -> int | None:
    """Which earlier change a change takes further."""
    if not isinstance(change, SetValue | Move | Remove):
        return None
    for place, earlier in enumerate(merged):
        if isinstance(earlier, Add) and earlier.event == change.event:
            return place
        alike = type(earlier) is type(change) and not isinstance(change, Remove)
        if alike and isinstance(earlier, SetValue | Move) and _continues(earlier, change):
            return place
    return None


def _continues(earlier: SetValue | Move, change: SetValue | Move | Remove) -> bool:
    if isinstance(earlier, SetValue) and earlier.name != cast("SetValue", change).name:
        return False
    return earlier.follow(earlier.event) == change.event


def _followed(earlier: Change, change: Change) -> Change | None:
    """Two changes of one event as one; None when they undo each other."""
    if isinstance(earlier, Add):
        if isinstance(change, Remove):
            return None
        return replace(earlier, event=change.follow(earlier.event))
    if isinstance(earlier, SetValue) and isinstance(change, SetValue):
        return replace(earlier, value=change.value)
    assert isinstance(earlier, Move) and isinstance(change, Move)  # noqa: S101 (alike)
    return replace(earlier, start=change.start, end=change.end)
