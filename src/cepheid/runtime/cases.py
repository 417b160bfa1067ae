"""Spec cases on the embedded engine: event by event, and in batches, with the same answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice

from cepheid.errors import SpecError
from cepheid.events import CompositeEvent, Event, Order
from cepheid.rules import Rules
from cepheid.runtime.engine import Engine
from cepheid.testing import Case, difference

_PORTIONS = (2, 3, 1)
"""The lengths of batches, in turn."""


def run_on_engine(rules: Rules, case: Case) -> Sequence[CompositeEvent]:
    """What the engine finds in the events of a case.

    Where a case says how its events arrive, they come one after the other. All others come in
    the total order: one by one, in small batches, and in one batch, which must not differ.
    """
    if case.arrives:
        return _run(rules, case, ([event] for event in case.events))
    events = sorted(case.events, key=Order(rules.schema).key)
    found = _run(rules, case, ([event] for event in events))
    for way, batches in (("small batches", _portions(events)), ("one batch", [events])):
        differs = difference(found, _run(rules, case, batches))
        if differs:
            raise SpecError(
                f"engine must find the same event by event and in {way}; got\n{differs}"
            )
    return found


def _portions(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    rest = iter(events)
    for length in cycle(_PORTIONS):
        portion = list(islice(rest, length))
        if not portion:
            return
        yield portion


def _run(rules: Rules, case: Case, batches: Iterable[Sequence[Event]]) -> list[CompositeEvent]:
    engine = Engine(rules, policy=case.policy, delay=case.delay, failures=case.failures)
    found: list[CompositeEvent] = []
    for batch in batches:
        found += engine.push(batch[0]) if len(batch) == 1 else engine.push_batch(batch)
    if case.events and case.until is not None:
        found += engine.advance(max(case.until, *(event.end for event in case.events)))
    found += engine.close()
    case.check_late(engine.counters.late)
    return found
