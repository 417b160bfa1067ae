"""Events: their order relations and union (appendix A of the framework paper), ids, schemas."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid import CompositeEvent, Event, EventError, Interval, Kind, Schema, parse_schema
from cepheid.events import Order, Value, kind_named, kind_of
from cepheid.units import INT_MAX, INT_MIN, TIME_MAX
from tests.strategies import streams

times = st.integers(-5, 5)


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    start = draw(times)
    return Interval(start, start + draw(st.integers(0, 4)))


values: st.SearchStrategy[Value] = st.one_of(
    st.integers(-2, 2), st.sampled_from([0.5, -1.0, math.inf]), st.text(max_size=2), st.booleans()
)
ids = st.one_of(st.none(), st.integers(0, 3), st.sampled_from(["a", "b"]))
attributes = st.dictionaries(st.sampled_from(["a", "b", "c"]), values, max_size=2)


@st.composite
def small_events(draw: st.DrawFn) -> Event:
    span = draw(intervals())
    return Event(draw(st.sampled_from("AB")), span.start, span.end, draw(attributes), draw(ids))


# --- intervals ---------------------------------------------------------------


@pytest.mark.property
@given(intervals(), intervals(), intervals())
def test_strong_order_is_a_strict_partial_order(a: Interval, b: Interval, c: Interval) -> None:
    assert not a < a  # noqa: PLR0124 (irreflexive, on purpose)
    assert not a < b < a
    assert not a < b < c or a < c


@pytest.mark.property
@given(intervals(), intervals(), intervals(), intervals())
def test_strong_order_is_that_of_intervals(
    a: Interval, b: Interval, c: Interval, d: Interval
) -> None:
    # Of two pairs in order, the first of one comes before the second of the other.
    assert not (a < b and c < d) or a < d or c < b


@pytest.mark.property
@given(intervals(), intervals(), intervals())
def test_union_is_associative_commutative_and_idempotent(
    a: Interval, b: Interval, c: Interval
) -> None:
    assert (a | b) | c == a | (b | c)
    assert a | b == b | a
    assert a | a == a


@pytest.mark.property
@given(intervals(), intervals(), intervals())
def test_union_is_the_smallest_interval_around_both(a: Interval, b: Interval, c: Interval) -> None:
    both = a | b
    assert both.start <= min(a.start, b.start)
    assert both.end >= max(a.end, b.end)
    contains = c.start <= min(a.start, b.start) and c.end >= max(a.end, b.end)
    assert not contains or (c.start <= both.start and both.end <= c.end)


@pytest.mark.property
@given(intervals(), intervals(), intervals())
def test_what_follows_a_union_follows_both_of_its_parts(
    a: Interval, b: Interval, c: Interval
) -> None:
    assert ((a | b) < c) == (a < c and b < c)


def test_intervals_that_touch_are_not_in_strong_order() -> None:
    assert not Interval(1, 3) < Interval(3, 4)
    assert Interval(1, 2) < Interval(3, 4)


# --- the total order ---------------------------------------------------------


@pytest.mark.property
@given(small_events(), small_events(), small_events())
def test_total_order_is_total_and_transitive(a: Event, b: Event, c: Event) -> None:
    one, other, third = map(Order().key, (a, b, c))
    assert (one < other) + (other < one) + (one == other) == 1
    assert not one < other < third or one < third


@pytest.mark.property
@given(small_events(), small_events())
def test_total_order_tells_apart_what_differs(a: Event, b: Event) -> None:
    same = Order().key(a) == Order().key(b)
    assert a != b or _kinds(a) != _kinds(b) or same
    assert not same or (a.type, a.interval, a.id) == (b.type, b.interval, b.id)
    assert not same or a.attributes == b.attributes


def _kinds(event: Event) -> dict[str, type]:
    """The types of attributes; to Python, false is a zero."""
    return {name: type(value) for name, value in event.attributes.items()}


def test_total_order_tells_bools_from_numbers() -> None:
    zero, false = Event("A", 0, 0, {"b": 0}), Event("A", 0, 0, {"b": False})
    assert zero == false
    assert Order().key(false) < Order().key(zero)
    assert Order().key(zero) == Order().key(Event("A", 0, 0, {"b": 0.0}))


@pytest.mark.property
@given(small_events(), small_events())
def test_strong_order_implies_total_order(a: Event, b: Event) -> None:
    assert a.precedes(b) == (a.interval < b.interval)
    assert not a.precedes(b) or Order().key(a) < Order().key(b)


def test_total_order_is_by_end_then_start_then_id() -> None:
    ordered = [
        Event("Z", 0, 1, id=9),
        Event("A", 0, 2, id=9),
        Event("A", 1, 2, id=1),
        Event("A", 1, 2, id=2),
        Event("A", 1, 2, id="1"),
    ]
    for shuffled in permutations(ordered):
        assert sorted(shuffled, key=Order().key) == ordered


def test_ties_are_broken_by_type_then_attributes_in_the_order_of_the_schema() -> None:
    by_a = [Event("T", 1, 1, {"a": 1, "b": 2}), Event("T", 1, 1, {"a": 2, "b": 1})]
    schema = Schema.of({"T": {"b": "int", "a": "int"}})
    turned = [by_a[1], by_a[0]]
    assert sorted(turned, key=Order().key) == by_a
    assert sorted(by_a, key=Order(schema).key) == turned
    assert Order().key(Event("S", 1, 1, {"a": 9})) < Order().key(by_a[0])


def test_a_missing_attribute_comes_before_any_value() -> None:
    empty, full = Event("T", 1, 1), Event("T", 1, 1, {"a": ""})
    assert Order().key(empty) < Order().key(full)


def test_a_composite_event_follows_what_it_is_made_of() -> None:
    part = Event("A", 1, 1, id="zzz")
    whole = CompositeEvent("A", 1, 1, rule="R", events=(("x", part),))
    deeper = CompositeEvent("A", 1, 1, rule="R", events=(("x", whole),))
    keys = [Order().key(event) for event in (part, whole, deeper)]
    assert all(one < other for one, other in pairwise(keys))


@pytest.mark.property
@given(streams())
def test_sorting_does_not_depend_on_the_order_of_arrival(events: list[Event]) -> None:
    key, turned = Order().key, events[::-1]
    assert sorted(turned, key=key) == sorted(events, key=key)


# --- events ------------------------------------------------------------------


def test_none_and_nan_are_missing_attributes() -> None:
    event = Event("A", 1, 1, {"a": None, "b": math.nan, "c": 0, "d": "", "e": False})  # type: ignore[dict-item]  # None is what is tested
    assert event.attributes == {"c": 0, "d": "", "e": False}


def test_an_event_keeps_its_own_attributes() -> None:
    given_attributes: dict[str, Value] = {"a": 1}
    event = Event("A", 1, 1, given_attributes)
    given_attributes["a"] = 2
    assert event.attributes == {"a": 1}


def test_equal_events_have_equal_hashes() -> None:
    one, other = Event("A", 1, 2, {"a": 1}, 7), Event("A", 1, 2, {"a": 1}, 7)
    assert one == other
    assert len({one, other}) == 1


@pytest.mark.parametrize(
    ("start", "end"), [(2, 1), (-TIME_MAX, 0), (0, TIME_MAX), (-(2**80), 2**80)]
)
def test_times_must_be_in_order_and_in_range(start: int, end: int) -> None:
    with pytest.raises(EventError, match="event A must start before it ends"):
        Event("A", start, end)


@pytest.mark.parametrize("value", [INT_MAX + 1, INT_MIN - 1, 2**200])
def test_ints_must_fit_into_64_bits(value: int) -> None:
    with pytest.raises(EventError, match="attribute v of event A must fit into 64 bits"):
        Event("A", 1, 1, {"v": value})


@pytest.mark.parametrize("value", [INT_MAX, INT_MIN, math.inf, -0.0, "\0", "\ud800"])
def test_values_at_the_edge_are_kept(value: Value) -> None:
    assert Event("A", 1, 1, {"v": value}).attributes == {"v": value}


def test_attributes_must_be_plain_values() -> None:
    with pytest.raises(EventError, match=r"attribute v of event A must be a string.*got list"):
        Event("A", 1, 1, {"v": [1]})  # type: ignore[dict-item]  # what is tested


# --- ids of composite events -------------------------------------------------


def composite(**changes: object) -> CompositeEvent:
    parts = (("x", Event("A", 1, 1, {"v": 1}, 0)), ("y", Event("B", 2, 2, {"v": 2}, 1)))
    whole = CompositeEvent("AB", 1, 2, {"n": 3}, rule="R", events=parts)
    return replace(whole, **{"id": None, **changes})  # type: ignore[arg-type]  # any field


def test_the_id_is_the_same_in_every_run() -> None:
    assert composite().id == composite().id
    # Written down: sinks recognise a replay of years ago by it.
    assert composite().id == "df8ae2afa9c3d59c226043c7e1f03e80"


def test_the_id_depends_on_rule_type_and_constituents() -> None:
    parts = composite().events
    others = [
        composite(rule="S"),
        composite(type="BA"),
        composite(events=parts[:1]),
        composite(events=(*parts, parts[1])),
        composite(events=(("y", parts[0][1]), ("x", parts[1][1]))),
        composite(events=(("z", parts[0][1]), parts[1])),
        composite(events=(("x", replace(parts[0][1], id=5)), parts[1])),
        composite(events=(("x", replace(parts[0][1], attributes={"v": 2})), parts[1])),
        composite(events=(("x", replace(parts[0][1], end=2)), parts[1])),
        composite(events=(("x", replace(parts[0][1], type="C")), parts[1])),
        composite(events=(("x", replace(parts[0][1], start=0)), parts[1])),
        composite(events=(("x", replace(parts[0][1], id="0")), parts[1])),
        composite(events=(("x", replace(parts[0][1], id=None)), parts[1])),
    ]
    assert len({event.id for event in [composite(), *others]}) == len(others) + 1


def test_the_id_does_not_depend_on_the_time_and_attributes_of_the_whole() -> None:
    assert composite(attributes={"n": 4}).id == composite().id
    assert composite(start=0, end=9).id == composite().id


def test_the_id_does_not_depend_on_the_order_of_attributes() -> None:
    one = Event("A", 1, 1, {"a": 1, "b": 2}, 0)
    other = Event("A", 1, 1, {"b": 2, "a": 1}, 0)
    ids_ = [composite(events=(("x", event),)).id for event in (one, other)]
    assert ids_[0] == ids_[1]


def test_the_id_does_not_depend_on_the_order_of_constituents() -> None:
    # They are a set; a tie between them must not make another finding of it.
    assert composite(events=composite().events[::-1]).id == composite().id


@pytest.mark.parametrize("values", [(1, 1.0), (1, True), (0.0, -0.0), ("1", 1), ("", None)])
def test_the_id_tells_values_of_different_kinds_apart(values: tuple[Value, Value]) -> None:
    events_ = [Event("A", 1, 1, {"v": value}) for value in values]
    ids_ = [composite(events=(("x", event),)).id for event in events_]
    assert ids_[0] != ids_[1]


def test_the_id_of_a_chain_of_composite_events_needs_no_recursion() -> None:
    event: Event = Event("A", 1, 1)
    for _ in range(5_000):
        event = CompositeEvent("B", 1, 1, rule="R", events=(("x", event),))
    assert isinstance(event.id, str)


def test_an_id_that_is_given_is_kept() -> None:
    assert composite(id="mine").id == "mine"


# --- kinds and schemas -------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("string", Kind.STRING),
        ("Text", Kind.STRING),
        ("INTEGER", Kind.INT),
        ("long", Kind.INT),
        ("Float", Kind.DOUBLE),
        ("real", Kind.DOUBLE),
        ("Boolean", Kind.BOOL),
        ("colour", None),
    ],
)
def test_kinds_have_the_names_of_every_language(word: str, kind: Kind | None) -> None:
    assert kind_named(word) is kind


def test_a_bool_is_not_an_int() -> None:
    assert [kind_of(value) for value in (True, 1, 1.0, "1")] == [
        Kind.BOOL,
        Kind.INT,
        Kind.DOUBLE,
        Kind.STRING,
    ]


def test_a_schema_is_declared_in_code_or_in_text_alike() -> None:
    declared = Schema.of({"Temp": {"area": "string", "value": Kind.DOUBLE}, "Smoke": {}})
    assert declared == parse_schema("Temp(area: string, value: double) Smoke()")
    assert list(declared) == ["Temp", "Smoke"]
    assert len(declared) == 2
    assert list(declared["Temp"]) == ["area", "value"]
    assert "Fire" not in declared


def test_a_schema_of_unknown_types_is_an_error() -> None:
    with pytest.raises(EventError, match=r"attribute v of event A must be a string.*got colour"):
        Schema.of({"A": {"v": "colour"}})


def test_a_schema_is_inferred_from_events() -> None:
    events = [
        Event("B", 1, 1, {"z": 1, "a": "x"}),
        Event("B", 2, 2, {"z": 2.5}),
        Event("A", 3, 3, {"ok": True}),
    ]
    assert Schema.infer(events) == parse_schema("A(ok: bool) B(a: string, z: double)")


def test_an_inferred_attribute_must_have_one_type() -> None:
    events = [Event("A", 1, 1, {"v": 1}), Event("A", 1, 1, {"v": "1"})]
    with pytest.raises(EventError, match="attribute v of event A must have one type"):
        Schema.infer(events)


@pytest.mark.property
@given(streams())
def test_an_inferred_schema_does_not_depend_on_the_order_of_events(events: list[Event]) -> None:
    assert Schema.infer(events) == Schema.infer(reversed(events))


def test_events_without_an_id_go_by_source_and_number_there() -> None:
    listed = [Event("A", 1, 1, {"source": s, "seq": n}) for s, n in [("b", 1), ("a", 10), ("a", 9)]]
    ordered = sorted(listed, key=Order().key)
    assert [(e.attributes["source"], e.attributes["seq"]) for e in ordered] == [
        ("a", 9),
        ("a", 10),
        ("b", 1),
    ]
