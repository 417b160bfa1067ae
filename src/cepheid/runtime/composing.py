"""From matches to composite events: constituents looked up, attributes decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from cepheid.algebra import Rule
from cepheid.events import CompositeEvent, Event, Order, Value
from cepheid.kernel.columns import Encoder
from cepheid.kernel.found import Found
from cepheid.kernel.values import BOOL, DOUBLE, INT, MISSING, Ints

FAILURE = "Failure"


def composites(
    found: Found,
    rules: Mapping[int, Rule],
    event: Callable[[int], Event],
    encoder: Encoder,
    order: Order,
) -> list[CompositeEvent]:
    """The composite events of matches, given the events by their origin."""
    labels = _labels(found, encoder)
    origins = _origins(found)
    texts = encoder.texts.texts()
    columns = [
        _decoded(tags, cells, texts)
        for tags, cells in zip(found.tags.tolist(), found.cells, strict=True)
    ]
    made = []
    for at, (number, start, end) in enumerate(
        zip(found.rules.tolist(), found.starts.tolist(), found.times.tolist(), strict=True)
    ):
        rule = rules[number]
        parts = [(label, event(o)) for label, o in zip(labels[at], origins[at], strict=True)]
        attributes: dict[str, Any] = {}
        if rule.output.everything and not found.failure:
            for label, part in parts:
                prefix = label.replace("-", "_")
                attributes.update({f"{prefix}_{n}": v for n, v in part.attributes.items()})
        attributes.update(
            (name, column[at]) for name, column in zip(found.names, columns, strict=True)
        )
        made.append(
            CompositeEvent(
                FAILURE if found.failure else rule.output.type,
                start,
                end,
                attributes,
                rule=rule.name,
                events=_sorted(parts, order),
            )
        )
    return made


def _sorted(parts: list[tuple[str, Event]], order: Order) -> tuple[tuple[str, Event], ...]:
    """Constituents in the total order, then by label; most of the time ends alone decide."""
    if len(parts) == 1:
        return (parts[0],)
    ends = [event.end for _, event in parts]
    if len(set(ends)) == len(ends):
        return tuple(sorted(parts, key=lambda part: part[1].end))
    return tuple(sorted(parts, key=lambda part: (order.key(part[1]), part[0])))


def _labels(found: Found, encoder: Encoder) -> list[tuple[str, ...]]:
    if found.offsets is None or found.label_codes is None:
        return [found.labels] * len(found.rules)
    texts = encoder.texts.texts()
    flat = [texts[code] for code in found.label_codes.tolist()]
    return [tuple(flat[a:b]) for a, b in pairwise(found.offsets.tolist())]


def _origins(found: Found) -> list[list[int]]:
    if found.offsets is None:
        columns: list[list[int]] = found.constituents.T.tolist()
        return columns
    flat = found.constituents.tolist()
    return [flat[a:b] for a, b in pairwise(found.offsets.tolist())]


def _decoded(tags: list[int], cells: Ints, texts: list[str]) -> list[Value | None]:
    values: list[Value | None] = []
    doubles = cells.view(np.float64)
    for at, tag in enumerate(tags):
        if tag == MISSING:
            values.append(None)
        elif tag == INT:
            values.append(int(cells[at]))
        elif tag == DOUBLE:
            values.append(float(doubles[at]))
        elif tag == BOOL:
            values.append(bool(cells[at]))
        else:
            values.append(texts[int(cells[at])])
    return values
