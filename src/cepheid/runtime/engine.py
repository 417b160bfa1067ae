"""The embedded engine: events are pushed in, composite events come back, inside one process.

An event arrives, waits until the detection policy lets it be consumed, goes through the matcher,
and what it caused is told to the caller and to subscribers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType, TracebackType
from typing import Any, Self, cast, overload

from cepheid.algebra import Rule
from cepheid.check.definitions import Definitions
from cepheid.cores import cores_of
from cepheid.errors import (
    CepheidError,
    EventError,
    Problem,
    Report,
    RuleError,
    SnapshotError,
    did_you_mean,
)
from cepheid.events import CompositeEvent, Event, Kind, Schema, Value
from cepheid.kernel.few import Few
from cepheid.kernel.found import Found
from cepheid.records import Clock, check_event, from_record, from_records, to_record
from cepheid.rules import Rules
from cepheid.runtime.arrival import NEVER, Heard
from cepheid.runtime.counters import Counters, Counts
from cepheid.runtime.intake import Intake
from cepheid.runtime.matcher import Here, Matcher
from cepheid.runtime.queue import QUEUE_SIZE, Full, InputQueue
from cepheid.runtime.settings import (
    DEPTH_LIMIT,
    LATE_LIMIT,
    Limits,
    Settings,
    settings_of,
    unknown_type,
)
from cepheid.runtime.snapshot import damaged, pack, unpack
from cepheid.runtime.subscriptions import Subscription, Subscriptions
from cepheid.runtime.tabular import Tabular
from cepheid.tables.frames import is_table
from cepheid.tables.order import Ordering
from cepheid.tables.reading import read
from cepheid.tables.table import Table
from cepheid.tables.writing import Form, check_columns, given_by
from cepheid.units import format_time

FAILURE = "Failure"
"""The type of failure events."""
EVENTS, RECORDS, TABLE = "events", "records", "table"
"""What was pushed last, which decides what comes back."""


class Engine:
    """Rules that run inside the process; made by `Rules.engine` or by `restore`.

    It is to be used by one thread at a time.

    >>> import cepheid
    >>> rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
    >>> engine = rules.engine(unit="s")
    >>> engine.push({"type": "A", "ts": 1})
    []
    >>> [found["type"] for found in engine.push({"type": "B", "ts": 2})]
    ['AB']
    """

    def __init__(
        self,
        rules: Rules,
        *,
        policy: str = "guaranteed",
        delay: int | str | timedelta = 0,
        heartbeats: Iterable[str] | str = (),
        sources: Iterable[Value] | str | None = None,
        idle: int | str | timedelta | None = None,
        unit: str | None = None,
        failures: bool = False,
        limits: Limits | Mapping[str, Limits] | None = None,
        depth_limit: int = DEPTH_LIMIT,
        late_limit: int = LATE_LIMIT,
        cores: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        check_columns(columns, given_by(rules.rules, failures=failures))
        settings = settings_of(
            policy=policy,
            delay=delay,
            heartbeats=heartbeats,
            sources=sources,
            unit=unit,
            failures=failures,
            limits=limits,
            depth_limit=depth_limit,
            late_limit=late_limit,
            idle=idle,
        )
        self._begin(settings, rules.schema, cores, columns)
        self._deploy(rules.rules)

    @staticmethod
    def of(rules: Rules, settings: Settings) -> Engine:
        """An engine on one core, with settings that were checked before."""
        engine = Engine.__new__(Engine)
        engine._begin(settings, rules.schema, 1)
        engine._deploy(rules.rules)
        return engine

    def _begin(
        self,
        settings: Settings,
        schema: Schema,
        cores: int | None,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.settings = settings
        self._cores = cores_of(cores)
        self._columns = columns
        self._clock = Clock.of(settings.unit)
        self._schema = schema
        self._intake = Intake(settings, schema)
        self._matcher = Matcher(settings, schema)
        self._subscriptions = Subscriptions()
        self._counts = Counts()
        self._passed = NEVER
        self._kind = EVENTS
        self._tabular: Tabular | None = None
        self._known_form: tuple[Tabular, Form] | None = None
        self._closed = False

    # --- events --------------------------------------------------------------

    @overload
    def push(self, event: Event) -> list[CompositeEvent]: ...

    @overload
    def push(self, event: Mapping[str, Any]) -> list[dict[str, Any]]: ...

    def push(self, event: Event | Mapping[str, Any]) -> list[CompositeEvent] | list[dict[str, Any]]:
        """Take an event; the result is what it caused, of the same kind.

        With the policy `guaranteed` and no delay, which is the default, an event is consumed at
        once. Otherwise it may wait, and what comes back may have been caused by earlier events.
        """
        self._require_open()
        if isinstance(event, Event):
            given, self._kind = event, EVENTS
        else:
            given, self._kind = from_record(event, self._clock), RECORDS
        if self._schema:
            check_event(given, self._schema)
        portions = self._arrive(given)
        found: list[CompositeEvent] | list[dict[str, Any]] = []
        if portions or self._intake.was_late or self._matcher.limit:
            found = self._told(portions)
        return found

    @overload
    def push_batch(self, events: Sequence[Event]) -> list[CompositeEvent]: ...

    @overload
    def push_batch(self, events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]: ...

    @overload
    def push_batch(self, events: Any) -> Any: ...  # noqa: ANN401 (tables of several libraries)

    def push_batch(self, events: Any) -> Any:
        """Take many events that arrive together, in any order; the result is of the same kind.

        Events of a batch are put in order among each other, so only those are late that were
        late before the batch came. If one of them cannot be read, none is taken.
        """
        self._require_open()
        if is_table(events):
            return self._push_table(events)
        if not isinstance(events, Sequence) or isinstance(events, str):
            raise EventError(
                "events must be a table, or a list of Events or dictionaries; "
                f"got {type(events).__name__}"
            )
        given = from_records(events, self._clock, self._schema)
        self._kind = EVENTS if all(isinstance(event, Event) for event in events) else RECORDS
        self._matcher.trim()
        return self._told(self._settle(self._intake.arrive_together(given)))

    def _push_table(self, events: object) -> Any:  # noqa: ANN401 (a table of any library)
        reading = read(events, self._clock, self._schema)
        tabular = Tabular.of(reading, self._tabular)
        # Before anything is consumed, as columns that cannot be written are an error.
        self._form(tabular)
        self._kind, self._tabular = TABLE, tabular
        self._matcher.trim()
        return self._told(self._settle_table(*self._intake.arrive_table(reading.table)))

    def push_part(
        self,
        table: Table,
        form: Tabular,
        heard: Heard,
        here: Here | None = None,
        *,
        whole: bool = False,
    ) -> Any:  # noqa: ANN401 (a table of Arrow)
        """Take the part of a batch that belongs here, given what is heard of the whole batch.

        For jobs whose events are spread over several engines: which events are late and which
        may be consumed follows from all of them. The result is a table in the given form. `here`
        tells which events belong to this engine; composite events without any of them, or (`whole`)
        with any other, are left out: they are told elsewhere.
        """
        self._require_open()
        self._kind, self._tabular = TABLE, form
        self._matcher.trim()
        portions = self._settle_table(*self._intake.arrive_table(table, heard))
        return self._told_here(portions, here, whole)

    def advance_part(
        self, time: int, form: Tabular, here: Here | None = None, *, whole: bool = False
    ) -> Any:  # noqa: ANN401 (a table of Arrow)
        """Let time pass up to a moment in microseconds, as `advance` does."""
        self._kind, self._tabular = TABLE, form
        self._intake.arrival.advance(time)
        # What waits here came in tables, so that it is found in columns.
        portions = cast("Sequence[Found]", self._settle_waiting())
        return self._told_here(portions, here, whole)

    def _told_here(self, portions: Sequence[Found], here: Here | None, whole: bool) -> Any:  # noqa: ANN401 (a table of Arrow)
        if here is not None:
            portions = [self._matcher.made_here(one, here, whole=whole) for one in portions]
        return self._told([portion for portion in portions if len(portion)], part=True)

    def take_late_table(self) -> Table:
        """The events that were late since this was last asked, where they came in parts."""
        return self._intake.take_late_table()

    def advance(self, time: int | datetime) -> Any:  # noqa: ANN401 (the kind that was pushed)
        """Let time pass up to a moment, so that timers and absences fire.

        It says that everything up to and including that moment has arrived: what waits and ends
        by then is consumed, and what comes later and is older is late. The time has the form of
        the events' times, and the result is of the kind that was pushed last.
        """
        self._require_open()
        self._intake.arrival.advance(self._read(time))
        return self._told(self._settle_waiting())

    def close(self) -> Any:  # noqa: ANN401 (the kind that was pushed)
        """Consume what waits, and take no more events; time goes on to the newest end.

        The result is of the kind that was pushed last. A closed engine can still be asked for
        its counters and for a snapshot.
        """
        if self._closed:
            return []
        arrival = self._intake.arrival
        arrival.advance(max(self._intake.newest, arrival.passed))
        portions = self._settle_waiting()
        self._closed = True
        return self._told(portions)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close; but after an error what waits stays as it is."""
        if kind is None:
            self.close()
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise EventError(
                "engine must be open to take events; it was closed\n\n"
                "hint: make a new one, or restore one from a snapshot that was taken before"
            )

    def _read(self, time: int | datetime) -> int:
        """A time in microseconds; without a unit, integers are microseconds as in Events."""
        if type(time) is int and self._clock.unit is None and self._kind == EVENTS:
            return time
        return self._clock.read(time)

    # --- the way of an event -------------------------------------------------

    def _arrive(self, event: Event) -> Sequence[Found | Few]:
        """What is found because an event has arrived."""
        self._matcher.trim()
        at_once = self._intake.arrive(event)
        if at_once is None:
            return self._settle_waiting()
        self._passed = max(self._passed, event.end - 1)
        found = self._matcher.feed_one(event)
        passed = self._intake.arrival.passed > self._passed
        return [*found, *self._pass_time()] if passed else found

    def _settle(self, events: Sequence[Event]) -> Sequence[Found | Few]:
        """Consume events, then let as much time pass as surely has passed."""
        portions: list[Found | Few] = []
        if events:
            self._passed = max(self._passed, events[-1].end - 1)
            portions += self._matcher.feed(events)
        return [*portions, *self._pass_time()]

    def _settle_table(self, table: Table, found: Ordering) -> list[Found]:
        """The same for events of a table."""
        portions: list[Found] = []
        if len(table):
            self._passed = max(self._passed, int(table.ends.max()) - 1)
            portions += self._matcher.feed_table(table, found)
        return portions + self._pass_time()

    def _settle_waiting(self) -> Sequence[Found | Few]:
        """The same for whatever waits and is ready, in the form in which it came."""
        if self._kind == TABLE:
            return self._settle_table(*self._intake.take_table())
        return self._settle(self._intake.take())

    def _pass_time(self) -> list[Found]:
        if self._intake.arrival.passed <= self._passed:
            return []
        self._passed = self._intake.arrival.passed
        return self._matcher.advance(self._passed)

    # --- what comes out ------------------------------------------------------

    def _told(self, portions: Sequence[Found | Few], *, part: bool = False) -> Any:  # noqa: ANN401 (the kind that was pushed)
        """What was found, in the form of what was pushed, after every subscriber has seen it."""
        late = [] if part else self._intake.take_late(wanted=self._subscriptions.wants_late)
        told = [portion for portion in portions if self._is_told(portion)]
        found: Any
        if self._kind == TABLE and self._tabular is not None:
            form, payload = self._form(self._tabular), self._matcher.payload
            columns = [portion for portion in told if isinstance(portion, Found)]
            self._counts.add(columns, self._matcher.rules)
            found = self._tabular.written(columns, payload, form, self._cores)
            self._subscriptions.tell(self._wanted(columns), late)
        else:
            events = self._matcher.composites(told)
            self._counts.add_events(events)
            records = self._kind == RECORDS
            found = events
            if records:
                found = [to_record(event, self._clock, self._columns) for event in events]
            self._subscriptions.tell(events, late)
        self._matcher.raise_limit(found)
        return found

    def _form(self, tabular: Tabular) -> Form:
        """How composite events are written; worked out anew when tables or rules change."""
        known = self._known_form
        if known is None or known[0] != tabular:
            rules, failures = self._matcher.active(), self.settings.failures
            form = tabular.form(rules, self._schema, failures=failures)
            known = tabular, form.chosen(self._columns)
            self._known_form = known
        return known[1]

    def _wanted(self, portions: Sequence[Found]) -> list[CompositeEvent]:
        """Composite events as objects, where somebody has subscribed to their type."""
        types = self._subscriptions.types
        if not types:
            return []
        rules = self._matcher.rules
        wanted = {n for n, rule in rules.items() if rule.output.type in types or FAILURE in types}
        return self._matcher.composites(
            [portion for portion in portions if wanted.intersection(portion.rules.tolist())]
        )

    def _is_told(self, portion: Found | Few) -> bool:
        """Failure events that only rules asked for stay inside."""
        return self.settings.failures or not portion.failure

    def queue(self, size: int = QUEUE_SIZE, full: Full = "block") -> InputQueue:
        """A bounded queue of events, from which the engine takes them in a thread of its own.

        When `size` events wait, another one is let in as room comes (`"block"`), is dropped
        (`"drop newest"`), or takes the place of the oldest (`"drop oldest"`).
        """
        self._require_open()
        return InputQueue(self, size, full)

    @property
    def clock(self) -> Clock:
        """How times of dictionaries and tables are read."""
        return self._clock

    @property
    def schema(self) -> Schema:
        """The attributes that events are declared to have."""
        return self._schema

    def subscribe(self, type_: str, callback: Callable[[CompositeEvent], object]) -> Subscription:
        """Call a function with every composite event of a type, as a `CompositeEvent`.

        Functions are called in the order of their subscriptions, after the event that caused it
        all is done with. An error in one of them does not keep the others from being called, and
        then comes out of the call that pushed. Subscriptions are not part of a snapshot.
        """
        known = {rule.output.type for rule in self._matcher.active()}
        if type_ == FAILURE and not self.settings.failures and FAILURE not in known:
            raise EventError(
                "subscription to Failure needs an engine with failure events\n\n"
                "hint: rules.engine(failures=True)"
            )
        if type_ not in known | {FAILURE}:
            raise unknown_type(type_, known)
        return self._subscriptions.add(type_, callback)

    def subscribe_late(self, callback: Callable[[Event], object]) -> Subscription:
        """Call a function with every late event, as an `Event`."""
        return self._subscriptions.add_late(callback)

    @property
    def late(self) -> tuple[Event, ...]:
        """The late events, at most the last `late_limit` of them; the counters know them all."""
        return tuple(self._intake.late)

    @property
    def watermark(self) -> int | None:
        """The time in microseconds before which events are late; None when nothing is late."""
        watermark = self._intake.arrival.watermark
        return None if watermark == NEVER else watermark

    @property
    def counters(self) -> Counters:
        """What the engine has done so far."""
        kernel, counts = self._matcher.kernel, self._intake.counts
        return Counters(
            received=counts["received"],
            consumed=counts["consumed"],
            waiting=len(self._intake),
            late=counts["late"],
            heartbeats=counts["heartbeats"],
            by_type=MappingProxyType(dict(self._counts.by_type)),
            by_rule=MappingProxyType(dict(self._counts.by_rule)),
            cut=kernel.cut,
            limited=MappingProxyType(self._matcher.limited()),
            stored=kernel.stored,
            compactions=kernel.compactions,
        )

    @property
    def held(self) -> dict[str, tuple[int, int]]:
        """By rule, how many events are kept for it now, and how much was begun and is undecided."""
        kernel = self._matcher.kernel
        return {name: kernel.held(number) for name, number in self._matcher.numbers.items()}

    # --- rules ---------------------------------------------------------------

    @property
    def rules(self) -> Rules:
        """The rules that see events now."""
        return Rules(tuple(self._matcher.active()), self._schema)

    def add(self, rules: Rules) -> None:
        """Let more rules see every event that is consumed from now on; others are not touched."""
        self._change((), rules)

    def remove(self, name: str) -> None:
        """Forget a rule and all that it had begun; others are not touched."""
        self._require_rule(name)
        self._matcher.remove(name)
        self._note_rules()

    def replace(self, rules: Rules) -> None:
        """Put rules in the place of those with the same names, and add the others.

        A rule that was replaced begins anew: what it had begun is gone.
        """
        self._change([r.name for r in rules if r.name in self._matcher.numbers], rules)

    def _change(self, leaving: Sequence[str], rules: Rules) -> None:
        """Exchange rules, after everything that could be wrong with it was looked at."""
        schema = self._joined(rules.schema)
        self._check(leaving, rules, schema)
        self._schema = self._intake.waiting.schema = schema
        self._matcher.use(schema)
        for name in leaving:
            self._matcher.remove(name)
        self._deploy(rules.rules)

    def _deploy(self, rules: Sequence[Rule]) -> None:
        if rules:
            self._matcher.deploy(rules)
        self._note_rules()

    def _note_rules(self) -> None:
        self._intake.looked_at = self._matcher.looked_at()
        self._known_form = None

    def _joined(self, schema: Schema) -> Schema:
        for type_ in schema:
            if type_ in self._schema and dict(schema[type_]) != dict(self._schema[type_]):
                message = f"event {type_} must be declared as it is in the engine's schema"
                raise RuleError([Problem("DUPLICATE_DEFINITION", message)])
        return Schema({**self._schema, **schema})

    def _check(self, leaving: Sequence[str], rules: Rules, schema: Schema) -> None:
        """Rules are checked when they are loaded; here only how they go with those that stay."""
        names, types = {rule.name for rule in rules}, {rule.output.type for rule in rules}
        touched = [
            rule
            for rule in self._matcher.active()
            if rule.name not in leaving and (rule.name in names or rule.output.type in types)
        ]
        report = Report()
        Definitions([*touched, *rules], schema).check(report)
        report.fail_on_errors()

    def _require_rule(self, name: str) -> None:
        names = self._matcher.numbers
        if name not in names:
            problem = Problem(
                "UNKNOWN_NAME",
                f"no rule of the engine is called {name}",
                hint=did_you_mean(name, names) or "the engine has no rules",
            )
            raise RuleError([problem])

    # --- snapshots -----------------------------------------------------------

    def snapshot(self) -> bytes:
        """Everything that the engine's answers depend on, as bytes for `restore`.

        That is the rules, their state, waiting events, the watermark, the late events that are
        kept, and the counters. Subscriptions are not part of it.
        """
        matcher, arrays = self._matcher.state()
        intake, waiting = self._intake.state()
        return pack(
            {
                "settings": self.settings.state(),
                "schema": {type_: dict(self._schema[type_]) for type_ in self._schema},
                "intake": intake,
                "counts": self._counts.state(),
                "passed": self._passed,
                "kind": self._kind,
                "tabular": None if self._tabular is None else self._tabular.state(),
                "closed": self._closed,
                "matcher": matcher,
            },
            {**arrays, **waiting},
        )

    def _load(self, head: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        self._intake.load(head["intake"], arrays)
        self._counts.load(head["counts"])
        self._passed = int(head["passed"])
        self._kind, self._closed = head["kind"], head["closed"]
        if self._kind not in (EVENTS, RECORDS, TABLE) or not isinstance(self._closed, bool):
            raise ValueError(f"kind {self._kind}, closed {self._closed}")
        if head["tabular"] is not None:
            self._tabular = Tabular.of_state(head["tabular"])
        self._matcher.load(head["matcher"], arrays)
        self._note_rules()

    def __repr__(self) -> str:
        moment = "nothing" if self.watermark is None else format_time(self.watermark)
        names = self._matcher.numbers
        return f"<Engine of {len(names)} rules, {self.settings.policy}, at {moment}>"


def restore(
    snapshot: bytes, *, cores: int | None = None, columns: Sequence[str] | None = None
) -> Engine:
    """The engine of a snapshot, which goes on exactly where the other stood.

    Bytes that are no snapshot, that are damaged, or that a newer version wrote are a
    `SnapshotError`. How many `cores` the engine may use belongs to the machine, and which `columns`
    are made to who asks for them: neither is in the snapshot. The bytes hold no code, but the
    checksum is no signature: restore only what comes from where you would take a program from.

    >>> import cepheid
    >>> rules = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
    >>> engine = rules.engine(unit="s")
    >>> engine.push({"type": "A", "ts": 1})
    []
    >>> engine = cepheid.restore(engine.snapshot())
    >>> [found["type"] for found in engine.push({"type": "B", "ts": 2})]
    ['AB']
    """
    head, arrays = unpack(snapshot)
    engine = Engine.__new__(Engine)
    try:
        schema = Schema(
            {t: {n: Kind(k) for n, k in own.items()} for t, own in head["schema"].items()}
        )
        engine._begin(Settings.of_state(head["settings"]), schema, cores, columns)
        engine._load(head, arrays)
    except SnapshotError:
        raise
    except (CepheidError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise damaged(error) from None
    failures = engine.settings.failures
    check_columns(columns, given_by(engine._matcher.active(), failures=failures))
    return engine
