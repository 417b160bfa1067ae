"""Chosen columns: composite events in tables have what was asked for, and nothing else is made."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd  # type: ignore[import-untyped]  # it has no types
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pytest

import cepheid
from cepheid.errors import EventError
from cepheid.rules import Rules

PAIRS = cepheid.load(
    """
    QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s RETURN AB(v = y.v, w = x.v)
    QUERY BA EVENT SEQ(B x, A y) WITHIN 4 s RETURN BA(k = y.k)
    QUERY Twice EVENT SEQ(AB p, BA q) WITHIN 10 s RETURN Twice(v = p.v)
    """,
    language="sase",
)
ALL = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
EVENTS = pa.table(
    {
        "type": ["A", "B", "A", "B", "B", "A"] * 5,
        "ts": [n // 2 for n in range(30)],
        "k": ["x", "y", None] * 10,
        "v": [n % 7 for n in range(30)],
    }
)
CHOICES = [
    ["ts"],
    ["id"],
    ["events"],
    ["rule", "v"],
    ["k", "w", "v", "start", "ts"],
    ["events", "rule", "type", "id", "start", "ts", "k", "v", "w"],
]


@pytest.mark.parametrize("columns", CHOICES, ids=",".join)
def test_chosen_columns_are_those_of_the_whole_table(columns: Sequence[str]) -> None:
    whole = PAIRS.detect(EVENTS, unit="s")
    assert len(whole) > 50
    assert PAIRS.detect(EVENTS, unit="s", columns=columns).equals(whole.select(columns))


@pytest.mark.parametrize("columns", CHOICES, ids=",".join)
def test_chosen_columns_of_an_engine_hold_after_a_restore(columns: Sequence[str]) -> None:
    whole = PAIRS.engine(unit="s")
    chosen = PAIRS.engine(unit="s", columns=columns)
    for begin in range(0, len(EVENTS), 7):
        part = EVENTS.slice(begin, 7)
        assert chosen.push_batch(part).equals(whole.push_batch(part).select(columns))
        chosen = cepheid.restore(chosen.snapshot(), columns=columns)


def test_attributes_of_all_constituents_are_columns_too() -> None:
    whole = ALL.detect(EVENTS, unit="s")
    columns = ["y_v", "ts", "x_k"]
    assert ALL.detect(EVENTS, unit="s", columns=columns).equals(whole.select(columns))


def test_an_attribute_that_no_constituent_has_is_named() -> None:
    with pytest.raises(EventError, match=r"got y_value\s+hint: there are id, .*y_v, .*events"):
        ALL.detect(EVENTS, unit="s", columns=["ts", "y_value"])


def test_pandas_and_polars_get_them_as_well() -> None:
    whole = PAIRS.detect(EVENTS, unit="s").select(["rule", "v"])
    frame = PAIRS.detect(EVENTS.to_pandas(), unit="s", columns=["rule", "v"])
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["rule", "v"]
    assert frame["rule"].tolist() == whole["rule"].to_pylist()
    other = PAIRS.detect(pl.from_arrow(EVENTS), unit="s", columns=["rule", "v"])
    assert isinstance(other, pl.DataFrame)
    assert other["v"].to_list() == whole["v"].to_pylist()


def test_an_empty_table_has_them() -> None:
    found = PAIRS.detect(EVENTS.slice(0, 0), unit="s", columns=["v", "ts"])
    assert found.schema.names == ["v", "ts"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["ts", "value"], "columns must be those of composite events; got value"),
        (["ts", "ts"], "columns must have different names; got ts, ts"),
        ([], "columns must be a list of names, or None; got \\[\\]"),
        ("ts", "columns must be a list of names, or None; got 'ts'"),
        ([1], "columns must be a list of names, or None; got \\[1\\]"),
    ],
)
def test_columns_that_there_are_not_are_named(columns: Sequence[str], words: str) -> None:
    rules: Rules = PAIRS
    snapshot = rules.engine(unit="s").snapshot()
    with pytest.raises(EventError, match=words):
        rules.detect(EVENTS, unit="s", columns=columns)
    with pytest.raises(EventError, match=words):
        rules.engine(unit="s", columns=columns)
    with pytest.raises(EventError, match=words):
        cepheid.restore(snapshot, columns=columns)


@pytest.mark.parametrize("columns", CHOICES, ids=",".join)
def test_dictionaries_have_them_as_far_as_there_are(columns: Sequence[str]) -> None:
    events = [
        {name: value for name, value in row.items() if value is not None}
        for row in EVENTS.to_pylist()
    ]
    whole = PAIRS.detect(events, unit="s")
    wanted = [{name: one[name] for name in columns if name in one} for one in whole]
    assert len(wanted) > 50
    assert PAIRS.detect(events, unit="s", columns=columns) == wanted
    engine = PAIRS.engine(unit="s", columns=columns)
    found = [one for event in events for one in engine.push(event)]
    key = str
    assert sorted(found, key=key) == sorted(wanted, key=key)
    with pytest.raises(EventError, match="columns must be those of composite events; got value"):
        PAIRS.detect(events, unit="s", columns=["value"])


def test_events_have_no_columns() -> None:
    events = [cepheid.Event("A", 1, 1)]
    with pytest.raises(EventError, match=r"columns must go with a table .*; got Events"):
        PAIRS.detect(events, columns=["ts"])
