"""Trees: events that are selected backwards from a terminator (TESLA; SASE, section 2.2.2).

When the terminator arrives, each component's candidates are all events so far that lie in its
window and satisfy whatever only speaks of it and its ancestors; the policy picks among them,
each pick gives a match of its own, and branches combine as a product. What ties branches to each
other, and every condition that stands beside the components, is checked on the combined match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from cepheid.algebra import (
    Component,
    Equivalence,
    Expression,
    Negation,
    Policy,
    Rule,
    Tree,
    conjuncts,
    labels_of,
    parameters_of,
)
from cepheid.events import CompositeEvent, Event
from cepheid.oracle.matches import World, labelled
from cepheid.oracle.values import (
    Bound,
    Scope,
    bounds,
    equal,
    holds,
    inside,
    of_type,
    satisfies,
)


@dataclass
class TreeEvaluator:
    """Evaluates a rule whose pattern is a tree."""

    rule: Rule
    tree: Tree
    world: World
    _consumed: set[int] = field(default_factory=set)
    _waiting: list[tuple[int, dict[str, tuple[Event, ...]]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._parameters = {binding.name: binding.value for binding in self.tree.bindings}
        self._ancestors = {
            component.label: self._path(component) for component in self.tree.components
        }
        self._ordered = sorted(
            self.tree.components, key=lambda component: len(self._ancestors[component.label])
        )

    def see(self, event: Event) -> list[CompositeEvent]:
        """All matches that the event completes as terminator."""
        if not of_type(event, self.tree.terminator.predicate):
            return []
        matches = [bound for bound in self._matches(event) if self._fits(bound)]
        if self.tree.deadline is not None:
            first = self.tree.deadline
            self._waiting += [
                (bound[first.label][0].start + first.offset, bound) for bound in matches
            ]
            return []
        found = [self._compose(bound, event.end) for bound in matches]
        self._consume(matches)
        return found

    def due(self) -> int | None:
        """The nearest deadline of a match that waits for its negations to be decided."""
        return min((time for time, _ in self._waiting), default=None)

    def fire(self, now: int) -> list[CompositeEvent]:
        """The matches whose deadline has come without a negated event."""
        ready = [bound for time, bound in self._waiting if time <= now]
        self._waiting = [(time, bound) for time, bound in self._waiting if time > now]
        return [
            self._compose(bound, now)
            for bound in ready
            if all(self._absent(negation, bound) for negation in self.tree.negations)
        ]

    # --- selection -----------------------------------------------------------

    def _matches(self, terminator: Event) -> Iterator[dict[str, tuple[Event, ...]]]:
        root = self._ordered[0]
        if self._is_candidate(terminator, root, {}):
            yield from self._extended({root.label: (terminator,)}, self._ordered[1:])

    def _extended(
        self, bound: dict[str, tuple[Event, ...]], rest: list[Component]
    ) -> Iterator[dict[str, tuple[Event, ...]]]:
        if not rest:
            yield bound
            return
        for event in self._picked(rest[0], bound):
            yield from self._extended({**bound, rest[0].label: (event,)}, rest[1:])

    def _picked(self, component: Component, bound: Bound) -> list[Event]:
        """The candidates that the selection policy chooses."""
        assert component.window is not None  # noqa: S101 (only the terminator has no window)
        low, high = bounds(component.window, bound, self.world.order)
        if self.tree.within is not None:
            low = max(low, bound[self.tree.terminator.label][0].end - self.tree.within)
        candidates = [
            event
            for event in self.world.history
            if inside(event, low, high) and self._is_candidate(event, component, bound)
        ]
        candidates.sort(key=self.world.order.key)
        if component.selection.policy is Policy.FIRST:
            return candidates[: component.selection.count]
        if component.selection.policy is Policy.LAST:
            return candidates[-component.selection.count :]
        return candidates

    def _is_candidate(self, event: Event, component: Component, bound: Bound) -> bool:
        """Type, filters and negations, as far as they only speak of it and its ancestors."""
        if id(event) in self._consumed or not of_type(event, component.predicate):
            return False
        own = {**bound, component.label: (event,)}
        if not (
            self._like_its_parent(event, component, bound)
            and self._filters_hold(own, component.label)
        ):
            return False
        return self.tree.deadline is not None or all(
            self._absent(negation, own)
            for negation in self.tree.negations
            if self._deepest(self._negation_labels(negation)) == component.label
        )

    def _like_its_parent(self, event: Event, component: Component, bound: Bound) -> bool:
        """The equivalence tests, as far as they tie a component to the one that it hangs on."""
        if component.parent is None:
            return True
        pair = [bound[component.parent][0], event]
        return all(self._alike(replace(t, value=None), pair) for t in self.tree.equivalences)

    def _filters_hold(self, bound: Bound, label: str | None) -> bool:
        """The filters that are decided at a component, whichever component they stand in.

        A filter is decided at the deepest component that it speaks of if all others are its
        ancestors; None are the filters that tie different branches.
        """
        return all(
            holds(part, self._scope(bound, bound[component.label][0]))
            for component in self.tree.components
            for part in conjuncts(component.predicate.filter)
            if self._deepest(self._labels(part) | {component.label}) == label
        )

    # --- the combined match --------------------------------------------------

    def _fits(self, bound: Bound) -> bool:
        """Whatever could not be decided while the components were selected."""
        scope = self._scope(bound)
        return (
            self._within(bound)
            and self._equivalent(bound)
            and all(holds(condition, scope) for condition in self.tree.conditions)
            and self._filters_hold(bound, None)
            and (
                self.tree.deadline is not None
                or all(
                    self._absent(negation, bound)
                    for negation in self.tree.negations
                    if self._deepest(self._negation_labels(negation)) is None
                )
            )
        )

    def _within(self, bound: Bound) -> bool:
        if self.tree.within is None:
            return True
        events = [event for _, event in labelled(bound)]
        return max(e.end for e in events) - min(e.start for e in events) < self.tree.within

    def _equivalent(self, bound: Bound, other: Event | None = None) -> bool:
        """Every equivalence test, over the match and possibly one more event."""
        events = [event for _, event in labelled(bound)] + ([other] if other else [])
        return all(self._alike(test, events) for test in self.tree.equivalences)

    def _alike(self, test: Equivalence, events: list[Event]) -> bool:
        """Whether events have one value; a missing one counts as in any comparison of the rule."""
        values = [event.attributes.get(test.attribute) for event in events]
        values += [] if test.value is None else [test.value]
        known = [value for value in values if value is not None]
        if len(known) < len(values) and len(values) > 1 and not self.rule.missing:
            return False
        return all(equal(known[0], value) for value in known[1:])

    def _absent(self, negation: Negation, bound: Bound) -> bool:
        """No event of the negation lies in its window."""
        low, high = bounds(negation.window, bound, self.world.order)
        scope = self._scope(bound)
        return not any(
            inside(event, low, high)
            and satisfies(event, negation.predicate, scope)
            and self._equivalent(bound, event)
            for event in self.world.history
        )

    def _compose(self, bound: Bound, end: int) -> CompositeEvent:
        events = labelled(bound)
        start = end if self.rule.point else min(event.start for _, event in events)
        return self.world.compose(self.rule, events, self._scope(bound), start, end)

    def _consume(self, matches: list[dict[str, tuple[Event, ...]]]) -> None:
        """After all composite events of a terminator, the named events are gone for this rule."""
        for bound in matches:
            self._consumed.update(id(bound[label][0]) for label in self.rule.consuming)

    # --- what a condition speaks of ------------------------------------------

    def _scope(self, bound: Bound, own: Event | None = None) -> Scope:
        return Scope(
            bound,
            own,
            self._parameters,
            self.world.history,
            frozenset(self._consumed),
            self.rule.missing,
            self.world.order,
        )

    def _path(self, component: Component) -> frozenset[str]:
        """The labels of a component's ancestors."""
        by_label = {other.label: other for other in self.tree.components}
        path: list[str] = []
        parent = component.parent
        while parent is not None and parent not in path:
            path.append(parent)
            parent = by_label[parent].parent
        return frozenset(path)

    def _labels(self, expression: Expression | None) -> frozenset[str]:
        """The labels that an expression speaks of, through its parameters too."""
        return labels_of(expression) | _through(parameters_of(expression), self._parameters)

    def _negation_labels(self, negation: Negation) -> frozenset[str]:
        """What a negation speaks of; an equivalence test compares it with every component."""
        if self.tree.equivalences:
            return frozenset(self._ancestors)
        return negation.window.labels | self._labels(negation.predicate.filter)

    def _deepest(self, labels: frozenset[str]) -> str | None:
        """The label of which all others are ancestors, if there is one."""
        for label in labels:
            if labels <= self._ancestors[label] | {label}:
                return label
        return None


def _through(names: frozenset[str], parameters: Mapping[str, Expression]) -> frozenset[str]:
    """The labels that parameters stand for, through further parameters too."""
    found: frozenset[str] = frozenset()
    seen: set[str] = set()
    open_names = set(names)
    while open_names:
        name = open_names.pop()
        seen.add(name)
        found |= labels_of(parameters[name])
        open_names |= parameters_of(parameters[name]) - seen
    return found
