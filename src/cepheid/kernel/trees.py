"""The lazy strategy from outside: rules and batches of events in, matches out as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cepheid.algebra import Component, Instant, Rule, Tree, find
from cepheid.kernel.columns import Batch, Encoder
from cepheid.kernel.expand import expand, spread
from cepheid.kernel.families import families
from cepheid.kernel.lazy import CONSUMED_FULL, DONE, MATCHES_FULL, decide, feed
from cepheid.kernel.machine import Machine, room_for_matches, room_to_search
from cepheid.kernel.plan import plan
from cepheid.kernel.programs import new_frame
from cepheid.kernel.store import (
    MATCH_ROWS,
    MATCH_VALUES,
    MATCHES,
    ROWS,
    compact,
    new_store,
    with_room,
    with_room_to_consume,
)
from cepheid.kernel.tables import Registry, Tables
from cepheid.kernel.values import Ints, Tags


@dataclass(frozen=True)
class Found:
    """Matches as columns: rules, times, constituents by label, values by attribute.

    The rules are those of one family, which have the same shape. Constituents are the origins of
    events.
    """

    labels: tuple[str, ...]
    rules: Ints
    times: Ints
    constituents: Ints
    tags: Tags
    cells: Ints


@dataclass
class _Waiting:
    """Matches of a family that wait for their deadline."""

    family: int
    lows: Ints
    highs: Ints
    times: Ints
    rows: Ints
    tags: Tags
    cells: Ints


class TreeKernel:
    """Holds the tables and the state of rules whose patterns are trees."""

    def __init__(self, rules: Sequence[Rule], encoder: Encoder | None = None) -> None:
        self.registry = Registry(encoder or Encoder())
        self.retention = _retention(rules)
        self._families = families(rules)
        for family in self._families:
            plan(family, self.registry)
        tables, code = self.registry.tables()
        self._widths = np.diff(tables.component_begins[: len(self._families) + 1])
        self._computed = np.diff(tables.output_begins[: len(self._families) + 1])
        self._entries = _entries_by_type(tables)
        width = int(max(self._widths, default=1))
        self._machine = Machine(
            tables,
            code,
            new_store(max(1, len(self.registry.encoder.columns))),
            new_frame(width, len(self.registry.registers)),
            room_for_matches(1 << 14),
            room_to_search(256, width),
            np.zeros(1, np.int64),
        )
        self._waiting: list[_Waiting] = []

    @property
    def stored(self) -> int:
        """How many events are kept."""
        return int(self._machine.store.counts[ROWS])

    def feed(self, batch: Batch) -> Iterator[Found]:
        """Take events in the total order; matches come family by family, in portions."""
        count = len(batch.types)
        if count == 0:
            return
        yield from self.advance(int(batch.ends[0]))
        self._prepare(batch)
        at = 0
        while at < count:
            at, status = feed(self._machine, batch, at, count)
            yield from self._drained()
            if status != DONE:
                self._make_room(status)
        yield from self.advance(int(batch.ends[-1]))

    def advance(self, time: int) -> Iterator[Found]:
        """Let time pass: matches whose deadline has come are decided."""
        waiting, self._waiting = self._waiting, []
        for portion in waiting:
            due = portion.times <= time
            if not due.any():
                self._waiting.append(portion)
                continue
            good = np.array(
                [
                    d and self._decided(portion.family, r)
                    for d, r in zip(due, portion.rows, strict=True)
                ]
            )
            yield self._expanded(_selected(portion, good))
            if not due.all():
                self._waiting.append(_selected(portion, ~due))

    def _decided(self, family: int, rows: Ints) -> bool:
        return bool(decide(self._machine, family, rows))

    # --- room ----------------------------------------------------------------

    def _prepare(self, batch: Batch) -> None:
        """Forget what has expired, and make room for what comes."""
        store = self._machine.store
        if self.retention is not None:
            gone = compact(store, int(batch.ends[0]) - self.retention)
            for portion in self._waiting:
                portion.rows -= gone
        known = batch.types[batch.types >= 0]
        entries = int(self._entries[known].sum())
        store = with_room(store, len(known) + 1, entries)
        ranks = self.registry.encoder.texts.ranks()
        self._machine = self._machine._replace(store=store, ranks=ranks)

    def _make_room(self, status: int) -> None:
        machine = self._machine
        if status == CONSUMED_FULL:
            machine = machine._replace(store=with_room_to_consume(machine.store))
        elif status == MATCHES_FULL:
            machine = machine._replace(matches=room_for_matches(2 * len(machine.matches.family)))
        else:
            width = len(machine.scratch.begins) - 1
            scratch = room_to_search(2 * len(machine.scratch.picks), width)
            machine = machine._replace(scratch=scratch)
        self._machine = machine

    # --- matches -------------------------------------------------------------

    def _drained(self) -> Iterator[Found]:
        """The matches that were written down, by family; the room is free again."""
        matches, counts = self._machine.matches, self._machine.store.counts
        count = int(counts[MATCHES])
        counts[MATCHES] = counts[MATCH_ROWS] = counts[MATCH_VALUES] = 0
        if count == 0:
            return
        written = matches.family[:count]
        rows_begin = _begins(self._widths[written])
        values_begin = _begins(self._computed[written])
        for family in np.unique(written):
            chosen = np.flatnonzero(written == family)
            rows = rows_begin[chosen][:, None] + np.arange(self._widths[family])
            values = values_begin[chosen][:, None] + np.arange(self._computed[family])
            portion = _Waiting(
                int(family),
                matches.low[chosen],
                matches.high[chosen],
                matches.time[chosen],
                matches.rows[rows],
                matches.tags[values].astype(np.uint8),
                matches.cells[values],
            )
            if self._machine.tables.family_deadline[family] >= 0:
                self._waiting.append(portion)
            else:
                yield self._expanded(portion)

    def _expanded(self, portion: _Waiting) -> Found:
        """One match per member of the family, with the values of its attributes."""
        members = np.array(self._families[portion.family].members, np.int64)
        origins = self._machine.store.origins[portion.rows]
        tags, cells = self._values(portion)
        total = int((portion.highs - portion.lows).sum())
        found = Found(
            self.registry.labels[portion.family],
            np.empty(total, np.int64),
            np.empty(total, np.int64),
            np.empty((origins.shape[1], total), np.int64),
            np.empty((len(tags), total), np.uint8),
            np.empty((len(tags), total), np.int64),
        )
        expand(portion.lows, portion.highs, members, portion.times, found.rules, found.times)
        spread(portion.lows, portion.highs, origins.T, found.constituents)
        spread(portion.lows, portion.highs, cells, found.cells)
        spread(portion.lows, portion.highs, tags, found.tags)
        return found

    def _values(self, portion: _Waiting) -> tuple[Tags, Ints]:
        """The values of the output attributes, by attribute: gathered, or computed before."""
        layout, store = self.registry.layouts[portion.family], self._machine.store
        tags = np.zeros((len(layout), len(portion.times)), np.uint8)
        cells = np.zeros((len(layout), len(portion.times)), np.int64)
        computed = 0
        for index, place in enumerate(layout):
            if place is None:
                tags[index], cells[index] = portion.tags[:, computed], portion.cells[:, computed]
                computed += 1
            else:
                rows = portion.rows[:, place.position]
                tags[index] = store.tags[place.column, rows]
                cells[index] = store.cells[place.column, rows]
        return tags, cells


def _selected(portion: _Waiting, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> _Waiting:
    return _Waiting(
        portion.family,
        portion.lows[chosen],
        portion.highs[chosen],
        portion.times[chosen],
        portion.rows[chosen],
        portion.tags[chosen],
        portion.cells[chosen],
    )


def _begins(lengths: Ints) -> Ints:
    begins = np.zeros(len(lengths), np.int64)
    np.cumsum(lengths[:-1], out=begins[1:])
    return begins


def _entries_by_type(tables: Tables) -> Ints:
    """How many entries an event of each type may need."""
    stacks = np.diff(tables.stack_begins)
    of_type = tables.predicate_of_type
    sums = [int(stacks[of_type[a:b]].sum()) for a, b in pairwise(tables.predicate_begins)]
    return np.array(sums, np.int64)


def _retention(rules: Sequence[Rule]) -> int | None:
    """How long events must be kept, counted from their end; None is for ever.

    A component may hang on another, so windows along a path add up.
    """
    longest = 0
    for rule in rules:
        tree = rule.pattern
        assert isinstance(tree, Tree)  # noqa: S101 (the caller chose the strategy)
        reach = _reach(tree)
        if reach is None:
            return None
        longest = max(longest, reach)
    return longest


def _reach(tree: Tree) -> int | None:
    offsets = [abs(instant.offset) for instant in find(tree, Instant)]
    lengths = {part.label: _length(part) for part in tree.components}
    if any(length is None for length in lengths.values()) and tree.within is None:
        return None
    path = sum(length for length in lengths.values() if length is not None)
    return path + (tree.within or 0) + max(offsets, default=0)


def _length(part: Component) -> int | None:
    if part.window is None:
        return 0
    return part.window.length
