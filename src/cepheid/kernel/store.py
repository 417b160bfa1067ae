"""The store: rows of events that the state refers to, shared by all strategies.

A row is an event from outside, a tick of a periodic timer, or a composite event. Cells lie row by
row, so that an event is one piece of memory. Rows are given up by `compaction`, once nothing
refers to them.
"""

from __future__ import annotations

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import NARROW, STORE, append, grow, ints, set_size, shorts, size, tags
from cepheid.kernel.values import MISSING

(
    SCALARS,
    ROW_END,
    ROW_START,
    ROW_ORIGIN,
    ROW_TYPE,
    ROW_MADE,
    ROW_TAGS,
    ROW_CELLS,
    MADE_RULE,
    MADE_DEPTH,
    MADE_PARTS,
    MADE_PARTS_END,
    PART_ROW,
    PART_LABEL,
    RANKS,
    LIVE,
    MOVED,
    RULE_RANK,
    TYPE_RANK,
    COMPARED,
) = range(STORE, STORE + 20)
"""`ROW_END` tells how many rows there are. `ROW_MADE` is -1 for events from outside, -2 for ticks,
else the number of the composite event, whose parts are in `PART_ROW` and `PART_LABEL`. `LIVE` and
`MOVED` serve compaction, `COMPARED` the total order."""
NARROW.update({ROW_TAGS: 1, LIVE: 1, ROW_MADE: 4})

(
    WIDTH,
    NOW,
    MADE,
    CUT,
    DEPTH_LIMIT,
    TICKS,
    DUE,
    KEPT,
    STARTED,
    STALE,
    CAUSED_LIMIT,
    FIRED,
) = range(12)
"""Numbers in `SCALARS`: columns of a row, the time, events made so far (their origins count down),
composite events cut, the depth limit, ticks so far, the next time at which something is due,
rows that compaction left, whether an event has come, when all that it left may have expired, after
how many composite events in waves no more are let in; while what timers caused comes in, their
instant."""
SCALAR_COUNT = 16

OUTSIDE, TICK = -1, -2
NEVER = 2**62


@inlined
def scalar(m: int, which: int) -> int:
    """One of the numbers of the whole kernel."""
    return int(ints(m, SCALARS)[which])


@inlined
def set_scalar(m: int, which: int, value: int) -> None:
    """Set one of the numbers of the whole kernel."""
    ints(m, SCALARS)[which] = value


@compiled
def _grow_rows(m: int, rows: int) -> None:
    width = scalar(m, WIDTH)
    for slot in (ROW_END, ROW_START, ROW_ORIGIN, ROW_TYPE):
        grow(m, slot, rows, 8)
    grow(m, ROW_MADE, rows, 4)
    grow(m, ROW_TAGS, ints(m, ROW_END).shape[0] * width, 1)
    grow(m, ROW_CELLS, ints(m, ROW_END).shape[0] * width, 8)


@inlined
def new_row(m: int, origin: int, type_: int, start: int, end: int, made: int) -> int:
    """A row for an event; its cells are whatever was there before."""
    row = size(m, ROW_END)
    if row == ints(m, ROW_END).shape[0]:
        _grow_rows(m, row + 1)
    set_size(m, ROW_END, row + 1)
    ints(m, ROW_END)[row] = end
    ints(m, ROW_START)[row] = start
    ints(m, ROW_ORIGIN)[row] = origin
    ints(m, ROW_TYPE)[row] = type_
    shorts(m, ROW_MADE)[row] = made
    return row


@inlined
def new_bare_row(m: int, origin: int, type_: int, start: int, end: int, made: int) -> int:
    """A row for an event of which no attribute is known."""
    row = new_row(m, origin, type_, start, end, made)
    row_tags, row_cells, width = tags(m, ROW_TAGS), ints(m, ROW_CELLS), scalar(m, WIDTH)
    for place in range(width * row, width * row + width):
        row_tags[place], row_cells[place] = MISSING, 0
    return row


@inlined
def new_origin(m: int) -> int:
    """The origin of an event that the kernel makes."""
    scalars = ints(m, SCALARS)
    scalars[MADE] += 1
    return -int(scalars[MADE])


# --- order -------------------------------------------------------------------


_PARTS = 2
"""Heads are alike: the constituents decide."""


@inlined
def _compare_heads(m: int, one: int, other: int) -> int:
    """-1, 0 or 1 by interval, depth and origin; `_PARTS` for composite events alike in these."""
    if one == other:
        return 0
    ends, starts = ints(m, ROW_END), ints(m, ROW_START)
    if ends[one] != ends[other]:
        return -1 if ends[one] < ends[other] else 1
    if starts[one] != starts[other]:
        return -1 if starts[one] < starts[other] else 1
    made1, made2 = shorts(m, ROW_MADE)[one], shorts(m, ROW_MADE)[other]
    if made1 < 0 or made2 < 0:
        if made1 < 0 and made2 < 0:
            return -1 if ints(m, ROW_ORIGIN)[one] < ints(m, ROW_ORIGIN)[other] else 1
        return -1 if made1 < 0 else 1
    depth1, depth2 = ints(m, MADE_DEPTH)[made1], ints(m, MADE_DEPTH)[made2]
    if depth1 != depth2:
        return -1 if depth1 < depth2 else 1
    return _PARTS


@compiled
def compare_rows(m: int, one: int, other: int) -> int:
    """-1, 0 or 1: the total order of events, as `cepheid.events.Order` has it.

    Events from outside come in the order of their origins. A composite event comes after what it
    is made of; those that are made equally deep follow the order of their constituents.
    """
    found = _compare_heads(m, one, other)
    return found if found != _PARTS else _compare_parts(m, one, other)


@compiled
def _compare_parts(m: int, one: int, other: int) -> int:
    """Compare composite events by their constituents, and theirs, until something differs.

    A stack of pairs and not recursion, because recursive compiled functions cannot be cached.
    """
    set_size(m, COMPARED, 0)
    _push_pair(m, one, other)
    while size(m, COMPARED) > 0:
        frame = ints(m, COMPARED)[size(m, COMPARED) - 5 : size(m, COMPARED)]
        made1, made2 = shorts(m, ROW_MADE)[frame[0]], shorts(m, ROW_MADE)[frame[1]]
        left1 = ints(m, MADE_PARTS_END)[made1] - frame[2]
        left2 = ints(m, MADE_PARTS_END)[made2] - frame[3]
        if left1 == 0 or left2 == 0:
            found = _compare_names(m, frame[0], frame[1]) if left1 == left2 else left1 - left2
            set_size(m, COMPARED, size(m, COMPARED) - 5)
        else:
            row1, row2 = ints(m, PART_ROW)[frame[2]], ints(m, PART_ROW)[frame[3]]
            found = 0 if frame[4] else _compare_heads(m, row1, row2)
            if found == _PARTS:
                frame[4] = 1
                _push_pair(m, row1, row2)
                continue
            if found == 0:
                label1, label2 = ints(m, PART_LABEL)[frame[2]], ints(m, PART_LABEL)[frame[3]]
                found = ints(m, RANKS)[label1] - ints(m, RANKS)[label2]
            frame[2], frame[3], frame[4] = frame[2] + 1, frame[3] + 1, 0
        if found != 0:
            return -1 if found < 0 else 1
    return 0


@inlined
def _push_pair(m: int, one: int, other: int) -> None:
    append(m, COMPARED, one)
    append(m, COMPARED, other)
    append(m, COMPARED, ints(m, MADE_PARTS)[shorts(m, ROW_MADE)[one]])
    append(m, COMPARED, ints(m, MADE_PARTS)[shorts(m, ROW_MADE)[other]])
    append(m, COMPARED, 0)


@inlined
def _compare_names(m: int, one: int, other: int) -> int:
    type1, type2 = ints(m, ROW_TYPE)[one], ints(m, ROW_TYPE)[other]
    if type1 != type2:
        return int(ints(m, TYPE_RANK)[type1] - ints(m, TYPE_RANK)[type2])
    rule1 = ints(m, MADE_RULE)[shorts(m, ROW_MADE)[one]]
    rule2 = ints(m, MADE_RULE)[shorts(m, ROW_MADE)[other]]
    return int(ints(m, RULE_RANK)[rule1] - ints(m, RULE_RANK)[rule2])


@inlined
def precedes(m: int, one: int, other: int) -> bool:
    """Whether one event comes before another in the total order."""
    return compare_rows(m, one, other) < 0


# --- compaction --------------------------------------------------------------


@compiled
def begin_compaction(m: int) -> None:
    """Nothing is alive until somebody says so."""
    rows = size(m, ROW_END)
    grow(m, LIVE, rows, 1)
    tags(m, LIVE)[:rows] = 0


@inlined
def keep(m: int, row: int) -> None:
    """Say that a row is still needed."""
    tags(m, LIVE)[row] = 1


@compiled
def finish_compaction(m: int) -> int:
    """Give up rows that nobody needs; `MOVED` tells where each row went. How many are gone."""
    rows, width = size(m, ROW_END), scalar(m, WIDTH)
    _keep_parts(m, rows)
    grow(m, MOVED, rows, 8)
    live, moved = tags(m, LIVE), ints(m, MOVED)
    made, cells, cell_tags = shorts(m, ROW_MADE), ints(m, ROW_CELLS), tags(m, ROW_TAGS)
    ends, starts = ints(m, ROW_END), ints(m, ROW_START)
    origins, types = ints(m, ROW_ORIGIN), ints(m, ROW_TYPE)
    to = 0
    for row in range(rows):
        if live[row] == 0:
            moved[row] = -1
            continue
        moved[row] = to
        if to != row:
            ends[to], starts[to], made[to] = ends[row], starts[row], made[row]
            origins[to], types[to] = origins[row], types[row]
            for column in range(width):
                cells[to * width + column] = cells[row * width + column]
                cell_tags[to * width + column] = cell_tags[row * width + column]
        to += 1
    set_size(m, ROW_END, to)
    set_scalar(m, KEPT, to)
    _compact_made(m, to)
    return rows - to


@compiled
def _keep_parts(m: int, rows: int) -> None:
    """Parts of a composite event stay as long as it does: its place in the order needs them.

    Parts have been there before what they are part of, so one way back finds them all.
    """
    live, made, parts = tags(m, LIVE), shorts(m, ROW_MADE), ints(m, PART_ROW)
    for row in range(rows - 1, -1, -1):
        if live[row] and made[row] >= 0:
            for at in range(ints(m, MADE_PARTS)[made[row]], ints(m, MADE_PARTS_END)[made[row]]):
                live[parts[at]] = 1


@compiled
def _compact_made(m: int, rows: int) -> None:
    """Composite events that are left get new numbers, in the order of their rows."""
    made, moved = shorts(m, ROW_MADE), ints(m, MOVED)
    parts, labels = ints(m, PART_ROW), ints(m, PART_LABEL)
    begins, ends = ints(m, MADE_PARTS), ints(m, MADE_PARTS_END)
    rules, depths = ints(m, MADE_RULE), ints(m, MADE_DEPTH)
    to, part = 0, 0
    for row in range(rows):
        number = made[row]
        if number < 0:
            continue
        begin = part
        for at in range(begins[number], ends[number]):
            parts[part], labels[part] = moved[parts[at]], labels[at]
            part += 1
        begins[to], ends[to] = begin, part
        rules[to], depths[to] = rules[number], depths[number]
        made[row] = to
        to += 1
    for slot in (MADE_RULE, MADE_DEPTH, MADE_PARTS, MADE_PARTS_END):
        set_size(m, slot, to)
    set_size(m, PART_ROW, part)
    set_size(m, PART_LABEL, part)
