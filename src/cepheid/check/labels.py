"""Which labels a rule binds, and to events of which types."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.algebra import (
    Accumulate,
    Aggregate,
    Atom,
    Each,
    EventPredicate,
    Expression,
    Pick,
    Rule,
    Run,
    Take,
    Tree,
    walk,
)

Types = tuple[str, ...]


def labels_in(rule: Rule) -> dict[str, Types]:
    """The types of the events under each label."""
    pattern = rule.pattern
    found: dict[str, Types] = {}
    if isinstance(pattern, Tree):
        return {part.label: part.predicate.types for part in pattern.components}
    if isinstance(pattern, Run):
        return {pattern.label: pattern.predicate.types}
    for node in walk(pattern.body):
        if isinstance(node, Take | Accumulate):
            found[node.label] = node.predicate.types
        elif isinstance(node, Pick):
            found[node.label] = node.types
        elif isinstance(node, Atom) and node.label is not None:
            elements = node.domain if node.negated else node.accepts
            types = [type_ for e in elements if isinstance(e, EventPredicate) for type_ in e.types]
            found[node.label] = tuple(dict.fromkeys([*found.get(node.label, ()), *types]))
    return found


def tested_expressions(rule: Rule) -> Iterator[tuple[Expression, Types]]:
    """Every condition that speaks of an event being tested, with the types it may have."""
    for node in walk(rule):
        if isinstance(node, EventPredicate) and node.filter is not None:
            yield node.filter, node.types
        elif isinstance(node, Pick) and node.condition is not None:
            yield node.condition, node.types
        elif isinstance(node, Run) and isinstance(node.condition, Each):
            yield node.condition.condition, node.predicate.types


def free_conditions(rule: Rule) -> Iterator[Expression]:
    """Every condition that speaks of the match as a whole."""
    pattern = rule.pattern
    if isinstance(pattern, Tree):
        yield from pattern.conditions
    elif isinstance(pattern, Run):
        if pattern.condition is not None and not isinstance(pattern.condition, Each):
            yield pattern.condition
    else:
        where = getattr(pattern, "where", None)
        if where is not None:
            yield where


def free_values(rule: Rule) -> Iterator[Expression]:
    """Every value that is computed from the match as a whole."""
    if isinstance(rule.pattern, Tree):
        yield from (binding.value for binding in rule.pattern.bindings)
    for node in walk(rule.pattern):
        if isinstance(node, Accumulate):
            yield node.bound
    yield from (attribute.value for attribute in rule.output.attributes)


def aggregates_in(rule: Rule) -> Iterator[Aggregate]:
    """Every aggregate over a window."""
    return (node for node in walk(rule) if isinstance(node, Aggregate))
