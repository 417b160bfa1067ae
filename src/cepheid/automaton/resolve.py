"""Expressions rewritten for the automaton: parameters replaced, own attributes named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Binding,
    Collected,
    EventPredicate,
    Expression,
    Node,
    Parameter,
    conjuncts,
    find,
    labels_of,
)

N = TypeVar("N", bound=Node)
Change = Callable[[Node, bool], Node]
"""Gives a node's replacement; the flag says that it stands inside a filter of its own."""


def rewritten(node: N, change: Change, *, inside: bool = False) -> N:
    """The node with every part replaced by what `change` gives for it."""
    below = inside or isinstance(node, EventPredicate | Collected)
    new: dict[str, Any] = {
        item.name: _value(getattr(node, item.name), change, below)
        for item in fields(node)
        if item.name != "span"
    }
    return cast("N", change(replace(node, **new), inside))


def _value(value: object, change: Change, inside: bool) -> object:
    if isinstance(value, tuple):
        return tuple(_value(item, change, inside) for item in value)
    return rewritten(value, change, inside=inside) if isinstance(value, Node) else value


class Parameters:
    """What the parameters of a tree stand for; those with an aggregate keep their name."""

    def __init__(self, bindings: Iterable[Binding]) -> None:
        self._bound = {binding.name: binding.value for binding in bindings}
        self.computed = {
            name: self.resolved(value)
            for name, value in self._bound.items()
            if self._needs_aggregate(value)
        }

    def resolved(self, node: N) -> N:
        """The node with every other parameter replaced by what it stands for."""

        def change(part: Node, inside: bool) -> Node:
            if not isinstance(part, Parameter) or part.name not in self._bound:
                return part
            value = self._bound[part.name]
            return part if self._needs_aggregate(value) else self.resolved(value)

        return rewritten(node, change)

    def labels(self, node: Node | None) -> frozenset[str]:
        """The labels that an expression speaks of, through its parameters too."""
        found = labels_of(node)
        for name in (part.name for part in find(node, Parameter)):
            value = self.computed.get(name)
            found |= frozenset() if value is None else self.labels(value)
        return found

    def _needs_aggregate(self, value: Expression) -> bool:
        parameters = (part.name for part in find(value, Parameter))
        return any(find(value, Aggregate)) or any(
            self._needs_aggregate(self._bound[name]) for name in parameters if name in self._bound
        )


def named(expression: Expression, label: str) -> Expression:
    """The expression with the attributes of the event being tested under its label."""

    def change(part: Node, inside: bool) -> Node:
        own = isinstance(part, Attribute) and part.label is None and not inside
        return replace(part, label=label) if own else part  # type: ignore[call-arg]

    return rewritten(expression, change)


def bare(expression: Expression, label: str) -> Expression:
    """The expression with the attributes under a label as those of the event being tested."""

    def change(part: Node, inside: bool) -> Node:
        own = isinstance(part, Attribute) and part.label == label and not inside
        return replace(part, label=None) if own else part  # type: ignore[call-arg]

    return rewritten(expression, change)


def split(
    predicate: EventPredicate, label: str, parameters: Parameters
) -> tuple[list[Expression], list[Expression]]:
    """A filter as what an event decides alone, and what ties it to other events."""
    alone: list[Expression] = []
    tied: list[Expression] = []
    for part in conjuncts(predicate.filter):
        whole = named(parameters.resolved(part), label)
        if parameters.labels(whole) <= {label} and not any(find(whole, Aggregate)):
            alone.append(bare(whole, label))
        else:
            tied.append(whole)
    return alone, tied
