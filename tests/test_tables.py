"""Events as tables, equal to what single events give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cepheid
from cepheid.algebra import Rule
from cepheid.events import CompositeEvent, Event, Kind, Order, Schema, Value, identity_of
from cepheid.kernel.columns import Encoder
from cepheid.oracle import evaluate
from cepheid.records import Clock, to_record
from cepheid.tables import arranging, teams
from cepheid.tables.arrow import pa
from cepheid.tables.detecting import detect_table
from cepheid.tables.encode import Encoding
from cepheid.tables.ids import event_identities, written
from cepheid.tables.order import ordering
from cepheid.tables.payload import Payload
from cepheid.tables.reading import read
from cepheid.tables.results import Results
from cepheid.tables.table import Table, concat, from_events
from cepheid.tables.times import Times
from cepheid.tables.writing import Form, write
from cepheid.units import INT_MAX, INT_MIN
from tests.oracle_kernel import OracleKernel
from tests.strategies import RULES, SECOND, events

# --- random events -----------------------------------------------------------

values: st.SearchStrategy[Value] = st.one_of(
    st.integers(-2, 2),
    st.sampled_from([0.5, -1.0, 1.0, math.inf, -math.inf, 0.0, -0.0]),
    st.sampled_from([INT_MAX, INT_MAX - 1, INT_MIN, 2**53, 2**53 + 1, float(2**53), 2.0**63]),
    st.text(max_size=2),
    st.booleans(),
)
ids = st.one_of(
    st.none(),
    st.integers(0, 3),
    st.sampled_from(["a", "b", "0123456789abcdef0123456789abcdef"]),
)


@st.composite
def tied_events(draw: st.DrawFn) -> Event:
    """An event of few times, so that ties are decided by everything else."""
    names = st.sampled_from(["a", "b", "c", "source", "seq"])
    attributes = draw(st.dictionaries(names, values, max_size=3))
    end = draw(st.integers(0, 2))
    start = end - draw(st.sampled_from([0, 0, 1]))
    return Event(draw(st.sampled_from("AB")), start, end, attributes, draw(ids))


tied_streams = st.lists(tied_events(), max_size=12)
schemas = st.sampled_from(
    [
        Schema(),
        Schema({"A": {"b": Kind.INT, "a": Kind.INT}}),
        Schema({"A": {"c": Kind.STRING}, "B": {"c": Kind.STRING}}),
    ]
)


# --- the normal form ---------------------------------------------------------


@pytest.mark.property
@given(tied_streams)
def test_events_come_back_from_a_table(events: list[Event]) -> None:
    table = from_events(events)
    assert [table.event(row) for row in range(len(table))] == events
    again = Table.read(table.written())
    assert [again.event(row) for row in range(len(again))] == events


@pytest.mark.property
@given(st.lists(tied_streams, max_size=3), st.randoms(use_true_random=False))
def test_tables_are_put_together_and_taken_apart(parts: list[list[Event]], random: Random) -> None:
    whole = concat([from_events(part) for part in parts])
    events = [event for part in parts for event in part]
    rows = list(range(len(events)))
    random.shuffle(rows)
    taken = whole.take(np.array(rows, np.int64))
    assert [repr(taken.event(at)) for at in range(len(rows))] == [
        repr(sorted_attributes(events[row], taken, at)) for at, row in enumerate(rows)
    ]


def sorted_attributes(event: Event, table: Table, row: int) -> Event:
    """The event with its attributes in the order that the table has."""
    names = list(table.event(row).attributes)
    assert set(names) == set(event.attributes)
    return replace(event, attributes={name: event.attributes[name] for name in names})


# --- the total order ---------------------------------------------------------


@pytest.mark.property
@given(tied_streams, schemas)
def test_the_order_of_a_table_is_that_of_its_events(events: list[Event], schema: Schema) -> None:
    found = ordering(from_events(events), schema)
    rows = range(len(events)) if found.rows is None else found.rows.tolist()
    key = Order(schema).key
    ordered = [events[row] for row in rows]
    assert sorted(rows) == list(range(len(events)))
    assert [key(event) for event in ordered] == sorted(map(key, events))
    ranks = range(len(events)) if found.ranks is None else found.ranks.tolist()
    leaders = [next(n for n, o in enumerate(ordered) if key(o) == key(e)) for e in ordered]
    assert list(ranks) == leaders


def test_numbers_are_ordered_exactly_whatever_their_kinds() -> None:
    numbers = [-math.inf, INT_MIN, -0.5, 0, 2**53, 2**53 + 1, 2**53 + 2.0, INT_MAX - 1, INT_MAX]
    numbers += [2.0**63, math.inf]
    for turned in (numbers[::-1], numbers[::2] + numbers[1::2]):
        table = from_events([Event("A", 1, 1, {"v": number}) for number in turned])
        rows = ordering(table).rows
        assert rows is not None
        assert [turned[row] for row in rows] == numbers


def test_a_table_in_strict_order_is_left_alone() -> None:
    events = [Event("B", at, at) for at in range(5)]
    assert ordering(from_events(events)).rows is None


# --- identities --------------------------------------------------------------


@pytest.mark.property
@given(tied_streams)
def test_identities_over_columns_are_those_of_events(events: list[Event]) -> None:
    found = event_identities(from_events(events)).T.tolist()
    assert [tuple(pair) for pair in found] == [identity_of(event) for event in events]


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), max_size=5))
def test_identities_are_written_as_32_digits(lanes: list[tuple[int, int]]) -> None:
    found = written(np.array(lanes, np.uint64).reshape(-1, 2).T).to_pylist()
    assert found == [f"{one:016x}{other:016x}" for one, other in lanes]


# --- encoding ----------------------------------------------------------------


@pytest.mark.property
@given(tied_streams, st.sets(st.sampled_from(["a", "b", "c", "seq"])), st.integers(0, 12))
def test_batches_of_a_table_are_those_of_its_events(
    events: list[Event], columns: set[str], cut: int
) -> None:
    encoder = Encoder()
    encoder.types.code("A")
    for name in sorted(columns):
        encoder.columns.code(name)
    encoding = Encoding(from_events(events), encoder)
    for begin, end in ((0, min(cut, len(events))), (min(cut, len(events)), len(events))):
        found = encoding.batch(begin, end, 7 + begin)
        wanted = encoder.encode(events[begin:end], 7 + begin)
        for name, array in wanted._asdict().items():
            assert getattr(found, name).dtype == array.dtype
            assert getattr(found, name).tolist() == array.tolist()


# --- composite events --------------------------------------------------------


TEXTS = {
    "tesla": [
        "Rule Each define Pair(v: double) from B() and each A() within 9 s from B where v = A.v",
        "Rule Same define Two() from B() and each A() as X within 9 s from B "
        "and each A() as Y within 9 s from B",
        "Rule Deep define Deep(v: double) from Pair() and each Pair() as P within 9 s from Pair "
        "where v = P.v",
        "Rule Tock define Tock(n: int) from Timer(every = 2 s) and each A() within 5 s from Timer "
        "where n = Count(A() within 5 s from Timer)",
        "Rule Beat define Beat() from B() and each A() within 9 s from B "
        "and each Timer(every = 1 s) as T within 9 s from B",
        "Rule Worse define Worse(r: string) from B() and each Failure() within 9 s from B "
        "where r = Failure.reason",
    ],
    "sase": [
        "QUERY All EVENT SEQ(A x, B y) WITHIN 9 s",
        "QUERY Bare EVENT SEQ(A x, B y) WITHIN 9 s RETURN Bare()",
        "QUERY Either EVENT SEQ(ANY(A, All) x, Pair y) WITHIN 9 s",
        "QUERY None EVENT SEQ(A x, !(B y)) WITHIN 2 s",
        "QUERY First EVENT A x RETURN Chain(n = 1)",
        "QUERY Next EVENT SEQ(Chain x, A y) WITHIN 9 s RETURN Chain(n = x.n + 1)",
    ],
    "laipl": [
        "Rule Run Define Full(v: Double) From A Where Average(A.v) > 1 Batch(2)",
        "Rule Heap Define Heap(v: Double) From Pair Where Count(Pair) >= 2 Batch(2)",
        "Rule Both Define Both(v: Double, w: Double) From A, B Where A.v > 0 And B.v > 0",
    ],
    "core": [
        "define Some as [a: A] [b: B]*",
        "define Near as [p: Pair] [q: Pair]",
        "define Late as ([a: A], [T1 in {T1, B}]) T1 = 2s",
    ],
}


def load(text: str, language: str) -> tuple[Rule, ...]:
    return cepheid.load(text, language=language).rules


POOL = {
    rule.name: rule
    for language, listed in TEXTS.items()
    for text in listed
    for rule in load(text, language)
}
TOGETHER = [
    ("Each", "Deep"),
    ("Each", "Heap", "Near"),
    ("All", "Each", "Either"),
    ("All", "Bare"),
    ("Beat",),
    ("First", "Next"),
    ("Run", "Worse"),
    ("Tock", "Same"),
    ("Some", "Both"),
    ("Late", "None"),
]
"""Rules that see what others give, and some more."""


def some_rules() -> st.SearchStrategy[list[Rule]]:
    """Rules of all languages that go together, or any rules."""
    random = st.lists(st.one_of(*RULES.values()), min_size=1, max_size=2).map(
        lambda found: [replace(rule, name=f"R{n}") for n, rule in enumerate(found)]
    )
    named = st.lists(st.sampled_from(TOGETHER), min_size=1, max_size=2).map(
        lambda found: [POOL[name] for name in dict.fromkeys(n for names in found for n in names)]
    )
    return st.one_of(named, named, named, random)


@st.composite
def some_streams(draw: st.DrawFn) -> list[Event]:
    """Events of two types and few times, with or without ids."""
    found = draw(st.lists(events(types=("A", "B")), min_size=2, max_size=7))
    crowd = draw(st.sampled_from([2, 5, 30]))
    with_ids, alike = draw(st.booleans()), draw(st.booleans())
    return [
        replace(
            event,
            attributes={} if alike else event.attributes,
            start=event.start % (crowd * SECOND),
            end=event.start % (crowd * SECOND) + event.end - event.start,
            id=index if with_ids else None,
        )
        for index, event in enumerate(found)
    ]


def fed(
    rules: Sequence[Rule], events: Sequence[Event], cuts: Sequence[int], *, as_tables: bool
) -> tuple[OracleKernel, Payload, Results]:
    """What rules find in events, through a payload, portion by portion."""
    ordered = sorted(events, key=Order().key)
    kernel = OracleKernel(rules, ordered, failures=True)
    payload = Payload(kernel.encoder, dict(enumerate(rules)))
    results = Results(payload)
    places = sorted({0, len(ordered), *(min(cut, len(ordered)) for cut in cuts)})
    for begin, end in pairwise(places):
        part = ordered[begin:end]
        if as_tables:
            table = from_events(part)
            payload.add_table(begin, table, ordering(table).ranks)
        else:
            payload.add_events(begin, part)
        for found in kernel.feed(begin, end):
            payload.add_found(found)
            results.add(found)
        payload.add_ticks(*kernel.take_ticks())
    if ordered:
        for found in kernel.advance(ordered[-1].end + 40_000_000):
            payload.add_found(found)
            results.add(found)
        payload.add_ticks(*kernel.take_ticks())
    return kernel, payload, results


def content(event: Event) -> tuple[Any, ...]:
    """Everything that an event says, down to the events that it is made of."""
    attributes = sorted((name, repr(value)) for name, value in event.attributes.items())
    parts: list[Any] = []
    if isinstance(event, CompositeEvent):
        parts = [event.rule, event.depth, *((label, content(e)) for label, e in event.events)]
    return event.type, event.start, event.end, event.id, attributes, parts


cuts = st.lists(st.integers(0, 7), max_size=2)


AT_A_TIME = [
    Event("A", SECOND, SECOND),
    Event("A", SECOND, SECOND),
    Event("B", 4 * SECOND, 4 * SECOND),
]
LINE = [Event("A", at * SECOND, at * SECOND, {"v": 1.5}) for at in range(6)]


def hard_cases(test: Callable[..., None]) -> Callable[..., None]:
    """What random examples may miss: equal events, ticks beside events, chains, mixed outputs."""
    for names, stream in [
        (("Same",), AT_A_TIME),
        (("Beat",), AT_A_TIME),
        (("Beat",), [replace(event, id=at) for at, event in enumerate(AT_A_TIME)]),
        (("Beat",), [replace(AT_A_TIME[0], type="Z"), *AT_A_TIME]),
        (("First", "Next"), LINE),
        (("All", "Bare"), [*LINE, replace(AT_A_TIME[2], attributes={"v": 2, "k": "x"})]),
    ]:
        test = example([POOL[name] for name in names], stream, [2], True)(test)
    return test


@pytest.mark.property
@hard_cases
@given(some_rules(), some_streams(), cuts, st.booleans())
def test_matches_become_the_composite_events_of_the_oracle(
    rules: list[Rule], events: list[Event], cut: list[int], as_tables: bool
) -> None:
    kernel, _, results = fed(rules, events, cut, as_tables=as_tables)
    wanted = sorted(kernel.told(), key=Order().key)
    assert [content(event) for event in results.events()] == [content(event) for event in wanted]


TEXTUAL = ("r", "reason")
"""Attributes of the rules that are texts; their kind is left to be found."""


@pytest.mark.property
@hard_cases
@given(some_rules(), some_streams(), cuts, st.booleans())
def test_matches_become_the_table_that_the_oracle_gives(
    rules: list[Rule], events: list[Event], cut: list[int], as_tables: bool
) -> None:
    kernel, payload, results = fed(rules, events, cut, as_tables=as_tables)
    wanted = [to_record(event, Clock.of("us")) for event in sorted(kernel.told(), key=Order().key)]
    own = {"id", "type", "ts", "start", "rule", "events"}
    names = sorted({name for record in wanted for name in record} - own)
    attributes = {name: None if name in TEXTUAL or "_k" in name else Kind.DOUBLE for name in names}
    form = Form(Times(Clock.of("us")), attributes, Kind.STRING)
    found = write(results, payload, form).to_pylist()
    assert found == [as_row(record, names) for record in wanted]


def as_row(record: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """A record as a table shows it: every attribute, numbers as doubles, ids as texts."""
    parts = [
        {**part, "id": None if part["id"] is None else str(part["id"])} for part in record["events"]
    ]
    return {**dict.fromkeys(names), **record, "events": parts}


@pytest.mark.property
@given(some_rules(), some_streams(), cuts, st.booleans(), st.data())
def test_a_payload_keeps_what_is_live_and_gives_up_the_rest(
    rules: list[Rule], events: list[Event], cut: list[int], as_tables: bool, data: st.DataObject
) -> None:
    _, payload, results = fed(rules, events, cut, as_tables=as_tables)
    made = payload._made.column("origins").tolist()
    known = [*range(len(events)), *made]
    before = {origin: content(payload.event(origin)) for origin in known}
    live = sorted(data.draw(st.sets(st.sampled_from(known)))) if known else []
    payload.keep(np.array(live, np.int64))
    restored = Payload(payload.encoder, payload.rules)
    restored.load({name: array.copy() for name, array in payload.state().items()})
    for one in (payload, restored):
        one.builder.known.clear()
        assert {origin: content(one.event(origin)) for origin in live} == {
            origin: before[origin] for origin in live
        }
        if not live:
            assert not one.has(np.array(known, np.int64)).any()
    assert results is not None


# --- through the kernel ------------------------------------------------------

IDLE = [
    replace(rule, name=f"Idle{number}")
    for number, rule in enumerate(
        [
            *load("Rule R define Z1() from Z()", "tesla"),
            *load("Rule R Define Z2() From Z Where Count(Z) >= 1 Batch(1)", "laipl"),
            *load("Rule R Define Z3() From Z, Y Where Z.v > 1 And Y.v > 1", "laipl"),
            *load("define Z4 as [Z] [Z]", "core"),
        ]
    )
]
"""A rule of every strategy, so that the kernel is compiled once for all examples."""


@pytest.mark.property
@given(some_rules(), some_streams(), st.booleans(), st.booleans(), st.integers(1, 3))
def test_detect_gives_for_a_table_what_the_oracle_gives(
    rules: list[Rule], stream: list[Event], apart: bool, failures: bool, cores: int
) -> None:
    numbered = [*rules, *IDLE]
    # Events that are equal in everything have no order; the kernel takes them as they come.
    stream = [
        replace(event, attributes={**event.attributes, "w": float(at)})
        for at, event in enumerate(stream)
    ]
    tables: Any = {type_: table_of(stream, type_) for type_ in ("A", "B")}
    read_ = read(tables, Clock.of("us"), Schema()).table
    until = 40 * SECOND
    listed = [read_.event(row) for row in range(len(read_))]
    wanted = evaluate(numbered, listed, until=until, failures=failures).events
    tables = tables if apart else together(tables)
    with patch.object(arranging, "PIECE", 2), patch.multiple(teams, FEW=0, FEW_FOR_A_RULE=0):
        found = detect_table(
            numbered,
            Schema(),
            tables,
            Clock.of("us"),
            until=until,
            failures=failures,
            cores=cores,
        ).to_pylist()
    names = set(found[0]) if found else set()
    records = [to_record(event, Clock.of("us")) for event in sorted(wanted, key=Order().key)]
    assert [plain(row) for row in found] == [
        plain(as_row(record, sorted(names)) if names else record) for record in records
    ]


def test_rules_that_feed_each_other_are_in_one_team() -> None:
    texts = [f"Rule R{n} define X{n}() from A{n % 7}()" for n in range(20)]
    texts += ["Rule Low define Low() from A1()", "Rule High define High() from Low()"]
    texts += ["Rule Tick define Tock() from Timer(every = 1 min)"]
    rules = load("\n".join(texts), "tesla")
    found = teams.teams_of(rules, 1_000_000, 3)
    assert [len(team) for team in found] == [8, 8, 7]
    assert {"Low", "High", "Tick"} <= {rule.name for rule in found[0]}
    assert sorted(rule.name for team in found for rule in team) == sorted(r.name for r in rules)


def test_teams_whose_rules_look_at_different_attributes_take_the_same_batches() -> None:
    texts = [
        "Rule R define X(v: int) from A() and each A(a > 1) as b within 1 h from A where v = b.a",
        "Rule S define Y(v: int, w: int) from B(c > 1) and last A(d > 1) within 1 h from B "
        "where v = B.c and w = A.d",
    ]
    rules = cepheid.load("\n".join(texts), language="tesla")
    rows = range(200)
    events = pa.table(
        {"type": ["AB"[row % 2] for row in rows], "ts": list(rows)}
        | {
            name: [row * 7 % factor for row in rows]
            for name, factor in zip("acd", (3, 5, 9), strict=True)
        }
    )
    whole = rules.detect(events, unit="s", cores=1)
    with patch.multiple(teams, FEW=0, FEW_FOR_A_RULE=0):
        assert rules.detect(events, unit="s", cores=2).equals(whole)
    assert set(whole["rule"].to_pylist()) == {"R", "S"}


@pytest.mark.parametrize(("events", "cores"), [(1_000_000, 1), (teams.FEW - 1, 2), (0, 4)])
def test_one_team_where_more_would_not_pay(events: int, cores: int) -> None:
    rules = load("Rule R define X() from A()\nRule S define Y() from B()", "tesla")
    assert teams.teams_of(rules, events, cores) == [list(rules)]
    assert teams.teams_of(rules, teams.FEW, 2) == [[rules[0]], [rules[1]]]


@pytest.mark.parametrize("failures", [True, False])
def test_failures_that_only_rules_want_are_constituents(failures: bool) -> None:
    table = pa.table({"type": ["A", "A", "B"], "ts": [1, 2, 3], "v": [0.5, 0.5, 0.5]})
    rules = cepheid.Rules((POOL["Run"], POOL["Worse"], *IDLE))
    rows = rules.detect(table, unit="s", failures=failures).to_pylist()
    assert [row["type"] for row in rows] == ["Failure", "Worse"] if failures else ["Worse"]
    assert rows[-1]["r"] == "unmet"
    assert [part["type"] for part in rows[-1]["events"]] == ["Failure", "B"]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what is missing, and with the ids of constituents as texts."""
    parts = [{**part, "id": str(part["id"])} for part in row["events"]]
    return {name: value for name, value in row.items() if value is not None} | {"events": parts}


def table_of(stream: Sequence[Event], type_: str) -> Any:  # noqa: ANN401 (pyarrow has no types)
    own = [event for event in stream if event.type == type_]
    columns_ = {
        "ts": pa.array([event.end for event in own], pa.int64()),
        "start": pa.array([event.start for event in own], pa.int64()),
        "k": pa.array([event.attributes.get("k") for event in own], pa.string()),
        "v": pa.array([event.attributes.get("v") for event in own], pa.float64()),
        "w": pa.array([event.attributes.get("w") for event in own], pa.float64()),
    }
    if any(event.id is not None for event in stream):
        columns_["id"] = pa.array([event.id for event in own], pa.int64())
    return pa.table(columns_)


def together(tables: dict[str, Any]) -> Any:  # noqa: ANN401 (pyarrow has no types)
    return pa.concat_tables(
        table.append_column("type", pa.array([type_] * len(table), pa.string()))
        for type_, table in tables.items()
    )
