"""A kernel that asks the oracle: matches of every shape, to test what stands behind a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cepheid.algebra import Rule, Tree, input_types
from cepheid.events import CompositeEvent, Event, Schema
from cepheid.kernel.columns import Encoder
from cepheid.kernel.found import Found
from cepheid.oracle.evaluate import _Stream
from cepheid.oracle.values import Tick


class OracleKernel:
    """Evaluates rules over events that are known beforehand, in the total order."""

    def __init__(
        self,
        rules: Sequence[Rule],
        events: Sequence[Event],
        schema: Schema | None = None,
        *,
        failures: bool = False,
    ) -> None:
        self.encoder = Encoder()
        self.cut = 0
        self._rules = rules
        self._numbers = {rule.name: number for number, rule in enumerate(rules)}
        self._events = events
        self._stream = _Stream(rules, schema, failures, depth_limit=3)
        self._origins: dict[int, int] = {}
        self._seen = self._made = 0
        self._ticks: list[tuple[int, int]] = []
        self._listened = {type_ for rule in rules for type_ in input_types(rule)}

    def feed(self, begin: int, end: int) -> list[Found]:
        """Take the events between two places."""
        for origin in range(begin, end):
            event = self._events[origin]
            self._origins[id(event)] = origin
            self._stream.start(event.end)
            self._stream.pass_time(event.end - 1)
            self._stream.enter(event)
        return list(self._founds())

    def advance(self, time: int) -> list[Found]:
        """Let time pass."""
        self._stream.pass_time(time)
        return list(self._founds())

    def take_ticks(self) -> tuple[np.ndarray, np.ndarray]:
        """Origins and times of ticks."""
        found = np.array(self._ticks, np.int64).reshape(-1, 2).T
        self._ticks = []
        return found[0], found[1]

    def told(self) -> list[CompositeEvent]:
        """What the oracle found."""
        return self._stream.found

    def _founds(self) -> Iterator[Found]:
        groups: dict[tuple[int, bool], list[CompositeEvent]] = {}
        history = self._stream._world.history
        for event in history[self._seen :]:
            if id(event) in self._origins:
                continue
            self._made -= 1
            self._origins[id(event)] = self._made
            if isinstance(event, Tick):
                self._ticks.append((self._made, event.end))
            elif isinstance(event, CompositeEvent):
                number = self._numbers[event.rule]
                failing = event.type != self._rules[number].output.type
                groups.setdefault((number, failing), []).append(event)
        self._seen = len(history)
        for (number, failing), made in groups.items():
            yield self._found(number, failing, made)

    def _found(self, number: int, failing: bool, made: list[CompositeEvent]) -> Found:
        rule = self._rules[number]
        names = tuple(attribute.name for attribute in rule.output.attributes)
        names = ("rule", "reason") if failing else names
        cells = [[self.encoder.cell(e.attributes.get(name)) for e in made] for name in names]
        pairs = np.array(cells, np.int64).reshape(len(names), len(made), 2)
        heads = (
            np.full(len(made), number, np.int64),
            np.arange(len(made)),
            np.array([event.start for event in made], np.int64),
            np.array([event.end for event in made], np.int64),
            self._made_origins(made),
            names,
            pairs[:, :, 0].astype(np.uint8),
            np.ascontiguousarray(pairs[:, :, 1]),
        )
        if isinstance(rule.pattern, Tree):
            labels = tuple(component.label for component in rule.pattern.components)
            by_label = [dict(event.events) for event in made]
            origins = [[self._origins[id(own[label])] for own in by_label] for label in labels]
            return Found(*heads, labels, np.array(origins, np.int64))
        flat = [pair for event in made for pair in reversed(event.events)]
        offsets = np.cumsum([0, *(len(event.events) for event in made)], dtype=np.int64)
        return Found(
            *heads,
            (),
            np.array([self._origins[id(part)] for _, part in flat], np.int64),
            offsets,
            np.array([self.encoder.texts.code(label) for label, _ in flat], np.int64),
            failing,
        )

    def _made_origins(self, made: list[CompositeEvent]) -> np.ndarray | None:
        if made[0].type not in self._listened:
            return None
        return np.array([self._origins[id(event)] for event in made], np.int64)
