"""A shard: an engine with the rules of a group, and the events that were routed to it.

It takes the messages of a batch and gives what was found and what was late. Its state is a
snapshot and a log of the messages since then: what is written in a batch is in proportion to the
new events, however many are alive, and a snapshot is taken when the log has outgrown the last one.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cepheid.errors import SnapshotError
from cepheid.rules import Rules
from cepheid.runtime.arrival import Heard
from cepheid.runtime.engine import Engine, restore
from cepheid.spark.changes import Units
from cepheid.spark.messages import CHANGE, EVENTS, HEARD, heard_of, rows_of, table_of
from cepheid.spark.plan import Group, Plan
from cepheid.spark.route import has_key
from cepheid.tables.arrow import Arrow
from cepheid.tables.table import Table, concat

_HEAD = struct.Struct("<iq")
"""The kind and the length of a message in a record of the log."""
_LENGTH = 8
"""How many bytes tell the length of what precedes an engine in a snapshot."""


@dataclass(frozen=True)
class Outcome:
    """What came of a batch: composite events as a table of Arrow, late events.

    `refused` are the changes of rules that were not taken, with the reason; `rows` is how many
    rows the whole batch had, wherever they went.
    """

    composites: Arrow
    late: Table
    refused: tuple[tuple[str, str], ...] = ()
    rows: int = 0


class Shard:
    """The engine of one shard of a plan."""

    def __init__(
        self, plan: Plan, name: str, engine: Engine | None = None, units: Units | None = None
    ) -> None:
        self.plan, self.name = plan, name
        self.group: Group = plan.shards[name]
        self.engine = new_engine(plan, self.group) if engine is None else engine
        self.units = units or Units({"": [rule.name for rule in self.group.rules]})
        # Events without a key go to all shards; what they make alone is told by the first.
        self.is_first = self.group.shards[0] == name
        gaps = self.group.gaps_go_everywhere and not self.is_first
        self._here = partial(has_key, self.group) if gaps else None

    def take(self, messages: Sequence[tuple[int, bytes]]) -> Outcome:
        """Take the messages of a batch, in any order; changes of rules come first."""
        changes = [payload for kind, payload in messages if kind == CHANGE]
        refused = tuple(self.units.apply(changes, self.engine, self.group))
        tables = [table_of(payload) for kind, payload in messages if kind == EVENTS]
        heard = [payload for kind, payload in messages if kind == HEARD]
        outcome = self.take_tables(tables, heard_of(heard))
        told = refused if self.is_first else ()
        return replace(outcome, refused=told, rows=rows_of(heard))

    def take_tables(self, tables: Sequence[Table], heard: Heard) -> Outcome:
        """The same for messages that have been read."""
        found = self.engine.push_part(concat(tables), self.plan.form, heard, self._here)
        return Outcome(found, self.engine.take_late_table())

    # --- state -----------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The state as a whole."""
        units = json.dumps(self.units.names).encode()
        return len(units).to_bytes(_LENGTH, "little") + units + self.engine.snapshot()

    def replay(self, record: bytes) -> None:
        """Take the messages of a record of the log once more."""
        self.take(unpacked(record))

    def settle(self, group: Group) -> bool:
        """Let the engine have the rules of a group; whether that changed anything.

        An open group has the rules that its changes gave it.
        """
        if group.open:
            return False
        known = {rule.name: rule for rule in self.engine.rules}
        wanted = {rule.name: rule for rule in group.rules}
        if known == wanted:
            return False
        for name in known.keys() - wanted.keys():
            self.engine.remove(name)
        new = tuple(rule for name, rule in wanted.items() if known.get(name) != rule)
        if new:
            self.engine.replace(Rules(new, self.plan.schema))
        return True


def new_engine(plan: Plan, group: Group) -> Engine:
    """An engine for a group that has seen nothing."""
    return Engine.of(Rules(group.rules, plan.schema), plan.settings)


def restored(plan: Plan, name: str, snapshot: bytes, log: Iterable[bytes]) -> Shard:
    """A shard as it stood when the last record of the log was written."""
    size = int.from_bytes(snapshot[:_LENGTH], "little")
    try:
        engine = restore(snapshot[_LENGTH + size :])
        units = Units(json.loads(snapshot[_LENGTH : _LENGTH + size]))
    except (SnapshotError, ValueError) as error:
        raise SnapshotError(f"state of shard {name}: {error}") from None
    _check_settings(plan, name, engine)
    shard = Shard(plan, name, engine, units)
    for record in log:
        shard.replay(record)
    return shard


def _check_settings(plan: Plan, name: str, engine: Engine) -> None:
    before, now = engine.settings.state(), plan.settings.state()
    changed = [
        key for key in now if now[key] != before[key] and key not in ("limits", "rule_limits")
    ]
    if changed:
        told = "; ".join(f"{key} was {before[key]!r} and is {now[key]!r}" for key in changed)
        raise SnapshotError(
            f"settings must be those with which the checkpoint was written; {told} "
            f"(found in the state of shard {name})\n\n"
            "hint: start with the old settings, or with a new checkpoint"
        )


def packed(messages: Sequence[tuple[int, bytes]]) -> bytes:
    """Messages as a record of the log."""
    return b"".join(_HEAD.pack(kind, len(payload)) + payload for kind, payload in messages)


def unpacked(record: bytes) -> list[tuple[int, bytes]]:
    """The messages of a record of the log."""
    found, at = [], 0
    while at < len(record):
        if at + _HEAD.size > len(record):
            raise _cut(len(record))
        kind, length = _HEAD.unpack_from(record, at)
        at += _HEAD.size
        if length < 0 or at + length > len(record):
            raise _cut(len(record))
        found.append((kind, record[at : at + length]))
        at += length
    return found


def _cut(length: int) -> SnapshotError:
    return SnapshotError(
        f"record of a shard's log must hold whole messages; it ends after {length} bytes within one"
        "\n\nhint: start from an earlier batch of the checkpoint, or with a new one"
    )


def late_rows(late: Table) -> list[str]:
    """Late events as JSON texts."""
    found = []
    for row in range(len(late)):
        event = late.event(row)
        own = {"type": event.type, "ts": event.end, "start": event.start, "id": event.id}
        found.append(json.dumps({**own, **event.attributes}, default=str))
    return found
