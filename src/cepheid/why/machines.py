"""The machines of a detector, which remember their branches and where these ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

from cepheid.algebra import (
    Atom,
    Parallel,
)
from cepheid.events import Event
from cepheid.oracle.automaton import START, Automaton
from cepheid.oracle.detector import (
    Branch,
    Machine,
    Pair,
    ParallelMachine,
)


@dataclass(frozen=True)
class TracedBranch(Branch):
    """A branch that remembers its way: the states, with the event or timer that led to each."""

    path: tuple[tuple[str, Event], ...] = ()


@dataclass(frozen=True)
class End:
    """Where a branch came to: it waits, or an event or a timer ended it."""

    machine: MachineTrace
    branch: Branch
    event: Event | None = None


class MachineTrace(Machine):
    """A machine that remembers the branches that ended; its lane is named as in the drawing."""

    lane = ""
    numbers: list[int]

    def __post_init__(self) -> None:
        self.start_at("", [])

    def start_at(self, lane: str, numbers: list[int]) -> None:
        """Begin anew as a lane; the numbers are those of the parallel parts so far."""
        self.lane, self.ended = lane, list[End]()
        self.automaton = Automaton.of(self.body)
        self.branches: list[Branch] = []
        self.parallels: dict[int, ParallelMachine] = {}
        named: list[tuple[int, Parallel, int]] = []
        for state, atom in enumerate(self.automaton.atoms):
            if isinstance(atom, Parallel):
                numbers.append(len(numbers) + 1)
                named.append((state, atom, numbers[-1]))
        for state, atom, number in named:
            self.parallels[state] = ParallelTrace.of(atom, self, number, numbers)

    def state_name(self, state: int) -> str:
        """A state as the drawing calls it."""
        return f"{self.lane}.S{state + 1}" if self.lane else f"S{state + 1}"

    def machines(self) -> Iterator[MachineTrace]:
        """This machine and those of the sides of its parallel parts."""
        yield self
        for parallel in self.parallels.values():
            for side in parallel.sides:
                assert isinstance(side, MachineTrace)  # noqa: S101 (made by ParallelTrace)
                yield from side.machines()

    def _advance(self, branch: Branch, taken: list, event: Event) -> list[Branch]:  # type: ignore[type-arg]
        if not taken and branch.state != START:
            self.ended.append(End(self, branch, event))
        return super()._advance(branch, taken, event)

    def _moved(self, branch: Branch, state: int, event: Event) -> Branch:
        moved = super()._moved(branch, state, event)
        path = branch.path if isinstance(branch, TracedBranch) else ()
        known = {item.name: getattr(moved, item.name) for item in fields(Branch)}
        return TracedBranch(**known, path=(*path, (self.state_name(state), event)))

    # --- what may come next --------------------------------------------------

    @cached_property
    def distances(self) -> dict[int, int]:
        """How many steps lead from each state to a match at least."""
        found = dict.fromkeys(self.automaton.accepting, 0)
        while True:
            more = {
                state: 1 + min(found[t.target] for t in steps if t.target in found)
                for state, steps in self.automaton.transitions.items()
                if state not in found and any(t.target in found for t in steps)
            }
            if not more:
                return found
            found.update(more)

    def awaited(self, branch: Branch) -> list[tuple[Atom | Parallel, bool]]:
        """The atoms that may come next, and whether they must follow strongly."""
        steps = self.automaton.transitions[branch.state]
        return [(self.automaton.atoms[step.target], step.strong) for step in steps]

    def timers(self, branch: Branch) -> dict[str, int]:
        """The timers that a branch waits for."""
        return self._awaited(branch)


class ParallelTrace(ParallelMachine):
    """A parallel part whose sides remember, and which keeps its pairs."""

    @staticmethod
    def of(
        parallel: Parallel, machine: MachineTrace, number: int, numbers: list[int]
    ) -> ParallelTrace:
        """The parallel part of a machine with a number."""
        made = ParallelTrace(parallel, machine.world, machine.within, machine.missing)
        made.pairs = []
        sides = []
        for body, name in ((parallel.left, "a"), (parallel.right, "b")):
            side = MachineTrace(body, machine.world, machine.within, machine.missing)
            side.start_at(f"P{number}{name}", numbers)
            sides.append(side)
        made.sides = list(sides)
        return made

    pairs: list[Pair]

    def _paired(self, new: list[list[Branch]]) -> list[Pair]:
        found = super()._paired(new)
        self.pairs += found
        return found


def events_in(branch: Branch) -> list[Event]:
    """The events that a branch is made of."""
    return [event for _, event in branch.constituents]


def path_of(branch: Branch) -> tuple[tuple[str, Event], ...]:
    """The states of a branch, with the event or timer that led to each."""
    return branch.path if isinstance(branch, TracedBranch) else ()


def states_of(branch: Branch) -> Iterator[tuple[int, str]]:
    """The states of all events, those of pairs included."""
    for state, event in path_of(branch):
        if isinstance(event, Pair):
            for part in event.parts:
                yield from states_of(part)
        else:
            yield id(event), state
