"""What tests of engines share: a rule and its events, tables of events, what must be equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types

import cepheid
from cepheid import CompositeEvent, Event
from cepheid.events import Value
from tests.strategies import SECOND

PAIR = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
A, B = Event("A", SECOND, SECOND, id=1), Event("B", 2 * SECOND, 2 * SECOND, id=2)


def contents(found: Sequence[CompositeEvent]) -> Counter[tuple[object, ...]]:
    """Everything about composite events that a runtime must not change."""
    return Counter(
        (
            event.type,
            event.start,
            event.end,
            event.rule,
            event.id,
            frozenset((name, repr(value)) for name, value in event.attributes.items()),
            tuple((label, part.id) for label, part in event.events),
        )
        for event in found
    )


def as_table(events: Sequence[Event]) -> pa.Table:
    """Events as a table; a missing attribute is null."""
    columns: dict[str, list[object]] = {
        "type": [event.type for event in events],
        "ts": [event.end for event in events],
        "start": [event.start for event in events],
    }
    for name, kind in (("id", pa.int64()), ("k", pa.string()), ("v", pa.float64())):
        columns[name] = pa.array([event.attributes.get(name) for event in events], kind)
    columns["w"] = pa.array([event.attributes.get("w") for event in events], pa.float64())
    return pa.table(columns)


def fit_for_tables(event: Event) -> Event:
    """The event with numbers of one kind, and with its id as an attribute, as tables have it."""
    numbers = {n: float(v) for n, v in event.attributes.items() if not isinstance(v, str)}
    own: dict[str, Value] = {} if event.id is None else {"id": event.id}
    return replace(event, attributes={**event.attributes, **numbers, **own})


def pushed(engine: cepheid.Engine, events: Sequence[Event]) -> list[CompositeEvent]:
    """What events give when they come one by one."""
    return [found for event in events for found in engine.push(event)]
