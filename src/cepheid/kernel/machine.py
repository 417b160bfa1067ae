"""Everything that compiled code works on, in one place: tables, state, and room for results."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cepheid.kernel.compiled import compiled
from cepheid.kernel.programs import Code, Frame, run
from cepheid.kernel.store import Store
from cepheid.kernel.tables import Tables
from cepheid.kernel.values import Floats, Ints


class Matches(NamedTuple):
    """Room for matches: family, its members, time, then rows and values one after the other."""

    family: Ints
    low: Ints
    high: Ints
    time: Ints
    rows: Ints
    tags: Ints
    cells: Ints


class Scratch(NamedTuple):
    """Room for the search: picks of all depths with their members, bounds, and partial sums."""

    picks: Ints
    lows: Ints
    highs: Ints
    begins: Ints
    ends: Ints
    sums: Floats


class Machine(NamedTuple):
    """What a search reads and writes."""

    tables: Tables
    code: Code
    store: Store
    frame: Frame
    matches: Matches
    scratch: Scratch
    ranks: Ints


def room_for_matches(count: int) -> Matches:
    """Empty room for so many matches."""
    many = 8 * count
    sizes = (count, count, count, count, many, many, many)
    return Matches(*(np.zeros(size, np.int64) for size in sizes))


def room_to_search(picks: int, width: int) -> Scratch:
    """Empty room for a search through rules of so many components."""
    sizes = (picks, picks, picks, width + 1, width + 1)
    ints = [np.zeros(size, np.int64) for size in sizes]
    return Scratch._make((*ints, np.zeros(64, np.float64)))


@compiled
def holds(m: Machine, program: int, own: int, missing: bool) -> bool:
    """Whether a condition holds."""
    _, value, _ = run(program, m.code, m.frame, own, m.store.tags, m.store.cells, m.ranks, missing)
    return value == 1


@compiled
def value_of(m: Machine, program: int, own: int, missing: bool) -> tuple[int, int, float]:
    """The value of an expression."""
    return run(program, m.code, m.frame, own, m.store.tags, m.store.cells, m.ranks, missing)
