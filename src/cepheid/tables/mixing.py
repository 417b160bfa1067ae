"""The compiled loops of tables: what a composite event takes over from its constituents.

A constituent may be a composite event of the same portion, so there is an order to follow: rows
are in the order in which events were made, and constituents come before what is made of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cepheid.identity import FACTORS, SHIFTS, field
from cepheid.kernel.compiled import compiled, inlined
from cepheid.tables.arrow import Ints

Lanes = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

_A1, _A2, _A3 = (np.uint64(shift) for shift in SHIFTS[0])
_B1, _B2, _B3 = (np.uint64(shift) for shift in SHIFTS[1])
_A4, _A5 = (np.uint64(factor) for factor in FACTORS[0])
_B4, _B5 = (np.uint64(factor) for factor in FACTORS[1])
_DIGIT = np.uint64(15)
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_ID_A, _ID_B = (np.uint64(lane) for lane in field("id", "hash"))


@compiled
def deepen(offsets: Ints, part_rows: Ints, depths: Ints, first: int) -> None:
    """Write how deep composite events are, from a row on; a part of row -1 is no composite."""
    for number in range(len(offsets) - 1):
        deepest = 0
        for at in range(offsets[number], offsets[number + 1]):
            if part_rows[at] >= 0:
                deepest = max(deepest, depths[part_rows[at]])
        depths[first + number] = deepest + 1


@inlined
def _mix_a(bits: np.uint64) -> np.uint64:
    bits = (bits ^ (bits >> _A1)) * _A4
    bits = (bits ^ (bits >> _A2)) * _A5
    return bits ^ (bits >> _A3)


@inlined
def _mix_b(bits: np.uint64) -> np.uint64:
    bits = (bits ^ (bits >> _B1)) * _B4
    bits = (bits ^ (bits >> _B2)) * _B5
    return bits ^ (bits >> _B3)


@compiled
def identify(  # noqa: PLR0917 (compiled functions take arrays by position)
    offsets: Ints,
    labels: Ints,
    label_fields: Lanes,
    parts: Ints,
    identities: Lanes,
    wholes: Lanes,
    events: Lanes,
    lanes: Lanes,
) -> None:
    """Write the ids of composite events into lanes.

    `labels` and `parts` tell for every constituent where the field of its label and its identity
    are; `wholes` is what rule and type add to an id. If `events` has what everything but the id
    adds to the identity of a composite event, that is written too, in front of the others: so a
    constituent may be one of them.
    """
    for number in range(len(offsets) - 1):
        a, b = wholes[0, number], wholes[1, number]
        for at in range(offsets[number], offsets[number + 1]):
            label, part = labels[at], parts[at]
            a += _mix_a(label_fields[0, label] + identities[0, part])
            b += _mix_b(label_fields[1, label] + identities[1, part])
        a, b = _mix_a(a), _mix_b(b)
        lanes[0, number], lanes[1, number] = a, b
        if number < events.shape[1]:
            identities[0, number] = _mix_a(events[0, number] + _mix_a(_ID_A + a))
            identities[1, number] = _mix_b(events[1, number] + _mix_b(_ID_B + b))


@compiled
def write_digits(lanes: Lanes, digits: Bytes) -> None:
    """Write identities as hexadecimal digits, 32 for each."""
    for number in range(lanes.shape[1]):
        for lane in range(2):
            bits = lanes[lane, number]
            for place in range(16):
                digit = (bits >> np.uint64(60 - 4 * place)) & _DIGIT
                digits[32 * number + 16 * lane + place] = _DIGITS[digit]
