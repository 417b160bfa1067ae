"""The algebra to LAIPL text, in the paper's notation."""

from __future__ import annotations

import re

from cepheid.algebra import (
    Absence,
    Accumulate,
    Alternation,
    Attribute,
    Body,
    Collected,
    Collection,
    Comparison,
    Conjunction,
    CountWindow,
    Each,
    EventPredicate,
    Expression,
    Function,
    Item,
    Key,
    Literal,
    OutputAttribute,
    Pick,
    Rule,
    Run,
    Sequence,
    Take,
    TimeWindow,
    input_types,
    walk,
)
from cepheid.errors import Report, Source
from cepheid.events import Kind
from cepheid.languages.laipl.lower import read
from cepheid.languages.lowering import Context
from cepheid.languages.writing import Level, Writing
from cepheid.literals import format_value

_RULE_NAME = re.compile(r"[^\W_][\w.\-]*")
_KINDS = {
    Kind.STRING: "String",
    Kind.INT: "Integer",
    Kind.DOUBLE: "Double",
    Kind.BOOL: "Boolean",
}
_WORDS = {
    Function.AVG: "Average",
    Function.SUM: "Sum",
    Function.MIN: "Min",
    Function.MAX: "Max",
}


def write(rule: Rule) -> str:
    """A rule as LAIPL text.

    A last attribute `source` may be declared, or come by itself from the Composite clause: of
    the two texts, the one that reads back as the rule is right.
    """
    declared = rule.output.attributes
    text = LaiplWriting(rule, declared).text()
    if declared and declared[-1].name == "source" and _read(text) != [rule]:
        return LaiplWriting(rule, declared[:-1]).text()
    return text


def _read(text: str) -> list[Rule]:
    return list(read(Source(text), Context(), Report()))


class LaiplWriting(Writing):
    """Writes one rule in LAIPL, with the attributes that Define declares."""

    def __init__(self, rule: Rule, declared: tuple[OutputAttribute, ...]) -> None:
        super().__init__(rule, "LAIPL")
        self._declared = declared

    def text(self) -> str:
        """The whole rule."""
        rule, pattern = self.rule, self.rule.pattern
        self.check_kind(Run, Collection)
        assert isinstance(pattern, Run | Collection)  # noqa: S101 (checked)
        self.check_meaning()
        self.check_no_consuming()
        if not _RULE_NAME.fullmatch(rule.name):
            raise self.cannot(f"the name {rule.name}")
        lines = [
            f"Rule {rule.name}",
            f"Define {self._definition()}",
            f"From {', '.join(map(self.name, input_types(rule)))}",
            f"Where {self._where(pattern)}",
        ]
        if pattern.partition:
            lines.append(f"Composite {', '.join(map(self._chain, pattern.partition))}")
        return "\n".join(lines) + "\n"

    # --- Define --------------------------------------------------------------

    def _definition(self) -> str:
        attributes = ", ".join(map(self._attribute_and_kind, self._declared))
        return f"{self.name(self.rule.output.type)}({attributes})"

    def _attribute_and_kind(self, attribute: OutputAttribute) -> str:
        if attribute.kind is None:
            raise self.cannot("an attribute without a type", at=attribute)
        return f"{self._attribute(attribute.name)}: {_KINDS[attribute.kind]}"

    def _value(self, index: int) -> Expression | None:
        """The output's value that belongs to a constraint, if the output has it."""
        return self._declared[index].value if index < len(self._declared) else None

    # --- Where ---------------------------------------------------------------

    def _where(self, pattern: Run | Collection) -> str:
        if isinstance(pattern, Run):
            return f"{self._run(pattern)} {self._window(pattern.window)}"
        body = self._body(pattern.body, pattern)
        return f"{body} {self._window(pattern.window)}" if pattern.window else body

    def _window(self, window: TimeWindow | CountWindow) -> str:
        if isinstance(window, TimeWindow):
            return f"Within({self.duration(window.length)})"
        return f"Batch({window.size})"

    def _run(self, run: Run) -> str:
        condition, value = run.condition, self._value(0)
        if isinstance(condition, Each):
            test = self._own_test(condition.condition)
            return self._whole(run, f"Each({self._subject(run.predicate, test)})", test)
        if isinstance(condition, Comparison):
            return self._judged(run, condition)
        if condition is not None:
            raise self.cannot("a condition of several parts on a run", at=run)
        if isinstance(value, Item) and run.predicate.filter is None:
            return self._item(run.predicate.types, value.index, value.attribute)
        return self._event(run.predicate, value)

    def _judged(self, run: Run, condition: Comparison) -> str:
        """A condition on the whole run: an aggregate, a count or one of its events."""
        left = condition.left
        if isinstance(left, Item):
            item = self._item(run.predicate.types, left.index, left.attribute)
            return self._whole(run, item, condition)
        if not isinstance(left, Collected):
            raise self.cannot("this condition on a run", at=run)
        if left.function is Function.COUNT:
            counted = EventPredicate(run.predicate.types, left.filter)
            return self._whole(run, f"Count({self._event(counted, None)})", condition)
        if left.filter is not None:
            raise self.cannot("an aggregate over events that a filter selects")
        subject = f"{self._type(run.predicate.types)}.{self._attribute(left.attribute or '')}"
        return self._whole(run, f"{_WORDS[left.function]}({subject})", condition)

    def _whole(self, run: Run, subject: str, condition: Comparison | None = None) -> str:
        """A constraint on all events of the type, which leaves no room for a filter."""
        if run.predicate.filter is not None:
            raise self.cannot("a filter on the events of a run that has a condition")
        return f"{subject} {self._bound(condition)}" if condition else subject

    def _body(self, body: Body, pattern: Collection) -> str:
        if isinstance(body, Sequence):
            return self._join(body.parts, " Then ", (Sequence,), pattern)
        if isinstance(body, Alternation):
            return self._join(body.parts, " Or ", (Sequence, Alternation), pattern)
        if isinstance(body, Conjunction):
            return self._join(body.parts, " And ", (Sequence, Alternation, Conjunction), pattern)
        if isinstance(body, Absence):
            return f"Not {self._event(body.predicate, None)}"
        if isinstance(body, Take | Accumulate | Pick):
            index = next(i for i, leaf in enumerate(_leaves(pattern)) if leaf is body)
            return self._leaf(body, self._value(index))
        raise self.cannot(f"{type(body).__name__.lower()} among constraints")

    def _join(
        self, items: tuple[Body, ...], word: str, bracketed: tuple[type, ...], pattern: Collection
    ) -> str:
        texts = [self._body(item, pattern) for item in items]
        return word.join(
            f"({text})" if isinstance(item, bracketed) else text
            for item, text in zip(items, texts, strict=True)
        )

    def _leaf(self, leaf: Take | Accumulate | Pick, value: Expression | None) -> str:
        if isinstance(leaf, Pick):
            return self._picked(leaf, value)
        if isinstance(leaf, Accumulate):
            if leaf.predicate.filter is not None:
                raise self.cannot("an aggregate over events that a filter selects", at=leaf)
            subject = f"{self._type(leaf.predicate.types)}.{self._attribute(leaf.attribute)}"
            bound = self.expression(leaf.bound, Level.SUM)
            return f"{_WORDS.get(leaf.function, 'Count')}({subject}) {leaf.relation} {bound}"
        if leaf.count > 1 or isinstance(value, Collected):
            return f"Count({self._event(leaf.predicate, None)}) = {leaf.count}"
        return self._event(leaf.predicate, value)

    def _picked(self, pick: Pick, value: Expression | None) -> str:
        name = value.name if isinstance(value, Attribute) else "value"
        if pick.condition is None:
            return self._item(pick.types, pick.index, name)
        test = self._own_test(pick.condition)
        name = test.left.name if isinstance(test.left, Attribute) else name
        return f"{self._item(pick.types, pick.index, name)} {self._bound(test)}"

    # --- parts of a constraint -----------------------------------------------

    def _event(self, predicate: EventPredicate, value: Expression | None) -> str:
        """One event with its comparison; without one, the attribute that its value names."""
        if predicate.filter is not None:
            test = self._own_test(predicate.filter)
            return f"{self._subject(predicate, test)} {self._bound(test)}"
        type_ = self._type(predicate.types)
        if isinstance(value, Attribute):
            return f"{type_}.{self._attribute(value.name)}"
        if isinstance(value, Collected) and value.attribute:
            return f"{type_}.{self._attribute(value.attribute)}"
        return type_

    def _subject(self, predicate: EventPredicate, test: Comparison) -> str:
        name = test.left.name if isinstance(test.left, Attribute) else ""
        return f"{self._type(predicate.types)}.{self._attribute(name)}"

    def _own_test(self, condition: Expression) -> Comparison:
        """A condition on a single event, if it is one comparison of an attribute."""
        left = condition.left if isinstance(condition, Comparison) else None
        if not isinstance(left, Attribute) or left.label is not None:
            what = "a condition on an event that is not one comparison"
            raise self.cannot(what, at=condition)
        assert isinstance(condition, Comparison)  # noqa: S101 (it has a left side)
        return condition

    def _bound(self, condition: Comparison) -> str:
        return f"{condition.relation} {self.expression(condition.right, Level.SUM)}"

    def _item(self, types: tuple[str, ...], index: int, name: str) -> str:
        place = "last" if index == -1 else str(index)
        return f"{self._type(types)}[{place}].{self._attribute(name)}"

    def _type(self, types: tuple[str, ...]) -> str:
        if len(types) != 1:
            raise self.cannot("an event of any of several types")
        return self.name(types[0])

    def _attribute(self, name: str) -> str:
        """An attribute's name, which may be a word of the language."""
        if not self.names.fullmatch(name):
            raise self.cannot(f"the name {name}")
        return name

    def _chain(self, key: Key) -> str:
        members = [f"{self.name(type_)}.{self._attribute(name)}" for type_, name in key.attributes]
        if key.value is not None:
            members.append(format_value(key.value))
        return " = ".join(members)

    def literal(self, node: Literal) -> str:
        """A constant; LAIPL has no word for the missing value."""
        if node.value is None:
            raise self.cannot("null")
        return super().literal(node)


def _leaves(collection: Collection) -> list[Take | Accumulate | Pick]:
    """The constraints that have a value, in the order of the text."""
    return [node for node in walk(collection.body) if isinstance(node, Take | Accumulate | Pick)]
