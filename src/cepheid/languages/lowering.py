"""From parse tree to algebra: what the languages have in common, which is their expressions.

A grammar names its rules `any_of`, `all_of`, `negation`, `comparison`, `sum`, `product` and
`negative` and its terminals as in `common.lark`; a language adds what stands for an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lark import Token, Tree

from cepheid.algebra import (
    Arithmetic,
    Comparison,
    Expression,
    Literal,
    Negative,
    Node,
    Not,
    Relation,
    Sign,
    conjunction,
    disjunction,
)
from cepheid.errors import EventError, Report, Span, did_you_mean, slip_of
from cepheid.events import Kind, Schema, Value, kind_named
from cepheid.languages.reading import Passage
from cepheid.literals import unescape
from cepheid.units import INT_MAX, INT_MIN, scale, unit_size

DEPTH_LIMIT = 64
"""The deepest expression that is read."""

_RELATIONS = {
    "EQUAL": Relation.EQUAL,
    "UNEQUAL": Relation.UNEQUAL,
    "LESS": Relation.LESS,
    "AT_MOST": Relation.AT_MOST,
    "GREATER": Relation.GREATER,
    "AT_LEAST": Relation.AT_LEAST,
}
_SIGNS = {
    "PLUS": Sign.ADD,
    "MINUS": Sign.SUBTRACT,
    "TIMES": Sign.MULTIPLY,
    "OVER": Sign.DIVIDE,
}

ParseTree = Tree[Token]
Branch = ParseTree | Token


def parts(tree: ParseTree) -> tuple[Any, ...]:
    """The children of a parse tree; the grammar says which of them are tokens, trees or None."""
    return tuple(tree.children)


@dataclass
class Context:
    """What is known about the world while rules are read: the schema and named constants."""

    schema: Schema = field(default_factory=Schema)
    constants: dict[str, Value] = field(default_factory=dict)


@dataclass
class Lowering:
    """Lowers the parse tree of one rule; every language derives from it."""

    passage: Passage
    report: Report
    context: Context
    rule: str = ""
    sound: bool = True
    """Whether the rule has no error so far."""
    _depths: dict[int, tuple[Node, int]] = field(default_factory=dict)

    def span(self, item: Branch) -> Span:
        """Where a token or tree stands in the source."""
        return self.passage.span(item)

    def error(
        self,
        condition: str,
        message: str,
        at: Branch | Span | None,
        *,
        expected: str = "",
        hint: str = "",
    ) -> None:
        """Report an error; the rule is then not used, even if the report is full."""
        self.sound = False
        span = at if isinstance(at, Span) or at is None else self.span(at)
        self.report.error(condition, message, span, expected=expected, hint=hint, rule=self.rule)

    def warn(
        self, condition: str, message: str, at: Branch | Span | None, *, hint: str = ""
    ) -> None:
        """Report a warning about this rule."""
        span = at if isinstance(at, Span) or at is None else self.span(at)
        self.report.warn(condition, message, span, hint=hint, rule=self.rule)

    # --- names ---------------------------------------------------------------

    def meant(self, name: str, known: Iterable[str]) -> str:
        """A hint on a name that the rule does not have: it, or the one like it, is a slip."""
        names = list(known)
        return slip_of(name, names, self.context.schema) or did_you_mean(name, names)

    def kind(self, token: Token, names: Sequence[str]) -> Kind | None:
        """The kind that a word stands for; reported when there is none."""
        kind = kind_named(str(token))
        if kind is None:
            self.error(
                "WRONG_TYPE",
                f"type {token} in rule {self.rule} is not known",
                token,
                expected=f"{', '.join(names[:-1])} or {names[-1]}",
                hint=did_you_mean(str(token), names),
            )
        return kind

    # --- expressions ---------------------------------------------------------

    def expression(self, branch: Branch) -> Expression:
        """Lower an expression; what is not common to the languages goes to `operand`."""
        if isinstance(branch, Token):
            return self.literal(branch)
        lower = self._common().get(str(branch.data))
        return lower(branch) if lower else self.operand(branch)

    def operand(self, tree: ParseTree) -> Expression:
        """Lower what only this language has; overridden by every language."""
        raise AssertionError(f"the grammar has no operand {tree.data}")

    def _common(self) -> dict[str, Callable[[ParseTree], Expression]]:
        return {
            "any_of": lambda tree: disjunction(self._operands(tree)),
            "all_of": lambda tree: self._all(self._operands(tree)),
            "negation": self._negation,
            "comparison": self._comparison,
            "sum": self._chain,
            "product": self._chain,
            "negative": self._negative,
        }

    def _operands(self, tree: ParseTree) -> list[Expression]:
        return [
            self.expression(child)
            for child in parts(tree)
            if not (isinstance(child, Token) and child.type in ("AND", "OR", "COMMA"))
        ]

    @staticmethod
    def _all(operands: list[Expression]) -> Expression:
        joined = conjunction(operands)
        assert joined is not None  # noqa: S101 (the grammar has at least one operand)
        return joined

    def _negation(self, tree: ParseTree) -> Expression:
        *nots, operand = parts(tree)
        result = self.expression(operand)
        return Not(result, span=self.span(nots[0])) if len(nots) % 2 else result

    def _negative(self, tree: ParseTree) -> Expression:
        *minuses, operand = parts(tree)
        if len(minuses) % 2 == 0:
            return self.expression(operand)
        if isinstance(operand, Token) and operand.type == "INT":
            # The sign first: the smallest int has no positive counterpart.
            return Literal(-self.integer(operand, -INT_MIN), span=self.span(tree))
        result = self.expression(operand)
        value = result.value if isinstance(result, Literal) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Literal(self._turned(value, tree), span=self.span(tree))
        return Negative(result, span=self.span(tree))

    def _turned(self, value: int | float, tree: ParseTree) -> int | float:
        """The number with its sign turned; reported when that is no int any more."""
        if value == INT_MIN and isinstance(value, int):
            self._out_of_range(str(-value), tree)
            return 0
        return -value

    def _comparison(self, tree: ParseTree) -> Expression:
        left, operator, right = parts(tree)
        return Comparison(
            self.relation(operator),
            self.expression(left),
            self.expression(right),
            span=self.span(tree),
        )

    def relation(self, operator: Token) -> Relation:
        """The relation that a comparison operator stands for."""
        return _RELATIONS[operator.type]

    def _chain(self, tree: ParseTree) -> Expression:
        """Operands and signs in turn, from left to right."""
        children = parts(tree)
        result = self.expression(children[0])
        for sign, operand in zip(children[1::2], children[2::2], strict=True):
            result = Arithmetic(
                _SIGNS[sign.type], result, self.expression(operand), span=self.span(tree)
            )
            if self._too_deep(result):
                return result
        return result

    def _too_deep(self, node: Arithmetic) -> bool:
        """Whether an expression has grown past the limit, which is reported once per rule."""
        depth = 1 + max(self._depth(node.left), self._depth(node.right))
        self._depths[id(node)] = (node, depth)
        if depth == DEPTH_LIMIT:
            self.error(
                "LIMIT_EXCEEDED",
                f"expression in rule {self.rule} must be at most {DEPTH_LIMIT} operators deep",
                node.span,
                hint="compute a part of it in a rule of its own",
            )
        return depth >= DEPTH_LIMIT

    def _depth(self, node: Node) -> int:
        return self._depths.get(id(node), (node, 0))[1]

    # --- literals ------------------------------------------------------------

    def literal(self, token: Token) -> Expression:
        """Lower a literal token."""
        span = self.span(token)
        if token.type == "STRING":
            return Literal(string_value(token), span=span)
        if token.type == "DECIMAL":
            return Literal(float(token), span=span)
        if token.type == "INT":
            return Literal(self.integer(token), span=span)
        return Literal({"TRUE": True, "FALSE": False, "NULL": None}[token.type], span=span)

    def integer(self, token: Token, largest: int = INT_MAX) -> int:
        """The value of an INT token; reported when it does not fit into 64 bits."""
        digits = token.lstrip("0") or "0"
        if len(digits) > len(str(largest)) or int(digits) > largest:
            self._out_of_range(token[:30], token)
            return 0
        return int(digits)

    def _out_of_range(self, number: str, at: Branch) -> None:
        self.error(
            "NUMBER_OUT_OF_RANGE",
            f"number {number} in rule {self.rule} must fit into 64 bits",
            at,
            hint=f"ints go from {INT_MIN} to {INT_MAX}; write it with a point for a double",
        )

    def count(self, token: Token, what: str) -> int:
        """The value of an INT token that must be at least one."""
        value = self.integer(token)
        if value < 1:
            self.error(
                "WRONG_WINDOW", f"{what} in rule {self.rule} must be at least 1; got {value}", token
            )
        return max(1, value)

    def duration(self, number: Token, unit: Token | None, default_unit: str) -> int:
        """A length of time in microseconds; reported when it is not positive or too long."""
        size = unit_size(str(unit).rstrip(".") if unit else default_unit) or 1
        try:
            value = scale(str(number), size)
        except EventError as error:
            self.error("NUMBER_OUT_OF_RANGE", f"window in rule {self.rule}: {error}", number)
            return 1
        if value <= 0:
            self.error(
                "WRONG_WINDOW",
                f"window in rule {self.rule} must be longer than nothing; got {number}",
                number,
                hint="write a positive length of time, such as 5 min",
            )
        return max(1, value)


def string_value(token: Token) -> str:
    """The text that a STRING token stands for; typographic quotes know no escapes."""
    body = str(token)[1:-1]
    return unescape(body) if token[0] in "\"'" else body
