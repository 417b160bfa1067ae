"""LAIPL's Where clause to the algebra: each constraint, how they combine, and the window."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lark import Token, Tree

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
    Pick,
    Relation,
    Run,
    Sequence,
    Take,
    TimeWindow,
    find,
)
from cepheid.errors import Span, did_you_mean
from cepheid.events import Value
from cepheid.languages.lowering import Branch, Lowering, ParseTree, parts

CONSTRAINT_LIMIT = 64
"""The most constraints that one rule may have."""

_FUNCTIONS = {"average": Function.AVG, **{function.lower(): function for function in Function}}
_JOINING = ("then", "either", "both")
_FORMS = ("each", "count", "aggregate", "pick", "bare")
_HOLDS = {
    Relation.EQUAL: lambda left, right: left == right,
    Relation.UNEQUAL: lambda left, right: left != right,
    Relation.LESS: lambda left, right: left < right,
    Relation.AT_MOST: lambda left, right: left <= right,
    Relation.GREATER: lambda left, right: left > right,
    Relation.AT_LEAST: lambda left, right: left >= right,
}

Window = TimeWindow | CountWindow


def canonical(name: str) -> str:
    """An attribute's name: `Source` and `Value` of the event model in any case, others as is."""
    lower = str(name).lower()
    return lower if lower in ("source", "value") else str(name)


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint as it is written: its form, what it is about and what it is compared with.

    `inner` is the comparison inside the brackets of a Count.
    """

    form: str
    type: str
    attribute: str
    span: Span
    relation: Relation | None = None
    bound: Expression | None = None
    inner: Comparison | None = None
    function: Function = Function.COUNT
    index: int = 0

    def compare(self, left: Expression) -> Comparison | None:
        """The comparison with its left side filled in; None where nothing is compared."""
        if self.relation is None or self.bound is None:
            return None
        return Comparison(self.relation, left, self.bound, span=self.span)

    @property
    def own(self) -> Attribute:
        """The attribute, of the event being tested."""
        return Attribute(None, self.attribute, span=self.span)

    def predicate(self, test: Comparison | None) -> EventPredicate:
        """The events of the type that pass a test."""
        return EventPredicate((self.type,), test, span=self.span)


@dataclass
class WhereLowering(Lowering):
    """Lowers the Where clause of one rule, and keeps what its output needs."""

    constants: dict[str, Value] = field(default_factory=dict)
    defined: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The attributes of the types that rules of the text define."""
    inputs: dict[str, None] = field(default_factory=dict)
    """The types of the From clause."""
    used: set[str] = field(default_factory=set)
    values: list[Expression] = field(default_factory=list)
    """The values of the constraints' subjects, in order."""
    labels: list[tuple[str, str, bool]] = field(default_factory=list)
    """Label and type of every constraint, and whether it holds a single event."""
    optional: set[str] = field(default_factory=set)
    """The labels that a match may leave without events: those of alternatives."""

    def where(self, tree: ParseTree, keys: tuple[Key, ...]) -> Run | Collection | None:
        """Lower the whole clause."""
        body_tree, window_tree = parts(tree)
        window = self._window(window_tree) if window_tree else None
        if body_tree.data not in (*_JOINING, "absent"):
            return self._run(self._constraint(body_tree), window, keys)
        if self._too_many(body_tree):
            return None
        body = self._body(body_tree)
        if not self._check_happens(body, body_tree):
            return None
        for pick in find(body, Pick):
            self._check_index(pick.index, window, pick.span)
        return Collection(body, window, keys, span=self.span(tree))

    def _too_many(self, tree: ParseTree) -> bool:
        """Report more constraints than a rule may have; the search for a match goes that deep."""
        count = sum(1 for _ in tree.find_pred(lambda found: found.data in _FORMS))
        if count > CONSTRAINT_LIMIT:
            self.error(
                "LIMIT_EXCEEDED",
                f"rule {self.rule} must have at most {CONSTRAINT_LIMIT} constraints; got {count}",
                tree,
                hint="split the rule in two: one rule may use what another one defines",
            )
            self.used.update(self.inputs)
        return count > CONSTRAINT_LIMIT

    def _window(self, tree: ParseTree) -> Window:
        if tree.data == "within":
            number, unit = parts(tree)
            return TimeWindow(self.duration(number, unit, "s"), span=self.span(tree))
        return CountWindow(self.count(parts(tree)[0], "Batch"), span=self.span(tree))

    # --- names ---------------------------------------------------------------

    def input_type(self, token: Token) -> str:
        """A type of the From clause; reported when it is not there."""
        if str(token) not in self.inputs:
            self.error(
                "UNKNOWN_EVENT",
                f"event {token} is not in From of rule {self.rule}",
                token,
                hint=self._owned(token) or self.meant(str(token), self.inputs),
            )
        return str(token)

    def _owned(self, token: Token) -> str:
        """A hint on an attribute that stands without its event."""
        schema, name = self.context.schema, canonical(token)
        owners = [type_ for type_ in self.inputs if name in map(str.lower, schema.get(type_, ()))]
        if not owners:
            return ""
        return (
            f"an attribute stands behind its event: {' or '.join(f'{o}.{token}' for o in owners)}"
        )

    def _subject(self, type_: Token, name: Token | None) -> tuple[str, str]:
        """Type and attribute; a bare type means its value, which for a definition comes first."""
        self.used.add(self.input_type(type_))
        wanted = canonical(name) if name else "value"
        known = self.defined.get(str(type_))
        if known is None and name is None:
            known = tuple(self.context.schema.get(str(type_), ()))
        others = [attribute for attribute in known or () if attribute != "source"]
        if wanted == "value" and others and "value" not in others:
            wanted = others[0]
        return str(type_), wanted

    def _label(self, type_: str, single: bool) -> str:
        """The type's name, with a number from the second constraint about it on."""
        taken = {label for label, _, _ in self.labels}
        label, number = type_, 2
        while label in taken or (label != type_ and label in self.inputs):
            label, number = f"{type_}{number}", number + 1
        self.labels.append((label, type_, single))
        return label

    def operand(self, tree: ParseTree) -> Expression:
        """Named constants; nothing else may stand on the right of a comparison."""
        if tree.data == "attribute":
            self.error(
                "WRONG_STRUCTURE",
                f"a constraint of rule {self.rule} must compare with a constant; "
                f"got {'.'.join(parts(tree))}",
                tree,
                hint="Composite relates the attributes of several events by equality",
            )
            return Literal(0)
        word = parts(tree)[0]
        if str(word) not in self.constants:
            self.error(
                "UNKNOWN_NAME",
                f"{word} in rule {self.rule} is not known",
                word,
                expected=f'a number, a text in quotes such as "{word}", or a constant',
                hint=did_you_mean(str(word), self.constants)
                or f"declare it before the rules: Constant {word} = 80",
            )
        return Literal(self.constants.get(str(word), 0), span=self.span(word))

    # --- one constraint ------------------------------------------------------

    def _constraint(self, tree: ParseTree) -> Constraint:
        form, children, span = str(tree.data), parts(tree), self.span(tree)
        if form == "pick":
            return self._pick(children, span)
        if form == "count":
            return self._count(children, span)
        reference, operator, bound = children[-3:]
        type_, name = self._subject(*parts(reference))
        function = _FUNCTIONS.get(str(children[0]).lower(), Function.AVG)
        compared = self._compared(operator, bound)
        return Constraint(form, type_, name, span, *compared, function=function)

    def _compared(
        self, operator: Token | None, bound: Branch | None
    ) -> tuple[Relation | None, Expression | None]:
        if operator is None or bound is None:
            return None, None
        return self.relation(operator), self.expression(bound)

    def _count(self, children: tuple[Any, ...], span: Span) -> Constraint:
        _, reference, inner, inner_bound, operator, bound = children
        type_, name = self._subject(*parts(reference))
        compared = self._compared(inner, inner_bound)
        inside = Constraint("each", type_, name, self.span(reference), *compared)
        compared = self._compared(operator, bound)
        return Constraint("count", type_, name, span, *compared, inner=inside.compare(inside.own))

    def _pick(self, children: tuple[Any, ...], span: Span) -> Constraint:
        type_token, place, name_token, operator, bound = children
        type_, name = self._subject(type_token, name_token)
        compared = self._compared(operator, bound)
        return Constraint("pick", type_, name, span, *compared, index=self._index(place))

    def _index(self, place: Token) -> int:
        if place.type != "INT":
            return 1 if place.type == "FIRST" else -1
        index = self.integer(place)
        if index < 1:
            self.error(
                "WRONG_STRUCTURE",
                f"index in rule {self.rule} must be at least 1; got {place}",
                place,
                hint="events count from 1; first and last are understood too",
            )
        return max(1, index)

    # --- a run ---------------------------------------------------------------

    def _run(self, constraint: Constraint, window: Window | None, keys: tuple[Key, ...]) -> Run:
        """One constraint: a run, judged when its window is full (paper, 5.3 and Table 2)."""
        if window is None and constraint.form not in ("each", "bare"):
            self._error_without_window(constraint)
        window = window or CountWindow(1, span=constraint.span)
        label = self._label(constraint.type, single=False)
        test: Comparison | None = None
        condition: Each | Expression | None = None
        value: Expression = Collected(Function.AVG, label, constraint.attribute)
        if constraint.form == "bare":
            test = constraint.compare(constraint.own)
        elif constraint.form == "each":
            value = Item(label, -1, constraint.attribute)
            each = constraint.compare(constraint.own)
            condition = Each(each, span=constraint.span) if each else None
        else:
            value = self._whole(constraint, label)
            condition = constraint.compare(value)
        self._check_full(constraint, window)
        self.values.append(value)
        predicate = constraint.predicate(test)
        return Run(label, predicate, window, condition, keys, span=constraint.span)

    def _whole(self, constraint: Constraint, label: str) -> Expression:
        """What a constraint on the whole run compares.

        A Count sees all events of the run and counts those that satisfy its inner comparison.
        """
        if constraint.form == "pick":
            return Item(label, constraint.index, constraint.attribute, span=constraint.span)
        attribute = constraint.attribute if constraint.form == "aggregate" else None
        return Collected(
            constraint.function, label, attribute, constraint.inner, span=constraint.span
        )

    def _error_without_window(self, constraint: Constraint) -> None:
        average = constraint.function is Function.AVG
        what = "Average" if average else constraint.function.value
        if constraint.form == "pick":
            what = f"{constraint.type}[…]"
        self.error(
            "WRONG_STRUCTURE",
            f"{what} in rule {self.rule} needs a window",
            constraint.span,
            hint="end the Where clause with Within(5 min) or Batch(10)",
        )

    def _check_full(self, constraint: Constraint, window: Window) -> None:
        """Report what no full batch can satisfy."""
        if constraint.form == "pick":
            self._check_index(constraint.index, window, constraint.span)
        if constraint.form != "count" or not isinstance(window, CountWindow):
            return
        number = constraint.bound.value if isinstance(constraint.bound, Literal) else None
        if not isinstance(number, int | float) or constraint.relation is None:
            return
        # Without an inner comparison, the whole batch is counted. With one, from none to all.
        fewest = window.size if constraint.inner is None else 0
        if not _reachable(constraint.relation, number, fewest, window.size):
            self._never(constraint, window.size, number)

    def _never(self, constraint: Constraint, size: int, number: float) -> None:
        holds = "always holds" if constraint.inner is None else "holds at most"
        self.error(
            "WRONG_STRUCTURE",
            f"Count in rule {self.rule} can never be {constraint.relation} {number}: "
            f"a full batch {holds} {size} such events",
            constraint.span,
            hint="write a number that the batch can reach, or a larger batch",
        )

    def _check_index(self, index: int, window: Window | None, span: Span | None) -> None:
        if isinstance(window, CountWindow) and index > window.size:
            self.error(
                "WRONG_STRUCTURE",
                f"event {index} in rule {self.rule} lies outside its batch of {window.size}",
                span,
                hint=f"write an index up to {window.size}, or a larger batch",
            )

    # --- several constraints -------------------------------------------------

    def _body(self, tree: ParseTree) -> Body:
        if tree.data == "absent":
            return self._absence(parts(tree)[1])
        if tree.data not in _JOINING:
            return self._leaf(self._constraint(tree))
        before = len(self.labels)
        items = [self._body(child) for child in parts(tree) if isinstance(child, Tree)]
        if tree.data == "either":
            self.optional.update(label for label, _, _ in self.labels[before:])
            return Alternation(_flat(items, Alternation), span=self.span(tree))
        if tree.data == "both":
            return Conjunction(_flat(items, Conjunction), span=self.span(tree))
        return Sequence(_flat(items, Sequence), strong=True, span=self.span(tree))

    def _leaf(self, constraint: Constraint) -> Body:
        if constraint.form == "aggregate":
            return self._accumulate(constraint)
        if constraint.form == "pick":
            return self._picked(constraint)
        if constraint.form == "count":
            return self._counted(constraint)
        label = self._label(constraint.type, single=True)
        self.values.append(Attribute(label, constraint.attribute))
        predicate = constraint.predicate(constraint.compare(constraint.own))
        return Take(label, predicate, span=constraint.span)

    def _counted(self, constraint: Constraint) -> Take:
        needed = self._needed(constraint)
        label = self._label(constraint.type, single=needed == 1)
        self.values.append(Collected(Function.COUNT, label, None))
        predicate = constraint.predicate(constraint.inner)
        return Take(label, predicate, needed, span=constraint.span)

    def _needed(self, constraint: Constraint) -> int:
        """How many events a Count asks for, as soon as which it is met."""
        number = constraint.bound.value if isinstance(constraint.bound, Literal) else None
        if constraint.relation not in (Relation.EQUAL, Relation.AT_LEAST, Relation.GREATER):
            self.error(
                "WRONG_STRUCTURE",
                f"Count among several constraints of rule {self.rule} must use =, >= or >; "
                f"got {constraint.relation}",
                constraint.span,
                hint="a count is met once enough events are there; Not says that none is",
            )
            return 1
        if not isinstance(number, int) or isinstance(number, bool):
            self.error(
                "WRONG_TYPE",
                f"Count in rule {self.rule} must be compared with a whole number",
                constraint.span,
            )
            return 1
        needed = number + (constraint.relation is Relation.GREATER)
        if needed < 1:
            self.error(
                "WRONG_STRUCTURE",
                f"Count in rule {self.rule} must ask for at least 1 event; got {needed}",
                constraint.span,
                hint=f"write Not {constraint.type} for none",
            )
        return max(1, needed)

    def _accumulate(self, constraint: Constraint) -> Accumulate:
        label = self._label(constraint.type, single=False)
        function, attribute = constraint.function, constraint.attribute
        self.values.append(Collected(function, label, attribute))
        return Accumulate(
            label,
            constraint.predicate(None),
            function,
            attribute,
            constraint.relation or Relation.EQUAL,
            constraint.bound or Literal(None),
            span=constraint.span,
        )

    def _picked(self, constraint: Constraint) -> Pick:
        label = self._label(constraint.type, single=True)
        self.values.append(Attribute(label, constraint.attribute))
        condition = constraint.compare(constraint.own)
        return Pick(label, (constraint.type,), constraint.index, condition, span=constraint.span)

    def _absence(self, tree: ParseTree) -> Absence:
        if tree.data not in ("each", "bare"):
            self.error(
                "WRONG_STRUCTURE",
                f"Not in rule {self.rule} must stand before a single event",
                tree,
                expected="Not X, Not X.value > 80 or Not Each(X) > 80",
            )
            self.used.update(self.inputs)
            return Absence(EventPredicate(()), span=self.span(tree))
        constraint = self._constraint(tree)
        predicate = constraint.predicate(constraint.compare(constraint.own))
        return Absence(predicate, span=self.span(tree))

    def _check_happens(self, body: Body, tree: ParseTree) -> bool:
        """Report a match, or an alternative of one, that needs no event at all (Definition 8)."""
        choices = [choice for either in find(body, Alternation) for choice in either.parts]
        silent = next((part for part in [*choices, body] if not _happens(part)), None)
        if silent is not None:
            self.error(
                "WRONG_STRUCTURE",
                f"a constraint of rule {self.rule} must be about an event that happens",
                silent.span or tree,
                hint="Not says what must be absent between the events of the other constraints",
            )
        return silent is None


def _reachable(relation: Relation, number: float, fewest: int, most: int) -> bool:
    """Whether a whole number between two others is in a relation to a number."""
    if relation is Relation.EQUAL:
        return fewest <= number <= most and number == int(number)
    return any(_HOLDS[relation](count, number) for count in (fewest, most))


def _flat(items: list[Body], kind: type[Sequence | Alternation | Conjunction]) -> tuple[Body, ...]:
    """The items, with those of the same kind opened: brackets around them change nothing."""
    flat: list[Body] = []
    for item in items:
        flat.extend(item.parts if isinstance(item, kind) else (item,))
    return tuple(flat)


def _happens(body: Body) -> bool:
    """Whether every match of it has an event."""
    if isinstance(body, Alternation):
        return all(map(_happens, body.parts))
    if isinstance(body, Sequence | Conjunction):
        return any(map(_happens, body.parts))
    return not isinstance(body, Absence)
