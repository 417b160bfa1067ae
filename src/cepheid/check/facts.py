"""What a rule speaks of: its labels with their types, its conditions, its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar, cast

from cepheid.algebra import (
    Accumulate,
    Atom,
    Binding,
    Collected,
    Component,
    Detector,
    Each,
    EventPredicate,
    Expression,
    Node,
    Pick,
    Rule,
    Run,
    Take,
    Tree,
    walk,
)

Types = tuple[str, ...]
N = TypeVar("N", bound=Node)


class Facts:
    """The nodes of a rule, found once and asked often."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._nodes: dict[type, list[Node]] = {}
        for node in walk(rule):
            self._nodes.setdefault(type(node), []).append(node)
        self.labels = self._find_labels()

    def all(self, kind: type[N]) -> list[N]:
        """Every node of a kind, in the order of the text."""
        return cast("list[N]", self._nodes.get(kind, []))

    def _find_labels(self) -> dict[str, Types]:
        """The types of the events under each label."""
        pattern = self.rule.pattern
        if isinstance(pattern, Run):
            return {pattern.label: pattern.predicate.types}
        found: dict[str, Types] = {}
        parts: list[Component | Take | Accumulate] = [
            *self.all(Component),
            *self.all(Take),
            *self.all(Accumulate),
        ]
        for part in parts:
            found[part.label] = part.predicate.types
        for pick in self.all(Pick):
            found[pick.label] = pick.types
        for atom in self.all(Atom):
            if atom.label is not None:
                types = (*found.get(atom.label, ()), *_types_of(atom))
                found[atom.label] = tuple(dict.fromkeys(types))
        return found

    def tested(self) -> Iterator[tuple[Expression, Types]]:
        """Every condition that speaks of an event being tested, with the types it may have."""
        for predicate in self.all(EventPredicate):
            if predicate.filter is not None:
                yield predicate.filter, predicate.types
        for pick in self.all(Pick):
            if pick.condition is not None:
                yield pick.condition, pick.types
        for part in self.all(Collected):
            if part.filter is not None:
                yield part.filter, self.labels.get(part.label, ())
        pattern = self.rule.pattern
        if isinstance(pattern, Run) and isinstance(pattern.condition, Each):
            yield pattern.condition.condition, pattern.predicate.types

    def conditions(self) -> Iterator[Expression]:
        """Every condition that speaks of the match as a whole."""
        pattern = self.rule.pattern
        if isinstance(pattern, Tree):
            yield from pattern.conditions
        elif isinstance(pattern, Run):
            if pattern.condition is not None and not isinstance(pattern.condition, Each):
                yield pattern.condition
        elif isinstance(pattern, Detector) and pattern.where is not None:
            yield pattern.where

    def values(self) -> Iterator[Expression]:
        """Every value that is computed from the match as a whole."""
        yield from (binding.value for binding in self.all(Binding))
        yield from (part.bound for part in self.all(Accumulate))
        yield from (attribute.value for attribute in self.rule.output.attributes)


def _types_of(atom: Atom) -> Types:
    elements = atom.domain if atom.negated else atom.accepts
    return tuple(t for e in elements if isinstance(e, EventPredicate) for t in e.types)
