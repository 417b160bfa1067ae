"""Measuring: what a condition asks for, what its sides were, and by how much it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

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
    Parameter,
    Relation,
    surface,
)
from cepheid.automaton.words import expression as written
from cepheid.events import Event, Kind, Value, kind_of
from cepheid.literals import format_value
from cepheid.oracle.values import Scope, bounds, holds, inside, satisfies, value_of
from cepheid.why.results import Check
from cepheid.why.words import counted, number, values

_NOUNS = {
    Function.AVG: "average",
    Function.SUM: "sum",
    Function.MIN: "smallest",
    Function.MAX: "largest",
    Function.COUNT: "count",
}
_SHORT = (Relation.GREATER, Relation.AT_LEAST)


def condition_check(kind: str, condition: Expression, scope: Scope, label: str = "") -> Check:
    """A condition as a check, with the values of both sides."""
    held = holds(condition, scope)
    found, by = _measured(condition, scope, held)
    return Check(
        kind, written(named(condition, label)), found, held, by, events_of(condition, scope)
    )


def named(condition: Expression, label: str) -> Expression:
    """A condition on the event being tested, with that event's label."""
    if not label:
        return condition
    return rewritten(condition, lambda node: replace(node, label=node.label or label))


def unnamed(condition: Expression, label: str, parameters: Mapping[str, Expression]) -> Expression:
    """A condition on the event under a label, as one on the event being tested."""

    def own(node: Attribute) -> Attribute:
        return replace(node, label=None) if node.label == label else node

    return rewritten(condition, own, parameters)


def rewritten(
    node: Expression,
    change: Callable[[Attribute], Attribute],
    parameters: Mapping[str, Expression] | None = None,
) -> Expression:
    """An expression with its attributes changed; with parameters, these are written out."""
    if isinstance(node, Attribute):
        return change(node)
    if isinstance(node, Parameter):
        return rewritten(parameters[node.name], change, parameters) if parameters else node
    if isinstance(node, Coalesce):
        options = tuple(rewritten(option, change, parameters) for option in node.options)
        return replace(node, options=options)
    if isinstance(node, And | Or):
        operands = tuple(rewritten(operand, change, parameters) for operand in node.operands)
        return replace(node, operands=operands)
    if isinstance(node, Not | Negative):
        return replace(node, operand=rewritten(node.operand, change, parameters))
    if isinstance(node, Comparison | Arithmetic):
        left = rewritten(node.left, change, parameters)
        return replace(node, left=left, right=rewritten(node.right, change, parameters))
    return node


def _measured(condition: Expression, scope: Scope, held: bool) -> tuple[str, float | None]:
    if isinstance(condition, Comparison):
        return _compared(condition, scope, held)
    if isinstance(condition, Not):
        return _measured(condition.operand, scope, held)
    if isinstance(condition, And | Or):
        parts = [_measured(operand, scope, holds(operand, scope)) for operand in condition.operands]
        return "; ".join(text for text, _ in parts), next((by for _, by in parts if by), None)
    return format_value(value_of(condition, scope)), None


def _compared(condition: Comparison, scope: Scope, held: bool) -> tuple[str, float | None]:
    left, right = value_of(condition.left, scope), value_of(condition.right, scope)
    if left is None or right is None:
        side = condition.left if left is None else condition.right
        return f"{written(side)} {_lacking(side, scope)}", None
    by = None if held else _shortfall(condition.relation, left, right)
    shown = _sides(condition, left, right, scope)
    if not held and _family(left) != _family(right):
        return f"{shown}: {_family(left)} is not comparable with {_family(right)}", None
    if by is None:
        return shown, None
    if by == 0:
        return f"{shown}, which is not enough", by
    word = "short by" if condition.relation in _SHORT else "too much by"
    return f"{shown}, {'off by' if _exact(condition) else word} {number(by)}", by


def _family(value: Value) -> str:
    kind = kind_of(value)
    return "a number" if kind.numeric else {Kind.STRING: "a text"}.get(kind, "true or false")


def _exact(condition: Comparison) -> bool:
    return condition.relation in (Relation.EQUAL, Relation.UNEQUAL)


def _lacking(side: Expression, scope: Scope) -> str:
    if isinstance(side, Attribute):
        return "is missing"
    return "is not defined" if isinstance(side, Aggregate | Collected) else "has no value"


def _sides(condition: Comparison, left: Value, right: Value, scope: Scope) -> str:
    """The values of both sides; a constant is not repeated."""
    shown = [
        _valued(side, value, scope)
        for side, value in ((condition.left, left), (condition.right, right))
        if not isinstance(side, Literal)
    ]
    if len(shown) == 2:
        return f"{shown[0]} and {shown[1]}"
    return shown[0] if shown else f"{format_value(left)} and {format_value(right)}"


def _valued(side: Expression, value: Value, scope: Scope) -> str:
    if isinstance(side, Aggregate):
        return f"{format_value(value)} ({aggregate_text(side, scope)})"
    return format_value(value)


def _shortfall(relation: Relation, left: Value, right: Value) -> float | None:
    """By how much a comparison of numbers fails."""
    if not (kind_of(left).numeric and kind_of(right).numeric) or relation is Relation.UNEQUAL:
        return None
    return abs(float(left) - float(right))


# --- aggregates --------------------------------------------------------------


def aggregate_events(node: Aggregate, scope: Scope) -> list[Event]:
    """The events that an aggregate is about."""
    low, high = bounds(node.window, scope.bound, scope.order)
    return [
        event
        for event in scope.history
        if inside(event, low, high) and satisfies(event, node.predicate, scope)
    ]


def aggregate_text(node: Aggregate, scope: Scope) -> str:
    """What an aggregate saw, such as `average of 3 values 40, 46, 49`."""
    events = aggregate_events(node, scope)
    return seen_by(node.function, events, node.attribute)


def seen_by(function: Function, events: list[Event], attribute: str | None) -> str:
    """What a function was computed of."""
    if function is Function.COUNT:
        return f"{counted(len(events), 'event')} counted"
    seen = [event.attributes.get(attribute or "") for event in events]
    present = [value for value in seen if value is not None]
    if not present:
        return "of nothing"
    return f"{_NOUNS[function]} of {counted(len(present), 'value')}: {values(present)}"


def aggregate_check(node: Aggregate, scope: Scope, name: str = "") -> Check:
    """What an aggregate gave, and of what."""
    value = value_of(node, scope)
    text = f"${name} = {written(node)}" if name else written(node)
    found = f"{format_value(value)}, {aggregate_text(node, scope)}"
    return Check("aggregate", text, found, events=tuple(aggregate_events(node, scope)))


def events_of(condition: Expression | None, scope: Scope) -> tuple[Event, ...]:
    """The events of the match that a condition speaks of."""
    found: dict[int, Event] = {}
    for node in surface(condition):
        if isinstance(node, Attribute) and node.label is None and scope.own is not None:
            found[id(scope.own)] = scope.own
        elif isinstance(node, Attribute | Collected | Item) and node.label is not None:
            found.update({id(event): event for event in scope.bound.get(node.label, ())})
    return tuple(found.values())


def parameter_value(name: str, parameters: Mapping[str, Expression], scope: Scope) -> Value | None:
    """What a parameter stands for."""
    return value_of(parameters[name], replace(scope, own=None))
