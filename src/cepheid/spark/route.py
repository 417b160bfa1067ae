"""Routing: which events go to which shards.

An event goes to the groups whose rules could use it, and within a group to the shard that the
value of its key tells. Equal values tell the same shard whatever their kind: 1 and 1.0 are equal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cepheid.events import Kind, Value
from cepheid.identity import FACTORS, SHIFTS
from cepheid.kernel.hashing import text_hashes
from cepheid.spark.plan import EVERY, Group, Plan
from cepheid.spark.sieve import passing
from cepheid.tables.arrow import (
    Array,
    Bools,
    Ints,
    codes,
    kind,
    numbers,
    pa,
    present,
    text_bytes,
    texts,
)
from cepheid.tables.table import Table

Hashes = npt.NDArray[np.uint64]

Newest = dict[Value | None, int]
"""The newest time of each source."""
_BOOLS = np.uint64(0x9E3779B97F4A7C15)
"""Added to bools, which are no numbers."""


class Router:
    """Sends the events of tables to the shards of a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._types = {
            group.name: None if group.wants_all else group.types for group in plan.groups
        }

    def route(self, table: Table) -> Iterator[tuple[str, Table]]:
        """The events of a table by shard; an event may go to several, or nowhere."""
        for group in self._plan.groups:
            wanted = self._wanted(group, table)
            if wanted is None:
                yield from _spread(group, table)
                continue
            rows = np.flatnonzero(wanted)
            if len(rows):
                yield from _spread(group, table.take(rows) if len(rows) < len(table) else table)

    def comes_first(self, group: Group, table: Table) -> Bools:
        """Which events go to no group before this one."""
        found = np.ones(len(table), np.bool_)
        for other in self._plan.groups[: self._plan.groups.index(group)]:
            wanted = self._wanted(other, table)
            there = np.ones(len(table), np.bool_) if wanted is None else wanted
            if len(other.shards) > 1 and other.key and not other.gaps_go_everywhere:
                there = there & has_key(other, table)
            found &= ~there
        return found

    def _wanted(self, group: Group, table: Table) -> Bools | None:
        """Which events the rules of a group could use; None when all."""
        found, dictionary = codes(table.types)
        own = self._types[group.name]
        wanted = np.array([own is None or name in own for name in texts(dictionary)], np.bool_)
        passed = passing(group.sieve, table)
        if passed is None:
            return None if wanted.all() else wanted[found]
        return wanted[found] & passed


def newest_of(table: Table, *, apart: bool) -> Newest:
    """The newest time of each source of a table, or of all together."""
    if len(table) == 0:
        return {}
    columns = table.named("source") if apart else []
    if not columns:
        return {None: int(table.ends.max())}
    found: Newest = {}
    rest = np.ones(len(table), np.bool_)
    for column in columns:
        own, values = codes(column) if kind(column) is Kind.STRING else _valued(column)
        there = own >= 0
        newest = np.full(len(values), np.iinfo(np.int64).min)
        np.maximum.at(newest, own[there], table.ends[there])
        for value, time in zip(values.to_pylist(), newest.tolist(), strict=True):
            if time > np.iinfo(np.int64).min:
                found[value] = max(time, found.get(value, time))
        rest &= ~there
    if rest.any():
        found[None] = int(table.ends[rest].max())
    return found


def _valued(column: Array) -> tuple[Ints, Array]:
    encoded = column.dictionary_encode()
    return encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(), encoded.dictionary


# --- within a group ------------------------------------------------------------------------


def _spread(group: Group, table: Table) -> Iterator[tuple[str, Table]]:
    """The events of a group's types over its shards."""
    count = len(group.shards)
    if count == 1 or not group.key:
        yield group.shards[0], table
        return
    shards = shard_numbers(group, table)
    gaps = np.flatnonzero(shards < 0) if group.gaps_go_everywhere else None
    order = np.argsort(shards.astype(np.int16 if count < 1 << 15 else np.int32), kind="stable")
    ordered = table.take(order)
    bounds = np.searchsorted(shards[order], np.arange(count + 1))
    everywhere = table.take(gaps) if gaps is not None and len(gaps) else None
    if group.forbidding:
        yield from _forbidding(group, table, shards)
    for number, shard in enumerate(group.shards):
        begin, end = int(bounds[number]), int(bounds[number + 1])
        if begin < end:
            yield shard, ordered.slice(begin, end)
        if everywhere is not None:
            yield shard, everywhere


def _forbidding(group: Group, table: Table, shards: Ints) -> Iterator[tuple[str, Table]]:
    """What goes to the first shard besides its own events: see `Group.forbidding`."""
    found, dictionary = codes(table.types)
    wanted = np.array([*(name in group.forbidding for name in texts(dictionary)), False])
    rows = np.flatnonzero((shards > 0) & wanted[found])
    if len(rows):
        yield group.shards[0], table.take(rows)


def shard_numbers(group: Group, table: Table) -> Ints:
    """For every event the number of its shard; -1 where it has no value of the key."""
    found, dictionary = codes(table.types)
    attributes = sorted(set(group.key.values()))
    # A dictionary may have types that no event has; which attribute stands for them is no matter.
    named = [group.key.get(t) or group.key.get(EVERY, attributes[0]) for t in texts(dictionary)]
    own = np.array([attributes.index(name) for name in named], np.int64)
    which = own[found]
    shards = np.full(len(table), -1, np.int64)
    for number, attribute in enumerate(attributes):
        for column in table.named(attribute):
            there = which == number
            known = present(column)
            if known is not None:
                there &= known
            hashed = hashes(column) % np.uint64(len(group.shards))
            shards = np.where(there, hashed.astype(np.int64), shards)
    return shards


def is_no_others(group: Group, table: Table) -> Bools:
    """Which events have no value of the key, or one that goes to the first shard."""
    found: Bools = shard_numbers(group, table) <= 0
    return found


def has_key(group: Group, table: Table) -> Bools:
    """Which events have a value of the key, so that they go to one shard only."""
    found: Bools = shard_numbers(group, table) >= 0
    return found


def hashes(column: Array) -> Hashes:
    """A hash for every value of a column."""
    own = kind(column)
    if own is Kind.STRING:
        return _mixed(_text_hashes(column))
    values = numbers(column)
    if own is Kind.BOOL:
        return _mixed(values.astype(np.uint64) + _BOOLS)
    # As doubles: those that are equal to ints get their hash; adding 0 makes -0.0 a 0.0.
    return _mixed((values.astype(np.float64) + 0.0).view(np.uint64))


def _text_hashes(column: Array) -> Hashes:
    if pa.types.is_dictionary(column.type):
        found, dictionary = codes(column)
        own = np.append(_text_hashes(dictionary), np.uint64(0))
        taken: Hashes = own[found]
        return taken
    return text_hashes(*text_bytes(column))


def _mixed(bits: Hashes) -> Hashes:
    one, two, three = (np.uint64(shift) for shift in SHIFTS[1])
    factor, other = (np.uint64(factor) for factor in FACTORS[1])
    bits = (bits ^ bits >> one) * factor
    bits = (bits ^ bits >> two) * other
    return bits ^ bits >> three
