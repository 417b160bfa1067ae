"""Stories: a run of the oracle over events, with everything that its rules saw."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cepheid.algebra import (
    Attribute,
    Collection,
    Detector,
    Expression,
    Relation,
    Rule,
    Run,
    Tree,
)
from cepheid.automaton import compile_rule
from cepheid.automaton.model import Automaton
from cepheid.events import CompositeEvent, Event, Schema
from cepheid.oracle.evaluate import DEPTH_LIMIT, _Stream
from cepheid.oracle.matches import World
from cepheid.oracle.values import Scope, Tick
from cepheid.why.attempts import Aim, Attempt, Means, Trace
from cepheid.why.changes import Change, Move, Remove, SetValue, together
from cepheid.why.detectors import DetectorTrace
from cepheid.why.gatherings import CollectionTrace
from cepheid.why.runs import RunTrace
from cepheid.why.solve import Solver
from cepheid.why.trees import TreeTrace
from cepheid.why.words import Words

LEAVES = 4
"""How many events below a composite event are proposed to be another."""


@dataclass(frozen=True)
class Setting:
    """What stays the same while events are changed."""

    rules: tuple[Rule, ...]
    schema: Schema = field(default_factory=Schema)
    words: Words = field(default_factory=Words)

    @cached_property
    def automata(self) -> dict[str, Automaton]:
        """The automata of the rules, by name."""
        return {rule.name: compile_rule(rule) for rule in self.rules}

    @cached_property
    def produced(self) -> frozenset[str]:
        """The types of events that rules make."""
        return frozenset(rule.output.type for rule in self.rules)

    def rule(self, name: str) -> Rule:
        """The rule of a name."""
        return next(rule for rule in self.rules if rule.name == name)

    def makers(self, type_: str) -> list[Rule]:
        """The rules that make events of a type."""
        return [rule for rule in self.rules if rule.output.type == type_]


def _trace(rule: Rule, world: World) -> Trace:
    if isinstance(rule.pattern, Tree):
        return TreeTrace(rule, rule.pattern, world)
    if isinstance(rule.pattern, Run):
        return RunTrace(rule, rule.pattern, world)
    if isinstance(rule.pattern, Collection):
        return CollectionTrace(rule, rule.pattern, world)
    assert isinstance(rule.pattern, Detector)  # noqa: S101 (there is no other pattern)
    return DetectorTrace(rule, rule.pattern, world)


class _Remembered(_Stream):
    """The stream of the oracle, with evaluators that remember what they saw."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting.rules, setting.schema, failures=False, depth_limit=DEPTH_LIMIT)
        self.traces = {rule.name: _trace(rule, self._world) for rule in setting.rules}
        self._evaluators = list(self.traces.values())

    def run(self, events: Sequence[Event], until: int | None) -> None:
        """Let events enter in their order, and time go on, as the oracle does."""
        ordered = sorted(map(copy.copy, events), key=self.order.key)
        for event in ordered:
            self.start(event.end)
            self.pass_time(event.end - 1)
            self.enter(event)
        if ordered:
            self.pass_time(max(ordered[-1].end, ordered[-1].end if until is None else until))


class Story:
    """What rules saw in events, up to a time."""

    def __init__(self, setting: Setting, events: Sequence[Event], until: int | None = None) -> None:
        self.setting = setting
        stream = _Remembered(setting)
        stream.run(events, until)
        self.traces = stream.traces
        self._attempts: dict[tuple[str, Aim], list[Attempt]] = {}
        self.found: list[CompositeEvent] = stream.found
        self.step = _resolution(events)
        ends = [event.end for event in events]
        self.end = max([*ends, *([] if until is None else [until])], default=0)

    def of(self, rule: str) -> list[CompositeEvent]:
        """The composite events of a rule."""
        return [event for event in self.found if event.rule == rule]

    def means(self, rule: str) -> Means:
        """What an analysis of a rule needs."""
        setting = self.setting
        solver = Solver(setting.schema, setting.produced, self.step, setting.words)
        return Means(setting.automata[rule], solver, setting.words)

    def attempts(self, rule: str, aim: Aim) -> list[Attempt]:
        """How far a rule came."""
        known = self._attempts.get((rule, aim))
        if known is None:
            known = self.traces[rule].attempts(aim, self.means(rule))
            self._attempts[rule, aim] = known
        return known

    # --- changes of composite events -----------------------------------------

    def grounded(self, change: Change) -> Iterator[Change]:
        """A change of a composite event as changes of the events that it was made of."""
        from cepheid.why.changes import Together

        if isinstance(change, Together):
            parts = [next(self.grounded(part), None) for part in change.changes]
            known = [part for part in parts if part is not None]
            if len(known) == len(parts):
                yield together(known)
            return
        event = getattr(change, "event", None)
        if isinstance(event, Tick):
            return
        if not isinstance(event, CompositeEvent):
            yield change
        elif isinstance(change, Remove):
            if event.rule in self.traces:
                for other in self.traces[event.rule].averting(event, self.means(event.rule)):
                    yield from self.grounded(other)
            yield from (
                Remove(leaf, words=change.words) for leaf in leaves_of(event)[-LEAVES:][::-1]
            )
        elif isinstance(change, Move):
            yield from self._moved(change, event)
        elif isinstance(change, SetValue):
            yield from self._set(change, event)

    def _moved(self, change: Move, event: CompositeEvent) -> Iterator[Change]:
        leaves = leaves_of(event)
        moves = [
            Move(e, e.start + change.shift, e.end + change.shift, change.scale, words=change.words)
            for e in leaves
        ]
        if not moves:
            return
        if len(moves) <= LEAVES:
            yield together(moves)
        last = max(range(len(leaves)), key=lambda n: leaves[n].end)
        first = min(range(len(leaves)), key=lambda n: leaves[n].start)
        yield moves[last]
        if first != last:
            yield moves[first]

    def _set(self, change: SetValue, event: CompositeEvent) -> Iterator[Change]:
        """What an attribute of a composite event was computed of, with other values."""
        value = self._source(event, change.name)
        if value is None or change.value is None:
            return
        bound: dict[str, tuple[Event, ...]] = {}
        for label, part in event.events:
            bound[label] = (*bound.get(label, ()), part)
        pattern = self.setting.rule(event.rule).pattern
        bindings = pattern.bindings if isinstance(pattern, Tree) else ()
        scope = Scope(bound, parameters={binding.name: binding.value for binding in bindings})
        solver = self.means(event.rule).solver
        for other in solver.reach(value, Relation.EQUAL, change.value, scope):
            yield from self.grounded(other)

    def _source(self, event: CompositeEvent, name: str) -> Expression | None:
        """The expression that an attribute of a composite event came from."""
        if event.rule not in self.traces:
            return None
        output = self.setting.rule(event.rule).output
        for attribute in output.attributes:
            if attribute.name == name:
                return attribute.value
        for label, part in event.events if output.everything else ():
            for own in part.attributes:
                if f"{label.replace('-', '_')}_{own}" == name:
                    return Attribute(label, own)
        return None


def leaves_of(event: Event) -> list[Event]:
    """The events from outside below a composite event, in the order of time."""
    if isinstance(event, Tick):
        return []
    if not isinstance(event, CompositeEvent):
        return [event]
    found = {id(leaf): leaf for _, part in event.events for leaf in leaves_of(part)}
    return sorted(found.values(), key=lambda e: (e.end, e.start))


def _resolution(events: Sequence[Event]) -> int:
    """The coarsest step of time that fits all events."""
    times = [time for event in events for time in (event.start, event.end)]
    for step in (1_000_000, 1_000):
        if all(time % step == 0 for time in times):
            return step
    return 1
