"""The same tests on Spark Connect: a client without a JVM of its own, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it has no types
import pytest

from tests.cases import ROOT
from tests.jobs import ENVIRONMENT, Job
from tests.killed import SCHEMA, rules
from tests.spark import ordered, write_events
from tests.test_exactly_once import kill_group

pytestmark = pytest.mark.spark

SOME = "engine_gives_with or absences_without"
"""A table and a stream; all of them in make test-cluster."""


@pytest.mark.parametrize("kind", ["connect", "cluster"])
def test_a_table_and_a_stream_give_the_same_on_another_layout(kind: str) -> None:
    tried = ["-n0", "-q", "-m", "everywhere", "-k", SOME, "tests/test_spark.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *tried],
        cwd=ROOT,
        env={**os.environ, "CEPHEID_SPARK": kind},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert "2 passed" in done.stdout


# --- a server that runs already ----------------------------------------------------------------


@contextmanager
def server() -> Iterator[str]:
    """A server of Spark Connect on this machine; its address."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations
    home = Path(spec.submodule_search_locations[0])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": 2,
    }
    told = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    process = subprocess.Popen(
        [str(home / "bin/spark-submit"), "--class", main, "--master", "local[2]", *told,
         "spark-internal"],
        env={**ENVIRONMENT, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        end = time.monotonic() + 120
        while not listens(port):
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        kill_group(process)


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
def test_a_batch_of_the_command_runs_on_a_server(tmp_path: Path) -> None:
    events = [
        {"type": "Smoke" if n % 5 == 4 else "Temp", "ts": n, "area": f"A{n % 2}", "value": 40.0 + n}
        for n in range(30)
    ]
    write_events(tmp_path / "1.parquet", events, SCHEMA)
    places = ["--input", str(tmp_path / "1.parquet"), "--output", str(tmp_path / "found")]
    with server() as url:
        job = Job(tmp_path, [*places, "--unit", "s", "--remote", url])
        assert "30 events" in job.finish()
        assert "must not be there yet" in job.finish(status=2)
    found = pq.read_table(tmp_path / "found").to_pylist()
    expected = rules().detect(pq.read_table(tmp_path / "1.parquet"), unit="s").to_pylist()
    assert len(found) > 10
    assert ordered(found) == ordered(expected)


def test_where_no_server_is_the_command_says_so_at_once(tmp_path: Path) -> None:
    url = "sc://127.0.0.1:1/;token=secret"
    said = Job(tmp_path, ["--input", "x", "--output", "y", "--remote", url]).finish(status=2)
    assert "there is no server of Spark Connect at sc://127.0.0.1:1" in said
    assert "secret" not in said
