"""Event files that are read past the JVM, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
import pytest
from pyarrow import fs

from cepheid.errors import EventError
from cepheid.spark.files import columns_of_files, opened, written_once
from cepheid.tables.arrow import slim

ROWS = 5000
EVENTS = pa.table(
    {
        "type": ["Temp"] * ROWS,
        "ts": list(range(ROWS)),
        "area": [f"area {number % 10}" for number in range(ROWS)],
        "maybe": [None if number % 4 else f"text {number % 3}" for number in range(ROWS)],
        "order": [f"order {number}" for number in range(ROWS)],
        "never": pa.nulls(ROWS, pa.string()),
    }
)


def written(path: Path, **options: object) -> pa.Schema:
    pq.write_table(EVENTS, path, **options)
    return columns_of_files(str(path), "parquet")


@pytest.mark.parametrize(
    ("options", "few"),
    [
        ({}, {"type", "area", "maybe"}),
        ({"row_group_size": 1000}, {"type", "area", "maybe"}),
        ({"write_statistics": False}, {"type", "area", "maybe", "never"}),
        ({"use_dictionary": False}, set()),
        ({"use_dictionary": ["area"]}, {"area"}),
        # The dictionary is full after some rows; from then on texts are written as they are.
        ({"dictionary_pagesize_limit": 40, "write_batch_size": 1}, {"type", "maybe"}),
    ],
)
def test_columns_of_few_texts_are_read_as_they_are_written(
    tmp_path: Path, options: dict[str, object], few: set[str]
) -> None:
    path = tmp_path / "events.parquet"
    columns = written(path, **options)
    assert written_once(pq.read_metadata(path), columns) == few
    read = opened(str(path), "parquet", columns, fs.LocalFileSystem()).to_table()
    coded = {field.name for field in read.schema if pa.types.is_dictionary(field.type)}
    assert coded == few
    assert read.to_pydict() == EVENTS.to_pydict()


def test_files_that_lack_a_column_or_have_another_one_are_read_alike(tmp_path: Path) -> None:
    columns = written(tmp_path / "first.parquet")
    pq.write_table(EVENTS.drop_columns(["area", "maybe"]), tmp_path / "second.parquet")
    read = opened(str(tmp_path / "second.parquet"), "parquet", columns, fs.LocalFileSystem())
    assert read.to_table().column("area").null_count == ROWS
    assert read.to_table().column("order") == EVENTS.column("order")


def test_a_place_that_only_spark_knows_is_told() -> None:
    with pytest.raises(EventError, match="where Arrow can read them to go past the JVM; got s3a:"):
        columns_of_files("s3a://bucket/events", "parquet")


@pytest.mark.parametrize(
    ("codes", "left"),
    [([2, 0, 2], ["a", "c"]), ([2, None, None], ["c"]), ([None], []), ([], []), ([3, 1, 2, 0], 4)],
)
def test_a_dictionary_goes_with_the_texts_that_some_row_has(
    codes: list[int | None], left: list[str] | int
) -> None:
    given = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(list("abcd")))
    found = slim(given)
    found.validate(full=True)
    assert found.to_pylist() == given.to_pylist()
    assert found.dictionary.to_pylist() == (list("abcd") if left == 4 else left)
    half = slim(given.slice(1))
    assert half.to_pylist() == given.to_pylist()[1:]
