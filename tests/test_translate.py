"""Any rule is written in the pretty language and in Python, and read back as the same rule."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import CannotExpressError, Rules, binding
from cepheid.algebra import Rule
from cepheid.binding import Draft
from cepheid.binding.write import write
from cepheid.errors import Report, Source
from cepheid.languages import LANGUAGES
from cepheid.languages.lowering import Context
from cepheid.languages.translating import TARGETS
from cepheid.testing import Case
from tests.cases import CASES, case_id
from tests.strategies import RULES
from tests.variations import varied

SOUND = [case for case in CASES if case.error is None]


fewer = settings(max_examples=max(1, settings.get_profile("cepheid").max_examples // 6))


def read(text: str, language: str) -> list[Rule]:
    report = Report()
    rules = list(LANGUAGES[language].read(Source(text), Context(), report))
    assert not report.errors, text
    return rules


def through_pretty(rule: Rule) -> list[Rule]:
    return read(LANGUAGES["pretty"].write(rule), "pretty")


def executed(program: str) -> Rules:
    """What a program that was written by the binding loads; only tests run such programs."""
    names: dict[str, Rules] = {}
    exec(compile(program, "<translated>", "exec"), names)  # noqa: S102
    return names["rules"]


def through_python(rule: Rule) -> list[Rule | None]:
    """The rule of the draft that a rule is written as; no check looks at what it means."""
    draft: Draft = eval(f"({write(rule)})", dict(vars(binding))).draft()  # noqa: S307
    report = Report()
    lowered = draft.lower(report)
    assert not report.errors, write(rule)
    return [lowered]


# --- round trips -------------------------------------------------------------


@pytest.mark.parametrize("case", SOUND, ids=case_id)
def test_rules_of_the_specification_are_the_same_in_the_pretty_language(case: Case) -> None:
    for rule in case.load():
        assert through_pretty(rule) == [rule]


@pytest.mark.parametrize("case", SOUND, ids=case_id)
def test_rules_of_the_specification_are_the_same_in_python(case: Case) -> None:
    rules = case.load()
    assert executed(rules.translate("python")).rules == rules.rules


@pytest.mark.property
@pytest.mark.parametrize("language", RULES)
@fewer
@given(data=st.data())
def test_random_rules_are_the_same_in_the_pretty_language_and_in_python(
    language: str, data: st.DataObject
) -> None:
    rule = data.draw(RULES[language])
    assert through_pretty(rule) == [rule]
    assert through_python(rule) == [rule]


@pytest.mark.property
@fewer
@given(data=st.data())
def test_what_no_other_language_can_say_is_the_same_in_both(data: st.DataObject) -> None:
    rule = data.draw(varied(data.draw(st.sampled_from(list(RULES.values())))))
    assert through_pretty(rule) == [rule]
    assert through_python(rule) == [rule]


@pytest.mark.property
@pytest.mark.parametrize("language", RULES)
@fewer
@given(data=st.data())
def test_a_translation_means_the_same_or_is_refused_with_those_that_can(
    language: str, data: st.DataObject
) -> None:
    rule = data.draw(RULES[language])
    for target in TARGETS:
        try:
            text = Rules((rule,)).translate(target)
        except CannotExpressError as error:
            assert f"rule {rule.name}: " in str(error)
            assert f"{language}, pretty and python can say the rule" in str(error)
        else:
            again = executed(text).rules if target == "python" else read(text, target)
            assert list(again) == [rule]
