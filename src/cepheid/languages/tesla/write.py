"""The algebra to TESLA text, in the paper's notation."""

from __future__ import annotations

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Binding,
    Component,
    EventPredicate,
    Expression,
    Function,
    Negation,
    Node,
    Parameter,
    Policy,
    Rule,
    Selection,
    Tree,
    Window,
    conjuncts,
)
from cepheid.languages.writing import Level, Writing


def write(rule: Rule) -> str:
    """A rule as TESLA text.

    A word of the language can be a name wherever the grammar does not wait for that word, so no
    word is forbidden here; whoever writes a rule reads it back to be sure.
    """
    return TeslaWriting(rule, "TESLA").text()


class TeslaWriting(Writing):
    """Writes one rule in TESLA."""

    def text(self) -> str:
        """The whole rule."""
        rule, tree = self.rule, self.rule.pattern
        self.check_kind(Tree)
        assert isinstance(tree, Tree)  # noqa: S101 (checked)
        self._check(rule, tree)
        parts = [
            f"Rule {rule.name}",
            f"define {self._definition()}",
            f"from {self._pattern(tree)}",
        ]
        if rule.output.attributes:
            parts.append(f"where {self._where()}")
        if rule.consuming:
            parts.append(f"consuming {', '.join(map(self.name, rule.consuming))}")
        return "\n".join(parts) + "\n"

    def _check(self, rule: Rule, tree: Tree) -> None:
        self.check_meaning(point=True)
        if tree.equivalences:
            what = f"that {tree.equivalences[0].attribute} is the same in all events"
            instead = "tie the events by a parameter: A(id = $a) and each B(id = $a)"
            raise self.cannot(what, instead, at=tree.equivalences[0])
        if tree.within is not None:
            raise self.cannot("a window around the whole match", "give each event a window")
        if tree.deadline is not None:
            raise self.cannot("that nothing comes after the last event", at=tree.deadline)

    def _definition(self) -> str:
        attributes = ", ".join(
            f"{self.name(attribute.name)}: {attribute.kind}"
            for attribute in self.rule.output.attributes
        )
        if any(attribute.kind is None for attribute in self.rule.output.attributes):
            raise self.cannot("an attribute without a type", at=self.rule.output)
        return f"{self.name(self.rule.output.type)}({attributes})"

    def _where(self) -> str:
        return " and ".join(
            f"{self.name(attribute.name)} = {self.expression(attribute.value, Level.SUM)}"
            for attribute in self.rule.output.attributes
        )

    def _pattern(self, tree: Tree) -> str:
        """Bindings to aggregates come right after the terminator: what is bound first, binds."""
        by_attribute: dict[str, list[Binding]] = {}
        others: list[Binding] = []
        for binding in tree.bindings:
            label = binding.value.label if isinstance(binding.value, Attribute) else None
            (by_attribute.setdefault(label, []) if label else others).append(binding)
        items = [
            self._component(component, by_attribute.get(component.label, []))
            for component in tree.components
        ]
        items[1:1] = [
            f"${self.name(binding.name)} = {self.expression(binding.value, Level.SUM)}"
            for binding in others
        ]
        items += [self._negation(negation) for negation in tree.negations]
        items += [self._condition(condition) for condition in tree.conditions]
        return " and\n  ".join(items)

    def _condition(self, condition: Expression) -> str:
        return self.expression(condition, Level.COMPARISON)

    def _component(self, component: Component, bindings: list[Binding]) -> str:
        text = self._predicate(component.predicate, bindings)
        if component.label != component.predicate.types[0]:
            text += f" as {self.name(component.label)}"
        if component.window is None:
            return text
        if component.window.length is None:
            what = f"the window of {component.label}"
            raise self.cannot(what, "there every event has a window by time", at=component)
        return f"{_selection(component.selection)} {text} {self._window(component.window)}"

    def _negation(self, negation: Negation) -> str:
        return f"not {self._predicate(negation.predicate, [])} {self._window(negation.window)}"

    def _predicate(self, predicate: EventPredicate, bindings: list[Binding]) -> str:
        if predicate.every is not None:
            return f"Timer(every = {self.duration(predicate.every)})"
        if len(predicate.types) != 1:
            raise self.cannot("an event of any of several types", at=predicate)
        constraints = [
            f"{self.name(binding.value.name)} = ${self.name(binding.name)}"
            for binding in bindings
            if isinstance(binding.value, Attribute)
        ]
        constraints += [self.expression(part, Level.NOT) for part in conjuncts(predicate.filter)]
        inside = f"({' and '.join(constraints)})" if constraints else ""
        return f"{self.name(predicate.types[0])}{inside}"

    def _window(self, window: Window) -> str:
        if window.length is not None and window.high is not None:
            return f"within {self.duration(window.length)} from {self.name(window.high.label)}"
        if window.low is None or window.high is None or window.low.offset or window.high.offset:
            what = "a window that is neither before an event nor between two"
            raise self.cannot(what, at=window)
        return f"between {self.name(window.low.label)} and {self.name(window.high.label)}"

    def operand(self, node: Node) -> str:
        """Attributes, parameters and aggregates."""
        if isinstance(node, Attribute):
            label = "" if node.label is None else f"{self.name(node.label)}."
            return f"{label}{self.name(node.name)}"
        if isinstance(node, Parameter):
            return f"${self.name(node.name)}"
        if isinstance(node, Aggregate):
            attribute = f".{self.name(node.attribute)}" if node.attribute else ""
            if node.function is not Function.COUNT and not attribute:
                raise self.cannot("an aggregate without an attribute", at=node)
            subject = f"{self._predicate(node.predicate, [])}{attribute}"
            return f"{node.function}({subject} {self._window(node.window)})"
        return super().operand(node)


def _selection(selection: Selection) -> str:
    if selection.policy is Policy.EACH or selection.count == 1:
        return selection.policy.value
    return f"{selection.count}-{selection.policy}"
