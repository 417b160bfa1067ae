"""Sieves: which events could matter to the rules of a group at all, told before they travel.

A rule looks at an event in a few places, and in each of them the event itself must fulfil
something: `Temp(value > 45)`. What is compared with a constant is enough to leave most events
where they are. A sieve is coarse: rules that differ in their constants share the loosest of them,
and everything it does not understand, and every missing value, passes. The engine decides.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cepheid.algebra import (
    Attribute,
    Comparison,
    Expression,
    Literal,
    Relation,
    Rule,
    conjuncts,
)
from cepheid.automaton import compile_rule
from cepheid.automaton.uses import uses
from cepheid.events import Kind, Value
from cepheid.tables.arrow import Array, Bools, codes, kind, numbers, pa, pc, present, strings, texts
from cepheid.tables.reading import OWN
from cepheid.tables.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

EXACT = 2.0**52
"""Numbers up to here are the same as ints and as doubles, whoever compares them."""
_WAYS = 16
"""How many different ways to matter are told apart, for an event and for types; more would cost
more than they spare."""
_LEAST = (Relation.GREATER, Relation.AT_LEAST)
_MOST = (Relation.LESS, Relation.AT_MOST)
_COMPARED = {
    Relation.GREATER: operator.gt,
    Relation.AT_LEAST: operator.ge,
    Relation.LESS: operator.lt,
    Relation.AT_MOST: operator.le,
}
_NUMBERS = frozenset({"byte", "short", "integer", "long", "float", "double"})
_REALS = frozenset({"float", "double"})


@dataclass(frozen=True)
class Bound:
    """What an attribute must be: within a limit, or one of some values."""

    attribute: str
    relation: Relation
    values: tuple[Value, ...]
    """One value; of an equality as many as there are, all of them texts or all numbers."""

    @property
    def is_text(self) -> bool:
        """Whether texts are compared."""
        return isinstance(self.values[0], str)

    @property
    def shape(self) -> tuple[str, Relation, bool]:
        """What bounds have in common that can be made one."""
        return self.attribute, self.relation, self.is_text


Way = tuple[Bound, ...]
"""Bounds that must all hold."""
Sieve = Mapping[str, tuple[Way, ...]]
"""For types, the ways in which an event can matter; of a type that is not there, all pass."""


def sieve_of(rules: Iterable[Rule]) -> Sieve:
    """The sieve for all events that some of the rules could use."""
    found: dict[str, dict[tuple[object, ...], Way] | None] = {}
    for rule in rules:
        for use in uses(compile_rule(rule)):
            way = tuple(sorted(_bounds(use.predicate.filter), key=lambda bound: bound.shape))
            for type_ in use.predicate.types:
                ways = found.setdefault(type_, {})
                if not way or ways is None:
                    found[type_] = None
                else:
                    shape = tuple(bound.shape for bound in way)
                    ways[shape] = _loosest(ways[shape], way) if shape in ways else way
    sieve = {type_: tuple(ways.values()) for type_, ways in found.items() if ways}
    return {type_: ways for type_, ways in sieve.items() if len(ways) <= _WAYS}


def _bounds(filter_: Expression | None) -> Iterator[Bound]:
    """The parts of a filter that compare an attribute with a constant; one for each shape."""
    known: dict[tuple[str, Relation, bool], Bound] = {}
    for part in conjuncts(filter_):
        bound = _bound(part)
        if bound is not None:
            known.setdefault(bound.shape, bound)
    return iter(known.values())


def _bound(part: Expression) -> Bound | None:
    if not isinstance(part, Comparison):
        return None
    left, right, relation = part.left, part.right, part.relation
    if isinstance(left, Literal):
        left, right, relation = right, left, relation.mirrored
    if not isinstance(left, Attribute) or left.label is not None or left.name in OWN:
        return None
    if not isinstance(right, Literal) or not _is_understood(relation, right.value):
        return None
    assert right.value is not None  # noqa: S101 (that is not understood)
    return Bound(left.name, relation, (right.value,))


def _is_understood(relation: Relation, value: Value | None) -> bool:
    if isinstance(value, str):
        return relation is Relation.EQUAL
    if value is None or isinstance(value, bool):
        return False
    return relation is not Relation.UNEQUAL and abs(value) <= EXACT


def _loosest(one: Way, other: Way) -> Way:
    return tuple(_looser(*pair) for pair in zip(one, other, strict=True))


def _looser(one: Bound, other: Bound) -> Bound:
    both = (*one.values, *other.values)
    if one.relation in _LEAST:
        both = (min(both),)
    elif one.relation in _MOST:
        both = (max(both),)
    return Bound(one.attribute, one.relation, tuple(dict.fromkeys(both)))


def either(parts: Iterable[tuple[Iterable[str], Sieve]]) -> Sieve:
    """What passes at least one of several sieves, each for the types that it is asked for."""
    found: dict[str, tuple[Way, ...]] = {}
    for types, sieve in parts:
        for type_ in types:
            ways = sieve.get(type_, ())
            known = found.setdefault(type_, ways)
            found[type_] = tuple(dict.fromkeys((*known, *ways))) if known and ways else ()
    return {type_: ways for type_, ways in found.items() if ways}


# --- as data, for the workers ----------------------------------------------------------------


def written(sieve: Sieve) -> list[object]:
    """A sieve as data for JSON."""
    return [
        [type_, [[[b.attribute, b.relation.value, b.values] for b in way] for way in ways]]
        for type_, ways in sieve.items()
    ]


def read(data: Sequence[Any]) -> Sieve:
    """The sieve of such data."""
    return {
        type_: tuple(
            tuple(Bound(name, Relation(sign), tuple(values)) for name, sign, values in way)
            for way in ways
        )
        for type_, ways in data
    }


# --- over tables -----------------------------------------------------------------------------


def passing(sieve: Sieve, table: Table) -> Bools | None:
    """Which events could matter; None when all could."""
    found, dictionary = codes(table.types)
    by_ways: dict[tuple[Way, ...], list[int]] = {}
    for code, type_ in enumerate(texts(dictionary)):
        if type_ in sieve:
            by_ways.setdefault(sieve[type_], []).append(code)
    if not by_ways or len(by_ways) > _WAYS:
        return None
    passed = np.ones(len(table), np.bool_)
    for ways, own in by_ways.items():
        concerned = np.zeros(len(dictionary), np.bool_)
        concerned[own] = True
        some = np.logical_or.reduce([_all_hold(way, table) for way in ways])
        passed &= some | ~concerned[found]
    return passed


def _all_hold(way: Way, table: Table) -> Bools:
    found: Bools = np.logical_and.reduce([_holds(bound, table) for bound in way])
    return found


def _holds(bound: Bound, table: Table) -> Bools:
    """Where a bound holds, or the attribute is missing."""
    held = np.zeros(len(table), np.bool_)
    missing = np.ones(len(table), np.bool_)
    for column in table.named(bound.attribute):
        there = present(column)
        if there is None:
            missing[:] = False
            held |= _compared(bound, column)
        else:
            missing &= ~there
            held |= _compared(bound, column) & there
    return held | missing


def _compared(bound: Bound, column: Array) -> Bools:
    own = kind(column)
    if bound.is_text and own is Kind.STRING:
        return _is_one_of(bound.values, column)
    if bound.is_text or own not in (Kind.INT, Kind.DOUBLE):
        # A comparison of two kinds: what that means is not decided here.
        return np.ones(len(column), np.bool_)
    values = numbers(column)
    if bound.relation is Relation.EQUAL:
        return np.isin(values, np.array(bound.values, np.float64))
    found: Bools = _COMPARED[bound.relation](values, float(bound.values[0]))
    return found


def _is_one_of(values: tuple[Value, ...], column: Array) -> Bools:
    wanted = pa.array(values, pa.string())
    if pa.types.is_dictionary(column.type):
        own, dictionary = codes(column)
        is_in = pc.is_in(strings(dictionary).cast(pa.string()), value_set=wanted)
        return np.append(is_in.to_numpy(zero_copy_only=False), False)[own]
    is_in = pc.is_in(column, value_set=wanted.cast(column.type))
    found: Bools = is_in.to_numpy(zero_copy_only=False)
    return found


# --- as a condition of Spark -------------------------------------------------------------------


def condition(sieve: Sieve, types: Iterable[str], schema: StructType) -> Column:
    """The same for Spark itself: events of some types that could matter, and rows that are none."""
    from pyspark.sql import functions as F  # noqa: N812 (everybody calls it so)

    by_ways: dict[tuple[Way, ...], list[str]] = {}
    for type_ in sorted(types):
        by_ways.setdefault(sieve.get(type_, ()), []).append(type_)
    found = F.col("type").isNull() | F.col("ts").isNull()
    if "start" in schema.names:
        found = found | (F.col("start") > F.col("ts"))
    for ways, own in by_ways.items():
        here = F.col("type").isin(own)
        some = [_every(way, schema) for way in ways]
        if some:
            either = some[0]
            for other in some[1:]:
                either = either | other
            here = here & either
        found = found | here
    return found


def _every(way: Way, schema: StructType) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 (everybody calls it so)

    found = F.lit(True)
    for bound in way:
        if bound.attribute in schema.names:
            found = found & _within(bound, schema[bound.attribute].dataType.typeName())
    return found


def _within(bound: Bound, type_: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 (everybody calls it so)

    column = F.col("`" + bound.attribute.replace("`", "``") + "`")
    missing = column.isNull() | F.isnan(column) if type_ in _REALS else column.isNull()
    if bound.is_text and type_ == "string":
        return missing | column.isin(list(bound.values))
    if bound.is_text or type_ not in _NUMBERS:
        return F.lit(True)
    limits = [float(value) for value in bound.values]
    if bound.relation is Relation.EQUAL:
        return missing | column.between(min(limits), max(limits))
    within: Column = _COMPARED[bound.relation](column, limits[0])
    return missing | within
