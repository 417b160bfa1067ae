"""The time of one event, as T-Rex measures it in Fig. 8 to 15: its mean and its 99th percentile.

Every synthetic workload is pushed event by event through the embedded engine, from full windows on.
The figures of the same names without `latency/` are those of columnar batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from bench import sequences
from bench.figure import Figure, Options, Task
from bench.scenario import Load, Scenario, agrees
from cepheid.events import Event
from cepheid.runtime.engine import Engine

WARM = 15_000
"""Events that fill the windows of the default scenario."""
EVENTS = 5000
LONGEST = 4.0
"""Seconds after which no more events are pushed."""


def pushed(scenario: Scenario, options: Options) -> Iterator[Figure]:
    """The mean time of `push`; percentiles are details."""
    ending = scenario.stream(1).names[-1].partition("_")[0]
    load = Load(scenario, options.count(WARM), f"{ending}_")
    stream, before = load.stream(options.count(EVENTS))
    engine, events = scenario.rules().engine(unit="us"), stream.events()
    for event in events[:before]:
        engine.push(event)
    earlier = engine.counters.found
    times = 1e6 * _times(engine, events[before:], options)
    found = engine.counters
    expected = scenario.expected(stream.head(before + len(times)))
    composites = found.found - earlier
    yield Figure(
        f"latency/{scenario.name}",
        float(np.mean(times)),
        "µs",
        less=True,
        right=agrees(expected, found.by_rule),
        details={
            "events": len(times),
            "composites": composites,
            "composites/s": composites / (float(np.sum(times)) / 1e6),
            "p50": float(np.percentile(times, 50)),
            "p99": float(np.percentile(times, 99)),
        },
    )


def _times(engine: Engine, events: list[Event], options: Options) -> np.typing.NDArray[np.float64]:
    """Seconds that each event takes, as many of them as there is time for."""
    clock, times, spent = options.clock, [], 0.0
    for event in events:
        begin = clock()
        engine.push(event)
        times.append(clock() - begin)
        spent += times[-1]
        if spent > LONGEST:
            break
    return np.array(times)


def tasks() -> list[Task]:
    """One for every synthetic workload."""
    return [
        Task(f"latency/{scenario.name}", partial(pushed, scenario), sweep=True)
        for scenario in sequences.scenarios()
    ]
