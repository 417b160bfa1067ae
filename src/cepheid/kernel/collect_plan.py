"""All collections of a kernel: rules come and go, and their tables are written into the memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from cepheid.algebra import CountWindow, Rule, TimeWindow, input_types
from cepheid.errors import LimitError
from cepheid.kernel import collect_slots as slots
from cepheid.kernel.collect_listeners import Listeners
from cepheid.kernel.collect_search import TRY_LIMIT
from cepheid.kernel.collect_shedding import drop_from_parts, held_by_parts
from cepheid.kernel.collect_steps import Plan, Tables, planned
from cepheid.kernel.lateness import Lateness
from cepheid.kernel.memory import Memory
from cepheid.kernel.oldest import oldest_rows
from cepheid.kernel.registry import Registry
from cepheid.kernel.sums import SUM_ROOM

_PLACES = 64


class CollectionPlans:
    """All rules that are collections."""

    STATE: ClassVar[dict[str, tuple[int, type]]] = {
        "collection_parts": (slots.PART, np.int64),
        "collection_keys": (slots.PART_KEY, np.int64),
        "collection_index": (slots.PART_INDEX, np.int64),
        "collection_lists": (slots.LIST, np.int64),
        "collection_entries": (slots.ENTRY, np.int64),
        "collection_sums": (slots.CACHE, np.int64),
    }

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._tables = Tables()
        self._lateness = Lateness()
        self._plans: list[Plan] = []
        self._places: dict[int, int] = {}

    def plan(self, number: int, rule: Rule) -> None:
        """Take a rule."""
        self._places[number] = len(self._plans)
        plan = planned(self._registry, self._tables, number, rule)
        # A match binds every leaf, whether or not a program speaks of it.
        self._registry.positions = max(self._registry.positions, plan.leaves)
        self._plans.append(plan)

    def remove(self, number: int) -> None:
        """Forget a rule; its state goes when rows are given up next."""
        for plan in self._plans:
            if plan.number == number:
                plan.alive = False

    def check(self, memory: Memory) -> None:
        """Raise an error if a search has come to its limit since this was last asked."""
        if memory.count(slots.LIMITED) == 0:
            return
        number = int(memory.get(slots.LIMITED)[0])
        memory.put(slots.LIMITED, [])
        rule = next(plan.rule for plan in self._plans if plan.number == number)
        raise LimitError(
            f"rule {rule.name} must be decided within {TRY_LIMIT} assignments of "
            "events to constraints\n\nhint: write a shorter window or a smaller count"
        )

    # --- limits --------------------------------------------------------------

    def held(self, memory: Memory, number: int, now: int) -> tuple[int, int]:
        """How many events a rule has collected, and in how many partitions."""
        rows, firsts = held_by_parts(memory.m, self._places[number], now)
        return int(rows.sum()), len(firsts)

    def begun(self, _: Memory) -> None:
        """An event begins one partition at most."""

    def drop(self, memory: Memory, number: int, now: int, stored: int, partial: int) -> None:
        """Give up the oldest events of a rule, and the partitions that began first."""
        place = self._places[number]
        rows, before = held_by_parts(memory.m, place, now)
        dropped = oldest_rows(memory, np.flatnonzero(rows), stored)
        drop_from_parts(memory.m, place, dropped, False)
        _, firsts = held_by_parts(memory.m, place, now)
        left = max(0, partial - (len(before) - len(firsts)))
        drop_from_parts(memory.m, place, oldest_rows(memory, firsts, left), True)

    # --- tables --------------------------------------------------------------

    def write(self, memory: Memory) -> None:
        """Put all tables into the memory."""
        late = self._lateness.by_type(self._registry.rules)
        self._tables.write(memory)
        memory.put(slots.PLAN, [_plan_row(plan, _slack(plan, late)) for plan in self._plans])
        listeners = Listeners(self._registry.encoder)
        for place, plan in enumerate(self._plans):
            if plan.alive:
                listeners.add(place, plan)
        listeners.write(memory)
        for slot, room in self._rooms():
            memory.put(slot, [0] * room)
        if memory.count(slots.PART_INDEX) == 0:
            memory.put(slots.PART_INDEX, [0] * _PLACES)

    def _rooms(self) -> Iterator[tuple[int, int]]:
        """How much room the search of any rule needs."""
        plans = self._plans
        yield slots.FRAME, slots.FRAME_WIDTH * max((plan.steps for plan in plans), default=1)
        yield slots.ABSENT, max((plan.absences for plan in plans), default=0) + 1
        yield slots.MARK, max((plan.marks for plan in plans), default=1)
        yield slots.FAILED, slots.FAILED_WIDTH * max((plan.leaves for plan in plans), default=1)
        yield slots.SEARCH, slots.SEARCH_WIDTH
        yield slots.SET_ASIDE, SUM_ROOM


def _slack(plan: Plan, late: Mapping[str, int]) -> int:
    return max((late.get(type_, 0) for type_ in input_types(plan.rule)), default=0) if late else 0


def _plan_row(plan: Plan, slack: int) -> list[int]:
    """A line of the table of plans, in the order of `PLAN_*`."""
    window, length = slots.FOREVER, 0
    if isinstance(plan.collection.window, TimeWindow):
        window, length = slots.TIME, plan.collection.window.length
    elif isinstance(plan.collection.window, CountWindow):
        window, length = slots.COUNT, plan.collection.window.size
    return [
        plan.number,
        int(plan.alive),
        plan.family,
        int(plan.rule.missing),
        window,
        length,
        slack,
        sum(key.value is None for key in plan.collection.partition),
        plan.first_leaf,
        plan.leaves,
        plan.leaves + plan.absences,
        plan.first_step,
        *plan.needs,
        *plan.always,
    ]
