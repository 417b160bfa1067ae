"""Arrival: what waits, what is late, and what the clock of a stream says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid import Event, EventError, Limits, Schema
from cepheid.events import Order
from cepheid.runtime.arrival import (
    NEVER,
    SAMPLE,
    Arrival,
    BestEffort,
    Guaranteed,
    Probable,
    arrival_of,
)
from cepheid.runtime.intake import Intake
from cepheid.runtime.settings import Settings, settings_of
from tests.strategies import streams


def at(time: int, source: str | None = None, type_: str = "A", id_: int | None = None) -> Event:
    return Event(type_, time, time, {} if source is None else {"source": source}, id_)


def intake_of(
    policy: str = "guaranteed",
    delay: int = 0,
    sources: Sequence[str] | None = None,
    heartbeats: Sequence[str] = (),
) -> Intake:
    own = None if sources is None else tuple(sources)
    return Intake(Settings(policy, delay, tuple(heartbeats), own), Schema())


def pushed(intake: Intake, events: Sequence[Event]) -> list[Event]:
    """What is consumed when events arrive one by one, in its order."""
    consumed = []
    for event in events:
        at_once = intake.arrive(event)
        consumed += intake.take() if at_once is None else [at_once]
    return consumed


def times(events: Sequence[Event]) -> list[int]:
    return [event.end for event in events]


# --- guaranteed --------------------------------------------------------------


def test_without_a_delay_events_are_consumed_as_they_come() -> None:
    intake = intake_of()
    assert times(pushed(intake, [at(1), at(1), at(3)])) == [1, 1, 3]
    assert intake.arrival.watermark == 3


def test_without_a_delay_an_older_event_is_late_and_is_kept() -> None:
    intake = intake_of()
    assert times(pushed(intake, [at(3), at(2), at(3)])) == [3, 3]
    assert times(intake.late) == times(intake.take_late()) == [2]
    assert intake.take_late() == []
    assert intake.counts["late"] == 1


def test_without_a_delay_and_sources_all_events_are_one_stream() -> None:
    assert times(pushed(intake_of(), [at(5, "a"), at(4, "b"), at(6, "a")])) == [5, 6]


def test_with_a_delay_an_event_is_consumed_when_the_watermark_has_passed_it() -> None:
    intake = intake_of(delay=10)
    assert pushed(intake, [at(5), at(15)]) == []
    assert times(pushed(intake, [at(16)])) == [5]


def test_an_event_at_the_watermark_is_not_late() -> None:
    intake = intake_of(delay=10)
    pushed(intake, [at(20), at(10), at(9)])
    assert times(intake.late) == [9]
    assert times(intake.waiting.events()) == [10, 20]


def test_the_slowest_source_decides() -> None:
    intake = intake_of(delay=1, sources=["a", "b"])
    assert pushed(intake, [at(10, "a"), at(20, "a")]) == []
    assert times(pushed(intake, [at(12, "b")])) == [10]
    assert times(pushed(intake, [at(30, "b")])) == [12]
    assert intake.arrival.watermark == 19


def test_declared_sources_are_waited_for_even_without_a_delay() -> None:
    intake = intake_of(sources=["a", "b"])
    assert pushed(intake, [at(3, "a"), at(5, "a")]) == []
    assert times(pushed(intake, [at(4, "b")])) == [3, 4]
    assert times(pushed(intake, [at(5, "b")])) == [5, 5]


def test_a_source_that_is_seen_first_holds_the_watermark_but_does_not_turn_it_back() -> None:
    intake = intake_of(delay=1)
    pushed(intake, [at(10, "a"), at(9, "b")])
    assert intake.arrival.watermark == 9
    pushed(intake, [at(50, "a")])
    assert intake.arrival.watermark == 9
    pushed(intake, [at(30, "b")])
    assert intake.arrival.watermark == 29


def test_no_sources_at_all_means_one_stream() -> None:
    intake = intake_of(delay=1, sources=())
    pushed(intake, [at(10, "a"), at(9, "b"), at(50, "a")])
    assert intake.arrival.watermark == 49


def test_a_late_event_still_tells_that_its_source_is_alive() -> None:
    intake = intake_of(delay=0, sources=["a", "b"])
    intake.arrival.advance(100)
    pushed(intake, [at(50, "a"), at(200, "b"), at(60, "a"), at(150, "a")])
    assert times(intake.late) == [50, 60]
    assert intake.arrival.watermark == 150


@pytest.mark.property
@given(
    events=streams(20),
    delay=st.integers(0, 40).map(lambda seconds: seconds * 1_000_000),
    cuts=st.lists(st.integers(0, 20), max_size=4),
)
def test_whatever_the_delay_each_event_is_consumed_in_order_or_late(
    events: list[Event], delay: int, cuts: list[int]
) -> None:
    intake = intake_of(delay=delay)
    consumed: list[Event] = []
    places = [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
    for begin, end in pairwise(places):
        batch = events[begin:end]
        consumed += pushed(intake, batch) if len(batch) % 2 else intake.arrive_together(batch)
    intake.arrival.advance(intake.newest)
    consumed += intake.take()
    order = Order().key
    assert sorted([*consumed, *intake.late], key=order) == sorted(events, key=order)
    assert times(consumed) == sorted(times(consumed))
    assert intake.counts["consumed"] == len(consumed)
    assert len(intake.waiting) == 0
    if delay:
        assert consumed == sorted(consumed, key=Order().key)


@pytest.mark.property
@given(events=streams(20))
def test_a_delay_as_long_as_the_disorder_loses_nothing(events: list[Event]) -> None:
    lag, newest = 0, NEVER
    for event in events:
        newest = max(newest, event.end)
        lag = max(lag, newest - event.end)
    intake = intake_of(delay=lag + 1)
    consumed = pushed(intake, events)
    intake.arrival.advance(intake.newest)
    assert [*consumed, *intake.take()] == sorted(events, key=Order().key)
    assert not intake.late


def test_a_batch_is_judged_by_what_was_known_before_it() -> None:
    one_by_one, together = intake_of(), intake_of()
    events = [at(5), at(3), at(4)]
    assert times(pushed(one_by_one, events)) == [5]
    assert times(together.arrive_together(events)) == [3, 4, 5]
    assert times(together.arrive_together([at(4), at(6)])) == [6]
    assert times(together.late) == [4]


def test_sources_of_a_batch_are_all_known_before_the_watermark_moves() -> None:
    intake = intake_of(delay=1)
    intake.arrive_together([at(50, "a"), at(10, "b")])
    assert intake.arrival.watermark == 9


# --- heartbeats and time -----------------------------------------------------


def test_heartbeats_move_the_watermark_and_are_no_events() -> None:
    intake = intake_of(delay=1, heartbeats=["Beat"])
    assert times(pushed(intake, [at(5), at(20, type_="Beat")])) == [5]
    assert intake.counts == {"received": 2, "consumed": 1, "heartbeats": 1}
    assert intake.arrival.watermark == 19


def test_a_heartbeat_of_a_source_speaks_for_that_source() -> None:
    intake = intake_of(sources=["a", "b"], heartbeats=["Beat"])
    assert pushed(intake, [at(5, "a"), at(20, "a", "Beat")]) == []
    assert times(pushed(intake, [at(7, "b", "Beat")])) == [5]


def test_a_heartbeat_without_a_source_speaks_for_all() -> None:
    intake = intake_of(sources=["a", "b"], heartbeats=["Beat"])
    assert times(pushed(intake, [at(5, "a"), at(20, type_="Beat")])) == [5]
    assert pushed(intake, [at(19, "b")]) == []
    assert times(intake.late) == [19]


def test_an_old_heartbeat_changes_nothing() -> None:
    intake = intake_of(heartbeats=["Beat"])
    pushed(intake, [at(9), at(3, type_="Beat")])
    assert intake.arrival.watermark == 9
    assert not intake.late


def test_a_heartbeat_that_rules_look_at_is_an_event_too() -> None:
    intake = intake_of(heartbeats=["Beat"])
    intake.looked_at = frozenset({"Beat"})
    assert times(pushed(intake, [at(9, type_="Beat")])) == [9]
    assert [e.type for e in intake.arrive_together([at(10, type_="Beat")])] == ["Beat"]


@pytest.mark.parametrize("policy", ["guaranteed", "probable(0.9)"])
def test_advance_decides_everything_up_to_and_including_a_time(policy: str) -> None:
    intake = intake_of(policy, sources=["a", "b"] if policy == "guaranteed" else None)
    pushed(intake, [at(5, "a"), at(6, "a"), at(7, "a")])
    intake.arrival.advance(6)
    assert times(intake.take()) == [5, 6]
    pushed(intake, [at(6, "b"), at(7, "b")])
    assert times(intake.late) == [6]
    intake.arrival.advance(3)
    assert intake.arrival.passed == 6


# --- best effort -------------------------------------------------------------


def test_best_effort_consumes_everything_at_once_in_the_order_of_arrival() -> None:
    intake = intake_of("best_effort")
    assert times(pushed(intake, [at(5), at(3), at(4)])) == [5, 3, 4]
    assert times(intake.arrive_together([at(2), at(1)])) == [2, 1]
    intake.arrival.advance(100)
    assert times(pushed(intake, [at(50)])) == [50]
    assert not intake.late


# --- probable ----------------------------------------------------------------


def test_probable_waits_until_it_has_seen_enough() -> None:
    arrival = Probable(0.9)
    for time in range(1, 10):
        arrival.arrive(None, time)
        assert arrival.ready == NEVER
    arrival.arrive(None, 10)
    assert arrival.ready == 10


def test_probable_waits_as_long_as_the_delays_that_were_seen() -> None:
    intake = intake_of("probable(0.5)")
    pushed(intake, [at(time) for time in (10, 5, 20, 15, 30, 25, 40, 35, 50, 45)])
    # Half of the delays were 5: the sixth smallest of ten is the first with 6 / 11 > 0.5.
    assert intake.arrival.ready == 45
    pushed(intake, [at(44)])
    assert times(intake.late)[-1] == 44


def test_probable_learns_from_late_events() -> None:
    arrival = Probable(0.5)
    for time in range(1, 20):
        arrival.arrive(None, time)
    assert arrival.ready == 19
    for _ in range(20):
        arrival.arrive(None, 10)
    arrival.arrive(None, 25)
    assert arrival.ready == 19
    arrival.arrive(None, 40)
    assert arrival.ready == 31


@pytest.mark.property
@given(st.lists(st.integers(0, 50), max_size=60), st.floats(0.05, 0.95))
def test_probable_is_the_estimate_that_its_description_says(
    arrivals: list[int], probability: float
) -> None:
    arrival = Probable(probability)
    delays: list[int] = []
    newest, ready = NEVER, NEVER
    for time in arrivals:
        arrival.arrive(None, time)
        newest = max(newest, time)
        delays.append(newest - time)
        for age in range(51):
            seen = sum(1 for delay in delays if delay <= age)
            if seen / (len(delays) + 1) > probability:
                ready = max(ready, newest - age)
                break
        assert arrival.ready == ready


def test_probable_remembers_a_bounded_number_of_delays() -> None:
    arrival = Probable(0.5)
    for time in range(2 * SAMPLE):
        arrival.arrive(None, time % 7 + time)
    assert len(arrival.state()["delays"]) == SAMPLE


# --- all policies ------------------------------------------------------------

ARRIVALS: list[dict[str, Any]] = [
    {"policy": "guaranteed"},
    {"policy": "guaranteed", "delay": 7},
    {"policy": "guaranteed", "delay": 3, "sources": ("a", "b")},
    {"policy": "guaranteed", "sources": ("a", "b")},
    {"policy": "best_effort"},
    {"policy": "probable(0.7)"},
]
arrivals = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 60)), max_size=40)


def bounds(arrival: Arrival) -> tuple[int, int, int]:
    return arrival.watermark, arrival.ready, arrival.passed


@pytest.mark.property
@pytest.mark.parametrize("settings", ARRIVALS, ids=str)
@given(before=arrivals, after=arrivals)
def test_a_policy_goes_on_from_its_state(
    settings: dict[str, Any], before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    one, other = arrival_of(**settings), arrival_of(**settings)
    for source, time in before:
        one.arrive(source, time)
    other.load(json.loads(json.dumps(one.state())))
    for source, time in after:
        one.arrive(source, time)
        other.arrive(source, time)
        assert bounds(one) == bounds(other)


@pytest.mark.property
@pytest.mark.parametrize("settings", ARRIVALS, ids=str)
@given(given_=arrivals.filter(bool))
def test_bounds_never_fall_and_many_arrivals_are_at_least_as_patient(
    settings: dict[str, Any], given_: list[tuple[str, int]]
) -> None:
    one, together = arrival_of(**settings), arrival_of(**settings)
    for source, time in given_:
        before = bounds(one)
        one.arrive(source, time)
        assert all(new >= old for new, old in zip(bounds(one), before, strict=True))
    known = list(dict.fromkeys(source for source, _ in given_))
    codes = np.array([known.index(source) for source, _ in given_], np.int64)
    together.arrive_all(np.array([time for _, time in given_], np.int64), codes, known)
    assert together.watermark <= one.watermark


def test_policies_are_named_as_they_are_written() -> None:
    assert isinstance(arrival_of("guaranteed"), Guaranteed)
    assert isinstance(arrival_of("best_effort"), BestEffort)
    assert isinstance(arrival_of("probable( .5 )"), Probable)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": "garanteed"}, "policy must be one of guaranteed, .*did you mean guaranteed"),
        ({"policy": "probable"}, "policy must be one of"),
        ({"policy": "probable(1)"}, "probability of policy probable must lie above 0"),
        ({"policy": "probable(0)"}, "probability of policy probable must lie above 0"),
        (
            {"policy": "best_effort", "delay": 1},
            "delay, sources and idle must go with .* guaranteed",
        ),
        ({"policy": "probable(0.5)", "sources": ["a"]}, "delay, sources and idle must go with"),
    ],
)
def test_policies_that_cannot_be_meant_are_errors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(EventError, match=f"(?s){message}"):
        arrival_of(**settings)


# --- settings ----------------------------------------------------------------

DEFAULTS: dict[str, Any] = {
    "policy": "guaranteed",
    "delay": 0,
    "heartbeats": (),
    "sources": None,
    "unit": None,
    "failures": False,
    "limits": None,
    "depth_limit": 32,
    "late_limit": 10,
}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"delay": -1}, "delay must not be negative"),
        ({"delay": 1.5}, "delay must be a timedelta, a text such as '5 s', or a number"),
        ({"delay": "soon"}, "time must be a number with one of the units"),
        ({"heartbeats": 7}, "heartbeats must be a list of names; got int"),
        ({"sources": b"ab"}, "sources must be a list of names; got bytes"),
        ({"unit": "fortnight"}, "unit must be one of"),
        ({"limits": 100}, "limits must be Limits, or a dictionary"),
        ({"limits": {"R": 100}}, "limits must be Limits, or a dictionary"),
        ({"depth_limit": 0}, "depth_limit must be a number of at least 1; got 0"),
        ({"late_limit": -1}, "late_limit must be a number of at least 0; got -1"),
    ],
)
def test_settings_that_cannot_be_meant_are_errors(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(EventError, match=message):
        settings_of(**{**DEFAULTS, **setting})


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "many"])
def test_limits_are_numbers_of_at_least_one(limit: Any) -> None:  # noqa: ANN401
    with pytest.raises(EventError, match="limit stored must be a number of at least 1"):
        Limits(stored=limit)
    with pytest.raises(EventError, match="limit partial must be a number of at least 1"):
        Limits(partial=limit)


def test_limits_have_one_of_two_policies() -> None:
    with pytest.raises(EventError, match="policy of limits must be refuse or drop; got 'panic'"):
        Limits(policy="panic")  # type: ignore[arg-type]  # that is the point


def test_a_rule_has_its_own_limits_or_those_of_all() -> None:
    few, many = Limits(stored=1), Limits(stored=9)
    assert settings_of(**{**DEFAULTS, "limits": few}).limits_of("R") == few
    own = settings_of(**{**DEFAULTS, "limits": {"R": many}})
    assert (own.limits_of("R"), own.limits_of("S")) == (many, Limits())


def test_settings_go_through_json() -> None:
    settings = settings_of(
        **{
            **DEFAULTS,
            "delay": "5 s",
            "heartbeats": "Beat",
            "sources": ["a", "b"],
            "limits": {"R": Limits(partial=3, policy="drop")},
        }
    )
    assert settings.delay == 5_000_000
    assert settings.heartbeats == ("Beat",)
    assert Settings.of_state(json.loads(json.dumps(settings.state()))) == settings
