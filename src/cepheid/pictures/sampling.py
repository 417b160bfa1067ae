"""Sampling: which of many are drawn, so that every corner of the whole is seen in the part."""

from __future__ import annotations

import numpy as np

from cepheid.tables.arrow import Ints


def fair(strata: Ints, most: int) -> Ints:
    """At most so many rows, as evenly over the strata as they allow, in ascending order.

    One row of every stratum comes before any second one, and so on; what is left over is taken at
    equal distances. Which row of a stratum comes first depends on nothing but its number, and
    follows no pattern in time.

    >>> strata = np.array([7, 7, 7, 7, 1, 7, 2])
    >>> strata[fair(strata, 4)].tolist()
    [7, 7, 1, 2]
    """
    if len(strata) <= most:
        return np.arange(len(strata))
    order = np.lexsort((_shuffled(len(strata)), strata))
    ranks = _ranks(strata[order])
    whole = int(np.searchsorted(np.cumsum(np.bincount(ranks)), most, side="right"))
    chosen, rest = order[ranks < whole], np.sort(order[ranks == whole])
    places = np.arange(most - len(chosen)) * len(rest) // max(1, most - len(chosen))
    return np.sort(np.concatenate([chosen, rest[places]]))


def turns(groups: Ints) -> Ints:
    """All rows in an order in which every group has its turn again and again.

    >>> turns(np.array([0, 0, 0, 1])).tolist()[:2] in ([0, 3], [1, 3], [2, 3])
    True
    """
    if not len(groups):
        return np.zeros(0, np.int64)
    order = np.lexsort((_shuffled(len(groups)), groups))
    return order[np.lexsort((groups[order], _ranks(groups[order])))]


def _shuffled(count: int) -> Ints:
    """A number for each row that looks as if it came by chance."""
    found = np.arange(count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    found ^= found >> np.uint64(29)
    return (found * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(1)).astype(np.int64)


def _ranks(groups: Ints) -> Ints:
    """The place of each row within its group; groups stand together."""
    begins = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    return np.arange(len(groups)) - np.repeat(begins, np.diff(begins, append=len(groups)))
