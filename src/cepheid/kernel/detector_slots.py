"""Where detectors keep what: slots, and the layout of the lines in them.

Tables are written by `detector_plan`; state belongs to the stream; the rest serves one event.
Lines are written one after the other, so that what belongs together is one piece of memory.
"""

from __future__ import annotations

from cepheid.kernel.memory import DETECTORS

(
    TYPE_DOOR,
    TYPE_NAME,
    DOOR,
    ENTRY,
    GATE,
    GATED,
    GATED_SLOT,
    STATE,
    CASE,
    OPTION,
    AWAIT,
    AWAIT_TARGET,
    TIMER_SET,
    WAY,
    REGISTER,
    MACHINE,
    MACHINE_DOOR,
    DETECTOR,
    STEP,
    PARALLEL,
) = range(DETECTORS, DETECTORS + 20)
"""Tables. From the type of an event to a *door*: the places that an event of this type may matter
to, some of them only if an attribute has a certain value (a *gate*). From a state of an automaton
to the *cases* of its domain, one per type, and to their *options*, the transitions. *Ways* are
attributes by which branches are found; *registers* the labels that a machine's filters speak of."""

TEST = DETECTORS + 31
"""One table more: *tests*, which compare an event with one of a branch."""

(
    BRANCH,
    BRANCH_FREE,
    NODE,
    STATE_HEAD,
    ORDER_ENDS,
    KEY,
    HEAP,
    SIDE,
    SIDE_MATCH,
    TOLD,
    COUNTERS,
) = range(DETECTORS + 20, DETECTORS + 31)
"""State. Branches of a machine have the same size, and free ones are linked. A branch is in the
list of its state, of its order, or of a key; timers are in a heap by time."""

(
    TAKEN,
    GATHERED_ROW,
    GATHERED_STATE,
    GATHERED_NAME,
    PAIR,
    PAIR_OTHER,
    DUE_BRANCH,
    FRESH,
    TRUTH,
    REFERRED,
    NODE_MOVED,
    BRANCH_MOVED,
    KEY_OTHER,
    PASSING,
    PAIR_USER,
    PAIR_MOVED,
) = range(DETECTORS + 40, DETECTORS + 56)
"""What serves one event or one compaction. `PAIR_USER` are branches that took a pair."""

# --- tables ------------------------------------------------------------------

DOOR_ENTRIES, DOOR_ENTRIES_END, DOOR_GATES, DOOR_GATES_END = range(4)
DOOR_WIDTH = 4

ENTRY_KIND, ENTRY_PLACE, ENTRY_MORE = range(3)
ENTRY_WIDTH = 3
AT_START, AT_STATE, AT_KEY, IN_ORDER, WHOLE_RULE = range(5)
"""Kinds of entries: a machine's start with its case, a state with its case, a way with the column
of its key, all branches of a machine in their order, a rule whose machines take turns."""

GATED_DOOR, GATED_COLUMN, GATED_TAG, GATED_CELL, GATED_ENTRIES, GATED_ENTRIES_END = range(6)
GATED_WIDTH = 6

(
    STATE_MACHINE,
    STATE_LABEL,
    STATE_POSITION,
    STATE_REGISTER,
    STATE_ENDS,
    STATE_GOES_ON,
    STATE_STRONG,
    STATE_CASES,
    STATE_CASES_END,
    STATE_SETS,
    STATE_SETS_END,
    STATE_AWAITS,
    STATE_WAYS,
    STATE_REBINDS,
) = range(14)
STATE_WIDTH = 14
"""`STATE_LABEL` is the text of the label, -1 for the type's name. A state ends a match, goes on to
others, or both. `STATE_STRONG`: all transitions are strong. `STATE_WAYS` and `STATE_REBINDS` have a
bit per list of a branch: those it is in, and those whose key the state's own event changes."""

(
    CASE_TYPE,
    CASE_LIST,
    CASE_COLUMN,
    CASE_REST,
    CASE_REACH,
    CASE_OPTIONS,
    CASE_OPTIONS_END,
) = range(7)
CASE_WIDTH = 7
"""What an event of a type does to a branch in a state: the list in which the branch is found (0 is
that of the state) and the column of its key; the program for what is in the domain but on no
transition, or `ALWAYS` or `NOTHING`."""

(
    OPTION_TARGET,
    OPTION_STRONG,
    OPTION_PROGRAM,
    OPTION_REACH,
    OPTION_TESTS,
    OPTION_TESTS_END,
) = range(6)
OPTION_WIDTH = 6
"""A transition: where there are tests, they say all that the program does."""
TEST_RELATION, TEST_COLUMN, TEST_REGISTER, TEST_OTHER = range(4)
TEST_WIDTH = 4
"""How a column of the event relates to a column of the one in a register."""
ALWAYS, NOTHING = -1, -2
REACH_OWN, REACH_BOUND, REACH_ALL = range(3)
"""What a program speaks of: the event alone, the latest events under labels, or all of them."""

SET_TIMER, SET_FIXED, SET_TIME = range(3)
SET_WIDTH = 3

WAY_MACHINE, WAY_LIST, WAY_REGISTER, WAY_COLUMN = range(4)
WAY_WIDTH = 4

(
    MACHINE_DETECTOR,
    MACHINE_SIZE,
    MACHINE_REGISTERS,
    MACHINE_REGISTERS_AT,
    MACHINE_LISTS,
    MACHINE_LISTS_AT,
    MACHINE_POSITIONS,
    MACHINE_WAYS,
    MACHINE_ORDERED,
    MACHINE_SIDE,
    MACHINE_SPLITS,
    MACHINE_RUNGS,
    MACHINE_DOORS,
    MACHINE_DOORS_END,
) = range(14)
MACHINE_WIDTH = 14
"""`MACHINE_SPLITS`: one event may take several transitions. `MACHINE_SIDE` is -1 for a whole
rule. `MACHINE_RUNGS`: its branches are ladders, and a match has so many events; else 0."""

(
    DETECTOR_NUMBER,
    DETECTOR_FAMILY,
    DETECTOR_WHERE,
    DETECTOR_WITHIN,
    DETECTOR_SLACK,
    DETECTOR_MISSING,
    DETECTOR_POSITIONS,
    DETECTOR_FRAME,
    DETECTOR_LISTS,
    DETECTOR_TIMED,
    DETECTOR_ALIVE,
    DETECTOR_STEPS,
    DETECTOR_STEPS_END,
    DETECTOR_PAIR_TYPE,
) = range(14)
DETECTOR_WIDTH = 14
"""`DETECTOR_SLACK` is how late a composite event that it looks at may be told. `DETECTOR_STEPS` are
those of a rule with parallel parts, else there are none."""

STEP_WIDTH = 2
STEP_MACHINE, STEP_PAIRS = range(2)

(
    PARALLEL_MACHINE,
    PARALLEL_LEFT,
    PARALLEL_RIGHT,
    PARALLEL_DIRECT,
    PARALLEL_DOOR,
    PARALLEL_TYPE,
) = range(6)
PARALLEL_WIDTH = 6
"""`PARALLEL_DIRECT`: a pair is a match and nothing else, so that pairs need no order."""

# --- state -------------------------------------------------------------------

(
    BRANCH_STATE,
    BRANCH_MACHINE,
    BRANCH_LAST,
    BRANCH_LAST_END,
    BRANCH_NODE,
    BRANCH_START,
    BRANCH_END,
    BRANCH_FLAGS,
    BRANCH_HASH,
    BRANCH_HASH2,
    BRANCH_HEAP,
    BRANCH_TIMERS,
    BRANCH_TIMER,
) = range(13)
"""A branch, by its place in the slot: its state (-1: free), its last event (or `TIMER`), what it is
made of, the interval of that, its place in the heap (-1: none), how many timers run, and then the
timers (number and time, in the order in which they were set), registers, and links of its lists."""
BRANCH_RUNGS = BRANCH_HASH
"""A ladder has here a bit for each of its rungs, and its latest events in place of registers."""
TIMER = -2
TWIN, WAS_TOLD, IS_DUE = 1, 2, 4
"""Flags: another branch may be made of the same events; what it is made of was told; fires now."""

NODE_PARENT, NODE_USERS, NODE_COUNT, NODE_FIRST = 0, 1, 2, 4
NODE_WIDTH = 16
NODE_ROOM = (NODE_WIDTH - NODE_FIRST) // 2
"""Some events of a branch, each as its row and the state that it led to, after those of the parent.
A node is two lines of the processor's cache. One with several users does not grow any more; one
without users is free."""

KEY_WAY, KEY_TAG, KEY_CELL, KEY_HEAD = range(4)
KEY_WIDTH = 4
"""A list of branches by the value of a way; the way is one more, 0 is an empty place."""

HEAP_WIDTH = 2

SIDE_HEAD, SIDE_TAIL, SIDE_COUNT, SIDE_NEW, SIDE_SWEEP = range(5)
SIDE_WIDTH = 5
MATCH_NEXT, MATCH_NODE, MATCH_START, MATCH_END = range(4)
MATCH_WIDTH = 4
"""The matches of a side of a parallel expression, oldest first; `SIDE_NEW` is the first new one."""

TOLD_HASH, TOLD_HASH2, TOLD_ROW, TOLD_ORIGIN = range(4)
TOLD_WIDTH = 4

FREE_NODE, FREE_MATCH, KEYS_USED, TOLD_COUNT, TOLD_LIMIT = range(5)
COUNTER_COUNT = 5

(
    STAMP,
    SELF_ROW,
    SELF_COUNT,
    FRESH_COUNT,
    PAIR_LEFT,
    PAIR_RIGHT,
    PAIRS_ROWS,
    PAIRS_MADE,
    PAIRS_PARTS,
    KEY_SEEN,
    EMPTY_LADDER,
) = range(11)
PASSING_COUNT = 11
"""Numbers of the event that is passing: its number, its row and how many nodes hold it; how many
sums of it are remembered; the sides of the pair that is looked at; and how many rows, made events
and parts there were before the pairs; where its key was found among all; and a ladder on which it
left nothing, or -1."""
