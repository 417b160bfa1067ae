"""Ways through the algebra that do not care which node they meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar, get_args, get_type_hints

from cepheid.algebra.expressions import (
    Aggregate,
    Attribute,
    Collected,
    EventPredicate,
    Instant,
    Item,
    Node,
    Parameter,
)
from cepheid.algebra.patterns import Accumulate, Equivalence, Key, Pick
from cepheid.algebra.rules import Rule

N = TypeVar("N", bound=Node)


_Below = Callable[[Node], tuple[object, ...]]

_BELOW: dict[type, _Below | None] = {}
"""What may be below a node of a type; None for types that are no nodes."""


def _field_names(type_: type) -> list[str]:
    return [item.name for item in fields(type_) if item.name != "span"]


def _below(type_: type) -> _Below | None:
    """The fields of nodes of a type in which others may be, last first, as a stack wants them."""
    if not issubclass(type_, Node):
        return None
    hints = get_type_hints(type_)
    names = [name for name in reversed(_field_names(type_)) if _holds_nodes(hints[name])]
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda node: (getattr(node, names[0]),)) if names else (lambda node: ())


def _holds_nodes(hint: Any) -> bool:  # noqa: ANN401 (a type hint is any object)
    if isinstance(hint, type) and issubclass(hint, Node):
        return True
    return any(map(_holds_nodes, get_args(hint)))


def walk(node: Node | None, *, into_predicates: bool = True) -> Iterator[Node]:
    """The node and everything below it, parents first, in the order of the text."""
    stack: list[Any] = [node]
    while stack:
        current = stack.pop()
        type_ = type(current)
        if type_ is tuple:
            stack.extend(current[::-1])
            continue
        try:
            below = _BELOW[type_]
        except KeyError:
            below = _BELOW[type_] = _below(type_)
        if below is None:
            continue
        yield current
        if into_predicates or not isinstance(current, EventPredicate | Collected):
            stack.extend(below(current))


def surface(node: Node | None) -> Iterator[Node]:
    """Like walk, but without the filters that speak of an event of their own."""
    return walk(node, into_predicates=False)


def find(node: Node | None, kind: type[N]) -> Iterator[N]:
    """All nodes of a kind below a node."""
    return (found for found in walk(node) if isinstance(found, kind))


def labels_of(node: Node | None) -> frozenset[str]:
    """Every label that an expression, predicate or window refers to."""
    found = set()
    for part in walk(node):
        if isinstance(part, Attribute | Instant | Collected | Item) and part.label is not None:
            found.add(part.label)
    return frozenset(found)


def parameters_of(node: Node | None) -> frozenset[str]:
    """Every parameter that an expression refers to."""
    return frozenset(part.name for part in find(node, Parameter))


def input_types(rule: Rule) -> tuple[str, ...]:
    """The event types that a rule looks at, in the order of its text."""
    found: dict[str, None] = {}
    for part in walk(rule):
        if (isinstance(part, EventPredicate) and part.every is None) or isinstance(part, Pick):
            found.update(dict.fromkeys(part.types))
    return tuple(found)


def attributes_of(node: Node | None) -> frozenset[str]:
    """The attributes of events that anything below a node asks for by name."""
    found: set[str] = set()
    for part in walk(node):
        if isinstance(part, Attribute):
            found.add(part.name)
        elif isinstance(part, Key):
            found.update(name for _, name in part.attributes)
        elif isinstance(part, Accumulate | Aggregate | Collected | Equivalence | Item):
            found.update(() if part.attribute is None else (part.attribute,))
    return frozenset(found)


def difference(one: Node, other: Node) -> str:
    """The first part in which two nodes differ, in words; nothing where they are equal.

    >>> from cepheid.algebra import Literal, Negative
    >>> difference(Negative(Literal(1)), Negative(Literal(2)))
    'value of literal'
    """
    if type(one) is not type(other):
        return type(one).__name__.lower()
    for name in _field_names(type(one)):
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine == theirs:
            continue
        pairs = zip(mine, theirs, strict=False) if isinstance(mine, tuple) else [(mine, theirs)]
        inner = (
            difference(left, right)
            for left, right in pairs
            if isinstance(left, Node) and isinstance(right, Node) and left != right
        )
        return next(filter(None, inner), f"{name} of {type(one).__name__.lower()}")
    return ""
