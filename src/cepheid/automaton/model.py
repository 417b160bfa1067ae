"""The automaton of a rule: states, what leads from one to the next, and what ties them.

It is the readable compiled form, the same for all languages. An automaton is made of **lanes**,
each with a start of its own: the sequences of a tree, which share states (T-Rex, section 3.2 and
Fig. 2), the one lane of a run or a collection (LAIPE, section 5.1: start, middle and end states),
or the detectors of an expression and of the sides of its parallel parts (framework paper,
appendix B). Whatever hangs on states names them by the label of the event that is kept there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from cepheid.algebra import (
    CountWindow,
    Equivalence,
    EventPredicate,
    Expression,
    Instant,
    Key,
    Rule,
    Selection,
    TimerSignal,
    TimeWindow,
    Window,
)

Signal = EventPredicate | TimerSignal
"""What a state can look at: events of a description, or a timer."""


class Form(StrEnum):
    """The kind of pattern that an automaton was made from."""

    TREE = "tree"
    RUN = "run"
    COLLECTION = "collection"
    DETECTOR = "detector"


class Stage(StrEnum):
    """What part a state plays."""

    START = "start"
    MIDDLE = "middle"
    END = "end"
    FORK = "fork"
    JOIN = "join"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class State:
    """A point on the way: what was matched so far.

    `event` is the label under which the event is kept that led here. `domain` is what the state
    looks at, everything else being ignored (detectors only), `sets` the timers that start when it
    is reached, `wait` the window that limits how long it is waited here.
    """

    name: str
    title: str
    stage: Stage = Stage.MIDDLE
    event: str | None = None
    domain: tuple[Signal, ...] = ()
    sets: tuple[str, ...] = ()
    wait: TimeWindow | CountWindow | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event or timer of one of the accepted descriptions and of none of the excluded ones."""

    accepts: tuple[Signal, ...]
    excludes: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True)
class Deadline:
    """Time itself: the instant has come."""

    instant: Instant


@dataclass(frozen=True, slots=True)
class Pair:
    """A match of each of two lanes that run side by side."""

    lanes: tuple[str, str]


Trigger = Arrival | Deadline | Pair
"""What makes an automaton move."""


@dataclass(frozen=True, slots=True)
class Guard:
    """What else decides a step of a run: whether its window is full, and its condition."""

    full: bool | None = None
    condition: Expression | None = None
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Transition:
    """A step from one state to another; without a trigger it needs no event.

    `strong` says how the event must follow the one before (None: it is the first, or order does
    not matter). In a tree, `selection` and `window` tell how the event under the source is chosen
    once the target's is known. `times`, `until` and `index` say which events a constraint takes:
    so many, until a condition holds, or the i-th. A `failure` names the reason of the failure
    event that the step gives.
    """

    source: str
    target: str
    trigger: Trigger | None = None
    strong: bool | None = None
    selection: Selection | None = None
    window: Window | None = None
    times: int = 1
    until: Expression | None = None
    index: int | None = None
    guard: Guard | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """A part of the automaton with a start of its own."""

    name: str
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]

    @property
    def start(self) -> State:
        """Where it begins."""
        return self.states[0]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition, equivalence test or key that ties the events under some labels."""

    labels: tuple[str, ...]
    condition: Expression | Equivalence | Key


@dataclass(frozen=True, slots=True)
class Absent:
    """Events that must not lie in a window, which hangs on the labels.

    Without a window they must not lie between the first and the last event of the match.
    """

    label: str
    predicate: EventPredicate
    window: Window | None
    labels: tuple[str, ...]
    to_deadline: bool = False
    """The window ends at the deadline of the match."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A value with an aggregate in it, which hangs on the labels; parameters have a name."""

    name: str | None
    value: Expression
    labels: tuple[str, ...]


class Tie(StrEnum):
    """Why states of different lanes belong together."""

    SHARED = "shared"
    PAIR = "pair"


@dataclass(frozen=True, slots=True)
class Join:
    """States of different lanes that are one event, or that make a pair together."""

    tie: Tie
    states: tuple[str, ...]

    def pairs(self) -> list[tuple[str, str]]:
        """Neighbours in different lanes, as a drawing connects them."""
        return [(a, b) for a, b in pairwise(self.states) if lane_of(a) != lane_of(b)]


def lane_of(name: str) -> str:
    """The name of the lane in which a state stands."""
    return name.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer, the states that start it, and its scope: the states that look at it.

    It fires a duration after it was set, or at a fixed time.
    """

    name: str
    duration: int | None
    at: int | None
    set_in: tuple[str, ...]
    scope: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """What the whole match must fit into; closed means that exactly the length still fits."""

    window: TimeWindow | CountWindow
    closed: bool


@dataclass(frozen=True, slots=True)
class Automaton:
    """The compiled form of a rule."""

    rule: Rule
    form: Form
    lanes: tuple[Lane, ...]
    constraints: tuple[Constraint, ...] = ()
    negations: tuple[Absent, ...] = ()
    aggregates: tuple[Computed, ...] = ()
    joins: tuple[Join, ...] = ()
    timers: tuple[Timer, ...] = ()
    limit: Limit | None = None

    @property
    def states(self) -> tuple[State, ...]:
        """The states of all lanes."""
        return tuple(state for lane in self.lanes for state in lane.states)

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """The transitions of all lanes."""
        return tuple(step for lane in self.lanes for step in lane.transitions)

    @property
    def accepting(self) -> tuple[State, ...]:
        """The states that complete a lane."""
        return tuple(state for state in self.states if state.stage is Stage.END)

    @property
    def consuming(self) -> tuple[str, ...]:
        """The labels whose events are gone for the rule after a match."""
        if self.form in (Form.RUN, Form.COLLECTION):
            return tuple(dict.fromkeys(state.event for state in self.states if state.event))
        return self.rule.consuming

    def state(self, name: str) -> State:
        """The state of a name."""
        return next(state for state in self.states if state.name == name)

    def keeping(self, label: str) -> tuple[State, ...]:
        """The states where the event under a label is kept; in a tree one for each lane."""
        return tuple(state for state in self.states if state.event == label)
