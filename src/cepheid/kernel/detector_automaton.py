"""The states of a detector's machines, before they become numbers (framework paper, appendix B).

A state is the atom (or parallel expression) that was matched last; state 0 is the start. Empty
transitions are removed as they are made, and what follows one keeps its strength. Transitions that
differ in strength alone are one: the weak one can be taken whenever the strong one can.
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

START = 0


@dataclass(frozen=True)
class Part:
    """A part of the automaton: where it begins, where it ends, whether it may be nothing."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    empty: bool


@dataclass
class Automaton:
    """Atoms by state, the timers in whose scope they stand, and transitions between states.

    `transitions` tells for each state the states that may come next, and whether only strongly;
    `sets` the timers that start when a state is reached, the one that is set last at the end.
    """

    atoms: list[Atom | Parallel | None] = field(default_factory=lambda: [None])
    scopes: list[frozenset[str]] = field(default_factory=lambda: [frozenset()])
    transitions: list[dict[int, bool]] = field(default_factory=lambda: [{}])
    sets: list[dict[str, Timing]] = field(default_factory=lambda: [{}])
    accepting: frozenset[int] = frozenset()

    @staticmethod
    def of(body: Body) -> Automaton:
        """The automaton of an expression."""
        automaton = Automaton()
        whole = automaton._build(body, frozenset())
        automaton.transitions[START] = dict.fromkeys(whole.first, False)
        automaton.accepting = frozenset(whole.last)
        return automaton

    @property
    def timers(self) -> list[str]:
        """The names of all timers that are set somewhere."""
        return list(dict.fromkeys(name for found in self.sets for name in found))

    def awaited(self, state: int) -> frozenset[str]:
        """The timers in the domain of a state."""
        return frozenset[str]().union(*(self.scopes[target] for target in self.transitions[state]))

    def returns(self, state: int) -> bool:
        """Whether a state can be reached again from itself."""
        seen: set[int] = set()
        waiting = list(self.transitions[state])
        while waiting:
            found = waiting.pop()
            if found not in seen:
                seen.add(found)
                waiting += self.transitions[found]
        return state in seen

    def _build(self, body: Body, scope: frozenset[str]) -> Part:
        if isinstance(body, Sequence):
            whole = Part((), (), empty=True)
            for item in body.parts:
                whole = self._joined(whole, self._build(item, scope), strong=body.strong)
            return whole
        if isinstance(body, Timing):
            first = self._build(body.first, scope)
            second = self._build(body.second, scope | {body.timer})
            return self._joined(first, second, strong=False, sets=body)
        if isinstance(body, Alternation):
            return _either([self._build(item, scope) for item in body.parts])
        if isinstance(body, Iteration):
            part = self._build(body.body, scope)
            self._connect(part, part, strong=False)
            return Part(part.first, part.last, empty=True)
        assert isinstance(body, Atom | Parallel)  # noqa: S101 (a detector has no other parts)
        self.atoms.append(body)
        self.scopes.append(scope)
        self.transitions.append({})
        self.sets.append({})
        state = len(self.atoms) - 1
        return Part((state,), (state,), empty=False)

    def _joined(self, left: Part, right: Part, *, strong: bool, sets: Timing | None = None) -> Part:
        self._connect(left, right, strong=strong, sets=sets)
        first = left.first + (right.first if left.empty else ())
        last = right.last + (left.last if right.empty else ())
        return Part(first, last, empty=left.empty and right.empty)

    def _connect(
        self, left: Part, right: Part, *, strong: bool, sets: Timing | None = None
    ) -> None:
        for state in left.last:
            for target in right.first:
                known = self.transitions[state].get(target, True)
                self.transitions[state][target] = known and strong
                if sets is not None:
                    # A timer that is set again comes last among those that fire together.
                    self.sets[state].pop(sets.timer, None)
                    self.sets[state][sets.timer] = sets


def _either(parts: list[Part]) -> Part:
    return Part(
        tuple(state for part in parts for state in part.first),
        tuple(state for part in parts for state in part.last),
        empty=any(part.empty for part in parts),
    )
