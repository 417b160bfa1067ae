"""Matches as columns: what leaves the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

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
)
from cepheid.kernel.memory import Memory, ints, tags
from cepheid.kernel.registry import Gathered, Registry, Shape
from cepheid.kernel.store import ROW_CELLS, ROW_END, ROW_ORIGIN, ROW_START, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.values import Ints, Tags


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


def drained(memory: Memory, registry: Registry) -> Iterator[Found]:
    """The matches that were written down, family by family; the room is free again."""
    families = memory.get(MATCH_FAMILY)
    if len(families) == 0:
        return
    order = np.argsort(families, kind="stable")
    counts = np.bincount(families, minlength=len(registry.shapes))
    found = []
    begin = 0
    for family in np.flatnonzero(counts):
        end = begin + int(counts[family])
        if registry.failures or not registry.shapes[family].failure:
            found.append(_found(memory, registry, int(family), order[begin:end]))
        begin = end
    for slot in range(MATCH_FAMILY, MATCH_CELL + 1):
        memory.m[3 * slot + 1] = 0
    yield from found


def _found(memory: Memory, registry: Registry, family: int, chosen: Ints) -> Found:
    shape = registry.shapes[family]
    lows, highs = memory.view(MATCH_LOW)[chosen], memory.view(MATCH_HIGH)[chosen]
    begin = int(memory.view(FAMILY_MEMBERS)[family])
    if shape.labels is None:
        return _varied(memory, registry, family, chosen)
    total = int((highs - lows).sum())
    width, count = len(shape.labels), len(shape.names)
    found = Found(
        np.empty(total, np.int64),
        np.empty(total, np.int64),
        np.empty(total, np.int64),
        np.empty(total, np.int64) if memory.view(MATCH_MADE)[chosen].any() else None,
        shape.names,
        np.empty((count, total), np.uint8),
        np.empty((count, total), np.int64),
        shape.labels,
        np.empty((width, total), np.int64),
    )
    _spread_heads(
        memory.m,
        chosen,
        begin,
        shape.point,
        width,
        found.rules,
        found.starts,
        found.times,
        found.origins if found.origins is not None else found.rules[:0],
        found.constituents,
    )
    _spread_values(
        memory.m,
        chosen,
        _layout(shape.layout),
        np.array(shape.kinds, np.int64),
        found.tags,
        found.cells,
    )
    return _without_removed(found) if None in _rules_of(registry, shape) else found


def _rules_of(registry: Registry, shape: Shape) -> list[object]:
    return [registry.rules[number] for number in shape.members]


def _layout(layout: tuple[Gathered | None, ...]) -> Ints:
    """Where values come from: position and column, or -1 and the number of a computed value."""
    rows, computed = [], 0
    for place in layout:
        if place is None:
            rows.append((-1, computed))
            computed += 1
        else:
            rows.append((place.position, place.column))
    return np.array(rows, np.int64).reshape(-1, 2)


@compiled
def _spread_heads(
    m: Ints,
    chosen: Ints,
    begin: int,
    point: bool,
    width: int,
    rules: Ints,
    starts: Ints,
    times: Ints,
    origins: Ints,
    constituents: Ints,
) -> None:
    """Rule, interval, origin and constituents of every match, once per member."""
    members, row_starts, row_origins = ints(m, MEMBER_RULE), ints(m, ROW_START), ints(m, ROW_ORIGIN)
    rows = ints(m, MATCH_ROW)
    at = 0
    for match in chosen:
        low, high = ints(m, MATCH_LOW)[match], ints(m, MATCH_HIGH)[match]
        first, time = ints(m, MATCH_ROWS)[match], ints(m, MATCH_TIME)[match]
        start, made = time, ints(m, MATCH_MADE)[match]
        for depth in range(width):
            row = rows[first + depth]
            if not point:
                start = min(start, row_starts[row])
            origin = row_origins[row]
            constituents[depth, at : at + high - low] = origin
        for member in range(low, high):
            place = at + member - low
            rules[place] = members[begin + member]
            starts[place] = start
            times[place] = time
            if origins.shape[0] > 0:
                origins[place] = made - (member - low) if made != 0 else 0
        at += high - low


@compiled
def _spread_values(
    m: Ints, chosen: Ints, layout: Ints, kinds: Ints, tags_out: Tags, cells_out: Ints
) -> None:
    """The values of output attributes, gathered or computed, once per member."""
    width, rows = scalar(m, WIDTH), ints(m, MATCH_ROW)
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


def _varied(memory: Memory, registry: Registry, family: int, matches: Ints) -> Found:
    """Matches that have constituents of their own number, once per member."""
    shape = registry.shapes[family]
    counts = (memory.view(MATCH_HIGH) - memory.view(MATCH_LOW))[matches]
    chosen = np.repeat(matches, counts)
    nth = np.arange(len(chosen)) - np.repeat(np.cumsum(counts) - counts, counts)
    members = memory.view(FAMILY_MEMBERS)[family] + memory.view(MATCH_LOW)[chosen] + nth
    rules = memory.view(MEMBER_RULE)[members]
    chosen, nth, rules = chosen[rules >= 0], nth[rules >= 0], rules[rules >= 0]
    begins = np.append(memory.view(MATCH_ROWS), memory.count(MATCH_ROW))
    first, lengths = begins[chosen], np.diff(begins)[chosen]
    offsets = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    places = np.repeat(first - offsets[:-1], lengths) + np.arange(offsets[-1])
    rows = memory.view(MATCH_ROW)[places]
    times = memory.view(MATCH_TIME)[chosen]
    starts = times
    if not shape.point and len(chosen):
        starts = np.minimum.reduceat(_column(memory, ROW_START)[rows], offsets[:-1])
    made = memory.view(MATCH_MADE)[chosen]
    values = memory.view(MATCH_VALUES)[chosen] + np.arange(len(shape.names))[:, None]
    return Found(
        rules,
        starts,
        times,
        made - nth if made.any() else None,
        shape.names,
        memory.view(MATCH_TAG)[values].astype(np.uint8),
        memory.view(MATCH_CELL)[values],
        (),
        _column(memory, ROW_ORIGIN)[rows],
        offsets,
        memory.view(MATCH_LABEL)[places],
        shape.failure,
    )


def _column(memory: Memory, slot: int) -> Ints:
    """A slot of rows, which are counted by their ends alone."""
    memory.m[3 * slot + 1] = memory.count(ROW_END)
    return memory.view(slot)


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
