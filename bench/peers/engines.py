"""The engines as commands: each runs in a process of its own and prints one line of JSON.

One core is `taskset -c 0`: threads of a JVM's compiler and collector share it, as they do with the
threads of a Python process. All JVMs get the same heap and their own choice of collector.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers.contest import Contest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
HEAP = "4g"
# What Flink's own scripts open to it on Java 17 (its configuration `env.java.opts.all`).
OPENS = ("java.lang", "java.util", "java.time", "java.text", "java.net", "java.nio", "java.io")
LONGEST = 600
"""Seconds after which a process is given up."""


class EngineError(Exception):
    """An engine that did not come to an end."""


@dataclass(frozen=True)
class Plan:
    """How many events there are and answers are compared on; how long and how often to run."""

    count: int
    checked: int
    budget: float = 3.0
    repeat: int = 3


@dataclass(frozen=True)
class Engine:
    """How an engine is called. `rules` is the name under which contests tell it what to do; those
    of Cepheid itself need none.
    """

    name: str
    rules: str
    cores: int = 1
    module: str = ""
    main: str = ""
    options: tuple[str, ...] = ()

    def takes_part(self, contest: Contest) -> bool:
        """Whether it runs in a contest; two cores are for what the pipeline is measured on."""
        if self.cores > 1 and not contest.pipeline:
            return False
        return not self.rules or self.rules in contest.engines

    def command(self, contest: Contest, folder: Path, answers: Path, plan: Plan) -> list[str]:
        """The process."""
        given = [str(answers), str(plan.checked), str(plan.budget), str(plan.repeat)]
        cores = "0" if self.cores == 1 else f"0-{self.cores - 1}"
        pinned = ["taskset", "-c", cores] if shutil.which("taskset") else []
        if not self.module:
            own = [sys.executable, "-m", self.main, contest.name, str(plan.count)]
            return [*pinned, *own, *given, *self.options]
        opens = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENS]
        java = ["java", f"-Xmx{HEAP}", *opens, *self.options, "-cp", classpath(self.module)]
        return [*pinned, *java, self.main, str(folder), *given]

    def run(self, contest: Contest, folder: Path, answers: Path, plan: Plan) -> dict[str, Any]:
        """Measure; what the process says on its last line."""
        command = self.command(contest, folder, answers, plan)
        paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        environment = os.environ | {"PYTHONPATH": paths}
        try:
            ran = subprocess.run(  # noqa: S603 (commands made here)
                command,
                capture_output=True,
                text=True,
                check=False,
                cwd=ROOT,
                env=environment,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired as error:
            raise EngineError(f"{self.name} ran for more than {LONGEST} s") from error
        if ran.returncode or not ran.stdout.strip():
            raise EngineError(f"{self.name} ended with {ran.returncode}: {_said(ran.stderr)}")
        found: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
        return found


def _said(text: str) -> str:
    """The lines of an error that say most: causes of a Java exception, or the last one."""
    lines = text.strip().splitlines()
    causes = [line for line in lines if line.startswith(("Caused by:", "Exception"))]
    return " | ".join(causes[-2:] or lines[-1:])


def classpath(module: str) -> str:
    """A module's classes and everything that it needs."""
    target = HERE / module / "target"
    return f"{target / 'classes'}{os.pathsep}{(target / 'classpath.txt').read_text('utf-8')}"


def build(modules: set[str]) -> None:
    """Compile the runners with Maven, unless they are newer than their sources."""
    stale = [module for module in sorted(modules) if _stale(module)]
    if not stale:
        return
    if not shutil.which("mvn"):
        raise EngineError(
            "peers must be built with Maven; got no mvn\n\nhint: install Java 17 and Maven"
        )
    print(f"building {', '.join(stale)} …", file=sys.stderr, flush=True)
    command = ["mvn", "-q", "-B", "package", "-pl", ",".join(stale), "-am"]
    ran = subprocess.run(  # noqa: S603 (a command made here)
        command, cwd=HERE, capture_output=True, text=True, check=False
    )
    if not ran.returncode:
        for module in stale:
            (HERE / module / "target" / "built").touch()
    else:
        raise EngineError(f"Maven could not build {', '.join(stale)}:\n{ran.stdout[-2000:]}")


def _stale(module: str) -> bool:
    made = HERE / module / "target" / "built"
    if not made.exists():
        return True
    sources = [HERE / "pom.xml"]
    for name in ("core", module):
        sources += [HERE / name / "pom.xml", *(HERE / name / "src").rglob("*.java")]
    return any(source.stat().st_mtime > made.stat().st_mtime for source in sources)


def _flink(name: str, cores: int, *, sql: bool) -> Engine:
    options = (f"-Dslots={cores}", f"-Dsql={str(sql).lower()}")
    rules = "flink-sql" if sql else "flink"
    return Engine(name, rules, cores, "flink", "peers.FlinkRunner", options)


CEPHEID = Engine("cepheid", "", main="bench.peers.own")
SPARK = Engine("cepheid on spark", "", 2, main="bench.peers.pipeline")
FRAME = Engine("cepheid on a dataframe", "", 2, main=SPARK.main, options=("dataframe",))
ENGINES = (
    CEPHEID,
    Engine("esper", "esper", module="esper", main="peers.EsperRunner"),
    _flink("flink", 1, sql=False),
    _flink("flink-sql", 1, sql=True),
    Engine("siddhi", "siddhi", module="siddhi", main="peers.SiddhiRunner"),
    Engine("duckdb", "duckdb", main="bench.peers.relational"),
    SPARK,
    FRAME,
    _flink("flink 2 slots", 2, sql=False),
    _flink("flink-sql 2 slots", 2, sql=True),
)
OWN = frozenset(engine.name for engine in ENGINES if not engine.rules)
"""The names under which Cepheid takes part."""
