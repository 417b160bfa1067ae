"""From algebra to text: what the languages have in common, which is their expressions.

A language says how its operands, names and signs are written; brackets follow from precedence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from cepheid.algebra import (
    And,
    Arithmetic,
    Collection,
    Comparison,
    Detector,
    Expression,
    Literal,
    Negative,
    Node,
    Not,
    Or,
    Pattern,
    Rule,
    Run,
    Sign,
    Tree,
)
from cepheid.errors import CannotExpressError, Problem
from cepheid.literals import format_value
from cepheid.units import format_time


class Level(IntEnum):
    """How tightly an expression binds."""

    OR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    SUM = 5
    PRODUCT = 6
    UNARY = 7
    ATOM = 8


_KINDS: dict[type, str] = {
    Tree: "a tree: events that are chosen backwards from the last one",
    Run: "a run: all events of a window, judged when it is full",
    Collection: "a collection: events that fulfil constraints together and are used up",
    Detector: "a detector: a regular expression over events",
}
"""The kinds of patterns, in words."""


def cannot_say(
    rule: Rule, language: str, what: str, instead: str = "", *, at: Node | None = None
) -> CannotExpressError:
    """The error for a rule that a language has no words for."""
    span = (at.span if at else None) or rule.span
    problem = Problem("", "", span)
    hint = f"\n\nhint: {instead}" if instead else ""
    lines = [f"{problem.place}rule {rule.name}: {language} cannot say {what}", *problem.caret]
    return CannotExpressError("\n".join(lines) + hint)


@dataclass
class Writing:
    """Writes one rule; every language derives from it."""

    rule: Rule
    language: str = ""
    names = re.compile(r"[^\W\d]\w*")
    """What a name looks like in the language."""
    reserved: frozenset[str] = frozenset()
    """Words that cannot be names, in lower case."""

    def cannot(self, what: str, instead: str = "", *, at: Node | None = None) -> CannotExpressError:
        """The error that says what the language has no words for, and where that stands."""
        return cannot_say(self.rule, self.language, what, instead, at=at)

    def check_kind(self, *kinds: type[Pattern]) -> None:
        """Refuse patterns of other kinds."""
        pattern = self.rule.pattern
        if not isinstance(pattern, kinds):
            raise self.cannot(_KINDS[type(pattern)], at=pattern)

    def check_meaning(
        self, *, missing: bool = False, point: bool = False, everything: bool = False
    ) -> None:
        """Refuse what every rule of the language does otherwise."""
        rule = self.rule
        if rule.missing is not missing:
            does, other = ("holds", "fails") if rule.missing else ("fails", "holds")
            raise self.cannot(
                f"that a comparison with a missing value {does}", f"there it {other} in every rule"
            )
        if rule.point is not point:
            does, other = "at one point in time", "from its first event to its last"
            does, other = (does, other) if rule.point else (other, does)
            raise self.cannot(
                f"that the composite event lies {does}", f"there it lies {other} in every rule"
            )
        if rule.output.everything and not everything:
            raise self.cannot("that the rule gives all attributes of its events", at=rule.output)

    def check_no_consuming(self) -> None:
        """Refuse rules that use up the events of a match by name."""
        if self.rule.consuming:
            raise self.cannot(f"consuming {', '.join(self.rule.consuming)}")

    def name(self, name: str) -> str:
        """A name, if the language can spell it."""
        if not self.names.fullmatch(name) or name.lower() in self.reserved:
            raise self.cannot(f"the name {name}")
        return name

    def duration(self, microseconds: int) -> str:
        """A length of time with its unit, such as `5 min`."""
        text = format_time(microseconds, bare="")
        return re.sub(r"(\d)([a-z])", r"\1 \2", text)

    def expression(self, node: Expression, level: Level = Level.OR) -> str:
        """An expression, in brackets where it binds less tightly than its place needs."""
        text, own = self._leveled(node)
        return text if own >= level else f"({text})"

    def _leveled(self, node: Expression) -> tuple[str, Level]:
        if isinstance(node, Or):
            return self._joined(node.operands, " or ", Level.AND), Level.OR
        if isinstance(node, And):
            return self._joined(node.operands, " and ", Level.NOT), Level.AND
        if isinstance(node, Not):
            return f"not {self.expression(node.operand, Level.COMPARISON)}", Level.NOT
        if isinstance(node, Comparison):
            sides = [self.expression(side, Level.SUM) for side in (node.left, node.right)]
            return f" {node.relation} ".join(sides), Level.COMPARISON
        if isinstance(node, Arithmetic):
            return self._arithmetic(node)
        if isinstance(node, Negative):
            return f"-{self.expression(node.operand, Level.ATOM)}", Level.UNARY
        if isinstance(node, Literal):
            negative = isinstance(node.value, int | float) and str(node.value).startswith("-")
            return self.literal(node), Level.UNARY if negative else Level.ATOM
        return self.operand(node), Level.ATOM

    def _joined(self, operands: tuple[Expression, ...], word: str, level: Level) -> str:
        return word.join(self.expression(operand, level) for operand in operands)

    def _arithmetic(self, node: Arithmetic) -> tuple[str, Level]:
        level = Level.SUM if node.sign in (Sign.ADD, Sign.SUBTRACT) else Level.PRODUCT
        left = self.expression(node.left, level)
        right = self.expression(node.right, Level(level + 1))
        return f"{left} {node.sign} {right}", level

    def literal(self, node: Literal) -> str:
        """A constant."""
        return format_value(node.value)

    def operand(self, node: Node) -> str:
        """What only this language has; overridden by every language."""
        raise self.cannot(f"{type(node).__name__.lower()} in an expression")
