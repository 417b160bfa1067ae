"""The same tests on Spark Connect: a client without a JVM of its own, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cases import ROOT

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
