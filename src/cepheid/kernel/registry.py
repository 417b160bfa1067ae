"""The registry: numbers for everything that tables speak of, while rules are planned.

Numbers are only ever added, so that state that was written down under a number stays good while
other rules come and go. After every change all tables are written into the memory again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cepheid.algebra import (
    EventPredicate,
    Expression,
    OutputAttribute,
    Rule,
)
from cepheid.events import Kind
from cepheid.kernel.columns import Encoder
from cepheid.kernel.limits import Limit
from cepheid.kernel.matches import (
    ANY_KIND,
    FAMILY_LISTENED,
    FAMILY_MEMBERS,
    FAMILY_OUTPUTS,
    FAMILY_POINT,
    FAMILY_TARGETS,
    LISTENED,
    MEMBER_RULE,
    MEMBER_TYPE,
    OUTPUT_KIND,
    OUTPUT_PROGRAM,
    TARGET,
)
from cepheid.kernel.memory import Memory
from cepheid.kernel.programs import Programs, no_register
from cepheid.kernel.store import RULE_RANK, TYPE_RANK
from cepheid.kernel.values import BOOL, DOUBLE, INT, TEXT, Ints

KINDS = {Kind.INT: INT, Kind.DOUBLE: DOUBLE, Kind.STRING: TEXT, Kind.BOOL: BOOL, None: ANY_KIND}
FAILURE = "Failure"
FAILING = -2
"""Stands for the kinds of the attributes of failures, where a layout is a line of numbers."""


@dataclass(frozen=True)
class Gathered:
    """An output that is an attribute of a constituent: its position and the column."""

    position: int
    column: int


@dataclass
class Shape:
    """What the matches of a family look like from outside.

    `labels` are those of a fixed shape, where a match has one constituent per label, in this
    order; None is a varied shape. `layout` tells for every output attribute where its value comes
    from; None is a value that was computed with the match. `members` are rule numbers.
    """

    rule: Rule
    members: list[int]
    types: list[str]
    names: tuple[str, ...]
    kinds: tuple[int, ...]
    layout: tuple[Gathered | None, ...]
    labels: tuple[str, ...] | None = None
    point: bool = False
    failure: bool = False


@dataclass(frozen=True)
class Look:
    """What families have in common whose matches are told together, as columns.

    A fixed shape has as many constituents as `width`.
    """

    width: int | None
    names: tuple[str, ...]
    kinds: tuple[int, ...]
    layout: tuple[Gathered | None, ...]
    point: bool
    failure: bool

    @staticmethod
    def of(shape: Shape) -> Look:
        """The look of a family."""
        width = None if shape.labels is None else len(shape.labels)
        return Look(width, shape.names, shape.kinds, shape.layout, shape.point, shape.failure)

    @cached_property
    def kind_codes(self) -> Ints:
        """The kinds of the attributes."""
        return np.array(self.kinds, np.int64)

    @cached_property
    def places(self) -> Ints:
        """Where values come from: position and column, or -1 and the number of a computed value."""
        rows, computed = [], 0
        for place in self.layout:
            rows.append((-1, computed) if place is None else (place.position, place.column))
            computed += place is None
        return np.array(rows, np.int64).reshape(-1, 2)

    @cached_property
    def lines(self) -> Ints:
        """The layout of the attributes in numbers: place and kind of each."""
        kinds = np.full_like(self.kind_codes, FAILING) if self.failure else self.kind_codes
        return np.column_stack([self.places, kinds])


@dataclass
class Registry:
    """What all strategies share while they plan.

    `late` tells how long after its end an event of a type may enter, where that is at all;
    `limits` how much may be kept for a rule, by its number. Events are `ordered` if none ends
    before one that came earlier.
    """

    encoder: Encoder = field(default_factory=Encoder)
    rules: list[Rule | None] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    listened: Counter[str] = field(default_factory=Counter)
    failures: bool = False
    ordered: bool = True
    positions: int = 1
    registers: int = 1
    late: Mapping[str, int] = field(default_factory=dict)
    limits: dict[int, Limit] = field(default_factory=dict)
    periods: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.programs = Programs(self.encoder)
        self._outputs: list[tuple[int, int]] = []
        self._output_begins = [0]
        self.looks: list[Look] = []
        self.fine_looks: list[tuple[int, tuple[str, ...] | None]] = []
        self.look_of = self.fine_of = np.empty(0, np.int64)
        self.layout_begins, self.layouts = np.zeros(1, np.int64), np.empty((0, 3), np.int64)
        self._look_of: list[int] = []
        self._fine_of: list[int] = []
        self._look_numbers: dict[Look, int] = {}
        self._fine_numbers: dict[tuple[int, tuple[str, ...] | None], int] = {}

    def type_codes(self, predicate: EventPredicate, deployment: int) -> tuple[int, ...]:
        """The codes of the types that a predicate means; a periodic timer is a type of its own.

        A timer belongs to its deployment, because it ticks from the first event after that.
        """
        if predicate.every is None:
            return tuple(sorted(map(self.encoder.types.code, predicate.types)))
        name = f"\0every {predicate.every} of {deployment}"
        self.periods.setdefault(name, (predicate.every, deployment))
        return (self.encoder.types.code(name),)

    # --- families ------------------------------------------------------------

    def family(self, shape: Shape, programs: Sequence[int] = ()) -> int:
        """The number of a new family; programs are those of its computed values."""
        computed = [k for k, place in zip(shape.kinds, shape.layout, strict=True) if place is None]
        self._outputs += zip(programs, computed, strict=True)
        self._output_begins.append(len(self._outputs))
        self.shapes.append(shape)
        return len(self.shapes) - 1

    def _find_looks(self) -> None:
        """Which families look alike; planners complete a shape after it has got its number.

        Families of one look may have other labels, families of one fine look have the same.
        """
        for shape in self.shapes[len(self._look_of) :]:
            look = Look.of(shape)
            number = self._look_numbers.setdefault(look, len(self.looks))
            if number == len(self.looks):
                self.looks.append(look)
            fine = self._fine_numbers.setdefault((number, shape.labels), len(self.fine_looks))
            if fine == len(self.fine_looks):
                self.fine_looks.append((number, shape.labels))
            self._look_of.append(number)
            self._fine_of.append(fine)
        lines = [look.lines for look in self.looks]
        self.layout_begins = np.cumsum([0, *map(len, lines)])
        self.layouts = np.concatenate([np.empty((0, 3), np.int64), *lines])
        self.look_of = np.array(self._look_of, np.int64)
        self.fine_of = np.array(self._fine_of, np.int64)

    def varied(self, number: int, rule: Rule, positions: Mapping[str, int]) -> int:
        """The family of a rule whose matches have any number of constituents.

        All its values are computed with the match; positions are those of labels in the frame.
        """
        attributes = rule.output.attributes
        programs = [self.program(item.value, positions) for item in attributes]
        layout = (None,) * len(attributes)
        shape = Shape(rule, [number], [rule.output.type], *_columns(attributes), layout)
        shape.point = rule.point
        return self.family(shape, programs)

    def failure_family(self, number: int, rule: Rule) -> int:
        """The family of a rule's failure events; values: the rule's name and the reason."""
        kinds = (TEXT, TEXT)
        names = ("rule", "reason")
        shape = Shape(rule, [number], [FAILURE], names, kinds, (None, None))
        shape.point = shape.failure = True
        return self.family(shape, [-1, -1])

    @property
    def wants_failures(self) -> bool:
        """Whether failure events are to be made: somebody asked, or a rule listens to them."""
        return self.failures or FAILURE in self.listened

    def program(
        self, expression: Expression, positions: Mapping[str, int], *, truth: bool = False
    ) -> int:
        """The number of a program without aggregates over windows."""
        self.positions = max(self.positions, len(positions))
        return self.programs.add(expression, positions, no_register, truth=truth)

    # --- tables --------------------------------------------------------------

    def write(self, memory: Memory) -> None:
        """Put everything that is shared into the memory."""
        self.programs.write(memory, self.positions, self.registers)
        memory.put(OUTPUT_PROGRAM, [program for program, _ in self._outputs])
        memory.put(OUTPUT_KIND, [kind for _, kind in self._outputs])
        memory.put(FAMILY_OUTPUTS, self._output_begins)
        self._find_looks()
        memory.put(FAMILY_POINT, [int(shape.point) for shape in self.shapes])
        self._write_members(memory)
        self._write_targets(memory)
        self.write_ranks(memory)

    def _write_members(self, memory: Memory) -> None:
        begins, rules, types, listened = [0], [], [], []
        for shape in self.shapes:
            heard = [self._heard(number, type_) for number, type_ in _members(shape)]
            rules += [number if self.rules[number] else -1 for number in shape.members]
            types += heard
            listened.append(int(any(code >= 0 for code in heard)))
            begins.append(len(rules))
        memory.put(FAMILY_MEMBERS, begins)
        memory.put(MEMBER_RULE, rules)
        memory.put(MEMBER_TYPE, types)
        memory.put(FAMILY_LISTENED, listened)
        memory.put(LISTENED, np.flatnonzero(listened))

    def _heard(self, number: int, type_: str) -> int:
        heard = self.rules[number] is not None and type_ in self.listened
        return self.encoder.types.code(type_) if heard else -1

    def _write_targets(self, memory: Memory) -> None:
        """Which cells of a composite event's row are filled, and from where."""
        begins, targets = [0], list[tuple[int, int, int, int]]()
        for shape in self.shapes:
            if any(type_ in self.listened for type_ in shape.types):
                targets += self._targets(shape)
            begins.append(len(targets))
        memory.put(FAMILY_TARGETS, begins)
        memory.put(TARGET, targets)

    def _targets(self, shape: Shape) -> list[tuple[int, int, int, int]]:
        found = self._everything(shape) if shape.rule.output.everything else []
        computed = 0
        for name, kind, place in zip(shape.names, shape.kinds, shape.layout, strict=True):
            column = self.encoder.columns.find(name)
            if place is not None:
                found.append((column, kind, place.position, place.column))
            else:
                found.append((column, ANY_KIND, -1, computed))
                computed += 1
        return [target for target in found if target[0] >= 0]

    def _everything(self, shape: Shape) -> list[tuple[int, int, int, int]]:
        """The attributes of all constituents that rules look at under their new names."""
        found = []
        for position, label in enumerate(shape.labels or ()):
            prefix = label.replace("-", "_") + "_"
            for name in self.encoder.columns.names():
                if name.startswith(prefix):
                    source = self.encoder.columns.code(name.removeprefix(prefix))
                    found.append((self.encoder.columns.code(name), ANY_KIND, position, source))
        return found

    def write_ranks(self, memory: Memory) -> None:
        """The order of type names and rule names."""
        memory.put(TYPE_RANK, self.encoder.types.ranks())
        names = [rule.name if rule else "" for rule in self.rules]
        ranks = {name: rank for rank, name in enumerate(sorted(set(names)))}
        memory.put(RULE_RANK, [ranks[name] for name in names])


def _columns(attributes: Sequence[OutputAttribute]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    return tuple(item.name for item in attributes), tuple(KINDS[item.kind] for item in attributes)


def _members(shape: Shape) -> list[tuple[int, str]]:
    return list(zip(shape.members, shape.types, strict=True))
