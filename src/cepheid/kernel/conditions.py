"""What the events of a type must satisfy in a state, and what of it an index can answer.

Filters are taken apart into conditions that must all hold. A condition that every filter of a type
has in common can be answered before a branch is looked at: `room = o.room` leads to the branches
whose `o` has that room, and `room = 'A'` to the rules that ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cepheid.algebra import (
    And,
    Attribute,
    Collected,
    Comparison,
    Expression,
    Item,
    Literal,
    Not,
    Or,
    Relation,
    conjunction,
    conjuncts,
    find,
)
from cepheid.events import Value


@dataclass(frozen=True, slots=True)
class Test:
    """A condition, equal to another if it is written the same.

    As nodes, conditions about 1, 1.0 and true would be equal.
    """

    text: str
    expression: Expression = field(compare=False)


Filter = tuple[Test, ...]
"""Conditions that must all hold; none are always true."""


@dataclass(frozen=True)
class Key:
    """An attribute of the tested event that must equal that of the event under a label."""

    column: str
    label: str
    attribute: str


@dataclass(frozen=True)
class Constant:
    """An attribute of the tested event that must equal a constant."""

    column: str
    value: Value


@dataclass(frozen=True)
class Condition:
    """Any of some filters and, for a negated atom, none of others."""

    filters: tuple[Filter, ...]
    without: tuple[Filter, ...] = ()

    def given(self, part: Test) -> Condition:
        """What is left to test where a part is known to be true."""
        return Condition(_given(self.filters, part), _given(self.without, part))

    @property
    def expression(self) -> Expression | None:
        """The condition as an expression; None is always true."""
        wanted = _any(self.filters)
        if not self.without:
            return wanted
        unwanted = _any(self.without)
        parts: list[Expression] = [] if wanted is None else [wanted]
        return conjunction([*parts, Not(unwanted if unwanted is not None else Literal(True))])


def filter_of(expression: Expression | None) -> Filter:
    """A filter as the conditions that must all hold."""
    return tuple(Test(repr(part), part) for part in conjuncts(expression))


def common(filters: Iterable[Filter]) -> list[Test]:
    """The conditions that are in all filters."""
    first, *others = [*filters] or [()]
    return [part for part in first if all(part in other for other in others)]


def key_in(part: Test) -> Key | None:
    """The key that a condition asks for, if it is one."""
    for one, other in _sides(part.expression):
        if one.label is None and isinstance(other, Attribute) and other.label is not None:
            return Key(one.name, other.label, other.name)
    return None


def constant_in(part: Test) -> Constant | None:
    """The constant that a condition asks for, if it is one."""
    for one, other in _sides(part.expression):
        if one.label is None and isinstance(other, Literal) and other.value is not None:
            return Constant(one.name, other.value)
    return None


def compared(condition: Condition) -> list[tuple[str, Relation, str, str]] | None:
    """A condition as comparisons of the tested event, each with the one under a label; None if it
    is more than that.

    A comparison is a column, how it relates to the other one, its label and its column.
    """
    if len(condition.filters) != 1 or condition.without:
        return None
    found = []
    for part in condition.filters[0]:
        node = part.expression
        if not isinstance(node, Comparison):
            return None
        left, right, relation = node.left, node.right, node.relation
        if not isinstance(left, Attribute) or not isinstance(right, Attribute):
            return None
        if left.label is not None:
            left, right, relation = right, left, relation.mirrored
        if left.label is not None or right.label is None:
            return None
        found.append((left.name, relation, right.label, right.name))
    return found


def speaks_of_all(expression: Expression) -> bool:
    """Whether an expression speaks of all events under a label."""
    return any(find(expression, Collected)) or any(find(expression, Item))


def _sides(part: Expression) -> list[tuple[Attribute, Expression]]:
    if not isinstance(part, Comparison) or part.relation is not Relation.EQUAL:
        return []
    pairs = [(part.left, part.right), (part.right, part.left)]
    return [(one, other) for one, other in pairs if isinstance(one, Attribute)]


def _given(filters: tuple[Filter, ...], part: Test) -> tuple[Filter, ...]:
    return tuple(tuple(other for other in found if other != part) for found in filters)


def _any(filters: tuple[Filter, ...]) -> Expression | None:
    """One of the filters holds; None when one of them always does."""
    if any(not found for found in filters):
        return None
    return _either([_all(found) for found in filters])


def _all(found: Filter) -> Expression:
    parts = tuple(part.expression for part in found)
    return And(parts) if len(parts) > 1 else parts[0]


def _either(parts: list[Expression]) -> Expression:
    """Halves of halves, so that the stack of the program stays low however many parts there are."""
    if not parts:
        return Literal(False)
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return Or((_either(parts[:middle]), _either(parts[middle:])))
