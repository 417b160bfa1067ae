"""Backtest: rules over history before they go live, with what they found and what it cost.

The events of a table go through an engine in the order of time, in portions, as they would if
they came today. In between it is noted what the engine keeps.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cepheid.algebra import Attribute, Item, Parameter, Rule, Tree
from cepheid.automaton import compile_rule
from cepheid.automaton.partition import partitions
from cepheid.automaton.plan import plan_of
from cepheid.capture.mattering import involved
from cepheid.rules import Rules
from cepheid.runtime.engine import Engine
from cepheid.tables.arrow import Arrow, Ints, pa, pc
from cepheid.tables.times import in_microseconds

PORTION = 1 << 16
"""The most events that go in together."""
_LOOKS = 200
"""How often it is looked at what is kept, where that does not follow from the portions."""
_ENOUGH = 16
"""So many portions show well enough what is kept."""
_WARM = 64
"""Events that are tried first, so that loading compiled code is not measured."""
EXAMPLES = 3
"""How many composite events of a rule are named."""

Shown = Callable[[int, int], None]
"""Told how much is done, of how much; events that go through twice count twice."""


@dataclass
class Peak:
    """The most that was kept for a rule, and how that went over time."""

    stored: int = 0
    partial: int = 0
    at: int = 0
    samples: list[int] = field(default_factory=list)
    """What was kept after each portion."""

    def note(self, held: tuple[int, int], moment: int) -> None:
        """See what is kept at a moment."""
        self.samples.append(sum(held))
        if sum(held) > self.stored + self.partial:
            self.stored, self.partial, self.at = *held, moment


@dataclass
class Findings:
    """What a rule found."""

    rule: Rule
    growth: tuple[str, ...]
    """What could grow without bound, in words."""
    keys: tuple[str, ...]
    """The attributes of its composite events that tell the keys apart."""
    count: int = 0
    first: int | None = None
    last: int | None = None
    longest: int = 0
    moments: list[Ints] = field(default_factory=list)
    by_key: Counter[tuple[object, ...]] = field(default_factory=Counter)
    examples: list[tuple[str, int]] = field(default_factory=list)
    peak: Peak = field(default_factory=Peak)
    alone: float | None = None
    """Microseconds an event costs where the rule runs by itself, if that was asked for."""
    fed_by: tuple[str, ...] = ()
    """The rules that then run with it, as it feeds on their composite events."""

    def add(self, found: Arrow) -> None:
        """Count composite events of the rule, which come as a table with times as counts."""
        ends = found["ts"].to_numpy()
        self.count += len(ends)
        self.first = int(ends[0]) if self.first is None else self.first
        self.last = int(ends[-1])
        self.longest = max(self.longest, int((ends - _oldest(found)).max()))
        self.moments.append(ends)
        for id_, moment in zip(found["id"][:EXAMPLES].to_pylist(), ends, strict=False):
            if len(self.examples) < EXAMPLES:
                self.examples.append((str(id_), int(moment)))
        self._count_keys(found)

    def _count_keys(self, found: Arrow) -> None:
        keys = [name for name in self.keys if name in found.column_names]
        if keys:
            counted = found.select(keys).group_by(keys).aggregate([([], "count_all")])
            values = [counted[name].to_pylist() for name in keys]
            for *key, count in zip(*values, counted["count_all"].to_pylist(), strict=True):
                self.by_key[tuple(key)] += count


def _oldest(found: Arrow) -> Ints:
    """When the oldest event ended of which each composite event is made."""
    made = found["events"].combine_chunks()
    counts, times = pc.list_value_length(made).to_numpy(), made.flatten().field("ts").to_numpy()
    oldest: Ints = found["ts"].to_numpy().copy()
    some = np.flatnonzero(counts)
    if len(some):
        begins = np.cumsum(counts) - counts
        oldest[some] = np.minimum.reduceat(times, begins[some])
    return oldest


@dataclass
class Backtest:
    """What rules found in history, and what it cost."""

    events: int
    begin: int | None
    end: int | None
    findings: dict[str, Findings]
    by_type: Counter[str]
    """How many events there were of each type that a rule looks at."""
    counts: bool
    """Whether times are counts of a unit, not moments."""
    seconds: float = 0.0
    stored: int = 0
    """The most events that were kept at once, for all rules together."""
    state_bytes: int = 0
    """The largest state, as it would be written down."""
    process_bytes: int = 0
    cut: int = 0
    failures: int = 0

    @property
    def found(self) -> int:
        """How many composite events there were."""
        return sum(one.count for one in self.findings.values())


def backtest(
    rules: Rules,
    events: Arrow,
    *,
    unit: str | None = None,
    until: int | None = None,
    failures: bool = False,
    each: bool = False,
    shown: Shown | None = None,
) -> Backtest:
    """Run rules over a table of Arrow, whose times are moments, or counts of a unit.

    With `each`, every rule also runs by itself, over a million events at most, to see its cost.

    >>> import cepheid
    >>> rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
    >>> table = pa.table({"type": ["A", "B", "B"], "ts": [1, 2, 30]})
    >>> result = backtest(rules, table, unit="s")
    >>> result.events, result.found, result.findings["AB"].longest
    (3, 1, 1000000)
    """
    table, counts = in_microseconds(events, unit)
    table = table.sort_by("ts") if len(table) else table
    times: Ints = table["ts"].to_numpy()
    result = Backtest(
        len(table),
        int(times[0]) if len(times) else None,
        int(times[-1]) if len(times) else None,
        {rule.name: _findings(rule) for rule in rules},
        _types(table),
        counts,
    )
    _warm(rules, table)
    few = len(table) < _ENOUGH * PORTION
    whole = 2 * len(table) if few else len(table)
    engine = rules.engine(unit="us", failures=failures, cores=1)
    for begin, end in _portions(times, PORTION):
        _push(engine, table.slice(begin, end - begin), result)
        if not few:
            _look(engine, times[end - 1], result)
        _tell(shown, end, whole)
    _end(engine, result, until)
    if few:
        for done in _watch(rules, table, times, result):
            _tell(shown, len(table) + done, whole)
    if each:
        for own in result.findings.values():
            _time_alone(rules, own, table, times)
    return result


def _time_alone(rules: Rules, own: Findings, table: Arrow, times: Ints) -> None:
    needed = involved(rules.rules, own.rule)
    own.fed_by = tuple(rule.name for rule in needed if rule is not own.rule)
    alone = Rules(tuple(needed), rules.schema)
    _warm(alone, table)
    engine, done, seconds = alone.engine(unit="us", cores=1), 0, 0.0
    for begin, end in _portions(times[: _ENOUGH * PORTION], PORTION):
        began = time.perf_counter()
        engine.push_batch(table.slice(begin, end - begin))
        seconds, done = seconds + time.perf_counter() - began, end
    own.alone = seconds / max(done, 1) * 1e6


def _tell(shown: Shown | None, done: int, whole: int) -> None:
    if shown is not None:
        shown(done, whole)


def _watch(rules: Rules, table: Arrow, times: Ints, result: Backtest) -> Iterator[int]:
    """See once more, in small portions and without a clock, what is kept in between."""
    engine = rules.engine(unit="us", cores=1)
    for begin, end in _portions(times, max(1, len(table) // _LOOKS)):
        engine.push_batch(table.slice(begin, end - begin))
        _look(engine, times[end - 1], result)
        yield end


def _look(engine: Engine, moment: int, result: Backtest) -> None:
    """What is kept after the events up to a moment."""
    stored = engine.counters.stored
    if stored > result.stored:
        if stored > 1.5 * result.stored:
            # Writing everything down takes long, so only what is much more than before is.
            result.state_bytes = max(result.state_bytes, len(engine.snapshot()))
        result.stored = stored
    for name, held in engine.held.items():
        result.findings[name].peak.note(held, int(moment))


def _end(engine: Engine, result: Backtest, until: int | None) -> None:
    began = time.perf_counter()
    left = [] if until is None or result.end is None else [engine.advance(max(until, result.end))]
    left.append(engine.close())
    result.seconds += time.perf_counter() - began
    for found in left:
        if isinstance(found, pa.Table):
            _note(found, result)
    result.cut = engine.counters.cut
    result.process_bytes = _resident()


# --- events ---------------------------------------------------------------------------------


def _types(table: Arrow) -> Counter[str]:
    counted = pc.value_counts(table["type"].combine_chunks()).to_pylist()
    return Counter({one["values"]: one["counts"] for one in counted})


def _portions(times: Ints, size: int) -> Iterator[tuple[int, int]]:
    """Where to cut; events of one moment stay together, as ties are broken among them."""
    begin = 0
    while begin < len(times):
        end = min(begin + size, len(times))
        if end < len(times):
            end = int(np.searchsorted(times, times[end - 1], "right"))
        yield begin, end
        begin = end


def _warm(rules: Rules, table: Arrow) -> None:
    """Load compiled code, which must not be measured."""
    engine = rules.engine(unit="us", cores=1)
    engine.push_batch(table.slice(0, _WARM))
    engine.close()


def _push(engine: Engine, portion: Arrow, result: Backtest) -> None:
    began = time.perf_counter()
    found = engine.push_batch(portion)
    result.seconds += time.perf_counter() - began
    _note(found, result)


def _note(found: Arrow, result: Backtest) -> None:
    if not len(found):
        return
    for name in pc.unique(found["rule"]).to_pylist():
        own = found.filter(pc.equal(found["rule"], name))
        rule = result.findings[name].rule
        told = own.filter(pc.equal(own["type"], rule.output.type))
        result.failures += len(own) - len(told)
        if len(told):
            result.findings[name].add(told)


def _resident() -> int:
    """The most memory that the process has had, in bytes; 0 where nobody knows."""
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


# --- rules ----------------------------------------------------------------------------------


def _findings(rule: Rule) -> Findings:
    return Findings(rule, plan_of(compile_rule(rule)).growth, key_attributes(rule))


def key_attributes(rule: Rule) -> tuple[str, ...]:
    """The attributes of a rule's composite events that hold the values of its keys.

    >>> import cepheid
    >>> (rule,) = cepheid.load("QUERY Q EVENT SEQ(A x, B y) WHERE [id] WITHIN 1 h", language="sase")
    >>> key_attributes(rule)
    ('x_id',)
    """
    return tuple(key_outputs(rule).values())


def key_outputs(rule: Rule) -> dict[str, str]:
    """For each attribute that is a key of a rule, the attribute of its composite events."""
    keys = [name for group in partitions(compile_rule(rule)) for name in group.attributes]
    found: dict[str, str] = {}
    for attribute in rule.output.attributes:
        name = _source(rule, attribute.value)
        if name in keys:
            found.setdefault(name, attribute.name)
    if rule.output.everything and isinstance(rule.pattern, Tree):
        label = rule.pattern.components[-1].label
        found |= {key: f"{label}_{key}" for key in keys if key not in found}
    return found


def _source(rule: Rule, value: Any) -> str:  # noqa: ANN401 (any expression)
    """The attribute that a value is taken from as it is."""
    if isinstance(value, Parameter) and isinstance(rule.pattern, Tree):
        bound = {binding.name: binding.value for binding in rule.pattern.bindings}
        value = bound.get(value.name)
    if isinstance(value, Item):
        return value.attribute
    return value.name if isinstance(value, Attribute) else ""
