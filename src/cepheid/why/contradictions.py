"""Contradictions: rules that no events can ever satisfy, as far as constants tell."""

from __future__ import annotations

from dataclasses import replace

from cepheid.algebra import (
    Atom,
    Attribute,
    Collection,
    Comparison,
    Detector,
    Each,
    EventPredicate,
    Expression,
    Literal,
    Parallel,
    Relation,
    Rule,
    Run,
    Tree,
    conjuncts,
)
from cepheid.events import Value
from cepheid.oracle.automaton import START, Automaton
from cepheid.oracle.values import related
from cepheid.why.plans import condition_of, plans


def contradicts(rule: Rule) -> bool:
    """Whether a rule asks for an event that cannot be."""
    pattern = rule.pattern
    if isinstance(pattern, Tree):
        return any(impossible(c.predicate.filter) for c in pattern.components) or any(
            impossible(condition) for condition in pattern.conditions
        )
    if isinstance(pattern, Run):
        each = pattern.condition.condition if isinstance(pattern.condition, Each) else None
        return impossible(pattern.predicate.filter) or impossible(each)
    if isinstance(pattern, Collection):
        return all(
            any(impossible(condition_of(leaf)) for leaf, _ in plan.leaves)
            for plan in plans(pattern.body)
        )
    assert isinstance(pattern, Detector)  # noqa: S101 (there is no other pattern)
    return impossible(pattern.where) or not _reachable(Automaton.of(pattern.body))


def _reachable(automaton: Automaton) -> bool:
    """Whether a way leads to a match that needs no impossible event."""
    open_states, seen = [START], {START}
    while open_states:
        state = open_states.pop()
        if state in automaton.accepting:
            return True
        for step in automaton.transitions[state]:
            if step.target not in seen and _possible(automaton.atoms[step.target]):
                seen.add(step.target)
                open_states.append(step.target)
    return False


def _possible(atom: Atom | Parallel) -> bool:
    if isinstance(atom, Parallel):
        return all(_reachable(Automaton.of(side)) for side in (atom.left, atom.right))
    if atom.negated:
        return True
    return any(
        not isinstance(element, EventPredicate) or not impossible(element.filter)
        for element in atom.accepts
    )


def impossible(condition: Expression | None) -> bool:
    """Whether the constants in a condition exclude each other.

    >>> import cepheid
    >>> (rule,) = cepheid.load("define X as [A(v > 5 and v < 3)]", language="core")
    >>> contradicts(rule)
    True
    """
    known: dict[tuple[str | None, str], list[tuple[Relation, Value]]] = {}
    for part in filter(None, map(_turned, conjuncts(condition))):
        left, right = part.left, part.right
        if not isinstance(right, Literal) or right.value is None:
            continue
        if isinstance(left, Literal) and left.value is not None:
            if not related(part.relation, left.value, right.value):
                return True
        elif isinstance(left, Attribute):
            known.setdefault((left.label, left.name), []).append((part.relation, right.value))
    return any(_exclude(limits) for limits in known.values())


def _turned(part: Expression) -> Comparison | None:
    """A comparison with its constant on the right."""
    if isinstance(part, Comparison) and isinstance(part.left, Literal):
        return replace(part, relation=part.relation.mirrored, left=part.right, right=part.left)
    return part if isinstance(part, Comparison) else None


_LOW = (Relation.GREATER, Relation.AT_LEAST)
_HIGH = (Relation.LESS, Relation.AT_MOST)


def _exclude(limits: list[tuple[Relation, Value]]) -> bool:
    equals = [value for relation, value in limits if relation is Relation.EQUAL]
    if any(not related(relation, equals[0], value) for relation, value in limits if equals):
        return True
    lows = [(value, relation) for relation, value in limits if relation in _LOW]
    highs = [(value, relation) for relation, value in limits if relation in _HIGH]
    return any(_apart(low, high) for low in lows for high in highs)


def _apart(low: tuple[Value, Relation], high: tuple[Value, Relation]) -> bool:
    strict = low[1] is Relation.GREATER or high[1] is Relation.LESS
    wanted = Relation.LESS if strict else Relation.AT_MOST
    return not related(wanted, low[0], high[0])
