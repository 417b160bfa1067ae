"""Expressions of the algebra: values, attributes, parameters, arithmetic, comparisons, aggregates.

All nodes are frozen and compare by meaning; the place in the text that a node came from (`span`)
takes no part in that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from cepheid.errors import Span
from cepheid.events import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Anything in the algebra; knows where it stood in the rule's text."""

    span: Span | None = field(default=None, compare=False, repr=False)


def exact(value: Value | None) -> tuple[type, Value | None]:
    """A value as it compares in the algebra: 1, 1.0 and true mean different things."""
    return type(value), value


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant; None is the missing value."""

    value: Value | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return exact(self.value) == exact(other.value)

    def __hash__(self) -> int:
        return hash(exact(self.value))


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """An attribute of the event under a label, or (label None) of the event being tested.

    Where a label holds several events, its latest one is meant.
    """

    label: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """A parameter such as TESLA's `$a`; the pattern's bindings say what it stands for."""

    name: str


class Sign(StrEnum):
    """An arithmetic operator."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """Two operands and a sign. Ints stay ints, except under `/`, which gives a double.

    What is not defined (a missing operand, division by zero, an int beyond 64 bits) is missing.
    """

    sign: Sign
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """The operand with its sign turned."""

    operand: Expression


class Relation(StrEnum):
    """A comparison operator."""

    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="

    @property
    def mirrored(self) -> Relation:
        """The relation that holds with the sides exchanged."""
        return _MIRROR[self]


_MIRROR = {
    Relation.EQUAL: Relation.EQUAL,
    Relation.UNEQUAL: Relation.UNEQUAL,
    Relation.LESS: Relation.GREATER,
    Relation.AT_MOST: Relation.AT_LEAST,
    Relation.GREATER: Relation.LESS,
    Relation.AT_LEAST: Relation.AT_MOST,
}


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """Two operands and a relation; what it gives for a missing operand is the rule's choice."""

    relation: Relation
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And(Node):
    """All operands hold; two or more, none of them an And."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """At least one operand holds; two or more, none of them an Or."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not(Node):
    """The operand does not hold."""

    operand: Expression


class Function(StrEnum):
    """An aggregate function."""

    AVG = "Avg"
    SUM = "Sum"
    MIN = "Min"
    MAX = "Max"
    COUNT = "Count"


@dataclass(frozen=True, slots=True)
class Instant(Node):
    """The time of the event under a label, shifted by an offset in microseconds."""

    label: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Window(Node):
    """The open interval between two instants; None is no bound.

    The times of two events may come in either order; moments beside events must not.

    An event lies in it when it strongly follows the low end and strongly precedes the high end:
    a low instant counts from its event's end, a high instant from its event's start.
    """

    low: Instant | None
    high: Instant | None

    @staticmethod
    def within(length: int, label: str, span: Span | None = None) -> Window:
        """The time-based window (t - length, t) before the event under a label."""
        return Window(Instant(label, -length), Instant(label), span=span)

    @property
    def length(self) -> int | None:
        """The length of a window that ends at the event it is measured from, else None."""
        if self.low and self.high and self.low.label == self.high.label and not self.high.offset:
            return -self.low.offset
        return None

    @property
    def labels(self) -> frozenset[str]:
        """The labels that the window hangs on."""
        return frozenset(instant.label for instant in (self.low, self.high) if instant)


@dataclass(frozen=True, slots=True)
class EventPredicate(Node):
    """Which events are meant: one of some types, and a condition on the event.

    Inside the filter, `Attribute(None, name)` is an attribute of the event being tested. With
    `every`, it means the periodic timer of that period instead of events from outside.
    """

    types: tuple[str, ...]
    filter: Expression | None = None
    every: int | None = None


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """A function over an attribute of all events that a predicate selects in a window."""

    function: Function
    predicate: EventPredicate
    attribute: str | None
    window: Window


@dataclass(frozen=True, slots=True)
class Collected(Node):
    """A function over an attribute of the events that the match holds under a label.

    With a filter, only over those that satisfy it.
    """

    function: Function
    label: str
    attribute: str | None
    filter: Expression | None = None


@dataclass(frozen=True, slots=True)
class Item(Node):
    """An attribute of the i-th event (from 1; -1 is the last) of those under a label."""

    label: str
    index: int
    attribute: str


@dataclass(frozen=True, slots=True)
class Coalesce(Node):
    """The first of several values that is not missing."""

    options: tuple[Expression, ...]


Expression = (
    Literal
    | Attribute
    | Parameter
    | Arithmetic
    | Negative
    | Comparison
    | And
    | Or
    | Not
    | Aggregate
    | Collected
    | Item
    | Coalesce
)
"""Anything that has a value."""


def conjunction(conditions: list[Expression]) -> Expression | None:
    """One condition that holds when all of them do; None when there is none."""
    flat = [part for condition in conditions for part in conjuncts(condition)]
    if not flat:
        return None
    return flat[0] if len(flat) == 1 else And(tuple(flat), span=flat[0].span)


def disjunction(conditions: list[Expression]) -> Expression:
    """One condition that holds when any of them does."""
    flat: list[Expression] = []
    for condition in conditions:
        flat.extend(condition.operands if isinstance(condition, Or) else [condition])
    return flat[0] if len(flat) == 1 else Or(tuple(flat), span=flat[0].span)


def conjuncts(condition: Expression | None) -> tuple[Expression, ...]:
    """The conditions that must all hold for this one to hold."""
    if condition is None:
        return ()
    return condition.operands if isinstance(condition, And) else (condition,)
