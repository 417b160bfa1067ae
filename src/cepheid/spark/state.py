"""State: what a shard keeps in Spark's store from one micro-batch to the next.

One map holds everything: a head, the pieces of a snapshot, and the records of a log. There is one
because Spark opens every part of a state anew in every batch, which costs more than what is in it.

The engine itself stays in the process. Spark gives a shard now to one of its processes and now to
another: an engine that has missed some batches takes their records from the log, and only a process
that never had the shard, or not since the last snapshot, reads everything back.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql.types import BinaryType, StringType, StructType

from cepheid.errors import SnapshotError
from cepheid.spark.plan import Plan
from cepheid.spark.shard import Shard, opened, restored, sealed

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle

# Given as texts, they would be read by Spark's other process, twice each in every batch.
_KEY = StructType().add("part", StringType())
_VALUE = StructType().add("bytes", BinaryType())
_PIECE_SIZE = 1 << 23
"""The size of the pieces in which a snapshot is stored."""
_LEAST_LOG = 1 << 16
"""A log is not worth a snapshot before it has so many bytes."""
_GROWN = 2
"""How many times as large as the snapshot a log may become: what is written for an event is the
event and its share of a snapshot, and what is read after a crash is both."""
_MOST_RECORDS = 256
"""A log is not longer than so many batches, however small they are."""
_UNUSED = 64
"""So many batches later, an engine that other processes have gone on with is given up."""
_HEAD = "head"


@dataclass(frozen=True)
class Head:
    """What the store knows of a shard.

    `line` stands for the snapshot, `token` for everything up to the last record: that of a record
    follows from the one before and its bytes.
    """

    line: str = ""
    token: str = ""
    pieces: int = 0
    snapshot_bytes: int = 0
    records: int = 0
    log_bytes: int = 0

    @property
    def is_due(self) -> bool:
        """Whether the log has outgrown the snapshot."""
        grown = self.log_bytes > max(_GROWN * self.snapshot_bytes, _LEAST_LOG)
        return grown or self.records >= _MOST_RECORDS


@dataclass
class _Kept:
    """An engine of this process, and up to where it has come."""

    shard: Shard
    records: int
    token: str
    age: int = 0


_KEPT: dict[str, _Kept] = {}
"""The engines of this process, by the line that they come from."""


class State:
    """The state of whatever shard Spark's operator is at."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._parts: MapState = handle.getMapState("shard", _KEY, _VALUE)

    def text(self) -> str | None:
        """The text that stands alone under a key, if there is one."""
        found = self._get(_HEAD)
        return None if found is None else opened(found)[0].decode()

    def put_text(self, text: str) -> None:
        """Let a text stand alone under a key."""
        self._put(_HEAD, sealed(text.encode()))

    def shard(self, plan: Plan, name: str) -> tuple[Shard, Head, bool]:
        """A shard as the last batch left it, and whether it must be written as a whole."""
        written = self.text()
        if written is None:
            return Shard(plan, name), Head(), True
        head = Head(**json.loads(written))
        shard = self._caught_up(head)
        if shard is None:
            shard = self._restored(plan, name, head)
            return shard, head, shard.take_rules()
        return shard, head, shard.settle(plan)

    def _caught_up(self, head: Head) -> Shard | None:
        """The engine of this process, after what it has missed; None if it took another way."""
        kept = _KEPT.pop(head.line, None)
        if kept is None or kept.records > head.records:
            return None
        missed = [self._get(_record(number)) or b"" for number in range(kept.records, head.records)]
        token = kept.token
        for record in missed:
            token = _next(token, record)
        if token != head.token:
            return None
        for record in missed:
            kept.shard.replay(record)
        return kept.shard

    def _restored(self, plan: Plan, name: str, head: Head) -> Shard:
        pieces = [self._get(_piece(number)) for number in range(head.pieces)]
        log = [self._get(_record(number)) for number in range(head.records)]
        snapshot = b"".join(piece or b"" for piece in pieces)
        records = [record or b"" for record in log]
        wanted = (head.snapshot_bytes, head.records, head.log_bytes)
        found = (len(snapshot), len(log) - log.count(None), sum(map(len, records)))
        if wanted != found:
            raise SnapshotError(
                f"state of shard {name} must be a snapshot of {wanted[0]} bytes and {wanted[1]} "
                f"records of {wanted[2]} bytes; got {found[0]}, {found[1]} and {found[2]}\n\n"
                "hint: start from an earlier batch of the checkpoint, or with a new one"
            )
        return restored(plan, name, snapshot, records)

    def write(self, shard: Shard, head: Head, record: bytes, *, fresh: bool) -> Head:
        """Keep a shard that took the messages of a record; as a whole where that is due."""
        size, token = head.log_bytes + len(record), _next(head.token, record)
        head = replace(head, token=token, records=head.records + 1, log_bytes=size)
        if fresh or head.is_due:
            head = self._write_whole(shard, head)
        else:
            self._put(_record(head.records - 1), record)
        self.put_text(json.dumps(asdict(head)))
        _keep(shard, head)
        return head

    def _write_whole(self, shard: Shard, head: Head) -> Head:
        snapshot = shard.snapshot()
        self._parts.clear()
        places = range(0, len(snapshot), _PIECE_SIZE)
        for number, at in enumerate(places):
            self._put(_piece(number), snapshot[at : at + _PIECE_SIZE])
        return Head(uuid.uuid4().hex, head.token, len(places), len(snapshot))

    def _get(self, part: str) -> bytes | None:
        found = self._parts.getValue((part,))
        return None if found is None else bytes(found[0])

    def _put(self, part: str, content: bytes) -> None:
        self._parts.updateValue((part,), (content,))


def _piece(number: int) -> str:
    return f"snapshot {number}"


def _record(number: int) -> str:
    return f"log {number}"


def _next(token: str, record: bytes) -> str:
    return hashlib.blake2b(record, digest_size=16, key=token.encode()).hexdigest()


def _keep(shard: Shard, head: Head) -> None:
    for line, kept in list(_KEPT.items()):
        kept.age += 1
        if kept.age > _UNUSED * max(1, len(shard.plan.shards)):
            del _KEPT[line]
    _KEPT[head.line] = _Kept(shard, head.records, head.token)
