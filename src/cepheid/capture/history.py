"""The history that a case is taken from: rules, events, and what they find in all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.algebra import Rule, input_types
from cepheid.capture.mattering import horizon, periods
from cepheid.errors import EventError, did_you_mean
from cepheid.events import Event, Order
from cepheid.rules import Rules
from cepheid.tables.arrow import Arrow, Bools, pa, pc
from cepheid.tables.reading import read
from cepheid.tables.table import Table
from cepheid.tables.times import in_microseconds

STRETCH_LIMIT = 100_000
"""How many events are looked at to find out which matter."""
_SOME = 60_000_000
"""How far to look back first where rules look back for ever."""


@dataclass
class History:
    """Rules and the events of a history, with everything that they find there."""

    rules: Rules
    events: Table
    found: Arrow
    counts: bool
    """Whether times are counts of a unit, not moments."""
    _known: dict[int, Event]

    @staticmethod
    def of(rules: Rules, events: Arrow, unit: str | None = None) -> History:
        """Run rules over a table of Arrow, whose times are moments, or counts of a unit."""
        from cepheid.records import Clock

        table, counts = in_microseconds(events, unit)
        found = rules.detect(table, unit="us")
        return History(rules, read(table, Clock.of("us"), rules.schema).table, found, counts, {})

    def named(self, name: str | None) -> Rule:
        """The rule of a name; without a name, the only one."""
        names = [rule.name for rule in self.rules]
        if name is None and len(names) == 1:
            return self.rules.rules[0]
        if name in names:
            return self.rules.rules[names.index(name)]
        hint = did_you_mean(name or "", names)
        wanted = f"no rule is called {name}" if name else "--rule must name one of the rules"
        raise EventError(f"{wanted}\n\nhint: {hint or ', '.join(names[:8])}")

    def by_id(self, id_: str) -> str:
        """The id of the composite event whose id begins with a text."""
        ids = self.found["id"].cast(pa.string())
        matching = ids.filter(pc.starts_with(ids, id_)).to_pylist()
        if len(matching) != 1:
            count = "several composite events have" if matching else "no composite event has"
            raise EventError(
                f"{count} an id that begins with {id_}\n\n"
                "hint: cepheid backtest shows ids; a whole id names one composite event"
            )
        return str(matching[0])

    def by_number(self, number: int, rule: str | None) -> str:
        """The id of the n-th composite event, of a rule if one is named, counted from 1."""
        found = self.found
        if rule is not None:
            found = found.filter(pc.equal(found["rule"], self.named(rule).name))
        if not 1 <= number <= len(found):
            of = f" of rule {rule}" if rule else ""
            raise EventError(f"match must be one of the {len(found)} found{of}; got {number}")
        return str(found["id"][number - 1].as_py())

    # --- events in a stretch of time ----------------------------------------------------------

    def stretch(self, rules: Sequence[Rule], low: float, high: float) -> list[Event]:
        """The events between two moments that some rules look at, in the total order."""
        rows = np.flatnonzero(self._is_between(low, high) & self._has_type(rules))
        if any(periods(rules)):
            rows = np.union1d(rows, self._starting(low))
        if len(rows) > STRETCH_LIMIT:
            raise EventError(
                f"at most {STRETCH_LIMIT:,} events can be looked at for a case; between "
                f"{low:.0f} and {high:.0f} there are {len(rows):,}\n\n"
                "hint: give files of a shorter time, or a smaller --margin"
            )
        return sorted((self._event(int(row)) for row in rows), key=Order(self.rules.schema).key)

    def _starting(self, low: float) -> list[int]:
        """An event, of any type, from which on periodic timers run."""
        ends = self.events.ends
        before = np.flatnonzero(ends <= low)
        return [int(before[np.argmax(ends[before])]) if len(before) else int(np.argmin(ends))]

    def _event(self, row: int) -> Event:
        if row not in self._known:
            self._known[row] = self.events.event(row)
        return self._known[row]

    def _is_between(self, low: float, high: float) -> Bools:
        ends = self.events.ends
        found: Bools = (ends >= low) & (ends <= high)
        return found

    def _has_type(self, rules: Sequence[Rule]) -> Bools:
        wanted = sorted({type_ for rule in rules for type_ in input_types(rule)})
        types = self.events.types.cast(pa.string())
        found: Bools = pc.is_in(types, pa.array(wanted, pa.string())).to_numpy(zero_copy_only=False)
        return found

    def begin(self) -> int:
        """The end of the first event."""
        return int(self.events.ends.min()) if len(self.events) else 0

    def end(self) -> int:
        """The end of the last event, where time ends for the rules, too."""
        return int(self.events.ends.max()) if len(self.events) else 0


def horizons(rules: Sequence[Rule], span: int) -> Iterator[float]:
    """How far to look back: as far as the rules do, then further, then to the beginning."""
    first = horizon(rules)
    first = max(span, _SOME) if math.isinf(first) else max(first, 1)
    yield from (first, 4 * first, 16 * first, math.inf)
