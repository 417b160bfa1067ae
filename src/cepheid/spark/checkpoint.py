"""Checkpoints: whether the files of a stream's checkpoint are as Spark wrote them.

On a file system of one machine, Spark writes checksums beside each file of a checkpoint, and does
not look at them when it goes on. A bit that has changed in what it reads as text, such as the name
of a file that it has read, would give wrong answers without a word: so these files are checked
before a stream goes on. State has checksums of its own and may be large; its files are looked at
after a failure, so that the damaged one can be named. Other file systems check what they hold.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from cepheid.errors import SnapshotError
from cepheid.spark.project import has_scheme

_LOGS = ("metadata", "offsets/*", "commits/*", "sources/*/*", "state/*/_*/**/*", "files/**/*")
"""What Spark and the native reader read as text; it is small."""
_STATE = ("state/*/[0-9]*/**/*",)
_MAGIC = b"crc\0"
_HINT = "\n\nhint: restore the checkpoint from a copy, or begin a new one"


def check_logs(checkpoint: str) -> None:
    """Raise if a log of a checkpoint is not as it was written."""
    told = _told(checkpoint, _LOGS)
    if told is not None:
        raise SnapshotError(told)


def damage_in(checkpoint: str) -> str | None:
    """What is not as it was written in a checkpoint, if anything is."""
    return _told(checkpoint, (*_LOGS, *_STATE))


def _told(checkpoint: str, patterns: Iterable[str]) -> str | None:
    folder = _local(checkpoint)
    damaged = next(_damaged(folder, patterns), None) if folder else None
    if damaged is None:
        return None
    return (
        f"files of the checkpoint {checkpoint} must be as they were written; the checksum of "
        f"{damaged} is another{_HINT}"
    )


def _local(checkpoint: str) -> Path | None:
    """The folder of a checkpoint, if it is on this machine."""
    path = checkpoint.removeprefix("file://").removeprefix("file:")
    folder = None if has_scheme(path) else Path(path)
    return folder if folder is not None and folder.is_dir() else None


def _damaged(folder: Path, patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        for file in sorted(folder.glob(pattern)):
            sums = file.parent / f".{file.name}.crc"
            if sums.is_file() and not _is_whole(file, sums.read_bytes()):
                yield str(file.relative_to(folder))


def _is_whole(file: Path, sums: bytes) -> bool:
    """Whether a file has its checksums: one for every so many bytes, as many as stand before."""
    if sums[:4] != _MAGIC or len(sums) < 8:
        return False
    (size,) = struct.unpack_from(">i", sums, 4)
    if size < 1:
        return False
    at = 8
    with file.open("rb") as content:
        while part := content.read(size):
            if sums[at : at + 4] != struct.pack(">I", zlib.crc32(part)):
                return False
            at += 4
    return at == len(sums)
