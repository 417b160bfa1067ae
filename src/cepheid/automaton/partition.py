"""What parts the events of a rule into groups that never meet: equal values of attributes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cepheid.algebra import (
    Aggregate,
    Atom,
    Attribute,
    Comparison,
    Detector,
    Equivalence,
    EventPredicate,
    Expression,
    Key,
    Relation,
    Tree,
    conjuncts,
    find,
)
from cepheid.automaton.model import Absent, Automaton
from cepheid.automaton.resolve import named

Place = tuple[str, str]
"""An attribute of the event under a label."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Attributes with equal values in all events of a match, in words."""

    attributes: tuple[str, ...]
    text: str


def partitions(automaton: Automaton) -> list[Partition]:
    """Every group of attributes by which the events of a rule can be parted."""
    tests = [constraint.condition for constraint in automaton.constraints]
    found = [_key(test) for test in tests if isinstance(test, Key) and test.value is None]
    found += [
        _equivalence(automaton, test)
        for test in tests
        if isinstance(test, Equivalence) and test.value is None
    ]
    classes = _Classes()
    for one, other in _equalities(automaton):
        classes.unite(one, other)
    return found + [_class(automaton, group) for group in classes.groups()]


def _key(key: Key) -> Partition:
    return _partition(list(key.attributes), [])


def _partition(places: list[Place], others: list[str]) -> Partition:
    """Attributes that are equal, with the events that have no part in it."""
    names = tuple(dict.fromkeys(attribute for _, attribute in places))
    besides = f"; {', '.join(others)} may have any" if others else ""
    if len(names) == 1:
        return Partition(names, f"{names[0]} of {', '.join(one for one, _ in places)}{besides}")
    equal = " = ".join(f"{one}.{attribute}" for one, attribute in places)
    return Partition(names, f"{equal}{besides}")


def _equivalence(automaton: Automaton, test: Equivalence) -> Partition:
    types: dict[str, None] = {}
    for predicate in find(automaton.rule.pattern, EventPredicate):
        types.update(dict.fromkeys(predicate.types))
    return _partition([(type_, test.attribute) for type_ in types], [])


def _class(automaton: Automaton, places: list[Place]) -> Partition:
    covered = {label for label, _ in places}
    everyone = [state.event for state in automaton.states if state.event]
    everyone += [_absent_label(absent) for absent in automaton.negations]
    return _partition(places, [label for label in dict.fromkeys(everyone) if label not in covered])


def _absent_label(absent: Absent) -> str:
    return f"no {' or '.join(absent.predicate.types)}"


# --- equalities --------------------------------------------------------------


def _equalities(automaton: Automaton) -> Iterable[tuple[Place, Place]]:
    pattern = automaton.rule.pattern
    for constraint in automaton.constraints:
        if not isinstance(constraint.condition, Equivalence | Key):
            yield from _equal(constraint.condition)
    for absent in automaton.negations:
        for part in conjuncts(absent.predicate.filter):
            yield from _equal(named(part, _absent_label(absent)))
    if isinstance(pattern, Tree):
        for computed in automaton.aggregates:
            yield from _aggregated(computed.value)
    if isinstance(pattern, Detector):
        for atom in find(pattern, Atom):
            yield from _looked_up(atom)


def _aggregated(value: Expression) -> Iterable[tuple[Place, Place]]:
    for aggregate in find(value, Aggregate):
        label = f"{aggregate.function} of {' or '.join(aggregate.predicate.types)}"
        for part in conjuncts(aggregate.predicate.filter):
            yield from _equal(named(part, label))


def _looked_up(atom: Atom) -> Iterable[tuple[Place, Place]]:
    """Equalities of all that an atom looks at: others could end a branch of another value."""
    elements = {
        element for element in (*atom.accepts, *atom.domain) if isinstance(element, EventPredicate)
    }
    label = atom.label or " or ".join(sorted({t for element in elements for t in element.types}))
    sides = [
        {pair for part in conjuncts(element.filter) for pair in _equal(named(part, label))}
        for element in elements
    ]
    yield from sorted(set.intersection(*sides)) if sides else ()


def _equal(test: Expression) -> list[tuple[Place, Place]]:
    """Both sides of an equality between attributes of two events."""
    if not isinstance(test, Comparison) or test.relation is not Relation.EQUAL:
        return []
    left, right = test.left, test.right
    if not (isinstance(left, Attribute) and isinstance(right, Attribute)):
        return []
    if left.label is None or right.label is None or left.label == right.label:
        return []
    return [((left.label, left.name), (right.label, right.name))]


@dataclass
class _Classes:
    """Attributes that are equal to each other, directly or through others."""

    _members: list[list[Place]] = field(default_factory=list)

    def unite(self, one: Place, other: Place) -> None:
        """Say that two are equal."""
        meant = [group for group in self._members if one in group or other in group]
        merged = list(dict.fromkeys([p for group in meant for p in group] + [one, other]))
        self._members = [group for group in self._members if group not in meant] + [merged]

    def groups(self) -> list[list[Place]]:
        """The groups of equal attributes."""
        return self._members
