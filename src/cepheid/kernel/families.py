"""Families: rules that differ only in one constant are one rule with a sorted list of constants.

The members that an event satisfies are then a range of that list, found by binary search, and a
match is written down once for all of them. Work is done per family, and per rule only where
something is written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Comparison,
    Component,
    Expression,
    Literal,
    Output,
    Parameter,
    Policy,
    Relation,
    Rule,
    Tree,
    conjunction,
    conjuncts,
    find,
)
from cepheid.events import Value, kind_of

HOLE = Parameter("\0")
"""Stands where the members of a family have different constants."""

Place = tuple[int, int]
"""Where a constant stands: component (or -1 for the tree's conditions), and which condition."""

_ORDERED = (Relation.LESS, Relation.AT_MOST, Relation.GREATER, Relation.AT_LEAST)


@dataclass(frozen=True)
class Family:
    """A rule with a hole, the constants that go into it in order, and whose they are."""

    rule: Rule
    members: tuple[int, ...]
    constants: tuple[Value, ...] = ()


def families(rules: Sequence[Rule]) -> list[Family]:
    """Group rules by what they have in common; every rule is in one family."""
    groups: dict[Rule, list[tuple[int, dict[Place, Value]]]] = {}
    for index, rule in enumerate(rules):
        skeleton, constants = _skeleton(rule)
        groups.setdefault(skeleton, []).append((index, constants))
    return [family for skeleton, found in groups.items() for family in _split(skeleton, found)]


def _skeleton(rule: Rule) -> tuple[Rule, dict[Place, Value]]:
    """The rule with holes wherever a constant may vary, and the constants that stood there."""
    tree = rule.pattern
    assert isinstance(tree, Tree)  # noqa: S101 (the caller chose the strategy)
    constants: dict[Place, Value] = {}
    components = []
    free = not rule.consuming or _consumes_plainly(rule, tree)
    for at, part in enumerate(tree.components):
        tests = []
        for index, condition in enumerate(conjuncts(part.predicate.filter)):
            held, value = _hollowed(condition, own=True)
            if value is not None and free and _may_vary(part, at, held):
                constants[at, index] = value
                tests.append(held)
            else:
                tests.append(condition)
        predicate = replace(part.predicate, filter=conjunction(tests))
        components.append(replace(part, predicate=predicate))
    conditions = []
    for index, condition in enumerate(tree.conditions):
        held, value = _hollowed(condition, own=False)
        keep = value is None or not free
        conditions.append(condition if keep else held)
        if not keep and value is not None:
            constants[-1, index] = value
    pattern = replace(tree, components=tuple(components), conditions=tuple(conditions))
    output = Output("", rule.output.attributes, rule.output.everything)
    return replace(rule, name="", output=output, pattern=pattern), constants


def _hollowed(condition: Expression, *, own: bool) -> tuple[Expression, Value | None]:
    """A comparison with its constant taken out, the constant on the right."""
    if not isinstance(condition, Comparison) or condition.relation is Relation.UNEQUAL:
        return condition, None
    left, right = condition.left, condition.right
    relation: Relation = condition.relation
    if isinstance(left, Literal):
        left, right, relation = right, left, relation.mirrored
    if not isinstance(right, Literal) or isinstance(left, Literal) or right.value is None:
        return condition, None
    if own and not (isinstance(left, Attribute) and left.label is None):
        return condition, None
    if not kind_of(right.value).numeric:
        return condition, None
    return Comparison(relation, left, HOLE), right.value


def _consumes_plainly(rule: Rule, tree: Tree) -> bool:
    """Whether events can be taken away from some members of a family and not from others.

    Each component must choose each event or the last one, and nothing that is looked for besides
    may be among what is consumed.
    """
    chosen = all(
        part.selection.policy is Policy.EACH
        or (part.selection.policy is Policy.LAST and part.selection.count == 1)
        for part in tree.components[1:]
    )
    consumed = {
        type_
        for part in tree.components
        if part.label in rule.consuming
        for type_ in part.predicate.types
    }
    besides = [negation.predicate for negation in tree.negations]
    besides += [aggregate.predicate for aggregate in find(rule, Aggregate)]
    return chosen and not any(consumed & set(predicate.types) for predicate in besides)


def _may_vary(part: Component, at: int, held: Expression) -> bool:
    """Whether the policy can choose for all members of a family at once."""
    if at == 0 or part.selection.policy is Policy.EACH:
        return True
    ordered = isinstance(held, Comparison) and held.relation in _ORDERED
    return ordered and part.selection.count == 1


def _split(skeleton: Rule, found: list[tuple[int, dict[Place, Value]]]) -> Iterator[Family]:
    """Families of a group: one place varies, the constants at all others are the same."""
    places = list(found[0][1])
    hole = min(places, key=lambda place: _count_without(place, found), default=None)
    parts: dict[tuple[object, ...], list[tuple[int, dict[Place, Value]]]] = {}
    for index, constants in found:
        fixed = tuple(_key(constants[place]) for place in places if place != hole)
        parts.setdefault(fixed, []).append((index, constants))
    for members in parts.values():
        yield _family(skeleton, members, hole)


def _count_without(hole: Place, found: list[tuple[int, dict[Place, Value]]]) -> int:
    """How many families there are when constants at a place may differ."""
    return len(
        {
            tuple(_key(value) for place, value in constants.items() if place != hole)
            for _, constants in found
        }
    )


def _family(
    skeleton: Rule, members: list[tuple[int, dict[Place, Value]]], hole: Place | None
) -> Family:
    constants = members[0][1]
    if hole is None or len(members) == 1:
        rule = _filled(skeleton, constants)
        return Family(rule, tuple(index for index, _ in members))
    rule = _filled(skeleton, {place: v for place, v in constants.items() if place != hole})
    ordered = sorted(members, key=lambda member: member[1][hole])
    return Family(
        rule,
        tuple(index for index, _ in ordered),
        tuple(constants[hole] for _, constants in ordered),
    )


def _key(value: Value) -> tuple[str, Value]:
    return kind_of(value).value, value


def _filled(skeleton: Rule, constants: dict[Place, Value]) -> Rule:
    """The skeleton with constants put back."""
    tree = skeleton.pattern
    assert isinstance(tree, Tree)  # noqa: S101 (it was one)
    components = []
    for at, part in enumerate(tree.components):
        tests = [
            _with(condition, constants.get((at, index)))
            for index, condition in enumerate(conjuncts(part.predicate.filter))
        ]
        predicate = replace(part.predicate, filter=conjunction(tests))
        components.append(replace(part, predicate=predicate))
    conditions = tuple(
        _with(condition, constants.get((-1, index)))
        for index, condition in enumerate(tree.conditions)
    )
    pattern = replace(tree, components=tuple(components), conditions=conditions)
    return replace(skeleton, pattern=pattern)


def _with(condition: Expression, value: Value | None) -> Expression:
    if value is None or not isinstance(condition, Comparison):
        return condition
    return replace(condition, right=Literal(value)) if condition.right == HOLE else condition
