"""The axis of time in a picture: where its ticks are, and what they are called."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cepheid.pictures.counting import SECOND, step_for
from cepheid.units import format_time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400 * SECOND


def ticks(begin: int, end: int, most: int, *, dates: bool) -> list[tuple[int, str]]:
    """Moments from a begin to an end, at most so many, with what to write at them.

    >>> [text for _, text in ticks(0, 3_600_000_000, 5, dates=False)]
    ['0', '15min', '30min', '45min', '1h']
    >>> [text for _, text in ticks(1_782_907_200_000_000, 1_782_907_320_000_000, 3, dates=True)]
    ['2026-07-01 12:00', '12:01', '12:02']
    """
    step = step_for(max(1, end - begin), most - 1 if most > 1 else 1)
    first = -(-begin // step) * step
    moments = list(range(first, end + 1, step))
    if not dates:
        return [(at, format_time(at, bare="")) for at in moments]
    found: list[tuple[int, str]] = []
    day = None
    for at in moments:
        text = moment(at)
        found.append((at, _short(text, step, new=text[:10] != day)))
        day = text[:10]
    return found


def _short(text: str, step: int, *, new: bool) -> str:
    """A date with as much of its time as the step needs; the day only where it is a new one."""
    if step % _DAY == 0 or " " not in text:
        return text[:10]
    day, time = text.split(" ", 1)
    time = time[:5] if step % (60 * SECOND) == 0 else time
    return f"{day} {time}" if new else time


def moment(at: int, *, dates: bool = True) -> str:
    """A moment in microseconds as text: a date, or a count with its unit.

    >>> moment(1_782_907_200_500_000), moment(90_000_000, dates=False)
    ('2026-07-01 12:00:00.5', '90s')
    """
    if not dates:
        return format_time(at, bare="")
    try:
        found = _EPOCH + timedelta(microseconds=at)
    except OverflowError:
        return format_time(at, bare="")
    fraction = f".{found:%f}".rstrip("0") if at % SECOND else ""
    return f"{found:%Y-%m-%d %H:%M:%S}{fraction}"
