"""Exactly once: whatever is killed at whatever moment, nothing is lost and nothing comes twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
import pytest

from tests.cases import ROOT
from tests.killed import SCHEMA, rules
from tests.spark import Row, ordered, write_events

pytestmark = pytest.mark.spark

BATCHES, SIZE = 8, 90
LIMIT = 600
"""How many seconds a run may take, on a busy machine."""


def events() -> list[Row]:
    """Events of some areas: fires, rain, doors that stay open."""
    chance = random.Random(7)
    types = ["Temp"] * 6 + ["Smoke", "Rain", "Opening", "Closing"]
    return [
        {
            "type": (type_ := chance.choice(types)),
            "ts": 5 * number,
            "area": f"A{chance.randint(0, 5)}",
            "value": float(chance.randint(0, 90)) if type_ == "Temp" else None,
        }
        for number in range(BATCHES * SIZE)
    ]


def expected() -> list[Row]:
    """What an uninterrupted run finds; the engine in this process gives the same."""
    found = ordered(rules().detect(pa.Table.from_pylist(events()), unit="s").to_pylist())
    assert {row["rule"] for row in found} == {"Fire", "Dry", "LeftOpen"}
    assert len(found) > 100
    return found


class Job:
    """A stream in processes of its own, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "events").mkdir(parents=True)
        for number in range(BATCHES):
            own = events()[number * SIZE : (number + 1) * SIZE]
            write_events(folder / "events" / f"{number:06}.parquet", own, SCHEMA)

    def start(self) -> subprocess.Popen[bytes]:
        """Start the driver, with its workers, as a process group."""
        paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.killed", str(self.folder)],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def finish(self) -> str:
        """Run to the end, or to an error; what was said.

        A run over what is available may end, without an error, after the batch that it had to do
        again; the next one goes on.
        """
        for _ in range(3):
            process = self.start()
            try:
                ended = process.wait(LIMIT)
            finally:
                kill_group(process)
            if self.is_done or ended != 0:
                break
        return (self.folder / "said").read_text(errors="replace")

    @property
    def progress(self) -> int:
        """How many batches were begun."""
        offsets = self.folder / "checkpoint" / "offsets"
        return len(list(offsets.glob("[0-9]*"))) if offsets.exists() else 0

    @property
    def is_done(self) -> bool:
        """Whether the batch with the last file was done.

        It need not be the last of as many as there are files: where a job is killed after a file
        was noted and before its batch was, the batch gets the next file as well.
        """
        checkpoint = self.folder / "checkpoint"
        done = [int(commit.name) for commit in (checkpoint / "commits").glob("[0-9]*")]
        if not done:
            return False
        *_, read = (checkpoint / "offsets" / str(max(done))).read_text().splitlines()
        return bool(json.loads(read)["logOffset"] == BATCHES - 1)

    def found(self) -> list[Row]:
        """The output as a reader of the file sink sees it: the files that were committed."""
        files: list[str] = []
        for log in sorted((self.folder / "found" / "_spark_metadata").glob("[0-9]*")):
            files += _added(log)
        tables = [pq.read_table(file.removeprefix("file://")) for file in sorted(set(files))]
        return ordered(row for table in tables for row in table.to_pylist())


def _added(log: Path) -> Iterator[str]:
    for line in log.read_text().splitlines()[1:]:
        entry = json.loads(line)
        assert entry["action"] == "add"
        yield entry["path"]


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the driver, the JVM and all workers at once."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def workers(process: subprocess.Popen[bytes]) -> list[int]:
    """The Python workers of a job: forks of the daemon, in the process group of the daemon."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            session_id = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            forked = b"daemon" in (Path("/proc") / str(parent) / "cmdline").read_bytes()
        except (OSError, IndexError, ValueError):
            continue
        if session_id == process.pid and b"daemon" in command and forked:
            found.append(int(entry.name))
    return found


def killed_at_random(job: Job, chance: random.Random, kills: int) -> int:
    """Kill the driver again and again at chance, starting anew, until enough or done."""
    done = 0
    while done < kills and not job.is_done:
        process = job.start()
        try:
            before = job.progress
            _wait(partial(_is_past, job, before), process)
            time.sleep(chance.uniform(0, 1.5))
            done += process.poll() is None
        finally:
            kill_group(process)
    return done


def _is_past(job: Job, batches: int) -> bool:
    return job.progress > batches or job.is_done


def _wait(until: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LIMIT
    while not until() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked for in /proc")
def test_a_driver_that_is_killed_twice_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    job = Job(tmp_path)
    assert killed_at_random(job, random.Random(1), 2) == 2
    said = job.finish()
    assert job.is_done, said[-3000:]
    assert job.found() == expected()


def test_a_worker_that_is_killed_is_an_error_and_a_restart_goes_on(tmp_path: Path) -> None:
    job = Job(tmp_path)
    assert worker_killed(job, random.Random(2))
    said = job.finish()
    assert job.is_done, said[-3000:]
    assert job.found() == expected()


def worker_killed(job: Job, chance: random.Random) -> bool:
    """Kill a Python worker while a batch runs; whether there was one."""
    process = job.start()
    try:
        before = job.progress
        _wait(lambda: job.progress > before + 1 and workers(process), process)
        time.sleep(chance.uniform(0, 0.5))
        meant = workers(process)
        for worker in chance.sample(meant, min(1, len(meant))):
            os.kill(worker, signal.SIGKILL)
        process.wait(LIMIT)
    finally:
        kill_group(process)
    return bool(meant)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_drivers_and_workers_are_killed_many_times(tmp_path: Path, seed: int) -> None:
    """A job that ends before it was killed often enough is followed by another one."""
    chance, kills, jobs = random.Random(100 + seed), 0, 0
    while kills < 6:
        jobs += 1
        assert jobs < 12, "hardly any job was still at work when it was to be killed"
        kills += killed_and_finished(Job(tmp_path / str(jobs)), chance, 6 - kills)


def killed_and_finished(job: Job, chance: random.Random, most: int) -> int:
    """Kill a job at chance, let it end, and compare; how often it was killed."""
    kills = 0
    while kills < most and not job.is_done:
        if chance.random() < 0.3:
            kills += worker_killed(job, chance)
        else:
            kills += killed_at_random(job, chance, 1)
    said = job.finish()
    assert job.is_done, said[-3000:]
    assert job.found() == expected()
    return kills
