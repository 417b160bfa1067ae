"""The state of collections: per rule and partition the free events of every constraint.

A partition has one *list* for each constraint and each absence of its rule. A list lies in one
piece of the entries, in the order of arrival, so that a search walks over neighbours. An event
that is consumed leaves a hole, which goes when the list is packed. An entry also holds the latest
end so far: where it is at most a time, nothing up to there starts after that time.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.collect_slots import (
    CACHE,
    CACHE_FIRST,
    CACHE_WIDTH,
    COUNT,
    ENTRY,
    ENTRY_NUMBER,
    ENTRY_START,
    ENTRY_TOP,
    ENTRY_WIDTH,
    HOLE,
    KEY,
    KEY_CELL,
    KEY_COLUMN,
    KEY_TAG,
    KEY_WIDTH,
    LEAST,
    LIST,
    LIST_BEGIN,
    LIST_CACHE,
    LIST_HEAD,
    LIST_LIVE,
    LIST_ROOM,
    LIST_TAIL,
    LIST_WIDTH,
    LISTENER,
    LISTENER_KEYS,
    LISTENER_KEYS_END,
    OTHER_ENTRY,
    PART,
    PART_INDEX,
    PART_KEY,
    PART_KEYS,
    PART_LISTS,
    PART_SEEN,
    PART_TOP,
    PART_WIDTH,
    PLAN,
    PLAN_ALIVE,
    PLAN_KEYS,
    PLAN_LEAVES,
    PLAN_LENGTH,
    PLAN_LISTS,
    PLAN_SLACK,
    PLAN_WIDTH,
    PLAN_WINDOW,
    TIME,
    WANTED_KEY,
)
from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import append, exchange, grow, ints, set_size, size, tags
from cepheid.kernel.store import MOVED, ROW_CELLS, ROW_END, ROW_TAGS, WIDTH, keep, scalar
from cepheid.kernel.values import DOUBLE, INT, MISSING, Ints, as_float

_MIX = np.uint64(0x9E3779B97F4A7C15)


@inlined
def plain(value: int) -> int:
    """A number that is no constant: a function is compiled once more for every constant."""
    return value + 0


@inlined
def before(time: int, length: int) -> int:
    """A time so much earlier, within the range of times."""
    return max(time - length, LEAST)


# --- partitions --------------------------------------------------------------


@inlined
def key_of(tag: int, cell: int) -> tuple[int, int]:
    """A value as a key: equal numbers have one key, whether int or double."""
    if tag == DOUBLE:
        number = as_float(cell)
        if -(2.0**63) <= number < 2.0**63 and number == np.floor(number):
            return INT, int(number)
    return tag, cell


@compiled
def read_key(m: int, listener: int, row: int) -> bool:
    """Write the key of an event into `WANTED_KEY`; False when it belongs to no partition."""
    keys, listeners = ints(m, KEY), ints(m, LISTENER)
    set_size(m, WANTED_KEY, 0)
    for at in range(listeners[listener + LISTENER_KEYS], listeners[listener + LISTENER_KEYS_END]):
        place = row * scalar(m, WIDTH) + keys[KEY_WIDTH * at + KEY_COLUMN]
        tag, cell = int(tags(m, ROW_TAGS)[place]), ints(m, ROW_CELLS)[place]
        if tag == MISSING:
            return False
        tag, cell = key_of(tag, cell)
        wanted = keys[KEY_WIDTH * at + KEY_TAG]
        if wanted == MISSING:
            append(m, WANTED_KEY, tag)
            append(m, WANTED_KEY, cell)
        elif tag != wanted or cell != keys[KEY_WIDTH * at + KEY_CELL]:
            return False
    return True


@inlined
def _hashed(plan: int, words: Ints, begin: int, end: int) -> int:
    mixed = (np.uint64(plan) + np.uint64(1)) * _MIX
    for at in range(begin, end):
        mixed = (mixed ^ np.uint64(words[at])) * _MIX
        mixed ^= mixed >> np.uint64(29)
    return int(mixed >> np.uint64(20))


@compiled
def find_part(m: int, plan: int) -> int:
    """The partition of a plan under the wanted key, or -1."""
    index, parts, known = ints(m, PART_INDEX), ints(m, PART), ints(m, PART_KEY)
    wanted, words = ints(m, WANTED_KEY), size(m, WANTED_KEY)
    mask = size(m, PART_INDEX) - 1
    place = _hashed(plan, wanted, plain(0), words) & mask
    while index[place] > 0:
        part = index[place] - 1
        if parts[PART_WIDTH * part] == plan:
            at, same = parts[PART_WIDTH * part + PART_KEYS], 0
            while same < words and known[at + same] == wanted[same]:
                same += 1
            if same == words:
                return int(part)
        place = (place + 1) & mask
    return -1


@compiled
def new_part(m: int, plan: int) -> int:
    """A partition of a plan under the wanted key, with empty lists."""
    part = size(m, PART) // PART_WIDTH
    append(m, PART, plan)
    append(m, PART, size(m, PART_KEY))
    append(m, PART, 0)
    append(m, PART, LEAST)
    append(m, PART, size(m, LIST) // LIST_WIDTH)
    for at in range(size(m, WANTED_KEY)):
        append(m, PART_KEY, ints(m, WANTED_KEY)[at])
    for _ in range(LIST_WIDTH * ints(m, PLAN)[PLAN_WIDTH * plan + PLAN_LISTS]):
        append(m, LIST, 0)
    if 2 * (part + 1) > size(m, PART_INDEX):
        _find_places(m)
    else:
        _put_place(m, part)
    return part


@inlined
def _put_place(m: int, part: int) -> None:
    index, parts = ints(m, PART_INDEX), ints(m, PART)
    plan, at = parts[PART_WIDTH * part], parts[PART_WIDTH * part + PART_KEYS]
    mask = size(m, PART_INDEX) - 1
    end = at + 2 * ints(m, PLAN)[PLAN_WIDTH * plan + PLAN_KEYS]
    place = _hashed(plan, ints(m, PART_KEY), at, end) & mask
    while index[place] > 0:
        place = (place + 1) & mask
    index[place] = part + 1


@compiled
def _find_places(m: int) -> None:
    """Find places for all partitions anew, with room for as many again; a free place is 0."""
    count, room = size(m, PART) // PART_WIDTH, 64
    while room < 4 * count:
        room *= 2
    grow(m, PART_INDEX, room, 8)
    set_size(m, PART_INDEX, room)
    ints(m, PART_INDEX)[:room] = 0
    for part in range(count):
        _put_place(m, part)


# --- lists -------------------------------------------------------------------


@compiled
def add_entry(m: int, list_: int, row: int, number: int, start: int, end: int) -> None:
    """Put an event at the end of a list."""
    lists = ints(m, LIST)
    base = LIST_WIDTH * list_
    if lists[base + LIST_TAIL] == lists[base + LIST_BEGIN] + lists[base + LIST_ROOM]:
        _make_room(m, base)
    entries, at = ints(m, ENTRY), lists[base + LIST_TAIL]
    top = end
    if at > lists[base + LIST_HEAD]:
        top = max(top, entries[at - ENTRY_WIDTH + ENTRY_TOP])
    entries[at], entries[at + ENTRY_NUMBER] = row, number
    entries[at + ENTRY_TOP], entries[at + ENTRY_START] = top, start
    lists[base + LIST_TAIL] = at + ENTRY_WIDTH
    lists[base + LIST_LIVE] += 1


@compiled
def _make_room(m: int, base: int) -> None:
    """Pack a list where it lies, or in a piece of twice the room at the end of the entries."""
    lists = ints(m, LIST)
    live, to = lists[base + LIST_LIVE], lists[base + LIST_BEGIN]
    if 2 * ENTRY_WIDTH * live >= lists[base + LIST_ROOM]:
        to = size(m, ENTRY)
        room = max(2 * ENTRY_WIDTH, 2 * ENTRY_WIDTH * live)
        if to + room > ints(m, ENTRY).shape[0]:
            grow(m, ENTRY, to + room, 8)
        set_size(m, ENTRY, to + room)
        lists[base + LIST_ROOM] = room
    entries, at = ints(m, ENTRY), lists[base + LIST_HEAD]
    tail = lists[base + LIST_TAIL]
    lists[base + LIST_BEGIN] = lists[base + LIST_HEAD] = to
    lists[base + LIST_TAIL] = pack(entries, entries, at, tail, to)


@inlined
def pack(entries: Ints, others: Ints, at: int, tail: int, to: int) -> int:
    """Copy what is no hole to a place that is not behind it; the result is where it ends."""
    while at < tail:
        if entries[at] != HOLE:
            for word in range(ENTRY_WIDTH):
                others[to + word] = entries[at + word]
            to += ENTRY_WIDTH
        at += ENTRY_WIDTH
    return to


@inlined
def trim(m: int, list_: int, gone: int, first: int) -> None:
    """Drop holes and what is in no window any more from the front of a list."""
    lists, entries, base = ints(m, LIST), ints(m, ENTRY), LIST_WIDTH * list_
    at, tail = lists[base + LIST_HEAD], lists[base + LIST_TAIL]
    while at < tail:
        if entries[at] != HOLE:
            if entries[at + ENTRY_START] >= gone and entries[at + ENTRY_NUMBER] >= first:
                break
            lists[base + LIST_LIVE] -= 1
        at += ENTRY_WIDTH
    lists[base + LIST_HEAD] = at


@inlined
def take_out(m: int, list_: int, at: int) -> None:
    """Leave a hole where an entry was; the ends of a list are never holes for long."""
    lists, entries, base = ints(m, LIST), ints(m, ENTRY), LIST_WIDTH * list_
    entries[at] = HOLE
    lists[base + LIST_LIVE] -= 1
    if lists[base + LIST_CACHE] > 0:
        ints(m, CACHE)[CACHE_WIDTH * (lists[base + LIST_CACHE] - 1) + CACHE_FIRST] = 0
    tail = lists[base + LIST_TAIL]
    while tail > lists[base + LIST_HEAD] and entries[tail - ENTRY_WIDTH] == HOLE:
        tail -= ENTRY_WIDTH
    lists[base + LIST_TAIL] = tail


@compiled
def place_of(m: int, base: int, number: int) -> int:
    """Where in a list the first event of at least a number is."""
    lists, entries = ints(m, LIST), ints(m, ENTRY)
    low, high = lists[base + LIST_HEAD] // ENTRY_WIDTH, lists[base + LIST_TAIL] // ENTRY_WIDTH
    while low < high:
        middle = (low + high) // 2
        if entries[ENTRY_WIDTH * middle + ENTRY_NUMBER] < number:
            low = middle + 1
        else:
            high = middle
    return int(ENTRY_WIDTH * low)


@compiled
def take_number_out(m: int, list_: int, number: int) -> None:
    """Take an event out of a list, if it is there."""
    lists, entries, base = ints(m, LIST), ints(m, ENTRY), LIST_WIDTH * list_
    at = place_of(m, base, number)
    is_there = at < lists[base + LIST_TAIL] and entries[at + ENTRY_NUMBER] == number
    if is_there and entries[at] != HOLE:
        take_out(m, list_, at)


@compiled
def earliest_end(m: int, part: int) -> int:
    """The earliest end of a free event; without slack, events come in the order of their ends."""
    parts, lists, entries = ints(m, PART), ints(m, LIST), ints(m, ENTRY)
    first = parts[PART_WIDTH * part + PART_LISTS]
    found = -LEAST
    leaves = ints(m, PLAN)[PLAN_WIDTH * parts[PART_WIDTH * part] + PLAN_LEAVES]
    for list_ in range(first, first + leaves):
        at = lists[LIST_WIDTH * list_ + LIST_HEAD]
        while at < lists[LIST_WIDTH * list_ + LIST_TAIL] and entries[at] == HOLE:
            at += ENTRY_WIDTH
        if at < lists[LIST_WIDTH * list_ + LIST_TAIL]:
            found = min(found, ints(m, ROW_END)[entries[at]])
    return int(found)


# --- compaction --------------------------------------------------------------


@compiled
def mark_collections(m: int, now: int) -> None:
    """Drop what no match can need any more, and say which rows are needed."""
    parts, plans = ints(m, PART), ints(m, PLAN)
    for part in range(size(m, PART) // PART_WIDTH):
        plan = PLAN_WIDTH * parts[PART_WIDTH * part]
        first_list = parts[PART_WIDTH * part + PART_LISTS]
        lists = plans[plan + PLAN_LISTS]
        if plans[plan + PLAN_ALIVE] == 0:
            for list_ in range(first_list, first_list + lists):
                _keep_some(m, list_, -LEAST, 0)
            continue
        earliest = before(max(now, parts[PART_WIDTH * part + PART_TOP]), plans[plan + PLAN_SLACK])
        gone, first = LEAST, 0
        if plans[plan + PLAN_WINDOW] == TIME:
            gone = before(earliest, plans[plan + PLAN_LENGTH])
        elif plans[plan + PLAN_WINDOW] == COUNT:
            first = parts[PART_WIDTH * part + PART_SEEN] - plans[plan + PLAN_LENGTH] + 1
        for list_ in range(first_list, first_list + plans[plan + PLAN_LEAVES]):
            earliest = min(earliest, _keep_some(m, list_, gone, first))
        # An absence counts only after the end of the first event of a match.
        for list_ in range(first_list + plans[plan + PLAN_LEAVES], first_list + lists):
            _keep_some(m, list_, max(gone, earliest + 1), 0)


@compiled
def _keep_some(m: int, list_: int, gone: int, first: int) -> int:
    """Make holes of what is in no window any more, and keep the rest; its earliest end."""
    lists, entries, base = ints(m, LIST), ints(m, ENTRY), LIST_WIDTH * list_
    earliest = -LEAST
    for at in range(lists[base + LIST_HEAD], lists[base + LIST_TAIL], ENTRY_WIDTH):
        row = entries[at]
        if row == HOLE:
            continue
        if entries[at + ENTRY_START] < gone or entries[at + ENTRY_NUMBER] < first:
            entries[at] = HOLE
            lists[base + LIST_LIVE] -= 1
        else:
            keep(m, row)
            earliest = min(earliest, ints(m, ROW_END)[row])
    return earliest


@compiled
def move_collections(m: int) -> None:
    """Pack all lists one after the other, with the new numbers of rows; empty partitions go."""
    parts, plans, keys = ints(m, PART), ints(m, PLAN), ints(m, PART_KEY)
    to, to_key, to_list = 0, 0, 0
    set_size(m, OTHER_ENTRY, 0)
    for part in range(size(m, PART) // PART_WIDTH):
        at, plan = PART_WIDTH * part, PLAN_WIDTH * parts[PART_WIDTH * part]
        lists = plans[plan + PLAN_LISTS]
        if _is_empty(m, parts[at + PART_LISTS], lists):
            continue
        for word in range(2 * plans[plan + PLAN_KEYS]):
            keys[to_key + word] = keys[parts[at + PART_KEYS] + word]
        for list_ in range(lists):
            _move_list(m, parts[at + PART_LISTS] + list_, to_list + list_)
        for word in range(PART_WIDTH):
            parts[to + word] = parts[at + word]
        parts[to + PART_KEYS], parts[to + PART_LISTS] = to_key, to_list
        to, to_list = to + PART_WIDTH, to_list + lists
        to_key += 2 * plans[plan + PLAN_KEYS]
    set_size(m, PART, to)
    set_size(m, PART_KEY, to_key)
    set_size(m, LIST, LIST_WIDTH * to_list)
    exchange(m, ENTRY, OTHER_ENTRY)
    set_size(m, OTHER_ENTRY, 0)
    set_size(m, CACHE, 0)
    _find_places(m)


@inlined
def _is_empty(m: int, first: int, lists: int) -> bool:
    live = 0
    for list_ in range(first, first + lists):
        live += ints(m, LIST)[LIST_WIDTH * list_ + LIST_LIVE]
    return live == 0


@compiled
def _move_list(m: int, source: int, target: int) -> None:
    lists, begin = ints(m, LIST), size(m, OTHER_ENTRY)
    live = lists[LIST_WIDTH * source + LIST_LIVE]
    # Some room to grow: a list that takes and gives should not have to move again soon.
    room = ENTRY_WIDTH * (live + live // 2)
    grow(m, OTHER_ENTRY, begin + room, 8)
    set_size(m, OTHER_ENTRY, begin + room)
    others, moved = ints(m, OTHER_ENTRY), ints(m, MOVED)
    head, tail = lists[LIST_WIDTH * source + LIST_HEAD], lists[LIST_WIDTH * source + LIST_TAIL]
    end = pack(ints(m, ENTRY), others, head, tail, begin)
    for at in range(begin, end, ENTRY_WIDTH):
        others[at] = moved[others[at]]
    base = LIST_WIDTH * target
    lists[base + LIST_BEGIN], lists[base + LIST_ROOM] = begin, room
    lists[base + LIST_HEAD], lists[base + LIST_TAIL] = begin, end
    lists[base + LIST_LIVE], lists[base + LIST_CACHE] = live, 0
