"""Expressions as postfix code, and the loop that runs it.

A program works on a small stack of tagged values. It may read the cells of the event being
tested, of the events that are bound so far, constants, and registers that hold aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cepheid.algebra import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Comparison,
    Expression,
    Literal,
    Negative,
    Not,
    Or,
    Relation,
    Sign,
)
from cepheid.kernel.columns import Encoder
from cepheid.kernel.compiled import compiled
from cepheid.kernel.values import (
    BOOL,
    DOUBLE,
    MISSING,
    Floats,
    Ints,
    Tags,
    arithmetic,
    as_float,
    related,
)

CONST, OWN, BOUND, REGISTER, CALCULATE, COMPARE, TRUTH, ALL, ANY, INVERT = range(10)

_RELATIONS = {relation: code for code, relation in enumerate(Relation)}
_SIGNS = {sign: code for code, sign in enumerate(Sign)}
STACK = 80
"""How deep the stack of values may grow; the languages allow expressions of depth 64."""


class Code(NamedTuple):
    """All programs, one after the other: operation and two arguments; and the constants."""

    operations: Ints
    first: Ints
    second: Ints
    begins: Ints
    ends: Ints
    constant_tags: Tags
    constant_cells: Ints


class Frame(NamedTuple):
    """What a search works on: bound rows with the members they satisfy, registers, a stack."""

    rows: Ints
    lows: Ints
    highs: Ints
    register_tags: Ints
    register_cells: Ints
    tags: Ints
    ints: Ints
    floats: Floats


@dataclass
class Programs:
    """Collects programs while rules are planned; equal programs are kept once."""

    encoder: Encoder
    _code: list[tuple[int, int, int]] = field(default_factory=list)
    _spans: list[tuple[int, int]] = field(default_factory=list)
    _constants: dict[tuple[int, int], int] = field(default_factory=dict)
    _known: dict[tuple[tuple[int, int, int], ...], int] = field(default_factory=dict)

    def add(
        self,
        expression: Expression,
        positions: Mapping[str, int],
        register: Callable[[Aggregate], int],
        *,
        truth: bool,
    ) -> int:
        """The number of the program that computes an expression."""
        code: list[tuple[int, int, int]] = []
        compiler = _Compiler(self, positions, register, code)
        compiler.emit(expression)
        if truth:
            compiler.truth(expression)
        key = tuple(code)
        if key not in self._known:
            self._known[key] = len(self._spans)
            self._spans.append((len(self._code), len(self._code) + len(code)))
            self._code += code
        return self._known[key]

    def constant(self, expression: Literal) -> int:
        """The number of a constant."""
        cell = self.encoder.cell(expression.value)
        return self._constants.setdefault(cell, len(self._constants))

    def tables(self) -> Code:
        """The programs as arrays."""
        code = np.array(self._code or [(0, 0, 0)], np.int64).T.copy()
        spans = np.array(self._spans or [(0, 0)], np.int64).T.copy()
        constants = list(self._constants) or [(0, 0)]
        return Code(
            code[0],
            code[1],
            code[2],
            spans[0],
            spans[1],
            np.array([tag for tag, _ in constants], np.uint8),
            np.array([cell for _, cell in constants], np.int64),
        )


@dataclass
class _Compiler:
    programs: Programs
    positions: Mapping[str, int]
    register: Callable[[Aggregate], int]
    code: list[tuple[int, int, int]]

    def emit(self, node: Expression) -> None:
        if isinstance(node, Literal):
            self.code.append((CONST, self.programs.constant(node), 0))
        elif isinstance(node, Attribute):
            column = self.programs.encoder.columns.code(node.name)
            if node.label is None:
                self.code.append((OWN, column, 0))
            else:
                self.code.append((BOUND, self.positions[node.label], column))
        elif isinstance(node, Aggregate):
            self.code.append((REGISTER, self.register(node), 0))
        elif isinstance(node, Arithmetic):
            self.emit(node.left)
            self.emit(node.right)
            self.code.append((CALCULATE, _SIGNS[node.sign], 0))
        elif isinstance(node, Negative):
            self.code.append((CONST, self.programs.constant(Literal(0)), 0))
            self.emit(node.operand)
            self.code.append((CALCULATE, _SIGNS[Sign.SUBTRACT], 0))
        elif isinstance(node, Comparison):
            self.emit(node.left)
            self.emit(node.right)
            self.code.append((COMPARE, _RELATIONS[node.relation], 0))
        elif isinstance(node, And | Or):
            for operand in node.operands:
                self.emit(operand)
                self.truth(operand)
            self.code.append((ALL if isinstance(node, And) else ANY, len(node.operands), 0))
        elif isinstance(node, Not):
            self.emit(node.operand)
            self.truth(node.operand)
            self.code.append((INVERT, 0, 0))
        else:
            raise AssertionError(f"a tree has no {type(node).__name__}")

    def truth(self, node: Expression) -> None:
        """A value that is not a condition counts as true when it is the bool true."""
        if not isinstance(node, Comparison | And | Or | Not):
            self.code.append((TRUTH, 0, 0))


@compiled
def run(
    program: int,
    code: Code,
    frame: Frame,
    own: int,
    tags: Tags,
    cells: Ints,
    ranks: Ints,
    missing: bool,
) -> tuple[int, int, float]:
    """Run a program; the result is a tag, an int and a float."""
    depth = 0
    stack_tags, ints, floats = frame.tags, frame.ints, frame.floats
    for at in range(code.begins[program], code.ends[program]):
        operation, first = code.operations[at], code.first[at]
        if operation == CONST or operation == OWN or operation == BOUND or operation == REGISTER:
            if operation == CONST:
                tag, cell = int(code.constant_tags[first]), code.constant_cells[first]
            elif operation == OWN:
                tag, cell = int(tags[first, own]), cells[first, own]
            elif operation == BOUND:
                row, column = frame.rows[first], code.second[at]
                tag, cell = int(tags[column, row]), cells[column, row]
            else:
                tag, cell = frame.register_tags[first], frame.register_cells[first]
            stack_tags[depth], ints[depth] = tag, cell
            floats[depth] = as_float(cell) if tag == DOUBLE else 0.0
            depth += 1
        elif operation == CALCULATE:
            depth -= 1
            tag, i, f = arithmetic(
                first,
                stack_tags[depth - 1],
                ints[depth - 1],
                floats[depth - 1],
                stack_tags[depth],
                ints[depth],
                floats[depth],
            )
            stack_tags[depth - 1], ints[depth - 1], floats[depth - 1] = tag, i, f
        elif operation == COMPARE:
            depth -= 1
            if stack_tags[depth - 1] == MISSING or stack_tags[depth] == MISSING:
                holds = missing
            else:
                holds = related(
                    first,
                    stack_tags[depth - 1],
                    ints[depth - 1],
                    floats[depth - 1],
                    stack_tags[depth],
                    ints[depth],
                    floats[depth],
                    ranks,
                )
            stack_tags[depth - 1], ints[depth - 1] = BOOL, 1 if holds else 0
        elif operation == TRUTH:
            if stack_tags[depth - 1] == MISSING:
                ints[depth - 1] = 1 if missing else 0
            elif stack_tags[depth - 1] != BOOL:
                ints[depth - 1] = 0
            stack_tags[depth - 1] = BOOL
        elif operation == INVERT:
            ints[depth - 1] = 1 - ints[depth - 1]
        else:
            total = 0
            for operand in range(depth - first, depth):
                total += ints[operand]
            depth -= first - 1
            wanted = first if operation == ALL else 1
            stack_tags[depth - 1], ints[depth - 1] = BOOL, 1 if total >= wanted else 0
    return stack_tags[0], ints[0], floats[0]


def new_frame(width: int, registers: int) -> Frame:
    """A frame for rules of so many components and registers."""
    return Frame(
        np.zeros(max(1, width), np.int64),
        np.zeros(max(1, width), np.int64),
        np.zeros(max(1, width), np.int64),
        np.zeros(max(1, registers), np.int64),
        np.zeros(max(1, registers), np.int64),
        np.zeros(STACK, np.int64),
        np.zeros(STACK, np.int64),
        np.zeros(STACK, np.float64),
    )
