"""Detectors to tables: machines get their numbers, and events the doors through which they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cepheid.algebra import (
    Atom,
    Attribute,
    Body,
    Collected,
    Detector,
    EventPredicate,
    Item,
    Node,
    Parallel,
    Rule,
    Timing,
    labels_of,
    walk,
)
from cepheid.events import Value
from cepheid.kernel import detector_slots as slots
from cepheid.kernel.conditions import Condition, compared, speaks_of_all
from cepheid.kernel.detector_automaton import START, Automaton
from cepheid.kernel.detector_machine import Case, Group, Machine
from cepheid.kernel.detector_shedding import held_by, shed
from cepheid.kernel.detectors import fill_gates
from cepheid.kernel.ladder_shape import is_ladder
from cepheid.kernel.lateness import inputs_in, own_lateness
from cepheid.kernel.memory import Memory
from cepheid.kernel.programs import RELATIONS
from cepheid.kernel.registry import Registry
from cepheid.kernel.sides import FEW_MATCHES
from cepheid.kernel.store import NEVER
from cepheid.kernel.told import FEW_TOLD, FRESH_WIDTH

_PAIR = ""
"""The type of pairs: it comes before all others."""
_FEW = 64
_NONE = -1

Gate = tuple[int, int, int]
"""A column, and the tag and cell that it must have."""
Entry = tuple[int, int, int]


@dataclass
class Plan:
    """A rule with its machines, and the entries that lead to it: type, gate if any, entry."""

    number: int
    rule: Rule
    detector: Detector
    index: int
    ordered: bool
    clashes: bool
    positions: dict[str, int]
    inputs: tuple[str, ...]
    timed: bool
    machines: list[Machine] = field(default_factory=list)
    entries: list[tuple[int, Gate | None, Entry]] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    alive: bool = True


class DetectorPlans:
    """Plans rules whose patterns are detectors; what was written under a number stays."""

    STATE: Mapping[str, tuple[int, type]] = {
        "detector_branches": (slots.BRANCH, np.int64),
        "detector_free_branches": (slots.BRANCH_FREE, np.int64),
        "detector_nodes": (slots.NODE, np.int64),
        "detector_state_heads": (slots.STATE_HEAD, np.int64),
        "detector_orders": (slots.ORDER_ENDS, np.int64),
        "detector_keys": (slots.KEY, np.int64),
        "detector_heap": (slots.HEAP, np.int64),
        "detector_sides": (slots.SIDE, np.int64),
        "detector_matches": (slots.SIDE_MATCH, np.int64),
        "detector_told": (slots.TOLD, np.int64),
        "detector_counters": (slots.COUNTERS, np.int64),
    }
    """Slots of state, by name."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.ladders = True
        """Whether branches may be ladders; those of older states never are."""
        self._least = slots.BRANCH_TIMER
        self._plans: dict[int, Plan] = {}
        self._machines: list[Machine] = []
        self._machine_doors: list[dict[int, list[Entry]]] = []
        self._names: dict[int, int] = {}
        self._programs = 0
        self._states: list[tuple[int, ...]] = []
        self._cases: list[tuple[int, ...]] = []
        self._options: list[tuple[int, ...]] = []
        self._tests: list[tuple[int, ...]] = []
        self._asked: dict[tuple[object, ...], tuple[int, int]] = {}
        self._awaits: list[tuple[int, int]] = []
        self._await_targets: list[int] = []
        self._sets: list[tuple[int, ...]] = []
        self._ways: list[tuple[int, ...]] = []
        self._registers: list[int] = []
        self._lines: list[tuple[int, ...]] = []
        self._steps: list[tuple[int, int]] = []
        self._parallels: list[tuple[int, ...]] = []

    # --- rules ---------------------------------------------------------------

    def plan(self, number: int, rule: Rule) -> None:
        """Write a rule down; it is found once the tables are in the memory."""
        assert isinstance(rule.pattern, Detector)  # noqa: S101 (the caller chose by the pattern)
        nodes = list(walk(rule))
        labels = [node.label for node in nodes if isinstance(node, Atom | Attribute | Collected)]
        labels += [node.label for node in nodes if isinstance(node, Item)]
        spoken = dict.fromkeys(label for label in labels if label is not None)
        plan = Plan(
            number,
            rule,
            rule.pattern,
            len(self._plans),
            is_ordered(rule.pattern, nodes),
            has_clash(nodes),
            {label: position for position, label in enumerate(spoken)},
            inputs_in(nodes),
            any(isinstance(node, Timing) for node in nodes),
        )
        steps = len(self._steps)
        self._plan_machine(plan, plan.detector.body, side=False)
        if len(plan.machines) == 1:
            del self._steps[steps:]
        plan.line = self._line(plan, steps)
        self._plans[number] = plan

    def remove(self, number: int) -> None:
        """Forget a rule: nothing leads to it any more."""
        self._plans[number].alive = False

    # --- limits --------------------------------------------------------------

    def held(self, memory: Memory, number: int, now: int) -> tuple[int, int]:
        """How many events a rule keeps, and how much that was begun and is not decided."""
        events, begun = held_by(memory.m, self._plans[number].index, now)
        return events, begun

    def begun(self, memory: Memory) -> int:
        """How many partial matches there may be at most, and matches of sides that wait."""
        matches = memory.count(slots.SIDE_MATCH) // slots.MATCH_WIDTH
        return memory.count(slots.BRANCH) // self._least + matches

    def drop(self, memory: Memory, number: int, now: int, stored: int, partial: int) -> None:
        """Give up so many events of a rule, and so much of what was begun: the oldest."""
        shed(memory.m, self._plans[number].index, now, stored, partial)

    def _line(self, plan: Plan, steps: int) -> list[int]:
        rule, where = plan.rule, plan.detector.where
        values = [item.value for item in rule.output.attributes]
        spoken = values if where is None else [*values, where]
        within, types = plan.detector.within, self.registry.encoder.types
        return [
            plan.number,
            self.registry.varied(plan.number, rule, plan.positions),
            _NONE if where is None else self.registry.program(where, plan.positions, truth=True),
            _NONE if within is None else within,
            0,
            int(rule.missing),
            len(plan.positions),
            int(bool(spoken)),
            int(any(map(speaks_of_all, spoken))),
            int(plan.timed),
            1,
            steps,
            len(self._steps),
            types.code(_PAIR) if len(plan.machines) > 1 else _NONE,
        ]

    # --- machines ------------------------------------------------------------

    def _plan_machine(self, plan: Plan, body: Body, *, side: bool) -> Machine:
        """Plan the machine of an expression, and those of its parallel parts after it."""
        number, base, automaton = len(self._machines), len(self._states), Automaton.of(body)
        machine = Machine(number, plan.index, automaton, base, plan.ordered, side)
        self._machines.append(machine)
        self._machine_doors.append({})
        self._lines.append(())
        self._states += [()] * len(automaton.atoms)
        self._steps.append((slots.STEP_MACHINE, number))
        plan.machines.append(machine)
        for state, atom in enumerate(automaton.atoms):
            if isinstance(atom, Parallel):
                self._plan_parallel(plan, machine, state, atom)
        self._write_machine(plan, machine)
        return machine

    def _plan_parallel(self, plan: Plan, machine: Machine, state: int, atom: Parallel) -> None:
        transitions = machine.automaton.transitions
        begins_only = not any(state in found for found in transitions[1:])
        sides = [
            self._plan_machine(plan, body, side=True).number for body in (atom.left, atom.right)
        ]
        in_order = plan.clashes or (machine.side and plan.ordered)
        direct = begins_only and not transitions[state] and not in_order
        self._steps.append((slots.STEP_PAIRS, len(self._parallels)))
        pair_type = machine.pair_type(state)
        self._parallels.append((machine.number, *sides, int(direct), _NONE, pair_type))

    def _write_machine(self, plan: Plan, machine: Machine) -> None:
        machine.find_cases(lambda predicate: self._codes(plan, predicate))
        if not (plan.ordered or plan.rule.missing):
            machine.choose_keys()
        whole = len(plan.machines) == 1
        machine.ladder = self.ladders and whole and not plan.rule.missing and is_ladder(machine)
        groups = machine.groups()
        if whole and not plan.rule.missing:
            for group in groups:
                group.gate()
        self._write_layout(plan, machine)
        for state in range(len(machine.automaton.atoms)):
            self._states[machine.base + state] = self._state_line(plan, machine, state)
        for group in groups:
            self._write_entry(plan, machine, group, whole=whole)

    def _write_layout(self, plan: Plan, machine: Machine) -> None:
        self._least = min(self._least, machine.least)
        first_way, columns = len(self._ways), self.registry.encoder.columns
        for (label, attribute), number in machine.ways.items():
            register, column = machine.register(label, START + 1), columns.code(attribute)
            self._ways.append((machine.number, number, register, column))
        self._lines[machine.number] = (
            machine.detector,
            machine.size,
            len(machine.labels),
            machine.registers_at,
            1 + len(machine.ways),
            machine.lists_at,
            len(self._registers),
            first_way,
            int(machine.ordered),
            machine.number if machine.side else _NONE,
            int(machine.splits),
            len(machine.automaton.atoms) - 1 if machine.ladder else 0,
        )
        positions = [_NONE if label is None else plan.positions[label] for label in machine.labels]
        self._registers += positions

    def _codes(self, plan: Plan, predicate: EventPredicate) -> tuple[int, ...]:
        """The codes of the types that a predicate means, with the names of their events."""
        texts, types = self.registry.encoder.texts, self.registry.encoder.types
        if predicate.every is not None:
            codes = self.registry.type_codes(predicate, -1 - plan.number)
            self._names |= dict.fromkeys(codes, texts.code("Timer"))
            return codes
        named = {types.code(type_): texts.code(type_) for type_ in predicate.types}
        self._names |= named
        return tuple(named)

    # --- states --------------------------------------------------------------

    def _state_line(self, plan: Plan, machine: Machine, state: int) -> tuple[int, ...]:
        automaton = machine.automaton
        atom, transitions = automaton.atoms[state], automaton.transitions[state]
        label = atom.label if isinstance(atom, Atom) else None
        cases, sets = len(self._cases), len(self._sets)
        for case in sorted(machine.cases.values(), key=lambda case: case.type):
            if case.state == state:
                self._write_case(plan, machine, case)
        for name, timing in automaton.sets[state].items():
            fixed = timing.at is not None
            time = timing.at if fixed else timing.duration
            self._sets.append((machine.timers[name], int(fixed), time or 0))
        return (
            machine.number,
            _NONE if label is None else self.registry.encoder.texts.code(label),
            _NONE if label is None else plan.positions[label],
            _NONE if label is None else machine.registers.get(label, _NONE),
            int(state in automaton.accepting),
            int(bool(transitions)),
            int(all(transitions.values())),
            cases,
            len(self._cases),
            sets,
            len(self._sets),
            self._write_awaits(machine, state),
            0 if state == START or machine.ordered else machine.lists_of(state),
            machine.rebinds(state),
        )

    def _write_awaits(self, machine: Machine, state: int) -> int:
        """For every timer of a machine where it leads from a state, or that it is not awaited."""
        first, awaited = len(self._awaits), machine.automaton.awaited(state)
        for name in machine.timers:
            begin = len(self._await_targets)
            if name in awaited:
                self._await_targets += [machine.base + to for to in machine.timed(state, name)]
            end = len(self._await_targets)
            self._awaits.append((begin, end) if name in awaited else (_NONE, _NONE))
        return first

    def _write_case(self, plan: Plan, machine: Machine, case: Case) -> None:
        begin = len(self._options)
        for target, strong, condition in case.options:
            program, reach = self._condition(plan, condition)
            tests = (0, 0) if case.state == START else self._tests_of(machine, case, condition)
            what = (machine.base + target, int(strong), program, reach, *tests)
            self._options.append(what)
        rest, reach = slots.NOTHING, slots.REACH_OWN
        if case.rest and case.state != START:
            rest, reach = self._condition(plan, Condition(tuple(case.rest)))
        list_, column = 0, _NONE
        if case.key is not None:
            list_ = machine.ways[case.key.label, case.key.attribute]
            column = self.registry.encoder.columns.code(case.key.column)
        case.number = len(self._cases)
        self._cases.append((case.type, list_, column, rest, reach, begin, len(self._options)))

    def _tests_of(self, machine: Machine, case: Case, condition: Condition) -> tuple[int, int]:
        """Where the tests are that say the same as a condition, if all of it can be said by them.

        Those of a ladder that ask the same stand once, so that they are asked once.
        """
        columns, tests = self.registry.encoder.columns, list[tuple[int, ...]]()
        for column, relation, label, other in compared(condition) or ():
            register = machine.register(label, case.state)
            codes = (columns.code(column), register, columns.code(other))
            tests.append((RELATIONS[relation], *codes))
        place = (len(self._tests), len(self._tests) + len(tests))
        if machine.ladder:
            place = self._asked.setdefault((machine.number, *tests), place)
        if place[0] == len(self._tests):
            self._tests += tests
        return place

    def _condition(self, plan: Plan, condition: Condition) -> tuple[int, int]:
        """The program of a condition, and what it speaks of."""
        expression = condition.expression
        if expression is None:
            return slots.ALWAYS, slots.REACH_OWN
        program = self.registry.program(expression, plan.positions, truth=True)
        self._programs = max(self._programs, program + 1)
        if speaks_of_all(expression):
            return program, slots.REACH_ALL
        return program, slots.REACH_BOUND if labels_of(expression) else slots.REACH_OWN

    # --- entries -------------------------------------------------------------

    def _write_entry(self, plan: Plan, machine: Machine, group: Group, *, whole: bool) -> None:
        case = group.cases[0]
        entry = (group.kind, machine.number, case.number)
        if group.kind == slots.AT_STATE:
            state = START + 1 if machine.ladder else case.state
            entry = (group.kind, machine.base + state, machine.cases[state, group.type].number)
        elif case.key is not None:
            way = self._lines[machine.number][slots.MACHINE_WAYS] - 1
            way += machine.ways[case.key.label, case.key.attribute]
            column = self.registry.encoder.columns.code(case.key.column)
            entry = (group.kind, way, column)
        if not whole:
            self._machine_doors[machine.number].setdefault(group.type, []).append(entry)
            turns = (group.type, None, (slots.WHOLE_RULE, plan.index, 0))
            if group.type >= 0 and turns not in plan.entries:
                plan.entries.append(turns)
            return
        gate: Gate | None = None
        if group.constant is not None:
            column = self.registry.encoder.columns.code(group.constant.column)
            gate = (column, *self.registry.encoder.cell(_as_key(group.constant.value)))
        plan.entries.append((group.type, gate, entry))

    # --- memory --------------------------------------------------------------

    def write(self, memory: Memory) -> None:
        """Put all tables into the memory; the state stays."""
        if not self._plans:
            return
        self._write_doors(memory)
        self._write_rules(memory)
        for slot, lines in (
            (slots.STATE, self._states),
            (slots.CASE, self._cases),
            (slots.OPTION, self._options),
            (slots.TEST, self._tests),
            (slots.AWAIT, self._awaits),
            (slots.AWAIT_TARGET, self._await_targets),
            (slots.TIMER_SET, self._sets),
            (slots.WAY, self._ways),
            (slots.REGISTER, self._registers),
            (slots.STEP, self._steps),
            (slots.TRUTH, [0] * (2 * self._programs)),
        ):
            memory.put(slot, lines)
        names = np.full(max(self._names, default=-1) + 1, -1)
        names[list(self._names)] = list(self._names.values())
        memory.put(slots.TYPE_NAME, names)
        self._make_room(memory)

    def _write_rules(self, memory: Memory) -> None:
        late = self.registry.late
        for plan in self._plans.values():
            slack = max((late.get(type_, 0) for type_ in plan.inputs), default=0)
            if len(plan.machines) > 1:
                # A pair can be as late as the timers of its sides.
                slack = min(NEVER, slack + own_lateness(plan.rule))
            plan.line[slots.DETECTOR_SLACK] = slack
            plan.line[slots.DETECTOR_ALIVE] = int(plan.alive)
        memory.put(slots.DETECTOR, [plan.line for plan in self._plans.values()])

    def _write_doors(self, memory: Memory) -> None:
        """Doors by type for all rules, and those of machines that take turns within a rule."""
        doors = _Doors()
        for plan in self._plans.values():
            for type_, gate, entry in plan.entries if plan.alive else ():
                doors.add((_NONE, type_), gate, entry)
        for machine, found in enumerate(self._machine_doors):
            for type_, entries in found.items():
                for entry in entries:
                    doors.add((machine, type_), None, entry)
        doors.write(memory)
        known = [type_ for machine, type_ in doors.numbers if machine == _NONE]
        by_type = np.full(max(known, default=-1) + 1, _NONE)
        by_type[known] = [doors.numbers[_NONE, type_] for type_ in known]
        memory.put(slots.TYPE_DOOR, by_type)
        lines, machine_doors = list[tuple[int, ...]](), list[tuple[int, int]]()
        for machine, found in enumerate(self._machine_doors):
            begin = len(machine_doors)
            machine_doors += [(type_, doors.numbers[machine, type_]) for type_ in found]
            lines.append((*self._lines[machine], begin, len(machine_doors)))
        memory.put(slots.MACHINE, lines)
        memory.put(slots.MACHINE_DOOR, machine_doors)
        memory.put(
            slots.PARALLEL,
            [
                (*line[:4], doors.numbers.get((line[0], line[5]), _NONE), line[5])
                for line in self._parallels
            ],
        )

    def _make_room(self, memory: Memory) -> None:
        """Room for the state, where there is none yet."""
        machines = len(self._machines)
        for slot, count, line in (
            (slots.STATE_HEAD, len(self._states), [_NONE]),
            (slots.BRANCH_FREE, machines, [_NONE]),
            (slots.ORDER_ENDS, machines, [_NONE, _NONE]),
            (slots.SIDE, machines, [_NONE, _NONE, 0, _NONE, FEW_MATCHES]),
            (slots.COUNTERS, 1, [_NONE, _NONE, 0, 0, FEW_TOLD]),
            (slots.KEY, _FEW, [0] * slots.KEY_WIDTH),
            (slots.TOLD, 2 * FEW_TOLD, [0] * slots.TOLD_WIDTH),
            (slots.FRESH, _FEW, [0] * FRESH_WIDTH),
            (slots.PASSING, 1, [0] * slots.PASSING_COUNT),
        ):
            held = memory.get(slot)
            missing = count - len(held) // len(line)
            if missing > 0:
                memory.put(slot, np.concatenate((held, line * missing)))


@dataclass
class _Doors:
    """Collects entries by door: those for all events, and those behind gates."""

    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    _plain: list[list[Entry]] = field(default_factory=list)
    _gated: list[dict[Gate, list[Entry]]] = field(default_factory=list)

    def add(self, place: tuple[int, int], gate: Gate | None, entry: Entry) -> None:
        """Add an entry to the door of a place: a machine (-1 are all rules) and a type."""
        door = self.numbers.setdefault(place, len(self.numbers))
        if door == len(self._plain):
            self._plain.append([])
            self._gated.append({})
        if gate is None:
            self._plain[door].append(entry)
        else:
            self._gated[door].setdefault(gate, []).append(entry)

    def write(self, memory: Memory) -> None:
        """Put the doors into the memory."""
        doors, gates = list[tuple[int, ...]](), list[int]()
        entries, gated = list[Entry](), list[tuple[int, ...]]()
        for door, (plain, behind) in enumerate(zip(self._plain, self._gated, strict=True)):
            columns = sorted({column for column, _, _ in behind})
            begin, first = len(entries), len(gates)
            entries += plain
            gates += columns
            doors.append((begin, len(entries), first, len(gates)))
            for gate, found in behind.items():
                gated.append((door, *gate, len(entries), len(entries) + len(found)))
                entries += found
        memory.put(slots.DOOR, doors)
        memory.put(slots.ENTRY, entries)
        memory.put(slots.GATE, gates)
        memory.put(slots.GATED, gated)
        memory.put(slots.GATED_SLOT, [0] * 16)
        if gated:
            fill_gates(memory.m)


# --- what order is needed for ------------------------------------------------


def is_ordered(detector: Detector, nodes: Sequence[Node]) -> bool:
    """Whether it matters in which order branches are looked at.

    It does where only so many matches of a side are kept, and where different branches may tell
    the same events with different values, of which the first one counts.
    """
    if not any(isinstance(node, Parallel) for node in nodes):
        return has_clash(nodes)
    return detector.within is None or has_clash(nodes) or _repeats_pairs(detector.body)


def has_clash(nodes: Sequence[Node]) -> bool:
    """Whether a label is called like the type of an event that has none."""
    atoms = [node for node in nodes if isinstance(node, Atom)]
    plain = [atom for atom in atoms if atom.label is None]
    signals = [signal for atom in plain for signal in (*atom.accepts, *atom.domain)]
    types = {t for signal in signals if isinstance(signal, EventPredicate) for t in signal.types}
    return any(atom.label in types for atom in atoms)


def _repeats_pairs(body: Body) -> bool:
    """Whether a branch can take several pairs of one parallel expression."""
    automaton = Automaton.of(body)
    return any(
        automaton.returns(state) or _repeats_pairs(atom.left) or _repeats_pairs(atom.right)
        for state, atom in enumerate(automaton.atoms)
        if isinstance(atom, Parallel)
    )


def _as_key(value: Value) -> Value:
    """A constant as a key: see `branches.key_of`."""
    if isinstance(value, float) and value.is_integer() and -(2.0**63) <= value < 2.0**63:
        return int(value)
    return value
