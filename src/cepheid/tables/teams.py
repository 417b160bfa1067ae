"""Teams: rules that know nothing of each other are matched side by side, by a kernel for each team.

Every kernel gets all events and keeps those that its own rules need, so that what two teams need is
kept twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.algebra import EventPredicate, Rule, find, input_types
from cepheid.kernel.registry import FAILURE

FEW = 1 << 16
"""For fewer events than this no second kernel pays."""
FEW_FOR_A_RULE = 100
"""Nor for fewer than so many times the rules, as rules are deployed in longer than they match."""


def teams_of(rules: Sequence[Rule], events: int, cores: int) -> list[list[Rule]]:
    """The rules of each team, at most as many teams as there are cores.

    Rules that feed on what others find stay together, and so do those with periodic timers. The
    others go by the types that they look at, as an event that a team has no rule for costs little.

    >>> import cepheid
    >>> names = ("A1", "B1", "A2", "B2")
    >>> text = "\\n".join(f"Rule {name} define X() from {name[0]}()" for name in names)
    >>> rules = cepheid.load(text, language="tesla").rules
    >>> [[rule.name for rule in team] for team in teams_of(rules, 1_000_000, 2)]
    [['A1', 'A2'], ['B1', 'B2']]
    """
    heard = {type_ for rule in rules for type_ in input_types(rule)}
    if cores == 1 or events < max(FEW, FEW_FOR_A_RULE * len(rules)) or FAILURE in heard:
        return [list(rules)]
    given = {rule.output.type for rule in rules}
    tied: list[Rule] = []
    free: list[Rule] = []
    for rule in rules:
        is_tied = rule.output.type in heard or given.intersection(input_types(rule))
        (tied if is_tied or _ticks(rule) else free).append(rule)
    free.sort(key=input_types)
    share = -(-len(rules) // cores)
    own = max(0, share - len(tied))
    others = (free[begin : begin + share] for begin in range(own, len(free), share))
    return [team for team in ([*tied, *free[:own]], *others) if team]


def _ticks(rule: Rule) -> bool:
    return any(predicate.every is not None for predicate in find(rule, EventPredicate))
