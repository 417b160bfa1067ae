"""The search for an assignment: a collection's body as steps, walked with backtracking.

The steps follow the text, each constraint tries its oldest candidates first, so that the first
assignment that contains the new event and fits is the one that the oracle finds (LAIPE, section
3.2). Branches that cannot contain the new event any more are cut: the last constraint that can
take it must take it, which for most rules leaves one candidate there.
"""

from __future__ import annotations

from cepheid.kernel.collect_state import (
    ABSENT,
    ALWAYS,
    BRANCH,
    ENTRY,
    ENTRY_NUMBER,
    ENTRY_START,
    ENTRY_TOP,
    ENTRY_WIDTH,
    FAILED,
    FRAME,
    HOLE,
    LEAF,
    LEAST,
    LIST,
    LIST_HEAD,
    LIST_TAIL,
    LIST_WIDTH,
    MARK,
    PLAN,
    PLAN_ALWAYS,
    PLAN_ALWAYS_END,
    PLAN_LEAVES,
    PLAN_LENGTH,
    PLAN_SLACK,
    PLAN_STEP,
    PLAN_WIDTH,
    PLAN_WINDOW,
    SEARCH,
    SET_ASIDE,
    STEP,
    TIME,
    TRAIL,
    USED,
)
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import floats, grow, ints, tags
from cepheid.kernel.programs import holds, value_of
from cepheid.kernel.store import RANKS, ROW_CELLS, ROW_END, ROW_START, ROW_TAGS, WIDTH, scalar
from cepheid.kernel.sums import (
    SUM_PARTS,
    SUM_STATE,
    add_to_sum,
    begin_sum,
    end_sum,
)
from cepheid.kernel.values import BOOL, DOUBLE, MISSING, Ints, Tags, as_float, related

TRY_LIMIT = 100_000
"""How many assignments are tried for one event. The oracle counts those without the event too."""
STEP_LIMIT = 20_000_000
"""How many choices are made for one event: a bound for searches that reach no assignment."""

CHOOSE, SPLIT, JUMP, BEGIN, END, FORBID, DONE = range(7)
STEP_KIND, STEP_FIRST, STEP_SECOND, STEP_THIRD, STEP_REACH = range(5)
STEP_WIDTH = 5
"""Steps. CHOOSE: a leaf, and the mark after which its events start. SPLIT: where the branches are
listed, from and to. JUMP: where to. BEGIN: a mark for the length of the trail. END: that mark, the
mark that held before, and the mark for the latest end of what was taken in between. FORBID: an
absence. The reach of a step are the bits of the leaves that can still come, itself included."""

(
    LEAF_KIND,
    LEAF_SHARED,
    LEAF_COUNT,
    LEAF_PROGRAM,
    LEAF_FUNCTION,
    LEAF_COLUMN,
    LEAF_RELATION,
    LEAF_LABEL,
) = range(8)
LEAF_WIDTH = 8
TAKE, ACCUMULATE, PICK = range(3)

FRAME_STEP, FRAME_TRAIL, FRAME_ABSENT, FRAME_HAS, FRAME_BRANCH = range(5)
FRAME_WIDTH = 5
"""Frames: the choices made so far. What was taken and forbidden before, whether the new event was
among it, the branch that was taken."""

(
    NEW_ROW,
    NEW_BITS,
    LOW,
    FIRST,
    FLOOR,
    FIRST_LIST,
    FIRST_LEAF,
    UNMET,
    FRAMES,
    TAKEN_COUNT,
    STAMP,
) = range(11)
SEARCH_WIDTH = 11
"""Numbers of the search in `SEARCH`: the new event and the leaves that it satisfies, the earliest
start and the first number in the window, the earliest end that absences allow, where lists and
leaves begin, what a comparison with nothing gives; and what was found: frames and events."""

FAILED_STAMP, FAILED_FROM, FAILED_BELOW, FAILED_FORCED = range(4)
FAILED_WIDTH = 4
NOTHING, FOUND, LIMIT = range(3)
_SUM_PARTS_COUNT, _SUM_PARTS_FIRST = 6, 2


@compiled
def search(m: Ints, plan: int) -> int:
    """Find the first assignment that contains the new event and fits; `TRAIL` holds it."""
    steps, frames = ints(m, STEP), ints(m, FRAME)
    marks, absents, search_ = ints(m, MARK), ints(m, ABSENT), ints(m, SEARCH)
    new, bits = search_[NEW_ROW], search_[NEW_BITS]
    search_[STAMP] += 1
    step = STEP_WIDTH * ints(m, PLAN)[PLAN_WIDTH * plan + PLAN_STEP]
    depth = trail = absent = tries = choices = 0
    has, forward = False, True
    marks[0] = LEAST
    while True:
        if forward:
            kind = steps[step]
            if kind >= JUMP:
                first = steps[step + STEP_FIRST]
                step += STEP_WIDTH
                if kind == JUMP:
                    step = STEP_WIDTH * first
                elif kind == BEGIN:
                    marks[first] = trail
                elif kind == END:
                    before = marks[steps[step - STEP_WIDTH + STEP_SECOND]]
                    latest = _latest_end(m, marks[first], trail, before)
                    marks[steps[step - STEP_WIDTH + STEP_THIRD]] = latest
                elif kind == FORBID:
                    absents[absent] = first
                    absent += 1
                else:
                    tries += 1
                    if tries > TRY_LIMIT:
                        _clear(m, 0, trail)
                        return LIMIT
                    if has and _fits(m, plan, trail, absent):
                        search_[FRAMES], search_[TAKEN_COUNT] = depth, trail
                        _clear(m, 0, trail)
                        return FOUND
                    forward = False
                continue
            frame = FRAME_WIDTH * depth
            frames[frame], frames[frame + FRAME_TRAIL] = step, trail
            frames[frame + FRAME_ABSENT], frames[frame + FRAME_HAS] = absent, has
            frames[frame + FRAME_BRANCH] = -1
            depth += 1
        else:
            if depth == 0:
                return NOTHING
            frame = FRAME_WIDTH * (depth - 1)
            _clear(m, frames[frame + FRAME_TRAIL], trail)
            step, trail = frames[frame], frames[frame + FRAME_TRAIL]
            absent, has = frames[frame + FRAME_ABSENT], frames[frame + FRAME_HAS] != 0
        choices += 1
        if choices == STEP_LIMIT:
            _clear(m, 0, trail)
            return LIMIT
        if steps[step] == SPLIT:
            branch = frames[frame + FRAME_BRANCH] + 1
            count = steps[step + STEP_SECOND] - steps[step + STEP_FIRST]
            target = 0
            while branch < count:
                target = STEP_WIDTH * ints(m, BRANCH)[steps[step + STEP_FIRST] + branch]
                if has or (steps[target + STEP_REACH] & bits) != 0:
                    break
                branch += 1
            forward = branch < count
            frames[frame + FRAME_BRANCH] = branch
            if forward:
                step = target
            else:
                depth -= 1
            continue
        taken = 0
        if has or (steps[step + STEP_REACH] & bits) != 0:
            forced = not has and (steps[step + STEP_WIDTH + STEP_REACH] & bits) == 0
            after = marks[steps[step + STEP_SECOND]]
            taken = _choose(m, steps[step + STEP_FIRST], after, forced, trail, forward)
        forward = taken > 0
        if forward:
            has = _use(m, trail, taken, new) or has
            trail += taken
            step += STEP_WIDTH
        else:
            depth -= 1


@inlined
def _use(m: Ints, trail: int, taken: int, new: int) -> bool:
    """Mark events as used; whether the newest of them is the new one."""
    entries, places, used = ints(m, ENTRY), ints(m, TRAIL), tags(m, USED)
    for at in range(trail, trail + taken):
        used[entries[places[at]]] = 1
    return bool(entries[places[trail + taken - 1]] == new)


@inlined
def _clear(m: Ints, begin: int, end: int) -> None:
    """Events that were used up to now are free again."""
    entries, places, used = ints(m, ENTRY), ints(m, TRAIL), tags(m, USED)
    for at in range(begin, end):
        used[entries[places[at]]] = 0


@inlined
def _latest_end(m: Ints, begin: int, end: int, otherwise: int) -> int:
    """The latest end of a part of the trail; of nothing, another time."""
    entries, places, ends = ints(m, ENTRY), ints(m, TRAIL), ints(m, ROW_END)
    if begin == end:
        return otherwise
    latest = LEAST
    for at in range(begin, end):
        latest = max(latest, ends[entries[places[at]]])
    return latest


# --- candidates --------------------------------------------------------------


@inlined
def _is_free(
    entries: Ints, used: Tags, at: int, low: int, first: int, after: int, shared: bool
) -> bool:
    """Whether a constraint may take an entry."""
    row, start = entries[at], entries[at + ENTRY_START]
    if row == HOLE or start < low or start <= after or entries[at + ENTRY_NUMBER] < first:
        return False
    return not (shared and used[row] != 0)


@compiled
def _choose(m: Ints, leaf: int, after: int, forced: bool, trail: int, fresh: bool) -> int:
    """Put the first (or the next) candidate of a constraint on the trail; how many events it has.

    Where it is forced, candidates without the new event are left out.
    """
    leaves, search_ = ints(m, LEAF), ints(m, SEARCH)
    base = LEAF_WIDTH * (search_[FIRST_LEAF] + leaf)
    list_ = LIST_WIDTH * (search_[FIRST_LIST] + leaf)
    kind = leaves[base]
    if kind == TAKE:
        return _take(m, base, list_, after, forced, trail, fresh)
    if not fresh:
        return 0
    if kind == PICK:
        return _pick(m, base, list_, after, forced, trail)
    return _accumulate(m, leaf, base, list_, after, forced, trail)


@inlined
def _first_after(m: Ints, list_: int, after: int, floor: int) -> int:
    """Where in a list events may begin to start after a time and end no earlier than another."""
    lists, entries = ints(m, LIST), ints(m, ENTRY)
    low, high = lists[list_ + LIST_HEAD] // ENTRY_WIDTH, lists[list_ + LIST_TAIL] // ENTRY_WIDTH
    wanted = max(after + 1, floor)
    if wanted > LEAST + 1:
        while low < high:
            middle = (low + high) // 2
            if entries[ENTRY_WIDTH * middle + ENTRY_TOP] < wanted:
                low = middle + 1
            else:
                high = middle
    return int(ENTRY_WIDTH * low)


@compiled
def _take(m: Ints, base: int, list_: int, after: int, forced: bool, trail: int, fresh: bool) -> int:
    """The oldest events; neighbours suffice unless constraints share a type."""
    leaves = ints(m, LEAF)
    count, shared = int(leaves[base + LEAF_COUNT]), leaves[base + LEAF_SHARED] != 0
    grow(m, TRAIL, trail + count, 8)
    end, places = ints(m, LIST)[list_ + LIST_TAIL], ints(m, TRAIL)
    choosing = count
    if forced:
        if (not fresh and (count == 1 or not shared)) or not _ends_with_new(m, list_, after):
            return 0
        end -= ENTRY_WIDTH
        places[trail + count - 1] = end
        choosing -= 1
        if not shared:
            return count if _fill_back(m, list_, trail, choosing, end, after) else 0
    if fresh:
        at = _first_after(m, list_, after, ints(m, SEARCH)[FLOOR])
        return count if _fill(m, trail, 0, choosing, at, end, after, shared) else 0
    place = choosing - 1 if shared else 0
    while place >= 0:
        at = places[trail + place] + ENTRY_WIDTH
        if _fill(m, trail, place, choosing, at, end, after, shared):
            return count
        place -= 1
    return 0


@inlined
def _ends_with_new(m: Ints, list_: int, after: int) -> bool:
    """Whether the new event is in a list, where it is the last one, and starts after a time."""
    lists, entries = ints(m, LIST), ints(m, ENTRY)
    at = lists[list_ + LIST_TAIL] - ENTRY_WIDTH
    return bool(
        at >= lists[list_ + LIST_HEAD]
        and entries[at] == ints(m, SEARCH)[NEW_ROW]
        and entries[at + ENTRY_START] > after
    )


@compiled
def _fill(
    m: Ints, trail: int, place: int, count: int, at: int, end: int, after: int, shared: bool
) -> bool:
    """Let the places of a candidate from one on be the next free events."""
    entries, places, used = ints(m, ENTRY), ints(m, TRAIL), tags(m, USED)
    search_ = ints(m, SEARCH)
    low, first = search_[LOW], search_[FIRST]
    while place < count:
        while at < end and not _is_free(entries, used, at, low, first, after, shared):
            at += ENTRY_WIDTH
        if at >= end:
            return False
        places[trail + place] = at
        at += ENTRY_WIDTH
        place += 1
    return True


@compiled
def _fill_back(m: Ints, list_: int, trail: int, place: int, at: int, after: int) -> bool:
    """Let the places of a candidate before one be the free events before the new one."""
    entries, places, used = ints(m, ENTRY), ints(m, TRAIL), tags(m, USED)
    search_, head = ints(m, SEARCH), ints(m, LIST)[list_ + LIST_HEAD]
    low, first, floor = search_[LOW], search_[FIRST], search_[FLOOR]
    while place > 0:
        at -= ENTRY_WIDTH
        if at < head or entries[at + ENTRY_TOP] <= after or entries[at + ENTRY_TOP] < floor:
            return False
        if _is_free(entries, used, at, low, first, after, False):
            place -= 1
            places[trail + place] = at
    return True


@compiled
def _pick(m: Ints, base: int, list_: int, after: int, forced: bool, trail: int) -> int:
    """The i-th event of the window, from the front or from the back."""
    leaves, entries, search_ = ints(m, LEAF), ints(m, ENTRY), ints(m, SEARCH)
    head, tail = ints(m, LIST)[list_ + LIST_HEAD], ints(m, LIST)[list_ + LIST_TAIL]
    index, program = leaves[base + LEAF_COUNT], leaves[base + LEAF_PROGRAM]
    at, way, left = (head, ENTRY_WIDTH, index) if index > 0 else (tail, -ENTRY_WIDTH, -index)
    if index < 0:
        at -= ENTRY_WIDTH
    low, first, used = search_[LOW], search_[FIRST], tags(m, USED)
    while head <= at < tail:
        left -= 1 if _is_free(entries, used, at, low, first, LEAST, False) else 0
        if left == 0:
            break
        at += way
    if left > 0:
        return 0
    row = entries[at]
    if used[row] != 0 or entries[at + ENTRY_START] <= after:
        return 0
    if (forced and row != search_[NEW_ROW]) or ints(m, ROW_END)[row] < search_[FLOOR]:
        return 0
    if program >= 0 and not holds(m, program, row, search_[UNMET] != 0):
        return 0
    grow(m, TRAIL, trail + 1, 8)
    ints(m, TRAIL)[trail] = at
    return 1


@compiled
def _accumulate(
    m: Ints, leaf: int, base: int, list_: int, after: int, forced: bool, trail: int
) -> int:
    """The oldest events, as soon as a function over them satisfies the bound."""
    leaves, search_, failed = ints(m, LEAF), ints(m, SEARCH), ints(m, FAILED)
    shared = leaves[base + LEAF_SHARED] != 0
    memo = FAILED_WIDTH * leaf
    if (
        failed[memo] == search_[STAMP]
        and failed[memo + FAILED_FROM] <= after < failed[memo + FAILED_BELOW]
        and (forced or failed[memo + FAILED_FORCED] == 0)
    ):
        return 0
    unmet, program = search_[UNMET] != 0, leaves[base + LEAF_PROGRAM]
    limit_tag, limit, limit_number = value_of(m, program, search_[NEW_ROW], unmet)
    if limit_tag == MISSING:
        return 0
    low, first, new = search_[LOW], search_[FIRST], search_[NEW_ROW]
    function, relation = leaves[base + LEAF_FUNCTION], leaves[base + LEAF_RELATION]
    column, width = leaves[base + LEAF_COLUMN], scalar(m, WIDTH)
    at, tail = _first_after(m, list_, after, LEAST), ints(m, LIST)[list_ + LIST_TAIL]
    grow(m, TRAIL, trail + (tail - at) // ENTRY_WIDTH, 8)
    entries, places, used = ints(m, ENTRY), ints(m, TRAIL), tags(m, USED)
    taken, earliest = 0, -LEAST
    begin_sum(m)
    while at < tail:
        if _is_free(entries, used, at, low, first, after, shared):
            row = entries[at]
            if taken == 0 and entries[at + ENTRY_TOP] < search_[FLOOR]:
                return 0
            places[trail + taken] = at
            taken += 1
            earliest = min(earliest, entries[at + ENTRY_START])
            if column < 0:
                add_to_sum(m, function, BOOL, 1)
            else:
                cell = row * width + column
                tag = int(tags(m, ROW_TAGS)[cell])
                add_to_sum(m, function, tag, ints(m, ROW_CELLS)[cell])
            tag, value = _sum_so_far(m, function)
            number = as_float(value) if tag == DOUBLE else 0.0
            if tag != MISSING and related(
                relation, tag, value, number, limit_tag, limit, limit_number, ints(m, RANKS)
            ):
                return taken if not forced or row == new else 0
        at += ENTRY_WIDTH
    if not shared:
        # Until another of these events starts, it fails the same way after later times.
        failed[memo], failed[memo + FAILED_FORCED] = search_[STAMP], forced
        failed[memo + FAILED_FROM], failed[memo + FAILED_BELOW] = after, earliest
    return 0


@inlined
def _sum_so_far(m: Ints, function: int) -> tuple[int, int]:
    """The aggregate so far; its parts are set aside, because the end of a sum uses them up."""
    parts, aside = floats(m, SUM_PARTS), floats(m, SET_ASIDE)
    count = ints(m, SUM_STATE)[_SUM_PARTS_COUNT]
    for at in range(count):
        aside[at] = parts[_SUM_PARTS_FIRST + at]
    tag, value = end_sum(m, function)
    for at in range(count):
        parts[_SUM_PARTS_FIRST + at] = aside[at]
    return tag, value


# --- the whole assignment ----------------------------------------------------


@compiled
def _fits(m: Ints, plan: int, trail: int, absent: int) -> bool:
    """Whether the whole match lies in its window and nothing is there that must not be."""
    plans, entries, places = ints(m, PLAN), ints(m, ENTRY), ints(m, TRAIL)
    starts, ends = ints(m, ROW_START), ints(m, ROW_END)
    begin, first_end, end, last_start = -LEAST, -LEAST, LEAST, LEAST
    for at in range(trail):
        row = entries[places[at]]
        begin, first_end = min(begin, starts[row]), min(first_end, ends[row])
        # The last event is that of the latest end; of several, the one that starts latest.
        if ends[row] > end or (ends[row] == end and starts[row] > last_start):
            end, last_start = ends[row], starts[row]
    window = plans[PLAN_WIDTH * plan + PLAN_WINDOW]
    if window == TIME and end - begin > plans[PLAN_WIDTH * plan + PLAN_LENGTH]:
        return False
    first = ints(m, SEARCH)[FIRST_LIST] + plans[PLAN_WIDTH * plan + PLAN_LEAVES]
    for at in range(absent):
        if _occurs(m, LIST_WIDTH * (first + ints(m, ABSENT)[at]), first_end, last_start):
            return False
    return True


@compiled
def _occurs(m: Ints, list_: int, after: int, until: int) -> bool:
    """Whether an event that is not used lies between two times."""
    lists, entries, ends = ints(m, LIST), ints(m, ENTRY), ints(m, ROW_END)
    used, at = tags(m, USED), lists[list_ + LIST_TAIL] - ENTRY_WIDTH
    while at >= lists[list_ + LIST_HEAD] and entries[at + ENTRY_TOP] > after:
        row = entries[at]
        starts_after = row != HOLE and entries[at + ENTRY_START] > after
        if starts_after and ends[row] < until and used[row] == 0:
            return True
        at -= ENTRY_WIDTH
    return False


@compiled
def floor_of(m: Ints, plan: int, first_list: int, start: int) -> int:
    """The earliest end that events of a match may have, given what must be absent in any case.

    Something that must be absent lies between every event that ends before it starts, and the new
    event that starts after it ends. This holds if no event can come after its end, and for what
    no constraint can take.
    """
    plans, lists, entries = ints(m, PLAN), ints(m, LIST), ints(m, ENTRY)
    base, floor, ends = PLAN_WIDTH * plan, LEAST, ints(m, ROW_END)
    if plans[base + PLAN_SLACK] > 0:
        return floor
    for which in range(plans[base + PLAN_ALWAYS], plans[base + PLAN_ALWAYS_END]):
        list_ = LIST_WIDTH * (first_list + plans[base + PLAN_LEAVES] + ints(m, ALWAYS)[which])
        at = lists[list_ + LIST_TAIL] - ENTRY_WIDTH
        while at >= lists[list_ + LIST_HEAD] and entries[at + ENTRY_TOP] > floor:
            row = entries[at]
            if row != HOLE and entries[at + ENTRY_NUMBER] != 0 and ends[row] < start:
                floor = max(floor, entries[at + ENTRY_START])
            at -= ENTRY_WIDTH
    return floor
