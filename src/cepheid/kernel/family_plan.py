"""The plan of a family of trees: its components, what must hold, and what it keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Comparison,
    Component,
    Equivalence,
    EventPredicate,
    Expression,
    Function,
    Instant,
    Literal,
    Negation,
    Node,
    Parameter,
    Policy,
    Relation,
    Rule,
    Tree,
    Window,
    conjunction,
    conjuncts,
    find,
    labels_of,
    parameters_of,
    surface,
)
from cepheid.events import Value
from cepheid.kernel.families import HOLE, Family
from cepheid.kernel.pushing import mapped, relabelled, takes_all
from cepheid.kernel.registry import KINDS, Gathered, Registry, Shape
from cepheid.kernel.stacks import EXACT, FOR_EVER, PREFIX, SUFFIX, UNKEYED
from cepheid.kernel.tables import (
    ABSENT,
    COMPUTE,
    EQUIVALENT,
    KEPT,
    KEPT_BY_MEMBER,
    NARROWED,
    NO_HIGH,
    NO_LOW,
    NOT_KEPT,
    SPAN,
    TEST,
)
from cepheid.kernel.tree_tables import TreeTables

_COVERS = {
    Relation.GREATER: PREFIX,
    Relation.AT_LEAST: PREFIX,
    Relation.LESS: SUFFIX,
    Relation.AT_MOST: SUFFIX,
    Relation.EQUAL: EXACT,
}
_POLICIES = {policy: code for code, policy in enumerate(Policy)}
_FUNCTIONS = {function: code for code, function in enumerate(Function)}

N = TypeVar("N", bound=Node)


@dataclass
class FamilyPlan:
    """The plan of one family."""

    registry: Registry
    tables: TreeTables
    family: Family
    rule: Rule
    tree: Tree

    def write(self, members: tuple[int, ...], rules: Sequence[Rule]) -> int:
        """Plan everything, then write it down; the result is the number of the tree."""
        tree = self.tree
        self.parameters = {binding.name: binding.value for binding in tree.bindings}
        self.ancestors = {part.label: self._path(part) for part in tree.components}
        self.ordered = sorted(tree.components, key=lambda part: len(self.ancestors[part.label]))
        self.position = {part.label: index for index, part in enumerate(self.ordered)}
        self.known_registers: dict[Aggregate, int] = {}
        self.candidate_steps: list[list[tuple[int, int]]] = [[] for _ in self.ordered]
        self.pick_steps: list[list[tuple[int, int]]] = [[] for _ in self.ordered]
        self.final_steps: list[tuple[int, int]] = []
        self.terminator_hole = -1
        self.covers = [-1 for _ in self.ordered]
        self.proven: list[set[str]] = [set() for _ in self.ordered]
        self.rechecked = self._is_rechecked(members)
        self._sort_filters()
        probes = [self._component(part) for part in self.ordered]
        self._attach_negations()
        self._attach_conditions()
        layout, programs = self._attach_outputs()
        if self._walks():
            self._join_steps()
        self._write_components(probes)
        attributes = self.rule.output.attributes
        shape = Shape(
            self.rule,
            list(members),
            [rule.output.type for rule in rules],
            tuple(item.name for item in attributes),
            tuple(KINDS[item.kind] for item in attributes),
            tuple(layout),
            tuple(part.label for part in self.ordered),
            self.rule.point,
        )
        self.registry.positions = max(self.registry.positions, len(self.ordered))
        self._write_tree(self.registry.family(shape, programs), len(members))
        return len(self.tables.trees) - 1

    def _sort_filters(self) -> None:
        """Decide every filter at the deepest component that it speaks of, if there is one."""
        self.early: dict[str, list[Expression]] = {part.label: [] for part in self.ordered}
        for part in self.tree.components:
            for condition in _solid(part.predicate.filter):
                if _is_static(condition):
                    continue
                absolute = relabelled(self._inlined(condition), None, part.label)
                deepest = self._deepest(labels_of(absolute) | {part.label})
                if deepest is None:
                    self._test_when_bound(absolute)
                else:
                    self.early[deepest].append(relabelled(absolute, deepest, None))

    def _inlined(self, node: N) -> N:
        """The expression with parameters replaced by what they stand for."""
        return mapped(node, self._resolved)

    # --- components ----------------------------------------------------------

    def _component(self, part: Component) -> int:
        hole = self._component_hole(part)
        equal = self._equal_to_parent(part)
        early = self.early[part.label] + list(equal.values())
        predicate = self._predicate(part.predicate)
        at = self.position[part.label]
        if at == 0:
            self.tables.terminators.append(predicate)
            self.terminator_hole = hole
            probe = -1
        else:
            assert part.window is not None  # noqa: S101 (only the terminator has no window)
            staircase = self._staircase(part, early)
            # A choice looks at one list; where a missing value fits, events are in two of them.
            each = part.selection.policy is Policy.EACH
            keyed = not self.rule.missing or each
            probe, rest = self._probe(
                predicate, part.window, early, hole=hole, staircase=staircase, keyed=keyed
            )
            self.proven[at] = {name for name, own in equal.items() if own not in rest}
            # Where all are picked, they are compared with those before them after the pick.
            early = [own for own in rest if not (each and own in equal.values())]
        for condition in early:
            self._test(condition, at, self.candidate_steps)
        if self.tree.within is not None and at == 0:
            self.pick_steps[at].append((SPAN, 0))
        return probe

    def _equal_to_parent(self, part: Component) -> dict[str, Expression]:
        """What equivalence tests say of a component and its parent; one of them becomes the key."""
        if part.parent is None:
            return {}
        return {
            test.attribute: Comparison(
                Relation.EQUAL,
                Attribute(None, test.attribute),
                Attribute(part.parent, test.attribute),
            )
            for test in self.tree.equivalences
        }

    def _predicate(self, predicate: EventPredicate) -> int:
        """The number of what a predicate asks of an event by itself.

        That some member of the family must accept the event is a part of it.
        """
        static = [part for part in _solid(predicate.filter) if _is_static(part)]
        static += self._implied(predicate)
        return self.tables.predicate(predicate, static, missing=self.rule.missing)

    def _implied(self, predicate: EventPredicate) -> Iterator[Expression]:
        """What follows from a hole in the filter: the constant that is easiest to satisfy."""
        for condition in conjuncts(predicate.filter):
            if not (isinstance(condition, Comparison) and condition.right == HOLE):
                continue
            least, most = map(Literal, (self.family.constants[0], self.family.constants[-1]))
            if condition.relation is Relation.EQUAL:
                yield replace(condition, relation=Relation.AT_LEAST, right=least)
                yield replace(condition, relation=Relation.AT_MOST, right=most)
            else:
                upwards = condition.relation in {Relation.GREATER, Relation.AT_LEAST}
                yield replace(condition, right=least if upwards else most)

    def _component_hole(self, part: Component) -> int:
        """The hole in a component's filter, or -1."""
        for condition in conjuncts(part.predicate.filter):
            if isinstance(condition, Comparison) and condition.right == HOLE:
                assert isinstance(condition.left, Attribute)  # noqa: S101 (see families)
                column = self.registry.encoder.columns.code(condition.left.name)
                self.covers[self.position[part.label]] = _COVERS[condition.relation]
                return self.tables.hole(condition.relation, column, self.family.constants)
        return -1

    def _probe(
        self,
        predicate: int,
        window: Window,
        dynamic: list[Expression],
        *,
        with_filter: bool = False,
        hole: int = -1,
        staircase: int = -1,
        keyed: bool = True,
    ) -> tuple[int, list[Expression]]:
        """A probe, and the conditions that it does not take care of."""
        key, column, rest = self._key(dynamic) if keyed else ((-1, -1), -1, dynamic)
        reach = _reach(self.tree, rechecked=self.rechecked)
        own = bool(self.rule.consuming)
        stack = self.tables.stack(predicate, column, hole, staircase, reach, own=own)
        everything = stack
        if self.rule.missing and column >= 0:
            beside = UNKEYED - 1 - column
            everything = self.tables.stack(predicate, beside, hole, staircase, reach, own=own)
        filter_ = -1
        if with_filter and rest:
            condition = conjunction(rest)
            assert condition is not None  # noqa: S101 (rest is not empty)
            filter_ = self._program(condition, truth=True)
        low, high = window.low, window.high
        swaps = bool(low and high and not (low.offset or high.offset) and low.label != high.label)
        self.tables.probes.append(
            (
                stack,
                everything,
                *key,
                *self._instant(low, NO_LOW),
                *self._instant(high, NO_HIGH),
                int(swaps),
                filter_,
            )
        )
        return len(self.tables.probes) - 1, rest

    def _staircase(self, part: Component, early: list[Expression]) -> int:
        """Whether `last` may forget events that newer ones hide: how they cover, or -1.

        Only where nothing but the key decides, and the window ends at the terminator.
        """
        _, _, rest = self._key(early)
        ends_now = part.parent == self.ordered[0].label and part.window is not None
        simple = ends_now and not rest and not self.rule.consuming and not self.rule.missing
        cover = self.covers[self.position[part.label]]
        last = part.selection.policy is Policy.LAST and part.selection.count == 1
        negated = any(part.label in self._speaks_of(negation) for negation in self.tree.negations)
        if not (simple and last and not negated and cover in {PREFIX, SUFFIX}):
            return -1
        return cover

    def _speaks_of(self, negation: Negation) -> frozenset[str]:
        filters = self._inlined(negation.predicate)
        return negation.window.labels | labels_of(filters)

    def _instant(self, instant: Instant | None, none: int) -> tuple[int, int]:
        if instant is None:
            return -1, none
        return self.position[instant.label], instant.offset

    def _key(self, dynamic: list[Expression]) -> tuple[tuple[int, int], int, list[Expression]]:
        """The first equality of an own attribute with one that is bound becomes the key."""
        columns = self.registry.encoder.columns
        for index, condition in enumerate(dynamic):
            own, other = _equality(condition)
            if own is not None and other is not None and other.label is not None:
                rest = dynamic[:index] + dynamic[index + 1 :]
                bound = (self.position[other.label], columns.code(other.name))
                return bound, columns.code(own.name), rest
        return (-1, -1), -1, list(dynamic)

    def _resolved(self, node: Node) -> Node:
        """What a parameter stands for, without parameters; anything else as it is."""
        if not isinstance(node, Parameter) or node == HOLE:
            return node
        return self._inlined(self.parameters[node.name])

    # --- what must hold ------------------------------------------------------

    def _attach_negations(self) -> None:
        for negation in self.tree.negations:
            equal = [
                Comparison(Relation.EQUAL, Attribute(None, test.attribute), other)
                for test in self.tree.equivalences
                for other in self._equivalent_values(test.attribute, test.value)
            ]
            dynamic = self._dynamic(negation.predicate)
            predicate = self._predicate(negation.predicate)
            labels = negation.window.labels | frozenset[str]().union(
                *(labels_of(condition) for condition in (*dynamic, *equal))
            )
            deepest = self._deepest(labels)
            at = max(self.position[label] for label in labels)
            steps = self.candidate_steps if deepest is not None else self.pick_steps
            where = self.final_steps if self.tree.deadline is not None else steps[at]
            self._compute_for([*dynamic, *equal], at, where)
            probe, _ = self._probe(predicate, negation.window, [*dynamic, *equal], with_filter=True)
            where.append((ABSENT, probe))

    def _equivalent_values(self, attribute: str, value: Value | None) -> list[Expression]:
        fixed: list[Expression] = [] if value is None else [Literal(value)]
        return fixed + [Attribute(part.label, attribute) for part in self.ordered]

    def _attach_conditions(self) -> None:
        for condition in self.tree.conditions:
            self._test_when_bound(self._inlined(condition))
        for test in self.tree.equivalences:
            self._attach_equivalence(test)

    def _attach_equivalence(self, test: Equivalence) -> None:
        """Every component has the value of those before it, and the fixed one if there is one."""
        column = self.registry.encoder.columns.code(test.attribute)
        for at, part in enumerate(self.ordered):
            if at > 0:
                first = 0 if test.attribute in self.proven[at] else len(self.pick_steps[at])
                self.pick_steps[at].insert(first, (EQUIVALENT, column))
            if test.value is not None and not takes_all(part):
                own = Attribute(part.label, test.attribute)
                self._test_when_bound(Comparison(Relation.EQUAL, own, Literal(test.value)))

    def _attach_outputs(self) -> tuple[list[Gathered | None], list[int]]:
        """Plain attributes are gathered later; other values are computed with the match."""
        last = len(self.ordered) - 1
        layout: list[Gathered | None] = []
        programs: list[int] = []
        for attribute in self.rule.output.attributes:
            value = self._inlined(attribute.value)
            if isinstance(value, Attribute) and value.label is not None:
                column = self.registry.encoder.columns.code(value.name)
                layout.append(Gathered(self.position[value.label], column))
                continue
            layout.append(None)
            self._compute_for([value], last, self.pick_steps[last])
            programs.append(self._program(value, truth=False))
        return layout, programs

    def _test_when_bound(self, condition: Expression) -> None:
        """Check a condition after the pick of the last event that it speaks of."""
        labels = labels_of(condition)
        at = max((self.position[label] for label in labels), default=0)
        self._test(condition, at, self.pick_steps)

    def _test(self, condition: Expression, at: int, steps: list[list[tuple[int, int]]]) -> None:
        if isinstance(condition, Comparison) and condition.right == HOLE:
            self._narrow(condition, at, steps)
            return
        self._compute_for([condition], at, steps[at])
        steps[at].append((TEST, self._program(condition, truth=True)))

    def _narrow(self, condition: Comparison, at: int, steps: list[list[tuple[int, int]]]) -> None:
        """Keep the members of the family whose constant fits a value."""
        self._compute_for([condition.left], at, steps[at])
        hole = self.tables.hole(condition.relation, -1, self.family.constants)
        self.tables.narrows.append((self._program(condition.left, truth=False), hole))
        steps[at].append((NARROWED, len(self.tables.narrows) - 1))

    # --- aggregates ----------------------------------------------------------

    def _compute_for(
        self, expressions: Sequence[Expression], at: int, steps: list[tuple[int, int]]
    ) -> None:
        """Have the aggregates that expressions use computed before they are used."""
        for aggregate in self._aggregates(expressions):
            bound_at = max(self.position[label] for label in labels_of(aggregate))
            filters = conjuncts(aggregate.predicate.filter)
            target = steps if bound_at >= at else self.pick_steps[bound_at]
            self._compute_for(filters, bound_at, target)
            step = (COMPUTE, self._register(aggregate))
            if step not in target:
                target.append(step)

    def _aggregates(self, expressions: Sequence[Expression]) -> list[Aggregate]:
        found: list[Aggregate] = []
        for expression in expressions:
            found += (node for node in surface(expression) if isinstance(node, Aggregate))
        return found

    def _register(self, aggregate: Aggregate) -> int:
        """The number of the register that holds an aggregate."""
        if aggregate not in self.known_registers:
            dynamic = self._dynamic(aggregate.predicate)
            predicate = self._predicate(aggregate.predicate)
            probe, _ = self._probe(predicate, aggregate.window, dynamic, with_filter=True)
            column = -1
            if aggregate.attribute is not None:
                column = self.registry.encoder.columns.code(aggregate.attribute)
            self.known_registers[aggregate] = len(self.tables.aggregates)
            self.tables.aggregates.append((probe, _FUNCTIONS[aggregate.function], column))
            self.registry.registers = max(self.registry.registers, len(self.tables.aggregates))
        return self.known_registers[aggregate]

    def _dynamic(self, predicate: EventPredicate) -> list[Expression]:
        """The conditions of a negation or an aggregate that speak of other events too."""
        parts = conjuncts(predicate.filter)
        return [self._inlined(part) for part in parts if not _is_static(part)]

    # --- helpers -------------------------------------------------------------

    def _program(self, expression: Expression, *, truth: bool) -> int:
        return self.registry.programs.add(expression, self.position, self._register, truth=truth)

    def _path(self, part: Component) -> frozenset[str]:
        by_label = {other.label: other for other in self.tree.components}
        path: list[str] = []
        parent = part.parent
        while parent is not None:
            path.append(parent)
            parent = by_label[parent].parent
        return frozenset(path)

    def _deepest(self, labels: frozenset[str]) -> str | None:
        for label in labels:
            if labels <= self.ancestors[label] | {label}:
                return label
        return None

    def _write_components(self, probes: list[int]) -> None:
        for at, (part, probe) in enumerate(zip(self.ordered, probes, strict=True)):
            self.tables.components.append(
                (
                    probe,
                    _POLICIES[part.selection.policy],
                    part.selection.count,
                    self.covers[at],
                    *self._steps(self.candidate_steps[at]),
                    *self._steps(self.pick_steps[at]),
                    self.registry.encoder.texts.code(part.label),
                    len(self.proven[at]),
                )
            )

    def _write_tree(self, family: int, members: int) -> None:
        consumed = {self.position[label] for label in self.rule.consuming}
        deadline, size = self.tree.deadline, len(self.ordered)
        self.tables.trees.append(
            (
                family,
                len(self.tables.components) - size,
                size,
                self.terminator_hole,
                int(self.rule.missing),
                -1 if self.tree.within is None else self.tree.within,
                -1 if deadline is None else self.position[deadline.label],
                0 if deadline is None else deadline.offset,
                sum(1 << at for at in consumed),
                *self._steps(self.final_steps),
                members,
                1,
                self._consumption(),
                int(self._walks()),
                int(self.rechecked),
            )
        )

    def _is_rechecked(self, members: tuple[int, ...]) -> bool:
        """Whether compaction may give up matches that wait in vain, and what it has looked at.

        An event that must not be there stays there, if nothing consumes it and what is asked of it
        does not change. What counts towards limits does not depend on when a state is compacted,
        nor does what excludes an event that comes out of order.
        """
        negated = [self._inlined(negation.predicate) for negation in self.tree.negations]
        return (
            self.tree.deadline is not None
            and self.registry.ordered
            and not self.rule.consuming
            and not any(aggregate for part in negated for aggregate in find(part, Aggregate))
            and not any(number in self.registry.limits for number in members)
        )

    def _walks(self) -> bool:
        """Whether all events in a window are taken, so that nothing has to be picked first."""
        takes_all = all(part.selection.policy is Policy.EACH for part in self.ordered)
        return takes_all and not self.family.constants and self._consumption() == NOT_KEPT

    def _join_steps(self) -> None:
        """Where nothing is picked, what makes a candidate is checked with all that must hold."""
        for at in range(1, len(self.ordered)):
            steps, proven = self.pick_steps[at], len(self.proven[at])
            self.pick_steps[at] = steps[:proven] + self.candidate_steps[at] + steps[proven:]
            self.candidate_steps[at] = []

    def _consumption(self) -> int:
        """Whether consumed events are kept in mind, or leave the only list that they are in."""
        if not self.rule.consuming:
            return NOT_KEPT
        if self.family.constants:
            return KEPT_BY_MEMBER
        stored = [part.predicate for part in self.ordered[1:]]
        stored += [negation.predicate for negation in self.tree.negations]
        stored += [aggregate.predicate for aggregate in find(self.rule, Aggregate)]
        lists = Counter(type_ for predicate in stored for type_ in set(predicate.types))
        for label in self.rule.consuming:
            at = self.position[label]
            predicate, own = self.ordered[at].predicate, int(at > 0)
            alone = all(lists[type_] == own for type_ in predicate.types)
            if self.rule.missing or predicate.every is not None or not alone:
                return KEPT
        return NOT_KEPT

    def _steps(self, steps: list[tuple[int, int]]) -> tuple[int, int]:
        begin = len(self.tables.steps)
        self.tables.steps += steps
        return begin, len(self.tables.steps)


def _reach(tree: Tree, *, rechecked: bool) -> int:
    """How long before the terminator an event may end and still be looked at, or FOR_EVER.

    Windows hang on each other, so their lengths add up along a path. A match that waits for its
    deadline looks at what it needs for so much longer, unless it is `rechecked` before that goes.
    """
    by_label = {part.label: part for part in tree.components}

    def before(low: Instant | None) -> int:
        """How long before the terminator a window begins."""
        if low is None:
            return tree.within or NO_HIGH
        window = by_label[low.label].window
        return (0 if window is None else before(window.low)) + max(0, -low.offset)

    windows = [part.window for part in tree.components if part.window is not None]
    windows += [part.window for part in tree.negations]
    windows += [aggregate.window for aggregate in find(tree, Aggregate)]
    reaches = [before(window.low) for window in windows]
    waiting = tree.deadline.offset if tree.deadline and not rechecked else 0
    longest = max(reaches, default=0) + waiting
    return longest if longest < NO_HIGH else FOR_EVER


def _equality(condition: Expression) -> tuple[Attribute | None, Attribute | None]:
    """The own and the bound attribute that a condition says are equal, if it says so."""
    if not isinstance(condition, Comparison) or condition.relation is not Relation.EQUAL:
        return None, None
    for own, other in ((condition.left, condition.right), (condition.right, condition.left)):
        if isinstance(own, Attribute) and isinstance(other, Attribute) and own.label is None:
            return (own, other) if other.label is not None else (None, None)
    return None, None


def _solid(condition: Expression | None) -> list[Expression]:
    """The conjuncts of a condition that are the same for all members of the family."""
    return [
        part
        for part in conjuncts(condition)
        if not (isinstance(part, Comparison) and part.right == HOLE)
    ]


def _is_static(condition: Expression) -> bool:
    """Whether a condition only speaks of the event being tested."""
    if parameters_of(condition) or labels_of(condition):
        return False
    return not any(find(condition, Aggregate))
