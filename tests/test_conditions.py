"""Conditions of detectors: what of them is tested without a program, and that it says the same."""

from __future__ import annotations

import pytest

import cepheid
from cepheid.algebra import Atom, EventPredicate, Relation, find
from cepheid.events import Event
from cepheid.kernel.conditions import Condition, compared, filter_of
from cepheid.oracle import evaluate
from tests.engines import contents

Compared = list[tuple[str, Relation, str, str]] | None


def condition(filter_: str) -> Condition:
    """The condition of the second atom of a rule."""
    rules = cepheid.load(f"define R as [a: A] [b: B] [c: C({filter_})]", language="core")
    accepted = list(find(rules.rules[0], Atom))[-1].accepts[0]
    assert isinstance(accepted, EventPredicate)
    return Condition((filter_of(accepted.filter),))


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        ("x > a.x", [("x", Relation.GREATER, "a", "x")]),
        ("a.x > y", [("y", Relation.LESS, "a", "x")]),
        ("a.x = y", [("y", Relation.EQUAL, "a", "x")]),
        (
            "x >= a.y and b.z != x",
            [("x", Relation.AT_LEAST, "a", "y"), ("x", Relation.UNEQUAL, "b", "z")],
        ),
        ("x > a.x and x > 1", None),
        ("x > a.x + 1", None),
        ("x > a.x or x > b.x", None),
        ("a.x > b.x", None),
        ("x > y", None),
    ],
)
def test_comparisons_with_earlier_events_are_told_from_others(
    filter_: str, expected: Compared
) -> None:
    assert compared(condition(filter_)) == expected


def test_several_filters_and_negated_ones_are_more_than_comparisons() -> None:
    (one,) = condition("x > a.x").filters
    (other,) = condition("x > b.x").filters
    assert compared(Condition((one, other))) is None
    assert compared(Condition((one,), (other,))) is None


VALUES = [None, 1, 2, 2.5, 2.0, 2**62, float(2**62), "one", "two", True, float("inf"), -0.0, 0]


@pytest.mark.parametrize("sign", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("turned", [False, True])
def test_values_of_all_kinds_compare_as_in_the_oracle(sign: str, turned: bool) -> None:
    test = f"a.x {sign} x" if turned else f"x {sign} a.x"
    text = f"define R as [a: A] [b: B(k = a.k and {test}) in {{B(k = a.k)}}]"
    rules = cepheid.load(text, language="core")
    events, time = [], 0
    for number, one in enumerate(VALUES):
        for other in VALUES:
            for type_, value in (("A", one), ("B", other)):
                own = {} if value is None else {"x": value}
                events.append(Event(type_, time, time, {"k": f"{number} {other!r}", **own}))
                time += 1
    expected = evaluate(rules.rules, events).events
    assert len(expected) > 10
    with rules.engine(unit="us") as engine:
        found = [composite for event in events for composite in engine.push(event)]
    assert contents(found) == contents(expected)
