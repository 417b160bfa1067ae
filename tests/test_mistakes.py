"""Mistakes that are made by hand in the rules of the docs: each is told with its place and fix."""

import time
from pathlib import Path

import pytest

import cepheid
from cepheid.cli import main
from cepheid.errors import RuleError
from tests.mistakes import ALARMS, FIRE, HEATING, MISTAKES, RULES
from tests.pace import within


@pytest.mark.parametrize("language", RULES)
def test_the_rules_are_in_order_as_they_stand(language: str) -> None:
    text, schema = RULES[language]
    assert cepheid.load(text, language=language, schema=schema).warnings == ()


@pytest.mark.parametrize(
    ("language", "right", "wrong", "place", "fix"),
    [(language, *one) for language, listed in MISTAKES.items() for one in listed],
)
def test_a_mistake_is_told_with_its_place_and_the_fix(
    language: str, right: str, wrong: str, place: str, fix: str
) -> None:
    text, schema = RULES[language]
    assert right in text
    with pytest.raises(RuleError) as told:
        cepheid.load(text.replace(right, wrong, 1), language=language, schema=schema)
    assert f":{place}: error: " in str(told.value)
    assert fix in str(told.value)


def test_a_second_query_on_a_line_is_told_to_begin_a_new_one() -> None:
    text = "QUERY Q EVENT SEQ(A x, !(B y)) WITHIN 10 sec QUERY P EVENT SEQ(A x, B y) WITHIN 5 s"
    with pytest.raises(RuleError) as told:
        cepheid.load(text, language="sase")
    assert "begin a new line before 'QUERY': each rule has lines of its own" in str(told.value)


def test_what_is_advised_can_be_read() -> None:
    """Changes are tried before they are told: no advice where none of them helps."""
    text = "QUERY Q EVENT SEQ(A x, B y) WHERE x.a = = 1 ( WITHIN 5 s"
    with pytest.raises(RuleError) as told:
        cepheid.load(text, language="sase")
    assert "hint: put" not in str(told.value)


def test_a_text_full_of_mistakes_is_told_in_time() -> None:
    rule = 'rule Q{} when "A" called x where ' + " and ".join(["a = 1"] * 80) + " b 5 c 6\n"
    begin = time.process_time()
    with pytest.raises(RuleError) as told:
        cepheid.load("".join(rule.format(number) for number in range(60)), language="pretty")
    assert len(told.value.problems) == 60
    assert within(time.process_time() - begin, 5.0)


def test_a_rule_without_a_window_is_warned_of() -> None:
    text = HEATING.replace(" within 5 min", "")
    (warning,) = cepheid.load(text, language="pretty", schema=ALARMS).warnings
    assert "say how far the events may lie apart: all within 1 h" in str(warning)


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["check", "fire.tesl"], "fire.tesl"),
        (["check", "fire.txt"], "language"),
        (["check", "fire.tesla", "--language", "tessla"], "tesla"),
        (["why", "fire.tesla", "--input", "gone.csv"], "gone.csv"),
        (["why", "fire.tesla", "--input", "day.csv", "--time", "time"], "column time"),
        (["why", "fire.tesla", "--input", "counts.csv"], "unit"),
        (["why", "fire.tesla", "--input", "day.csv", "--not", "Fir"], "did you mean Fire?"),
        (["why", "fire.tesla", "--input", "day.csv", "--match", "7"], "from 1 to 1"),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one),
)
def test_a_wrong_command_is_told_with_the_fix(
    arguments: list[str],
    fix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fire.tesla").write_text(FIRE, "utf-8")
    Path("fire.txt").write_text(FIRE, "utf-8")
    rows = "type,ts,area,value\nTemp,{},A1,50.0\nSmoke,{},A1,\n"
    Path("day.csv").write_text(rows.format("2026-07-01 12:00", "2026-07-01 12:01"), "utf-8")
    Path("counts.csv").write_text(rows.format(0, 60), "utf-8")
    try:
        status = main(arguments)
    except SystemExit as ended:
        status = int(str(ended.code))
    told = capsys.readouterr().err
    assert status in (1, 2), told
    assert fix in told
