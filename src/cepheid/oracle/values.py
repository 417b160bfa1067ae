"""The value of an expression, given the events it speaks of."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from cepheid.algebra import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Coalesce,
    Collected,
    Comparison,
    EventPredicate,
    Expression,
    Function,
    Instant,
    Item,
    Literal,
    Negative,
    Not,
    Or,
    Parameter,
    Relation,
    Sign,
    Window,
)
from cepheid.events import Event, Kind, Order, Value, kind_of
from cepheid.units import INT_MAX, INT_MIN

Bound = Mapping[str, tuple[Event, ...]]
"""The events that a match holds, by label."""


@dataclass(frozen=True)
class Tick(Event):
    """An event of the periodic timer."""

    every: int = 0

    __hash__ = Event.__hash__


@dataclass(frozen=True)
class Scope:
    """What an expression may speak of.

    `own` is the event being tested, `bound` the events of the match, `parameters` what the
    rule's parameters stand for, `history` every event so far, for aggregates. `excluded` tells
    the events that are gone for the rule. `missing` is what a comparison with nothing gives.
    """

    bound: Bound = field(default_factory=dict)
    own: Event | None = None
    parameters: Mapping[str, Expression] = field(default_factory=dict)
    history: Sequence[Event] = ()
    excluded: frozenset[int] = frozenset()
    missing: bool = False
    order: Order = field(default_factory=Order)


def value_of(expression: Expression, scope: Scope) -> Value | None:
    """The value of an expression; None when it is missing or not defined."""
    if isinstance(expression, Literal):
        return expression.value
    if isinstance(expression, Attribute):
        return _attribute(expression, scope)
    if isinstance(expression, Parameter):
        return value_of(scope.parameters[expression.name], replace(scope, own=None))
    if isinstance(expression, Arithmetic):
        left, right = value_of(expression.left, scope), value_of(expression.right, scope)
        return _arithmetic(expression.sign, left, right)
    if isinstance(expression, Negative):
        return _arithmetic(Sign.SUBTRACT, 0, value_of(expression.operand, scope))
    if isinstance(expression, Aggregate):
        return _aggregate(expression, scope)
    if isinstance(expression, Collected):
        return _collected(expression, scope)
    if isinstance(expression, Coalesce):
        values = (value_of(option, scope) for option in expression.options)
        return next((value for value in values if value is not None), None)
    if isinstance(expression, Item):
        return _item(expression, scope)
    return holds(expression, scope)


def holds(condition: Expression | None, scope: Scope) -> bool:
    """Whether a condition holds; no condition always holds."""
    if condition is None:
        return True
    if isinstance(condition, And):
        return all(holds(operand, scope) for operand in condition.operands)
    if isinstance(condition, Or):
        return any(holds(operand, scope) for operand in condition.operands)
    if isinstance(condition, Not):
        return not holds(condition.operand, scope)
    if isinstance(condition, Comparison):
        left, right = value_of(condition.left, scope), value_of(condition.right, scope)
        return (
            scope.missing
            if left is None or right is None
            else related(condition.relation, left, right)
        )
    value = value_of(condition, scope)
    return scope.missing if value is None else value is True


_TESTS: dict[Relation, Callable[[Value, Value], bool]] = {
    Relation.LESS: operator.lt,
    Relation.AT_MOST: operator.le,
    Relation.GREATER: operator.gt,
    Relation.AT_LEAST: operator.ge,
}


def related(relation: Relation, left: Value, right: Value) -> bool:
    """Whether two values are in a relation; those of different kinds are only unequal."""
    alike = _family(left) == _family(right)
    if relation is Relation.EQUAL:
        return alike and left == right
    if relation is Relation.UNEQUAL:
        return not (alike and left == right)
    return alike and not isinstance(left, bool) and _TESTS[relation](left, right)


def equal(left: Value, right: Value) -> bool:
    """Whether two values are equal: numbers by value, others by kind and value."""
    return related(Relation.EQUAL, left, right)


def _family(value: Value) -> str:
    kind = kind_of(value)
    return "number" if kind.numeric else kind.value


def _attribute(expression: Attribute, scope: Scope) -> Value | None:
    if expression.label is None:
        return scope.own.attributes.get(expression.name) if scope.own else None
    events = scope.bound.get(expression.label, ())
    return events[-1].attributes.get(expression.name) if events else None


def _item(expression: Item, scope: Scope) -> Value | None:
    events = scope.bound.get(expression.label, ())
    index = expression.index - 1 if expression.index > 0 else expression.index
    if not -len(events) <= index < len(events):
        return None
    return events[index].attributes.get(expression.attribute)


_SIGNS: dict[Sign, Callable[[float, float], float]] = {
    Sign.ADD: operator.add,
    Sign.SUBTRACT: operator.sub,
    Sign.MULTIPLY: operator.mul,
    Sign.DIVIDE: operator.truediv,
}


def _arithmetic(sign: Sign, left: Value | None, right: Value | None) -> Value | None:
    if not (_is_number(left) and _is_number(right)):
        return None
    try:
        return _defined(_SIGNS[sign](left, right))  # type: ignore[arg-type]  # numbers, see above
    except (ZeroDivisionError, OverflowError):
        return None


def _is_number(value: Value | None) -> bool:
    return value is not None and kind_of(value).numeric


def _defined(number: float) -> float | None:
    """A number, or None when it is not a number or an int beyond 64 bits."""
    if isinstance(number, int):
        return number if INT_MIN <= number <= INT_MAX else None
    return None if math.isnan(number) else number


def collected(function: Function, events: Sequence[Event], attribute: str | None) -> Value | None:
    """An aggregate function over an attribute of events; over nothing only Count is defined."""
    if function is Function.COUNT:
        return sum(1 for event in events if attribute is None or attribute in event.attributes)
    found = [event.attributes.get(attribute or "") for event in events]
    numbers = [value for value in found if isinstance(value, int | float) and _is_number(value)]
    if not numbers:
        return None
    whole = all(isinstance(number, int) for number in numbers)
    if function in (Function.MIN, Function.MAX):
        extreme = min(numbers) if function is Function.MIN else max(numbers)
        return extreme if whole else float(extreme)
    total = sum(numbers) if whole else _exact_sum(numbers)
    return _defined(total / len(numbers) if function is Function.AVG else total)


def _exact_sum(numbers: Sequence[float]) -> float:
    """The sum, rounded once; beyond the range of doubles it is infinite."""
    infinite = {number for number in numbers if math.isinf(number)}
    if infinite:
        return sum(infinite)
    total = sum(map(Fraction, numbers))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _collected(expression: Collected, scope: Scope) -> Value | None:
    events = scope.bound.get(expression.label, ())
    kept = [event for event in events if holds(expression.filter, replace(scope, own=event))]
    return collected(expression.function, kept, expression.attribute)


def _aggregate(expression: Aggregate, scope: Scope) -> Value | None:
    low, high = bounds(expression.window, scope.bound, scope.order)
    events = [
        event
        for event in scope.history
        if inside(event, low, high) and satisfies(event, expression.predicate, scope)
    ]
    return collected(expression.function, events, expression.attribute)


def satisfies(event: Event, predicate: EventPredicate, scope: Scope) -> bool:
    """Whether an event is one that a predicate means."""
    if id(event) in scope.excluded or not of_type(event, predicate):
        return False
    return holds(predicate.filter, replace(scope, own=event))


def of_type(event: Event, predicate: EventPredicate) -> bool:
    """Whether an event has a type of the predicate; ticks only fit a timer of their period."""
    if isinstance(event, Tick) or predicate.every is not None:
        return isinstance(event, Tick) and event.every == predicate.every
    return event.type in predicate.types


def bounds(window: Window, bound: Bound, order: Order) -> tuple[float, float]:
    """The open interval that a window means, given the events that it hangs on."""
    low, high = window.low, window.high
    if low and high and not (low.offset or high.offset) and low.label != high.label:
        first, second = bound[low.label][-1], bound[high.label][-1]
        if order.precedes(second, first):
            low, high = high, low
    return (
        -math.inf if low is None else _end(low, bound),
        math.inf if high is None else _start(high, bound),
    )


def _end(instant: Instant, bound: Bound) -> int:
    return bound[instant.label][-1].end + instant.offset


def _start(instant: Instant, bound: Bound) -> int:
    return bound[instant.label][-1].start + instant.offset


def inside(event: Event, low: float, high: float) -> bool:
    """Whether an event lies in an open interval as a whole."""
    return low < event.start and event.end < high


def converted(value: Value | None, kind: Kind | None) -> Value | None:
    """A value as an attribute of a kind: numbers are converted, what does not fit is missing."""
    if value is None or kind is None or kind_of(value) == kind:
        return value
    if kind is Kind.DOUBLE and kind_of(value) is Kind.INT:
        return float(value)
    if kind is Kind.INT and isinstance(value, float) and math.isfinite(value):
        return _defined(round(value))
    return None
