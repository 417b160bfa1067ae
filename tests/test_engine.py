"""The embedded engine: what goes in and comes out, time, subscriptions, rules that change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pytest

import cepheid
from cepheid import (
    CompositeEvent,
    Event,
    EventError,
    RuleError,
    Rules,
)
from tests.engines import PAIR, A, B, as_table, fit_for_tables
from tests.strategies import SECOND

# --- what goes in and comes out ----------------------------------------------

ALARM = cepheid.load(
    "Rule Hot define Alarm(area: string) from Temp(value > 45) where area = Temp.area",
    language="tesla",
)


def test_events_give_composite_events() -> None:
    engine = PAIR.engine()
    assert engine.push(A) == []
    (found,) = engine.push(B)
    assert isinstance(found, CompositeEvent)
    assert [(label, part) for label, part in found.events] == [("x", A), ("y", B)]
    assert engine.advance(5 * SECOND) == []


def test_dictionaries_give_dictionaries() -> None:
    engine = PAIR.engine(unit="s")
    assert engine.push({"type": "A", "ts": 1, "id": 1}) == []
    (found,) = engine.push({"type": "B", "ts": 2, "id": 2})
    assert (found["type"], found["ts"], found["start"]) == ("AB", 2, 1)
    assert (
        found
        == PAIR.detect(
            [{"type": "A", "ts": 1, "id": 1}, {"type": "B", "ts": 2, "id": 2}], unit="s"
        )[0]
    )
    assert engine.push_batch([{"type": "B", "ts": 3}])[0]["ts"] == 3


def test_datetimes_go_in_and_come_out() -> None:
    engine = PAIR.engine()
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    engine.push({"type": "A", "ts": noon})
    (found,) = engine.push({"type": "B", "ts": noon + timedelta(seconds=1)})
    assert found["ts"] == noon + timedelta(seconds=1)
    assert engine.advance(noon + timedelta(hours=1)) == []


@pytest.mark.parametrize("frame", ["pandas", "polars", "arrow"])
def test_tables_give_tables_of_the_same_library(frame: str) -> None:
    engine = PAIR.engine(unit="us")
    first, second = (_in_library(as_table([event]), frame) for event in (A, B))
    assert len(engine.push_batch(first)) == 0
    found = engine.push_batch(second)
    assert type(found) is type(second)
    assert (len(found), next(iter(found["type"])) in ("AB", pa.scalar("AB"))) == (1, True)
    assert type(engine.advance(7 * SECOND)) is type(second)
    assert type(cepheid.restore(engine.snapshot()).advance(8 * SECOND)) is type(second)


def _in_library(table: pa.Table, frame: str) -> Any:  # noqa: ANN401
    if frame == "pandas":
        return table.to_pandas()
    if frame == "polars":
        import polars

        return polars.from_arrow(table)
    return table


def test_a_composite_event_of_a_table_may_be_made_of_rows_of_an_earlier_one() -> None:
    engine = PAIR.engine(unit="s")
    engine.push_batch(pa.table({"type": ["A"], "ts": [1], "colour": ["red"]}))
    found = engine.push_batch(pa.table({"type": ["B"], "ts": [2], "size": [7]}))
    assert found.select(["x_colour", "y_size"]).to_pylist() == [{"x_colour": "red", "y_size": 7}]


def test_tables_and_events_may_take_turns() -> None:
    engine = PAIR.engine(unit="us", delay=5 * SECOND)
    third = Event("A", 3 * SECOND, 3 * SECOND, id=3)
    assert len(engine.push_batch(as_table([fit_for_tables(B)]))) == 0
    assert engine.push(A) == []
    assert len(engine.push_batch(as_table([fit_for_tables(third)]))) == 0
    assert engine.counters.waiting == 3
    engine = cepheid.restore(engine.snapshot())
    late = Event("B", 20 * SECOND, 20 * SECOND, id=4)
    assert [found.end for found in engine.push(late)] == [2 * SECOND]
    assert engine.close() == []


def test_a_batch_may_be_empty() -> None:
    engine = PAIR.engine(unit="us")
    assert engine.push_batch([]) == []
    assert len(engine.push_batch(as_table([]))) == 0


def test_events_that_cannot_be_read_change_nothing() -> None:
    engine = PAIR.engine(unit="s")
    with pytest.raises(EventError, match="event at position 1: event must have a field ts"):
        engine.push_batch([{"type": "A", "ts": 1}, {"type": "B"}])
    with pytest.raises(EventError, match="event must have a field type"):
        engine.push({"ts": 1})
    with pytest.raises(EventError, match="events must be a table, or a list of Events"):
        engine.push_batch(7)
    with pytest.raises(EventError, match="events must be a table, or a list of Events"):
        engine.push_batch("A@1")
    assert engine.counters.received == 0
    assert engine.push({"type": "B", "ts": 2}) == []


def test_attributes_must_be_as_the_schema_says() -> None:
    rules = cepheid.load(
        "Rule R define Hot() from Temp(value > 45)",
        language="tesla",
        schema="Temp(value: double)",
    )
    engine = rules.engine(unit="s")
    for push in (engine.push, lambda event: engine.push_batch([event])):
        with pytest.raises(EventError, match="attribute value of event Temp must be double"):
            push({"type": "Temp", "ts": 1, "value": "hot"})
    assert len(engine.push({"type": "Temp", "ts": 1, "value": 50})) == 1


def test_columns_that_cannot_be_written_are_told_before_anything_is_consumed() -> None:
    rules = cepheid.load("EVENT SEQ(A x, B y) WITHIN 9 s RETURN C(v = x.v)", language="sase")
    both = Rules((*rules, *cepheid.load("QUERY D EVENT B x RETURN D(v = x.v)", language="sase")))
    engine = both.engine(unit="s")
    engine.push_batch({"A": pa.table({"ts": [1], "v": [1]})})
    with pytest.raises(EventError, match="column v of the composite events must have one type"):
        engine.push_batch({"B": pa.table({"ts": [2], "v": ["text"]})})
    assert engine.counters.received == 1


def test_integers_without_a_unit_are_an_error_for_dictionaries() -> None:
    engine = PAIR.engine()
    with pytest.raises(EventError, match="times that are integers need a unit"):
        engine.push({"type": "A", "ts": 1})
    engine.push({"type": "A", "ts": datetime(2026, 7, 1, tzinfo=UTC)})
    with pytest.raises(EventError, match="times that are integers need a unit"):
        engine.advance(5)


def test_what_a_batch_causes_comes_in_the_order_of_time() -> None:
    rules = Rules((*PAIR, *ALARM))
    events = [
        Event(type_, at * SECOND, at * SECOND, {"value": 50.0, "area": "A1"})
        for at, type_ in enumerate(["A", "B", "Temp", "B", "Temp", "B"])
    ]
    found = rules.engine().push_batch(events)
    assert [event.end // SECOND for event in found] == [1, 2, 3, 4, 5]


# --- time --------------------------------------------------------------------

ABSENCE = cepheid.load("EVENT SEQ(A x, !(B y)) WITHIN 5 s", language="sase")


def test_advance_lets_absences_fire() -> None:
    engine = ABSENCE.engine()
    engine.push(A)
    assert engine.advance(5 * SECOND) == []
    (found,) = engine.advance(6 * SECOND)
    assert found.end == 6 * SECOND
    assert engine.advance(100 * SECOND) == []


def test_what_comes_after_advance_and_is_not_newer_is_late() -> None:
    engine = ABSENCE.engine()
    engine.push(A)
    engine.advance(2 * SECOND)
    assert engine.push(B) == []
    assert engine.late == (B,)
    assert len(engine.advance(6 * SECOND)) == 1


def test_heartbeats_let_absences_fire() -> None:
    engine = ABSENCE.engine(heartbeats="Beat")
    engine.push(A)
    assert engine.push(Event("Beat", 6 * SECOND, 6 * SECOND)) == []
    assert len(engine.push(Event("Beat", 6 * SECOND + 1, 6 * SECOND + 1))) == 1
    assert (engine.counters.heartbeats, engine.counters.consumed) == (2, 1)


def test_events_that_no_rule_looks_at_let_time_pass() -> None:
    engine = ABSENCE.engine()
    engine.push(A)
    assert len(engine.push(Event("Other", 7 * SECOND, 7 * SECOND))) == 1


def test_waiting_events_are_no_reason_for_time_to_pass() -> None:
    engine = ABSENCE.engine(delay=10 * SECOND)
    engine.push(A)
    assert engine.push(Event("Other", 7 * SECOND, 7 * SECOND)) == []
    assert engine.push(B) == []
    assert engine.close() == []


def test_close_consumes_what_waits_and_takes_no_more() -> None:
    engine = PAIR.engine(delay=10 * SECOND)
    engine.push_batch([A, B])
    assert len(engine.close()) == 1
    assert engine.close() == []
    assert engine.counters.waiting == 0
    for call in (lambda: engine.push(A), lambda: engine.push_batch([A]), lambda: engine.advance(9)):
        with pytest.raises(EventError, match="engine must be open to take events; it was closed"):
            call()
    with pytest.raises(EventError, match="it was closed"):
        cepheid.restore(engine.snapshot()).push(A)


def test_a_block_closes_the_engine_at_its_end() -> None:
    told: list[CompositeEvent] = []
    with PAIR.engine(delay=10 * SECOND) as engine:
        engine.subscribe("AB", told.append)
        engine.push_batch([A, B])
        assert not told
    assert len(told) == 1
    with pytest.raises(ZeroDivisionError), PAIR.engine(delay=10 * SECOND) as engine:
        engine.subscribe("AB", told.append)
        engine.push_batch([A, B])
        _ = 1 / 0
    assert len(told) == 1


# --- subscriptions -----------------------------------------------------------


def test_every_subscriber_is_told_in_order_until_it_cancels() -> None:
    told: list[str] = []
    engine = PAIR.engine()
    first = engine.subscribe("AB", lambda event: told.append(f"first {event.rule}"))
    engine.subscribe("AB", lambda event: told.append(f"second {event.rule}"))
    engine.push_batch([A, B])
    assert told == ["first AB", "second AB"]
    first.cancel()
    first.cancel()
    engine.push(replace(B, id=3))
    assert told[2:] == ["second AB"]


def test_a_subscriber_may_cancel_itself_and_push() -> None:
    told: list[CompositeEvent] = []
    engine = PAIR.engine()

    def once(event: CompositeEvent) -> None:
        told.append(event)
        subscription.cancel()
        assert len(engine.push(replace(B, id=3))) == 1

    subscription = engine.subscribe("AB", once)
    engine.push_batch([A, B])
    assert len(told) == 1


def test_an_error_of_a_subscriber_comes_out_after_all_were_told() -> None:
    told: list[CompositeEvent] = []
    engine = PAIR.engine()
    engine.subscribe("AB", lambda event: event.events[9])
    engine.subscribe("AB", told.append)
    engine.push(A)
    with pytest.raises(IndexError):
        engine.push(B)
    assert len(told) == 1
    assert engine.counters.by_rule == {"AB": 1}


def test_a_subscription_needs_a_type_that_a_rule_gives() -> None:
    engine = PAIR.engine()
    with pytest.raises(EventError, match=r"must be one that a rule gives; got Ab\n\nhint: did you"):
        engine.subscribe("Ab", print)
    with pytest.raises(EventError, match="subscriber must be a function of one event; got str"):
        engine.subscribe("AB", "print")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(EventError, match="needs an engine with failure events"):
        engine.subscribe("Failure", print)


def test_failure_events_can_be_subscribed_to() -> None:
    rules = cepheid.load(
        "Rule Calm Define Calm(v: Double) From CPU Where Each(CPU.value) < 50 Batch(2)",
        language="laipl",
    )
    told: list[CompositeEvent] = []
    engine = rules.engine(failures=True)
    engine.subscribe("Failure", told.append)
    calm, busy = Event("CPU", 1, 1, {"value": 40.0}), Event("CPU", 2, 2, {"value": 90.0})
    assert engine.push(calm) == []
    (failure,) = engine.push(busy)
    assert (failure.type, failure.attributes["rule"]) == ("Failure", "Calm")
    assert told == [failure]
    assert engine.counters.by_type == {"Failure": 1}
    assert rules.engine().push_batch([calm, busy]) == []


def test_failures_that_only_rules_listen_to_are_constituents_and_not_told(tmp_path: Path) -> None:
    (tmp_path / "calm.laipl").write_text(
        "Rule Calm Define Calm(v: Double) From CPU Where Each(CPU.value) < 50 Batch(2)"
    )
    (tmp_path / "bad.tesla").write_text(
        "Rule Bad define Bad(why: string) from Failure() where why = Failure.reason"
    )
    engine = cepheid.load(tmp_path).engine()
    engine.push(Event("CPU", 1, 1, {"value": 40.0}))
    (bad,) = engine.push(Event("CPU", 2, 2, {"value": 90.0}))
    assert (bad.type, bad.attributes["why"]) == ("Bad", "broken")
    assert [part.type for _, part in bad.events] == ["Failure"]


def test_late_events_are_told_counted_and_kept_within_bounds() -> None:
    told: list[Event] = []
    engine = PAIR.engine(late_limit=2)
    engine.subscribe_late(told.append)
    engine.push(Event("A", 100, 100))
    late = [Event("A", time, time) for time in (1, 2, 3)]
    engine.push(late[0])
    engine.push_batch(late[1:])
    assert told == late
    assert engine.late == (late[1], late[2])
    assert engine.counters.late == 3


def test_late_rows_of_a_table_are_told_too() -> None:
    told: list[Event] = []
    engine = PAIR.engine(unit="us")
    engine.subscribe_late(told.append)
    engine.push_batch(as_table([fit_for_tables(B)]))
    engine.push_batch(as_table([fit_for_tables(A)]))
    assert [event.id for event in told] == [1]
    assert engine.counters.late == 1


# --- rules -------------------------------------------------------------------


def test_a_rule_that_is_added_sees_what_is_consumed_from_then_on() -> None:
    engine = ALARM.engine()
    engine.push(A)
    engine.add(PAIR)
    assert engine.push(B) == []
    assert [rule.name for rule in engine.rules] == ["Hot", "AB"]
    engine.push(replace(A, start=3 * SECOND, end=3 * SECOND))
    assert len(engine.push(replace(B, start=4 * SECOND, end=4 * SECOND))) == 1


def test_a_rule_that_is_removed_leaves_the_others_alone() -> None:
    engine = PAIR.engine()
    engine.add(ALARM)
    engine.push(A)
    engine.remove("Hot")
    assert engine.push(Event("Temp", SECOND, SECOND, {"value": 50.0, "area": "A1"})) == []
    assert len(engine.push(B)) == 1
    assert [rule.name for rule in engine.rules] == ["AB"]


def test_a_rule_that_is_replaced_begins_anew() -> None:
    engine = PAIR.engine()
    engine.push(A)
    longer = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WITHIN 1 min", language="sase")
    engine.replace(longer)
    assert engine.push(B) == []
    engine.push(replace(A, start=3 * SECOND, end=3 * SECOND))
    assert len(engine.push(replace(B, start=40 * SECOND, end=40 * SECOND))) == 1


def test_rules_must_go_with_those_that_are_there() -> None:
    engine = PAIR.engine()
    with pytest.raises(RuleError, match="two rules are called AB"):
        engine.add(PAIR)
    with pytest.raises(RuleError, match=r"no rule of the engine is called BA"):
        engine.remove("BA")
    assert [rule.name for rule in engine.rules] == ["AB"]
    other = cepheid.load("QUERY Q EVENT A x", language="sase", schema="A(v: int)")
    engine.add(other)
    clash = cepheid.load("QUERY R EVENT A x", language="sase", schema="A(v: string)")
    with pytest.raises(RuleError, match="event A must be declared as it is in the engine's schema"):
        engine.add(clash)


def test_an_engine_may_begin_without_rules() -> None:
    engine = Rules(()).engine()
    assert engine.push(A) == []
    assert engine.counters.received == 1


def test_rules_that_feed_on_themselves_are_cut_at_the_depth_limit() -> None:
    rules = cepheid.load("Rule R define A() from A()", language="tesla")
    engine = rules.engine(depth_limit=5)
    assert len(engine.push(A)) == 5
    assert engine.counters.cut == 1
