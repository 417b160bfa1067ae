"""From algebra to Python code: the parts of collections and detectors."""

from __future__ import annotations

from cepheid.algebra import (
    Absence,
    Accumulate,
    Alternation,
    Atom,
    Body,
    Conjunction,
    EventPredicate,
    Iteration,
    Literal,
    Parallel,
    Pick,
    Relation,
    Sequence,
    Take,
    TimerSignal,
    Timing,
)
from cepheid.binding.write_values import FUNCTIONS, Level, ValueWriting
from cepheid.errors import CannotExpressError


class PartWriting(ValueWriting):
    """Writes the parts of collections and detectors."""

    def part(self, body: Body, level: Level = Level.OR) -> str:
        """A part, in brackets where it binds less tightly than its place needs."""
        text, own = self._joined(body)
        return text if own >= level else f"({text})"

    def _joined(self, body: Body) -> tuple[str, Level]:
        if isinstance(body, Alternation):
            return " | ".join(self.part(part, Level.AND) for part in body.parts), Level.OR
        if isinstance(body, Conjunction):
            return " & ".join(self.part(part, Level.SUM) for part in body.parts), Level.AND
        return self._called(body), Level.ATOM

    def _called(self, body: Body) -> str:
        if isinstance(body, Sequence):
            first, *rest = body.parts
            method = "then" if body.strong else "loosely_then"
            return f"{self._receiver(first)}.{method}({', '.join(map(self.part, rest))})"
        if isinstance(body, Parallel):
            return f"{self._receiver(body.left)}.alongside({self.part(body.right)})"
        if isinstance(body, Iteration):
            return f"{self._receiver(body.body)}.repeated()"
        if isinstance(body, Timing):
            return self._timing(body)
        if isinstance(body, Atom):
            return self._atom(body)
        assert isinstance(body, Take | Accumulate | Pick | Absence)  # noqa: S101 (what remains)
        return self._leaf(body)

    def _receiver(self, body: Body) -> str:
        return self.part(body, Level.ATOM)

    def _timing(self, timing: Timing) -> str:
        if timing.at is None and timing.duration is None:
            raise CannotExpressError(
                f"rule {self.rule.name}: python cannot say a timer without a time"
            )
        spec = f"at={self.duration(timing.at)}" if timing.at is not None else ""
        spec = self.duration(timing.duration) if timing.duration is not None else spec
        then = self.part(timing.second)
        name = self.string(timing.timer)
        return f"{self._receiver(timing.first)}.start_timer({name}, {spec}, then={then})"

    # --- leaves --------------------------------------------------------------

    def _leaf(self, leaf: Take | Accumulate | Pick | Absence) -> str:
        if isinstance(leaf, Absence):
            return f"{self.described(leaf.predicate)}.absent()"
        if isinstance(leaf, Pick):
            event = self.event(leaf.label, EventPredicate(leaf.types))
            having = f", having={self.condition(leaf.condition)}" if leaf.condition else ""
            return f"{event}.at({leaf.index}{having})"
        event = self.event(leaf.label, leaf.predicate)
        if isinstance(leaf, Take):
            return event if leaf.count == 1 else f"{event}.times({leaf.count})"
        sign = {Relation.EQUAL: "=="}.get(leaf.relation, str(leaf.relation))
        bound = leaf.bound
        shown = self.constant(bound.value) if isinstance(bound, Literal) else None
        right = shown if shown is not None else self.value(bound, Level.OR)
        function = f"{self.use(FUNCTIONS[leaf.function])}({self.string(leaf.attribute)})"
        return f"{event}.until({function} {sign} {right})"

    def _atom(self, atom: Atom) -> str:
        called = "" if atom.label is None else f".called({self.string(atom.label)})"
        plain = atom.domain == atom.accepts and not atom.negated
        among = "" if plain else f".among({', '.join(map(self._signal, atom.domain))})"
        one = atom.accepts[0] if len(atom.accepts) == 1 and not atom.negated else None
        if isinstance(one, EventPredicate):
            return f"{self.described(one, atom.label or '')}{among}"
        if isinstance(one, TimerSignal) and not called:
            return f"{self._signal(one)}{among}"
        word = self.use("anything_but" if atom.negated else "one_of")
        return f"{word}({', '.join(map(self._signal, atom.accepts))}){called}{among}"

    def _signal(self, signal: EventPredicate | TimerSignal) -> str:
        if isinstance(signal, TimerSignal):
            return f"{self.use('timer')}({self.string(signal.name)})"
        return self.described(signal)
