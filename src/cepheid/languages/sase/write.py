"""The algebra to SASE text, in the paper's notation."""

from __future__ import annotations

import re

from cepheid.algebra import (
    EACH,
    Attribute,
    Component,
    Equivalence,
    EventPredicate,
    Instant,
    Negation,
    Node,
    Rule,
    Tree,
    Window,
    conjuncts,
)
from cepheid.languages.sase.lower import default_label, gap_windows
from cepheid.languages.writing import Level, Writing
from cepheid.literals import format_value

_RESERVED = frozenset(
    [
        "query",
        "event",
        "seq",
        "any",
        "where",
        "within",
        "return",
        "and",
        "or",
        "not",
        "true",
        "false",
        "null",
    ]
)


def write(rule: Rule) -> str:
    """A rule as SASE text."""
    return SaseWriting(rule, "SASE", reserved=_RESERVED).text()


class SaseWriting(Writing):
    """Writes one query in SASE."""

    _types = re.compile(r"[^\W\d]\w*(-\w+)*")
    _own = ""
    """The negative component whose condition is being written."""

    def text(self) -> str:
        """The whole query."""
        rule, tree = self.rule, self.rule.pattern
        self.check_kind(Tree)
        assert isinstance(tree, Tree)  # noqa: S101 (checked)
        self._check(rule, tree)
        parts = [f"QUERY {self._type(rule.name)}", f"EVENT {self._pattern(tree)}"]
        where = self._where(tree)
        if where:
            parts.append(f"WHERE {' AND '.join(where)}")
        if tree.within is not None:
            parts.append(f"WITHIN {self.duration(tree.within)}")
        if not rule.output.everything or rule.output.type != rule.name:
            parts.append(f"RETURN {self._type(rule.output.type)}{self._attributes()}")
        return "\n".join(parts) + "\n"

    def _check(self, rule: Rule, tree: Tree) -> None:
        self.check_meaning(missing=True, everything=True)
        self.check_no_consuming()
        if tree.bindings:
            what = f"the parameter ${tree.bindings[0].name}"
            compare = "compare the attributes themselves: x.id = y.id"
            raise self.cannot(what, compare, at=tree.bindings[0])
        if rule.output.everything and rule.output.attributes:
            raise self.cannot("all attributes together with others", at=rule.output)

    # --- EVENT ---------------------------------------------------------------

    def _pattern(self, tree: Tree) -> str:
        components = tree.components[::-1]
        labels = [component.label for component in components]
        self._check_chain(tree, labels)
        gaps: list[list[str]] = [[] for _ in range(len(labels) + 1)]
        for negation in tree.negations:
            gaps[self._gap(negation, labels, tree.within)].append(self._negation(negation))
        items = list(gaps[0])
        for component, gap in zip(components, gaps[1:], strict=True):
            items += [self._component(component), *gap]
        return f"SEQ({', '.join(items)})" if len(items) > 1 else items[0]

    def _check_chain(self, tree: Tree, labels: list[str]) -> None:
        followers = [*labels[1:], None]
        for component, label in zip(tree.components[::-1], followers, strict=True):
            wanted = Window(None, Instant(label)) if label is not None else None
            if component.window != wanted or component.selection != EACH:
                self._refuse_choice(component, wanted)
            if component.predicate.filter is not None:
                what = f"a filter on {component.label} before it is chosen"
                raise self.cannot(what, "WHERE tests the whole match", at=component)
        if tree.deadline not in (None, Instant(labels[0], tree.within or 0)):
            raise self.cannot("a deadline other than the end of the window", at=tree.deadline)

    def _refuse_choice(self, component: Component, wanted: Window | None) -> None:
        if component.window != wanted:
            what, at = f"the window of {component.label}", component.window or component
            raise self.cannot(what, "there one window, WITHIN, holds the whole match", at=at)
        what = f"the choice of {component.label} by {component.selection.policy}"
        raise self.cannot(what, "there every match counts", at=component)

    def _gap(self, negation: Negation, labels: list[str], within: int | None) -> int:
        windows = gap_windows(labels, within)
        if negation.window not in windows:
            what = f"the window of the absent {' or '.join(negation.predicate.types)}"
            raise self.cannot(what, "there what is absent lies between two neighbours", at=negation)
        return windows.index(negation.window)

    def _component(self, component: Component) -> str:
        return self._event(component.predicate, component.label)

    def _negation(self, negation: Negation) -> str:
        return f"!({self._event(negation.predicate, negation.label)})"

    def _event(self, predicate: EventPredicate, label: str) -> str:
        if predicate.every is not None:
            raise self.cannot("a periodic timer", at=predicate)
        names = ", ".join(map(self._type, predicate.types))
        text = names if len(predicate.types) == 1 else f"ANY({names})"
        return text if label == default_label(predicate.types) else f"{text} {self.name(label)}"

    def _type(self, name: str) -> str:
        """An event type, which may have hyphens."""
        if not self._types.fullmatch(name) or name.lower() in self.reserved:
            raise self.cannot(f"the name {name}")
        return name

    # --- WHERE ---------------------------------------------------------------

    def _where(self, tree: Tree) -> list[str]:
        written = [self._equivalence(test) for test in tree.equivalences]
        written += [self.expression(condition, Level.NOT) for condition in tree.conditions]
        for negation in tree.negations:
            self._own = negation.label
            for part in conjuncts(negation.predicate.filter):
                written.append(self.expression(part, Level.NOT))
        self._own = ""
        return written

    def _equivalence(self, test: Equivalence) -> str:
        value = "" if test.value is None else f" = {format_value(test.value)}"
        return f"[{self._attribute(test.attribute)}{value}]"

    def operand(self, node: Node) -> str:
        """Attributes."""
        if not isinstance(node, Attribute):
            return super().operand(node)
        label = self._own if node.label is None else node.label
        return f"{self._type(label)}.{self._attribute(node.name)}"

    def _attribute(self, name: str) -> str:
        """An attribute's name; behind a point or in brackets every word can be one."""
        if not self.names.fullmatch(name):
            raise self.cannot(f"the name {name}")
        return name

    # --- RETURN --------------------------------------------------------------

    def _attributes(self) -> str:
        """The attributes in brackets; without brackets all of them are meant."""
        if self.rule.output.everything:
            return ""
        attributes = [
            f"{self._attribute(attribute.name)} = {self.expression(attribute.value, Level.SUM)}"
            for attribute in self.rule.output.attributes
        ]
        if any(attribute.kind is not None for attribute in self.rule.output.attributes):
            raise self.cannot("the type of an attribute", at=self.rule.output)
        return f"({', '.join(attributes)})"
