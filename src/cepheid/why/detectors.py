"""Detectors: why a regular expression matched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cepheid.algebra import (
    conjuncts,
)
from cepheid.events import CompositeEvent
from cepheid.oracle.automaton import START
from cepheid.oracle.detector import (
    Branch,
    DetectorEvaluator,
)
from cepheid.why.attempts import Aim, Attempt, Means, Told, best
from cepheid.why.branches import BranchView
from cepheid.why.changes import Change
from cepheid.why.machines import (
    End,
    MachineTrace,
    events_in,
)

ATTEMPTS = 10
"""How many attempts are told."""
ENDS = 40
"""How many branches are looked at, those that came furthest."""


@dataclass
class DetectorTrace(DetectorEvaluator):
    """Evaluates a detector and remembers its branches."""

    made: dict[str, Branch] = field(default_factory=dict)
    refused: list[Branch] = field(default_factory=list)

    def __post_init__(self) -> None:
        within = self.detector.within
        self.machine = MachineTrace(self.detector.body, self.world, within, self.rule.missing)
        self._machine = self.machine

    def _composed(self, matches: list[Branch]) -> Iterator[CompositeEvent]:
        for match in matches:
            found = list(super()._composed([match]))
            for event in found:
                self.made[str(event.id)] = match
            if not found and match.constituents and match.key not in self._told:
                self.refused.append(match)
            yield from found

    def tell(self, event: CompositeEvent, means: Means) -> Told:
        """Why an event was found."""
        branch = self.made[str(event.id)]
        view = BranchView(self, means)
        checks = [*view.steps(branch), *(test.check for test in view.whole(branch))]
        return Told(tuple(view.places(branch)), tuple(checks))

    def averting(self, event: CompositeEvent, means: Means) -> Iterator[Change]:
        """Changes with which an event would not have been found."""
        scope = BranchView(self, means).scope(self.made[str(event.id)])
        for part in conjuncts(self.detector.where):
            yield from means.solver.make(part, scope, wanted=False)

    def attempts(self, aim: Aim, means: Means) -> list[Attempt]:
        """How far the rule came, the attempts that are nearest to a match first."""
        view = BranchView(self, means)
        found = [
            Attempt(tuple(view.places(branch)), tuple(view.whole(branch)))
            for branch in self.refused[-ENDS:]
        ]
        for machine in self.machine.machines():
            ends = [*machine.ended, *(End(machine, branch) for branch in machine.branches)]
            ends.sort(key=lambda end: (_rank(end), aim.distance(events_in(end.branch))))
            found += [view.attempt(end, aim) for end in ends[:ENDS]]
            found.append(view.attempt(End(machine, Branch(START)), aim))
        return best(found, aim, ATTEMPTS)


def _rank(end: End) -> tuple[int, int]:
    return end.machine.distances.get(end.branch.state, 99), -len(end.branch.constituents)
