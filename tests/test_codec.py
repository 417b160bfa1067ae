"""Rules as data: what is written down reads as the same rule, and nothing else is read at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid import SnapshotError, algebra
from cepheid.algebra import Literal, Node, Relation, Rule, find
from cepheid.algebra.codec import NODES, WORDS, decode, decode_rule, encode
from cepheid.testing import Case
from tests.cases import CASES, case_id
from tests.strategies import RULES

GOOD_CASES = [case for case in CASES if case.error is None]


def through_json(rule: Rule) -> Rule:
    return decode_rule(json.loads(json.dumps(encode(rule), allow_nan=False)))


def assert_same(rule: Rule, again: Rule) -> None:
    assert again == rule
    assert again.language == rule.language
    # Equal numbers of different kinds are different constants.
    assert [repr(part.value) for part in find(again, Literal)] == [
        repr(part.value) for part in find(rule, Literal)
    ]


@pytest.mark.property
@pytest.mark.parametrize("language", RULES)
@given(data=st.data())
def test_random_rules_read_back_as_the_same_rules(language: str, data: st.DataObject) -> None:
    rule = data.draw(RULES[language])
    assert_same(rule, through_json(rule))


@pytest.mark.parametrize("case", GOOD_CASES, ids=case_id)
def test_rules_of_the_specification_read_back_as_the_same_rules(case: Case) -> None:
    for rule in case.load():
        assert_same(rule, through_json(rule))


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 2.0, 2, True, "", None, 2**63 - 1])
def test_every_constant_survives(value: str | float | bool | None) -> None:
    again = decode(json.loads(json.dumps(encode(Literal(value)), allow_nan=False)))
    assert isinstance(again, Literal)
    assert (type(again.value), again.value) == (type(value), value)


def test_every_class_of_the_algebra_can_be_written() -> None:
    exported = [getattr(algebra, name) for name in algebra.__all__]
    nodes = {kind for kind in exported if isinstance(kind, type) and issubclass(kind, Node)}
    assert nodes - {Node} == set(NODES.values())
    words = {kind for kind in exported if isinstance(kind, type) and not issubclass(kind, Node)}
    assert words <= set(WORDS.values())


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (7, "must be a node"),
        ([], "must be a node"),
        ({"node": "Event"}, "class of a node is not known; got 'Event'"),
        ({"node": "os.system"}, "class of a node is not known"),
        ({"node": "Node"}, "class of a node is not known"),
        ({"node": "Literal"}, "Literal must have a field value"),
        ({"node": "Literal", "value": 1, "span": None}, "field span of Literal"),
        ({"node": "Literal", "value": [1]}, "field value of Literal must have a value that fits"),
        ({"node": "Parameter", "name": 7}, "field name of Parameter"),
        ({"node": "CountWindow", "size": True}, "field size of CountWindow"),
        ({"node": "Not", "operand": None}, "field operand of Not"),
        ({"node": "And", "operands": [1, 2]}, "field operands of And"),
        ({"word": "Relation", "value": "~"}, "word of a rule is not known"),
        ({"word": "Colour", "value": "red"}, "word of a rule is not known"),
        ({"double": "nan"}, "part of a rule is not known"),
        ({"value": 1}, "part of a rule is not known"),
    ],
)
def test_what_is_no_rule_is_a_named_error(written: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(SnapshotError, match=message):
        decode(written)


def test_a_node_that_is_no_rule_is_not_taken_for_one() -> None:
    with pytest.raises(SnapshotError, match="rule must be of class Rule; got Literal"):
        decode_rule(encode(Literal(1)))


def test_a_word_is_not_a_text() -> None:
    written = encode(algebra.Comparison(Relation.LESS, Literal(1), Literal(2)))
    with pytest.raises(SnapshotError, match="field relation of Comparison"):
        decode({**written, "relation": "<"})
