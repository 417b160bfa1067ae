"""Attempts: how far a rule came with certain events, and what each thing it asked for gave."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from cepheid.automaton.model import Automaton, Form
from cepheid.events import CompositeEvent, Event
from cepheid.oracle.matches import Evaluator
from cepheid.why.changes import ADD_COST, Change, Move
from cepheid.why.results import Check, Parameter, Place
from cepheid.why.solve import Solver
from cepheid.why.words import Words


@dataclass(frozen=True)
class Test:
    """A check, and the changes that would have let it hold.

    `asks` are types of events that are missing and that other rules make: what keeps those rules
    from it may be the thing to change. `when` are the times at which such an event would help.
    """

    check: Check
    repairs: tuple[Change, ...] = ()
    asks: tuple[str, ...] = ()
    when: tuple[int, ...] = ()
    times: int = 1
    """How often something like the repairs is needed."""

    @cached_property
    def cost(self) -> float:
        """What it costs at least to let it hold; infinite when nothing is known that does."""
        if self.check.holds:
            return 0.0
        known = [change.cost for change in self.repairs] + ([ADD_COST] if self.asks else [])
        return min(known, default=math.inf) * self.times


@dataclass(frozen=True)
class Attempt:
    """Events that a rule would have taken, with the tests that they passed and failed.

    `to_come` is what it costs at least to get on after the tests, where they cannot tell yet.
    """

    places: tuple[Place, ...]
    tests: tuple[Test, ...]
    to_come: float = 0.0

    @property
    def failing(self) -> list[Test]:
        """The tests that did not hold."""
        return [test for test in self.tests if not test.check.holds]

    @property
    def cost(self) -> float:
        """What it would cost to make everything hold, one by one."""
        return sum(test.cost for test in self.failing) + self.to_come

    @property
    def events(self) -> list[Event]:
        """The events that it is made of."""
        return [place.event for place in self.places]


@dataclass(frozen=True)
class Aim:
    """What attempts are looked for: their event, or a time that they are near to."""

    time: int | None = None
    event: Event | None = None
    reach: int = 1_000_000
    end: int = 0
    """Up to when time went on."""

    def distance(self, events: Iterable[Event]) -> float:
        """How far events lie from what is looked for, from 0 to 1."""
        listed = list(events)
        if self.event is not None:
            return 0.0 if any(event == self.event for event in listed) else 1.0
        if self.time is None or not listed:
            return 0.0
        away = max(
            min(event.start for event in listed) - self.time,
            self.time - max(event.end for event in listed),
            0,
        )
        return min(away / max(self.reach, 1), 1.0)

    def nearest(self, events: Sequence[Event], limit: int) -> list[Event]:
        """The events that are nearest to what is looked for; the latest where that is open."""
        if self.event is not None and any(event == self.event for event in events):
            return [event for event in events if event == self.event]
        time = self.time if self.event is None else self.event.end
        key = (lambda e: -e.end) if time is None else (lambda e: abs(e.end - time))
        return sorted(events, key=key)[:limit]


@dataclass(frozen=True)
class Means:
    """What all analyses share: the automaton, the way to solve conditions, the words."""

    automaton: Automaton
    solver: Solver
    words: Words = field(default_factory=Words)

    def place(self, label: str, event: Event, chosen: str = "", state: str | None = None) -> Place:
        """An event of a match or an attempt at its place in the automaton."""
        if state is None:
            kept = self.automaton.keeping(label)
            if self.automaton.form is Form.RUN:
                kept = kept[:1]
            state = ", ".join(found.name for found in kept)
        return Place(label, event, state, chosen, self.words.event(event))

    def move(self, event: Event, shift: int, scale: int | None = None) -> Change:
        """The change by which an event happens later."""
        return Move(
            event,
            event.start + shift,
            event.end + shift,
            scale or max(abs(shift), 1),
            words=self.words,
        )


@dataclass(frozen=True)
class Told:
    """Everything that is known of a match, for telling why."""

    places: tuple[Place, ...]
    checks: tuple[Check, ...]
    parameters: tuple[Parameter, ...] = ()
    consumed: tuple[Event, ...] = ()


class Trace(Evaluator, Protocol):
    """An evaluator that remembers what it saw."""

    def tell(self, event: CompositeEvent, means: Means) -> Told:
        """Why an event was found."""

    def attempts(self, aim: Aim, means: Means) -> list[Attempt]:
        """How far the rule came, the attempts that are nearest to a match first."""

    def averting(self, event: CompositeEvent, means: Means) -> Iterator[Change]:
        """Changes with which an event would not have been found."""


def best(attempts: Iterable[Attempt], aim: Aim, limit: int) -> list[Attempt]:
    """The attempts that are nearest to a match."""
    weighed = [replace(one, to_come=one.to_come + aim.distance(one.events)) for one in attempts]
    return sorted(weighed, key=lambda one: (one.cost, -len(one.places)))[:limit]
