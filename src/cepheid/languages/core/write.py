"""The algebra to text of the core language, in ASCII."""

from __future__ import annotations

from enum import IntEnum

from cepheid.algebra import (
    Alternation,
    Atom,
    Attribute,
    Body,
    Collected,
    Detector,
    EventPredicate,
    Iteration,
    Node,
    Parallel,
    Rule,
    Sequence,
    TimerSignal,
    Timing,
)
from cepheid.languages.writing import Level, Writing


class Binding(IntEnum):
    """How tightly an operator of the language binds."""

    PARALLEL = 1
    CHOICE = 2
    STRONG = 3
    WEAK = 4
    REPEATED = 5
    UNIT = 6


def write(rule: Rule) -> str:
    """A rule as text of the core language."""
    return CoreWriting(rule, "the core language").text()


class CoreWriting(Writing):
    """Writes one rule in the core language."""

    def text(self) -> str:
        """The whole rule."""
        rule, detector = self.rule, self.rule.pattern
        self.check_kind(Detector)
        assert isinstance(detector, Detector)  # noqa: S101 (checked)
        self._check(rule)
        lines = [f"define {self.name(rule.name)} as", f"  {self._body(detector.body)}"]
        if detector.where is not None:
            lines.append(f"where {self.expression(detector.where)}")
        if detector.within is not None:
            lines.append(f"within {self.duration(detector.within)}")
        if rule.output.attributes:
            lines.append(f"return ({self._returned()})")
        return "\n".join(lines) + "\n"

    def _check(self, rule: Rule) -> None:
        if rule.name != rule.output.type:
            raise self.cannot("a rule whose name is not the type of its composite event")
        self.check_meaning()
        self.check_no_consuming()

    def _returned(self) -> str:
        if any(attribute.kind is not None for attribute in self.rule.output.attributes):
            raise self.cannot("the type of an attribute", at=self.rule.output)
        return ", ".join(
            f"{self.name(attribute.name)} = {self.expression(attribute.value, Level.SUM)}"
            for attribute in self.rule.output.attributes
        )

    def _body(self, body: Body, place: Binding = Binding.PARALLEL) -> str:
        """An expression, in brackets where it binds less tightly than its place needs."""
        text, own = self._bound(body)
        return text if own >= place else f"({text})"

    def _bound(self, body: Body) -> tuple[str, Binding]:
        if isinstance(body, Parallel):
            left, right = self._body(body.left), self._body(body.right, Binding.CHOICE)
            return f"{left} || {right}", Binding.PARALLEL
        if isinstance(body, Alternation):
            return self._parts(body.parts, " | ", Binding.STRONG), Binding.CHOICE
        if isinstance(body, Sequence) and body.strong:
            return self._parts(body.parts, " ; ", Binding.WEAK), Binding.STRONG
        if isinstance(body, Sequence):
            return self._parts(body.parts, " ", Binding.REPEATED), Binding.WEAK
        if isinstance(body, Iteration):
            return f"{self._body(body.body, Binding.UNIT)}*", Binding.REPEATED
        if isinstance(body, Timing):
            return self._timing(body), Binding.UNIT
        if isinstance(body, Atom):
            return self._atom(body), Binding.UNIT
        raise self.cannot(f"{type(body).__name__.lower()} in an expression", at=body)

    def _parts(self, parts: tuple[Body, ...], sign: str, place: Binding) -> str:
        return sign.join(self._body(part, place) for part in parts)

    def _timing(self, timing: Timing) -> str:
        first, second = self._body(timing.first), self._body(timing.second)
        return f"({first}, {second}) {self.name(timing.timer)} = {self._timespec(timing)}"

    def _timespec(self, timing: Timing) -> str:
        if timing.at is not None:
            return f"at {self.duration(timing.at)}"
        if timing.duration is None:
            raise self.cannot("a timer without a time")
        return self.duration(timing.duration)

    def _atom(self, atom: Atom) -> str:
        label = f"{self.name(atom.label)}: " if atom.label is not None else ""
        sign = "!" if atom.negated else ""
        accepts = ", ".join(map(self._signal, atom.accepts))
        plain = atom.domain == atom.accepts and not atom.negated
        return f"[{label}{sign}{accepts}{'' if plain else self._domain(atom)}]"

    def _domain(self, atom: Atom) -> str:
        inside = ", ".join(map(self._signal, atom.domain))
        return f" in {inside}" if len(atom.domain) == 1 else f" in {{{inside}}}"

    def _signal(self, signal: EventPredicate | TimerSignal) -> str:
        if isinstance(signal, TimerSignal):
            return self.name(signal.name)
        if len(signal.types) != 1 or signal.every is not None:
            raise self.cannot("an event of any of several types, or a periodic timer", at=signal)
        inside = "" if signal.filter is None else f"({self.expression(signal.filter)})"
        return f"{self.name(signal.types[0])}{inside}"

    def operand(self, node: Node) -> str:
        """Attributes, and functions over the events under a label."""
        if isinstance(node, Attribute):
            label = "" if node.label is None else f"{self.name(node.label)}."
            return f"{label}{self.name(node.name)}"
        if isinstance(node, Collected) and node.filter is None:
            attribute = "" if node.attribute is None else f".{self.name(node.attribute)}"
            return f"{node.function}({self.name(node.label)}{attribute})"
        return super().operand(node)
