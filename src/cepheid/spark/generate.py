"""Generating: what shards found, as rows of the columns that were promised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from cepheid.spark.shard import Outcome
from cepheid.tables.arrow import Array, Arrow, pa
from cepheid.tables.json_texts import json_members, json_objects
from cepheid.tables.table import Table
from cepheid.tables.times import Times

COMPOSITE, LATE, BAD, REFUSED, PROGRESS = "composite", "late", "bad", "refused", "progress"
"""The outputs: composite events, late events, bad rows, changes of rules that were not taken, and
how a shard is doing."""


def aligned(table: Arrow, schema: Arrow) -> Arrow:
    """A table with the columns of a schema; what it does not have is missing."""
    if table.schema == schema:
        return table
    columns = []
    for field in schema:
        at = table.schema.get_field_index(field.name)
        if at < 0:
            columns.append(pa.nulls(table.num_rows, field.type))
        else:
            column = table.column(at)
            columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def told(outcome: Outcome, times: Times, schema: Arrow, outputs: frozenset[str]) -> Iterator[Arrow]:
    """Everything of an outcome that is asked for, as tables with all columns."""
    if COMPOSITE in outputs and outcome.composites.num_rows:
        yield marked(outcome.composites, COMPOSITE, schema)
    if LATE in outputs and len(outcome.late):
        yield marked(pa.table({"event": late_texts(outcome.late, times)}), LATE, schema)
    if REFUSED in outputs and outcome.refused:
        names, reasons = (
            pa.array(column, pa.string()) for column in zip(*outcome.refused, strict=True)
        )
        yield marked(pa.table({"event": names, "reason": reasons}), REFUSED, schema)


def late_texts(late: Table, times: Times) -> Array:
    """Late events as JSON texts, with their times in the form in which they came."""
    columns = [("type", late.types), *_times(late, times), *late.columns]
    return json_objects([json_members(name, array) for name, array in columns], len(late))


def _times(late: Table, times: Times) -> Iterator[tuple[str, Array]]:
    points = np.array_equal(late.starts, late.ends)
    spans = {"ts": late.ends} if points else {"start": late.starts, "ts": late.ends}
    for name, own in spans.items():
        written = times.write(own)
        yield name, written if times.type is None else written.cast(pa.string())


def marked(table: Arrow, output: str, schema: Arrow) -> Arrow:
    """A table with all columns, and the name of its output if there is such a column.

    Without a schema it stays as it is.
    """
    if schema is None:
        return table
    if "output" in schema.names:
        names = pa.array([output], pa.string()).take(pa.array([0] * table.num_rows))
        table = table.append_column("output", names)
    return aligned(table, schema)


def batches(tables: Iterable[Arrow]) -> Iterator[Arrow]:
    """Tables as record batches, none of them empty."""
    for table in tables:
        for batch in table.combine_chunks().to_batches():
            if batch.num_rows:
                yield batch
