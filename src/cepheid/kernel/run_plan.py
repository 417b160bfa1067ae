"""Planning of runs: rules to channels, runners and the values that they need.

Rules that are deployed together share what they have in common: a channel when predicate,
partition and limits are the same, a runner when they only differ in their names. What comes later
begins with channels of its own, as it has not seen what the others have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cepheid.algebra import CountWindow, Each, EventPredicate, Expression, Key, Rule, Run
from cepheid.kernel.limits import Limit
from cepheid.kernel.memory import Memory
from cepheid.kernel.oldest import oldest_rows
from cepheid.kernel.registry import KINDS, Registry, Shape
from cepheid.kernel.run_expressions import NOT_COMPARED, Measure, Value, Values, alone
from cepheid.kernel.run_listing import KeyRow, Listed, Listing, Tests
from cepheid.kernel.run_shedding import held_by_runs, shorten_runs
from cepheid.kernel.run_state import (
    HEADER,
    RUN_BUCKET,
    RUN_CHANNEL,
    RUN_ENTRY,
    RUN_FAILURE,
    RUN_HOME,
    RUN_MEASURE,
    RUN_OUTPUT,
    RUN_PARTITION,
    RUN_RUNNER,
    RUN_SETTING,
    RUN_SOUGHT,
    RUN_TALLY,
    RUN_VALUE,
    RUN_WORDS,
)
from cepheid.kernel.run_values import MEASURE_WORDS

_TABLES = (RUN_CHANNEL, RUN_MEASURE, RUN_RUNNER, RUN_VALUE, RUN_OUTPUT, RUN_FAILURE)
BROKEN, UNMET = "broken", "unmet"
"""Why a run failed: an event broke its Each condition, or it was full and did not hold."""


@dataclass(frozen=True)
class _Form:
    """Everything that rules of one runner have in common besides their channel.

    A rule that has a limit is told by its number, as it gives up on its own.
    """

    settings: tuple[int, ...]
    values: tuple[Value, ...]
    judged: int
    outputs: tuple[tuple[int, int, int], ...]
    names: tuple[str, ...]
    limited: int | None


@dataclass
class _Runner:
    """Rules that watch a channel in the same way; a failure is a family and a name's code."""

    channel: int
    place: int
    form: _Form
    family: int
    failures: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class _Channel:
    """What is common to runners: a predicate and partition keys."""

    number: int
    listed: tuple[Listed, ...]
    keys: int
    measures: list[Measure] = field(default_factory=list)
    runners: dict[_Form, _Runner] = field(default_factory=dict)

    @property
    def alive(self) -> list[_Runner]:
        """The runners that still have a rule."""
        return [runner for runner in self.runners.values() if runner.failures]


class RunPlans:
    """The plans of all rules whose pattern is a run, and their tables."""

    STATE: ClassVar[dict[str, tuple[int, npt.DTypeLike]]] = {
        "run_homes": (RUN_HOME, np.int64),
        "run_partitions": (RUN_PARTITION, np.int64),
        "run_buckets": (RUN_BUCKET, np.int64),
        "run_tally": (RUN_TALLY, np.int64),
        "run_entries": (RUN_ENTRY, np.int64),
    }

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._reasons = [registry.encoder.texts.code(reason) for reason in (BROKEN, UNMET)]
        self._tests = Tests(registry)
        self._deployment = 0
        self._channels: list[_Channel] = []
        self._open: dict[tuple[object, ...], _Channel] = {}
        self._runner_of: dict[int, _Runner] = {}

    def plan(self, number: int, rule: Rule) -> None:
        """Take a rule in."""
        run = rule.pattern
        assert isinstance(run, Run)  # noqa: S101 (the caller chose the strategy)
        limit = self._registry.limits.get(number)
        channel = self._channel(rule, run, limit)
        form = self._form(rule, run, channel, None if limit is None else number)
        if form not in channel.runners:
            family = self._registry.family(_shape(rule, form), [row[1] for row in form.outputs])
            place = len(channel.runners)
            channel.runners[form] = _Runner(channel.number, place, form, family)
        self._join(channel.runners[form], number, rule)

    def _form(self, rule: Rule, run: Run, channel: _Channel, limited: int | None) -> _Form:
        values = Values(self._registry, self._tests, run.label, rule.missing, channel.measures)
        settings, judged = self._settings(rule, run, values), len(values.found)
        outputs = tuple(
            (*values.output(item.value), KINDS[item.kind]) for item in rule.output.attributes
        )
        return _Form(
            settings,
            tuple(values.found),
            judged,
            outputs,
            tuple(item.name for item in rule.output.attributes),
            limited,
        )

    def _join(self, runner: _Runner, number: int, rule: Rule) -> None:
        shape = self._registry.shapes[runner.family]
        shape.members.append(number)
        shape.types.append(rule.output.type)
        name = self._registry.encoder.texts.code(rule.name)
        runner.failures[number] = self._registry.failure_family(number, rule), name
        self._runner_of[number] = runner

    def _channel(self, rule: Rule, run: Run, limit: Limit | None) -> _Channel:
        test = self._test(run.predicate.filter, rule)
        listed = tuple(
            Listed(code, test, self._keys(run, type_))
            for code, type_ in self._types(run.predicate).items()
        )
        key = (listed, rule.missing, limit)
        if key not in self._open:
            keys = sum(key.value is None for key in run.partition)
            channel = _Channel(len(self._channels), listed, keys)
            self._channels.append(channel)
            self._open[key] = channel
        return self._open[key]

    def _types(self, predicate: EventPredicate) -> dict[int, str]:
        """The types that a predicate means, by code; a periodic timer has a code of its own."""
        if predicate.every is None:
            return {self._registry.encoder.types.code(type_): type_ for type_ in predicate.types}
        codes = self._registry.type_codes(predicate, self._deployment)
        return dict.fromkeys(codes, "Timer")

    def _test(self, condition: Expression | None, rule: Rule) -> int:
        return self._tests.of(condition and alone(condition), missing=rule.missing)

    def _keys(self, run: Run, type_: str) -> tuple[KeyRow, ...]:
        return tuple(
            found for key in run.partition for found in self._key(key, key.attribute(type_))
        )

    def _key(self, key: Key, name: str | None) -> Iterator[KeyRow]:
        """A key in events of a type: the column, whether its value is fixed, tag and cell."""
        if name is not None or key.value is None:
            column = self._registry.encoder.columns.code(name or "")
            fixed = self._tests.key_cell(key.value)
            yield column, int(key.value is not None), *fixed

    def _settings(self, rule: Rule, run: Run, values: Values) -> tuple[int, ...]:
        """The columns of the table of runners from the window to the label."""
        each, condition, compared = -1, -1, NOT_COMPARED
        if isinstance(run.condition, Each):
            each = self._test(run.condition.condition, rule)
        elif run.condition is not None:
            condition = values.program(run.condition, truth=True)
            compared = values.compared(run.condition)
        counted = isinstance(run.window, CountWindow)
        length = run.window.size if isinstance(run.window, CountWindow) else run.window.length
        label = self._registry.encoder.texts.code(run.label)
        return int(counted), length, each, condition, *compared, int(rule.missing), label

    def remove(self, number: int) -> None:
        """Forget a rule: its runs are no longer watched."""
        self._runner_of.pop(number).failures.pop(number)

    # --- limits --------------------------------------------------------------

    def held(self, memory: Memory, number: int, now: int) -> tuple[int, int]:
        """How many events the runs of a rule hold, and how many runs are open."""
        runner = self._runner_of[number]
        rows, firsts = held_by_runs(memory.m, runner.channel, runner.place)
        return int(rows.sum()), len(firsts)

    def begun(self, _: Memory) -> None:
        """An event begins one run at most."""

    def drop(self, memory: Memory, number: int, now: int, stored: int, partial: int) -> None:
        """Give up the oldest events of the runs of a rule, and the runs that began first."""
        runner = self._runner_of[number]
        place, length = (runner.channel, runner.place), runner.form.settings[1]
        rows, before = held_by_runs(memory.m, *place)
        dropped = oldest_rows(memory, np.flatnonzero(rows), stored)
        shorten_runs(memory.m, *place, length, dropped, False)
        _, firsts = held_by_runs(memory.m, *place)
        left = max(0, partial - (len(before) - len(firsts)))
        shorten_runs(memory.m, *place, length, oldest_rows(memory, firsts, left), True)

    # --- tables --------------------------------------------------------------

    def write(self, memory: Memory) -> None:
        """Put all tables into the memory; what was planned so far is no longer shared."""
        self._open.clear()
        self._deployment += 1
        failures = int(self._registry.wants_failures)
        memory.put(RUN_SETTING, [failures, *self._reasons])
        most = max((channel.keys for channel in self._channels), default=0)
        memory.put(RUN_SOUGHT, [0] * (1 + 2 * most))
        self._tests.write(memory)
        listed = {channel.number: channel.listed for channel in self._channels if channel.alive}
        Listing(len(self._registry.encoder.types), self._tests).write(memory, listed)
        self._write_channels(memory)

    def _write_channels(self, memory: Memory) -> None:
        tables: dict[int, list[Any]] = {slot: [] for slot in _TABLES}
        for channel in self._channels:
            runners, measures = len(tables[RUN_RUNNER]), len(tables[RUN_MEASURE])
            for runner in channel.alive:
                tables[RUN_RUNNER].append(self._row(runner, tables))
            tables[RUN_MEASURE] += channel.measures
            tables[RUN_CHANNEL].append(
                (
                    runners,
                    len(tables[RUN_RUNNER]),
                    int(any(runner.form.settings[2] >= 0 for runner in channel.alive)),
                    measures,
                    len(tables[RUN_MEASURE]),
                    channel.keys,
                    *_places(channel),
                )
            )
        for slot, rows in tables.items():
            memory.put(slot, rows)

    def _row(self, runner: _Runner, tables: dict[int, list[Any]]) -> tuple[int, ...]:
        """The row of a runner; what it refers to is added to its tables."""
        form, values = runner.form, len(tables[RUN_VALUE])
        outputs, failures = len(tables[RUN_OUTPUT]), len(tables[RUN_FAILURE])
        tables[RUN_VALUE] += [(register, *value) for register, value in enumerate(form.values)]
        tables[RUN_OUTPUT] += form.outputs
        tables[RUN_FAILURE] += runner.failures.values()
        return (
            *(runner.place, *form.settings),
            *(runner.family, len(self._registry.shapes[runner.family].members)),
            *(values, values + form.judged, len(tables[RUN_VALUE])),
            *(outputs, len(tables[RUN_OUTPUT]), failures, len(tables[RUN_FAILURE])),
        )


def _shape(rule: Rule, form: _Form) -> Shape:
    kinds = tuple(kind for _, _, kind in form.outputs)
    layout = (None,) * len(form.names)
    return Shape(rule, [], [], form.names, kinds, layout)


def _places(channel: _Channel) -> tuple[int, int, int, int]:
    """Where totals and runs are in a record, how long it is, and how long an entry is."""
    totals = HEADER + 2 * channel.keys
    begins = totals + MEASURE_WORDS * len(channel.measures)
    end = begins + RUN_WORDS * len(channel.runners)
    return totals, begins, end, 1 + MEASURE_WORDS * len(channel.measures)
