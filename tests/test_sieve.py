"""Sieves: what could matter passes, and little else; the engine's answer stays the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sized
from dataclasses import replace

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cepheid
from cepheid.events import Event, Schema
from cepheid.oracle import Outcome, evaluate
from cepheid.records import Clock
from cepheid.spark.columns import narrow
from cepheid.spark.sieve import either, passing, read, sieve_of, written
from cepheid.tables.reading import read as read_table
from cepheid.tables.table import from_events
from cepheid.testing import difference
from tests.strategies import RULES, streams

FIRE = """Rule R{number}
define Fire(area: string)
from Smoke(area = $a) and each Temp(area = $a and value > {limit}) within 5 min from Smoke
where area = Smoke.area"""


def fires(*limits: int) -> cepheid.Rules:
    """Rules that differ in a constant."""
    texts = [FIRE.format(number=n, limit=limit) for n, limit in enumerate(limits)]
    return cepheid.load("\n\n".join(texts), language="tesla")


def kept(rules: cepheid.Rules, **columns: Sized) -> list[bool]:
    """Which rows of a table pass."""
    count = len(next(iter(columns.values())))
    table = pa.table({"ts": np.arange(count), **columns})
    passed = passing(sieve_of(rules.rules), read_table(table, Clock.of("s"), Schema({})).table)
    return [True] * count if passed is None else [bool(one) for one in passed]


def test_what_no_rule_could_use_stays_where_it_is() -> None:
    types = ["Temp", "Temp", "Smoke", "Temp", "Temp"]
    values = [46.0, 45.0, None, None, float("nan")]
    assert kept(fires(45), type=types, value=values) == [True, False, True, True, True]


def test_rules_that_differ_in_a_constant_share_the_loosest() -> None:
    rules = fires(45, 30, 80)
    assert kept(rules, type=["Temp"] * 3, value=[30, 31, 90]) == [False, True, True]


def test_texts_are_compared_with_all_that_rules_ask_for() -> None:
    text = "QUERY {0} EVENT SEQ(Go x, Stop y) WHERE x.room = '{0}' WITHIN 1 min"
    rules = cepheid.load("\n".join(map(text.format, "AB")), language="sase")
    types = ["Go", "Go", "Go", "Stop"]
    assert kept(rules, type=types, room=["A", "B", "C", "C"]) == [True, True, False, True]
    coded = pa.array(["A", None, "C", "C"]).dictionary_encode()
    assert kept(rules, type=types, room=coded) == [True, True, False, True]


def test_a_value_of_another_kind_passes() -> None:
    assert kept(fires(45), type=["Temp"], value=["hot"]) == [True]


def test_limits_beyond_what_a_double_tells_apart_are_no_bounds() -> None:
    rules = fires(2**53)
    assert not sieve_of(rules.rules)


def test_either_passes_what_one_of_several_lets_pass() -> None:
    one, other = sieve_of(fires(45).rules), sieve_of(fires(30).rules)
    both = either([(["Temp", "Smoke"], one), (["Temp", "Smoke"], other)])
    table = from_events([Event("Temp", 1, 1, {"value": value}) for value in (20, 40, 50)])
    passed = passing(both, table)
    assert passed is not None
    assert passed.tolist() == [False, True, True]
    assert not either([(["Temp"], one), (["Temp"], {})])


def test_a_sieve_travels_as_json() -> None:
    sieve = sieve_of(fires(45).rules)
    assert read(json.loads(json.dumps(written(sieve)))) == sieve


@pytest.mark.property
@pytest.mark.parametrize("language", RULES)
@settings(max_examples=max(1, settings.get_profile("cepheid").max_examples // 3))
@given(data=st.data())
def test_the_answer_without_what_stays_is_the_answer(language: str, data: st.DataObject) -> None:
    rule = data.draw(RULES[language])
    events = data.draw(streams(24))
    passed = passing(sieve_of([rule]), from_events(events))
    rest = events if passed is None else [e for e, one in zip(events, passed, strict=True) if one]
    end = max((event.end for event in events), default=0)
    whole = evaluate([rule], events, until=end)
    assert not difference(whole.events, evaluate([rule], rest, until=end).events)


@pytest.mark.property
@pytest.mark.parametrize("language", RULES)
@given(data=st.data())
def test_the_answer_without_attributes_that_a_rule_does_not_use_is_the_answer(
    language: str, data: st.DataObject
) -> None:
    rule = data.draw(RULES[language])
    # With ids: events of one time are ordered by what they hold, unless an id does it.
    events = [replace(event, id=n) for n, event in enumerate(data.draw(streams(16)))]
    names = sorted({name for event in events for name in event.attributes})
    used = narrow(names, [rule])
    rest = [
        replace(e, attributes={name: e.attributes[name] for name in used if name in e.attributes})
        for e in events
    ]
    end = max((event.end for event in events), default=0)
    assert told(evaluate([rule], rest, until=end)) == told(evaluate([rule], events, until=end))


def told(outcome: Outcome) -> Counter[str]:
    """Composite events without their ids, in which all attributes of constituents are."""
    return Counter(
        repr(
            (
                e.rule,
                e.type,
                e.start,
                e.end,
                sorted(e.attributes.items()),
                [p.id for _, p in e.events],
            )
        )
        for e in outcome.events
    )
