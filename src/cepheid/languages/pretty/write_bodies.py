"""From algebra to the pretty language: the parts of collections and detectors."""

from __future__ import annotations

from enum import IntEnum

from cepheid.algebra import (
    Absence,
    Accumulate,
    Alternation,
    Atom,
    Body,
    Conjunction,
    EventPredicate,
    Iteration,
    Parallel,
    Pick,
    Sequence,
    Take,
    TimerSignal,
    Timing,
)
from cepheid.languages.pretty.write_terms import WORDS, TermWriting, ordinal
from cepheid.languages.writing import Level

Signal = EventPredicate | TimerSignal


class Tightness(IntEnum):
    """How tightly a word binds."""

    PARALLEL = 1
    STRONG = 2
    WEAK = 3
    EITHER = 4
    BOTH = 5
    PART = 6


class BodyWriting(TermWriting):
    """Writes the parts of collections and detectors."""

    def body(self, body: Body, place: Tightness = Tightness.PARALLEL) -> str:
        """A part, in brackets where it binds less tightly than its place needs."""
        text, own = self._bound(body)
        return text if own >= place else f"({text})"

    def _bound(self, body: Body) -> tuple[str, Tightness]:
        if isinstance(body, Parallel):
            right = self.body(body.right, Tightness.STRONG)
            return f"{self.body(body.left)} alongside {right}", Tightness.PARALLEL
        if isinstance(body, Sequence) and body.strong:
            return self._parts(body.parts, " then ", Tightness.WEAK), Tightness.STRONG
        if isinstance(body, Sequence):
            return self._parts(body.parts, " loosely then ", Tightness.EITHER), Tightness.WEAK
        if isinstance(body, Alternation):
            return self._parts(body.parts, " or ", Tightness.BOTH), Tightness.EITHER
        if isinstance(body, Conjunction):
            return self._parts(body.parts, " and ", Tightness.PART), Tightness.BOTH
        if isinstance(body, Iteration):
            return f"any number of {self.body(body.body, Tightness.PART)}", Tightness.PART
        if isinstance(body, Timing):
            return self._timing(body), Tightness.PART
        return self._leaf(body), Tightness.PART

    def _parts(self, parts: tuple[Body, ...], word: str, place: Tightness) -> str:
        return word.join(self.body(part, place) for part in parts)

    def _timing(self, timing: Timing) -> str:
        if timing.at is not None:
            spec = f"at {self.duration(timing.at)}"
        elif timing.duration is not None:
            spec = f"of {self.duration(timing.duration)}"
        else:
            raise self.cannot("a timer without a time")
        first, second = self.body(timing.first), self.body(timing.second)
        return f"(after {first} start timer {self.name(timing.timer)} {spec}, then {second})"

    # --- leaves --------------------------------------------------------------

    def _leaf(self, leaf: Take | Accumulate | Pick | Absence | Atom) -> str:
        if isinstance(leaf, Atom):
            return self._atom(leaf)
        if isinstance(leaf, Absence):
            where = self.where(leaf.predicate.filter, Level.NOT)
            return f"no {self.types(leaf.predicate)}{where}"
        if isinstance(leaf, Pick):
            return self._pick(leaf)
        event = self.event(leaf.label, leaf.predicate, Level.NOT)
        if isinstance(leaf, Take):
            return event if leaf.count == 1 else f"{leaf.count} {event}"
        bound = self.expression(leaf.bound, Level.SUM)
        summary = f"{WORDS[leaf.function]} {self.name(leaf.attribute)}"
        return f"{event} until {summary} {leaf.relation} {bound}"

    def _pick(self, pick: Pick) -> str:
        event = f"{self.any_of(pick.types)}{self.called(pick.label, pick.types)}"
        having = ""
        if pick.condition is not None:
            having = f" having {self.expression(pick.condition, Level.NOT)}"
        return f"{ordinal(pick.index)} {event}{having}"

    def _atom(self, atom: Atom) -> str:
        called = "" if atom.label is None else f" called {self.name(atom.label)}"
        plain = atom.domain == atom.accepts and not atom.negated
        among = "" if plain else f" among ({', '.join(map(self._signal, atom.domain))})"
        if atom.negated:
            return f"anything but {self._rejected(atom)}{called}{among}"
        if len(atom.accepts) != 1 or (called and isinstance(atom.accepts[0], TimerSignal)):
            return f"one of ({', '.join(map(self._signal, atom.accepts))}){called}{among}"
        signal = atom.accepts[0]
        if isinstance(signal, TimerSignal):
            return f"{self._signal(signal)}{among}"
        where = self.where(signal.filter, Level.NOT)
        return f"{self.types(signal)}{called}{where}{among}"

    def _rejected(self, atom: Atom) -> str:
        signals = ", ".join(map(self._signal, atom.accepts))
        filtered = any(getattr(item, "filter", None) is not None for item in atom.accepts)
        return signals if len(atom.accepts) == 1 and not filtered else f"({signals})"

    def _signal(self, signal: Signal) -> str:
        if isinstance(signal, TimerSignal):
            return f"timer {self.name(signal.name)}"
        return f"{self.types(signal)}{self.where(signal.filter)}"
