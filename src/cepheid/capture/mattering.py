"""What matters for a match: the rules that led to it, how far they look back, and which events.

Used where a match is taken out of its history, to become a case of a spec file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cepheid.algebra import (
    Aggregate,
    EventPredicate,
    Policy,
    Rule,
    Run,
    Timing,
    Tree,
    find,
    input_types,
)
from cepheid.automaton import compile_rule
from cepheid.automaton.partition import partitions
from cepheid.automaton.storage import stored
from cepheid.events import CompositeEvent, Event, Value

FAILURE = "Failure"
_TIMER = "Timer"


def involved(rules: Sequence[Rule], rule: Rule) -> list[Rule]:
    """A rule with all those on whose composite events it feeds, in the order of the rules.

    >>> import cepheid
    >>> text = "QUERY A EVENT X x\\nQUERY B EVENT A a\\nQUERY C EVENT X x"
    >>> rules = cepheid.load(text, language="sase").rules
    >>> [rule.name for rule in involved(rules, rules[1])]
    ['A', 'B']
    """
    found, left = {rule.name}, [rule]
    while left:
        wanted = set(input_types(left.pop()))
        for other in rules:
            gives = other.output.type in wanted or (FAILURE in wanted and _can_fail(other))
            if gives and other.name not in found:
                found.add(other.name)
                left.append(other)
    return [other for other in rules if other.name in found]


def _can_fail(rule: Rule) -> bool:
    return isinstance(rule.pattern, Run)


def horizon(rules: Iterable[Rule]) -> float:
    """How long before the end of a match an event may lie that matters; infinite if for ever.

    >>> import cepheid
    >>> horizon(cepheid.load("QUERY Q EVENT SEQ(A x, B y) WITHIN 1 s", language="sase"))
    1000000
    """
    return sum(max((kept.time for kept in stored(compile_rule(rule))), default=0) for rule in rules)


def tells_later(rule: Rule) -> bool:
    """Whether a match may be known only some time after its own end: where a timing waits."""
    return any(find(rule.pattern, Timing))


def waits(rule: Rule) -> bool:
    """Whether what a rule finds may need time to pass after the last event."""
    pattern = rule.pattern
    has_deadline = isinstance(pattern, Tree) and pattern.deadline is not None
    ticks = any(predicate.every for predicate in find(pattern, EventPredicate))
    return has_deadline or ticks or tells_later(rule)


def periods(rules: Iterable[Rule]) -> Iterator[int]:
    """What ties rules to the calendar: periods of timers; a fixed time has none that fits."""
    for rule in rules:
        yield from (found.every for found in find(rule, EventPredicate) if found.every)
        yield from (0 for timing in find(rule.pattern, Timing) if timing.at is not None)


# --- events ---------------------------------------------------------------------------------


@dataclass
class Mattering:
    """Picks, out of events in a stretch of time, those that matter for a match.

    They are the constituents down to events that come from outside, and what negations,
    aggregates, and the choice of a first or last event looked at, if it has the same key.
    """

    rules: Mapping[str, Rule]
    around: Sequence[Event]
    """Events of the stretch, composite ones too."""
    keyed: bool = True
    whole: bool = False
    """Composite events are taken as they are, not down to what they are made of."""
    _kept: dict[int, Event] = field(default_factory=dict)

    def of(self, match: CompositeEvent) -> list[Event]:
        """The events that matter for a match."""
        left: list[CompositeEvent] = [match]
        seen = {id(match)}
        while left:
            one = left.pop()
            for event in [*(part for _, part in one.events), *self._looked_at(one)]:
                if id(event) in seen or event.type == _TIMER:
                    continue
                seen.add(id(event))
                if isinstance(event, CompositeEvent) and not self.whole:
                    left.append(event)
                else:
                    self._kept[id(event)] = event
        return list(self._kept.values())

    def _looked_at(self, match: CompositeEvent) -> Iterator[Event]:
        rule = self.rules.get(match.rule)
        if rule is None:
            return
        begins = _begins(rule, match)
        values = _key_values(rule, match) if self.keyed else []
        until = match.end + (horizon([rule]) if tells_later(rule) else 0)
        for event in self.around:
            begin = begins.get(event.type)
            if begin is not None and begin <= event.end <= until and _has_key(event, values):
                yield event


def _begins(rule: Rule, match: CompositeEvent) -> dict[str, float]:
    """For each type of which more is looked at than what is taken, from when on."""
    first = min((part.start for _, part in match.events), default=match.start)
    pattern = rule.pattern
    if not isinstance(pattern, Tree):
        return dict.fromkeys(input_types(rule), min(first, match.start))
    times = {kept.type: kept.time for kept in stored(compile_rule(rule))}
    looked = [negation.predicate for negation in pattern.negations]
    looked += [aggregate.predicate for aggregate in find(rule, Aggregate)]
    looked += [
        component.predicate
        for component in pattern.components
        if component.selection.policy is not Policy.EACH
    ]
    types = {type_ for predicate in looked for type_ in predicate.types}
    return {type_: match.end - times.get(type_, math.inf) for type_ in types}


def _key_values(rule: Rule, match: CompositeEvent) -> list[tuple[tuple[str, ...], set[Value]]]:
    """For each key the names of its attributes, with the values that the match has in them."""
    found = []
    for group in partitions(compile_rule(rule)):
        values = {
            part.attributes[name]
            for _, part in match.events
            for name in group.attributes
            if name in part.attributes
        }
        if values:
            found.append((group.attributes, values))
    return found


def _has_key(event: Event, keys: Iterable[tuple[tuple[str, ...], set[Value]]]) -> bool:
    for names, values in keys:
        own = [event.attributes[name] for name in names if name in event.attributes]
        if own and not values.intersection(own):
            return False
    return True
