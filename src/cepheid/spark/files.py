"""Event files that Python reads itself, past the rows of the JVM.

Spark reads a file into rows of its own, turns them into record batches and hands these to Python.
Here the workers read the files with Arrow and send on what any job sends on: messages to shards.
Files must appear whole (write elsewhere, then rename) and must not change afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds  # type: ignore[import-untyped]  # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
from pyarrow import fs
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from cepheid.errors import EventError
from cepheid.rules import Rules
from cepheid.spark import messages
from cepheid.spark.columns import narrow
from cepheid.spark.encode import Sender
from cepheid.spark.frames import Job, finite, is_narrow, packed
from cepheid.spark.garbage import spare_old
from cepheid.spark.generate import BAD
from cepheid.spark.plan import Plan
from cepheid.tables.arrow import Arrow, pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMATS = ("parquet", "json", "csv")
"""The formats that can be read; `json` has an object in every line."""
_AT_A_TIME = 1 << 17
"""How many rows are read at a time."""
_PLAIN = 4
"""How many bytes a text takes at least in Parquet that does not stand in a dictionary."""


def detect_files(
    rules: Rules,
    spark: SparkSession,
    path: str,
    *,
    format: str = "parquet",  # noqa: A002 (what Spark calls it)
    stream: bool = False,
    log: str | None = None,
    files_per_batch: int | None = None,
    unit: str | None = None,
    until: int | datetime | None = None,
    failures: bool = False,
    columns: Sequence[str] | None = None,
    **options: Any,  # noqa: ANN401 (see SparkOptions)
) -> DataFrame:
    """What rules find in the files of a folder, as `Rules.detect` does in a DataFrame.

    A stream keeps a `log` of the files it has seen, in a folder beside its checkpoint.
    """
    job = FilesJob(
        rules, spark, path, format, stream=stream, log=log, files_per_batch=files_per_batch,
        unit=unit, until=until, failures=failures, columns=columns, options=options,
    )  # fmt: skip
    if not stream:
        return finite(job)
    from cepheid.spark.stream import streamed

    return streamed(job)


class FilesJob(Job):
    """Rules over the events of files."""

    def __init__(
        self,
        rules: Rules,
        spark: SparkSession,
        path: str,
        format: str,  # noqa: A002 (what Spark calls it)
        *,
        stream: bool,
        log: str | None,
        files_per_batch: int | None,
        options: dict[str, Any],
        **known: Any,  # noqa: ANN401 (as in Job)
    ) -> None:
        if format not in FORMATS:
            raise EventError(f"format must be one of {', '.join(FORMATS)}; got {format}")
        if stream and log is None:
            raise EventError("a stream of files needs a log: a folder beside its checkpoint")
        found = columns_of_files(path, format)
        names = {options.get("type", "type"): "type", options.get("time", "ts"): "ts"}
        if is_narrow(options):
            wanted = narrow([names.get(name, name) for name in found.names], rules.rules)
            found = pa.schema([own for own in found if names.get(own.name, own.name) in wanted])
        given = spark.createDataFrame([], from_arrow_schema(_renamed(found, names)))
        own = {name: value for name, value in options.items() if name not in ("type", "time")}
        super().__init__(rules, given, streaming=stream, options=own, **known)
        self._reading = {
            "path": path,
            "format": format,
            "columns": found.serialize().to_pybytes().hex(),
            "names": json.dumps(names),
            "parts": str(self.partitions),
            "log": log or "",
            "files": str(files_per_batch or 0),
        }

    def messages(self) -> DataFrame:
        """The events of the files as messages to shards."""
        self.session.dataSource.register(EventFiles)
        reader = self.session.readStream if self.streaming else self.session.read
        told = {
            "plan": self.plan.written(),
            "keep_bad": str(BAD in self.outputs),
            "streaming": str(self.streaming),
        }
        return reader.format(EventFiles.name()).options(**self._reading, **told).load()


def columns_of_files(path: str, format: str) -> Arrow:  # noqa: A002 (what Spark calls it)
    """The columns of the files that are there, as a schema of Arrow."""
    listed = listing(path)
    if not listed:
        raise EventError(
            f"files must be there, so that their columns are known; {path} has none\n\n"
            "hint: put a first file there, or read a DataFrame with a schema"
        )
    system, _ = _place(path)
    return ds.dataset(listed[0][0], format=format, filesystem=system).schema


def listing(path: str) -> list[tuple[str, int]]:
    """The files of a folder with their sizes, the oldest first; hidden ones are left out."""
    system, root = _place(path)
    info = system.get_file_info(root)
    if info.is_file:
        return [(info.path, info.size)]
    found = system.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
    shown = [file for file in found if file.is_file and not _is_hidden(file.path, root)]
    return [(f.path, f.size) for f in sorted(shown, key=lambda f: (f.mtime_ns or 0, f.path))]


def _place(path: str) -> tuple[Any, str]:
    """The file system of a path or address, and the path there."""
    if "://" not in path:
        return fs.LocalFileSystem(), path
    try:
        system, root = fs.FileSystem.from_uri(path)
    except ValueError as error:
        raise EventError(
            f"files must be where Arrow can read them to go past the JVM; got {path}: {error}\n\n"
            "hint: let Spark read them; of Amazon's, s3:// is known here, and s3a:// to Spark alone"
        ) from None
    return system, str(root)


def _is_hidden(path: str, root: str) -> bool:
    inside = path[len(root) :].strip("/").split("/")
    return any(part.startswith((".", "_")) for part in inside)


def _renamed(schema: Arrow, names: dict[str, str]) -> Arrow:
    return pa.schema([field.with_name(names.get(field.name, field.name)) for field in schema])


# --- Spark's view ------------------------------------------------------------------------------


@dataclass
class Files(InputPartition):
    """The files that one task reads."""

    paths: tuple[str, ...]


class EventFiles(DataSource):
    """The files of a folder as messages to shards."""

    @classmethod
    def name(cls) -> str:
        """What the format is called."""
        return "cepheid_events"

    def schema(self) -> str:
        """The columns of messages."""
        return messages.SPARK_SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """For all files at once."""
        return FileReader(dict(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 (Spark's)
        """For files as they come."""
        return FileStream(dict(self.options))


class _Reading:
    """How the files of a partition become messages, in a worker."""

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def read(self, partition: InputPartition) -> Iterator[Arrow]:
        """The messages of some files."""
        assert isinstance(partition, Files)  # noqa: S101 (Spark gives back what it got)
        spare_old()
        plan = Plan.read(self._options["plan"])
        sender = Sender(
            plan,
            keep_bad=self._options["keep_bad"] == "True",
            streaming=self._options["streaming"] == "True",
        )
        yield from packed(sender.messages(self._batches(partition.paths, plan)))

    def _batches(self, paths: Sequence[str], plan: Plan) -> Iterator[Arrow]:
        options = self._options
        columns = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(options["columns"])))
        names = json.loads(options["names"])
        system, _ = _place(options["path"])
        for path in paths:
            file = opened(path, options["format"], columns, system)
            for batch in file.to_batches(batch_size=_AT_A_TIME):
                renamed = batch.rename_columns([names.get(n, n) for n in batch.schema.names])
                yield _in_time(renamed, plan.form.times.type)

    def _parted(self, files: Sequence[tuple[str, int]]) -> list[Files]:
        """Files over tasks of about equal size."""
        count = max(1, min(int(self._options["parts"]), len(files)))
        tasks: list[tuple[list[str], list[int]]] = [([], []) for _ in range(count)]
        for path, size in sorted(files, key=lambda file: -file[1]):
            paths, sizes = min(tasks, key=lambda task: sum(task[1]))
            paths.append(path)
            sizes.append(size)
        return [Files(tuple(paths)) for paths, _ in tasks]


def opened(path: str, format: str, columns: Arrow, system: Any) -> Any:  # noqa: A002, ANN401
    """A file as a dataset of Arrow, with columns of few texts as they are written in it.

    Parquet writes each text of a column once, as long as there are few, and numbers in the rows;
    texts that need not be read row by row need not be compared, sent or looked up row by row.
    """
    if format != "parquet":
        return ds.dataset(path, format=format, schema=columns, filesystem=system)
    few = written_once(pq.read_metadata(path, filesystem=system), columns)
    own = pa.schema(
        [f.with_type(pa.dictionary(pa.int32(), f.type)) if f.name in few else f for f in columns]
    )
    parquet = ds.ParquetFileFormat(dictionary_columns=few)
    return ds.dataset(path, format=parquet, schema=own, filesystem=system)


def written_once(metadata: Any, columns: Arrow) -> set[str]:  # noqa: ANN401 (of pyarrow)
    """The columns whose texts stand in dictionaries of the file, all of them."""
    found = {f.name for f in columns if pa.types.is_string(f.type)}
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            missing = chunk.statistics.null_count if chunk.statistics else 0
            if chunk.total_uncompressed_size >= _PLAIN * (chunk.num_values - (missing or 0)):
                found.discard(chunk.path_in_schema)
    return found


def _in_time(batch: Arrow, wanted: Arrow) -> Arrow:
    """A record batch with times as the plan has them."""
    for name in ("ts", "start"):
        at = batch.schema.get_field_index(name)
        if at >= 0 and wanted is not None and batch.column(at).type != wanted:
            batch = batch.set_column(at, name, batch.column(at).cast(wanted, safe=False))
    return batch


class FileReader(_Reading, DataSourceReader):
    """Reads all files of a folder."""

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks."""
        return self._parted(listing(self._options["path"]))


class FileStream(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads files as they come; which came when stands in its log, so that a batch can be read
    again just as it was.
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._log = FileLog(options["log"])
        self._last: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 (Spark's name)
        """Nothing was read yet."""
        return {"files": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        """How many files go into a batch."""
        files = int(self._options["files"])
        return ReadMaxFiles(files) if files else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        """Read what is there now, and no more."""
        self._log.add(listing(self._options["path"]))
        self._last = len(self._log.files)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Up to which file the next batch goes."""
        if self._last is None:
            self._log.add(listing(self._options["path"]))
        known = len(self._log.files) if self._last is None else self._last
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else known
        return {"files": min(known, int(start["files"]) + most)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The tasks of a batch."""
        return self._parted(self._log.files[int(start["files"]) : int(end["files"])])


class FileLog:
    """The files that were seen, in the order in which they came, in numbered files of its own."""

    def __init__(self, path: str) -> None:
        self._system, self._root = _place(path)
        self._system.create_dir(self._root, recursive=True)
        self.files: list[tuple[str, int]] = []
        self._entries = 0
        while self._read():
            pass
        self._known = {path for path, _ in self.files}

    def _entry(self, number: int) -> str:
        return f"{self._root}/{number:012}.json"

    def _read(self) -> bool:
        name = self._entry(self._entries)
        if not self._system.get_file_info(name).is_file:
            return False
        with self._system.open_input_stream(name) as stream:
            self.files += [(str(path), int(size)) for path, size in json.loads(stream.read())]
        self._entries += 1
        return True

    def add(self, listed: Sequence[tuple[str, int]]) -> None:
        """Take note of files that are new."""
        new = [(path, size) for path, size in listed if path not in self._known]
        if not new:
            return
        name = self._entry(self._entries)
        # Whole or not at all: a name is given when everything is written.
        with self._system.open_output_stream(f"{name}.tmp") as stream:
            stream.write(json.dumps(new).encode())
        self._system.move(f"{name}.tmp", name)
        self._entries += 1
        self.files += new
        self._known.update(path for path, _ in new)
