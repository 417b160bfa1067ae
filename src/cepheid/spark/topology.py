"""The topology of a plan in words: which rules run where, and where events go."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.literals import format_value
from cepheid.records import Clock
from cepheid.rules import Rules
from cepheid.runtime.settings import Settings
from cepheid.runtime.tabular import Tabular
from cepheid.spark.plan import EVERY, Group, Plan, plan_rules
from cepheid.spark.sieve import Bound, either
from cepheid.tables.frames import Frame
from cepheid.tables.times import Times

_NAMED = 8
"""How many rules of a group are told by name."""


def topology(rules: Rules, shards: int) -> str:
    """Where rules run and where events go, with so many shards.

    >>> import cepheid
    >>> rules = cepheid.load('''
    ...     Rule R1 define Fire(area: string)
    ...     from Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
    ...     where area = Smoke.area
    ... ''', language="tesla")
    >>> print(topology(rules, 4))
    shards
      area      R1
                4 shards by area of Smoke, Temp
                an event without it is sent nowhere
    traffic
      Smoke     to 1 shard
      Temp      to 1 shard, if value > 45
      others    nowhere
    """
    form = Tabular(Frame.ARROW, Times(Clock.of("us")))
    plan = plan_rules(rules.rules, rules.schema, Settings(), form, shards=shards, partitions=shards)
    return "\n".join(["shards", *_shards(plan), "traffic", *_traffic(plan)])


def _shards(plan: Plan) -> Iterator[str]:
    for group in plan.groups:
        names = [rule.name for rule in group.rules]
        told = ", ".join(names[:_NAMED]) + (
            f" and {len(names) - _NAMED} more" if names[_NAMED:] else ""
        )
        first, *rest = [told, *_place(group)]
        yield f"  {group.name:<9} {first}"
        yield from (f"  {'':<9} {line}" for line in rest)


def _place(group: Group) -> Iterator[str]:
    if not group.key:
        yield "1 shard: no attribute parts its events"
        return
    count = len(group.shards)
    yield f"{count} shard{'s' * (count > 1)} by {_by(group)}"
    if count > 1:
        everywhere = group.gaps_go_everywhere
        yield f"an event without it is sent {'to all of them' if everywhere else 'nowhere'}"
        if group.forbidding:
            yield f"all events of {', '.join(sorted(group.forbidding))} are sent to the first, too"


def _by(group: Group) -> str:
    by_name: dict[str, list[str]] = {}
    for type_, name in sorted(group.key.items()):
        by_name.setdefault(name, []).append("all types" if type_ == EVERY else type_)
    return ", ".join(f"{name} of {', '.join(types)}" for name, types in by_name.items())


def _traffic(plan: Plan) -> Iterator[str]:
    """To how many shards an event of each type is sent."""
    types = sorted(frozenset().union(*(group.types for group in plan.groups)))
    sieve = either(
        (types if group.wants_all else group.types, group.sieve) for group in plan.groups
    )
    for type_ in types:
        count = sum(type_ in group.types or group.wants_all for group in plan.groups)
        ways = " or ".join(" and ".join(map(_bound, way)) for way in sieve.get(type_, ()))
        most = count + sum(type_ in group.forbidding for group in plan.groups)
        told = f"{count} or {most}" if most > count else f"{count}"
        yield f"  {type_:<9} to {told} shard{'s' * (most > 1)}{ways and f', if {ways}'}"
    others = sum(group.wants_all for group in plan.groups)
    where = f"to {others} shard{'s' * (others > 1)}, as a timer ticks there"
    yield f"  {'others':<9} {where if others else 'nowhere'}"


def _bound(bound: Bound) -> str:
    values = [format_value(value) for value in bound.values[:_NAMED]]
    if len(bound.values) > _NAMED:
        return f"{bound.attribute} is one of {len(bound.values)} values"
    return " or ".join(f"{bound.attribute} {bound.relation.value} {value}" for value in values)
