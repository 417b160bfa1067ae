"""What the events of a type must satisfy in a state, and what of it an index can answer.

Filters are taken apart into conditions that must all hold. A condition that every filter of a type
has in common can be answered before a branch is looked at: `room = o.room` leads to the branches
whose `o` has that room, and `room = 'A'` to the rules that ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cepheid.algebra import (
    And,
    Attribute,
    Comparison,
    Expression,
    Literal,
    Not,
    Or,
    Relation,
    conjunction,
    conjuncts,
)
from cepheid.events import Value

Filter = tuple[Expression, ...]
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

    def given(self, part: Expression) -> Condition:
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
    return tuple(conjuncts(expression))


def common(filters: Iterable[Filter]) -> list[Expression]:
    """The conditions that are in all filters."""
    all_filters = list(filters)
    if not all_filters:
        return []
    return [part for part in all_filters[0] if all(_has(other, part) for other in all_filters)]


def same(one: Expression, other: Expression) -> bool:
    """Whether two conditions are the same; 1, 1.0 and true are equal in Python, but not here."""
    return one == other and repr(one) == repr(other)


def is_one_of(filter_: Filter, others: Iterable[Filter]) -> bool:
    """Whether a filter is among others."""
    return any(len(filter_) == len(other) and all(map(same, filter_, other)) for other in others)


def _has(filter_: Filter, part: Expression) -> bool:
    return any(same(part, other) for other in filter_)


def key_in(part: Expression) -> Key | None:
    """The key that a condition asks for, if it is one."""
    for one, other in _sides(part):
        if one.label is None and isinstance(other, Attribute) and other.label is not None:
            return Key(one.name, other.label, other.name)
    return None


def constant_in(part: Expression) -> Constant | None:
    """The constant that a condition asks for, if it is one."""
    for one, other in _sides(part):
        if one.label is None and isinstance(other, Literal) and other.value is not None:
            return Constant(one.name, other.value)
    return None


def _sides(part: Expression) -> list[tuple[Attribute, Expression]]:
    if not isinstance(part, Comparison) or part.relation is not Relation.EQUAL:
        return []
    pairs = [(part.left, part.right), (part.right, part.left)]
    return [(one, other) for one, other in pairs if isinstance(one, Attribute)]


def _given(filters: tuple[Filter, ...], part: Expression) -> tuple[Filter, ...]:
    return tuple(tuple(other for other in found if not same(other, part)) for found in filters)


def _any(filters: tuple[Filter, ...]) -> Expression | None:
    """One of the filters holds; None when one of them always does."""
    if any(not found for found in filters):
        return None
    return _either([And(found) if len(found) > 1 else found[0] for found in filters])


def _either(parts: list[Expression]) -> Expression:
    """Halves of halves, so that the stack of the program stays low however many parts there are."""
    if not parts:
        return Literal(False)
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return Or((_either(parts[:middle]), _either(parts[middle:])))
