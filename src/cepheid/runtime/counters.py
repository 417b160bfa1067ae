"""What an engine has done so far, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.algebra import Rule
from cepheid.events import CompositeEvent

if TYPE_CHECKING:
    from cepheid.kernel.found import Found

FAILURE = "Failure"
"""The type of failure events."""


def _empty() -> Mapping[str, int]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Counters:
    """The counters of an engine at one moment.

    Of the events that came in (`received`), each is `consumed`, `waiting`, `late`, or only a
    heartbeat. Composite events are counted by type and by rule. What was `cut` lay beyond the
    limits of recursion; `limited` counts by rule how often a limit was hit. `stored` is how many
    events the rules refer to now, `compactions` how often room was given back.

    >>> Counters(received=3, consumed=2, late=1).late
    1
    """

    received: int = 0
    consumed: int = 0
    waiting: int = 0
    late: int = 0
    heartbeats: int = 0
    by_type: Mapping[str, int] = field(default_factory=_empty)
    by_rule: Mapping[str, int] = field(default_factory=_empty)
    cut: int = 0
    limited: Mapping[str, int] = field(default_factory=_empty)
    stored: int = 0
    compactions: int = 0

    @property
    def found(self) -> int:
        """How many composite events there were, failure events included."""
        return sum(self.by_type.values())


class Counts:
    """Composite events, counted by type and by rule."""

    def __init__(self) -> None:
        self._by_type: Counter[str] = Counter()
        self._by_rule: Counter[str] = Counter()
        self._rules: Mapping[int, Rule] = {}
        self._added = {False: np.zeros(0, np.int64), True: np.zeros(0, np.int64)}
        """By number of rule, what was not put down by name yet: matches, and failures."""

    def add(self, portions: Sequence[Found], rules: Mapping[int, Rule]) -> None:
        """Count the matches of rules, which are given by number, and keep theirs for good."""
        self._rules = rules
        for portion in portions:
            before = self._added[portion.failure]
            counts = np.bincount(portion.rules, minlength=len(before))
            counts[: len(before)] += before
            self._added[portion.failure] = counts

    @property
    def by_type(self) -> Counter[str]:
        """Composite events by type."""
        self._settle()
        return self._by_type

    @property
    def by_rule(self) -> Counter[str]:
        """Composite events by rule."""
        self._settle()
        return self._by_rule

    def _settle(self) -> None:
        for failure, counts in self._added.items():
            for number in np.flatnonzero(counts).tolist():
                rule, count = self._rules[number], int(counts[number])
                self._by_type[FAILURE if failure else rule.output.type] += count
                self._by_rule[rule.name] += count
            counts[:] = 0

    def add_events(self, events: Iterable[CompositeEvent]) -> None:
        """Count composite events."""
        for event in events:
            self._by_type[event.type] += 1
            self._by_rule[event.rule] += 1

    def state(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {"by_type": self.by_type, "by_rule": self.by_rule}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self._by_type, self._by_rule = Counter(state["by_type"]), Counter(state["by_rule"])
