"""A broker of Kafka for tests: fetched with Maven, started on loopback, used with its own tools.

Nothing of it is in the repository: jars are where Maven keeps them, data in a temporary folder.
"""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from cepheid.spark.java import java_command
from tests.cases import ROOT

FETCH_LIMIT = 900
"""How many seconds Maven may take; the first time it fetches some 60 MB."""
START_LIMIT = 180
TOOL_LIMIT = 180
MEMORY = "-Xmx384m"
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""


class NotFetched(Exception):  # noqa: N818 (tests are skipped then; nothing is wrong)
    """What a test needs cannot be had here."""


def fetched(pom: str, folder: Path, **properties: str) -> str:
    """The class path of a pom in tests; Maven fetches what it does not have."""
    maven = shutil.which("mvn")
    if maven is None:
        raise NotFetched("Maven must be installed: there is no command mvn")
    told = folder / "classpath"
    own = [f"-D{name.replace('_', '.')}={value}" for name, value in properties.items()]
    command = [maven, "-q", "-B", "-f", str(ROOT / "tests" / pom), *own]
    command += ["dependency:build-classpath", f"-Dmdep.outputFile={told}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=FETCH_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotFetched(f"Maven did not fetch {pom} within {FETCH_LIMIT} s") from None
    if done.returncode:
        reason = next((line for line in done.stdout.splitlines() if "ERROR" in line), "")
        raise NotFetched(f"Maven cannot fetch {pom}: {reason[:300]}")
    return told.read_text()


@dataclass(frozen=True)
class Broker:
    """A broker that runs, and what its console tools do with it."""

    classpath: str
    port: int

    @property
    def servers(self) -> str:
        """What clients are told."""
        return f"127.0.0.1:{self.port}"

    def address(self, topic: str) -> str:
        """What `cepheid run` is told."""
        return f"kafka://{self.servers}/{topic}"

    def create(self, topic: str, partitions: int = 1) -> None:
        """Make a topic."""
        self._tool("TopicCommand", "--create", "--topic", topic, "--partitions", str(partitions))

    def send(self, topic: str, values: Iterable[str]) -> None:
        """Put messages into a topic, in their order where it has one partition."""
        lines = "".join(f"{value}\n" for value in values)
        self._tool("ConsoleProducer", "--topic", topic, said=lines)

    def received(self, topic: str) -> list[tuple[str, str]]:
        """All messages of a topic, with their keys."""
        count = self._count(topic)
        if not count:
            return []
        options = ["--from-beginning", "--max-messages", str(count), "--timeout-ms", "60000"]
        options += ["--formatter-property", "print.key=true"]
        said = self._tool("consumer.ConsoleConsumer", "--topic", topic, *options)
        return [(key, value) for key, _, value in (li.partition("\t") for li in said.splitlines())]

    def _count(self, topic: str) -> int:
        """How many messages a topic has; its lines are topic:partition:offset."""
        lines = self._tool("GetOffsetShell", "--topic", topic).splitlines()
        return sum(int(line.rpartition(":")[2]) for line in lines)

    def _tool(self, name: str, *options: str, said: str = "") -> str:
        own = [f"org.apache.kafka.tools.{name}", "--bootstrap-server", self.servers, *options]
        done = subprocess.run(
            [*_java(self.classpath), *own],
            input=said,
            capture_output=True,
            text=True,
            timeout=TOOL_LIMIT,
            check=False,
        )
        assert not done.returncode, done.stdout[-1000:] + done.stderr[-2000:]
        return done.stdout


def _java(classpath: str) -> list[str]:
    # Its own compiler would take longer than such short programs run.
    return [java_command() or "java", MEMORY, "-XX:TieredStopAtLevel=1", "-cp", classpath]


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """A broker with nothing in it, as long as the block lasts."""
    classpath = fetched("kafka/pom.xml", folder)
    port, controller = _free_ports()
    settings = folder / "server.properties"
    settings.write_text(_PROPERTIES.format(port=port, controller=controller, folder=folder))
    number = "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:22]
    log = folder / "broker.log"
    with log.open("wb") as said:
        format_ = ["kafka.tools.StorageTool", "format", "-t", number, "-c", str(settings)]
        command = [*_java(classpath), *format_]
        subprocess.run(command, stdout=said, stderr=said, timeout=TOOL_LIMIT, check=True)
        command = [*_java(classpath), "kafka.Kafka", str(settings)]
        process = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        _wait_for(port, process, log)
        yield Broker(classpath, port)
    finally:
        process.kill()
        process.wait()


def _free_ports() -> tuple[int, int]:
    with closing(socket.socket()) as one, closing(socket.socket()) as other:
        for own in (one, other):
            own.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_LIMIT
    while time.monotonic() < end and process.poll() is None:
        with closing(socket.socket()) as own:
            if own.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"the broker does not start: {log.read_text()[-2000:]}")


def read_values(messages: Iterable[tuple[str, str]]) -> list[dict[str, object]]:
    """Values of messages that are JSON; each has its id as the key."""
    found = [(key, json.loads(value)) for key, value in messages]
    assert all(key == row["id"] for key, row in found)
    return [row for _, row in found]
