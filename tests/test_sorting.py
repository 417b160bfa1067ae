"""The compiled order of matches, beside Python's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid.tables.sorting import key_parts, sort_matches, sort_parts

SMALL = st.integers(0, 2)
PARTS = st.lists(st.tuples(st.integers(-1, 3), SMALL), max_size=3)
LONG = st.lists(st.tuples(st.integers(-1, 50), SMALL), min_size=14, max_size=60)
RULES = st.lists(st.integers(0, 400), max_size=12)
MATCHES = st.lists(st.tuples(SMALL, SMALL, SMALL, PARTS, RULES), max_size=40)


@pytest.mark.property
@given(MATCHES, st.booleans(), st.integers(0, 3))
def test_composite_events_are_sorted_by_everything_in_turn(
    matches: list[tuple[int, int, int, list[tuple[int, int]], list[int]]],
    one_head: bool,
    order: int,
) -> None:
    # As they come, or in order but for the rules, or the newest first, or each with its own end.
    keys_ = [lambda m: m[0], lambda m: (m[0], m[1]), lambda m: (m[0], -m[1]), lambda m: m[0]]
    matches.sort(key=keys_[order])
    if order in (1, 2):
        matches = [(end, start, 0, [(start, 1)], rules) for end, start, _, _, rules in matches]
    if one_head:  # those of one end are alike
        matches = [(end, 0, 0, [(1, 1)], rules) for end, _, _, _, rules in matches]
    if order == 3:
        matches = [(end, *match[1:]) for end, match in enumerate(matches)]
    columns = (np.array([match[at] for match in matches], np.int64) for at in (0, 1, 2))
    ends, starts, depths = columns
    ranks = np.array([rank for match in matches for rank in match[4]], np.int64)
    owned = np.cumsum([0, *(len(match[4]) for match in matches)])
    keys = [[3 * rank + label for rank, label in sorted(match[3])] for match in matches]
    offsets = np.cumsum([0, *map(len, keys)])
    flat = np.array([key for own in keys for key in own], np.int64)
    given_ = (starts, depths, offsets, flat)
    if order == 3:  # what nobody looks at
        given_ = (starts, flat[:0], offsets, flat[:0])
    rows = np.arange(len(matches), dtype=np.int64)
    found = sort_matches(rows, ends, *given_, owned, ranks, 401)
    of = [number for number, match in enumerate(matches) for _ in match[4]]
    wanted = sorted(
        range(len(of)),
        key=lambda row: (
            ends[of[row]],
            starts[of[row]],
            depths[of[row]],
            keys[of[row]],
            ranks[row],
        ),
    )
    assert found.tolist() == wanted


@pytest.mark.property
@given(st.lists(PARTS | LONG, max_size=6))
def test_constituents_are_sorted_by_rank_and_label(matches: list[list[tuple[int, int]]]) -> None:
    offsets = np.cumsum([0, *map(len, matches)])
    flat = [part for own in matches for part in own]
    ranks = np.array([rank for rank, _ in flat], np.int64)
    labels = np.array([label for _, label in flat], np.int64)
    label_ranks = np.array([1, 2, 0])
    keys, in_order = key_parts(offsets, ranks, labels, label_ranks)

    def key(part: tuple[int, int]) -> tuple[int, int]:
        return part[0], int(label_ranks[part[1]])

    assert in_order == all(own == sorted(own, key=key) for own in matches)
    alone, none = keys.copy(), np.zeros(0, np.int64)
    sort_parts(offsets, alone, none, none)
    sort_parts(offsets, keys, ranks, labels)
    assert alone.tolist() == keys.tolist()
    found = list(zip(ranks.tolist(), labels.tolist(), strict=True))
    assert found == [part for own in matches for part in sorted(own, key=key)]
