"""The states of a detector, built from its expression (framework paper, appendix B).

A state is the atom that was matched last. From it lead the transitions to all atoms that may come
next; empty transitions are removed on the way, and what follows one keeps its strength. The input
domain of a state is the union of the domains of the atoms that may come next, with every timer in
whose scope they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.algebra import (
    Alternation,
    Atom,
    Body,
    Iteration,
    Parallel,
    Sequence,
    Timing,
)

START = -1
"""The state before anything was matched."""


@dataclass(frozen=True)
class Transition:
    """A step to an atom that may come next; `sets` are the timers that run while it is awaited."""

    target: int
    strong: bool
    sets: tuple[Timing, ...] = ()


@dataclass
class Fragment:
    """A part of the automaton: where it begins, where it ends, whether it accepts nothing."""

    first: list[int]
    last: list[int]
    nullable: bool


@dataclass
class Automaton:
    """Atoms (or parallel expressions) as states, with the transitions between them."""

    atoms: list[Atom | Parallel] = field(default_factory=list)
    scopes: list[frozenset[str]] = field(default_factory=list)
    transitions: dict[int, list[Transition]] = field(default_factory=dict)
    accepting: frozenset[int] = frozenset()

    @staticmethod
    def of(body: Body) -> Automaton:
        """The automaton of an expression."""
        automaton = Automaton()
        whole = automaton._build(body, frozenset())
        automaton.transitions[START] = [Transition(first, strong=False) for first in whole.first]
        automaton.accepting = frozenset(whole.last)
        return automaton

    def _build(self, body: Body, scope: frozenset[str]) -> Fragment:
        if isinstance(body, Sequence):
            return self._sequence(body, scope)
        if isinstance(body, Alternation):
            return self._alternation(body, scope)
        if isinstance(body, Iteration):
            return self._iteration(body, scope)
        if isinstance(body, Timing):
            return self._timing(body, scope)
        assert isinstance(body, Atom | Parallel)  # noqa: S101 (a detector has no other parts)
        self.atoms.append(body)
        self.scopes.append(scope)
        state = len(self.atoms) - 1
        self.transitions[state] = []
        return Fragment([state], [state], nullable=False)

    def _sequence(self, body: Sequence, scope: frozenset[str]) -> Fragment:
        whole = Fragment([], [], nullable=True)
        for part in body.parts:
            whole = self._joined(whole, self._build(part, scope), strong=body.strong, sets=())
        return whole

    def _timing(self, body: Timing, scope: frozenset[str]) -> Fragment:
        first = self._build(body.first, scope)
        second = self._build(body.second, scope | {body.timer})
        return self._joined(first, second, strong=False, sets=(body,))

    def _alternation(self, body: Alternation, scope: frozenset[str]) -> Fragment:
        parts = [self._build(part, scope) for part in body.parts]
        return Fragment(
            [state for part in parts for state in part.first],
            [state for part in parts for state in part.last],
            nullable=any(part.nullable for part in parts),
        )

    def _iteration(self, body: Iteration, scope: frozenset[str]) -> Fragment:
        part = self._build(body.body, scope)
        self._connect(part, part, strong=False, sets=())
        return Fragment(part.first, part.last, nullable=True)

    def _joined(
        self, left: Fragment, right: Fragment, *, strong: bool, sets: tuple[Timing, ...]
    ) -> Fragment:
        """One part and then another, by an empty transition that is removed again."""
        self._connect(left, right, strong=strong, sets=sets)
        first = left.first + (right.first if left.nullable else [])
        last = right.last + (left.last if right.nullable else [])
        return Fragment(first, last, nullable=left.nullable and right.nullable)

    def _connect(
        self, left: Fragment, right: Fragment, *, strong: bool, sets: tuple[Timing, ...]
    ) -> None:
        for state in left.last:
            for target in right.first:
                self.transitions[state].append(Transition(target, strong, sets))
