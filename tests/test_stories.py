"""The engine gives what the oracle gives, however events come and whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import cepheid
from cepheid import (
    CannotExpressError,
    CompositeEvent,
    Event,
    Rules,
)
from cepheid.algebra import Key, Node, Rule
from cepheid.events import Order
from cepheid.oracle import evaluate
from cepheid.testing import cases_of, difference, format_cases
from cepheid.units import format_time
from tests.engines import as_table, contents, fit_for_tables, pushed
from tests.strategies import RULES, SECOND, streams

# --- what must be equal ------------------------------------------------------


TABLE_COLUMNS: dict[str, Callable[[CompositeEvent], object]] = {
    "id": lambda event: event.id,
    "type": lambda event: event.type,
    "rule": lambda event: event.rule,
    "ts": lambda event: event.end,
    "start": lambda event: event.start,
}


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
cuts, restores = st.lists(places, max_size=4), st.lists(places, max_size=2)
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


@cache
def rule_lists(languages: tuple[str, ...]) -> st.SearchStrategy[list[Rule]]:
    """Rules of some languages; LAIPL names events by their types, which stay what they are."""
    one = st.one_of(*(RULES[language] for language in languages))
    return st.lists(one, min_size=1, max_size=3).map(_meeting)


def _meeting(rules: list[Rule]) -> list[Rule]:
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


@cache
@st.composite
def stories(draw: st.DrawFn, languages: tuple[str, ...], *, changing: bool = True) -> Story:
    """Rules of some languages that come and go, events, cuts, and restores."""
    rules = draw(rule_lists(languages))
    story = Story(rules, busy(draw(streams(MANY)), rules), [])
    whole = (0, len(story.events))
    story.lives = [draw(lives(story.ordered)) if changing else whole for _ in rules]
    story.cuts, story.restores = draw(cuts), draw(restores)
    story.until = draw(ends)
    return story


@pytest.mark.property
@pytest.mark.parametrize("language", RULES)
@given(data=st.data())
def test_rules_that_come_and_go_find_what_the_oracle_finds(
    language: str, data: st.DataObject
) -> None:
    data.draw(stories((language,))).check()


@pytest.mark.property
@given(story=stories(tuple(RULES)))
def test_rules_of_all_languages_find_together_what_the_oracle_finds(story: Story) -> None:
    story.check()


@pytest.mark.property
@given(story=stories(tuple(RULES), changing=False), inner=st.sampled_from(["A", "B"]))
def test_rules_that_feed_each_other_find_what_the_oracle_finds(story: Story, inner: str) -> None:
    story.rules = [
        renamed(rule, {inner: f"Out{index - 1}"}) if index else rule
        for index, rule in enumerate(story.rules)
    ]
    story.check()


@pytest.mark.property
@given(story=stories(tuple(RULES), changing=False))
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
@given(story=stories(tuple(RULES)), few=st.integers(1, 9), as_tables=st.booleans())
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
@given(story=stories(tuple(RULES), changing=False), inner=st.sampled_from(["A", "B"]))
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
    story=stories(tuple(RULES), changing=False),
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
        found += engine.push_batch(batch) if begin in batches else pushed(engine, batch)
    if story.events:
        found += engine.advance(max(story.until, newest))
    assert engine.counters.late == 0
    expected = evaluate(story.rules, story.events, until=story.until).events
    if contents(expected) != contents(found):
        note(story.as_cases(expected, found))
    assert contents(expected) == contents(found)
