"""Drafts: when an event could be added, and what its neighbours say it would be like."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from cepheid.algebra import (
    Expression,
)
from cepheid.events import Event, Value
from cepheid.oracle.values import (
    Scope,
    holds,
)

GAPS = 5
"""How many gaps between events are tried for a further one."""
TRIED_TIMES = (1_000_000, 1_000, 1)
"""The steps of time that are tried, in microseconds: as coarse as the events allow."""


def spread(
    window: tuple[float, float], count: int, scope: Scope, finest: int
) -> Iterator[list[int]]:
    """Times inside an open interval: evenly, in the gaps between events, and at both ends."""
    low, high = _ends(window, scope, finest)
    for step in dict.fromkeys((finest, *TRIED_TIMES)):
        first, last = low + step, high - step
        room = (last - first) // step + 1
        if room >= count:
            free = (last - first) // count
            yield [first + number * free // step * step for number in range(count)]
            gaps = _gaps(low, high, scope)
            yield from (gaps[at : at + count] for at in range(len(gaps) - count + 1)[:GAPS])
            yield [last - number * step for number in range(count)]
            yield [first + number * step for number in range(count)]
            return


def free_times(window: tuple[float, float], scope: Scope, finest: int) -> list[int]:
    """Where in an open interval one event could be added."""
    found = [time for (time,) in spread(window, 1, scope, finest)]
    low, high = _ends(window, scope, finest)
    return list(dict.fromkeys(time for time in found if low < time < high))[: GAPS + 3]


def _gaps(low: int, high: int, scope: Scope) -> list[int]:
    """The middles between the events in an interval, the widest gaps first."""
    inside = {event.end for event in scope.history if low < event.end < high}
    marks = sorted({low, high, *inside})
    wide = sorted(pairwise(marks), key=lambda pair: pair[0] - pair[1])
    return [(one + other) // 2 for one, other in wide if other - one > 1]


def _ends(window: tuple[float, float], scope: Scope, step: int) -> tuple[int, int]:
    """The ends of an interval; one without an end is as long as sixty steps."""
    low, high = window
    known = [event for events in scope.bound.values() for event in events]
    if high == math.inf:
        high = max([low, *(event.end for event in known)]) + 60 * step
    if low == -math.inf:
        low = high - 60 * step
    return int(low), int(high)


def like(
    type_: str, time: int, likes: list[Event], needed: Sequence[Expression], scope: Scope
) -> Event:
    """An event of a type at a time, like its neighbours of the same key."""
    fitting = [e for e in likes if all(holds(part, replace(scope, own=e)) for part in needed)]
    likes = fitting or likes
    before = max((e for e in likes if e.end <= time), key=lambda e: e.end, default=None)
    after = min((e for e in likes if e.end > time), key=lambda e: e.end, default=None)
    base = before or after
    if base is None:
        return Event(type_, time, time)
    attributes = {n: v for n, v in base.attributes.items() if n != "id" or v != base.id}
    if before is not None and after is not None:
        attributes.update(_between(before, after, time))
    return Event(type_, time, time, attributes)


def onward(event: Event, before: list[Event]) -> Event:
    """An event whose doubles go on as those of the last two events before it went."""
    last = sorted(before, key=lambda e: e.end)[-2:]
    if len(last) < 2 or last[0].end == last[1].end:
        return event
    share = (event.end - last[1].end) / (last[1].end - last[0].end)
    found: dict[str, Value] = {}
    for name, one in last[0].attributes.items():
        other = last[1].attributes.get(name)
        if isinstance(one, float) and isinstance(other, float):
            found[name] = round(other + (other - one) * share, 3)
    return replace(event, attributes={**event.attributes, **found})


def _between(before: Event, after: Event, time: int) -> dict[str, Value]:
    """Doubles between those of two neighbours, as far as the time lies between theirs."""
    share = (time - before.end) / max(after.end - before.end, 1)
    found: dict[str, Value] = {}
    for name, one in before.attributes.items():
        other = after.attributes.get(name)
        if isinstance(one, float) and isinstance(other, float):
            found[name] = round(one + (other - one) * share, 3)
    return found
