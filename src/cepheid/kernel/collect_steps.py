"""One collection, planned: its constraints, its uses of events, and the steps of its slots.

The steps are a program for `collect_search`. Alternatives are splits whose branches meet again,
so that the steps grow with the text only, and are tried in the order in which the oracle does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from cepheid.algebra import (
    Absence,
    Accumulate,
    Alternation,
    Body,
    Collection,
    Conjunction,
    EventPredicate,
    Expression,
    Function,
    Pick,
    Relation,
    Rule,
    Sequence,
    Take,
    walk,
)
from cepheid.kernel import collect_slots as slots
from cepheid.kernel.memory import Memory
from cepheid.kernel.registry import Registry

Leaf = Take | Accumulate | Pick

_FUNCTIONS = {function: code for code, function in enumerate(Function)}
_RELATIONS = {relation: code for code, relation in enumerate(Relation)}
_MORE, _LESS = (Relation.GREATER, Relation.AT_LEAST), (Relation.LESS, Relation.AT_MOST)
_RISING = {
    Function.SUM: _MORE,
    Function.COUNT: _MORE,
    Function.MAX: _MORE,
    Function.MIN: _LESS,
}
"""Where further events can only bring an aggregate closer to its bound."""
_BITS = 64
_NO_PROGRAM = -1


@dataclass(frozen=True)
class Use:
    """What a rule uses events of a type for: a list of its partitions, if a program agrees."""

    type: int
    list: int
    program: int
    kind: int
    bit: int = 0


@dataclass
class Plan:
    """One rule: what it uses events for, and where its parts of the tables are."""

    number: int
    rule: Rule
    collection: Collection
    family: int
    first_leaf: int
    first_step: int
    leaves: int = 0
    absences: int = 0
    uses: list[Use] = field(default_factory=list)
    needs: tuple[int, int] = (0, 0)
    always: tuple[int, int] = (0, 0)
    steps: int = 0
    marks: int = 1
    alive: bool = True


@dataclass
class Tables:
    """What compiled code reads of all rules; things are only ever added."""

    leaves: list[tuple[int, ...]] = field(default_factory=list)
    steps: list[list[int]] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)
    needs: list[tuple[int, int]] = field(default_factory=list)
    always: list[int] = field(default_factory=list)

    def write(self, memory: Memory) -> None:
        """Put everything into the memory."""
        memory.put(slots.LEAF, self.leaves)
        memory.put(slots.STEP, self.steps)
        memory.put(slots.BRANCH, self.branches)
        memory.put(slots.NEED, self.needs)
        memory.put(slots.ALWAYS, self.always)


def planned(registry: Registry, tables: Tables, number: int, rule: Rule) -> Plan:
    """The plan of a rule whose pattern is a collection."""
    assert isinstance(rule.pattern, Collection)  # noqa: S101 (the caller chooses by pattern)
    leaves = [
        part for part in walk(rule.pattern.body) if isinstance(part, Take | Accumulate | Pick)
    ]
    positions = {leaf.label: place for place, leaf in enumerate(leaves)}
    family = registry.varied(number, rule, positions)
    plan = Plan(number, rule, rule.pattern, family, len(tables.leaves), len(tables.steps))
    needs, always = len(tables.needs), len(tables.always)
    _Planning(registry, tables, plan, _shared_types(leaves)).emit_all(rule.pattern.body)
    plan.needs, plan.always = (needs, len(tables.needs)), (always, len(tables.always))
    plan.steps = len(tables.steps) - plan.first_step
    return plan


def _types_of(leaf: Leaf) -> tuple[str, ...]:
    return leaf.types if isinstance(leaf, Pick) else leaf.predicate.types


def _shared_types(leaves: Iterable[Leaf]) -> frozenset[str]:
    """The types that several constraints are about: one may take what another one needs."""
    named = Counter(type_ for leaf in leaves for type_ in _types_of(leaf))
    return frozenset(type_ for type_, count in named.items() if count > 1)


@dataclass
class _Planning:
    registry: Registry
    tables: Tables
    plan: Plan
    shared: frozenset[str]
    absences: list[Absence] = field(default_factory=list)
    _ends: dict[int, int] = field(default_factory=dict)
    """The step that sets a mark."""

    def emit_all(self, body: Body) -> None:
        """Fill the tables of one rule."""
        self._emit(body, 0, certain=True)
        self._step(slots.DONE)
        self._find_reach()
        # Absences come last, so that an event that is used for both knows of its other use.
        for place, absence in enumerate(self.absences):
            self._use(absence.predicate, self.plan.leaves + place, slots.ABSENCE)
        self.plan.absences = len(self.absences)

    # --- steps ---------------------------------------------------------------

    def _emit(self, body: Body, after: int, *, certain: bool) -> None:
        """Steps for a part of the body; `certain` if every match goes through it."""
        if isinstance(body, Alternation):
            self._emit_split(body, after)
        elif isinstance(body, Conjunction):
            for part in body.parts:
                self._emit(part, after, certain=certain)
        elif isinstance(body, Sequence):
            self._emit_sequence(body, after, certain=certain)
        elif isinstance(body, Absence):
            self._emit_absence(body, certain=certain)
        else:
            assert isinstance(body, Take | Accumulate | Pick)  # noqa: S101 (no other part)
            self._emit_leaf(body, after, certain=certain)

    def _emit_split(self, body: Alternation, after: int) -> None:
        split, begins, ends = self._step(slots.SPLIT), [], []
        for part in body.parts:
            begins.append(len(self.tables.steps))
            self._emit(part, after, certain=False)
            ends.append(self._step(slots.JUMP))
        for end in ends:
            self.tables.steps[end][slots.STEP_FIRST] = len(self.tables.steps)
        first = len(self.tables.branches)
        self.tables.branches += begins
        place = slice(slots.STEP_FIRST, slots.STEP_SECOND + 1)
        self.tables.steps[split][place] = (first, first + len(begins))

    def _emit_sequence(self, body: Sequence, after: int, *, certain: bool) -> None:
        """Each part starts after the end of what the part before it took."""
        for part in body.parts[:-1]:
            begin, end = self.plan.marks, self.plan.marks + 1
            self.plan.marks += 2
            self._step(slots.BEGIN, begin)
            self._emit(part, after, certain=certain)
            self._ends[end] = self._step(slots.END, begin, after, end)
            after = end
        for part in body.parts[-1:]:
            self._emit(part, after, certain=certain)

    def _emit_absence(self, absence: Absence, *, certain: bool) -> None:
        place = len(self.absences)
        self.absences.append(absence)
        self._step(slots.FORBID, place)
        if certain:
            self.tables.always.append(place)

    def _emit_leaf(self, leaf: Leaf, after: int, *, certain: bool) -> None:
        place = self.plan.leaves
        self.plan.leaves += 1
        self.tables.leaves.append(self._leaf_row(leaf))
        self._step(slots.CHOOSE, place, after, self._ends.get(after, 0))
        if isinstance(leaf, Pick):
            predicate = EventPredicate(leaf.types, leaf.condition)
            self._use(predicate, place, slots.PICKED)
        else:
            self._use(leaf.predicate, place, slots.TAKEN)
        if certain:
            self.tables.needs.append((place, _needed(leaf)))

    def _step(self, kind: int, first: int = 0, second: int = 0, third: int = 0) -> int:
        self.tables.steps.append([kind, first, second, third, 0])
        return len(self.tables.steps) - 1

    def _find_reach(self) -> None:
        """What can still come, from the last step to the first: steps only lead forward."""
        steps, branches = self.tables.steps, self.tables.branches
        for at in range(len(steps) - 2, self.plan.first_step - 1, -1):
            kind, first, second = steps[at][:3]
            if kind == slots.SPLIT:
                reach = 0
                for target in branches[first:second]:
                    reach |= steps[target][slots.STEP_REACH]
            else:
                target = first if kind == slots.JUMP else at + 1
                reach = steps[target][slots.STEP_REACH]
                reach |= _bit(first) if kind == slots.CHOOSE else 0
            steps[at][slots.STEP_REACH] = reach

    # --- leaves --------------------------------------------------------------

    def _use(self, predicate: EventPredicate, list_: int, kind: int) -> None:
        program = self._program(predicate.filter, truth=True)
        bit = 0 if kind == slots.ABSENCE else _bit(list_)
        for code in self.registry.type_codes(predicate, self.plan.number):
            self.plan.uses.append(Use(code, list_, program, kind, bit))

    def _program(self, expression: Expression | None, *, truth: bool) -> int:
        if expression is None:
            return _NO_PROGRAM
        return self.registry.program(expression, {}, truth=truth)

    def _leaf_row(self, leaf: Leaf) -> tuple[int, ...]:
        """A line of the table of leaves, in the order of `LEAF_*`."""
        shared = int(bool(self.shared.intersection(_types_of(leaf))))
        label = self.registry.encoder.texts.code(leaf.label)
        if isinstance(leaf, Take):
            return (slots.TAKE, shared, leaf.count, _NO_PROGRAM, 0, 0, 0, label, 0)
        if isinstance(leaf, Pick):
            condition = self._program(leaf.condition, truth=True)
            return (slots.PICK, shared, leaf.index, condition, 0, 0, 0, label, 0)
        column = self.registry.encoder.columns.code(leaf.attribute)
        bound = self._program(leaf.bound, truth=False)
        function, relation = _FUNCTIONS[leaf.function], _RELATIONS[leaf.relation]
        rises = int(leaf.relation in _RISING.get(leaf.function, ()))
        return (slots.ACCUMULATE, shared, 1, bound, function, column, relation, label, rises)


def _needed(leaf: Leaf) -> int:
    """How many candidates a constraint needs at least."""
    if isinstance(leaf, Take):
        return leaf.count
    return abs(leaf.index) if isinstance(leaf, Pick) else 1


def _bit(leaf: int) -> int:
    """The bit of a leaf, as a number of 64 bits with a sign; far ones share a bit."""
    bit = 1 << leaf % _BITS
    return bit - (1 << _BITS) if bit >> (_BITS - 1) else bit
