"""Rules that come and go on a shard, and folders of rules and of events, without Spark."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
import pytest

import cepheid
from cepheid.errors import EventError
from cepheid.events import Event
from cepheid.records import Clock
from cepheid.rules import Rules
from cepheid.runtime.settings import Settings
from cepheid.runtime.tabular import Tabular
from cepheid.spark.files import FileLog, columns_of_files, listing
from cepheid.spark.folder import RuleFolderReader
from cepheid.spark.messages import CHANGE, EVENTS, HEARD, of_heard, of_table
from cepheid.spark.plan import Plan, plan_open
from cepheid.spark.shard import Outcome, Shard, packed, restored
from cepheid.tables.frames import Frame
from cepheid.tables.table import from_events
from cepheid.tables.times import Times

FORM = Tabular(Frame.ARROW, Times(Clock.of("us")), loose=True)
AB = "QUERY AB EVENT SEQ(A x, B y) WHERE [k] WITHIN 1 hour"
AC = "QUERY AC EVENT SEQ(A x, C y) WHERE [k] WITHIN 1 hour"

Messages = list[tuple[int, bytes]]


def opened(key: dict[str, str] | None = None, shards: int = 2) -> Plan:
    wanted = {"*": "k"} if key is None else key
    return plan_open(
        [], wanted, cepheid.Schema(), Settings(), FORM, shards=shards, partitions=shards
    )


def change(action: str, name: str, text: str | None = None, seq: int = 1) -> tuple[int, bytes]:
    row = {"seq": seq, "action": action, "name": name, "language": "sase", "text": text}
    return CHANGE, json.dumps(row).encode()


def events(*given: Event) -> Messages:
    table = from_events(given)
    heard = of_heard("", {None: int(table.ends.max())}, {})
    return [(EVENTS, of_table("", table).payload), (HEARD, heard.payload)]


def names(outcome: Outcome) -> list[str]:
    return sorted(outcome.composites.column("rule").to_pylist())


def event(type_: str, time: int, **attributes: str) -> Event:
    return Event(type_, time, time, attributes)


def test_rules_come_and_go_and_others_keep_their_state() -> None:
    plan = opened()
    shard = Shard(plan, plan.groups[0].shards[0])
    shard.take([change("put", "a", AB), *events(event("A", 1, k="x"))])
    shard.take([change("put", "b", AC, seq=2), *events(event("A", 2, k="y"))])
    found = shard.take(events(event("B", 3, k="x"), event("C", 4, k="x"), event("C", 5, k="y")))
    assert names(found) == ["AB", "AC"]
    shard.take([change("remove", "b", seq=3)])
    assert names(shard.take(events(event("B", 6, k="y"), event("C", 7, k="y")))) == ["AB"]


def test_a_text_that_is_put_again_keeps_the_rules_that_are_the_same() -> None:
    plan = opened()
    shard = Shard(plan, plan.groups[0].shards[0])
    shard.take([change("put", "a", f"{AB}\n{AC}"), *events(event("A", 1, k="x"))])
    other = AC.replace("1 hour", "2 hours")
    shard.take([change("put", "a", f"{AB}\n{other}", seq=2)])
    assert names(shard.take(events(event("B", 2, k="x"), event("C", 3, k="x")))) == ["AB"]
    shard.take([change("put", "a", AB, seq=3)])
    assert [rule.name for rule in shard.engine.rules] == ["AB"]


REFUSED = [
    (change("put", "a", "QUERY X EVENT SEQ(A x, B y"), "SYNTAX"),
    (change("put", "a", "QUERY X EVENT SEQ(A x, B y) WITHIN 1 s"), "cannot run on shards by k"),
    (change("put", "a", AB), "rule AB of a must have a name of its own; there is one in first"),
    (change("put", "a"), "must have a text and a language"),
    (change("remove", "firts"), "no rules were put under the name firts"),
    (change("get", "a", AB), "action of a change must be put or remove"),
]


@pytest.mark.parametrize(("given", "reason"), REFUSED)
def test_what_cannot_be_taken_is_refused_and_told_by_one_shard(
    given: tuple[int, bytes], reason: str
) -> None:
    plan = opened()
    first, second = (Shard(plan, name) for name in plan.groups[0].shards)
    for shard in (first, second):
        shard.take([change("put", "first", AB, seq=0)])
    ((_, told),) = first.take([given]).refused
    assert reason in told
    assert second.take([given]).refused == ()
    assert [rule.name for rule in first.engine.rules] == ["AB"]


def test_single_events_need_no_key_and_are_told_once() -> None:
    plan = opened()
    text = "QUERY Seen EVENT D x"
    found: list[str] = []
    for name in plan.groups[0].shards:
        shard = Shard(plan, name)
        # An event without a key goes to all shards.
        given = [change("put", "a", text), *events(event("D", 1))]
        found += names(shard.take(given))
    assert found == ["Seen"]


def test_changes_are_part_of_the_state() -> None:
    plan = opened()
    name = plan.groups[0].shards[0]
    shard = Shard(plan, name)
    snapshot, log = shard.snapshot(), []
    for given in (
        [change("put", "a", AB), *events(event("A", 1, k="x"))],
        [change("put", "b", AC, seq=2), change("put", "c", "EVENT (", seq=2)],
        events(event("A", 2, k="y")),
    ):
        shard.take(given)
        log.append(packed(given))
    for again in (restored(plan, name, snapshot, log), restored(plan, name, shard.snapshot(), [])):
        assert again.units.names == {"": [], "a": ["AB"], "b": ["AC"]}
        given = events(event("B", 3, k="x"), event("C", 4, k="y"))
        assert names(again.take(given)) == ["AB", "AC"]


def test_rules_of_the_start_must_go_with_the_key() -> None:
    from cepheid.spark.changes import open_group

    rules = cepheid.load("QUERY X EVENT SEQ(A x, B y) WITHIN 1 s", language="sase")
    with pytest.raises(EventError, match="rule X cannot run on shards by area"):
        open_group(rules, "area")
    assert open_group(rules, None) == (rules, {})
    assert open_group(Rules(()), {"A": "k"})[1] == {"A": "k"}


# --- folders -------------------------------------------------------------------------------


def test_a_folder_of_rules_is_a_stream_of_changes(tmp_path: Path) -> None:
    reader = RuleFolderReader(str(tmp_path))
    start = reader.initialOffset()
    rows, same = reader.read(start)
    assert (list(rows), same) == ([], start)
    (tmp_path / "a.sase").write_text(AB)
    (tmp_path / "readme.md").write_text("no rules")
    rows, first = reader.read(start)
    assert list(rows) == [(1, "put", "a.sase", "sase", AB)]
    (tmp_path / "a.sase").unlink()
    (tmp_path / "b.tesla").write_text("Rule R define F() from A()")
    rows, second = reader.read(first)
    assert [row[1:3] for row in rows] == [("remove", "a.sase"), ("put", "b.tesla")]
    # A batch that is repeated does not look at the folder.
    assert [row[1:3] for row in reader.readBetweenOffsets(start, first)] == [("put", "a.sase")]
    assert second["seq"] == 2
    reader.prepareForTriggerAvailableNow()
    (tmp_path / "c.sase").write_text(AC)
    assert list(reader.read(second)[0]) == []


def test_a_log_of_files_remembers_their_order(tmp_path: Path) -> None:
    for number, name in enumerate(("b", "a", "_hidden", ".part")):
        pq.write_table(pa.table({"type": ["A"], "ts": [number]}), tmp_path / f"{name}.parquet")
        os.utime(tmp_path / f"{name}.parquet", (number, number))
    listed = listing(str(tmp_path))
    assert [Path(path).stem for path, _ in listed] == ["b", "a"]
    log = FileLog(str(tmp_path / "_log"))
    log.add(listed)
    pq.write_table(pa.table({"type": ["A"], "ts": [9]}), tmp_path / "c.parquet")
    os.utime(tmp_path / "c.parquet", (0, 0))
    log.add(listing(str(tmp_path)))
    log.add(listing(str(tmp_path)))
    assert [Path(path).stem for path, _ in log.files] == ["b", "a", "c"]
    assert FileLog(str(tmp_path / "_log")).files == log.files
    assert columns_of_files(str(tmp_path), "parquet").names == ["type", "ts"]


def test_columns_of_no_files_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(EventError, match="files must be there"):
        columns_of_files(str(tmp_path), "parquet")
