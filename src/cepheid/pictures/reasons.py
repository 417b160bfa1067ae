"""Reasons: why matches that are drawn were found, as `rules.why` tells it.

The oracle judges each match with the events around it, which takes its time. So there is a budget:
matches that no longer fit into it are told by what they are made of alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.algebra import Rule
from cepheid.errors import CepheidError
from cepheid.pictures.drawn import Drawn, Scene, column_of
from cepheid.pictures.sampling import turns
from cepheid.records import Clock
from cepheid.rules import Rules
from cepheid.tables.arrow import Ints, pa, pc
from cepheid.why.given import key_of_rules, needed_for, reach_of, types_of
from cepheid.why.results import Why
from cepheid.why.several import whys
from cepheid.why.story import Setting
from cepheid.why.words import Words

_BUDGET = 2_500
"""How many events the oracle looks at for a page, in all."""
_STORY = 100
"""How many it looks at for one match; a match that needs more is told without it."""
_LISTED = 100
"""How many events of a match are told with their states."""


@dataclass(frozen=True)
class _Asked:
    """A rule with all that its matches may depend on."""

    setting: Setting
    reach: int
    types: Any
    key: str | None

    @staticmethod
    def of(rule: Rule, rules: Rules, words: Words) -> _Asked | None:
        """What to look at for a rule; None where there is no bound to it."""
        needed = needed_for(rule, rules)
        reach = reach_of(needed)
        if reach is None:
            return None
        types = pa.array(sorted(types_of(needed)), pa.string())
        return _Asked(Setting(needed, rules.schema, words), reach, types, key_of_rules(needed))


class Reasons:
    """Tells why matches were found, as far as the budget goes."""

    def __init__(self, rules: Rules, scene: Scene, drawn: Drawn, unit: int | None) -> None:
        self._scene, self._drawn = scene, drawn
        words = Words(Clock(unit), literal=False)
        self._asked = {rule.name: _Asked.of(rule, rules, words) for rule in rules}
        found = scene.trace.found.take(pa.array(drawn.matches))
        self._ids = column_of(found, "id").to_pylist()
        self._rules = column_of(found, "rule").to_pylist()
        self._found: dict[str, Why] = {}
        self._left = _BUDGET

    def all(self) -> list[dict[str, Any] | None]:
        """The reason of each drawn match, or None."""
        for at in turns(self._scene.rules.of[self._drawn.matches]).tolist():
            if self._left <= 0:
                break
            if self._ids[at] not in self._found:
                self._ask(at)
        return [_plain(self._found.get(id_)) for id_ in self._ids]

    def _ask(self, at: int) -> None:
        asked = self._asked.get(self._rules[at])
        if asked is None:
            return
        row = self._drawn.matches[at]
        trace, begin = self._scene.trace, int(self._scene.begins[row])
        low, high = begin - 2 * asked.reach, int(trace.ends[row]) + asked.reach
        rows = self._near(asked, int(row), low, high)
        if len(rows) > _STORY:
            return
        self._left -= max(len(rows), 5)
        events = [trace.events.event(one) for one in rows.tolist()]
        try:
            self._found |= whys(
                asked.setting, events, int(trace.ends[row]), self._inside(asked, low, high, at)
            )
        except CepheidError:
            # A limit of the oracle; the match is told by what it is made of.
            return

    def _inside(self, asked: _Asked, low: int, high: int, at: int) -> set[str]:
        """The matches of the same rule that depend on nothing outside a stretch of time."""
        rows, scene = self._drawn.matches, self._scene
        whole = (scene.begins[rows] - asked.reach >= low) & (scene.trace.ends[rows] <= high)
        own = (self._ids[one] for one in np.flatnonzero(whole).tolist())
        return {id_ for id_ in own if id_ not in self._found} | {self._ids[at]}

    def _near(self, asked: _Asked, match: int, low: int, high: int) -> Ints:
        """The rows of events that a match may depend on."""
        events = self._scene.trace.events
        first, last = np.searchsorted(events.ends, [low, high + 1]).tolist()
        part = events.slice(first, last)
        inside = pc.is_in(part.types.cast(pa.string()), asked.types)
        value = self._key(asked, match)
        if asked.key is not None and value is not None:
            for column in part.named(asked.key):
                if column.type == value.type or pa.types.is_dictionary(column.type):
                    inside = pc.and_(inside, pc.fill_null(pc.equal(column, value), False))
        chosen: Ints = np.flatnonzero(inside.to_numpy(zero_copy_only=False)) + first
        return chosen

    def _key(self, asked: _Asked, match: int) -> Any:  # noqa: ANN401 (a value of Arrow)
        """The value of the key in the first event of a match that has one."""
        trace = self._scene.trace
        rows = trace.rows[trace.offsets[match] : trace.offsets[match + 1]]
        columns = trace.events.named(asked.key) if asked.key is not None else []
        # Values of several kinds are compared by the oracle alone.
        if len(columns) != 1:
            return None
        values = (columns[0][row] for row in rows.tolist() if row >= 0)
        return next((value for value in values if value.is_valid), None)


def _plain(why: Why | None) -> dict[str, Any] | None:
    """A reason for JSON: texts only."""
    if why is None:
        return None
    return {
        "places": [[p.label, p.state, p.chosen] for p in why.places[:_LISTED]],
        "parameters": [str(one) for one in why.parameters],
        "checks": [[check.holds, check.text, check.found] for check in why.checks[:_LISTED]],
        "consumed": [why.words.event(event) for event in why.consumed[:_LISTED]],
    }
