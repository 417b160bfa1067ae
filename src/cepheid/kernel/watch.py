"""Watching limits: which rules must be looked at, and what happens to those beyond theirs.

To look at a rule is to walk through all that it keeps. But an event adds at most one event to it,
and at most one run or partition, so that a rule that is far from its limits need not be looked at
for a while. Branches and waiting matches may grow by any number at once; there, nobody is beyond
a limit as long as all rules together are not.
"""

from __future__ import annotations

from collections.abc import Mapping

from cepheid.algebra import Rule
from cepheid.errors import LimitError
from cepheid.kernel.limits import Keeper, Limit, excess, refuse
from cepheid.kernel.memory import Memory
from cepheid.kernel.registry import Registry
from cepheid.kernel.store import NEVER


class Watch:
    """Keeps rules within their limits.

    `limited` tells by rule how often it was refused more, or how much of it was dropped.
    """

    def __init__(self, registry: Registry, keepers: Mapping[type, Keeper]) -> None:
        self.limited: dict[int, int] = {}
        self._registry = registry
        self._keepers = keepers
        self._due: dict[int, int] = {}
        self._soonest = 0
        self._least: dict[type, int] = {}

    def look_again(self) -> None:
        """Look at every rule the next time, whatever was known."""
        self._due.clear()
        self._least.clear()
        self._soonest = 0

    def keep(self, memory: Memory, now: int, entered: int) -> LimitError | None:
        """Drop what rules keep beyond their limits; the error of the first that may not drop.

        `entered` are the events that have entered so far.
        """
        grown = [
            pattern
            for pattern, least in self._least.items()
            if (self._keepers[pattern].begun(memory) or 0) > least
        ]
        if entered < self._soonest and not grown:
            return None
        refused, limits = None, self._registry.limits
        for number, limit in limits.items():
            begins = limit.partial is not None and type(self._rule(number).pattern) in grown
            if begins or self._due.get(number, entered) <= entered:
                error = self._look(memory, number, limit, now, entered)
                refused = refused or error
        self._soonest = min(self._due[number] for number in limits)
        return refused

    def _look(
        self, memory: Memory, number: int, limit: Limit, now: int, entered: int
    ) -> LimitError | None:
        rule = self._rule(number)
        pattern, held = type(rule.pattern), self.held(memory, number, now)
        over = excess(limit, held)
        refused = any(over) and not limit.drop
        grows = self._keepers[pattern].begun(memory) is not None
        self._due[number] = entered if refused else entered + 1 + _room(limit, held, grows=grows)
        if limit.partial is not None and grows:
            self._least[pattern] = min(limit.partial, self._least.get(pattern, NEVER))
        if not any(over):
            return None
        self.limited[number] = self.limited.get(number, 0) + (1 if refused else sum(over))
        if refused:
            return refuse(rule.name, limit, over)
        self._keepers[pattern].drop(memory, number, now, *over)
        return None

    def held(self, memory: Memory, number: int, now: int) -> tuple[int, int]:
        """How many events a rule keeps, and how much it has begun."""
        keeper = self._keepers[type(self._rule(number).pattern)]
        return keeper.held(memory, number, now)

    def _rule(self, number: int) -> Rule:
        rule = self._registry.rules[number]
        assert rule is not None  # noqa: S101 (limits go with their rule)
        return rule


def _room(limit: Limit, held: tuple[int, int], *, grows: bool) -> int:
    """How many events can enter before a rule may be beyond its limits.

    What one event may begin any number of is left aside.
    """
    most = (limit.stored, None if grows else limit.partial)
    rooms = [max(0, may - have) for may, have in zip(most, held, strict=True) if may is not None]
    return min(rooms, default=NEVER)
