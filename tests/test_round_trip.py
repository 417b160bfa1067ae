"""A rule prints back in its language, and what was printed reads as the same rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid.algebra import Rule
from cepheid.errors import CannotExpressError, Report, Source
from cepheid.languages import LANGUAGES
from cepheid.languages.lowering import Context
from cepheid.testing import Case, read_cases
from tests.strategies import RULES

SPEC = Path(__file__).parent / "spec"
CASES = [case for path in sorted(SPEC.glob("*.test")) for case in read_cases(path)]


def read_back(rule: Rule, language: str) -> list[Rule]:
    text = LANGUAGES[language].write(rule)
    report = Report()
    rules = list(LANGUAGES[language].read(Source(text), Context(), report))
    assert not report.errors, text
    return rules


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.error is None], ids=lambda case: case.place
)
def test_rules_of_the_specification_print_and_parse_to_the_same_algebra(case: Case) -> None:
    for rule in case.load():
        assert read_back(rule, rule.language) == [rule]


@pytest.mark.property
@pytest.mark.parametrize("language", RULES)
@given(data=st.data())
def test_random_rules_print_and_parse_to_the_same_algebra(
    language: str, data: st.DataObject
) -> None:
    rule = data.draw(RULES[language])
    assert read_back(rule, language) == [rule]


@pytest.mark.property
@pytest.mark.parametrize("language", RULES)
@settings(max_examples=max(1, settings.get_profile("cepheid").max_examples // 3))
@given(data=st.data())
def test_other_languages_print_the_same_rule_or_say_that_they_cannot(
    language: str, data: st.DataObject
) -> None:
    rule = data.draw(RULES[language])
    for other in LANGUAGES:
        try:
            assert read_back(rule, other) == [rule]
        except CannotExpressError as error:
            assert rule.name in str(error)
