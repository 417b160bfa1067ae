"""State without Spark: a shard that goes from process to process, over a store that may go back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cepheid.errors import SnapshotError
from cepheid.events import Event
from cepheid.spark import state
from cepheid.spark.messages import of_heard, of_table
from cepheid.spark.shard import Shard, packed, restored
from cepheid.spark.state import Head, State
from cepheid.tables.table import from_events
from tests.test_sharding import planned

PLAN = planned("QUERY Q EVENT SEQ(A x, B y) WITHIN 1 hour", "sase")
NAME = PLAN.groups[0].shards[0]


class Store:
    """Spark's store, as far as it is used: a map that can be put back to what it was."""

    def __init__(self) -> None:
        self.parts: dict[Any, Any] = {}

    def getMapState(self, *_: object) -> Store:  # noqa: N802 (Spark's name)
        return self

    def getValue(self, key: Any) -> Any:  # noqa: ANN401, N802 (Spark's name)
        return self.parts.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: ANN401, N802 (Spark's name)
        self.parts[key] = value

    def clear(self) -> None:
        self.parts.clear()


class Process:
    """A Python worker: it has engines of its own, and the store of all."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self._state = State(store)  # type: ignore[arg-type]
        self._kept: dict[str, Any] = {}
        self._monkeypatch = monkeypatch
        self.restored = 0

    def take(self, type_: str, time: int) -> list[int]:
        """One event in a batch of its own; when the composite events began."""
        self._monkeypatch.setattr(state, "_KEPT", self._kept)
        self._monkeypatch.setattr(state, "restored", self._counted())
        shard, head, fresh = self._state.shard(PLAN, NAME)
        event = of_table(NAME, from_events([Event(type_, time, time)]))
        heard = of_heard(NAME, {None: time}, {})
        messages = [(event.kind, event.payload), (heard.kind, heard.payload)]
        found = shard.take(messages).composites
        self._state.write(shard, head, packed(messages), fresh=fresh)
        return sorted(found.column("start").to_pylist())

    def _counted(self) -> Callable[..., Shard]:
        def counted(*given: Any) -> Shard:  # noqa: ANN401 (what restored takes)
            self.restored += 1
            return restored(*given)

        return counted


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def one(store: Store, monkeypatch: pytest.MonkeyPatch) -> Process:
    return Process(store, monkeypatch)


@pytest.fixture
def other(store: Store, monkeypatch: pytest.MonkeyPatch) -> Process:
    return Process(store, monkeypatch)


def test_a_process_that_missed_batches_takes_them_from_the_log(
    one: Process, other: Process
) -> None:
    assert one.take("A", 1) == []
    assert other.take("A", 2) == []
    assert other.take("B", 3) == [1, 2]
    assert one.take("B", 4) == [1, 2]
    assert other.take("A", 5) == []
    assert one.take("B", 6) == [1, 2, 5]
    # Only the one that never had the shard read it back.
    assert (one.restored, other.restored) == (0, 1)


def test_a_batch_that_is_done_again_forgets_the_first_time(one: Process, store: Store) -> None:
    one.take("A", 1)
    before = dict(store.parts)
    one.take("A", 2)
    store.parts = before
    assert one.take("A", 3) == []
    assert one.take("B", 4) == [1, 3]
    assert one.restored == 1


def test_an_engine_that_took_another_way_is_not_used(
    one: Process, other: Process, store: Store
) -> None:
    one.take("A", 1)
    before = dict(store.parts)
    one.take("A", 2)
    # As many records, but another one: what the store has is what counts.
    store.parts = before
    other.take("A", 3)
    assert one.take("B", 4) == [1, 3]
    assert one.restored == 1


def test_an_engine_from_before_a_snapshot_is_not_used(
    one: Process, other: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.take("A", 1)
    monkeypatch.setattr(state, "_MOST_RECORDS", 1)
    other.take("A", 2)
    assert one.take("B", 3) == [1, 2]
    assert one.restored == 1


def test_a_record_that_is_missing_is_told_also_where_an_engine_is_kept(
    one: Process, other: Process, store: Store
) -> None:
    one.take("A", 1)
    other.take("A", 2)
    del store.parts["log 0",]
    with pytest.raises(SnapshotError, match=f"state of shard {NAME} must be a snapshot of"):
        one.take("B", 3)


def test_every_part_of_the_store_that_is_damaged_is_told(
    one: Process, other: Process, store: Store
) -> None:
    one.take("A", 1)
    one.take("A", 2)
    assert sorted(name for (name,) in store.parts) == ["head", "log 0", "snapshot 0"]
    before = dict(store.parts)
    for key, (content,) in before.items():
        for at in range(0, len(content), max(1, len(content) // 40)):
            flipped = content[:at] + bytes([content[at] ^ 16]) + content[at + 1 :]
            for damaged in (flipped, content[:at]):
                store.parts = {**before, key: (damaged,)}
                with pytest.raises(SnapshotError, match="hint: "):
                    other.take("B", 3)
    store.parts = before
    assert other.take("B", 3) == [1, 2]


def test_engines_that_others_have_gone_on_with_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(state, "_KEPT", kept)
    shard = Shard(PLAN, NAME)
    most = state._UNUSED * len(PLAN.shards)
    for number in range(3 * most):
        state._keep(shard, Head(line=f"line {number}"))
    assert len(kept) == most + 1
    assert f"line {3 * most - 1}" in kept
