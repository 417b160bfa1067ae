"""History: a shard over all messages that it will ever get, in the order of their earliest ends.

Messages overlap in time as they come from different files. Those that are read wait until the
next one begins later than they end; so memory holds what overlaps and what windows keep, not all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import numpy as np

from cepheid.runtime.arrival import NEVER, Heard
from cepheid.spark.bad import letters_of
from cepheid.spark.generate import BAD, marked, told
from cepheid.spark.messages import HEARD, LETTERS, Message, heard_of, table_of
from cepheid.spark.plan import Plan, Plans
from cepheid.spark.route import Newest
from cepheid.spark.shard import Outcome, Shard
from cepheid.tables.arrow import Arrow
from cepheid.tables.table import Table, concat

PORTION = 1 << 19
"""How many events wait before it is tried to consume some of them."""
STRETCH = 1 << 16
"""About how many are consumed at a time, at first: what they make is in memory together, and rules
may make dozens of composite events of one event. As long as they make few, it is twice as many the
next time.
"""
LONGEST = 1 << 18
"""How many they become at most: a storm may follow."""
_FEW = 8
"""That is at most one composite event for so many events."""


class History:
    """Feeds one shard from messages that come sorted."""

    def __init__(self, plan: Plan, shard: str) -> None:
        self._shard = Shard(plan, shard)
        self._waiting: list[Table] = []
        self._rows = 0
        self._enough = PORTION
        self._stretch = STRETCH

    def tables(
        self, messages: Iterable[Message], schema: Arrow, outputs: frozenset[str]
    ) -> Iterator[Arrow]:
        """What is found, portion by portion, and what was no event."""
        heard: list[bytes] = []
        times = self._shard.plan.form.times
        for message in messages:
            if message.kind == LETTERS:
                yield marked(letters_of(message.payload), BAD, schema)
            elif message.kind == HEARD:
                heard.append(message.payload)
            else:
                if self._rows >= self._enough:
                    for outcome in self._consumed(message.low):
                        yield from told(outcome, times, schema, outputs)
                self._waiting.append(table_of(message.payload))
                self._rows += len(self._waiting[-1])
        for outcome in self._consumed(None):
            yield from told(outcome, times, schema, outputs)
        yield from told(self._closed(heard_of(heard)), times, schema, outputs)

    def _consumed(self, low: int | None) -> Iterator[Outcome]:
        """Consume what ends before a time, or everything."""
        table, rest = before(concat(self._waiting), low)
        self._waiting, self._rows = [rest], len(rest)
        # Were it tried again at once, what overlaps would be copied for every message.
        self._enough = PORTION + 2 * self._rows
        table = in_time(table)
        begin = 0
        while begin < len(table):
            end = end_of(table, begin, self._stretch)
            part = table.slice(begin, end)
            newest: Newest = {None: int(part.ends[-1])}
            outcome = self._shard.take_tables([part], Heard(newest))
            makes_few = _FEW * outcome.composites.num_rows <= len(part)
            self._stretch = min(2 * self._stretch, LONGEST) if makes_few else STRETCH
            yield outcome
            begin = end

    def _closed(self, heard: Heard) -> Outcome:
        """Let time go on to the end of all events, or to where the caller wants it."""
        ends = [*heard.newest.values(), *heard.beats.values()]
        wanted = self._shard.plan.until
        until = max([*ends, *([] if wanted is None else [wanted])], default=NEVER)
        found = self._shard.advance(until)
        return Outcome(found, Table.empty())


def before(table: Table, low: int | None) -> tuple[Table, Table]:
    """The events that end before a time, and the others; all of them when there is none."""
    early = np.ones(len(table), np.bool_) if low is None else table.ends < low
    if early.all():
        return table, table.slice(0, 0)
    return table.take(np.flatnonzero(early)), table.take(np.flatnonzero(~early))


def in_time(table: Table) -> Table:
    """Events in the order of their ends."""
    if bool((table.ends[1:] >= table.ends[:-1]).all()):
        return table
    return table.take(np.argsort(table.ends, kind="stable"))


def end_of(table: Table, begin: int, count: int) -> int:
    """Where a stretch of about so many events ends; those that end together stay together."""
    last = min(begin + count, len(table)) - 1
    return int(np.searchsorted(table.ends, table.ends[last], "right"))


def history(
    plans: Plans, rows: Iterable[Message], schema: Arrow, outputs: frozenset[str]
) -> Iterator[tuple[str, Arrow]]:
    """What the shards of a partition find, with their names; messages come sorted by shard."""
    for address, messages in groupby(rows, key=lambda row: row.shard):
        for table in History(*plans.of(address)).tables(messages, schema, outputs):
            yield address, table
