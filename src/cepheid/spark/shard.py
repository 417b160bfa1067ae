"""A shard: an engine with the rules of a group, and the events that were routed to it.

It takes the messages of a batch and gives what was found and what was late. Its state is a
snapshot and a log of the messages since then: what is written in a batch is in proportion to the
new events, however many are alive, and a snapshot is taken when the log has outgrown the last one.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cepheid.errors import SnapshotError
from cepheid.rules import Rules
from cepheid.runtime.arrival import Heard
from cepheid.runtime.engine import Engine, restore
from cepheid.runtime.matcher import Here
from cepheid.spark.changes import Units
from cepheid.spark.messages import CHANGE, EVENTS, HEARD, heard_of, rows_of, table_of
from cepheid.spark.plan import Group, Plan
from cepheid.spark.route import Router, has_key, is_no_others
from cepheid.tables.arrow import Arrow
from cepheid.tables.table import Table, concat

_HEAD = struct.Struct("<iq")
"""The kind and the length of a message in a record of the log."""
_SEAL = struct.Struct("<qI")
"""The length and the checksum of what is sealed."""


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
        self.name = name
        self._use(plan)
        self.engine = new_engine(plan, self.group) if engine is None else engine
        self.units = units or Units({"": [rule.name for rule in self.group.rules]})

    def _use(self, plan: Plan) -> None:
        self.plan = plan
        self.group: Group = plan.shards[self.name]
        # Events without a key go to all shards; what they make alone is told by the first.
        self.is_first = self.group.shards[0] == self.name
        self._here: Here | None = None
        if self.is_first and self.group.forbidding:
            self._here = partial(is_no_others, self.group)
        elif self.group.gaps_go_everywhere and not self.is_first:
            self._here = partial(has_key, self.group)

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
        found = self.engine.push_part(
            concat(tables), self.plan.form, heard, self._here, whole=self.is_first
        )
        late = self.engine.take_late_table()
        return Outcome(found, self._own(late) if len(late) else late)

    def _own(self, late: Table) -> Table:
        """The late events that this shard tells of; others that have them, too, do not."""
        own = Router(self.plan).comes_first(self.group, late)
        if self._here is not None:
            own &= self._here(late)
        return late.take(np.flatnonzero(own))

    def advance(self, time: int) -> Any:  # noqa: ANN401 (a table of Arrow)
        """What happens up to a moment, after the last batch of a finite table."""
        return self.engine.advance_part(time, self.plan.form, self._here, whole=self.is_first)

    # --- state -----------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The state as a whole."""
        return sealed(json.dumps(self.units.names).encode()) + self.engine.snapshot()

    def replay(self, record: bytes) -> None:
        """Take the messages of a record of the log once more."""
        self.take(unpacked(record))

    def settle(self, plan: Plan) -> bool:
        """Go on with a plan; whether that changed anything."""
        if plan is self.plan:
            return False
        _check_settings(plan, self.engine)
        self._use(plan)
        return self.take_rules()

    def take_rules(self) -> bool:
        """Let the engine have the rules of its plan; whether that changed anything.

        An open group has the rules that its changes gave it.
        """
        if self.group.open:
            return False
        known = {rule.name: rule for rule in self.engine.rules}
        wanted = {rule.name: rule for rule in self.group.rules}
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
    """A shard as it stood when the last record of the log was written, with the rules of then."""
    try:
        names, written = opened(snapshot)
        shard = Shard(plan, name, restore(written), Units(json.loads(names)))
        for record in log:
            shard.replay(record)
    except SnapshotError as error:
        raise SnapshotError(f"state of shard {name}: {error}") from None
    _check_settings(plan, shard.engine)
    return shard


def _check_settings(plan: Plan, engine: Engine) -> None:
    before, now = engine.settings.state(), plan.settings.state()
    changed = [key for key in now if now[key] != before[key]]
    if changed:
        told = "; ".join(f"{key} was {before[key]!r} and is {now[key]!r}" for key in changed)
        raise SnapshotError(
            f"settings must be those with which the checkpoint was written; {told}\n\n"
            "hint: start with the old settings, or with a new checkpoint"
        )


def packed(messages: Sequence[tuple[int, bytes]]) -> bytes:
    """Messages as a record of the log."""
    return sealed(b"".join(_HEAD.pack(kind, len(payload)) + payload for kind, payload in messages))


def unpacked(record: bytes) -> list[tuple[int, bytes]]:
    """The messages of a record of the log."""
    content, rest = opened(record)
    if rest:
        raise _damaged("it goes on where it should end")
    found, at = [], 0
    while at < len(content):
        kind, length = _HEAD.unpack_from(content, at)
        at += _HEAD.size + length
        found.append((kind, content[at - length : at]))
    return found


# --- damage ------------------------------------------------------------------------------


def sealed(content: bytes) -> bytes:
    """Bytes that tell when they were changed or cut short."""
    return _SEAL.pack(len(content), zlib.crc32(content)) + content


def opened(given: bytes) -> tuple[bytes, bytes]:
    """What was sealed, and what comes after it."""
    if len(given) < _SEAL.size:
        raise _damaged("its beginning is missing")
    length, checksum = _SEAL.unpack_from(given)
    end = _SEAL.size + length
    if length < 0 or end > len(given):
        raise _damaged("a part is missing")
    content = given[_SEAL.size : end]
    if zlib.crc32(content) != checksum:
        raise _damaged("its checksum is another")
    return content, given[end:]


def _damaged(how: str) -> SnapshotError:
    return SnapshotError(
        f"what is stored must be as it was written; {how}\n\n"
        "hint: start from an earlier batch of the checkpoint, or with a new one"
    )
