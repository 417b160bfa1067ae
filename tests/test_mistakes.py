"""Mistakes that are made by hand in the tutorial's rules: each is told with its place and fix."""

from pathlib import Path

import pytest

import cepheid
from cepheid.cli import main
from cepheid.errors import RuleError

SCHEMA = "Temp(area: string, value: double)\nSmoke(area: string)\n"
FIRE = """Rule Fire
define Fire(area: string, measured: double)
from Smoke(area = $a) and
  last Temp(area = $a and value > 45) within 5 min from Smoke
where area = Smoke.area and measured = Temp.value
"""
HEATING = """rule Heating
  when "Temp" called hot where value > 45
    preceded by last "Temp" called cool where value < 40 within 5 min
  on same area
  gives "Heating" with area = area of hot, low = value of cool, high = value of hot
"""
TESLA = [
    ("value > 45", "valu > 45", "4:27", "did you mean value?"),
    ("within", "witin", "4:39", "did you mean within?"),
    ("from Smoke(", "form Smoke(", "3:1", "did you mean from?"),
    ("define", "defin", "2:1", "did you mean define?"),
    ("Rule Fire", "Rul Fire", "1:1", "did you mean Rule?"),
    ("string, measured", "string measured", "2:26", "put a comma before 'measured'"),
    ("> 45)", "> 45", "4:38", "close the bracket before 'within'"),
    ("> 45", '> "hot', "4:35", "close the quotes"),
    ("> 45", '> "hot"', "4:27", "a number stands without quotes"),
    ("5 min", "5 minn", "4:48", "such as 5 min"),
    ("5 min", "0 min", "4:46", "write a positive length of time"),
    (" within 5 min from Smoke", "", "5:1", "before 'where' must stand as or between or within"),
    ("min from Smoke", "min", "5:1", "before 'where' must stand from"),
    ("min from Smoke", "min of Smoke", "4:52", "a window is written: within 5 min from Smoke"),
    ("last Temp", "Temp", "4:34", "each, first or last stands before an event"),
    ("Smoke.area", "Smok.area", "5:14", "did you mean Smoke?"),
    ("$a) and", "a) and", "3:19", "known: area"),
    ("where area =", "where aera =", "5:7", "did you mean area?"),
    (" and measured = Temp.value", "", "2:27", "give it one in where"),
    ("measured = Temp.value", "measured = Temp.area", "5:40", "give it another value"),
    ("value > 45", "value => 45", "4:33", "write >="),
    ("measured: double", "measured: dobule", "2:37", "string, int, double (or float) or bool"),
]
PRETTY = [
    ('"Temp" called hot', '"Tmp" called hot', "2:8", "did you mean Temp?"),
    ("value > 45", "valu > 45", "2:32", "did you mean value?"),
    ("called hot", "as hot", "2:15", "a name is given with called"),
    ("preceded by", "preceeded by", "3:5", "did you mean preceded by?"),
    ("within", "witin", "3:58", "did you mean within?"),
    ("5 min", "5 minuets", "3:67", "such as 5 min"),
    ("on same area", "on area", "4:3", "or on same area"),
    ("on same area", "on same aera", "4:11", "did you mean area?"),
    ("of hot, low", "of hot low", "5:43", "with area = area of Smoke"),
    ('"Temp" called cool', '"Temp called cool', "3:22", "close the quotes"),
    ("> 45", '> "hot"', "2:32", "a number stands without quotes"),
    ("value of cool", "value of cold", "5:59", "did you mean cool?"),
    ('gives "', 'give "', "5:3", "did you mean gives?"),
    ("value > 45", "value more than 45", "2:38", "is above, is below"),
]


@pytest.mark.parametrize(
    ("language", "right", "wrong", "place", "fix"),
    [("tesla", *one) for one in TESLA] + [("pretty", *one) for one in PRETTY],
)
def test_a_mistake_is_told_with_its_place_and_the_fix(
    language: str, right: str, wrong: str, place: str, fix: str
) -> None:
    text = {"tesla": FIRE, "pretty": HEATING}[language]
    assert cepheid.load(text, language=language, schema=SCHEMA).warnings == ()
    with pytest.raises(RuleError) as told:
        cepheid.load(text.replace(right, wrong, 1), language=language, schema=SCHEMA)
    assert f":{place}: error: " in str(told.value)
    assert fix in str(told.value)


def test_a_rule_without_a_window_is_warned_of() -> None:
    text = HEATING.replace(" within 5 min", "")
    (warning,) = cepheid.load(text, language="pretty", schema=SCHEMA).warnings
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
