"""The static index at work: which predicates of its type an event satisfies.

See `filter_index` for how the tables are made.
"""

from __future__ import annotations

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import ints, size, tags
from cepheid.kernel.programs import holds
from cepheid.kernel.store import RANKS, ROW_CELLS, ROW_TAGS, ROW_TYPE, WIDTH, scalar
from cepheid.kernel.tables import (
    AXIS,
    AXIS_COLUMN,
    AXIS_KIND,
    AXIS_LEAVES,
    AXIS_MISSING,
    AXIS_MISSING_END,
    AXIS_POINTS,
    AXIS_POINTS_END,
    AXIS_WIDTH,
    CHECK,
    CHECK_AXIS,
    CHECK_HIGH,
    CHECK_LOW,
    CHECK_WIDTH,
    LEAF_NODE,
    LEAF_OF,
    MEANT,
    NODE,
    NODE_BEGIN,
    NODE_END,
    NODE_PLACE,
    NODE_UP,
    NODE_WIDTH,
    PLACE,
    PLACE_CHECKS,
    PLACE_CHECKS_END,
    PLACE_PREDICATE,
    PLACE_WIDTH,
    POINT_CELL,
    POINT_TAG,
    PREDICATE,
    PREDICATE_MISSING,
    PREDICATE_PROGRAM,
    PREDICATE_WIDTH,
    TYPE,
    TYPE_AXES,
    TYPE_AXES_END,
    TYPE_FOUND_BY_END,
    TYPE_FREE_END,
    TYPE_PLACES,
    TYPE_WIDTH,
)
from cepheid.kernel.values import DOUBLE, INT, MISSING, Ints, as_float, compare

UNKNOWN, OTHER, LACKING = -3, -2, -1
"""Instead of a leaf: not looked up yet; a value of another kind; no value."""
FEW = 16


@compiled
def find_meant(m: int, row: int) -> int:
    """Write down the predicates that an event satisfies, in the order of numbers; how many."""
    about = TYPE_WIDTH * ints(m, ROW_TYPE)[row]
    if about >= size(m, TYPE):
        return 0
    table, places, meant, count = ints(m, TYPE), ints(m, PLACE), ints(m, MEANT), 0
    for place in range(table[about + TYPE_PLACES], table[about + TYPE_FREE_END]):
        predicate = places[PLACE_WIDTH * place + PLACE_PREDICATE]
        if _passes_program(m, predicate, row):
            meant[count] = predicate
            count += 1
    begin, end = table[about + TYPE_AXES], table[about + TYPE_AXES_END]
    if begin == end:
        return count
    found_by_end, leaves = table[about + TYPE_FOUND_BY_END], ints(m, LEAF_OF)
    for axis in range(begin, end):
        leaves[axis] = UNKNOWN
    free = count
    for axis in range(begin, found_by_end):
        count = _find_by(m, axis, row, count)
    if count > free and count > 1:
        _sort(meant, count)
    return count


@inlined
def _passes_program(m: int, predicate: int, row: int) -> bool:
    """Whether what the index does not know of a predicate holds."""
    table, at = ints(m, PREDICATE), PREDICATE_WIDTH * predicate
    program = table[at + PREDICATE_PROGRAM]
    return program < 0 or holds(m, program, row, table[at + PREDICATE_MISSING] == 1)


@inlined
def _find_by(m: int, axis: int, row: int, count: int) -> int:
    """Add the predicates that are found by an axis."""
    table, at, meant = ints(m, AXIS), AXIS_WIDTH * axis, ints(m, MEANT)
    listed, nodes = ints(m, NODE_PLACE), ints(m, NODE)
    leaf = _leaf(m, axis, row)
    if leaf == OTHER:
        return count
    if leaf == LACKING:
        node, begin, end = -1, table[at + AXIS_MISSING], table[at + AXIS_MISSING_END]
    else:
        node, begin, end = ints(m, LEAF_NODE)[table[at + AXIS_LEAVES] + leaf], 0, 0
    while True:
        for index in range(begin, end):
            place = listed[index]
            if _accepts(m, place, row):
                meant[count] = ints(m, PLACE)[PLACE_WIDTH * place + PLACE_PREDICATE]
                count += 1
        if node < 0:
            return count
        begin, end = nodes[NODE_WIDTH * node + NODE_BEGIN], nodes[NODE_WIDTH * node + NODE_END]
        node = nodes[NODE_WIDTH * node + NODE_UP]


@inlined
def _accepts(m: int, place: int, row: int) -> bool:
    """Whether an event also passes the other tests of a predicate by which it was found."""
    places, checks, at = ints(m, PLACE), ints(m, CHECK), PLACE_WIDTH * place
    predicate = places[at + PLACE_PREDICATE]
    for check in range(places[at + PLACE_CHECKS], places[at + PLACE_CHECKS_END]):
        leaf = _leaf(m, checks[CHECK_WIDTH * check + CHECK_AXIS], row)
        if leaf == LACKING:
            if ints(m, PREDICATE)[PREDICATE_WIDTH * predicate + PREDICATE_MISSING] == 0:
                return False
        elif (
            leaf < checks[CHECK_WIDTH * check + CHECK_LOW]
            or leaf >= checks[CHECK_WIDTH * check + CHECK_HIGH]
        ):
            return False
    return _passes_program(m, predicate, row)


@inlined
def _leaf(m: int, axis: int, row: int) -> int:
    """Where an event lies on an axis; it is looked up once."""
    leaves = ints(m, LEAF_OF)
    if leaves[axis] == UNKNOWN:
        leaves[axis] = _find_leaf(m, axis, row)
    return int(leaves[axis])


@compiled
def _find_leaf(m: int, axis: int, row: int) -> int:
    """Leaf 2i is below the i-th point, leaf 2i + 1 is the point itself."""
    table, at = ints(m, AXIS), AXIS_WIDTH * axis
    cell_at = row * scalar(m, WIDTH) + table[at + AXIS_COLUMN]
    tag, cell = int(tags(m, ROW_TAGS)[cell_at]), ints(m, ROW_CELLS)[cell_at]
    if tag == MISSING:
        return LACKING
    if (INT if tag == DOUBLE else tag) != table[at + AXIS_KIND]:
        return OTHER
    begin, end = table[at + AXIS_POINTS], table[at + AXIS_POINTS_END]
    first, order, number = begin, 1, as_float(cell) if tag == DOUBLE else 0.0
    while begin < end:
        middle = (begin + end) // 2
        order = _order(m, middle, tag, cell, number)
        if order == 0:
            return int(2 * (middle - first) + 1)
        if order < 0:
            begin = middle + 1
        else:
            end = middle
    return int(2 * (begin - first))


@inlined
def _order(m: int, point: int, tag: int, cell: int, number: float) -> int:
    """-1, 0 or 1: a point compared with a value of its kind; codes of texts are like numbers."""
    other_tag, other = ints(m, POINT_TAG)[point], ints(m, POINT_CELL)[point]
    if tag != DOUBLE and other_tag != DOUBLE:
        return -1 if other < cell else (1 if other > cell else 0)
    other_number = as_float(other) if other_tag == DOUBLE else 0.0
    return compare(other_tag, other, other_number, tag, cell, number, ints(m, RANKS))


@inlined
def _sort(numbers: Ints, count: int) -> None:
    """Sort the first numbers; mostly there are few, and most of them in order."""
    if count > FEW:
        numbers[:count].sort()
        return
    for at in range(1, count):
        number, to = numbers[at], at
        while to > 0 and numbers[to - 1] > number:
            numbers[to] = numbers[to - 1]
            to -= 1
        numbers[to] = number
