"""LAIPL's parse tree to the algebra: a run for one constraint, a collection for several.

The definitions and constants of the whole text are collected before any rule is lowered, because
rules refer to each other's output: the value of a defined type is its first attribute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from lark import Token

from cepheid.algebra import (
    Attribute,
    Coalesce,
    Expression,
    Item,
    Key,
    Literal,
    Output,
    OutputAttribute,
    Rule,
)
from cepheid.errors import Report, Source
from cepheid.events import Kind, Value, kind_of
from cepheid.languages.laipl.constraints import WhereLowering, canonical
from cepheid.languages.lowering import Branch, Context, Lowering, ParseTree, parts
from cepheid.languages.reading import TEXT_LIMIT, Grammar, Passage

GRAMMAR = Grammar.load(
    __package__ or "",
    starts=r"^[ \t]*(rule|constant)\b",
    friendly={
        "RULE_NAME": "a name for the rule",
        "UNIT": "a unit of time",
        "EACH": "Each(…)",
        "COUNT": "Count(…)",
        "FUNCTION": "Average(…), Sum(…), Min(…) or Max(…)",
        "FIRST": "first",
        "LAST": "last",
        "COMMA": ",",
        "_CONSTANT": "Constant",
        "_RULE": "Rule",
        "_DEFINE": "Define",
        "_FROM": "From",
        "_WHERE": "Where",
        "_COMPOSITE": "Composite",
        "_THEN": "Then",
        "_WITHIN": "Within(…)",
        "_BATCH": "Batch(…)",
        "_BEFORE_WINDOW": ",",
    },
    openers=(
        "Rule",
        "Constant",
    ),
    clauses=("Rule", "Define", "From", "Where", "Composite"),
    hints=[
        (
            r"(?<!\w)\(\s*[^\W\d][^()]*\)\s*[<>=!≤≥≠]",
            "say what is computed: Average(CPU.value) > 80, Count(CPU.value > 80) = 3",
        ),
        (
            r"\b(count|average|avg|sum|min|max)\s*\([^()]*\)\s*(?![<>=!≤≥≠\s])",
            "what is computed is compared: Count(CPU.value > 80) = 3",
        ),
        (r"\bfollowed\b|->|→", "one after the other is written: Response Then Fault"),
        (
            r"\bbatch\s*\(\s*\d+\s*[^\W\d]",
            "Batch counts events: Batch(300); a length of time is written Within(5 min)",
        ),
        (
            r"\bcomposite\b.*\b(within|batch)\b",
            "the window stands at the end of Where, before Composite",
        ),
        (r"\bwithin\s*[^\s(]", "a window by time is written: Within(5 min)"),
        (r"\bbatch\s*[^\s(]", "a window by count is written: Batch(300)"),
        (r"\bcomposite\b.*=\s*[\w.]*[-:/]", "a text that is not one word goes into quotes"),
        (r"\b(within|batch)\s*\([^()]*\).*\S", "the window stands once, at the end of Where"),
    ],
)


def read(
    source: Source, context: Context, report: Report, limit: int = TEXT_LIMIT
) -> Iterator[Rule]:
    """Every rule of a text, lowered; what is wrong is reported."""
    statements = [
        (passage, parts(tree)[0]) for passage, tree in GRAMMAR.read(source, report, limit)
    ]
    rules = [(passage, tree) for passage, tree in statements if tree.data == "rule"]
    constants = _Constants(context, report)
    for passage, tree in statements:
        if tree.data == "constant":
            constants.add(passage, tree)
    defined = _definitions([tree for _, tree in rules])
    for passage, tree in rules:
        lowering = LaiplLowering(
            passage, report, context, constants=constants.values, defined=defined
        )
        rule = lowering.lower(tree)
        if rule is not None:
            yield rule


class _Constants:
    """The named constants of a text; those given in code win, so that a text can be tuned."""

    def __init__(self, context: Context, report: Report) -> None:
        self.context, self.report = context, report
        self.values: dict[str, Value] = dict(context.constants)
        self._seen: set[str] = set()

    def add(self, passage: Passage, tree: ParseTree) -> None:
        """Take a Constant statement."""
        name, _, branch = parts(tree)
        lowering = Lowering(passage, self.report, self.context, f"Constant {name}")
        value = lowering.expression(branch)
        if str(name) in self._seen:
            lowering.error("DUPLICATE_DEFINITION", f"constant {name} is defined twice", name)
        self._seen.add(str(name))
        if isinstance(value, Literal) and value.value is not None:
            self.values.setdefault(str(name), value.value)


def _definitions(rules: list[ParseTree]) -> dict[str, tuple[str, ...]]:
    """The attributes of every defined type; of two definitions the first counts."""
    defined: dict[str, tuple[str, ...]] = {}
    for rule in rules:
        type_, *declared = parts(parts(rule)[1])
        names = tuple(canonical(parts(entry)[0]) for entry in declared if entry)
        defined.setdefault(str(type_), names)
    return defined


@dataclass
class LaiplLowering(WhereLowering):
    """Lowers one LAIPL rule."""

    _keys: list[Key] = field(default_factory=list)

    def lower(self, tree: ParseTree) -> Rule | None:
        """Lower `rule`."""
        name, definition, inputs, where, composite = parts(tree)
        self.rule = str(name)
        self._inputs(inputs)
        if composite:
            self._composite(composite)
        pattern = self.where(where, tuple(self._keys))
        self._unused(inputs)
        output = self._output(definition)
        if self.sound:
            self._check_values(definition, output)
        if not self.sound or pattern is None:
            return None
        return Rule(self.rule, output, pattern, language="laipl", span=self.span(name))

    # --- From ----------------------------------------------------------------

    def _inputs(self, tree: ParseTree) -> None:
        for token in parts(tree):
            if str(token) in self.inputs:
                self.error(
                    "WRONG_STRUCTURE", f"From of rule {self.rule} names {token} twice", token
                )
            self.inputs[str(token)] = None

    def _unused(self, tree: ParseTree) -> None:
        for token in parts(tree):
            if str(token) not in self.used:
                self.error(
                    "WRONG_STRUCTURE",
                    f"event {token} is in From of rule {self.rule}, but no constraint is about it",
                    token,
                    hint=f"take it out of From, or write {token} in Where",
                )

    # --- Composite -----------------------------------------------------------

    def _composite(self, tree: ParseTree) -> None:
        for chain in parts(tree):
            if isinstance(chain, Token):
                continue
            members = [item for item in parts(chain) if _kind_of_member(item) != "EQUAL"]
            attributes = [item for item in members if _kind_of_member(item) == "attribute"]
            constants = [item for item in members if _kind_of_member(item) != "attribute"]
            related = [self._related(item) for item in attributes]
            if not attributes or len(constants) > 1:
                self.error(
                    "WRONG_STRUCTURE",
                    f"Composite of rule {self.rule} must relate attributes to each other "
                    "or to one constant",
                    chain,
                    expected=f"{next(iter(self.inputs))}.Source = S001 or A.Source = B.Source",
                )
            elif constants:
                value = self._constant(constants[0])
                self._keys.append(Key(tuple(related), value, span=self.span(chain)))
            else:
                self._relate(chain, related)

    def _related(self, tree: ParseTree) -> tuple[str, str]:
        type_, name = parts(tree)
        self.input_type(type_)
        return str(type_), canonical(name)

    def _constant(self, item: Branch) -> Value | None:
        """A bare word is a named constant if there is one, else a text."""
        if isinstance(item, Token) or item.data != "word":
            literal = self.expression(item)
            return literal.value if isinstance(literal, Literal) else None
        word = str(parts(item)[0])
        return self.constants.get(word, word)

    def _relate(self, chain: ParseTree, related: list[tuple[str, str]]) -> None:
        times = Counter(type_ for type_, _ in related)
        missing = [type_ for type_ in self.inputs if type_ not in times]
        twice = [type_ for type_, count in times.items() if count > 1]
        if missing:
            self.error(
                "WRONG_STRUCTURE",
                f"Composite of rule {self.rule} relates some input events, but not "
                f"{', '.join(missing)}",
                chain,
                hint=f"add it to the chain: … = {missing[0]}.{related[0][1]}",
            )
        if twice:
            self.error(
                "WRONG_STRUCTURE",
                f"Composite of rule {self.rule} names {twice[0]} twice in one chain",
                chain,
                expected="one attribute of every input event",
            )
        self._keys.append(Key(tuple(related), span=self.span(chain)))

    # --- Define --------------------------------------------------------------

    def _output(self, definition: ParseTree) -> Output:
        type_, *declared = parts(definition)
        entries = [parts(entry) for entry in declared if entry]
        names = [canonical(name) for name, _ in entries]
        source = self._source()
        values = list(self.values)
        if source and names[len(values) :][:1] == ["source"]:
            values.append(source.value)
        self._check_names(entries, names)
        attributes = [
            OutputAttribute(name, self._kind(word), value, span=self.span(token))
            for name, (token, word), value in zip(names, entries, values, strict=False)
        ]
        if source and "source" not in names:
            attributes.append(source)
        return Output(str(type_), tuple(attributes), span=self.span(type_))

    def _check_names(self, entries: list[tuple[Token, Token]], names: list[str]) -> None:
        seen: set[str] = set()
        for (token, _), name in zip(entries, names, strict=True):
            if name in seen:
                self.error(
                    "DUPLICATE_DEFINITION",
                    f"attribute {token} is defined twice in rule {self.rule}",
                    token,
                )
            seen.add(name)

    def _check_values(self, definition: ParseTree, output: Output) -> None:
        given = {attribute.name for attribute in output.attributes}
        names = [parts(entry)[0] for entry in parts(definition)[1:] if entry]
        for name in [name for name in names if canonical(name) not in given][:1]:
            self.error(
                "WRONG_STRUCTURE",
                f"attribute {name} in rule {self.rule} gets no value: "
                f"its constraints give {len(self.values)}",
                name,
                hint="the attributes of Define take the values of the constraints in order",
            )

    def _kind(self, word: Token) -> Kind | None:
        return self.kind(word, ("String", "Integer", "Double", "Float", "Boolean"))

    def _source(self) -> OutputAttribute | None:
        """The source that the composite event inherits, so that rules chain (Definition 2)."""
        equated = next((key for key in self._keys if key.value is None and _on_source(key)), None)
        fixed = self._fixed_source(equated is not None)
        if fixed is not None:
            return OutputAttribute("source", kind_of(fixed), Literal(fixed))
        if equated is None or not self.labels:
            return None
        certain = [found for found in self.labels if found[0] not in self.optional][:1]
        options = [_part(found, equated) for found in certain or self.labels]
        value = options[0] if len(options) == 1 else Coalesce(tuple(options))
        return OutputAttribute("source", self._kind_of_source(equated), value)

    def _kind_of_source(self, key: Key) -> Kind:
        kinds = (self.context.schema.get(type_, {}).get(name) for type_, name in key.attributes)
        return next((kind for kind in kinds if kind is not None), Kind.STRING)

    def _fixed_source(self, equated: bool) -> Value | None:
        """The constant that Composite gives as the source of all events that take part."""
        given = {
            type_: key.value
            for key in self._keys
            for type_, name in key.attributes
            if key.value is not None and name == "source"
        }
        types = {type_ for _, type_, _ in self.labels}
        complete = given and (equated or types <= given.keys())
        values = list(given.values())
        return values[0] if complete and all(value == values[0] for value in values) else None


def _part(found: tuple[str, str, bool], key: Key) -> Expression:
    """The attribute of a key in the events of a constraint."""
    label, type_, single = found
    name = key.attribute(type_) or "source"
    return Attribute(label, name) if single else Item(label, -1, name)


def _on_source(key: Key) -> bool:
    return any(name == "source" for _, name in key.attributes)


def _kind_of_member(item: Branch) -> str:
    return item.type if isinstance(item, Token) else str(item.data)
