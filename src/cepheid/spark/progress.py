"""Progress: how a job is doing, as a line in the terminal or as lines of JSON, and at its end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TextIO

from cepheid.units import TIME_MAX

_NEVER = -TIME_MAX
_SECOND = 1_000_000
_SKEWED = 2
"""How many times its part a shard must have to be told of."""
_EPOCH_LIKE = 946_684_800 * _SECOND
"""Times before 2000 are not compared with the clock on the wall: they count from elsewhere."""


@dataclass
class Totals:
    """What a job has seen and found up to now."""

    batches: int = 0
    events: int = 0
    composites: int = 0
    late: int = 0
    bad: int = 0
    limited: int = 0
    stored: int = 0
    waiting: int = 0
    state_bytes: int = 0
    watermark: int | None = None
    shards: dict[str, int] = field(default_factory=dict)
    """Events by shard, to see whether one has most of them."""


def merged(rows: Iterable[str]) -> dict[str, Any]:
    """What the shards told in one batch, together."""
    told = [json.loads(row) for row in rows]
    marks = [mark for one in told if (mark := one["watermark"]) is not None and mark > _NEVER]
    summed = ("composites", "late", "bad", "stored", "waiting", "state_bytes")
    return {
        **{name: sum(one[name] for one in told) for name in summed},
        "limited": sum(sum(one["limited"].values()) for one in told),
        "watermark": min(marks) if marks else None,
        # Every shard hears of all rows; one that only heard of new rules has none.
        "rows": max((one["rows"] for one in told), default=0),
        "shards": {one["shard"]: one["received"] for one in told},
    }


class Progress:
    """Keeps the totals, and shows them."""

    def __init__(self, how: str, stream: TextIO | None = None) -> None:
        self._to = stream or sys.stderr
        if how == "auto":
            how = "line" if self._to.isatty() else "none"
        self.how = how
        self.totals = Totals()
        self._began = time.monotonic()
        self._shown = 0
        self._marks: dict[int, dict[str, Any]] = {}

    # --- what happens ----------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Something that a person wants to know once."""
        if self.how != "json":
            self._line("")
            self._to.write(f"{text}\n")
            self._to.flush()

    def found(self, number: int, told: Mapping[str, Any]) -> None:
        """The shards are through with a batch, and it is written."""
        totals = self.totals
        totals.batches += 1
        for name in ("composites", "late", "bad"):
            setattr(totals, name, getattr(totals, name) + told[name])
        for name in ("limited", "stored", "waiting", "state_bytes", "watermark", "shards"):
            setattr(totals, name, told[name])
        self._marks[number] = dict(told)
        for name, reason in told.get("refused", ()):
            self.say(f"rules of {name} are refused: {reason}")

    def took(self, number: int, events: int, seconds: float) -> None:
        """Spark has told what a batch took."""
        told = self._marks.pop(number, None)
        if told is not None:
            # Spark counts the rows of its own sources, and those of changes among them.
            events = told["rows"]
        self.totals.events += events
        if told is not None and self.how == "json":
            self._json(self._batch(number, told, events, seconds))
        self.show(rate=events / seconds if seconds and events else None)

    def _batch(
        self, number: int, told: Mapping[str, Any], events: int, seconds: float
    ) -> dict[str, Any]:
        names = ("composites", "late", "bad", "limited", "stored", "waiting", "state_bytes")
        return {
            "batch": number,
            "events": events,
            "seconds": round(seconds, 3),
            "events_per_second": round(events / seconds) if seconds else None,
            **{name: told[name] for name in names},
            "watermark": shown_time(told["watermark"]),
            "watermark_lag_seconds": lag(told["watermark"]),
            "shards": told["shards"],
            "refused": [list(own) for own in told.get("refused", ())],
            "total": self._sums(),
        }

    def _sums(self) -> dict[str, int]:
        totals = self.totals
        names = ("batches", "events", "composites", "late", "bad")
        return {name: getattr(totals, name) for name in names}

    # --- what is shown ---------------------------------------------------------------------

    def show(self, *, rate: float | None = None, note: str = "") -> None:
        """The line in the terminal, anew."""
        if self.how == "line":
            self._line(self._status(rate, note))

    def _status(self, rate: float | None, note: str) -> str:
        totals = self.totals
        seconds = time.monotonic() - self._began
        parts = [f"{seconds:.0f} s", *([note] if note else [])]
        if totals.batches:
            speed = f" ({rate:,.0f}/s)" if rate else ""
            parts += [
                f"{totals.events:,} events{speed}",
                f"{totals.composites:,} composite",
                f"{totals.late:,} late",
                f"{totals.bad:,} bad",
                f"state {size(totals.state_bytes)}",
            ]
            behind = lag(totals.watermark)
            mark = shown_time(totals.watermark)
            parts += [f"watermark {mark}"] if mark is not None else []
            parts += [f"{behind:,.0f} s behind"] if behind is not None else []
        return " · ".join(parts)

    def _line(self, text: str) -> None:
        if self.how == "line":
            blank = " " * max(0, self._shown - len(text))
            self._to.write(f"\r{text}{blank}" + ("\r" if not text else ""))
            self._to.flush()
            self._shown = len(text)

    def clear(self) -> None:
        """Leave an empty line to what comes next."""
        self._line("")

    def _json(self, told: Mapping[str, Any]) -> None:
        self._to.write(f"{json.dumps(told)}\n")
        self._to.flush()

    def end(self, outcome: str) -> None:
        """The summary."""
        seconds = time.monotonic() - self._began
        totals = self.totals
        if self.how == "json":
            self._json({"end": outcome, "seconds": round(seconds, 3), **self._sums()})
            return
        self._line("")
        speed = f", {totals.events / seconds:,.0f} a second" if seconds else ""
        batches = f" in {counted(totals.batches, 'batch', 'batches')}" if totals.batches else ""
        self._to.write(
            f"{outcome}: {counted(totals.events, 'event')}{batches}, "
            f"{counted(totals.composites, 'composite event')}, {totals.late:,} late, "
            f"{totals.bad:,} bad, {seconds:.1f} s{speed}\n"
        )
        if totals.limited:
            self._to.write(f"limits: {totals.limited:,} partial matches were cut\n")
        for group, share, count in skewed(totals.shards):
            self._to.write(
                f"skew: one of {count} shards by {group} has {share:.0%} of their events\n"
            )
        self._to.flush()


def skewed(shards: Mapping[str, int]) -> Iterator[tuple[str, float, int]]:
    """Where one shard of a group has more than twice its part: the group, the share, of how many.

    >>> list(skewed({"area/0": 90, "area/1": 5, "area/2": 5, "id/0": 9, "id/1": 8, "Q/0": 7}))
    [('area', 0.9, 3)]
    """
    groups: dict[str, list[int]] = {}
    for shard, events in shards.items():
        groups.setdefault(shard.rpartition("/")[0], []).append(events)
    for group, own in groups.items():
        if max(own) * len(own) > _SKEWED * sum(own):
            yield group, max(own) / sum(own), len(own)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "event"), counted(2000, "event")
    ('1 event', '2,000 events')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shown_time(watermark: int | None) -> str | int | None:
    """A time of events: as a date where it is one, else in microseconds."""
    if watermark is None or watermark <= _NEVER:
        return None
    if watermark < _EPOCH_LIKE:
        return watermark
    try:
        moment = datetime.fromtimestamp(watermark / _SECOND, UTC)
    except (OverflowError, ValueError, OSError):
        return watermark
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def lag(watermark: int | None) -> float | None:
    """How far events are behind the clock on the wall, in seconds."""
    if watermark is None or watermark < _EPOCH_LIKE:
        return None
    return round(time.time() - watermark / _SECOND, 1)


def size(number: int) -> str:
    """A number of bytes.

    >>> size(900), size(1_500_000)
    ('900 B', '1.5 MB')
    """
    amount = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
