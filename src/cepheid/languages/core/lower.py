"""The core language's parse tree to the algebra: a detector over atoms, sequences and timers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lark import Token, Tree

from cepheid.algebra import (
    Alternation,
    Atom,
    Attribute,
    Body,
    Collected,
    Detector,
    EventPredicate,
    Expression,
    Function,
    Iteration,
    Literal,
    Output,
    OutputAttribute,
    Parallel,
    Rule,
    Sequence,
    TimerSignal,
    Timing,
    conjunction,
    conjuncts,
)
from cepheid.errors import EventError, Report, Source
from cepheid.languages.core.push import push
from cepheid.languages.core.scope import PARALLEL_LIMIT, check_scope
from cepheid.languages.lowering import Branch, Context, Lowering, ParseTree, parts
from cepheid.languages.reading import TEXT_LIMIT, Grammar
from cepheid.units import scale, unit_size

GRAMMAR = Grammar.load(
    __package__ or "",
    # A name on the line after its `define` begins nothing.
    starts=r"^[ \t]*(define\b(\s+[^\W\d]\w*\s*≡)?|[^\W\d]\w*[ \t]*≡)",
    friendly={
        "FUNCTION": "Avg, Sum, Min, Max or Count",
        "UNIT": "a unit of time",
        "NOT": "!",
        "_DEFINE": "define",
        "_AS": "as",
        "_EQUIVALENT": "≡",
        "DEFINED": "a name and ≡",
        "_WHERE": "where",
        "_WITHIN": "within",
        "_RETURN": "return",
        "_IN": "in",
        "_AT": "at",
        "_EITHER": "|",
        "_BESIDE": "||",
    },
    openers=("define",),
    clauses=("define", "where", "within", "return"),
    hints=[
        (r"[\])]\s*\+", "one or more is written [A] [A]*"),
        (r"[\])]\s*\?", "an optional part is written as two alternatives: [A] [B] | [B]"),
        (r"[\])]\s*(->|→|followed\b|then\b)", "A and then B is written [A] ; [B]"),
        (
            r"[\])]\s*(&|∧|and\b)\s*[\[(]|[\])]\s*(&|∧|and\b)[^=]*$",
            "A and B in either order is written [A] || [B]",
        ),
        (r"[\])]\s*or\b", "A or B is written [A] | [B]"),
        (r";\s*$", "; joins two parts; a rule has none at its end"),
        (r"\[[^\]=]*,\s*(!|¬|not\b)", "! stands before all events of an atom: [!A, B in C]"),
        (r"\[[^\]:]*\bas\b", "a label stands before the type: [on: BoardOn]"),
        (r"\*\s*\]", "* stands behind the bracket: [A]*"),
        (r"(?<!return )\(\s*[^\W\d]\w*\s*:", "an event stands in square brackets: [on: BoardOn]"),
        (
            r"^\s*(?!define\b)[^\W\d]\w*\s*(:=|=|is\b)",
            "a rule starts with define: define Name as …, or Name ≡ …",
        ),
        (r"\[\s*\]", "an atom needs an event: [A]"),
        (r"\bin\s*\{\s*\}", "a domain needs an event: [A in {A, B}]"),
        (r"(\bas|≡|;|\|)\s*[^\W\d]\w*\s*(\(|;|\||$)", "an event stands in square brackets: [A]"),
        (
            r"\([^()]*\[[^()]*,[^()]*\]\s*\)",
            "a timing operator names its timer: ([A], [B]) T1 = 1h",
        ),
        (
            r"(?<=\))\s*[^\W\d]\w*\s*=\s*(at\s+)?\d",
            "a timing operator has two parts with a comma between them: ([A], [B]) T1 = 1h",
        ),
        (r"^\s*define\s+\w+\s*(\[|\(|=)", "a rule starts with its name: define Name as …"),
        (
            r"^\s*(?!define\b)[^\W\d]\w*\s+as\b",
            "a rule starts with define: define Name as …, or Name ≡ …",
        ),
        (
            r"\breturn\s*\(([^()]*,)?\s*[^\W\d]\w*\s*\.",
            "each attribute has a name: return (room = o.room)",
        ),
        (r"\breturn\s+[^\s(]", "attributes stand in brackets: return (room = o.room)"),
    ],
)

_FUNCTIONS = {"average": Function.AVG, **{function.lower(): function for function in Function}}

Signal = EventPredicate | TimerSignal


def read(
    source: Source, context: Context, report: Report, limit: int = TEXT_LIMIT
) -> Iterator[Rule]:
    """Every rule of a text, lowered; what is wrong is reported."""
    defined: set[str] = set()
    for passage, tree in GRAMMAR.read(source, report, limit):
        for definition in parts(tree):
            name = parts(definition)[0]
            if str(name) in defined:
                # The paper establishes one detector per composite event type ("Implementation").
                report.error(
                    "DUPLICATE_RULE",
                    f"two rules are called {name}",
                    passage.span(name),
                    hint="join their expressions with |, or give one of them another name",
                    rule=str(name),
                )
            defined.add(str(name))
            rule = CoreLowering(passage, report, context).lower(definition)
            if rule is not None:
                yield rule


@dataclass
class CoreLowering(Lowering):
    """Lowers one definition."""

    _labels: dict[str, Token] = field(default_factory=dict)
    _timers: dict[str, Token] = field(default_factory=dict)
    _domain: tuple[Signal, ...] | None = None
    """The domain behind the expression that is being read, for atoms without their own."""
    _filtering: bool = False
    _own: str | None = None
    """The label of the atom whose filter is being read."""
    _parallels: int = 0

    def lower(self, tree: ParseTree) -> Rule | None:
        """Lower one `definition`."""
        name, expression, where, within, returns = parts(tree)
        self.rule = str(name)
        self._collect_names(expression)
        body = self._body(expression)
        condition = self.expression(parts(where)[0]) if where else None
        length = self._duration(parts(within)[0]) if within else None
        output = self._output(name, returns)
        if self.sound:
            check_scope(body, self)
        if not self.sound:
            return None
        body, waiting = push(body, conjuncts(condition))
        detector = Detector(body, conjunction(waiting), length, span=self.span(expression))
        return Rule(self.rule, output, detector, language="core", span=self.span(name))

    # --- names ---------------------------------------------------------------

    def _collect_names(self, expression: ParseTree) -> None:
        """Labels and timers first: a name in an atom is a timer if a timing operator sets it."""
        for tree in _trees(expression):
            if tree.data == "label":
                self._declare(self._labels, parts(tree)[0], "events", "give each its own label")
            elif tree.data == "timing":
                self._declare(self._timers, parts(tree)[2], "timers", "give each its own name")

    def _declare(self, known: dict[str, Token], name: Token, what: str, hint: str) -> None:
        if str(name) in known:
            self.error(
                "DUPLICATE_LABEL",
                f"two {what} of rule {self.rule} are called {name}",
                name,
                hint=f"{hint}, such as {name}2",
            )
        known.setdefault(str(name), name)

    def _label(self, token: Token) -> str:
        if str(token) not in self._labels:
            self.error(
                "UNKNOWN_LABEL",
                f"no event of rule {self.rule} is called {token}",
                token,
                hint=self._unlabelled(token),
            )
        return str(token)

    def _unlabelled(self, token: Token) -> str:
        """A hint on a label that no event has."""
        label = "an event gets a label before its type: [o: Opening]"
        meant = self.meant(str(token), self._labels)
        return f"{meant}{'' if meant.endswith('?') else ';'} {label}" if meant else label

    # --- expressions over events ---------------------------------------------

    def _body(self, tree: ParseTree) -> Body:
        lower: dict[str, Callable[[ParseTree], Body]] = {
            "confined": self._confined,
            "parallel": self._parallel,
            "choice": self._choice,
            "sequence": lambda found: self._sequence(found, strong=True),
            "weak": lambda found: self._sequence(found, strong=False),
            "iteration": self._iteration,
            "timing": self._timing,
            "atom": self._atom,
        }
        return lower[str(tree.data)](tree)

    def _confined(self, tree: ParseTree) -> Body:
        """`C ⊆ Σ`, as in equation 2 of the paper: the domain holds for every atom of C."""
        expression, domain = parts(tree)
        outer, self._domain = self._domain, self._signals(domain)
        body = self._body(expression)
        self._domain = outer
        return body

    def _parallel(self, tree: ParseTree) -> Body:
        first, *others = parts(tree)
        result = self._body(first)
        for other in others:
            self._parallels += 1
            if self._parallels == PARALLEL_LIMIT + 1:
                self.error(
                    "LIMIT_EXCEEDED",
                    f"rule {self.rule} must have at most {PARALLEL_LIMIT} ||",
                    other,
                    hint="split the rule: one rule may use what another one defines",
                )
            if self._parallels > PARALLEL_LIMIT:
                return result
            result = Parallel(result, self._body(other), span=self.span(tree))
        return result

    def _choice(self, tree: ParseTree) -> Body:
        flat: list[Body] = []
        for part in map(self._body, parts(tree)):
            flat.extend(part.parts if isinstance(part, Alternation) else [part])
        return Alternation(tuple(flat), span=self.span(tree))

    def _sequence(self, tree: ParseTree, *, strong: bool) -> Body:
        flat: list[Body] = []
        for part in map(self._body, parts(tree)):
            same = isinstance(part, Sequence) and part.strong is strong
            flat.extend(part.parts if isinstance(part, Sequence) and same else [part])
        return Sequence(tuple(flat), strong, span=self.span(tree))

    def _iteration(self, tree: ParseTree) -> Body:
        body = self._body(parts(tree)[0])
        return body if isinstance(body, Iteration) else Iteration(body, span=self.span(tree))

    def _timing(self, tree: ParseTree) -> Body:
        first, second, timer, _, timespec = parts(tree)
        before, after = self._body(first), self._body(second)
        span = self.span(timer)
        if timespec.data == "moment":
            at = self._time(parts(timespec)[0])
            return Timing(before, after, str(timer), at=at, span=span)
        length = self._duration(timespec)
        return Timing(before, after, str(timer), length, span=span)

    def _duration(self, tree: ParseTree) -> int:
        number, unit = parts(tree)
        return self.duration(number, unit, default_unit="s")

    def _time(self, tree: ParseTree) -> int:
        """A moment, as the time since the epoch of the stream; zero is a moment too."""
        number, unit = parts(tree)
        size = unit_size(str(unit).rstrip(".") if unit else "s") or 1
        try:
            return scale(str(number), size)
        except EventError as error:
            self.error("NUMBER_OUT_OF_RANGE", f"timer in rule {self.rule}: {error}", number)
            return 0

    # --- atoms ---------------------------------------------------------------

    def _atom(self, tree: ParseTree) -> Body:
        label, negation, events, domain = parts(tree)
        name = parts(label)[0] if label else None
        self._own = str(name) if label else None
        accepts = self._signals(events)
        inside = self._signals(domain) if domain else self._domain
        if negation and inside is None:
            self.error(
                "WRONG_STRUCTURE",
                f"negation in rule {self.rule} must say among which events",
                tree,
                expected="a domain, such as [!B in {A, B}]",
            )
        atom = Atom(
            self._own,
            accepts,
            accepts if inside is None else inside,
            bool(negation),
            span=self.span(tree),
        )
        self._own = None
        self._check_atom(atom, name)
        return atom

    def _signals(self, tree: ParseTree) -> tuple[Signal, ...]:
        return tuple(self._signal(event) for event in parts(tree))

    def _signal(self, tree: ParseTree) -> Signal:
        name, constraint = parts(tree)
        filter_ = self._filter(constraint) if constraint is not None else None
        if str(name) not in self._timers:
            return EventPredicate((str(name),), filter_, span=self.span(name))
        if filter_ is not None:
            self.error(
                "WRONG_STRUCTURE",
                f"timer {name} in rule {self.rule} has no attributes to filter by",
                name,
                hint="the name of a timer stands alone, or the timer needs another name",
            )
        return TimerSignal(str(name), span=self.span(name))

    def _filter(self, tree: Branch) -> Expression | None:
        """The condition of a filter; commas join conditions that must all hold."""
        listed = parts(tree) if isinstance(tree, Tree) and tree.data == "filter" else [tree]
        self._filtering = True
        found = [self.expression(part) for part in listed]
        self._filtering = False
        return conjunction(found)

    def _check_atom(self, atom: Atom, label: Token | None) -> None:
        if label and all(isinstance(item, TimerSignal) for item in atom.accepts):
            self.error(
                "WRONG_STRUCTURE",
                f"label {label} in rule {self.rule} stands for a timer, which is not an event",
                label,
                hint="leave the label out",
            )
        if atom.negated:
            self._check_negated(atom)
            return
        inside = {name for item in atom.domain for name in _names(item)}
        for item in atom.accepts:
            if isinstance(item, EventPredicate) and not inside.issuperset(item.types):
                self.error(
                    "WRONG_STRUCTURE",
                    f"event {item.types[0]} in rule {self.rule} must be in the domain of its atom",
                    item.span,
                    hint=f"the domain is {', '.join(sorted(inside))}; add {item.types[0]} to it",
                )

    def _check_negated(self, atom: Atom) -> None:
        if all(item in atom.accepts for item in atom.domain):
            self.error(
                "WRONG_STRUCTURE",
                f"an atom of rule {self.rule} rejects its whole domain",
                atom.span,
                hint="add the events that may come instead: [!B in {A, B}]",
            )

    # --- operands ------------------------------------------------------------

    def operand(self, tree: ParseTree) -> Expression:
        """Attributes, and functions over the events under a label."""
        if tree.data == "collected":
            return self._collected(tree)
        if tree.data == "attribute":
            label, name = parts(tree)
            own = self._filtering and str(label) == self._own
            known = None if own else self._label(label)
            return Attribute(known, str(name), span=self.span(tree))
        name = parts(tree)[0]
        if not self._filtering:
            self.error(
                "UNKNOWN_LABEL",
                f"attribute {name} in rule {self.rule} must say of which event",
                name,
                expected=f"a label and a point before it, such as o.{name}",
                hint=self._labelled(name),
            )
        return Attribute(None, str(name), span=self.span(name))

    def _labelled(self, name: Token) -> str:
        """A hint on an attribute without a label."""
        if not self._labels:
            return f"an event gets a label before its type: [o: Opening], then o.{name}"
        return f"write {' or '.join(f'{label}.{name}' for label in list(self._labels)[:4])}"

    def _collected(self, tree: ParseTree) -> Expression:
        function, label, name = parts(tree)
        wanted = _FUNCTIONS[function.lower()]
        if self._filtering:
            self.error(
                "WRONG_STRUCTURE",
                f"{function} in rule {self.rule} cannot stand in the filter of an atom",
                tree,
                hint="put the condition behind where, which is checked on the whole match",
            )
            return Literal(None, span=self.span(tree))
        if (wanted is Function.COUNT) is not (name is None):
            self.error(
                "WRONG_STRUCTURE",
                f"{function} in rule {self.rule} must be over "
                + ("a label" if wanted is Function.COUNT else "an attribute"),
                tree,
                expected="Count(a)" if wanted is Function.COUNT else f"{function}({label}.value)",
            )
        attribute = None if name is None else str(name)
        return Collected(wanted, self._label(label), attribute, span=self.span(tree))

    # --- output --------------------------------------------------------------

    def _output(self, name: Token, returns: ParseTree | None) -> Output:
        attributes: dict[str, OutputAttribute] = {}
        for returned in parts(returns) if returns else ():
            if returned is None:
                continue
            attribute, _, value = parts(returned)
            if str(attribute) in attributes:
                self.error(
                    "DUPLICATE_DEFINITION",
                    f"attribute {attribute} in rule {self.rule} gets two values",
                    attribute,
                )
            attributes[str(attribute)] = OutputAttribute(
                str(attribute), None, self.expression(value), span=self.span(attribute)
            )
        return Output(str(name), tuple(attributes.values()), span=self.span(name))


def _trees(tree: ParseTree) -> Iterator[ParseTree]:
    """A parse tree and all below it, in the order of the text."""
    stack = [tree]
    while stack:
        found = stack.pop()
        yield found
        stack.extend(child for child in reversed(found.children) if isinstance(child, Tree))


def _names(item: Signal) -> tuple[str, ...]:
    return item.types if isinstance(item, EventPredicate) else (item.name,)
