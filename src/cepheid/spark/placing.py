"""Placing: names for shards such that Spark spreads them evenly over its partitions.

Spark sends a row to the partition that the hash of its key tells. With a few shards on a few
partitions, chance would leave some partitions without any, and some with several. So a mark is
added to the name of a shard until its hash tells the partition that is wanted. Nothing depends on
it but speed.
"""

from __future__ import annotations

from collections.abc import Sequence

_SEED = 42
"""With which Spark begins its hash."""
_MASK = 0xFFFFFFFF
_TRIES = 4096
"""How many marks are tried for a name; with more partitions than that, chance does it."""


def placed(
    groups: Sequence[tuple[str, int]], partitions: int, *, apart: bool = False
) -> list[tuple[str, ...]]:
    """The names of the shards of groups, given how many each has, in turn over the partitions.

    Those of a group that stays `apart` do not depend on what other groups there are.
    """
    found, wanted = [], 0
    for name, count in groups:
        if apart:
            wanted = _number(name)
        names = []
        for number in range(count):
            names.append(_marked(f"{name}/{number}", wanted % partitions, partitions))
            wanted += 1
        if count % partitions == 0:
            # What one value of a key brings should not come to the same partition in all groups.
            wanted += 1
        found.append(tuple(names))
    return found


def _number(name: str) -> int:
    """The number at the end of a name, or 0."""
    last = name.rpartition(" ")[2]
    return int(last) if last.isdecimal() else 0


def _marked(name: str, wanted: int, partitions: int) -> str:
    for mark in range(_TRIES):
        tried = f"{name}.{mark}" if mark else name
        if partition_of(tried, partitions) == wanted:
            return tried
    return name


def partition_of(key: str, partitions: int) -> int:
    """The partition to which Spark sends a row with a text as its key."""
    hashed = text_hash(key)
    return (hashed - (1 << 32) if hashed >> 31 else hashed) % partitions


def text_hash(text: str) -> int:
    """The hash that Spark's `hash` gives a text: MurmurHash3 with each last byte as a word."""
    data = text.encode()
    whole = len(data) // 4 * 4
    state = _SEED
    for at in range(0, whole, 4):
        state = _mixed(state, int.from_bytes(data[at : at + 4], "little"))
    for byte in data[whole:]:
        state = _mixed(state, byte - 256 if byte > 127 else byte)
    state ^= len(data)
    state = ((state ^ state >> 16) * 0x85EBCA6B) & _MASK
    state = ((state ^ state >> 13) * 0xC2B2AE35) & _MASK
    return state ^ state >> 16


def _mixed(state: int, word: int) -> int:
    word = _turned(((word & _MASK) * 0xCC9E2D51) & _MASK, 15) * 0x1B873593 & _MASK
    return (_turned(state ^ word, 13) * 5 + 0xE6546B64) & _MASK


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK
