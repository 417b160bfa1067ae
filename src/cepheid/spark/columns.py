"""Columns: what a DataFrame must look like to hold events, and what comes out, before any job.

Whatever is wrong is told where the caller stands, not in a worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cepheid.algebra import Rule, attributes_of
from cepheid.errors import EventError, did_you_mean
from cepheid.events import Kind, Schema
from cepheid.records import NO_UNIT, Clock
from cepheid.rules import Rules
from cepheid.runtime.tabular import Tabular
from cepheid.tables.arrow import Arrow, pa
from cepheid.tables.frames import Frame
from cepheid.tables.outputs import ANY
from cepheid.tables.reading import OWN
from cepheid.tables.times import Times
from cepheid.tables.writing import check_columns, schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

_KINDS = {
    "string": Kind.STRING,
    "varchar": Kind.STRING,
    "char": Kind.STRING,
    "byte": Kind.INT,
    "short": Kind.INT,
    "integer": Kind.INT,
    "long": Kind.INT,
    "float": Kind.DOUBLE,
    "double": Kind.DOUBLE,
    "boolean": Kind.BOOL,
    "void": Kind.STRING,
}
"""The kinds of Spark's types, by their names."""
_HINTS = {
    "decimal": 'cast it: df.withColumn("{0}", col("{0}").cast("double"))',
    "date": 'cast it to text: df.withColumn("{0}", col("{0}").cast("string"))',
    "timestamp": 'make it a number: df.withColumn("{0}", unix_micros("{0}"))',
    "timestamp_ntz": 'cast it to text: df.withColumn("{0}", col("{0}").cast("string"))',
}
_ZONE = "UTC"
_KEPT = (*OWN, "id", "source")
"""What is more than an attribute."""


def named(df: DataFrame, type_: str, time: str) -> DataFrame:
    """The events with the columns of type and time under their usual names."""
    for column, usual in ((type_, "type"), (time, "ts")):
        _require(df, column)
        if column != usual:
            if usual in df.columns:
                raise EventError(
                    f"column {column} stands for {usual}, but there is a column {usual} as well"
                    f'\n\nhint: leave it out: df.drop("{usual}")'
                )
            df = df.withColumnRenamed(column, usual)
    return df


def _require(df: DataFrame, column: str) -> None:
    if df.columns.count(column) != 1:
        found = ", ".join(df.columns) or "no column"
        near = did_you_mean(column, df.columns)
        option = "type" if column == "type" else "time"
        naming = f'name the column that holds it: detect(events, {option}="...")'
        hint = near if near.startswith("did you mean") else naming
        raise EventError(f"events must have a column {column}; got {found}\n\nhint: {hint}")


def union(frames: Mapping[str, DataFrame], time: str) -> DataFrame:
    """Tables of single types as one; columns of one name must have one type."""
    from pyspark.sql import functions as F  # noqa: N812 (everybody calls it so)

    if not frames:
        raise EventError("a mapping of DataFrames must have at least one; got none")
    types: dict[str, tuple[str, str]] = {}
    whole: DataFrame | None = None
    for type_, df in frames.items():
        own = named(df.withColumn("type", F.lit(type_)), "type", time)
        for field in own.schema.fields:
            other, name = types.setdefault(field.name, (type_, field.dataType.simpleString()))
            if name != field.dataType.simpleString():
                raise EventError(
                    f"column {field.name} must have one type in all tables; got {name} in {other} "
                    f"and {field.dataType.simpleString()} in {type_}\n\n"
                    "hint: cast one of them, or rename one"
                )
        whole = own if whole is None else whole.unionByName(own, allowMissingColumns=True)
    assert whole is not None  # noqa: S101 (there is at least one)
    return whole


def narrow(columns: Sequence[str], rules: Sequence[Rule]) -> list[str]:
    """The columns that rules use, and those that every event has.

    >>> import cepheid
    >>> rules = cepheid.load("Rule R define Hot(v: double) from Temp(v > 45) where v = Temp.v",
    ...     language="tesla")
    >>> narrow(["ts", "type", "id", "v", "note"], rules.rules)
    ['ts', 'type', 'id', 'v']
    """
    if any(rule.output.everything for rule in rules):
        return list(columns)
    used = frozenset(_KEPT).union(*map(attributes_of, rules))
    return [name for name in columns if name in used]


# --- what comes in -------------------------------------------------------------------------


def form_of(schema: StructType, clock: Clock, declared: Schema) -> Tabular:
    """The form of events with the columns of a schema."""
    _check_names(schema.names)
    if _KINDS.get(schema["type"].dataType.typeName()) is not Kind.STRING:
        got = schema["type"].dataType.simpleString()
        raise EventError(f"column type must hold texts; got {got}")
    times = _times(schema, clock)
    kinds: dict[str, Kind | None] = {}
    for field in schema.fields:
        if field.name not in OWN:
            kinds[field.name] = _kind(field.name, field.dataType)
    _check_declared(kinds, declared)
    ids = frozenset({kinds["id"]} if kinds.get("id") else ())
    by_type = {type_: dict(kinds) for type_ in declared}
    return Tabular(Frame.ARROW, times, {ANY: dict(kinds), **by_type}, ids)  # type: ignore[arg-type]


def _check_names(names: Sequence[str]) -> None:
    """Spark takes names that differ only in capitals for one."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise EventError(f"columns {other} and {name} must differ in more than capitals")
        if names.count(name) > 1:
            raise EventError(
                f"column {name} must be there once; it is there {names.count(name)} times"
            )


def _kind(name: str, type_: DataType) -> Kind:
    own = type_.typeName()
    if own in _KINDS:
        return _KINDS[own]
    nested = "leave it out, or give each of its parts a column of its own"
    raise EventError(
        f"column {name} must hold strings, ints, doubles or bools; got {type_.simpleString()}\n\n"
        f"hint: {_HINTS.get(own, nested).format(name)}"
    )


def _times(schema: StructType, clock: Clock) -> Times:
    own = schema["ts"].dataType.typeName()
    if "start" in schema.names and schema["start"].dataType.typeName() != own:
        got = schema["start"].dataType.simpleString()
        raise EventError(f"column start must hold times of the form of column ts; got {got}")
    if own == "timestamp":
        return Times(Clock(), pa.timestamp("us", _ZONE))
    if own == "timestamp_ntz":
        return Times(Clock(), pa.timestamp("us"))
    if _KINDS.get(own) is not Kind.INT:
        raise EventError(
            "column ts must hold timestamps, or integers of a unit; "
            f"got {schema['ts'].dataType.simpleString()}\n\n"
            'hint: df.withColumn("ts", to_timestamp("ts"))'
        )
    if clock.unit is None:
        raise EventError(NO_UNIT)
    return Times(clock)


def _check_declared(kinds: Mapping[str, Kind | None], declared: Schema) -> None:
    for type_, own in declared.items():
        for name, wanted in own.items():
            got = kinds.get(name)
            fits = got is None or got == wanted or (wanted is Kind.DOUBLE and got is Kind.INT)
            if not fits:
                raise EventError(f"column {name} of event {type_} must be {wanted}; got {got}")


# --- what comes out ------------------------------------------------------------------------


def output_schema(rules: Rules, form: Tabular, *, failures: bool) -> Arrow:
    """The columns of composite events, as a schema of Arrow."""
    found = form.form(rules.rules, rules.schema, failures=failures)
    return schema_of(found, found.attributes)


def chosen_of(composites: Arrow, columns: Sequence[str] | None) -> Arrow:
    """The columns of composite events that are named, in that order; all of them unless told."""
    if columns is None:
        return composites
    check_columns(columns, composites.names)
    return pa.schema([composites.field(name) for name in columns])


def told_schema(composites: Arrow) -> Arrow:
    """The columns of everything that is told: composite events, late events, bad rows.

    Failures have a reason as well, in the same column.
    """
    own = [pa.field(name, pa.string()) for name in ("output", "event", "reason")]
    for field in own:
        at = composites.get_field_index(field.name)
        if at >= 0 and (field.name != "reason" or composites.field(at) != field):
            raise EventError(
                f'with outputs="all", no rule may give an attribute {field.name}: it is the name '
                "of a column of its own\n\nhint: rename the attribute in the rule"
            )
    rest = [field for field in composites if field.name != "reason"]
    return pa.schema([own[0], *rest, *own[1:]])
