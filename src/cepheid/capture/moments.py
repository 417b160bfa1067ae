"""What a rule finds around a moment becomes a case, also where that is nothing at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cepheid.algebra import Rule, input_types
from cepheid.automaton import compile_rule
from cepheid.automaton.partition import partitions
from cepheid.capture.cases import (
    CASE_LIMIT,
    by_oracle,
    case_of,
    checked,
    numbered,
    shift_of,
    written,
)
from cepheid.capture.history import History, horizons
from cepheid.capture.mattering import horizon, involved, waits
from cepheid.errors import SpecError
from cepheid.events import CompositeEvent, Event, Value
from cepheid.rules import Rules
from cepheid.tables.arrow import pa, pc
from cepheid.testing import Case

MARGIN = 60_000_000
"""How far around a moment it is looked for matches, unless told."""
_OWN = ("id", "type", "ts", "start", "rule", "events")


@dataclass(frozen=True)
class Near:
    """Where to look: around a moment, and for some keys only."""

    moment: int
    margin: int
    keys: Mapping[str, str]

    def covers(self, end: int) -> bool:
        """Whether a composite event with this end is near."""
        return abs(end - self.moment) <= self.margin

    def has_keys(self, event: Event) -> bool:
        """Whether an event has no other value in a key."""
        own = event.attributes
        return all(n not in own or shown(own[n]) == value for n, value in self.keys.items())


def capture_around(
    history: History,
    rule: Rule,
    moment: int,
    *,
    margin: int = MARGIN,
    keys: Mapping[str, str] | None = None,
    name: str = "",
) -> Case:
    """The case of what a rule finds around a moment, which may be nothing at all.

    `keys` leaves out events that have other values in some attributes.

    >>> import cepheid
    >>> rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WHERE [n] WITHIN 1 min", language="sase")
    >>> table = pa.table({"type": ["A", "B"], "ts": [1, 3], "n": [1, 2]})
    >>> case = capture_around(History.of(rules, table, "s"), rules.rules[0], 3_000_000)
    >>> len(case.events), case.expect
    (2, ())
    """
    near = Near(moment, margin, keys or {})
    rules = involved(history.rules.rules, rule)
    later = horizon(rules) if any(map(waits, rules)) else 0
    high = int(min(moment + margin + later, history.end()))
    for back in horizons(rules, margin):
        stretch = history.stretch(rules, moment - margin - back, high)
        chosen, used = _chosen(history, rules, rule, stretch, high)
        chosen = [event for event in chosen if near.has_keys(event)]
        _check_size(chosen, rule)
        shift = shift_of(history, used, chosen)
        events = numbered(chosen, history.rules.schema, shift)
        until = high - shift if later else None
        found = by_oracle(history, used, events, until)
        if _agree(history, rule, near, found, shift):
            return checked(case_of(history, used, events, found, until), name, shift)
    raise SpecError(
        f"what rule {rule.name} finds there depends on events that the case does not have\n\n"
        "hint: leave --key out, or name all keys of the rule"
    )


def _chosen(
    history: History, rules: Sequence[Rule], rule: Rule, stretch: Sequence[Event], until: int
) -> tuple[list[Event], Sequence[Rule]]:
    """The events of a case with its rules, which are of one language.

    Where it takes rules of several, what the others find stands in the case as events.
    """
    if len({one.language for one in rules}) == 1:
        return list(stretch), rules
    others = Rules(tuple(one for one in rules if one is not rule), history.rules.schema)
    fed: list[Event] = [*stretch, *others.detect(list(stretch), until=until)]
    return [event for event in fed if event.type in input_types(rule)], [rule]


def _check_size(chosen: Sequence[Event], rule: Rule) -> None:
    if not chosen:
        raise SpecError(
            f"a case needs an event; around that moment there is none that rule {rule.name} "
            "looks at\n\nhint: a larger --margin, another time, or another --key"
        )
    if len(chosen) > CASE_LIMIT:
        raise SpecError(
            f"a case may have {CASE_LIMIT} events; around that moment there are {len(chosen):,}"
            "\n\nhint: --key area=A1 takes the events of one key, --margin 10s fewer of them"
        )


def _agree(
    history: History, rule: Rule, near: Near, found: Sequence[CompositeEvent], shift: int
) -> bool:
    """Whether the case has, near the moment, what the whole history has there.

    If composite events do not show a key of the rule, those of other keys cannot be told: then
    what the case has must be among them.
    """
    own = Counter(
        written(one.type, one.start + shift, one.end + shift, one.attributes)
        for one in found
        if one.rule == rule.name and near.covers(one.end + shift)
    )
    expected, all_shown = _found_near(history, rule, near)
    return own == expected if all_shown else own <= expected


def _found_near(history: History, rule: Rule, near: Near) -> tuple[Counter[str], bool]:
    """What the whole history has near a moment, and whether that shows all keys of the rule."""
    from cepheid.runtime.backtest import key_outputs

    found = history.found.filter(pc.equal(history.found["rule"], rule.name))
    ends = found["ts"].to_numpy()
    rows = found.filter(pa.array(np.abs(ends - near.moment) <= near.margin)).to_pylist()
    outputs = key_outputs(rule)
    told: Counter[str] = Counter()
    for row in rows:
        attributes = {n: v for n, v in row.items() if n not in _OWN and v is not None}
        known = {outputs[n]: value for n, value in near.keys.items() if n in outputs}
        if all(n in attributes and shown(attributes[n]) == value for n, value in known.items()):
            told[written(row["type"], row["start"], row["ts"], attributes)] += 1
    parting = {name for group in partitions(compile_rule(rule)) for name in group.attributes}
    return told, not parting.intersection(near.keys).difference(outputs)


def shown(value: Value) -> str:
    """A value as a person types it.

    >>> shown(True), shown(7), shown("A1")
    ('true', '7', 'A1')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)
