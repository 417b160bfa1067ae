"""`cepheid run`: settings, messages and the job itself, in one session of Spark."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
import pytest

import cepheid
from cepheid.cli import main
from cepheid.errors import ProjectError
from cepheid.events import Schema
from cepheid.spark import java, session
from cepheid.spark.causes import cause_of
from cepheid.spark.java import check_java
from cepheid.spark.progress import Progress, merged
from cepheid.spark.project import OPTIONS, Project, project_of, read_project
from cepheid.spark.session import submit_arguments

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


# --- settings ----------------------------------------------------------------


def of_file(folder: Path, text: str) -> dict[str, Any]:
    (folder / "cepheid.yml").write_text(text)
    return read_project(folder / "cepheid.yml")


def test_a_project_file_holds_the_settings_with_paths_from_its_folder(tmp_path: Path) -> None:
    found = of_file(
        tmp_path,
        """
        rules: [fire.tesla, more/]
        input: s3://bucket/events
        output: fires
        dead-letter: /bad
        stream: true
        shards: 4
        heartbeats: Clock, Beat
        conf: {spark.sql.adaptive.enabled: false}
        driver_memory: 2g
        """,
    )
    assert found == {
        "rules": (str(tmp_path / "fire.tesla"), str(tmp_path / "more")),
        "input": "s3://bucket/events",
        "output": str(tmp_path / "fires"),
        "dead_letter": "/bad",
        "stream": True,
        "shards": 4,
        "heartbeats": ("Clock", "Beat"),
        "conf": {"spark.sql.adaptive.enabled": "false"},
        "driver_memory": "2g",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("inptu: x", "did you mean input?"),
        ("- input", "must hold settings such as 'input: events/'; got a list"),
        ("input: [a", "is not YAML"),
        ("shards: many", "shards must be a number of at least 1; got many"),
        ("shards: 0", "shards must be a number of at least 1"),
        ("stream: 5", "stream must be true or false"),
        ("format: paquet", "did you mean parquet?"),
        ("input: {a: b}", "input must be a text; got a mapping"),
        ("conf: fast", "conf must be KEY=VALUE; got fast"),
        ("!!python/object/apply:os.system [echo]", "is not YAML"),
        ("input: " + "x" * 70_000, "must have at most 65536 bytes"),
    ],
)
def test_a_wrong_project_file_is_told(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ProjectError, match=r"cepheid\.yml") as caught:
        of_file(tmp_path, text)
    assert message in str(caught.value)


def test_a_project_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="cannot be read: No such file"):
        read_project(tmp_path / "none.yml")


def test_the_command_line_wins_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cepheid.yml").write_text(
        "rules: a.tesla\ninput: one\noutput: out\nstream: true\nconf: {a: 1, b: 2}\n"
    )
    given = {"input": "two", "stream": False, "conf": ["b=3"], "rules": [], "unit": None}
    found = project_of(given, None)
    assert (found.rules, found.input, found.stream, found.unit) == (
        ("a.tesla",),
        "two",
        False,
        None,
    )
    assert found.submit == {"conf": {"a": "1", "b": "3"}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "rules must be named"),
        ({"rules": ["a"]}, "--input must say where the events are"),
        ({"rules": ["a"], "input": "x"}, "--output must say where composite events go"),
        ({"late": "x"}, "--late must go with --stream"),
        ({"delay": "5s"}, "--delay must go with --stream"),
        ({"stream": True, "until": "5"}, "--until must go with a batch"),
        ({"stream": True, "trigger": "5s", "available_now": True}, "must not go together"),
        ({"format": "xml"}, "--format must be one of parquet, json, csv, delta, kafka; got xml"),
        ({"stream": True, "key": "area"}, "--key and --refused must go with --changes"),
        ({"shards": "none"}, "--shards must be a number"),
        ({"input_option": ["x"]}, "--input-option must be KEY=VALUE; got x"),
        ({"format": "kafka"}, "--format kafka must go with --stream"),
        ({"stream": True, "format": "kafka"}, "hint: --input kafka://HOST:PORT/TOPIC"),
        ({"stream": True, "output": "kafka://h:1/t"}, "--checkpoint must be given"),
        ({"deploy_mode": "cluster"}, "--deploy-mode must be client"),
        ({"remote": "spark://h:7077"}, "--remote must be sc://HOST:PORT; got spark://h:7077"),
        ({"remote": "sc://h", "stream": True}, "--stream must go with --master"),
        ({"remote": "sc://h", "jars": "a.jar"}, "--jars must go with --master"),
    ],
)
def test_settings_that_do_not_fit_are_told(
    given: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = {"rules": ["a.tesla"], "input": "events", "output": "fires"}
    settings = given if not given or "rules" in given else {**whole, **given}
    with pytest.raises(ProjectError) as caught:
        project_of(settings, None)
    assert message in str(caught.value)


def test_formats_follow_from_paths() -> None:
    given = {"rules": ["a"], "input": "x/day.jsonl.gz", "output": "out.csv"}
    found = project_of(given, None)
    assert (found.format, found.output_format) == ("json", "csv")


def test_every_setting_is_an_option_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = capsys.readouterr().out
    assert [name for name in OPTIONS if name.replace("_", "-") not in shown] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.tesla", "--input", "x", "--output", "y"], "rules cannot be read from none.tesla"),
        (["--input", "x"], "error: rules must be named"),
        (["a.tesla", "--project", "none.yml"], "error: project file none.yml cannot be read"),
    ],
)
def test_what_cannot_begin_ends_with_status_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    assert message in capsys.readouterr().err


# --- what Spark is told ------------------------------------------------------


def test_spark_is_told_what_was_given_and_what_formats_need() -> None:
    project = Project(
        format="kafka",
        output_format="parquet",
        shards=3,
        submit={
            "master": "local[2]",
            "driver_memory": "2g",
            "packages": ("a:b:1",),
            "conf": {"spark.ui.enabled": "true"},
        },
    )
    told = " ".join(submit_arguments(project))
    assert told.startswith("--master local[2] --driver-memory 2g --name cepheid")
    assert "--packages a:b:1,org.apache.spark:spark-sql-kafka-0-10_2.13:" in told
    assert "--conf spark.sql.shuffle.partitions=3" in told
    assert "--conf spark.ui.enabled=true" in told
    assert "spark.ui.enabled=false" not in told
    assert told.endswith("pyspark-shell")


@pytest.mark.parametrize(
    "submit",
    [
        {"packages": ("a:b:1", "org.apache.spark:spark-sql-kafka-0-10_2.13:0.1")},
        {"conf": {"spark.jars.packages": "a:b:1,org.apache.spark:spark-sql-kafka-0-10_2.13:0.1"}},
        {"packages": ("a:b:1",), "jars": "lib/spark-sql-kafka-0-10_2.13-0.1.jar"},
        {"packages": ("a:b:1",), "conf": {"spark.jars": "spark-sql-kafka-0-10_2.13-0.1.jar"}},
    ],
)
def test_a_connector_that_is_named_stands_instead_of_the_one_of_spark(
    submit: dict[str, Any],
) -> None:
    told = submit_arguments(Project(format="kafka", submit=submit))
    assert " ".join(told).count("spark-sql-kafka") == 1
    packages = told[told.index("--packages") + 1]
    assert packages.startswith("a:b:1")
    assert "spark.jars.packages" not in " ".join(told)


def test_an_option_of_spark_submit_without_a_value_is_handed_on() -> None:
    on, off = (
        Project(submit={"load_spark_defaults": given, "queue": "q"}) for given in (True, False)
    )
    assert "--load-spark-defaults --queue q" in " ".join(submit_arguments(on))
    assert "--load-spark-defaults" not in submit_arguments(off)


def test_packages_that_are_a_setting_stay_beside_those_that_formats_need() -> None:
    project = Project(output_format="kafka", submit={"conf": {"spark.jars.packages": "a:b:1"}})
    told = submit_arguments(project)
    packages = told[told.index("--packages") + 1].split(",")
    assert packages[0] == "a:b:1"
    assert packages[1].startswith("org.apache.spark:spark-sql-kafka-0-10_2.13:")


def test_delta_lake_is_the_one_for_this_version_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"delta-spark": "4.3.1", "pyspark": "4.1.2"}
    monkeypatch.setattr(importlib.metadata, "version", versions.__getitem__)
    told = submit_arguments(Project(format="delta"))
    assert told[told.index("--packages") + 1] == "io.delta:delta-spark_4.1_2.13:4.3.1"
    named = Project(format="delta", submit={"packages": ("io.delta:delta-spark_4.2_2.13:9.9",)})
    told = submit_arguments(named)
    assert told[told.index("--packages") + 1] == "io.delta:delta-spark_4.2_2.13:9.9"
    assert "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension" in told


def test_without_delta_lake_it_says_how_it_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "delta-spark":
            raise importlib.metadata.PackageNotFoundError(name)
        return "4.9.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(ProjectError, match=r"--packages io.delta:delta-spark_4.9_2.13:VERSION"):
        submit_arguments(Project(output_format="delta"))


def test_a_cluster_keeps_its_own_settings() -> None:
    told = " ".join(submit_arguments(Project(submit={"master": "spark://host:7077"})))
    assert "shuffle.partitions" not in told
    assert "bindAddress" not in told


@pytest.mark.parametrize(
    ("version", "message"),
    [(None, "there is none"), ("", "does not run"), ('version "11.0.2"', "is Java 11")],
)
def test_without_java_it_says_what_to_install(
    version: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "java_command", lambda: None if version is None else "java")
    monkeypatch.setattr(java, "_java_version", lambda _java: version)
    with pytest.raises(ProjectError, match="Spark needs Java 17 or later") as caught:
        check_java()
    assert message in str(caught.value)
    assert "apt install" in str(caught.value)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            'Exception in thread "main" java.lang.RuntimeException: '
            "[unresolved dependency: org.x#y_2.13;4.2.0: not found]\n\tat a.B(C.scala:1)\n",
            "packages are not in the repositories: org.x:y_2.13:4.2.0\n\nhint: name others",
        ),
        (
            'Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: '
            "org.apache.spark#spark-sql-kafka-0-10_2.13;9.9.9: not found]\n\tat a.B(C.scala:1)\n",
            "--packages org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION takes another one",
        ),
        (
            'Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: '
            "io.delta#delta-spark_9.9_2.13;9.9.9: not found]\n\tat a.B(C.scala:1)\n",
            "Delta Lake is made for each version of Spark, and this is Spark ",
        ),
        (
            'Exception in thread "main" java.lang.RuntimeException: '
            "[download failed: org.x#y;2.0.13!y.jar]\n\tat a.B(C.scala:1)\n",
            "packages are not in the repositories: org.x:y:2.0.13\n\nhint: name others",
        ),
        ('Exception in thread "main" a.B: no such master\n\tat a.B(C.scala:1)\n', "no such master"),
        ("Killed\n", "  Killed"),
    ],
)
def test_a_start_that_fails_tells_what_java_said(said: str, message: str, tmp_path: Path) -> None:
    class Broken:
        class builder:  # noqa: N801 (Spark's name)
            @staticmethod
            def getOrCreate() -> None:  # noqa: N802 (Spark's name)
                raise RuntimeError("the gateway has ended")

    (tmp_path / "log").write_text(said)
    with pytest.raises(ProjectError, match="Spark does not start") as caught:
        session._start(Broken, tmp_path / "log")
    assert message in str(caught.value)
    assert "\tat " not in str(caught.value)


def test_columns_of_texts_follow_from_declarations() -> None:
    from cepheid.spark.sources import declared_columns

    declared = Schema.of({"A": {"x": "int", "y": "string"}, "B": {"x": "double"}})
    found = declared_columns(Project(unit="ms", time="when", type="kind"), declared)
    columns = {field.name: field.dataType.simpleString() for field in found.fields}
    assert columns == {
        **{"kind": "string", "when": "bigint", "start": "bigint", "id": "string"},
        **{"source": "string", "x": "double", "y": "string"},
    }
    wrong = Schema.of({"A": {"x": "int"}, "B": {"x": "string"}})
    with pytest.raises(ProjectError, match="attribute x must have one type in all events"):
        declared_columns(Project(), wrong)


def test_the_folder_of_a_batch_has_no_name_of_a_column() -> None:
    class Table:
        columns: ClassVar = ["id", "batch"]

    from cepheid.spark.sinks import batch_folder

    assert batch_folder("fires/", Table(), 12) == "fires/batch_=12"  # type: ignore[arg-type]


# --- causes and progress -----------------------------------------------------

WORKER = """\
[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted due to stage failure: Task 0
in stage 1.0 failed 1 times, most recent failure: Lost task 0.0: org.apache.spark.PythonException:
Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
{error}

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
\tat java.lang.Thread.run(Thread.java:1)

Driver stacktrace:
Caused by: java.io.IOException: broken
"""


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        (
            WORKER.format(
                error="cepheid.errors.EventError: every row must be an event\n\nhint: filter them "
                'out, or ask for them: detect(events, outputs="all")'
            ),
            "every row must be an event\n\nhint: --dead-letter PATH puts them aside",
        ),
        (WORKER.format(error="ValueError: no number"), "ValueError: no number"),
        (
            "Job aborted.\n\tat a.B(C.scala:1)\nCaused by: java.io.IOException: disk full",
            "disk full",
        ),
        (
            "An error occurred while calling o1.save.\n: java.lang.NoSuchMethodError: 'void "
            "org.x.Y.<init>(z)'\n\tat a.B(C.scala:1)",
            "one is not: NoSuchMethodError: 'void org.x.Y.<init>(z)'\n\nhint: --packages and "
            "--jars with the version for this Spark, or another version of Spark",
        ),
        (
            "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: no such topic "
            "SQLSTATE: XXKST\n=== Streaming Query ===\nIdentifier: [id = 1]\nLogical Plan:\n+- x",
            "no such topic",
        ),
        (
            "[STREAM_FAILED] Query [id = 1] terminated with exception: Traceback (most recent call "
            'last):\n  File "x.py", line 1, in f\n    g()\n'
            "py4j.protocol.Py4JJavaError: An error occurred while calling o1.collectToPython.\n"
            ": org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error "
            "occurred during loading state.\n\tat a.B(C.s:1)\n"
            "Caused by: java.io.IOException: Stream is corrupted\n\tat a.B(C.s:1)",
            "cannot be read: IOException: Stream is corrupted\n\nhint: if it is damaged, restore "
            "it from a copy, or begin a new one",
        ),
        ("[PATH_NOT_FOUND] Path does not exist: x.\nJVM stacktrace:\na.B", "does not exist: x."),
    ],
)
def test_the_cause_is_told_without_traces(told: str, cause: str) -> None:
    found = cause_of(told)
    assert found.endswith(cause)
    assert "\tat " not in found


def shard(name: str, **told: int) -> str:
    zeros = dict.fromkeys(("late", "bad", "received", "waiting", "stored", "state_bytes"), 0)
    own = {"shard": name, "rows": 100, "composites": 0, "limited": {}, "watermark": 0}
    return json.dumps({**own, **zeros, **told})


def test_progress_counts_batches_and_tells_them_as_json() -> None:
    stream = io.StringIO()
    progress = Progress("json", stream)
    mark = 1_782_900_000_000_000
    told = merged(
        [shard("a", composites=2, watermark=mark), shard("b", late=1, watermark=mark + 5)]
    )
    progress.found(0, told)
    progress.took(0, 100, 0.5)
    progress.end("done")
    batch, end = map(json.loads, stream.getvalue().splitlines())
    assert (batch["events"], batch["events_per_second"], batch["composites"]) == (100, 200, 2)
    assert (batch["watermark"], batch["late"]) == ("2026-07-01T10:00:00Z", 1)
    assert end == {
        **{"end": "done", "seconds": end["seconds"], "batches": 1, "events": 100},
        **{"composites": 2, "late": 1, "bad": 0},
    }


def test_progress_is_one_line_in_a_terminal_and_a_summary() -> None:
    stream = io.StringIO()
    progress = Progress("line", stream)
    progress.found(0, merged([shard("a", composites=2, state_bytes=1500)]))
    progress.took(0, 100, 0.5)
    progress.end("done")
    shown = stream.getvalue()
    assert "\r" in shown
    assert "100 events (200/s) · 2 composite · 0 late · 0 bad · state 1.5 kB" in shown
    assert (
        "done: 100 events in 1 batch, 2 composite events, 0 late, 0 bad" in shown.splitlines()[-1]
    )


def test_a_shard_that_has_most_of_the_events_is_told_at_the_end() -> None:
    stream = io.StringIO()
    progress = Progress("none", stream)
    counts = {"area/0": 90, "area/1": 6, "area/2": 4, "id/0": 40, "id/1": 30}
    progress.found(0, merged([shard(name, received=count) for name, count in counts.items()]))
    progress.end("done")
    _, *more = stream.getvalue().splitlines()
    assert more == ["skew: one of 3 shards by area has 90% of their events"]


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
def test_a_batch_gives_what_detect_gives_and_refuses_to_write_over_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        write_parquet(folder / "events" / f"{number}.parquet", EVENTS[number::4])
    assert run("--input", "events", "--output", "fires") == 0
    assert ids("fires") == expected()
    assert f"done: 400 events, {len(expected()):,} composite events" in capsys.readouterr().err
    assert run("--input", "events", "--output", "fires") == 2
    assert f"output {folder}/fires must not be there yet" in capsys.readouterr().err
    assert run("--input", "events", "--output", "fires", "--overwrite") == 0
    assert ids("fires") == expected()


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
