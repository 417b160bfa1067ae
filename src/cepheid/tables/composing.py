"""Composing: matches become composite events, as columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cepheid.kernel.registry import FAILURE
from cepheid.tables.arrow import Array, Bools, Ints, pa, text_array
from cepheid.tables.ids import Lanes, digests, event_parts, label_fields, part, written
from cepheid.tables.made import Made
from cepheid.tables.mixing import identify
from cepheid.tables.parts import Parts, distinct, text_order
from cepheid.tables.sources import Names
from cepheid.tables.table import Table, concat

if TYPE_CHECKING:
    from cepheid.tables.payload import Payload


@dataclass(frozen=True)
class Heads:
    """The different rules and types of matches: names, what they add to ids, and their order."""

    types: Array
    rules: Array
    lanes: Lanes
    type_ranks: Ints
    rule_ranks: Ints


class Composer:
    """Composite events that others may be made of, as a source of a payload."""

    def __init__(self, payload: Payload, made: Made) -> None:
        self._payload = payload
        self._made = made

    def __len__(self) -> int:
        return len(self._made)

    def find(self, origins: Ints) -> Ints:
        """The rows of events; -1 for those that are not here."""
        return self._made.rows(origins)

    def leaders(self, rows: Ints) -> Ints:
        """Composite events are ordered by what they are made of, so none are equal here."""
        return self._made.column("origins")[rows]

    # --- columns -------------------------------------------------------------

    def table(self, rows: Ints, names: Names) -> Table:
        """Events as a table."""
        self.identify()
        table = self._without_ids(rows, names)
        ids = (written(self._made.lanes[:, rows]),)
        return Table(table.types, table.starts, table.ends, ids, table.columns)

    def spans(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """Starts and ends of events, and how deep they are."""
        starts, ends, depths = (
            self._made.column(name)[rows] for name in ("starts", "ends", "depths")
        )
        return starts, ends, depths

    def identities(self, rows: Ints) -> Lanes:
        """The identities of events."""
        if len(rows) and rows.max() >= len(self._made) - len(self._made.unidentified):
            self.identify()
        return self._made.identities[:, rows]

    def identify(self) -> None:
        """Find the ids of all events that are new."""
        rows = self._made.unidentified
        if len(rows) == 0:
            return
        parts = self._made.parts(rows)
        origins, _ = parts.known_origins
        known = np.flatnonzero(self._made.rows(origins) < rows[0])
        outside = np.zeros((2, len(origins)), np.uint64)
        outside[:, known] = self._payload.identities(origins[known])
        rules, failing = self._made.column("rules")[rows], self._made.failures(rows)
        self._made.identify(
            outside,
            self._label_fields(parts),
            self._whole_lanes(rules, failing),
            event_parts(self._without_ids(rows, None)),
        )

    def lanes(self, rules: Ints, failing: Bools, parts: Parts) -> Lanes:
        """The ids of matches."""
        origins, places = parts.known_origins
        lanes = np.zeros((2, len(rules)), np.uint64)
        identify(
            parts.offsets,
            parts.known_labels[1],
            self._label_fields(parts),
            places,
            self._payload.identities(origins),
            self._whole_lanes(rules, failing),
            np.zeros((2, 0), np.uint64),
            lanes,
        )
        return lanes

    def _label_fields(self, parts: Parts) -> Lanes:
        return self.label_fields(parts.known_labels[0])

    def label_fields(self, labels: Ints) -> Lanes:
        """What labels are called in ids."""
        texts = self._payload.encoder.texts
        return label_fields(texts[label] for label in labels.tolist())

    def _whole_lanes(self, rules: Ints, failing: Bools) -> Lanes:
        """What rule and type add to the ids of composite events."""
        numbers, places = distinct(2 * rules + failing)
        named = [self._names(number) for number in numbers.tolist()]
        types = part(("type",), digests(type_ for type_, _ in named))
        return (part(("rule",), digests(rule for _, rule in named)) + types)[:, places]

    def heads(self, numbers: Ints) -> Heads:
        """What there is to know of rules, each as twice its number, and one more for failures."""
        rules, failing = numbers // 2, numbers % 2 == 1
        types, names = self.named(rules, failing)
        lanes = self._whole_lanes(rules, failing)
        return Heads(types, names, lanes, *self.head_ranks(rules, failing))

    def head_ranks(self, rules: Ints, failing: Bools) -> tuple[Ints, Ints]:
        """The ranks of the types of composite events, and of the names of their rules."""
        numbers, places = distinct(2 * rules + failing)
        named = [self._names(number) for number in numbers.tolist()]
        types, names = (text_order(pair[at] for pair in named) for at in (0, 1))
        return types[places], names[places]

    def named(self, rules: Ints, failing: Bools) -> tuple[Array, Array]:
        """The types of composite events and the names of their rules, with dictionaries."""
        numbers, places = distinct(2 * rules + failing)
        named = [self._names(number) for number in numbers.tolist()]
        indices = pa.array(places.astype(np.int32))
        types, names = (text_array(pair[at] for pair in named) for at in (0, 1))
        return (
            pa.DictionaryArray.from_arrays(indices, types),
            pa.DictionaryArray.from_arrays(indices, names),
        )

    def _names(self, number: int) -> tuple[str, str]:
        rule = self._payload.rules[number // 2]
        return FAILURE if number % 2 else rule.output.type, rule.name

    def _without_ids(self, rows: Ints, names: Names) -> Table:
        pieces, places = [], []
        for here, columns in self._made.attributes(rows):
            own = rows[here]
            rules = self._made.column("rules")[own]
            types, _ = self.named(rules, self._made.failures(own))
            more = self.everything(rules, self._made.parts(own), {name for name, _ in columns})
            chosen = [c for c in (*more, *columns) if names is None or c[0] in names]
            starts, ends = self._made.column("starts")[own], self._made.column("ends")[own]
            pieces.append(Table(types, starts, ends, (), tuple(chosen)))
            places.append(here)
        return concat(pieces).take(np.argsort(np.concatenate(places)))

    def everything(
        self, rules: Ints, parts: Parts, taken: Iterable[str]
    ) -> list[tuple[str, Array]]:
        """The attributes of all constituents, for the rules that give them, by label."""
        numbers, places = distinct(rules)
        wants = [self._payload.rules[number].output.everything for number in numbers.tolist()]
        wanted = np.array(wants, np.bool_)[places]
        found: dict[tuple[str, str], Array] = {}
        for label in np.unique(parts.labels).tolist() if any(wants) else ():
            prefix = self._payload.encoder.texts[label].replace("-", "_")
            at = np.full(len(parts), -1, np.int64)
            own = np.flatnonzero(parts.labels == label)
            at[parts.owners[own]] = own
            at[~wanted] = -1
            for name, array in self._gathered(parts.origins, at):
                if f"{prefix}_{name}" not in taken:
                    found[f"{prefix}_{name}", str(array.type)] = array
        return [(name, array) for (name, _), array in found.items()]

    def _gathered(self, origins: Ints, at: Ints) -> list[tuple[str, Array]]:
        """The attributes of events at places in an array of origins; none where that is -1."""
        there = at >= 0
        known, places = distinct(origins[at[there]])
        indices = np.zeros(len(at), np.int64)
        indices[there] = places
        chosen = pa.array(indices, mask=~there)
        return [(name, array.take(chosen)) for name, array in self._payload.table(known).columns]
