"""Find fires in a day of sensor data with Spark: the second part of `make demo`.

Sixty areas, a temperature every 20 seconds, written as files of an hour each. The rules of
fire.tesla run over all of it at once, and again as a stream that is killed in the middle and
started once more. Both must find the same composite events, and the fires that were planted.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from demo import HERE, SEED, STEP, STORIES, Record, Story, mistakes, show_fires, temperature

from cepheid.errors import ProjectError
from cepheid.spark.java import check_java

WORK = HERE.parents[1] / "build" / "demo"
MIDNIGHT = datetime(2026, 7, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
READINGS = 24 * 180
AREAS = [f"A{number}" for number in range(1, 61)]
QUIET = Story("nothing")
COLUMNS = pa.schema(
    {
        "type": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "area": pa.string(),
        "value": pa.float64(),
    }
)
SHOWN = ("HotReading", "Fire", "RisingFire", "DryHeat")
KILLED_AFTER = 3
QUICK = {**os.environ, "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Java compiles less thoroughly: a job of seconds is over before that would pay."""

Plan = dict[str, tuple[Story, datetime]]


# --- the data ----------------------------------------------------------------


def make_day(random: Random) -> tuple[list[Record], Plan]:
    """A day of events, and for every area its story with the time at which it peaks."""
    stories = [*STORIES, *STORIES] + [QUIET] * (len(AREAS) - 2 * len(STORIES))
    random.shuffle(stories)
    events: list[Record] = []
    plan = {}
    for area, story in zip(AREAS, stories, strict=True):
        peak = random.randrange(100, READINGS - 100)
        plan[area] = (story, MIDNIGHT + peak * STEP + timedelta(seconds=5))
        events += area_day(area, story, peak, random)
    return sorted(events, key=lambda event: event["ts"]), plan


def area_day(area: str, story: Story, peak: int, random: Random) -> Iterator[Record]:
    """The events of one area; its story ends at reading number `peak`."""
    for number in range(READINGS):
        value = temperature(story, number - peak, random)
        yield {"type": "Temp", "ts": MIDNIGHT + number * STEP, "area": area, "value": value}
    moment = MIDNIGHT + peak * STEP
    if story.smoke:
        yield {"type": "Smoke", "ts": moment + timedelta(seconds=5), "area": area}
    if story.rain:
        for minutes in (-6, -4, -2, 0, 2):
            yield {"type": "Rain", "ts": moment + timedelta(minutes=minutes), "area": area}


def write_hours(events: list[Record], folder: Path) -> None:
    """A file for every hour; the last one ends with a heartbeat, which lets the day be over."""
    folder.mkdir(parents=True)
    hours: list[list[Record]] = [[] for _ in range(24)]
    for event in events:
        hours[(event["ts"] - MIDNIGHT) // HOUR].append(event)
    hours[-1].append({"type": "Clock", "ts": MIDNIGHT + 24 * HOUR})
    for hour, own in enumerate(hours):
        file = folder / f"{hour:02}.parquet"
        pq.write_table(pa.Table.from_pylist(own, COLUMNS), file)
        # Spark takes files in the order in which they were written.
        written = (MIDNIGHT + hour * HOUR).timestamp()
        os.utime(file, (written, written))


# --- the jobs ----------------------------------------------------------------


def command(output: str, *more: str) -> list[str]:
    """The command that a person would write, with this Python."""
    own = ["cepheid", "run", str(HERE / "fire.tesla"), "--schema", str(HERE / "events.schema")]
    paths = ["--input", str(WORK / "events"), "--output", str(WORK / output)]
    full = [*own, *paths, "--heartbeats", "Clock", *more]
    short = shlex.join(full).replace(f"{WORK}/", "").replace(f"{HERE}/", "")
    print(f"\n$ {short}", flush=True)
    return [sys.executable, "-m", *full]


def run_batch() -> None:
    """All events at once."""
    subprocess.run(command("batch"), check=True, env=QUICK)  # noqa: S603 (our own command)


def run_stream(*, killed_after: int | None = None) -> None:
    """Three hours at a time; killed, if it shall be, while a batch is being worked on."""
    more = ("--stream", "--available-now", "--input-option", "maxFilesPerTrigger=3")
    job = subprocess.Popen(  # noqa: S603 (our own command)
        command("stream", *more, "--progress", "json"),
        stderr=subprocess.PIPE,
        text=True,
        env=QUICK,
        start_new_session=True,
    )
    batches = 0
    for line in job.stderr or ():
        told = _read(line)
        if "batch" in told:
            batches += 1
            print(
                f"  batch {told['batch']}: {told['events']:,} events, {told['composites']:,} "
                f"composite events, in {told['seconds']:.1f} s",
                flush=True,
            )
        elif "end" not in told:
            print(line, end="", flush=True)
        if batches == killed_after:
            time.sleep(0.3)
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            print(f"  killed (kill -9), {where_it_died(batches)}", flush=True)
            return
    if job.wait():
        raise SystemExit(job.returncode)


def where_it_died(number: int) -> str:
    """Whether a batch had begun and was not done, by what Spark wrote of it."""
    begun, done = (
        (WORK / "stream" / "_checkpoint" / folder / str(number)).exists()
        for folder in ("offsets", "commits")
    )
    return f"in the middle of batch {number}" if begun and not done else "between two batches"


def _read(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


# --- what they found ---------------------------------------------------------


def found_in(output: str) -> pa.Table:
    """The composite events that a job wrote."""
    return pq.read_table(WORK / output)


def fires(found: pa.Table) -> list[Record]:
    """The composite events that a person wants to see, as records."""
    is_shown = pa.compute.is_in(found["type"], pa.array(SHOWN))
    return list(found.filter(is_shown).to_pylist())


def differences(batch: pa.Table, stream: pa.Table) -> list[str]:
    """How two outputs differ, by the ids of composite events, each as often as it is there."""
    one, other = (Counter(table["id"].to_pylist()) for table in (batch, stream))
    return [
        *(f"only the batch has {count} of {own}" for own, count in (one - other).items()),
        *(f"only the stream has {count} of {own}" for own, count in (other - one).items()),
    ]


def main() -> int:
    """Make the day, run both jobs, compare; the result is the exit status."""
    began = time.perf_counter()
    try:
        check_java()
    except ProjectError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    shutil.rmtree(WORK, ignore_errors=True)
    events, plan = make_day(Random(SEED))
    planted = sum(story.is_fire for story, _ in plan.values())
    write_hours(events, WORK / "events")
    print(f"A day of {len(AREAS)} areas: {len(events):,} events in 24 files, {planted} fires in it")
    run_batch()
    run_stream(killed_after=KILLED_AFTER)
    run_stream()
    batch, stream = found_in("batch"), found_in("stream")
    print("\nThe fires that the stream found:\n")
    show_fires(fires(stream))
    wrong = differences(batch, stream)[:10] + mistakes(fires(stream), plan)
    same = f"Batch and stream found the same {batch.num_rows:,} composite events, by their ids."
    print("\n" + ("\n".join(wrong) or f"{same}\nEvery planted fire was found, and nothing else."))
    print(f"\nIt took {time.perf_counter() - began:.0f} s. The files are in build/demo.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
