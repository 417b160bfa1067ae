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
    Comparison,
    Expression,
    Literal,
    Negative,
    Node,
    Not,
    Or,
    Rule,
    Sign,
)
from cepheid.errors import CannotExpressError
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


@dataclass
class Writing:
    """Writes one rule; every language derives from it."""

    rule: Rule
    language: str = ""
    names = re.compile(r"[^\W\d]\w*")
    """What a name looks like in the language."""
    reserved: frozenset[str] = frozenset()
    """Words that cannot be names, in lower case."""

    def cannot(self, what: str, instead: str = "") -> CannotExpressError:
        """The error that says what the language has no words for."""
        hint = f"\n\nhint: {instead}" if instead else ""
        return CannotExpressError(f"rule {self.rule.name}: {self.language} cannot say {what}{hint}")

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
