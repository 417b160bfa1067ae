"""Matches as columns: what leaves the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

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
from cepheid.kernel.varied import take_parts, varied_heads, varied_values

PORTION = 1 << 14
"""So many composite events leave together."""
_MANY, _FEW = 8, 256
"""Matches of so many kinds of labels, with so few matches for each, are told together."""


@dataclass(frozen=True)
class Found:
    """Matches of rules of one shape, as columns, and the composite events that they are.

    A match is a composite event for each rule that it counts for: `rules`, and `origins` where
    rules listen to them, are by composite event, and so is `matches`, which tells the match of each
    and rises. Everything else is by match, as it is the same for all its composite events.

    With a fixed shape, `constituents` has one line of origins per label. With a varied one it is
    flat: those of match i, and the codes of their labels, are at `offsets[i]` to `offsets[i + 1]`.
    """

    rules: Ints
    matches: Ints
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
        """Some of the composite events."""
        if chosen.all():
            return self
        return replace(
            self,
            rules=self.rules[chosen],
            matches=self.matches[chosen],
            origins=None if self.origins is None else self.origins[chosen],
        )

    def spread(self) -> Found:
        """The same, with a match for each composite event."""
        at = self.matches
        if len(at) == len(self.times) and bool((at[1:] > at[:-1]).all()):
            return self
        offsets, parts, codes = self.offsets, self.constituents, self.label_codes
        if offsets is None or codes is None:
            parts = parts.take(at, axis=1)
        else:
            offsets, parts, codes = take_parts(offsets, parts, codes, at)
        return replace(
            self,
            matches=np.arange(len(at), dtype=np.int64),
            starts=self.starts.take(at),
            times=self.times.take(at),
            tags=self.tags.take(at, axis=1),
            cells=self.cells.take(at, axis=1),
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
                cuts = portions(m, order[begin:end])
                for first, last in pairwise(cuts.tolist()):
                    chosen = order[begin + first : begin + last]
                    yield _found(memory, look, labels, chosen)
    finally:
        drop_matches(m, 0)


@compiled
def portions(m: int, chosen: Ints) -> Ints:
    """Where to cut matches, so that each part stands for so many composite events or one match."""
    cuts, count, found = np.zeros(len(chosen) + 1, np.int64), 0, 0
    for at in range(len(chosen)):
        own = ints(m, MATCH_HIGH)[chosen[at]] - ints(m, MATCH_LOW)[chosen[at]]
        if found > 0 and found + own > PORTION:
            count, found = count + 1, 0
            cuts[count] = at
        found += own
    cuts[count + 1] = len(chosen)
    return cuts[: count + 2]


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
    rules, matches, origins = spread_rules(m, chosen)
    starts, times, constituents = fixed_heads(m, chosen, look.point, width)
    tags_, cells = fixed_values(m, chosen, look.places, look.kind_codes)
    made, shown = origins if len(origins) else None, labels or ("",) * width
    heads = rules, matches, starts, times, made
    found = Found(*heads, look.names, tags_, cells, shown, constituents)
    return (found if labels is not None else _labelled(found, m, chosen)).take(rules >= 0)


def _labelled(found: Found, m: int, chosen: Ints) -> Found:
    """The same for rules that call their constituents differently: a label for each of them."""
    width = len(found.labels)
    return replace(
        found,
        labels=(),
        constituents=np.ascontiguousarray(found.constituents.T).reshape(-1),
        offsets=np.arange(0, width * len(chosen) + 1, width, dtype=np.int64),
        label_codes=fixed_labels(m, chosen, width).reshape(-1),
    )


@compiled
def spread_rules(m: int, chosen: Ints) -> tuple[Ints, Ints, Ints]:
    """Rule, match and origin of every composite event; there are none for rules that were removed.

    Origins are left out where nobody listens.
    """
    lows, highs, all_made = ints(m, MATCH_LOW), ints(m, MATCH_HIGH), ints(m, MATCH_MADE)
    total, any_made = 0, False
    for match in chosen:
        total += highs[match] - lows[match]
        any_made = any_made or all_made[match] != 0
    rules, matches = np.empty(total, np.int64), np.empty(total, np.int64)
    origins = np.empty(total if any_made else 0, np.int64)
    members, at = ints(m, MEMBER_RULE), 0
    for number in range(len(chosen)):
        match = chosen[number]
        low, high, made = lows[match], highs[match], all_made[match]
        begin = ints(m, FAMILY_MEMBERS)[ints(m, MATCH_FAMILY)[match]]
        for member in range(low, high):
            rules[at] = members[begin + member]
            matches[at] = number
            if any_made:
                origins[at] = made - (member - low) if made != 0 else 0
            at += 1
    return rules, matches, origins


@compiled
def fixed_labels(m: int, chosen: Ints, width: int) -> Ints:
    """The codes of the labels of every match."""
    codes = np.empty((len(chosen), width), np.int64)
    for at in range(len(chosen)):
        first = ints(m, MATCH_ROWS)[chosen[at]]
        for depth in range(width):
            codes[at, depth] = ints(m, MATCH_LABEL)[first + depth]
    return codes


@compiled
def fixed_heads(m: int, chosen: Ints, point: bool, width: int) -> tuple[Ints, Ints, Ints]:
    """Interval and constituents of every match."""
    starts, times = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    constituents = np.empty((width, len(chosen)), np.int64)
    row_starts, row_origins, rows = ints(m, ROW_START), ints(m, ROW_ORIGIN), ints(m, MATCH_ROW)
    for at in range(len(chosen)):
        match = chosen[at]
        first, time = ints(m, MATCH_ROWS)[match], ints(m, MATCH_TIME)[match]
        start = time
        for depth in range(width):
            row = rows[first + depth]
            if not point:
                start = min(start, row_starts[row])
            constituents[depth, at] = row_origins[row]
        starts[at], times[at] = start, time
    return starts, times, constituents


@compiled
def fixed_values(m: int, chosen: Ints, layout: Ints, kinds: Ints) -> tuple[Tags, Ints]:
    """The values of output attributes, gathered or computed, for every match."""
    width, rows = scalar(m, WIDTH), ints(m, MATCH_ROW)
    tags_out = np.empty((layout.shape[0], len(chosen)), np.uint8)
    cells_out = np.empty((layout.shape[0], len(chosen)), np.int64)
    for attribute in range(layout.shape[0]):
        position, source = layout[attribute, 0], layout[attribute, 1]
        for at in range(len(chosen)):
            match = chosen[at]
            if position >= 0:
                place = rows[ints(m, MATCH_ROWS)[match] + position] * width + source
                tag, cell = int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place]
                tag, cell = converted(tag, cell, kinds[attribute])
            else:
                place = ints(m, MATCH_VALUES)[match] + source
                tag, cell = ints(m, MATCH_TAG)[place], ints(m, MATCH_CELL)[place]
            tags_out[attribute, at] = tag
            cells_out[attribute, at] = cell
    return tags_out, cells_out


def _varied(memory: Memory, look: Look, chosen: Ints) -> Found:
    """Matches that have constituents of their own number."""
    m = memory.m
    rules, matches, origins = spread_rules(m, chosen)
    starts, times, offsets, parts, codes = varied_heads(m, chosen, look.point)
    found = Found(
        rules,
        matches,
        starts,
        times,
        origins if len(origins) else None,
        look.names,
        *varied_values(m, chosen, len(look.names)),
        (),
        parts,
        offsets,
        codes,
        look.failure,
    )
    return found.take(rules >= 0)
