"""The job of `cepheid run`: events in, composite events out, once over all of them or as a stream.

read ──▶ detect ──▶ per batch: composite, late, bad, each to its place ──▶ progress
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 (everybody calls it so)
from pyspark.sql.streaming.listener import StreamingQueryListener

from cepheid.errors import ProjectError
from cepheid.kernel.ready import flags, make_ready
from cepheid.rules import Rules
from cepheid.spark.checkpoint import check_logs, damage_in
from cepheid.spark.frames import Job, finite
from cepheid.spark.generate import BAD, COMPOSITE, LATE, PROGRESS, REFUSED
from cepheid.spark.progress import Progress, merged
from cepheid.spark.project import FILES_PER_BATCH, Project
from cepheid.spark.session import local_cores, master_of
from cepheid.spark.sinks import Sink, check_continued, check_free, sinks_of
from cepheid.spark.sources import read_events
from cepheid.spark.stream import streamed
from cepheid.units import parse_time

if TYPE_CHECKING:
    from types import FrameType

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_TICK = 0.2
"""How many seconds pass between looks at whether to stop."""
_PATIENCE = 3.0
"""How many seconds Spark has for telling of the last batch after a stream has ended."""


_DETECT = (
    *("type", "time", "policy", "delay", "idle", "shards", "sources", "heartbeats"),
    *("changes", "key", "narrow"),
)
"""The settings that are those of `Rules.detect`."""


class Stopped(Exception):  # noqa: N818 (it is no error)
    """Someone asked the job to stop, by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


def run(project: Project, rules: Rules, spark: SparkSession, progress: Progress) -> None:
    """Run a job to its end, which for a stream is when someone stops it."""
    work = _Work(
        project, rules, read_events(spark, project, rules.schema), sinks_of(project), progress
    )
    (_stream if project.stream else _batch)(work)


@dataclass(frozen=True)
class _Work:
    """What there is to do, and what it needs."""

    project: Project
    rules: Rules
    events: DataFrame
    sinks: list[Sink]
    progress: Progress


def _job(work: _Work, events: DataFrame, outputs: frozenset[str], checkpoint: str = "") -> Job:
    project = work.project
    own = {name: value for name in _DETECT if (value := getattr(project, name)) not in (None, ())}
    options = {**own, "outputs": "composite" if outputs == {COMPOSITE} else "all"}
    failures = bool(project.failures)
    until = None if project.until is None else _until(project)
    job: Job
    if project.reader == "native":
        job = _native(work, checkpoint, until, options)
    else:
        job = Job(
            work.rules,
            events,
            unit=project.unit,
            until=until,
            failures=failures,
            options=options,
        )
    job.outputs = outputs  # those that are written, and how shards are doing
    if local_cores(master_of(project)):
        # Compiled here, it is said on the terminal; in a worker it would be a long silence.
        for group in job.plan.groups:
            make_ready(flags(type(rule.pattern) for rule in group.rules))
    return job


def _native(
    work: _Work, checkpoint: str, until: int | datetime | None, options: dict[str, Any]
) -> Job:
    """The job whose workers read the files themselves; for a stream, which came when stands by the
    checkpoint.
    """
    from cepheid.spark.files import FilesJob, columns_of_files

    project = work.project
    known = columns_of_files(str(project.input), "parquet").names
    others = [name for name in work.events.columns if name not in known]
    if others:
        raise ProjectError(
            f"column {others[0]} must be in the files for --reader native; it is in the names of "
            "their folders, or asked for by --columns\n\nhint: leave out --reader native"
        )
    per_batch = project.input_option.get(FILES_PER_BATCH)
    return FilesJob(
        work.rules,
        work.events.sparkSession,
        str(project.input),
        "parquet",
        stream=bool(project.stream),
        log=f"{checkpoint}/files",
        files_per_batch=int(per_batch) if per_batch else None,
        unit=project.unit,
        until=until,
        failures=bool(project.failures),
        options=options,
    )


# --- once over all events --------------------------------------------------------------------


def _batch(work: _Work) -> None:
    project, events, sinks = work.project, work.events, work.sinks
    check_free(events.sparkSession, sinks, overwrite=bool(project.overwrite))
    outputs = frozenset({COMPOSITE, *(sink.output for sink in sinks)})
    several = len(sinks) > 1
    # What is kept for several writers is not observed: Spark tells nothing of how it came about.
    # Nor are rows that it never sees.
    hidden = several or project.reader == "native"
    read = None if hidden else Observation("events")
    source = events if read is None else events.observe(read, F.count(F.lit(1)).alias("rows"))
    found = finite(_job(work, source, outputs))
    found = found.persist() if several else found
    try:
        with _signals() as stop:
            for sink in sinks:
                count = _in_thread(partial(_written, sink, found, project), work.progress, stop)
                name = {COMPOSITE: "composites", BAD: "bad"}[sink.output]
                setattr(work.progress.totals, name, count)
        work.progress.totals.events = int(events.count() if read is None else read.get["rows"])
    finally:
        if several:
            found.unpersist()


def _written(sink: Sink, found: DataFrame, project: Project) -> int:
    counted = Observation(sink.output)
    part = sink.part(found).observe(counted, F.count(F.lit(1)).alias("rows"))
    sink.write(part, overwrite=bool(project.overwrite))
    return int(counted.get["rows"])


def _until(project: Project) -> int | datetime:
    text = str(project.until)
    try:
        return int(text) if project.unit else datetime.fromisoformat(text)
    except ValueError:
        form = f"a number of {project.unit}" if project.unit else "such as 2026-07-01T12:00:00"
        raise ProjectError(f"--until must be {form}; got {text[:80]}") from None


def _in_thread(work: Callable[[], int], progress: Progress, stop: threading.Event) -> int:
    """Do something while the terminal lives on and can stop it."""
    results: list[int] = []
    errors: list[BaseException] = []

    def done() -> None:
        try:
            results.append(work())
        except BaseException as error:  # it is raised where the work was asked for
            errors.append(error)

    thread = threading.Thread(target=done, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_TICK)
        progress.show(note="matching")
        if stop.is_set():
            raise _stopped(stop)
    if errors:
        raise errors[0]
    return results[0]


# --- as a stream -----------------------------------------------------------------------------


def _stream(work: _Work) -> None:
    spark, sinks, progress = work.events.sparkSession, work.sinks, work.progress
    changing = {REFUSED} if work.project.changes else set()
    outputs = frozenset({PROGRESS, *changing, *(sink.output for sink in sinks)})
    with _checkpoint(work.project) as checkpoint:
        check_continued(spark, sinks, checkpoint)
        check_logs(checkpoint)
        found = streamed(_job(work, work.events, outputs, checkpoint))
        heard = _Heard(progress)
        spark.streams.addListener(heard)
        try:
            writer = found.writeStream.option("checkpointLocation", checkpoint)
            writer = writer.trigger(**_trigger(work.project))
            writer = writer.foreachBatch(_Writer(sinks, progress, checkpoint))
            with _signals() as stop:
                _watch(writer.start(), heard, progress, stop)
        except StreamingQueryException as error:
            damage = damage_in(checkpoint)
            if damage is not None:
                error.add_note(damage)
            raise
        finally:
            spark.streams.removeListener(heard)


@contextmanager
def _checkpoint(project: Project) -> Iterator[str]:
    if project.checkpoint is not None:
        yield project.checkpoint
    elif project.output is not None:
        # A name that begins so is not read as data.
        yield f"{project.output.rstrip('/')}/_checkpoint"
    else:
        folder = tempfile.mkdtemp(prefix="cepheid-checkpoint-")
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _trigger(project: Project) -> dict[str, Any]:
    if project.available_now:
        return {"availableNow": True}
    pause = parse_time(project.trigger) // 1000 if project.trigger else 0
    return {"processingTime": f"{pause} milliseconds"}


class _Writer:
    """Called by Spark for every batch: everything to its place."""

    def __init__(self, sinks: list[Sink], progress: Progress, checkpoint: str) -> None:
        self._sinks = sinks
        self._progress = progress
        self._checkpoint = checkpoint
        self._fresh = True

    def __call__(self, found: DataFrame, number: int) -> None:
        found = found.persist()
        try:
            few = found.where(F.col("output").isin(PROGRESS, REFUSED))
            rows = few.select("output", "event", "reason").collect()
            told = merged(row.event for row in rows if row.output == PROGRESS)
            refused = [(row.event, row.reason) for row in rows if row.output == REFUSED]
            counts = {COMPOSITE: told["composites"], LATE: told["late"], BAD: told["bad"]}
            counts[REFUSED] = len(refused)
            for sink in self._sinks:
                # The first batch may be one that was written before a crash, by other rules.
                if counts[sink.output] or self._fresh:
                    sink.write_batch(sink.part(found), number, self._checkpoint)
        finally:
            found.unpersist()
        self._fresh = False
        self._progress.found(number, {**told, "refused": refused})


class _Heard(StreamingQueryListener):
    """Hears from Spark what batches took, and that the stream has ended."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.ended = threading.Event()

    def onQueryStarted(self, event: Any) -> None:  # noqa: ANN401, N802 (Spark's name)
        """It has begun."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: ANN401, N802 (Spark's name)
        """A batch is done, or there was nothing to do."""
        told = event.progress
        seconds = dict(told.durationMs).get("triggerExecution", 0) / 1000
        self._progress.took(told.batchId, told.numInputRows, seconds)

    def onQueryIdle(self, event: Any) -> None:  # noqa: ANN401, N802 (Spark's name)
        """There is nothing to do."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: ANN401, N802 (Spark's name)
        """It has ended."""
        self.ended.set()


def _watch(query: StreamingQuery, heard: _Heard, progress: Progress, stop: threading.Event) -> None:
    try:
        while not query.awaitTermination(_TICK):  # type: ignore[arg-type]  # Spark takes parts of seconds
            progress.show()
            if stop.is_set():
                raise _stopped(stop)
        heard.ended.wait(_PATIENCE)
    finally:
        # A batch that is not done is left; it is repeated when the stream goes on.
        with suppress(Exception):
            query.stop()


# --- signals ---------------------------------------------------------------------------------


class _Stop(threading.Event):
    number = int(signal.SIGINT)


def _stopped(stop: threading.Event) -> Stopped:
    return Stopped(getattr(stop, "number", int(signal.SIGINT)))


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """Ctrl-C and a request to terminate set an event, the second time they end the process."""
    stop = _Stop()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.number = number
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
