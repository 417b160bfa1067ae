"""The kernel from outside: rules are deployed and removed, events go in, matches come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.algebra import Collection, Detector, Rule, Run, Tree, input_types
from cepheid.errors import LimitError
from cepheid.kernel.collect_plan import CollectionPlans
from cepheid.kernel.collect_slots import ENTRY as COLLECTION_ENTRY
from cepheid.kernel.collect_slots import OTHER_ENTRY as COLLECTION_ASIDE
from cepheid.kernel.collecting import mark_collections, move_collections
from cepheid.kernel.columns import Batch, Encoder, text_codes
from cepheid.kernel.detector_plan import DetectorPlans
from cepheid.kernel.detectors import mark_detectors, move_detectors
from cepheid.kernel.few import ROOM, Few, few
from cepheid.kernel.found import Found, drained
from cepheid.kernel.lateness import Lateness
from cepheid.kernel.lazy import mark_trees, move_trees
from cepheid.kernel.limits import Limit
from cepheid.kernel.matches import MATCH_FAMILY, OUTGOING
from cepheid.kernel.memory import LARGE, Memory, spare
from cepheid.kernel.ready import flags, make_ready
from cepheid.kernel.registry import Registry
from cepheid.kernel.run_plan import RunPlans
from cepheid.kernel.run_state import RUN_ASIDE, RUN_ENTRY, RUN_PARTITION
from cepheid.kernel.runs import mark_runs, move_runs
from cepheid.kernel.stacks import (
    ENTRY,
    ENTRY_MEMBERS,
    LIST,
    LIST_SLOTS,
    OTHER_ENTRY,
    OTHER_MEMBERS,
)
from cepheid.kernel.store import (
    CAUSED_LIMIT,
    CUT,
    DEPTH_LIMIT,
    FIRED,
    KEPT,
    LIVE,
    MADE,
    MADE_DEPTH,
    MADE_PARTS,
    MADE_PARTS_END,
    MADE_RULE,
    MOVED,
    NEVER,
    NOW,
    PART_LABEL,
    PART_ROW,
    RANKS,
    ROW_CELLS,
    ROW_END,
    ROW_MADE,
    ROW_ORIGIN,
    ROW_START,
    ROW_TAGS,
    ROW_TYPE,
    SCALAR_COUNT,
    SCALARS,
    STALE,
    TICKS,
    WIDTH,
    begin_compaction,
    finish_compaction,
)
from cepheid.kernel.stream import (
    NOT_STARTED,
    TICK_LIMIT,
    TICK_NEXT,
    TICK_PERIOD,
    TICK_TYPE,
    TICKED_ORIGIN,
    TICKED_TIME,
    feed,
    pass_time,
)
from cepheid.kernel.tables import PICK_HIGH, PICK_LOW, PICK_ROW
from cepheid.kernel.tree_plan import TreePlans
from cepheid.kernel.tree_tables import TREE_STATE
from cepheid.kernel.values import Ints
from cepheid.kernel.watch import Watch

_ROWS = {
    ROW_END: np.int64,
    ROW_START: np.int64,
    ROW_ORIGIN: np.int64,
    ROW_TYPE: np.int64,
    ROW_MADE: np.int32,
}
"""Slots with an item for every row."""
_STATE: dict[str, tuple[int, npt.DTypeLike]] = {
    "scalars": (SCALARS, np.int64),
    "row_ends": (ROW_END, np.int64),
    "row_starts": (ROW_START, np.int64),
    "row_origins": (ROW_ORIGIN, np.int64),
    "row_types": (ROW_TYPE, np.int64),
    "row_made": (ROW_MADE, np.int32),
    "row_tags": (ROW_TAGS, np.uint8),
    "row_cells": (ROW_CELLS, np.int64),
    "made_rules": (MADE_RULE, np.int64),
    "made_depths": (MADE_DEPTH, np.int64),
    "made_parts": (MADE_PARTS, np.int64),
    "made_parts_ends": (MADE_PARTS_END, np.int64),
    "part_rows": (PART_ROW, np.int64),
    "part_labels": (PART_LABEL, np.int64),
    "tick_next": (TICK_NEXT, np.int64),
    **TREE_STATE,
    **RunPlans.STATE,
    **CollectionPlans.STATE,
    **DetectorPlans.STATE,
}
"""Everything that matching depends on besides the rules, by name."""
_COMPACTION = {
    Tree: (mark_trees, move_trees),
    Run: (mark_runs, move_runs),
    Collection: (mark_collections, move_collections),
    Detector: (mark_detectors, move_detectors),
}
"""For every strategy what says which rows it needs, and what takes their new numbers."""
CAUSED = 1_000_000
"""So many composite events may one event cause in waves before no more are let in."""
_FEW_ROWS = 1024
_MANY_EVENTS = 4096
"""So many events in a batch may give as many matches as those before."""
_PASSING = (
    LIVE,
    MOVED,
    OTHER_ENTRY,
    OTHER_MEMBERS,
    PICK_ROW,
    PICK_LOW,
    PICK_HIGH,
    RUN_ASIDE,
    COLLECTION_ASIDE,
)
"""Slots that only compaction or a search needs."""
_VECTORS = (ENTRY, ENTRY_MEMBERS, LIST, LIST_SLOTS, RUN_ENTRY, RUN_PARTITION, COLLECTION_ENTRY)
"""Slots of state that grow and shrink with the rows."""


def _plain(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column as compiled code knows it: in one piece, and not read-only."""
    if column.flags.c_contiguous and column.flags.writeable:
        return column
    return np.array(column, order="C")


class Kernel:
    """Runs rules of all languages over columns of events.

    Rules are numbered in the order in which they are deployed, from `first` on. A rule sees the
    events that come after it was deployed. Kernels with one `encoder` take the same batches, once
    all but the last were refreshed. Events that are `ordered` come by their ends.
    """

    def __init__(
        self,
        *,
        depth_limit: int = 32,
        caused_limit: int = CAUSED,
        failures: bool = False,
        ordered: bool = True,
        encoder: Encoder | None = None,
        first: int = 0,
    ) -> None:
        self.encoder = encoder or Encoder()
        self.registry = Registry(self.encoder, failures=failures, ordered=ordered)
        self.registry.rules += [None] * first
        self.compactions = 0
        self._memory = Memory()
        self._trees = TreePlans(self.registry)
        self._collections = CollectionPlans(self.registry)
        self._detectors = DetectorPlans(self.registry)
        with self.encoder.texts.pinned():
            self._others: dict[type, RunPlans | CollectionPlans | DetectorPlans] = {
                Run: RunPlans(self.registry),
                Collection: self._collections,
                Detector: self._detectors,
            }
        self._watch = Watch(self.registry, {Tree: self._trees, **self._others})
        self.limited = self._watch.limited
        """How often a rule was refused more, or how much of it was dropped, by its number."""
        self._fed = 0
        self._outgoing: dict[int, int] = {}
        """How much room matches had that were many, by slot."""
        self._used: set[type] = set()
        self._lateness = Lateness()
        self._ranked = -1
        scalars = [0] * SCALAR_COUNT
        scalars[DEPTH_LIMIT], scalars[CAUSED_LIMIT] = depth_limit, caused_limit
        scalars[NOW], scalars[FIRED] = -NEVER, NEVER
        self._memory.put(SCALARS, scalars)
        # This slot never grows, so that a view of it stays good.
        self._scalars = self._memory.view(SCALARS)
        self._strategies = flags(())
        self._room = np.empty(ROOM, np.int64)

    @property
    def ladders(self) -> bool:
        """Whether rules that are deployed may keep their branches as ladders."""
        return self._detectors.ladders

    @ladders.setter
    def ladders(self, allowed: bool) -> None:
        self._detectors.ladders = allowed

    # --- rules ---------------------------------------------------------------

    def deploy(
        self, rules: Sequence[Rule], limits: Sequence[Limit | None] | None = None
    ) -> list[int]:
        """Add rules, which see the events from now on; the result are their numbers."""
        # Constants and labels are in tables, which outlive the rules.
        with self.encoder.texts.pinned():
            return self._deploy(rules, limits)

    def _deploy(
        self, rules: Sequence[Rule], limits: Sequence[Limit | None] | None = None
    ) -> list[int]:
        first = len(self.registry.rules)
        numbers = list(range(first, first + len(rules)))
        for number, limit in zip(numbers, limits or [None] * len(rules), strict=True):
            if limit is not None:
                self.registry.limits[number] = limit
        self._watch.look_again()
        self.registry.rules += rules
        for rule in rules:
            self.registry.listened.update(input_types(rule))
        self._used.update(type(rule.pattern) for rule in rules)
        self._strategies = flags(self._used)
        trees = [number for number in numbers if isinstance(rules[number - first].pattern, Tree)]
        if trees:
            self._trees.plan(trees, [rules[number - first] for number in trees])
        for number, rule in zip(numbers, rules, strict=True):
            if not isinstance(rule.pattern, Tree):
                self._others[type(rule.pattern)].plan(number, rule)
        self._write()
        return numbers

    def remove(self, number: int) -> None:
        """Take a rule away, with all that only it needs."""
        rule = self.registry.rules[number]
        assert rule is not None  # noqa: S101 (the caller knows the rules)
        self.registry.rules[number] = None
        self.registry.limits.pop(number, None)
        self.registry.listened -= Counter(input_types(rule))
        if isinstance(rule.pattern, Tree):
            self._trees.remove(number)
        else:
            self._others[type(rule.pattern)].remove(number)
        self._write()

    def refresh(self) -> None:
        """Take in what the rules of kernels that came later brought to the encoder."""
        self._write()

    def _write(self) -> None:
        """Put all tables into the memory; the state stays."""
        self.registry.late = self._lateness.by_type(self.registry.rules)
        self._trees.write(self._memory)
        for plans in self._others.values():
            plans.write(self._memory)
        self.registry.write(self._memory)
        self._write_ticks()
        self._widen()
        # New rules bring new labels, whose order counts too.
        self._ranked = -1
        self._rank()

    def _write_ticks(self) -> None:
        periods = sorted(self.registry.periods.items(), key=lambda item: item[1])
        types = [self.encoder.types.code(name) for name, _ in periods]
        known = dict(zip(self._view(TICK_TYPE), self._view(TICK_NEXT), strict=True))
        self._memory.put(TICK_NEXT, [known.get(type_, NOT_STARTED) for type_ in types])
        self._memory.put(TICK_PERIOD, [period for _, (period, _) in periods])
        self._memory.put(TICK_TYPE, types)

    def _widen(self) -> None:
        """Give all rows a cell for every column that rules look at by now."""
        before, width = int(self._scalars[WIDTH]), max(1, len(self.encoder.columns))
        if before == width:
            return
        rows = self._memory.count(ROW_END)
        room = int(self._memory.words[3 * ROW_END + 2]) * width
        for slot, kind in ((ROW_TAGS, np.uint8), (ROW_CELLS, np.int64)):
            cells = np.zeros(room, kind)
            if before:
                old = self._raw(slot, rows * before, kind).reshape(rows, before)
                cells.reshape(-1, width)[:rows, :before] = old
            self._memory.put(slot, cells, kind)
        self._scalars[WIDTH] = width

    def _raw(self, slot: int, count: int, kind: type) -> npt.NDArray[Any]:
        self._memory.words[3 * slot + 1] = count
        return self._memory.get(slot, kind)

    def _rank(self) -> None:
        """Which of two texts comes first; only needed anew when rules ask for it."""
        version = self.encoder.texts.version
        if self._ranked < 0 or (self._ranked < version and self.registry.programs.orders_texts):
            self._memory.put(RANKS, self.encoder.texts.ranks())
            self._ranked = version

    def _view(self, slot: int) -> Ints:
        return self._memory.view(slot)

    # --- events --------------------------------------------------------------

    def feed(self, batch: Batch) -> Iterator[Found]:
        """Take events in the order in which they are to be consumed."""
        make_ready(self._strategies)
        self._rank()
        self._compact()
        batch = Batch._make(_plain(column) for column in batch)
        at, count, refused = 0, len(batch.types), None
        if count >= _MANY_EVENTS:
            for slot, room in self._outgoing.items():
                self._memory.fit(slot, max(room, self._memory.room(slot)))
        while at < count:
            self._begin_call()
            before, at = at, feed(self._memory.m, *batch, at, *self._strategies)
            self._fed += at - before
            yield from drained(self._memory, self.registry)
            refused = self._check() or refused
        if LARGE <= self._memory.room(MATCH_FAMILY) <= self.stored:
            self._give_back_matches()
        if refused is not None:
            raise refused

    def feed_one(self, batch: Batch) -> tuple[list[Found | Few], LimitError | None]:
        """Take one event, in columns as compiled code knows them; the shortest way there is.

        What is found comes together with the error of a limit that was reached.
        """
        make_ready(self._strategies)
        self._rank()
        self._compact()
        found: list[Found | Few] = []
        refused, at = None, 0
        while at == 0:
            self._begin_call()
            at = feed(self._memory.m, *batch, 0, *self._strategies)
            self._fed += at
            if self._memory.words[3 * MATCH_FAMILY + 1]:
                some = few(self._memory, self.registry, self._room)
                found += drained(self._memory, self.registry) if some is None else [some]
            try:
                refused = self._check() or refused
            except LimitError as error:
                return found, error
        return found, refused

    def advance(self, time: int) -> Iterator[Found]:
        """Let time pass: everything that is due at or before a time happens."""
        make_ready(self._strategies)
        done, refused = False, None
        while not done:
            self._begin_call()
            done = pass_time(self._memory.m, time, *self._strategies)
            if done:
                self._scalars[NOW] = max(int(self._scalars[NOW]), time)
            yield from drained(self._memory, self.registry)
            refused = self._check() or refused
        self._compact()
        if refused is not None:
            raise refused

    def _begin_call(self) -> None:
        self._scalars[TICKS] = 0

    def _check(self) -> LimitError | None:
        """Raise an error where a limit of the kernel was reached.

        That of a rule is handed back, as all events are taken before it is raised.
        """
        refused = None
        if self.registry.limits:
            entered = self._fed + int(self._scalars[MADE])
            refused = self._watch.keep(self._memory, int(self._scalars[NOW]), entered)
        self._collections.check(self._memory)
        if self._scalars[TICKS] > TICK_LIMIT:
            raise LimitError(
                f"periodic timers must give at most {TICK_LIMIT} events in one run\n\n"
                "hint: write a longer period, or evaluate a shorter stretch of time"
            )
        return refused

    def take_ticks(self) -> tuple[Ints, Ints]:
        """Origins and times of the events that periodic timers gave since this was last asked."""
        taken = self._memory.get(TICKED_ORIGIN), self._memory.get(TICKED_TIME)
        self._memory.put(TICKED_ORIGIN, [])
        self._memory.put(TICKED_TIME, [])
        return taken

    # --- state ---------------------------------------------------------------

    @property
    def stored(self) -> int:
        """How many events are kept."""
        return self._memory.count(ROW_END)

    @property
    def cut(self) -> int:
        """How many composite events lay beyond the depth limit."""
        return int(self._scalars[CUT])

    def held(self, number: int) -> tuple[int, int]:
        """How many events a rule keeps, and how much that was begun and is not decided."""
        return self._watch.held(self._memory, number, int(self._scalars[NOW]))

    def live(self) -> Ints:
        """The origins of all events that are kept, in order."""
        self._sync()
        return np.sort(self._view(ROW_ORIGIN))

    def _compact(self) -> None:
        """Forget what nothing refers to, once there may be as much of it as of the rest.

        Of a large state, a fourth is enough. All that was left may have expired as soon as it is
        twice as old as it was then.
        """
        rows = self.stored
        if rows < _FEW_ROWS:
            return
        kept = int(self._scalars[KEPT])
        enough = 2 * kept if kept < LARGE else kept + kept // 4
        if rows >= enough or self._scalars[NOW] >= self._scalars[STALE]:
            self.compact()

    def compact(self) -> None:
        """Forget everything that nothing refers to any more."""
        m, now = self._memory.m, int(self._scalars[NOW])
        steps = [step for pattern, step in _COMPACTION.items() if pattern in self._used]
        begin_compaction(m)
        for mark, _ in steps:
            mark(m, now)
        finish_compaction(m)
        for _, move in steps:
            move(m)
        self.compactions += 1
        oldest = int(self._view(ROW_END).min()) if self.stored else now
        self._scalars[STALE] = min(NEVER, now + max(1, now - oldest))
        self._give_back()

    def _give_back_matches(self) -> None:
        """Give back the room of matches that have left, where there are more rows than matches.

        Otherwise it is kept: taking it again costs a fourth of the time of finding matches.
        """
        for slot in OUTGOING:
            room = self._memory.room(slot)
            if room >= LARGE:
                self._outgoing[slot] = room
                self._memory.release(slot)

    def _give_back(self) -> None:
        """Give back room in which nothing is, where it is much."""
        memory = self._memory
        for slot in _PASSING:
            memory.release(slot)
        for slot in _VECTORS:
            memory.shrink(slot)
        rows, width = spare(self.stored, memory.room(ROW_END)), int(self._scalars[WIDTH])
        if rows < memory.room(ROW_END):
            for slot in _ROWS:
                memory.fit(slot, rows)
            for slot in (ROW_TAGS, ROW_CELLS):
                memory.fit(slot, rows * width)

    def text_codes(self) -> Ints:
        """The codes of texts that the state refers to, after a compaction.

        Keys of partitions and of lists are texts of events in them; those without events are
        found by nobody, or found empty, and may come to stand for another text.
        """
        self._sync()
        return text_codes(self._memory.view(ROW_TAGS, np.uint8), self._view(ROW_CELLS))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything that matching depends on besides the rules, by name."""
        self._sync()
        return {name: self._memory.get(slot, kind) for name, (slot, kind) in _STATE.items()}

    def load(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state; the same rules must have been deployed and removed in order."""
        caused_limit = int(self._scalars[CAUSED_LIMIT])
        for name, (slot, kind) in _STATE.items():
            self._memory.put(slot, state[name], kind)
        # Older states have neither.
        self._scalars[CAUSED_LIMIT], self._scalars[FIRED] = caused_limit, NEVER
        self._trees.tables.restored(self._memory)
        self._fit_rows()
        self._watch.look_again()

    def _sync(self) -> None:
        """Rows are counted by their ends alone; say so to the other slots."""
        rows, width = self.stored, int(self._scalars[WIDTH])
        for slot in _ROWS:
            self._memory.words[3 * slot + 1] = rows
        for slot in (ROW_TAGS, ROW_CELLS):
            self._memory.words[3 * slot + 1] = rows * width

    def _fit_rows(self) -> None:
        """Let all slots of rows have room for as many rows."""
        width = int(self._scalars[WIDTH])
        room = max(int(self._memory.words[3 * slot + 2]) for slot in _ROWS)
        for slot, each, kind in (
            *((slot, 1, kind) for slot, kind in _ROWS.items()),
            (ROW_TAGS, width, np.uint8),
            (ROW_CELLS, width, np.int64),
        ):
            held = self._memory.get(slot, kind)
            self._memory.put(slot, np.pad(held, (0, room * each - len(held))), kind)
            self._memory.words[3 * slot + 1] = len(held)
