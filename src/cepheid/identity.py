"""Identities: 128 bits that follow from what an event is, in plain Python.

The id of a composite event must be the same on every machine and computable over whole columns,
so it is made of two lanes of 64 bits that are mixed with wrapping arithmetic; only texts go
through a digest. A thing is the sum of its parts, each mixed with the name of the part: the order
of parts does not matter, and a part that is missing adds nothing. `cepheid.tables.ids` computes
the same over columns.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache

Lanes = tuple[int, int]
"""Two lanes of 64 bits."""

SHIFTS = ((33, 33, 33), (30, 27, 31))
FACTORS = (
    (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53),  # the finaliser of MurmurHash3
    (0xBF58476D1CE4E5B9, 0x94D049BB133111EB),  # the finaliser of SplitMix64
)
"""How each lane is mixed: shift and xor, multiply, shift and xor, multiply, shift and xor."""

_MASK = 2**64 - 1
_HASH = re.compile(r"[0-9a-f]{32}")


@lru_cache(maxsize=1 << 14)
def field(*name: str) -> Lanes:
    """The lanes of a part's name, such as ("attribute", "int", "value")."""
    return digest("\x00".join(name))


def digest(text: str) -> Lanes:
    """The lanes of a text."""
    found = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(found[:8], "little"), int.from_bytes(found[8:], "little")


_known = lru_cache(maxsize=1 << 14)(digest)


def part(name: Lanes, value: Lanes) -> Lanes:
    """What a named part adds to the whole."""
    return _mixed(0, name[0] + value[0]), _mixed(1, name[1] + value[1])


def whole(parts: Iterable[Lanes]) -> Lanes:
    """The identity of what has these parts."""
    first = second = 0
    for one, other in parts:
        first += one
        second += other
    return _mixed(0, first), _mixed(1, second)


def _mixed(lane: int, bits: int) -> int:
    one, two, three = SHIFTS[lane]
    factor, other = FACTORS[lane]
    bits &= _MASK
    bits = ((bits ^ bits >> one) * factor) & _MASK
    bits = ((bits ^ bits >> two) * other) & _MASK
    return bits ^ bits >> three


def value_part(name: tuple[str, ...], value: str | float) -> Lanes:
    """What a value adds under a name; values of different kinds are never the same.

    >>> len({value_part(("attribute", "v"), value) for value in (1, 1.0, True, "1")})
    4
    """
    if isinstance(value, bool):
        return part(field(*name, "bool"), (value, value))
    if isinstance(value, int):
        return part(field(*name, "int"), (value, value))
    if isinstance(value, float):
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        return part(field(*name, "double"), (bits, bits))
    return part(field(*name, "string"), _known(value))


def id_part(value: str | float | None) -> Lanes:
    """What the id of an event adds; that of a composite event stands for its own bits."""
    if value is None:
        return (0, 0)
    if isinstance(value, str) and is_hash(value):
        return part(field("id", "hash"), unwritten(value))
    return value_part(("id",), value)


def event_identity(
    type_: str, start: int, end: int, id_: str | float | None, attributes: Mapping[str, str | float]
) -> Lanes:
    """The identity of an event: its type, its interval, its id and all its attributes."""
    parts = [
        part(field("type"), _known(type_)),
        part(field("start"), (start, start)),
        part(field("end"), (end, end)),
        id_part(id_),
    ]
    parts += (value_part(("attribute", name), value) for name, value in attributes.items())
    return whole(parts)


def composite_identity(rule: str, type_: str, events: Iterable[tuple[str, Lanes]]) -> Lanes:
    """The identity of a composite event: its rule, its type, and its events under their labels."""
    parts = [part(field("label", label), identity) for label, identity in events]
    return whole([*_head(rule, type_), *parts])


@lru_cache(maxsize=1 << 10)
def _head(rule: str, type_: str) -> tuple[Lanes, Lanes]:
    return part(field("rule"), _known(rule)), part(field("type"), _known(type_))


def written(lanes: Lanes) -> str:
    """An identity as text: 32 hexadecimal digits."""
    return f"{lanes[0]:016x}{lanes[1]:016x}"


def unwritten(text: str) -> Lanes:
    """The identity that a text of 32 hexadecimal digits stands for."""
    return int(text[:16], 16), int(text[16:], 16)


def is_hash(text: str) -> bool:
    """Whether a text looks like a written identity."""
    return len(text) == 32 and _HASH.fullmatch(text) is not None
