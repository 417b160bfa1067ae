"""The pretty language's `when`: events that follow or precede each other, lowered to a tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from lark import Token

from cepheid.algebra import (
    EACH,
    Binding,
    Component,
    Equivalence,
    Expression,
    Instant,
    Negation,
    Policy,
    Selection,
    Tree,
    Window,
)
from cepheid.languages.fitting import deadline_of
from cepheid.languages.lowering import ParseTree, parts
from cepheid.languages.pretty.bodies import BodyLowering
from cepheid.languages.pretty.terms import word

_RELATIVE = ("within", "gap")
"""Windows that hang on whatever was named before."""


@dataclass(frozen=True, slots=True)
class TreeClauses:
    """What the clauses behind a pattern say about a tree."""

    bindings: tuple[Binding, ...] = ()
    conditions: tuple[Expression, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()
    within: int | None = None
    deadline: Instant | None = None


@dataclass
class TreeLowering(BodyLowering):
    """Lowers patterns that begin with when, or with an event."""

    _components: list[Component] = field(default_factory=list)
    _negations: list[Negation] = field(default_factory=list)

    def tree_labels(self, tree: ParseTree) -> None:
        """Take the names of the events first: windows and filters may name later ones."""
        for item in parts(tree):
            if item.data != "negated":
                chosen = item if item.data == "chosen" else parts(item)[0]
                types, called, _ = parts(parts(chosen)[1])
                token = parts(called)[0] if called else parts(types)[0]
                named = token if isinstance(token, Token) else parts(token)[0]
                self.declare(self.name_of(types, called), named)

    def tree(self, tree: ParseTree, clauses: TreeClauses) -> Tree:
        """Lower a whole tree."""
        first, *links = parts(tree)
        self._components.append(self._component(first))
        self._check_order(links)
        forward = [link for link in links if link.data == "followed"]
        for link in forward:
            self._followed(link)
        self._backwards([link for link in links if link.data == "preceded"])
        self._negate(links)
        terminator = self._components[0]
        if terminator.selection.policy is not Policy.EACH or self._has_selection(first, forward):
            self._chosen_terminator(terminator)
        return Tree(
            tuple(self._components),
            tuple(self._negations),
            clauses.bindings,
            clauses.conditions,
            clauses.equivalences,
            clauses.within,
            clauses.deadline or deadline_of(tuple(self._negations)),
            span=self.span(tree),
        )

    # --- components ----------------------------------------------------------

    def _component(self, chosen: ParseTree) -> Component:
        selection, event = parts(chosen)
        label, predicate = self.event(event)
        return Component(label, predicate, self._selection(selection), span=self.span(event))

    def _selection(self, tree: ParseTree | None) -> Selection:
        if tree is None:
            return EACH
        policy, *rest = parts(tree)
        number = rest[0] if rest else None
        count = self.count(number, "first or last") if number else 1
        return Selection(Policy(str(policy).lower()), count, span=self.span(tree))

    def _followed(self, link: ParseTree) -> None:
        """What follows completes the match: it goes to the front, what it follows hangs on it."""
        chosen, window = parts(link)
        component, before = self._component(chosen), self._components[0]
        given = self._forward(window, component.label)
        self._components[0] = replace(before, window=given)
        self._components.insert(0, component)

    def _forward(self, window: ParseTree | None, label: str) -> Window:
        """Where the event before is looked for, seen from the one that follows."""
        if window is None or window.data == "gap":
            return Window(None, Instant(label))
        if window.data == "within":
            length = self.length(parts(window)[0])
            return Window.within(length, label, self.span(window))
        self.error(
            "WRONG_STRUCTURE",
            f"a window behind followed by in rule {self.rule} must be a length of time",
            window,
            expected="followed by … within 5 min",
            hint="other windows go with preceded by",
        )
        return Window(None, Instant(label))

    def _backwards(self, links: list[ParseTree]) -> None:
        """Each event hangs on the one that is named before it, unless its window says otherwise."""
        previous = self._components[0].label
        for link in links:
            chosen, window = parts(link)
            component = self._component(chosen)
            given = self._backward(window, previous)
            self._check_bounded(component, given)
            self._components.append(replace(component, window=given))
            previous = component.label

    def _check_bounded(self, component: Component, window: Window) -> None:
        if window.high is None:
            self.error(
                "WRONG_STRUCTURE",
                f"event {component.label} in rule {self.rule} must come before another one",
                window.span,
                expected="a window that ends: within 5 min, before …, between … and …",
            )

    def _backward(self, window: ParseTree | None, previous: str) -> Window:
        if window is None or window.data == "gap":
            return Window(None, Instant(previous))
        if window.data == "within":
            return Window.within(self.length(parts(window)[0]), previous, self.span(window))
        return self.window(window)

    def _check_order(self, links: Iterable[ParseTree]) -> None:
        backwards = False
        for link in links:
            if link.data == "followed" and backwards:
                self.error(
                    "WRONG_STRUCTURE",
                    f"followed by in rule {self.rule} must stand before preceded by",
                    link,
                    hint="write the events that follow each other first, then what precedes them",
                )
                return
            backwards = backwards or link.data == "preceded"

    def _has_selection(self, first: ParseTree, forward: list[ParseTree]) -> bool:
        last = parts(forward[-1])[0] if forward else first
        return parts(last)[0] is not None

    def _chosen_terminator(self, terminator: Component) -> None:
        self.error(
            "WRONG_STRUCTURE",
            f"event {terminator.label} in rule {self.rule} completes the match, "
            "so there is nothing to choose",
            terminator.selection.span or terminator.span,
            hint="each, first and last belong to events that come before it",
        )

    # --- negations -----------------------------------------------------------

    def _negate(self, links: list[ParseTree]) -> None:
        """Negations in the order of the text; by default between the two events named before."""
        backwards = False
        mentioned = [self._first_label(links)]
        for link in links:
            if link.data == "negated":
                self._negations.append(self._without(link, mentioned, backwards=backwards))
                continue
            backwards = backwards or link.data == "preceded"
            mentioned.append(self.name_of(*parts(parts(parts(link)[0])[1])[:2]))

    def _first_label(self, links: list[ParseTree]) -> str:
        forward = sum(link.data == "followed" for link in links)
        return self._components[forward].label

    def _without(self, link: ParseTree, mentioned: list[str], *, backwards: bool) -> Negation:
        event, window = parts(link)
        types, called, where = parts(event)
        label = word(parts(called)[0]) if called else ""
        predicate = self.predicate(types, self.tested(where, label or None))
        given = self._gap(link, window, mentioned, backwards=backwards)
        return Negation(label, predicate, given, span=self.span(link))

    def _gap(
        self,
        link: ParseTree,
        window: ParseTree | None,
        mentioned: list[str],
        *,
        backwards: bool,
    ) -> Window:
        if window is not None and window.data not in _RELATIVE:
            return self.window(window)
        if window is not None and window.data == "within":
            length = self.length(parts(window)[0])
            return Window.within(length, self._components[0].label, self.span(window))
        if len(mentioned) < 2:
            self.error(
                "NEGATION_WITHOUT_WINDOW",
                f"negation in rule {self.rule} must have a window",
                link,
                expected=f"without … within 5 min before {mentioned[0]}, or between two events",
                hint="without a window it lies between the two events that are named before it",
            )
            return Window(None, None)
        last = mentioned[-1]
        other = self._parent(last) if backwards else mentioned[-2]
        ends = (last, other) if backwards else (other, last)
        return Window(Instant(ends[0]), Instant(ends[1]), span=self.span(link))

    def _parent(self, label: str) -> str:
        component = next(part for part in self._components if part.label == label)
        return component.parent or self._components[0].label
