"""Times: numbers with units in, microseconds behind, the shortest exact text out."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid import EventError
from cepheid.units import TIME_MAX, format_time, parse_time, scale, unit_size

times = st.integers(1 - TIME_MAX, TIME_MAX - 1)


@pytest.mark.property
@given(times, st.sampled_from(["s", "ms", ""]))
def test_a_written_time_reads_as_the_same_time(time: int, bare: str) -> None:
    assert parse_time(format_time(time, bare), bare or "s") == time


@pytest.mark.property
@given(st.text(max_size=12))
def test_any_text_is_a_time_or_an_error(text: str) -> None:
    try:
        assert abs(parse_time(text)) < TIME_MAX
    except EventError as error:
        assert str(error).startswith("time must")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("10", 10_000_000),
        (" 5 min ", 300_000_000),
        ("1.5 h", 5_400_000_000),
        ("0.000001", 1),
        ("-2d", -172_800_000_000),
        ("+1 week", 604_800_000_000),
        ("3 Weeks", 1_814_400_000_000),
        ("250msec", 250_000),
        ("12 hrs.", 43_200_000_000),
        ("7 microseconds", 7),
        ("1.0000000000", 1_000_000),
    ],
)
def test_times_are_read_with_their_unit(text: str, expected: int) -> None:
    assert parse_time(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "time must be a number with one of the units"),
        ("min", "time must be a number"),
        ("1 fortnight", "one of the units us, ms, s, min, h, d"),
        ("1e5", "one of the units"),
        ("0.0000001", "whole number of microseconds"),
        ("1.00000000000000000000000000000000000000001", "whole number of microseconds"),
        ("0.5us", "whole number of microseconds"),
        (f"{TIME_MAX}us", "within 64 bits"),
        ("9" * 5000, "within 64 bits"),
        ("1 s s", "one of the units"),
    ],
)
def test_what_is_no_time_is_told(text: str, message: str) -> None:
    with pytest.raises(EventError, match=message):
        parse_time(text)


def test_the_message_about_a_long_text_stays_short() -> None:
    with pytest.raises(EventError) as caught:
        parse_time("x" * 100_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["us", "ms", "s", "min", "h", "d"])
def test_units_are_known_in_singular_plural_and_any_case(name: str) -> None:
    assert unit_size(name) == unit_size(name.upper()) == unit_size(f"{name}s")


def test_each_unit_is_a_whole_number_of_the_one_below() -> None:
    names = ["microsecond", "millisecond", "second", "minute", "hour", "day", "week"]
    sizes = [unit_size(name) or 0 for name in names]
    assert [large // small for small, large in pairwise(sizes)] == [
        1000,
        1000,
        60,
        60,
        24,
        7,
    ]


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "0"),
        (1, "1us"),
        (-1, "-1us"),
        (1_500, "1500us"),
        (2_000, "2ms"),
        (90_000_000, "90"),
        (-120_000_000, "-2min"),
        (7_200_000_000, "2h"),
        (86_400_000_000, "1d"),
    ],
)
def test_a_time_is_written_in_the_largest_whole_unit(time: int, text: str) -> None:
    assert format_time(time) == text


def test_a_number_of_units_must_be_a_number() -> None:
    with pytest.raises(EventError, match="time must be a number; got x"):
        scale("x", 1)
