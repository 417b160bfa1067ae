"""T-Rex's Fig. 13: the default scenario, each event with 100 rules, on one core and on several.

A table goes into `Rules.detect` and a table of composite events comes out, so this is what a user
gets from `cores`. With so few events matching is done by one, writing what was found by all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from time import perf_counter

from bench import sequences
from bench.figure import Figure, Options, Task
from cepheid import load

EVENTS = 1000
SHAPE = sequences.Shape("each", triggered=100, rate=0.0)
MOST = 4


def scaled(cores: int, options: Options) -> Iterator[Figure]:
    """Events per second with so many cores."""
    rules = load(sequences.text(SHAPE), language="tesla", limit=100_000_000)
    stream = sequences.stream(SHAPE, options.count(EVENTS))
    expected = sum(sequences.expected(SHAPE, stream).values())
    table, best, found = stream.table(), float("inf"), 0
    for _ in range(1 + options.repeat):  # the first one warms up
        begin = perf_counter()  # never computing time: that of all cores is what one needs
        found = len(rules.detect(table, unit="us", cores=cores))
        best = min(best, perf_counter() - begin)
    yield Figure(
        f"cores/{cores}",
        len(stream) / best,
        right=found == expected,
        details={
            "cores": cores,
            "events": len(stream),
            "composites": found,
            "expected": expected,
            "composites/s": found / best,
        },
    )


def tasks() -> list[Task]:
    """One for every number of cores that the machine has."""
    most = min(MOST, len(os.sched_getaffinity(0)))
    return [Task(f"cores/{n}", partial(scaled, n), sweep=True) for n in range(1, most + 1)]
