"""Tables: every kind of table in and back, equal to what single events give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
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
from cepheid.kernel.found import Found
from cepheid.oracle import evaluate
from cepheid.records import Clock, to_record
from cepheid.tables import arranging, teams
from cepheid.tables.arrow import codes, pa
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


@pytest.mark.parametrize("cores", [0, -1, True, "2"])
def test_cores_must_be_a_number(cores: Any) -> None:  # noqa: ANN401 (what is wrong)
    with pytest.raises(cepheid.EventError, match="cores must be a number of at least 1"):
        RULE.detect(arrow_table(), cores=cores)


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


# --- tables of every library --------------------------------------------------

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RULE = cepheid.load(
    "Rule R define Pair(area: string, n: int, share: double, on: bool) from B(area = $a) and "
    "each A(area = $a and n > 0) within 10 s from B "
    "where area = A.area and n = A.n and share = A.share and on = A.on",
    language="tesla",
)
ROWS: list[dict[str, Any]] = [
    {"type": "A", "ts": START, "area": "x", "n": 1, "share": 0.5, "on": True, "id": 10},
    {"type": "A", "ts": START + timedelta(seconds=1), "area": "y", "n": 1, "id": 11},
    {"type": "A", "ts": START + timedelta(seconds=2), "area": "x", "n": 7, "id": 12},
    {"type": "A", "ts": START + timedelta(seconds=2), "area": "x", "n": 0, "id": 13},
    {"type": "B", "ts": START + timedelta(seconds=3), "area": "x", "id": 14},
    {"type": "C", "ts": START + timedelta(seconds=4), "area": "x", "id": 15},
]
COLUMNS = ["type", "ts", "area", "n", "share", "on", "id"]


def columns(rows: Sequence[dict[str, Any]] = ROWS) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in COLUMNS}


def arrow_table(rows: Sequence[dict[str, Any]] = ROWS) -> Any:  # noqa: ANN401 (pyarrow has no types)
    types = {"n": pa.int64(), "share": pa.float64(), "on": pa.bool_(), "id": pa.int64()}
    types |= {"type": pa.string(), "area": pa.string(), "ts": pa.timestamp("us", "UTC")}
    return pa.table({name: pa.array(own, types[name]) for name, own in columns(rows).items()})


def made(frame: str, table: Any) -> Any:  # noqa: ANN401 (tables of every library)
    """A table of Arrow as one of some library."""
    import pandas as pd  # type: ignore[import-untyped]  # it has no types
    import polars as pl

    polars: Any = pl.from_arrow(table)
    return {
        "arrow": lambda: table,
        "batch": lambda: table.combine_chunks().to_batches()[0],
        "chunks": lambda: pa.concat_tables([table.slice(0, 2), table.slice(2)]),
        "polars": lambda: polars,
        "lazy": polars.lazy,
        "pandas": table.to_pandas,
        "pandas arrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas nullable": lambda: table.to_pandas().convert_dtypes(),
        "pandas category": lambda: table.to_pandas().astype(
            {"type": "category", "area": "category"}
        ),
    }[frame]()


def rows_of(table: Any) -> list[dict[str, Any]]:  # noqa: ANN401 (tables of every library)
    """The rows of a table of any library, times as datetimes, missing values as None."""
    import polars as pl

    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, pl.DataFrame):
        table = table.to_arrow()
    if not isinstance(table, pa.Table | pa.RecordBatch):
        table = pa.Table.from_pandas(table, preserve_index=False)
    found: list[dict[str, Any]] = table.to_pylist()
    return found


FRAMES = [
    "arrow",
    "batch",
    "chunks",
    "polars",
    "lazy",
    "pandas",
    "pandas arrow",
    "pandas nullable",
    "pandas category",
]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_table_gives_what_a_list_gives_and_the_same_kind_comes_back(frame: str) -> None:
    table = made(frame, arrow_table())
    found = RULE.detect(table)
    assert type(found) is type(table)
    names = ["id", "type", "ts", "start", "rule", "area", "n", "share", "on", "events"]
    listed = RULE.detect([{k: v for k, v in row.items() if v is not None} for row in ROWS])
    assert [record["n"] for record in listed] == [1, 7]
    wanted = [{**dict.fromkeys(names), **record} for record in listed]
    if frame in ("pandas", "pandas category"):
        # Where an int is missing, pandas makes doubles of all: other values, so other ids.
        wanted = [{**row, "id": own["id"]} for row, own in zip(wanted, rows_of(found), strict=True)]
    assert rows_of(found) == wanted


@pytest.mark.parametrize("frame", FRAMES)
def test_an_empty_result_has_the_columns_of_a_full_one(frame: str) -> None:
    full = RULE.detect(made(frame, arrow_table()))
    for rows in (ROWS[:1], ROWS[:0]):
        if rows or frame != "batch":
            empty = RULE.detect(made(frame, arrow_table(rows)))
            assert rows_of(empty) == []
            assert schema_of(empty) == schema_of(full)


def schema_of(table: Any) -> Any:  # noqa: ANN401 (tables of every library)
    if hasattr(table, "collect_schema"):
        return table.collect_schema()
    return table.schema if hasattr(table, "schema") else table.dtypes.to_dict()


def test_a_mapping_gives_every_type_a_table_of_its_own() -> None:
    table = arrow_table()
    tables = {
        type_: table.filter(pa.compute.equal(table["type"], type_)) for type_ in ("B", "A", "C")
    }
    assert RULE.detect(tables).equals(RULE.detect(table))
    apart = {type_: own.drop_columns(["type"]) for type_, own in tables.items()}
    assert RULE.detect(apart).equals(RULE.detect(table))


def test_tables_of_a_mapping_may_have_different_columns() -> None:
    rules = cepheid.load("QUERY Q EVENT SEQ(A x, B y) WHERE x.k = y.k WITHIN 9 s", language="sase")
    tables = {
        "A": pa.table({"ts": [1, 2], "k": ["p", "q"], "v": [1, 2]}),
        "B": pa.table({"ts": [3], "k": ["q"], "v": [2.5], "w": [True]}),
    }
    (row,) = rules.detect(tables, unit="s").to_pylist()
    assert {name: row[name] for name in row if "_" in name} == {
        "x_k": "q",
        "x_v": 2,
        "y_k": "q",
        "y_v": 2.5,
        "y_w": True,
    }


# --- times -------------------------------------------------------------------


def sequence(within: str) -> cepheid.Rules:
    """A rule whose composite events start at an event, and end when a time has passed."""
    return cepheid.load(f"QUERY Q EVENT SEQ(A x, !(B y)) WITHIN {within}", language="sase")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
def test_timestamps_of_any_unit_and_zone_come_back_as_they_were(
    unit: str, zone: str | None
) -> None:
    type_ = pa.timestamp(unit, zone)
    table = pa.table({"type": ["A"], "ts": pa.array([datetime(1969, 5, 6, 7, 8, 9)], type_)})
    until = datetime(1969, 5, 6, 7, 9, 0, tzinfo=UTC)
    found = sequence("2 s").detect(table, until=until)
    assert found.schema.field("ts").type == found.schema.field("start").type == type_
    assert found["start"].to_pylist() == table["ts"].to_pylist()
    (later,) = found["ts"].to_pylist()
    assert later - table["ts"][0].as_py() == timedelta(seconds=2)
    (events_,) = found["events"].to_pylist()
    assert [part["ts"] for part in events_] == table["ts"].to_pylist()


def test_a_table_without_zone_is_in_utc() -> None:
    naive = pa.table({"type": ["A"], "ts": pa.array([10**9], pa.timestamp("us"))})
    aware = pa.table({"type": ["A"], "ts": pa.array([10**9], pa.timestamp("us", "UTC"))})
    ids_ = [sequence("2 s").detect(t, until=START)["id"].to_pylist() for t in (naive, aware)]
    assert ids_[0] == ids_[1]


@pytest.mark.parametrize(
    ("unit", "size"), [("us", 1), ("ms", 1000), ("s", 10**6), ("min", 6 * 10**7)]
)
@pytest.mark.parametrize("type_", [pa.int64(), pa.uint8(), pa.int32(), pa.uint64()])
def test_integers_of_a_unit_come_back_as_integers(unit: str, size: int, type_: Any) -> None:  # noqa: ANN401 (pyarrow has no types)
    table = pa.table({"type": ["A"], "ts": pa.array([7], type_)})
    found = sequence("1 min").detect(table, unit=unit, until=10**9)
    assert found["start"].to_pylist() == [7]
    assert found["ts"].to_pylist() == [7 + 60 * 10**6 // size]
    assert pa.types.is_integer(found.schema.field("ts").type)


def test_times_between_two_units_are_doubles_or_finer_timestamps() -> None:
    numbers = pa.table({"type": ["A"], "ts": [7]})
    found = sequence("1500 ms").detect(numbers, unit="s", until=60)
    assert found["ts"].to_pylist() == [8.5]
    assert found["start"].to_pylist() == [7.0]
    seconds = pa.table({"type": ["A"], "ts": pa.array([7], pa.timestamp("s"))})
    stamps = sequence("1500 ms").detect(seconds, until=START)
    assert stamps.schema.field("ts").type == pa.timestamp("us")
    assert stamps["ts"].to_pylist() == [datetime(1970, 1, 1, 0, 0, 8, 500_000)]


def test_what_is_finer_than_microseconds_is_rounded_down() -> None:
    ts = pa.array([-1, 1_999], pa.timestamp("ns"))
    found = sequence("2 s").detect(pa.table({"type": ["A", "A"], "ts": ts}), until=START)
    assert found["start"].cast(pa.int64()).to_pylist() == [-1000, 1000]


def test_start_makes_an_interval_where_it_is_there() -> None:
    table = pa.table({"type": ["A", "A"], "ts": [5, 6], "start": pa.array([2, None], pa.int64())})
    found = sequence("9 s").detect(table, unit="s", until=60)
    assert found["start"].to_pylist() == [2, 6]


def test_the_order_of_rows_does_not_matter() -> None:
    table = arrow_table()
    turned = table.take([5, 3, 1, 4, 2, 0])
    assert RULE.detect(turned).equals(RULE.detect(table))


# --- what cannot be read -----------------------------------------------------


def with_column(name: str, values: Any, type_: Any = None) -> Any:  # noqa: ANN401 (pyarrow has no types)
    array = pa.array(values, type_)
    own = {"type": ["A", "B"], "ts": pa.array([1, 2], pa.timestamp("us"))}
    return pa.table({**own, name: array})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            with_column("v", [[1], [2]]),
            "column v must hold strings, ints, doubles or bools; got list",
        ),
        (with_column("v", [{"a": 1}, None]), r"column v .*; got struct<a: int64>"),
        (with_column("v", [b"a", None]), "column v .*; got binary"),
        (
            with_column("v", [1, 2], pa.decimal128(5, 2)),
            "column v .*; got decimal.*hint: convert it to double",
        ),
        (
            with_column("v", [1, 2], pa.date32()),
            "column v .*; got date32.*hint: convert it to integers",
        ),
        (
            with_column("v", [1, 2], pa.timestamp("us")),
            "column v .*; got timestamp.*hint: convert it to integers",
        ),
        (
            with_column("v", [1, 2**64 - 1], pa.uint64()),
            "column v must fit into 64 bits; got more in row 1",
        ),
        (
            with_column("type", ["A", None]),
            "column type must have a text in every row; got none in row 1",
        ),
        (with_column("type", [1, 2]), "column type must hold texts; got int64"),
        (
            with_column("ts", [None, 2], pa.timestamp("us")),
            "column ts must have a time in every row; got none in row 0",
        ),
        (with_column("ts", [1, 2]), "times that are integers need a unit\n\nhint: "),
        (
            with_column("ts", [1.0, 2.0]),
            "column ts must hold timestamps, or integers of a unit; got double\n\nhint: ",
        ),
        (
            with_column("ts", ["1", "2"]),
            "column ts must hold timestamps, or integers of a unit; got string\n\nhint: ",
        ),
        (
            with_column("ts", [1, 2**62 // 10**6 + 1], pa.timestamp("s")),
            "column ts must stay within 64 bits of microseconds; got .* in row 1",
        ),
        (
            with_column("start", [1, 3], pa.timestamp("us")),
            "column start must not lie after column ts; got a later start in row 1",
        ),
        (
            with_column("start", [1, 2]),
            "column start must hold times of the same form as column ts; got int64",
        ),
        (pa.table({"ts": [1]}), "table must have a column type; got ts\n\nhint: "),
        (pa.table({"type": ["A"]}), "table must have a column ts; got type\n\nhint: "),
        (pa.table([[1], [2]], names=["v", "v"]), "columns must have different names; got v twice"),
    ],
)
def test_what_is_wrong_is_told_with_column_and_row(table: Any, message: str) -> None:  # noqa: ANN401 (pyarrow has no types)
    with pytest.raises(cepheid.EventError, match=f"(?s)^{message}"):
        RULE.detect(table)


def test_a_column_of_objects_must_hold_values_of_one_type() -> None:
    import pandas as pd

    table = pd.DataFrame({"type": ["A", "A", "A"], "ts": [1, 2, 3], "v": [None, 1, "x"]})
    with pytest.raises(
        cepheid.EventError, match=r"column v must .* one type; got int, and str in row 2"
    ):
        RULE.detect(table, unit="s")
    named = pd.DataFrame({"type": ["A"], "ts": [1], 7: [1]})
    with pytest.raises(cepheid.EventError, match="names of columns must be texts; got 7"):
        RULE.detect(named, unit="s")


def test_what_is_wrong_in_a_mapping_is_told_with_its_table() -> None:
    good = pa.table({"ts": [1], "v": [1]})
    for bad, message in [
        (pa.table({"ts": [1], "v": [[1]]}), "table B: column v must hold"),
        (pa.table({"ts": [1], "type": ["A"]}), "table B: column type must be B in every row"),
        (pa.table({"ts": pa.array([1], pa.timestamp("us"))}), "table B: column ts must hold times"),
        (
            made("pandas", good),
            "tables of a mapping must be of one library; got pandas and pyarrow",
        ),
    ]:
        with pytest.raises(cepheid.EventError, match=message):
            RULE.detect({"A": good, "B": bad}, unit="s")


def test_a_table_is_checked_against_the_schema() -> None:
    schema = "A(v: int, w: double) B(v: string)"
    rules = cepheid.load("QUERY Q EVENT A x", language="sase", schema=schema)
    good = pa.table({"type": ["A", "B"], "ts": [1, 2], "v": [1, None], "w": [1, 2]})
    assert len(rules.detect(good, unit="s")) == 1
    bad = pa.table({"type": ["A", "B"], "ts": [1, 2], "v": [1, 2]})
    with pytest.raises(
        cepheid.EventError, match="column v of event B must be string; got int in row 1"
    ):
        rules.detect(bad, unit="s")


def test_an_output_column_must_have_one_type() -> None:
    rules = cepheid.load("QUERY Q EVENT ANY(A, B) x", language="sase")
    tables = {"A": pa.table({"ts": [1], "v": [1]}), "B": pa.table({"ts": [1], "v": ["x"]})}
    with pytest.raises(
        cepheid.EventError, match="column x_v of the composite events must have one type"
    ):
        rules.detect(tables, unit="s")


# --- columns of composite events ---------------------------------------------


def kinds_of(text: str, table: Any) -> dict[str, str]:  # noqa: ANN401 (pyarrow has no types)
    rules = cepheid.load(text, language="sase")
    schema = rules.detect(table, unit="s").schema
    own = ("id", "type", "ts", "start", "rule", "events")
    return {field.name: str(field.type) for field in schema if field.name not in own}


def test_kinds_of_columns_follow_from_rules_and_tables() -> None:
    table = pa.table(
        {"type": ["A"], "ts": [1], "i": [1], "d": [0.5], "t": ["x"], "b": [True], "n": [None]}
    )
    text = """
        QUERY Q EVENT SEQ(A x, A y) WITHIN 9 s
        RETURN Q(i = x.i, sum = x.i + y.i, wide = x.i + y.d, part = x.i / 2, t = y.t, b = x.b,
                 one = 1, none = x.n, minus = -x.d)
        QUERY P EVENT SEQ(Q x, A y) WITHIN 9 s RETURN P(again = x.sum)
    """
    assert kinds_of(text, table) == {
        "i": "int64",
        "sum": "int64",
        "wide": "double",
        "part": "double",
        "t": "string",
        "b": "bool",
        "one": "int64",
        "none": "string",
        "minus": "double",
        "again": "int64",
    }


def test_everything_is_there_by_label_and_attribute() -> None:
    table = pa.table({"type": ["A"], "ts": [1], "i": [1], "t": ["x"]})
    text = "QUERY Q EVENT SEQ(A x, B y) WITHIN 9 s\nQUERY P EVENT Q z"
    names = ["x_i", "x_t", "y_i", "y_t"]
    assert list(kinds_of(text, table)) == [*names, "z_i", "z_t", *(f"z_{name}" for name in names)]


def test_ids_of_constituents_keep_their_kind_unless_composite_events_are_among_them() -> None:
    table = pa.table({"type": ["A", "A"], "ts": [1, 2], "id": [4, 5]})
    flat = cepheid.load("QUERY Q EVENT SEQ(A x, A y) WITHIN 9 s", language="sase")
    (row,) = flat.detect(table, unit="s").to_pylist()
    assert [part["id"] for part in row["events"]] == [4, 5]
    text = "QUERY Q EVENT A x RETURN Q()\nQUERY P EVENT SEQ(Q x, A y) WITHIN 9 s RETURN P()"
    one, other, _ = cepheid.load(text, language="sase").detect(table, unit="s").to_pylist()
    assert [part["id"] for part in other["events"]] == [one["id"], "5"]


def test_failures_have_a_reason() -> None:
    text = "Rule R Define F(v: Double) From A Where Average(A.value) > 1 Batch(2)"
    rules = cepheid.load(text, language="laipl")
    table = pa.table({"type": ["A", "A"], "ts": [1, 2], "value": [0.5, 1.5]})
    assert "reason" not in rules.detect(table, unit="s").schema.names
    (row,) = rules.detect(table, unit="s", failures=True).to_pylist()
    assert {name: row[name] for name in ("type", "rule", "ts", "v", "reason")} == {
        "type": "Failure",
        "rule": "R",
        "ts": 2,
        "v": None,
        "reason": "unmet",
    }


@pytest.mark.parametrize("failures", [True, False])
def test_failures_that_only_rules_want_are_constituents(failures: bool) -> None:
    table = pa.table({"type": ["A", "A", "B"], "ts": [1, 2, 3], "v": [0.5, 0.5, 0.5]})
    rules = cepheid.Rules((POOL["Run"], POOL["Worse"], *IDLE))
    rows = rules.detect(table, unit="s", failures=failures).to_pylist()
    assert [row["type"] for row in rows] == ["Failure", "Worse"] if failures else ["Worse"]
    assert rows[-1]["r"] == "unmet"
    assert [part["type"] for part in rows[-1]["events"]] == ["Failure", "B"]


# --- the payload -------------------------------------------------------------


def test_a_payload_is_as_large_as_what_is_live() -> None:
    payload = Payload(Encoder(), {})
    for batch in range(200):
        first = 100 * batch
        table = from_events([Event("A", at, at, {"v": at}) for at in range(first, first + 100)])
        payload.add_table(first, table)
        payload.add_events(20_000 + batch, [Event("B", first + 99, first + 99)])
        payload.keep(np.arange(max(0, first - 300), first + 100, 10))
    assert sum(len(rows) for rows in payload._rows) < 200
    assert len(payload._rows) < 40
    assert len(payload._objects) == 0
    assert payload.event(19_990) == Event("A", 19_990, 19_990, {"v": 19_990})
    assert not payload.has(np.array([19_991, 5])).any()
    with pytest.raises(KeyError, match="origin 5 is not here"):
        payload.event(5)


def test_long_chains_of_composite_events_are_kept_to_a_depth() -> None:
    rules = [POOL["First"], POOL["Next"]]
    events_ = [Event("A", at, at, id=at) for at in range(60)]
    encoder = Encoder()
    payload = Payload(encoder, dict(enumerate(rules)))
    payload.add_events(0, events_)
    for at in range(60):
        payload.add_found(chained(at, encoder))
    last = payload.event(-60)
    assert isinstance(last, CompositeEvent)
    assert last.depth == 60
    payload.keep(np.array([-60]))
    payload.builder.known.clear()
    again = payload.event(-60)
    assert isinstance(again, CompositeEvent)
    assert (again.id, again.depth) == (last.id, 60)
    assert 30 < len(payload._made) < 40


def chained(at: int, encoder: Encoder) -> Found:
    """A composite event that is made of the one before it and an event."""
    label = [encoder.texts.code("x"), encoder.texts.code("y")]
    parts = [at] if at == 0 else [-at, at]
    return Found(
        np.array([0 if at == 0 else 1]),
        np.array([0]),
        np.array([at]),
        np.array([-at - 1]),
        ("n",),
        np.array([[1]], np.uint8),
        np.array([[at + 1]]),
        (),
        np.array(parts),
        np.array([0, len(parts)]),
        np.array(label[: len(parts)]),
    )


def test_a_few_rows_have_only_their_own_texts() -> None:
    many = pa.array([f"area-{number}" for number in range(1000)])
    whole = pa.DictionaryArray.from_arrays(pa.array([7, None, 999, 7]), many)
    found, known = codes(whole)
    assert (found.tolist(), known.to_pylist()) == ([0, -1, 1, 0], ["area-7", "area-999"])


def test_identities_do_not_depend_on_what_else_a_dictionary_holds() -> None:
    rules = cepheid.load("QUERY Q EVENT SEQ(A x, B y) WHERE [k] WITHIN 10 s", language="sase")
    plain = pa.table({"type": ["A", "B"], "ts": [1, 2], "k": ["u5", "u5"]})
    texts = pa.array([f"u{number}" for number in range(100)])
    coded = pa.DictionaryArray.from_arrays(pa.array([5, 5]), texts)
    ids = [
        rules.detect(events, unit="s")["id"].to_pylist()
        for events in (plain, plain.set_column(2, "k", coded))
    ]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 1
