"""Planning trees: families of rules are written into the tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cepheid.algebra import (
    Rule,
    Tree,
)
from cepheid.kernel.families import Family, families
from cepheid.kernel.family_plan import FamilyPlan
from cepheid.kernel.limits import Limit
from cepheid.kernel.memory import Memory
from cepheid.kernel.pushing import pushed
from cepheid.kernel.registry import Registry
from cepheid.kernel.shedding import drop_rows, drop_waiting, rows_of, waiting_of
from cepheid.kernel.store import ROW_END
from cepheid.kernel.tables import (
    WAIT_HEAP,
)
from cepheid.kernel.tree_tables import TreeTables
from cepheid.kernel.values import Ints


class TreePlans:
    """Plans the rules of the lazy strategy.

    Rules that are deployed together share stacks and form families; those that come later have
    stacks of their own, because they do not know the events from before.
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.tables = TreeTables(registry)
        self._tree_of: dict[int, int] = {}

    def plan(self, numbers: Sequence[int], rules: Sequence[Rule]) -> None:
        """Plan rules that are deployed together; their numbers are those of the registry.

        Rules with other limits share nothing with them.
        """
        by_limit: dict[Limit | None, list[int]] = {}
        for index, number in enumerate(numbers):
            by_limit.setdefault(self.registry.limits.get(number), []).append(index)
        for alike in by_limit.values():
            self._plan([numbers[index] for index in alike], [rules[index] for index in alike])

    def _plan(self, numbers: Sequence[int], rules: Sequence[Rule]) -> None:
        self.tables.deployment += 1
        rules = [pushed(rule) for rule in rules]
        # What one event completes lies side by side in all tables.
        for family in sorted(families(rules), key=_terminator):
            members = tuple(numbers[index] for index in family.members)
            tree = family.rule.pattern
            assert isinstance(tree, Tree)  # noqa: S101 (the caller chose the strategy)
            plan = FamilyPlan(self.registry, self.tables, family, family.rule, tree)
            number = plan.write(members, [rules[index] for index in family.members])
            self._tree_of.update(dict.fromkeys(members, number))

    def remove(self, number: int) -> None:
        """Forget a rule; its family goes with its last member."""
        tree = self._tree_of.pop(number)
        if tree not in self._tree_of.values():
            self.tables.remove(tree)

    def write(self, memory: Memory) -> None:
        """Put all tables into the memory."""
        self.tables.write(memory)

    # --- limits --------------------------------------------------------------

    def held(self, memory: Memory, number: int, now: int) -> tuple[int, int]:
        """How many events the tree of a rule keeps, and how many of its matches wait."""
        tree = self._tree_of[number]
        rows = rows_of(memory.m, self._stacks(tree), now)
        return len(np.unique(rows)), waiting_of(memory.m, tree)

    def begun(self, memory: Memory) -> int:
        """How many matches wait: one event may complete any number of them."""
        return memory.count(WAIT_HEAP)

    def drop(self, memory: Memory, number: int, now: int, stored: int, partial: int) -> None:
        """Give up the oldest events of the tree of a rule, and the matches that wait longest."""
        tree = self._tree_of[number]
        stacks = self._stacks(tree)
        rows = np.unique(rows_of(memory.m, stacks, now))
        ends = memory.view(ROW_END)[rows]
        drop_rows(memory.m, stacks, rows[np.argsort(ends, kind="stable")][:stored])
        drop_waiting(memory.m, tree, partial)

    def _stacks(self, tree: int) -> Ints:
        return np.array(self.tables.stacks_of(tree), np.int64)


def _terminator(family: Family) -> tuple[str, ...]:
    """The types that complete a match of a family."""
    tree = family.rule.pattern
    assert isinstance(tree, Tree)  # noqa: S101 (the caller chose the strategy)
    return tree.components[0].predicate.types
