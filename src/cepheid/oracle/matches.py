"""What all evaluators share: how a match becomes a composite event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from cepheid.algebra import Rule
from cepheid.events import CompositeEvent, Event, Order, Value
from cepheid.oracle.values import Bound, Scope, converted, value_of

FAILURE = "Failure"
"""The type of failure events."""


class Evaluator(Protocol):
    """Finds the matches of one rule while events enter and time passes."""

    rule: Rule

    def see(self, event: Event) -> list[CompositeEvent]:
        """What the rule finds when an event enters the stream."""

    def due(self) -> int | None:
        """The next time at which the rule wants to be asked, if any."""

    def fire(self, now: int) -> list[CompositeEvent]:
        """What the rule finds because that time has come."""


@dataclass
class World:
    """What all evaluators look at: the events so far, their order, and the time."""

    history: list[Event]
    order: Order
    failures: bool = False
    now: int = 0
    fired: int | None = None
    """The instant whose timers have fired, while what they caused comes in."""

    def __post_init__(self) -> None:
        self._contents = Order(self.order.schema)

    def compose(
        self,
        rule: Rule,
        constituents: Iterable[tuple[str, Event]],
        scope: Scope,
        start: int,
        end: int,
    ) -> CompositeEvent:
        """The composite event of a match."""
        return CompositeEvent(
            rule.output.type,
            start,
            end,
            _attributes(rule, scope),
            rule=rule.name,
            events=self.sorted(constituents),
        )

    def failure(
        self, rule: Rule, constituents: Iterable[tuple[str, Event]], time: int, reason: str
    ) -> list[CompositeEvent]:
        """The failure event of a run that did not become a match, if anybody wants it."""
        if not self.failures:
            return []
        attributes: Mapping[str, Value] = {"rule": rule.name, "reason": reason}
        events = self.sorted(constituents)
        return [CompositeEvent(FAILURE, time, time, attributes, rule=rule.name, events=events)]

    def sorted(self, constituents: Iterable[tuple[str, Event]]) -> tuple[tuple[str, Event], ...]:
        """Constituents in the order of time and content, equal ones by their labels."""
        return tuple(sorted(constituents, key=lambda pair: (self._contents.key(pair[1]), pair[0])))


def labelled(bound: Bound) -> list[tuple[str, Event]]:
    """The events of a match as pairs of label and event."""
    return [(label, event) for label, events in bound.items() for event in events]


def _attributes(rule: Rule, scope: Scope) -> dict[str, Value]:
    found: dict[str, Value | None] = {}
    if rule.output.everything:
        for label, event in labelled(scope.bound):
            prefix = label.replace("-", "_")
            found.update({f"{prefix}_{name}": value for name, value in event.attributes.items()})
    for attribute in rule.output.attributes:
        found[attribute.name] = converted(value_of(attribute.value, scope), attribute.kind)
    return {name: value for name, value in found.items() if value is not None}
