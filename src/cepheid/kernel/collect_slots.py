"""Slots and layouts of collections: which number means what in the tables and in the state."""

from __future__ import annotations

from cepheid.kernel.memory import COLLECTIONS

(
    TYPE_RULES,
    LISTENER,
    USE,
    KEY,
    PLAN,
    LEAF,
    STEP,
    BRANCH,
    NEED,
    ALWAYS,
    PART,
    PART_KEY,
    PART_INDEX,
    LIST,
    ENTRY,
    OTHER_ENTRY,
    WANTED_KEY,
    HIT,
    TRAIL,
    FRAME,
    ABSENT,
    MARK,
    USED,
    FAILED,
    SEARCH,
    SET_ASIDE,
    LIMITED,
    CACHE,
    TYPE_GROUPS,
    GROUP,
    FIXED,
) = range(COLLECTIONS, COLLECTIONS + 31)
"""Slots. Tables: from type to listening rules to what they use the event for; see `*_WIDTH`. State:
partitions, their keys, where keys are found, lists, entries, aggregates. The rest serves one
search; `LIMITED` holds the numbers of rules whose search came to its limit."""

GROUP_COLUMN, GROUP_BEGIN, GROUP_END = range(3)
GROUP_WIDTH = 3
FIXED_TAG, FIXED_CELL, FIXED_BEGIN, FIXED_END = range(4)
FIXED_WIDTH = 4
"""Groups of listeners by a value that an attribute must have; the values of a group are sorted."""
LISTENER_PLAN, LISTENER_USES, LISTENER_USES_END, LISTENER_KEYS, LISTENER_KEYS_END = range(5)
LISTENER_WIDTH = 5
USE_LIST, USE_PROGRAM, USE_KIND, USE_BIT = range(4)
USE_WIDTH = 4
TAKEN, PICKED, ABSENCE = range(3)
KEY_COLUMN, KEY_TAG, KEY_CELL = range(3)
KEY_WIDTH = 3
(
    PLAN_RULE,
    PLAN_ALIVE,
    PLAN_FAMILY,
    PLAN_MISSING,
    PLAN_WINDOW,
    PLAN_LENGTH,
    PLAN_SLACK,
    PLAN_KEYS,
    PLAN_LEAF,
    PLAN_LEAVES,
    PLAN_LISTS,
    PLAN_STEP,
    PLAN_NEEDS,
    PLAN_NEEDS_END,
    PLAN_ALWAYS,
    PLAN_ALWAYS_END,
) = range(16)
PLAN_WIDTH = 16
FOREVER, TIME, COUNT = range(3)
"""Windows. The slack of a plan is how long after its end an event may come at most."""

PART_PLAN, PART_KEYS, PART_SEEN, PART_TOP, PART_LISTS = range(5)
PART_WIDTH = 5
"""Partitions: their plan, key, how many events they have seen, the latest end, the first list."""
LIST_BEGIN, LIST_ROOM, LIST_HEAD, LIST_TAIL, LIST_LIVE, LIST_CACHE = range(6)
LIST_WIDTH = 6
"""Lists: their piece of the entries, what of it is in use, how many entries are no holes, and the
cached aggregate, if any (0 is none)."""
ENTRY_ROW, ENTRY_NUMBER, ENTRY_TOP, ENTRY_START = range(4)
ENTRY_WIDTH = 4
"""Entries: row (-1 is a hole), number of the event in its partition (for absences: whether no
constraint can take it), latest end up to here, start."""

HOLE = -1
LEAST = -(2**62)

# --- the search --------------------------------------------------------------

CHOOSE, SPLIT, JUMP, BEGIN, END, FORBID, DONE = range(7)
STEP_KIND, STEP_FIRST, STEP_SECOND, STEP_THIRD, STEP_REACH = range(5)
STEP_WIDTH = 5
"""Steps. CHOOSE: a leaf, and the mark after which its events start. SPLIT: where the branches are
listed, from and to. JUMP: where to. BEGIN: a mark for the length of the trail. END: that mark, the
mark that held before, and the mark for the latest end of what was taken in between. FORBID: an
absence. The reach of a step are the bits of the leaves that can still come, itself included. The
third number of CHOOSE is the END that sets its mark, or 0."""

(
    LEAF_KIND,
    LEAF_SHARED,
    LEAF_COUNT,
    LEAF_PROGRAM,
    LEAF_FUNCTION,
    LEAF_COLUMN,
    LEAF_RELATION,
    LEAF_LABEL,
    LEAF_RISES,
) = range(9)
LEAF_WIDTH = 9
TAKE, ACCUMULATE, PICK = range(3)
"""Leaves: whether others are about its types too, how many events or which one, the program of its
condition or bound, the aggregate, the code of its label, and whether further events can only bring
the aggregate closer to the bound (a Sum: if they are not negative)."""

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
    LATE,
) = range(12)
SEARCH_WIDTH = 12
"""Numbers of the search in `SEARCH`: the new event and the leaves that it satisfies, the earliest
start and the first number in the window, the earliest end that absences allow, where lists and
leaves begin, what a comparison with nothing gives, whether events may come late; and what was
found: frames and events."""

FAILED_SEEN, FAILED_STAMP, FAILED_FROM, FAILED_BELOW, FAILED_FORCED = range(5)
FAILED_WIDTH = 5
"""Aggregates that failed in this search: from which time on, and before which one."""
(
    CACHE_AFTER,
    CACHE_FIRST,
    CACHE_UPTO,
    CACHE_HELD,
    CACHE_EARLIEST,
    CACHE_SUM,
) = range(6)
CACHE_PARTS = 8
CACHE_WIDTH = 5 + 7 + 2 + CACHE_PARTS
"""Aggregates over the events of a list that start after a time, from the first event up to another,
where it held the bound (0 is nowhere), the earliest start, and the running sum."""

NOTHING, FOUND, LIMIT = range(3)
NO_OTHER, FAILS, HOPELESS = 0, -1, -2
"""Why a constraint has no candidate: no other one, none after this time, none after later ones."""
