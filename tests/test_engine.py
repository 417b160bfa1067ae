"""The engine gives what the oracle gives, however events come and whatever happens in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import cepheid
from cepheid import (
    CannotExpressError,
    CompositeEvent,
    Event,
    EventError,
    LimitError,
    Limits,
    RuleError,
    Rules,
    SnapshotError,
)
from cepheid.algebra import Key, Node, Rule
from cepheid.events import Order, Value
from cepheid.oracle import evaluate
from cepheid.runtime.snapshot import pack, unpack
from cepheid.testing import cases_of, difference, format_cases
from cepheid.units import format_time
from tests.strategies import RULES, SECOND, streams

# --- what must be equal ------------------------------------------------------


def contents(found: Sequence[CompositeEvent]) -> Counter[tuple[object, ...]]:
    """Everything about composite events that a runtime must not change."""
    return Counter(
        (
            event.type,
            event.start,
            event.end,
            event.rule,
            event.id,
            frozenset((name, repr(value)) for name, value in event.attributes.items()),
            tuple((label, part.id) for label, part in event.events),
        )
        for event in found
    )


TABLE_COLUMNS: dict[str, Callable[[CompositeEvent], object]] = {
    "id": lambda event: event.id,
    "type": lambda event: event.type,
    "rule": lambda event: event.rule,
    "ts": lambda event: event.end,
    "start": lambda event: event.start,
}


def as_table(events: Sequence[Event]) -> pa.Table:
    """Events as a table; a missing attribute is null."""
    columns: dict[str, list[object]] = {
        "type": [event.type for event in events],
        "ts": [event.end for event in events],
        "start": [event.start for event in events],
    }
    for name, kind in (("id", pa.int64()), ("k", pa.string()), ("v", pa.float64())):
        columns[name] = pa.array([event.attributes.get(name) for event in events], kind)
    columns["w"] = pa.array([event.attributes.get("w") for event in events], pa.float64())
    return pa.table(columns)


def fit_for_tables(event: Event) -> Event:
    """The event with numbers of one kind, and with its id as an attribute, as tables have it."""
    numbers = {n: float(v) for n, v in event.attributes.items() if not isinstance(v, str)}
    own: dict[str, Value] = {} if event.id is None else {"id": event.id}
    return replace(event, attributes={**event.attributes, **numbers, **own})


@dataclass
class Story:
    """What happens to an engine: events in their order, and what is done before some of them.

    The life of a rule is the stretch of events that it sees. At a cut a new batch begins, and
    with it what is planned there; `restores` says where the engine is written down and read again.
    """

    rules: list[Rule]
    events: list[Event]
    lives: list[tuple[int, int]]
    cuts: list[int] = field(default_factory=list)
    restores: list[int] = field(default_factory=list)
    until: int = 0
    as_tables: bool = False
    forgets: bool = False
    """Whether everything that nothing refers to is given up before each batch, texts included."""

    @property
    def ordered(self) -> list[Event]:
        return sorted(self.events, key=Order().key)

    def expected(self) -> list[CompositeEvent]:
        """What the oracle says, for every rule over the stretch that it sees."""
        ordered = self.ordered
        found: list[CompositeEvent] = []
        for life in dict.fromkeys(self.lives):
            begin, end = life
            own = [
                rule for rule, other in zip(self.rules, self.lives, strict=True) if other == life
            ]
            until = self.until if end >= len(ordered) else None
            found += evaluate(own, ordered[begin:end], until=until).events
        return found

    def played(self) -> list[CompositeEvent]:
        """What the engine says."""
        ordered = self.ordered
        engine = Rules(()).engine(unit="us")
        found: list[CompositeEvent] = []
        places = {0, len(ordered), *self.cuts, *self.restores}
        places |= {place for life in self.lives for place in life}
        for begin, end in pairwise(sorted({min(place, len(ordered)) for place in places})):
            found += self._change_rules(engine, begin)
            if begin in self.restores:
                engine = cepheid.restore(engine.snapshot())
            if self.forgets:
                engine._matcher.forget(texts=True)
            found += self._push(engine, ordered[begin:end])
        if ordered:
            found += self._advance(engine, max(self.until, ordered[-1].end))
        assert engine.counters.consumed == len(ordered)
        assert engine.counters.found == len(found)
        return found

    def _push(self, engine: cepheid.Engine, batch: list[Event]) -> list[CompositeEvent]:
        if self.as_tables:
            return self._told(engine, lambda: engine.push_batch(as_table(batch)))
        return engine.push(batch[0]) if len(batch) == 1 else engine.push_batch(batch)

    def _advance(self, engine: cepheid.Engine, time: int) -> list[CompositeEvent]:
        if self.as_tables:
            return self._told(engine, lambda: engine.advance(time))
        found: list[CompositeEvent] = engine.advance(time)
        return found

    def _told(self, engine: cepheid.Engine, call: Callable[[], Any]) -> list[CompositeEvent]:
        """What subscribers are told; the table that comes back must say the same."""
        told: list[CompositeEvent] = []
        subscriptions = [engine.subscribe(r.output.type, told.append) for r in self.rules]
        table = call()
        for subscription in subscriptions:
            subscription.cancel()
        ordered = sorted(told, key=Order().key)
        for name, of in TABLE_COLUMNS.items():
            assert table.column(name).to_pylist() == [of(event) for event in ordered]
        return told

    def _change_rules(self, engine: cepheid.Engine, place: int) -> list[CompositeEvent]:
        found: list[CompositeEvent] = []
        leaving = [r for r, (_, end) in zip(self.rules, self.lives, strict=True) if end == place]
        if leaving and 0 < place < len(self.events):
            # The oracle lets time go on to the end of the last event that a rule sees.
            found += engine.advance(self.ordered[place - 1].end)
        for rule in leaving:
            if place < len(self.events):
                engine.remove(rule.name)
        coming = [r for r, (begin, _) in zip(self.rules, self.lives, strict=True) if begin == place]
        if coming:
            engine.add(Rules(tuple(coming)))
        return found

    def check(self) -> None:
        expected, played = self.expected(), self.played()
        if contents(expected) != contents(played):
            note(self.as_cases(expected, played))
        assert contents(expected) == contents(played)

    def as_cases(self, expected: Sequence[CompositeEvent], played: Sequence[CompositeEvent]) -> str:
        """The story as spec cases, ready to paste."""
        told = difference(expected, played) or "ids or constituents"
        lives = ", ".join(
            f"{rule.name} sees events {begin} to {end}"
            for rule, (begin, end) in zip(self.rules, self.lives, strict=True)
        )
        name = (
            f"{lives}; cut before {self.cuts}, written down and read before {self.restores}\n"
            f"the engine differs from the oracle:\n{told}"
        )
        options = {"until": format_time(self.until)}
        try:
            return format_cases(cases_of(name, self.rules, self.events, expected, options))
        except CannotExpressError as error:
            return f"{name}\n{error}\n{self}"


# --- random stories ----------------------------------------------------------

MANY = 16
FEWER = {"C": "A", "D": "B"}
"""Types that are taken together, so that random rules and streams meet more often."""
places = st.integers(0, MANY)
perhaps_places = st.one_of(st.none(), places)
ends = st.integers(0, 60).map(lambda seconds: seconds * SECOND)
N = TypeVar("N", bound=Node)


def renamed(node: N, names: Mapping[str, str]) -> N:
    """The node with other names for event types."""
    changes: dict[str, Any] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if item.name == "types":
            changes["types"] = tuple(dict.fromkeys(names.get(type_, type_) for type_ in value))
        elif isinstance(node, Key) and item.name == "attributes":
            changes["attributes"] = tuple((names.get(t, t), attribute) for t, attribute in value)
        elif isinstance(value, Node):
            changes[item.name] = renamed(value, names)
        elif isinstance(value, tuple):
            changes[item.name] = tuple(
                renamed(part, names) if isinstance(part, Node) else part for part in value
            )
    return replace(node, **changes)


def numbered(rules: Sequence[Rule]) -> list[Rule]:
    """Rules with names and outputs of their own."""
    return [
        replace(rule, name=f"R{index}", output=replace(rule.output, type=f"Out{index}"))
        for index, rule in enumerate(rules)
    ]


@st.composite
def rule_lists(draw: st.DrawFn, languages: Sequence[str]) -> list[Rule]:
    """Rules of some languages; LAIPL names events by their types, which stay what they are."""
    kinds = st.sampled_from(list(languages)).flatmap(lambda language: RULES[language])
    rules = draw(st.lists(kinds, min_size=1, max_size=3))
    fewer = FEWER if all(rule.language != "laipl" for rule in rules) else {}
    return numbered([renamed(rule, fewer) for rule in rules])


def busy(events: Sequence[Event], rules: Sequence[Rule]) -> list[Event]:
    """Events of the types that rules look at."""
    fewer = FEWER if all(rule.language != "laipl" for rule in rules) else {}
    return [replace(event, type=fewer.get(event.type, event.type)) for event in events]


@st.composite
def lives(draw: st.DrawFn, ordered: Sequence[Event]) -> tuple[int, int]:
    """A stretch of events; a rule leaves only between events with different ends."""
    begin = (draw(perhaps_places) or 0) % (len(ordered) + 1)
    end = draw(perhaps_places)
    end = len(ordered) if end is None else begin + end % (len(ordered) - begin + 1)
    while begin < end < len(ordered) and ordered[end - 1].end == ordered[end].end:
        end += 1
    return begin, end if end > begin else len(ordered)


@st.composite
def stories(draw: st.DrawFn, languages: Sequence[str], *, changing: bool = True) -> Story:
    """Rules of some languages that come and go, events, cuts, and restores."""
    rules = draw(rule_lists(languages))
    story = Story(rules, busy(draw(streams(MANY)), rules), [])
    whole = (0, len(story.events))
    story.lives = [draw(lives(story.ordered)) if changing else whole for _ in rules]
    story.cuts = draw(st.lists(places, max_size=4))
    story.restores = draw(st.lists(places, max_size=2))
    story.until = draw(ends)
    return story


@pytest.mark.property
@pytest.mark.parametrize("language", RULES)
@given(data=st.data())
def test_rules_that_come_and_go_find_what_the_oracle_finds(
    language: str, data: st.DataObject
) -> None:
    data.draw(stories([language])).check()


@pytest.mark.property
@given(story=stories(list(RULES)))
def test_rules_of_all_languages_find_together_what_the_oracle_finds(story: Story) -> None:
    story.check()


@pytest.mark.property
@given(story=stories(list(RULES), changing=False), inner=st.sampled_from(["A", "B"]))
def test_rules_that_feed_each_other_find_what_the_oracle_finds(story: Story, inner: str) -> None:
    story.rules = [
        renamed(rule, {inner: f"Out{index - 1}"}) if index else rule
        for index, rule in enumerate(story.rules)
    ]
    story.check()


@pytest.mark.property
@given(story=stories(list(RULES), changing=False))
def test_tables_in_any_cut_give_what_the_oracle_gives(story: Story) -> None:
    story.as_tables = True
    story.events = [fit_for_tables(event) for event in story.events]
    story.check()


def with_new_texts(events: Sequence[Event], few: int) -> list[Event]:
    """Events whose texts are never seen again, but for a few events around them."""
    found = []
    for place, event in enumerate(sorted(events, key=Order().key)):
        texts = {n: f"{v} {place // few}" for n, v in event.attributes.items() if type(v) is str}
        found.append(replace(event, attributes={**event.attributes, **texts}))
    return found


@pytest.mark.property
@given(story=stories(list(RULES)), few=st.integers(1, 9), as_tables=st.booleans())
def test_texts_that_are_always_new_give_what_the_oracle_gives(
    story: Story, few: int, as_tables: bool
) -> None:
    """Codes of texts are used again, wherever the stream is cut and written down."""
    story.as_tables = as_tables
    if as_tables:
        story.lives = [(0, len(story.events))] * len(story.rules)
        story.events = [fit_for_tables(event) for event in story.events]
    story.events = with_new_texts(story.events, few)
    story.cuts = list(range(0, MANY, 2))
    story.forgets = True
    story.check()


@pytest.mark.property
@given(story=stories(list(RULES), changing=False), inner=st.sampled_from(["A", "B"]))
def test_texts_of_composite_events_are_kept_as_long_as_they_are(story: Story, inner: str) -> None:
    story.rules = [
        renamed(rule, {inner: f"Out{index - 1}"}) if index else rule
        for index, rule in enumerate(story.rules)
    ]
    story.events = with_new_texts(story.events, 4)
    story.cuts, story.forgets = list(range(MANY)), True
    story.check()


@pytest.mark.parametrize("seed", range(20))
def test_pairs_of_a_parallel_expression_keep_no_texts_of_events_that_are_gone(seed: int) -> None:
    """A pair has a row like an event, but no attributes; what was in the row before is not its."""
    tesla = 'Rule R define Out() from A()\nRule S define Y() from Z(k = "q")'
    core = "define X as ([B] || [B]) ; [Out] ; [Out]"
    loaded = [cepheid.load(tesla, language="tesla"), cepheid.load(core, language="core")]
    engine = Rules(tuple(rule for own in loaded for rule in own)).engine()
    chance = Random(seed)
    for at in range(12):
        type_, known = chance.choice("AB"), chance.random() >= 0.5
        attributes = {"k": f"text {at // 4}"} if known else {}
        engine.push(Event(type_, at // 3 * SECOND, at // 3 * SECOND, attributes))
        engine._matcher.forget(texts=True)
        needed = engine._matcher.kernel.text_codes()
        assert (needed < len(engine._matcher.kernel.encoder.texts)).all()


@pytest.mark.property
@given(
    story=stories(list(RULES), changing=False),
    batches=st.lists(st.integers(0, MANY), max_size=4),
    restores=st.lists(st.integers(0, MANY), max_size=2),
)
def test_any_order_of_arrival_within_the_delay_gives_what_the_oracle_gives(
    story: Story, batches: list[int], restores: list[int]
) -> None:
    """The events of a story are in no order of time, so they arrive as they are listed."""
    newest = max((event.end for event in story.events), default=0)
    engine = Rules(tuple(story.rules)).engine(delay=newest + 1)
    found: list[CompositeEvent] = []
    places = sorted({0, len(story.events), *batches, *restores})
    for begin, end in pairwise(place for place in places if place <= len(story.events)):
        if begin in restores:
            engine = cepheid.restore(engine.snapshot())
        batch = story.events[begin:end]
        found += engine.push_batch(batch) if begin in batches else _pushed(engine, batch)
    if story.events:
        found += engine.advance(max(story.until, newest))
    assert engine.counters.late == 0
    expected = evaluate(story.rules, story.events, until=story.until).events
    if contents(expected) != contents(found):
        note(story.as_cases(expected, found))
    assert contents(expected) == contents(found)


def _pushed(engine: cepheid.Engine, events: Sequence[Event]) -> list[CompositeEvent]:
    return [found for event in events for found in engine.push(event)]


# --- what goes in and comes out ----------------------------------------------

PAIR = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
ALARM = cepheid.load(
    "Rule Hot define Alarm(area: string) from Temp(value > 45) where area = Temp.area",
    language="tesla",
)
A, B = Event("A", SECOND, SECOND, id=1), Event("B", 2 * SECOND, 2 * SECOND, id=2)


def test_events_give_composite_events() -> None:
    engine = PAIR.engine()
    assert engine.push(A) == []
    (found,) = engine.push(B)
    assert isinstance(found, CompositeEvent)
    assert [(label, part) for label, part in found.events] == [("x", A), ("y", B)]
    assert engine.advance(5 * SECOND) == []


def test_dictionaries_give_dictionaries() -> None:
    engine = PAIR.engine(unit="s")
    assert engine.push({"type": "A", "ts": 1, "id": 1}) == []
    (found,) = engine.push({"type": "B", "ts": 2, "id": 2})
    assert (found["type"], found["ts"], found["start"]) == ("AB", 2, 1)
    assert (
        found
        == PAIR.detect(
            [{"type": "A", "ts": 1, "id": 1}, {"type": "B", "ts": 2, "id": 2}], unit="s"
        )[0]
    )
    assert engine.push_batch([{"type": "B", "ts": 3}])[0]["ts"] == 3


def test_datetimes_go_in_and_come_out() -> None:
    engine = PAIR.engine()
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    engine.push({"type": "A", "ts": noon})
    (found,) = engine.push({"type": "B", "ts": noon + timedelta(seconds=1)})
    assert found["ts"] == noon + timedelta(seconds=1)
    assert engine.advance(noon + timedelta(hours=1)) == []


@pytest.mark.parametrize("frame", ["pandas", "polars", "arrow"])
def test_tables_give_tables_of_the_same_library(frame: str) -> None:
    engine = PAIR.engine(unit="us")
    first, second = (_in_library(as_table([event]), frame) for event in (A, B))
    assert len(engine.push_batch(first)) == 0
    found = engine.push_batch(second)
    assert type(found) is type(second)
    assert (len(found), next(iter(found["type"])) in ("AB", pa.scalar("AB"))) == (1, True)
    assert type(engine.advance(7 * SECOND)) is type(second)
    assert type(cepheid.restore(engine.snapshot()).advance(8 * SECOND)) is type(second)


def _in_library(table: pa.Table, frame: str) -> Any:  # noqa: ANN401
    if frame == "pandas":
        return table.to_pandas()
    if frame == "polars":
        import polars

        return polars.from_arrow(table)
    return table


def test_a_composite_event_of_a_table_may_be_made_of_rows_of_an_earlier_one() -> None:
    engine = PAIR.engine(unit="s")
    engine.push_batch(pa.table({"type": ["A"], "ts": [1], "colour": ["red"]}))
    found = engine.push_batch(pa.table({"type": ["B"], "ts": [2], "size": [7]}))
    assert found.select(["x_colour", "y_size"]).to_pylist() == [{"x_colour": "red", "y_size": 7}]


def test_tables_and_events_may_take_turns() -> None:
    engine = PAIR.engine(unit="us", delay=5 * SECOND)
    third = Event("A", 3 * SECOND, 3 * SECOND, id=3)
    assert len(engine.push_batch(as_table([fit_for_tables(B)]))) == 0
    assert engine.push(A) == []
    assert len(engine.push_batch(as_table([fit_for_tables(third)]))) == 0
    assert engine.counters.waiting == 3
    engine = cepheid.restore(engine.snapshot())
    late = Event("B", 20 * SECOND, 20 * SECOND, id=4)
    assert [found.end for found in engine.push(late)] == [2 * SECOND]
    assert engine.close() == []


def test_a_batch_may_be_empty() -> None:
    engine = PAIR.engine(unit="us")
    assert engine.push_batch([]) == []
    assert len(engine.push_batch(as_table([]))) == 0


def test_events_that_cannot_be_read_change_nothing() -> None:
    engine = PAIR.engine(unit="s")
    with pytest.raises(EventError, match="event at position 1: event must have a field ts"):
        engine.push_batch([{"type": "A", "ts": 1}, {"type": "B"}])
    with pytest.raises(EventError, match="event must have a field type"):
        engine.push({"ts": 1})
    with pytest.raises(EventError, match="events must be a table, or a list of Events"):
        engine.push_batch(7)
    with pytest.raises(EventError, match="events must be a table, or a list of Events"):
        engine.push_batch("A@1")
    assert engine.counters.received == 0
    assert engine.push({"type": "B", "ts": 2}) == []


def test_attributes_must_be_as_the_schema_says() -> None:
    rules = cepheid.load(
        "Rule R define Hot() from Temp(value > 45)",
        language="tesla",
        schema="Temp(value: double)",
    )
    engine = rules.engine(unit="s")
    for push in (engine.push, lambda event: engine.push_batch([event])):
        with pytest.raises(EventError, match="attribute value of event Temp must be double"):
            push({"type": "Temp", "ts": 1, "value": "hot"})
    assert len(engine.push({"type": "Temp", "ts": 1, "value": 50})) == 1


def test_columns_that_cannot_be_written_are_told_before_anything_is_consumed() -> None:
    rules = cepheid.load("EVENT SEQ(A x, B y) WITHIN 9 s RETURN C(v = x.v)", language="sase")
    both = Rules((*rules, *cepheid.load("QUERY D EVENT B x RETURN D(v = x.v)", language="sase")))
    engine = both.engine(unit="s")
    engine.push_batch({"A": pa.table({"ts": [1], "v": [1]})})
    with pytest.raises(EventError, match="column v of the composite events must have one type"):
        engine.push_batch({"B": pa.table({"ts": [2], "v": ["text"]})})
    assert engine.counters.received == 1


def test_integers_without_a_unit_are_an_error_for_dictionaries() -> None:
    engine = PAIR.engine()
    with pytest.raises(EventError, match="times that are integers need a unit"):
        engine.push({"type": "A", "ts": 1})
    engine.push({"type": "A", "ts": datetime(2026, 7, 1, tzinfo=UTC)})
    with pytest.raises(EventError, match="times that are integers need a unit"):
        engine.advance(5)


def test_what_a_batch_causes_comes_in_the_order_of_time() -> None:
    rules = Rules((*PAIR, *ALARM))
    events = [
        Event(type_, at * SECOND, at * SECOND, {"value": 50.0, "area": "A1"})
        for at, type_ in enumerate(["A", "B", "Temp", "B", "Temp", "B"])
    ]
    found = rules.engine().push_batch(events)
    assert [event.end // SECOND for event in found] == [1, 2, 3, 4, 5]


# --- time --------------------------------------------------------------------

ABSENCE = cepheid.load("EVENT SEQ(A x, !(B y)) WITHIN 5 s", language="sase")


def test_advance_lets_absences_fire() -> None:
    engine = ABSENCE.engine()
    engine.push(A)
    assert engine.advance(5 * SECOND) == []
    (found,) = engine.advance(6 * SECOND)
    assert found.end == 6 * SECOND
    assert engine.advance(100 * SECOND) == []


def test_what_comes_after_advance_and_is_not_newer_is_late() -> None:
    engine = ABSENCE.engine()
    engine.push(A)
    engine.advance(2 * SECOND)
    assert engine.push(B) == []
    assert engine.late == (B,)
    assert len(engine.advance(6 * SECOND)) == 1


def test_heartbeats_let_absences_fire() -> None:
    engine = ABSENCE.engine(heartbeats="Beat")
    engine.push(A)
    assert engine.push(Event("Beat", 6 * SECOND, 6 * SECOND)) == []
    assert len(engine.push(Event("Beat", 6 * SECOND + 1, 6 * SECOND + 1))) == 1
    assert (engine.counters.heartbeats, engine.counters.consumed) == (2, 1)


def test_events_that_no_rule_looks_at_let_time_pass() -> None:
    engine = ABSENCE.engine()
    engine.push(A)
    assert len(engine.push(Event("Other", 7 * SECOND, 7 * SECOND))) == 1


def test_waiting_events_are_no_reason_for_time_to_pass() -> None:
    engine = ABSENCE.engine(delay=10 * SECOND)
    engine.push(A)
    assert engine.push(Event("Other", 7 * SECOND, 7 * SECOND)) == []
    assert engine.push(B) == []
    assert engine.close() == []


def test_close_consumes_what_waits_and_takes_no_more() -> None:
    engine = PAIR.engine(delay=10 * SECOND)
    engine.push_batch([A, B])
    assert len(engine.close()) == 1
    assert engine.close() == []
    assert engine.counters.waiting == 0
    for call in (lambda: engine.push(A), lambda: engine.push_batch([A]), lambda: engine.advance(9)):
        with pytest.raises(EventError, match="engine must be open to take events; it was closed"):
            call()
    with pytest.raises(EventError, match="it was closed"):
        cepheid.restore(engine.snapshot()).push(A)


def test_a_block_closes_the_engine_at_its_end() -> None:
    told: list[CompositeEvent] = []
    with PAIR.engine(delay=10 * SECOND) as engine:
        engine.subscribe("AB", told.append)
        engine.push_batch([A, B])
        assert not told
    assert len(told) == 1
    with pytest.raises(ZeroDivisionError), PAIR.engine(delay=10 * SECOND) as engine:
        engine.subscribe("AB", told.append)
        engine.push_batch([A, B])
        _ = 1 / 0
    assert len(told) == 1


# --- subscriptions -----------------------------------------------------------


def test_every_subscriber_is_told_in_order_until_it_cancels() -> None:
    told: list[str] = []
    engine = PAIR.engine()
    first = engine.subscribe("AB", lambda event: told.append(f"first {event.rule}"))
    engine.subscribe("AB", lambda event: told.append(f"second {event.rule}"))
    engine.push_batch([A, B])
    assert told == ["first AB", "second AB"]
    first.cancel()
    first.cancel()
    engine.push(replace(B, id=3))
    assert told[2:] == ["second AB"]


def test_a_subscriber_may_cancel_itself_and_push() -> None:
    told: list[CompositeEvent] = []
    engine = PAIR.engine()

    def once(event: CompositeEvent) -> None:
        told.append(event)
        subscription.cancel()
        assert len(engine.push(replace(B, id=3))) == 1

    subscription = engine.subscribe("AB", once)
    engine.push_batch([A, B])
    assert len(told) == 1


def test_an_error_of_a_subscriber_comes_out_after_all_were_told() -> None:
    told: list[CompositeEvent] = []
    engine = PAIR.engine()
    engine.subscribe("AB", lambda event: event.events[9])
    engine.subscribe("AB", told.append)
    engine.push(A)
    with pytest.raises(IndexError):
        engine.push(B)
    assert len(told) == 1
    assert engine.counters.by_rule == {"AB": 1}


def test_a_subscription_needs_a_type_that_a_rule_gives() -> None:
    engine = PAIR.engine()
    with pytest.raises(EventError, match=r"must be one that a rule gives; got Ab\n\nhint: did you"):
        engine.subscribe("Ab", print)
    with pytest.raises(EventError, match="subscriber must be a function of one event; got str"):
        engine.subscribe("AB", "print")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(EventError, match="needs an engine with failure events"):
        engine.subscribe("Failure", print)


def test_failure_events_can_be_subscribed_to() -> None:
    rules = cepheid.load(
        "Rule Calm Define Calm(v: Double) From CPU Where Each(CPU.value) < 50 Batch(2)",
        language="laipl",
    )
    told: list[CompositeEvent] = []
    engine = rules.engine(failures=True)
    engine.subscribe("Failure", told.append)
    calm, busy = Event("CPU", 1, 1, {"value": 40.0}), Event("CPU", 2, 2, {"value": 90.0})
    assert engine.push(calm) == []
    (failure,) = engine.push(busy)
    assert (failure.type, failure.attributes["rule"]) == ("Failure", "Calm")
    assert told == [failure]
    assert engine.counters.by_type == {"Failure": 1}
    assert rules.engine().push_batch([calm, busy]) == []


def test_failures_that_only_rules_listen_to_are_constituents_and_not_told(tmp_path: Path) -> None:
    (tmp_path / "calm.laipl").write_text(
        "Rule Calm Define Calm(v: Double) From CPU Where Each(CPU.value) < 50 Batch(2)"
    )
    (tmp_path / "bad.tesla").write_text(
        "Rule Bad define Bad(why: string) from Failure() where why = Failure.reason"
    )
    engine = cepheid.load(tmp_path).engine()
    engine.push(Event("CPU", 1, 1, {"value": 40.0}))
    (bad,) = engine.push(Event("CPU", 2, 2, {"value": 90.0}))
    assert (bad.type, bad.attributes["why"]) == ("Bad", "broken")
    assert [part.type for _, part in bad.events] == ["Failure"]


def test_late_events_are_told_counted_and_kept_within_bounds() -> None:
    told: list[Event] = []
    engine = PAIR.engine(late_limit=2)
    engine.subscribe_late(told.append)
    engine.push(Event("A", 100, 100))
    late = [Event("A", time, time) for time in (1, 2, 3)]
    engine.push(late[0])
    engine.push_batch(late[1:])
    assert told == late
    assert engine.late == (late[1], late[2])
    assert engine.counters.late == 3


def test_late_rows_of_a_table_are_told_too() -> None:
    told: list[Event] = []
    engine = PAIR.engine(unit="us")
    engine.subscribe_late(told.append)
    engine.push_batch(as_table([fit_for_tables(B)]))
    engine.push_batch(as_table([fit_for_tables(A)]))
    assert [event.id for event in told] == [1]
    assert engine.counters.late == 1


# --- rules -------------------------------------------------------------------


def test_a_rule_that_is_added_sees_what_is_consumed_from_then_on() -> None:
    engine = ALARM.engine()
    engine.push(A)
    engine.add(PAIR)
    assert engine.push(B) == []
    assert [rule.name for rule in engine.rules] == ["Hot", "AB"]
    engine.push(replace(A, start=3 * SECOND, end=3 * SECOND))
    assert len(engine.push(replace(B, start=4 * SECOND, end=4 * SECOND))) == 1


def test_a_rule_that_is_removed_leaves_the_others_alone() -> None:
    engine = PAIR.engine()
    engine.add(ALARM)
    engine.push(A)
    engine.remove("Hot")
    assert engine.push(Event("Temp", SECOND, SECOND, {"value": 50.0, "area": "A1"})) == []
    assert len(engine.push(B)) == 1
    assert [rule.name for rule in engine.rules] == ["AB"]


def test_a_rule_that_is_replaced_begins_anew() -> None:
    engine = PAIR.engine()
    engine.push(A)
    longer = cepheid.load("QUERY AB EVENT SEQ(A x, B y) WITHIN 1 min", language="sase")
    engine.replace(longer)
    assert engine.push(B) == []
    engine.push(replace(A, start=3 * SECOND, end=3 * SECOND))
    assert len(engine.push(replace(B, start=40 * SECOND, end=40 * SECOND))) == 1


def test_rules_must_go_with_those_that_are_there() -> None:
    engine = PAIR.engine()
    with pytest.raises(RuleError, match="two rules are called AB"):
        engine.add(PAIR)
    with pytest.raises(RuleError, match=r"no rule of the engine is called BA"):
        engine.remove("BA")
    assert [rule.name for rule in engine.rules] == ["AB"]
    other = cepheid.load("QUERY Q EVENT A x", language="sase", schema="A(v: int)")
    engine.add(other)
    clash = cepheid.load("QUERY R EVENT A x", language="sase", schema="A(v: string)")
    with pytest.raises(RuleError, match="event A must be declared as it is in the engine's schema"):
        engine.add(clash)


def test_an_engine_may_begin_without_rules() -> None:
    engine = Rules(()).engine()
    assert engine.push(A) == []
    assert engine.counters.received == 1


def test_rules_that_feed_on_themselves_are_cut_at_the_depth_limit() -> None:
    rules = cepheid.load("Rule R define A() from A()", language="tesla")
    engine = rules.engine(depth_limit=5)
    assert len(engine.push(A)) == 5
    assert engine.counters.cut == 1


# --- counters and snapshots --------------------------------------------------


def test_counters_are_a_picture_of_one_moment() -> None:
    engine = PAIR.engine(delay=2 * SECOND, heartbeats=["Beat"])
    before = engine.counters
    engine.push_batch([A, B, replace(B, start=5 * SECOND, end=5 * SECOND)])
    engine.push(A)
    after = engine.counters
    assert before == cepheid.Counters()
    assert (after.received, after.consumed, after.waiting, after.late) == (4, 2, 1, 1)
    assert (after.by_type, after.by_rule, after.found) == ({"AB": 1}, {"AB": 1}, 1)
    with pytest.raises(FrozenInstanceError):
        after.late = 0  # type: ignore[misc]  # that is the point
    with pytest.raises(TypeError):
        after.by_rule["AB"] = 7  # type: ignore[index]  # the same


def test_a_snapshot_holds_everything_but_subscriptions() -> None:
    told: list[CompositeEvent] = []
    engine = PAIR.engine(delay=3 * SECOND, unit="us", late_limit=7)
    engine.subscribe("AB", told.append)
    engine.push_batch([A, B, replace(A, start=9 * SECOND, end=9 * SECOND)])
    engine.push(A)
    found = len(told)
    again = cepheid.restore(engine.snapshot())
    assert (again.counters, again.late) == (engine.counters, engine.late)
    assert (again.watermark, repr(again)) == (engine.watermark, repr(engine))
    assert list(again.rules) == list(engine.rules)
    assert again.snapshot() == engine.snapshot()
    for at in (12 * SECOND, 40 * SECOND):
        later = replace(B, start=at, end=at)
        assert contents(again.push(later)) == contents(engine.push(later))
    assert (found, len(told)) == (1, 2)


def test_a_snapshot_can_be_taken_again_and_again() -> None:
    whole, engine = PAIR.engine(), PAIR.engine()
    for at in range(30):
        event = Event("AB"[at % 2], at * SECOND, at * SECOND, {"at": at})
        engine = cepheid.restore(cepheid.restore(engine.snapshot()).snapshot())
        assert engine.push(event) == whole.push(event)


def test_snapshots_of_parts_that_do_not_fit_are_errors() -> None:
    engine = PAIR.engine()
    engine.push(A)
    head, arrays = unpack(engine.snapshot())
    for name in head:
        with pytest.raises(SnapshotError):
            cepheid.restore(pack({**head, name: "nonsense"}, arrays))
        without = {other: value for other, value in head.items() if other != name}
        with pytest.raises(SnapshotError):
            cepheid.restore(pack(without, arrays))
    for name in arrays:
        without = {other: value for other, value in arrays.items() if other != name}
        with pytest.raises(SnapshotError):
            cepheid.restore(pack(head, without))
    cepheid.restore(pack(head, arrays))


def test_an_engine_that_looks_at_every_event_for_ever_keeps_only_what_it_needs() -> None:
    engine = PAIR.engine()
    sizes = []
    for at in range(0, 40_000, 1_000):
        engine.push_batch(
            [
                Event("A" if number % 2 else "C", number * SECOND, number * SECOND, {"n": number})
                for number in range(at, at + 1_000)
            ]
        )
        sizes.append(len(engine.snapshot()))
    assert max(sizes) < 2 * sizes[2]
    assert engine.counters.stored < 5_000


PAIRS = {
    "tesla": """
        Rule Pair
        define Pair(s: string, rest: string)
        from B(k=$k) and each A(k=$k and s>"m") within 1 min from B
        where s=A.s and rest=B.s
    """,
    "sase": """
        QUERY Pair
        EVENT SEQ(A a, B b)
        WHERE [k] AND a.s > "m" WITHIN 1 minutes
        RETURN Pair(s = a.s, rest = b.s)
    """,
    "laipl": """
        Rule Pair
        Define Pair(s: String, rest: String)
        From A, B
        Where A.s > "m" Then B.s Within(1 min)
        Composite A.k = B.k
    """,
    "core": """
        define Pair as [a: A(s > "m")] ; [b: B(k = a.k)]
        within 1min
        return (s = a.s, rest = b.s)
    """,
}
"""Rules of every language that look at texts: which are equal, and which comes first."""


@pytest.mark.parametrize("language", PAIRS)
def test_an_engine_forgets_texts_that_never_come_again(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of texts stays small over a long stream of texts that are always new."""
    monkeypatch.setattr("cepheid.kernel.texts.FEW_TEXTS", 1024)
    engine = cepheid.load(PAIRS[language], language=language).engine(unit="s")
    found: list[dict[str, Any]] = []
    for begin in range(0, 40_000, 500):
        batch = [
            {
                "type": "AB"[at % 2],
                "ts": at,
                "k": f"key {at // 2}",
                "s": f"{'az'[at // 2 % 2]} {at}",
            }
            for at in range(begin, begin + 500)
        ]
        found += engine.push_batch(batch)
        assert len(engine._matcher.kernel.encoder.texts) < 10_000
        if begin % 10_000 == 0:
            engine = cepheid.restore(engine.snapshot())
    expected = [(at, f"z {at - 1}", f"z {at}") for at in range(3, 40_000, 4)]
    assert [(event["ts"], event["s"], event["rest"]) for event in found] == expected


def test_a_limit_is_told_with_what_was_found_until_then() -> None:
    rules = cepheid.load(
        "Rule Often define Often() from Timer(every = 1 s) as T and each A() within 9 s from T\n"
        "Rule Hot define Hot() from Temp(value > 45)",
        language="tesla",
    )
    told: list[CompositeEvent] = []
    engine = rules.engine()
    engine.subscribe("Hot", told.append)
    day = 86_400 * SECOND
    hot = [Event("Temp", at * day, at * day, {"value": 50}) for at in (0, 20)]
    with pytest.raises(LimitError, match="periodic timers must give at most") as caught:
        engine.push_batch(hot)
    assert told[0].end == 0
    assert caught.value.found == told


# --- limits ------------------------------------------------------------------

KEEPING: dict[str, tuple[str, str]] = {
    "tree": ("sase", "QUERY R EVENT SEQ(A x, B y) WITHIN 1 h"),
    "run": ("laipl", "Rule R Define R(v: Double) From A Where Average(A.value) > 0 Within(1 h)"),
    "collection": (
        "laipl",
        "Rule R Define R(v: Double, w: Double) From A, B Where A > 0 And B > 0 Within(1 h)",
    ),
    "detector": ("core", "define R as [x: A] ; [y: B] within 1h"),
}
"""Rules that keep every A for an hour, one of each pattern."""


def many(count: int, first: int = 0) -> list[Event]:
    return [
        Event("A", at * SECOND, at * SECOND, {"value": 1.0}, at)
        for at in range(first, first + count)
    ]


@pytest.mark.parametrize("pattern", KEEPING)
def test_a_rule_that_keeps_too_much_is_refused_until_it_keeps_less(pattern: str) -> None:
    language, text = KEEPING[pattern]
    engine = cepheid.load(text, language=language).engine(limits=Limits(stored=5, partial=5))
    _pushed(engine, many(4))
    with pytest.raises(LimitError, match=r"(?s)rule R must keep at most 5 .*; it keeps .*hint: "):
        _pushed(engine, many(10, first=4))
    assert engine.counters.limited["R"] == 1
    again = cepheid.restore(engine.snapshot())
    assert again.counters == engine.counters
    for restored in (engine, again):
        restored.remove("R")
        _pushed(restored, many(10, first=20))


@pytest.mark.parametrize("pattern", KEEPING)
def test_a_rule_that_keeps_too_much_may_drop_the_oldest(pattern: str) -> None:
    language, text = KEEPING[pattern]
    limits = Limits(stored=5, partial=5, policy="drop")
    engine = cepheid.load(text, language=language).engine(limits={"R": limits})
    _pushed(engine, many(50))
    assert engine.counters.limited["R"] >= 40
    # A run is complete at the first event after its window, the others at a B in it.
    type_, at = ("A", 3700 * SECOND) if pattern == "run" else ("B", 60 * SECOND)
    found = engine.push(Event(type_, at, at, {"value": 1.0}, 99))
    assert found
    assert {part.id for event in found for _, part in event.events} <= {45, 46, 47, 48, 49, 99}


def test_a_limit_holds_for_the_rule_that_it_names() -> None:
    rules = cepheid.load(
        "QUERY Few EVENT SEQ(A x, B y) WITHIN 1 h\nQUERY Many EVENT SEQ(A x, B y) WITHIN 1 h",
        language="sase",
    )
    engine = rules.engine(limits={"Few": Limits(stored=2, policy="drop")})
    _pushed(engine, many(10))
    found = Counter(event.rule for event in engine.push(Event("B", 20 * SECOND, 20 * SECOND)))
    assert found == {"Few": 2, "Many": 10}


def test_what_is_refused_is_told_with_what_was_found() -> None:
    engine = PAIR.engine(limits=Limits(stored=3))
    told: list[CompositeEvent] = []
    engine.subscribe("AB", told.append)
    _pushed(engine, many(3))
    events = [Event("B", 4 * SECOND, 4 * SECOND), *many(1, first=5)]
    with pytest.raises(LimitError) as caught:
        engine.push_batch(events)
    assert caught.value.found == told
    assert len(told) == 3


STRATEGIES = {
    "tree": ("sase", "QUERY Tree EVENT SEQ(A x, !(C n)) WHERE [k] WITHIN 10 s"),
    "run": ("laipl", "Rule Run\nDefine Run(v: Double)\nFrom B\nWhere Each(B.v) > 5 Within(10 s)"),
    "collection": (
        "laipl",
        "Rule Some\nDefine Some(v: Double)\nFrom B\nWhere Count(B) >= 2 Within(10 s)",
    ),
    "detector": ("core", "define Late as ([a: A], [T1 in {T1, C}]) T1 = 10s"),
}


@pytest.mark.parametrize("one", STRATEGIES)
@pytest.mark.parametrize("other", STRATEGIES)
def test_rules_of_two_strategies_wait_for_time_side_by_side(one: str, other: str) -> None:
    both = [
        cepheid.load(STRATEGIES[name][1], language=STRATEGIES[name][0]) for name in {one, other}
    ]
    rules = Rules(tuple(rule for loaded in both for rule in loaded))
    given = [
        Event("A", 1 * SECOND, 1 * SECOND, {"k": "x"}),
        Event("B", 2 * SECOND, 2 * SECOND, {"k": "x", "v": 7}),
        Event("B", 3 * SECOND, 3 * SECOND, {"k": "x", "v": 8}),
        Event("B", 12 * SECOND, 12 * SECOND, {"k": "x", "v": 8}),
    ]
    engine = rules.engine()
    found = [*engine.push_batch(given), *engine.advance(60 * SECOND)]
    expected = evaluate(list(rules), given, until=60 * SECOND).events
    assert {event.rule for event in expected} == {rule.name for rule in rules}
    assert contents(expected) == contents(found)
