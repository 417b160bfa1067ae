"""Delta Lake: `cepheid run` from tables to tables, in batches and as streams, killed and resumed.

make test-delta. Jobs run in the Python that CEPHEID_DELTA_PYTHON names, as Delta Lake comes later
than the Spark that it is made for; CEPHEID_DELTA_PACKAGE names a package instead of the one that
follows from what is installed there. What cannot be had is a reason to skip. Tables are read and
written here by what the format says, without Delta Lake.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no types
import pytest

from cepheid.spark.session import delta_package
from tests.broker import NotFetched, fetched
from tests.jobs import ENVIRONMENT, Job
from tests.killed import SCHEMA
from tests.spark import Row, ordered, write_events
from tests.test_exactly_once import BATCHES, SIZE, events, expected

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PYTHON = os.environ.get("CEPHEID_DELTA_PYTHON", sys.executable)
NAMED = os.environ.get("CEPHEID_DELTA_PACKAGE")
VERSIONS = """
from importlib.metadata import version
print(version("delta-spark"), version("pyspark"))
"""
TYPES = {"string": "string", "bigint": "long", "double": "double"}


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Delta Lake for the Spark that is installed; Maven puts it where Spark looks first."""
    found = NAMED or installed()
    _, artifact, version = found.split(":")
    folder = tmp_path_factory.mktemp("delta")
    try:
        fetched("delta/pom.xml", folder, delta_artifact=artifact, delta_version=version)
    except NotFetched as reason:
        pytest.skip(f"{found}: {reason}")
    return found


def installed() -> str:
    """The package that the command takes by itself."""
    command = [PYTHON, "-c", VERSIONS]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    if done.returncode:
        pytest.skip(f"Delta Lake is not installed in {PYTHON}")
    return delta_package(*done.stdout.split())


# --- tables, as the format has them -----------------------------------------------------------


def write_table(folder: Path) -> None:
    """The events as a table, to which a file was added at a time."""
    (folder / "_delta_log").mkdir(parents=True)
    fields = [dict(zip(("name", "type"), part.split(), strict=True)) for part in SCHEMA.split(", ")]
    columns = [
        {**own, "type": TYPES[own["type"]], "nullable": True, "metadata": {}} for own in fields
    ]
    schema = json.dumps({"type": "struct", "fields": columns})
    first: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "00000000-0000-4000-8000-000000000000",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema,
                "partitionColumns": [],
                "configuration": {},
                "createdTime": 0,
            }
        },
    ]
    for number in range(BATCHES):
        _append(folder, number, first if number == 0 else [])


def _append(folder: Path, number: int, before: list[dict[str, Any]]) -> None:
    file = folder / f"{number:06}.parquet"
    write_events(file, events()[number * SIZE : (number + 1) * SIZE], SCHEMA)
    added = {
        "path": file.name,
        "partitionValues": {},
        "size": file.stat().st_size,
        "modificationTime": 1000 * number,
        "dataChange": True,
    }
    lines = [json.dumps(action) for action in [*before, {"add": added}]]
    (folder / "_delta_log" / f"{number:020}.json").write_text("\n".join(lines))


def _actions(folder: Path) -> Iterator[dict[str, Any]]:
    for log in sorted((folder / "_delta_log").glob("[0-9]*.json")):
        for line in log.read_text().splitlines():
            yield json.loads(line)


def read_table(folder: Path) -> list[Row]:
    """The rows of a table."""
    files: dict[str, None] = {}
    for action in _actions(folder):
        if "remove" in action:
            files.pop(action["remove"]["path"], None)
        elif "add" in action:
            files[action["add"]["path"]] = None
    found = [pq.ParquetFile(folder / name).read().to_pylist() for name in files]
    return ordered(row for rows in found for row in rows)


# --- jobs -------------------------------------------------------------------------------------


def job(folder: Path, *arguments: str) -> Job:
    """A job that writes a table of fires."""
    own = ["--output", "fires", "--output-format", "delta", "--unit", "s", "--master", "local[2]"]
    own += ["--packages", NAMED] if NAMED else []
    return Job(folder, [*own, "--progress", "json", *arguments], PYTHON)


def stream(folder: Path) -> Job:
    """The same, out of a table, of which a batch takes a file."""
    write_table(folder / "events")
    options = ["--stream", "--available-now", "--checkpoint", "state"]
    options += ["--input-option", "maxFilesPerTrigger=1", "--late", "late"]
    return job(folder, "--input", "events", "--format", "delta", *options)


def test_a_batch_from_table_to_table_finds_what_the_engine_finds(tmp_path: Path) -> None:
    write_table(tmp_path / "events")
    own = job(tmp_path, "--input", "events", "--format", "delta")
    own.finish()
    assert read_table(tmp_path / "fires") == expected()
    said = own.finish(status=2)
    assert "must not be there yet" in said
    again = job(tmp_path, "--input", "events", "--format", "delta", "--overwrite")
    again.finish()
    assert read_table(tmp_path / "fires") == expected()


def test_a_stream_that_is_killed_has_every_composite_event_once(tmp_path: Path) -> None:
    own = stream(tmp_path)
    assert own.kill_after(3)
    assert own.kill_after(own.begun + 2)
    own.finish()
    found = read_table(tmp_path / "fires")
    assert max(Counter(row["id"] for row in found).values()) == 1
    assert found == expected()


def test_a_batch_that_delta_has_is_not_written_again(tmp_path: Path) -> None:
    own = stream(tmp_path)
    own.finish()
    # As if it had died after the table was written, and before Spark noted that the batch is done.
    last = max((tmp_path / "state" / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink()
    written = len(list(_actions(tmp_path / "fires")))
    own.finish()
    assert len(list(_actions(tmp_path / "fires"))) == written
    assert read_table(tmp_path / "fires") == expected()


def test_a_table_that_is_not_there_is_told(tmp_path: Path) -> None:
    said = job(tmp_path, "--input", "nowhere", "--format", "delta").finish(status=2)
    assert "error: --input" in said
    assert "nowhere" in said
