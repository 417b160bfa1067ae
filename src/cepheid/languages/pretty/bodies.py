"""The pretty language's `watch`, `collect` and `detect`: parts and how they combine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lark import Token

from cepheid.algebra import (
    Absence,
    Accumulate,
    Alternation,
    Atom,
    Body,
    Conjunction,
    CountWindow,
    EventPredicate,
    Iteration,
    Parallel,
    Pick,
    Sequence,
    Take,
    TimerSignal,
    TimeWindow,
    Timing,
)
from cepheid.languages.lowering import ParseTree, parts
from cepheid.languages.pretty.terms import FUNCTIONS, TermLowering, find_all, word

Signal = EventPredicate | TimerSignal

_COLLECTED = ("several", "pick", "accumulate", "absence", "both")
"""What only a collection has."""
_DETECTED = (
    *("parallel", "weak", "iteration", "timing"),
    *("one_of", "anything_but", "timed", "among"),
)
"""What only a detector has."""
_WORDS = {
    "several": "a number of events",
    "pick": "first, last and 2nd",
    "accumulate": "until",
    "absence": "no",
    "both": "and",
    "parallel": "alongside",
    "weak": "loosely then",
    "iteration": "any number of",
    "timing": "start timer",
    "one_of": "one of",
    "anything_but": "anything but",
    "timed": "timer",
    "among": "among",
}


@dataclass
class BodyLowering(TermLowering):
    """Lowers the parts of collections and detectors."""

    collecting: bool = False
    _timers: dict[str, Token] = field(default_factory=dict)

    def size(self, tree: ParseTree) -> TimeWindow | CountWindow:
        """A window by time or by the number of events."""
        child = parts(tree)[0]
        if tree.data == "counted":
            return CountWindow(self.count(child, "the number of events"), span=self.span(tree))
        return TimeWindow(self.length(child), span=self.span(tree))

    # --- names ---------------------------------------------------------------

    def body_labels(self, tree: ParseTree) -> None:
        """Take the names of all events and timers first.

        In a collection every event has a name; in a detector only those that are called something.
        """
        self._check_kind(tree)
        nameless = {id(parts(found)[0]) for found in find_all(tree, "absence")}
        for found in find_all(tree, "leaf", "one_of", "anything_but"):
            called = next(iter(self._called(found)), None)
            if id(found) in nameless:
                continue
            if called is not None:
                self.declare(word(parts(called)[0]), parts(called)[0])
            elif self.collecting:
                types = parts(found)[0]
                self.declare(self.name_of(types, None), self._first(types))
        for found in find_all(tree, "timing"):
            self._declare_timer(parts(found)[1])

    @staticmethod
    def _called(tree: ParseTree) -> list[ParseTree]:
        return [child for child in parts(tree) if getattr(child, "data", None) == "called"]

    @staticmethod
    def _first(types: ParseTree) -> Token:
        first = parts(types)[0]
        token: Token = first if isinstance(first, Token) else parts(first)[0]
        return token

    def _declare_timer(self, token: Token) -> None:
        if word(token) in self._timers:
            self.error(
                "DUPLICATE_LABEL",
                f"two timers of rule {self.rule} are called {word(token)}",
                token,
                hint=f"give each its own name, such as {word(token)}2",
            )
        self._timers[word(token)] = token

    def _check_kind(self, tree: ParseTree) -> None:
        wrong = _DETECTED if self.collecting else _COLLECTED
        verb, other = ("collect", "detect") if self.collecting else ("detect", "collect")
        for found in find_all(tree, *wrong):
            form = str(found.data)
            self.error(
                "WRONG_STRUCTURE",
                f"{_WORDS[form]} in rule {self.rule} cannot stand behind {verb}",
                found,
                hint=f"it belongs to {other}",
            )

    # --- combinations --------------------------------------------------------

    def body(self, tree: ParseTree) -> Body:
        """Lower a part of a pattern."""
        lower: dict[str, Callable[[ParseTree], Body]] = {
            "parallel": self._parallel,
            "strong": lambda found: self._sequence(found, strong=True),
            "weak": lambda found: self._sequence(found, strong=False),
            "either": lambda found: Alternation(
                self._flat(found, Alternation), span=self.span(found)
            ),
            "both": lambda found: Conjunction(
                self._flat(found, Conjunction), span=self.span(found)
            ),
            "iteration": self._iteration,
            "timing": self._timing,
            "several": self._several,
            "pick": self._pick,
            "accumulate": self._accumulate,
            "absence": self._absence,
            "plain": self._plain,
            "one_of": self._one_of,
            "anything_but": self._anything_but,
            "timed": self._timed,
        }
        return lower[str(tree.data)](tree)

    def _flat(self, tree: ParseTree, kind: type[Alternation | Conjunction]) -> tuple[Body, ...]:
        """The parts, with those of the same kind opened: brackets around them change nothing."""
        flat: list[Body] = []
        for part in parts(tree)[::2]:
            lowered = self.body(part)
            flat.extend(lowered.parts if isinstance(lowered, kind) else (lowered,))
        return tuple(flat)

    def _sequence(self, tree: ParseTree, *, strong: bool) -> Body:
        flat: list[Body] = []
        for part in map(self.body, parts(tree)):
            same = isinstance(part, Sequence) and part.strong is strong
            flat.extend(part.parts if isinstance(part, Sequence) and same else (part,))
        return Sequence(tuple(flat), strong, span=self.span(tree))

    def _parallel(self, tree: ParseTree) -> Body:
        first, *others = parts(tree)
        result = self.body(first)
        for other in others:
            result = Parallel(result, self.body(other), span=self.span(tree))
        return result

    def _iteration(self, tree: ParseTree) -> Body:
        body = self.body(parts(tree)[0])
        return body if isinstance(body, Iteration) else Iteration(body, span=self.span(tree))

    def _timing(self, tree: ParseTree) -> Body:
        first, timer, how, duration, second = parts(tree)
        before, after = self.body(first), self.body(second)
        name, span = word(timer), self.span(timer)
        if how.type == "AT":
            return Timing(before, after, name, at=self.moment(duration), span=span)
        return Timing(before, after, name, self.length(duration), span=span)

    # --- parts of a collection -----------------------------------------------

    def _several(self, tree: ParseTree) -> Body:
        number, leaf = parts(tree)
        label, predicate = self.event(leaf)
        return Take(
            label, predicate, self.count(number, "a number of events"), span=self.span(leaf)
        )

    def _pick(self, tree: ParseTree) -> Body:
        place, leaf, having = parts(tree)
        types, called, only = parts(leaf)
        label = self.name_of(types, called)
        if only is not None or types.data == "periodic":
            self.error(
                "WRONG_STRUCTURE",
                f"{label} in rule {self.rule} is chosen among all events of its type",
                only or types,
                expected=f"{place} {label} having …",
                hint="having tests the event that is at this place",
            )
        condition = None if having is None else self.test(having, label)
        return Pick(label, self.types(types), self.place(place), condition, span=self.span(leaf))

    def _accumulate(self, tree: ParseTree) -> Body:
        leaf, function, name, operator, bound = parts(tree)
        label, predicate = self.event(leaf)
        return Accumulate(
            label,
            predicate,
            FUNCTIONS[function.lower()],
            word(name),
            self.relation(operator),
            self.expression(bound),
            span=self.span(leaf),
        )

    def _absence(self, tree: ParseTree) -> Body:
        types, called, only = parts(parts(tree)[0])
        own = word(parts(called)[0]) if called else None
        predicate = self.predicate(types, self.tested(only, own))
        return Absence(predicate, span=self.span(tree))

    # --- atoms of a detector -------------------------------------------------

    def _plain(self, tree: ParseTree) -> Body:
        leaf, among = parts(tree)
        if self.collecting:
            label, predicate = self.event(leaf)
            return Take(label, predicate, span=self.span(leaf))
        types, called, only = parts(leaf)
        own = word(parts(called)[0]) if called else None
        accepts = (self.predicate(types, self.tested(only, own)),)
        return self._atom(tree, own, accepts, among)

    def _one_of(self, tree: ParseTree) -> Body:
        *signals, called, among = parts(tree)
        own = word(parts(called)[0]) if called else None
        return self._atom(tree, own, self._signals(signals, own), among)

    def _anything_but(self, tree: ParseTree) -> Body:
        *signals, called, among = parts(tree)
        own = word(parts(called)[0]) if called else None
        return self._atom(tree, own, self._signals(signals, own), among, negated=True)

    def _timed(self, tree: ParseTree) -> Body:
        name, among = parts(tree)
        return self._atom(tree, None, (self._timer(name),), among)

    def _atom(
        self,
        tree: ParseTree,
        own: str | None,
        accepts: tuple[Signal, ...],
        among: ParseTree | None,
        *,
        negated: bool = False,
    ) -> Atom:
        domain = self._signals(parts(among), own) if among else accepts
        return Atom(own, accepts, domain, negated, span=self.span(tree))

    def _signals(self, trees: Iterable[ParseTree], own: str | None) -> tuple[Signal, ...]:
        return tuple(self._signal(tree, own) for tree in trees)

    def _signal(self, tree: ParseTree, own: str | None) -> Signal:
        if tree.data == "timer":
            return self._timer(parts(tree)[0])
        types, *where = parts(tree)
        return self.predicate(types, self.tested(where[0] if where else None, own))

    def _timer(self, token: Token) -> TimerSignal:
        return TimerSignal(word(token), span=self.span(token))
