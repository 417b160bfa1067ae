"""Many rules that differ in a constant: an event finds those that it satisfies."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid

Number = int | float
SIGNS: dict[str, Callable[[Number, Number], bool]] = {
    "=": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
CONSTANTS: dict[str, list[Number]] = {
    "evenly spread": list(range(-50, 50)),
    "in steps": list(range(0, 700, 7)),
    "ever further apart": [number**5 for number in range(60)],
    "one far away": [*range(40), 2**62],
    "all but the same": [*[5] * 30, *[6] * 30, 2**40],
    "beyond doubles": [2**62 + number for number in range(40)],
    "from end to end": [-(2**62), *range(-20, 20), 2**62],
    "ints and doubles": [number / 2 if number % 2 else number for number in range(60)],
    "doubles at the ends": [-0.5, *range(40), 40.5],
    "few": [1, 2, 3],
}


def satisfied(constants: list[Number], sign: str, values: list[Number]) -> None:
    """Compare what is found with what Python says."""
    text = "\n".join(
        f"Rule R{number} define F() from A(x {sign} {constant!r})"
        for number, constant in enumerate(constants)
    )
    rules = cepheid.load(text, language="tesla")
    events = [{"type": "A", "ts": ts, "x": value} for ts, value in enumerate(values)]
    found = Counter((int(one["rule"][1:]), one["ts"]) for one in rules.detect(events, unit="us"))
    expected = Counter(
        (number, ts)
        for number, constant in enumerate(constants)
        for ts, value in enumerate(values)
        if SIGNS[sign](value, constant)
    )
    assert found == expected


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("spread", CONSTANTS)
def test_every_value_finds_the_constants_that_it_satisfies(spread: str, sign: str) -> None:
    constants = CONSTANTS[spread]
    around = [c + step for c in constants for step in (-1, 0, 1)]
    halves = [c + 0.5 for c in constants if abs(c) < 2**50]
    limits: list[Number] = [2**63 - 1, -(2**63), 0, float("inf"), float("-inf")]
    satisfied(constants, sign, list(dict.fromkeys([*around, *halves, *limits])))


NUMBERS = st.one_of(
    st.integers(-30, 30),
    st.integers(-(2**62), 2**62),
    st.integers(-60, 60).map(lambda number: number / 2),
)


@pytest.mark.property
@given(
    st.lists(NUMBERS, min_size=1, max_size=40),
    st.sampled_from(sorted(SIGNS)),
    st.lists(NUMBERS, min_size=1, max_size=20),
)
def test_any_value_finds_the_constants_that_it_satisfies(
    constants: list[Number], sign: str, values: list[Number]
) -> None:
    satisfied(constants, sign, [*values, *constants])
