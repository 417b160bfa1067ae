"""Keys: by which attribute the events of a rule may be parted over shards without changing it.

A key gives for every type that a rule looks at the attribute whose value is the same in all events
that can have to do with each other: in the events of a match, in those that forbid it, and in those
that a policy chooses among. It is stricter than the partition of a plan, where an event may also
meet others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cepheid.algebra import (
    Aggregate,
    Alternation,
    Atom,
    Attribute,
    Body,
    Collection,
    Comparison,
    Component,
    Detector,
    EventPredicate,
    Expression,
    Iteration,
    Key,
    Negation,
    Parallel,
    Policy,
    Relation,
    Rule,
    Run,
    Sequence,
    Timing,
    Tree,
    conjuncts,
    find,
    input_types,
    walk,
)
from cepheid.automaton.resolve import Parameters, named, split

Place = tuple[str, str]
"""An attribute of what is looked for under a label."""
RouteKey = dict[str, str]
"""For every type the attribute by whose value its events are parted."""


def route_keys(rule: Rule) -> list[RouteKey]:
    """Every key by which the events of a rule may be parted; none: they must stay together.

    >>> import cepheid
    >>> (rule,) = cepheid.load("QUERY Q EVENT SEQ(A x, B y) WHERE [id] WITHIN 1 hour",
    ...     language="sase")
    >>> route_keys(rule) == [{"A": "id", "B": "id"}]
    True
    """
    types = input_types(rule)
    ticks = any(predicate.every is not None for predicate in find(rule, EventPredicate))
    if ticks or (rule.missing and _looks_at_all(rule)):
        return []
    found = [key for key in _candidates(rule) if set(key) == set(types)]
    return [key for at, key in enumerate(found) if key not in found[:at]]


def _looks_at_all(rule: Rule) -> bool:
    """Whether an event without a key, which fits every value, has to do with all events at once:
    it is chosen or consumed for all values together, or what comes next decides, or is counted.
    """
    pattern = rule.pattern
    if isinstance(pattern, Tree):
        chosen = any(part.selection.policy is not Policy.EACH for part in pattern.components)
        return chosen or bool(rule.consuming) or any(find(rule, Aggregate))
    return isinstance(pattern, Detector)


def _candidates(rule: Rule) -> Iterator[RouteKey]:
    pattern = rule.pattern
    if isinstance(pattern, Run | Collection):
        for key in pattern.partition:
            if isinstance(key, Key) and key.value is None:
                yield dict(key.attributes)
    elif is_single(rule):
        for output in rule.output.attributes:
            if isinstance(output.value, Attribute):
                yield dict.fromkeys(input_types(rule), output.value.name)
    elif isinstance(pattern, Tree):
        for test in pattern.equivalences:
            # They say nothing of what aggregates look at.
            if test.value is None and not any(find(rule, Aggregate)):
                yield dict.fromkeys(input_types(rule), test.attribute)
        yield from _Tied(_TreeUses(rule, pattern)).keys(complete=rule.missing)
    elif isinstance(pattern, Detector):
        yield from _Tied(_DetectorUses(pattern)).keys(complete=rule.missing)


def is_single(rule: Rule) -> bool:
    """Whether every match is one event alone: then it does not matter where the others are.

    Any attribute is a key; those are taken that the composite event hands on. An event without it
    matches all the same.
    """
    listens = rule.output.type in input_types(rule)
    looks_apart = any(find(rule, Negation)) or any(find(rule, Aggregate))
    return is_of_one(rule) and not listens and not looks_apart


def is_of_one(rule: Rule) -> bool:
    """Whether a match is made of one event, whatever else it looks at.

    Such an event may match without a value of the key: then nothing is equal to it.
    """
    return isinstance(rule.pattern, Tree) and len(rule.pattern.components) == 1


# --- equal attributes ------------------------------------------------------------------


@dataclass(frozen=True)
class Use:
    """A place where events are looked for.

    `own` are the equalities that decide by themselves which events are looked at. With `must`,
    one of them has to tie the use to others; otherwise equalities from elsewhere do as well.
    Events that are looked for `apart` are no part of a match: what is equal to them need not be
    equal to each other.
    """

    label: str
    types: tuple[str, ...]
    own: frozenset[tuple[Place, Place]] = frozenset()
    must: bool = False
    apart: bool = False

    def tied(self, group: frozenset[Place]) -> frozenset[Place]:
        """The attributes of this use that are equal to one of a group."""
        if not self.apart:
            return frozenset(place for place in group if place[0] == self.label)
        ends = {end for pair in self.own if set(pair) & group for end in pair}
        return frozenset(place for place in ends if place[0] == self.label)


@dataclass
class _Uses:
    uses: list[Use] = field(default_factory=list)
    others: list[tuple[Place, Place]] = field(default_factory=list)
    """Equalities that decide about matches as a whole."""


class _Tied:
    """Attributes of a match that are equal to each other, directly or through others."""

    def __init__(self, found: _Uses) -> None:
        self._uses = found.uses
        self._equal = {frozenset(pair) for use in found.uses for pair in use.own}
        self._equal |= {frozenset(pair) for pair in found.others}

    def keys(self, *, complete: bool) -> Iterator[RouteKey]:
        """The keys; `complete`: only where every attribute is compared with every other one.

        That matters where a comparison with a missing value holds: an event without the attribute
        is then equal to two that are not equal to each other.
        """
        for group in self._groups():
            places = group.union(*(use.tied(group) for use in self._uses))
            pairs = len(places) * (len(places) - 1) // 2
            whole = sum(pair <= places for pair in self._equal) == pairs
            key = self._key(group)
            if key is not None and (whole or not complete):
                yield key

    def _groups(self) -> list[frozenset[Place]]:
        labels = {use.label for use in self._uses if not use.apart}
        groups: list[frozenset[Place]] = []
        for pair in sorted(self._equal, key=sorted):
            inner = frozenset(place for place in pair if place[0] in labels)
            if not inner:
                continue
            meant = [group for group in groups if group & inner]
            groups = [group for group in groups if group not in meant]
            groups.append(inner.union(*meant))
        return groups

    def _key(self, group: frozenset[Place]) -> RouteKey | None:
        """For every type an attribute that all its uses have in the group."""
        choices: dict[str, set[str]] = {}
        for use in self._uses:
            tied = not use.must or use.apart or any(set(pair) <= group for pair in use.own)
            names = {name for _, name in use.tied(group)}
            if not tied or not names:
                return None
            for type_ in use.types:
                choices[type_] = choices.get(type_, names) & names
        if not all(choices.values()):
            return None
        return {type_: min(names) for type_, names in choices.items()}


def _equalities(tests: Iterable[Expression]) -> Iterator[tuple[Place, Place]]:
    """Both sides of every equality between attributes of two events."""
    for test in tests:
        if not isinstance(test, Comparison) or test.relation is not Relation.EQUAL:
            continue
        left, right = test.left, test.right
        if not (isinstance(left, Attribute) and isinstance(right, Attribute)):
            continue
        if left.label is None or right.label is None or left.label == right.label:
            continue
        yield (left.label, left.name), (right.label, right.name)


# --- trees -----------------------------------------------------------------------------


class _TreeUses(_Uses):
    """The uses of a tree: components, negations, and the aggregates wherever they stand."""

    def __init__(self, rule: Rule, tree: Tree) -> None:
        super().__init__()
        self._parameters = Parameters(tree.bindings)
        above = _ancestors(tree)
        for component in tree.components:
            self.uses.append(self._component(component, above[component.label]))
        predicates = [negation.predicate for negation in tree.negations]
        predicates += [aggregate.predicate for aggregate in _aggregates(rule, tree)]
        for number, predicate in enumerate(predicates):
            self.uses.append(self._apart(f"apart {number}", predicate))
        self.others += _equalities(self._parameters.resolved(part) for part in tree.conditions)

    def _component(self, component: Component, above: set[str]) -> Use:
        """A policy chooses before anything is compared with what hangs below."""
        tests = split(component.predicate, component.label, self._parameters)[1]
        pairs = frozenset(_equalities(tests))
        if component.selection.policy is Policy.EACH or not above:
            return Use(component.label, component.predicate.types, pairs)
        own = frozenset(pair for pair in pairs if {label for label, _ in pair} <= above)
        self.others += pairs - own
        return Use(component.label, component.predicate.types, own, must=True)

    def _apart(self, label: str, predicate: EventPredicate) -> Use:
        tests = (named(self._parameters.resolved(p), label) for p in conjuncts(predicate.filter))
        pairs = frozenset(pair for pair in _equalities(tests) if label in (pair[0][0], pair[1][0]))
        return Use(label, predicate.types, pairs, must=True, apart=True)


def _ancestors(tree: Tree) -> dict[str, set[str]]:
    """For each component its own label and those that are chosen before it; none at the top."""
    parents = {part.label: part.parent or tree.terminator.label for part in tree.components}
    found: dict[str, set[str]] = {tree.terminator.label: set()}
    for part in tree.components[1:]:
        above, label = {part.label}, part.label
        while label != tree.terminator.label and parents[label] not in above:
            label = parents[label]
            above.add(label)
        found[part.label] = above
    return found


def _aggregates(rule: Rule, tree: Tree) -> list[Aggregate]:
    places = [*tree.components, *tree.negations, *tree.bindings, *tree.conditions]
    return [part for place in (*places, *rule.output.attributes) for part in find(place, Aggregate)]


# --- detectors -------------------------------------------------------------------------


class _DetectorUses(_Uses):
    """The uses of a detector: its atoms. Only one that can only come first may be tied by others.

    Any other atom looks at the next event of its domain, whatever it is, so that its domain must
    speak of the key.
    """

    def __init__(self, detector: Detector) -> None:
        super().__init__()
        self._add(detector.body, first=True)
        self.others += _equalities(conjuncts(detector.where))

    def _add(self, body: Body, *, first: bool) -> bool:
        """Add the atoms of a part; whether what follows it can still come first of all."""
        if isinstance(body, Atom):
            self.uses.append(_atom_use(body, len(self.uses), must=not first))
            return False
        if isinstance(body, Iteration):
            self._add(body.body, first=False)
            return False
        if isinstance(body, Alternation):
            for part in body.parts:
                self._add(part, first=first)
        elif isinstance(body, Parallel):
            # Each side begins anew, but what stands before decides when the pair counts.
            self._add(body.left, first=first)
            self._add(body.right, first=first)
        elif isinstance(body, Sequence):
            for part in body.parts:
                first = self._add(part, first=first)
        elif isinstance(body, Timing):
            self._add(body.second, first=self._add(body.first, first=first))
        return False


def _atom_use(atom: Atom, number: int, *, must: bool) -> Use:
    elements = {part for part in (*atom.accepts, *atom.domain) if isinstance(part, EventPredicate)}
    label = atom.label or f"atom {number}"
    sides = [
        set(_equalities(named(part, label) for part in conjuncts(element.filter)))
        for element in elements
    ]
    types = tuple(sorted({type_ for element in elements for type_ in element.types}))
    return Use(label, types, frozenset(set.intersection(*sides) if sides else ()), must=must)


# --- hierarchies -----------------------------------------------------------------------


def carries(rule: Rule, key: Mapping[str, str], attribute: str) -> bool:
    """Whether an attribute of a rule's output has the value of the key of its constituents."""
    uses = _labels(rule)
    for output in rule.output.attributes:
        if output.name == attribute:
            value = output.value
            return isinstance(value, Attribute) and _is_key(uses, key, value.label, value.name)
    if rule.output.everything:
        return any(
            attribute == f"{label}_{key[types[0]]}" and _is_key(uses, key, label, key[types[0]])
            for label, types in uses.items()
        )
    return False


def _is_key(
    uses: Mapping[str, tuple[str, ...]], key: Mapping[str, str], label: str | None, name: str
) -> bool:
    types = uses.get(label or "", ())
    return bool(types) and all(key.get(type_) == name for type_ in types)


def _labels(rule: Rule) -> dict[str, tuple[str, ...]]:
    """The labels of the constituents that every match has exactly one of, with their types."""
    pattern = rule.pattern
    if isinstance(pattern, Tree):
        return {part.label: part.predicate.types for part in pattern.components}
    if isinstance(pattern, Detector) and not any(
        isinstance(part, Iteration | Alternation) for part in walk(pattern)
    ):
        return {
            atom.label: tuple(
                t for p in atom.accepts if isinstance(p, EventPredicate) for t in p.types
            )
            for atom in find(pattern, Atom)
            if atom.label and not atom.negated
        }
    return {}
