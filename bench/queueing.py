"""T-Rex's experiments with an input queue: what is lost when events come faster than they are done.

Fig. 5 to 7 offer events at a constant rate to a queue of 100 and count composite events; Fig. 16
varies the queue's size, and Fig. 17 offers spikes of k events, one every 10 µs, a second apart. A
full queue drops the newest event, as T-Rex's does.

Events go one by one through `Engine.queue`, at the pace of the wall's clock, so other work on the
machine shows: these figures need a quiet one. Which events were taken is known, so the composite
events of exactly these are counted in another way and compared.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from bench import fires, sequences
from bench.figure import Figure, Options, Task
from bench.scenario import Load, agrees
from bench.streams import Bools
from cepheid import InputQueue, Rules
from cepheid.events import Event

SIZES = (10, 100, 1000, 10_000)
"""Sizes of the queue."""
USUAL = 100
"""The size of the paper's other experiments."""
RATES = {
    "each": (250, 500, 1000, 2000, 4000, 8000),
    "last": (2000, 4000, 8000, 12_000, 16_000, 24_000, 32_000),
}
"""Events that are offered in a second, by policy."""
WARM = 5000
"""Events that fill the windows of sequences: two of `each`, at the rate of its stream."""
SPIKES = (10, 100, 1000, 10_000)
"""Events of a spike."""
GAP = 10e-6
"""Seconds between two events of a spike."""
FIRES = (250, 500, 1000, 2000, 4000, 8000)
FILTERS = (5000, 10_000, 20_000, 30_000, 40_000, 60_000)
LENGTH = 4.0
"""Seconds that events are offered at a rate."""
TIMES = 5
"""Spikes in a run."""
FIRST = 300
"""Events that only warm up."""
TICK = 0.0002
"""Seconds that the offering thread sleeps; it then offers all that are due."""

Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """What became of events that were offered."""

    offered: int
    taken: int
    dropped: int
    most: int
    composites: int
    offering: float
    working: float
    right: bool

    def figure(self, name: str, **more: float) -> Figure:
        """The share that was lost, with everything else as details."""
        details = {
            "offered": self.offered,
            "taken": self.taken,
            "dropped": self.dropped,
            "most waiting": self.most,
            "composites": self.composites,
            "offered/s": self.offered / self.offering,
            "taken/s": self.taken / self.working,
            "composites/s": self.composites / self.working,
        }
        lost = 100 * self.dropped / max(1, self.offered)
        return Figure(name, lost, "% lost", less=True, right=self.right, details=details | more)


def offered(load: Load, rules: Rules, size: int, arrivals: Seconds) -> Outcome:
    """Offer events at their times to a queue of a size, and wait until the engine is done."""
    stream, before = load.stream(len(arrivals))
    engine, events = rules.engine(unit="us"), stream.events()
    early = sum(len(engine.push(event)) for event in events[:before])
    begin = time.perf_counter()
    with engine.queue(size=size, full="drop newest") as queue:
        kept = _paced(queue, events[before:], arrivals)
        offering = time.perf_counter() - begin
    working, counters = time.perf_counter() - begin, queue.counters
    found = engine.counters
    taken = stream.where(np.concatenate((np.ones(before, bool), kept)))
    right = counters.offered == len(arrivals) == counters.taken + counters.dropped
    right &= counters.taken == np.count_nonzero(kept)
    return Outcome(
        counters.offered,
        counters.taken,
        counters.dropped,
        counters.most,
        found.found - early,
        offering,
        working,
        right and agrees(load.scenario.expected(taken), found.by_rule),
    )


def _paced(queue: InputQueue, events: Sequence[Event], arrivals: Seconds) -> Bools:
    """Offer every event when it is due; which of them were taken."""
    kept: list[bool] = []
    begin = time.perf_counter()
    while len(kept) < len(events):
        due = int(np.searchsorted(arrivals, time.perf_counter() - begin, "right"))
        kept += [queue.offer(event) for event in events[len(kept) : due]]
        time.sleep(TICK)
    return np.array(kept, bool)


def steady(rate: float, seconds: float) -> Seconds:
    """Times of events that come at a rate."""
    return np.asarray(np.arange(max(1, int(rate * seconds))) / rate, np.float64)


def spikes(size: int, times: int, pause: float) -> Seconds:
    """Times of events that come in spikes, with a pause after each."""
    starts = np.arange(times) * (size * GAP + pause)
    return np.asarray((starts[:, None] + np.arange(size) * GAP).ravel(), np.float64)


def _ready(load: Load) -> Rules:
    """The rules, after some events that load what is compiled."""
    rules = load.scenario.rules()
    engine = rules.engine(unit="us")
    for event in load.scenario.stream(FIRST).events():
        engine.push(event)
    return rules


def at_rates(load: Load, name: str, rates: Sequence[int], size: int, run: Options) -> list[Figure]:
    """The share that is lost at every rate."""
    rules, found = _ready(load), []
    for rate in rates:
        outcome = offered(load, rules, size, steady(rate, LENGTH * min(1.0, run.scale)))
        found.append(outcome.figure(f"{name}/{rate} a second", rate=rate, size=size))
    return found


def in_spikes(load: Load, name: str, size: int, run: Options) -> Iterator[Figure]:
    """The share that is lost of spikes of every size."""
    rules, scale = _ready(load), min(1.0, run.scale)
    for spike in SPIKES:
        count = run.count(spike)
        outcome = offered(load, rules, size, spikes(count, max(2, round(TIMES * scale)), scale))
        yield outcome.figure(f"{name}/spikes of {spike}", spike=count, size=size)


def sequence(policy: str, tiny: bool = False) -> Load:
    """The default scenario with three states, as in Fig. 16 and 17."""
    found = {one.name: one for one in sequences.scenarios(tiny)}
    return Load(found[f"sequences/states 3/{policy}"], 20 if tiny else WARM, "E2_")


def fire(name: str, tiny: bool = False) -> Load:
    """A scenario of Fig. 6 and 7; Temp fills the windows before the first Smoke."""
    size = fires.TINY if tiny else fires.Size()
    found = {one.name: one for one in fires.scenarios(tiny)}
    return Load(found[f"fires/{name}"], size.window, "Smoke")


def filters(tiny: bool = False) -> Load:
    """The scenario of Fig. 5, which keeps nothing."""
    return Load({one.name: one for one in fires.scenarios(tiny)}["filters/equal"])


def _task(name: str, rates: Sequence[int], size: int, load: partial[Load]) -> Task:
    def run(options: Options) -> Iterator[Figure]:
        yield from at_rates(load(), name, rates, size, options)

    return Task(name, run, sweep=True)


def _spiked(policy: str, size: int) -> Task:
    name = f"queue/{policy}/spikes/size {size}"

    def run(options: Options) -> Iterator[Figure]:
        yield from in_spikes(sequence(policy), name, size, options)

    return Task(name, run, sweep=True)


def tasks() -> list[Task]:
    """Fig. 5 to 7, 16 and 17."""
    shares = [f"{share:.0%}" for share in fires.SHARES]
    kinds = [f"{rule}/{share}" for rule in ("R1", "R2", "R5") for share in shares]
    return [
        _task("queue/filters", FILTERS, USUAL, partial(filters)),
        *(_task(f"queue/{kind}", FIRES, USUAL, partial(fire, kind)) for kind in kinds),
        *(
            _task(f"queue/{policy}/rates/size {size}", rates, size, partial(sequence, policy))
            for policy, rates in RATES.items()
            for size in SIZES
        ),
        *(_spiked(policy, size) for policy in RATES for size in SIZES),
    ]
