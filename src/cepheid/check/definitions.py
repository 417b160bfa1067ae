"""Which event types there are: those of the schema and those that rules define."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cepheid.algebra import Rule, Tree, input_types
from cepheid.check.circles import circular
from cepheid.errors import Report
from cepheid.events import Kind, Schema

BUILT_IN: Mapping[str, Mapping[str, Kind | None]] = {
    "Failure": {"rule": Kind.STRING, "reason": Kind.STRING},
    "Timer": {},
}


class Definitions:
    """Event types with their attributes, as far as they are known.

    A type that nothing declares or defines comes from outside; its attributes are not known. With
    a schema, every type must be declared or defined.
    """

    def __init__(self, rules: Sequence[Rule], schema: Schema) -> None:
        self.rules = rules
        self.schema = schema
        self._inputs = {id(rule): frozenset(input_types(rule)) for rule in rules}
        self._types: dict[str, Mapping[str, Kind | None] | None] = {**BUILT_IN, **schema}
        for rule in self._in_order_of_need():
            if rule.output.type not in schema:
                self._types[rule.output.type] = self._outputs(rule)

    @property
    def names(self) -> list[str]:
        """All types that are declared or defined."""
        return [name for name in self._types if name != "Timer"]

    def is_known(self, type_: str) -> bool:
        """Whether a type may be used."""
        return not self.schema or type_ in self._types

    def attributes(self, type_: str) -> Mapping[str, Kind | None] | None:
        """The attributes of a type with their kinds; None when they are not known."""
        return self._types.get(type_)

    def check(self, report: Report) -> None:
        """Report names that are used twice, and circles."""
        self._check_names(report)
        self._check_outputs(report)
        self._report_circles(report)

    def _outputs(self, rule: Rule) -> Mapping[str, Kind | None] | None:
        declared = {attribute.name: attribute.kind for attribute in rule.output.attributes}
        if not rule.output.everything:
            return declared
        if not isinstance(rule.pattern, Tree):
            return None
        found: dict[str, Kind | None] = {}
        for component in rule.pattern.components:
            prefix = component.label.replace("-", "_")
            for type_ in component.predicate.types:
                attributes = self._types.get(type_)
                if attributes is None:
                    return None
                found.update({f"{prefix}_{name}": kind for name, kind in attributes.items()})
        return {**found, **declared}

    def _in_order_of_need(self) -> Iterator[Rule]:
        """Rules whose inputs no other rule defines first, so that outputs can build on outputs.

        Rules of a circle, and what builds on them, come last and in the order of the text.
        """
        makers = Counter(rule.output.type for rule in self.rules)
        needs = [{type_ for type_ in self._inputs[id(r)] if type_ in makers} for r in self.rules]
        users: dict[str, list[int]] = {}
        for index, types in enumerate(needs):
            for type_ in types:
                users.setdefault(type_, []).append(index)
        ready = [index for index, types in enumerate(needs) if not types]
        while ready:
            yield from (self.rules[index] for index in ready)
            made = [self.rules[index].output.type for index in ready]
            makers.subtract(made)
            done = {type_ for type_ in made if not makers[type_]}
            touched = {index for type_ in done for index in users.get(type_, ())}
            for index in touched:
                needs[index] = needs[index] - done
            ready = sorted(index for index in touched if not needs[index])
        yield from (rule for rule, types in zip(self.rules, needs, strict=True) if types)

    def _check_names(self, report: Report) -> None:
        seen: dict[str, Rule] = {}
        for rule in self.rules:
            if rule.name in seen:
                report.error(
                    "DUPLICATE_RULE",
                    f"two rules are called {rule.name}",
                    rule.span,
                    hint="give one of them another name",
                    rule=rule.name,
                )
            seen[rule.name] = rule

    def _check_outputs(self, report: Report) -> None:
        """A type has the same attributes wherever it is defined or declared."""
        first: dict[str, Rule] = {}
        for rule in self.rules:
            type_, outputs = rule.output.type, self._outputs(rule)
            other = first.setdefault(type_, rule)
            known = self.schema.get(type_) if type_ in self.schema else self._outputs(other)
            if known is not None and outputs is not None and not _agree(known, outputs):
                where = "the schema" if type_ in self.schema else f"rule {other.name}"
                report.error(
                    "DUPLICATE_DEFINITION",
                    f"rule {rule.name} defines {type_}({_shown(outputs)}), "
                    f"but {where} has {type_}({_shown(known)})",
                    rule.output.span or rule.span,
                    hint="give the events the same attributes, or different names",
                    rule=rule.name,
                )

    def _report_circles(self, report: Report) -> None:
        """Rules may feed on their own output; that is worth knowing."""
        feeds: dict[str, set[str]] = {}
        for rule in self.rules:
            for type_ in self._inputs[id(rule)]:
                feeds.setdefault(type_, set()).add(rule.output.type)
        recursive = circular(feeds)
        for rule in self.rules:
            if rule.output.type in recursive:
                report.note(
                    "RECURSIVE_RULES",
                    f"{rule.output.type} of rule {rule.name} can cause {rule.output.type} again; "
                    "each event may do so at most 32 times in a row",
                    rule.output.span or rule.span,
                    rule=rule.name,
                )


def _agree(known: Mapping[str, Kind | None], given: Mapping[str, Kind | None]) -> bool:
    if set(known) != set(given):
        return False
    return all(
        kind is None or given[name] is None or kind == given[name] for name, kind in known.items()
    )


def _shown(attributes: Mapping[str, Kind | None]) -> str:
    return ", ".join(f"{name}: {kind or 'any'}" for name, kind in attributes.items())
