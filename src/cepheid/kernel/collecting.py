"""Collections in compiled code: an event enters its partition, and may complete a match.

What an event satisfies is decided once, when it comes: the constraints of a collection speak of
one event each. It then waits in the lists of these constraints (`collect_state`), and a search
(`collect_search`) looks for an assignment that contains it, unless a constraint that every match
needs has too few candidates. The events of a match are consumed.
"""

from __future__ import annotations

from cepheid.kernel.collect_search import floor_of, search
from cepheid.kernel.collect_slots import (
    ABSENCE,
    CHOOSE,
    COUNT,
    ENTRY,
    ENTRY_NUMBER,
    FIRST,
    FIRST_LEAF,
    FIRST_LIST,
    FIXED,
    FIXED_BEGIN,
    FIXED_CELL,
    FIXED_END,
    FIXED_WIDTH,
    FLOOR,
    FOUND,
    FRAME,
    FRAME_STEP,
    FRAME_TRAIL,
    FRAME_WIDTH,
    FRAMES,
    GROUP,
    GROUP_BEGIN,
    GROUP_COLUMN,
    GROUP_END,
    GROUP_WIDTH,
    HIT,
    LATE,
    LEAF,
    LEAF_LABEL,
    LEAF_SHARED,
    LEAF_WIDTH,
    LEAST,
    LIMIT,
    LIMITED,
    LIST,
    LIST_LIVE,
    LIST_WIDTH,
    LISTENER,
    LISTENER_PLAN,
    LISTENER_USES,
    LISTENER_USES_END,
    LISTENER_WIDTH,
    LOW,
    NEED,
    NEW_BITS,
    NEW_ROW,
    PART,
    PART_LISTS,
    PART_SEEN,
    PART_TOP,
    PART_WIDTH,
    PICKED,
    PLAN,
    PLAN_FAMILY,
    PLAN_LEAF,
    PLAN_LEAVES,
    PLAN_LENGTH,
    PLAN_MISSING,
    PLAN_NEEDS,
    PLAN_NEEDS_END,
    PLAN_RULE,
    PLAN_SLACK,
    PLAN_WIDTH,
    PLAN_WINDOW,
    SEARCH,
    STEP,
    STEP_FIRST,
    TAKEN_COUNT,
    TIME,
    TRAIL,
    TYPE_GROUPS,
    TYPE_RULES,
    UNMET,
    USE,
    USE_BIT,
    USE_KIND,
    USE_LIST,
    USE_PROGRAM,
    USE_WIDTH,
    USED,
)
from cepheid.kernel.collect_state import (
    add_entry,
    before,
    earliest_end,
    find_part,
    key_of,
    mark_collections,
    move_collections,
    new_part,
    plain,
    read_key,
    take_number_out,
    take_out,
    trim,
)
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.matches import add_constituent, add_outputs, open_match
from cepheid.kernel.memory import append, capacity, grow, ints, resize, set_size, size, tags
from cepheid.kernel.programs import FRAME_ROW, LIST_BEGIN, LIST_END, LIST_ROW, holds
from cepheid.kernel.store import (
    ROW_CELLS,
    ROW_END,
    ROW_START,
    ROW_TAGS,
    ROW_TYPE,
    WIDTH,
    scalar,
)

__all__ = ["mark_collections", "move_collections", "see_collections"]


@compiled
def see_collections(m: int, row: int) -> bool:
    """Show an event to all rules that listen to its type; whether any of them keeps it."""
    type_, begins = ints(m, ROW_TYPE)[row], ints(m, TYPE_RULES)
    if type_ < 0 or type_ + 1 >= size(m, TYPE_RULES):
        return False
    kept = _enter_some(m, begins[type_], begins[type_ + 1], row)
    groups = ints(m, TYPE_GROUPS)
    for group in range(groups[type_], groups[type_ + 1]):
        fixed = _fixed(m, GROUP_WIDTH * group, row)
        if fixed >= 0:
            begin, end = ints(m, FIXED)[fixed + FIXED_BEGIN], ints(m, FIXED)[fixed + FIXED_END]
            kept = _enter_some(m, begin, end, row) or kept
    return kept


@inlined
def _enter_some(m: int, begin: int, end: int, row: int) -> bool:
    """Show an event to some rules; whether any of them keeps it."""
    kept = False
    for listener in range(begin, end):
        if _enter(m, LISTENER_WIDTH * listener, row):
            kept = True
    return kept


@compiled
def _fixed(m: int, group: int, row: int) -> int:
    """Where the rules of a group are that ask for the value that an event has, or -1."""
    groups, fixed = ints(m, GROUP), ints(m, FIXED)
    place = row * scalar(m, WIDTH) + groups[group + GROUP_COLUMN]
    tag, cell = key_of(int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place])
    low, end = groups[group + GROUP_BEGIN], groups[group + GROUP_END]
    high = end
    while low < high:
        middle = (low + high) // 2
        at = FIXED_WIDTH * middle
        if fixed[at] < tag or (fixed[at] == tag and fixed[at + FIXED_CELL] < cell):
            low = middle + 1
        else:
            high = middle
    at = FIXED_WIDTH * low
    found = low < end and fixed[at] == tag and fixed[at + FIXED_CELL] == cell
    return int(at) if found else -1


@compiled
def _enter(m: int, listener: int, row: int) -> bool:
    """Let an event enter the partition of a rule; whether it is kept there."""
    plan = ints(m, LISTENER)[listener + LISTENER_PLAN]
    base, plans = PLAN_WIDTH * plan, ints(m, PLAN)
    bits, waits = _uses(m, listener, row, plans[base + PLAN_MISSING] != 0)
    if size(m, HIT) == 0 and plans[base + PLAN_WINDOW] != COUNT:
        return False
    if not read_key(m, listener, row):
        return False
    part = find_part(m, plan)
    if part < 0:
        if size(m, HIT) == 0 or (not waits and plans[base + PLAN_SLACK] == 0):
            return False
        part = new_part(m, plan)
    return _arrive(m, plan, part, row, bits)


@inlined
def _uses(m: int, listener: int, row: int, missing: bool) -> tuple[int, bool]:
    """Write down what an event is used for: the leaves it satisfies, and whether it may wait."""
    uses, listeners = ints(m, USE), ints(m, LISTENER)
    bits, waits = 0, False
    set_size(m, HIT, 0)
    begin, end = listeners[listener + LISTENER_USES], listeners[listener + LISTENER_USES_END]
    for use in range(USE_WIDTH * begin, USE_WIDTH * end, USE_WIDTH):
        kind, program = uses[use + USE_KIND], uses[use + USE_PROGRAM]
        satisfied = program < 0 or holds(m, program, row, missing)
        if kind != PICKED and not satisfied:
            continue
        append(m, HIT, use)
        if kind != ABSENCE:
            waits = True
            if satisfied:
                bits |= uses[use + USE_BIT]
    return bits, waits


@compiled
def _arrive(m: int, plan: int, part: int, row: int, bits: int) -> bool:
    """Count an event, put it into the lists that it satisfies, and search."""
    plans, parts, base, place = ints(m, PLAN), ints(m, PART), PLAN_WIDTH * plan, PART_WIDTH * part
    start, end = ints(m, ROW_START)[row], ints(m, ROW_END)[row]
    number = parts[place + PART_SEEN] + 1
    parts[place + PART_SEEN] = number
    parts[place + PART_TOP] = max(parts[place + PART_TOP], end)
    if size(m, HIT) == 0:
        return False
    low, gone, first = LEAST, LEAST, 0
    if plans[base + PLAN_WINDOW] == TIME:
        low = before(end, plans[base + PLAN_LENGTH])
        earliest = before(parts[place + PART_TOP], plans[base + PLAN_SLACK])
        gone = before(earliest, plans[base + PLAN_LENGTH])
        if start < gone:
            return False
    elif plans[base + PLAN_WINDOW] == COUNT:
        first = number - plans[base + PLAN_LENGTH] + 1
    first_list = parts[place + PART_LISTS]
    for list_ in range(first_list, first_list + plans[base + PLAN_LEAVES]):
        trim(m, list_, gone, first)
    waits, forbids = _put(m, plan, part, row, number, gone)
    if bits == 0 or start < low or not _may_match(m, base, first_list):
        return waits or forbids
    search_ = ints(m, SEARCH)
    search_[NEW_ROW], search_[NEW_BITS], search_[LOW], search_[FIRST] = row, bits, low, first
    search_[FIRST_LIST], search_[FIRST_LEAF] = first_list, plans[base + PLAN_LEAF]
    search_[UNMET], search_[LATE] = plans[base + PLAN_MISSING], plans[base + PLAN_SLACK] > 0
    search_[FLOOR] = floor_of(m, plan, first_list, start)
    if capacity(m, USED) < size(m, ROW_END):
        grow(m, USED, size(m, ROW_END), 1)
    found = search(m, plan)
    if found == FOUND:
        _write_match(m, plan, row)
        _consume(m, plan, first_list)
        return forbids
    if found == LIMIT:
        append(m, LIMITED, plans[base + PLAN_RULE])
    return waits or forbids


@inlined
def _put(m: int, plan: int, part: int, row: int, number: int, gone: int) -> tuple[bool, bool]:
    """Put an event into lists; whether it waits for a match, and whether it forbids others."""
    uses, plans, base = ints(m, USE), ints(m, PLAN), PLAN_WIDTH * plan
    start, end = ints(m, ROW_START)[row], ints(m, ROW_END)[row]
    first_list = ints(m, PART)[PART_WIDTH * part + PART_LISTS]
    waits, forbids = False, False
    for at in range(size(m, HIT)):
        use = ints(m, HIT)[at]
        list_ = first_list + uses[use + USE_LIST]
        if uses[use + USE_KIND] != ABSENCE:
            add_entry(m, list_, row, number, start, end)
            waits = True
            continue
        # Without slack, it matters only after the end of an event that is free by now.
        if plans[base + PLAN_SLACK] == 0:
            earliest = earliest_end(m, part)
            trim(m, list_, max(gone, earliest + 1), plain(0))
            if start <= earliest:
                continue
        else:
            trim(m, list_, gone, plain(0))
        # Uses for constraints come before those for absences.
        add_entry(m, list_, row, 0 if waits else 1, start, end)
        forbids = True
    return waits, forbids


@inlined
def _may_match(m: int, base: int, first_list: int) -> bool:
    """Whether every constraint that all matches need has enough candidates."""
    plans, needs, lists = ints(m, PLAN), ints(m, NEED), ints(m, LIST)
    for need in range(plans[base + PLAN_NEEDS], plans[base + PLAN_NEEDS_END]):
        live = lists[LIST_WIDTH * (first_list + needs[2 * need]) + LIST_LIVE]
        if live < needs[2 * need + 1]:
            return False
    return True


# --- the match ---------------------------------------------------------------


@compiled
def _write_match(m: int, plan: int, row: int) -> None:
    """Write down the match that the trail holds."""
    plans, base, search_ = ints(m, PLAN), PLAN_WIDTH * plan, ints(m, SEARCH)
    entries, trail, ends = ints(m, ENTRY), ints(m, TRAIL), ints(m, ROW_END)
    count, end = search_[TAKEN_COUNT], LEAST
    resize(m, LIST_ROW, count)
    for at in range(count):
        ints(m, LIST_ROW)[at] = entries[trail[at]]
        end = max(end, ends[entries[trail[at]]])
    for leaf in range(plans[base + PLAN_LEAVES]):
        ints(m, FRAME_ROW)[leaf] = -1
        ints(m, LIST_BEGIN)[leaf] = ints(m, LIST_END)[leaf] = 0
    family = plans[base + PLAN_FAMILY]
    open_match(m, family, 0, 1, end)
    until = count
    for depth in range(search_[FRAMES] - 1, -1, -1):
        until = _bind(m, plan, depth, until)
    for depth in range(search_[FRAMES]):
        _add_constituents(m, plan, depth)
    add_outputs(m, family, row, plans[base + PLAN_MISSING] != 0)


@inlined
def _leaf_of(m: int, depth: int) -> int:
    """The leaf that a frame chose for; -1 for a branch."""
    step = ints(m, FRAME)[FRAME_WIDTH * depth + FRAME_STEP]
    return int(ints(m, STEP)[step + STEP_FIRST]) if ints(m, STEP)[step] == CHOOSE else -1


@inlined
def _bind(m: int, plan: int, depth: int, until: int) -> int:
    """Bind the events of a frame to its label; the result is where they begin."""
    leaf, begin = _leaf_of(m, depth), ints(m, FRAME)[FRAME_WIDTH * depth + FRAME_TRAIL]
    if leaf >= 0:
        ints(m, LIST_BEGIN)[leaf], ints(m, LIST_END)[leaf] = begin, until
        ints(m, FRAME_ROW)[leaf] = ints(m, LIST_ROW)[until - 1]
    return int(begin)


@inlined
def _add_constituents(m: int, plan: int, depth: int) -> None:
    leaf = _leaf_of(m, depth)
    if leaf >= 0:
        first = ints(m, PLAN)[PLAN_WIDTH * plan + PLAN_LEAF]
        label = ints(m, LEAF)[LEAF_WIDTH * (first + leaf) + LEAF_LABEL]
        for at in range(ints(m, LIST_BEGIN)[leaf], ints(m, LIST_END)[leaf]):
            add_constituent(m, ints(m, LIST_ROW)[at], label)


@compiled
def _consume(m: int, plan: int, first_list: int) -> None:
    """Take the events of the match out of all lists of constraints."""
    plans, search_ = ints(m, PLAN), ints(m, SEARCH)
    leaves, first_leaf = ints(m, LEAF), plans[PLAN_WIDTH * plan + PLAN_LEAF]
    until = search_[TAKEN_COUNT]
    for depth in range(search_[FRAMES] - 1, -1, -1):
        leaf, begin = _leaf_of(m, depth), ints(m, FRAME)[FRAME_WIDTH * depth + FRAME_TRAIL]
        for at in range(until - 1, begin - 1, -1):
            place = ints(m, TRAIL)[at]
            if leaves[LEAF_WIDTH * (first_leaf + leaf) + LEAF_SHARED] == 0:
                take_out(m, first_list + leaf, place)
            else:
                number = ints(m, ENTRY)[place + ENTRY_NUMBER]
                for other in range(plans[PLAN_WIDTH * plan + PLAN_LEAVES]):
                    take_number_out(m, first_list + other, number)
        until = begin
