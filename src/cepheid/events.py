"""Events, their types and their order: what enters at one end of Cepheid and leaves at the other.

Order relations and the union of intervals follow appendix A of the composite event detection
framework (Pietzuch, Shand, Bacon).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from cepheid.errors import EventError
from cepheid.identity import Lanes, composite_identity, event_identity, written
from cepheid.units import INT_MAX, INT_MIN, TIME_MAX

Value = str | int | float | bool
"""What an attribute can hold; a missing attribute holds nothing at all."""


class Kind(StrEnum):
    """The type of an attribute.

    >>> Kind("double"), Kind.INT.numeric, Kind.STRING.numeric
    (<Kind.DOUBLE: 'double'>, True, False)
    """

    STRING = "string"
    INT = "int"
    DOUBLE = "double"
    BOOL = "bool"

    @property
    def numeric(self) -> bool:
        """Whether values of this kind can be added and compared by size with numbers."""
        return self in (Kind.INT, Kind.DOUBLE)


_KIND_NAMES: dict[str, Kind] = {
    "string": Kind.STRING,
    "str": Kind.STRING,
    "text": Kind.STRING,
    "int": Kind.INT,
    "integer": Kind.INT,
    "long": Kind.INT,
    "double": Kind.DOUBLE,
    "float": Kind.DOUBLE,
    "real": Kind.DOUBLE,
    "bool": Kind.BOOL,
    "boolean": Kind.BOOL,
}


def kind_named(name: str) -> Kind | None:
    """The kind that a word such as `Integer` or `float` stands for, in any language.

    >>> kind_named("Integer"), kind_named("colour")
    (<Kind.INT: 'int'>, None)
    """
    return _KIND_NAMES.get(name.lower())


def kind_of(value: Value) -> Kind:
    """The kind of a value.

    >>> kind_of(True), kind_of(24.5)
    (<Kind.BOOL: 'bool'>, <Kind.DOUBLE: 'double'>)
    """
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, int):
        return Kind.INT
    return Kind.DOUBLE if isinstance(value, float) else Kind.STRING


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval of time in microseconds; a point has start = end.

    >>> Interval(1, 3) | Interval(2, 5)
    Interval(start=1, end=5)
    >>> Interval(1, 2) < Interval(3, 4), Interval(1, 3) < Interval(3, 4)
    (True, False)
    """

    start: int
    end: int

    def __or__(self, other: Interval) -> Interval:
        """The union (equation 5): from the smaller start to the larger end."""
        return Interval(min(self.start, other.start), max(self.end, other.end))

    def __lt__(self, other: Interval) -> bool:
        """Strong order (equation 3): this one has ended before the other starts."""
        return self.end < other.start


@dataclass(frozen=True)
class Event:
    """Something that happened: a type, a time and attributes.

    Missing attributes are left out; `None` and NaN count as missing.

    >>> Event("Temp", 10, 10, {"area": "A1", "value": 24.5, "note": None})
    Event(type='Temp', start=10, end=10, attributes={'area': 'A1', 'value': 24.5}, id=None)
    """

    type: str
    start: int
    end: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    id: int | str | None = None

    def __post_init__(self) -> None:
        if not -TIME_MAX < self.start <= self.end < TIME_MAX:
            raise EventError(
                f"event {self.type} must start before it ends, within 64 bits of microseconds; "
                f"got [{self.start}, {self.end}]"
            )
        present: dict[str, Value] = {}
        for name, value in self.attributes.items():
            # Most are texts; an event that is pushed alone is looked at for longer than matched.
            if type(value) is str:
                present[name] = value
            elif value is not None and not (isinstance(value, float) and math.isnan(value)):
                present[name] = _checked(self.type, name, value)
        object.__setattr__(self, "attributes", present)

    def __hash__(self) -> int:
        return hash((self.type, self.start, self.end, self.id))

    @property
    def interval(self) -> Interval:
        """When it happened."""
        return Interval(self.start, self.end)

    def precedes(self, other: Event) -> bool:
        """Strong order `a < b`: this event has ended before the other starts."""
        return self.end < other.start


_PLAIN = (str, int, float)
"""The types of values; written as a union, it would be made anew for each of them."""


def _checked(type_: str, name: str, value: Value) -> Value:
    if not isinstance(value, _PLAIN):
        raise EventError(
            f"attribute {name} of event {type_} must be a string, int, double or bool; "
            f"got {type(value).__name__}"
        )
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        raise EventError(f"attribute {name} of event {type_} must fit into 64 bits; got {value}")
    return value


@dataclass(frozen=True)
class CompositeEvent(Event):
    """An event that a rule found, with the events that it was made of.

    `events` holds pairs of label and event. The `id` follows from the rule and those events
    alone, so that the same finding has the same id in every run. `depth` tells how many composite
    events stand above each other in it, itself included.

    >>> smoke = Event("Smoke", 5, 5, {"area": "A1"}, id=1)
    >>> fire = CompositeEvent("Fire", 5, 5, {"area": "A1"}, rule="R1", events=(("Smoke", smoke),))
    >>> fire.rule, fire.events[0][1].type, fire.id
    ('R1', 'Smoke', '5722e8fcf5c36c2c0afec83a3b77d3d7')
    """

    rule: str = ""
    events: tuple[tuple[str, Event], ...] = ()
    depth: int = field(init=False, repr=False, compare=False, default=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "depth", depth_over(self.events))
        if self.__dict__["id"] is None:
            del self.__dict__["id"]

    @cached_property  # type: ignore[misc]  # a field that is computed when first asked for
    def id(self) -> int | str | None:
        """What the event is called; unless given, it follows from the rule and its events."""
        return _composite_id(self)

    __hash__ = Event.__hash__


def composite(  # noqa: PLR0917 (in the order of the fields)
    type_: str,
    start: int,
    end: int,
    attributes: dict[str, Value],
    rule: str,
    events: tuple[tuple[str, Event], ...],
) -> CompositeEvent:
    """A composite event of events that are none, of parts that are known to be right."""
    event = _NEW(CompositeEvent)
    own = {
        "type": type_,
        "start": start,
        "end": end,
        "attributes": attributes,
        "rule": rule,
        "events": events,
    }
    _SET(event, "__dict__", own)
    return event


_NEW, _SET = object.__new__, object.__setattr__


def depth_over(events: Iterable[tuple[str, Event]]) -> int:
    """How many composite events stand above each other in one that is made of some events."""
    depth = 0
    for _, event in events:
        if isinstance(event, CompositeEvent):
            depth = max(depth, event.depth)
            # One level at a time: a long chain of composite events must not become a recursion.
            _ = event.id
    return 1 + depth


def _composite_id(event: CompositeEvent) -> str:
    parts = [(label, identity_of(part)) for label, part in event.events]
    return written(composite_identity(event.rule, event.type, parts))


def identity_of(event: Event) -> Lanes:
    """128 bits that tell an event from every other; kept with it, as events do not change."""
    known: Lanes | None = event.__dict__.get("_identity")
    if known is None:
        known = event_identity(event.type, event.start, event.end, event.id, event.attributes)
        event.__dict__["_identity"] = known
    return known


@dataclass(frozen=True)
class Schema(Mapping[str, Mapping[str, Kind]]):
    """Event types and the kinds of their attributes, in order.

    >>> schema = Schema.of({"Temp": {"area": "string", "value": "double"}})
    >>> schema["Temp"]["value"]
    <Kind.DOUBLE: 'double'>
    >>> "Smoke" in schema
    False
    """

    types: Mapping[str, Mapping[str, Kind]] = field(default_factory=dict)

    @staticmethod
    def of(types: Mapping[str, Mapping[str, str | Kind]]) -> Schema:
        """A schema declared in code."""
        return Schema({name: _kinds(name, attributes) for name, attributes in types.items()})

    @staticmethod
    def infer(events: Iterable[Event]) -> Schema:
        """The schema that events have: attributes by name; int and double together are double."""
        found: dict[str, dict[str, Kind]] = {}
        for event in events:
            attributes = found.setdefault(event.type, {})
            for name, value in event.attributes.items():
                attributes[name] = _wider(event.type, name, attributes.get(name), kind_of(value))
        return Schema({name: dict(sorted(found[name].items())) for name in sorted(found)})

    def __getitem__(self, name: str) -> Mapping[str, Kind]:
        return self.types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.types)

    def __len__(self) -> int:
        return len(self.types)


def _kinds(type_: str, attributes: Mapping[str, str | Kind]) -> dict[str, Kind]:
    kinds = {}
    for name, word in attributes.items():
        kind = kind_named(str(word))
        if kind is None:
            raise EventError(
                f"attribute {name} of event {type_} must be a string, int, double or bool; "
                f"got {word}"
            )
        kinds[name] = kind
    return kinds


def _wider(type_: str, name: str, known: Kind | None, kind: Kind) -> Kind:
    if known is None or known == kind:
        return kind
    if known.numeric and kind.numeric:
        return Kind.DOUBLE
    raise EventError(
        f"attribute {name} of event {type_} must have one type; got {known} and {kind}"
    )


class Order:
    """The total order `a ≺ b`: by end, then start, then id, then content.

    Where events carry no id, ties are broken by content, so that every runtime agrees without
    an arrival order. Composite events of one interval come after what they are made of; those
    that are made equally deep follow the order of their constituents. Events that are equal in
    everything are interchangeable; of two of them the one that was noted first comes first.
    """

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema = schema or Schema()
        self._composite_keys: dict[int, tuple[CompositeEvent, tuple[Any, ...]]] = {}
        self._noted: dict[int, int] = {}

    def note(self, event: Event) -> None:
        """Let an event come after equal ones that were noted before."""
        self._noted[id(event)] = len(self._noted)

    def precedes(self, one: Event, other: Event) -> bool:
        """Whether an event comes before another one, also where they are equal."""
        return self.rank(one) < self.rank(other)

    def rank(self, event: Event) -> tuple[Any, ...]:
        """The sort key, and for equal events which of them was noted first."""
        return self.key(event), self._noted.get(id(event), 0)

    def key(self, event: Event) -> tuple[Any, ...]:
        """A sort key: `a ≺ b` when key(a) < key(b); those of equal events are equal.

        Of composite events made of equal ones, it is the order of these that counts.

        >>> early, late = Event("A", 1, 3), Event("B", 2, 3)
        >>> Order().key(early) < Order().key(late)
        True
        """
        if isinstance(event, CompositeEvent):
            return self._composite_key(event)
        return (event.end, event.start, 0, _identity_rank(event), event.type, self._content(event))

    def _composite_key(self, event: CompositeEvent) -> tuple[Any, ...]:
        known = self._composite_keys.get(id(event))
        if known is None:
            parts = sorted((self.rank(part), label) for label, part in event.events)
            key = (event.end, event.start, event.depth, tuple(parts), event.type, event.rule)
            known = self._composite_keys[id(event)] = (event, key)
        return known[1]

    def _content(self, event: Event) -> tuple[Any, ...]:
        declared = list(self.schema.get(event.type, ()))
        rest = sorted(name for name in event.attributes if name not in declared)
        return tuple((name, _rank(event.attributes.get(name))) for name in [*declared, *rest])


def _identity_rank(event: Event) -> tuple[Any, ...]:
    """A key for an event's id, or where it has none, for its source and its number there."""
    source, number = event.attributes.get("source"), event.attributes.get("seq")
    if event.id is None and source is not None and number is not None:
        return (4, _rank(source), _rank(number))
    return _rank(event.id)


def _rank(value: Value | None) -> tuple[Any, ...]:
    """A key that orders values of different kinds too: nothing, bools, numbers, then text."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (1, value)
    return (2, value) if isinstance(value, int | float) else (3, value)
