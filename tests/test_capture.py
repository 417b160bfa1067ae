"""`cepheid test --capture`: what becomes a case holds what matters, and passes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

import cepheid
from cepheid.capture import CASE_LIMIT, History, capture_around, capture_match
from cepheid.cli import main
from cepheid.errors import EventError, SpecError
from cepheid.literals import format_event
from cepheid.testing import Case, read_cases, run_case
from tests.cases import SPEC

EVERY = 12
"""Of the specification, each so many-th case is captured again."""


def suitable(case: Case) -> bool:
    plain = not (case.error or case.arrives or case.failures or case.options)
    # No column holds ints and doubles where they are that large.
    values = [value for event in case.events for value in event.attributes.values()]
    large = any(isinstance(value, int) and abs(value) > 2**53 for value in values)
    return plain and bool(case.expect) and not large


CASES = [case for file in sorted(SPEC.glob("*.test")) for case in read_cases(file)]
CASES = [case for case in CASES if suitable(case)][::EVERY]


def history_of(case: Case) -> History:
    """The events of a case as they would come in a table, told apart by their number."""
    rows = [
        {"source": "x", **event.attributes, "type": event.type, "ts": event.end}
        | {"start": event.start, "seq": number}
        for number, event in enumerate(case.events)
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    return History.of(case.load(), table, "us")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.place.rpartition("/")[2])
def test_a_match_of_the_specification_becomes_a_case_that_has_it(case: Case) -> None:
    history = history_of(case)
    row = history.found.to_pylist()[-1]
    captured = capture_match(history, row["id"], "again")
    assert run_case(captured).passed
    assert run_case(captured, "embedded").passed
    assert len(captured.events) <= len(case.events)
    times = {(one.type, one.start, one.end) for one in captured.expect or ()}
    assert (row["type"], row["start"], row["ts"]) in times


# --- what a case holds ----------------------------------------------------------------------


def history(rule: str, language: str, rows: list[tuple[object, ...]]) -> History:
    """Rows are type, second, area, value."""
    types, times, areas, values = zip(*rows, strict=True)
    table = pa.table({"type": types, "ts": times, "area": areas, "value": values})
    return History.of(cepheid.load(rule, language=language), table, "s")


ROWS: list[tuple[object, ...]] = [
    ("Temp", 1, "A1", 50.0),
    ("Temp", 2, "A2", 51.0),
    ("Temp", 3, "A1", 30.0),
    ("Rain", 4, "A2", None),
    ("Temp", 5, "A1", 60.0),
    ("Smoke", 10, "A1", None),
    ("Temp", 400, "A1", 70.0),
]


def captured(rule: str, number: int = 1, language: str = "tesla") -> list[str]:
    given = history(rule, language, ROWS)
    case = capture_match(given, given.by_number(number, None), "x")
    return [format_event(event).split("(")[0] for event in case.events]


def test_each_takes_its_constituents_only() -> None:
    rule = "Rule R define F(v: double) from Smoke(area=$a) and each Temp(area=$a and value>45) within 1 min from Smoke where v=Temp.value"  # noqa: E501
    assert captured(rule, 1) == ["Temp@1", "Smoke@10"]
    assert captured(rule, 2) == ["Temp@5", "Smoke@10"]


def test_last_takes_what_it_chose_among() -> None:
    rule = "Rule R define F(v: double) from Smoke(area=$a) and last Temp(area=$a) within 1 min from Smoke where v=Temp.value"  # noqa: E501
    assert captured(rule) == ["Temp@1", "Temp@3", "Temp@5", "Smoke@10"]


def test_an_aggregate_takes_what_it_computed_with() -> None:
    keyed = "Rule R define F(v: double) from Smoke(area=$a) where v = Avg(Temp(area=$a).value within 1 min from Smoke)"  # noqa: E501
    assert captured(keyed) == ["Temp@1", "Temp@3", "Temp@5", "Smoke@10"]
    of_all = "Rule R define F(v: double) from Smoke() where v = Avg(Temp().value within 1 min from Smoke)"  # noqa: E501
    assert captured(of_all) == ["Temp@1", "Temp@2", "Temp@3", "Temp@5", "Smoke@10"]


def test_a_negation_takes_what_it_looked_at_of_the_same_key() -> None:
    rule = "Rule R define F() from Smoke(area=$a) and not Temp(area=$a and value>65) within 1 min from Smoke"  # noqa: E501
    assert captured(rule) == ["Temp@1", "Temp@3", "Temp@5", "Smoke@10"]


def test_a_match_that_depends_on_what_was_consumed_takes_that_too() -> None:
    rule = "QUERY Q EVENT SEQ(Temp x, Smoke y) WITHIN 1 min"
    given = history(rule, "sase", ROWS)
    (first, *_) = given.found["id"].to_pylist()
    assert run_case(capture_match(given, first, "x")).passed


def test_rules_that_lead_to_a_match_come_along() -> None:
    rules = """
        Rule Hot define Hot(area: string) from Temp(value > 45) where area = Temp.area
        Rule Cold define Cold() from Temp(value < 0)
        Rule Fire define Fire() from Smoke(area=$a) and last Hot(area=$a) within 1 min from Smoke
    """
    given = history(rules, "tesla", ROWS)
    case = capture_match(given, given.by_number(1, "Fire"), "x")
    assert [rule.name for rule in case.load()] == ["Hot", "Fire"]
    assert [event.type for event in case.expect or ()] == ["Hot", "Hot", "Fire"]


def test_rules_of_several_languages_are_parted_where_they_meet(tmp_path: Path) -> None:
    (tmp_path / "hot.tesla").write_text(
        "Rule Hot define Hot(area: string) from Temp(value > 45) where area = Temp.area"
    )
    (tmp_path / "q.sase").write_text("QUERY Q EVENT SEQ(Hot h, Smoke s) WHERE [area] WITHIN 1 min")
    types, times, areas, values = zip(*ROWS, strict=True)
    table = pa.table({"type": types, "ts": times, "area": areas, "value": values})
    given = History.of(cepheid.load(tmp_path), table, "s")
    case = capture_match(given, given.by_number(1, "Q"), "x")
    assert case.language == "sase"
    assert [event.type for event in case.events] == ["Hot", "Smoke"]


def test_what_waits_for_time_to_pass_gets_it() -> None:
    rule = "define Open as ([o: Temp], [T1 in {T1, Smoke}]) T1 = 60s"
    given = history(rule, "core", [("Temp", 1, "A1", 50.0), ("Other", 100, "A1", None)])
    case = capture_match(given, given.by_number(1, None), "x")
    assert [event.type for event in case.events] == ["Temp"]
    assert case.until == 61_000_000


def test_what_comes_after_a_deadline_does_not_matter() -> None:
    rule = "QUERY Q EVENT SEQ(Smoke x, !(Temp y)) WHERE [area] WITHIN 1 min"
    given = history(rule, "sase", ROWS)
    case = capture_match(given, given.by_number(1, None), "x")
    assert [format_event(event).split("(")[0] for event in case.events] == ["Smoke@10"]
    assert case.until == 70_000_000


# --- around a moment ------------------------------------------------------------------------

FIRE = "Rule R define F() from Smoke(area=$a) and last Temp(area=$a and value>{}) within 1 min from Smoke"  # noqa: E501


def test_a_moment_at_which_nothing_is_found_becomes_a_case_of_nothing() -> None:
    given = history(FIRE.format(65), "tesla", ROWS)
    (rule,) = given.rules
    case = capture_around(given, rule, 10_000_000, margin=1_000_000, keys={"area": "A1"})
    assert case.expect == ()
    assert [format_event(event).split("(")[0] for event in case.events] == [
        "Temp@1",
        "Temp@3",
        "Temp@5",
        "Smoke@10",
    ]


def test_a_moment_at_which_something_is_found_becomes_a_case_of_it() -> None:
    given = history(FIRE.format(45), "tesla", ROWS)
    (rule,) = given.rules
    case = capture_around(given, rule, 10_000_000, margin=1_000_000)
    assert [format_event(event) for event in case.expect or ()] == ["F@10"]


def test_time_does_not_go_further_than_the_history() -> None:
    rows: list[tuple[object, ...]] = [("Smoke", 10, "A1", None), ("Rain", 30, "A1", None)]
    given = history("QUERY Q EVENT SEQ(Smoke x, !(Temp y)) WITHIN 1 min", "sase", rows)
    (rule,) = given.rules
    case = capture_around(given, rule, 10_000_000)
    assert (case.until, case.expect) == (30_000_000, ())


def test_a_key_that_hides_what_matters_is_told() -> None:
    given = history(FIRE.format(45), "tesla", ROWS)
    (rule,) = given.rules
    with pytest.raises(SpecError, match="depends on events that the case does not have"):
        capture_around(given, rule, 10_000_000, margin=1_000_000, keys={"value": "30.0"})


def test_a_key_that_is_called_otherwise_in_the_composite_event_will_do() -> None:
    query = "QUERY Q EVENT SEQ(Temp x, Smoke y) WHERE [area] WITHIN 1 min RETURN F({})"
    rows = [*ROWS, ("Smoke", 10, "A2", None)]
    for attributes in ("where = x.area", "v = x.value"):
        given = history(query.format(attributes), "sase", rows)
        (rule,) = given.rules
        case = capture_around(given, rule, 10_000_000, keys={"area": "A2"})
        assert [event.attributes["area"] for event in case.events] == ["A2", "A2"]
        assert len(case.expect or ()) == 1


def test_around_a_moment_rules_of_several_languages_are_parted_too(tmp_path: Path) -> None:
    (tmp_path / "hot.tesla").write_text(
        "Rule Hot define Hot(area: string) from Temp(value > 45) where area = Temp.area"
    )
    (tmp_path / "q.sase").write_text("QUERY Q EVENT SEQ(Hot h, Rain s) WHERE [area] WITHIN 1 min")
    types, times, areas, values = zip(*ROWS, strict=True)
    table = pa.table({"type": types, "ts": times, "area": areas, "value": values})
    given = History.of(cepheid.load(tmp_path), table, "s")
    case = capture_around(given, given.named("Q"), 4_000_000, margin=1_000_000)
    assert case.language == "sase"
    assert [event.type for event in case.events] == ["Hot", "Hot", "Rain", "Hot"]
    assert len(case.expect or ()) == 1


def test_a_case_may_not_be_too_large() -> None:
    rows: list[tuple[object, ...]] = [
        ("Temp", second, "A1", 50.0) for second in range(CASE_LIMIT + 1)
    ]
    given = history("QUERY Q EVENT SEQ(Temp x, Smoke y) WITHIN 2 h", "sase", rows)
    (rule,) = given.rules
    with pytest.raises(SpecError, match="there are 1,001"):
        capture_around(given, rule, 1_000_000_000)


def test_ids_and_numbers_that_nothing_has_are_told() -> None:
    given = history(FIRE.format(45), "tesla", ROWS)
    with pytest.raises(EventError, match="no composite event has an id that begins with zz"):
        given.by_id("zz")
    with pytest.raises(EventError, match="several composite events have"):
        history("QUERY Q EVENT Temp t", "sase", ROWS).by_id("")
    for number in (0, 2):
        with pytest.raises(EventError, match="one of the 1 found"):
            given.by_number(number, "R")


# --- the command ----------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    main(["new", "made"])
    monkeypatch.chdir(tmp_path / "made")
    return tmp_path / "made"


CAPTURE = ["test", "--capture", "rules/", "--input", "data/events.csv"]


def test_cases_are_added_to_a_file_and_pass_there(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*CAPTURE, "--match", "2", "--to", "rules/fire.test"]) == 0
    near = ["--around", "2026-07-01 12:20", "--key", "area=A2", "--schema", "events.schema"]
    assert main([*CAPTURE, *near, "--to", "rules/fire.test"]) == 0
    assert main([*CAPTURE, "--match", "1", "--to", "new.test", "--name", "mine"]) == 0
    capsys.readouterr()
    assert main([*CAPTURE, "--match", "1"]) == 0
    with Path("new.test").open("a") as file:
        file.write(capsys.readouterr().out)
    assert main(["test", "rules/", "new.test", "--runtime", "embedded"]) == 0
    assert capsys.readouterr().out == "6 passed, 0 failed\n"
    names = [case.name for case in read_cases("rules/fire.test")][2:]
    assert names[0].startswith("a match of rule Fire at 2026-07-01 13:14:00, captured from events")
    assert names[1].startswith("rule Fire finds nothing around 2026-07-01 12:20:00")
    assert read_cases("new.test")[0].name == "mine times count from 2026-07-01 12:00"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "--id, --match or --around must say what to capture"),
        (["--match", "9"], 1, "match must be one of the 2 found; got 9"),
        (["--id", "zz"], 1, "no composite event has an id that begins with zz"),
        (["--around", "noon"], 1, "a moment must be written as"),
        (["--around", "2026-07-01", "--rule", "Fyre"], 1, "did you mean Fire?"),
        (["--around", "2026-08-01"], 1, "a case needs an event"),
        (["--around", "2026-07-01 12:20", "--key", "A2"], 1, "--key must be NAME=VALUE; got A2"),
        (["--match", "1", "--to", "."], 1, ". cannot be written"),
        (["--match", "1", "--schema", "none"], 2, "schema none cannot be read"),
    ],
)
def test_what_cannot_be_captured_is_told(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    assert main([*CAPTURE, *arguments]) == status
    assert message in capsys.readouterr().err
