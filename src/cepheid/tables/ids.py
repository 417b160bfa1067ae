"""Identities over columns: what `cepheid.identity` says of one event, for all events of a table.

Lanes are arrays of two rows, one for each lane of 64 bits. Only texts are looked at one by one,
and each of them once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events import Kind
from cepheid.identity import FACTORS, SHIFTS, field, is_hash, unwritten
from cepheid.tables.arrow import Array, Ints, codes, kind, numbers, pa, present, texts
from cepheid.tables.mixing import write_digits
from cepheid.tables.table import Table

Lanes = npt.NDArray[np.uint64]
"""Two rows: the lanes of many identities."""


def mixed(lanes: Lanes) -> Lanes:
    """Lanes, mixed in place."""
    for lane, bits in enumerate(lanes):
        for shift, factor in zip(SHIFTS[lane], (*FACTORS[lane], 1), strict=True):
            bits ^= bits >> np.uint64(shift)  # noqa: PLW2901 (a row of the lanes, in place)
            if factor != 1:
                bits *= np.uint64(factor)  # noqa: PLW2901 (the same)
    return lanes


def part(name: Iterable[str], value: npt.NDArray[Any]) -> Lanes:
    """What a named part adds to the whole; the value has lanes, or the same bits for both."""
    return mixed(np.array(field(*name), np.uint64)[:, None] + value)


def digests(found: Iterable[str]) -> Lanes:
    """The lanes of texts."""
    written = b"".join(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for text in found
    )
    return np.frombuffer(written, "<u8").reshape(-1, 2).T.astype(np.uint64)


def event_identities(table: Table) -> Lanes:
    """The identities of the events of a table."""
    return mixed(event_parts(table))


def event_parts(table: Table) -> Lanes:
    """What the parts of events add to their identities, before the whole is mixed."""
    type_codes, names = codes(table.types)
    found = part(("type",), digests(texts(names))[:, type_codes])
    found += part(("start",), table.starts.view(np.uint64))
    found += part(("end",), table.ends.view(np.uint64))
    for array in table.ids:
        _add_present(found, array, _ids(array))
    for name, array in table.columns:
        _add_present(found, array, _values(("attribute", name), array))
    return found


def _add_present(lanes: Lanes, array: Array, parts: Lanes) -> None:
    there = present(array)
    lanes += parts if there is None else np.where(there, parts, np.uint64(0))


def _values(name: tuple[str, ...], array: Array) -> Lanes:
    own = kind(array)
    if own is Kind.STRING:
        found, known = codes(array)
        return part((*name, "string"), _at(digests(texts(known)), found))
    return part((*name, own.value), bits(array))


def bits(array: Array) -> npt.NDArray[np.uint64]:
    """The bits of numbers and bools."""
    found = numbers(array)
    if kind(array) is Kind.BOOL:
        return found.astype(np.uint64)
    return found.view(np.uint64)


def _ids(array: Array) -> Lanes:
    """Ids; those of composite events stand for their own bits."""
    if kind(array) is not Kind.STRING:
        return _values(("id",), array)
    found, known = codes(array)
    names = texts(known)
    parts = part(("id", "string"), digests(names))
    for at in [at for at, name in enumerate(names) if is_hash(name)]:
        own = np.array(unwritten(names[at]), np.uint64)[:, None]
        parts[:, at : at + 1] = part(("id", "hash"), own)
    return _at(parts, found)


def _at(lanes: Lanes, places: Ints) -> Lanes:
    """The lanes at places; any lanes where there is none."""
    if lanes.shape[1] == 0:
        return np.zeros((2, len(places)), np.uint64)
    return lanes[:, places]


def label_fields(labels: Iterable[str]) -> Lanes:
    """The fields of labels."""
    found = [field("label", label) for label in labels]
    return np.array(found, np.uint64).reshape(-1, 2).T


def written(lanes: Lanes) -> Array:
    """Identities as texts of 32 hexadecimal digits."""
    count = lanes.shape[1]
    digits = np.empty(32 * count, np.uint8)
    write_digits(lanes, digits)
    offsets = np.arange(0, 32 * count + 1, 32, dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(digits))
