"""The check: everything that can be known to be wrong is told, with its place, all together."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid import Problem, RuleError, load
from cepheid.check import check
from cepheid.check.circles import circular
from cepheid.errors import CONDITIONS, PROBLEM_LIMIT, Report, Source, Span, did_you_mean
from cepheid.languages import LANGUAGES
from cepheid.rules import SchemaLike
from cepheid.testing import Case
from tests.cases import CASES

SCHEMA = "Temp(area: string, value: double) Smoke(area: string) Door(open: bool)"

PROVOKED: dict[str, tuple[str, str]] = {
    "AMBIGUOUS_LABEL": ("sase", "EVENT SEQ(A x, B y) WHERE id = 1"),
    "DUPLICATE_DEFINITION": (
        "tesla",
        "define F(a: int) from A where a = 1\ndefine F(b: int) from B where b = 1",
    ),
    "DUPLICATE_LABEL": ("core", "define X as [a: A] ; [a: B]"),
    "DUPLICATE_RULE": ("tesla", "Rule R define X() from A\nRule R define Y() from A"),
    "EMPTY_MATCH": ("core", "define X as [A]*"),
    "EMPTY_TEXT": ("sase", "// nothing"),
    "LIMIT_EXCEEDED": ("core", "define X as " + "(" * 40 + "[A]" + ")" * 40),
    "NEGATION_WITHOUT_WINDOW": ("sase", "EVENT SEQ(!(A x), B y)"),
    "NOT_SPLITTABLE": ("sase", "EVENT SEQ(A x, !(B y)) WHERE x.v = 1 OR y.v = 1 WITHIN 5"),
    "NUMBER_OUT_OF_RANGE": ("tesla", "define X() from A(v > 9223372036854775808)"),
    "RECURSIVE_RULES": ("core", "define X as [X] | [A]"),
    "SYNTAX": ("laipl", "Rule R Define X() From"),
    "UNBOUNDED_STATE": ("sase", "EVENT SEQ(A x, B y)"),
    "UNKNOWN_ATTRIBUTE": ("tesla", "define X() from A where v = 1"),
    "UNKNOWN_EVENT": ("laipl", "Rule R Define X() From A Where A And B Within(5)"),
    "UNKNOWN_LABEL": ("tesla", "define X() from A and each B() within 5 s from C"),
    "UNKNOWN_NAME": ("laipl", "Rule R Define X() From A Where A > LIMIT"),
    "UNKNOWN_PARAMETER": ("tesla", "define X() from A(v > $p)"),
    "WRONG_STRUCTURE": ("tesla", "define X() from A and B"),
    "WRONG_TYPE": ("tesla", "define X() from A(v > 1 and v = 'a')"),
    "WRONG_WINDOW": ("laipl", "Rule R Define X() From A Where Sum(A) > 1 Within(0)"),
}
"""One rule for every condition that a rule's text alone can provoke."""


def problems(text: str, language: str, schema: SchemaLike | None = None) -> list[Problem]:
    try:
        return list(load(text, language=language, schema=schema).warnings)
    except RuleError as error:
        return list(error.problems)


def only(text: str, language: str, schema: SchemaLike | None = None) -> Problem:
    (problem,) = problems(text, language, schema)
    return problem


# --- conditions --------------------------------------------------------------


@pytest.mark.parametrize("condition", PROVOKED)
def test_condition_can_be_provoked(condition: str) -> None:
    language, text = PROVOKED[condition]
    assert condition in {problem.condition for problem in problems(text, language)}


def test_an_unknown_language_is_told_with_those_that_are_known() -> None:
    problem = only("define X as [A]", "tesle")
    assert problem.condition == "UNKNOWN_LANGUAGE"
    assert "tesla, sase, laipl, core" in problem.message
    assert problem.hint == "did you mean tesla?"


def test_a_file_with_an_unknown_ending_is_told(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("define X as [A]")
    with pytest.raises(RuleError) as caught:
        load(file)
    assert caught.value.problems[0].condition == "UNKNOWN_LANGUAGE"
    assert ".tesla, .sase, .laipl, .ce" in str(caught.value)
    assert len(load(file, language="core")) == 1


def test_no_condition_is_left_without_a_test() -> None:
    provoked = {*PROVOKED, "UNKNOWN_LANGUAGE"}
    assert provoked == set(CONDITIONS)


def test_the_specification_provokes_every_condition() -> None:
    told = {
        problem.condition
        for case in CASES
        if case.error is not None or case.warning is not None
        for problem in problems(case.rule, case.language, case.schema or None)
    }
    assert set(CONDITIONS) - told == set()


def test_every_problem_of_the_specification_has_a_known_condition() -> None:
    for case in CASES:
        for problem in problems(case.rule, case.language, case.schema or None):
            assert problem.condition in CONDITIONS, case.place


def test_every_error_about_a_rule_names_the_rule() -> None:
    about_the_text = {"SYNTAX", "EMPTY_TEXT", "LIMIT_EXCEEDED", "UNKNOWN_LANGUAGE"}
    for case in CASES:
        for problem in problems(case.rule, case.language, case.schema or None):
            if problem.condition not in about_the_text:
                assert problem.rule, f"{case.place}: {problem}"
                assert problem.rule.removeprefix("Constant ") in problem.message, case.place
                assert problem.span is not None, case.place


# --- several at once ---------------------------------------------------------


def test_errors_of_several_rules_are_told_together_in_the_order_of_the_text() -> None:
    text = """\
Rule R1 define A(x: colour) from Temp(value > 45) where x = Temp.value
Rule R2 define B() from Temp(
Rule R3 define C() from Temp() and each Smoke() within 0 s from Tempp
Rule R4 define D() from Temp() consuming Tmep
"""
    found = [
        (problem.condition, problem.span and problem.span.line)
        for problem in problems(text, "tesla")
    ]
    assert found == [
        ("WRONG_TYPE", 1),
        ("SYNTAX", 2),
        ("WRONG_WINDOW", 3),
        ("UNKNOWN_LABEL", 3),
        ("UNKNOWN_LABEL", 4),
    ]


def test_errors_of_several_files_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "a.tesla").write_text("Rule R define X() from")
    (tmp_path / "b.ce").write_text("define Y as [A]*")
    with pytest.raises(RuleError) as caught:
        load(tmp_path)
    places = [str(problem).split(": ")[0] for problem in caught.value.problems]
    assert places == [f"{tmp_path / 'a.tesla'}:1:23", f"{tmp_path / 'b.ce'}:1:13"]


def test_the_same_problem_is_told_once() -> None:
    text = "define X() from A(v > $p or v < $p)"
    spans = [problem.span for problem in problems(text, "tesla")]
    assert len(spans) == len(set(spans)) == 2


def test_at_most_a_hundred_problems_are_told() -> None:
    text = "\n".join(f"define X{i} as [A]*" for i in range(300))
    assert len(problems(text, "core")) == PROBLEM_LIMIT


def test_a_full_report_never_hides_that_rules_are_wrong() -> None:
    # A hundred warnings fill the report; the error behind them must still be raised.
    warned = "\n".join(f"QUERY Q{i} EVENT SEQ(A x, B y)" for i in range(PROBLEM_LIMIT + 20))
    wrong = "\nQUERY Wrong EVENT A x WHERE x.v = 1 AND x.v = 'a'"
    with pytest.raises(RuleError) as caught:
        load(warned + wrong, language="sase")
    assert [problem.rule for problem in caught.value.problems] == ["Wrong"]


# --- the look of an error ----------------------------------------------------


def test_an_error_shows_place_caret_expectation_and_hint() -> None:
    text = "Rule R1\ndefine Fire()\nfrom Smoke() and each Temp() within 5 min from Smok\n"
    with pytest.raises(RuleError) as caught:
        load(text, language="tesla", name="fire.tesla")
    assert str(caught.value) == (
        "fire.tesla:3:48: error: no event of rule R1 is called Smok [UNKNOWN_LABEL]\n"
        "  3 | from Smoke() and each Temp() within 5 min from Smok\n"
        "    |                                                ^^^^\n"
        "expected: the name of an event of the rule\n"
        "hint: did you mean Smoke?"
    )


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.error is not None and case.language in LANGUAGES],
    ids=lambda case: case.place,
)
def test_every_error_of_the_specification_has_a_place_an_expectation_and_a_hint(
    case: Case,
) -> None:
    with pytest.raises(RuleError) as caught:
        case.load()
    for problem in caught.value.problems:
        assert problem.span is not None
        assert problem.expected
        assert problem.hint


def test_a_text_without_a_name_is_called_text() -> None:
    assert str(only("define X as [A]*", "core")).startswith("<text>:1:13: error: ")


def test_the_caret_stands_under_the_culprit_behind_tabs_and_wide_lines() -> None:
    for before in ("\t\t", " " * 300, "/* é中 */ "):
        line = f"{before}define X as [A] ; [Bad]* where zz = 1"
        problem = only(line, "core")
        shown, caret = str(problem).split("\n")[1:3]
        at = caret.index("^")
        assert shown[at : at + caret.count("^")] == "zz"


def test_a_long_line_is_shown_around_the_culprit() -> None:
    problem = only("define X as [A]" + " [A]" * 200 + " where zz = 1", "core")
    lines = str(problem).split("\n")
    assert all(len(line) < 200 for line in lines[1:])
    assert "zz" in lines[1]


def test_an_error_over_several_lines_points_at_its_beginning() -> None:
    text = "define X as\n  [A] ;\n  ([B]\n   | [C])*"
    loose = only(f"{text} where Count(\n q) > 1", "core")
    assert loose.span is not None
    assert (loose.span.line, loose.span.column) == (5, 2)


def test_a_span_without_a_source_shows_no_line() -> None:
    problem = Problem("SYNTAX", "wrong", Span(3, 4))
    lines = str(problem).split("\n")
    assert lines[0] == "<text>:3:4: error: wrong [SYNTAX]"
    assert lines[1].startswith("expected: ")


def test_a_span_beyond_its_text_shows_an_empty_line() -> None:
    problem = Problem("SYNTAX", "wrong", Span(3, 4, 1, Source("a", "f")))
    assert str(problem).split("\n")[1] == "  3 | "


# --- hints -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("vlaue", ["area", "value"], "did you mean value?"),
        ("Smke", ["Smoke", "Temp"], "did you mean Smoke?"),
        ("TEMP", ["Temp", "Smoke"], "did you mean Temp?"),
        ("Tempo", ["Temp", "Temps"], "did you mean Temp or Temps?"),
        ("x", ["area", "value"], "known: area, value"),
        ("x", [], ""),
        (
            "x",
            [f"name{i:02}" for i in range(20)],
            "known: " + ", ".join(f"name{i:02}" for i in range(8)),
        ),
    ],
)
def test_hints_name_the_nearest_or_what_there_is(name: str, known: list[str], hint: str) -> None:
    assert did_you_mean(name, known) in (hint, hint.replace("Temp or Temps", "Temps or Temp"))


def test_the_nearest_name_is_found_among_many() -> None:
    known = [f"sensor_{i}_{kind}" for i in range(100) for kind in ("north", "south", "west")]
    assert did_you_mean("sensr_42_north", known).startswith("did you mean sensor_42_north")


def test_a_name_too_long_to_be_a_slip_gets_no_proposal() -> None:
    assert did_you_mean("a" * 100, ["a" * 99]) == ""


def test_misspelt_names_are_recognised() -> None:
    hints = {
        "define X() from Tmep": "did you mean Temp?",
        "define X() from Temp(vlaue > 1)": "did you mean value?",
        "define X(v: double) from Temp where vv = Temp.value": "did you mean v?",
        "define X() from Temp(area = $area) and not Smoke(area = $aera) within 5 s from Temp": (
            "did you mean area?"
        ),
    }
    for text, hint in hints.items():
        assert hint in {problem.hint for problem in problems(text, "tesla", SCHEMA)}, text


# --- warnings and notes ------------------------------------------------------


def test_recursion_is_a_note_and_the_rules_are_used() -> None:
    rules = load("define Ping as [Pong] | [Start]\ndefine Pong as [Ping]", language="core")
    assert [(found.condition, found.severity, found.rule) for found in rules.warnings] == [
        ("RECURSIVE_RULES", "note", "Ping"),
        ("RECURSIVE_RULES", "note", "Pong"),
    ]


def test_a_rule_that_only_reads_a_circle_is_not_part_of_it() -> None:
    text = "define A as [B]\ndefine B as [A]\ndefine C as [A]"
    assert [problem.rule for problem in problems(text, "core")] == ["A", "B"]


def test_circles_are_found_wherever_they_are() -> None:
    feeds = {"A": {"B"}, "B": {"C"}, "C": {"B", "D"}, "D": {"E"}, "F": {"F"}}
    assert circular(feeds) == {"B", "C", "F"}
    ring = {str(i): {str((i + 1) % 5000)} for i in range(5000)}
    assert circular(ring) == set(ring)
    assert circular({str(i): {str(i + 1)} for i in range(5000)}) == set()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("sase", "EVENT SEQ(A x, B y)"),
        ("laipl", "Rule R Define X() From A, B Where A And B"),
        ("core", "define X as [A] ; [B]"),
        ("core", "define X as [A] || [B]"),
        ("core", "define X as [A] [A]*"),
    ],
)
def test_a_pattern_that_nothing_limits_is_warned_about(language: str, text: str) -> None:
    problem = only(text, language)
    assert (problem.condition, problem.severity) == ("UNBOUNDED_STATE", "warning")
    assert problem.hint


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("sase", "EVENT SEQ(A x, B y) WITHIN 5 min"),
        ("sase", "EVENT A"),
        ("tesla", "define X() from A and each B() within 5 min from A"),
        ("laipl", "Rule R Define X() From A, B Where A And B Within(5 min)"),
        ("core", "define X as [A] ; [B] within 5 min"),
        ("core", "define X as ([A], [B in {B, T}]) T = 5 min"),
    ],
)
def test_a_pattern_that_ends_is_not_warned_about(language: str, text: str) -> None:
    assert problems(text, language) == []


# --- schemas -----------------------------------------------------------------


def test_without_a_schema_any_event_may_come_from_outside() -> None:
    assert problems("define X() from Anything(whatever > 1)", "tesla") == []


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("define X() from Rain", "UNKNOWN_EVENT"),
        ("define X() from Temp(colour = 'red')", "UNKNOWN_ATTRIBUTE"),
        ("define X() from Temp(value = 'hot')", "WRONG_TYPE"),
        ("define X() from Temp(area > 5)", "WRONG_TYPE"),
        ("define X() from Door(open > true)", "WRONG_TYPE"),
        ("define X(v: int) from Temp where v = Temp.area", "WRONG_TYPE"),
        ("define X() from Smoke and 1 < Avg(Temp.area within 5 s from Smoke)", "WRONG_TYPE"),
        ("define Temp(area: string) from Smoke where area = Smoke.area", "DUPLICATE_DEFINITION"),
    ],
)
def test_a_schema_narrows_what_rules_may_say(text: str, condition: str) -> None:
    assert condition in {problem.condition for problem in problems(text, "tesla", SCHEMA)}


def test_a_schema_knows_what_rules_define() -> None:
    text = """\
define Hot(area: string) from Temp(value > 45) where area = Temp.area
define Fire(area: string) from Smoke(area = $a) and last Hot(area = $a) within 5 min from Smoke
  where area = Hot.area
"""
    assert problems(text, "tesla", SCHEMA) == []
    wrong = only(text.replace("= Hot.area", "= Hot.value"), "tesla", SCHEMA)
    assert wrong.condition == "UNKNOWN_ATTRIBUTE"


def test_a_schema_is_given_as_text_mapping_or_schema() -> None:
    mapping = {"A": {"v": "int"}}
    for schema in ("A(v: int)", mapping):
        assert only("EVENT A x WHERE x.w = 1", "sase", schema).condition == "UNKNOWN_ATTRIBUTE"


def test_the_first_use_says_what_an_attribute_holds() -> None:
    text = "define X() from A(v > 1)\ndefine Y() from A(v = 'one')"
    problem = only(text, "tesla")
    assert problem.condition == "WRONG_TYPE"
    assert problem.rule == "Y"
    assert problem.hint == "a number stands without quotes, a string in quotes"


def test_rules_of_different_languages_are_checked_together(tmp_path: Path) -> None:
    (tmp_path / "hot.tesla").write_text(
        "define Hot(area: string) from Temp(value > 45) where area = Temp.area"
    )
    (tmp_path / "fire.sase").write_text("QUERY Q EVENT Hot h WHERE h.aera = 'A1'")
    with pytest.raises(RuleError) as caught:
        load(tmp_path)
    assert [problem.condition for problem in caught.value.problems] == ["UNKNOWN_ATTRIBUTE"]
    assert caught.value.problems[0].hint == "did you mean area?"


def test_checking_no_rules_reports_nothing() -> None:
    report = Report()
    check([], load("EVENT A", language="sase").schema, report)
    assert report.problems == []
