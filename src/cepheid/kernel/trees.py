"""The lazy strategy from outside: rules in, batches of events in, matches out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.algebra import Rule, Tree
from cepheid.events import CompositeEvent, Event, Order, Schema, Value
from cepheid.kernel.columns import Ints
from cepheid.kernel.families import families
from cepheid.kernel.lazy import (
    CONSUMED_FULL,
    DONE,
    MATCHES_FULL,
    Matches,
    Scratch,
    decide,
    feed,
)
from cepheid.kernel.plan import Planner
from cepheid.kernel.programs import new_frame
from cepheid.kernel.store import (
    MATCH_ROWS,
    MATCH_VALUES,
    MATCHES,
    new_store,
    with_room,
    with_room_to_consume,
)


@dataclass(frozen=True)
class Found:
    """Matches: family, range of its members, time; rows and values one after the other."""

    families: Ints
    lows: Ints
    highs: Ints
    times: Ints
    rows: Ints
    tags: Ints
    cells: Ints


class TreeKernel:
    """Holds the tables and the state of rules whose patterns are trees."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.planner = Planner()
        self.families = families(rules)
        for family in self.families:
            self.planner.add(family)
        self.tables, self.code = self.planner.tables()
        self.rules = tuple(rules)
        self._widths = np.diff(self.tables.component_begins[: len(self.families) + 1])
        self._outputs = np.diff(self.tables.output_begins[: len(self.families) + 1])
        width = int(max(self._widths, default=1))
        self._frame = new_frame(width, len(self.planner.registers))
        self._store = new_store(max(1, len(self.planner.encoder.columns)))
        self._matches = _room_for_matches(256)
        self._scratch = _scratch(256, width)
        self._events: list[Event] = []

    def feed(self, events: Sequence[Event]) -> Iterator[Found]:
        """Take events in the total order; matches come in portions."""
        batch = self.planner.encoder.encode(events)
        ranks = self.planner.encoder.texts.ranks()
        stacks = len(self.planner.stacks)
        self._store = with_room(self._store, len(events) + 1, len(events) * max(1, stacks))
        at = 0
        while at < len(events):
            at, status = feed(
                at, len(events), batch, self.tables, self.code, self._store, self._frame,
                self._matches, self._scratch, ranks,
            )
            yield self._drain()
            if status != DONE:
                self._make_room(status)

    def decide(self, rule: int, rows: Ints) -> bool:
        """Whether a match that waited for its deadline is one."""
        ranks = self.planner.encoder.texts.ranks()
        return bool(
            decide(rule, rows, self.tables, self.code, self._store, self._frame, self._scratch, ranks)
        )

    def _drain(self) -> Found:
        counts = self._store.counts
        count, rows, values = counts[MATCHES], counts[MATCH_ROWS], counts[MATCH_VALUES]
        counts[MATCHES] = counts[MATCH_ROWS] = counts[MATCH_VALUES] = 0
        return Found(
            self._matches.rule[:count].copy(),
            self._matches.low[:count].copy(),
            self._matches.high[:count].copy(),
            self._matches.time[:count].copy(),
            self._matches.rows[:rows].copy(),
            self._matches.tags[:values].copy(),
            self._matches.cells[:values].copy(),
        )

    def _make_room(self, status: int) -> None:
        if status == CONSUMED_FULL:
            self._store = with_room_to_consume(self._store, len(self._store.consumed_rule))
        elif status == MATCHES_FULL:
            self._matches = _room_for_matches(2 * len(self._matches.rule))
        else:
            self._scratch = _scratch(2 * len(self._scratch.picks), len(self._scratch.begins))


def _room_for_matches(count: int) -> Matches:
    return Matches(
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(8 * count, np.int64),
        np.zeros(8 * count, np.int64),
        np.zeros(8 * count, np.int64),
    )


def _scratch(picks: int, width: int) -> Scratch:
    return Scratch(
        np.zeros(picks, np.int64),
        np.zeros(picks, np.int64),
        np.zeros(picks, np.int64),
        np.zeros(width + 1, np.int64),
        np.zeros(width + 1, np.int64),
        np.zeros(64, np.float64),
    )
