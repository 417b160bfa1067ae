"""Machines of detectors while they are planned: what events of each type do in each state.

Here it is decided how an event finds the branches that it may matter to: by their state, by a key
that it shares with one of their events, or in the order of the machine where that order matters;
and which constants an event must have to be looked at by the rule at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cepheid.algebra import Atom, EventPredicate, Parallel, TimerSignal, find, labels_of
from cepheid.kernel.conditions import (
    Condition,
    Constant,
    Filter,
    Key,
    Test,
    common,
    constant_in,
    filter_of,
    key_in,
)
from cepheid.kernel.detector_automaton import START, Automaton
from cepheid.kernel.detector_slots import (
    AT_KEY,
    AT_START,
    AT_STATE,
    BRANCH_TIMER,
    IN_ORDER,
)

_MANY_LISTS = 60
"""A branch can be in so many lists: a mask has a bit for each."""

Filters = dict[int, list[Filter]]
"""Different filters by type."""
Codes = Callable[[EventPredicate], Iterable[int]]
"""The codes of the types that a predicate means."""


@dataclass
class Case:
    """What events of a type do in a state.

    Options are a target, whether only strongly, and a condition, in the order of the transitions.
    `domain` are the filters of all that lies in the state's domain, `rest` those of what lies in
    it although no option has it. `number` is that of its line in the table.
    """

    state: int
    type: int
    options: list[tuple[int, bool, Condition]] = field(default_factory=list)
    domain: list[Filter] = field(default_factory=list)
    rest: list[Filter] = field(default_factory=list)
    key: Key | None = None
    number: int = -1

    def given(self, part: Test) -> None:
        """Leave out what is known to be true where the case is looked at."""
        self.options = [(to, strong, what.given(part)) for to, strong, what in self.options]
        self.rest = list(Condition(tuple(self.rest)).given(part).filters)
        self.domain = list(Condition(tuple(self.domain)).given(part).filters)

    @property
    def filters(self) -> list[Filter]:
        """Of these filters one must hold, or the event does not matter."""
        if self.state != START:
            return self.domain
        return [found for _, _, condition in self.options for found in condition.filters]


@dataclass
class Group:
    """Cases of one type that are reached by one entry, perhaps only with a constant."""

    type: int
    kind: int
    cases: list[Case]
    constant: Constant | None = None

    def gate(self) -> None:
        """Choose a constant that all filters ask for."""
        part = gate_of(self.cases)
        if part is not None:
            self.constant = constant_in(part)
            for case in self.cases:
                case.given(part)


def gate_of(cases: Iterable[Case]) -> Test | None:
    """A condition with a constant that all filters of some cases have, if there is one."""
    filters = [found for case in cases for found in case.filters]
    return next((part for part in common(filters) if constant_in(part) is not None), None)


@dataclass
class Machine:
    """The machine of an expression; `base` is the number of its start among all states.

    A machine that is `ordered` keeps its branches in the order in which the oracle looks at them.
    A `side` is one of a parallel expression. The branches of a `ladder` have their latest events
    in place of registers.
    """

    number: int
    detector: int
    automaton: Automaton
    base: int
    ordered: bool
    side: bool
    cases: dict[tuple[int, int], Case] = field(default_factory=dict)
    ways: dict[tuple[str, str], int] = field(default_factory=dict)
    ladder: bool = False

    def __post_init__(self) -> None:
        self.timers = {name: number for number, name in enumerate(self.automaton.timers)}
        spoken: dict[str, None] = {}
        for atom in self.automaton.atoms:
            if isinstance(atom, Atom):
                spoken |= dict.fromkeys(sorted(labels_of(atom)))
        self.registers = {label: number for number, label in enumerate(spoken)}
        self._descriptions: dict[int, tuple[Filters, Filters]] = {}

    # --- the layout of a branch ----------------------------------------------

    @property
    def labels(self) -> list[str | None]:
        """What a branch has registers for; a ladder has one for each event but the last."""
        if not self.ladder:
            return list(self.registers)
        return [atom.label for atom in self.automaton.atoms[1:-1] if isinstance(atom, Atom)]

    def register(self, label: str, state: int) -> int:
        """Where in the registers of a branch the event under a label is, in a state."""
        if not self.ladder:
            return self.registers[label]
        return state - 1 - self.labels.index(label)

    @property
    def registers_at(self) -> int:
        """Where in a branch its registers begin."""
        return BRANCH_TIMER + 2 * len(self.timers)

    @property
    def lists_at(self) -> int:
        """Where in a branch the links of its lists begin."""
        return self.registers_at + len(self.labels)

    @property
    def size(self) -> int:
        """How long a branch is."""
        return self.lists_at + 2 * (1 + len(self.ways))

    @property
    def least(self) -> int:
        """How much of a branch a partial match takes at least; a ladder is several of them."""
        return self.size // len(self.labels) if self.ladder else self.size

    # --- cases ---------------------------------------------------------------

    def find_cases(self, codes: Codes) -> None:
        """Find out what events of every type do in every state."""
        for target, atom in enumerate(self.automaton.atoms):
            if isinstance(atom, Atom):
                accepts, domain = _by_type(atom.accepts, codes), _by_type(atom.domain, codes)
                looked = domain if atom.negated else _joined(domain, accepts)
                self._descriptions[target] = (accepts, looked)
        for state, transitions in enumerate(self.automaton.transitions):
            for target, strong in transitions.items():
                if isinstance(self.automaton.atoms[target], Parallel):
                    case = self._case(state, self.pair_type(target))
                    case.options.append((target, strong, Condition(((),))))
                else:
                    self._add_atom(state, target, strong)

    def pair_type(self, state: int) -> int:
        """A number for the pairs of a parallel expression, which is no type of an event."""
        return -2 - self.base - state

    def _add_atom(self, state: int, target: int, strong: bool) -> None:
        atom, (accepts, looked) = self.automaton.atoms[target], self._descriptions[target]
        negated = isinstance(atom, Atom) and atom.negated
        for type_, filters in looked.items():
            case, accepted = self._case(state, type_), accepts.get(type_, [])
            case.domain += filters
            if negated:
                case.rest += filters
                condition = Condition(tuple(filters), tuple(accepted))
            else:
                case.rest += [found for found in filters if found not in accepted]
                condition = Condition(tuple(accepted))
            if condition.filters:
                case.options.append((target, strong, condition))

    def _case(self, state: int, type_: int) -> Case:
        return self.cases.setdefault((state, type_), Case(state, type_))

    @property
    def splits(self) -> bool:
        """Whether a branch can become several."""
        several = any(len(case.options) > 1 for case in self.cases.values())
        return several or any(
            len(self.timed(state, name)) > 1
            for state in range(len(self.automaton.atoms))
            for name in self.automaton.awaited(state)
        )

    def timed(self, state: int, timer: str) -> list[int]:
        """Where a timer leads from a state."""
        atoms = self.automaton.atoms
        return [to for to in self.automaton.transitions[state] if _takes(atoms[to], timer)]

    # --- how branches are found ----------------------------------------------

    def choose_keys(self) -> None:
        """Find keys for the cases of all states, those that serve most of them first."""
        wanted: dict[tuple[int, int], dict[Key, Test]] = {}
        for place, case in self.cases.items():
            if case.state != START:
                found = [(key_in(part), part) for part in common(case.domain)]
                wanted[place] = {key: part for key, part in found if key is not None}
        uses = Counter((key.label, key.attribute) for keys in wanted.values() for key in keys)
        for place, keys in wanted.items():
            if keys:
                best = max(keys, key=lambda key: uses[key.label, key.attribute])
                self._use_key(self.cases[place], best, keys[best])

    def _use_key(self, case: Case, key: Key, part: Test) -> None:
        way = (key.label, key.attribute)
        if len(self.ways) < _MANY_LISTS or way in self.ways:
            self.ways.setdefault(way, 1 + len(self.ways))
            case.key = key
            case.given(part)

    def lists_of(self, state: int) -> int:
        """A bit for each list in which a branch in a state is: of the state, or of a key."""
        bits = 0
        for case in self.cases.values():
            if case.state == state:
                bits |= 1 << (self.ways[case.key.label, case.key.attribute] if case.key else 0)
        return bits

    def rebinds(self, state: int) -> int:
        """A bit for each list whose key changes when a state is reached."""
        atom = self.automaton.atoms[state]
        labels = {atom.label} if isinstance(atom, Atom) else _labels_in(atom)
        return sum(1 << number for (label, _), number in self.ways.items() if label in labels)

    def groups(self) -> list[Group]:
        """By which entries events come to the cases; the start is the last one of a type."""
        found: dict[tuple[object, ...], Group] = {}
        for case in sorted(self.cases.values(), key=lambda case: case.state == START):
            kind, place = self._place(case)
            group = found.setdefault((case.type, kind, place), Group(case.type, kind, []))
            group.cases.append(case)
        return list(found.values())

    def _place(self, case: Case) -> tuple[int, object]:
        if case.state == START:
            return AT_START, None
        if self.ordered:
            return IN_ORDER, None
        if case.key is not None:
            return AT_KEY, case.key
        return AT_STATE, START + 1 if self.ladder else case.state


def _takes(atom: Atom | Parallel | None, timer: str) -> bool:
    """Whether an atom accepts a timer."""
    if not isinstance(atom, Atom):
        return False
    signal = TimerSignal(timer)
    if atom.negated:
        return signal not in atom.accepts and signal in atom.domain
    return signal in atom.accepts


def _by_type(elements: Iterable[EventPredicate | TimerSignal], codes: Codes) -> Filters:
    """The different filters of each type."""
    found: Filters = {}
    for element in elements:
        if isinstance(element, EventPredicate):
            filter_ = filter_of(element.filter)
            for code in codes(element):
                filters = found.setdefault(code, [])
                if filter_ not in filters:
                    filters.append(filter_)
    return found


def _joined(one: Filters, other: Filters) -> Filters:
    joined = {type_: list(filters) for type_, filters in one.items()}
    for type_, filters in other.items():
        known = joined.setdefault(type_, [])
        known += [found for found in filters if found not in known]
    return joined


def _labels_in(parallel: Parallel | None) -> set[str | None]:
    return set() if parallel is None else {atom.label for atom in find(parallel, Atom)}
