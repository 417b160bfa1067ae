"""The plan of a job: which rules run together, by what their events are parted, on which shards.

Rules that listen to each other stay together. Those whose events can be parted by the same
attributes form a group that is spread over shards by the values of these attributes; the others
live on one shard each, rules of one shape together, as the engine evaluates them together.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

from cepheid.algebra import (
    EventPredicate,
    Literal,
    Negation,
    Node,
    Rule,
    find,
    input_types,
    walk,
)
from cepheid.algebra.codec import decode_rule, encode
from cepheid.errors import EventError
from cepheid.events import Kind, Schema
from cepheid.kernel.registry import FAILURE
from cepheid.runtime.settings import Settings
from cepheid.runtime.tabular import Tabular
from cepheid.spark import sieve
from cepheid.spark.keys import RouteKey, carries, is_of_one, is_single, route_keys
from cepheid.spark.placing import placed
from cepheid.spark.sieve import Sieve

EVERY = "*"
"""Stands in a key for all types that it does not name."""
SHARD_LIMIT = 4096
"""The largest number of shards of a group; each has an engine of its own."""
_OF_PLAN = "|"
_TRIED = 64
"""How many combinations of keys are tried for rules that listen to each other."""


@dataclass(frozen=True)
class Group:
    """Rules that see the same events, with the key that spreads them over shards."""

    name: str
    rules: tuple[Rule, ...]
    key: Mapping[str, str] = field(default_factory=dict)
    shards: tuple[str, ...] = ()
    """The names of the shards; one of them where there is no key."""
    open: bool = False
    """Whether rules come and go while the job runs, so that events of all types are needed."""
    sieve: Sieve = field(default_factory=dict)
    """What events must fulfil to matter at all."""

    @property
    def types(self) -> frozenset[str]:
        """The types that the rules look at."""
        return frozenset().union(*(input_types(rule) for rule in self.rules))

    @property
    def wants_all(self) -> bool:
        """Whether events of all types are needed: rules come and go, or a timer ticks from the
        first event on, whatever it is.
        """
        ticks = (p.every is not None for rule in self.rules for p in find(rule, EventPredicate))
        return self.open or any(ticks)

    @property
    def gaps_go_everywhere(self) -> bool:
        """Whether an event without a value of the key has to do with every value."""
        if not self.key or len(self.shards) == 1:
            return False
        return self.open or any(rule.missing or is_of_one(rule) for rule in self.rules)

    @cached_property
    def forbidding(self) -> frozenset[str]:
        """The types of events that may forbid a match of events without a key, whatever their own
        key is. The first shard, which tells such matches, has them all.
        """
        if not self.gaps_go_everywhere:
            return frozenset()
        absent = (part for rule in self.rules if rule.missing for part in find(rule, Negation))
        return frozenset(type_ for part in absent for type_ in part.predicate.types)


@dataclass(frozen=True)
class Plan:
    """Everything that the parts of a job must agree on; it goes to them as a text."""

    groups: tuple[Group, ...]
    schema: Schema
    settings: Settings
    form: Tabular
    """The columns that the events have."""
    until: int | None = None
    """To where time goes on after the last event of a finite table."""

    @property
    def shards(self) -> dict[str, Group]:
        """All shards by name."""
        return {shard: group for group in self.groups for shard in group.shards}

    def written(self) -> str:
        """The plan as a text, the same for the same plan."""
        return json.dumps(
            {
                "groups": [
                    [
                        group.name,
                        [encode(rule) for rule in group.rules],
                        dict(group.key),
                        group.shards,
                        group.open,
                        sieve.written(group.sieve),
                    ]
                    for group in self.groups
                ],
                "schema": {type_: dict(own) for type_, own in self.schema.items()},
                "settings": self.settings.state(),
                "form": self.form.state(),
                "until": self.until,
            }
        )

    @staticmethod
    @lru_cache(maxsize=2048)
    def read(text: str) -> Plan:
        """The plan of a text."""
        head: dict[str, Any] = json.loads(text)
        return Plan(
            tuple(
                Group(
                    name,
                    tuple(map(decode_rule, rules)),
                    key,
                    tuple(shards),
                    is_open,
                    sieve.read(passing),
                )
                for name, rules, key, shards, is_open, passing in head["groups"]
            ),
            Schema({t: {n: Kind(k) for n, k in own.items()} for t, own in head["schema"].items()}),
            Settings.of_state(head["settings"]),
            Tabular.of_state(head["form"]),
            head["until"],
        )


@dataclass(frozen=True)
class Plans:
    """The plans of one job: one, or several that have nothing to do with each other.

    With several, the names of shards begin with that of their plan.
    """

    texts: Mapping[str, str]

    def __getstate__(self) -> bytes:
        """Compressed: Spark cannot start a stateful operator whose code is beyond a megabyte."""
        return zlib.compress(json.dumps(dict(self.texts)).encode())

    def __setstate__(self, state: bytes) -> None:
        """What was compressed."""
        object.__setattr__(self, "texts", json.loads(zlib.decompress(state)))

    @staticmethod
    def single(plan: Plan) -> Plans:
        """One plan alone."""
        return Plans({"": plan.written()})

    def __getitem__(self, name: str) -> Plan:
        """The plan of a name."""
        return Plan.read(self.texts[name])

    def of(self, address: str) -> tuple[Plan, str]:
        """The plan of a shard, and the name that the shard has there."""
        if "" in self.texts:
            return self[""], address
        name, _, shard = address.partition(_OF_PLAN)
        return self[name], shard

    def address(self, name: str, shard: str) -> str:
        """What a shard of a plan is called in the job."""
        return f"{name}{_OF_PLAN}{shard}" if name else shard


def plan_rules(
    rules: Sequence[Rule],
    schema: Schema,
    settings: Settings,
    form: Tabular,
    *,
    shards: int,
    partitions: int,
    until: int | None = None,
    lasting: bool = False,
) -> Plan:
    """The plan for rules: keyed groups on `shards` shards, of Spark's so many partitions.

    In a `lasting` plan rules are where they are whatever other rules there are, as far as it goes:
    after a restart their state must be there.
    """
    if type(shards) is not int or not 1 <= shards <= SHARD_LIMIT:
        raise EventError(f"shards must be a number from 1 to {SHARD_LIMIT}; got {shards!r}")
    groups = [*_grouped(rules, shards, lasting=lasting)]
    counts = [(group.name, shards if group.key else 1) for group in groups]
    names = placed(counts, partitions, apart=lasting)
    groups = [
        replace(group, shards=own, sieve=_sieve(group, settings))
        for group, own in zip(groups, names, strict=True)
    ]
    return Plan(tuple(groups), schema, settings, form, until)


def _sieve(group: Group, settings: Settings) -> Sieve:
    """What is left out must not be missed: a probable delay is estimated from all events."""
    if group.wants_all or settings.policy.startswith("probable"):
        return {}
    return sieve.sieve_of(group.rules)


def plan_open(
    rules: Sequence[Rule],
    key: Mapping[str, str],
    schema: Schema,
    settings: Settings,
    form: Tabular,
    *,
    shards: int,
    partitions: int,
) -> Plan:
    """The plan for rules that come and go, all on the shards of one key."""
    (names,) = placed([("rules", shards if key else 1)], partitions)
    group = Group("rules", tuple(rules), key, names, open=True)
    return Plan((group,), schema, settings, form)


def unfit(rules: Sequence[Rule], key: Mapping[str, str]) -> str:
    """Why the events of rules cannot be parted by a key that is given; empty if they can.

    >>> import cepheid
    >>> rules = cepheid.load("QUERY Q EVENT SEQ(A x, B y) WHERE [id] WITHIN 1 hour",
    ...     language="sase")
    >>> unfit(rules.rules, {"*": "id"})
    ''
    >>> print(unfit(rules.rules, {"*": "area"}))
    rule Q cannot run on shards by area: its events are parted by id
    <BLANKLINE>
    hint: compare area in all its events, or run the stream without a key
    """
    if not key:
        return ""
    for together in _connected(rules):
        keys = [] if any(map(_forbids_without_key, together)) else _common_keys(together)
        fits = any(all(_fixed(key, t) == name for t, name in one.items()) for one in keys)
        if not fits and not (len(together) == 1 and is_single(together[0])):
            wanted = " or ".join(sorted(set(key.values())))
            found = " or ".join(sorted({_key_name(one) for one in keys})) or "no attribute"
            return (
                f"rule {together[0].name} cannot run on shards by {wanted}: "
                f"its events are parted by {found}\n\n"
                f"hint: compare {wanted} in all its events, or run the stream without a key"
            )
    return ""


def _fixed(key: Mapping[str, str], type_: str) -> str | None:
    return key.get(type_) or key.get(EVERY)


# --- which rules stay together -------------------------------------------------------------


def _grouped(rules: Sequence[Rule], shards: int, *, lasting: bool) -> Iterator[Group]:
    keyed: list[tuple[RouteKey, list[Rule]]] = []
    alone: dict[str, list[Rule]] = {}
    for together in _connected(rules):
        keys = _common_keys(together)
        if not keys:
            alone.setdefault(_shape(together), []).extend(together)
            continue
        fitting = ((group, key) for group in keyed for key in keys if _agree(group[0], key))
        found = next(fitting, None)
        if found is None:
            keyed.append((dict(keys[0]), list(together)))
        else:
            (key, members), own = found
            key.update(own)
            members.extend(together)
    if not lasting:
        keyed = [part for key, members in keyed for part in _parted(key, members, shards)]
    yield from _named((_key_name(key), tuple(members), key) for key, members in keyed)
    if lasting:
        yield from _lasting(alone, shards)
        return
    bins = _binned(list(alone.values()), shards)
    yield from _named((f"rules of {own[0].name}", tuple(own), {}) for own in bins)


def _parted(key: RouteKey, rules: list[Rule], most: int) -> Iterator[tuple[RouteKey, list[Rule]]]:
    """Rules of a key that have no type in common need not be together: few values of the key then
    still keep several cores busy. Each part is one more engine on every shard, which a stream
    would pay for in every batch.
    """
    users: dict[str, int] = {}
    links = [
        (number, users.setdefault(type_, number))
        for number, rule in enumerate(rules)
        for type_ in (*input_types(rule), rule.output.type)
    ]
    families = [[rules[number] for number in part] for part in _linked(len(rules), links)]
    for part in _binned(families, most):
        types = set().union(*(input_types(rule) for rule in part))
        yield {type_: name for type_, name in key.items() if type_ in {*types, EVERY}}, part


def _named(groups: Iterable[tuple[str, tuple[Rule, ...], RouteKey]]) -> Iterator[Group]:
    taken: dict[str, int] = {}
    for name, rules, key in groups:
        taken[name] = count = taken.get(name, 0) + 1
        yield Group(name if count == 1 else f"{name} {count}", rules, key)


def _key_name(key: RouteKey) -> str:
    return " = ".join(sorted(set(key.values())))


def _agree(one: RouteKey, other: RouteKey) -> bool:
    return all(one.get(type_, name) == name for type_, name in other.items())


def _lasting(families: Mapping[str, list[Rule]], shards: int) -> Iterator[Group]:
    """Families of rules on the shards that their shapes tell, whatever others there are."""
    bins: dict[int, list[Rule]] = {}
    for shape, family in families.items():
        bins.setdefault(zlib.crc32(shape.encode()) % shards, []).extend(family)
    for number, own in sorted(bins.items()):
        yield Group(f"rules {number}", tuple(own))


def _binned(families: list[list[Rule]], shards: int) -> list[list[Rule]]:
    """Families of rules on as many shards as there may be, the large ones first."""
    bins: list[list[Rule]] = [[] for _ in range(min(shards, len(families)))]
    for family in sorted(families, key=len, reverse=True):
        min(bins, key=len).extend(family)
    return bins


def _connected(rules: Sequence[Rule]) -> list[list[Rule]]:
    """Rules that listen to each other, directly or through others, in the order of the rules."""
    makers: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        makers.setdefault(rule.output.type, []).append(number)
    links = [
        (number, maker)
        for number, rule in enumerate(rules)
        for type_ in input_types(rule)
        for maker in (range(len(rules)) if type_ == FAILURE else makers.get(type_, ()))
    ]
    return [[rules[number] for number in part] for part in _linked(len(rules), links)]


def _linked(count: int, links: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Numbers that are linked, directly or through others, in their order."""
    leader = list(range(count))

    def led_by(number: int) -> int:
        while leader[number] != number:
            leader[number] = number = leader[leader[number]]
        return number

    for pair in links:
        one, other = sorted(map(led_by, pair))
        leader[other] = one
    found: dict[int, list[int]] = {}
    for number in range(count):
        found.setdefault(led_by(number), []).append(number)
    return list(found.values())


def _forbids_without_key(rule: Rule) -> bool:
    """Whether all events of some types may forbid a match; only a plan knows where to send them."""
    return rule.missing and any(find(rule, Negation))


def _common_keys(rules: Sequence[Rule]) -> list[RouteKey]:
    """The keys that all rules can have together, so that composite events stay on their shard."""
    if len(rules) == 1 and rules[0].output.type not in input_types(rules[0]):
        return route_keys(rules[0])
    if any(rule.missing or FAILURE in input_types(rule) for rule in rules):
        return []
    choices = [route_keys(rule) for rule in rules]
    found = []
    for _, chosen in zip(range(_TRIED), product(*choices), strict=False):
        merged: RouteKey = {}
        agree = all(_agree(merged, key) and not merged.update(key) for key in chosen)
        if agree and all(
            _handed_on(rule, key, merged) for rule, key in zip(rules, chosen, strict=True)
        ):
            found.append(merged)
    return found


def _handed_on(rule: Rule, key: RouteKey, merged: RouteKey) -> bool:
    attribute = merged.get(rule.output.type)
    return attribute is None or carries(rule, key, attribute)


def _shape(rules: Sequence[Rule]) -> str:
    """What rules that differ only in their names and constants have in common."""
    return json.dumps([_plain(rule) for rule in rules])


def _plain(rule: Rule) -> list[str]:
    parts: list[str] = [rule.output.type]
    for node in walk(rule.pattern):
        parts.append(_word(node))
    return parts


def _word(node: Node) -> str:
    label = getattr(node, "label", None) or getattr(node, "name", None) or ""
    types = getattr(node, "types", ())
    return (
        type(node).__name__
        if isinstance(node, Literal)
        else f"{type(node).__name__} {label} {types}"
    )
