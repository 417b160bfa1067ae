"""Cases that are made of data: their events, what is expected, and the proof that they pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cepheid.algebra import Rule, input_types
from cepheid.capture.history import History
from cepheid.capture.mattering import periods
from cepheid.errors import SpecError
from cepheid.events import CompositeEvent, Event, Order, Schema, Value, kind_of
from cepheid.languages import LANGUAGES
from cepheid.oracle import evaluate
from cepheid.testing import Case, format_case, parse_cases, run_case
from cepheid.units import format_time

CASE_LIMIT = 1000
"""How many events a case may have."""
_DAY, _MINUTE = 86_400_000_000, 60_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAME = re.compile(r"[^\W\d]\w*(?:-\w+)*")


def shift_of(history: History, rules: Sequence[Rule], events: Iterable[Event]) -> int:
    """By how much earlier events are written, so that times are readable.

    They count from the minute of the first event, or from its day where timers go by the clock.
    """
    ties = list(periods(rules))
    if history.counts or any(period == 0 or _DAY % period for period in ties):
        return 0
    unit = _DAY if ties else _MINUTE
    return min((event.start for event in events), default=0) // unit * unit


def numbered(chosen: Sequence[Event], schema: Schema, shift: int) -> list[Event]:
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


def by_oracle(
    history: History, rules: Sequence[Rule], events: Sequence[Event], until: int | None
) -> Sequence[CompositeEvent]:
    """What the oracle finds in the events of a case."""
    return evaluate(rules, events, schema=_schema(history, rules, events), until=until).events


def _schema(history: History, rules: Sequence[Rule], events: Iterable[Event]) -> Schema:
    """What is declared of the types that the case speaks of."""
    used = {event.type for event in events} | {t for rule in rules for t in input_types(rule)}
    return Schema({t: kinds for t, kinds in history.rules.schema.items() if t in used})


def case_of(
    history: History,
    rules: Sequence[Rule],
    events: Sequence[Event],
    found: Sequence[CompositeEvent],
    until: int | None,
) -> Case:
    """The case of rules, events and what was found in them."""
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


def checked(case: Case, name: str, shift: int) -> Case:
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


def content(event: CompositeEvent, shift: int) -> str:
    """What a composite event is, apart from ids."""
    parts = [
        (label, written(part.type, part.start - shift, part.end - shift, part.attributes))
        for label, part in event.events
    ]
    whole = written(event.type, event.start - shift, event.end - shift, event.attributes)
    return f"{event.rule} {whole} {parts}"


def written(type_: str, start: int, end: int, attributes: Mapping[str, Value]) -> str:
    """What an event is, apart from its id and from attributes that no case can have."""
    values = sorted(
        (name, kind_of(value).value, value)
        for name, value in attributes.items()
        if _NAME.fullmatch(name)
    )
    return f"{type_} {start} {end} {values}"
