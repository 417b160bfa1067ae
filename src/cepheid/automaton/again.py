"""Steps that begin a part anew, gathered: an iteration leads from all its ends to all its starts.

Drawn one by one these steps hide everything else, so those between the same states share a line.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.automaton.model import Lane, Transition


@dataclass(frozen=True, slots=True)
class Bus:
    """Steps from each of some states to each of some others, by one step for each target."""

    sources: tuple[str, ...]
    steps: tuple[Transition, ...]


def buses(lane: Lane) -> list[Bus]:
    """The steps of iterations; a state that only follows itself keeps its loop."""
    into: dict[str, list[Transition]] = {}
    for step in lane.transitions:
        if step.again and step.failure is None:
            into.setdefault(step.target, []).append(step)
    found: dict[tuple[str, ...], list[Transition]] = {}
    for target, steps in into.items():
        sources = tuple(step.source for step in steps)
        if sources != (target,):
            found.setdefault(sources, []).append(steps[0])
    return [Bus(sources, tuple(steps)) for sources, steps in found.items()]
