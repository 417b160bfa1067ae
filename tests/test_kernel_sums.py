"""Sums of the kernel are as exact as Python's."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from cepheid.kernel.sums import divided

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
