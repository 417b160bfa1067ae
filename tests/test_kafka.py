"""Kafka: `cepheid run` from topics to topics and to files, against a broker of its own.

make test-kafka. The connector is that of the Spark that is installed; where it cannot be had,
CEPHEID_KAFKA_CONNECTOR names another version, and CEPHEID_KAFKA_TOKENS that of its part for tokens.
What cannot be fetched is a reason to skip.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no types
import pytest

from tests.broker import Broker, NotFetched, broker, fetched, read_values
from tests.jobs import Job
from tests.killed import SCHEMA
from tests.spark import Row, ordered
from tests.test_exactly_once import SIZE, events, expected

pytestmark = [pytest.mark.slow, pytest.mark.spark]

BAD = ["{", "[1, 2]", '{"type": "Temp"}']
INSTALLED = importlib.metadata.version("pyspark")
CONNECTOR = os.environ.get("CEPHEID_KAFKA_CONNECTOR", INSTALLED)
TOKENS = os.environ.get("CEPHEID_KAFKA_TOKENS", CONNECTOR)
OWN_JARS = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2")
"""The jars of the connector that do not come with Spark."""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp("kafka")
    try:
        with broker(folder) as own:
            yield own
    except NotFetched as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def connector(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the command is told of the connector: nothing, if it is the one of this Spark.

    Maven puts it where Spark looks before it asks a repository.
    """
    folder = tmp_path_factory.mktemp("connector")
    try:
        path = fetched(
            "kafka/connector.xml", folder, connector_version=CONNECTOR, tokens_version=TOKENS
        )
    except NotFetched as reason:
        pytest.skip(f"{reason} (CEPHEID_KAFKA_CONNECTOR names another version)")
    if {CONNECTOR, TOKENS} == {INSTALLED}:
        return []
    jars = [jar for jar in path.split(os.pathsep) if Path(jar).name.startswith(OWN_JARS)]
    return ["--jars", ",".join(jars)]


def texts(given: list[Row]) -> list[str]:
    """Events as messages; what they do not have is left out."""
    return [json.dumps({key: own for key, own in row.items() if own is not None}) for row in given]


def without_nulls(value: Any) -> Any:  # noqa: ANN401 (whatever JSON can be)
    """What Spark writes of a row: no field that has no value."""
    if isinstance(value, dict):
        return {key: without_nulls(own) for key, own in value.items() if own is not None}
    return [without_nulls(own) for own in value] if isinstance(value, list) else value


def job(folder: Path, kafka: Broker, topic: str, output: str, connector: list[str]) -> Job:
    """A job over a topic that takes a ninth of the events in a batch."""
    arguments = ["--stream", "--available-now", "--master", "local[2]", "--unit", "s"]
    arguments += ["--columns", SCHEMA, "--input", kafka.address(topic), "--output", output]
    arguments += ["--checkpoint", "state", "--dead-letter", "bad", "--progress", "json"]
    arguments += ["--input-option", f"maxOffsetsPerTrigger={SIZE}"]
    return Job(folder, [*arguments, *connector])


def bad_rows(folder: Path) -> list[Row]:
    """What was put aside."""
    files = sorted((folder / "bad").glob("batch=*/*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def files_found(folder: Path) -> list[Row]:
    """The composite events in files."""
    files = sorted((folder / "fires").glob("batch=*/*.parquet"))
    return ordered(row for file in files for row in pq.ParquetFile(file).read().to_pylist())


def test_a_broker_gives_back_what_it_was_given(kafka: Broker) -> None:
    kafka.create("echo", partitions=2)
    kafka.send("echo", ['{"a": 1}', "x", '{"b": "ü"}'])
    assert sorted(value for _, value in kafka.received("echo")) == ["x", '{"a": 1}', '{"b": "ü"}']


def test_from_topic_to_topic_and_on_from_the_checkpoint(
    kafka: Broker, connector: list[str], tmp_path: Path
) -> None:
    for topic in ("events", "fires"):
        kafka.create(topic)
    own = job(tmp_path, kafka, "events", kafka.address("fires"), connector)
    half = len(events()) // 2
    kafka.send("events", [*texts(events()[:half]), *BAD])
    own.finish()
    first = kafka.received("fires")
    kafka.send("events", texts(events()[half:]))
    own.finish()
    found = kafka.received("fires")
    assert 0 < len(first) < len(found)
    assert ordered(read_values(found)) == ordered(map(without_nulls, expected()))
    assert len(bad_rows(tmp_path)) == len(BAD)
    assert all(row["reason"] for row in bad_rows(tmp_path))


def test_a_job_that_is_killed_loses_nothing_and_repeats_by_id(
    kafka: Broker, connector: list[str], tmp_path: Path
) -> None:
    for topic in ("killed", "killed-fires"):
        kafka.create(topic)
    own = job(tmp_path, kafka, "killed", kafka.address("killed-fires"), connector)
    kafka.send("killed", texts(events()))
    assert own.kill_after(3)
    assert own.kill_after(own.begun + 2)
    own.finish()
    found = read_values(kafka.received("killed-fires"))
    once = {row["id"]: row for row in found}
    assert ordered(once.values()) == ordered(map(without_nulls, expected()))
    # What came twice came as it was.
    assert all(row == once[row["id"]] for row in found)


def test_files_have_every_composite_event_once(
    kafka: Broker, connector: list[str], tmp_path: Path
) -> None:
    kafka.create("to-files")
    own = job(tmp_path, kafka, "to-files", "fires", connector)
    kafka.send("to-files", texts(events()))
    assert own.kill_after(3)
    own.finish()
    found = files_found(tmp_path)
    assert max(Counter(row["id"] for row in found).values()) == 1
    assert found == expected()
