"""Few matches: what an event that comes alone causes, as one list of numbers.

Columns are made for many matches; for a few, making the columns would take most of the time.
"""

from __future__ import annotations

from struct import pack, unpack
from typing import TYPE_CHECKING

from cepheid.events import Value
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.matches import (
    FAMILY_MEMBERS,
    FAMILY_POINT,
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
from cepheid.kernel.memory import Memory, ints, size, tags
from cepheid.kernel.registry import FAILING, Look, Registry
from cepheid.kernel.store import RANKS, ROW_CELLS, ROW_ORIGIN, ROW_START, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.values import DOUBLE, INT, TEXT, Ints

if TYPE_CHECKING:
    from cepheid.kernel.texts import Texts

ROOM = 4096
"""How many numbers a list of few matches may have."""
HEAD = 6
"""Numbers before the values of a match: look, interval, and how many values, parts and rules."""


class Few:
    """A few matches to which no rule listens, one after the other in a list of numbers.

    A match has a head (see `HEAD`), tag and cell of each value, origin and label of each
    constituent in the order of origins and labels, and the numbers of its rules.
    """

    origins = None
    failure = False

    def __init__(self, numbers: list[int], looks: list[Look]) -> None:
        self.numbers = numbers
        self.looks = looks


def few(memory: Memory, registry: Registry, room: Ints) -> Few | None:
    """The matches that were written down, if they are few and simple; the room is free again."""
    layouts = registry.layout_begins, registry.layouts
    count = listed(memory.m, registry.look_of, *layouts, room)
    return Few(room[:count].tolist(), registry.looks) if count >= 0 else None


def value(tag: int, cell: int, texts: Texts) -> Value:
    """The value of a cell that is not missing."""
    if tag == INT:
        return cell
    if tag == TEXT:
        return texts[cell]
    if tag == DOUBLE:
        (number,) = unpack("<d", pack("<q", cell))
        return float(number)
    return bool(cell)


@compiled
def listed(m: int, look_of: Ints, begins: Ints, layouts: Ints, out: Ints) -> int:
    """Write all matches down one after the other; -1 when they are too many, or not simple.

    Not simple are composite events to which rules listen, and failures.
    """
    count, to = match_count(m), 0
    rows, labels, rules = ints(m, MATCH_ROW), ints(m, MATCH_LABEL), ints(m, MEMBER_RULE)
    width = scalar(m, WIDTH)
    for match in range(count):
        family = ints(m, MATCH_FAMILY)[match]
        look = look_of[family]
        layout, layout_end = begins[look], begins[look + 1]
        first = ints(m, MATCH_ROWS)[match]
        end = size(m, MATCH_ROW) if match + 1 == count else ints(m, MATCH_ROWS)[match + 1]
        low, high = ints(m, MATCH_LOW)[match], ints(m, MATCH_HIGH)[match]
        needed = HEAD + 2 * (layout_end - layout) + 2 * (end - first) + high - low
        if to + needed > len(out) or ints(m, MATCH_MADE)[match] != 0:
            return -1
        head, time = to, ints(m, MATCH_TIME)[match]
        start = time
        to += HEAD
        for number in range(layout, layout_end):
            position, source, kind = layouts[number]
            if kind == FAILING:
                return -1
            if position >= 0:
                place = rows[first + position] * width + source
                tag, cell = int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place]
                tag, cell = converted(tag, cell, kind)
            else:
                place = ints(m, MATCH_VALUES)[match] + source
                tag, cell = ints(m, MATCH_TAG)[place], ints(m, MATCH_CELL)[place]
            out[to], out[to + 1] = tag, cell
            to += 2
        parts = to
        for at in range(first, end):
            row = rows[at]
            start = min(start, ints(m, ROW_START)[row])
            _insert(out, parts, to, ints(m, ROW_ORIGIN)[row], labels[at], ints(m, RANKS))
            to += 2
        begin, before = ints(m, FAMILY_MEMBERS)[family], to
        for member in range(begin + low, begin + high):
            if rules[member] >= 0:
                out[to] = rules[member]
                to += 1
        out[head], out[head + 1], out[head + 2] = look, start, time
        if ints(m, FAMILY_POINT)[family]:
            out[head + 1] = time
        out[head + 3], out[head + 4], out[head + 5] = layout_end - layout, end - first, to - before
    drop_matches(m, 0)
    return to


@inlined
def _insert(out: Ints, begin: int, to: int, origin: int, label: int, ranks: Ints) -> None:
    """Put a constituent among those before it, in the order of origins and then of labels."""
    while to > begin:
        before, other = out[to - 2], out[to - 1]
        if before < origin or (before == origin and ranks[other] <= ranks[label]):
            break
        out[to], out[to + 1] = before, other
        to -= 2
    out[to], out[to + 1] = origin, label
