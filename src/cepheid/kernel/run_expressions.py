"""Expressions over a run, made ready for programs: aggregates and items become values in registers.

A value of a run is known from a difference of sums, from one of its events, or by a walk over them.
Programs never see the run itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Collected,
    Comparison,
    EventPredicate,
    Expression,
    Function,
    Item,
    Literal,
    Node,
    Window,
    labels_of,
)
from cepheid.kernel.registry import Registry
from cepheid.kernel.run_listing import Tests, ranges
from cepheid.kernel.run_values import ITEM, LEAST, MOST, TALLY, TOTAL

_FUNCTIONS = {function: code for code, function in enumerate(Function)}
_MEASURED = {
    Function.SUM: TOTAL,
    Function.AVG: TOTAL,
    Function.COUNT: TALLY,
    Function.MIN: LEAST,
    Function.MAX: MOST,
}
"""What has to be kept for a function."""
_NOTHING = Literal(None)
NOT_COMPARED: tuple[int, ...] = (-1, 0, 0, 0, 0)
"""What stands where a condition is more than a comparison of a value with a number."""

Measure = tuple[int, int, int]
"""What is kept of all events: a kind, the column (-1: the event itself), test of the filter."""
Value = tuple[int, int, int, int]
"""A value of a run: function (or ITEM), measure or -1, column, test of the filter or index."""


@dataclass
class Values:
    """Makes programs over a run, and collects the values and measures that they need."""

    registry: Registry
    tests: Tests
    label: str
    missing: bool
    measures: list[Measure]
    found: list[Value] = field(default_factory=list)

    def program(self, expression: Expression, *, truth: bool = False) -> int:
        """The number of the program of an expression over the run."""
        number = self._program(self._ready(expression, own=False), truth=truth)
        self.registry.registers = max(self.registry.registers, len(self.found))
        return number

    def _program(self, ready: Expression, *, truth: bool) -> int:
        return self.registry.programs.add(ready, {self.label: 0}, _register, truth=truth)

    def output(self, expression: Expression) -> tuple[int, int]:
        """The register that holds a result, or -1, and the program that computes it."""
        program = self.program(expression)
        ready = self._ready(expression, own=False)
        return _register(ready) if isinstance(ready, Aggregate) else -1, program

    def compared(self, condition: Expression) -> tuple[int, ...]:
        """The register and the ranges of a condition that compares a value with a number."""
        ready = self._ready(condition, own=False)
        if not isinstance(ready, Comparison):
            return NOT_COMPARED
        left, right, relation = ready.left, ready.right, ready.relation
        if isinstance(left, Literal):
            left, right, relation = right, left, relation.mirrored
        if not (isinstance(left, Aggregate) and isinstance(right, Literal)):
            return NOT_COMPARED
        found = ranges(relation, right.value)
        return NOT_COMPARED if found is None else (_register(left), *found)

    def _ready(self, node: Expression, *, own: bool) -> Expression:
        """The expression with values in registers; `own`: whether there is an event tested."""
        if isinstance(node, Attribute):
            known = own if node.label is None else node.label == self.label
            return node if known else _NOTHING
        if isinstance(node, Item):
            return self._item(node) if node.label == self.label else _NOTHING
        if isinstance(node, Collected):
            return self._collected(node) if node.label == self.label else _over_nothing(node)
        return _changed(node, lambda part: self._ready(part, own=own))

    def _item(self, node: Item) -> Aggregate:
        column = self.registry.encoder.columns.code(node.attribute)
        return self._value((ITEM, -1, column, node.index))

    def _collected(self, node: Collected) -> Expression:
        column = -1
        if node.attribute is not None:
            column = self.registry.encoder.columns.code(node.attribute)
        if node.filter is not None and labels_of(node.filter):
            # What the filter says of the run are values that come before this one.
            program = self._program(self._ready(node.filter, own=True), truth=True)
            test, measure = self.tests.of_program(program, missing=self.missing), -1
        else:
            test = self.tests.of(node.filter, missing=self.missing)
            measure = self._measure(node.function, column, test)
        return self._value((_FUNCTIONS[node.function], measure, column, test))

    def _measure(self, function: Function, column: int, test: int) -> int:
        """The place of the measure that knows an aggregate."""
        wanted = (_MEASURED[function], column, test)
        if wanted not in self.measures:
            self.measures.append(wanted)
        return self.measures.index(wanted)

    def _value(self, value: Value) -> Aggregate:
        """What stands for a value in an expression: an aggregate that names its register."""
        if value not in self.found:
            self.found.append(value)
        predicate = EventPredicate((str(self.found.index(value)),))
        return Aggregate(Function.COUNT, predicate, None, Window(None, None))


def _register(aggregate: Aggregate) -> int:
    return int(aggregate.predicate.types[0])


def alone(node: Expression) -> Expression:
    """A condition on one event alone: what it says of other events, it says of nothing."""
    if isinstance(node, Collected):
        return _over_nothing(node)
    if isinstance(node, Item) or (isinstance(node, Attribute) and node.label is not None):
        return _NOTHING
    return _changed(node, alone)


def _over_nothing(node: Collected) -> Literal:
    return Literal(0) if node.function is Function.COUNT else _NOTHING


def _changed(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The expression with its operands changed."""
    changes: dict[str, object] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            changes[item.name] = change(value)  # type: ignore[arg-type]  # parts are expressions
        elif isinstance(value, tuple):
            changes[item.name] = tuple(map(change, value))
    return replace(node, **changes) if changes else node  # type: ignore[arg-type]  # same fields
