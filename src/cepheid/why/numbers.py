"""Numbers and texts that stand in a relation: the nearest value that would have been enough."""

from __future__ import annotations

import math
from decimal import Decimal

from cepheid.algebra import Relation, Sign
from cepheid.events import Kind, Value, kind_of
from cepheid.oracle.values import related
from cepheid.units import INT_MAX, INT_MIN

DIGITS = 6
"""How many digits after the point a value that is proposed has at most."""
OPPOSITE = {
    Relation.EQUAL: Relation.UNEQUAL,
    Relation.UNEQUAL: Relation.EQUAL,
    Relation.LESS: Relation.AT_LEAST,
    Relation.AT_LEAST: Relation.LESS,
    Relation.GREATER: Relation.AT_MOST,
    Relation.AT_MOST: Relation.GREATER,
}
"""The relation that holds where another one does not."""
_UP = {Relation.GREATER: 1, Relation.AT_LEAST: 1, Relation.LESS: -1, Relation.AT_MOST: -1}


def nearest(
    relation: Relation, goal: Value, before: Value | None, kind: Kind | None = None
) -> Value | None:
    """The value nearest to the one before that stands in a relation to a goal, readably written.

    >>> nearest(Relation.GREATER, 45, 43.5), nearest(Relation.GREATER, 45, 40)
    (45.1, 46)
    >>> nearest(Relation.EQUAL, "A1", "A2"), nearest(Relation.UNEQUAL, True, True)
    ('A1', False)
    """
    if before is not None and _fits(relation, before, goal):
        return before
    kind = kind or (kind_of(before) if before is not None else kind_of(goal))
    if isinstance(goal, bool):
        return {Relation.EQUAL: goal, Relation.UNEQUAL: not goal}.get(relation)
    if isinstance(goal, str):
        return _text(relation, goal)
    return _number(relation, goal, before, kind)


def _fits(relation: Relation, value: Value, goal: Value) -> bool:
    return related(relation, value, goal)


def _text(relation: Relation, goal: str) -> str | None:
    options = {
        Relation.EQUAL: goal,
        Relation.AT_LEAST: goal,
        Relation.AT_MOST: goal,
        Relation.UNEQUAL: f"not {goal}",
        Relation.GREATER: f"{goal}a",
        Relation.LESS: goal[:-1],
    }
    found = options[relation]
    return found if _fits(relation, found, goal) else None


def _number(relation: Relation, goal: float, before: Value | None, kind: Kind) -> Value | None:
    if isinstance(goal, float) and not math.isfinite(goal):
        return None
    if relation is Relation.EQUAL:
        whole = isinstance(goal, int) or (kind is Kind.INT and goal.is_integer())
        return _in_range(int(goal)) if whole and kind is not Kind.DOUBLE else float(goal)
    step = _step(goal, before, kind)
    way = _UP.get(relation, 1)
    found = _rounded(goal, step, way, kind)
    for _ in range(4):
        if found is not None and _fits(relation, found, goal):
            return found
        found = None if found is None else _rounded(found + way * step, step, way, kind)
    return None


def _in_range(number: int) -> int | None:
    return number if INT_MIN <= number <= INT_MAX else None


def _step(goal: float, before: Value | None, kind: Kind) -> float:
    """One unit of the last digit that the values show."""
    if kind is Kind.INT:
        return 1
    shown = [goal] + ([before] if isinstance(before, int | float) else [])
    digits = min(max(*map(_digits, shown), 1), DIGITS)
    step: float = 10.0**-digits
    while goal + step == goal:
        step *= 10
    return step


def _digits(value: float) -> int:
    exponent = Decimal(repr(value)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _rounded(value: float, step: float, way: int, kind: Kind) -> float | None:
    """A value as it can be written, rounded to the side that is wanted."""
    if kind is Kind.INT:
        return _in_range(math.ceil(value) if way > 0 else math.floor(value))
    digits = max(0, round(-math.log10(step)))
    scale = 10.0**digits
    number = value * scale
    near = round(number)
    number = (
        near
        if math.isclose(number, near, rel_tol=1e-12)
        else (math.ceil(number) if way > 0 else math.floor(number))
    )
    return round(number / scale, digits)


def inverted(
    sign: Sign, relation: Relation, goal: float, fixed: float, *, on_left: bool
) -> tuple[Relation, float] | None:
    """What one operand must be, given the other, for a result to stand in a relation to a goal.

    >>> inverted(Sign.ADD, Relation.GREATER, 10, 4, on_left=True)
    (<Relation.GREATER: '>'>, 6)
    >>> inverted(Sign.SUBTRACT, Relation.GREATER, 10, 4, on_left=False)
    (<Relation.LESS: '<'>, -6)
    """
    if sign is Sign.ADD:
        return relation, goal - fixed
    if sign is Sign.SUBTRACT:
        return (relation, goal + fixed) if on_left else (relation.mirrored, fixed - goal)
    if sign is Sign.MULTIPLY:
        return None if fixed == 0 else (_turned(relation, fixed), _exact(goal / fixed))
    if on_left:
        return None if fixed == 0 else (_turned(relation, fixed), goal * fixed)
    if goal == 0:
        return None
    return _turned(relation.mirrored, fixed * goal), _exact(fixed / goal)


def _turned(relation: Relation, factor: float) -> Relation:
    return relation if factor > 0 else relation.mirrored


def _exact(value: float) -> float:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def wanted_count(relation: Relation, goal: float, count: int) -> int | None:
    """The count nearest to the one that there is that stands in a relation to a goal.

    >>> wanted_count(Relation.AT_LEAST, 10, 7), wanted_count(Relation.LESS, 3, 5)
    (10, 2)
    """
    options = [math.floor(goal) + shift for shift in (-1, 0, 1, 2)]
    fitting = [n for n in options if n >= 0 and related(relation, n, goal)]
    return min(fitting, key=lambda n: abs(n - count), default=None)
