"""What is compared: one stream, one task, and the task in the language of every engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import cepheid
from bench.scenario import TEXT_LIMIT, Counts
from bench.streams import SECOND, Stream
from cepheid.rules import Rules

MILLISECOND = 1000
"""The peers count time in milliseconds, so all times are multiples of it."""

START = 1_000_000 * SECOND
"""When streams begin."""

Told = Mapping[str, Any]
"""What an engine is told: its rules, in its own language."""


@dataclass(frozen=True)
class Contest:
    """One task for all engines.

    `form` is the class of the events on the peers' side. A composite event is told by the rule and
    `width` numbers: the rows of its `events` in order, the first and last row (`ends`), or the row
    that it ends with and a thousandth of its attribute `measured` (`value`). `engines` gives each
    peer's rules, `cannot` says why it has none. Where a peer's documented meaning is another one,
    `differs` says how, and its composite events are not compared one by one.
    """

    name: str
    language: str
    text: Callable[[], str]
    source: Callable[[int], Stream]
    events: int
    form: str
    engines: Mapping[str, Callable[[], Told]]
    made_of: str = "events"
    width: int = 2
    expected: Callable[[Stream], int | Counts] | None = None
    patience: int = 0
    checked: int = 5000
    batch: int = 32_768
    aim: float = 10.0
    pipeline: bool = False
    cannot: Mapping[str, str] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)

    def stream(self, count: int) -> Stream:
        """The events; none is at 0, which Flink takes for no time at all."""
        made = self.source(count)
        return replace(made, times=made.times + START)

    @cached_property
    def rules(self) -> Rules:
        """Cepheid's rules."""
        return cepheid.load(self.text(), language=self.language, name=self.name, limit=TEXT_LIMIT)

    def told(self, engine: str) -> Told | None:
        """What an engine is told; nothing if it cannot say the same."""
        make = self.engines.get(engine)
        return make() if make else None


def slower(stream: Stream, times: int = 1000) -> Stream:
    """The same events so many times further apart, as microseconds are too short for the peers."""
    return replace(stream, times=stream.times * times)


def numbered(statements: Sequence[str]) -> list[str]:
    """Esper's statements with the number of their rule as their name."""
    return [f"@name('r{number}') {statement}" for number, statement in enumerate(statements)]
