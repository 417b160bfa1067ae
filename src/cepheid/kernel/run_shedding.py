"""Giving up on purpose: what the runs of a rule hold is counted, and the oldest of it is dropped.

Used where a rule has limits; see `limits`.
"""

from __future__ import annotations

import numpy as np

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.memory import ints, size
from cepheid.kernel.oldest import Marks
from cepheid.kernel.run_state import (
    BLOCK,
    CHANNEL,
    CHANNEL_BEGINS,
    CHANNEL_ENTRY,
    CHANNEL_SIZE,
    COUNT,
    NEXT_TIME,
    RUN_ENTRY,
    RUN_PARTITION,
    RUN_WORDS,
    UNSORTED,
    field_of,
    oldest,
)
from cepheid.kernel.store import ROW_END, ROW_START
from cepheid.kernel.values import Ints

_AT_ONCE = -(2**63)


@compiled
def held_by_runs(m: int, channel: int, place: int) -> tuple[Marks, Ints]:
    """The rows that the runs of a runner hold, and the first one of each run."""
    state, entries = ints(m, RUN_PARTITION), ints(m, RUN_ENTRY)
    held = np.zeros(size(m, ROW_END), np.bool_)
    firsts = np.empty(len(held), np.int64)
    record, runs, width = 0, 0, field_of(m, channel, CHANNEL_ENTRY)
    while record < size(m, RUN_PARTITION):
        if state[record + CHANNEL] == channel:
            begin, count = state[_run(m, record, place)], state[record + COUNT]
            block = state[record + BLOCK]
            if begin < count:
                firsts[runs] = entries[block + begin * width]
                runs += 1
            for at in range(begin, count):
                held[entries[block + at * width]] = True
        record += field_of(m, state[record + CHANNEL], CHANNEL_SIZE)
    return held, firsts[:runs]


@inlined
def _run(m: int, record: int, place: int) -> int:
    """Where a run stands in a record, given the place of its runner."""
    channel = ints(m, RUN_PARTITION)[record + CHANNEL]
    return int(record + field_of(m, channel, CHANNEL_BEGINS) + RUN_WORDS * place)


@compiled
def shorten_runs(
    m: int, channel: int, place: int, length: int, dropped: Marks, whole: bool
) -> None:
    """Let the runs of a runner begin after the last row that is dropped.

    With `whole`, a run that begins with such a row is given up. The length is that of a window by
    time.
    """
    state, entries, starts = ints(m, RUN_PARTITION), ints(m, RUN_ENTRY), ints(m, ROW_START)
    record, width = 0, field_of(m, channel, CHANNEL_ENTRY)
    while record < size(m, RUN_PARTITION):
        following = record + field_of(m, state[record + CHANNEL], CHANNEL_SIZE)
        if state[record + CHANNEL] == channel:
            run, count = _run(m, record, place), state[record + COUNT]
            block, begin = state[record + BLOCK], state[run]
            for at in range(begin, count):
                if dropped[entries[block + at * width]]:
                    state[run] = count if whole else at + 1
            if state[run] > begin:
                if state[run] < count:
                    state[run + 1] = starts[entries[block + state[run] * width]] + length
                _look_anew(m, record)
        record = following


@inlined
def _look_anew(m: int, record: int) -> None:
    """Have all runs of a partition looked at when the next event comes.

    A list that no run holds begins anew, as its last entry is not there to be compared with.
    """
    state = ints(m, RUN_PARTITION)
    state[record + NEXT_TIME] = _AT_ONCE
    if oldest(m, record) < state[record + COUNT]:
        return
    state[record + COUNT] = state[record + UNSORTED] = 0
    channel = state[record + CHANNEL]
    end = record + field_of(m, channel, CHANNEL_SIZE)
    for at in range(record + field_of(m, channel, CHANNEL_BEGINS), end, RUN_WORDS):
        state[at] = 0
