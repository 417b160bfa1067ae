"""Windows of rules that are written in Python."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypedDict

from cepheid.algebra import Instant, Window
from cepheid.binding.places import here, wrong
from cepheid.errors import EventError
from cepheid.units import parse_time

Duration = str | int | float | timedelta
"""A length of time: a text such as `5 min`, a timedelta, or a number of seconds."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of an event, or one that lies before or after it."""

    instant: Instant


End = str | Moment
"""An end of a window: the name of an event, or a moment."""


class WindowOptions(TypedDict, total=False):
    """The ways to give a window: a length, and what it hangs on."""

    within: Duration | None
    before: End | None
    after: End | None
    between: tuple[End | None, End | None] | None


def moment(of: str, offset: Duration = 0) -> Moment:
    """The time `of` an event, moved by an offset, which may be negative.

    >>> moment("Smoke", "-5 min").instant
    Instant(label='Smoke', offset=-300000000)
    """
    return Moment(Instant(of, microseconds(offset), span=here()))


def microseconds(duration: Duration) -> int:
    """A duration as microseconds."""
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    if isinstance(duration, bool) or not isinstance(duration, str | int | float):
        raise wrong(
            "WRONG_WINDOW",
            f"a length of time must be a text, a number of seconds or a timedelta; "
            f"got {type(duration).__name__}",
            'write "5 min"',
        )
    try:
        return parse_time(duration if isinstance(duration, str) else repr(duration))
    except EventError as error:
        raise wrong("WRONG_WINDOW", str(error), 'write "5 min"') from None


def length(duration: Duration) -> int:
    """A duration that is longer than nothing."""
    found = microseconds(duration)
    if found <= 0:
        raise wrong(
            "WRONG_WINDOW",
            f"a window must be longer than nothing; got {duration}",
            'write a positive length of time, such as "5 min"',
        )
    return found


def instant_of(end: End) -> Instant:
    """The instant that a name or a moment stands for."""
    if isinstance(end, Moment):
        return end.instant
    if not isinstance(end, str):
        raise wrong(
            "WRONG_WINDOW",
            f"the end of a window must be the name of an event or a moment; got {end!r}",
            'write "Smoke", or moment("Smoke", "-5 min")',
        )
    return Instant(end, span=here())


def window_of(options: WindowOptions) -> Window | None:
    """The window that options describe; None where they leave it open what it hangs on.

    `within` alone hangs on nothing, so whoever asks must know on what.
    """
    within, between = options.get("within"), options.get("between")
    before, after = options.get("before"), options.get("after")
    given = [end for end in (before, after, between) if end is not None]
    if len(given) > 1 or (between is not None and within is not None):
        raise wrong(
            "WRONG_WINDOW",
            "a window must be given in one way: by before or after, each perhaps with within, "
            "or by between",
            'write within="5 min", before="Smoke"',
        )
    if between is not None:
        return _between(between)
    if before is not None:
        return _before(within, instant_of(before))
    return None if after is None else _after(within, instant_of(after))


def _between(ends: tuple[End | None, End | None]) -> Window:
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        hint = 'write between=("Temp", "Smoke")'
        raise wrong("WRONG_WINDOW", f"between must get two ends; got {ends!r}", hint)
    low, high = (None if end is None else instant_of(end) for end in ends)
    return Window(low, high, span=here())


def _before(within: Duration | None, end: Instant) -> Window:
    if within is None:
        return Window(None, end, span=here())
    low = Instant(end.label, end.offset - length(within), span=end.span)
    return Window(low, end, span=here())


def _after(within: Duration | None, start: Instant) -> Window:
    if within is None:
        return Window(start, None, span=here())
    high = Instant(start.label, start.offset + length(within), span=start.span)
    return Window(start, high, span=here())
