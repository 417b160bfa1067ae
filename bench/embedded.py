"""What a user of the embedded engine waits for: one event, a thousand rules, the first match."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import cepheid
from bench import fires, sequences
from bench.figure import Figure, Options, Task
from bench.scenario import Reach
from cepheid.algebra import Rule
from cepheid.kernel.kernel import Kernel

WARM = 2000
"""Events that are pushed before times are taken."""


def pushed(shape: sequences.Shape, reach: Reach, options: Options) -> Iterator[Figure]:
    """How long one `push(event)` takes, median and 99th percentile, for T-Rex's default rules."""
    rules = cepheid.load(sequences.text(shape), language="tesla", limit=100_000_000)
    stream = sequences.stream(shape, options.count(30_000))
    engine, clock, times, found = rules.engine(unit="us"), options.clock, [], 0
    for event in stream.events():
        begin = clock()
        given = engine.push(event)
        times.append(clock() - begin)
        found += len(given)
    waits = 1e6 * np.array(times[WARM:] or times)
    expected = sum(sequences.expected(shape, stream).values())
    name, median = f"push/{shape.rules} rules", float(np.median(waits))
    details = {
        "events": len(stream),
        "composites": found,
        "expected": expected,
        "mean": float(np.mean(waits)),
    }
    right = found == expected
    yield Figure(f"{name}/median", median, "µs", reach, 70.0, True, right, details=details)
    bound = Reach(share=5.0, of=f"{name}/median")
    last = float(np.percentile(waits, 99))
    yield Figure(f"{name}/p99", last, "µs", bound, None, True, right, details=details)


def deployed(rules: Sequence[Rule], name: str, options: Options) -> Iterator[Figure]:
    """How long it takes until rules are deployed on a kernel that runs others already."""
    best, events = float("inf"), fires.stream(0.5, fires.Size(), 2000).events()
    for _ in range(options.repeat):
        kernel = Kernel()
        kernel.deploy(rules[:1])
        for _ in kernel.feed(kernel.encoder.encode(events[:1000], 0)):
            pass
        begin = options.clock()
        kernel.deploy(rules[1:])
        best = min(best, options.clock() - begin)
        found = kernel.feed(kernel.encoder.encode(events[1000:], 1000))
        right = sum(len(matches.rules) for matches in found) > 0
    yield Figure(name, best, "s", Reach(rate=1.0), less=True, right=right)


def _deploy_fires(options: Options) -> Iterator[Figure]:
    yield from deployed(_fires(), "deploy/1000 thresholds", options)


def _fires() -> Sequence[Rule]:
    text = fires.text(fires.KINDS["R2"], fires.Size())
    return cepheid.load(text, language="tesla", limit=100_000_000).rules


def _deploy_sequences(options: Options) -> Iterator[Figure]:
    text = sequences.text(sequences.Shape("last", rules=999, triggered=9))
    rules = cepheid.load(text, language="tesla", limit=100_000_000).rules
    yield from deployed([*_fires()[:1], *rules], "deploy/1000 sequences", options)


def _load(options: Options) -> Iterator[Figure]:
    """Reading and checking a thousand rules, for comparison: it comes before every deploy."""
    text, best = fires.text(fires.KINDS["R2"], fires.Size()), float("inf")
    for _ in range(options.repeat):
        begin = options.clock()
        count = len(cepheid.load(text, language="tesla", limit=100_000_000))
        best = min(best, options.clock() - begin)
    yield Figure("load/1000 rules", best, "s", less=True, right=count == 1000)


_FIRST = """
import time
begin = time.perf_counter()
import cepheid
rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
engine = rules.engine(unit="s")
engine.push({"type": "A", "ts": 1})
found = engine.push({"type": "B", "ts": 2})
assert len(found) == 1
print(time.perf_counter() - begin)
"""


def first_match(options: Options) -> Iterator[Figure]:
    """From import to the first match, in a process of its own that finds the kernel compiled."""
    seconds = [_process() for _ in range(1 + options.repeat)][1:]
    yield Figure("start/first match", min(seconds), "s", Reach(rate=2.0), less=True)


def _process() -> float:
    here = Path(__file__).parent.parent
    ran = subprocess.run(  # noqa: S603 (this very interpreter, with a text of our own)
        [sys.executable, "-c", _FIRST], capture_output=True, text=True, check=True, cwd=here
    )
    return float(ran.stdout)


def tasks() -> list[Task]:
    """Everything that is measured from outside."""
    many = sequences.Shape("last")
    one = replace(many, rules=1, triggered=1)
    return [
        Task("push/1 rules", partial(pushed, one, Reach(rate=15.0))),
        Task("push/1000 rules", partial(pushed, many, Reach(rate=40.0))),
        Task("load/1000 rules", _load),
        Task("deploy/1000 thresholds", _deploy_fires),
        Task("deploy/1000 sequences", _deploy_sequences),
        Task("start/first match", first_match),
    ]
