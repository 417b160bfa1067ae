"""Tables of trees: all that compiled code knows about rules whose patterns are trees.

Everything that looks for events in a window (components, negations, aggregates) is a *probe*: a
stack, a key into it, a window and a condition on what is found. What must hold is a list of
*steps* per component: those that make an event a candidate, before the policy picks, and those
that are checked after the pick, as soon as all the events that they speak of are bound.
"""

from __future__ import annotations

from cepheid.kernel.memory import TREES

(
    TYPE,
    PLACE,
    PREDICATE,
    PREDICATE_STACK,
    PREDICATE_FAMILY,
    PROBE,
    STEP,
    AGGREGATE,
    COMPONENT,
    TREE,
    NARROW,
    HOLE,
    THRESHOLD_TAG,
    THRESHOLD_CELL,
    PICK_ROW,
    PICK_LOW,
    PICK_HIGH,
    PICK_BEGIN,
    PICK_END,
    MEANT,
    WAIT,
    WAIT_ROW,
    WAIT_HEAP,
    OPEN,
    CHECK,
    AXIS,
    POINT_TAG,
    POINT_CELL,
    LEAF_NODE,
    NODE,
    NODE_PLACE,
    LEAF_OF,
    KNOWN,
    PICK_STEP,
) = range(TREES + 10, TREES + 44)
"""Slots of tables, of the search, of matches that wait for their deadline, of the static index."""

TYPE_PLACES, TYPE_FREE_END, TYPE_AXES, TYPE_FOUND_BY_END, TYPE_AXES_END = range(5)
TYPE_WIDTH = 5
PLACE_PREDICATE, PLACE_CHECKS, PLACE_CHECKS_END = range(3)
PLACE_WIDTH = 3
CHECK_AXIS, CHECK_LOW, CHECK_HIGH = range(3)
CHECK_WIDTH = 3
(
    AXIS_COLUMN,
    AXIS_KIND,
    AXIS_POINTS,
    AXIS_POINTS_END,
    AXIS_LEAVES,
    AXIS_MISSING,
    AXIS_MISSING_END,
) = range(7)
AXIS_WIDTH = 7
NODE_BEGIN, NODE_END, NODE_UP = range(3)
NODE_WIDTH = 3

(
    PREDICATE_PROGRAM,
    PREDICATE_MISSING,
    STACKS_BEGIN,
    STACKS_END,
    TREES_BEGIN,
    TREES_END,
) = range(6)
PREDICATE_WIDTH = 6

(
    PROBE_STACK,
    PROBE_ALL,
    PROBE_KEY_AT,
    PROBE_KEY_COLUMN,
    PROBE_LOW,
    PROBE_LOW_OFFSET,
    PROBE_HIGH,
    PROBE_HIGH_OFFSET,
    PROBE_SWAPS,
    PROBE_FILTER,
) = range(10)
PROBE_WIDTH = 10

TEST, ABSENT, COMPUTE, SPAN, NARROWED, EQUIVALENT = range(6)
STEP_KIND, STEP_ARGUMENT = range(2)
STEP_WIDTH = 2

AGGREGATE_PROBE, AGGREGATE_FUNCTION, AGGREGATE_COLUMN = range(3)
AGGREGATE_WIDTH = 3

(
    COMPONENT_PROBE,
    COMPONENT_POLICY,
    COMPONENT_COUNT,
    COMPONENT_COVER,
    CANDIDATE_BEGIN,
    CANDIDATE_END,
    PICKED_BEGIN,
    PICKED_END,
    COMPONENT_LABEL,
    COMPONENT_PROVEN,
) = range(10)
COMPONENT_WIDTH = 10
"""`COMPONENT_PROVEN` is how many of the first steps after the pick the key has proven already."""

(
    TREE_FAMILY,
    TREE_COMPONENTS,
    TREE_SIZE,
    TREE_HOLE,
    TREE_MISSING,
    TREE_WITHIN,
    TREE_DEADLINE,
    TREE_DEADLINE_OFFSET,
    TREE_CONSUMES,
    FINAL_BEGIN,
    FINAL_END,
    TREE_MEMBERS,
    TREE_ALIVE,
    TREE_CONSUMED,
    TREE_WALKS,
    TREE_RECHECKED,
) = range(16)
TREE_WIDTH = 16
NOT_KEPT, KEPT, KEPT_BY_MEMBER = range(3)
"""Whether what a tree consumed is kept in mind: not where it consumes nothing, or where an event
leaves the only list that it is in; else for all members at once, or for each of them.
`TREE_RECHECKED` is 1 where compaction decides about matches that wait."""

NARROW_PROGRAM, NARROW_HOLE = range(2)
NARROW_WIDTH = 2
HOLE_RELATION, HOLE_COLUMN, HOLE_BEGIN, HOLE_END = range(4)
HOLE_WIDTH = 4

WAIT_TIME, WAIT_TREE, WAIT_LOW, WAIT_HIGH, WAIT_ROWS = range(5)
WAIT_WIDTH = 5

NO_LOW, NO_HIGH = -(2**62), 2**62
