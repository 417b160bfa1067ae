"""The stream: events in their order, timers in between, composite events after their cause."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cepheid.algebra import (
    Collection,
    Detector,
    EventPredicate,
    Rule,
    Run,
    Tree,
    find,
    input_types,
)
from cepheid.errors import LimitError
from cepheid.events import CompositeEvent, Event, Order, Schema
from cepheid.oracle.collection import CollectionEvaluator
from cepheid.oracle.detector import DetectorEvaluator
from cepheid.oracle.matches import FAILURE, Evaluator, World
from cepheid.oracle.run import RunEvaluator
from cepheid.oracle.tree import TreeEvaluator
from cepheid.oracle.values import Tick

DEPTH_LIMIT = 32
"""How often composite events may cause composite events, counted from a primitive event."""
CAUSED_LIMIT = 1_000_000
"""How many composite events that rules use one event may cause before no more are let in."""
TICK_LIMIT = 1_000_000
"""How many events periodic timers may give in one evaluation."""


@dataclass(frozen=True)
class Outcome:
    """What rules found: the composite events in the order of finding, and how many were cut.

    `cut` counts composite events that lay beyond the limits of recursion.
    """

    events: tuple[CompositeEvent, ...]
    cut: int = 0


def evaluate(
    rules: Sequence[Rule],
    events: Iterable[Event],
    *,
    schema: Schema | None = None,
    until: int | None = None,
    failures: bool = False,
    depth_limit: int = DEPTH_LIMIT,
    caused_limit: int = CAUSED_LIMIT,
) -> Outcome:
    """Everything that rules find in a finite list of events, up to a time.

    Time goes on to the end of the last event, or to `until`; what is due by then happens.
    """
    stream = _Stream(rules, schema, failures, depth_limit, caused_limit)
    ordered = sorted(map(copy.copy, events), key=stream.order.key)
    for event in ordered:
        stream.start(event.end)
        stream.pass_time(event.end - 1)
        stream.enter(event)
    ends = [event.end for event in ordered] + ([] if until is None else [until])
    if ordered:
        stream.pass_time(max(ends))
    return Outcome(tuple(stream.found), stream.cut)


class _Stream:
    """Hands events to the evaluators of all rules, and composite events back to them."""

    def __init__(
        self,
        rules: Sequence[Rule],
        schema: Schema | None,
        failures: bool,
        depth_limit: int,
        caused_limit: int = CAUSED_LIMIT,
    ) -> None:
        self.order = Order(schema)
        self.found: list[CompositeEvent] = []
        self.cut = 0
        self._failures = failures
        self._depth_limit = depth_limit
        self._caused_limit = caused_limit
        self._caused = 0
        self._used = {type_ for rule in rules for type_ in input_types(rule)}
        self._world = World([], self.order, failures or FAILURE in self._used)
        self._evaluators = [_evaluator(rule, self._world) for rule in rules]
        periods = {found.every for rule in rules for found in find(rule, EventPredicate)}
        self._ticks = dict.fromkeys(sorted(filter(None, periods)))
        self._next_tick: dict[int, int] = {}
        self._ticked = 0

    def start(self, time: int) -> None:
        """Periodic timers tick from the first event on."""
        for period in self._ticks:
            self._next_tick.setdefault(period, -(-time // period) * period)

    def pass_time(self, until: int) -> None:
        """Let everything happen that is due at or before a time."""
        while True:
            tick = min(self._next_tick.values(), default=None)
            timer = min(
                (time for time in (e.due() for e in self._evaluators) if time is not None),
                default=None,
            )
            if tick is not None and tick <= until and (timer is None or tick <= timer):
                self._tick(tick)
            elif timer is not None and timer <= until:
                self._world.now = timer
                caused = [c for e in self._evaluators for c in e.fire(timer)]
                self._world.fired = timer
                self._settle(caused, 1)
                self._world.fired = None
            else:
                return

    def _tick(self, now: int) -> None:
        for period, time in self._next_tick.items():
            if time == now:
                self._ticked += 1
                if self._ticked > TICK_LIMIT:
                    raise LimitError(
                        f"periodic timers must give at most {TICK_LIMIT} events in one run\n\n"
                        "hint: write a longer period, or evaluate a shorter stretch of time"
                    )
                self._next_tick[period] = now + period
                self.enter(Tick("Timer", now, now, every=period))

    def enter(self, event: Event) -> None:
        """Show an event to all rules, and then whatever it causes."""
        self._world.now = event.end
        self._settle([event], 0)

    def _settle(self, events: Sequence[Event], depth: int) -> None:
        self._caused = 0
        waiting = deque((event, depth) for event in self._admitted(events, depth))
        while waiting:
            event, level = waiting.popleft()
            self._world.history.append(event)
            self.order.note(event)
            caused = [c for evaluator in self._evaluators for c in evaluator.see(event)]
            waiting.extend((c, level + 1) for c in self._admitted(caused, level + 1))

    def _admitted(self, events: Sequence[Event], depth: int) -> list[Event]:
        """Events in the total order; composite events are told, or cut as too deep or too many."""
        if depth > self._depth_limit or self._caused >= self._caused_limit:
            self.cut += len(events)
            return []
        ordered = sorted(events, key=self.order.key)
        if depth:
            self._caused += sum(event.type in self._used for event in ordered)
        for event in ordered if depth else ():
            if isinstance(event, CompositeEvent) and (self._failures or event.type != FAILURE):
                self.found.append(event)
        return ordered


def _evaluator(rule: Rule, world: World) -> Evaluator:
    if isinstance(rule.pattern, Tree):
        return TreeEvaluator(rule, rule.pattern, world)
    if isinstance(rule.pattern, Run):
        return RunEvaluator(rule, rule.pattern, world)
    if isinstance(rule.pattern, Collection):
        return CollectionEvaluator(rule, rule.pattern, world)
    assert isinstance(rule.pattern, Detector)  # noqa: S101 (there is no other pattern)
    return DetectorEvaluator(rule, rule.pattern, world)
