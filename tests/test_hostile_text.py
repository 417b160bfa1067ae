"""Any text gives rules or problems with a place, in bounded time, and nothing else."""

from __future__ import annotations

import time
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid import CannotExpressError, Event, RuleError, Rules, load
from cepheid.algebra import Attribute, find, input_types
from cepheid.errors import CONDITIONS, PROBLEM_LIMIT, Problem
from cepheid.languages import LANGUAGES
from cepheid.languages.reading import NESTING_LIMIT, RULE_LIMIT, TEXT_LIMIT
from tests import hostile
from tests.cases import SPEC_CASES
from tests.pace import within

SLACK = 3
"""How much slower than promised a busy machine may be."""
LIMIT = 1.0 * SLACK
"""How long a text may take, in seconds of computing; other programs do not count."""

each_language = pytest.mark.parametrize("language", LANGUAGES)


def read(text: str, language: str) -> Rules | RuleError:
    """What a text gives, once it is known to be well formed and to have come in time."""
    begin = time.process_time()
    outcome: Rules | RuleError
    try:
        outcome = load(text, language=language)
        problems = outcome.warnings
    except RuleError as error:
        outcome, problems = error, error.problems
        assert problems
        assert len(problems) <= PROBLEM_LIMIT
        assert str(error)
    took = time.process_time() - begin
    assert within(took, LIMIT), f"{took:.1f} s for {text[:200]!r}"
    for problem in problems:
        assert_well_formed(problem, text)
    return outcome


def assert_well_formed(problem: Problem, text: str) -> None:
    assert problem.condition in CONDITIONS
    assert problem.message
    assert problem.condition in str(problem)
    if problem.span is not None:
        line = text.split("\n")[problem.span.line - 1]
        assert problem.span.line >= 1
        assert 1 <= problem.span.column <= len(line) + 1
        assert 1 <= problem.span.length <= max(1, len(line) - problem.span.column + 1)


def is_limit(outcome: Rules | RuleError) -> bool:
    return isinstance(outcome, RuleError) and any(
        problem.condition == "LIMIT_EXCEEDED" for problem in outcome.problems
    )


# --- random texts: 5 x (4 x 450 + 400 + 300) = 12,500 ------------------------


@each_language
@pytest.mark.parametrize("seed", range(4))
def test_mutated_rules_give_rules_or_problems(language: str, seed: int) -> None:
    accepted = 0
    for text in islice(hostile.mutants(language, seed), 450):
        accepted += isinstance(read(text, language), Rules)
    assert accepted >= 3, "the mutations must leave some rules alone, or they test the lexer only"


@each_language
def test_words_of_the_grammar_in_any_order_give_rules_or_problems(language: str) -> None:
    for text in islice(hostile.soups(language, 0), 400):
        read(text, language)


@pytest.mark.property
@each_language
@given(text=st.text(max_size=200))
def test_text_of_any_characters_gives_rules_or_problems(language: str, text: str) -> None:
    read(text, language)


@each_language
def test_rules_of_other_languages_give_rules_or_problems(language: str) -> None:
    for case in SPEC_CASES:
        if case.language != language:
            read(case.rule, language)


@each_language
def test_mutated_rules_that_are_accepted_can_be_evaluated_and_printed(language: str) -> None:
    for text in islice(hostile.mutants(language, 99), 600):
        outcome = read(text, language)
        if isinstance(outcome, Rules):
            _evaluate(outcome)
            try:
                assert outcome.text()
            except CannotExpressError as error:
                assert "hint" in str(error) or "cannot" in str(error)


def _evaluate(rules: Rules) -> None:
    """Show a few events to the rules; whatever they do, they do not fail."""
    types = [type_ for rule in rules for type_ in input_types(rule)]
    names = {found.name for rule in rules for found in find(rule, Attribute)}
    values: list[str | int | float] = [1, 2.5, "A1", True, -3, 2**63 - 1, 1e308]
    recursive = any(found.condition == "RECURSIVE_RULES" for found in rules.warnings)
    events = [
        Event(type_, index * 1_000_000, index * 1_000_000, dict.fromkeys(names, value), index)
        for index, (type_, value) in enumerate(zip(types, values, strict=False))
    ]
    rules.detect(events[: 2 if recursive else None], failures=True)


# --- shapes ------------------------------------------------------------------


@each_language
@pytest.mark.parametrize("shape", hostile.REPEATED)
def test_endless_repetition_ends_in_time(shape: str, language: str) -> None:
    unit = hostile.REPEATED[shape]
    for beginning in hostile.BEGINNINGS[language]:
        for size in (200, RULE_LIMIT - 1, TEXT_LIMIT - 1):
            read(hostile.grown(unit, size, beginning), language)
            read(hostile.grown(unit, size, beginning) + "v", language)


@each_language
@pytest.mark.parametrize("shape", hostile.REPEATED)
def test_a_megabyte_of_anything_ends_by_the_limit_on_texts(shape: str, language: str) -> None:
    for beginning in hostile.BEGINNINGS[language]:
        assert is_limit(read(hostile.grown(hostile.REPEATED[shape], 2**20, beginning), language))


@each_language
@pytest.mark.parametrize("brackets", ["()", "[]", "{}"])
def test_deep_nesting_ends_by_the_limit_on_nesting(brackets: str, language: str) -> None:
    for beginning in hostile.BEGINNINGS[language]:
        for size in (2 * NESTING_LIMIT + 2, 1000, RULE_LIMIT // 2):
            assert is_limit(read(beginning + hostile.nested(size, *brackets), language))


@each_language
def test_nesting_below_the_limit_is_read(language: str) -> None:
    deep = hostile.nested(2 * (NESTING_LIMIT - 2))
    texts = {
        "tesla": f"Rule R define X() from A({deep} > 1)",
        "sase": f"EVENT A WHERE {deep} > 1",
        "laipl": f"Rule R Define X() From A Where A > {deep.replace('v', '1')}",
        "core": f"define X as [A({deep} > 1)]",
        "pretty": f"A where {deep} > 1",
    }
    assert isinstance(read(texts[language], language), Rules)


@each_language
def test_thousands_of_rules_end_in_time(language: str) -> None:
    for line in hostile.MANY_RULES[language]:
        read(hostile.filled(line, TEXT_LIMIT), language)


@each_language
@pytest.mark.parametrize("length", [8, 20, 39, 150])
def test_many_unknown_names_end_in_time(length: int, language: str) -> None:
    # The hint "did you mean" once compared every unknown name with every known one.
    size = TEXT_LIMIT if language == "laipl" else RULE_LIMIT
    assert isinstance(
        read(hostile.unknown_names(language, length, size - 100), language), RuleError
    )


@each_language
def test_a_single_long_rule_ends_by_the_limit_on_rules(language: str) -> None:
    beginning = hostile.BEGINNINGS[language][1]
    outcome = read(hostile.grown("v", RULE_LIMIT + 1, beginning), language)
    assert is_limit(outcome)
    assert str(RULE_LIMIT) in str(outcome)


def test_the_limit_on_texts_is_told_and_can_be_raised() -> None:
    text = hostile.filled(lambda i: f"define X{i} as [A]", TEXT_LIMIT + 1000)
    outcome = read(text, "core")
    assert f"at most {TEXT_LIMIT} characters" in str(outcome)
    assert len(load(text, language="core", limit=2 * TEXT_LIMIT)) > 3000


@each_language
def test_texts_that_look_like_paths_are_texts(language: str) -> None:
    # An empty text once read every rule below the current folder.
    for text in ("", ".", "/", "~", "tests", "README.md", "/etc/passwd", "a" * 300, "COM1:"):
        assert isinstance(read(text, language), RuleError)


@each_language
@pytest.mark.parametrize("end", ["\r\n", "\n\n", " \n\t"])
def test_line_ends_of_any_kind_read_as_the_same_rules(language: str, end: str) -> None:
    for case in SPEC_CASES:
        if case.language == language and case.error is None:
            again = load(case.rule.replace("\n", end), language=language)
            assert again.rules == load(case.rule, language=language).rules
