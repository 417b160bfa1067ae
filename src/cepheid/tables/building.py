"""Building: matches become composite events as objects, for lists and for single events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cepheid.events import CompositeEvent, Event, Order, Value, composite, depth_over
from cepheid.identity import written
from cepheid.kernel.few import HEAD, Few, value
from cepheid.kernel.found import Found
from cepheid.kernel.registry import FAILURE
from cepheid.kernel.texts import Texts
from cepheid.kernel.values import INT, MISSING
from cepheid.tables.arrow import Ints
from cepheid.tables.cells import decoded
from cepheid.tables.made import Made

if TYPE_CHECKING:
    from cepheid.tables.payload import Payload

Pairs = list[tuple[str, int]]
"""Labels and origins of constituents."""
Pieces = tuple[tuple[str, Event], ...]
"""Labels of constituents and these themselves."""


class Builder:
    """Builds composite events, each of them once."""

    def __init__(self, payload: Payload, made: Made) -> None:
        self._payload = payload
        self._made = made
        self.known: dict[int, CompositeEvent] = {}
        """Composite events that others may be made of, as far as they are built."""
        self._heads: dict[int, tuple[str, str, bool]] = {}

    def keep(self, live: Ints) -> None:
        """Forget all events but those of some origins."""
        known = self.known
        if known:
            self.known = {origin: known[origin] for origin in live.tolist() if origin in known}

    def composites(self, found: Found) -> list[CompositeEvent]:
        """The composite events of matches."""
        found = found.spread()
        texts, order = self._payload.encoder.texts, Order(self._payload.schema)
        columns = [decoded(*pair, texts) for pair in zip(found.tags, found.cells, strict=True)]
        origins = [0] * len(found) if found.origins is None else found.origins.tolist()
        spans = zip(found.starts.tolist(), found.times.tolist(), strict=True)
        heads = zip(origins, found.rules.tolist(), spans, _pairs(found, texts), strict=True)
        made = []
        for at, (origin, number, span, pairs) in enumerate(heads):
            event = self.known.get(origin)
            if event is None:
                own = {name: column[at] for name, column in zip(found.names, columns, strict=True)}
                event = self._built((number, found.failure), span, pairs, own, order)
            if origin:
                self.known[origin] = event
            made.append(event)
        return made

    def few(self, found: Few) -> list[CompositeEvent]:
        """The composite events of a few matches; there is no call per match that can be spared."""
        numbers, looks, heads, at = found.numbers, found.looks, self._heads, 0
        texts, event = self._payload.encoder.texts, self._payload.event
        made: list[CompositeEvent] = []
        while at < len(numbers):
            look, start, end, values, parts, rules = numbers[at : at + HEAD]
            place = at + HEAD
            middle = place + 2 * values
            last = middle + 2 * parts
            at = last + rules
            own: dict[str, Value] = {}
            for name in looks[look].names:
                tag = numbers[place]
                if tag == INT:
                    own[name] = numbers[place + 1]
                elif tag != MISSING:
                    own[name] = value(tag, numbers[place + 1], texts)
                place += 2
            pieces = tuple(
                [
                    (texts[numbers[place + 1]], event(numbers[place]))
                    for place in range(middle, last, 2)
                ]
            )
            # Timers have origins below 0, which do not tell the order, as those of composites.
            simple = (
                self._payload.origins_tell
                and depth_over(pieces) == 1
                and (parts == 0 or numbers[middle] >= 0)
            )
            for number in numbers[last:at]:
                type_, name, plain = heads.get(number) or self._head(number)
                if simple and plain:
                    given = own if rules == 1 else own.copy()
                    made.append(composite(type_, start, end, given, name, pieces))
                else:
                    made.append(self._slowly(number, (start, end), numbers[middle:last], own))
        return made

    def _head(self, number: int) -> tuple[str, str, bool]:
        """Type and name of a rule, and whether a composite event of it has its own values only."""
        rule = self._payload.rules[number]
        self._heads[number] = rule.output.type, rule.name, not rule.output.everything
        return self._heads[number]

    def _slowly(
        self, number: int, span: tuple[int, int], pairs: list[int], values: dict[str, Value]
    ) -> CompositeEvent:
        texts = self._payload.encoder.texts
        named = [
            (texts[label], origin) for origin, label in zip(pairs[::2], pairs[1::2], strict=True)
        ]
        return self._built((number, False), span, named, values, Order(self._payload.schema))

    def event(self, origin: int) -> CompositeEvent:
        """One event by its origin; what it is made of is built first, without recursion."""
        waiting = [origin]
        while waiting:
            row = int(self._made.rows(np.array(waiting[-1:]))[0])
            pairs = self._made.pairs(row)
            needed = [part for _, part in pairs if part not in self.known and self._is_made(part)]
            if needed:
                waiting += needed
            else:
                self.known[waiting.pop()] = self._of_row(row, pairs)
        return self.known[origin]

    def _is_made(self, origin: int) -> bool:
        return origin < 0 and bool(self._made.rows(np.array([origin]))[0] >= 0)

    def _of_row(self, row: int, pairs: Pairs) -> CompositeEvent:
        made, at = self._made, np.array([row])
        head = int(made.column("rules")[row]), bool(made.failures(at)[0])
        span = int(made.column("starts")[row]), int(made.column("ends")[row])
        there = self._payload.has(np.array([origin for _, origin in pairs], np.int64)).tolist()
        known = [pair for pair, here in zip(pairs, there, strict=True) if here]
        event = self._built(head, span, known, made.values(row), Order(self._payload.schema))
        if not all(there):
            # What it was made of lay too far down and was given up; its id was found before.
            first, second = made.lanes[:, row].tolist()
            event = replace(event, id=written((first, second)))
            object.__setattr__(event, "depth", int(made.column("depths")[row]))
        return event

    def _built(
        self,
        head: tuple[int, bool],
        span: tuple[int, int],
        pairs: Pairs,
        values: Mapping[str, Value | None],
        order: Order,
    ) -> CompositeEvent:
        """A composite event; the head is the number of its rule, and whether it is a failure."""
        (number, failing), payload = head, self._payload
        rule = payload.rules[number]
        simple = payload.origins_tell and all(origin >= 0 for _, origin in pairs)
        if simple:
            pairs = sorted(pairs, key=lambda pair: (pair[1], pair[0]))
        parts = [(label, payload.event(origin)) for label, origin in pairs]
        if not simple:
            parts.sort(key=lambda pair: (order.key(pair[1]), pair[0]))
        attributes: dict[str, Value | None] = {}
        for label, part in parts if rule.output.everything and not failing else ():
            prefix = label.replace("-", "_")
            attributes.update({f"{prefix}_{name}": v for name, v in part.attributes.items()})
        attributes.update(values)
        return CompositeEvent(
            FAILURE if failing else rule.output.type,
            *span,
            {name: value for name, value in attributes.items() if value is not None},
            rule=rule.name,
            events=tuple(parts),
        )


def _pairs(found: Found, texts: Texts) -> Iterator[Pairs]:
    """The labels and origins of the constituents of each match."""
    if found.offsets is None or found.label_codes is None:
        for origins in found.constituents.T.tolist():
            yield list(zip(found.labels, origins, strict=True))
        return
    labels = [texts[code] for code in found.label_codes.tolist()]
    flat = list(zip(labels, found.constituents.tolist(), strict=True))
    for begin, end in pairwise(found.offsets.tolist()):
        yield flat[begin:end]
