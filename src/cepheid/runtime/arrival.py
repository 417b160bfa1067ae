"""Arrival: when an event that has come in is consumed, and when it is late.

Events do not always come in the order of their times. A detection policy says how long an event
waits for earlier ones; the policies are those of the composite event detection framework
(Pietzuch, Shand, Bacon, section "Detection Policies"), whose open question of a probabilistic
stability metric is answered here by the delays that were seen.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.errors import EventError, did_you_mean
from cepheid.events import Value
from cepheid.units import TIME_MAX

Ints = npt.NDArray[np.int64]

NEVER, ALWAYS = -TIME_MAX, TIME_MAX
"""Before and after any time that an event can have."""

POLICIES = ("guaranteed", "best_effort", "probable(0.95)")
SAMPLE = 4096
"""How many observed delays `probable` remembers."""
MOST_PROBABLE = 0.999
"""The highest probability that so many observations can tell from certainty."""

_PROBABLE = re.compile(r"probable\(\s*(\d*\.?\d+)\s*\)")


@dataclass(frozen=True)
class Heard:
    """What is known of all events that arrived together, where only some of them are here.

    `newest` are the newest times by source, `beats` those of heartbeats.
    """

    newest: Mapping[Value | None, int] = field(default_factory=dict)
    beats: Mapping[Value | None, int] = field(default_factory=dict)


class Arrival(ABC):
    """What all policies share: three bounds that only grow.

    An event that ends before `watermark` is late. Waiting events that end at or before `ready`
    are consumed. Nothing that ends at or before `passed` is still to come.
    """

    apart = False
    """Whether the sources of events are told apart."""
    in_order = True
    """Whether events are put in order before they are consumed."""
    observes = False
    """Whether it matters when each event comes, not only which is the newest."""

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.watermark = NEVER
        self.ready = NEVER
        self.passed = NEVER

    @abstractmethod
    def arrive(self, source: Value | None, time: int) -> None:
        """Take note of an event of a source that ends at a time."""

    def arrive_all(self, times: Ints, codes: Ints, sources: Sequence[Value | None]) -> None:
        """Take note of events in the order of their arrival; the codes tell their sources."""
        self.arrive(None, int(times.max()))

    def arrive_newest(self, newest: Mapping[Value | None, int]) -> None:
        """Take note of events by the newest time of each source, wherever they are consumed."""
        if newest:
            self.beat(None, max(newest.values()))

    @abstractmethod
    def beat(self, source: Value | None, time: int) -> None:
        """Take note of a heartbeat; one that names no source speaks for all of them."""

    def advance(self, time: int) -> None:
        """Nothing that ends at or before a time is still to come: the caller says so."""
        self.watermark = max(self.watermark, time + 1)
        self.ready = max(self.ready, time)
        self.passed = max(self.passed, time)

    def state(self) -> dict[str, Any]:
        """Everything that the policy depends on, as JSON values."""
        return {"watermark": self.watermark, "ready": self.ready, "passed": self.passed}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.watermark, self.ready = int(state["watermark"]), int(state["ready"])
        self.passed = int(state["passed"])


class Guaranteed(Arrival):
    """An event is consumed when it is stable: nothing earlier can come within the allowed delay.

    The watermark is the newest time of each source minus the delay, and of these the smallest.
    Without a delay, sources send in order and an event is stable as soon as the watermark has
    reached it; with one, as soon as the watermark has passed it. With `idle`, sources whose newest
    time lies further back than that behind the newest of all are not waited for.
    """

    def __init__(
        self, delay: int, sources: Iterable[Value] | None, idle: int | None = None
    ) -> None:
        super().__init__("guaranteed")
        self.delay = delay
        self.idle = idle
        declared = None if sources is None else tuple(sources)
        self.apart = bool(declared) or (declared is None and delay > 0)
        self._newest: dict[Value | None, int] = dict.fromkeys(declared or (), NEVER)
        self._lowest = NEVER
        self._floor = NEVER
        self._begun = ALWAYS

    def arrive(self, source: Value | None, time: int) -> None:
        if not self.apart:
            source = None
        before = self._newest.get(source)
        if before is None or time > before:
            self._newest[source] = time
            self._begun = min(self._begun, time)
            # The minimum over many sources is taken anew only when it may have changed.
            if not self.apart and self.idle is None:
                self._lowest = time
                self._move(max(time, self._floor))
            elif before is None or before == self._lowest or self.idle is not None:
                self._take_lowest()

    def arrive_all(self, times: Ints, codes: Ints, sources: Sequence[Value | None]) -> None:
        if not self.apart:
            self.arrive(None, int(times.max()))
            return
        newest = np.full(len(sources), NEVER)
        np.maximum.at(newest, codes, times)
        self.arrive_newest(dict(zip(sources, newest.tolist(), strict=True)))

    def arrive_newest(self, newest: Mapping[Value | None, int]) -> None:
        # Not one source after the other: a new one must be known before the watermark moves.
        for source, time in newest.items():
            own = source if self.apart else None
            self._newest[own] = max(time, self._newest.get(own, NEVER))
        known = [time for time in newest.values() if time > NEVER]
        self._begun = min([self._begun, *known])
        self._take_lowest()

    def _take_lowest(self) -> None:
        times = list(self._newest.values())
        if self.idle is not None:
            # One that never sent anything counts as if it had sent when the first one did.
            since = max(times) - self.idle
            times = [time for time in times if max(time, self._begun) >= since]
        self._lowest = min(times)
        self._move(max(self._lowest, self._floor))

    def beat(self, source: Value | None, time: int) -> None:
        if source is not None and self.apart:
            self.arrive(source, time)
        elif time > self._floor:
            self._floor = time
            self._move(max(self._lowest, self._floor))

    def _move(self, lowest: int) -> None:
        low = lowest - self.delay
        if low > self.watermark:
            self.watermark = low
            self.passed = max(self.passed, low - 1)
        self.ready = max(self.ready, low if self.delay == 0 else low - 1)

    def state(self) -> dict[str, Any]:
        newest = [[source, time] for source, time in self._newest.items()]
        return {
            **super().state(),
            "newest": newest,
            "lowest": self._lowest,
            "floor": self._floor,
            "begun": self._begun,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._newest = {source: int(time) for source, time in state["newest"]}
        self._lowest, self._floor = int(state["lowest"]), int(state["floor"])
        self._begun = int(state["begun"])


class BestEffort(Arrival):
    """Every event is consumed as it comes, and none is late."""

    in_order = False

    def __init__(self) -> None:
        super().__init__("best_effort")
        self.ready = ALWAYS

    def arrive(self, source: Value | None, time: int) -> None:
        self.passed = max(self.passed, time - 1)

    def beat(self, source: Value | None, time: int) -> None:
        self.arrive(source, time)

    def advance(self, time: int) -> None:
        self.passed = max(self.passed, time)


class Probable(Arrival):
    """An event is consumed when it is stable with a probability above p.

    The delay of an event is how much older it is than the newest one when it arrives. An earlier
    event that is still on its way now will have a larger delay than the age of the waiting event,
    which is the newest time minus its end. Of n observed delays (the last `SAMPLE`), let m be at
    most that age: then m / (n + 1) estimates the probability that nothing earlier comes. The one
    more in the denominator stands for what was not observed yet: few observations prove little.

    So an event is consumed at the age of the k-th smallest observed delay, where k is the first
    with k / (n + 1) > p.
    """

    observes = True

    def __init__(self, probability: float) -> None:
        super().__init__(f"probable({probability})")
        self.probability = probability
        self._newest = NEVER
        self._delays: deque[int] = deque(maxlen=SAMPLE)
        self._ordered: list[int] = []

    def arrive(self, source: Value | None, time: int) -> None:
        self._newest = max(self._newest, time)
        self._observe(self._newest - time)
        self._move()

    def arrive_all(self, times: Ints, codes: Ints, sources: Sequence[Value | None]) -> None:
        newest = np.maximum(np.maximum.accumulate(times), self._newest)
        self._newest = int(newest[-1])
        self._delays.extend((newest - times)[-SAMPLE:].tolist())
        self._ordered = sorted(self._delays)
        self._move()

    def beat(self, source: Value | None, time: int) -> None:
        self._newest = max(self._newest, time)
        self._move()

    def _observe(self, delay: int) -> None:
        if len(self._delays) == SAMPLE:
            del self._ordered[bisect_left(self._ordered, self._delays[0])]
        self._delays.append(delay)
        insort(self._ordered, delay)

    def _move(self) -> None:
        rank = int(self.probability * (len(self._ordered) + 1))
        if rank < len(self._ordered):
            stable = self._newest - self._ordered[rank]
            self.watermark = max(self.watermark, stable)
            self.ready = max(self.ready, stable)
            self.passed = max(self.passed, stable - 1)

    def state(self) -> dict[str, Any]:
        return {**super().state(), "newest": self._newest, "delays": list(self._delays)}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self._newest = int(state["newest"])
        self._delays = deque(map(int, state["delays"]), maxlen=SAMPLE)
        self._ordered = sorted(self._delays)


def arrival_of(
    policy: str,
    delay: int = 0,
    sources: Iterable[Value] | None = None,
    idle: int | None = None,
) -> Arrival:
    """The policy of a name such as `guaranteed`, `best_effort` or `probable(0.9)`.

    >>> arrival_of("probable(0.9)").probability
    0.9
    """
    if policy == "guaranteed":
        return Guaranteed(delay, sources, idle)
    if delay or sources or idle is not None:
        raise EventError(
            f"delay, sources and idle must go with the policy guaranteed; got {policy!r}\n\n"
            "hint: leave them out; the other policies do not wait for an allowed delay"
        )
    if policy == "best_effort":
        return BestEffort()
    return Probable(_probability(policy))


def _probability(policy: object) -> float:
    match = _PROBABLE.fullmatch(policy) if isinstance(policy, str) else None
    if match is None:
        raise EventError(
            f"policy must be one of {', '.join(POLICIES)}; got {policy!r}\n\n"
            f"hint: {did_you_mean(str(policy), POLICIES)}"
        )
    probability = float(match[1])
    if not 0 < probability <= MOST_PROBABLE:
        raise EventError(
            f"probability of policy probable must lie above 0 and at most at {MOST_PROBABLE}; "
            f"got {match[1]}\n\n"
            "hint: what must be certain needs the policy guaranteed with a delay"
        )
    return probability
