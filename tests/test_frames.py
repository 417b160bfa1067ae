"""Tables of every library in and back: times, what cannot be read, columns of what is found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import cepheid
from cepheid.tables.arrow import pa

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


@pytest.mark.parametrize("cores", [0, -1, True, "2"])
def test_cores_must_be_a_number(cores: Any) -> None:  # noqa: ANN401 (what is wrong)
    with pytest.raises(cepheid.EventError, match="cores must be a number of at least 1"):
        RULE.detect(arrow_table(), cores=cores)
