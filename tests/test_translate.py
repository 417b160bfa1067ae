"""Any rule is written in the pretty language and in Python, and read back as the same rule."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cepheid import CannotExpressError, Rules, binding, load
from cepheid.algebra import Rule, Tree
from cepheid.binding import Draft
from cepheid.binding.write import write
from cepheid.cli import main
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


# --- what a language cannot say ----------------------------------------------

TESLA = "Rule R define X() from A and each B() within 5 s from A"
SASE = "QUERY R EVENT SEQ(A x, B y) WITHIN 5 s"
REFUSED = [
    ("tesla", "tesla", "when A gives X", "lies from its first event to its last"),
    ("tesla", "tesla", "when A as a point gives X accepting missing values", "missing value holds"),
    ("tesla", "tesla", "when A as a point", "gives all attributes of its events"),
    ("tesla", "tesla", "A followed by B as a point gives X on same k", "that k is the same"),
    ("tesla", "tesla", "A followed by B as a point gives X all within 5 s", "the whole match"),
    ("tesla", "tesla", "A followed by B as a point gives X", "the window of A"),
    ("tesla", "tesla", "when any of (A, B) as a point gives X", "any of several types"),
    ("tesla", "tesla", "when A as a point gives X with v = 1", "an attribute without a type"),
    (
        *("tesla", "tesla", "when A without B within 5 s after A as a point gives X"),
        "that nothing comes after the last event",
    ),
    ("sase", "SASE", "when A", "that a comparison with a missing value fails"),
    ("sase", "SASE", "when A accepting missing values consuming A", "consuming A"),
    ("sase", "SASE", "when A accepting missing values let $a be v of A", "the parameter $a"),
    ("sase", "SASE", "when A where v > 1 accepting missing values", "a filter on A"),
    ("sase", "SASE", "A followed by B within 5 s accepting missing values", "the window of A"),
    ("sase", "SASE", "when timer every 5 s accepting missing values", "a periodic timer"),
    ("sase", "SASE", "detect A then B", "a detector: a regular expression over events"),
    ("laipl", "LAIPL", "when A", "a tree: events that are chosen backwards"),
    ("laipl", "LAIPL", "collect A and B gives X with v = v of A", "an attribute without a type"),
    ("laipl", "LAIPL", "watch A for 5 s accepting missing values", "a missing value holds"),
    ("core", "the core language", "collect A and B", "a collection: events that fulfil"),
    ("core", "the core language", "watch A for 5 s", "a run: all events of a window"),
    ("core", "the core language", "rule R detect A gives X", "a rule whose name is not the type"),
    ("core", "the core language", "detect any of (A, B)", "any of several types"),
]


@pytest.mark.parametrize(("to", "called", "text", "what"), REFUSED, ids=lambda part: part[:60])
def test_what_a_language_cannot_say_is_named_with_its_place(
    to: str, called: str, text: str, what: str
) -> None:
    rules = load(text, language="pretty")
    with pytest.raises(CannotExpressError) as caught:
        rules.translate(to)
    told = str(caught.value)
    assert re.match(rf"<text>:1:\d+: rule \w+: {'TESLA' if to == 'tesla' else called} cannot", told)
    assert what in told.split("\n", maxsplit=1)[0]
    assert f"  1 | {text}\n" in told
    assert "hint: " in told
    assert told.endswith("pretty and python can say the rule")


def test_a_pattern_that_reads_back_otherwise_is_refused_with_what_would_differ() -> None:
    (rule,) = load(SASE, language="sase")
    assert isinstance(rule.pattern, Tree)
    components = tuple(replace(part, label=f"_{part.label}") for part in rule.pattern.components)
    odd = replace(rule, pattern=replace(rule.pattern, components=components))
    with pytest.raises(CannotExpressError, match="rule R: SASE cannot say the window of _x"):
        LANGUAGES["sase"].write(odd)
    (rule,) = load(TESLA, language="tesla")
    twice = replace(rule, name="two words")
    with pytest.raises(CannotExpressError, match=r"rule two words: tesla cannot say it"):
        LANGUAGES["tesla"].write(twice)


def test_everything_that_stands_in_the_way_is_told_together() -> None:
    rules = load("rule R when A\nrule Q detect A then B within 1 s", language="pretty")
    with pytest.raises(CannotExpressError) as caught:
        rules.translate("laipl")
    assert [word for word in ("rule R:", "rule Q:") if word in str(caught.value)] == [
        "rule R:",
        "rule Q:",
    ]
    assert "core, pretty and python can say the rule" in str(caught.value)


def test_a_language_that_does_not_exist_is_told_with_those_that_do() -> None:
    with pytest.raises(CannotExpressError, match="did you mean pretty"):
        load("when A", language="pretty").translate("prety")


# --- the command -------------------------------------------------------------


@pytest.fixture
def fire(tmp_path: Path) -> str:
    file = tmp_path / "fire.tesla"
    file.write_text(f"{TESLA}\n{TESLA.replace('Rule R', 'Rule S')}\n")
    return str(file)


@pytest.mark.parametrize("to", TARGETS)
def test_the_command_writes_rules_or_tells_why_not(
    to: str, fire: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["translate", fire, "--to", to])
    told = capsys.readouterr()
    assert status == (0 if to in ("tesla", "pretty", "python") else 1)
    if status:
        assert told.out == ""
        assert "tesla, pretty and python can say the rule" in told.err
    else:
        again = executed(told.out) if to == "python" else load(told.out, language=to)
        assert again.rules == load(fire).rules
        assert told.err == ""


def test_the_command_writes_one_rule(fire: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", fire, "--to", "pretty", "--rule", "S"]) == 0
    assert capsys.readouterr().out == (
        'rule S\n  when "A"\n  preceded by "B" within 5 s\n  gives "X"\n  as a point\n'
    )
    assert main(["translate", fire, "--to", "pretty", "--rule", "T"]) == 1
    assert "no rule is called T" in capsys.readouterr().err
