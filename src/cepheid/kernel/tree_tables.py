"""The tables of trees while they are planned: lists of numbers that are put into the memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cepheid.algebra import (
    EventPredicate,
    Expression,
    Relation,
    Rule,
    conjunction,
    input_types,
)
from cepheid.events import Value
from cepheid.kernel.filter_index import FilterIndex, Tests, Wanted, tests_of
from cepheid.kernel.memory import Memory
from cepheid.kernel.probes import KNOWN_WIDTH
from cepheid.kernel.programs import no_register
from cepheid.kernel.registry import Registry
from cepheid.kernel.stacks import (
    CONSUMED_AT,
    CONSUMED_BITS,
    CONSUMED_COUNT,
    CONSUMED_FAMILY,
    CONSUMED_ROW,
    ENTRY,
    ENTRY_MEMBERS,
    FOR_EVER,
    LIST,
    LIST_SLOTS,
    STACK,
    STACK_LIST,
    take_out,
)
from cepheid.kernel.store import NEVER
from cepheid.kernel.tables import (
    AGGREGATE,
    COMPONENT,
    HOLE,
    KNOWN,
    NARROW,
    NOT_KEPT,
    OPEN,
    PICK_BEGIN,
    PICK_END,
    PICK_STEP,
    PREDICATE,
    PREDICATE_FAMILY,
    PREDICATE_STACK,
    PROBE,
    STEP,
    THRESHOLD_CELL,
    THRESHOLD_TAG,
    TREE,
    TREE_ALIVE,
    TREE_CONSUMED,
    TREE_FAMILY,
    TREE_MEMBERS,
    WAIT,
    WAIT_HEAP,
    WAIT_ROW,
)

TREE_STATE: dict[str, tuple[int, type]] = {
    "tree_entries": (ENTRY, np.int32),
    "tree_members": (ENTRY_MEMBERS, np.int32),
    "tree_lists": (LIST, np.int64),
    "tree_list_slots": (LIST_SLOTS, np.int32),
    "tree_consumed_families": (CONSUMED_FAMILY, np.int64),
    "tree_consumed_rows": (CONSUMED_ROW, np.int64),
    "tree_consumed_at": (CONSUMED_AT, np.int64),
    "tree_consumed_bits": (CONSUMED_BITS, np.int64),
    "tree_waiting": (WAIT, np.int64),
    "tree_waiting_rows": (WAIT_ROW, np.int64),
    "tree_waiting_heap": (WAIT_HEAP, np.int64),
}
"""Slots of state, by name. How many are consumed follows from `tree_consumed_families`."""

_RELATIONS = {relation: code for code, relation in enumerate(Relation)}
_SLOTS = 64

_Predicate = tuple[int, tuple[int, ...], tuple[Tests, ...], int, bool]
"""Deployment, types, constraints that the index knows, program of the rest, missing."""


@dataclass
class TreeTables:
    """Everything about all trees; what was written under a number stays."""

    registry: Registry
    deployment: int = 0
    probes: list[tuple[int, ...]] = field(default_factory=list)
    steps: list[tuple[int, int]] = field(default_factory=list)
    aggregates: list[tuple[int, int, int]] = field(default_factory=list)
    components: list[tuple[int, ...]] = field(default_factory=list)
    trees: list[tuple[int, ...]] = field(default_factory=list)
    narrows: list[tuple[int, int]] = field(default_factory=list)
    terminators: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._predicates: dict[_Predicate, int] = {}
        self._index = FilterIndex(self.registry.encoder)
        self._stacks: dict[tuple[int, ...], int] = {}
        self._reaches: list[int] = []
        self._users: list[set[int]] = []
        self._holes: list[tuple[int, int, int, int]] = []
        self._thresholds: list[tuple[int, int]] = []

    # --- numbers -------------------------------------------------------------

    def predicate(
        self, predicate: EventPredicate, static: Sequence[Expression], *, missing: bool
    ) -> int:
        """The number of a type and of conditions that only speak of the event itself.

        Simple ones go into the index, a program decides the rest.
        """
        types = self.registry.type_codes(predicate, self.deployment)
        constraints, rest = set[Tests](), list[Expression]()
        for condition in static:
            tests = tests_of(condition, self.registry.encoder)
            constraints |= {tests} if tests else set()
            rest += [condition] if len(tests) != 1 else []
        program = self._condition(rest)
        key = (self.deployment, types, tuple(sorted(constraints)), program, missing)
        return self._predicates.setdefault(key, len(self._predicates))

    def _condition(self, parts: list[Expression]) -> int:
        whole = conjunction(parts)
        if whole is None:
            return -1
        return self.registry.programs.add(whole, {}, no_register, truth=True)

    def stack(
        self, predicate: int, column: int, hole: int, staircase: int, reach: int, *, own: bool
    ) -> int:
        """The number of the stack that keeps a predicate's events by a column; `UNKEYED` is all.

        Columns below that mean all events of the stack by another column, when they are needed.

        With a hole, its entries know the members of the family that they satisfy. It keeps them
        as long as the tree that needs them longest; a tree may want one of its `own`.
        """
        key = (predicate, column, hole, staircase, len(self.trees) if own else -1)
        number = self._stacks.setdefault(key, len(self._stacks))
        if number == len(self._reaches):
            self._reaches.append(reach)
            self._users.append(set())
        known = self._reaches[number]
        self._reaches[number] = FOR_EVER if FOR_EVER in {known, reach} else max(known, reach)
        self._users[number].add(len(self.trees))
        return number

    def hole(self, relation: Relation, column: int, constants: Sequence[Value]) -> int:
        """The number of a hole: what is compared (-1 is the value of a program), how, with what."""
        begin = len(self._thresholds)
        self._thresholds += [self.registry.encoder.cell(value) for value in constants]
        self._holes.append((_RELATIONS[relation], column, begin, len(self._thresholds)))
        return len(self._holes) - 1

    def remove(self, tree: int) -> None:
        """Forget a tree: nothing leads to it any more, and its stacks are given up."""
        row = list(self.trees[tree])
        row[TREE_ALIVE] = 0
        self.trees[tree] = tuple(row)
        for users in self._users:
            users.discard(tree)

    def stacks_of(self, tree: int) -> list[int]:
        """The stacks in which a tree looks."""
        return [number for number, users in enumerate(self._users) if tree in users]

    # --- memory --------------------------------------------------------------

    def write(self, memory: Memory) -> None:
        """Put all tables into the memory."""
        self._write_predicates(memory)
        memory.put(STACK, [self._stack_row(*known) for known in self._stacks.items()])
        self._write_lists(memory)
        for slot, rows in (
            (PROBE, self.probes),
            (STEP, self.steps),
            (AGGREGATE, self.aggregates),
            (COMPONENT, self.components),
            (TREE, self.trees),
            (NARROW, self.narrows),
            (HOLE, self._holes),
        ):
            memory.put(slot, np.array(rows, np.int64))
        memory.put(THRESHOLD_TAG, [tag for tag, _ in self._thresholds])
        memory.put(THRESHOLD_CELL, [cell for _, cell in self._thresholds])
        self._write_rooms(memory)

    def _stack_row(self, key: tuple[int, ...], number: int) -> tuple[int, ...]:
        _, column, hole, staircase, _ = key
        users, reach = self._users[number], self._reaches[number]
        if reach != FOR_EVER and self.registry.late:
            inputs = {type_ for user in users for type_ in input_types(self._rule_of(user))}
            late = max((self.registry.late.get(type_, 0) for type_ in inputs), default=0)
            reach = FOR_EVER if late >= NEVER else reach + late
        return column, hole, reach, staircase, int(bool(users))

    def _write_lists(self, memory: Memory) -> None:
        """Tell each stack without a key which list it has."""
        columns = np.array([column for _, column, *_ in self._stacks], np.int64)
        stacks, found = memory.view(LIST)[::4], np.full(len(columns), -1, np.int32)
        unkeyed = np.flatnonzero(columns[stacks] < 0)
        found[stacks[unkeyed]] = unkeyed
        memory.put(STACK_LIST, found, np.int32)

    def _rule_of(self, tree: int) -> Rule:
        return self.registry.shapes[self.trees[tree][TREE_FAMILY]].rule

    def _write_predicates(self, memory: Memory) -> None:
        by_type: list[list[Wanted]] = [[] for _ in range(len(self.registry.encoder.types))]
        stacks: list[list[int]] = [[] for _ in self._predicates]
        trees: list[list[int]] = [[] for _ in self._predicates]
        for (predicate, *_), number in self._stacks.items():
            if self._users[number]:
                stacks[predicate].append(number)
        for tree, predicate in enumerate(self.terminators):
            if self.trees[tree][TREE_ALIVE]:
                trees[predicate].append(tree)
        rows, stack_list, tree_list = [], list[int](), list[int]()
        for (_, types, constraints, program, missing), number in self._predicates.items():
            first, start = len(stack_list), len(tree_list)
            stack_list += stacks[number]
            tree_list += trees[number]
            rows.append((program, int(missing), first, len(stack_list), start, len(tree_list)))
            for type_ in types if stacks[number] or trees[number] else ():
                by_type[type_].append(Wanted(number, constraints, missing))
        self._index.write(memory, by_type)
        memory.put(PREDICATE, rows)
        memory.put(PREDICATE_STACK, stack_list)
        memory.put(PREDICATE_FAMILY, tree_list)

    def _write_rooms(self, memory: Memory) -> None:
        width = self.registry.positions + 1
        memory.put(PICK_BEGIN, [0] * width)
        memory.put(PICK_END, [0] * width)
        memory.put(PICK_STEP, [0] * width)
        memory.put(KNOWN, [0] * (KNOWN_WIDTH * width))
        members = max((tree[TREE_MEMBERS] for tree in self.trees), default=0)
        memory.put(OPEN, [0] * (members // 64 + 1))
        if not memory.count(LIST_SLOTS):
            memory.put(LIST_SLOTS, [0] * _SLOTS, np.int32)
            for slot in (CONSUMED_FAMILY, CONSUMED_ROW, CONSUMED_AT):
                memory.put(slot, [0] * _SLOTS)

    def restored(self, memory: Memory) -> None:
        """What follows from the state, after it was put into the memory."""
        trees, rows = memory.get(CONSUMED_FAMILY), memory.get(CONSUMED_ROW)
        memory.put(CONSUMED_COUNT, [0] * int((trees > 0).sum()))
        self._write_lists(memory)
        # Older states keep in mind what has left its list by now.
        for at in np.flatnonzero(trees > 0):
            tree = int(trees[at]) - 1
            if self.trees[tree][TREE_CONSUMED] == NOT_KEPT:
                for stack in self.stacks_of(tree):
                    take_out(memory.m, stack, int(rows[at]))
