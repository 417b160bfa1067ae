"""Which channels an event may belong to: by type, by a value that is asked for, then by test.

Tests that compare the same number with constants stand from the easiest to the hardest, so that the
first that fails ends them all. Channels that ask for a certain value are found by that value. So an
event costs what the rules cost that it touches, not what there are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from cepheid.algebra import Attribute, Comparison, Expression, Literal, Relation
from cepheid.events import Value
from cepheid.kernel.memory import Memory
from cepheid.kernel.registry import Registry
from cepheid.kernel.run_state import (
    RUN_CASE,
    RUN_KEY,
    RUN_LISTED,
    RUN_SWITCH,
    RUN_TEST,
    RUN_TYPE,
)
from cepheid.units import INT_MAX, INT_MIN

KeyRow = tuple[int, int, int, int]
"""A key: column, whether its value is fixed, and the tag and the cell of the value."""
Asked = tuple[int, int, int]
"""A value that is asked for: column, tag, cell."""

_UPWARD = (Relation.GREATER, Relation.AT_LEAST)
_STRICT = (Relation.GREATER, Relation.LESS)
_NO_RANGE = (-1, 0, 0, 0, 0)


@dataclass(frozen=True)
class Listed:
    """How events of a type come to a channel: what they must pass, and their keys."""

    type: int
    test: int
    keys: tuple[KeyRow, ...]


# --- tests -------------------------------------------------------------------


class Tests:
    """Numbers for conditions on one event."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._numbers: dict[tuple[int, bool], int] = {}
        self._rows: list[tuple[int, ...]] = []
        self._hardness: dict[int, tuple[Any, ...]] = {}
        self._asked: dict[int, Asked] = {}

    def of(self, condition: Expression | None, *, missing: bool) -> int:
        """The number of a test; -1 is no condition."""
        if condition is None:
            return -1
        program = self._registry.program(condition, {}, truth=True)
        if (program, missing) not in self._numbers:
            self._add(program, missing, self._range(condition, missing))
        return self._numbers[program, missing]

    def of_program(self, program: int, *, missing: bool) -> int:
        """The number of a test by a program, which may speak of the run."""
        if (program, missing) not in self._numbers:
            self._add(program, missing, _NO_RANGE)
        return self._numbers[program, missing]

    def _add(self, program: int, missing: bool, allowed: tuple[int, ...]) -> None:
        self._numbers[program, missing] = len(self._rows)
        self._rows.append((program, int(missing), *allowed))

    def _range(self, condition: Expression, missing: bool) -> tuple[int, ...]:
        """Column and ranges of a comparison with a constant; it is also put where it belongs."""
        compared = _compared(condition)
        if compared is None:
            return _NO_RANGE
        name, relation, constant = compared
        column, number = self._registry.encoder.columns.code(name), len(self._rows)
        if relation is Relation.EQUAL and not missing:
            self._asked[number] = column, *self.key_cell(constant)
        allowed = ranges(relation, constant)
        if allowed is None:
            return _NO_RANGE
        if relation is not Relation.EQUAL:
            upward = relation in _UPWARD
            order = constant if upward else -constant
            self._hardness[number] = (column, upward, missing), (order, relation in _STRICT)
        return column, *allowed

    def hardness(self, test: int) -> tuple[Any, ...]:
        """The chain of a test and its place there: where it fails, all that follow fail too."""
        return self._hardness.get(test, ((-1, False, False, test), (0, False)))

    def asked(self, test: int) -> Asked | None:
        """The value that a test asks for, if it only asks for one."""
        return self._asked.get(test)

    def key_cell(self, value: Value | None) -> tuple[int, int]:
        """The tag and the cell of a value as a key: equal numbers have one."""
        if isinstance(value, float) and value.is_integer() and INT_MIN <= value <= INT_MAX:
            value = int(value)
        return self._registry.encoder.cell(value)

    def write(self, memory: Memory) -> None:
        """Put the tests into the memory."""
        memory.put(RUN_TEST, self._rows)


def _compared(condition: Expression) -> tuple[str, Relation, Any] | None:
    """The attribute, relation and constant of a comparison of the two."""
    if not isinstance(condition, Comparison):
        return None
    left, right, relation = condition.left, condition.right, condition.relation
    if isinstance(left, Literal):
        left, right, relation = right, left, relation.mirrored
    if not (isinstance(left, Attribute) and isinstance(right, Literal)):
        return None
    return None if right.value is None else (left.name, relation, right.value)


def ranges(relation: Relation, constant: Value | None) -> tuple[int, int, int, int] | None:
    """The closed ranges of ints and of doubles (as cells) in a relation to a number, if any."""
    if not isinstance(constant, int | float) or isinstance(constant, bool):
        return None
    if relation is Relation.UNEQUAL or math.isnan(constant):
        return None
    strict = relation in _STRICT
    low, least, high, most = INT_MIN, -math.inf, INT_MAX, math.inf
    if relation in _UPWARD or relation is Relation.EQUAL:
        low, least = _smallest(constant, strict=strict)
    if relation not in _UPWARD:
        high, most = _smallest(-constant, strict=strict)
        high, most = -high, -most
    if low > INT_MAX or high < INT_MIN:
        low, high = 1, 0
    return max(low, INT_MIN), min(high, INT_MAX), _bits(least), _bits(most)


def _smallest(constant: float, *, strict: bool) -> tuple[int, float]:
    """The smallest int and the smallest double from a number on, or (strict) above it."""
    if math.isinf(constant):
        whole = INT_MIN if constant < 0 else INT_MAX + 1
    else:
        whole = math.floor(constant) + 1 if strict else math.ceil(constant)
    number = float(constant)
    if number < constant or (strict and number == constant):
        # Nothing lies above infinity, and no number is in a range that begins with NaN.
        number = math.nan if number == math.inf else math.nextafter(number, math.inf)
    return whole, number


def _bits(number: float) -> int:
    return int(np.float64(number).view(np.int64))


# --- listing -----------------------------------------------------------------


class Listing:
    """The tables that lead from an event to channels."""

    def __init__(self, types: int, tests: Tests) -> None:
        self._types, self._tests = types, tests
        self._plain: dict[int, list[tuple[int, Listed]]] = defaultdict(list)
        self._cases: dict[int, dict[Asked, list[tuple[int, Listed]]]] = defaultdict(dict)
        self._switches: list[tuple[int, int, int]] = []
        self._values: list[tuple[int, ...]] = []
        self._entries: list[tuple[int, ...]] = []
        self._keys: list[KeyRow] = []

    def write(self, memory: Memory, channels: Mapping[int, Iterable[Listed]]) -> None:
        """Put the tables into the memory."""
        for number, several in channels.items():
            for one in several:
                self._place(number, one)
        rows = [
            (*self._emit(self._plain[type_]), *self._switch(type_)) for type_ in range(self._types)
        ]
        memory.put(RUN_TYPE, rows)
        memory.put(RUN_SWITCH, self._switches)
        memory.put(RUN_CASE, self._values)
        memory.put(RUN_LISTED, self._entries)
        memory.put(RUN_KEY, self._keys)

    def _switch(self, type_: int) -> tuple[int, int]:
        """Write the switches of a type, with their cases in order; where they begin and end."""
        begin, cases = len(self._switches), sorted(self._cases[type_].items())
        for column, several in groupby(cases, lambda case: case[0][0]):
            first = len(self._values)
            self._values += [(tag, cell, *self._emit(found)) for (_, tag, cell), found in several]
            self._switches.append((column, first, len(self._values)))
        return begin, len(self._switches)

    def _place(self, number: int, listed: Listed) -> None:
        """Put a channel under the value that it asks for, or under the type alone."""
        fixed = next((key for key in listed.keys if key[1]), None)
        asked = self._tests.asked(listed.test)
        if fixed is not None:
            asked = fixed[0], fixed[2], fixed[3]
            keys = tuple(key for key in listed.keys if key is not fixed)
            listed = Listed(listed.type, listed.test, keys)
        elif asked is not None:
            listed = Listed(listed.type, -1, listed.keys)
        if asked is None:
            self._plain[listed.type].append((number, listed))
        else:
            self._cases[listed.type].setdefault(asked, []).append((number, listed))

    def _emit(self, several: list[tuple[int, Listed]]) -> tuple[int, int]:
        """Write entries, the easiest tests of each chain first; where they begin and end."""
        begin = len(self._entries)
        several.sort(key=lambda item: (self._tests.hardness(item[1].test), item[1].test))
        for _, chain in groupby(several, lambda item: self._tests.hardness(item[1].test)[0]):
            members = list(chain)
            after = len(self._entries) + len(members)
            for number, listed in members:
                keys = len(self._keys)
                self._keys += listed.keys
                self._entries.append((listed.test, after, number, keys, len(self._keys)))
        return begin, len(self._entries)
