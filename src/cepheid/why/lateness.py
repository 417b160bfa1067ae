"""Lateness: events that came after the watermark had passed them, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.events import Event
from cepheid.why.changes import Arrive
from cepheid.why.results import Check
from cepheid.why.words import Words


@dataclass(frozen=True)
class Late:
    """An event that came too late, by how much, and the event that was ahead of it."""

    event: Event
    by: int | None
    before: Event | None

    def change(self, reach: int, words: Words) -> Arrive:
        """The change by which it comes in time."""
        return Arrive(self.event, self.before, reach, words=words)

    def check(self, words: Words) -> Check:
        """That it was late, as a check that failed."""
        late = "" if self.by is None else f" by {words.span(self.by)}"
        return Check(
            "late",
            f"{words.event(self.event)} comes in time",
            f"it came too late{late}, and was put aside",
            holds=False,
            by=None if self.by is None else self.by / 1e6,
            events=(self.event,),
        )


def in_time(events: Sequence[Event], delay: int) -> tuple[list[Event], list[Late]]:
    """Events in the order of arrival: those that are not late, and those that are.

    The watermark is the newest time of each source minus the delay, and of these the smallest.

    >>> from cepheid import parse_events
    >>> kept, late = in_time(parse_events("A@1 B@10 A@4 B@11"), 5_000_000)
    >>> [event.end // 1_000_000 for event in kept], late[0].by
    ([1, 10, 11], 1000000)
    """
    newest: dict[object, Event] = {}
    watermark: float = -math.inf
    kept: list[Event] = []
    late: list[Late] = []
    for event in events:
        if event.end >= watermark:
            kept.append(event)
        else:
            ahead = next(e for e in kept if e.end - delay > event.end)
            late.append(Late(event, round(watermark - event.end), ahead))
        source = event.attributes.get("source") if delay else None
        if source not in newest or event.end > newest[source].end:
            newest[source] = event
        watermark = max(watermark, min(e.end for e in newest.values()) - delay)
    return kept, late
