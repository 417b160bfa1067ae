"""What the kernel holds: bytes beside those of the stored columns, and whether they stay.

The rules are SASE's sequence of length 3 with a long window. Held is everything that the kernel
has room for between two calls, tables included; needed are the columns of the events that a later
event can still be joined with: type, origin, start, end, and a tag and a cell for each attribute
in use.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import cepheid
from bench import sase
from bench.figure import Figure, Options, Task
from bench.scenario import Reach
from bench.streams import SECOND
from cepheid.kernel.columns import Batch
from cepheid.kernel.kernel import Kernel

BLOCK = 1_000_000
"""Events that are fed again and again, later in time, for a long stream."""
LONG = 50


def held(kernel: Kernel) -> int:
    """The bytes that a kernel has taken."""
    return kernel._memory.bytes


def resident() -> int:
    """The bytes of the whole process that are in memory."""
    fields = Path("/proc/self/status").read_text("utf-8").split()
    return 1024 * int(fields[fields.index("VmRSS:") + 1])


def _kernel(query: sase.Query) -> Kernel:
    kernel = Kernel()
    kernel.deploy(cepheid.load(sase.text(query), language="sase").rules)
    return kernel


def _moved(batch: Batch, by: int) -> Batch:
    """The same events, later."""
    return batch._replace(
        origins=batch.origins + by,
        starts=batch.starts + by * SECOND,
        ends=batch.ends + by * SECOND,
    )


def _cut(batch: Batch, begin: int, size: int) -> Batch:
    return Batch._make(column[begin : begin + size] for column in batch)


def compared(options: Options) -> Iterator[Figure]:
    """The most that is held, against the columns of what is alive: events of E1 and E2."""
    count = options.count(3 * BLOCK)
    query = sase.Query(window=count // 3)
    kernel, stream = _kernel(query), sase.stream(query, count)
    batch = stream.batch(kernel.encoder)
    most, found = 0, 0
    for begin in range(0, count, options.batch):
        found += sum(len(f.rules) for f in kernel.feed(_cut(batch, begin, options.batch)))
        most = max(most, held(kernel))
    alive = int(np.count_nonzero(stream.kinds[-query.window :] < 2))
    needed = alive * (4 * 8 + 9 * len(kernel.encoder.columns))
    expected = sase.expected(query, stream)
    details = {"held": most, "needed": needed, "composites": found, "expected": expected}
    yield Figure(
        "memory/held",
        most / needed,
        "×",
        Reach(rate=2.0),
        less=True,
        right=found == expected,
        details=details,
    )


def flat(options: Options) -> Iterator[Figure]:
    """The process after a long stream, against the same process early in it."""
    block = options.count(BLOCK)
    query = sase.Query()
    kernel, stream = _kernel(query), sase.stream(query, block)
    batch, sizes, found = stream.batch(kernel.encoder), [], 0
    for number in range(LONG):
        later = _moved(batch, number * block)
        for begin in range(0, block, options.batch):
            found += sum(len(f.rules) for f in kernel.feed(_cut(later, begin, options.batch)))
        sizes.append(resident())
    expected = _repeated(query, block)
    growth = max(sizes[LONG // 2 :]) / max(sizes[: LONG // 10])
    details = {
        "events": LONG * block,
        "resident": sizes[-1],
        "held": held(kernel),
        "composites": found,
        "expected": expected,
    }
    yield Figure(
        "memory/flat",
        growth,
        "×",
        Reach(rate=1.05),
        less=True,
        right=found == expected,
        details=details,
    )


def _repeated(query: sase.Query, block: int) -> int:
    """Matches of a block that is repeated: every block after the first adds as many as the second.

    That holds as a window reaches back into the block before at most.
    """
    stream = sase.stream(query, block)
    twice = stream.again(block * SECOND)
    once, both = sase.expected(query, stream), sase.expected(query, twice)
    return once + (LONG - 1) * (both - once)


def tasks() -> list[Task]:
    """Both measurements; the second takes a long stream."""
    return [Task("memory/held", compared), Task("memory/flat", flat, long=True)]
