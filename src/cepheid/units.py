"""Time as integers: microseconds in, readable text out.

Time is a 64-bit number of microseconds everywhere behind this module.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation

from cepheid.errors import EventError

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
"""The range of an int attribute."""
TIME_MAX = 2**62
"""Times and durations stay below this, so that adding two of them never overflows."""

_SECOND = 1_000_000
_UNITS: dict[str, int] = {
    "us": 1,
    "usec": 1,
    "microsecond": 1,
    "ms": 1_000,
    "msec": 1_000,
    "millisecond": 1_000,
    "s": _SECOND,
    "sec": _SECOND,
    "second": _SECOND,
    "min": 60 * _SECOND,
    "minute": 60 * _SECOND,
    "h": 3_600 * _SECOND,
    "hr": 3_600 * _SECOND,
    "hour": 3_600 * _SECOND,
    "d": 86_400 * _SECOND,
    "day": 86_400 * _SECOND,
    "week": 7 * 86_400 * _SECOND,
}
_LITERAL = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]*)\.?\s*")


def unit_size(name: str) -> int | None:
    """Microseconds in a unit, in singular or plural and any case; None when it is not a unit.

    >>> unit_size("min"), unit_size("Hours"), unit_size("fortnight")
    (60000000, 3600000000, None)
    """
    lower = name.lower()
    return _UNITS.get(lower) or _UNITS.get(lower.removesuffix("s"))


def scale(number: str, unit: int) -> int:
    """A decimal number of units as microseconds; it must come out whole and in range.

    >>> scale("1.5", 60_000_000)
    90000000
    """
    try:
        # As many digits as the number has, so that none of them is rounded away.
        exact = Context(prec=len(number) + 20).multiply(Decimal(number), Decimal(unit))
    except InvalidOperation:
        raise EventError(f"time must be a number; got {number[:40]}") from None
    if exact != exact.to_integral_value():
        raise EventError(f"time must be a whole number of microseconds; got {number[:40]}")
    if abs(exact) >= TIME_MAX:
        raise EventError(f"time must stay within 64 bits of microseconds; got {number[:40]}")
    return int(exact)


def parse_time(text: str, default_unit: str = "s") -> int:
    """A time or duration such as `10`, `1.5s`, `5 min`, as microseconds; bare numbers are seconds.

    >>> parse_time("10"), parse_time("5 min"), parse_time("250ms")
    (10000000, 300000000, 250000)
    """
    match = _LITERAL.fullmatch(text)
    unit = unit_size(match[2] or default_unit) if match else None
    if match is None or unit is None:
        raise EventError(
            f"time must be a number with one of the units us, ms, s, min, h, d; got {text[:40]!r}"
        )
    return scale(match[1], unit)


def format_time(microseconds: int, bare: str = "s") -> str:
    """The shortest exact text of a time; `bare` is the unit that is left out.

    >>> format_time(10_000_000), format_time(300_000_000), format_time(1_500)
    ('10', '5min', '1500us')
    """
    for unit in ("d", "h", "min", "s", "ms", "us"):
        size = _UNITS[unit]
        if microseconds and microseconds % size == 0:
            return f"{microseconds // size}{'' if unit == bare else unit}"
    return "0"
