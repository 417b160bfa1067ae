"""Sources: the events of a job as a DataFrame, from files or Kafka.

Files of text have no columns of their own: what rules declare says what they are, or the option
`--columns`, or the files that are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 (everybody calls it so)
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from cepheid.errors import ProjectError
from cepheid.events import Kind, Schema
from cepheid.spark.bad import CORRUPT
from cepheid.spark.project import Project

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES: dict[Kind, DataType] = {
    Kind.STRING: StringType(),
    Kind.INT: LongType(),
    Kind.DOUBLE: DoubleType(),
    Kind.BOOL: BooleanType(),
}
_DEFAULTS: dict[str, dict[str, str]] = {"csv": {"header": "true"}}
"""Options of readers that are ours; the user's win."""


def read_events(spark: SparkSession, project: Project, declared: Schema) -> DataFrame:
    """The events that a project names; whatever is wrong with them is told here."""
    if project.format == "kafka":
        return _from_kafka(spark, project, declared)
    assert project.input is not None  # noqa: S101 (a checked project has it)
    try:
        schema = _schema(spark, project, declared)
        reader = spark.readStream if project.stream else spark.read
        reader = reader.format(project.format or "parquet").options(**_options(project))
        if schema is not None:
            reader = reader.schema(schema)
        return reader.load(project.input)
    except AnalysisException as error:
        raise _not_read(project, error) from None


def _options(project: Project) -> dict[str, str]:
    own = {**_DEFAULTS.get(project.format or "", {}), **project.input_option}
    if project.format in ("json", "csv"):
        own["columnNameOfCorruptRecord"] = CORRUPT
    return own


def _not_read(project: Project, error: AnalysisException) -> ProjectError:
    condition = error.getCondition() or ""
    if condition == "PATH_NOT_FOUND":
        return ProjectError(f"--input must be there; nothing is at {project.input}")
    if condition == "UNABLE_TO_INFER_SCHEMA":
        return _no_columns(project)
    if condition in ("DATA_SOURCE_NOT_FOUND", "FAILED_FIND_DATA_SOURCE"):
        return ProjectError(
            f"Spark has no source for format {project.format}\n\nhint: --packages brings it"
        )
    return ProjectError(f"--input {project.input}: {str(error).splitlines()[0]}")


def _no_columns(project: Project) -> ProjectError:
    return ProjectError(
        f"columns of the events must be known before the first of them; no file is in "
        f"{project.input}\n\n"
        'hint: --columns "type string, ts timestamp, area string", or start when a file is there'
    )


# --- columns --------------------------------------------------------------------------------


def _schema(spark: SparkSession, project: Project, declared: Schema) -> StructType | None:
    """The columns that the reader is told; None where the files tell them."""
    text = project.format in ("json", "csv")
    if project.columns is not None:
        return _with_corrupt(_parsed(project.columns)) if text else _parsed(project.columns)
    if project.format == "delta" or (not text and not project.stream):
        return None
    if project.format == "json" and declared:
        return _with_corrupt(declared_columns(project, declared))
    found = _inferred(spark, project, declared)
    return _with_corrupt(_typed(found, project, declared)) if text else found


def _parsed(ddl: str) -> StructType:
    try:
        found = StructType.fromDDL(ddl)
    except Exception as error:  # what Spark raises for a text that is no DDL has several classes
        reason = str(error).strip().splitlines()[0][:200]
        raise ProjectError(
            f"--columns must be names with types; got {ddl[:80]}: {reason}\n\n"
            'hint: --columns "type string, ts timestamp, area string, value double"'
        ) from None
    return found if isinstance(found, StructType) else StructType([StructField("value", found)])


def _inferred(spark: SparkSession, project: Project, declared: Schema) -> StructType:
    options = _options(project)
    if project.format == "csv" and not declared:
        options.setdefault("inferSchema", "true")
    found = spark.read.format(project.format or "").options(**options).load(project.input).schema
    names = [field for field in found.fields if field.name != CORRUPT]
    if not names:
        raise _no_columns(project)
    return StructType(names)


def declared_columns(project: Project, declared: Schema) -> StructType:
    """The columns of events of which rules declare everything, under the names in the files."""
    own: dict[str, DataType] = {
        project.type or "type": StringType(),
        project.time or "ts": _time_type(project),
        "start": _time_type(project),
        "id": StringType(),
        "source": StringType(),
    }
    return StructType([StructField(*item) for item in {**own, **_kinds(declared)}.items()])


def _kinds(declared: Schema) -> dict[str, DataType]:
    found: dict[str, Kind] = {}
    for type_, own in declared.items():
        for name, kind in own.items():
            if found.setdefault(name, kind) == kind:
                continue
            if {found[name], kind} != {Kind.INT, Kind.DOUBLE}:
                raise ProjectError(
                    f"attribute {name} must have one type in all events to be a column; "
                    f"got {kind} in {type_} and {found[name]} elsewhere\n\n"
                    "hint: --columns says what the columns are"
                )
            found[name] = Kind.DOUBLE
    return {name: _TYPES[kind] for name, kind in found.items()}


def _time_type(project: Project) -> DataType:
    return TimestampType() if project.unit is None else LongType()


def _typed(found: StructType, project: Project, declared: Schema) -> StructType:
    """Columns that were found, with the types that are known better."""
    known: Mapping[str, DataType] = {
        project.type or "type": StringType(),
        **{name: _time_type(project) for name in (project.time or "ts", "start")},
        **_kinds(declared),
    }
    times = {project.time or "ts", "start"}
    fields = []
    for field in found.fields:
        is_count = field.name in times and project.unit is None and _is_number(field.dataType)
        # Integers without a unit stay integers, and are told as such.
        type_ = field.dataType if is_count else known.get(field.name, field.dataType)
        fields.append(StructField(field.name, type_))
    return StructType(fields)


def _is_number(type_: DataType) -> bool:
    return type_.typeName() in ("integer", "long")


def _with_corrupt(schema: StructType) -> StructType:
    if CORRUPT in schema.names:
        return schema
    return StructType([*schema.fields, StructField(CORRUPT, StringType())])


# --- Kafka ----------------------------------------------------------------------------------


def kafka_options(path: str) -> tuple[str, str]:
    """The servers and the topic of an address.

    >>> kafka_options("kafka://one:9092,two:9092/events")
    ('one:9092,two:9092', 'events')
    """
    servers, _, topic = path.removeprefix("kafka://").partition("/")
    if not servers or not topic.strip("/"):
        raise ProjectError(f"an address of Kafka must be kafka://HOST:PORT/TOPIC; got {path}")
    return servers, topic.strip("/")


def _from_kafka(spark: SparkSession, project: Project, declared: Schema) -> DataFrame:
    """Messages whose values are JSON texts."""
    if project.columns is None and not declared:
        raise ProjectError(
            "columns of messages must be known before the first of them\n\n"
            'hint: --schema FILE, or --columns "type string, ts timestamp, area string"'
        )
    schema = declared_columns(project, declared)
    if project.columns is not None:
        schema = _parsed(project.columns)
    servers, topic = kafka_options(str(project.input))
    options = {
        "kafka.bootstrap.servers": servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        **project.input_option,
    }
    raw = spark.readStream.format("kafka").options(**options).load()
    return read_messages(raw, schema)


def read_messages(raw: DataFrame, schema: StructType) -> DataFrame:
    """The events in a column `value` of texts, each one JSON object; others are bad rows."""
    reading = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    text = F.col("value").cast("string")
    event = F.from_json(text, _with_corrupt(schema), reading)
    # Of a list Spark would take the first object and forget the others, and of a text without
    # anything in it make a row without anything: such texts are kept whole.
    is_object = text.rlike(r"^\s*\{")
    unread = F.when(is_object, F.col(f"event.{CORRUPT}")).otherwise(text).alias(CORRUPT)
    names = [f"event.`{name}`" for name in schema.names if name != CORRUPT]
    return raw.select(text.alias("value"), event.alias("event")).select(*names, unread)
