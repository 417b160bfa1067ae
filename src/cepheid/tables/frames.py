"""Frames: which library a table belongs to, its columns as Arrow, and the way back.

No library is imported unless a table of it is there already.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from cepheid.errors import EventError
from cepheid.tables.arrow import Array, pa, single


class Frame(StrEnum):
    """A kind of table."""

    PANDAS = "pandas"
    POLARS = "polars"
    LAZY = "polars lazy"
    ARROW = "pyarrow"
    BATCH = "pyarrow record batch"


_CLASSES = {
    ("pandas", "DataFrame"): Frame.PANDAS,
    ("polars", "DataFrame"): Frame.POLARS,
    ("polars", "LazyFrame"): Frame.LAZY,
    ("pyarrow", "Table"): Frame.ARROW,
    ("pyarrow", "RecordBatch"): Frame.BATCH,
}


def find_frame(events: object) -> Frame | None:
    """The kind of a table; None for what is no table."""
    for base in type(events).__mro__:
        found = _CLASSES.get((base.__module__.partition(".")[0], base.__name__))
        if found is not None:
            return found
    return None


def is_table(events: object) -> bool:
    """Whether something is a table, or a mapping from types to tables."""
    if isinstance(events, Mapping):
        return bool(events) and all(find_frame(table) is not None for table in events.values())
    return find_frame(events) is not None


def frame_of(events: object) -> Frame:
    """The kind of a table."""
    found = find_frame(events)
    if found is None:
        raise EventError(f"events must be a table; got {type(events).__name__}")
    return found


def columns_of(events: Any) -> dict[str, Array]:  # noqa: ANN401 (a table of any library)
    """The columns of a table by name."""
    frame = frame_of(events)
    if frame is Frame.PANDAS:
        _check_names(list(events.columns))
        return {name: _from_pandas(name, series) for name, series in events.items()}
    if frame is Frame.LAZY:
        events = events.collect()
    table = events.to_arrow() if frame in (Frame.POLARS, Frame.LAZY) else events
    _check_names(table.schema.names)
    return {
        name: single(column) for name, column in zip(table.schema.names, table.columns, strict=True)
    }


def _check_names(names: list[object]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise EventError(
                f"names of columns must be texts; got {name!r}\n\nhint: name the columns"
            )
        if names.count(name) > 1:
            raise EventError(f"columns must have different names; got {name} twice")


def _from_pandas(name: str, series: Any) -> Array:  # noqa: ANN401 (pandas has no types)
    try:
        array = single(pa.Array.from_pandas(series))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise EventError(_mixture(name, series) or f"column {name}: {error}") from None
    # Numbers are where they were, and pandas lets them change there.
    return pa.concat_arrays([array, array.slice(0, 0)])


def _mixture(name: str, series: Any) -> str:  # noqa: ANN401 (pandas has no types)
    """Which row does not fit the rows before it."""
    first: type | None = None
    for row, value in enumerate(series):
        if value is None or value != value:  # noqa: PLR0124 (NaN is not itself)
            continue
        if first is not None and type(value) is not first:
            return (
                f"column {name} must hold values of one type; "
                f"got {first.__name__}, and {type(value).__name__} in row {row}"
            )
        first = type(value)
    return ""


def give(table: Any, frame: Frame) -> Any:  # noqa: ANN401 (a table of any library)
    """A table of Arrow as one of the kind that was given."""
    if frame is Frame.PANDAS:
        return _to_pandas(table)
    if frame is Frame.ARROW:
        return table
    if frame is Frame.BATCH:
        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)
    import polars

    found: Any = polars.from_arrow(table)
    return found.lazy() if frame is Frame.LAZY else found


def _to_pandas(table: Any) -> Any:  # noqa: ANN401 (pandas has no types)
    """Ints and bools may be missing and stay what they are; events stay in the form of Arrow."""
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}

    def dtype(type_: Any) -> Any:  # noqa: ANN401 (pyarrow has no types)
        return pd.ArrowDtype(type_) if pa.types.is_nested(type_) else nullable.get(type_)

    found = table.to_pandas(types_mapper=dtype)
    times = [name for name in ("ts", "start") if name in found.columns]
    whole = [name for name in times if found[name].dtype == nullable[pa.int64()]]
    return found.astype(dict.fromkeys(whole, "int64"))
