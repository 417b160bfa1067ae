"""The input queue: bounded, with a choice of what is lost, and nothing lost in silence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import cepheid
from cepheid.errors import EventError
from cepheid.events import CompositeEvent
from cepheid.runtime.queue import Full

RULES = cepheid.load("QUERY Q EVENT A x WITHIN 10 s RETURN Seen(n = x.n)", language="sase")


class Gate:
    """A subscriber that stands still until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.released = threading.Event()
        self.seen: list[object] = []

    def __call__(self, found: CompositeEvent) -> None:
        self.seen.append(found.attributes["n"])
        self.entered.set()
        assert self.released.wait(10)


@contextmanager
def stuck(size: int, full: Full) -> Iterator[tuple[cepheid.InputQueue, Gate]]:
    """A queue whose engine is busy with event 0."""
    engine, gate = RULES.engine(unit="s"), Gate()
    engine.subscribe("Seen", gate)
    with engine.queue(size, full) as queue:
        assert queue.offer(event(0))
        assert gate.entered.wait(10)
        yield queue, gate
        gate.released.set()


def event(number: int) -> dict[str, object]:
    return {"type": "A", "ts": number, "n": number}


def test_what_is_offered_is_taken_in_its_order() -> None:
    engine, seen = RULES.engine(unit="s"), []
    engine.subscribe("Seen", lambda found: seen.append(found.attributes["n"]))
    with engine.queue() as queue:
        assert all(queue.offer(event(number)) for number in range(500))
        assert queue.join(10)
        assert seen == list(range(500))
    assert (queue.counters.offered, queue.counters.taken, queue.counters.dropped) == (500, 500, 0)


def test_a_full_queue_drops_the_newest() -> None:
    with stuck(2, "drop newest") as (queue, gate):
        assert [queue.offer(event(number)) for number in (1, 2, 3)] == [True, True, False]
        assert queue.counters.dropped == 1
        assert queue.counters.most == 2
    assert gate.seen == [0, 1, 2]


def test_a_full_queue_drops_the_oldest() -> None:
    with stuck(2, "drop oldest") as (queue, gate):
        assert all(queue.offer(event(number)) for number in (1, 2, 3))
    assert gate.seen == [0, 2, 3]
    counters = queue.counters
    assert (counters.offered, counters.taken, counters.dropped, counters.waiting) == (4, 3, 1, 0)


def test_a_full_queue_blocks_until_there_is_room() -> None:
    with stuck(1, "block") as (queue, gate):
        assert queue.offer(event(1))
        assert not queue.offer(event(2), timeout=0.01)
        waiting = threading.Thread(target=queue.offer, args=(event(3),))
        waiting.start()
        gate.released.set()
        waiting.join(10)
        assert not waiting.is_alive()
    assert gate.seen == [0, 1, 3]
    assert queue.counters.dropped == 1


def test_a_bad_event_is_an_error_of_the_one_who_offers_it() -> None:
    with RULES.engine(unit="s").queue() as queue:
        with pytest.raises(EventError, match="type"):
            queue.offer({"ts": 1})
        assert queue.counters.offered == 0


def test_an_error_of_a_subscriber_comes_out_and_the_queue_goes_on() -> None:
    engine, seen = RULES.engine(unit="s"), []

    def subscriber(found: CompositeEvent) -> None:
        seen.append(found.attributes["n"])
        if found.attributes["n"] == 1:
            raise KeyError("one")

    engine.subscribe("Seen", subscriber)
    queue = engine.queue()
    queue.offer(event(1))
    with pytest.raises(KeyError, match="one"):
        queue.join(10)
    queue.offer(event(2))
    queue.close()
    assert seen == [1, 2]


def test_rules_come_while_the_queue_is_open() -> None:
    engine = RULES.engine(unit="s")
    more = cepheid.load("QUERY More EVENT B x WITHIN 10 s", language="sase")
    with engine.queue() as queue:
        with queue.paused() as own:
            own.add(more)
        queue.offer({"type": "B", "ts": 1})
    assert engine.counters.by_type == {"More": 1}


def test_a_closed_queue_takes_nothing() -> None:
    queue = RULES.engine(unit="s").queue()
    queue.close()
    with pytest.raises(EventError, match="closed"):
        queue.offer(event(1))


def test_after_an_error_what_waits_is_left() -> None:
    with pytest.raises(RuntimeError), stuck(5, "block") as (queue, gate):
        queue.offer(event(1))
        gate.released.set()
        queue.join(10)
        raise RuntimeError
    assert queue.counters.waiting == 0


@pytest.mark.parametrize(("size", "full"), [(0, "block"), (True, "block"), (5, "drop")])
def test_what_a_queue_cannot_be(size: int, full: Full) -> None:
    with pytest.raises(EventError):
        RULES.engine().queue(size, full)
