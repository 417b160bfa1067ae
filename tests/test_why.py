"""Why a composite event was found, and why a rule found none: told truly, for every spec case."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]  # it has no types
import pytest

import cepheid
from cepheid import CompositeEvent, Event, EventError, Rules, parse_events
from cepheid.cli import main
from cepheid.oracle import evaluate
from cepheid.testing import RUNTIMES, Case
from cepheid.why import Move, PassTime, Remove, SetValue, WhyNot
from cepheid.why.lateness import in_time
from tests.cases import CASES
from tests.test_cli import run as run_apart

FIRE = """
Rule R1
define Fire(area: string, measuredTemp: double)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
  and not Rain(area = $a) between Temp and Smoke
where area = Smoke.area and measuredTemp = Temp.value
consuming Temp
"""


def _in_time(case: Case) -> list[Event]:
    return in_time(case.events, case.delay)[0] if case.arrives else list(case.events)


def _found(case: Case, rules: Rules) -> list[CompositeEvent]:
    return [event for event in RUNTIMES["oracle"](rules, case) if event.type != "Failure"]


RUN = [case for case in CASES if case.error is None and case.runs_on("oracle")]


def _silent() -> Iterator[tuple[Case, str]]:
    """Every rule of a case that finds nothing in it."""
    for case in RUN:
        rules = case.load()
        known = {event.rule for event in _found(case, rules)}
        yield from ((case, rule.name) for rule in rules if rule.name not in known)


SILENT = list(_silent())


def _name(value: object) -> str:
    return Path(value.place).name if isinstance(value, Case) else str(value)


@pytest.mark.parametrize(("case", "rule"), SILENT, ids=_name)
def test_with_its_nearest_change_a_rule_that_found_nothing_matches(case: Case, rule: str) -> None:
    rules, delay = case.load(), case.delay if case.arrives else None
    answer = rules.why_not(rule, list(case.events), until=case.until, delay=delay)
    assert answer.reasons
    assert not any(check.holds for check in answer.reasons)
    assert answer.change is not None
    after = answer.change.apply(case.events)
    if delay is not None:
        after, _ = in_time(after, delay)
    until = max((u for u in (case.until, answer.change.until) if u is not None), default=None)
    found = evaluate(rules.rules, after, schema=rules.schema, until=until).events
    assert answer.then in [event for event in found if event.rule == rule]


@pytest.mark.parametrize("case", RUN, ids=_name)
def test_every_composite_event_is_explained_by_what_it_is_made_of(case: Case) -> None:
    rules, events = case.load(), _in_time(case)
    for event in _found(case, rules)[:20]:
        answer = rules.why(events, event, until=case.until)
        assert answer.rule == event.rule
        assert [(p.label, p.event) for p in answer.places] == list(event.events)
        assert all(check.holds for check in answer.checks)
        assert str(answer).startswith(f"{event.type}@")
        assert json.dumps(answer.to_dict())


# --- why ---------------------------------------------------------------------


def test_why_tells_what_negations_and_aggregates_saw() -> None:
    text = """
    Rule R
    define Warm(mean: double)
    from Smoke(area = $a) and not Rain(area = $a) within 5 min from Smoke
      and 40 < $t = Avg(Temp(area = $a).value within 5 min from Smoke)
    where mean = $t
    """
    rules = cepheid.load(text, language="tesla")
    events = parse_events("""
      Rain@10(area="A2") Rain@20(area="A2")
      Temp@30(area="A1", value=40) Temp@40(area="A1", value=46) Temp@50(area="A1", value=49)
      Smoke@60(area="A1")
    """)
    (found,) = rules.detect(events)
    answer = rules.why(events, found)
    told = str(answer)
    assert '2 Rain events looked at, none with Rain.area = $a: "A2" and "A1"' in told
    assert "average of 3 values: 40, 46, 49" in told
    assert {one.name: one.value for one in answer.parameters} == {"a": "A1", "t": 45.0}


def test_why_tells_which_policy_chose_and_what_is_used_up() -> None:
    rules = cepheid.load(FIRE, language="tesla")
    events = parse_events("""
      Temp@1min(area="A1", value=50.0) Temp@2min(area="A1", value=51.0) Smoke@3min(area="A1")
    """)
    (found,) = rules.detect(events)
    answer = rules.why(events, found.id)
    assert "the last of 2 in the 5 min before Smoke" in answer.places[0].chosen
    assert answer.consumed == (events[1],)


def test_why_goes_down_a_hierarchy() -> None:
    text = "define Pair as [a: A] ; [b: B]\ndefine Two as [p: Pair] ; [c: C]"
    rules = cepheid.load(text, language="core")
    events = parse_events("A@1 B@2 C@3")
    found = next(event for event in rules.detect(events) if event.type == "Two")
    answer = rules.why(events, found)
    assert [one.rule for one in answer.below] == ["Pair"]
    assert answer.below[0].events == (events[0], events[1])


def test_why_takes_records_and_tables_and_finds_one_among_many() -> None:
    rules = cepheid.load(FIRE, language="tesla")
    begin = datetime(2026, 7, 1)
    rows = [
        {"type": "Temp", "ts": begin + timedelta(seconds=n), "area": f"A{n % 7}", "value": 20.0}
        for n in range(1500)
    ]
    rows[900]["value"] = 50.0
    rows.append({"type": "Smoke", "ts": begin + timedelta(seconds=930), "area": rows[900]["area"]})
    table = pd.DataFrame(rows)
    found = rules.detect(table)
    answer = rules.why(table, found["id"][0])
    assert [place.label for place in answer.places] == ["Temp", "Smoke"]
    assert "2026-07-01 00:15:00" in str(answer)
    assert rules.why(rows, rules.detect(rows)[0]).to_dict() == answer.to_dict()


def test_why_of_an_unknown_id_names_what_there_is() -> None:
    rules = cepheid.load("define X as [A]", language="core")
    with pytest.raises(EventError, match=r"one that the rules find.*got id nope") as error:
        rules.why(parse_events("A@1"), "nope")
    assert "X@1" in str(error.value)


# --- why not -----------------------------------------------------------------


def ask(text: str, events: str, language: str = "tesla", **options: object) -> WhyNot:
    rules = cepheid.load(text, language=language)
    return rules.why_not(rules.rules[-1], parse_events(events), **options)  # type: ignore[arg-type]


def test_a_value_that_is_short_is_told_with_by_how_much() -> None:
    answer = ask(FIRE, 'Temp@1min(area="A1", value=43.5) Smoke@3min(area="A1")')
    (reason,) = answer.reasons
    assert (reason.kind, reason.by) == ("filter", 1.5)
    assert isinstance(answer.change, SetValue)
    assert answer.change.value == 45.1


def test_an_event_before_the_window_is_told_in_seconds() -> None:
    answer = ask(FIRE, 'Temp@0(area="A1", value=50.0) Smoke@342(area="A1")')
    (reason,) = answer.reasons
    assert (reason.kind, reason.by) == ("window", 42.0)
    assert "42 s too early" in reason.found
    assert isinstance(answer.change, Move)


def test_a_negated_event_that_was_there_is_named() -> None:
    events = 'Temp@1min(area="A1", value=50.0) Rain@2min(area="A1") Smoke@3min(area="A1")'
    (reason,) = ask(FIRE, events).reasons
    assert reason.kind == "negation"
    assert reason.found == 'Rain@2min(area="A1") was there'


def test_a_consumed_event_is_told_with_the_match_that_used_it_up() -> None:
    events = 'Temp@1min(area="A1", value=50.0) Smoke@2min(area="A1") Smoke@3min(area="A1")'
    answer = ask(FIRE, events, around=180_000_000)
    (reason,) = answer.reasons
    assert reason.kind == "consumed"
    assert 'used up by Fire@2min(area="A1", measuredTemp=50.0)' in reason.found
    assert answer.then is not None
    assert answer.then.end == 180_000_000


def test_a_late_event_is_told_with_by_how_much() -> None:
    events = 'Smoke@3min(area="A1") Temp@1min(area="A1", value=50.0)'
    answer = ask(FIRE, events, delay="90 s")
    assert (answer.reasons[0].kind, answer.reasons[0].by) == ("late", 30.0)
    assert answer.change is not None
    assert [event.type for event in answer.change.apply(parse_events(events))] == ["Temp", "Smoke"]


def test_events_that_an_engine_put_aside_are_told_as_late() -> None:
    rules = cepheid.load(FIRE, language="tesla")
    engine = rules.engine(unit="s")
    engine.push({"type": "Smoke", "ts": 180, "area": "A1"})
    engine.push({"type": "Temp", "ts": 60, "area": "A1", "value": 50.0})
    engine.close()
    answer = rules.why_not("R1", parse_events('Smoke@3min(area="A1")'), late=engine.late)
    assert answer.reasons[0].kind == "late"


def test_a_missing_attribute_and_one_of_another_type_are_told() -> None:
    (reason,) = ask(FIRE, 'Temp@1min(area="A1") Smoke@3min(area="A1")').reasons
    assert reason.found == "value is missing"
    (reason,) = ask(FIRE, 'Temp@1min(area="A1", value="hot") Smoke@3min(area="A1")').reasons
    assert reason.found == '"hot": a text is not comparable with a number'


def test_a_key_that_differs_is_told() -> None:
    answer = ask("EVENT SEQ(A x, B y) WHERE [k] WITHIN 9", "A@1(k=1) B@2(k=2)", "sase")
    (reason,) = answer.reasons
    assert (reason.kind, reason.found) == ("key", "2, 1")


def test_an_event_that_the_policy_did_not_choose_is_told() -> None:
    text = """
    Rule R
    define F() from Smoke() and last Temp() within 60 s from Smoke
      and Count(Wind between Temp and Smoke) >= 2
    """
    (reason,) = ask(text, "Temp@10 Wind@12 Temp@14 Wind@16 Smoke@20").reasons
    assert (reason.kind, reason.found) == (
        "selection",
        "Temp@14 was chosen instead of Temp@10",
    )


def test_time_that_has_not_passed_is_told() -> None:
    answer = ask("EVENT SEQ(A x, !(B y)) WITHIN 5", "A@1", "sase")
    assert answer.reasons[0].kind == "time"
    assert answer.change == PassTime(6_000_000)
    assert answer.change.until == 6_000_000


def test_a_rule_that_contradicts_itself_is_told_plainly() -> None:
    answer = ask("define X as [A(v > 5 and v < 3)]", "A@1(v=4)", "core")
    assert not answer.possible
    assert answer.change is None
    assert "no events can make it match" in str(answer)


def test_a_rule_that_did_match_says_so() -> None:
    answer = ask("define X as [A] ; [B]", "A@1 B@2", "core")
    assert answer.matched
    assert str(answer).startswith("Rule X did match")
    assert f"cepheid why --id {str(answer.matches[0].id)[:8]}" in str(answer)


def test_a_match_near_what_is_asked_about_is_told() -> None:
    rules = cepheid.load("EVENT SEQ(A x, B y) WITHIN 5", language="sase")
    events = parse_events("A@1 B@2 A@5 B@11 A@30 B@31")
    answer = rules.why_not("Match", events, around=4_000_000)
    assert not answer.matched
    assert [one.event.end for one in answer.near] == [2_000_000]
    assert "  but near there it found\n    Match@[1, 2], 2 s earlier\n" in str(answer)
    assert rules.why(events, answer.near[0].event).rule == "Match"
    assert answer.to_dict()["near"][0]["id"] == answer.near[0].event.id
    later = rules.why_not("Match", events, around=events[3])
    assert later.near == ()
    assert "near there" not in str(later)


def test_around_an_event_asks_for_a_match_with_that_event() -> None:
    rules = cepheid.load("EVENT SEQ(A x, B y) WITHIN 5", language="sase")
    events = parse_events("A@1 B@2 A@10 B@17")
    assert rules.why_not("Match", events).matched
    answer = rules.why_not("Match", events, around=events[3])
    assert answer.reasons[0].kind == "within"
    assert answer.then is not None
    assert events[3].id in [part.id for _, part in answer.then.events]


def test_around_a_time_in_a_long_list_looks_at_what_is_near() -> None:
    rules = cepheid.load(FIRE, language="tesla")
    events = [
        Event("Temp", n * 1_000_000, n * 1_000_000, {"area": f"A{n % 5}", "value": 20.0 + n % 3})
        for n in range(3000)
    ]
    smoke = Event("Smoke", 2_000_500_000, 2_000_500_000, {"area": "A1"})
    answer = rules.why_not("R1", [*events, smoke], around=2_000_000_000)
    assert answer.reasons[0].kind == "filter"
    assert "200 events around" in answer.note
    assert answer.change is not None
    assert rules.detect(answer.change.apply([*events, smoke]))


def test_the_change_applies_to_records_too() -> None:
    rules = cepheid.load(FIRE, language="tesla")
    records = [
        {"type": "Temp", "ts": 60, "area": "A1", "value": 43.5},
        {"type": "Smoke", "ts": 180, "area": "A1"},
    ]
    answer = rules.why_not("R1", records, unit="s")
    assert answer.change is not None
    assert rules.detect(answer.change.apply(records), unit="s")
    assert json.dumps(answer.to_dict())
    assert "<pre>" in answer._repr_html_()


def test_what_cannot_be_asked_is_an_error_with_a_hint() -> None:
    rules = cepheid.load(FIRE, language="tesla")
    with pytest.raises(EventError, match="got R2\n\nhint: known: R1"):
        rules.why_not("R2", [])
    with pytest.raises(EventError, match="around must be one of the events"):
        rules.why_not("R1", [], around=parse_events("A@1")[0])
    with pytest.raises(EventError, match="around must be a time or an event; got list"):
        rules.why_not("R1", [], around=[])  # type: ignore[arg-type]
    with pytest.raises(EventError, match="events must hold the one that is to change"):
        Remove(parse_events("A@1")[0]).apply([])


def test_a_rule_without_any_events_is_told_what_to_add() -> None:
    answer = ask(FIRE, "")
    assert answer.change is not None
    assert {event.type for event in answer.change.apply([])} == {"Temp", "Smoke"}


# --- the command -------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fire.tesla").write_text(FIRE)
    lines = [
        {"type": "Temp", "ts": "2026-07-01T12:00:00", "area": "A1", "value": 50.0},
        {"type": "Smoke", "ts": "2026-07-01T12:01:00", "area": "A1"},
        {"type": "Smoke", "ts": "2026-07-01T12:02:00", "area": "A1"},
    ]
    (tmp_path / "day.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (tmp_path / "small.events").write_text('# nothing yet\nSmoke@3min(area="A1")\n')
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The command in this process: its status and what it printed."""
    status = main(["why", "fire.tesla", *arguments])
    done = capsys.readouterr()
    return status, done.out, done.err


@pytest.mark.usefixtures("folder")
def test_the_command_lists_and_explains_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    status, told, _ = run(capsys, "--input", "day.jsonl")
    assert status == 0
    assert "Fire@2026-07-01 12:01:00" in told
    for chosen in (("--match", "1"), ("--id", told.split()[1])):
        _, told, _ = run(capsys, "--input", "day.jsonl", *chosen)
        assert "the only one in the 5 min before Smoke" in told


@pytest.mark.usefixtures("folder")
def test_the_command_numbers_few_events_as_detect_orders_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = "".join(f'Temp@{n}(area="A{n}", value=50.0)\nSmoke@9(area="A{n}")\n' for n in (3, 1, 2))
    Path("many.events").write_text(text)
    _, told, _ = run(capsys, "--input", "many.events")
    found = cepheid.load(FIRE, language="tesla").detect(parse_events(text))
    assert [line.split()[1] for line in told.splitlines()] == [str(one.id)[:8] for one in found]
    assert len(found) == 3


@pytest.mark.usefixtures("folder")
def test_the_command_tells_why_not_as_text_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--not", "R1", "--around", "2026-07-01 12:02")
    _, told, _ = run(capsys, "--input", "day.jsonl", *where)
    assert "was used up by Fire@2026-07-01 12:01:00" in told
    _, told, _ = run(capsys, "--input", "small.events", "--not", "R1", "--format", "json")
    assert json.loads(told)["change"]["change"] == "add"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "--input must say where"),
        (("--input", "none.csv"), 1, "none.csv"),
        (("--input", "none.events"), 1, "none.events"),
        (("--input", "day.jsonl", "--match", "9"), 1, "from 1 to 1; got 9"),
        (("--input", "small.events", "--match", "1"), 1, "hint: ask with --not RULE"),
        (("--input", "day.jsonl", "--id", "zzz"), 1, "no composite event begins with"),
        (("--input", "day.jsonl", "--not", "R9"), 1, "hint: known: R1"),
        (("--input", "day.jsonl", "--not", "R1", "--around", "noon"), 1, "2026-07-01T12:00:00"),
        (("--input", "day.jsonl", "--around", "12"), 2, "must go with --not"),
    ],
)
def test_the_command_says_what_is_wrong(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: int, message: str
) -> None:
    ended, _, told = run(capsys, *arguments)
    assert (ended, message in told) == (status, True)


def test_the_command_runs_as_a_person_runs_it(folder: Path) -> None:
    done = run_apart("why", "fire.tesla", "--input", "small.events", "--not", "R1", cwd=folder)
    assert done.returncode == 0
    assert "it would have matched if" in done.stdout


def test_a_change_can_be_taken_further() -> None:
    event = parse_events("A@1(n=1)")[0]
    change = SetValue(event, "n", 5)
    assert change.follow(event) == replace(event, attributes={"n": 5})
