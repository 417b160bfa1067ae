"""Measures a scenario: columnar batches through the kernel on one core, matches out as columns."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np

from bench.figure import Figure, Options, Task
from bench.scenario import Counts, Scenario, agrees
from bench.streams import Stream, parts
from cepheid.algebra import Rule
from cepheid.kernel.columns import Batch
from cepheid.kernel.found import Found
from cepheid.kernel.kernel import Kernel

PATIENCE = 8.0
"""Seconds after which a run is not repeated any more."""


def as_task(scenario: Scenario) -> Task:
    """A scenario as something to measure."""
    return Task(scenario.name, partial(measured, scenario), scenario.sweep)


def measured(scenario: Scenario, options: Options) -> Iterator[Figure]:
    """Check the count of composite events by rule, then take the time of the best of some runs."""
    stream = scenario.stream(options.count(scenario.events))
    rules, expected = scenario.rules().rules, scenario.expected(stream)
    counts = counted(rules, scenario, stream, options.batch)
    total = sum(counts.values())
    seconds, right = timed(rules, scenario, stream, options, total)
    yield Figure(
        scenario.name,
        len(stream) / seconds,
        reach=scenario.reach,
        known=scenario.known,
        right=right and agrees(expected, counts),
        details={
            "events": len(stream),
            "rules": len(rules),
            "composites": total,
            "expected": expected if isinstance(expected, int) else sum(expected.values()),
            "composites/s": total / seconds,
            "limit": identity(rules, stream, options),
        },
    )


def ready(
    rules: Sequence[Rule], stream: Stream, size: int
) -> tuple[Kernel, list[int], list[Batch]]:
    """A kernel with rules deployed, their numbers, and a stream as it reads it."""
    kernel = Kernel()
    numbers = kernel.deploy(rules)
    return kernel, numbers, parts(stream.batch(kernel.encoder), size)


def flow(kernel: Kernel, batches: Sequence[Batch], until: int) -> Iterator[Found]:
    """All matches: those of the batches, and those of the time that passes afterwards."""
    return chain(
        chain.from_iterable(kernel.feed(batch) for batch in batches), kernel.advance(until)
    )


def counted(rules: Sequence[Rule], scenario: Scenario, stream: Stream, size: int) -> Counts:
    """Composite events by the name of their rule."""
    kernel, numbers, batches = ready(rules, stream, size)
    counts = np.zeros(max(numbers) + 1, np.int64)
    for found in flow(kernel, batches, scenario.until(stream)):
        counts += np.bincount(found.rules, minlength=len(counts))
    return {rule.name: int(counts[n]) for rule, n in zip(rules, numbers, strict=True)}


def timed(
    rules: Sequence[Rule], scenario: Scenario, stream: Stream, options: Options, total: int
) -> tuple[float, bool]:
    """The seconds of the best run, and whether every run gave as many composite events."""
    best, spent, right = float("inf"), 0.0, True
    for _ in range(options.repeat):
        kernel, _, batches = ready(rules, stream, options.batch)
        begin, count = time.perf_counter(), 0
        for found in flow(kernel, batches, scenario.until(stream)):
            count += len(found.rules)
        seconds = time.perf_counter() - begin
        best, spent, right = min(best, seconds), spent + seconds, right and count == total
        if spent > PATIENCE:
            break
    return best, right


def identity(rules: Sequence[Rule], stream: Stream, options: Options) -> float:
    """Events per second of a copy of all columns: nothing that reads them can be faster."""
    _, _, batches = ready(rules, stream, options.batch)
    best = float("inf")
    for _ in range(options.repeat):
        begin = time.perf_counter()
        for batch in batches:
            for column in batch:
                column.copy()
        best = min(best, time.perf_counter() - begin)
    return len(stream) / best
