"""Types of values: numbers are compared with numbers, texts with texts.

Where no schema says what an attribute holds, its uses do: the first one decides, and a later one
that does not fit is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from cepheid.algebra import (
    Accumulate,
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Binding,
    Coalesce,
    Collected,
    Comparison,
    Expression,
    Function,
    Item,
    Literal,
    Negative,
    Node,
    Not,
    Or,
    OutputAttribute,
    Parameter,
    Relation,
)
from cepheid.check.definitions import Definitions
from cepheid.check.facts import Facts, Types
from cepheid.errors import Report
from cepheid.events import Kind, kind_of


class Family(StrEnum):
    """What can be compared with each other."""

    NUMBER = "a number"
    TEXT = "a string"
    TRUTH = "a bool"


_FAMILIES = {
    Kind.INT: Family.NUMBER,
    Kind.DOUBLE: Family.NUMBER,
    Kind.STRING: Family.TEXT,
    Kind.BOOL: Family.TRUTH,
}


@dataclass
class Families:
    """What is known of the attributes of all types, while rule after rule is checked."""

    definitions: Definitions
    report: Report
    used_as: dict[tuple[str, str], tuple[Family, str]] = field(default_factory=dict)

    def check(self, facts: Facts) -> None:
        """Report values of the wrong type in a rule whose names are in order."""
        _RuleFamilies(facts, self).check()

    def of(self, types: Types, name: str) -> Family | None:
        """What an attribute holds, if that is known."""
        for type_ in types:
            kind = (self.definitions.attributes(type_) or {}).get(name)
            if kind is not None:
                return _FAMILIES[kind]
            if (type_, name) in self.used_as:
                return self.used_as[type_, name][0]
        return None

    def use(self, types: Types, name: str, family: Family, rule: str) -> None:
        """Remember what a use says about an attribute."""
        for type_ in types:
            self.used_as.setdefault((type_, name), (family, rule))


@dataclass
class _RuleFamilies:
    facts: Facts
    all: Families
    _own: Types = ()

    def check(self) -> None:
        self.rule = self.facts.rule
        self._labels = self.facts.labels
        self._bindings = {binding.name: binding.value for binding in self.facts.all(Binding)}
        for condition, types in self.facts.tested():
            self._own = types
            self._need(condition, Family.TRUTH)
        self._own = ()
        for condition in self.facts.conditions():
            self._need(condition, Family.TRUTH)
        for value in (*self.facts.values(), *self.facts.all(Aggregate)):
            self._family(value)
        for part in self.facts.all(Accumulate):
            self._use(part.predicate.types, part.attribute, Family.NUMBER, part)
            self._need(part.bound, Family.NUMBER)
        for attribute in self.rule.output.attributes:
            self._check_output(attribute)

    def _error(self, message: str, node: Node, hint: str = "") -> None:
        span = node.span or self.rule.span
        self.all.report.error("WRONG_TYPE", message, span, hint=hint, rule=self.rule.name)

    def _check_output(self, attribute: OutputAttribute) -> None:
        if attribute.kind is None:
            return
        wanted, found = _FAMILIES[attribute.kind], self._family(attribute.value)
        if found is not None and found != wanted:
            self._error(
                f"attribute {attribute.name} of {self.rule.output.type} in rule "
                f"{self.rule.name} must be {wanted}; got {found}",
                attribute.value if attribute.value.span else attribute,
                f"declare it with another type than {attribute.kind}, or give it another value",
            )
        elif found is None:
            self._need(attribute.value, wanted)

    # --- expressions ---------------------------------------------------------

    def _family(self, node: Expression) -> Family | None:
        """What an expression gives, if that is known; wrong parts are reported on the way."""
        if isinstance(node, Literal):
            return None if node.value is None else _FAMILIES[kind_of(node.value)]
        if isinstance(node, Attribute):
            types = self._own if node.label is None else self._labels.get(node.label, ())
            return self.all.of(types, node.name)
        if isinstance(node, Item):
            return self.all.of(self._labels.get(node.label, ()), node.attribute)
        if isinstance(node, Parameter):
            return self._parameter(node)
        if isinstance(node, Aggregate | Collected):
            return self._aggregate(node)
        if isinstance(node, Coalesce):
            found = [self._family(option) for option in node.options]
            return next((family for family in found if family is not None), None)
        if isinstance(node, Arithmetic):
            self._need(node.left, Family.NUMBER)
            self._need(node.right, Family.NUMBER)
            return Family.NUMBER
        if isinstance(node, Negative):
            self._need(node.operand, Family.NUMBER)
            return Family.NUMBER
        self._condition(node)
        return Family.TRUTH

    def _parameter(self, node: Parameter) -> Family | None:
        own, self._own = self._own, ()
        family = self._family(self._bindings[node.name])
        self._own = own
        return family

    def _aggregate(self, node: Aggregate | Collected) -> Family:
        types = (
            node.predicate.types
            if isinstance(node, Aggregate)
            else self._labels.get(node.label, ())
        )
        if node.function is not Function.COUNT and node.attribute is not None:
            self._use(types, node.attribute, Family.NUMBER, node)
        return Family.NUMBER

    def _condition(self, node: Comparison | And | Or | Not) -> None:
        if isinstance(node, And | Or):
            for operand in node.operands:
                self._need(operand, Family.TRUTH)
        elif isinstance(node, Not):
            self._need(node.operand, Family.TRUTH)
        else:
            self._comparison(node)

    def _comparison(self, node: Comparison) -> None:
        left, right = self._family(node.left), self._family(node.right)
        if left is None and right is not None:
            self._need(node.left, right)
        elif right is None and left is not None:
            self._need(node.right, left)
        elif left != right:
            self._error(
                f"comparison in rule {self.rule.name} must have two values of one type; "
                f"got {left} and {right}",
                node,
                _quotes_hint(left, right),
            )
        ordered = node.relation not in (Relation.EQUAL, Relation.UNEQUAL)
        if ordered and Family.TRUTH in (left, right):
            self._error(
                f"comparison in rule {self.rule.name} must order numbers or strings; got a bool",
                node,
                "a bool can only be compared with = and !=",
            )

    def _need(self, node: Expression, wanted: Family) -> None:
        """Report an expression that gives something else; a use says what an attribute holds."""
        if isinstance(node, Attribute | Item | Parameter):
            target = self._bindings.get(node.name) if isinstance(node, Parameter) else node
            name, types = self._attribute(target)
            if name is not None:
                self._use(types, name, wanted, node)
                return
        found = self._family(node)
        if found is not None and found != wanted:
            self._error(
                f"value in rule {self.rule.name} must be {wanted}; got {found}",
                node,
                _quotes_hint(wanted, found) or _condition_hint(wanted, node),
            )

    def _attribute(self, node: Expression | None) -> tuple[str | None, Types]:
        if isinstance(node, Attribute):
            own = self._own if node.label is None else self._labels.get(node.label, ())
            return node.name, own
        if isinstance(node, Item):
            return node.attribute, self._labels.get(node.label, ())
        return None, ()

    def _use(self, types: Types, name: str, wanted: Family, node: Node) -> None:
        found = self.all.of(types, name)
        if found is None:
            self.all.use(types, name, wanted, self.rule.name)
        elif found != wanted:
            self._error(
                f"attribute {name} of {' or '.join(types)} in rule {self.rule.name} "
                f"is {found}; used here as {wanted}",
                node,
                _quotes_hint(found, wanted),
            )


def _condition_hint(wanted: Family, node: Expression) -> str:
    if wanted is not Family.TRUTH:
        return ""
    point = "; a number is written with a point: 45.5" if isinstance(node, Literal) else ""
    return f"a condition compares two values, such as value > 45{point}"


def _quotes_hint(one: Family | None, other: Family | None) -> str:
    if {one, other} == {Family.NUMBER, Family.TEXT}:
        return "a number stands without quotes, a string in quotes"
    return ""
