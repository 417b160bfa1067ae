"""`cepheid backtest`: it counts what detect finds, in every format, and tells errors readably."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyarrow import csv, parquet

import cepheid
from cepheid.cli import main
from cepheid.cli.backtest import as_json, as_text, histogram
from cepheid.cli.history import Dial
from cepheid.errors import EventError
from cepheid.runtime.backtest import backtest, key_attributes
from cepheid.tables.arrow import Arrow
from cepheid.tables.files import read_files

HOUR = 3_600_000_000
RULES = """
Rule Fire
define Fire(area: string, value: double)
from Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
where area = Smoke.area and value = Temp.value
Rule Quiet
define Quiet(area: string)
from Smoke(area = $a) and not Temp(area = $a) within 5 min from Smoke
where area = $a
"""


def history(hours: int = 30) -> Arrow:
    """In each hour, each of three areas has four readings and then smoke; A3 is never hot."""
    rows: list[tuple[str, int, str, float | None]] = []
    for hour in range(hours):
        for number, area in enumerate(("A1", "A2", "A3")):
            for minute in range(4):
                value = 20.5 if area == "A3" else 44.5 + number + minute
                rows.append(("Temp", hour * 60 + minute, area, value))
            rows.append(("Smoke", hour * 60 + 4 + hour % 2, area, None))
    types, minutes, areas, values = zip(*rows, strict=True)
    times = pa.array([minute * 60 for minute in minutes], pa.int64()).cast(pa.timestamp("s"))
    return pa.table({"type": types, "ts": times, "area": areas, "value": values})


def _found(rules: cepheid.Rules, table: Arrow) -> list[dict[str, Any]]:
    found: Arrow = rules.detect(table)
    return list(found.to_pylist())


@pytest.fixture
def rules() -> cepheid.Rules:
    return cepheid.load(RULES, language="tesla")


def test_counts_are_those_of_detect(rules: cepheid.Rules) -> None:
    table = history()
    found = _found(rules, table)
    result = backtest(rules, table)
    assert result.events == table.num_rows
    assert result.by_type == Counter(table["type"].to_pylist())
    for name, own in result.findings.items():
        expected = [one for one in found if one["rule"] == name]
        assert own.count == len(expected)
        assert own.by_key == Counter((one["area"],) for one in expected)
        ends = [moment for part in own.moments for moment in part.tolist()]
        assert len(ends) == own.count
        assert {id_ for id_, _ in own.examples} <= {one["id"] for one in expected}


def test_longest_reaches_back_to_the_oldest_constituent(rules: cepheid.Rules) -> None:
    result = backtest(rules, history())
    # In odd hours the smoke comes at minute 5, and the reading of minute 1 is in the open window.
    assert result.findings["Fire"].longest == 4 * 60_000_000
    assert result.findings["Quiet"].count == 0


def test_each_rule_is_timed_with_those_that_it_feeds_on() -> None:
    more = "Rule Twice define Twice() from Fire() as F and last Fire() as G within 1 h from F"
    rules = cepheid.load(f"{RULES}\n{more}", language="tesla")
    result = backtest(rules, history(3), each=True)
    assert {name: own.fed_by for name, own in result.findings.items()} == {
        "Fire": (),
        "Quiet": (),
        "Twice": ("Fire",),
    }
    assert all((own.alone or 0) > 0 for own in result.findings.values())
    text = "\n".join(as_text(result, Dial(), None, 5))
    assert "  by itself, with Fire that it feeds on: " in text


def test_weeks_begin_on_monday() -> None:
    rules = cepheid.load("QUERY Q EVENT A a", language="sase")
    days = [18_000, 18_001, 18_006, 18_007]
    result = backtest(rules, pa.table({"type": ["A"] * 4, "ts": days}), unit="d")
    by, counted = histogram(result, result.findings["Q"], "week")
    assert by == "week"
    begins = [datetime.fromtimestamp(at / 1e6, UTC) for at in counted]
    assert all(begin.weekday() == 0 for begin in begins)
    assert sum(counted.values()) == 4


def test_order_and_portions_do_not_matter(
    rules: cepheid.Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = history(10)
    expected = backtest(rules, table)
    monkeypatch.setattr("cepheid.runtime.backtest.PORTION", 7)
    result = backtest(rules, table.take(list(reversed(range(table.num_rows)))))
    for name, own in result.findings.items():
        assert own.count == expected.findings[name].count
        assert own.by_key == expected.findings[name].by_key


def test_a_count_that_grows_is_seen_and_foretold() -> None:
    rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y)", language="sase")
    table = pa.table({"type": ["A"] * 400, "ts": list(range(400))})
    own = backtest(rules, table, unit="s").findings["AB"]
    assert own.growth != ()
    assert own.peak.stored == 400
    assert own.peak.samples == sorted(own.peak.samples)
    text = "\n".join(as_text(backtest(rules, table, unit="s"), Dial("s"), None, 5))
    assert "could grow without bound: stored events of A" in text
    assert "there is no event of type B; there are A" in text
    assert "▁" in text
    assert "█" in text


def test_until_lets_absences_be_found() -> None:
    query = "QUERY Q EVENT SEQ(A x, !(B y)) WITHIN 10 s"
    rules = cepheid.load(query, language="sase")
    table = pa.table({"type": ["A"], "ts": [5]})
    assert backtest(rules, table, unit="s").found == 0
    assert backtest(rules, table, unit="s", until=15_000_000).found == 1


@pytest.mark.parametrize(
    ("language", "keys"),
    [
        ("core", "room"),
        ("laipl", "source"),
        ("sase", "item"),
        ("tesla", "area"),
        ("pretty", "area"),
    ],
)
def test_keys_of_the_templates(language: str, keys: str) -> None:
    (rule,) = cepheid.load(Path(__file__).parents[1] / "src/cepheid/templates" / language)
    assert key_attributes(rule) == (keys,)


# --- the command ----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fire.tesla").write_text(RULES)
    return tmp_path


def test_every_format_gives_the_same_report(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = history(3)
    parquet.write_table(table, files / "e.parquet")
    csv.write_csv(table, files / "e.csv")
    lines = "".join(
        json.dumps({**row, "ts": row["ts"].isoformat()}) + "\n" for row in table.to_pylist()
    )
    (files / "e.jsonl").write_text(lines)
    (files / "e.ndjson.gz").write_bytes(gzip.compress(lines.encode()))
    (files / "parts").mkdir()
    parquet.write_table(table[:20], files / "parts" / "1.parquet")
    csv.write_csv(table[20:], files / "parts" / "2.csv")
    (files / "parts" / "_notes.csv").write_text("no events")
    reports = []
    for name in ("e.parquet", "e.csv", "e.jsonl", "e.ndjson.gz", "parts"):
        assert main(["backtest", "fire.tesla", "--input", name, "--format", "json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report.pop("cost")["events_per_second"] > 0
        reports.append(report)
    assert reports[0]["composites"] == 20
    assert all(report == reports[0] for report in reports)


def test_text_has_counts_histogram_keys_and_cost(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parquet.write_table(history(3), files / "e.parquet")
    command = ["backtest", "fire.tesla", "--input", "e.parquet", "--by", "hour", "--top", "1"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert told.startswith(
        "45 events from 1970-01-01 00:00:00 to 1970-01-01 02:04:00, 2 rules, 20 composite events\n"
    )
    assert "    1970-01-01 01:00        6 ████" in told
    assert "  by area: 2 keys with a composite event\n    A2                     11\n  such" in told
    assert "µs an event; too few events for a measure" in told
    assert "Quiet → Quiet: 0 composite events\n  every event type that it looks at is there" in told


def test_other_columns_and_counts(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "e.csv").write_text("kind,at,area,value\nTemp,1000,A1,50\nSmoke,61000,A1,\n")
    names = ["--type", "kind", "--time", "at", "--unit", "ms"]
    assert main(["backtest", "fire.tesla", "--input", "e.csv", *names]) == 0
    told = capsys.readouterr().out
    assert "2 events from 1s to 61s" in told
    assert "Fire → Fire: 1 composite event\n" in told


def test_dates_that_are_no_times_stay_texts(files: Path) -> None:
    (files / "e.csv").write_text("type,ts,day\nA,2026-07-01 12:00:00,2026-07-01\n")
    assert read_files(["e.csv"])["day"].to_pylist() == ["2026-07-01"]


def test_a_schema_decides_what_a_column_is(files: Path) -> None:
    (files / "e.csv").write_text("type,ts,item\nA,1,007\n")
    schema = cepheid.parse_schema("A(item: string)")
    assert read_files(["e.csv"], unit="s", schema=schema)["item"].to_pylist() == ["007"]
    assert read_files(["e.csv"], unit="s")["item"].to_pylist() == [7]


def test_a_value_that_is_not_what_the_schema_says_is_told_with_its_row(files: Path) -> None:
    (files / "e.csv").write_text("type,ts,value\nTemp,1,1.5\nTemp,2,hot\n")
    schema = cepheid.parse_schema("Temp(value: double)")
    with pytest.raises(EventError, match=r"column value must .* double; got 'hot' in row 1"):
        read_files(["e.csv"], unit="s", schema=schema)


@pytest.mark.parametrize(
    ("rows", "warning"),
    [
        ("Temp,1,A1,50\nTemp,2,A1,hot\nSmoke,3,A1,\n", 'column value holds texts, such as "hot",'),
        ("Temp,1,A1,true\nSmoke,2,A1,\n", "column value holds bools, such as True, where rule"),
        ("Temp,1,A1,50\nSmoke,2,A1,\n", ""),
        ("Temp,1,A1,\nSmoke,2,A1,\n", ""),
        ("Temp,1,A1,\nSmoke,2,A1,thick\n", ""),
    ],
    ids=["texts", "bools", "numbers", "nothing", "of another type"],
)
def test_columns_that_hold_what_no_rule_expects_are_told(
    files: Path, capsys: pytest.CaptureFixture[str], rows: str, warning: str
) -> None:
    (files / "e.csv").write_text(f"type,ts,area,value\n{rows}")
    assert main(["backtest", "fire.tesla", "--input", "e.csv", "--unit", "s"]) == 0
    told = capsys.readouterr().err
    assert told.startswith(f"warning: {warning}") if warning else not told


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.csv", "ts,area\n1,A1\n", "e.csv: events must have a column type; got ts, area"),
        ("e.csv", "type,ts\nTemp,soon\n", "column ts must hold times such as 2026-07-01T12:00"),
        ("e.csv", "type,ts\nA,2026-07-01 12:00:00\nA,soon\nA,late\n", "got 'soon' in row 1"),
        ("e.csv", "type,ts\nTemp,2026-07-01 12:00:00,A1\n", "e.csv cannot be read as csv"),
        ("e.csv", "", "e.csv: a file of events must hold something"),
        ("e.csv", "type,ts\nTemp,5\n", "hint: say which, such as --unit ms"),
        ("e.jsonl", '{"type": ', "e.jsonl cannot be read as json"),
        ("e.parquet", "no parquet", "e.parquet cannot be read as parquet"),
        ("e.xlsx", "x", "format of e.xlsx must follow from its ending"),
    ],
)  # fmt: skip
def test_events_that_cannot_be_used_are_told(
    files: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    (files / name).write_text(text)
    assert main(["backtest", "fire.tesla", "--input", name]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["fire.tesla"], 2, "--input must say where the events are"),
        ([], 2, "rules must be named"),
        (["none.tesla", "--input", "e.csv"], 2, "No such file"),
        (["fire.tesla", "--input", "evnts.csv"], 1, "nothing is at evnts.csv"),
        (["fire.tesla", "--input", "e.csv", "--until", "soon"], 1, "a moment must be written as"),
        (["fire.tesla", "--project", "none.yml"], 2, "none.yml cannot be read"),
    ],
)
def test_a_wrong_command_is_told(
    files: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    (files / "e.csv").write_text("type,ts\nTemp,2026-07-01 12:00:00\n")
    assert main(["backtest", *arguments]) == status
    assert message in capsys.readouterr().err


def test_no_event_at_all_gives_a_report(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "e.csv").write_text("type,ts,area,value\n")
    assert main(["backtest", "fire.tesla", "--input", "e.csv", "--unit", "s"]) == 0
    assert capsys.readouterr().out.startswith("0 events from never to never")


def test_moments_are_read_as_they_are_written() -> None:
    for dial, moment in (
        (Dial(), 1_782_907_200_000_000),
        (Dial(), 1_500_000),
        (Dial("s"), 90 * 10**6),
    ):
        assert dial.read(dial.text(moment)) == moment
    with pytest.raises(EventError):
        Dial().read("noon")


def test_json_has_what_the_text_has(rules: cepheid.Rules) -> None:
    report = as_json(backtest(rules, history(3)), Dial(), "hour", 1)
    fire = report["rules"][0]
    assert (fire["composites"], fire["by"], fire["keys"]) == (20, "hour", ["area"])
    assert sum(one["composites"] for one in fire["histogram"]) == 20
    assert fire["top"] == [{"key": {"area": "A2"}, "composites": 11}]
    json.dumps(report)
