"""Snapshots: what is written reads back, and anything else is an error with a name."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cepheid
from cepheid import CompositeEvent, Event, SnapshotError
from cepheid.events import Value
from cepheid.runtime import snapshot
from cepheid.runtime.snapshot import decode_events, encode_events, pack, unpack
from tests.strategies import events

HEAD: dict[str, Any] = {"name": "é\ud800", "numbers": [1, 2.5, None], "deep": {"a": {"b": []}}}
ARRAYS: dict[str, npt.NDArray[Any]] = {
    "ints": np.arange(100, dtype=np.int64),
    "table": np.arange(12, dtype=np.float64).reshape(3, 4),
    "tags": np.array([0, 1, 255], np.uint8),
    "flags": np.array([True, False]),
    "none": np.zeros((0, 3), np.int64),
}
GOOD = pack(HEAD, ARRAYS)
HEADER = struct.Struct("<8sHQQ16s")


def test_values_and_arrays_read_back_as_they_were() -> None:
    head, arrays = unpack(GOOD)
    assert head == HEAD
    assert list(arrays) == list(ARRAYS)
    for name, array in arrays.items():
        assert array.dtype == ARRAYS[name].dtype
        assert array.shape == ARRAYS[name].shape
        assert (array == ARRAYS[name]).all()
        assert array.flags.writeable


def test_arrays_in_any_layout_are_written_by_value() -> None:
    turned = np.arange(12).reshape(3, 4).T
    big = np.arange(3).astype(">i8")
    _, arrays = unpack(pack({}, {"turned": turned, "big": big}))
    assert (arrays["turned"] == turned).all()
    assert arrays["big"].tolist() == [0, 1, 2]


def test_a_snapshot_is_compact() -> None:
    assert len(pack({}, {"zeros": np.zeros(100_000)})) < 5_000


def test_any_bytes_will_do() -> None:
    assert unpack(bytearray(GOOD))[0] == unpack(memoryview(GOOD))[0] == HEAD  # type: ignore[arg-type]


@pytest.mark.parametrize("given_", [None, "text", 7, [1]])
def test_what_is_not_bytes_is_an_error(given_: Any) -> None:  # noqa: ANN401
    with pytest.raises(SnapshotError, match="snapshot must be bytes; got"):
        unpack(given_)


@pytest.mark.parametrize("foreign", [b"", b"\x93CEPH", b"PK\x03\x04 a zip file", b"\x80\x04pickle"])
def test_foreign_bytes_are_an_error(foreign: bytes) -> None:
    with pytest.raises(SnapshotError, match="must begin with the mark of a Cepheid snapshot"):
        unpack(foreign)


@pytest.mark.parametrize("length", [8, 20, HEADER.size, HEADER.size + 1, len(GOOD) - 1])
def test_a_part_that_is_missing_is_an_error(length: int) -> None:
    with pytest.raises(SnapshotError, match="a part is missing"):
        unpack(GOOD[:length])


def test_something_added_is_an_error() -> None:
    with pytest.raises(SnapshotError, match="something was added"):
        unpack(GOOD + b"!")


def assert_counts(place: int, bit: int) -> None:
    changed = bytearray(GOOD)
    changed[place] ^= 1 << bit
    with pytest.raises(SnapshotError):
        unpack(bytes(changed))


@pytest.mark.parametrize("place", range(HEADER.size))
def test_every_bit_of_the_header_counts(place: int) -> None:
    for bit in range(8):
        assert_counts(place, bit)


@pytest.mark.property
@example(place=HEADER.size, bit=0)
@given(place=st.integers(0, len(GOOD) - 1), bit=st.integers(0, 7))
def test_any_bit_that_changes_is_an_error(place: int, bit: int) -> None:
    assert_counts(place, bit)


@pytest.mark.property
@given(st.binary(max_size=200))
def test_random_bytes_are_an_error(noise: bytes) -> None:
    for given_ in (noise, GOOD[: HEADER.size] + noise):
        with pytest.raises(SnapshotError):
            unpack(given_)


def test_a_changed_byte_is_told_by_the_checksum() -> None:
    changed = bytearray(GOOD)
    changed[-1] ^= 1
    with pytest.raises(SnapshotError, match="its checksum is wrong"):
        unpack(bytes(changed))


def with_body(body: bytes, size: int, version: int = 1) -> bytes:
    """A snapshot whose header is true of a body that somebody made up."""
    checksum = snapshot._checksum(body)
    return HEADER.pack(b"\x93CEPHEID", version, len(body), size, checksum) + body


def test_a_newer_version_is_an_error_that_says_what_to_do() -> None:
    newer = with_body(GOOD[HEADER.size :], 10, version=snapshot.VERSION + 1)
    with pytest.raises(SnapshotError, match=r"must be of version 1 to 1; got 2\n\nhint: restore"):
        unpack(newer)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff" * 8,
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (12).to_bytes(8, "little") + b'{"arrays":7}',
        (27).to_bytes(8, "little") + b'{"arrays":[["a","<i8",[9]]]}',
        (28).to_bytes(8, "little") + b'{"arrays":[["a","|O8",[0]]]}',
        (29).to_bytes(8, "little") + b'{"arrays":[["a","<i8",[-1]]]}',
    ],
)
def test_a_body_that_makes_no_sense_is_an_error(raw: bytes) -> None:
    with pytest.raises(SnapshotError, match="must have parts that fit together"):
        unpack(with_body(zlib.compress(raw), len(raw)))


def test_a_body_that_is_not_compressed_or_too_large_is_an_error() -> None:
    with pytest.raises(SnapshotError, match="must have parts that fit together"):
        unpack(with_body(b"not compressed", 14))
    bomb = zlib.compress(b"\0" * 10_000_000)
    with pytest.raises(SnapshotError, match="101 bytes instead of 100"):
        unpack(with_body(bomb, 100))


def test_arrays_of_objects_are_never_written() -> None:
    with pytest.raises(SnapshotError, match="array of a snapshot must hold numbers; got object"):
        pack({}, {"objects": np.array([object()])})


# --- events ------------------------------------------------------------------


@pytest.mark.property
@given(st.lists(events(), max_size=6))
def test_events_read_back_as_they_were(given_: list[Event]) -> None:
    doubled = [*given_, *given_]
    assert decode_events(through_snapshot(encode_events(doubled))) == doubled


def through_snapshot(written: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    return unpack(pack(dict(written), {}))[0]


def test_special_values_survive() -> None:
    attributes: dict[str, Value] = {
        "inf": float("inf"),
        "text": "\ud800\x00",
        "int": -(2**63),
        "bool": True,
    }
    (again,) = decode_events(through_snapshot(encode_events([Event("A", -5, 3, attributes, "x")])))
    assert again == Event("A", -5, 3, attributes, "x")
    assert [type(value) for value in again.attributes.values()] == [float, str, int, bool]


def test_composite_events_keep_what_they_were_made_of_however_deep() -> None:
    event: Event = Event("A", 1, 1, {"v": 1}, 7)
    for level in range(5_000):
        parts = (("x", event), ("y", event))
        event = CompositeEvent("C", 1, 1, {"level": level}, rule="R", events=parts)
    (again,) = decode_events(through_snapshot(encode_events([event])))
    assert isinstance(again, CompositeEvent)
    assert (again.id, again.depth, again.rule) == (event.id, 5_000, "R")
    assert again.events[0][1] is again.events[1][1]


def test_what_is_equal_before_and_after_a_snapshot_stays_equal() -> None:
    """Composite events of equal events are told in the order of the rest of their constituents."""
    rules = cepheid.load("QUERY Q EVENT SEQ(A x, A y, A z)", language="sase")
    times = [0, 0, 1, 2, 3]
    engine = rules.engine(unit="s")
    engine.push_batch(pa.table({"type": ["A"], "ts": times[:1]}))
    engine = cepheid.restore(engine.snapshot())
    found = engine.push_batch(pa.table({"type": ["A"] * 4, "ts": times[1:]}))
    parts = [[part["ts"] for part in events] for events in found.column("events").to_pylist()]
    whole = rules.detect(pa.table({"type": ["A"] * 5, "ts": times}), unit="s")
    assert parts == [
        [part["ts"] for part in events] for events in whole.column("events").to_pylist()
    ]
