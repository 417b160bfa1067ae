"""What an engine keeps: counters, snapshots, texts, and limits on all of it."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it has no types
import pyarrow as pa  # type: ignore[import-untyped]  # the same
import pyarrow.compute as pc  # type: ignore[import-untyped]  # the same
import pytest

import cepheid
from cepheid import (
    CompositeEvent,
    Event,
    LimitError,
    Limits,
    Rules,
    SnapshotError,
)
from cepheid.oracle import evaluate
from cepheid.runtime.snapshot import pack, unpack
from tests.engines import PAIR, A, B, contents, pushed
from tests.strategies import SECOND

# --- counters and snapshots --------------------------------------------------


def test_counters_are_a_picture_of_one_moment() -> None:
    engine = PAIR.engine(delay=2 * SECOND, heartbeats=["Beat"])
    before = engine.counters
    engine.push_batch([A, B, replace(B, start=5 * SECOND, end=5 * SECOND)])
    engine.push(A)
    after = engine.counters
    assert before == cepheid.Counters()
    assert (after.received, after.consumed, after.waiting, after.late) == (4, 2, 1, 1)
    assert (after.by_type, after.by_rule, after.found) == ({"AB": 1}, {"AB": 1}, 1)
    with pytest.raises(FrozenInstanceError):
        after.late = 0  # type: ignore[misc]  # that is the point
    with pytest.raises(TypeError):
        after.by_rule["AB"] = 7  # type: ignore[index]  # the same


def test_a_snapshot_holds_everything_but_subscriptions() -> None:
    told: list[CompositeEvent] = []
    engine = PAIR.engine(delay=3 * SECOND, unit="us", late_limit=7)
    engine.subscribe("AB", told.append)
    engine.push_batch([A, B, replace(A, start=9 * SECOND, end=9 * SECOND)])
    engine.push(A)
    found = len(told)
    again = cepheid.restore(engine.snapshot())
    assert (again.counters, again.late) == (engine.counters, engine.late)
    assert (again.watermark, repr(again)) == (engine.watermark, repr(engine))
    assert list(again.rules) == list(engine.rules)
    assert again.snapshot() == engine.snapshot()
    for at in (12 * SECOND, 40 * SECOND):
        later = replace(B, start=at, end=at)
        assert contents(again.push(later)) == contents(engine.push(later))
    assert (found, len(told)) == (1, 2)


def test_a_snapshot_can_be_taken_again_and_again() -> None:
    whole, engine = PAIR.engine(), PAIR.engine()
    for at in range(30):
        event = Event("AB"[at % 2], at * SECOND, at * SECOND, {"at": at})
        engine = cepheid.restore(cepheid.restore(engine.snapshot()).snapshot())
        assert engine.push(event) == whole.push(event)


def test_snapshots_of_parts_that_do_not_fit_are_errors() -> None:
    engine = PAIR.engine()
    engine.push(A)
    head, arrays = unpack(engine.snapshot())
    for name in head:
        with pytest.raises(SnapshotError):
            cepheid.restore(pack({**head, name: "nonsense"}, arrays))
        without = {other: value for other, value in head.items() if other != name}
        with pytest.raises(SnapshotError):
            cepheid.restore(pack(without, arrays))
    for name in arrays:
        without = {other: value for other, value in arrays.items() if other != name}
        with pytest.raises(SnapshotError):
            cepheid.restore(pack(head, without))
    cepheid.restore(pack(head, arrays))


def test_an_engine_that_looks_at_every_event_for_ever_keeps_only_what_it_needs() -> None:
    engine = PAIR.engine()
    sizes = []
    for at in range(0, 40_000, 1_000):
        engine.push_batch(
            [
                Event("A" if number % 2 else "C", number * SECOND, number * SECOND, {"n": number})
                for number in range(at, at + 1_000)
            ]
        )
        sizes.append(len(engine.snapshot()))
    assert max(sizes) < 2 * sizes[2]
    assert engine.counters.stored < 5_000


PAIRS = {
    "tesla": """
        Rule Pair
        define Pair(s: string, rest: string)
        from B(k=$k) and each A(k=$k and s>"m") within 1 min from B
        where s=A.s and rest=B.s
    """,
    "sase": """
        QUERY Pair
        EVENT SEQ(A a, B b)
        WHERE [k] AND a.s > "m" WITHIN 1 minutes
        RETURN Pair(s = a.s, rest = b.s)
    """,
    "laipl": """
        Rule Pair
        Define Pair(s: String, rest: String)
        From A, B
        Where A.s > "m" Then B.s Within(1 min)
        Composite A.k = B.k
    """,
    "core": """
        define Pair as [a: A(s > "m")] ; [b: B(k = a.k)]
        within 1min
        return (s = a.s, rest = b.s)
    """,
}
"""Rules of every language that look at texts: which are equal, and which comes first."""


@pytest.mark.parametrize("language", PAIRS)
def test_an_engine_forgets_texts_that_never_come_again(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of texts stays small over a long stream of texts that are always new."""
    monkeypatch.setattr("cepheid.kernel.texts.FEW_TEXTS", 1024)
    engine = cepheid.load(PAIRS[language], language=language).engine(unit="s")
    found: list[dict[str, Any]] = []
    for begin in range(0, 40_000, 500):
        batch = [
            {
                "type": "AB"[at % 2],
                "ts": at,
                "k": f"key {at // 2}",
                "s": f"{'az'[at // 2 % 2]} {at}",
            }
            for at in range(begin, begin + 500)
        ]
        found += engine.push_batch(batch)
        assert len(engine._matcher.kernel.encoder.texts) < 10_000
        if begin % 10_000 == 0:
            engine = cepheid.restore(engine.snapshot())
    expected = [(at, f"z {at - 1}", f"z {at}") for at in range(3, 40_000, 4)]
    assert [(event["ts"], event["s"], event["rest"]) for event in found] == expected


def test_a_limit_is_told_with_what_was_found_until_then() -> None:
    rules = cepheid.load(
        "Rule Often define Often() from Timer(every = 1 s) as T and each A() within 9 s from T\n"
        "Rule Hot define Hot() from Temp(value > 45)",
        language="tesla",
    )
    told: list[CompositeEvent] = []
    engine = rules.engine()
    engine.subscribe("Hot", told.append)
    day = 86_400 * SECOND
    hot = [Event("Temp", at * day, at * day, {"value": 50}) for at in (0, 20)]
    with pytest.raises(LimitError, match="periodic timers must give at most") as caught:
        engine.push_batch(hot)
    assert told[0].end == 0
    assert caught.value.found == told


# --- limits ------------------------------------------------------------------

KEEPING: dict[str, tuple[str, str]] = {
    "tree": ("sase", "QUERY R EVENT SEQ(A x, B y) WITHIN 1 h"),
    "run": ("laipl", "Rule R Define R(v: Double) From A Where Average(A.value) > 0 Within(1 h)"),
    "collection": (
        "laipl",
        "Rule R Define R(v: Double, w: Double) From A, B Where A > 0 And B > 0 Within(1 h)",
    ),
    "detector": ("core", "define R as [x: A] ; [y: B] within 1h"),
}
"""Rules that keep every A for an hour, one of each pattern."""


def many(count: int, first: int = 0) -> list[Event]:
    return [
        Event("A", at * SECOND, at * SECOND, {"value": 1.0}, at)
        for at in range(first, first + count)
    ]


@pytest.mark.parametrize("pattern", KEEPING)
def test_a_rule_that_keeps_too_much_is_refused_until_it_keeps_less(pattern: str) -> None:
    language, text = KEEPING[pattern]
    engine = cepheid.load(text, language=language).engine(limits=Limits(stored=5, partial=5))
    pushed(engine, many(4))
    with pytest.raises(LimitError, match=r"(?s)rule R must keep at most 5 .*; it keeps .*hint: "):
        pushed(engine, many(10, first=4))
    assert engine.counters.limited["R"] == 1
    again = cepheid.restore(engine.snapshot())
    assert again.counters == engine.counters
    for restored in (engine, again):
        restored.remove("R")
        pushed(restored, many(10, first=20))


@pytest.mark.parametrize("pattern", KEEPING)
def test_a_rule_that_keeps_too_much_may_drop_the_oldest(pattern: str) -> None:
    language, text = KEEPING[pattern]
    limits = Limits(stored=5, partial=5, policy="drop")
    engine = cepheid.load(text, language=language).engine(limits={"R": limits})
    pushed(engine, many(50))
    assert engine.counters.limited["R"] >= 40
    # A run is complete at the first event after its window, the others at a B in it.
    type_, at = ("A", 3700 * SECOND) if pattern == "run" else ("B", 60 * SECOND)
    found = engine.push(Event(type_, at, at, {"value": 1.0}, 99))
    assert found
    assert {part.id for event in found for _, part in event.events} <= {45, 46, 47, 48, 49, 99}


def test_a_limit_holds_for_the_rule_that_it_names() -> None:
    rules = cepheid.load(
        "QUERY Few EVENT SEQ(A x, B y) WITHIN 1 h\nQUERY Many EVENT SEQ(A x, B y) WITHIN 1 h",
        language="sase",
    )
    engine = rules.engine(limits={"Few": Limits(stored=2, policy="drop")})
    pushed(engine, many(10))
    found = Counter(event.rule for event in engine.push(Event("B", 20 * SECOND, 20 * SECOND)))
    assert found == {"Few": 2, "Many": 10}


def test_what_is_refused_is_told_with_what_was_found() -> None:
    engine = PAIR.engine(limits=Limits(stored=3))
    told: list[CompositeEvent] = []
    engine.subscribe("AB", told.append)
    pushed(engine, many(3))
    events = [Event("B", 4 * SECOND, 4 * SECOND), *many(1, first=5)]
    with pytest.raises(LimitError) as caught:
        engine.push_batch(events)
    assert caught.value.found == told
    assert len(told) == 3


STRATEGIES = {
    "tree": ("sase", "QUERY Tree EVENT SEQ(A x, !(C n)) WHERE [k] WITHIN 10 s"),
    "run": ("laipl", "Rule Run\nDefine Run(v: Double)\nFrom B\nWhere Each(B.v) > 5 Within(10 s)"),
    "collection": (
        "laipl",
        "Rule Some\nDefine Some(v: Double)\nFrom B\nWhere Count(B) >= 2 Within(10 s)",
    ),
    "detector": ("core", "define Late as ([a: A], [T1 in {T1, C}]) T1 = 10s"),
}


@pytest.mark.parametrize("one", STRATEGIES)
@pytest.mark.parametrize("other", STRATEGIES)
def test_rules_of_two_strategies_wait_for_time_side_by_side(one: str, other: str) -> None:
    both = [
        cepheid.load(STRATEGIES[name][1], language=STRATEGIES[name][0]) for name in {one, other}
    ]
    rules = Rules(tuple(rule for loaded in both for rule in loaded))
    given = [
        Event("A", 1 * SECOND, 1 * SECOND, {"k": "x"}),
        Event("B", 2 * SECOND, 2 * SECOND, {"k": "x", "v": 7}),
        Event("B", 3 * SECOND, 3 * SECOND, {"k": "x", "v": 8}),
        Event("B", 12 * SECOND, 12 * SECOND, {"k": "x", "v": 8}),
    ]
    engine = rules.engine()
    found = [*engine.push_batch(given), *engine.advance(60 * SECOND)]
    expected = evaluate(list(rules), given, until=60 * SECOND).events
    assert {event.rule for event in expected} == {rule.name for rule in rules}
    assert contents(expected) == contents(found)


# --- after its time -------------------------------------------------------------


@pytest.mark.parametrize("pushes", ["tables", "events", "subscribed", "restored", "closed"])
def test_what_an_engine_kept_goes_with_it(pushes: str) -> None:
    """At once: in a circle it would stay until Python looks for those, which may be never."""
    found: list[CompositeEvent] = []

    def used() -> list[weakref.ref[Any]]:
        engine = PAIR.engine(delay=2 * SECOND, unit="us")
        if pushes == "tables":
            engine.push_batch(pa.table({"type": ["A", "B"], "ts": [1, 2]}))
        if pushes == "subscribed":
            engine.subscribe("AB", found.append)
        if pushes == "restored":
            engine = cepheid.restore(engine.snapshot())
        if pushes != "tables":
            engine.push_batch([A, B, replace(B, start=5 * SECOND, end=5 * SECOND)])
        if pushes == "closed":
            engine.close()
        matcher = engine._matcher
        return [weakref.ref(one) for one in (engine, matcher, matcher.kernel, matcher.payload)]

    gc.collect()
    gc.disable()
    try:
        left = [kept() for kept in used()]
    finally:
        gc.enable()
    assert left == [None] * 4


def test_a_table_of_pandas_may_change_after_it_was_pushed() -> None:
    rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WHERE [n] WITHIN 1 min", language="sase")
    last = pd.DataFrame({"type": ["B"], "ts": [3], "n": [8]})
    found = []
    for changed in (False, True):
        numbers, times = np.array([7, 8]), np.array([1, 2])
        engine = rules.engine(unit="s")
        frame = pd.DataFrame({"type": ["A", "A"], "ts": times, "n": numbers}, copy=False)
        engine.push_batch(frame)
        if changed:
            numbers[:] = times[:] = 0
            assert frame["n"].tolist() == [0, 0]
        found.append(engine.push_batch(last))
    assert found[0].equals(found[1])
    assert len(found[0]) == 1


def test_a_few_rows_of_large_tables_do_not_keep_these(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of Arrow are used where they are; what stays of them in the end is copied."""
    monkeypatch.setattr("cepheid.runtime.matcher._BORROWED", 1 << 20)
    engine = PAIR.engine(unit="us")
    types = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), ["A"])
    before = pa.total_allocated_bytes()
    for number in range(20):
        times = pa.array(range(number * 100_000, (number + 1) * 100_000))
        table = pa.table({"type": types, "ts": times, "n": pc.add(times, 1)})
        engine.push_batch(table.slice(0, 3))
    del table, times
    assert pa.total_allocated_bytes() - before < 6_000_000  # all of them are 32 MB
    assert len(engine.push_batch(pa.table({"type": ["B"], "ts": [2_000_000]}))) == 60
