"""Outputs: which columns the composite events of rules have, and of which kinds.

They follow from the rules and from the columns of the events, never from what was found, so that
an empty result has the same columns as a full one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cepheid.algebra import (
    Aggregate,
    Arithmetic,
    Attribute,
    Binding,
    Coalesce,
    Collected,
    Expression,
    Function,
    Item,
    Literal,
    Negative,
    Parameter,
    Rule,
    Sign,
    find,
)
from cepheid.check.facts import Facts
from cepheid.errors import EventError
from cepheid.events import Kind, kind_of

Kinds = Mapping[str, Kind | None]
"""Attributes with their kinds; None where it is not known."""

ANY = ""
"""Stands for every type, where all events are in one table."""
_ROUNDS = 8
"""How often rules are looked through for what the outputs of others add to theirs."""


def output_kinds(rules: Sequence[Rule], inputs: Mapping[str, Kinds]) -> dict[str, Kind | None]:
    """The attributes of all composite events, in the order of the rules.

    `inputs` has the columns of each type's table, or under `ANY` those of all types.
    """
    types = _Types(inputs)
    readers = [_Reader(rule, types) for rule in rules]
    for _ in range(_ROUNDS):
        before = types.copy()
        found = [reader.attributes() for reader in readers]
        if types.outputs == before:
            break
    columns: dict[str, Kind | None] = {}
    for kinds in found:
        for name, kind in kinds.items():
            columns[name] = _wider(columns.get(name), kind, name)
    return columns


def _wider(known: Kind | None, kind: Kind | None, name: str) -> Kind | None:
    """The kind that holds values of both."""
    if known is None or kind is None or known == kind:
        return known or kind
    if known.numeric and kind.numeric:
        return Kind.DOUBLE
    raise EventError(
        f"column {name} of the composite events must have one type; got {known} and {kind}\n\n"
        "hint: give the attributes different names, or the columns of the events one type"
    )


class _Types:
    """The attributes of event types: of those that come in, and of those that rules give."""

    def __init__(self, inputs: Mapping[str, Kinds]) -> None:
        self._inputs = inputs
        self.outputs: dict[str, dict[str, Kind | None]] = {}

    def copy(self) -> dict[str, dict[str, Kind | None]]:
        return {type_: dict(kinds) for type_, kinds in self.outputs.items()}

    def of(self, types: Sequence[str]) -> dict[str, list[Kind | None]]:
        """The attributes that events of some types may have, with their kinds."""
        found: dict[str, list[Kind | None]] = {}
        for type_ in types:
            given = self._inputs.get(type_, self._inputs.get(ANY, {}))
            for name, kind in (*given.items(), *self.outputs.get(type_, {}).items()):
                found.setdefault(name, []).append(kind)
        return found


class _Reader:
    """What a rule gives, given what is known of its inputs."""

    def __init__(self, rule: Rule, types: _Types) -> None:
        self._rule = rule
        self._types = types
        self._labels = Facts(rule).labels
        self._parameters = {binding.name: binding.value for binding in find(rule, Binding)}

    def attributes(self) -> dict[str, Kind | None]:
        """The attributes of the rule's composite events."""
        found: dict[str, Kind | None] = {}
        # The terminator is the first component; a sequence is written the other way round.
        labels = reversed(self._labels.items()) if self._rule.output.everything else ()
        for label, types in labels:
            for name, kinds in self._types.of(types).items():
                own = f"{label.replace('-', '_')}_{name}"
                found[own] = self._widest(kinds, own)
        for attribute in self._rule.output.attributes:
            found[attribute.name] = attribute.kind or self._kind(attribute.value, attribute.name)
        self._types.outputs.setdefault(self._rule.output.type, {}).update(found)
        return found

    def _widest(self, kinds: Sequence[Kind | None], name: str) -> Kind | None:
        widest: Kind | None = None
        for kind in kinds:
            widest = _wider(widest, kind, name)
        return widest

    def _kind(self, node: Expression, output: str) -> Kind | None:
        """The kind of a value; None where it cannot be known."""
        if isinstance(node, Literal):
            return None if node.value is None else kind_of(node.value)
        if isinstance(node, Parameter):
            return self._kind(self._parameters[node.name], output)
        if isinstance(node, Attribute):
            return self._of(self._labels.get(node.label or "", ()), node.name, output)
        if isinstance(node, Item):
            return self._of(self._labels.get(node.label, ()), node.attribute, output)
        if isinstance(node, Coalesce):
            return self._widest([self._kind(part, output) for part in node.options], output)
        if isinstance(node, Negative):
            return self._kind(node.operand, output)
        if isinstance(node, Arithmetic):
            return self._arithmetic(node, output)
        if isinstance(node, Aggregate | Collected):
            return self._aggregate(node, output)
        return Kind.BOOL

    def _of(self, types: Sequence[str], name: str, output: str) -> Kind | None:
        return self._widest(self._types.of(types).get(name, []), output)

    def _arithmetic(self, node: Arithmetic, output: str) -> Kind | None:
        if node.sign is Sign.DIVIDE:
            return Kind.DOUBLE
        kinds = {self._kind(node.left, output), self._kind(node.right, output)}
        if kinds == {Kind.INT}:
            return Kind.INT
        return Kind.DOUBLE if Kind.DOUBLE in kinds else None

    def _aggregate(self, node: Aggregate | Collected, output: str) -> Kind | None:
        if node.function is Function.COUNT:
            return Kind.INT
        if node.function is Function.AVG:
            return Kind.DOUBLE
        types = (
            node.predicate.types
            if isinstance(node, Aggregate)
            else self._labels.get(node.label, ())
        )
        return self._of(types, node.attribute or "", output)
