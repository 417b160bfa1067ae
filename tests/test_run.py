"""`cepheid run`: the job itself, in one session of Spark."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
import pytest

import cepheid
from cepheid.cli import main
from cepheid.spark import session
from cepheid.spark.project import Project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# One process runs everything that needs Spark.
pytestmark = pytest.mark.spark

RULE = """\
Rule Hot
define Alarm(area: string, value: double)
from Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
where area = Smoke.area and value = Temp.value
"""
SCHEMA = "Temp(area: string, value: double)\nSmoke(area: string)\n"


# --- the job -----------------------------------------------------------------


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    before = dict(os.environ)
    # Java compiles less thoroughly, as the tests are over before that would pay.
    os.environ["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    project = Project(submit={"master": "local[2]"})
    rules = cepheid.load(RULE, language="tesla")
    with session.started(project, rules, lambda _text: None) as (own, log):
        yield own
    os.environ.clear()
    os.environ.update(before)
    assert log is not None
    log.unlink()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("hot.tesla").write_text(RULE)
    Path("events.schema").write_text(SCHEMA)
    Path("events").mkdir()
    return tmp_path


def event(seconds: int, area: str, value: float | None = None) -> dict[str, Any]:
    type_ = "Smoke" if value is None else "Temp"
    return {"type": type_, "ts": seconds, "area": area, "value": value}


EVENTS = [
    event(second, f"A{second % 3}", None if second % 4 == 0 else float(second % 60))
    for second in range(400)
]


@cache
def expected() -> list[str]:
    """What the embedded engine finds, by id."""
    found = cepheid.load(RULE, language="tesla").detect(EVENTS, unit="s")
    return sorted(own["id"] for own in found)


def write_parquet(path: Path, events: list[dict[str, Any]]) -> None:
    columns = {"type": pa.string(), "ts": pa.int64(), "area": pa.string(), "value": pa.float64()}
    pq.write_table(pa.Table.from_pylist(events, pa.schema(columns)), path)


def write_json(path: Path, events: list[dict[str, Any]], *others: str) -> None:
    lines = [json.dumps({k: v for k, v in own.items() if v is not None}) for own in events]
    path.write_text("".join(f"{line}\n" for line in [*lines, *others]))


def run(*arguments: str) -> int:
    own = ["hot.tesla", "--schema", "events.schema", "--unit", "s", "--master", "local[2]"]
    return main(["run", *own, *arguments])


def ids(path: str) -> list[str]:
    table = pq.read_table(path)
    return sorted(table.column("id").to_pylist())


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("reader", ["spark", "native"])
def test_a_batch_gives_what_detect_gives_and_refuses_to_write_over_it(
    reader: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        write_parquet(folder / "events" / f"{number}.parquet", EVENTS[number::4])
    assert run("--input", "events", "--reader", reader, "--output", "fires") == 0
    assert ids("fires") == expected()
    assert f"done: 400 events, {len(expected()):,} composite events" in capsys.readouterr().err
    assert run("--input", "events", "--reader", reader, "--output", "fires") == 2
    assert f"output {folder}/fires must not be there yet" in capsys.readouterr().err
    assert run("--input", "events", "--reader", reader, "--output", "fires", "--overwrite") == 0
    assert ids("fires") == expected()


@pytest.mark.usefixtures("spark")
def test_the_native_reader_refuses_what_only_spark_reads(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "events" / "day=1").mkdir()
    write_parquet(folder / "events" / "day=1" / "a.parquet", EVENTS)
    given = ("--input", "events", "--output", "fires", "--reader", "native")
    assert run(*given) == 2
    assert "column day must be in the files for --reader native" in capsys.readouterr().err
    assert run(*given, "--input-option", "mergeSchema=true") == 2
    assert "--input-option mergeSchema is one of Spark's own reader" in capsys.readouterr().err
    assert run(*given[:-2]) == 0
    assert len(ids("fires")) == len(expected())  # the day makes other events of them


@pytest.mark.usefixtures("spark")
def test_texts_that_are_no_events_fail_the_job_or_go_aside(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json(folder / "events" / "a.json", EVENTS, "{broken", '{"type": "Temp", "ts": "soon"}')
    given = ("--input", "events", "--format", "json", "--output-format", "csv")
    assert run(*given, "--output", "one") == 1
    told = capsys.readouterr().err
    assert "error: every row must be an event; got 2 that are not" in told
    assert "hint: --dead-letter PATH puts them aside" in told
    assert "\tat " not in told
    assert run(*given, "--output", "two", "--dead-letter", "bad") == 0
    assert f"400 events, {len(expected()):,} composite" not in capsys.readouterr().err
    lines = "".join(file.read_text() for file in Path("two").glob("*.csv")).splitlines()
    heads = {line for line in lines if line.startswith("id,")}
    assert len(lines) - len([line for line in lines if line in heads]) == len(expected())
    bad = "".join(file.read_text() for file in Path("bad").glob("*.csv"))
    assert "the text cannot be read" in bad
    assert "{broken" in bad


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("reader", ["spark", "native"])
def test_a_stream_goes_on_from_its_checkpoint_and_writes_a_folder_for_each_batch(
    reader: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--stream", "--available-now", "--input", "events", "--output", "fires"]
    given += ["--reader", reader]
    given += ["--late", "late", "--heartbeats", "Clock", "--progress", "json"]
    write_parquet(folder / "events" / "0.parquet", EVENTS[:200])
    assert run(*given) == 0
    late = {**event(0, "late", 50.0)}
    beat = {"type": "Clock", "ts": 1000}
    write_parquet(folder / "events" / "1.parquet", [*EVENTS[200:], late, beat])
    assert run(*given) == 0
    assert ids("fires") == expected()
    assert {path.name for path in Path("fires").glob("*=*")} == {"batch=0", "batch=1"}
    (row,) = pq.read_table("late").column("event").to_pylist()
    assert json.loads(row)["area"] == "late"
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["events"] for line in lines if "batch" in line] == [200, 202]
    assert run(*given, "--checkpoint", "other") == 2
    assert "has the batches of another one" in capsys.readouterr().err
    write_parquet(folder / "events" / "2.parquet", [beat])
    assert run(*given, "--shards", "3") == 1
    assert "must be what it was when the checkpoint was written" in capsys.readouterr().err


@pytest.mark.usefixtures("spark")
def test_a_stream_that_is_stopped_with_ctrl_c_ends_cleanly_and_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_parquet(folder / "events" / "0.parquet", EVENTS[:200])
    given = ["--stream", "--input", "events", "--output", "fires", "--heartbeats", "Clock"]

    def interrupt() -> None:
        while not (folder / "fires" / "_checkpoint" / "commits" / "0").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt, daemon=True)
    other.start()
    assert run(*given) == 130
    assert "stopped by SIGINT: " in capsys.readouterr().err
    beat = {"type": "Clock", "ts": 1000}
    write_parquet(folder / "events" / "1.parquet", [*EVENTS[200:], beat])
    assert run(*given, "--available-now") == 0
    assert ids("fires") == expected()


@pytest.mark.usefixtures("spark")
def test_rules_of_a_folder_are_taken_up_or_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "more").mkdir()
    cold = "Rule Cold define Cold(area: string) from Temp(value < 2) where area = Temp.area"
    (folder / "more" / "cold.tesla").write_text(cold)
    (folder / "more" / "wrong.tesla").write_text("Rule Wrong define")
    write_parquet(folder / "events" / "0.parquet", EVENTS)
    given = ["--stream", "--available-now", "--input", "events", "--output", "fires"]
    assert run(*given, "--changes", "more", "--key", "area", "--refused", "refused") == 0
    found = pq.read_table("fires")
    assert set(found.column("type").to_pylist()) == {"Alarm", "Cold"}
    assert "rules of wrong.tesla are refused: " in capsys.readouterr().err
    (name,) = pq.read_table("refused").column("event").to_pylist()
    assert "wrong" in name


@pytest.mark.usefixtures("spark")
def test_what_is_wrong_with_the_input_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, message in {
        ("--input", "none"): f"--input must be there; nothing is at {folder}/none",
        ("--input", "events", "--stream"): "columns of the events must be known",
        ("--input", "events", "--stream", "--columns", "type text text"): "--columns must be names",
        ("--input", "events", "--columns", "type string, when bigint"): "must have a column ts",
    }.items():
        assert run(*arguments, "--output", "out") == 2, arguments
        assert message in capsys.readouterr().err
    assert not (folder / "out").exists()


@pytest.mark.usefixtures("spark")
def test_the_console_shows_composite_events_as_json(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "area,ts,type,value\nA1,1,Temp,50.0\nA1,2,Smoke,\n"
    (folder / "events" / "a.csv").write_text(text)
    assert run("--input", "events", "--format", "csv", "--output-format", "console") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert (json.loads(line)["area"], json.loads(line)["ts"]) == ("A1", 2)


# --- messages of Kafka, without a broker ---------------------------------------


def test_messages_that_are_no_events_keep_their_whole_text(spark: SparkSession) -> None:
    from pyspark.sql.types import StructType

    from cepheid.spark.bad import CORRUPT
    from cepheid.spark.sources import read_messages

    good = '\n {"type": "Temp", "ts": 1}'
    bad = ["{", "", "7", '[{"type": "Temp", "ts": 1}, {"type": "Temp", "ts": 2}]', '{"ts": "x"}']
    raw = spark.createDataFrame(
        [(text.encode(),) for text in [good, *bad]] + [(None,)], "value binary"
    )
    schema = StructType().add("type", "string").add("ts", "long")
    rows = read_messages(raw, schema).collect()
    assert rows[0].asDict() == {"type": "Temp", "ts": 1, CORRUPT: None}
    assert [row[CORRUPT] for row in rows[1:-1]] == bad
    assert rows[-1].asDict() == {"type": None, "ts": None, CORRUPT: None}


def test_messages_have_times_to_the_microsecond(spark: SparkSession) -> None:
    from cepheid.spark.sinks import message_of

    found = spark.sql("select 'x' as id, timestamp'2026-07-01 12:00:00.123456' as ts")
    (row,) = message_of(found).collect()
    assert row.key == "x"
    assert json.loads(row.value)["ts"] == "2026-07-01T12:00:00.123456Z"


# --- times in texts ------------------------------------------------------------


@pytest.mark.usefixtures("spark")
def test_times_come_out_to_the_microsecond(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = {"Temp": "2026-07-01T12:00:00.123456Z", "Smoke": "2026-07-01T12:00:01.000007Z"}
    given = [
        {"type": type_, "ts": time, "area": "A1", "value": 50.0 if type_ == "Temp" else None}
        for type_, time in times.items()
    ]
    write_json(folder / "events" / "a.json", given)
    command = ["run", "hot.tesla", "--schema", "events.schema", "--master", "local[2]"]
    command += ["--input", "events", "--format", "json", "--output-format", "console"]
    assert main(command) == 0
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert line["ts"] == times["Smoke"]
    assert {own["type"]: own["ts"] for own in line["events"]} == times


@pytest.mark.parametrize("format_", ["json", "csv"])
def test_files_of_texts_have_times_to_the_microsecond_unless_told(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    from cepheid.spark.sinks import Sink

    part = spark.sql(
        "select timestamp'2026-07-01 12:00:00.123456' as ts, "
        "timestamp_ntz'2026-07-01 12:00:00.123456' as start, "
        "array(named_struct('ts', timestamp'1969-12-31 23:59:59.999999')) as events"
    )

    def written(name: str, **options: str) -> str:
        path = tmp_path / name
        Sink("composite", str(path), format_, options).write(part, overwrite=False)
        return "".join(file.read_text() for file in path.glob(f"*.{format_}"))

    found = written("own")
    assert "2026-07-01T12:00:00.123456Z" in found
    assert "2026-07-01T12:00:00.123456" in found.replace("2026-07-01T12:00:00.123456Z", "")
    assert "1969-12-31T23:59:59.999999Z" in found
    other = written("other", timestampFormat="yyyy")
    assert "123456Z" not in other
    assert "1969" in other
