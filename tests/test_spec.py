"""The specification: every case of tests/spec and of the documentation, on every runtime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cepheid import Event, load, parse_events
from cepheid.languages import LANGUAGES
from cepheid.oracle import evaluate
from cepheid.testing import (
    RUNTIMES,
    Case,
    cases_of,
    format_case,
    format_cases,
    parse_cases,
    run_case,
)
from tests.cases import CASES, DOCUMENTED_CASES, ROOT, SPEC, SPEC_CASES, case_id

STRANGE = Event("NobodyDefinesThis", 7, 7)


RUNS = [
    pytest.param(case, runtime, id=f"{case_id(case)}-{runtime}")
    for runtime in RUNTIMES
    for case in CASES
    if case.runs_on(runtime)
]


@pytest.mark.parametrize(("case", "runtime"), RUNS)
def test_case_gives_what_it_expects(case: Case, runtime: str) -> None:
    result = run_case(case, runtime)
    assert result.passed, f"{case.place}: {case.name}\n{result.difference}"


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_case_fails_when_it_expects_something_else(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.error is None:
        # The events are found once; every changed expectation is compared with them.
        rules = case.load()
        judge = "oracle" if case.runs_on("oracle") else "embedded"
        found = RUNTIMES[judge](rules, case)
        monkeypatch.setattr(Case, "load", lambda _: rules)
        monkeypatch.setitem(RUNTIMES, "recorded", lambda _rules, _case: found)
        assert run_case(case, "recorded").passed
    for changed in _changed(case):
        result = run_case(changed, "recorded" if case.error is None else "oracle")
        assert not result.passed, f"{case.place} passes although it expects {changed}"
        assert result.difference


def _changed(case: Case) -> Iterator[Case]:
    """The case with other expectations, none of which the rules meet."""
    if case.error is not None:
        yield replace(case, error=f"{case.error} or not")
        yield replace(case, error="no problem has this text")
        yield replace(case, error=f"{case.error.rpartition(' at ')[0]} at 9999:1")
        yield replace(case, error=None, expect=())
        return
    expect = case.expect or ()
    yield replace(case, expect=(*expect, STRANGE))
    yield replace(case, expect=None, error="an error that does not come")
    yield replace(case, warning="no warning has this text")
    for index, event in enumerate(expect):
        others = (*expect[:index], *expect[index + 1 :])
        yield replace(case, expect=others)
        yield replace(case, expect=(*expect, event))
        yield replace(case, expect=(*others, replace(event, end=event.end + 1)))
        yield replace(case, expect=(*others, replace(event, attributes=_other(event))))
    if case.warning is not None:
        yield replace(case, warning=f"{case.warning} or not")
        yield replace(case, warning=f"{case.warning.rpartition(' at ')[0]} at 9999:1")


def _other(event: Event) -> dict[str, str | int | float | bool]:
    """The attributes with an int as a double, or with one more."""
    for name, value in event.attributes.items():
        if isinstance(value, int) and not isinstance(value, bool):
            return {**event.attributes, name: float(value)}
    return {**event.attributes, "nobody_sets_this": 1}


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_case_that_is_written_down_reads_as_the_same_case(case: Case) -> None:
    (again,) = parse_cases(format_case(case))
    assert replace(again, source=case.source, line=case.line) == case


def test_cases_that_are_written_down_together_are_parted() -> None:
    first, second = SPEC_CASES[:2]
    assert [case.name for case in parse_cases(format_cases([first, second]))] == [
        first.name,
        second.name,
    ]


def test_what_rules_of_several_languages_find_becomes_a_case_for_each() -> None:
    rules = [
        *load("QUERY Q EVENT SEQ(A x, B y) WITHIN 9 s", language="sase"),
        *load("define X as [A] ; [B]", language="core"),
    ]
    events = parse_events("A@1(v=2) B@3")
    found = evaluate(rules, events).events
    cases = cases_of("a pair", rules, events, found)
    assert [(case.language, len(case.expect or ())) for case in cases] == [("sase", 1), ("core", 1)]
    assert all(run_case(case).passed for case in parse_cases(format_cases(cases)))


def test_runtimes_of_a_case_depend_on_how_its_events_arrive() -> None:
    plain = SPEC_CASES[0]
    hurried = replace(plain, options={"policy": "best_effort"})
    assert [plain.runs_on(runtime) for runtime in RUNTIMES] == [True, True]
    assert [hurried.runs_on(runtime) for runtime in RUNTIMES] == [False, True]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_another_number_of_late_events_makes_a_case_fail(runtime: str) -> None:
    (case,) = (case for case in SPEC_CASES if case.name.endswith("late and takes no part"))
    assert run_case(case, runtime).passed
    result = run_case(replace(case, options={**case.options, "late": "2"}), runtime)
    assert "number of late events must be 2; got 1" in result.difference


def test_specification_has_hundreds_of_cases() -> None:
    assert len(SPEC_CASES) >= 200


def test_documentation_has_cases_of_every_language() -> None:
    assert {case.language for case in DOCUMENTED_CASES} >= set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_specification_has_files_and_cases_of_every_language(language: str) -> None:
    own = [case for case in SPEC_CASES if case.language == language]
    assert any(case.expect for case in own)
    assert any(case.error is not None for case in own)
    files = {Path(case.source).stem for case in own}
    assert {f"{language}_paper", f"{language}_errors"} <= files


def test_files_that_are_named_after_a_language_have_only_that_language() -> None:
    for case in SPEC_CASES:
        named = Path(case.source).stem.split("_")[0]
        assert named not in LANGUAGES or case.language == named, case.place


def test_cases_of_a_file_have_names_of_their_own() -> None:
    for path in SPEC.glob("*.test"):
        names = [case.name for case in SPEC_CASES if case.source == str(path)]
        assert all(names), path.name
        assert len(names) == len(set(names)), path.name


def test_cases_of_the_reference_are_cases_of_the_specification() -> None:
    known = {(case.language, case.rule.strip(), case.expect) for case in SPEC_CASES}
    reference = ("docs/languages", "docs/semantics.md")
    pages = tuple(str(ROOT / page) for page in reference)
    for case in (case for case in DOCUMENTED_CASES if case.source.startswith(pages)):
        assert (case.language, case.rule.strip(), case.expect) in known, case.place
