"""From algebra to Python code: constants, values, conditions, windows."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Mapping
from enum import IntEnum

from cepheid.algebra import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Coalesce,
    Collected,
    Comparison,
    CountWindow,
    EventPredicate,
    Expression,
    Function,
    Instant,
    Item,
    Literal,
    Negative,
    Not,
    Or,
    Parameter,
    Relation,
    Rule,
    Sign,
    TimeWindow,
    Window,
    conjuncts,
)
from cepheid.errors import CannotExpressError
from cepheid.events import Value as Constant
from cepheid.languages.pretty.terms import default_label
from cepheid.units import format_time

FUNCTIONS = {
    Function.AVG: "average",
    Function.SUM: "total",
    Function.MIN: "lowest",
    Function.MAX: "highest",
    Function.COUNT: "number",
}
"""The functions of the binding."""


class Level(IntEnum):
    """How tightly a Python operator binds."""

    COMPARISON = 1
    OR = 2
    AND = 3
    SUM = 4
    PRODUCT = 5
    UNARY = 6
    ATOM = 7


class ValueWriting:
    """Writes values; remembers which names of the binding are used."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.used: set[str] = set()

    def use(self, name: str) -> str:
        """A name of the binding, which the program must import."""
        self.used.add(name)
        return name

    # --- constants -----------------------------------------------------------

    def string(self, text: str) -> str:
        """A text in double quotes; what cannot be seen is escaped."""
        if text.isprintable():
            return json.dumps(text, ensure_ascii=False)
        escaped = text.encode("unicode_escape").decode("ascii")
        return '"' + escaped.replace('"', '\\"') + '"'

    def constant(self, value: Constant | None) -> str:
        """A constant."""
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, float) and math.isinf(value):
            return f"float({self.string(repr(value))})"
        return repr(value)

    def duration(self, microseconds: int) -> str:
        """A length of time with its unit, in quotes."""
        text = format_time(microseconds, bare="")
        return self.string(re.sub(r"(\d)([a-z])", r"\1 \2", text))

    def arguments(self, given: Mapping[str, str], *taken: str) -> str:
        """Named values: as arguments where their names allow it, else as a dictionary."""
        if all(n.isidentifier() and not keyword.iskeyword(n) and n not in taken for n in given):
            return ", ".join(f"{name}={value}" for name, value in given.items())
        return f"{{{', '.join(f'{self.string(n)}: {value}' for n, value in given.items())}}}"

    # --- values --------------------------------------------------------------

    def operand_text(self, node: Expression) -> str:
        """A value where a constant may stand by itself."""
        return self.constant(node.value) if isinstance(node, Literal) else self.value(node)

    def condition(self, node: Expression) -> str:
        """A condition, which is never a bare constant."""
        return self.value(node)

    def receiver(self, node: Expression) -> str:
        """A value of which a method is called."""
        return self.value(node, Level.ATOM)

    def value(self, node: Expression, level: Level = Level.COMPARISON) -> str:
        """A value, in brackets where it binds less tightly than its place needs."""
        text, own = self._leveled(node)
        return text if own >= level else f"({text})"

    def _leveled(self, node: Expression) -> tuple[str, Level]:
        if isinstance(node, Or):
            return " | ".join(self.value(part, Level.AND) for part in node.operands), Level.OR
        if isinstance(node, And):
            return " & ".join(self.value(part, Level.SUM) for part in node.operands), Level.AND
        if isinstance(node, Not):
            return f"~{self.value(node.operand, Level.UNARY)}", Level.UNARY
        if isinstance(node, Negative):
            return f"-{self.value(node.operand, Level.UNARY)}", Level.UNARY
        if isinstance(node, Comparison):
            return self._comparison(node), Level.COMPARISON
        if isinstance(node, Arithmetic):
            return self._arithmetic(node)
        if isinstance(node, Literal):
            return f"{self.use('literal')}({self.constant(node.value)})", Level.ATOM
        return self._call(node), Level.ATOM

    def _comparison(self, node: Comparison) -> str:
        """Python turns a comparison round if its left side is a constant, so that is wrapped."""
        sign = {Relation.EQUAL: "=="}.get(node.relation, str(node.relation))
        return f"{self.value(node.left, Level.OR)} {sign} {self._right(node.right, Level.OR)}"

    def _arithmetic(self, node: Arithmetic) -> tuple[str, Level]:
        level = Level.SUM if node.sign in (Sign.ADD, Sign.SUBTRACT) else Level.PRODUCT
        bare = isinstance(node.left, Literal) and not isinstance(node.right, Literal)
        left = self._right(node.left, level) if bare else self.value(node.left, level)
        return f"{left} {node.sign} {self._right(node.right, Level(level + 1))}", level

    def _right(self, node: Expression, level: Level) -> str:
        return self.constant(node.value) if isinstance(node, Literal) else self.value(node, level)

    def _call(self, node: Expression) -> str:
        if isinstance(node, Attribute):
            of = "" if node.label is None else f", of={self.string(node.label)}"
            return f"{self.use('attribute')}({self.string(node.name)}{of})"
        if isinstance(node, Item):
            name, label = self.string(node.attribute), self.string(node.label)
            return f"{self.use('attribute')}({name}, of={label}, at={node.index})"
        if isinstance(node, Parameter):
            return f"{self.use('parameter')}({self.string(node.name)})"
        if isinstance(node, Coalesce):
            return f"{self.use('first_known')}({', '.join(map(self.operand_text, node.options))})"
        if isinstance(node, Collected | Aggregate):
            return self._function(node)
        raise CannotExpressError(f"rule {self.rule.name}: python cannot say {type(node).__name__}")

    def _function(self, node: Collected | Aggregate) -> str:
        parts = [] if node.attribute is None else [self.string(node.attribute)]
        if isinstance(node, Aggregate):
            parts += [f"of={self.described(node.predicate)}", self.window(node.window)]
        else:
            parts += [f"of={self.string(node.label)}"]
            parts += [] if node.filter is None else [f"where={self.condition(node.filter)}"]
        return f"{self.use(FUNCTIONS[node.function])}({', '.join(parts)})"

    # --- events --------------------------------------------------------------

    def described(self, predicate: EventPredicate, label: str = "") -> str:
        """An event with its filter, and with a name if it is given one."""
        if predicate.every is not None:
            if predicate.types != ("Timer",):
                raise CannotExpressError(
                    f"rule {self.rule.name}: python cannot say a periodic timer under another type"
                )
            head = f"{self.use('every')}({self.duration(predicate.every)})"
        else:
            head = f"{self.use('event')}({', '.join(map(self.string, predicate.types))})"
        called = f".called({self.string(label)})" if label else ""
        if predicate.filter is None:
            return f"{head}{called}"
        given = ", ".join(self.condition(part) for part in conjuncts(predicate.filter))
        return f"{head}{called}.where({given})"

    def event(self, label: str, predicate: EventPredicate) -> str:
        """An event of the match; it is called like its type, unless it has another name."""
        return self.described(predicate, "" if label == default_label(predicate.types) else label)

    # --- windows -------------------------------------------------------------

    def window(self, window: Window) -> str:
        """A window as arguments."""
        low, high = window.low, window.high
        if high is not None and low is None:
            return f"before={self.end(high)}"
        if low is not None and high is None:
            return f"after={self.end(low)}"
        if low is not None and high is not None and low.label == high.label:
            if not high.offset and low.offset < 0:
                return f"within={self.duration(-low.offset)}, before={self.end(high)}"
            if not low.offset and high.offset > 0:
                return f"within={self.duration(high.offset)}, after={self.end(low)}"
        ends = ["None" if end is None else self.end(end) for end in (low, high)]
        return f"between=({', '.join(ends)})"

    def end(self, instant: Instant) -> str:
        """An end of a window."""
        label = self.string(instant.label)
        if not instant.offset:
            return label
        sign = "-" if instant.offset < 0 else ""
        offset = self.duration(abs(instant.offset))
        return f'{self.use("moment")}({label}, "{sign}{offset[1:]})'

    def size(self, window: TimeWindow | CountWindow) -> str:
        """The size of a window as the second argument of watch."""
        if isinstance(window, TimeWindow):
            return self.duration(window.length)
        return f"events={window.size}"

    def limit(self, window: TimeWindow | CountWindow) -> str:
        """The size of a window as an argument of collect."""
        return (
            f"within={self.size(window)}" if isinstance(window, TimeWindow) else self.size(window)
        )
