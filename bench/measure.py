"""Measures a scenario: columnar batches through the kernel on one core, matches out as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

WARM = 20_000
"""Events of a run that only warms up."""
LONGEST = 10.0
"""Seconds that a run may take; where it would take more, there are fewer events."""
PATIENCE = 10.0
"""Seconds after which runs are not repeated any more."""


def as_task(scenario: Scenario) -> Task:
    """A scenario as something to measure."""
    return Task(scenario.name, partial(measured, scenario), scenario.sweep)


def measured(scenario: Scenario, options: Options) -> Iterator[Figure]:
    """The best of some runs; every run must give the right number of composite events."""
    rules, stream = scenario.rules().rules, scenario.stream(options.count(scenario.events))
    stream = stream.head(affordable(rules, scenario, stream.head(WARM), options))
    expected = scenario.expected(stream)
    runs = repeated(rules, scenario, stream, options)
    seconds, total = min(one.seconds for one in runs), sum(runs[0].counts.values())
    limit = copied(rules, stream, options) + min(one.writing for one in runs)
    yield Figure(
        scenario.name,
        len(stream) / seconds,
        reach=scenario.reach,
        known=scenario.known,
        right=all(agrees(expected, one.counts) for one in runs),
        details={
            "events": len(stream),
            "rules": len(rules),
            "composites": total,
            "expected": expected if isinstance(expected, int) else sum(expected.values()),
            "composites/s": total / seconds,
            "limit": len(stream) / limit,
        },
    )


def affordable(rules: Sequence[Rule], scenario: Scenario, stream: Stream, options: Options) -> int:
    """How many events fit into a run that is not too long; the first run is for compilation."""
    run(rules, scenario, stream, options)
    seconds = run(rules, scenario, stream, options).seconds
    return max(len(stream), int(len(stream) * LONGEST / max(seconds, 1e-6)))


@dataclass(frozen=True)
class Run:
    """One run: composite events by rule, its seconds, and those that writing matches takes."""

    counts: Counts
    seconds: float
    writing: float


def repeated(
    rules: Sequence[Rule], scenario: Scenario, stream: Stream, options: Options
) -> list[Run]:
    """Some runs of the same, fewer if they take long."""
    runs: list[Run] = []
    while len(runs) < options.repeat and sum(one.seconds for one in runs) < PATIENCE:
        runs.append(run(rules, scenario, stream, options))
    return runs


def run(rules: Sequence[Rule], scenario: Scenario, stream: Stream, options: Options) -> Run:
    """Feed a stream to a new kernel; counting and copying what it gives is not its time."""
    kernel, numbers, batches = ready(rules, stream, options.batch)
    counts = np.zeros(max(numbers) + 1, np.int64)
    clock = options.clock
    begin, paused, writing = clock(), 0.0, 0.0
    for portion in flow(kernel, batches, scenario.until(stream)):
        found = portion if options.shared else portion.spread()
        pause = clock()
        counts += np.bincount(found.rules, minlength=len(counts))
        copying = clock()
        for column in (found.rules, found.times, found.constituents, found.tags, found.cells):
            column.copy()
        end = clock()
        paused, writing = paused + end - pause, writing + end - copying
    seconds = clock() - begin - paused
    by_name = {rule.name: int(counts[n]) for rule, n in zip(rules, numbers, strict=True)}
    return Run(by_name, seconds, writing)


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


def copied(rules: Sequence[Rule], stream: Stream, options: Options) -> float:
    """Seconds of a copy of all columns: nothing that reads them can be faster."""
    _, _, batches = ready(rules, stream, options.batch)
    best, clock = float("inf"), options.clock
    for _ in range(options.repeat):
        begin = clock()
        for batch in batches:
            for column in batch:
                column.copy()
        best = min(best, clock() - begin)
    return best
