"""Values of rules that are written in Python: attributes, parameters, functions, operators."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Protocol, Unpack

from cepheid.algebra import (
    Aggregate,
    Arithmetic,
    Attribute,
    Coalesce,
    Collected,
    Comparison,
    EventPredicate,
    Expression,
    Function,
    Item,
    Literal,
    Negative,
    Not,
    Parameter,
    Relation,
    Sign,
    conjunction,
    disjunction,
)
from cepheid.automaton.words import expression as in_words
from cepheid.binding.places import here, name_of, wrong
from cepheid.binding.windows import WindowOptions, window_of
from cepheid.events import Kind, kind_named
from cepheid.events import Value as Constant
from cepheid.units import INT_MAX, INT_MIN


class Described(Protocol):
    """Events of some types, with a filter: what `event` gives."""

    @property
    def predicate(self) -> EventPredicate:
        """Which events are meant."""


Of = str | Described
"""What a function is over: the events under a name, or all events that are described."""


class Value:
    """A value of a rule: operators on it give further values, comparisons give conditions.

    Conditions are joined with `&` and `|` and turned round with `~`; Python's `and`, `or` and `not`
    cannot be given another meaning.

    >>> hot = (attribute("value") > 45) & ~(attribute("state") == "off")
    >>> hot
    Value(value > 45 and not state = "off")
    """

    __slots__ = ("expression", "kind")
    __hash__ = None  # type: ignore[assignment]  # == gives a condition, so values are no keys

    def __init__(self, expression: Expression, kind: Kind | None = None) -> None:
        self.expression = expression
        self.kind = kind

    def typed(self, kind: str) -> Value:
        """The value as an attribute of a type: string, int, double or bool.

        >>> attribute("value", of="Temp").typed("double").kind
        <Kind.DOUBLE: 'double'>
        """
        known = kind_named(kind)
        if known is None:
            raise wrong("WRONG_TYPE", f"type must be string, int, double or bool; got {kind}")
        return Value(self.expression, known)

    def __repr__(self) -> str:
        return f"Value({in_words(self.expression)})"

    def __bool__(self) -> bool:
        raise wrong(
            "WRONG_STRUCTURE",
            "a condition of a rule has no truth of its own before there are events",
            "join conditions with & and |, turn them round with ~, and put each in brackets; "
            "1 < x < 5 is written (x > 1) & (x < 5)",
        )

    # --- arithmetic ----------------------------------------------------------

    def __add__(self, other: Operand) -> Value:
        return _arithmetic(Sign.ADD, self, other)

    def __radd__(self, other: Operand) -> Value:
        return _arithmetic(Sign.ADD, other, self)

    def __sub__(self, other: Operand) -> Value:
        return _arithmetic(Sign.SUBTRACT, self, other)

    def __rsub__(self, other: Operand) -> Value:
        return _arithmetic(Sign.SUBTRACT, other, self)

    def __mul__(self, other: Operand) -> Value:
        return _arithmetic(Sign.MULTIPLY, self, other)

    def __rmul__(self, other: Operand) -> Value:
        return _arithmetic(Sign.MULTIPLY, other, self)

    def __truediv__(self, other: Operand) -> Value:
        return _arithmetic(Sign.DIVIDE, self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return _arithmetic(Sign.DIVIDE, other, self)

    def __neg__(self) -> Value:
        inner = self.expression
        if isinstance(inner, Negative):
            return Value(inner.operand)
        if isinstance(inner, Literal) and _is_number(inner.value):
            return literal(-inner.value)  # type: ignore[operator]  # it is a number
        return Value(Negative(inner, span=here()))

    # --- comparisons ---------------------------------------------------------

    def __eq__(self, other: object) -> Value:  # type: ignore[override]  # a condition, not a bool
        return _comparison(Relation.EQUAL, self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]  # a condition, not a bool
        return _comparison(Relation.UNEQUAL, self, other)

    def __lt__(self, other: Operand) -> Value:
        return _comparison(Relation.LESS, self, other)

    def __le__(self, other: Operand) -> Value:
        return _comparison(Relation.AT_MOST, self, other)

    def __gt__(self, other: Operand) -> Value:
        return _comparison(Relation.GREATER, self, other)

    def __ge__(self, other: Operand) -> Value:
        return _comparison(Relation.AT_LEAST, self, other)

    # --- conditions ----------------------------------------------------------

    def __and__(self, other: Operand) -> Value:
        return Value(all_of([self, other]) or self.expression)

    def __rand__(self, other: Operand) -> Value:
        return Value(all_of([other, self]) or self.expression)

    def __or__(self, other: Operand) -> Value:
        return Value(disjunction([expression_of(self), expression_of(other)]))

    def __ror__(self, other: Operand) -> Value:
        return Value(disjunction([expression_of(other), expression_of(self)]))

    def __invert__(self) -> Value:
        inner = self.expression
        return Value(inner.operand if isinstance(inner, Not) else Not(inner, span=here()))


Operand = Value | Constant | None
"""What may stand beside an operator: a value, or a constant (None is the missing value)."""


def literal(value: Constant | None) -> Value:
    """A constant as a value; needed only where no other operand is a value.

    >>> literal(45) < attribute("value")
    Value(45 < value)
    """
    if value is not None and not isinstance(value, str | int | float):
        raise wrong(
            "WRONG_TYPE",
            f"a constant must be a string, a number, a bool or None; got {type(value).__name__}",
            'a value of an event is written attribute("value")',
        )
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        raise wrong("NUMBER_OUT_OF_RANGE", f"number {value} must fit into 64 bits")
    if isinstance(value, float) and math.isnan(value):
        raise wrong("WRONG_TYPE", "a constant must be a number; got nan")
    return Value(Literal(value, span=here()))


def expression_of(operand: object) -> Expression:
    """The expression that a value or a constant stands for."""
    found = operand if isinstance(operand, Value) else literal(operand)  # type: ignore[arg-type]
    return found.expression


def condition_of(operand: object, what: str) -> Expression:
    """The expression of a condition; anything else is refused."""
    if isinstance(operand, Value):
        return operand.expression
    shown = operand if isinstance(operand, str) else repr(operand)
    raise wrong(
        "WRONG_TYPE",
        f"{what} must get a condition; got {str(shown)[:60]}",
        'write it with operators: attribute("value") > 45',
    )


def all_of(operands: list[Operand]) -> Expression | None:
    """All conditions together; None when there is none."""
    return conjunction([expression_of(operand) for operand in operands])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _arithmetic(sign: Sign, left: Operand, right: Operand) -> Value:
    return Value(Arithmetic(sign, expression_of(left), expression_of(right), span=here()))


def _comparison(relation: Relation, left: object, right: object) -> Value:
    return Value(Comparison(relation, expression_of(left), expression_of(right), span=here()))


# --- names -------------------------------------------------------------------


def attribute(name: str, *, of: str | None = None, at: int | None = None) -> Value:
    """An attribute of the event that is being tested, or `of` the event under a name.

    Where a name stands for several events, its latest one is meant, or the one `at` a place: from
    1, or -1 for the last.

    >>> attribute("value", of="Temp") - attribute("value", of="Temp", at=1)
    Value(Temp.value - Temp[1].value)
    """
    name_of(name, "an attribute")
    if at is None:
        return Value(Attribute(of, name, span=here()))
    if of is None or at == 0:
        raise wrong(
            "WRONG_STRUCTURE",
            f"attribute {name} must say of which event, and count places from 1; got at={at}",
        )
    return Value(Item(of, at, name, span=here()))


def parameter(name: str) -> Value:
    """A parameter, which `let` gives a value.

    >>> attribute("area") == parameter("a")
    Value(area = $a)
    """
    return Value(Parameter(name_of(name, "a parameter"), span=here()))


def first_known(*options: Operand) -> Value:
    """The first of several values that is not missing.

    >>> first_known(attribute("area", of="Smoke"), "somewhere").expression.options[1].value
    'somewhere'
    """
    expressions = tuple(map(expression_of, options))
    if not expressions:
        raise wrong("WRONG_STRUCTURE", "first_known must get a value")
    one = len(expressions) == 1
    return Value(expressions[0] if one else Coalesce(expressions, span=here()))


# --- functions ---------------------------------------------------------------


def average(
    name: str, *, of: Of = "", where: Value | None = None, **window: Unpack[WindowOptions]
) -> Value:
    """The average of an attribute: `of` the events under a name, or of all events in a window.

    Of the events under a name, only those are taken that fulfil `where`. In `until` a function
    says no name, because it is over the events that are gathered there.

    >>> average("value", of="Temp") > 45
    Value(Avg(Temp.value) > 45)
    >>> from cepheid.binding import event
    >>> average("value", of=event("Temp"), within="5 min", before="Smoke") > 45
    Value(Avg(Temp.value in the 5 min before Smoke) > 45)
    """
    return _over(Function.AVG, name, of, where, window)


def total(
    name: str, *, of: Of = "", where: Value | None = None, **window: Unpack[WindowOptions]
) -> Value:
    """The sum of an attribute, `of` events as for `average`.

    >>> total("value", of="Temp")
    Value(Sum(Temp.value))
    """
    return _over(Function.SUM, name, of, where, window)


def lowest(
    name: str, *, of: Of = "", where: Value | None = None, **window: Unpack[WindowOptions]
) -> Value:
    """The smallest value of an attribute, `of` events as for `average`.

    >>> lowest("value", of="Temp")
    Value(Min(Temp.value))
    """
    return _over(Function.MIN, name, of, where, window)


def highest(
    name: str, *, of: Of = "", where: Value | None = None, **window: Unpack[WindowOptions]
) -> Value:
    """The largest value of an attribute, `of` events as for `average`.

    >>> highest("value", of="Temp")
    Value(Max(Temp.value))
    """
    return _over(Function.MAX, name, of, where, window)


def number(
    name: str | None = None,
    *,
    of: Of = "",
    where: Value | None = None,
    **window: Unpack[WindowOptions],
) -> Value:
    """The number `of` events, as for `average`; with a name, of those that have the attribute.

    >>> number(of="Temp", where=attribute("value") > 45) >= 3
    Value(Count(Temp where value > 45) >= 3)
    """
    return _over(Function.COUNT, name, of, where, window)


def _over(
    function: Function, name: str | None, of: Of, where: Value | None, options: WindowOptions
) -> Value:
    filter_ = None if where is None else condition_of(where, "where")
    window = window_of(options)
    if isinstance(of, str):
        if window is not None or options.get("within") is not None:
            raise wrong(
                "WRONG_WINDOW",
                "a function over the events under a name has no window",
                f'all events of a type are meant by of=event("{of or "Temp"}")',
            )
        return Value(Collected(function, of, name, filter_, span=here()))
    predicate = of.predicate
    if window is None:
        raise wrong(
            "WRONG_STRUCTURE",
            f"a function over all events of {' or '.join(predicate.types)} must have a window",
            'write within="5 min", before="Smoke", or between=("Temp", "Smoke")',
        )
    both = [part for part in (predicate.filter, filter_) if part is not None]
    predicate = replace(predicate, filter=conjunction(both))
    return Value(Aggregate(function, predicate, name, window, span=here()))
