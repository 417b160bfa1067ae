"""Events as plain records: dictionaries with `type`, `ts` and attributes, if need be `start`, `id`.

`ts` is a datetime, or an integer with a stated unit. Composite events leave in the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cepheid.errors import EventError
from cepheid.events import CompositeEvent, Event, Kind, Schema, kind_of
from cepheid.units import unit_size

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_OWN_FIELDS = ("type", "ts", "start")
NO_UNIT = 'times that are integers need a unit\n\nhint: say which, such as unit="ms"'


@dataclass(frozen=True)
class Clock:
    """How times are written in records: datetimes, or integers of a unit."""

    unit: int | None = None

    @staticmethod
    def of(unit: str | None) -> Clock:
        """The clock for a unit's name; None means datetimes."""
        if unit is None:
            return Clock()
        size = unit_size(unit)
        if size is None:
            raise EventError(f"unit must be one of us, ms, s, min, h, d; got {unit!r}")
        return Clock(size)

    def read(self, time: object) -> int:
        """A time in microseconds."""
        if isinstance(time, datetime):
            aware = time if time.tzinfo else time.replace(tzinfo=UTC)
            return (aware - _EPOCH) // _MICROSECOND
        if isinstance(time, int) and not isinstance(time, bool):
            if self.unit is None:
                raise EventError(NO_UNIT)
            return time * self.unit
        raise EventError(
            f"time must be a datetime, or an integer with a unit; got {type(time).__name__}"
        )

    def write(self, time: int) -> datetime | int | float:
        """A time in microseconds as this clock writes it."""
        if self.unit is None:
            return _EPOCH + time * _MICROSECOND
        return time // self.unit if time % self.unit == 0 else time / self.unit


def from_record(record: Mapping[str, Any], clock: Clock) -> Event:
    """An event from a dictionary.

    >>> record = {"type": "Temp", "ts": 10, "area": "A1", "value": 24.5}
    >>> from_record(record, Clock.of("s")).end
    10000000
    """
    if type(record) is not dict and not isinstance(record, Mapping):
        raise EventError(f"event must be an Event or a dictionary; got {type(record).__name__}")
    for name in ("type", "ts"):
        if name not in record:
            raise EventError(f"event must have a field {name}; got {sorted(record)}")
    end = clock.read(record["ts"])
    start = clock.read(record["start"]) if record.get("start") is not None else end
    attributes = {name: value for name, value in record.items() if name not in _OWN_FIELDS}
    return Event(str(record["type"]), start, end, attributes, record.get("id"))


def from_records(
    events: Sequence[Event | Mapping[str, Any]], clock: Clock, schema: Schema
) -> list[Event]:
    """Events from a list, checked against a schema; what is wrong is named by its position."""
    found = []
    for position, given in enumerate(events):
        try:
            event = given if isinstance(given, Event) else from_record(given, clock)
            check_event(event, schema)
        except EventError as error:
            raise EventError(f"event at position {position}: {error}") from None
        found.append(event)
    return found


def check_event(event: Event, schema: Schema) -> None:
    """An attribute that the schema declares must have the type that it says."""
    for name, kind in schema.get(event.type, {}).items():
        value = event.attributes.get(name)
        if value is None or kind_of(value) == kind:
            continue
        if not (kind is Kind.DOUBLE and kind_of(value) is Kind.INT):
            raise EventError(
                f"attribute {name} of event {event.type} must be {kind}; got {value!r}"
            )


_FIELDS: dict[str, Callable[[CompositeEvent, Clock], Any]] = {
    "id": lambda event, _: event.id,
    "type": lambda event, _: event.type,
    "ts": lambda event, clock: clock.write(event.end),
    "start": lambda event, clock: clock.write(event.start),
    "rule": lambda event, _: event.rule,
    "events": lambda event, clock: list(_constituents(event, clock)),
}


def to_record(
    event: CompositeEvent, clock: Clock, columns: Sequence[str] | None = None
) -> dict[str, Any]:
    """A composite event as a dictionary, with all it has or with some of it."""
    if columns is not None:
        found = {}
        for name in columns:
            field = _FIELDS.get(name)
            if field is not None:
                found[name] = field(event, clock)
            elif name in event.attributes:
                found[name] = event.attributes[name]
        return found
    own: dict[str, Any] = {
        "id": event.id,
        "type": event.type,
        "ts": clock.write(event.end),
        "start": clock.write(event.start),
        "rule": event.rule,
    }
    events = {"events": list(_constituents(event, clock))}
    # An attribute of such a name does not hide the field.
    return {**own, **event.attributes, **own, **events}


def _constituents(event: CompositeEvent, clock: Clock) -> Iterable[dict[str, Any]]:
    for label, part in event.events:
        yield {"label": label, "type": part.type, "ts": clock.write(part.end), "id": part.id}
