"""A folder of rules as a stream of changes: files that appear, change or go away.

The texts stand in the offset that Spark writes into its checkpoint, so that a batch that is
repeated after a crash takes the same rules, whatever is in the folder by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from cepheid.errors import EventError
from cepheid.languages import LANGUAGES
from cepheid.spark.changes import PUT, REMOVE, SPARK_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

LIMIT = 1 << 20
"""How many characters the files of a folder may have together."""

Row = tuple[int, str, str, str | None, str | None]


def folder_changes(spark: SparkSession, path: str | Path) -> DataFrame:
    """The rule files of a folder as a stream of changes."""
    folder = Path(path)
    if not folder.is_dir():
        raise EventError(f"changes must come from a stream or a folder; {folder} is no folder")
    spark.dataSource.register(RuleFolder)
    return spark.readStream.format(RuleFolder.name()).option("path", str(folder)).load()


class RuleFolder(DataSource):
    """Spark's view of a folder of rules."""

    @classmethod
    def name(cls) -> str:
        """What the format is called."""
        return "cepheid_rules"

    def schema(self) -> str:
        """The columns of changes."""
        return SPARK_SCHEMA

    def simpleStreamReader(self, schema: StructType) -> RuleFolderReader:  # noqa: N802 (Spark's)
        """The reader, on the driver."""
        return RuleFolderReader(self.options["path"])


class RuleFolderReader(SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):
    """Looks at the folder whenever Spark asks for news."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._frozen: dict[str, str] | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        """Take what is there now, and nothing that comes later."""
        self._frozen = self._files()

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's name)
        """Nothing was seen yet."""
        return {"seq": 0, "files": {}}

    def read(self, start: dict[str, Any]) -> tuple[Iterator[Row], dict[str, Any]]:
        """What changed, and what the folder holds now."""
        files = self._files() if self._frozen is None else self._frozen
        if files == start["files"]:
            return iter(()), start
        end = {"seq": start["seq"] + 1, "files": files}
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(  # noqa: N802 (Spark's name)
        self, start: dict[str, Any], end: dict[str, Any]
    ) -> Iterator[Row]:
        """The changes from one state of the folder to another."""
        return iter(differences(start["files"], end["files"], end["seq"]))

    def _files(self) -> dict[str, str]:
        endings = {language.ending for language in LANGUAGES.values()}
        found: dict[str, str] = {}
        for file in sorted(self._path.rglob("*")):
            if file.suffix in endings and file.is_file():
                found[str(file.relative_to(self._path))] = file.read_text("utf-8-sig", "replace")
        size = sum(map(len, found.values()))
        if size > LIMIT:
            raise EventError(
                f"rules of a folder that is watched must have at most {LIMIT} characters together; "
                f"{self._path} has {size}\n\nhint: send changes as a stream of rows"
            )
        return found


def differences(before: Mapping[str, str], after: Mapping[str, str], seq: int) -> list[Row]:
    """The changes that turn one state of a folder into another.

    >>> differences({"a.sase": "EVENT A x"}, {"b.sase": "EVENT B x"}, 7)
    [(7, 'remove', 'a.sase', None, None), (7, 'put', 'b.sase', 'sase', 'EVENT B x')]
    """
    languages = {language.ending: name for name, language in LANGUAGES.items()}
    rows: list[Row] = [(seq, REMOVE, name, None, None) for name in before if name not in after]
    rows += [
        (seq, PUT, name, languages[Path(name).suffix], text)
        for name, text in after.items()
        if before.get(name) != text
    ]
    return rows
