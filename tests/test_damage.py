"""Checkpoints that are damaged: a command that goes on from one says which file, and what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cepheid.errors import SnapshotError
from cepheid.spark.checkpoint import check_logs, damage_in
from tests.test_run import EVENTS, folder, ids, run, spark, write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
__all__ = ["folder", "spark"]

STREAM = (
    *("--stream", "--available-now", "--input", "events", "--output", "fires"),
    *("--input-option", "maxFilesPerTrigger=1", "--checkpoint"),
)
LOGS = ("metadata", "offsets/1", "commits/1", "sources/0/1", "state/0/_metadata/v2/0")
STATE = ("state/0/*/2.changelog", "state/0/*/*.zip", "state/0/*/SSTs/*.sst")


def flipped(content: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def halved(content: bytes) -> bytes:
    return content[: len(content) // 2]


def emptied(_content: bytes) -> bytes:
    return b""


def damaged(folder: Path, pattern: str, how: Callable[[bytes], bytes], *, sums: bool) -> str:
    """A copy of the checkpoint in which files are damaged, with or without their checksums."""
    copy = f"copy of {pattern.replace('/', ' ')} {how.__name__} {sums}"
    shutil.copytree(folder / "state", folder / copy)
    files = sorted((folder / copy).glob(pattern))
    assert files
    for file in files:
        file.write_bytes(how(file.read_bytes()))
        if not sums:
            (file.parent / f".{file.name}.crc").unlink()
    return copy


def one_stream(folder: Path) -> None:
    """A stream that has taken two files, with a third to come."""
    for number in range(2):
        write_parquet(folder / "events" / f"{number}.parquet", EVENTS[number * 90 :][:90])
    assert run(*STREAM, "state") == 0
    write_parquet(folder / "events" / "2.parquet", EVENTS[180:270])


def test_a_log_or_state_that_is_damaged_is_told(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one_stream(folder)
    before = ids("fires")
    for pattern in LOGS:
        for how in (flipped, halved, emptied):
            copy = damaged(folder, pattern, how, sums=True)
            assert run(*STREAM, copy) == 2, pattern
            told = capsys.readouterr().err
            assert f"the checksum of {pattern} is another\n\nhint: restore" in told
    copy = damaged(folder, STATE[0], flipped, sums=True)
    assert run(*STREAM, copy) == 1
    told = capsys.readouterr().err
    assert "/2.changelog is another\n\nhint: restore" in told
    assert "\tat " not in told
    assert ids("fires") == before
    shutil.copytree(folder / "state", folder / "whole")
    assert run(*STREAM, "whole") == 0
    assert len(ids("fires")) > len(before)


@pytest.mark.slow
def test_what_spark_notices_is_told_in_a_sentence(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one_stream(folder)
    cases = [(pattern, how) for pattern in LOGS[:-1] for how in (halved, emptied)]
    cases += [(pattern, how) for pattern in STATE for how in (flipped, halved, emptied)]
    before = ids("fires")
    for pattern, how in cases:
        assert run(*STREAM, damaged(folder, pattern, how, sums=False)) == 1, (pattern, how)
        told = capsys.readouterr().err
        assert "error: the checkpoint must be as Spark wrote it; it cannot be read: " in told
        assert "hint: if it is damaged, restore it from a copy, or begin a new one" in told
        assert "\tat " not in told
        assert "Logical Plan" not in told
    assert ids("fires") == before


# --- checksums ----------------------------------------------------------------------------------


def test_checksums_are_those_of_the_bytes(tmp_path: Path) -> None:
    content = bytes(range(256)) * 5
    sums = bytes.fromhex("63726300 00000200 1c613576 1c613576 29058c73")
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "7").write_bytes(content)
    check_logs(str(tmp_path))
    (tmp_path / "offsets" / ".7.crc").write_bytes(sums)
    check_logs(str(tmp_path))
    check_logs(f"file://{tmp_path}")
    for wrong in (sums[:-4], sums[:6], sums + sums[-4:], b"x" + sums[1:]):
        (tmp_path / "offsets" / ".7.crc").write_bytes(wrong)
        with pytest.raises(SnapshotError, match="the checksum of offsets/7 is another"):
            check_logs(str(tmp_path))
    assert "offsets/7" in (damage_in(str(tmp_path)) or "")


def test_checkpoints_elsewhere_are_left_to_their_file_systems(tmp_path: Path) -> None:
    check_logs("hdfs://host/state")
    check_logs("s3a://bucket/state")
    check_logs(str(tmp_path / "nothing yet"))
