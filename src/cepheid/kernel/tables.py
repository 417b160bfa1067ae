"""Tables: what is known about all rules, as arrays that compiled code reads.

Everything that looks for events in a window (components, negations, aggregates) is a *probe*: a
stack, a key into it, a window and a condition on what is found. What must hold is a list of
*steps* per component: those that make an event a candidate, before the policy picks, and those
that are checked after the pick, as soon as all the events that they speak of are bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cepheid.algebra import Aggregate, EventPredicate, Expression, Relation
from cepheid.events import Value
from cepheid.kernel.columns import Encoder
from cepheid.kernel.programs import Code, Programs
from cepheid.kernel.values import Ints

TEST, ABSENT, COMPUTE, SPAN, NARROW = range(5)
PREFIX, SUFFIX, EXACT = range(3)
_RELATIONS = {relation: code for code, relation in enumerate(Relation)}
NO_LOW, NO_HIGH = -(2**63), 2**63 - 1


class Gathered(NamedTuple):
    """An output that is an attribute of a component: the component's position and the column."""

    position: int
    column: int


class Tables(NamedTuple):
    """Everything about all rules, as arrays; `*_of` arrays are lists of lists with `begins`."""

    predicate_begins: Ints
    predicate_of_type: Ints
    predicate_program: Ints
    predicate_missing: Ints
    stack_begins: Ints
    stack_of_predicate: Ints
    stack_column: Ints
    stack_hole: Ints
    family_begins: Ints
    family_of_predicate: Ints
    probe: Ints
    step_kind: Ints
    step_argument: Ints
    register_probe: Ints
    register_function: Ints
    register_column: Ints
    component_begins: Ints
    component_probe: Ints
    component_policy: Ints
    component_count: Ints
    component_cover: Ints
    candidate_begins: Ints
    candidate_ends: Ints
    pick_begins: Ints
    pick_ends: Ints
    family_hole: Ints
    family_missing: Ints
    family_within: Ints
    family_deadline: Ints
    family_deadline_offset: Ints
    consumes: Ints
    final_begins: Ints
    final_ends: Ints
    output_begins: Ints
    output_program: Ints
    member_begins: Ints
    narrow: Ints
    hole: Ints
    threshold_tags: Ints
    threshold_cells: Ints


(
    PROBE_STACK,
    PROBE_ALL,
    PROBE_KEY_AT,
    PROBE_KEY_COLUMN,
    PROBE_LOW,
    PROBE_LOW_OFFSET,
    PROBE_HIGH,
    PROBE_HIGH_OFFSET,
    PROBE_SWAPS,
    PROBE_FILTER,
) = range(10)


@dataclass
class Registry:
    """Numbers for everything that tables speak of, while families are planned."""

    encoder: Encoder = field(default_factory=Encoder)

    def __post_init__(self) -> None:
        self.programs = Programs(self.encoder)
        self.members: list[int] = []
        self.member_begins: list[int] = [0]
        self.holes: list[tuple[int, int, int, int]] = []
        self.thresholds: list[tuple[int, int]] = []
        self.predicates: dict[tuple[tuple[int, ...], int, bool], int] = {}
        self.stacks: dict[tuple[int, int, int], int] = {}
        self.terminators: list[int] = []
        self.probes: list[tuple[int, ...]] = []
        self.steps: list[tuple[int, int]] = []
        self.registers: list[tuple[int, int, int]] = []
        self.components: list[tuple[int, ...]] = []
        self.component_begins: list[int] = [0]
        self.consumes: list[int] = []
        self.settings: list[tuple[int, ...]] = []
        self.narrows: list[tuple[int, int]] = []
        self.outputs: list[int] = []
        self.output_begins: list[int] = [0]
        self.layouts: list[tuple[Gathered | None, ...]] = []
        self.labels: list[tuple[str, ...]] = []

    def predicate(
        self, predicate: EventPredicate, static: Expression | None, *, missing: bool
    ) -> int:
        """The number of a type and a condition that only speaks of the event itself."""
        types = tuple(sorted(self.encoder.types.code(type_) for type_ in predicate.types))
        program = -1
        if static is not None:
            program = self.programs.add(static, {}, _no_register, truth=True)
        key = (types, program, missing)
        return self.predicates.setdefault(key, len(self.predicates))

    def stack(self, predicate: int, column: int, hole: int = -1) -> int:
        """The number of the stack that keeps a predicate's events by a column; -1 is all.

        With a hole, its entries know the members of the family that they satisfy.
        """
        return self.stacks.setdefault((predicate, column, hole), len(self.stacks))

    def hole(self, relation: Relation, column: int, constants: Sequence[Value]) -> int:
        """The number of a hole: what is compared (-1 is the value of a program), how, with what."""
        begin = len(self.thresholds)
        self.thresholds += [self.encoder.cell(value) for value in constants]
        self.holes.append((_RELATIONS[relation], column, begin, len(self.thresholds)))
        return len(self.holes) - 1

    def tables(self) -> tuple[Tables, Code]:
        """The tables of all rules so far."""
        by_type = _lists(len(self.encoder.types))
        for (types, _, _), number in self.predicates.items():
            for type_ in types:
                by_type[type_].append(number)
        by_predicate = _lists(len(self.predicates))
        for (predicate, _, _), number in self.stacks.items():
            by_predicate[predicate].append(number)
        ending = _lists(len(self.predicates))
        for rule, predicate in enumerate(self.terminators):
            ending[predicate].append(rule)
        components, settings = _columns(self.components, 8), _columns(self.settings, 7)
        registers, steps = _columns(self.registers, 3), _columns(self.steps, 2)
        tables = Tables._make(
            (
                *_flat(by_type),
                _array([program for _, program, _ in self.predicates]),
                _array([int(missing) for _, _, missing in self.predicates]),
                *_flat(by_predicate),
                _array([column for _, column, _ in self.stacks]),
                _array([hole for _, _, hole in self.stacks]),
                *_flat(ending),
                np.array(self.probes or [(0,) * 10], np.int64),
                *steps,
                *registers,
                _array(self.component_begins),
                *components,
                *settings[:5],
                _array(self.consumes),
                *settings[5:],
                _array(self.output_begins),
                _array(self.outputs),
                _array(self.member_begins),
                np.array(self.narrows or [(0, 0)], np.int64),
                np.array(self.holes or [(0, 0, 0, 0)], np.int64),
                _array([tag for tag, _ in self.thresholds]),
                _array([cell for _, cell in self.thresholds]),
            )
        )
        return tables, self.programs.tables()


def _no_register(aggregate: Aggregate) -> int:
    raise AssertionError("a static condition has no aggregate")


def _lists(count: int) -> list[list[int]]:
    return [[] for _ in range(count)]


def _flat(lists: list[list[int]]) -> tuple[Ints, Ints]:
    begins = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(items) for items in lists], out=begins[1:])
    return begins, _array([item for items in lists for item in items])


def _array(values: Sequence[int]) -> Ints:
    return np.array(values if len(values) else [0], np.int64)


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> list[Ints]:
    table = np.array(rows or [(0,) * width], np.int64)
    return [np.ascontiguousarray(table[:, index]) for index in range(width)]
