"""`cepheid run`: settings, what Spark is told, causes and progress."""

from __future__ import annotations

import importlib.metadata
import io
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cepheid.cli import main
from cepheid.errors import ProjectError
from cepheid.events import Schema
from cepheid.spark import java, session
from cepheid.spark.causes import cause_of
from cepheid.spark.java import check_java
from cepheid.spark.progress import Progress, merged
from cepheid.spark.project import OPTIONS, Project, project_of, read_project
from cepheid.spark.session import submit_arguments

# One process runs everything that needs Spark.
pytestmark = pytest.mark.spark


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
