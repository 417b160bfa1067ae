"""Names: every event, attribute, label and parameter that a rule uses must exist."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.algebra import (
    Accumulate,
    Aggregate,
    Attribute,
    Collected,
    EventPredicate,
    Expression,
    Instant,
    Item,
    Key,
    Node,
    Parameter,
    Rule,
    Tree,
    parameters_of,
    surface,
)
from cepheid.check.definitions import Definitions
from cepheid.check.facts import Facts, Types
from cepheid.check.hints import hint
from cepheid.errors import Report, did_you_mean


def check_names(facts: Facts, definitions: Definitions, report: Report) -> bool:
    """Report names that do not exist; True when all do."""
    before = len(report.errors)
    _Names(facts, definitions, report).check()
    return len(report.errors) == before


@dataclass
class _Names:
    facts: Facts
    definitions: Definitions
    report: Report

    def check(self) -> None:
        self._check_types()
        self._check_parameters()
        for expression, types in self.facts.tested():
            self._check_expression(expression, types)
        for expression in (*self.facts.conditions(), *self.facts.values()):
            self._check_expression(expression, None)
        self._check_fields()
        self._check_consuming()

    @property
    def rule(self) -> Rule:
        return self.facts.rule

    @property
    def labels(self) -> dict[str, Types]:
        return self.facts.labels

    def _error(self, condition: str, message: str, node: Node, advice: str = "") -> None:
        span = node.span or self.rule.span
        self.report.error(condition, message, span, hint=advice, rule=self.rule.name)

    # --- types ---------------------------------------------------------------

    def _check_types(self) -> None:
        for predicate in self.facts.all(EventPredicate):
            for type_ in predicate.types if predicate.every is None else ():
                if not self.definitions.is_known(type_):
                    self._error(
                        "UNKNOWN_EVENT",
                        f"event {type_} in rule {self.rule.name} is neither declared nor defined",
                        predicate,
                        did_you_mean(type_, self.definitions.names),
                    )

    # --- attributes and labels -----------------------------------------------

    def _check_expression(self, expression: Expression, own: Types | None) -> None:
        for node in surface(expression):
            if isinstance(node, Attribute) and node.label is None:
                self._check_own(node, own)
            elif isinstance(node, Attribute | Item):
                self._check_labelled(node.label or "", _field(node), node)
            elif isinstance(node, Collected | Instant):
                self._check_labelled(node.label, _field(node), node)
            elif isinstance(node, Aggregate) and node.attribute is not None:
                self._check_attribute(node.predicate.types, node.attribute, node)

    def _check_own(self, node: Attribute, own: Types | None) -> None:
        if own is None:
            self._error(
                "UNKNOWN_LABEL",
                f"attribute {node.name} in rule {self.rule.name} must say of which event",
                node,
                hint("own", self.rule, node.name, next(iter(self.labels), "Event")),
            )
        else:
            self._check_attribute(own, node.name, node, bare=True)

    def _check_labelled(self, label: str, name: str | None, node: Node) -> None:
        if label not in self.labels:
            self._error(
                "UNKNOWN_LABEL",
                f"no event of rule {self.rule.name} is called {label}",
                node,
                did_you_mean(label, self.labels),
            )
        elif name is not None:
            self._check_attribute(self.labels[label], name, node)

    def _check_attribute(self, types: Types, name: str, node: Node, *, bare: bool = False) -> None:
        """An attribute must exist in at least one of the types, as far as they are known.

        A bare name may be meant as a text, or as a parameter.
        """
        known = [self.definitions.attributes(type_) for type_ in types]
        if any(attributes is None or name in attributes for attributes in known):
            return
        names = [other for attributes in known if attributes for other in attributes]
        either = " or ".join(dict.fromkeys(types))
        advice = did_you_mean(name, names) or "it has no attributes"
        if bare and not advice.startswith("did"):
            advice += f"; {hint('bare', self.rule, name)}"
        self._error(
            "UNKNOWN_ATTRIBUTE",
            f"event {either} in rule {self.rule.name} has no attribute {name}",
            node,
            advice,
        )

    def _check_fields(self) -> None:
        """Attributes that stand outside of expressions: partitions, equivalence tests, bounds."""
        for key in self.facts.all(Key):
            for type_, name in key.attributes:
                self._check_attribute((type_,), name, key)
        for part in self.facts.all(Accumulate):
            self._check_attribute(part.predicate.types, part.attribute, part)
        if isinstance(self.rule.pattern, Tree):
            types = tuple(t for part in self.rule.pattern.components for t in part.predicate.types)
            for equivalence in self.rule.pattern.equivalences:
                self._check_attribute(types, equivalence.attribute, equivalence)

    def _check_consuming(self) -> None:
        for label in self.rule.consuming:
            self._check_labelled(label, None, self.rule)

    # --- parameters ----------------------------------------------------------

    def _check_parameters(self) -> None:
        tree = self.rule.pattern
        bindings = tree.bindings if isinstance(tree, Tree) else ()
        known = {binding.name: binding.value for binding in bindings}
        for parameter in self.facts.all(Parameter):
            if parameter.name not in known:
                self._unknown_parameter(parameter, set(known))
        for binding in bindings:
            if _depends_on_itself(binding.name, known):
                self._error(
                    "WRONG_STRUCTURE",
                    f"parameter ${binding.name} in rule {self.rule.name} stands for itself",
                    binding,
                    "bind it to an attribute or an aggregate that does not use it",
                )

    def _unknown_parameter(self, parameter: Parameter, known: set[str]) -> None:
        close = did_you_mean(parameter.name, known)
        self._error(
            "UNKNOWN_PARAMETER",
            f"parameter ${parameter.name} in rule {self.rule.name} is bound nowhere",
            parameter,
            close if close.startswith("did") else hint("parameter", self.rule, parameter.name),
        )


def _field(node: Attribute | Item | Collected | Instant) -> str | None:
    if isinstance(node, Attribute):
        return node.name
    return None if isinstance(node, Instant) else node.attribute


def _depends_on_itself(name: str, bindings: dict[str, Expression]) -> bool:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        value = bindings.get(waiting.pop())
        for used in parameters_of(value):
            if used == name:
                return True
            if used not in seen:
                seen.add(used)
                waiting.append(used)
    return False
