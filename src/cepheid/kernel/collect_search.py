"""The search for an assignment: a collection's body as steps, walked with backtracking.

The steps follow the text, each constraint tries its oldest candidates first, so that the first
assignment that contains the new event and fits is the one that the oracle finds (LAIPE, section
3.2). Branches that cannot contain the new event any more are cut: the last constraint that can
take it must take it, which for most rules leaves one candidate there.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.collect_choice import pick, take
from cepheid.kernel.collect_slots import (
    ABSENT,
    ALWAYS,
    BEGIN,
    BRANCH,
    CHOOSE,
    END,
    ENTRY,
    ENTRY_NUMBER,
    ENTRY_START,
    ENTRY_TOP,
    ENTRY_WIDTH,
    FAILS,
    FIRST_LEAF,
    FIRST_LIST,
    FORBID,
    FOUND,
    FRAME,
    FRAME_ABSENT,
    FRAME_BRANCH,
    FRAME_HAS,
    FRAME_TRAIL,
    FRAME_WIDTH,
    FRAMES,
    HOLE,
    HOPELESS,
    JUMP,
    LATE,
    LEAF,
    LEAF_COUNT,
    LEAF_SHARED,
    LEAF_WIDTH,
    LEAST,
    LIMIT,
    LIST,
    LIST_HEAD,
    LIST_TAIL,
    LIST_WIDTH,
    MARK,
    NEW_BITS,
    NEW_ROW,
    NO_OTHER,
    NOTHING,
    PICK,
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
    SPLIT,
    STAMP,
    STEP,
    STEP_FIRST,
    STEP_REACH,
    STEP_SECOND,
    STEP_THIRD,
    STEP_WIDTH,
    TAKE,
    TAKEN_COUNT,
    TIME,
    TRAIL,
    USED,
)
from cepheid.kernel.collect_state import plain
from cepheid.kernel.collect_sums import accumulate
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import ints, tags
from cepheid.kernel.store import ROW_END, ROW_START

TRY_LIMIT = 100_000
"""How many assignments are tried for one event. The oracle counts those without the event too."""
STEP_LIMIT = 20_000_000
"""How many choices are made for one event: a bound for searches that reach no assignment."""


@compiled
def search(m: int, plan: int) -> int:
    """Find the first assignment that contains the new event and fits; `TRAIL` holds it."""
    steps, frames = ints(m, STEP), ints(m, FRAME)
    marks, absents, search_ = ints(m, MARK), ints(m, ABSENT), ints(m, SEARCH)
    new, bits = search_[NEW_ROW], search_[NEW_BITS]
    search_[STAMP] += 1
    step = STEP_WIDTH * ints(m, PLAN)[PLAN_WIDTH * plan + PLAN_STEP]
    nothing = plain(0)
    depth = trail = absent = tries = choices = nothing
    has, forward = depth > 0, depth == 0
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
                        _clear(m, nothing, trail)
                        return LIMIT
                    if has and _fits(m, plan, trail, absent):
                        search_[FRAMES], search_[TAKEN_COUNT] = depth, trail
                        _clear(m, nothing, trail)
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
                _clear(m, nothing, trail)
                return NOTHING
            frame = FRAME_WIDTH * (depth - 1)
            _clear(m, frames[frame + FRAME_TRAIL], trail)
            step, trail = frames[frame], frames[frame + FRAME_TRAIL]
            absent, has = frames[frame + FRAME_ABSENT], frames[frame + FRAME_HAS] != 0
        choices += 1
        if choices == STEP_LIMIT:
            _clear(m, nothing, trail)
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
        forced = not has and (steps[step + STEP_WIDTH + STEP_REACH] & bits) == 0
        taken = FAILS
        if has or (steps[step + STEP_REACH] & bits) != 0:
            after = marks[steps[step + STEP_SECOND]]
            taken = _choose(m, steps[step + STEP_FIRST], after, forced, trail, forward)
        forward = taken > 0
        if forward:
            has = _use(m, trail, taken, new) or has
            trail += taken
            step += STEP_WIDTH
        else:
            depth -= 1
            if taken != NO_OTHER:
                depth = _jump_back(m, depth, step, forced, taken == HOPELESS)


@inlined
def _use(m: int, trail: int, taken: int, new: int) -> bool:
    """Mark events as used; whether the newest of them is the new one."""
    entries, places, used = ints(m, ENTRY), ints(m, TRAIL), tags(m, USED)
    for at in range(trail, trail + taken):
        used[entries[places[at]]] = 1
    return bool(entries[places[trail + taken - 1]] == new)


@inlined
def _clear(m: int, begin: int, end: int) -> None:
    """Events that were used up to now are free again."""
    entries, places, used = ints(m, ENTRY), ints(m, TRAIL), tags(m, USED)
    for at in range(begin, end):
        used[entries[places[at]]] = 0


@inlined
def _latest_end(m: int, begin: int, end: int, otherwise: int) -> int:
    """The latest end of a part of the trail; of nothing, another time."""
    entries, places, ends = ints(m, ENTRY), ints(m, TRAIL), ints(m, ROW_END)
    if begin == end:
        return otherwise
    latest = LEAST
    for at in range(begin, end):
        latest = max(latest, ends[entries[places[at]]])
    return latest


# --- choices -----------------------------------------------------------------


@inlined
def _choose(m: int, leaf: int, after: int, forced: bool, trail: int, fresh: bool) -> int:
    """Put the first (or the next) candidate of a constraint on the trail; how many events it has.

    Where it is forced, candidates without the new event are left out.
    """
    leaves, search_ = ints(m, LEAF), ints(m, SEARCH)
    base = LEAF_WIDTH * (search_[FIRST_LEAF] + leaf)
    list_ = LIST_WIDTH * (search_[FIRST_LIST] + leaf)
    kind = leaves[base]
    if kind == TAKE:
        return take(m, base, list_, after, forced, trail, fresh)
    if not fresh:
        return NO_OTHER
    if kind == PICK:
        return pick(m, base, list_, after, forced, trail)
    return accumulate(m, leaf, base, list_, after, forced, trail)


@compiled
def _jump_back(m: int, depth: int, step: int, forced: bool, hopeless: bool) -> int:
    """Leave out choices that cannot help a constraint that no event is left for.

    These are the ones after its mark was set. If there are no candidates after later times either,
    also a part of one constraint that sets the mark, since its choices only get later. A choice
    that could have taken the new event instead may help if that is what is wanted.
    """
    steps, frames, search_ = ints(m, STEP), ints(m, FRAME), ints(m, SEARCH)
    end = STEP_WIDTH * steps[step + STEP_THIRD]
    alone = steps[end - 2 * STEP_WIDTH] == BEGIN if end > 0 else False
    while depth > 0:
        other = frames[FRAME_WIDTH * (depth - 1)]
        if steps[other] != CHOOSE or (forced and _can_take_new(m, other)):
            break
        if other < end:
            sets_mark = alone and other == end - STEP_WIDTH
            if not (hopeless and sets_mark and search_[LATE] == 0 and _gets_later(m, other)):
                break
        depth -= 1
    return depth


@inlined
def _can_take_new(m: int, step: int) -> bool:
    """Whether the constraint of a step may take the new event."""
    steps, search_ = ints(m, STEP), ints(m, SEARCH)
    bit = np.int64(1) << np.int64(steps[step + STEP_FIRST] & 63)
    return bool((bit & search_[NEW_BITS]) != 0)


@inlined
def _gets_later(m: int, step: int) -> bool:
    """Whether the candidates of a step end ever later."""
    leaves, search_ = ints(m, LEAF), ints(m, SEARCH)
    base = LEAF_WIDTH * (search_[FIRST_LEAF] + ints(m, STEP)[step + STEP_FIRST])
    one_by_one = leaves[base + LEAF_COUNT] == 1 or leaves[base + LEAF_SHARED] == 0
    return bool(leaves[base] == TAKE and one_by_one)


# --- the whole assignment ----------------------------------------------------


@compiled
def _fits(m: int, plan: int, trail: int, absent: int) -> bool:
    """Whether the whole match lies in its window and nothing is there that must not be."""
    plans, entries, places = ints(m, PLAN), ints(m, ENTRY), ints(m, TRAIL)
    starts, ends = ints(m, ROW_START), ints(m, ROW_END)
    begin, first_end = plain(-LEAST), plain(-LEAST)
    end, last_start = plain(LEAST), plain(LEAST)
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
def _occurs(m: int, list_: int, after: int, until: int) -> bool:
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
def floor_of(m: int, plan: int, first_list: int, start: int) -> int:
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
