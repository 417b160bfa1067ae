"""Matches as columns: what leaves the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cepheid.kernel.compiled import compiled
from cepheid.kernel.matches import (
    FAMILY_MEMBERS,
    MATCH_CELL,
    MATCH_FAMILY,
    MATCH_HIGH,
    MATCH_LABEL,
    MATCH_LOW,
    MATCH_MADE,
    MATCH_ROW,
    MATCH_ROWS,
    MATCH_TAG,
    MATCH_TIME,
    MATCH_VALUES,
    MEMBER_RULE,
    converted,
    drop_matches,
    match_count,
)
from cepheid.kernel.memory import Memory, ints, tags
from cepheid.kernel.registry import Look, Registry
from cepheid.kernel.store import ROW_CELLS, ROW_ORIGIN, ROW_START, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.values import Ints, Tags
from cepheid.kernel.varied import ORIGINS, RULES, STARTS, TIMES, spread_varied

PORTION, _SMALL = 1 << 14, 64
"""So many composite events leave together, about; below so many matches nobody counts them."""
_MANY, _FEW = 8, 256
"""Matches of so many kinds of labels, with so few matches for each, are told together."""


@dataclass(frozen=True)
class Found:
    """Matches of rules of one shape, as columns.

    With a fixed shape, `constituents` has one line of origins per label. With a varied one it is
    flat: those of match i, and the codes of their labels, are at `offsets[i]` to `offsets[i + 1]`.
    `origins` are those of the composite events themselves, where rules listen to them.
    """

    rules: Ints
    starts: Ints
    times: Ints
    origins: Ints | None
    names: tuple[str, ...]
    tags: Tags
    cells: Ints
    labels: tuple[str, ...]
    constituents: Ints
    offsets: Ints | None = None
    label_codes: Ints | None = None
    failure: bool = False

    def __len__(self) -> int:
        return len(self.rules)

    def take(self, chosen: npt.NDArray[np.bool_]) -> Found:
        """Some of the matches."""
        if chosen.all():
            return self
        parts, codes, offsets = self.constituents, self.label_codes, self.offsets
        if offsets is None or codes is None:
            parts = parts[:, chosen]
        else:
            lengths = np.diff(offsets)
            own = np.repeat(chosen, lengths)
            parts, codes = parts[own], codes[own]
            offsets = np.concatenate([[0], np.cumsum(lengths[chosen])])
        return replace(
            self,
            rules=self.rules[chosen],
            starts=self.starts[chosen],
            times=self.times[chosen],
            origins=None if self.origins is None else self.origins[chosen],
            tags=self.tags[:, chosen],
            cells=self.cells[:, chosen],
            constituents=parts,
            offsets=offsets,
            label_codes=codes,
        )


def drained(memory: Memory, registry: Registry) -> Iterator[Found]:
    """The matches that were written down, those of one look together; then the room is free again.

    They come in portions that fit into the caches: writing where nothing was written before takes
    longer than everything else here.
    """
    m = memory.m
    if memory.count(MATCH_FAMILY) == 0:
        return
    order, fine, begins = by_look(m, registry.fine_of, len(registry.fine_looks))
    if len(fine) > _MANY and len(order) < _FEW * len(fine):
        order, coarse, begins = by_look(m, registry.look_of, len(registry.looks))
        looks: list[tuple[int, tuple[str, ...] | None]] = [(n, None) for n in coarse.tolist()]
    else:
        looks = [registry.fine_looks[number] for number in fine.tolist()]
    try:
        for (number, labels), begin, end in zip(looks, begins[:-1], begins[1:], strict=True):
            look = registry.looks[number]
            if registry.wants_failures or not look.failure:
                for chosen in _portions(memory, order[begin:end]):
                    yield _found(memory, look, labels, chosen)
    finally:
        drop_matches(m, 0)


def _portions(memory: Memory, chosen: Ints) -> list[Ints]:
    """Matches, cut where they stand for many composite events."""
    if len(chosen) < _SMALL:
        return [chosen]
    sizes = memory.view(MATCH_HIGH)[chosen] - memory.view(MATCH_LOW)[chosen]
    cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // PORTION)) + 1
    return np.split(chosen, cuts)


@compiled
def by_look(m: int, look_of: Ints, looks: int) -> tuple[Ints, Ints, Ints]:
    """All matches, sorted by look; which looks there are, and where each begins."""
    count, families = match_count(m), ints(m, MATCH_FAMILY)
    counts = np.zeros(looks + 1, np.int64)
    for match in range(count):
        counts[look_of[families[match]] + 1] += 1
    present = np.flatnonzero(counts[1:])
    for look in range(looks):
        counts[look + 1] += counts[look]
    begins = np.append(counts[present], count)
    order = np.empty(count, np.int64)
    for match in range(count):
        look = look_of[families[match]]
        order[counts[look]] = match
        counts[look] += 1
    return order, present, begins


def _found(memory: Memory, look: Look, labels: tuple[str, ...] | None, chosen: Ints) -> Found:
    if look.width is None:
        return _varied(memory, look, chosen)
    m, width = memory.m, look.width
    rules, starts, times, origins, constituents = spread_heads(m, chosen, look.point, width)
    tags_, cells = spread_values(m, chosen, look.places, look.kind_codes, len(rules))
    made = origins if len(origins) else None
    shown = labels or ("",) * width
    found = Found(rules, starts, times, made, look.names, tags_, cells, shown, constituents)
    if (rules < 0).any():
        found = _without_removed(found)
    return found if labels is not None else _labelled(found, m, chosen, rules)


def _labelled(found: Found, m: int, chosen: Ints, rules: Ints) -> Found:
    """The same for rules that call their constituents differently: a label for each of them."""
    width = len(found.labels)
    codes = spread_labels(m, chosen, width, len(rules))
    codes = codes if len(found) == len(rules) else codes[rules >= 0]
    return replace(
        found,
        labels=(),
        constituents=np.ascontiguousarray(found.constituents.T).reshape(-1),
        offsets=np.arange(0, width * len(found) + 1, width, dtype=np.int64),
        label_codes=np.ascontiguousarray(codes).reshape(-1),
    )


@compiled
def spread_labels(m: int, chosen: Ints, width: int, total: int) -> Ints:
    """The codes of the labels of every match, once per member."""
    codes = np.empty((total, width), np.int64)
    labels, at = ints(m, MATCH_LABEL), 0
    for match in chosen:
        first = ints(m, MATCH_ROWS)[match]
        for _ in range(ints(m, MATCH_HIGH)[match] - ints(m, MATCH_LOW)[match]):
            for depth in range(width):
                codes[at, depth] = labels[first + depth]
            at += 1
    return codes


@compiled
def spread_heads(
    m: int, chosen: Ints, point: bool, width: int
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Rule, interval, origin and constituents of every match, once per member."""
    lows, highs, all_made = ints(m, MATCH_LOW), ints(m, MATCH_HIGH), ints(m, MATCH_MADE)
    total, any_made = 0, False
    for match in chosen:
        total += highs[match] - lows[match]
        any_made = any_made or all_made[match] != 0
    rules, starts = np.empty(total, np.int64), np.empty(total, np.int64)
    times, constituents = np.empty(total, np.int64), np.empty((width, total), np.int64)
    origins = np.empty(total if any_made else 0, np.int64)
    members, row_starts, row_origins = ints(m, MEMBER_RULE), ints(m, ROW_START), ints(m, ROW_ORIGIN)
    rows = ints(m, MATCH_ROW)
    at = 0
    for match in chosen:
        low, high = lows[match], highs[match]
        begin = ints(m, FAMILY_MEMBERS)[ints(m, MATCH_FAMILY)[match]]
        first, time = ints(m, MATCH_ROWS)[match], ints(m, MATCH_TIME)[match]
        start, made = time, all_made[match]
        for depth in range(width):
            row = rows[first + depth]
            if not point:
                start = min(start, row_starts[row])
            constituents[depth, at : at + high - low] = row_origins[row]
        for member in range(low, high):
            place = at + member - low
            rules[place] = members[begin + member]
            starts[place] = start
            times[place] = time
            if any_made:
                origins[place] = made - (member - low) if made != 0 else 0
        at += high - low
    return rules, starts, times, origins, constituents


@compiled
def spread_values(m: int, chosen: Ints, layout: Ints, kinds: Ints, total: int) -> tuple[Tags, Ints]:
    """The values of output attributes, gathered or computed, once per member."""
    width, rows = scalar(m, WIDTH), ints(m, MATCH_ROW)
    tags_out = np.empty((layout.shape[0], total), np.uint8)
    cells_out = np.empty((layout.shape[0], total), np.int64)
    for attribute in range(layout.shape[0]):
        position, source = layout[attribute, 0], layout[attribute, 1]
        at = 0
        for match in chosen:
            count = ints(m, MATCH_HIGH)[match] - ints(m, MATCH_LOW)[match]
            if position >= 0:
                place = rows[ints(m, MATCH_ROWS)[match] + position] * width + source
                tag, cell = int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place]
                tag, cell = converted(tag, cell, kinds[attribute])
            else:
                place = ints(m, MATCH_VALUES)[match] + source
                tag, cell = ints(m, MATCH_TAG)[place], ints(m, MATCH_CELL)[place]
            tags_out[attribute, at : at + count] = tag
            cells_out[attribute, at : at + count] = cell
            at += count
    return tags_out, cells_out


def _varied(memory: Memory, look: Look, matches: Ints) -> Found:
    """Matches that have constituents of their own number, once per rule."""
    heads, offsets, parts, codes, tags_, cells = spread_varied(
        memory.m, matches, look.point, len(look.names)
    )
    return Found(
        heads[RULES],
        heads[STARTS],
        heads[TIMES],
        heads[ORIGINS] if heads[ORIGINS].any() else None,
        look.names,
        tags_,
        cells,
        (),
        parts,
        offsets,
        codes,
        look.failure,
    )


def _without_removed(found: Found) -> Found:
    """Without the matches of rules that were removed."""
    left = found.rules >= 0
    return Found(
        found.rules[left],
        found.starts[left],
        found.times[left],
        None if found.origins is None else found.origins[left],
        found.names,
        found.tags[:, left],
        found.cells[:, left],
        found.labels,
        found.constituents[:, left],
    )
