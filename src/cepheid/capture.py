"""Capture: a match, or its absence, from real data becomes a case of a spec file.

The rules run over the whole history in the engine. What matters for the match is taken out, run
again by the oracle, and written down only if that finds the same match.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from cepheid.algebra import Rule, input_types
from cepheid.errors import EventError, SpecError, did_you_mean
from cepheid.events import CompositeEvent, Event, Order, Schema, Value, kind_of
from cepheid.languages import LANGUAGES
from cepheid.mattering import Mattering, horizon, involved, periods, tells_later, waits
from cepheid.oracle import evaluate
from cepheid.rules import Rules
from cepheid.tables.arrow import Arrow, Bools, pa, pc
from cepheid.tables.reading import read
from cepheid.tables.table import Table
from cepheid.tables.times import in_microseconds
from cepheid.testing import Case, format_case, parse_cases, run_case
from cepheid.units import format_time

CASE_LIMIT = 1000
"""How many events a case may have."""
STRETCH_LIMIT = 100_000
"""How many events are looked at to find out which matter."""
MARGIN = 60_000_000
"""How far around a moment it is looked for matches, unless told."""
_DAY, _MINUTE = 86_400_000_000, 60_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAME = re.compile(r"[^\W\d]\w*(?:-\w+)*")


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


# --- a match --------------------------------------------------------------------------------


def capture_match(history: History, id_: str, name: str = "") -> Case:
    """The case of a composite event that was found: what it was made of and what was looked at.

    >>> import cepheid
    >>> rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WHERE [n] WITHIN 1 min", language="sase")
    >>> table = pa.table({"type": ["A", "A", "B"], "ts": [1, 2, 3], "n": [1, 2, 1]})
    >>> history = History.of(rules, table, "s")
    >>> print(format_case(capture_match(history, history.by_number(1, None), "a pair")), end="")
    # a pair
    language: sase
    rule:
      QUERY AB
      EVENT SEQ(A x, B y)
      WHERE [n]
      WITHIN 1 min
    events:
      A@1(n=1)
      B@3(n=1)
    expect:
      AB@[1,3](y_n=1, x_n=1)
    """
    (row,) = history.found.filter(pc.equal(history.found["id"].cast(pa.string()), id_)).to_pylist()
    rule = history.named(row["rule"])
    rules = involved(history.rules.rules, rule)
    match, around = _located(history, rules, row)
    several = len({one.language for one in rules}) > 1
    by_name = {one.name: one for one in rules}
    for chosen in _choices(match, around, by_name, whole=several):
        case = _case_with(history, [rule] if several else rules, chosen, match, name)
        if case is not None:
            return case
    raise SpecError(
        f"match {id_} cannot be found again in at most {CASE_LIMIT} events\n\n"
        "hint: it depends on too much of its history, such as events that earlier matches consumed"
    )


def _located(
    history: History, rules: Sequence[Rule], row: Mapping[str, object]
) -> tuple[CompositeEvent, list[Event]]:
    """The match as an object, found again in as short a stretch as will do, with that stretch."""
    end, made = int(str(row["ts"])), row["events"]
    times = [int(part["ts"]) for part in made] if isinstance(made, list) else []
    oldest = min([end, int(str(row["start"])), *times])
    for back in _horizons(rules, end - oldest):
        later = horizon(rules) if any(map(tells_later, rules)) else 0
        until = int(min(end + later, history.end()))
        events = history.stretch(rules, oldest - back, until)
        found = Rules(tuple(rules), history.rules.schema).detect(events, until=until)
        for one in found:
            if one.id == row["id"]:
                return one, [*events, *found]
        if oldest - back <= history.begin():
            break
    raise SpecError(f"match {row['id']} cannot be found again in its own history")


def _horizons(rules: Sequence[Rule], span: int) -> Iterator[float]:
    """How far to look back: as far as the rules do, then further, then to the beginning."""
    first = horizon(rules)
    first = max(span, MARGIN) if math.isinf(first) else max(first, 1)
    yield from (first, 4 * first, 16 * first, math.inf)


def _choices(
    match: CompositeEvent, around: Sequence[Event], rules: Mapping[str, Rule], *, whole: bool
) -> Iterator[list[Event]]:
    """Sets of events in which the match may be found, the smallest first."""
    yield Mattering(rules, around, whole=whole).of(match)
    yield Mattering(rules, around, keyed=False, whole=whole).of(match)
    own = input_types(rules[match.rule])
    if whole:
        yield [event for event in around if event.type in own and event is not match]
    else:
        yield [event for event in around if not isinstance(event, CompositeEvent)]


def _case_with(
    history: History,
    rules: Sequence[Rule],
    chosen: Sequence[Event],
    match: CompositeEvent,
    name: str,
) -> Case | None:
    """The case of chosen events, if the oracle finds the match in them."""
    if len(chosen) > CASE_LIMIT:
        return None
    shift = _shift(history, rules, chosen)
    events = _numbered(chosen, history.rules.schema, shift)
    wanted = _content(match, shift)
    last = match.end - shift
    further = int(min(last + horizon(rules), history.end() - shift))
    for until in dict.fromkeys([None, last, further]):
        found = _by_oracle(history, rules, events, until)
        if any(_content(one, 0) == wanted for one in found):
            return _checked(_case(history, rules, events, found, until), name, shift)
    return None


# --- around a moment ------------------------------------------------------------------------


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
    """
    rules = involved(history.rules.rules, rule)
    if len({one.language for one in rules}) > 1:
        languages = " and ".join(sorted({one.language for one in rules}))
        raise SpecError(
            f"rules of a case must be of one language; rule {rule.name} needs {languages}\n\n"
            "hint: capture the rules that it feeds on by themselves"
        )
    expected = _found_around(history, rule, moment, margin, keys or {})
    later = horizon(rules) if any(map(waits, rules)) else 0
    high = int(min(moment + margin + later, history.end()))
    for back in _horizons(rules, margin):
        chosen = history.stretch(rules, moment - margin - back, high)
        chosen = [event for event in chosen if _has(event, keys or {})]
        _check_size(chosen, rule)
        shift = _shift(history, rules, chosen)
        events = _numbered(chosen, history.rules.schema, shift)
        until = high - shift if later else None
        found = _by_oracle(history, rules, events, until)
        own = [one for one in found if one.rule == rule.name]
        near = [one for one in own if abs(one.end + shift - moment) <= margin]
        if sorted(_written(o.type, o.start + shift, o.end + shift, o.attributes) for o in near) == (
            expected
        ):
            return _checked(_case(history, rules, events, found, until), name, shift)
    raise SpecError(
        f"what rule {rule.name} finds there depends on events that the case does not have\n\n"
        "hint: leave --key out, or name all keys of the rule"
    )


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


def _found_around(
    history: History, rule: Rule, moment: int, margin: int, keys: Mapping[str, str]
) -> list[str]:
    """What the whole history gives near a moment, for the keys that composite events show."""
    from cepheid.runtime.backtest import key_attributes

    found = history.found.filter(pc.equal(history.found["rule"], rule.name))
    ends = found["ts"].to_numpy()
    rows = found.filter(pa.array(np.abs(ends - moment) <= margin)).to_pylist()
    shown = set(keys) & {*key_attributes(rule), *(a.name for a in rule.output.attributes)}
    own = ("id", "type", "ts", "start", "rule", "events")
    told = []
    for row in rows:
        attributes = {n: v for n, v in row.items() if n not in own and v is not None}
        if all(str(attributes.get(key)) == keys[key] for key in shown):
            told.append(_written(row["type"], row["start"], row["ts"], attributes))
    return sorted(told)


def _has(event: Event, keys: Mapping[str, str]) -> bool:
    return all(
        name not in event.attributes or _shown(event.attributes[name]) == value
        for name, value in keys.items()
    )


def _shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- cases ----------------------------------------------------------------------------------


def _shift(history: History, rules: Sequence[Rule], events: Iterable[Event]) -> int:
    """By how much earlier events are written, so that times are readable.

    They count from the minute of the first event, or from its day where timers go by the clock.
    """
    ties = list(periods(rules))
    if history.counts or any(period == 0 or _DAY % period for period in ties):
        return 0
    unit = _DAY if ties else _MINUTE
    return min((event.start for event in events), default=0) // unit * unit


def _numbered(chosen: Sequence[Event], schema: Schema, shift: int) -> list[Event]:
    """Events as they stand in a spec file: in their order, which is then their id."""
    ordered = sorted(chosen, key=Order(schema).key)
    return [
        Event(
            event.type,
            event.start - shift,
            event.end - shift,
            {name: value for name, value in event.attributes.items() if _NAME.fullmatch(name)},
            position,
        )
        for position, event in enumerate(ordered)
    ]


def _by_oracle(
    history: History, rules: Sequence[Rule], events: Sequence[Event], until: int | None
) -> Sequence[CompositeEvent]:
    return evaluate(rules, events, schema=_schema(history, rules, events), until=until).events


def _schema(history: History, rules: Sequence[Rule], events: Iterable[Event]) -> Schema:
    """What is declared of the types that the case speaks of."""
    used = {event.type for event in events} | {t for rule in rules for t in input_types(rule)}
    return Schema({t: kinds for t, kinds in history.rules.schema.items() if t in used})


def _case(
    history: History,
    rules: Sequence[Rule],
    events: Sequence[Event],
    found: Sequence[CompositeEvent],
    until: int | None,
) -> Case:
    language = rules[0].language
    schema = _schema(history, rules, events)
    declared = [
        f"{type_}({', '.join(f'{n}: {kind}' for n, kind in own.items())})"
        for type_, own in schema.items()
    ]
    return Case(
        "",
        language,
        "\n".join(LANGUAGES[language].write(rule).rstrip() for rule in rules),
        tuple(events),
        tuple(found),
        options={} if until is None else {"until": format_time(until)},
        schema="\n".join(declared),
    )


def _checked(case: Case, name: str, shift: int) -> Case:
    """The case under its name, if it reads back and passes, on the oracle and on the engine."""
    (again,) = parse_cases(format_case(case))
    if again.events != case.events:
        raise SpecError("events of the case cannot be written so that they read back the same")
    for runtime in ("oracle", "embedded"):
        result = run_case(again, runtime)
        if not result.passed:
            raise SpecError(f"the case must pass on the {runtime}; got\n{result.difference}")
    since = f"\ntimes count from {_EPOCH + timedelta(microseconds=shift):%Y-%m-%d %H:%M}"
    return replace(again, name=f"{name}{since if shift else ''}")


def _content(event: CompositeEvent, shift: int) -> str:
    """What a composite event is, apart from ids."""
    parts = [
        (label, _written(part.type, part.start - shift, part.end - shift, part.attributes))
        for label, part in event.events
    ]
    whole = _written(event.type, event.start - shift, event.end - shift, event.attributes)
    return f"{event.rule} {whole} {parts}"


def _written(type_: str, start: int, end: int, attributes: Mapping[str, Value]) -> str:
    values = sorted(
        (name, kind_of(value).value, value)
        for name, value in attributes.items()
        if _NAME.fullmatch(name)
    )
    return f"{type_} {start} {end} {values}"
