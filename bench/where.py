"""Where the time goes: how much of a run is matching, in compiled code, and how much is the rest.

The rest is mostly writing matches as columns. The compiled call is timed from outside, once for
each batch, so the kernel runs as it always does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

from bench import fires, sase, sequences
from bench.figure import Figure, Options, Task
from bench.measure import WARM, affordable, run
from bench.scenario import Scenario, agrees
from cepheid.kernel import kernel

NAMES = (
    "fires/R2/50%",
    "fires/R1 matches/90%",
    "sequences/default/last",
    "sequences/rules 10000/last",
    "sequences/consuming/last",
    "sase/5/length 2",
    "sase/5/length 6",
)


@contextmanager
def timed(clock: Callable[[], float]) -> Iterator[list[float]]:
    """The seconds of every compiled call, while it lasts."""
    spent: list[float] = []
    compiled = vars(kernel)["feed"]

    def feed(*given: object) -> int:
        begin = clock()
        at = int(compiled(*given))
        spent.append(clock() - begin)
        return at

    with patch.object(kernel, "feed", feed):
        yield spent


def parted(scenario: Scenario, options: Options) -> Iterator[Figure]:
    """Nanoseconds of an event, and of them those of matching, in the fastest of some runs."""
    rules, stream = scenario.rules().rules, scenario.stream(options.count(scenario.events))
    stream = stream.head(affordable(rules, scenario, stream.head(WARM), options))
    expected, each = scenario.expected(stream), 1e9 / len(stream)
    runs = []
    for _ in range(options.repeat):
        with timed(options.clock) as spent:
            one = run(rules, scenario, stream, options)
        runs.append((one.seconds, sum(spent), one.counts))
    seconds, matching, counts = min(runs, key=lambda found: found[0])
    yield Figure(
        f"where/{scenario.name}",
        seconds * each,
        "ns",
        less=True,
        right=agrees(expected, counts),
        details={
            "matching": matching * each,
            "events": len(stream),
            "composites an event": sum(counts.values()) / len(stream),
        },
    )


def tasks() -> list[Task]:
    """One for each scenario that the documentation speaks of."""
    families = (fires, sequences, sase)
    found = {one.name: one for family in families for one in family.scenarios()}
    return [Task(f"where/{name}", partial(parted, found[name]), sweep=True) for name in NAMES]
