"""Columns on Spark: only those that rules use are read, only those that are named are made."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pytest

import cepheid
from cepheid.algebra import attributes_of
from cepheid.errors import EventError
from cepheid.rules import Rules
from cepheid.spark.files import detect_files
from tests import spark as on_spark
from tests.spark import MARKS, Row, Stream, ordered, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = MARKS

SCHEMA = "type string, ts bigint, area string, value double"
MORE = "`a.b` string, price decimal(8,2), parts array<string>"
RULES = cepheid.load(
    """
    Rule R1
    define Fire(area: string, temp: double)
    from Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
    where area = Smoke.area and temp = Temp.value
    """,
    language="tesla",
)
EVENTS: list[Row] = [
    {
        "type": "Smoke" if number % 3 == 0 else "Temp",
        "ts": number,
        "area": f"A{number % 2}",
        "value": None if number % 3 == 0 else float(number * 37 % 60),
    }
    for number in range(60)
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    found = on_spark.session()
    yield found
    found.stop()


def wide(spark: SparkSession) -> DataFrame:
    """The events with columns that no rule uses, some of them of kinds that no attribute has."""
    more = ("x", Decimal(1), ["y"])
    return spark.createDataFrame([(*e.values(), *more) for e in EVENTS], f"{SCHEMA}, {MORE}")


def expected() -> list[Row]:
    found = ordered(RULES.detect(pa.Table.from_pylist(EVENTS), unit="s").to_pylist())
    assert len(found) > 10
    return found


def test_only_the_columns_that_rules_use_are_read_from_a_table(spark: SparkSession) -> None:
    with pytest.raises(EventError, match="column price must hold strings, ints, doubles or bools"):
        RULES.detect(wide(spark), unit="s")
    assert rows(RULES.detect(wide(spark), unit="s", narrow=True)) == expected()


def test_names_of_columns_may_have_any_signs(spark: SparkSession) -> None:
    rule = cepheid.load("Rule R define Hot() from Temp(value > 45)", language="tesla")
    df = wide(spark).withColumnRenamed("a.b", "a`b").withColumnRenamed("ts", "the.time")
    found = rule.detect(df, unit="s", time="the.time", narrow=True)
    assert found.count() == sum((event["value"] or 0) > 45 for event in EVENTS)


def test_a_stream_and_files_past_the_jvm_may_be_narrow(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, f"{SCHEMA}, {MORE}")
    wide(spark).coalesce(1).write.mode("overwrite").parquet(str(stream.events))
    assert stream.run(RULES.detect(stream.df, unit="s", narrow=True)) == expected()
    found = detect_files(
        RULES, spark, str(stream.events), unit="s", narrow=True,
        stream=True, log=str(tmp_path / "log"),
    )  # fmt: skip
    assert stream.run(found, "native") == expected()


def events_of(spark: SparkSession) -> DataFrame:
    return wide(spark).select("type", "ts", "area", "value")


@pytest.mark.parametrize("chosen", [["temp", "ts"], ["area"], ["events", "id"]], ids=",".join)
def test_only_the_columns_that_are_named_are_made(
    spark: SparkSession, tmp_path: Path, chosen: list[str]
) -> None:
    wanted = ordered({name: one[name] for name in chosen} for one in expected())
    found = RULES.detect(events_of(spark), unit="s", columns=chosen)
    assert found.columns == chosen
    assert rows(found) == wanted
    stream = Stream(spark, tmp_path, SCHEMA).add(EVENTS[:25], EVENTS[25:])
    assert stream.run(RULES.detect(stream.df, unit="s", columns=chosen)) == wanted
    native = detect_files(RULES, spark, str(stream.events), unit="s", columns=chosen)
    assert rows(native) == wanted


def test_what_a_rule_does_not_give_is_missing_in_columns_that_are_named(
    spark: SparkSession,
) -> None:
    more = cepheid.load(
        "Rule R2 define Dark(why: int) from Smoke() where why = 1", language="tesla"
    )
    found = rows(Rules((*RULES, *more)).detect(events_of(spark), unit="s", columns=["temp"]))
    assert len(found) == len(expected()) + sum(event["type"] == "Smoke" for event in EVENTS)
    assert sum(one["temp"] is None for one in found) == len(found) - len(expected())


def test_columns_that_are_named_go_with_other_outputs(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, SCHEMA).add(EVENTS)
    found = RULES.detect(stream.df, unit="s", columns=["ts"], outputs="all")
    assert found.columns == ["output", "ts", "event", "reason"]
    changing = RULES.detect(stream.df, unit="s", columns=["rule", "attributes"], changes=tmp_path)
    assert changing.columns == ["rule", "attributes"]


def test_columns_that_no_composite_event_has_are_told(spark: SparkSession) -> None:
    words = "columns must be those of composite events; got heat\\n\\nhint: there are id, type"
    with pytest.raises(EventError, match=words):
        RULES.detect(events_of(spark), unit="s", columns=["heat"])


def test_a_rule_that_gives_all_attributes_uses_all_columns(spark: SparkSession) -> None:
    rules = cepheid.load("QUERY Q EVENT SEQ(Temp x, Smoke y) WITHIN 1 min", language="sase")
    events = wide(spark).select("type", "ts", "area", "value")
    columns = rules.detect(events, unit="s", narrow=True).columns
    assert columns == rules.detect(events, unit="s").columns
    assert "x_area" in columns


def test_rules_to_come_may_use_any_column(spark: SparkSession, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path, SCHEMA).add(EVENTS)
    with pytest.raises(EventError, match="narrow must go with rules that stay"):
        RULES.detect(stream.df, unit="s", narrow=True, changes=tmp_path)


@pytest.mark.parametrize(
    ("language", "text", "used"),
    [
        ("tesla", "Rule R define F(x: double) from S(a = $p) and last T(b = $p and c > 1) "
         "within 5 min from S and 2 < Avg(W(d = $p).e) within 5 min from S where x = T.f",
         "abcdef"),
        ("sase", "EVENT SEQ(A x, !(B z), C y) WHERE [a] AND x.b > z.c WITHIN 1 hour "
         "RETURN F(d = y.d)", "abcd"),
        ("core", "define F as ([x: A(a > 1)]; [y: B(b = x.c)]) within 1 min return (d = y.d)",
         "abcd"),
        ("laipl", "Rule R Define F (v: Integer) From A Where Average(A.a)>80 Within(5 min) "
         "Composite A.b=S1", "ab"),
    ],
)  # fmt: skip
def test_every_attribute_that_a_rule_names_is_used(language: str, text: str, used: str) -> None:
    (rule,) = cepheid.load(text, language=language)
    assert attributes_of(rule) == set(used)
