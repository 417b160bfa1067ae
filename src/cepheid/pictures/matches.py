"""Matches: events and what rules found in them, ready to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cepheid.errors import EventError, PictureError
from cepheid.pictures.drawn import Scene, Series, begins_of, column_of
from cepheid.pictures.picture import Page, Picture
from cepheid.pictures.tracks import checked_key, key_of, tracks_of
from cepheid.tables.arrow import Arrow, pc
from cepheid.tables.frames import is_table
from cepheid.tables.tracing import Trace, reading_of, trace

if TYPE_CHECKING:
    from cepheid.rules import Rules

_TYPES, _RULES = 24, 48
"""How many types and rules are told apart; the rest are one together."""


@dataclass(frozen=True)
class Matches:
    """Events, and all composite events that rules found in them.

    >>> import cepheid
    >>> rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WHERE [k] WITHIN 9 s", language="sase")
    >>> matches = rules.matches(cepheid.parse_events("A@1(k=1) B@3(k=1) B@4(k=2)"))
    >>> matches
    1 match in 3 events
    >>> matches.table["x_k"].to_pylist()
    [1]
    >>> matches.timeline()
    Picture of 1 match in 3 events
    """

    rules: Rules
    trace: Trace

    def __len__(self) -> int:
        return len(self.trace.found)

    def __repr__(self) -> str:
        noun = "match" if len(self) == 1 else "matches"
        events = len(self.trace.events)
        return f"{len(self):,} {noun} in {events:,} event{'' if events == 1 else 's'}"

    @property
    def table(self) -> Arrow:
        """The composite events as a table of Arrow, as `detect` gives it."""
        return self.trace.found

    @property
    def counts(self) -> dict[str, int]:
        """How many composite events each rule found, in the order of the rules.

        >>> import cepheid
        >>> rules = cepheid.load("QUERY Q EVENT A x", language="sase")
        >>> rules.matches(cepheid.parse_events("A@1 A@2 B@3")).counts
        {'Q': 2}
        """
        found = pc.value_counts(column_of(self.table, "rule"))
        counted = {one["values"]: one["counts"] for one in found.to_pylist()}
        return {rule.name: counted.get(rule.name, 0) for rule in self.rules}

    def scene(self, key: str | None = None, tracks: int = 40) -> Scene:
        """What pictures are made from: events and matches by track and series."""
        events = self.trace.events
        names = key_of(self.rules, events) if key is None else checked_key(key, events)
        return Scene(
            self.trace,
            tracks_of(self.trace, names, tracks),
            Series.by(events.types, _TYPES, "types"),
            Series.by(column_of(self.table, "rule"), _RULES, "rules", [r.name for r in self.rules]),
            begins_of(self.trace),
        )

    def timeline(
        self, *, key: str | None = None, events: int = 1500, matches: int = 300, tracks: int = 16
    ) -> Picture:
        """A picture of events and matches over time, one track for each key.

        The `key` is an attribute; unless told, the one by which most rules part events. About so
        many `events` and `matches` are drawn, in so many `tracks`; the picture says of how many.
        """
        from cepheid.pictures.timeline import draw_timeline

        _check_amounts(events=events, matches=matches, tracks=tracks)
        scene = self.scene(key, tracks)
        return Picture(draw_timeline(scene, events=events, matches=matches), repr(self))

    def report(
        self,
        path: str | Path | None = None,
        *,
        key: str | None = None,
        title: str | None = None,
        events: int = 10_000,
        matches: int = 1_000,
    ) -> Page:
        """A page with rules, automata, a timeline, counts, and an explanation of every match drawn.

        It is written to `path`, if there is one. The `key` is as for `timeline`; about so many
        `events` and `matches` are drawn, all are counted.

        >>> import cepheid
        >>> rules = cepheid.load("QUERY Q EVENT A x", language="sase")
        >>> page = rules.matches(cepheid.parse_events("A@1 A@2")).report(title="All of A")
        >>> "<title>All of A</title>" in page.html
        True
        """
        from cepheid.pictures.report import make_report

        _check_amounts(events=events, matches=matches)
        page = make_report(self, key=key, title=title, events=events, matches=matches)
        if path is not None:
            page.save(path)
        return page


def _check_amounts(**amounts: int) -> None:
    for name, amount in amounts.items():
        if amount < 1:
            raise PictureError(f"{name} must be at least 1; got {amount}")


def find_matches(
    rules: Rules,
    events: Any,  # noqa: ANN401 (any form of events)
    *,
    unit: str | None,
    until: int | datetime | None,
    failures: bool,
    cores: int,
) -> Matches:
    """Events of any form together with what rules find in them."""
    if not is_table(events) and (not isinstance(events, Sequence) or isinstance(events, str)):
        kind = type(events)
        spark = kind.__module__.startswith("pyspark")
        hint = "\n\nhint: frame.toArrow() brings a DataFrame of Spark here" if spark else ""
        raise EventError(
            "events must be a list of Events or dictionaries, a table, or a mapping from types "
            f"to tables; got {kind.__name__}{hint}"
        )
    reading = reading_of(events, unit, rules.schema)
    found = trace(rules.rules, rules.schema, reading, until=until, failures=failures, cores=cores)
    return Matches(rules, found)
