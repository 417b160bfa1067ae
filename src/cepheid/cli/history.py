"""History for commands: the event files that options name, as a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cepheid.errors import EventError, ProjectError
from cepheid.rules import Rules
from cepheid.units import format_time, parse_time

FORMATS = ("parquet", "csv", "json")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def add_history(command: argparse._ActionsContainer) -> None:
    """The options that say where events are and how they are to be read."""
    command.add_argument(
        "--input",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="the events: files or folders of parquet, CSV or lines of JSON",
    )
    command.add_argument("--input-format", choices=FORMATS, help="instead of the files' ending")
    command.add_argument("--type", metavar="COLUMN", help="the column with the type (type)")
    command.add_argument("--time", metavar="COLUMN", help="the column with the time (ts)")
    command.add_argument("--unit", help="what integers in the column of time count: us, ms, s, …")


def add_project(command: argparse.ArgumentParser) -> None:
    """The option that names a project file."""
    command.add_argument(
        "--project", type=Path, metavar="FILE", help="settings (cepheid.yml, if it is there)"
    )


def with_project(options: argparse.Namespace, command: str = "backtest") -> argparse.Namespace:
    """The options of a command, with what they do not say taken from a project file."""
    from cepheid.spark.project import FILE, read_project

    needed = not options.rules or not options.input
    file = options.project or (Path(FILE) if needed and Path(FILE).is_file() else None)
    settings: Mapping[str, Any] = {} if file is None else read_project(file)
    found = argparse.Namespace(**vars(options))
    found.rules = options.rules or [Path(path) for path in settings.get("rules", ())]
    found.input = options.input or ([Path(settings["input"])] if "input" in settings else [])
    found.input_format = options.input_format or settings.get("format")
    for name in ("schema", "language", "type", "time", "unit"):
        setattr(found, name, getattr(options, name) or settings.get(name))
    found.schema = Path(found.schema) if found.schema else None
    if not found.rules:
        hint = f"cepheid {command} fire.tesla --input PATH"
        raise ProjectError(f"rules must be named\n\nhint: {hint}")
    if not found.input:
        raise ProjectError("--input must say where the events are\n\nhint: --input events.csv")
    if found.input_format not in (None, *FORMATS):
        raise ProjectError(
            f"format of history must be one of {', '.join(FORMATS)}; got {found.input_format}"
        )
    return found


def read_history(options: argparse.Namespace, rules: Rules) -> Any:  # noqa: ANN401 (of Arrow)
    """The events that options name, as a table of Arrow; says where rules expect other values."""
    from cepheid.check import uses
    from cepheid.tables.files import read_files
    from cepheid.tables.misfits import misfits

    table = read_files(
        options.input,
        format=options.input_format,
        type=options.type or "type",
        time=options.time or "ts",
        unit=options.unit,
        schema=rules.schema,
    )
    for misfit in misfits(table, uses(rules.rules, rules.schema)):
        print(f"warning: {misfit}", file=sys.stderr)
    return table


@dataclass(frozen=True)
class Dial:
    """Writes and reads moments as a person does: dates, or counts of a unit."""

    unit: str | None = None

    def text(self, moment: int | None) -> str:
        """A moment in microseconds as text.

        >>> Dial().text(1_782_907_200_000_000), Dial("s").text(90_000_000)
        ('2026-07-01 12:00:00', '90s')
        """
        if moment is None:
            return "never"
        if self.unit is not None:
            return format_time(moment, bare="")
        try:
            found = _EPOCH + timedelta(microseconds=moment)
        except OverflowError:
            return format_time(moment, bare="")
        return f"{found:%Y-%m-%d %H:%M:%S}" + (f".{found:%f}".rstrip("0") if moment % 10**6 else "")

    def read(self, text: str) -> int:
        """The moment that a text stands for: a date with a time, or a count such as 90 s.

        >>> Dial().read("2026-07-01 12:00"), Dial("ms").read("1500")
        (1782907200000000, 1500000)
        """
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            return self._count(text)
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        return (found - _EPOCH) // timedelta(microseconds=1)

    def _count(self, text: str) -> int:
        try:
            return parse_time(text, self.unit or "s")
        except EventError:
            raise EventError(
                f"a moment must be written as 2026-07-01T12:00:00 or, for counts, as 90s; "
                f"got {text[:40]!r}"
            ) from None
