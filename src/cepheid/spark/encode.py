"""Encoding: rows of Spark become events in normal form, and go on as messages to shards.

This runs in Spark's Python workers, over the record batches of one partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from cepheid.events import Kind
from cepheid.runtime.arrival import arrival_of
from cepheid.spark import manifest
from cepheid.spark.bad import of_letters, refused, split_bad
from cepheid.spark.messages import KEPT, PASSED, Message, merge, of_heard, of_table
from cepheid.spark.plan import Plan
from cepheid.spark.route import Newest, Router, newest_of
from cepheid.tables.arrow import Array, Arrow, codes, kind, pa, texts
from cepheid.tables.frames import columns_of
from cepheid.tables.reading import read
from cepheid.tables.table import Table

CHUNK = 1 << 17
"""How many rows are read before they are routed; Spark hands over ten thousand at a time."""
_OFTEN = 4
"""How often a text comes, on average, where a dictionary makes less work than it is."""


class Sender:
    """Reads the rows of one partition; afterwards it knows what was heard in them."""

    def __init__(self, plan: Plan, *, keep_bad: bool, streaming: bool = False) -> None:
        self._plan = plan
        self._streaming = streaming
        self._keep_bad = keep_bad
        self._router = Router(plan)
        settings = plan.settings
        self._beats_of = frozenset(settings.heartbeats)
        self._looked_at = frozenset().union(*(group.types for group in plan.groups))
        arrival = arrival_of(settings.policy, settings.delay, settings.sources, settings.idle)
        self._apart = arrival.apart
        self.newest: Newest = {}
        self.beats: Newest = {}
        self.rows = 0
        self._repeats: dict[str, bool] = {}

    def messages(self, batches: Iterable[Arrow]) -> Iterator[Message]:
        """The messages of all rows, and then for every shard what was heard."""
        for chunk in chunks(batches):
            yield from self._chunk(chunk)
        for shard in self._plan.shards:
            yield of_heard(shard, self.newest, self.beats, self.rows)
        if self._streaming:
            yield of_heard(manifest.KEY, {}, {})

    def _chunk(self, chunk: Any) -> Iterator[Message]:  # noqa: ANN401 (a table of Arrow)
        form = self._plan.form
        self.rows += chunk.num_rows
        good, letters = split_bad(chunk, columns_of(chunk), form.times)
        if letters is not None:
            if not self._keep_bad:
                raise refused(letters)
            yield of_letters(next(iter(self._plan.shards)), letters)
        table = read(good, form.times.clock, self._plan.schema).table
        yield from self.route(replace(table, columns=tuple(self._coded(table))))

    def route(self, table: Table) -> Iterator[Message]:
        """The messages of events, which are also heard."""
        table = self._without_beats(table)
        merge(self.newest, newest_of(table, apart=self._apart))
        for shard, part in self._router.route(table):
            if len(part):
                yield of_table(shard, part, KEPT if self._streaming else PASSED)

    def _coded(self, table: Table) -> Iterator[tuple[str, Array]]:
        """The columns of a table, with a dictionary for texts that come again and again.

        Whether those of a column do is seen in the first rows that are read.
        """
        for name, column in table.columns:
            is_plain = kind(column) is Kind.STRING and not pa.types.is_dictionary(column.type)
            if not is_plain or not self._repeats.get(name, True):
                yield name, column
                continue
            found = column.dictionary_encode()
            self._repeats[name] = _OFTEN * len(found.dictionary) <= len(column)
            yield name, found if self._repeats[name] else column

    def _without_beats(self, table: Table) -> Table:
        if not self._beats_of or len(table) == 0:
            return table
        own, dictionary = codes(table.types)
        names = texts(dictionary)
        is_beat = np.array([name in self._beats_of for name in names], np.bool_)[own]
        if not is_beat.any():
            return table
        merge(self.beats, newest_of(table.take(np.flatnonzero(is_beat)), apart=True))
        seen = np.array([name in self._looked_at for name in names], np.bool_)[own]
        return table.take(np.flatnonzero(~is_beat | seen))


def chunks(batches: Iterable[Arrow]) -> Iterator[Arrow]:
    """Record batches in larger pieces, as tables."""
    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= CHUNK:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)
