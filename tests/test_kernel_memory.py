"""What the kernel holds: in proportion to the events that are alive, and gone when they are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import cepheid
from cepheid.events import Event
from cepheid.kernel.columns import Batch
from cepheid.kernel.compiled import compiled
from cepheid.kernel.kernel import Kernel
from cepheid.kernel.limits import Limit
from cepheid.kernel.memory import Memory, grow, ints, shorts
from cepheid.kernel.stacks import ENTRY, ENTRY_WIDTH
from cepheid.kernel.store import ROW_MADE, ROW_TYPE
from cepheid.kernel.values import INT, Ints
from cepheid.oracle import evaluate
from tests.strategies import SECOND

PAIR = "QUERY Pair EVENT SEQ(A a, B b) WHERE [k] WITHIN {within} s RETURN Pair(k = b.k)"
UNPAID = "QUERY Unpaid EVENT SEQ(A a, !(B b)) WHERE [k] WITHIN {within} s RETURN Unpaid(k = a.k)"
MANY = 100_000


def pair(within: int) -> Kernel:
    """A kernel with a rule that keeps all events of type A for some seconds."""
    kernel = Kernel()
    kernel.deploy(cepheid.load(PAIR.format(within=within), language="sase").rules)
    return kernel


def batch(kernel: Kernel, type_: str, first: int, count: int, keys: int) -> Batch:
    """Events of one type, one a second, whose keys are used in turn."""
    numbers = np.arange(first, first + count, dtype=np.int64)
    types = np.full(count, kernel.encoder.types.find(type_), np.int64)
    tags, cells = np.full((count, 1), INT, np.uint8), (numbers % keys).reshape(-1, 1)
    return Batch(numbers, types, numbers * SECOND, numbers * SECOND, tags, cells)


def columns(rows: int) -> int:
    """The bytes of type, origin, start, end, and a tag and a cell of one attribute."""
    return rows * (4 * 8 + 9)


def entries(kernel: Kernel) -> int:
    return kernel._memory.count(ENTRY) // ENTRY_WIDTH


def test_a_kernel_holds_at_most_twice_the_columns_of_what_is_alive() -> None:
    kernel = pair(MANY)
    for first in range(0, 5 * MANY, 10_000):
        assert list(kernel.feed(batch(kernel, "A", first, 10_000, 2_000))) == []
        if first >= MANY:
            assert kernel._memory.bytes <= 2 * columns(MANY)
    (found,) = kernel.feed(batch(kernel, "B", 5 * MANY, 1, 2_000))
    assert len(found) == MANY // 2_000 - 1


def test_room_is_given_back_when_time_has_passed() -> None:
    kernel = pair(MANY)
    base = kernel._memory.bytes
    list(kernel.feed(batch(kernel, "A", 0, 3 * MANY, 2_000)))
    assert kernel._memory.bytes > 10 * base
    assert list(kernel.advance(5 * MANY * SECOND)) == []
    assert kernel.stored == 0
    assert kernel._memory.bytes < 2 * base + columns(40_000)


def test_room_is_given_back_when_there_is_little_to_do() -> None:
    """Events that are few do not have to become many before those are forgotten that were."""
    kernel = pair(MANY)
    list(kernel.feed(batch(kernel, "A", 0, 3 * MANY, 2_000)))
    for first in range(4 * MANY, 7 * MANY, MANY // 5):
        list(kernel.feed(batch(kernel, "A", first, 10, 2_000)))
    assert kernel.stored < 200


def orders(paid: int, *, limit: Limit | None = None) -> Kernel:
    """A kernel in which of a thousand orders some are paid, and all wait for their deadline."""
    kernel = Kernel()
    kernel.deploy(cepheid.load(UNPAID.format(within=3_000), language="sase").rules, [limit])
    assert list(kernel.feed(batch(kernel, "A", 0, 1_000, 1_000))) == []
    assert list(kernel.feed(batch(kernel, "B", 1_000, paid, 1_000))) == []
    return kernel


def test_what_waits_in_vain_is_given_up_with_what_excludes_it() -> None:
    kernel = orders(900)
    assert kernel.stored == 1_900
    kernel.compact()
    assert kernel.live().tolist() == list(range(900, 1_000))
    (found,) = kernel.advance(3_999 * SECOND)
    assert found.constituents.T.tolist() == [[order] for order in range(900, 1_000)]
    kernel.compact()
    assert kernel.stored == 0


def test_what_comes_after_a_compaction_excludes_what_waits_still() -> None:
    kernel = orders(900)
    kernel.compact()
    assert list(kernel.feed(batch(kernel, "B", 1_900, 60, 1_000))) == []
    kernel.compact()
    assert kernel.stored == 40
    (found,) = kernel.advance(4_000 * SECOND)
    assert found.constituents.T.tolist() == [[order] for order in range(960, 1_000)]


def test_what_a_rule_with_limits_keeps_does_not_depend_on_compaction() -> None:
    kernel = orders(900, limit=Limit(2_000, 2_000))
    before = kernel.held(0)
    kernel.compact()
    assert kernel.held(0) == before == (900, 1_000)


@pytest.mark.parametrize("ordered", [False, True])
def test_what_comes_out_of_order_is_excluded_by_what_came_before_it(ordered: bool) -> None:
    """Where events may come so; else what no match waits for any more need not be kept."""
    kernel = Kernel(ordered=ordered)
    kernel.deploy(cepheid.load(UNPAID.format(within=3_000), language="sase").rules)
    list(kernel.feed(batch(kernel, "B", 10, 1, 10)))
    kernel.compact()
    list(kernel.feed(batch(kernel, "A", 0, 1, 10)))
    found = list(kernel.advance(4_000 * SECOND))
    assert len(found) == int(ordered)


def test_matches_on_their_way_out_take_no_room_afterwards() -> None:
    kernel = pair(2 * MANY)
    list(kernel.feed(batch(kernel, "A", 0, MANY, 4)))
    before = kernel._memory.bytes
    for times in range(1, 4):
        found = list(kernel.feed(batch(kernel, "B", MANY + 2 * times, 2, 4)))
        assert sum(map(len, found)) == MANY // 2
    assert kernel._memory.bytes < 1.3 * before


def test_events_without_a_key_are_found_as_soon_as_somebody_asks() -> None:
    """They are in the lists by key; one of all events is made for the first that has no key."""
    rules = cepheid.load(PAIR.format(within=40), language="sase").rules
    events = []
    for at in range(200):
        type_ = "B" if at % 10 == 9 else "A"
        key = {} if at in (25, 60, 79, 80, 119, 150) else {"k": at % 7}
        events.append(Event(type_, at * SECOND, at * SECOND, key, at))
    kernel, found, counts = pair(40), Counter[tuple[int, ...]](), []
    for at, event in enumerate(events):
        for portion in kernel.feed(kernel.encoder.encode([event], at)):
            found.update(map(tuple, portion.constituents.T.tolist()))
        if at in (70, 130):
            kernel.compact()
        counts.append(entries(kernel))
    assert counts[79] == 2 * counts[78]
    expected = Counter(
        tuple(part.id for _, part in event.events) for event in evaluate(rules, events).events
    )
    assert Counter(map(frozenset, found.elements())) == Counter(map(frozenset, expected.elements()))
    assert len(found) > 150


def test_memory_that_cannot_be_had_is_an_error_and_nothing_is_lost() -> None:
    kernel = pair(MANY)
    list(kernel.feed(batch(kernel, "A", 0, 10, 10)))
    before = kernel._memory.get(ENTRY).tolist()
    with pytest.raises(MemoryError, match="more memory than the system gives"):
        grow(kernel._memory.m, ENTRY, 2**57, 8)
    with pytest.raises(MemoryError, match="more memory than the system gives"):
        kernel._memory.fit(ENTRY, 2**57)
    assert kernel._memory.get(ENTRY).tolist() == before
    (found,) = kernel.feed(batch(kernel, "B", 10, 1, 10))
    assert len(found) == 1


@compiled
def _looked_at(m: int, begin: int, end: int) -> tuple[int, int, Ints, int]:
    view = ints(m, ROW_TYPE)
    view[begin] += 100
    whole = view[begin:end].copy()
    view[:begin] = -1
    return len(view[begin:]), view[0], whole, int(shorts(m, ROW_MADE)[begin])


def test_a_view_is_what_lies_in_a_slot() -> None:
    memory = Memory()
    memory.put(ROW_TYPE, np.arange(10))
    memory.put(ROW_MADE, np.arange(10, 20), np.int32)
    left, first, whole, short = _looked_at(memory.m, 3, 6)
    assert (left, first, short) == (memory.room(ROW_TYPE) - 3, -1, 13)
    assert whole.tolist() == [103, 4, 5]
    assert memory.get(ROW_TYPE).tolist() == [-1, -1, -1, 103, 4, 5, 6, 7, 8, 9]


def test_a_slice_of_a_view_ends_with_its_slot() -> None:
    memory = Memory()
    memory.put(ROW_TYPE, np.arange(10))
    memory.put(ROW_MADE, np.arange(10), np.int32)
    memory.fit(ROW_TYPE, 10)
    _, _, whole, _ = _looked_at(memory.m, 7, 99)
    assert whole.tolist() == [107, 8, 9]


def test_what_an_older_state_has_consumed_stays_consumed() -> None:
    text = (
        "Rule R define F(v: int) from B() and last A() within 9 s from B where v = A.v consuming A"
    )
    rules = cepheid.load(text, language="tesla").rules
    before, after = Kernel(), Kernel()
    for kernel in (before, after):
        kernel.deploy(rules)
    assert list(before.feed(batch(before, "A", 0, 2, 9))) == []
    state = before.state()
    # Then an event stayed in its list, and a set of trees and rows said that it is gone.
    for name, value in {"families": 1, "rows": 1, "at": 0}.items():
        state[f"tree_consumed_{name}"][7] = value
    state["tree_consumed_bits"] = np.array([1])
    after.load(state)
    (found,) = after.feed(batch(after, "B", 2, 1, 9))
    assert found.cells.tolist() == [[0]]
