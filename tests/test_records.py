"""Records: events as dictionaries in, composite events as dictionaries out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid import CompositeEvent, Event, EventError, load
from cepheid.records import Clock, from_record, to_record

RULES = load(
    "Rule R define Pair(area: string, n: int) from B(area = $a) and "
    "each A(area = $a) within 10 s from B where area = A.area and n = A.n",
    language="tesla",
)
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def records(first: datetime | int, second: datetime | int) -> list[dict[str, Any]]:
    return [
        {"type": "A", "ts": first, "area": "x", "n": 1, "id": "a-1"},
        {"type": "B", "ts": second, "area": "x", "id": "b-1", "note": None},
    ]


def test_datetimes_in_are_datetimes_out() -> None:
    (found,) = RULES.detect(records(START, START + timedelta(seconds=3)))
    assert found["ts"] == found["start"] == START + timedelta(seconds=3)
    assert [part["ts"] for part in found["events"]] == [START, START + timedelta(seconds=3)]


@pytest.mark.parametrize(
    ("unit", "first", "second"), [("s", 1, 4), ("ms", 1000, 4000), ("us", 1_000_000, 4_000_000)]
)
def test_integers_with_a_unit_come_back_in_that_unit(unit: str, first: int, second: int) -> None:
    (found,) = RULES.detect(records(first, second), unit=unit)
    assert (found["ts"], found["start"]) == (second, second)
    assert [part["ts"] for part in found["events"]] == [first, second]


def test_a_composite_record_has_the_fields_of_the_reference() -> None:
    (found,) = RULES.detect(records(1, 4), unit="s")
    assert {name: found[name] for name in ("type", "rule", "area", "n")} == {
        "type": "Pair",
        "rule": "R",
        "area": "x",
        "n": 1,
    }
    assert found["events"] == [
        {"label": "A", "type": "A", "ts": 1, "id": "a-1"},
        {"label": "B", "type": "B", "ts": 4, "id": "b-1"},
    ]
    assert list(found)[:5] == ["id", "type", "ts", "start", "rule"]


def test_events_and_records_give_the_same_ids() -> None:
    clock = Clock.of("s")
    given_records = records(1, 4)
    as_events = RULES.detect([from_record(record, clock) for record in given_records])
    as_records = RULES.detect(given_records, unit="s")
    assert [event.id for event in as_events] == [record["id"] for record in as_records]


def test_a_naive_datetime_is_utc() -> None:
    naive = datetime(2026, 1, 2, 3, 4, 5)
    assert Clock().read(naive) == Clock().read(START)


def test_time_zones_are_understood() -> None:
    there = START.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert Clock().read(there) == Clock().read(START)


@pytest.mark.property
@given(st.datetimes(timezones=st.just(UTC)))
def test_a_datetime_comes_back_as_it_was(moment: datetime) -> None:
    assert Clock().write(Clock().read(moment)) == moment


@pytest.mark.property
@given(st.integers(-(10**9), 10**9), st.sampled_from(["us", "ms", "s", "min", "h", "d"]))
def test_an_integer_comes_back_as_it_was(number: int, unit: str) -> None:
    clock = Clock.of(unit)
    written = clock.write(clock.read(number))
    assert written == number
    assert isinstance(written, int)


def test_a_time_between_two_units_is_written_as_a_fraction() -> None:
    assert Clock.of("s").write(1_500_000) == 1.5


def test_start_makes_an_interval() -> None:
    event = from_record({"type": "A", "ts": 5, "start": 2}, Clock.of("s"))
    assert (event.start, event.end) == (2_000_000, 5_000_000)
    assert from_record({"type": "A", "ts": 5, "start": None}, Clock.of("s")).start == 5_000_000


def test_fields_of_the_record_that_say_when_and_what_are_no_attributes() -> None:
    event = from_record({"type": "A", "ts": 5, "start": 2, "id": 7, "v": 1}, Clock.of("s"))
    assert event.id == 7
    assert not {"type", "ts", "start"} & event.attributes.keys()
    assert event.attributes["v"] == 1


@pytest.mark.parametrize(
    ("record", "unit", "message"),
    [
        ({"ts": 1}, "s", "must have a field type"),
        ({"type": "A"}, "s", "must have a field ts"),
        ({"type": "A", "ts": 1}, None, "times that are integers need a unit"),
        ({"type": "A", "ts": "noon"}, "s", "got str"),
        ({"type": "A", "ts": 1.5}, "s", "got float"),
        ({"type": "A", "ts": True}, "s", "got bool"),
        ({"type": "A", "ts": None}, None, "got NoneType"),
        ({"type": "A", "ts": 2**62}, "d", "within 64 bits of microseconds"),
        ({"type": "A", "ts": 1, "v": [1]}, "s", "attribute v of event A must be a string"),
        ({"type": "A", "ts": 1, "v": 2**64}, "s", "must fit into 64 bits"),
        (5, "s", "must be an Event or a dictionary; got int"),
    ],
)
def test_a_bad_record_is_told_with_its_position(
    record: object, unit: str | None, message: str
) -> None:
    good: dict[str, Any] = {"type": "A", "ts": START if unit is None else 1}
    with pytest.raises(EventError, match=f"(?s)event at position 1: .*{message}"):
        RULES.detect([good, record], unit=unit)


def test_an_unknown_unit_is_told() -> None:
    with pytest.raises(
        EventError, match="unit must be one of us, ms, s, min, h, d; got 'fortnight'"
    ):
        RULES.detect([], unit="fortnight")


@pytest.mark.parametrize("events", ["Temp@1", 5, {"type": "A"}, iter([])])
def test_events_must_be_a_list(events: object) -> None:
    with pytest.raises(EventError, match="events must be a list of Events or dictionaries"):
        RULES.detect(events)


def test_no_events_give_nothing() -> None:
    assert RULES.detect([]) == []


def test_a_record_keeps_its_own_fields_apart_from_attributes() -> None:
    part = Event("A", 1, 1, id=3)
    whole = CompositeEvent("AB", 1, 1, {"v": 1}, rule="R", events=(("x", part),))
    assert to_record(whole, Clock.of("us")) == {
        "id": whole.id,
        "type": "AB",
        "ts": 1,
        "start": 1,
        "rule": "R",
        "v": 1,
        "events": [{"label": "x", "type": "A", "ts": 1, "id": 3}],
    }
