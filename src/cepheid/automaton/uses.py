"""Where a rule uses events of a type, and what an event must fulfil to matter at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cepheid.algebra import (
    Absence,
    Accumulate,
    Aggregate,
    Alternation,
    Atom,
    Attribute,
    Body,
    Collection,
    Comparison,
    CountWindow,
    Detector,
    Equivalence,
    EventPredicate,
    Expression,
    Key,
    Literal,
    Pick,
    Relation,
    Rule,
    Run,
    Sequence,
    Take,
    Timing,
    Tree,
    Window,
    conjunction,
    conjuncts,
    find,
)
from cepheid.automaton import words
from cepheid.automaton.model import Arrival, Automaton
from cepheid.automaton.resolve import Parameters, split


@dataclass(frozen=True, slots=True)
class Use:
    """A place where a rule looks for events; the predicate holds what one event decides alone."""

    name: str
    predicate: EventPredicate
    label: str | None = None
    window: Window | None = None
    passing: bool = False
    """The event only decides something: it is not kept."""


def uses(automaton: Automaton) -> list[Use]:
    """Every place where a rule looks for events, in the order of its text."""
    rule, pattern = automaton.rule, automaton.rule.pattern
    if isinstance(pattern, Tree):
        return list(_tree_uses(automaton, pattern))
    if isinstance(pattern, Run):
        return [Use(pattern.label, pattern.predicate, pattern.label)]
    if isinstance(pattern, Detector):
        return list(_detector_uses(pattern))
    found = list(_collection_uses(rule))
    if isinstance(pattern, Collection) and isinstance(pattern.window, CountWindow):
        # A window by count counts every event of the rule's types, so none may be left out.
        return [replace(use, predicate=replace(use.predicate, filter=None)) for use in found]
    return found


def _tree_uses(automaton: Automaton, tree: Tree) -> Iterator[Use]:
    arriving = {
        automaton.state(step.target).event: step.trigger.accepts[0]
        for step in automaton.transitions
        if isinstance(step.trigger, Arrival)
    }
    for component in tree.components:
        predicate = arriving[component.label]
        assert isinstance(predicate, EventPredicate)  # noqa: S101 (trees wait for events)
        yield Use(component.label, predicate, component.label, component.window)
    parameters = Parameters(tree.bindings)
    for absent in automaton.negations:
        name = f"no {' or '.join(absent.predicate.types)}"
        yield Use(name, _alone(absent.predicate, parameters), None, absent.window)
    for computed in automaton.aggregates:
        for part in find(computed.value, Aggregate):
            yield Use(part.function, _alone(part.predicate, parameters), None, part.window)


def _alone(predicate: EventPredicate, parameters: Parameters) -> EventPredicate:
    """The predicate with what an event decides alone."""
    return replace(predicate, filter=conjunction(split(predicate, "", parameters)[0]))


def _collection_uses(rule: Rule) -> Iterator[Use]:
    for part in find(rule.pattern, Take):
        yield Use(part.label, part.predicate, part.label)
    for one in find(rule.pattern, Accumulate):
        yield Use(one.label, one.predicate, one.label)
    for pick in find(rule.pattern, Pick):
        # The i-th event counts all events of its types, so none may be left out.
        yield Use(pick.label, EventPredicate(pick.types), pick.label)
    for absence in find(rule.pattern, Absence):
        yield Use(f"no {' or '.join(absence.predicate.types)}", absence.predicate)


def _detector_uses(detector: Detector) -> Iterator[Use]:
    parameters = Parameters(())
    closing = _closing(detector.body)
    for atom in find(detector, Atom):
        last = any(atom is one for one in closing)
        accepted = [part for part in atom.accepts if isinstance(part, EventPredicate)]
        others = [
            part
            for part in atom.domain
            if isinstance(part, EventPredicate) and (atom.negated or part not in accepted)
        ]
        kept = others if atom.negated else accepted
        for predicate in kept:
            yield Use(atom.label or "", _alone(predicate, parameters), atom.label, passing=last)
        for predicate in accepted if atom.negated else others:
            yield Use("ends a branch", _alone(predicate, parameters), passing=True)


def _closing(body: Body) -> list[Atom]:
    """The atoms that nothing can follow: their events complete a match at once."""
    if isinstance(body, Atom):
        return [body]
    if isinstance(body, Sequence):
        return _closing(body.parts[-1])
    if isinstance(body, Timing):
        return _closing(body.second)
    if isinstance(body, Alternation):
        return [atom for part in body.parts for atom in _closing(part)]
    return []


# --- what is filtered first --------------------------------------------------


def first_filters(automaton: Automaton) -> list[str]:
    """For each type, what an event must fulfil to matter; all others are dropped at once."""
    by_type: dict[str, list[Expression | None]] = {}
    for use in uses(automaton):
        if use.predicate.every is None:
            for type_ in use.predicate.types:
                both = [*conjuncts(use.predicate.filter), *_fixed(automaton, type_)]
                by_type.setdefault(type_, []).append(conjunction(both))
    return [f"{type_}: {_any_of(filters)}" for type_, filters in by_type.items()]


def _fixed(automaton: Automaton, type_: str) -> Iterator[Expression]:
    """Values that a key or an equivalence test fixes for a type."""
    for constraint in automaton.constraints:
        test = constraint.condition
        name = None
        if isinstance(test, Key):
            name = test.attribute(type_)
        elif isinstance(test, Equivalence):
            name = test.attribute
        if isinstance(test, Key | Equivalence) and name is not None and test.value is not None:
            yield Comparison(Relation.EQUAL, Attribute(None, name), Literal(test.value))


def _any_of(filters: list[Expression | None]) -> str:
    if None in filters:
        return "all"
    texts = dict.fromkeys(words.expression(one) for one in filters if one is not None)
    return ", or ".join(texts)
