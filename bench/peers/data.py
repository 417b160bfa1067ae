"""Events on disk: written once, read whole into memory by every engine before its clock starts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.peers.contest import MILLISECOND, Contest
from bench.streams import Column, Stream

Lines = npt.NDArray[np.int32]
"""Composite events: a line has the number of the rule, then what it is made of."""

_SMALL = np.dtype("<i4")
_LARGE = np.dtype("<i8")


def write(contest: Contest, stream: Stream, folder: Path, engines: Iterable[str]) -> None:
    """Write `events.bin` and `contest.json`: times in ms, types, then the columns, all in full."""
    if (stream.times % MILLISECOND).any() or (np.diff(stream.times) <= 0).any():
        raise ValueError(f"times of {contest.name} must be different whole milliseconds")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "events.bin").open("wb") as file:
        (stream.times // MILLISECOND).astype(_LARGE).tofile(file)
        stream.kinds.astype(_SMALL).tofile(file)
        for column in stream.columns.values():
            _numbers(column).astype(_SMALL).tofile(file)
    header = _header(contest, stream, engines)
    (folder / "contest.json").write_text(json.dumps(header), "utf-8")


def _numbers(column: Column) -> npt.NDArray[np.int64]:
    """What is missing is written as 0: no rule looks at it."""
    return column.values if column.present is None else column.values * column.present


def _header(contest: Contest, stream: Stream, engines: Iterable[str]) -> dict[str, Any]:
    told = {engine: contest.told(engine) for engine in engines}
    return {
        "name": contest.name,
        "form": contest.form,
        "count": len(stream),
        "types": stream.names,
        "columns": [
            {"name": name, "texts": column.texts or None} for name, column in stream.columns.items()
        ],
        "width": contest.width,
        "until": contest.patience // MILLISECOND,
        "engines": {engine: rules for engine, rules in told.items() if rules is not None},
    }


def read(path: Path, width: int) -> Lines:
    """The composite events that an engine wrote."""
    cells = np.fromfile(path, _SMALL)
    return cells.reshape(-1, 1 + width)


def save(lines: Lines, path: Path) -> None:
    """Write composite events as the engines do."""
    lines.astype(_SMALL).tofile(path)
