"""Composing: matches become composite events, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cepheid.algebra import Rule
from cepheid.kernel.registry import FAILURE
from cepheid.tables.arrow import Array, Bools, Ints, arrow_of, pa, text_array
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
    """The different rules and types of matches: names, what they add to ids, and their order.

    `everything` tells whether some rule gives all attributes of its constituents.
    """

    types: Array
    rules: Array
    lanes: Lanes
    ranks: Ints
    everything: bool


def _heads_of(rules: Mapping[int, Rule]) -> Heads:
    """The heads of rules, each at twice its number, and one more for its failures."""
    types, names = [""] * (2 * max(rules, default=-1) + 2), [""] * (2 * max(rules, default=-1) + 2)
    for number, rule in rules.items():
        types[2 * number : 2 * number + 2] = rule.output.type, FAILURE
        names[2 * number : 2 * number + 2] = rule.name, rule.name
    lanes = part(("rule",), digests(names)) + part(("type",), digests(types))
    pairs = text_order(types) * len(names) + text_order(names)
    ranks = np.unique(pairs, return_inverse=True)[1]
    everything = any(rule.output.everything for rule in rules.values())
    return Heads(text_array(types), text_array(names), lanes, ranks.astype(np.int64), everything)


class Composer:
    """Composite events that others may be made of, as a source of a payload."""

    def __init__(self, payload: Payload, made: Made) -> None:
        self._payload = payload
        self._made = made
        self._known: tuple[int, Heads] | None = None

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
        return self.heads.lanes[:, 2 * rules + failing]

    def head_ranks(self, rules: Ints, failing: Bools) -> Ints:
        """The order of composite events by type and by the name of their rule."""
        return self.heads.ranks[2 * rules + failing]

    def named(self, rules: Ints, failing: Bools) -> tuple[Array, Array]:
        """The types of composite events and the names of their rules, with dictionaries."""
        numbers, places = distinct(2 * rules + failing)
        known, at, indices = self.heads, arrow_of(numbers), arrow_of(places.astype(np.int32))
        return (
            pa.DictionaryArray.from_arrays(indices, known.types.take(at)),
            pa.DictionaryArray.from_arrays(indices, known.rules.take(at)),
        )

    @property
    def heads(self) -> Heads:
        """What there is to know of rules, each at twice its number, and one more for failures.

        A rule that was taken away keeps its number.
        """
        rules = self._payload.rules
        if self._known is None or self._known[0] != len(rules):
            self._known = len(rules), _heads_of(rules)
        return self._known[1]

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
        chosen = arrow_of(indices, ~there)
        return [(name, array.take(chosen)) for name, array in self._payload.table(known).columns]
