"""TESLA's parse tree to the algebra: a tree of components under the terminator.

Parameters are bound where they first stand as `attribute = $parameter` (or, in the client's
notation, `attribute => $parameter`); everywhere else they are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lark import Token, Tree

from cepheid import algebra
from cepheid.algebra import (
    EACH,
    Aggregate,
    Attribute,
    Binding,
    Comparison,
    Component,
    EventPredicate,
    Expression,
    Function,
    Instant,
    Negation,
    Output,
    OutputAttribute,
    Parameter,
    Policy,
    Relation,
    Rule,
    Selection,
    Window,
    conjunction,
    conjuncts,
)
from cepheid.errors import Report, Source, did_you_mean
from cepheid.events import Kind
from cepheid.languages.lowering import Branch, Context, Lowering, ParseTree, parts
from cepheid.languages.reading import TEXT_LIMIT, Grammar
from cepheid.languages.tesla import limits

_FUNCTIONS = {"average": Function.AVG, **{function.lower(): function for function in Function}}
_NAMES = "|".join(_FUNCTIONS)
_FUNCTION_HINT = (
    "Avg, Sum, Min, Max and Count before a bracket are functions; an event type of that name "
    "stands first without brackets, or has another name such as CountEvent"
)

GRAMMAR = Grammar.load(
    __package__ or "",
    starts=r"^[ \t]*(?:assign\b(?:\s+\d+\s*=>\s*\w+(?:\s*,)?)*(?:\s+rule\b\s+\S+)?(?:\s+define\b)?"
    r"|rule\b(?:\s+\S+(?:\s+define\b)?)?|define\b)",
    friendly={
        "RULE_NAME": "a name for the rule",
        "SELECTION": "each, first, last, n-first or n-last",
        "FUNCTION": "Avg, Sum, Min, Max or Count",
        "UNIT": "a unit of time",
        "PARAMETER": "a parameter such as $a",
        "TIMER": "Timer(every = …)",
        "_RULE": "Rule",
        "_ASSIGN": "Assign",
        "_DEFINE": "define",
        "_FROM": "from",
        "_WHERE": "where",
        "_CONSUMING": "consuming",
        "_WITHIN": "within",
        "_BETWEEN": "between",
        "_AS": "as",
        "_EVERY": "every",
        "_BINDS": "=>",
        "_ASSIGNS": ":=",
    },
    openers=(
        "Rule",
        "define",
    ),
    clauses=("Rule", "define", "from", "where", "consuming"),
    hints=[
        (r"\\\$", "a parameter is written $a, without a backslash"),
        (rf"\bfrom\s+({_NAMES})\s*\(", _FUNCTION_HINT),
        (
            r"(\band|^)\s*(?!(each|first|last|not|within)\b)\w+\s*\([^()]*\)\s*(within|between)\b",
            "say which: each, first or last stands before an event that has a window, or not",
        ),
        (
            r"\bwithin\s+[\d.]+\s*(us|ms|s|sec\w*|min\w*|h\w*|d\w*|week\w*)\.?\s+(?!from\b)\w+"
            r"|\bwithin\b(?!.*\bfrom\b)",
            "a window is written: within 5 min from Smoke",
        ),
        (
            r"\b(from|and)\s+\w+(\([^()]*\))?\s+or\b|^\s*or\b",
            "alternatives go into brackets inside one event: Temp(value > 45 or value < 0)",
        ),
    ],
)


def read(
    source: Source, context: Context, report: Report, limit: int = TEXT_LIMIT
) -> Iterator[Rule]:
    """Every rule of a text, lowered; what is wrong is reported."""
    for passage, tree in GRAMMAR.read(source, report, limit):
        rule = TeslaLowering(passage, report, context).lower(tree)
        if rule is not None:
            yield rule


@dataclass
class TeslaLowering(Lowering):
    """Lowers one TESLA rule."""

    _labels: dict[str, str] = field(default_factory=dict)
    _shared: dict[str, list[str]] = field(default_factory=dict)
    """The types that several events have, with the labels of those events."""
    _components: list[Component] = field(default_factory=list)
    _negations: list[Negation] = field(default_factory=list)
    _bindings: dict[str, Binding] = field(default_factory=dict)
    _conditions: list[Expression] = field(default_factory=list)
    _own: str | None = None
    """The label of the event whose constraints are being read, if it may bind parameters."""

    def lower(self, tree: ParseTree) -> Rule | None:
        """Lower `start`."""
        assign, name, definition, pattern, where, consuming = parts(tree)
        type_ = str(parts(definition)[0])
        self.rule = str(parts(name)[0]) if name else type_
        self._collect_labels(pattern)
        if assign:
            self._check_assigned(assign, tree)
        self._lower_pattern(pattern)
        lowered = algebra.Tree(
            tuple(self._components),
            tuple(self._negations),
            tuple(self._bindings[name] for name in sorted(self._bindings)),
            tuple(self._conditions),
            span=self.span(pattern),
        )
        limits.check(lowered, self)
        rule = Rule(
            self.rule,
            self._output(definition, where),
            lowered,
            tuple(self._label(token) for token in parts(consuming)) if consuming else (),
            point=True,
            language="tesla",
            span=self.span(parts(name)[0] if name else parts(definition)[0]),
        )
        return rule if self.sound else None

    # --- names ---------------------------------------------------------------

    def _collect_labels(self, pattern: ParseTree) -> None:
        """Labels first, so that a window may name an event that stands further down."""
        types: dict[str, list[str]] = {}
        for item in pattern.find_pred(lambda found: found.data in ("terminator", "component")):
            predicate = next(child for child in parts(item) if isinstance(child, Tree))
            alias = parts(item)[1 if item.data == "terminator" else 2]
            token = parts(predicate)[0]
            label = parts(alias)[0] if alias else token
            if str(label) in self._labels:
                self.error(
                    "DUPLICATE_LABEL",
                    f"two events of rule {self.rule} are called {label}",
                    label,
                    hint=f"give them names of their own: {token}(…) as {token}2",
                )
            self._labels[str(label)] = str(label)
            types.setdefault(str(token), []).append(str(label))
        for type_, labels in types.items():
            if len(labels) == 1:
                self._labels.setdefault(type_, labels[0])
            elif type_ not in self._labels:
                self._shared[type_] = labels

    def _label(self, token: Token) -> str:
        """The label that a name stands for: an alias, or a type that occurs once."""
        label = self._labels.get(str(token))
        if str(token) in self._shared:
            self._ambiguous(token, self._shared[str(token)])
        elif label is None:
            self.error(
                "UNKNOWN_LABEL",
                f"no event of rule {self.rule} is called {token}",
                token,
                hint=self.meant(str(token), self._labels),
            )
        return label or str(token)

    def _ambiguous(self, token: Token, labels: list[str]) -> None:
        self.error(
            "AMBIGUOUS_LABEL",
            f"{token} in rule {self.rule} stands for {len(labels)} events",
            token,
            hint=f"write {' or '.join(labels[:4])}",
        )

    def _check_assigned(self, assign: ParseTree, rule: ParseTree) -> None:
        known = {str(parts(entry)[1]) for entry in assign.find_data("assigned")}
        for event in rule.find_pred(lambda found: found.data in ("event", "subject")):
            type_ = parts(event)[0]
            if str(type_) not in known:
                self.error(
                    "UNKNOWN_EVENT",
                    f"event {type_} in rule {self.rule} is not among those of Assign",
                    type_,
                    hint=did_you_mean(str(type_), known),
                )

    # --- pattern -------------------------------------------------------------

    def _lower_pattern(self, pattern: ParseTree) -> None:
        items = [child for child in parts(pattern) if isinstance(child, Tree)]
        if items[0].data != "terminator":
            self.error(
                "WRONG_STRUCTURE",
                f"the pattern of rule {self.rule} must start with its terminator",
                items[0],
                expected="an event without each, first, last or not, such as Smoke(area=$a)",
                hint=_FUNCTION_HINT
                if any(items[0].find_data("aggregate"))
                else "the terminator is the event that completes the match; it comes first",
            )
        for index, item in enumerate(items):
            self._lower_item(item, index)

    def _lower_item(self, item: ParseTree, index: int) -> None:
        if item.data == "terminator":
            if index:
                self.error(
                    "WRONG_STRUCTURE",
                    f"an event of rule {self.rule} has no window",
                    item,
                    expected="each, first, last or not before it and a window behind it",
                    hint="write: each Temp(…) within 5 min from Smoke",
                )
            self._component(item, parts(item)[0], parts(item)[1], EACH, None)
        elif item.data == "component":
            selection, predicate, alias, window = parts(item)
            self._component(
                item, predicate, alias, self._selection(selection), self._window(window)
            )
        elif item.data == "negated":
            _, predicate, window = parts(item)
            lowered = self._closed_predicate(predicate)
            self._negations.append(
                Negation("", lowered, self._window(window), span=self.span(item))
            )
        else:
            self._chain_item(item)

    def _component(
        self,
        item: ParseTree,
        predicate: ParseTree,
        alias: ParseTree | None,
        selection: Selection,
        window: Window | None,
    ) -> None:
        label = str(parts(alias)[0] if alias else parts(predicate)[0])
        if window is not None and not window.length:
            self.error(
                "WRONG_STRUCTURE",
                f"event {label} in rule {self.rule} must have a window by time",
                window.span,
                expected="within … from …",
                hint="between … and … belongs to negations and aggregates",
            )
        self._own = label
        lowered = self._predicate(predicate)
        self._own = None
        self._components.append(Component(label, lowered, selection, window, span=self.span(item)))

    def _selection(self, token: Token) -> Selection:
        number, _, word = "".join(token.split()).lower().rpartition("-")
        count = 1
        if number:
            count = self.count(Token.new_borrow_pos("INT", number, token), "n-first or n-last")
        return Selection(Policy(word), count, span=self.span(token))

    def _window(self, tree: ParseTree) -> Window:
        if tree.data == "within":
            duration, anchor = parts(tree)
            return Window.within(self._duration(duration), self._label(anchor), self.span(tree))
        first, _, second = parts(tree)
        ends = self._label(first), self._label(second)
        if ends[0] == ends[1]:
            self.error(
                "WRONG_WINDOW",
                f"between in rule {self.rule} must name two different events; got {ends[0]} twice",
                second,
            )
        return Window(Instant(ends[0]), Instant(ends[1]), span=self.span(tree))

    def _duration(self, tree: ParseTree) -> int:
        number, unit = parts(tree)
        return self.duration(number, unit, default_unit="ms")

    def _predicate(self, tree: ParseTree) -> EventPredicate:
        if tree.data == "timer":
            period = self._duration(parts(tree)[2])
            return EventPredicate(("Timer",), every=period, span=self.span(tree))
        type_, constraints = parts(tree)
        return EventPredicate((str(type_),), self._constraints(constraints), span=self.span(type_))

    def _closed_predicate(self, tree: ParseTree) -> EventPredicate:
        """A predicate of a negation or aggregate: it uses parameters but binds none."""
        self._own = None
        return self._predicate(tree)

    def _constraints(self, tree: ParseTree | None) -> Expression | None:
        kept: list[Expression] = []
        for constraint in parts(tree) if tree else ():
            if isinstance(constraint, Tree) and constraint.data == "binds":
                _, name, parameter = parts(constraint)
                attribute = Attribute(None, str(name), span=self.span(name))
                lowered: Expression = Comparison(
                    Relation.EQUAL,
                    attribute,
                    self._parameter(parameter),
                    span=self.span(constraint),
                )
            else:
                lowered = self.expression(constraint)
            kept += [part for part in conjuncts(lowered) if not self._binds(part)]
        return conjunction(kept)

    def _binds(self, condition: Expression) -> bool:
        """Take `attribute = $new` as the binding of a parameter that is not bound yet."""
        if self._own is None or not isinstance(condition, Comparison):
            return False
        left, right = condition.left, condition.right
        if condition.relation != Relation.EQUAL or not isinstance(right, Parameter):
            return False
        if (
            not isinstance(left, Attribute)
            or left.label is not None
            or right.name in self._bindings
        ):
            return False
        value = Attribute(self._own, left.name, span=left.span)
        self._bindings[right.name] = Binding(right.name, value, span=condition.span)
        return True

    def _chain_item(self, item: ParseTree) -> None:
        """A chain such as `45 < $t = Avg(…)`: a link `$new = …` binds, the others must hold."""
        values = [self.expression(child) for child in parts(item)[::2]]
        relations = [self.relation(child) for child in parts(item)[1::2]]
        if not relations:
            self._conditions.append(values[0])
        links = list(zip(values, relations, values[1:], strict=False))
        bound = [self._binds_value(*link) for link in links]
        for (left, relation, right), taken in zip(links, bound, strict=True):
            if not taken:
                self._conditions.append(Comparison(relation, left, right, span=self.span(item)))

    def _binds_value(self, left: Expression, relation: Relation, right: Expression) -> bool:
        if not isinstance(left, Parameter) or relation != Relation.EQUAL:
            return False
        if left.name in self._bindings:
            return False
        self._bindings[left.name] = Binding(left.name, right, span=left.span)
        return True

    # --- operands ------------------------------------------------------------

    def operand(self, tree: ParseTree) -> Expression:
        """Attributes, parameters and aggregates."""
        if tree.data == "own":
            kind, name = parts(tree)
            if kind:
                self._kind(parts(kind)[0])
            return Attribute(None, str(name), span=self.span(name))
        if tree.data == "attribute":
            label, name = parts(tree)
            return Attribute(self._label(label), str(name), span=self.span(tree))
        if tree.data == "parameter":
            return self._parameter(parts(tree)[0])
        return self._aggregate(tree)

    def _parameter(self, token: Token) -> Parameter:
        return Parameter(str(token)[1:], span=self.span(token))

    def _aggregate(self, tree: ParseTree) -> Expression:
        function, subject, inner, outer = parts(tree)
        own, self._own = self._own, None
        type_, before, attribute, after = parts(subject)
        arguments = [given for given in (before, after) if given is not None]
        if len(arguments) == 2:
            self._wrong_aggregate(tree, "its constraints in one place")
        if (inner is None) == (outer is None):
            self._wrong_aggregate(tree, "one window")
        constraints = parts(arguments[0])[0] if arguments else None
        predicate = EventPredicate(
            (str(type_),), self._constraints(constraints), span=self.span(type_)
        )
        window = self._window(inner or outer) if inner or outer else Window(None, None)
        self._own = own
        wanted = _FUNCTIONS[function.lower()]
        name = str(attribute) if attribute else self._default_attribute(wanted, str(type_))
        return Aggregate(wanted, predicate, name, window, span=self.span(tree))

    def _wrong_aggregate(self, tree: ParseTree, requirement: str) -> None:
        function, subject = parts(tree)[:2]
        self.error(
            "WRONG_STRUCTURE",
            f"aggregate {function} in rule {self.rule} must have {requirement}",
            tree,
            expected=f"{function}({parts(subject)[0]}(…).attribute within 5 min from …)",
        )

    def _default_attribute(self, function: Function, type_: str) -> str | None:
        """What `Avg(Temp(…))` means: the only number that the event has, or `value`."""
        if function is Function.COUNT:
            return None
        kinds = self.context.schema.get(type_, {})
        numbers = [name for name, kind in kinds.items() if kind.numeric]
        return numbers[0] if len(numbers) == 1 else "value"

    # --- output --------------------------------------------------------------

    def _output(self, definition: ParseTree, where: ParseTree | None) -> Output:
        type_, *declared = parts(definition)
        values = self._assignments(where)
        attributes: dict[str, OutputAttribute] = {}
        for entry in declared:
            if entry is not None and (attribute := self._declared(type_, entry, values)):
                self._check_declared_once(type_, parts(entry)[0], attributes)
                attributes[attribute.name] = attribute
        names = [str(parts(entry)[0]) for entry in declared if entry]
        for name, (token, _) in values.items():
            if name not in names:
                self.error(
                    "UNKNOWN_ATTRIBUTE",
                    f"{type_} of rule {self.rule} has no attribute {name}",
                    token,
                    hint=did_you_mean(name, names),
                )
        return Output(str(type_), tuple(attributes.values()), span=self.span(type_))

    def _declared(
        self, type_: Token, entry: ParseTree, values: dict[str, tuple[Branch, Expression]]
    ) -> OutputAttribute | None:
        name, word = parts(entry)
        kind = self._kind(word)
        if str(name) not in values:
            self.error(
                "WRONG_STRUCTURE",
                f"attribute {name} of {type_} in rule {self.rule} gets no value",
                name,
                expected=f"where {name} = …",
                hint=f"give it one in where, or take {name} out of define",
            )
            return None
        return OutputAttribute(str(name), kind, values[str(name)][1], span=self.span(name))

    def _check_declared_once(
        self, type_: Token, name: Token, known: dict[str, OutputAttribute]
    ) -> None:
        if str(name) in known:
            self.error(
                "DUPLICATE_DEFINITION",
                f"attribute {name} of {type_} in rule {self.rule} is declared twice",
                name,
            )

    def _assignments(self, where: ParseTree | None) -> dict[str, tuple[Branch, Expression]]:
        values: dict[str, tuple[Branch, Expression]] = {}
        for assignment in where.find_data("assignment") if where else ():
            name, value = parts(assignment)[0], parts(assignment)[-1]
            if str(name) in values:
                self.error(
                    "DUPLICATE_DEFINITION",
                    f"attribute {name} in rule {self.rule} gets two values",
                    name,
                )
            values[str(name)] = (name, self.expression(value))
        return values

    def _kind(self, word: Token) -> Kind | None:
        return self.kind(word, ("string", "int", "double", "float", "bool"))
