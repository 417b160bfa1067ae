"""Results: why a composite event was found, or why not, to be read, shown, or taken apart."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cepheid.events import CompositeEvent, Event, Value
from cepheid.literals import format_value
from cepheid.why.changes import Change, parts_of
from cepheid.why.words import Words

YES, NO = "✓", "✗"
OUTER = 5
"""How many events of a long match are shown at its beginning and at its end."""


@dataclass(frozen=True)
class Check:
    """Something that a rule asks for, what was found, and whether that is enough.

    `kind` is one of filter, condition, window, order, selection, negation, aggregate, key,
    within, consumed, time, missing, count, ends, late. Where it does not hold, `by` is by how much,
    in seconds for times and in the attribute's own size for values. `events` are those it looked
    at.

    >>> print(Check("filter", "Temp.value > 45", "43.5, short by 1.5", holds=False, by=1.5))
    ✗ Temp.value > 45: 43.5, short by 1.5
    """

    kind: str
    text: str
    found: str = ""
    holds: bool = True
    by: float | None = None
    events: tuple[Event, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """It as plain values, as they are written in JSON."""
        return {
            "kind": self.kind,
            "asked": self.text,
            "found": self.found,
            "holds": self.holds,
            "by": self.by,
        }

    def __str__(self) -> str:
        found = f": {self.found}" if self.found else ""
        return f"{YES if self.holds else NO} {self.text}{found}"


@dataclass(frozen=True)
class Place:
    """An event of a match, or of an attempt: its label, where it stands, how it was chosen.

    `state` is the place in the automaton as `rules.explain()` draws it.
    """

    label: str
    event: Event
    state: str
    chosen: str
    text: str

    def __str__(self) -> str:
        return f"{self.label}: {self.text}" + (f" ({self.chosen})" if self.chosen else "")


@dataclass(frozen=True)
class Parameter:
    """The value that a parameter of the rule had, and where it came from."""

    name: str
    value: Value | None
    source: str

    def __str__(self) -> str:
        return f"${self.name} = {format_value(self.value)}, which is {self.source}"


@dataclass(frozen=True)
class Why:
    """Why a composite event was found: what it is made of, and everything that was checked.

    `below` tells the same of those of its events that are composite events themselves.

    >>> import cepheid
    >>> rules = cepheid.load("define AB as [a: A] ; [b: B]", language="core")
    >>> events = cepheid.parse_events("A@1 B@2")
    >>> answer = rules.why(events, rules.detect(events)[0])
    >>> [(place.label, place.state) for place in answer.places]
    [('a', 'S1'), ('b', 'S2')]
    """

    event: CompositeEvent
    rule: str
    places: tuple[Place, ...]
    parameters: tuple[Parameter, ...] = ()
    checks: tuple[Check, ...] = ()
    consumed: tuple[Event, ...] = ()
    below: tuple[Why, ...] = ()
    words: Words = field(default_factory=Words, repr=False, compare=False)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that the composite event is made of."""
        return tuple(place.event for place in self.places)

    def to_dict(self) -> dict[str, Any]:
        """It as plain values, as they are written in JSON."""
        return {
            "event": self.words.record(self.event),
            "rule": self.rule,
            "events": [_place(place, self.words) for place in self.places],
            "parameters": {one.name: one.value for one in self.parameters},
            "checks": [check.to_dict() for check in self.checks],
            "consumed": [self.words.record(event) for event in self.consumed],
            "below": [one.to_dict() for one in self.below],
        }

    def __str__(self) -> str:
        lines = [f"{self.words.event(self.event)}, found by rule {self.rule}"]
        lines += _section("because of", _places(self.places))
        lines += _section("with", map(str, self.parameters))
        lines += _section("it holds that", map(str, self.checks))
        lines += _section("used up", map(self.words.event, self.consumed))
        for one in self.below:
            lines += ["", *str(one).split("\n")]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _page(str(self))


@dataclass(frozen=True)
class Nearby:
    """A composite event near what was asked about; `away` is how much later, in microseconds."""

    event: CompositeEvent
    away: int

    def told(self, words: Words) -> str:
        """The event, and how far off it is."""
        side = "earlier" if self.away < 0 else "later"
        away = f"{words.span(abs(self.away))} {side}" if self.away else "at that time"
        return f"{words.event(self.event)}, {away}"


@dataclass(frozen=True)
class WhyNot:
    """Why a rule did not match: how far it came, what failed, and what would have let it match.

    `matches` are composite events of the rule that are there after all; then there is nothing
    that failed. `near` are those that the rule found near `around`. `change` is the nearest change
    with which the rule matches, and `then` what it would find; without one, `possible` tells
    whether there can be any at all. `note` says where a limit cut the search.

    >>> import cepheid
    >>> rules = cepheid.load("define AB as [a: A] ; [b: B]", language="core")
    >>> answer = rules.why_not("AB", cepheid.parse_events("B@1 A@2"))
    >>> print(answer.reasons[0])
    ✗ after A@2 comes B: B@1 came, 1 s too early to follow it
    >>> print(answer.change)
    B@1: it happens at 3 instead, 2 s later
    """

    rule: str
    places: tuple[Place, ...] = ()
    reasons: tuple[Check, ...] = ()
    passed: tuple[Check, ...] = ()
    change: Change | None = None
    then: CompositeEvent | None = None
    matches: tuple[CompositeEvent, ...] = ()
    near: tuple[Nearby, ...] = ()
    possible: bool = True
    note: str = ""
    events: tuple[Event, ...] = field(default=(), repr=False)
    words: Words = field(default_factory=Words, repr=False, compare=False)

    @property
    def matched(self) -> bool:
        """Whether the rule matched after all."""
        return bool(self.matches)

    def to_dict(self) -> dict[str, Any]:
        """It as plain values, as they are written in JSON."""
        return {
            "rule": self.rule,
            "matched": self.matched,
            "matches": [self.words.record(event) for event in self.matches],
            "near": [self.words.record(one.event) for one in self.near],
            "events": [_place(place, self.words) for place in self.places],
            "reasons": [check.to_dict() for check in self.reasons],
            "passed": [check.to_dict() for check in self.passed],
            "change": self.change.to_dict() if self.change else None,
            "then": self.words.record(self.then) if self.then else None,
            "possible": self.possible,
            "note": self.note,
        }

    def __str__(self) -> str:
        if self.matches:
            lines = [f"Rule {self.rule} did match"]
            lines += _section("it found", map(self.words.event, self.matches))
            return "\n".join([*lines, _offer(self.matches[0])])
        lines = [f"Rule {self.rule} did not match"]
        lines += _section("the furthest it came", _places(self.places))
        lines += _section("what was in order", map(str, self.passed))
        lines += _section("what failed", map(str, self.reasons))
        lines += self._outlook()
        if self.near:
            lines += _section("but near there it found", (o.told(self.words) for o in self.near))
            lines.append(_offer(self.near[0].event))
        return "\n".join(lines)

    def _outlook(self) -> list[str]:
        if self.change is not None:
            lines = _section("it would have matched if", map(str, parts_of(self.change)))
            if self.then is not None:
                lines += _section("and then found", [self.words.event(self.then)])
        elif self.possible:
            lines = ["  no change that lets it match was found"]
        else:
            lines = ["  no events can make it match: what it asks for contradicts itself"]
        return lines + ([f"  ({self.note})"] if self.note else [])

    def _repr_html_(self) -> str:
        return _page(str(self))


def _place(place: Place, words: Words) -> dict[str, Any]:
    return {
        "label": place.label,
        "event": words.record(place.event),
        "state": place.state,
        "chosen": place.chosen,
    }


def _places(places: Sequence[Place]) -> list[str]:
    """Events under each other, their labels and states in columns; of many, the outer ones."""
    wide = max((len(place.label) for place in places), default=0)
    longest = max((len(place.text) for place in places), default=0)
    states = max((len(place.state) for place in places), default=0)
    found = []
    for place in places:
        name = f"state {place.state}" if place.state else ""
        state = f"  {name:<{states + 6}}" if states else ""
        found.append(
            f"{place.label:<{wide}}  {place.text:<{longest}}{state}  {place.chosen}".rstrip()
        )
    if len(found) <= 2 * OUTER + 1:
        return found
    between = f"{'':<{wide}}  … and {len(found) - 2 * OUTER} more …"
    return [*found[:OUTER], between, *found[-OUTER:]]


def _section(title: str, lines: Iterable[str]) -> list[str]:
    listed = list(lines)
    return [f"  {title}", *(f"    {line}" for line in listed)] if listed else []


def _offer(event: CompositeEvent) -> str:
    """Where to ask on about what was found."""
    return f"  what led to it is told by rules.why, or cepheid why --id {str(event.id)[:8]}"


def _page(text: str) -> str:
    """Text for a notebook, with what holds and what does not in colour."""
    shown = html.escape(text)
    for sign, colour in ((YES, "seagreen"), (NO, "firebrick")):
        shown = shown.replace(sign, f'<span style="color:{colour}">{sign}</span>')
    return f"<pre>{shown}</pre>"
