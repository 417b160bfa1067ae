"""Ranking: the total order of any events of a payload, over columns.

Events from outside are in that order by their origins, as the kernel is fed in it. Composite
events of the same interval and depth are ordered by what they are made of, which may again be
composite events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cepheid.tables.arrow import Array, Bools, Ints, codes, present
from cepheid.tables.order import Ties
from cepheid.tables.parts import Parts, distinct, text_order
from cepheid.tables.sorting import key_parts, sort_parts
from cepheid.tables.sources import TIMER
from cepheid.tables.table import Table

if TYPE_CHECKING:
    from cepheid.tables.payload import Payload

_LEVELS = 32
"""How far down events that are made alike are told apart by what they are made of."""


def ranks(payload: Payload, origins: Ints, level: int = 0) -> Ints:
    """Numbers from 0 on in the total order of events, equal for events that are equal."""
    if payload.origins_tell and (len(origins) == 0 or origins.min() >= 0):
        return origins
    known, places = distinct(origins)
    found = np.full(len(known), -1, np.int64)
    there = payload.has(known)  # what lies too far down may be given up
    found[there] = _ranked(payload, known[there], level)
    return found[places]


def _ranked(payload: Payload, origins: Ints, level: int) -> Ints:
    starts, ends, depths = payload.spans(origins)
    ties = Ties.by(ends)
    refine_rows(ties, np.arange(len(origins)), [starts, depths])
    if ties:
        outside, own = depths[ties.rows] == 0, origins[ties.rows]
        keys = (_beside_ticks(payload, own), payload.leaders(own))
        ties.refine(*(np.where(outside, key, 0) for key in keys))
    made = ties.rows[depths[ties.rows] > 0]
    if len(made):
        _refine_made(payload, ties, made, origins[made], level)
    places = np.empty(len(origins), np.int64)
    places[ties.order] = ties.ranks()
    return places


def _refine_made(payload: Payload, ties: Ties, rows: Ints, origins: Ints, level: int) -> None:
    parts = payload.parts(origins)
    if level < _LEVELS:
        refine_by_parts(ties, rows, *sorted_parts(payload, parts, level + 1))
    else:
        lanes = payload.composer.lanes(*payload.heads(origins), parts)
        refine_rows(ties, rows, list(lanes.view(np.int64)))
    refine_rows(ties, rows, [payload.composer.head_ranks(*payload.heads(origins))])


def _beside_ticks(payload: Payload, origins: Ints) -> Ints:
    """1 for ticks and 0 or 2 for what comes before or after ticks of its time."""
    ticks = payload.are_ticks(origins)
    if not ticks.any():
        return np.zeros(len(origins), np.int64)
    table = payload.table(origins, ("source", "seq"))
    type_codes, names = codes(table.types)
    smaller = np.array([name < TIMER for name in names.to_pylist()], np.bool_)[type_codes]
    return np.where(ticks, 1, np.where(smaller & ~_numbered(table), 0, 2))


def _numbered(table: Table) -> Bools:
    """Which events have an id, or a source and a number there."""
    ids, sources, numbers = (
        _any_present(arrays, len(table))
        for arrays in (table.ids, table.named("source"), table.named("seq"))
    )
    return ids | (sources & numbers)


def _any_present(arrays: Iterable[Array], count: int) -> Bools:
    found = np.zeros(count, np.bool_)
    for array in arrays:
        there = present(array)
        found |= True if there is None else there
    return found


def refine_by_parts(ties: Ties, rows: Ints, parts: Parts, keys: Ints) -> None:
    """Refine the order of rows by their constituents, one after the other.

    `parts` are those of the rows, and keys what to sort constituents by; other rows stay tied.
    """
    places = _places(ties, rows)
    for position in range(int(parts.lengths.max(initial=0))):
        here = places[ties.rows]
        if not (here >= 0).any():
            return
        ties.refine(parts.at(position, here, keys))


def refine_rows(ties: Ties, rows: Ints, keys: Sequence[Ints]) -> None:
    """Refine the order of rows by keys, which are in the order of the rows."""
    here = _places(ties, rows)[ties.rows]
    ties.refine(*(np.where(here >= 0, key[here], 0) for key in keys))


def _places(ties: Ties, rows: Ints) -> Ints:
    places = np.full(len(ties.order), -1, np.int64)
    places[rows] = np.arange(len(rows))
    return places


def sorted_parts(payload: Payload, parts: Parts, level: int = 0) -> tuple[Parts, Ints]:
    """Constituents in the total order, then by label; and keys that tell this order."""
    keys, in_order = _part_keys(payload, parts, level)
    if not in_order:
        parts = Parts(parts.offsets, parts.origins.copy(), parts.labels.copy())
        sort_parts(parts.offsets, keys, parts.origins, parts.labels)
    return parts, keys


def sorted_keys(payload: Payload, parts: Parts) -> Ints:
    """The keys alone, in the order of the constituents that they are for."""
    keys, in_order = _part_keys(payload, parts, 0)
    if not in_order:
        none = np.zeros(0, np.int64)
        sort_parts(parts.offsets, keys, none, none)
    return keys


def _part_keys(payload: Payload, parts: Parts, level: int) -> tuple[Ints, bool]:
    part_ranks, label_ranks = ranks(payload, parts.origins, level), _label_ranks(payload, parts)
    return key_parts(parts.offsets, part_ranks, parts.labels, label_ranks)


def _label_ranks(payload: Payload, parts: Parts) -> Ints:
    """For every label its place in the order of those that occur."""
    used = np.zeros(int(parts.labels.max(initial=0)) + 1, np.bool_)
    used[parts.labels] = True
    found, codes_ = np.zeros(len(used), np.int64), np.flatnonzero(used)
    texts = payload.encoder.texts
    found[codes_] = text_order(texts[code] for code in codes_.tolist())
    return found
