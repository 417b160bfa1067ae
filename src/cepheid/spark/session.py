"""Sessions: Spark as a job needs it, started quietly, with a clear word when Java is not there."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shlex
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cepheid.errors import ProjectError
from cepheid.spark.daemon import STRATEGIES
from cepheid.spark.java import check_java
from cepheid.spark.project import OPTIONS, Project, has_scheme

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cepheid.rules import Rules

_SCALA = "2.13"
_THROWN = re.compile(r'Exception in thread "main" [\w.$]+: (.+)')
_UNRESOLVED = re.compile(
    r"(?:unresolved dependency: ([^:\s]+): not found|download failed: ([^!\s]+)!)"
)
_PACKAGES = "spark.jars.packages"
_KAFKA = "spark-sql-kafka-0-10"
_DELTA = "delta-spark"
_CONNECTOR = (
    f"\n  Kafka's connector is of the version of Spark; --packages "
    f"org.apache.spark:{_KAFKA}_{_SCALA}:VERSION takes another one"
)
_CONNECT_PORT = 15002
_PATIENCE = 10.0
"""How many seconds a server has to answer."""
_STATE = "spark.sql.streaming.stateStore"
_SETTINGS = {
    # The operator that holds shards needs RocksDB; with the log of changes a batch writes what
    # changed and not the whole state.
    f"{_STATE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    # Times without a zone are of UTC everywhere in Cepheid.
    "spark.sql.session.timeZone": "UTC",
    # Readers other than Spark then know the zone, too.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.showConsoleProgress": "false",
    # Over TCP, small pieces between the JVM and Python wait 40 ms for each other.
    "spark.python.unix.domain.socket.enabled": "true",
    # With a limit, Spark asks for the size of all that waits for Python after every single row;
    # with the largest number there is none, and a batch is as many rows as ever.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    # Workers come with the engine loaded.
    "spark.python.daemon.module": "cepheid.spark.daemon",
}
"""What a job on this machine alone is better with."""


# --- what spark-submit is told --------------------------------------------------------------


def submit_arguments(project: Project) -> list[str]:
    """What spark-submit is told for a project."""
    options = dict(project.submit)
    conf = {**settings_of(project), **options.pop("conf", {})}
    packages = [*_given_packages(project), *_own_packages(project)]
    options.pop("packages", None)
    conf.pop(_PACKAGES, None)  # they are in the option, which Spark would take instead
    arguments = ["--master", str(options.pop("master", None) or _master(conf))]
    options.setdefault("name", "cepheid")
    for name, value in options.items():
        if value is not False:
            flag = f"--{name.replace('_', '-')}"
            arguments += [flag] if value is True else [flag, str(value)]
    if packages:
        arguments += ["--packages", ",".join(packages)]
    for key, value in conf.items():
        if key != "spark.master":
            arguments += ["--conf", f"{key}={value}"]
    return [*arguments, "pyspark-shell"]


def _master(conf: Mapping[str, str]) -> str:
    return conf.get("spark.master") or os.environ.get("SPARK_MASTER") or "local[*]"


def settings_of(project: Project) -> dict[str, str]:
    """The settings of Spark that a job is better with; the user's own win."""
    found = dict(_SETTINGS)
    cores = local_cores(master_of(project))
    if cores:
        found.update(_LOCAL)
    shards = project.shards or cores
    if shards:
        found["spark.sql.shuffle.partitions"] = str(shards)
    if "delta" in (project.format, project.output_format):
        found["spark.sql.extensions"] = "io.delta.sql.DeltaSparkSessionExtension"
        found["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    return found


def master_of(project: Project) -> str:
    """Where a job runs."""
    if "remote" in project.submit:
        return str(project.submit["remote"])
    return str(project.submit.get("master") or _master(project.submit.get("conf", {})))


def placed(project: Project) -> Project:
    """The project with paths that Spark understands as the user does.

    On this machine they start from the current folder; elsewhere from where Spark's files are.
    """
    if not local_cores(master_of(project)):
        return project
    paths = {name: getattr(project, name) for name, own in OPTIONS.items() if own.kind == "path"}
    own = {
        name: path if path is None or has_scheme(path) else os.path.abspath(path)  # noqa: PTH100
        for name, path in paths.items()
    }
    return replace(project, **own)


def local_cores(master: str) -> int | None:
    """How many cores a job in this process has; None when it runs elsewhere.

    >>> local_cores("local[3]"), local_cores("local"), local_cores("spark://host:7077")
    (3, 1, None)
    """
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if not found:
        return None
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)


def _given_packages(project: Project) -> tuple[str, ...]:
    """The packages that the user names, as an option or as a setting of Spark."""
    set_ = str(project.submit.get("conf", {}).get(_PACKAGES, ""))
    named = (*project.submit.get("packages", ()), *set_.split(","))
    return tuple(dict.fromkeys(name.strip() for name in named if name.strip()))


def _given_jars(project: Project) -> Iterator[str]:
    """The jars that the user names, and those that lie in Spark's own folder."""
    yield str(project.submit.get("jars", ""))
    yield str(project.submit.get("conf", {}).get("spark.jars", ""))
    yield str(project.submit.get("driver_class_path", ""))
    found = importlib.util.find_spec("pyspark")
    for folder in found.submodule_search_locations or () if found else ():
        for name in (_KAFKA, _DELTA):
            yield from (jar.name for jar in Path(folder, "jars").glob(f"{name}*.jar"))


def _own_packages(project: Project) -> Iterator[str]:
    """The packages that formats need, unless the user says where they are."""
    formats = {project.format, project.output_format}
    given = ",".join([*_given_packages(project), *_given_jars(project)])
    if "kafka" in formats and _KAFKA not in given:
        version = importlib.metadata.version("pyspark")
        yield f"org.apache.spark:{_KAFKA}_{_SCALA}:{version}"
    if "delta" in formats and _DELTA not in given:
        try:
            version = importlib.metadata.version(_DELTA)
            yield delta_package(version, importlib.metadata.version("pyspark"))
        except importlib.metadata.PackageNotFoundError:
            raise ProjectError(
                "format delta needs Delta Lake for this version of Spark\n\n"
                f"hint: pip install {_DELTA}, or name it: --packages "
                f"{delta_package('VERSION', importlib.metadata.version('pyspark'))}"
            ) from None


def delta_package(delta: str, spark: str) -> str:
    """The package of a version of Delta Lake for a version of Spark.

    >>> delta_package("4.3.1", "4.1.1"), delta_package("4.0.1", "4.0.2")
    ('io.delta:delta-spark_4.1_2.13:4.3.1', 'io.delta:delta-spark_2.13:4.0.1')
    """
    # Since 4.1 there is one for each version of Spark, with that in its name.
    is_old = re.match(r"[0-3]\.|4\.0\.", delta)
    for_spark = "" if is_old else f"{'.'.join(spark.split('.')[:2])}_"
    return f"io.delta:{_DELTA}_{for_spark}{_SCALA}:{delta}"


# --- the session ----------------------------------------------------------------------------


@contextmanager
def started(
    project: Project, rules: Rules, say: Callable[[str], None]
) -> Iterator[tuple[SparkSession, Path | None]]:
    """A session for a project, and where Spark's own messages go.

    A session that is there already is used and left alone.
    """
    from pyspark.sql import SparkSession

    there = SparkSession.getActiveSession()
    if there is not None:
        yield there, None
        return
    if "remote" in project.submit:
        with _connected(SparkSession, project, say) as spark:
            yield spark, None
        return
    check_java()
    if local_cores(master_of(project)) and "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ[STRATEGIES] = _strategies(rules)
    os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join(submit_arguments(project))
    log = None if project.verbose else _log_file()
    say(f"Starting Spark on {master_of(project)}")
    spark = _start(SparkSession, log)
    try:
        spark.sparkContext.setLogLevel("WARN" if project.verbose else "ERROR")
        yield spark, log
    finally:
        spark.stop()


@contextmanager
def _connected(
    session: Any,  # noqa: ANN401 (imported late)
    project: Project,
    say: Callable[[str], None],
) -> Iterator[SparkSession]:
    """A session of a server that runs already; what cannot be set there any more stays."""
    url = master_of(project)
    place = url.partition("/;")[0]  # what follows may hold a token
    say(f"Connecting to {place}")
    _check_there(place)
    try:
        spark: SparkSession = session.builder.remote(url).getOrCreate()
        own = {**settings_of(project), **project.submit.get("conf", {})}
        for name, value in own.items():
            if spark.conf.isModifiable(name):
                spark.conf.set(name, value)
    except ImportError as error:
        raise ProjectError(
            f"--remote needs the client of Spark Connect: {error}\n\n"
            "hint: pip install 'pyspark[connect]'"
        ) from error
    except Exception as error:
        told = str(error).strip().splitlines() or [repr(error)]
        raise ProjectError(f"the server at {place} gives no session: {told[0][:500]}") from error
    try:
        yield spark
    finally:
        spark.stop()


def _check_there(url: str) -> None:
    """Raise if nobody listens; Spark's client would try for minutes."""
    try:
        place = urlsplit(url)
        host, port = place.hostname or "localhost", place.port or _CONNECT_PORT
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except (OSError, ValueError) as error:
        raise ProjectError(
            f"there is no server of Spark Connect at {url}: {error}\n\n"
            f"hint: start-connect-server.sh starts one; its port is {_CONNECT_PORT} unless told "
            "otherwise"
        ) from error


def _strategies(rules: Rules) -> str:
    """What workers should have loaded: the strategies alone, and together if there are several."""
    from cepheid.kernel.ready import flags, written

    patterns = {type(rule.pattern) for rule in rules}
    sets = {*(flags([pattern]) for pattern in patterns), flags(patterns)}
    return ",".join(sorted(map(written, sets)))


def _start(session: Any, log: Path | None) -> SparkSession:  # noqa: ANN401 (imported late)
    """Start Spark; what its processes say from here on goes to the log."""
    try:
        with _said_to(log):
            spark: SparkSession = session.builder.getOrCreate()
    except Exception as error:
        raise ProjectError(f"Spark does not start: {_reason(error, log)}") from error
    return spark


def _reason(error: Exception, log: Path | None) -> str:
    """Why Spark does not start: what Java said at last, which the error does not know."""
    if log is None:
        return str(error)
    told = _THROWN.findall(log.read_text("utf-8", errors="replace"))
    log_end = f"{error}\n\n{tail(log)}\n\nhint: --verbose shows everything"
    if not told:
        return log_end
    missing = _UNRESOLVED.findall(told[-1])
    if not missing:
        return f"{told[-1][:500]}\n\nhint: --verbose shows everything"
    whole = dict.fromkeys(name or part for name, part in missing)
    names = [name.replace("#", ":").replace(";", ":") for name in whole]
    return (
        f"packages are not in the repositories: {', '.join(names)}\n\n"
        "hint: name others with --packages, files with --jars, or a repository with --repositories"
        f"{_CONNECTOR if any(_KAFKA in name for name in names) else ''}"
        f"{_made_for() if any(_DELTA in name for name in names) else ''}"
    )


def _made_for() -> str:
    """Which versions of Spark the Delta Lake that is installed is made for."""
    spark = importlib.metadata.version("pyspark")
    try:
        wanted = [own for own in importlib.metadata.requires(_DELTA) or () if "pyspark" in own]
    except importlib.metadata.PackageNotFoundError:
        wanted = []
    asked = f"; {_DELTA} as it is installed asks for {wanted[0]}" if wanted else ""
    return f"\n  Delta Lake is made for each version of Spark, and this is Spark {spark}{asked}"


def _log_file() -> Path:
    handle, name = tempfile.mkstemp(prefix="cepheid-run-", suffix=".log")
    os.close(handle)
    return Path(name)


@contextmanager
def _said_to(log: Path | None) -> Iterator[None]:
    """Processes that are started meanwhile keep the log as their standard outputs."""
    if log is None:
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [(own, os.dup(own)) for own in (1, 2)]
    target = os.open(log, os.O_WRONLY | os.O_APPEND)
    try:
        for own, _ in kept:
            os.dup2(target, own)
        yield
    finally:
        for own, before in kept:
            os.dup2(before, own)
            os.close(before)
        os.close(target)


def tail(log: Path, lines: int = 12) -> str:
    """The end of what Spark said."""
    told = log.read_text("utf-8", errors="replace").splitlines()
    return "\n".join(f"  {line[:300]}" for line in told[-lines:])
