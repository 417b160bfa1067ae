"""Pushing conditions down: what speaks of one event alone is decided when that event comes.

SASE has its predicates behind the pattern; those on a single event become filters (its section 4:
dynamic filtering), so that the stacks hold only what may be part of a match, and the static index
and families know them. Where a policy chooses among candidates this would change the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Comparison,
    Component,
    EventPredicate,
    Expression,
    Literal,
    Node,
    Policy,
    Relation,
    Rule,
    Tree,
    conjunction,
    conjuncts,
    find,
    labels_of,
    parameters_of,
)

N = TypeVar("N", bound=Node)


def pushed(rule: Rule) -> Rule:
    """The rule with conditions on single events among the filters of their components."""
    tree = rule.pattern
    if not isinstance(tree, Tree) or not (tree.conditions or tree.equivalences):
        return rule
    free = {part.label for part in tree.components if takes_all(part)}
    rest, own = list[Expression](), dict[str, list[Expression]]()
    for condition in tree.conditions:
        label = _subject(condition)
        if label in free:
            own.setdefault(label, []).append(relabelled(condition, label, None))
        else:
            rest.append(condition)
    for label in free:
        own.setdefault(label, []).extend(_fixed(tree))
    components = tuple(_with(part, own.get(part.label, [])) for part in tree.components)
    return replace(rule, pattern=replace(tree, components=components, conditions=tuple(rest)))


def _subject(condition: Expression) -> str:
    """The label of the only event that a condition speaks of, or nothing."""
    labels = labels_of(condition)
    if len(labels) != 1 or parameters_of(condition) or any(find(condition, Aggregate)):
        return ""
    return next(iter(labels))


def _fixed(tree: Tree) -> list[Expression]:
    """What equivalence tests with a value ask of every event."""
    return [
        Comparison(Relation.EQUAL, Attribute(None, test.attribute), Literal(test.value))
        for test in tree.equivalences
        if test.value is not None
    ]


def _with(part: Component, conditions: list[Expression]) -> Component:
    filter_ = conjunction([*conjuncts(part.predicate.filter), *conditions])
    return replace(part, predicate=replace(part.predicate, filter=filter_))


def takes_all(part: Component) -> bool:
    """Whether a component takes every candidate, as the terminator does."""
    return part.parent is None or part.selection.policy is Policy.EACH


def relabelled(node: N, old: str | None, new: str | None) -> N:
    """The expression with the attributes under one label put under another."""

    def change(found: Node) -> Node:
        if isinstance(found, Attribute) and found.label == old:
            return replace(found, label=new)
        return found

    return mapped(node, change, into_predicates=False)


def mapped(node: N, change: Callable[[Any], Any], *, into_predicates: bool = True) -> N:
    """The node with every part changed, from the inside out."""
    if isinstance(node, EventPredicate) and not into_predicates:
        return node
    changes: dict[str, Any] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, tuple):
            changes[item.name] = tuple(
                mapped(part, change, into_predicates=into_predicates)
                if isinstance(part, Node)
                else part
                for part in value
            )
        elif isinstance(value, Node):
            changes[item.name] = mapped(value, change, into_predicates=into_predicates)
    changed = change(replace(node, **changes) if changes else node)
    return cast("N", changed)
