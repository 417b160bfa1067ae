"""A small layered layout: where the states of an automaton stand and how its steps run.

States go from left to right in columns, as far from the start as their longest way; the columns
are common to all lanes, so that shared states stand below each other. Steps that pass over
columns get a place in each of them. Steps backwards are not laid out here: they run below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cepheid.automaton.model import Lane, Transition

GAP = 16.0
"""The least room between things in a column."""


@dataclass
class Box:
    """A state, or a place that a long step passes: its size and, once laid out, its middle.

    `above` and `below` are how far it reaches from its middle, labels included.
    """

    name: str
    width: float = 0
    height: float = 0
    above: float = 4
    below: float = 4
    column: int = 0
    x: float = 0
    y: float = 0
    is_state: bool = True


@dataclass
class Route:
    """A step forwards, through the boxes that it passes, first and last included."""

    step: Transition
    boxes: list[Box]


@dataclass
class LaneLayout:
    """The boxes and routes of a lane; steps to the same or an earlier column stand apart."""

    lane: Lane
    boxes: dict[str, Box]
    routes: list[Route] = field(default_factory=list)
    loops: list[Transition] = field(default_factory=list)
    backward: list[Transition] = field(default_factory=list)
    columns: list[list[Box]] = field(default_factory=list)

    @property
    def top(self) -> float:
        """How far the lane reaches up."""
        return min(box.y - box.above for column in self.columns for box in column)

    @property
    def bottom(self) -> float:
        """How far the lane reaches down."""
        return max(box.y + box.below for column in self.columns for box in column)

    def arrange(self, shift: int = 0) -> None:
        """Give every box its column and its height, the start at zero."""
        forward = list(self._sorted_out())
        for name, column in _columns(self.lane, forward).items():
            self.boxes[name].column = column + shift
        self._stack(shift)
        for step in forward:
            self.routes.append(self._route(step))
        self._reorder()
        self._place()

    def _sorted_out(self) -> Iterator[Transition]:
        """The steps that lead on; loops and steps back are put aside."""
        back = _backward(self.lane)
        for number, step in enumerate(self.lane.transitions):
            if step.source == step.target:
                self.loops.append(step)
            elif number in back:
                self.backward.append(step)
            else:
                yield step

    def _stack(self, shift: int) -> None:
        last = max(box.column for box in self.boxes.values())
        self.columns = [[] for _ in range(last + 1)]
        for state in self.lane.states:
            box = self.boxes[state.name]
            self.columns[box.column].append(box)

    def _route(self, step: Transition) -> Route:
        source, target = self.boxes[step.source], self.boxes[step.target]
        passed = []
        for column in range(source.column + 1, target.column):
            box = Box(step.target, above=6, below=6, column=column, is_state=False)
            self.columns[column].append(box)
            passed.append(box)
        return Route(step, [source, *passed, target])

    # --- order and height ----------------------------------------------------

    def _reorder(self, sweeps: int = 4) -> None:
        """Sort every column by the middle of what its boxes are tied to, from either side."""
        before, after = self._neighbours()
        for sweep in range(sweeps):
            sides = before if sweep % 2 == 0 else after
            columns = self.columns if sweep % 2 == 0 else self.columns[::-1]
            rank = {id(box): n for column in self.columns for n, box in enumerate(column)}
            for column in columns:
                column.sort(key=lambda box: _middle([rank[id(o)] for o in sides.get(id(box), [])]))
                rank.update({id(box): n for n, box in enumerate(column)})

    def _neighbours(self) -> tuple[dict[int, list[Box]], dict[int, list[Box]]]:
        before: dict[int, list[Box]] = {}
        after: dict[int, list[Box]] = {}
        for route in self.routes:
            for one, other in zip(route.boxes, route.boxes[1:], strict=False):
                before.setdefault(id(other), []).append(one)
                after.setdefault(id(one), []).append(other)
        return before, after

    def _place(self, sweeps: int = 6) -> None:
        """Pull every box towards its neighbours, without letting boxes of a column overlap."""
        before, after = self._neighbours()
        for column in self.columns:
            _spread(column, [0.0] * len(column))
        for sweep in range(sweeps):
            sides = before if sweep % 2 == 0 else after
            for column in self.columns if sweep % 2 == 0 else self.columns[::-1]:
                wanted = [_mean([o.y for o in sides.get(id(box), [])], box.y) for box in column]
                _spread(column, wanted)


def _middle(ranks: list[int]) -> float:
    return sorted(ranks)[len(ranks) // 2] if ranks else 0


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _spread(column: list[Box], wanted: list[float]) -> None:
    """Put boxes below each other as near to where they want to be as they fit."""
    if not column:
        return
    edge = -1e9
    for box, place in zip(column, wanted, strict=True):
        box.y = max(place, edge + box.above)
        edge = box.y + box.below + GAP
    offset = _mean([b.y - w for b, w in zip(column, wanted, strict=True)], 0)
    for box in column:
        box.y -= offset


def _backward(lane: Lane) -> set[int]:
    """The steps that close a circle, found depth first."""
    leaving: dict[str, list[int]] = {state.name: [] for state in lane.states}
    for number, step in enumerate(lane.transitions):
        leaving[step.source].append(number)
    open_, done, found = set[str](), set[str](), set[int]()
    stack: list[tuple[str, Iterator[int]]] = [(lane.start.name, iter(leaving[lane.start.name]))]
    open_.add(lane.start.name)
    while stack:
        name, rest = stack[-1]
        place = next(rest, None)
        if place is None:
            stack.pop()
            open_.discard(name)
            done.add(name)
            continue
        target = lane.transitions[place].target
        if target in open_:
            found.add(place)
        elif target not in done:
            open_.add(target)
            stack.append((target, iter(leaving[target])))
    return found


def _columns(lane: Lane, forward: list[Transition]) -> dict[str, int]:
    """The length of the longest way to each state."""
    columns = {state.name: 0 for state in lane.states}
    waiting = dict.fromkeys(columns, 0)
    for step in forward:
        waiting[step.target] += 1
    ready = [name for name, count in waiting.items() if not count]
    leaving: dict[str, list[str]] = {}
    for step in forward:
        leaving.setdefault(step.source, []).append(step.target)
    while ready:
        name = ready.pop()
        for target in leaving.get(name, []):
            columns[target] = max(columns[target], columns[name] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    return columns
