"""Shares: how the events and rules of a detection are divided among kernels that run together.

Compiled code lets other threads run, so two kernels use two cores. Rules are divided by what they
look at: those that listen to each other stay together, and so do those of the same types, which
the kernel evaluates together. Where that leaves one with most of the work, events are divided
instead, by an attribute that all events have in common that may meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cepheid.algebra import EventPredicate, Rule, find, input_types
from cepheid.kernel.columns import Batch, Encoder
from cepheid.kernel.registry import FAILURE
from cepheid.kernel.values import DOUBLE, TEXT
from cepheid.spark.keys import RouteKey, route_keys
from cepheid.tables.arrow import Ints, codes, present, texts
from cepheid.tables.table import Table

LEAST = 1 << 17
"""Tables of fewer events are one core's work: threads and kernels take some milliseconds."""
_EVEN = 0.75
"""One share may be so much of the whole; beyond that, dividing it brings too little."""
_TURN, _HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(33)
"""Multiplies a key, so that neighbours go to different shares by their high bits."""


@dataclass(frozen=True)
class Division:
    """Who gets what: the numbers of the rules of every share, and by what events are divided.

    Without a key, every share sees all events that its rules look at.
    """

    shares: tuple[tuple[int, ...], ...]
    key: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.shares)


def divide(rules: Sequence[Rule], table: Table, cores: int) -> Division:
    """The division of a detection; one share where more would not pay."""
    whole = Division((tuple(range(len(rules))),))
    timed = any(part.every is not None for rule in rules for part in find(rule, EventPredicate))
    if cores == 1 or len(table) < LEAST or timed:
        return whole
    by_rules = _by_rules(rules, _counts(table), cores)
    if by_rules is not None:
        return by_rules
    key = _common_key(rules, table)
    if key and _is_even(table, key):
        return Division(whole.shares * cores, key)
    return whole


def _counts(table: Table) -> dict[str, int]:
    """How many events of each type there are."""
    found, names = codes(table.types)
    counts = np.bincount(found, minlength=len(names)).tolist()
    return dict(zip(texts(names), counts, strict=False))


# --- by rules ----------------------------------------------------------------


def _by_rules(rules: Sequence[Rule], counts: Mapping[str, int], cores: int) -> Division | None:
    """Rules in shares of about as many events, the largest groups first."""
    shares: list[list[int]] = [[] for _ in range(cores)]
    work = [0] * cores
    weighed = [(_work(rules, own, counts), own) for own in _together(rules)]
    for own_work, own in sorted(weighed, reverse=True):
        least = work.index(min(work))
        shares[least] += own
        work[least] += own_work
    if max(work) > _EVEN * sum(work):
        return None
    return Division(tuple(tuple(sorted(own)) for own in shares if own))


def _work(rules: Sequence[Rule], numbers: Iterable[int], counts: Mapping[str, int]) -> int:
    types = {type_ for number in numbers for type_ in input_types(rules[number])}
    return sum(counts.get(type_, 0) for type_ in types)


def _together(rules: Sequence[Rule]) -> list[list[int]]:
    """Rules that listen to each other or look at the same types, directly or through others."""
    leader = list(range(len(rules)))

    def find_leader(number: int) -> int:
        while leader[number] != number:
            leader[number] = number = leader[leader[number]]
        return number

    spoken: dict[str, int] = {}
    for number, rule in enumerate(rules):
        for type_ in (*input_types(rule), rule.output.type):
            other = spoken.setdefault(type_, number)
            leader[find_leader(number)] = find_leader(other)
    found: dict[int, list[int]] = {}
    for number in range(len(rules)):
        # Whoever hears of failures hears of those of all rules.
        together = 0 if FAILURE in spoken else find_leader(number)
        found.setdefault(together, []).append(number)
    return list(found.values())


# --- by events ---------------------------------------------------------------


def _common_key(rules: Sequence[Rule], table: Table) -> RouteKey | None:
    """A key that all rules have, where no rule listens to another and no event lacks it."""
    heard = {type_ for rule in rules for type_ in input_types(rule)}
    if heard & {FAILURE, *(rule.output.type for rule in rules)}:
        return None
    common: RouteKey = {}
    for rule in rules:
        fitting = (key for key in route_keys(rule) if _agree(common, key))
        found = next(fitting, None)
        if found is None:
            return None
        common.update(found)
    return common if _is_everywhere(table, common) else None


def _agree(one: RouteKey, other: RouteKey) -> bool:
    return all(one.get(type_, name) == name for type_, name in other.items())


def _is_everywhere(table: Table, key: RouteKey) -> bool:
    """Whether every event has its attribute of the key: some rules compare what is missing too."""
    own, names = codes(table.types)
    for name in set(key.values()):
        lacking = np.ones(len(table), np.bool_)
        for column in table.named(name):
            there = present(column)
            lacking &= False if there is None else ~there
        concerned = np.array([key.get(text) == name for text in texts(names)], np.bool_)
        if concerned[own[lacking]].any():
            return False
    return True


def _is_even(table: Table, key: RouteKey) -> bool:
    """Whether no value of the key has most of the events, judged by some of them."""
    sample = table.slice(0, min(len(table), LEAST))
    for name in set(key.values()):
        for column in sample.named(name):
            own, _ = codes(column)
            if np.bincount(own[own >= 0], minlength=1).max() > _EVEN * len(sample):
                return False
    return True


class Divider:
    """Tells for every event of a batch which share it belongs to."""

    def __init__(self, division: Division, rules: Sequence[Rule], encoder: Encoder) -> None:
        self._division = division
        self._places = np.full(len(encoder.types) + 1, 0, np.int64)
        for type_, name in division.key.items():
            self._places[encoder.types.code(type_)] = encoder.columns.code(name)
        self._seen = [
            _seen(encoder, (t for number in own for t in input_types(rules[number])))
            for own in division.shares
        ]

    def shares(self, batch: Batch) -> list[Batch]:
        """The batch for every share: events of others are of types that nobody looks at."""
        if len(self._division) == 1:
            return [batch]
        if self._division.key:
            own = self._numbers(batch)
            masks = [own == number for number in range(len(self._division))]
            return [batch._replace(types=np.where(mask, batch.types, -1)) for mask in masks]
        return [batch._replace(types=seen[batch.types]) for seen in self._seen]

    def _numbers(self, batch: Batch) -> Ints:
        rows, places = np.arange(len(batch.types)), self._places[batch.types]
        tags, cells = batch.tags[rows, places], batch.cells[rows, places]
        # Equal numbers are one key whether int or double, and so are both zeros.
        doubles = np.where(tags == DOUBLE, cells.view(np.float64), cells.astype(np.float64)) + 0.0
        bits = np.where(tags == TEXT, cells, doubles.view(np.int64)).view(np.uint64)
        count = np.uint64(len(self._division))
        return ((bits * _TURN >> _HIGH) % count).astype(np.int64)


def _seen(encoder: Encoder, types: Iterable[str]) -> Ints:
    """For every type its code if it is among some, else -1; the last place is for -1."""
    found = np.full(len(encoder.types) + 1, -1, np.int64)
    for type_ in types:
        code = encoder.types.find(type_)
        found[code] = code
    found[-1] = -1
    return found
