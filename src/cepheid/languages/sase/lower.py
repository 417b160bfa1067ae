"""SASE's parse tree to the algebra: a chain of components that ends in the last positive one.

Section 2.2.2 of the paper gives the meaning: the positive components follow each other strictly,
a negative component is a question about the open interval between its neighbours, and the WHERE
clause falls into a part about positive components and a part about negative ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from lark import Token, Tree

from cepheid import algebra
from cepheid.algebra import (
    And,
    Attribute,
    Comparison,
    Component,
    Equivalence,
    EventPredicate,
    Expression,
    Instant,
    Literal,
    Negation,
    Not,
    Or,
    Output,
    OutputAttribute,
    Rule,
    Window,
    conjunction,
    conjuncts,
    find,
)
from cepheid.errors import Report, Source
from cepheid.languages.lowering import Branch, Context, Lowering, ParseTree, parts
from cepheid.languages.reading import TEXT_LIMIT, Grammar

DEFAULT_TYPE = "Match"
"""The type of the composite events of a query without a name."""

_UNITS = "us|ms|msec|milliseconds?|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?"

GRAMMAR = Grammar.load(
    __package__ or "",
    # EVENT on the line after the query's name begins nothing, and neither does an attribute
    # `event = …`.
    starts=r"^[ \t]*(query(?![\w\-]|\s*[=.,)\]:])(\s+\S+\s+event(?![\w\-]))?"
    r"|[^\W\d]\w*(-\w+)*[ \t]*:(\s*event(?![\w\-]))?"
    r"|event(?![\w\-]|\s*[=.,)\]:]))",
    friendly={
        "TYPE": "an event type",
        "VARIABLE": "a variable",
        "HYPHENATED": "a variable",
        "UNIT": "a unit of time",
        "WORD": "a number",
        "NOT": "!",
        "AND": "AND",
        "OR": "OR",
        "_QUERY": "QUERY",
        "_EVENT": "EVENT",
        "_SEQ": "SEQ",
        "_ANY": "ANY",
        "_WHERE": "WHERE",
        "_WITHIN": "WITHIN",
        "_RETURN": "RETURN",
    },
    openers=(
        "QUERY",
        "EVENT",
    ),
    clauses=("QUERY", "EVENT", "WHERE", "WITHIN", "RETURN"),
    hints=[
        (r"\bquery\s*$", "a query has a name: QUERY Shoplifting"),
        (
            r"\bquery\s+[\w\-]+\s+(?!event\b)[\w\-]+",
            "the name of a query is one word: QUERY Shop-Lifting",
        ),
        (
            r"[(,]\s*(?!not\b)[^\W\d][\w\-]*\s+[^\W\d]\w*\s+[^\W\d]\w*(?=\s*[,)])",
            "an event has a type of one word and a variable: EXIT-READING z",
        ),
        (
            r"\breturn\s+([\w\-]+\s*\(([^()]*,)?\s*)?[^\W\d]\w*\s*\.",
            "a result has a type, and attributes with names: RETURN Theft(item = x.id)",
        ),
        (r"\bwithin\s+[^\W\d]+\s+\d", "the number stands first: WITHIN 12 hours"),
        (r"\bin\s*\(", "name each value by itself: x.shelf = 'A1' OR x.shelf = 'A2'"),
        (
            r"\bseq\b((?!\bevent\b).)*\bseq\b|(!|¬|\bnot\b)\s*\(?\s*seq\b|\bany\s*\([^)]*\bseq\b",
            "write the inner sequence as a query of its own and use its name here",
        ),
        (
            r"(\bevent|,|[(!¬]|\bnot)\s*[^\W\d][\w\-]*(-(\s+[^\W\d]|\s*$)|\s-[^\W\d])",
            "a type with a hyphen is written without blanks: COUNTER-READING",
        ),
        (
            rf"\bwithin\s+\d[\d.]*\s*(?!({_UNITS}|return)\b)[a-z]",
            "units are us, ms, s, min, hours, days and weeks; a bare number counts seconds",
        ),
        (
            r"(<|>|=|≤|≥|≠)\s*[^\s()<>=≤≥≠,]+\s*(<|>|=|≤|≥|≠)=?",
            "a predicate compares two values; join two of them with AND: 1 < x.a AND x.a < 5",
        ),
    ],
)


def read(
    source: Source, context: Context, report: Report, limit: int = TEXT_LIMIT
) -> Iterator[Rule]:
    """Every query of a text, lowered; what is wrong is reported."""
    for passage, tree in GRAMMAR.read(source, report, limit):
        rule = SaseLowering(passage, report, context).lower(tree)
        if rule is not None:
            yield rule


def default_label(types: tuple[str, ...]) -> str:
    """What an event without a variable is called.

    >>> default_label(("A", "B"))
    'A_or_B'
    """
    return "_or_".join(types)


def gap_windows(labels: list[str], within: int | None) -> list[Window]:
    """Where a negation looks, for every gap: before the first positive event, between, after.

    The first and the last gap need the length of the window (section 2.2.2: negated start, end).

    >>> [window.low for window in gap_windows(["x", "z"], 5)]
    [Instant(label='z', offset=-5), Instant(label='x', offset=0), Instant(label='z', offset=0)]
    """
    first, last, length = labels[0], labels[-1], within or 0
    between = [Window(Instant(low), Instant(high)) for low, high in pairwise(labels)]
    start = Window(Instant(last, -length), Instant(first))
    end = Window(Instant(last), Instant(first, length))
    return [start, *between, end]


@dataclass(frozen=True, slots=True)
class _Item:
    """A component of the EVENT clause as it stands in the text."""

    label: str
    types: tuple[str, ...]
    negated: bool
    tree: ParseTree


@dataclass
class SaseLowering(Lowering):
    """Lowers one SASE query."""

    _items: dict[str, _Item] = field(default_factory=dict)
    """The components by label, in the order of the text."""
    _prefixes: set[str] = field(default_factory=set)
    """What the names of output attributes begin with."""
    _conditions: list[Expression] = field(default_factory=list)
    _against: dict[str, list[Expression]] = field(default_factory=dict)
    """What the events of a negative component must satisfy to count, by label (P-)."""
    _equivalences: list[Equivalence] = field(default_factory=list)
    _own: str | None = None
    """The negative component whose predicates are being read."""

    def lower(self, tree: ParseTree) -> Rule | None:
        """Lower `start`."""
        query, pattern, where, within, returns = parts(tree)
        type_ = parts(returns)[0] if returns else parts(query)[0] if query else None
        self.rule = str(parts(query)[0] if query else type_ or DEFAULT_TYPE)
        self._collect_items(pattern)
        length = self._length(within) if within else None
        if where:
            self._lower_where(where)
        rule = Rule(
            self.rule,
            self._output(str(type_ or DEFAULT_TYPE), returns),
            self._tree(pattern, length),
            missing=True,
            language="sase",
            span=self.span(parts(query)[0] if query else pattern),
        )
        return rule if self.sound else None

    # --- EVENT ---------------------------------------------------------------

    def _collect_items(self, pattern: ParseTree) -> None:
        for child in parts(pattern):
            negated = child.data == "negated"
            types, variable = parts(parts(child)[-1] if negated else child)
            names = tuple(str(token) for token in parts(types))
            self._check_any(types)
            label = str(variable) if variable else default_label(names)
            item = _Item(label, names, negated, child)
            self._check_label(item, variable or types)
            self._items[label] = item

    def _check_any(self, types: ParseTree) -> None:
        seen: set[str] = set()
        for token in parts(types):
            if str(token) in seen:
                self.error(
                    "WRONG_STRUCTURE",
                    f"type {token} stands twice in an ANY of rule {self.rule}",
                    token,
                    hint="name every type once",
                )
            seen.add(str(token))

    def _check_label(self, item: _Item, at: Branch) -> None:
        """Labels differ, also with `-` read as `_`: they begin the names of output attributes."""
        prefix = item.label.replace("-", "_")
        if prefix in self._prefixes:
            type_ = item.types[0] if len(item.types) == 1 else f"ANY({', '.join(item.types)})"
            self.error(
                "DUPLICATE_LABEL",
                f"two events of rule {self.rule} are called {item.label}",
                at,
                hint=f"give each a variable of its own: {type_} x, {type_} y",
            )
        self._prefixes.add(prefix)

    def _length(self, within: ParseTree) -> int:
        if within.data == "symbolic":
            (name,) = parts(within)
            self.error(
                "UNKNOWN_NAME",
                f"window {name} in rule {self.rule} must be a length of time",
                name,
                expected="a number with a unit, such as 12 hours",
                hint=f"put a length in the place of {name}; a bare number counts seconds",
            )
            return 1
        number, unit = parts(within)
        return self.duration(number, unit, default_unit="s")

    def _tree(self, pattern: ParseTree, length: int | None) -> algebra.Tree:
        positive = [item for item in self._items.values() if not item.negated]
        if not positive:
            self.error(
                "WRONG_STRUCTURE",
                f"the pattern of rule {self.rule} must have an event that occurs",
                pattern,
                expected="an event without ! in SEQ(…)",
                hint="what does not happen is measured from something that does: SEQ(A x, !(B y))",
            )
            return algebra.Tree(())
        return algebra.Tree(
            tuple(self._components(positive)),
            tuple(self._negations([item.label for item in positive], length)),
            conditions=tuple(self._conditions),
            equivalences=tuple(self._equivalences),
            within=length,
            deadline=self._deadline(positive[0].label, length),
            span=self.span(pattern),
        )

    def _components(self, positive: list[_Item]) -> Iterator[Component]:
        """The positive components backwards; each precedes the one before it in this order."""
        following: str | None = None
        for item in reversed(positive):
            window = Window(None, Instant(following)) if following else None
            predicate = EventPredicate(item.types, span=self.span(item.tree))
            yield Component(item.label, predicate, window=window, span=self.span(item.tree))
            following = item.label

    def _negations(self, labels: list[str], length: int | None) -> Iterator[Negation]:
        windows = gap_windows(labels, length)
        gap = 0
        for item in self._items.values():
            if not item.negated:
                gap += 1
                continue
            if gap in (0, len(labels)) and length is None:
                self._no_window(item, "start" if gap == 0 else "end")
            condition = conjunction(self._against.get(item.label, []))
            predicate = EventPredicate(item.types, condition, span=self.span(item.tree))
            yield Negation(item.label, predicate, windows[gap], span=self.span(item.tree))

    def _no_window(self, item: _Item, end: str) -> None:
        self.error(
            "NEGATION_WITHOUT_WINDOW",
            f"the negation of {item.label} at the {end} of rule {self.rule} needs a window",
            item.tree,
            expected="WITHIN and a length of time",
            hint=f"say how long {item.label} must not occur, such as WITHIN 12 hours",
        )

    def _deadline(self, first: str, length: int | None) -> Instant | None:
        """A match with a negated end is decided when the window has passed (section 2.2.2)."""
        return Instant(first, length or 0) if list(self._items.values())[-1].negated else None

    # --- WHERE ---------------------------------------------------------------

    def _lower_where(self, where: ParseTree) -> None:
        for branch in _split(parts(where)[0]):
            if isinstance(branch, Tree) and branch.data == "equivalence":
                self._equivalences += map(self._equivalence, parts(branch))
            else:
                self._lower_conjunct(branch)

    def _equivalence(self, test: ParseTree) -> Equivalence:
        name, _, constant = parts(test)
        value = self.expression(constant) if constant is not None else None
        given = value.value if isinstance(value, Literal) else None
        return Equivalence(str(name), given, span=self.span(test))

    def _lower_conjunct(self, branch: Branch) -> None:
        """Sort a conjunct into P+ or into the P- of its negative component."""
        negative = self._negative_labels(branch)
        if len(negative) > 1:
            self._two_negative(branch, negative)
        self._own = negative[0] if negative else None
        lowered = self.expression(branch)
        comparisons = self._comparisons(lowered)
        if self._own is None:
            self._conditions += conjuncts(lowered)
        else:
            self._check_split(comparisons, self._own)
            self._against.setdefault(self._own, []).extend(conjuncts(lowered))
        self._own = None

    def _negative_labels(self, branch: Branch) -> list[str]:
        if isinstance(branch, Token):
            return []
        used = {str(parts(found)[0]) for found in branch.find_data("attribute")}
        return sorted(label for label in used & self._items.keys() if self._items[label].negated)

    def _two_negative(self, branch: Branch, labels: list[str]) -> None:
        self.error(
            "NOT_SPLITTABLE",
            f"a condition of rule {self.rule} is about two events that do not occur, "
            f"{' and '.join(labels)}",
            branch,
            hint="each negated event has conditions of its own; relate it to events that occur",
        )

    def _check_split(self, comparisons: list[Comparison], label: str) -> None:
        """P must be P+ ∧ P-, so no predicate about positive events alone may hang on P-."""
        for comparison in comparisons:
            if not any(attribute.label is None for attribute in find(comparison, Attribute)):
                self.error(
                    "NOT_SPLITTABLE",
                    f"a condition of rule {self.rule} mixes predicates on {label}, "
                    "which does not occur, with others",
                    comparison.span,
                    expected=f"an attribute of {label} in every predicate of this condition",
                    hint=f"join what is not about {label} with AND, or write two queries",
                )
                return

    def _comparisons(self, condition: Expression) -> list[Comparison]:
        """The predicates of a condition; what is none is reported."""
        found: list[Comparison] = []
        stack = [condition]
        while stack:
            node = stack.pop()
            if isinstance(node, And | Or):
                stack.extend(reversed(node.operands))
            elif isinstance(node, Not):
                stack.append(node.operand)
            elif isinstance(node, Comparison):
                self._value(node.left)
                self._value(node.right)
                found.append(node)
            else:
                self._no_comparison(node)
        return found

    def _no_comparison(self, node: Expression) -> None:
        self.error(
            "WRONG_TYPE",
            f"a predicate of rule {self.rule} must compare two values",
            node.span,
            expected="one of = != < <= > >= between two values",
            hint="a true or false attribute is compared too: x.open = true",
        )

    def _value(self, expression: Expression) -> Expression:
        """Report conditions that stand where a value is needed."""
        for node in algebra.walk(expression):
            if isinstance(node, And | Or | Not | Comparison):
                self.error(
                    "WRONG_TYPE",
                    f"a condition of rule {self.rule} stands where a value is needed",
                    node.span,
                    expected="an attribute, a constant or arithmetic with them",
                )
                break
        return expression

    # --- operands ------------------------------------------------------------

    def operand(self, tree: ParseTree) -> Expression:
        """Attributes, and equivalence tests where they do not belong."""
        if tree.data == "equivalence":
            self.error(
                "WRONG_STRUCTURE",
                f"an equivalence test of rule {self.rule} must hold by itself",
                tree,
                expected="WHERE [id] AND …",
                hint="inside OR, NOT or a comparison, write it out: x.id = y.id",
            )
            one = Literal(1, span=self.span(tree))
            return Comparison(algebra.Relation.EQUAL, one, one, span=self.span(tree))
        if tree.data == "bare":
            return self._bare(parts(tree)[0])
        label, name = parts(tree)
        self._check_known(label)
        own = None if str(label) == self._own else str(label)
        return Attribute(own, str(name), span=self.span(tree))

    def literal(self, token: Token) -> Expression:
        """A constant; null has no use where a comparison with nothing holds."""
        if token.type == "NULL":
            self.error(
                "WRONG_TYPE",
                f"null in rule {self.rule} cannot be compared or returned",
                token,
                hint="a predicate on an attribute that an event does not have holds by itself",
            )
        return super().literal(token)

    def _bare(self, token: Token) -> Expression:
        """An attribute without a variable, as in the paper's Q1."""
        labels = list(self._items)
        if len(labels) == 1:
            return Attribute(labels[0], str(token), span=self.span(token))
        choices = labels if str(token) not in labels else [str(token)]
        written = token if len(choices) > 1 else "attribute"
        self.error(
            "AMBIGUOUS_LABEL",
            f"{token} in rule {self.rule} does not say which attribute of which event it is",
            token,
            expected="a variable, a point and an attribute",
            hint=f"write {' or '.join(f'{label}.{written}' for label in choices[:4])}; "
            f"a text stands in quotes, and [{token}] is the same in all events",
        )
        return Attribute(labels[0], str(token), span=self.span(token))

    def _check_known(self, label: Token) -> None:
        if str(label) in self._items:
            return
        hint = self.meant(str(label), self._items)
        if "-" in label:
            hint += "; a minus sign needs blanks around it"
        self.error(
            "UNKNOWN_LABEL", f"no event of rule {self.rule} is called {label}", label, hint=hint
        )

    # --- RETURN --------------------------------------------------------------

    def _output(self, type_: str, returns: ParseTree | None) -> Output:
        """RETURN with a type alone gives that type all attributes, as no RETURN does."""
        given = parts(returns)[1] if returns else None
        if given is None:
            return Output(type_, everything=True)
        attributes: dict[str, OutputAttribute] = {}
        for assignment in filter(None, parts(given)):
            name, _, value = parts(assignment)
            if str(name) in attributes:
                self.error(
                    "DUPLICATE_DEFINITION",
                    f"attribute {name} in rule {self.rule} gets two values",
                    name,
                )
            self._check_returned(assignment)
            lowered = self._value(self.expression(value))
            attributes[str(name)] = OutputAttribute(str(name), None, lowered, span=self.span(name))
        return Output(type_, tuple(attributes.values()), span=self.span(given))

    def _check_returned(self, assignment: ParseTree) -> None:
        """Negative components contribute nothing to the result (section 2.2.2)."""
        for label in self._negative_labels(assignment):
            self.error(
                "WRONG_STRUCTURE",
                f"rule {self.rule} cannot return an attribute of {label}, which does not occur",
                assignment,
                hint="return attributes of the events without !",
            )


def _split(branch: Branch) -> Iterator[Branch]:
    """The conjuncts of a WHERE clause, before they are lowered."""
    if isinstance(branch, Tree) and branch.data == "all_of":
        for child in parts(branch)[::2]:
            yield from _split(child)
    elif isinstance(branch, Tree) and branch.data == "negation" and len(branch.children) % 2:
        yield from _split(parts(branch)[-1])
    else:
        yield branch
