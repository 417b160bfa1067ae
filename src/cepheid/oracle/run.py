"""Runs: events of one type, watched until the window is full (LAIPE, sections 4 and 5.3).

A run opens at the first event that is not consumed and grows with every event of its partition.
When the window is full, the condition is judged on the whole run, the last event included: a
composite event consumes the run; otherwise it fails, and the oldest events are dropped until the
window is no longer full. An event that breaks an Each condition ends the run at once, which is a
failure if there was a run (the transition back to the start state, section 5.1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cepheid.algebra import CountWindow, Each, Key, Rule, Run
from cepheid.events import CompositeEvent, Event, Value, kind_of
from cepheid.oracle.matches import World, labelled
from cepheid.oracle.values import Scope, equal, holds, satisfies

PartitionKey = tuple[tuple[bool, Value], ...]


def partition_of(event: Event, keys: Iterable[Key]) -> PartitionKey | None:
    """The values that tell an event's partition; None when it belongs to none."""
    found: list[tuple[bool, Value]] = []
    for key in keys:
        name = key.attribute(event.type)
        if name is None and key.value is not None:
            continue
        value = event.attributes.get(name or "")
        if value is None or (key.value is not None and not equal(value, key.value)):
            return None
        if key.value is None:
            found.append((kind_of(value).numeric, value))
    return tuple(found)


@dataclass
class RunEvaluator:
    """Evaluates a rule whose pattern is a run."""

    rule: Rule
    run: Run
    world: World
    _open: dict[PartitionKey, list[Event]] = field(default_factory=dict)

    def see(self, event: Event) -> list[CompositeEvent]:
        """The composite or failure event that an event causes."""
        partition = partition_of(event, self.run.partition)
        scope = Scope(missing=self.rule.missing)
        if partition is None or not satisfies(event, self.run.predicate, scope):
            return []
        events = self._open.setdefault(partition, [])
        events.append(event)
        condition = self.run.condition
        if isinstance(condition, Each) and not holds(condition.condition, self._scope([], event)):
            self._open[partition] = []
            return self._failure(events, event, "broken") if len(events) > 1 else []
        return self._judged(partition) if self._full(events) else []

    def due(self) -> int | None:
        """Runs wait for events, never for time."""
        return None

    def fire(self, now: int) -> list[CompositeEvent]:
        """Nothing happens because time passes."""
        return []

    def _judged(self, partition: PartitionKey) -> list[CompositeEvent]:
        events = self._open[partition]
        condition = self.run.condition
        if isinstance(condition, Each) or holds(condition, self._scope(events)):
            self._open[partition] = []
            return [self._compose(events)]
        failure = self._failure(events, events[-1], "unmet")
        while self._full(events):
            events.pop(0)
        return failure

    def _full(self, events: list[Event]) -> bool:
        if isinstance(self.run.window, CountWindow):
            return len(events) >= self.run.window.size
        return bool(events) and events[-1].end - events[0].start >= self.run.window.length

    def _scope(self, events: list[Event], own: Event | None = None) -> Scope:
        return Scope({self.run.label: tuple(events)}, own, missing=self.rule.missing)

    def _compose(self, events: list[Event]) -> CompositeEvent:
        scope = self._scope(events)
        start = min(event.start for event in events)
        end = max(event.end for event in events)
        return self.world.compose(self.rule, labelled(scope.bound), scope, start, end)

    def _failure(self, events: list[Event], last: Event, reason: str) -> list[CompositeEvent]:
        pairs = [(self.run.label, event) for event in events]
        return self.world.failure(self.rule, pairs, last.end, reason)
