"""The static index while rules are planned: the predicates of a type by what they ask for.

T-Rex (section 4) finds the rules that an event concerns by counting satisfied constraints. Here a
predicate is found by one constraint alone, the one that leaves least of its attribute, and the
others are checked then: an event meets few predicates that it does not satisfy.

The constants that predicates compare an attribute with cut its values into *leaves*: every
constant, and what lies between two of them. A constraint is a range of leaves. Ranges are kept in
a segment tree over the leaves, so that those around a value are on the way from its leaf up.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any, NamedTuple

from cepheid.algebra import Attribute, Comparison, Expression, Literal, Or, Relation
from cepheid.events import Value
from cepheid.kernel.columns import Encoder
from cepheid.kernel.memory import Memory
from cepheid.kernel.tables import (
    AXIS,
    CHECK,
    LEAF_NODE,
    LEAF_OF,
    MEANT,
    NODE,
    NODE_PLACE,
    PLACE,
    POINT_CELL,
    POINT_TAG,
    TYPE,
)
from cepheid.kernel.values import DOUBLE, INT


class Test(NamedTuple):
    """An attribute of the event compared with a constant.

    `kind` is INT for all numbers; texts are their codes.
    """

    column: int
    kind: int
    relation: Relation
    value: int | float


Tests = tuple[Test, ...]
"""Tests of one attribute, of which one must hold."""


class Wanted(NamedTuple):
    """A predicate: its number, constraints that must all hold, what a missing value means."""

    number: int
    constraints: tuple[Tests, ...]
    missing: bool


def tests_of(condition: Expression, encoder: Encoder) -> Tests:
    """A condition as alternative tests of one attribute; nothing if it is something else."""
    parts = condition.operands if isinstance(condition, Or) else (condition,)
    tests = [_test(part, encoder) for part in parts]
    found = tuple(test for test in tests if test is not None)
    alike = len(found) == len(parts) and len({test[:2] for test in found}) == 1
    return found if alike else ()


def _test(condition: Expression, encoder: Encoder) -> Test | None:
    if not isinstance(condition, Comparison):
        return None
    left, right, relation = condition.left, condition.right, condition.relation
    if isinstance(left, Literal):
        left, right, relation = right, left, relation.mirrored
    if not (isinstance(left, Attribute) and left.label is None and isinstance(right, Literal)):
        return None
    return test_of(encoder, left.name, relation, right.value)


def test_of(encoder: Encoder, name: str, relation: Relation, value: Value | None) -> Test | None:
    """The test of an attribute against a value, if values in that relation lie side by side."""
    if value is None or relation is Relation.UNEQUAL:
        return None
    column, (tag, cell) = encoder.columns.code(name), encoder.cell(value)
    if not isinstance(value, str) and tag in {INT, DOUBLE}:
        return None if math.isnan(value) else Test(column, INT, relation, value)
    return Test(column, tag, relation, cell) if relation is Relation.EQUAL else None


# --- one type ----------------------------------------------------------------

_Axis = tuple[int, int]
"""A column and a kind of values."""
_Range = tuple[int, int]
"""Leaves, from the first to the one behind the last."""


@dataclass
class TypeIndex:
    """The index of one type. What is free is asked every time; numbers count from 0 in each table.

    Axes by which predicates are found come first, then those that are only needed for checks.
    """

    predicates: tuple[Wanted, ...]
    encoder: Encoder
    free: int = 0
    found_by: int = 0
    places: list[tuple[int, int, int]] = field(default_factory=list)
    checks: list[tuple[int, int, int]] = field(default_factory=list)
    axes: list[tuple[int, ...]] = field(default_factory=list)
    points: list[tuple[int, int]] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    nodes: list[tuple[int, int, int]] = field(default_factory=list)
    node_places: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        points: dict[_Axis, set[int | float]] = {}
        for wanted in self.predicates:
            for test in (test for tests in wanted.constraints for test in tests):
                points.setdefault((test.column, test.kind), set()).add(test.value)
        self._points = {axis: sorted(values) for axis, values in points.items()}
        ranges = {wanted.number: self._ranges(wanted) for wanted in self.predicates}
        by_axis: dict[_Axis, list[Wanted]] = {}
        for wanted in self.predicates:
            if wanted.constraints:
                by_axis.setdefault(self._narrowest(ranges[wanted.number]), []).append(wanted)
            else:
                self.places.append((wanted.number, 0, 0))
        self.free, self.found_by = len(self.places), len(by_axis)
        self._numbers = {axis: number for number, axis in enumerate(by_axis)}
        for axis in self._points:
            self._numbers.setdefault(axis, len(self._numbers))
        for axis in self._numbers:
            self._write_axis(axis, by_axis.get(axis, ()), ranges)

    def _ranges(self, wanted: Wanted) -> dict[_Axis, list[_Range]]:
        """What a predicate asks for: leaves of every axis that it speaks of."""
        found: dict[_Axis, list[_Range]] = {}
        for tests in wanted.constraints:
            axis = tests[0].column, tests[0].kind
            points = self._points[axis]
            ranges = _union(_range(test, points) for test in tests)
            known = found.get(axis, [(0, 2 * len(points) + 1)])
            found[axis] = list(_common(known, ranges))
        return found

    def _narrowest(self, ranges: dict[_Axis, list[_Range]]) -> _Axis:
        """The axis of which least is left."""

        def left(axis: _Axis) -> float:
            leaves = sum(end - begin for begin, end in ranges[axis])
            return leaves / (2 * len(self._points[axis]) + 1)

        return min(ranges, key=left)

    def _write_axis(
        self, axis: _Axis, found: Sequence[Wanted], ranges: dict[int, dict[_Axis, list[_Range]]]
    ) -> None:
        points, first = self._points[axis], len(self.points)
        count = 2 * len(points) + 1
        nodes: dict[int, list[int]] = {}
        lacking: list[int] = []
        for wanted in found:
            place = self._place(wanted, axis, ranges[wanted.number])
            for begin, end in ranges[wanted.number][axis]:
                for node in _canonical(begin, end, count):
                    nodes.setdefault(node, []).append(place)
            if wanted.missing:
                lacking.append(place)
        number = axis[1] == INT
        self.points += (self.encoder.cell(p) if number else (axis[1], int(p)) for p in points)
        begin = len(self.leaves)
        self._write_nodes(nodes, count)
        without = len(self.node_places)
        self.node_places += lacking
        end = len(self.node_places)
        self.axes.append((*axis, first, len(self.points), begin, without, end))

    def _place(self, wanted: Wanted, by: _Axis, ranges: dict[_Axis, list[_Range]]) -> int:
        """A place for a predicate that is found by an axis; the others are checked."""
        begin = len(self.checks)
        for axis, kept in ranges.items():
            if axis != by:
                low, high = (kept[0][0], kept[-1][1]) if kept else (0, 0)
                self.checks.append((self._numbers[axis], low, high))
        self.places.append((wanted.number, begin, len(self.checks)))
        return len(self.places) - 1

    def _write_nodes(self, nodes: dict[int, list[int]], count: int) -> None:
        """Nodes that hold something, with the next of them on the way up; -1 is none."""
        numbers: dict[int, int] = {}
        for node in sorted(nodes):
            numbers[node] = len(self.nodes)
            begin = len(self.node_places)
            self.node_places += nodes[node]
            up = _nearest(numbers, node >> 1)
            self.nodes.append((begin, len(self.node_places), up))
        self.leaves += (_nearest(numbers, count + leaf) for leaf in range(count))


def _range(test: Test, points: list[int | float]) -> _Range:
    """The leaves that a test allows; leaf 2i + 1 is the i-th point."""
    at, count = 2 * bisect_left(points, test.value) + 1, 2 * len(points) + 1
    return {
        Relation.EQUAL: (at, at + 1),
        Relation.LESS: (0, at),
        Relation.AT_MOST: (0, at + 1),
        Relation.GREATER: (at + 1, count),
        Relation.AT_LEAST: (at, count),
    }[test.relation]


def _union(ranges: Iterator[_Range]) -> list[_Range]:
    """Ranges in order, those that meet as one."""
    found: list[_Range] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def _common(one: list[_Range], other: list[_Range]) -> Iterator[_Range]:
    for begin1, end1 in one:
        for begin2, end2 in other:
            if max(begin1, begin2) < min(end1, end2):
                yield max(begin1, begin2), min(end1, end2)


def _canonical(begin: int, end: int, count: int) -> Iterator[int]:
    """The nodes of a segment tree over so many leaves that make up a range; 1 is the root."""
    begin, end = begin + count, end + count
    while begin < end:
        if begin & 1:
            yield begin
            begin += 1
        if end & 1:
            end -= 1
            yield end
        begin, end = begin >> 1, end >> 1


def _nearest(numbers: dict[int, int], node: int) -> int:
    """The number of the nearest node from one on upwards, or -1."""
    while node and node not in numbers:
        node >>= 1
    return numbers.get(node, -1)


# --- all types ---------------------------------------------------------------


@dataclass
class FilterIndex:
    """The indexes of all types. Those of types whose predicates stay the same are kept."""

    encoder: Encoder
    _known: dict[int, TypeIndex] = field(default_factory=dict)

    def write(self, memory: Memory, by_type: Sequence[Sequence[Wanted]]) -> None:
        """Put the indexes of predicates by type into the memory."""
        rows: dict[int, list[Any]] = {slot: [] for slot in _SLOTS}
        for type_, predicates in enumerate(by_type):
            _append(rows, self._index(type_, tuple(predicates)))
        for slot, values in rows.items():
            memory.put(slot, values)
        most = max(map(len, by_type), default=0)
        memory.put(MEANT, [0] * (most + 1))
        memory.put(LEAF_OF, [0] * (len(rows[AXIS]) + 1))

    def _index(self, type_: int, predicates: tuple[Wanted, ...]) -> TypeIndex:
        known = self._known.get(type_)
        if known is None or known.predicates != predicates:
            known = self._known[type_] = TypeIndex(predicates, self.encoder)
        return known


_SLOTS = (TYPE, PLACE, CHECK, AXIS, NODE, NODE_PLACE, LEAF_NODE, POINT_TAG, POINT_CELL)


def _append(rows: dict[int, list[Any]], index: TypeIndex) -> None:
    """Add the tables of a type to those of others, behind which its numbers begin."""
    place, check, axis = len(rows[PLACE]), len(rows[CHECK]), len(rows[AXIS])
    node, listed, leaf = len(rows[NODE]), len(rows[NODE_PLACE]), len(rows[LEAF_NODE])
    point, found_by = len(rows[POINT_TAG]), axis + index.found_by
    rows[TYPE].append((place, place + index.free, axis, found_by, axis + len(index.axes)))
    rows[PLACE] += ((p, begin + check, end + check) for p, begin, end in index.places)
    rows[CHECK] += ((number + axis, low, high) for number, low, high in index.checks)
    moves = (0, 0, point, point, leaf, listed, listed)
    rows[AXIS] += (tuple(map(add, row, moves)) for row in index.axes)
    rows[NODE] += (
        (begin + listed, end + listed, up + node if up >= 0 else -1)
        for begin, end, up in index.nodes
    )
    rows[NODE_PLACE] += (number + place for number in index.node_places)
    rows[LEAF_NODE] += (number + node if number >= 0 else -1 for number in index.leaves)
    rows[POINT_TAG] += (tag for tag, _ in index.points)
    rows[POINT_CELL] += (cell for _, cell in index.points)
