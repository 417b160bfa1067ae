"""The written form of events and schemas: `Temp@10(area="A1", value=24.5)`, read and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from cepheid.errors import EventError
from cepheid.events import CompositeEvent, Event, Kind, Schema, Value, kind_named
from cepheid.units import format_time, parse_time

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<number>[+-]?(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+))(?P<unit>[A-Za-z]*)
    | (?P<name>[^\W\d]\w*(?:-\w+)*)
    | (?P<sign>[@()\[\],=:])
    | (?P<end>$)
    )""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def parse_event(text: str) -> Event:
    """Read one event; bare times are seconds, an interval is written `@[1, 2]`.

    >>> event = parse_event('Temp@10(area="A1", value=24.5)')
    >>> event.type, event.end, event.attributes
    ('Temp', 10000000, {'area': 'A1', 'value': 24.5})
    """
    reader = _Reader(text)
    event = _read_event(reader)
    reader.finish()
    return event


def parse_events(text: str) -> list[Event]:
    """Read any number of events, one after the other; each gets its position as id.

    >>> [event.id for event in parse_events('A@1 B@2 B@2')]
    [0, 1, 2]
    """
    reader = _Reader(text)
    events: list[Event] = []
    while not reader.at_end():
        events.append(replace(_read_event(reader), id=len(events)))
    return events


def parse_schema(text: str) -> Schema:
    """Read event types with the kinds of their attributes.

    >>> parse_schema("Temp(area: string, value: double) Smoke(area: string)")["Smoke"]
    {'area': <Kind.STRING: 'string'>}
    """
    reader = _Reader(text)
    types: dict[str, dict[str, Kind]] = {}
    while not reader.at_end():
        name = reader.name("an event type")
        if name in types:
            raise reader.error(f"event {name} must be declared once")
        types[name] = _read_kinds(reader)
    return Schema(types)


def format_event(event: Event) -> str:
    """Write an event so that reading it gives the same event again.

    >>> format_event(parse_event('Temp@[1min, 90](area="A1")'))
    'Temp@[1min,90](area="A1")'
    """
    time = format_time(event.end)
    if event.start != event.end:
        time = f"[{format_time(event.start)},{time}]"
    attributes = ", ".join(f"{name}={format_value(v)}" for name, v in event.attributes.items())
    return f"{event.type}@{time}({attributes})" if attributes else f"{event.type}@{time}"


def format_composite(event: CompositeEvent) -> str:
    """Write a composite event with its rule and what it was made of."""
    made_of = ", ".join(f"{label}: {format_event(part)}" for label, part in event.events)
    return f"{format_event(event)}  by rule {event.rule}  from {made_of}"


def format_value(value: Value | None) -> str:
    """Write an attribute's value.

    >>> format_value('say "hi"'), format_value(2.0), format_value(True), format_value(None)
    ('"say \\\\"hi\\\\""', '2.0', 'true', 'null')
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return format_double(value) if isinstance(value, float) else str(value)


def format_double(value: float) -> str:
    """Write a double so that it reads back as the same double.

    >>> format_double(45.0), format_double(1e300), format_double(float("inf"))
    ('45.0', '1.0e+300', '1.0e+999')
    """
    text = repr(value)
    if "inf" in text:
        return text.replace("inf", "1.0e+999")
    mantissa, mark, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}{mark}{exponent}"


def unescape(body: str) -> str:
    r"""The text that a quoted string stands for, given what is between its quotes.

    >>> unescape(r'a\tb \"c\" \u00e9')
    'a\tb "c" é'
    """

    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "u" and len(code) > 1:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, code)

    text = re.sub(r"\\(u[0-9a-fA-F]{4}|.)", one, body, flags=re.DOTALL)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Reader:
    """Hands out the tokens of a text, and points at the place when they do not fit."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._scan()
        self._kind, self._value, self._unit, self._at = next(self._tokens)

    def _scan(self) -> Iterator[tuple[str, str, str, int]]:
        at = 0
        while True:
            match = _TOKEN.match(self._text, at)
            if match is None:
                self._at = at + len(self._text[at:]) - len(self._text[at:].lstrip())
                raise self.error("a name, a value or one of @ ( ) [ ] , = is needed")
            kind = match.lastgroup or "end"
            kind = "number" if kind == "unit" else kind
            yield kind, match[kind], match["unit"] or "", match.start(kind)
            at = match.end()

    def error(self, requirement: str) -> EventError:
        """An error that points at the current place."""
        line = self._text.count("\n", 0, self._at) + 1
        column = self._at - (self._text.rfind("\n", 0, self._at) + 1) + 1
        found = self._text[self._at : self._at + 20].split("\n")[0] or "the end of the text"
        return EventError(f"line {line}, column {column}: {requirement}; got {found}")

    def at_end(self) -> bool:
        """Whether everything has been read."""
        return self._kind == "end"

    def finish(self) -> None:
        """Insist on the end of the text."""
        if not self.at_end():
            raise self.error("nothing more may follow the event")

    def _advance(self) -> None:
        self._kind, self._value, self._unit, self._at = next(self._tokens)

    def name(self, what: str) -> str:
        """Take a name."""
        if self._kind != "name":
            raise self.error(f"{what} is needed")
        value = self._value
        self._advance()
        return value

    def kind(self, attribute: str) -> Kind:
        """Take the name of a type of attributes."""
        kind = kind_named(self._value) if self._kind == "name" else None
        if kind is None:
            raise self.error(f"the type of {attribute} must be string, int, double or bool")
        self._advance()
        return kind

    def sign(self, sign: str) -> None:
        """Take a sign."""
        if not self.try_sign(sign):
            raise self.error(f"{sign} is needed")

    def try_sign(self, sign: str) -> bool:
        """Take a sign if it is there."""
        found = self._kind == "sign" and self._value == sign
        if found:
            self._advance()
        return found

    def time(self) -> int:
        """Take a time."""
        if self._kind != "number":
            raise self.error("a time such as 10, 1.5s or 3min is needed")
        try:
            value = parse_time(self._value + self._unit)
        except EventError as error:
            raise self.error(str(error)) from None
        self._advance()
        return value

    def value(self) -> Value | None:
        """Take an attribute's value."""
        kind, value = self._kind, self._value
        if kind == "string":
            self._advance()
            return unescape(value[1:-1])
        if kind == "number" and not self._unit:
            self._advance()
            return float(value) if any(mark in value for mark in ".eE") else int(value[:40])
        if kind == "name" and value in ("true", "false", "null"):
            self._advance()
            return {"true": True, "false": False, "null": None}[value]
        raise self.error("a string in quotes, a number, true, false or null is needed")


def _read_event(reader: _Reader) -> Event:
    type_ = reader.name("an event type")
    reader.sign("@")
    start, end = _read_interval(reader)
    attributes: dict[str, Value | None] = {}
    if reader.try_sign("(") and not reader.try_sign(")"):
        while True:
            name = reader.name("an attribute's name")
            if name in attributes:
                raise reader.error(f"attribute {name} must stand once")
            reader.sign("=")
            attributes[name] = reader.value()
            if not reader.try_sign(","):
                break
        reader.sign(")")
    present = {name: value for name, value in attributes.items() if value is not None}
    return Event(type_, start, end, present)


def _read_interval(reader: _Reader) -> tuple[int, int]:
    if not reader.try_sign("["):
        time = reader.time()
        return time, time
    start = reader.time()
    reader.sign(",")
    end = reader.time()
    reader.sign("]")
    return start, end


def _read_kinds(reader: _Reader) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    if reader.try_sign("(") and not reader.try_sign(")"):
        while True:
            name = reader.name("an attribute's name")
            reader.sign(":")
            kinds[name] = reader.kind(name)
            if not reader.try_sign(","):
                break
        reader.sign(")")
    return kinds
