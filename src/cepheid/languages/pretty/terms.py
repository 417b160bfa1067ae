"""The pretty language's words for events, windows and values, lowered to the algebra."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from lark import Token, Tree

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Coalesce,
    Collected,
    EventPredicate,
    Expression,
    Function,
    Instant,
    Item,
    Parameter,
    Relation,
    Window,
)
from cepheid.errors import EventError
from cepheid.languages.lowering import Branch, Lowering, ParseTree, parts, string_value
from cepheid.units import parse_time, scale, unit_size

FUNCTIONS = {
    "average": Function.AVG,
    "avg": Function.AVG,
    "total": Function.SUM,
    "sum": Function.SUM,
    "lowest": Function.MIN,
    "smallest": Function.MIN,
    "min": Function.MIN,
    "highest": Function.MAX,
    "largest": Function.MAX,
    "max": Function.MAX,
    "number": Function.COUNT,
    "count": Function.COUNT,
}
"""The words for aggregate functions; of each function the first is the one that is written."""

_RELATIONS = {
    "IS": Relation.EQUAL,
    "IS_NOT": Relation.UNEQUAL,
    "IS_BELOW": Relation.LESS,
    "IS_AT_MOST": Relation.AT_MOST,
    "IS_ABOVE": Relation.GREATER,
    "IS_AT_LEAST": Relation.AT_LEAST,
}


def word(token: Token) -> str:
    """The name that a token stands for: a bare word, or a text in quotes."""
    return string_value(token) if token.type == "STRING" else str(token)


def default_label(types: tuple[str, ...]) -> str:
    """What an event is called that has no name of its own.

    >>> default_label(("Fire", "Flood"))
    'Fire_or_Flood'
    """
    return "_or_".join(types)


@dataclass
class TermLowering(Lowering):
    """Lowers what all kinds of patterns have in common."""

    labels: dict[str, Token] = field(default_factory=dict)
    """The names of the rule's events, with the places where they are given."""
    own: str | None = None
    """The name of the event whose filter is being read."""
    filtering: bool = False
    """Whether a filter is being read, in which a bare attribute is one of the event's own."""

    # --- names ---------------------------------------------------------------

    def declare(self, label: str, token: Token) -> None:
        """Take the name of an event; reported when it is taken already."""
        if label in self.labels:
            self.error(
                "DUPLICATE_LABEL",
                f"two events of rule {self.rule} are called {label}",
                token,
                hint=f"give them names of their own: {label} called other",
            )
        self.labels[label] = token

    def label(self, token: Token) -> str:
        """The event that a name stands for; reported when there is none."""
        name = word(token)
        if name not in self.labels and name != self.own:
            self.error(
                "UNKNOWN_LABEL",
                f"no event of rule {self.rule} is called {name}",
                token,
                hint=self.meant(name, self.labels),
            )
        return name

    # --- times ---------------------------------------------------------------

    def length(self, tree: ParseTree) -> int:
        """A length of time, which is longer than nothing."""
        first, *rest = parts(tree)
        if first.type != "STRING":
            return self.duration(first, rest[0], default_unit="s")
        value = self._quoted_time(first)
        if value is not None and value <= 0:
            self.error(
                "WRONG_WINDOW",
                f"window in rule {self.rule} must be longer than nothing; got {first}",
                first,
                hint="write a positive length of time, such as 5 min",
            )
        return max(1, value or 1)

    def moment(self, tree: ParseTree) -> int:
        """A time since the epoch of the stream, which may be zero."""
        first, *rest = parts(tree)
        if first.type == "STRING":
            return max(0, self._quoted_time(first) or 0)
        size = unit_size(str(rest[0]).rstrip(".") if rest[0] else "s") or 1
        try:
            return scale(str(first), size)
        except EventError as error:
            self.error("NUMBER_OUT_OF_RANGE", f"timer in rule {self.rule}: {error}", first)
            return 0

    def _quoted_time(self, token: Token) -> int | None:
        try:
            return parse_time(string_value(token))
        except EventError as error:
            self.error(
                "WRONG_WINDOW",
                f"window in rule {self.rule}: {error}",
                token,
                expected='a length of time such as 5 min, 1.5 h or "300 ms"',
            )
            return None

    # --- events --------------------------------------------------------------

    def types(self, tree: ParseTree) -> tuple[str, ...]:
        """The types of an event."""
        if tree.data == "periodic":
            return ("Timer",)
        return tuple(word(token) for token in parts(tree))

    def predicate(self, tree: ParseTree, filter_: Expression | None = None) -> EventPredicate:
        """The events of some types, or the ticks of a timer."""
        every = self.length(parts(tree)[0]) if tree.data == "periodic" else None
        return EventPredicate(self.types(tree), filter_, every, span=self.span(tree))

    def tested(self, tree: ParseTree | None, own: str | None) -> Expression | None:
        """The condition of a filter on an event, whose name it may have."""
        return None if tree is None else self.test(parts(tree)[0], own)

    def test(self, branch: Branch, own: str | None) -> Expression:
        """A condition on an event, in which bare attributes are its own."""
        outer = self.own, self.filtering
        self.own, self.filtering = own, True
        lowered = self.expression(branch)
        self.own, self.filtering = outer
        return lowered

    def event(self, tree: ParseTree) -> tuple[str, EventPredicate]:
        """The name of an event and what it is; the name was declared before."""
        types, called, where = parts(tree)
        label = self.name_of(types, called)
        return label, self.predicate(types, self.tested(where, label))

    def name_of(self, types: ParseTree, called: ParseTree | None) -> str:
        """What an event is called."""
        return word(parts(called)[0]) if called else default_label(self.types(types))

    # --- windows -------------------------------------------------------------

    def window(self, tree: ParseTree) -> Window:
        """A window that says by itself what it hangs on."""
        form, span = str(tree.data), self.span(tree)
        if form == "within_of":
            duration, side, name = parts(tree)
            length, label = self.length(duration), self.label(name)
            if side.type == "BEFORE":
                return Window.within(length, label, span)
            return Window(Instant(label), Instant(label, length), span=span)
        if form == "before":
            return Window(None, self.instant(parts(tree)[1]), span=span)
        if form == "after":
            return Window(self.instant(parts(tree)[1]), None, span=span)
        if form == "between":
            return self._between(tree)
        if form in ("within", "gap"):
            self._unanchored(tree)
        return Window(None, None, span=span)

    def _between(self, tree: ParseTree) -> Window:
        first, _, second = parts(tree)
        low, high = self.instant(first), self.instant(second)
        if low == high:
            self.error(
                "WRONG_WINDOW",
                f"between in rule {self.rule} must name two different moments",
                second,
            )
        return Window(low, high, span=self.span(tree))

    def _unanchored(self, tree: ParseTree) -> None:
        example = next(iter(self.labels), "Smoke")
        self.error(
            "WRONG_STRUCTURE",
            f"a window in rule {self.rule} must say what it is measured from",
            tree,
            hint=f"write: within 5 min before {example}",
        )

    def instant(self, tree: ParseTree) -> Instant:
        """The time of an event, or one that lies before or after it."""
        duration, side, name = parts(tree)
        offset = self.length(duration) if duration else 0
        sign = -1 if side and side.type == "BEFORE" else 1
        return Instant(self.label(name), sign * offset, span=self.span(tree))

    # --- values --------------------------------------------------------------

    def relation(self, operator: Token) -> Relation:
        """The relation that a sign or words stand for."""
        return _RELATIONS.get(operator.type) or super().relation(operator)

    def operand(self, tree: ParseTree) -> Expression:
        """What only this language has."""
        lower: dict[str, Callable[[ParseTree], Expression]] = {
            "own": self._own,
            "attribute": lambda found: self._attribute(parts(found)[2], parts(found)[0], found),
            "dotted": lambda found: self._attribute(parts(found)[0], parts(found)[1], found),
            "item": self._item,
            "parameter": lambda found: Parameter(parts(found)[0][1:], span=self.span(found)),
            "collected": self._collected,
            "aggregate": self._aggregate,
            "coalesce": self._coalesce,
        }
        return lower[str(tree.data)](tree)

    def _own(self, tree: ParseTree) -> Expression:
        token = parts(tree)[0]
        if not self.filtering:
            example = next(iter(self.labels), "Smoke")
            self.error(
                "UNKNOWN_LABEL",
                f"attribute {word(token)} in rule {self.rule} must say of which event",
                token,
                expected=f"{word(token)} of {example}",
                hint="a text stands in quotes, an attribute of an event is written: value of Temp; "
                "between the attributes of gives stand commas",
            )
        return Attribute(None, word(token), span=self.span(tree))

    def _attribute(self, label: Token, name: Token, tree: ParseTree) -> Expression:
        known = None if self.filtering and word(label) == self.own else self.label(label)
        return Attribute(known, word(name), span=self.span(tree))

    def _item(self, tree: ParseTree) -> Expression:
        name, _, place, label = parts(tree)
        return Item(self.label(label), self.place(place), word(name), span=self.span(tree))

    def place(self, token: Token) -> int:
        """The number of an event among several: from 1, or -1 for the last."""
        if token.type != "ORDINAL":
            return 1 if token.type == "FIRST" else -1
        number = self.integer(Token.new_borrow_pos("INT", str(token)[:-2], token))
        if number < 1:
            self.error(
                "WRONG_STRUCTURE",
                f"place in rule {self.rule} must be at least 1st; got {token}",
                token,
                hint="events count from 1st; first and last are understood too",
            )
        return max(1, number)

    def _collected(self, tree: ParseTree) -> Expression:
        function, name, _, label, *filters = parts(tree)
        known = self.label(label)
        tested = self.tested(filters[0], known) if filters else None
        wanted = self._function(function, name, tree)
        return Collected(wanted, known, word(name) if name else None, tested, span=self.span(tree))

    def _aggregate(self, tree: ParseTree) -> Expression:
        function, name, _, types, where, window = parts(tree)
        predicate = self.predicate(types, self.tested(where, None))
        return Aggregate(
            self._function(function, name, tree),
            predicate,
            word(name) if name else None,
            self.window(window),
            span=self.span(tree),
        )

    def _function(self, function: Token, name: Token | None, tree: ParseTree) -> Function:
        wanted = FUNCTIONS[function.lower()]
        if wanted is not Function.COUNT and name is None:
            self.error(
                "WRONG_STRUCTURE",
                f"{function} in rule {self.rule} must be over an attribute",
                tree,
                expected=f"{function} value of …",
            )
        return wanted

    def _coalesce(self, tree: ParseTree) -> Expression:
        options = tuple(self.expression(option) for option in parts(tree))
        return options[0] if len(options) == 1 else Coalesce(options, span=self.span(tree))


def find_all(tree: ParseTree, *names: str) -> list[ParseTree]:
    """The parse trees of some names, in the order of the text."""
    found: list[ParseTree] = []
    stack: list[Branch | None] = [tree]
    while stack:
        branch = stack.pop()
        if not isinstance(branch, Tree):
            continue
        if str(branch.data) in names:
            found.append(branch)
        stack.extend(reversed(branch.children))
    return found
