"""Expressions as postfix code, and the loop that runs it.

A program works on a small stack of tagged values. It may read the cells of the event being
tested, of the events that are bound so far, constants, and registers that hold aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cepheid.algebra import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Coalesce,
    Collected,
    Comparison,
    Expression,
    Function,
    Item,
    Literal,
    Negative,
    Not,
    Or,
    Relation,
    Sign,
)
from cepheid.kernel.columns import Encoder
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import CODE, Memory, floats, ints, tags
from cepheid.kernel.store import RANKS, ROW_CELLS, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.sums import (
    SUM_PARTS,
    SUM_ROOM,
    SUM_STATE,
    add_to_sum,
    begin_sum,
    end_sum,
)
from cepheid.kernel.values import (
    BOOL,
    DOUBLE,
    MISSING,
    Ints,
    arithmetic,
    as_float,
    related,
)

(
    CONST,
    OWN,
    BOUND,
    REGISTER,
    ITEM,
    COLLECT,
    CALCULATE,
    COMPARE,
    TRUTH,
    ALL,
    ANY,
    INVERT,
    FIRST_OF,
) = range(13)

RELATIONS = {relation: code for code, relation in enumerate(Relation)}
_SIGNS = {sign: code for code, sign in enumerate(Sign)}
_FUNCTIONS = {function: code for code, function in enumerate(Function)}
STACK = 200
"""How deep the stack of values may grow; the languages allow expressions of depth 64, and the
filter of a collected value runs on top of what called it."""

(
    INSTRUCTION,
    PROGRAM_BEGIN,
    PROGRAM_END,
    CONSTANT_TAG,
    CONSTANT_CELL,
    COLLECT_TABLE,
    FRAME_ROW,
    FRAME_LOW,
    FRAME_HIGH,
    LIST_BEGIN,
    LIST_END,
    LIST_ROW,
    REGISTER_TAG,
    REGISTER_CELL,
    STACK_TAG,
    STACK_INT,
    STACK_FLOAT,
) = range(CODE, CODE + 17)
"""Slots: instructions in fours, programs, constants, collected values in fours (function, position,
column, filter). The frame is what a program speaks of: by position the row that is bound (-1 is
none) and, where a label holds several events, the place of its rows in `LIST_ROW`."""

Instruction = tuple[int, int, int, int]


@dataclass
class Programs:
    """Collects programs while rules are planned; equal programs are kept once."""

    encoder: Encoder
    orders_texts: bool = False
    _code: list[Instruction] = field(default_factory=list)
    _spans: list[tuple[int, int]] = field(default_factory=list)
    _constants: dict[tuple[int, int], int] = field(default_factory=dict)
    _collected: dict[Instruction, int] = field(default_factory=dict)
    _known: dict[tuple[Instruction, ...], int] = field(default_factory=dict)

    def add(
        self,
        expression: Expression,
        positions: Mapping[str, int],
        register: Callable[[Aggregate], int],
        *,
        truth: bool,
    ) -> int:
        """The number of the program that computes an expression."""
        code: list[Instruction] = []
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

    def collected(self, node: Collected, positions: Mapping[str, int]) -> int:
        """The number of a collected value."""
        column, filter_ = -1, -1
        if node.attribute is not None:
            column = self.encoder.columns.code(node.attribute)
        if node.filter is not None:
            filter_ = self.add(node.filter, positions, no_register, truth=True)
        key = (_FUNCTIONS[node.function], positions[node.label], column, filter_)
        return self._collected.setdefault(key, len(self._collected))

    def write(self, memory: Memory, positions: int, registers: int) -> None:
        """Put all programs into the memory, with a frame of so many positions and registers."""
        memory.put(INSTRUCTION, self._code)
        memory.put(PROGRAM_BEGIN, [begin for begin, _ in self._spans])
        memory.put(PROGRAM_END, [end for _, end in self._spans])
        memory.put(CONSTANT_TAG, [tag for tag, _ in self._constants])
        memory.put(CONSTANT_CELL, [cell for _, cell in self._constants])
        memory.put(COLLECT_TABLE, list(self._collected))
        for slot in (FRAME_ROW, FRAME_LOW, FRAME_HIGH, LIST_BEGIN, LIST_END):
            memory.put(slot, [0] * positions)
        for slot in (REGISTER_TAG, REGISTER_CELL):
            memory.put(slot, [0] * registers)
        for slot in (STACK_TAG, STACK_INT, STACK_FLOAT):
            memory.put(slot, [0] * STACK)
        memory.put(SUM_STATE, [0] * SUM_ROOM)
        memory.put(SUM_PARTS, [0] * SUM_ROOM)


def _may_order_texts(node: Comparison) -> bool:
    """Whether a comparison may ask which of two texts comes first."""
    if node.relation in {Relation.EQUAL, Relation.UNEQUAL}:
        return False
    return not any(
        isinstance(side, Arithmetic | Negative | Aggregate | Collected)
        or (isinstance(side, Literal) and not isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def no_register(aggregate: Aggregate) -> int:
    """For programs that cannot hold an aggregate over a window."""
    raise AssertionError("there is no aggregate over a window here")


@dataclass
class _Compiler:
    programs: Programs
    positions: Mapping[str, int]
    register: Callable[[Aggregate], int]
    code: list[Instruction]

    def emit(self, node: Expression) -> None:
        if isinstance(node, Literal):
            self._put(CONST, self.programs.constant(node))
        elif isinstance(node, Attribute):
            column = self.programs.encoder.columns.code(node.name)
            if node.label is None:
                self._put(OWN, column)
            else:
                self._put(BOUND, self.positions[node.label], column)
        elif isinstance(node, Aggregate):
            self._put(REGISTER, self.register(node))
        elif isinstance(node, Arithmetic):
            self.emit(node.left)
            self.emit(node.right)
            self._put(CALCULATE, _SIGNS[node.sign])
        elif isinstance(node, Negative):
            self._put(CONST, self.programs.constant(Literal(0)))
            self.emit(node.operand)
            self._put(CALCULATE, _SIGNS[Sign.SUBTRACT])
        elif isinstance(node, Comparison):
            self.programs.orders_texts |= _may_order_texts(node)
            self.emit(node.left)
            self.emit(node.right)
            self._put(COMPARE, RELATIONS[node.relation])
        elif isinstance(node, And | Or):
            for operand in node.operands:
                self.emit(operand)
                self.truth(operand)
            self._put(ALL if isinstance(node, And) else ANY, len(node.operands))
        elif isinstance(node, Not):
            self.emit(node.operand)
            self.truth(node.operand)
            self._put(INVERT, 0)
        elif isinstance(node, Item):
            column = self.programs.encoder.columns.code(node.attribute)
            self._put(ITEM, self.positions[node.label], column, node.index)
        elif isinstance(node, Collected):
            self._put(COLLECT, self.programs.collected(node, self.positions))
        elif isinstance(node, Coalesce):
            for option in node.options:
                self.emit(option)
            self._put(FIRST_OF, len(node.options))
        else:
            raise AssertionError(f"{type(node).__name__} must be resolved before it is planned")

    def _put(self, operation: int, first: int = 0, second: int = 0, third: int = 0) -> None:
        self.code.append((operation, first, second, third))

    def truth(self, node: Expression) -> None:
        """A value that is not a condition counts as true when it is the bool true."""
        if not isinstance(node, Comparison | And | Or | Not):
            self._put(TRUTH, 0)


@compiled
def run(m: int, program: int, own: int, missing: bool) -> tuple[int, int, float]:
    """Run a program; the result is a tag, an int and a float.

    The filter of a collected value runs in the same loop, on top of the stack, once per event:
    recursive compiled functions cannot be cached.
    """
    code, width = ints(m, INSTRUCTION), scalar(m, WIDTH)
    cell_tags, cells = tags(m, ROW_TAGS), ints(m, ROW_CELLS)
    stack_tags, stack, numbers = ints(m, STACK_TAG), ints(m, STACK_INT), floats(m, STACK_FLOAT)
    at, end = 4 * ints(m, PROGRAM_BEGIN)[program], 4 * ints(m, PROGRAM_END)[program]
    depth, tested, back, back_end, back_own = 0, -1, 0, 0, own
    while at < end or tested >= 0:
        if at >= end:
            # The filter of a collected value has run for one event; on to the next.
            depth -= 1
            table = ints(m, COLLECT_TABLE)[4 * code[back + 1] : 4 * code[back + 1] + 4]
            if stack[depth] == 1:
                _collect(m, table, own)
            tested += 1
            if tested < ints(m, LIST_END)[table[1]]:
                at, own = 4 * ints(m, PROGRAM_BEGIN)[table[3]], ints(m, LIST_ROW)[tested]
                continue
            tag, cell = end_sum(m, table[0])
            at, end, own, tested = back + 4, back_end, back_own, -1
            stack_tags[depth], stack[depth] = tag, cell
            numbers[depth] = as_float(cell) if tag == DOUBLE else 0.0
            depth += 1
            continue
        operation, first, second = code[at], code[at + 1], code[at + 2]
        at += 4
        if operation <= COLLECT:
            tag, cell = MISSING, 0
            if operation == CONST:
                tag, cell = ints(m, CONSTANT_TAG)[first], ints(m, CONSTANT_CELL)[first]
            elif operation == OWN:
                tag, cell = int(cell_tags[own * width + first]), cells[own * width + first]
            elif operation == BOUND:
                row = ints(m, FRAME_ROW)[first]
                if row >= 0:
                    tag, cell = int(cell_tags[row * width + second]), cells[row * width + second]
            elif operation == REGISTER:
                tag, cell = ints(m, REGISTER_TAG)[first], ints(m, REGISTER_CELL)[first]
            elif operation == ITEM:
                row = _item(m, first, code[at - 1])
                if row >= 0:
                    tag, cell = int(cell_tags[row * width + second]), cells[row * width + second]
            else:
                table = ints(m, COLLECT_TABLE)[4 * first : 4 * first + 4]
                begin_sum(m)
                place, last = ints(m, LIST_BEGIN)[table[1]], ints(m, LIST_END)[table[1]]
                if table[3] >= 0 and place < last:
                    back, back_end, back_own, tested = at - 4, end, own, place
                    at, end = (
                        4 * ints(m, PROGRAM_BEGIN)[table[3]],
                        4 * ints(m, PROGRAM_END)[table[3]],
                    )
                    own = ints(m, LIST_ROW)[place]
                    continue
                for other in range(place, last):
                    _collect(m, table, ints(m, LIST_ROW)[other])
                tag, cell = end_sum(m, table[0])
            stack_tags[depth], stack[depth] = tag, cell
            numbers[depth] = as_float(cell) if tag == DOUBLE else 0.0
            depth += 1
        elif operation == CALCULATE:
            depth -= 1
            tag, i, f = arithmetic(
                first,
                stack_tags[depth - 1],
                stack[depth - 1],
                numbers[depth - 1],
                stack_tags[depth],
                stack[depth],
                numbers[depth],
            )
            stack_tags[depth - 1], stack[depth - 1], numbers[depth - 1] = tag, i, f
        elif operation == COMPARE:
            depth -= 1
            if stack_tags[depth - 1] == MISSING or stack_tags[depth] == MISSING:
                truth = missing
            else:
                truth = related(
                    first,
                    stack_tags[depth - 1],
                    stack[depth - 1],
                    numbers[depth - 1],
                    stack_tags[depth],
                    stack[depth],
                    numbers[depth],
                    ints(m, RANKS),
                )
            stack_tags[depth - 1], stack[depth - 1] = BOOL, 1 if truth else 0
        elif operation == TRUTH:
            if stack_tags[depth - 1] == MISSING:
                stack[depth - 1] = 1 if missing else 0
            elif stack_tags[depth - 1] != BOOL:
                stack[depth - 1] = 0
            stack_tags[depth - 1] = BOOL
        elif operation == INVERT:
            stack[depth - 1] = 1 - stack[depth - 1]
        elif operation == FIRST_OF:
            depth -= first - 1
            for other in range(depth, depth + first - 1):
                if stack_tags[depth - 1] == MISSING:
                    stack_tags[depth - 1], stack[depth - 1] = stack_tags[other], stack[other]
                    numbers[depth - 1] = numbers[other]
        else:
            total = 0
            for operand in range(depth - first, depth):
                total += stack[operand]
            depth -= first - 1
            wanted = first if operation == ALL else 1
            stack_tags[depth - 1], stack[depth - 1] = BOOL, 1 if total >= wanted else 0
    return stack_tags[0], stack[0], numbers[0]


@inlined
def _collect(m: int, table: Ints, row: int) -> None:
    """Add an event's attribute (-1 is the event itself) to a collected value."""
    if table[2] < 0:
        add_to_sum(m, table[0], BOOL, 1)
    else:
        where = row * scalar(m, WIDTH) + table[2]
        add_to_sum(m, table[0], int(tags(m, ROW_TAGS)[where]), ints(m, ROW_CELLS)[where])


@inlined
def _item(m: int, position: int, index: int) -> int:
    """The i-th row (from 1; -1 is the last) of those under a position, or -1."""
    begin, end = ints(m, LIST_BEGIN)[position], ints(m, LIST_END)[position]
    at = begin + index - 1 if index > 0 else end + index
    return int(ints(m, LIST_ROW)[at]) if begin <= at < end else -1


@compiled
def holds(m: int, program: int, own: int, missing: bool) -> bool:
    """Whether a condition holds."""
    return run(m, program, own, missing)[1] == 1


@compiled
def value_of(m: int, program: int, own: int, missing: bool) -> tuple[int, int, float]:
    """The value of an expression."""
    return run(m, program, own, missing)
