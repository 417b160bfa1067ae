"""Event files as one table: parquet, CSV and lines of JSON, read with Arrow.

The commands that look at history in this process read their events here. Columns get the names
that tables of events have, and texts that are times become times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyarrow import csv, json, parquet  # type: ignore[import-untyped]  # it has no types

from cepheid.errors import EventError, did_you_mean
from cepheid.events import Kind, Schema
from cepheid.tables.arrow import Arrow, pa, pc
from cepheid.tables.table import ARROW

FORMATS = ("parquet", "csv", "json")
"""The formats that can be read; `json` has an object in every line."""
MOMENT = pa.timestamp("us", "UTC")
"""The form of times that are no counts."""
_ENDINGS = {"json": "json", "jsonl": "json", "ndjson": "json", "csv": "csv", "parquet": "parquet"}
_OWN = ("ts", "start")


def read_files(
    paths: Iterable[str | Path],
    *,
    format: str | None = None,  # noqa: A002 (what the command calls it)
    type: str = "type",  # noqa: A002 (what the column is called)
    time: str = "ts",
    unit: str | None = None,
    schema: Schema | None = None,
) -> Arrow:
    """The events of files and folders as a table of Arrow, in the order of the files.

    The format follows from the ending unless it is given. `type` and `time` name the columns that
    hold the type and the time; what a `schema` declares is read as such.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "events.csv"
    ...     _ = file.write_text("type,ts,value\\nTemp,2026-07-01 12:00:00,50.5\\n")
    ...     table = read_files([file])
    >>> table["ts"].type, table["value"].to_pylist()
    (TimestampType(timestamp[us, tz=UTC]), [50.5])
    """
    names = {type: "type", time: "ts"}
    declared = _declared(schema or Schema(), names)
    tables = []
    for file in _files(paths):
        own = format or format_of(file)
        try:
            table = _READERS[own](file, {**declared, **_as_counts(names, unit)}, names)
            tables.append(_normal(table, names, declared))
        except EventError as error:
            raise EventError(f"{file}: {error}") from None
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise EventError(f"{file} cannot be read as {own}: {_reason(error)}") from None
    return _joined(tables)


def format_of(file: Path) -> str:
    """The format that the ending of a file speaks of.

    >>> format_of(Path("day.jsonl.gz"))
    'json'
    """
    ending = file.name.removesuffix(".gz").rpartition(".")[2].lower()
    if ending not in _ENDINGS:
        raise EventError(
            f"format of {file} must follow from its ending, one of "
            f"{', '.join(f'.{one}' for one in _ENDINGS)}\n\nhint: --input-format csv"
        )
    return _ENDINGS[ending]


def _files(paths: Iterable[str | Path]) -> list[Path]:
    """The files that paths stand for; what is hidden in a folder is left out."""
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(_shown(path))
            if not inside:
                raise EventError(f"a folder of events must hold files; {path} has none")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            near = did_you_mean(path.name, _neighbours(path))
            raise EventError(f"events must be there; nothing is at {path}\n\nhint: {near}")
    if not found:
        raise EventError("events must be named\n\nhint: --input events.csv")
    return found


def _shown(folder: Path) -> Iterator[Path]:
    for file in folder.rglob("*"):
        hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        known = file.name.removesuffix(".gz").rpartition(".")[2].lower() in _ENDINGS
        if file.is_file() and not hidden and known:
            yield file


def _neighbours(path: Path) -> list[str]:
    return [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []


# --- readers --------------------------------------------------------------------------------


def _read_parquet(file: Path, types: Mapping[str, Any], names: Mapping[str, str]) -> Arrow:
    return parquet.read_table(file)


def _read_csv(file: Path, types: Mapping[str, Any], names: Mapping[str, str]) -> Arrow:
    """All of a file decides what its columns are, not the first rows."""
    text = _content(file)

    def read(known: Mapping[str, Any], *, use_threads: bool = True) -> Arrow:
        return csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(block_size=max(len(text), 1), use_threads=use_threads),
            convert_options=csv.ConvertOptions(
                column_types=known, null_values=[""], strings_can_be_null=True
            ),
        )

    try:
        return _without_guessed_times(read, dict(types), names)
    except pa.ArrowInvalid:
        # One thread alone knows the row.
        try:
            return read(types, use_threads=False)
        except pa.ArrowInvalid as error:
            raise _misfit(str(error), read({}).column_names) or error from None


def _misfit(reason: str, columns: list[str]) -> EventError | None:
    """A value that is not what the schema, or the unit of time, says of its column."""
    found = re.search(r"column #(\d+): Row #(\d+): .* error to (\w+): .*'(.*)'", reason)
    if found is None:
        return None
    column, row = columns[int(found[1])], int(found[2]) - 2
    return EventError(
        f"column {column} must hold values that are {found[3]}; got {found[4]!r} in row {row}\n\n"
        "hint: correct the value, or what the schema or --unit says of the column"
    )


def _read_json(file: Path, types: Mapping[str, Any], names: Mapping[str, str]) -> Arrow:
    text = _content(file)

    def read(known: Mapping[str, Any]) -> Arrow:
        return json.read_json(
            pa.BufferReader(text),
            read_options=json.ReadOptions(block_size=max(len(text), 1)),
            parse_options=json.ParseOptions(
                explicit_schema=pa.schema(list(known.items())) if known else None,
                unexpected_field_behavior="infer",
            ),
        )

    return _without_guessed_times(read, dict(types), names)


_READERS = {"parquet": _read_parquet, "csv": _read_csv, "json": _read_json}


def _content(file: Path) -> Any:  # noqa: ANN401 (a buffer of Arrow)
    with pa.input_stream(str(file), compression="detect") as stream:
        content = pa.py_buffer(stream.read())
    if not content.size:
        raise EventError("a file of events must hold something; it is empty")
    return content


def _without_guessed_times(read: Any, known: dict[str, Any], names: Mapping[str, str]) -> Arrow:  # noqa: ANN401 (a reader)
    """A table of a text; attributes that only look like dates stay the texts that they are."""
    table = read(known)
    times = [name for name, own in names.items() if own == "ts"] + ["start"]
    guessed = [
        column.name
        for column in table.schema
        if pa.types.is_temporal(column.type) and column.name not in times
    ]
    return read({**known, **dict.fromkeys(guessed, pa.string())}) if guessed else table


def _declared(schema: Schema, names: Mapping[str, str]) -> dict[str, Any]:
    """The columns that a schema speaks of; int and double in different types are doubles."""
    found: dict[str, Kind] = {}
    for attributes in schema.values():
        for name, kind in attributes.items():
            known = found.setdefault(name, kind)
            if known is not kind:
                both = {known, kind} == {Kind.INT, Kind.DOUBLE}
                found[name] = Kind.DOUBLE if both else Kind.STRING
    return {name: ARROW[kind] for name, kind in found.items() if name not in names}


def _as_counts(names: Mapping[str, str], unit: str | None) -> dict[str, Any]:
    return {} if unit is None else {name: pa.int64() for name, own in names.items() if own == "ts"}


# --- columns --------------------------------------------------------------------------------


def _normal(table: Arrow, names: Mapping[str, str], declared: Mapping[str, Any]) -> Arrow:
    """The table with the names that events have, and with times that are times."""
    for wanted, own in names.items():
        if wanted not in table.column_names:
            raise EventError(
                f"events must have a column {wanted}; got {', '.join(table.column_names)}\n\n"
                f"hint: --{'time' if own == 'ts' else 'type'} COLUMN says which column it is"
            )
    # A column that a declared attribute asked for, and that no row has, is none.
    empty = [n for n in declared if n in table.column_names and table[n].null_count == len(table)]
    table = table.drop_columns(empty)
    table = table.rename_columns([names.get(name, name) for name in table.column_names])
    for name in _OWN:
        if name in table.column_names:
            at = table.column_names.index(name)
            table = table.set_column(at, name, _moments(table[name], name))
    return table


def _moments(column: Any, name: str) -> Any:  # noqa: ANN401 (a column of Arrow)
    """Times as moments; counts stay counts."""
    if pa.types.is_null(column.type):
        return column
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _read_times(column, name)
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_timestamp(column.type):
        # Finer than a microsecond is cut off; without a zone it is UTC.
        return pc.cast(column, MOMENT, safe=False)
    return column


def _read_times(column: Any, name: str) -> Any:  # noqa: ANN401 (a column of Arrow)
    forms = (MOMENT, pa.timestamp("us"))
    for form in forms:
        if _fits(column, form):
            return column.cast(form).cast(MOMENT)
    row = max(_first_misfit(column, form) for form in forms)
    raise EventError(
        f"column {name} must hold times such as 2026-07-01T12:00:00Z, all with a zone or all "
        f"without; got {column[row].as_py()[:40]!r} in row {row}"
    )


def _first_misfit(column: Any, form: Any) -> int:  # noqa: ANN401 (of Arrow)
    """The first row that is no time of a form, found by halves: one of them is not."""
    good, bad = 0, len(column)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if _fits(column.slice(0, middle), form) else (good, middle)
    return good


def _fits(column: Any, form: Any) -> bool:  # noqa: ANN401 (of Arrow)
    try:
        column.cast(form)
    except pa.ArrowInvalid:
        return False
    return True


def _joined(tables: list[Arrow]) -> Arrow:
    if len(tables) == 1:
        return tables[0]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise EventError(
            f"files of events must agree about their columns; {_reason(error)}\n\n"
            "hint: a schema file says what they are: --schema events.schema"
        ) from None


def _reason(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else "nothing is there"
