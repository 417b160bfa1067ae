"""Patterns of the algebra: trees, runs, collections and detectors.

A **tree** selects events backwards from a terminator (TESLA, SASE). A **run** watches one type
until its window is full, a **collection** gathers events until its constraints are met (LAIPL).
A **detector** advances through a regular expression, one event at a time (core language).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cepheid.algebra.expressions import (
    EventPredicate,
    Expression,
    Function,
    Instant,
    Node,
    Relation,
    Window,
    exact,
)
from cepheid.events import Value


class Policy(StrEnum):
    """How a component chooses among its candidates."""

    EACH = "each"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Selection(Node):
    """A selection policy: each candidate, or up to `count` of the first or last ones."""

    policy: Policy = Policy.EACH
    count: int = 1


EACH = Selection()


@dataclass(frozen=True, slots=True)
class Component(Node):
    """An event of a tree: what it is, how it is chosen, and the window it is looked for in.

    The window's high instant names its parent; the terminator alone has no window.
    """

    label: str
    predicate: EventPredicate
    selection: Selection = EACH
    window: Window | None = None

    @property
    def parent(self) -> str | None:
        """The label of the component that this one hangs on."""
        return self.window.high.label if self.window and self.window.high else None


@dataclass(frozen=True, slots=True)
class Negation(Node):
    """No event of the predicate lies in the window; the label only serves to write it down."""

    label: str
    predicate: EventPredicate
    window: Window


@dataclass(frozen=True, slots=True)
class Binding(Node):
    """What a parameter stands for."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Equivalence(Node):
    """An equivalence test: every component has the same value in the attribute.

    A component is chosen among those that have the value of the one that it hangs on. With a value,
    all of them must have that value. A component without the attribute counts like any comparison
    with a missing value: it fits where the rule accepts those, else it does not.
    """

    attribute: str
    value: Value | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Equivalence):
            return NotImplemented
        return (self.attribute, exact(self.value)) == (other.attribute, exact(other.value))

    def __hash__(self) -> int:
        return hash((self.attribute, exact(self.value)))


@dataclass(frozen=True, slots=True)
class Tree(Node):
    """Components that hang on each other by windows; the first is the terminator.

    `within` limits the whole: last end - first start < within; events are chosen among those that
    it leaves. With a `deadline`, the match is
    reported at that instant (once its negations are decided) instead of at the terminator.
    """

    components: tuple[Component, ...]
    negations: tuple[Negation, ...] = ()
    bindings: tuple[Binding, ...] = ()
    conditions: tuple[Expression, ...] = ()
    equivalences: tuple[Equivalence, ...] = ()
    within: int | None = None
    deadline: Instant | None = None

    @property
    def terminator(self) -> Component:
        """The component whose arrival completes the match."""
        return self.components[0]


@dataclass(frozen=True, slots=True)
class TimeWindow(Node):
    """A window by time, in microseconds; both ends belong to it."""

    length: int


@dataclass(frozen=True, slots=True)
class CountWindow(Node):
    """A window by the number of events."""

    size: int


@dataclass(frozen=True, slots=True)
class Key(Node):
    """One partition attribute: for every input type, the attribute whose value must be equal.

    With a value, the attribute must have that value, and types that it does not name are free.
    """

    attributes: tuple[tuple[str, str], ...]
    value: Value | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Key):
            return NotImplemented
        return (self.attributes, exact(self.value)) == (other.attributes, exact(other.value))

    def __hash__(self) -> int:
        return hash((self.attributes, exact(self.value)))

    def attribute(self, type_: str) -> str | None:
        """The attribute of this key in events of a type."""
        return dict(self.attributes).get(type_)


@dataclass(frozen=True, slots=True)
class Each(Node):
    """Every event of the run satisfies the condition; one that does not ends the run at once."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Run(Node):
    """Events of one predicate, watched until the window is full, then judged and consumed.

    The label stands for the events of the run. A run without a condition always holds.
    """

    label: str
    predicate: EventPredicate
    window: TimeWindow | CountWindow
    condition: Each | Expression | None = None
    partition: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class Take(Node):
    """As many events of the predicate as `count`, the oldest that are free."""

    label: str
    predicate: EventPredicate
    count: int = 1


@dataclass(frozen=True, slots=True)
class Accumulate(Node):
    """Events of the predicate, oldest first, until a function over them satisfies a bound."""

    label: str
    predicate: EventPredicate
    function: Function
    attribute: str
    relation: Relation
    bound: Expression


@dataclass(frozen=True, slots=True)
class Pick(Node):
    """The i-th free event (from 1; -1 is the last) of the types in the window, if it satisfies
    the condition.
    """

    label: str
    types: tuple[str, ...]
    index: int
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Absence(Node):
    """No event of the predicate between the first and the last constituent of the match."""

    predicate: EventPredicate


@dataclass(frozen=True, slots=True)
class TimerSignal(Node):
    """The timer that a timing operator sets, as an event of a domain."""

    name: str


@dataclass(frozen=True, slots=True)
class Atom(Node):
    """One event of the domain that must be (or, negated, must not be) one of the accepted ones.

    Events outside the domain are ignored, events inside it that are not accepted end the branch.
    """

    label: str | None
    accepts: tuple[EventPredicate | TimerSignal, ...]
    domain: tuple[EventPredicate | TimerSignal, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """One part after the other, each following the one before strongly (`<`) or weakly (`≺`)."""

    parts: tuple[Body, ...]
    strong: bool


@dataclass(frozen=True, slots=True)
class Iteration(Node):
    """Any number of occurrences of the body, none included."""

    body: Body


@dataclass(frozen=True, slots=True)
class Alternation(Node):
    """Any of the parts."""

    parts: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Conjunction(Node):
    """All parts, in any order, with different events."""

    parts: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Parallel(Node):
    """Both sides, detected independently of each other; each pair of their matches counts."""

    left: Body
    right: Body


@dataclass(frozen=True, slots=True)
class Timing(Node):
    """After the first part a timer is set: a duration after its end, or a fixed time (`at`).

    The second part may wait for the timer; every domain in it contains the timer.
    """

    first: Body
    second: Body
    timer: str
    duration: int | None = None
    at: int | None = None


Body = (
    Take
    | Accumulate
    | Pick
    | Absence
    | Atom
    | Sequence
    | Iteration
    | Alternation
    | Conjunction
    | Parallel
    | Timing
)
"""A part of a collection (Take, Accumulate, Pick, Absence under Conjunction, Alternation and
strong Sequence) or of a detector (Atom under Sequence, Iteration, Alternation, Parallel, Timing).
"""


@dataclass(frozen=True, slots=True)
class Collection(Node):
    """Constraints that are met by free events, the oldest first; each match consumes its events."""

    body: Body
    window: TimeWindow | CountWindow | None = None
    partition: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class Detector(Node):
    """A regular expression over events, with a condition on the whole match.

    `within` limits the match: end - start <= within.
    """

    body: Body
    where: Expression | None = None
    within: int | None = None


Pattern = Tree | Run | Collection | Detector
"""What a rule looks for."""
