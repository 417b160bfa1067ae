"""Numbers of the kernel are as exact as Python's."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cepheid.kernel.sums import divided
from cepheid.kernel.values import ADD, INT, MISSING, MULTIPLY, SUBTRACT, arithmetic

WORD = 1 << 64


@pytest.mark.property
@example(total=23215395745808573, found=3)
@example(total=-(1 << 63), found=1)
@example(total=(1 << 53) + 1, found=1)
@given(
    total=st.integers(-(1 << 83), 1 << 83),
    found=st.one_of(st.integers(1, 20), st.integers(1, 1 << 40)),
)
def test_the_average_of_ints_is_rounded_once(total: int, found: int) -> None:
    """A sum of ints is a word and what was carried; its average fits into a word."""
    assume(abs(total) < found << 63 or total == -(found << 63))
    low = (total + WORD // 2) % WORD - WORD // 2
    assert divided(low, (total - low) // WORD, found) == total / found


words = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(-(1 << 33), 1 << 33),
    st.sampled_from([0, 1, -1, 2, 1 << 45, 3037000499, 3037000500, (1 << 63) - 1, -(1 << 63)]),
)


@pytest.mark.property
@given(one=words, other=words)
def test_arithmetic_of_ints_is_exact_or_missing(one: int, other: int) -> None:
    exact = {ADD: one + other, SUBTRACT: one - other, MULTIPLY: one * other}
    for sign, wanted in exact.items():
        fits = -(1 << 63) <= wanted < 1 << 63
        expected = (INT, wanted) if fits else (MISSING, 0)
        assert arithmetic(sign, INT, one, 0.0, INT, other, 0.0)[:2] == expected
