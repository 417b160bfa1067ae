"""From matches to composite events: constituents looked up, attributes decoded and converted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from cepheid.algebra import Rule
from cepheid.events import CompositeEvent, Event, Kind, Order, Value, kind_of
from cepheid.kernel.columns import Encoder
from cepheid.kernel.found import Found
from cepheid.units import INT_MAX, INT_MIN


def composites(
    found: Found,
    rules: Sequence[Rule],
    events: Mapping[int, Event],
    encoder: Encoder,
    order: Order,
) -> Iterator[CompositeEvent]:
    """The composite events of matches, given the events by their origin."""
    for match, number in enumerate(found.rules):
        rule = rules[number]
        origins = found.constituents[:, match].tolist()
        parts = [(label, events[at]) for label, at in zip(found.labels, origins, strict=True)]
        values = encoder.decode(found.tags[:, match].tolist(), found.cells[:, match].tolist())
        end = int(found.times[match])
        yield CompositeEvent(
            rule.output.type,
            end if rule.point else min(event.start for _, event in parts),
            end,
            _attributes(rule, parts, values),
            rule=rule.name,
            events=tuple(sorted(parts, key=lambda part: (order.key(part[1]), part[0]))),
        )


def _attributes(
    rule: Rule, parts: Sequence[tuple[str, Event]], values: Sequence[Value | None]
) -> dict[str, Value]:
    found: dict[str, Value | None] = {}
    for label, event in parts if rule.output.everything else ():
        prefix = label.replace("-", "_")
        found.update({f"{prefix}_{name}": value for name, value in event.attributes.items()})
    for attribute, value in zip(rule.output.attributes, values, strict=True):
        found[attribute.name] = _converted(value, attribute.kind)
    return {name: value for name, value in found.items() if value is not None}


def _converted(value: Value | None, kind: Kind | None) -> Value | None:
    """A value as an attribute of a kind: numbers are converted, what does not fit is missing."""
    if value is None or kind is None or kind_of(value) == kind:
        return value
    if kind is Kind.DOUBLE and kind_of(value) is Kind.INT:
        return float(value)
    if kind is Kind.INT and isinstance(value, float) and math.isfinite(value):
        nearest = round(value)
        return nearest if INT_MIN <= nearest <= INT_MAX else None
    return None
