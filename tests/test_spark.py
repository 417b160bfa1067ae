"""Rules on Spark: the same answer as everywhere, from DataFrames and streams, and clear errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pytest

import cepheid
from cepheid.errors import EventError
from cepheid.rules import Rules
from cepheid.spark.placing import partition_of
from tests import spark as on_spark
from tests.spark import MARKS, Row, Stream, ordered, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = MARKS
everywhere = pytest.mark.everywhere
"""Also tried on Spark Connect and with executors in processes of their own."""

SCHEMA = "type string, ts timestamp, area string, value double"
SECONDS = "type string, ts bigint, area string, value double"
BEGIN = datetime(2026, 7, 1, 12, tzinfo=UTC)

FIRE = """
Rule R1
define Fire(area: string, temp: double)
from Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
where area = Smoke.area and temp = Temp.value
"""
DRY = """
Rule Dry
define DryFire(area: string)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
  and not Rain(area = $a) between Temp and Smoke
where area = Smoke.area
"""
OPEN = """
define LeftOpen as ([o: Opening], [T1 in {T1, Closing(area = o.area)}]) T1 = 5min
  return (area = o.area)
"""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    found = on_spark.session()
    yield found
    found.stop()


def tesla(*texts: str, schema: str | None = None) -> Rules:
    return cepheid.load("\n".join(texts), language="tesla", schema=schema)


def several() -> Rules:
    """Rules with windows, a negation and an absence, on shards of two kinds."""
    loaded = [tesla(FIRE, DRY), cepheid.load(OPEN, language="core")]
    return Rules(tuple(rule for rules in loaded for rule in rules))


def row(type_: str, at: float, area: str | None = None, value: float | None = None) -> Row:
    return {"type": type_, "ts": BEGIN + timedelta(seconds=at), "area": area, "value": value}


def in_seconds(type_: str, at: int, area: str | None = None, value: float | None = None) -> Row:
    return {"type": type_, "ts": at, "area": area, "value": value}


def day() -> list[Row]:
    """Two hours of a few areas: fires, rain in between, doors that stay open."""
    found = []
    for n in range(240):
        area = f"A{n % 5}"
        found.append(row("Temp", n * 30, area, float(n * 37 % 60)))
        if n % 7 == 0:
            found.append(row("Smoke", n * 30 + 10, area))
        if n % 11 == 0:
            found.append(row("Rain", n * 30 - 5, area))
        if n % 13 == 0:
            found.append(row("Opening", n * 30 + 1, area))
        if n % 26 == 0:
            found.append(row("Closing", n * 30 + 200, area))
    return sorted(found, key=lambda event: (event["ts"], event["type"]))


def frame(spark: SparkSession, given: list[Row], schema: str = SCHEMA) -> DataFrame:
    names = [part.split()[0] for part in schema.split(", ")]
    made = spark.createDataFrame([tuple(event.get(n) for n in names) for event in given], schema)
    return made.repartition(3)


def embedded(
    rules: Rules, given: list[Row], *, unit: str | None = None, failures: bool = False
) -> pa.Table:
    """What the engine in this process finds in the same events."""
    table = pa.Table.from_pylist(given)
    return rules.detect(table, unit=unit, failures=failures)


def cut(given: list[Row], size: int) -> list[list[Row]]:
    return [given[at : at + size] for at in range(0, len(given), size)]


def said_by(query: Callable[[], object]) -> str:
    """The error with which a job ends."""
    with pytest.raises(Exception, match=r"cepheid\.errors") as caught:
        query()
    return str(caught.value)


# --- finite tables ---------------------------------------------------------------------------


@everywhere
def test_a_table_gives_what_the_engine_gives_with_the_same_columns_and_ids(
    spark: SparkSession,
) -> None:
    rules = several()
    found = frame(spark, day()).transform(rules.detect)
    expected = embedded(rules, day())
    assert found.columns == expected.column_names
    assert len(expected) > 20
    assert {row["rule"] for row in expected.to_pylist()} == {"R1", "Dry", "LeftOpen"}
    assert rows(found) == ordered(expected.to_pylist())
    assert _types(found) == _arrow_types(expected.schema)


def _types(found: DataFrame) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in found.schema.fields}


def _arrow_types(schema: pa.Schema) -> dict[str, str]:
    from pyspark.sql.pandas.types import from_arrow_schema

    made = from_arrow_schema(schema)
    return {field.name: field.dataType.simpleString() for field in made.fields}


@everywhere
def test_tables_by_type_give_what_one_table_gives(spark: SparkSession) -> None:
    given = [event for event in day() if event["type"] in ("Temp", "Smoke")]
    temps = [event for event in given if event["type"] == "Temp"]
    smokes = [event for event in given if event["type"] == "Smoke"]
    tables = {
        "Temp": frame(spark, temps).drop("type"),
        "Smoke": frame(spark, smokes).drop("type", "value").withColumnRenamed("ts", "at"),
    }
    renamed = {"Temp": tables["Temp"].withColumnRenamed("ts", "at"), "Smoke": tables["Smoke"]}
    found = tesla(FIRE).detect(renamed, time="at")
    expected = ordered(embedded(tesla(FIRE), given).to_pylist())
    assert expected
    assert rows(found) == expected


TIMES = [
    ("ts bigint", {"unit": "s"}, lambda at: at, lambda at: at),
    ("ts int", {"unit": "min"}, lambda at: at // 60, lambda at: at // 60),
    (
        "ts timestamp_ntz",
        {},
        lambda at: (BEGIN + timedelta(seconds=at)).replace(tzinfo=None),
        lambda at: (BEGIN + timedelta(seconds=at)).replace(tzinfo=None),
    ),
]


@pytest.mark.parametrize(("column", "options", "given", "told"), TIMES, ids=lambda v: str(v)[:12])
def test_times_come_back_in_the_form_in_which_they_came(
    spark: SparkSession,
    column: str,
    options: dict[str, Any],
    given: Callable[[int], Any],
    told: Callable[[int], Any],
) -> None:
    events = [row("Temp", 0, "A", 50.0), row("Smoke", 0, "A")]
    for event, at in zip(events, (60, 180), strict=True):
        event["ts"] = given(at)
    schema = f"type string, {column}, area string, value double"
    (fire,) = rows(tesla(FIRE).detect(frame(spark, events, schema), **options))
    assert (fire["ts"], fire["start"]) == (told(180), told(180))
    assert [part["ts"] for part in fire["events"]] == [told(60), told(180)]


def test_types_and_times_may_have_columns_of_other_names(spark: SparkSession) -> None:
    df = frame(spark, day()).withColumnsRenamed({"type": "what", "ts": "at"})
    found = tesla(FIRE).detect(df, type="what", time="at")
    assert rows(found) == ordered(embedded(tesla(FIRE), day()).to_pylist())


def test_another_time_zone_of_the_session_changes_nothing(spark: SparkSession) -> None:
    expected = [fire["ts"].timestamp() for fire in embedded(tesla(FIRE), day()).to_pylist()]
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        found = rows(tesla(FIRE).detect(frame(spark, day())))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert sorted(fire["ts"].timestamp() for fire in found) == sorted(expected)


def test_nulls_and_nans_are_missing(spark: SparkSession) -> None:
    given = [
        row("Temp", 1, None, 50.0),
        row("Temp", 2, "A", None),
        row("Temp", 3, "A", float("nan")),
        row("Temp", 4, "A", 51.0),
        row("Smoke", 9, None),
        row("Smoke", 10, "A"),
    ]
    found = rows(tesla(FIRE).detect(frame(spark, given)))
    assert [(fire["area"], fire["temp"]) for fire in found] == [("A", 51.0)]
    assert found == ordered(embedded(tesla(FIRE), given).to_pylist())


def test_ids_order_events_of_one_time_and_are_told(spark: SparkSession) -> None:
    given = [{**row("Temp", 1, "A", 50.0 + n), "id": n} for n in range(3)]
    given.append({**row("Smoke", 2, "A"), "id": 9})
    rules = tesla(FIRE.replace("each", "last"))
    (fire,) = rows(rules.detect(frame(spark, given, f"{SCHEMA}, id int")))
    assert fire["temp"] == 52.0
    assert [part["id"] for part in fire["events"]] == [2, 9]
    assert [fire] == embedded(rules, given).to_pylist()


def test_events_that_last_have_a_start(spark: SparkSession) -> None:
    rules = cepheid.load("define V as [a: Temp] ; [b: Smoke]", language="core")
    given = [
        {"type": "Temp", "ts": 5, "start": 1},
        {"type": "Temp", "ts": 8, "start": None},
        {"type": "Smoke", "ts": 9, "start": 6},
    ]
    schema = "type string, ts bigint, start bigint"
    (found,) = rows(rules.detect(frame(spark, given, schema), unit="s"))
    assert (found["start"], found["ts"]) == (1, 9)


def test_until_lets_time_go_on(spark: SparkSession) -> None:
    rules = cepheid.load(OPEN, language="core")
    df = frame(spark, [in_seconds("Opening", 10, "A")], SECONDS)
    assert rows(rules.detect(df, unit="s")) == []
    assert [found["ts"] for found in rows(rules.detect(df, unit="s", until=400))] == [10]
    later = BEGIN + timedelta(hours=1)
    (found,) = rows(rules.detect(frame(spark, [row("Opening", 0, "A")]), until=later))
    assert found["ts"] == BEGIN


def test_bad_rows_of_a_table_end_the_job_unless_they_are_asked_for(spark: SparkSession) -> None:
    given = [
        row("Temp", 1, "A", 50.0),
        {**row("Temp", 2, "B"), "ts": None},
        {**row("Smoke", 3, "A"), "type": None},
        row("Smoke", 4, "A"),
    ]
    said = said_by(lambda: rows(tesla(FIRE).detect(frame(spark, given))))
    assert "EventError: every row must be an event; got" in said
    assert 'hint: filter them out, or ask for them: detect(events, outputs="all")' in said
    found = rows(tesla(FIRE).detect(frame(spark, given), outputs="all"))
    told = sorted((r["output"], r["reason"] or "", r["area"] or "") for r in found)
    assert told == [
        ("bad", "column ts has no value", ""),
        ("bad", "column type has no value", ""),
        ("composite", "", "A"),
    ]
    assert any('"area": "B"' in (r["event"] or "") for r in found)


def test_failure_events_are_told_where_they_are_asked_for(spark: SparkSession) -> None:
    rules = cepheid.load(
        "Rule Busy\nDefine High(Usage: Double)\nFrom CPU\n"
        "Where Average(CPU.value) > 80 Within(5 min)\nComposite CPU.Source",
        language="laipl",
    )
    schema = "type string, ts bigint, source string, value double"
    given = [
        {"type": "CPU", "ts": at, "source": source, "value": value}
        for source, value in (("a", 90.0), ("b", 10.0))
        for at in range(7)
    ]
    df = frame(spark, given, schema)
    assert {found["type"] for found in rows(rules.detect(df, unit="min"))} == {"High"}
    found = rows(rules.detect(df, unit="min", failures=True))
    assert {event["type"] for event in found} == {"High", "Failure"}
    expected = embedded(rules, given, unit="min", failures=True)
    assert found == ordered(expected.to_pylist())
    everything = rows(rules.detect(df, unit="min", failures=True, outputs="all"))
    assert {(row["output"], row["type"], row["reason"]) for row in everything} == {
        ("composite", row["type"], row["reason"]) for row in found
    }


def test_attributes_must_not_have_the_names_of_columns_of_all_outputs(spark: SparkSession) -> None:
    rules = tesla("Rule R define F(event: string) from Temp() where event = Temp.area")
    with pytest.raises(EventError, match="no rule may give an attribute event: it is the name of"):
        rules.detect(spark.createDataFrame([], SCHEMA), outputs="all")
    rules.detect(spark.createDataFrame([], SCHEMA))


def test_limits_are_refused_with_the_rule_or_kept_by_dropping(spark: SparkSession) -> None:
    given = [in_seconds("Temp", n, "A", 50.0) for n in range(50)] + [in_seconds("Smoke", 60, "A")]
    df = frame(spark, given, SECONDS)
    limits = cepheid.Limits(stored=10)
    said = said_by(lambda: rows(tesla(FIRE).detect(df, unit="s", limits=limits)))
    assert "LimitError: rule R1 must keep at most 10 events" in said


# --- what is told at once ----------------------------------------------------------------------


PROBLEMS = [
    ("what string, ts timestamp", {}, "events must have a column type; got what, ts"),
    ("typ string, ts timestamp", {}, "hint: did you mean typ?"),
    ("type string, at timestamp", {}, 'hint: name the column that holds it: detect(events, time="'),
    ("type string, ts timestamp", {"time": "when"}, "events must have a column when; got type, ts"),
    (
        "type string, ts timestamp, value decimal(10,2)",
        {},
        "column value must hold strings, ints, doubles or bools; got decimal(10,2)\n\n"
        'hint: cast it: df.withColumn("value", col("value").cast("double"))',
    ),
    ("type string, ts timestamp, v array<int>", {}, "column v must hold strings, ints, doubles"),
    ("type string, ts timestamp, v struct<a: int>", {}, "give each of its parts a column of its"),
    ("type string, ts timestamp, v map<string, int>", {}, "got map<string,int>"),
    ("type string, ts timestamp, v binary", {}, "got binary"),
    ("type string, ts timestamp, v date", {}, "got date\n\nhint: cast it to text"),
    ("type string, ts timestamp, v timestamp", {}, 'hint: make it a number: df.withColumn("v", un'),
    ("type string, ts timestamp, v timestamp_ntz", {}, "got timestamp_ntz\n\nhint: cast it to tex"),
    ("type int, ts timestamp", {}, "column type must hold texts; got int"),
    (
        "type string, ts string",
        {},
        "column ts must hold timestamps, or integers of a unit; got str",
    ),
    ("type string, ts double", {"unit": "s"}, "column ts must hold timestamps, or integers of"),
    ("type string, ts date", {}, "got date\n\nhint: df.withColumn("),
    ("type string, ts bigint", {}, 'need a unit\n\nhint: say which, such as unit="ms"'),
    (
        "type string, ts timestamp, start bigint",
        {},
        "column start must hold times of the form of column ts; got bigint",
    ),
    ("type string, ts timestamp, at timestamp", {"time": "at"}, 'leave it out: df.drop("ts")'),
    (
        "type string, ts timestamp",
        {"dealy": 5},
        "detect has no option dealy for Spark\n\nhint: did",
    ),
    ("type string, ts timestamp", {"dealy": 5}, "did you mean delay?"),
    ("type string, ts timestamp", {"policy": "best_effort"}, "policy must go with a stream"),
    ("type string, ts timestamp", {"delay": "5 s"}, "delay must go with a stream; a finite table"),
    (
        "type string, ts timestamp",
        {"outputs": "late"},
        "outputs must be one of composite, all; got",
    ),
    ("type string, ts timestamp", {"shards": -1}, "shards must be a number from 1 to 4096; got -1"),
    ("type string, ts timestamp", {"shards": 0}, "shards must be a number from 1 to 4096; got 0"),
    ("type string, ts timestamp", {"limits": 5}, "limits must be Limits, or a dictionary from"),
    (
        "type string, ts timestamp, area int",
        {},
        "column area of event Temp must be string; got int",
    ),
    (
        "type string, ts timestamp, a int, a int",
        {},
        "column a must be there once; it is there 2 ti",
    ),
    ("type string, ts timestamp, a int, A int", {}, "columns a and A must differ in more than"),
]


@everywhere
@pytest.mark.parametrize(("schema", "options", "message"), PROBLEMS)
def test_what_is_wrong_with_a_table_is_told_before_any_job(
    spark: SparkSession, schema: str, options: dict[str, Any], message: str
) -> None:
    rules = tesla(FIRE, schema="Temp(area: string, value: double) Smoke(area: string)")
    df = spark.createDataFrame([], schema)
    with pytest.raises(EventError) as caught:
        rules.detect(df, **options)
    assert message in str(caught.value)


def test_tables_by_type_must_go_together(spark: SparkSession) -> None:
    temps = spark.createDataFrame([], "ts timestamp, area string, value double")
    smokes = spark.createDataFrame([], "ts timestamp, area int")
    with pytest.raises(EventError, match="column area must have one type in all tables; got str"):
        tesla(FIRE).detect({"Temp": temps, "Smoke": smokes})
    with pytest.raises(EventError, match="type must not be given with a mapping of DataFrames"):
        tesla(FIRE).detect({"Temp": temps}, type="kind")
    with pytest.raises(EventError, match="events must have a column ts; got at"):
        tesla(FIRE).detect({"Temp": temps.withColumnRenamed("ts", "at").select("at")})


def test_what_goes_with_a_finite_table_only_is_told(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, SECONDS)
    with pytest.raises(EventError, match="until must go with a finite table; got a stream"):
        tesla(FIRE).detect(stream.df, unit="s", until=5)


def test_the_place_of_a_shard_is_the_one_that_spark_gives_it(spark: SparkSession) -> None:
    names = ["", "a", "abc", "abcd", "area/1.7", "rules of Ä/0", "日本語/3", "x" * 99]
    from pyspark.sql import functions as F  # noqa: N812 (everybody calls it so)

    df = spark.createDataFrame([(name,) for name in names], "name string")
    for count in (2, 7, 200):
        placed = F.pmod(F.hash("name"), F.lit(count)).alias("at")
        found = {r["name"]: r["at"] for r in df.select("name", placed).collect()}
        assert found == {name: partition_of(name, count) for name in names}


# --- streams -----------------------------------------------------------------------------------


@everywhere
def test_a_stream_gives_what_a_table_gives_and_absences_without_events_of_their_shard(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = Stream(spark, tmp_path, SCHEMA).add(*cut(day(), 90))
    rules = several()
    found = stream.df.transform(rules.detect)
    assert found.isStreaming
    expected = embedded(rules, day())
    assert found.columns == expected.column_names
    assert _types(found) == _arrow_types(expected.schema)
    assert stream.run(found) == ordered(expected.to_pylist())


def test_streams_by_type_give_what_one_stream_gives(spark: SparkSession, tmp_path: Path) -> None:
    given = [event for event in day() if event["type"] in ("Temp", "Smoke")]
    for type_ in ("Temp", "Smoke"):
        own = [event for event in given if event["type"] == type_]
        Stream(spark, tmp_path / type_, SCHEMA).add(own)
    reader = spark.readStream.schema("ts timestamp, area string, value double")
    streams = {t: reader.parquet(str(tmp_path / t / "events")) for t in ("Temp", "Smoke")}
    whole = Stream(spark, tmp_path / "whole", SCHEMA)
    found = whole.run(tesla(FIRE).detect(streams))
    assert found == ordered(embedded(tesla(FIRE), given).to_pylist())


@everywhere
def test_late_events_and_bad_rows_come_beside_the_composite_events(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = Stream(spark, tmp_path, SECONDS).add(
        [in_seconds("Temp", 100, "A", 50.0), in_seconds("Smoke", 130, "A")],
        [
            in_seconds("Temp", 125, "A", 51.0),  # within the delay
            in_seconds("Temp", 90, "A", 99.0),  # too late
            {**in_seconds("Temp", 1), "ts": None},
        ],
        [in_seconds("Temp", 170, "B", 1.0)],
    )
    rules = tesla(FIRE)
    found = stream.run(rules.detect(stream.df, unit="s", delay=30, outputs="all"))
    fires = [(row["ts"], row["temp"]) for row in found if row["output"] == "composite"]
    assert sorted(fires) == [(130, 50.0), (130, 51.0)]
    (late,) = (row for row in found if row["output"] == "late")
    assert '"type": "Temp"' in late["event"]
    assert '"value": 99.0' in late["event"]
    assert late["ts"] is None
    (bad,) = (row for row in found if row["output"] == "bad")
    assert bad["reason"] == "column ts has no value"


def test_sources_are_waited_for_until_they_are_idle_or_send_a_heartbeat(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = f"{SECONDS}, source string"
    north = [
        {**event, "source": "north"}
        for event in (
            in_seconds("Temp", 10, "A", 50.0),
            in_seconds("Smoke", 20, "A"),
        )
    ]
    stream = Stream(spark, tmp_path, schema).add(north)
    options: dict[str, Any] = {"unit": "s", "sources": ["north", "south"], "idle": 100}
    found = tesla(FIRE).detect(stream.df, **options, heartbeats="Beat")
    assert stream.run(found) == []
    stream.add([{**in_seconds("Beat", 15), "source": "south"}])
    assert stream.run(found) == []
    stream.add([{**in_seconds("Beat", 25), "source": "south"}])
    assert [fire["ts"] for fire in stream.run(found)] == [20]
    # South is silent from here on; north alone is enough once it is 100 s ahead.
    stream.add([{**in_seconds("Smoke", 30, "A"), "source": "north"}])
    assert len(stream.run(found)) == 1
    stream.add([{**in_seconds("Temp", 140, "B", 1.0), "source": "north"}])
    assert sorted(fire["ts"] for fire in stream.run(found)) == [20, 30]


def test_a_bad_row_ends_a_stream_with_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, SECONDS).add([{**in_seconds("Temp", 1, "B"), "ts": None}])
    said = said_by(lambda: stream.run(tesla(FIRE).detect(stream.df, unit="s")))
    assert "EventError: every row must be an event; got 1 that are not, the first: " in said
    assert "column ts has no value" in said
    assert '"area": "B"' in said


def test_a_stream_beyond_its_limits_ends_or_drops(spark: SparkSession, tmp_path: Path) -> None:
    temps = [in_seconds("Temp", n, "A", 50.0 + n) for n in range(20)]
    stream = Stream(spark, tmp_path, SECONDS).add(temps, [in_seconds("Smoke", 30, "A")])
    refuse, drop = cepheid.Limits(stored=5), cepheid.Limits(stored=5, policy="drop")
    refused = tesla(FIRE).detect(stream.df, unit="s", limits=refuse)
    said = said_by(lambda: stream.run(refused, "refused"))
    assert "LimitError: rule R1 must keep at most 5 events; it keeps 20" in said
    found = stream.run(tesla(FIRE).detect(stream.df, unit="s", limits={"R1": drop}), "dropped")
    assert sorted(fire["temp"] for fire in found) == [65.0, 66.0, 67.0, 68.0, 69.0]


# --- restarts ------------------------------------------------------------------------------------


COUNT = """
Rule Pairs
define Pair(area: string, first: double, second: double)
from Fan(area = $a) and each Temp(area = $a and value > 45) within 5 min from Fan
where area = Fan.area and first = Temp.value and second = Fan.value
"""
ALONE = """
Rule {0}
define {0}() from {1}() and each Temp(value > {2}) within 5 min from {1}
"""


@everywhere
def test_rules_change_over_a_restart_and_the_others_keep_what_they_have_begun(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = Stream(spark, tmp_path, SECONDS).add(
        [in_seconds("Temp", 1, "A", 50.0), in_seconds("Temp", 1, "B", 60.0)]
    )
    before = tesla(FIRE, COUNT, ALONE.format("One", "Smoke", 55), ALONE.format("Two", "Fan", 55))
    columns = "type", "ts", "area"
    assert stream.run(before.detect(stream.df, unit="s").select(*columns)) == []
    changed = COUNT.replace("5 min", "10 min")
    after = tesla(ALONE.format("Three", "Smoke", 1), FIRE, changed, ALONE.format("Two", "Fan", 55))
    stream.add(
        [in_seconds("Smoke", 10, "A"), in_seconds("Fan", 10, "B", 1.0)],
        [in_seconds("Temp", 20, "B", 61.0), in_seconds("Fan", 30, "B", 2.0)],
        [in_seconds("Smoke", 40, "C")],
    )
    found = stream.run(after.detect(stream.df, unit="s").select(*columns))
    assert sorted((row["type"], row["ts"]) for row in found) == [
        ("Fire", 10),  # kept from before the restart
        ("Pair", 30),  # changed: knows only the new reading
        ("Three", 40),  # new: knows only the new reading
        ("Two", 10),  # kept
        ("Two", 30),
        ("Two", 30),
    ]


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stream:
    """A stream with a checkpoint of two shards and no delay, and an event to come."""
    stream = Stream(spark, tmp_path_factory.mktemp("begun"), SECONDS)
    stream.add([in_seconds("Temp", 1, "A", 50.0)])
    stream.run(tesla(FIRE).detect(stream.df, unit="s", shards=2))
    return stream.add([in_seconds("Smoke", 2, "A")])


CHANGES = [
    ({"shards": 3}, "shards of area must be what it was when the checkpoint was written, 2; got 3"),
    ({"shards": 1}, "shards of area must be what it was when the checkpoint was written, 2; got 1"),
    ({"shards": 2, "delay": 5}, "settings must be those with which the checkpoint was written; de"),
]


@everywhere
@pytest.mark.parametrize(("options", "message"), CHANGES)
def test_what_may_not_change_over_a_restart_is_told(
    begun: Stream, options: dict[str, Any], message: str
) -> None:
    said = said_by(lambda: begun.run(tesla(FIRE).detect(begun.df, unit="s", **options)))
    assert f"SnapshotError: {message}" in said


def test_another_number_of_partitions_may_not_lose_state(begun: Stream) -> None:
    begun.spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        found = begun.run(tesla(FIRE).detect(begun.df, unit="s", shards=2))
    except Exception as error:
        assert "spark.sql.shuffle.partitions" in str(error)
    else:
        assert [fire["ts"] for fire in found] == [2]
    finally:
        begun.spark.conf.set("spark.sql.shuffle.partitions", "2")
