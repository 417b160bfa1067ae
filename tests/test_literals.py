"""The written form of events: what is written reads as the same event, what is wrong is told."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid import (
    CompositeEvent,
    Event,
    EventError,
    Kind,
    format_event,
    parse_event,
    parse_events,
    parse_schema,
)
from cepheid.events import Value
from cepheid.literals import format_composite, format_double, format_value, unescape
from cepheid.units import INT_MAX, INT_MIN, TIME_MAX

NAMES = ["A", "Temp", "SHELF-READING", "a_b", "_x", "é", "Größe", "中", "true2", "x1-y2-z3"]

times = st.integers(1 - TIME_MAX, TIME_MAX - 1)
# Text that is not Unicode has no written form; everything else must come back.
texts = st.text(st.characters(exclude_categories=["Cs"]))
values: st.SearchStrategy[Value] = st.one_of(
    texts,
    st.integers(INT_MIN, INT_MAX),
    st.floats(allow_nan=False),
    st.booleans(),
)


@st.composite
def any_events(draw: st.DrawFn) -> Event:
    start, end = sorted([draw(times), draw(times)])
    point = draw(st.booleans())
    attributes = draw(st.dictionaries(st.sampled_from(NAMES), values, max_size=3))
    return Event(draw(st.sampled_from(NAMES)), end if point else start, end, attributes)


@pytest.mark.property
@given(any_events())
def test_a_written_event_reads_as_the_same_event(event: Event) -> None:
    again = parse_event(format_event(event))
    assert again == event
    assert list(map(type, again.attributes.values())) == list(map(type, event.attributes.values()))


@pytest.mark.property
@given(st.lists(any_events(), max_size=4), st.sampled_from([" ", "\n", "\t\r\n"]))
def test_written_events_read_one_after_the_other(events: list[Event], gap: str) -> None:
    again = parse_events(gap.join(map(format_event, events)))
    assert again == [replace(event, id=index) for index, event in enumerate(events)]


@pytest.mark.property
@given(st.floats(allow_nan=False))
def test_a_written_double_reads_as_the_same_double(number: float) -> None:
    text = format_double(number)
    assert float(text) == number
    assert math.copysign(1, float(text)) == math.copysign(1, number)
    assert "." in text


@pytest.mark.property
@given(st.text(max_size=30))
def test_any_text_is_events_or_an_error_with_a_place(text: str) -> None:
    try:
        parse_events(text)
    except EventError as error:
        assert str(error).startswith(("line ", "event ", "attribute "))


@pytest.mark.property
@given(st.lists(st.sampled_from([*'A@1 ()[],=:."\\-+', "1e9", "true", "min", "é", "\n"])))
def test_signs_in_any_order_are_events_or_an_error(signs: list[str]) -> None:
    for read in (parse_events, parse_event, parse_schema):
        try:
            read("".join(signs))
        except EventError as error:
            assert str(error)


def test_bare_times_are_seconds_and_units_are_understood() -> None:
    ends = [
        parse_event(f"A@{time}").end for time in ("1", "1.5", "2ms", "3us", "1min", "1h", "-1d")
    ]
    assert ends == [1_000_000, 1_500_000, 2_000, 3, 60_000_000, 3_600_000_000, -86_400_000_000]


def test_an_interval_has_a_start_and_an_end() -> None:
    event = parse_event("A@[1min, 90]")
    assert (event.start, event.end) == (60_000_000, 90_000_000)
    assert format_event(event) == "A@[1min,90]"


def test_numbers_with_a_point_are_doubles_and_others_ints() -> None:
    event = parse_event("A@1(a=1, b=1.0, c=1e3, d=-2, e=+3, f=-0.5)")
    assert event.attributes == {"a": 1, "b": 1.0, "c": 1000.0, "d": -2, "e": 3, "f": -0.5}
    assert [type(value) for value in event.attributes.values()] == [
        int,
        float,
        float,
        int,
        int,
        float,
    ]


def test_strings_stand_in_either_quotes_and_know_escapes() -> None:
    event = parse_event(r"""A@1(a="it's", b='say "x"', c="\n\t\"\\", d="\u00e9\ud83d\ude00")""")
    assert list(event.attributes.values()) == ["it's", 'say "x"', '\n\t"\\', "é😀"]


def test_null_is_a_missing_attribute() -> None:
    assert parse_event("A@1(a=null, b=true, c=false)").attributes == {"b": True, "c": False}


def test_an_empty_pair_of_brackets_is_no_attributes() -> None:
    assert parse_event("A@1()") == parse_event("A@1") == parse_event("  A @ 1 ( ) ")


def test_events_get_their_position_as_id() -> None:
    assert [(event.type, event.id) for event in parse_events("B@2 A@1\nA@1")] == [
        ("B", 0),
        ("A", 1),
        ("A", 2),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: an event type is needed; got the end of the text"),
        ("A", "line 1, column 2: @ is needed; got the end of the text"),
        ("A@", "line 1, column 3: a time such as 10, 1.5s or 3min is needed"),
        ("A@x", "line 1, column 3: a time"),
        ("A@1fortnight", "line 1, column 3: time must be a number with one of the units"),
        ("A@0.1us", "line 1, column 3: time must be a whole number of microseconds"),
        ("A@99999999999999999999", "line 1, column 3: time must stay within 64 bits"),
        ("A@1 B@2", "line 1, column 5: nothing more may follow the event; got B@2"),
        ("A@1(", "line 1, column 5: an attribute's name is needed"),
        ("A@1(a", "line 1, column 6: = is needed"),
        ("A@1(a=", "line 1, column 7: a string in quotes, a number, true, false or null"),
        ("A@1(a=x)", "line 1, column 7: a string in quotes"),
        ("A@1(a=5min)", "line 1, column 7: a string in quotes"),
        ("A@1(a=1 b=2)", r"line 1, column 9: \) is needed; got b=2"),
        ("A@1(\n  a = 'x\n)", "line 2, column 7: a name, a value or one of.*; got 'x"),
        ("A@[1]", "line 1, column 5: , is needed"),
        ("A@[1,2", r"line 1, column 7: \] is needed"),
        ("A@[2,1]", "event A must start before it ends"),
        ("A@1(a=99999999999999999999)", "attribute a of event A must fit into 64 bits"),
        ("A@1(a=1, a=2)", "attribute a must stand once"),
        ("A@1 §", "line 1, column 5: a name, a value or one of"),
    ],
)
def test_a_bad_literal_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(EventError, match=message):
        parse_event(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A(", "line 1, column 3: an attribute's name is needed"),
        ("A(v)", "line 1, column 4: : is needed"),
        ("A(v: colour)", "line 1, column 6: the type of v must be string, int, double or bool"),
        ("A(v: int) A()", "event A must be declared once"),
        ("A(v: int\nB()", r"line 2, column 1: \) is needed; got B"),
    ],
)
def test_a_bad_schema_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(EventError, match=message):
        parse_schema(text)


def test_a_schema_keeps_the_order_of_its_text() -> None:
    schema = parse_schema("B(z: int, a: Boolean)\n\nA C()")
    assert list(schema) == ["B", "A", "C"]
    assert list(schema["B"].items()) == [("z", Kind.INT), ("a", Kind.BOOL)]


def test_a_composite_event_is_written_with_its_rule_and_what_it_is_made_of() -> None:
    part = parse_event('Temp@1(area="A1")')
    whole = CompositeEvent("Fire", 1_000_000, 2_000_000, {"n": 1}, rule="R1", events=(("t", part),))
    assert format_composite(whole) == ('Fire@[1,2](n=1)  by rule R1  from t: Temp@1(area="A1")')


def test_control_characters_are_written_as_escapes() -> None:
    written = format_value("\x00\x1b\x7f\n")
    assert written.isprintable()
    assert parse_event(f"A@1(a={written})").attributes["a"] == "\x00\x1b\x7f\n"


def test_half_of_a_surrogate_pair_reads_as_the_replacement_character() -> None:
    assert unescape(r"a\ud800b") == "a�b"
    assert unescape(r"\ud83d\ude00") == "😀"


def test_an_escape_of_a_plain_letter_is_the_letter() -> None:
    assert unescape(r"\q\u12") == "qu12"
