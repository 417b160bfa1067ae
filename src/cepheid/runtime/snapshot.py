"""Snapshots: the state of an engine as bytes that can be checked before anything is believed.

A snapshot is a header (a mark, the version of the format, lengths, a checksum) and a compressed
body: one JSON text and the bytes of arrays. Nothing in it is code. The checksum tells damage; it
is no signature, so a snapshot is to be restored only from where one would take a program from.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.errors import SnapshotError
from cepheid.events import CompositeEvent, Event

Arrays = Mapping[str, npt.NDArray[Any]]

VERSION = 1
"""The version of the format that is written; this and older ones are read."""

_MARK = b"\x93CEPHEID"
_HEADER = struct.Struct("<8sHQQ16s")
"""The mark, the version, the length of the body, its length before compression, its checksum."""
_LEVEL = 1
"""State is written often and read seldom: the fastest compression, which does most of the work."""
_KINDS = "biuf"
"""Arrays hold bools, ints, unsigned ints or floats; never objects."""


def pack(head: Mapping[str, Any], arrays: Arrays) -> bytes:
    """A snapshot of JSON values and arrays."""
    kept = {name: _plain(array) for name, array in arrays.items()}
    table = [[name, array.dtype.str, array.shape] for name, array in kept.items()]
    text = json.dumps({**head, "arrays": table}).encode("ascii")
    raw = b"".join([len(text).to_bytes(8, "little"), text, *map(_bytes, kept.values())])
    body = zlib.compress(raw, _LEVEL)
    return _HEADER.pack(_MARK, VERSION, len(body), len(raw), _checksum(body)) + body


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The JSON values and the arrays of a snapshot; what cannot be trusted is an error."""
    raw = _body(data)
    size = int.from_bytes(raw[:8], "little")
    try:
        head = json.loads(raw[8 : 8 + size])
        return head, _arrays(head.pop("arrays"), raw, 8 + size)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise damaged(error) from None


def damaged(cause: object) -> SnapshotError:
    """The error for a snapshot whose checksum holds, but whose parts make no engine."""
    return SnapshotError(
        f"snapshot must have parts that fit together; got {type(cause).__name__}: {cause}\n\n"
        "hint: take a new snapshot with this version of Cepheid"
    )


def _plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array with the smallest byte first and no gaps, wherever it was made."""
    if array.dtype.kind not in _KINDS:
        raise SnapshotError(f"array of a snapshot must hold numbers; got {array.dtype}")
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def _bytes(array: npt.NDArray[Any]) -> bytes:
    """The bytes of an array; of ints all the lowest bytes first, which compresses much better."""
    if array.dtype.kind not in "iu":
        return array.tobytes()
    return array.reshape(-1).view(np.uint8).reshape(-1, array.itemsize).T.tobytes()


def _unbytes(raw: bytes, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    if kind.kind not in "iu":
        return np.frombuffer(raw, kind).copy()
    lanes = np.frombuffer(raw, np.uint8).reshape(kind.itemsize, -1)
    return lanes.T.copy().reshape(-1).view(kind)


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


def _body(data: bytes) -> bytes:
    """The body of a snapshot, once everything that the header says of it is true."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise SnapshotError(f"snapshot must be bytes; got {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(_MARK):
        raise SnapshotError(
            "snapshot must begin with the mark of a Cepheid snapshot; "
            f"got {data[: len(_MARK)]!r}\n\nhint: give the bytes that engine.snapshot() returned"
        )
    if len(data) < _HEADER.size:
        raise _cut(len(data), _HEADER.size)
    _, version, length, size, checksum = _HEADER.unpack_from(data)
    _check_version(version)
    if len(data) - _HEADER.size != length:
        raise _cut(len(data), _HEADER.size + length)
    body = data[_HEADER.size :]
    if _checksum(body) != checksum:
        raise SnapshotError(
            "snapshot must be whole; its checksum is wrong, so bytes in it have changed\n\n"
            "hint: restore an earlier snapshot"
        )
    return _decompressed(body, size)


def _check_version(version: int) -> None:
    if not 1 <= version <= VERSION:
        raise SnapshotError(
            f"snapshot must be of version 1 to {VERSION}; got {version}\n\n"
            "hint: restore it with the version of Cepheid that took it, or a newer one"
        )


def _cut(got: int, needed: int) -> SnapshotError:
    what = "a part is missing" if got < needed else "something was added"
    return SnapshotError(
        f"snapshot must have {needed} bytes; got {got}: {what}\n\nhint: restore an earlier snapshot"
    )


def _decompressed(body: bytes, size: int) -> bytes:
    try:
        raw = zlib.decompressobj().decompress(body, size + 1)
    except (zlib.error, OverflowError) as error:  # more bytes than there can be
        raise damaged(error) from None
    if len(raw) != size:
        raise damaged(f"{len(raw)} bytes instead of {size}")
    return raw


def _arrays(table: list[Any], raw: bytes, at: int) -> dict[str, npt.NDArray[Any]]:
    arrays = {}
    for name, dtype, shape in table:
        kind = np.dtype(dtype)
        if kind.kind not in _KINDS:
            raise ValueError(f"array {name} of {dtype}")
        end = at + math.prod(shape) * kind.itemsize
        if not at <= end <= len(raw):
            raise ValueError(f"array {name} of shape {shape}")
        arrays[str(name)] = _unbytes(raw[at:end], kind).reshape(shape)
        at = end
    return arrays


# --- events ------------------------------------------------------------------


def encode_events(events: Iterable[Event]) -> dict[str, list[Any]]:
    """Events as JSON values: `entries`, and in which of them the events themselves are.

    What a composite event was made of stands before it and is named by its place, so that what
    several events share is written once, however deep it lies.

    >>> encode_events([Event("Temp", 1, 2, {"value": 24.5}, id=7)])
    {'entries': [['Temp', 1, 2, 7, {'value': 24.5}]], 'given': [0]}
    """
    entries: list[Any] = []
    places: dict[int, int] = {}
    given = []
    for event in events:
        for part in _inner_first(event, places):
            places[id(part)] = len(entries)
            entries.append(_entry(part, places))
        given.append(places[id(event)])
    return {"entries": entries, "given": given}


def _inner_first(event: Event, known: Mapping[int, int]) -> Iterator[Event]:
    """An event after everything that it was made of, without what is known already."""
    stack = [(event, False)]
    while stack:
        current, opened = stack.pop()
        if id(current) in known:
            continue
        if opened or not isinstance(current, CompositeEvent):
            yield current
        else:
            stack.append((current, True))
            stack += [(part, False) for _, part in current.events]


def _entry(event: Event, places: Mapping[int, int]) -> list[Any]:
    entry: list[Any] = [event.type, event.start, event.end, event.id, dict(event.attributes)]
    if isinstance(event, CompositeEvent):
        entry += [event.rule, [[label, places[id(part)]] for label, part in event.events]]
    return entry


def decode_events(written: Mapping[str, list[Any]]) -> list[Event]:
    """The events that JSON values stand for."""
    events: list[Event] = []
    for type_, start, end, id_, attributes, *composite in written["entries"]:
        if composite:
            rule, parts = composite
            made_of = tuple((label, events[place]) for label, place in parts)
            events.append(CompositeEvent(type_, start, end, attributes, id_, rule, made_of))
        else:
            events.append(Event(type_, start, end, attributes, id_))
    return [events[place] for place in written["given"]]
