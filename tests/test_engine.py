"""The engine gives what the oracle gives, however events come and whatever happens in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import cepheid
from cepheid import CompositeEvent, Event, Rules
from cepheid.algebra import Rule
from cepheid.events import Order
from cepheid.oracle import evaluate
from cepheid.testing import cases_of, difference, format_cases
from cepheid.units import format_time
from tests.strategies import RULES, SECOND, streams
from tests.test_kernel import with_fewer_types

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
        engine = Rules(()).engine()
        found: list[CompositeEvent] = []
        places = {0, len(ordered), *self.cuts, *self.restores}
        places |= {place for life in self.lives for place in life}
        for begin, end in pairwise(sorted({min(place, len(ordered)) for place in places})):
            found += self._change_rules(engine, begin)
            if begin in self.restores:
                engine = cepheid.restore(engine.snapshot())
            batch = ordered[begin:end]
            found += engine.push(batch[0]) if len(batch) == 1 else engine.push_batch(batch)
        if ordered:
            found += engine.advance(max(self.until, ordered[-1].end))
        assert engine.counters.consumed == len(ordered)
        assert engine.counters.found == len(found)
        return found

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
        return format_cases(cases_of(name, self.rules, self.events, expected, options))


# --- random stories ----------------------------------------------------------

MANY = 16
places = st.integers(0, MANY)
ends = st.integers(0, 60).map(lambda seconds: seconds * SECOND)


def numbered(rules: Sequence[Rule]) -> list[Rule]:
    """Rules with names and outputs of their own."""
    return [
        replace(rule, name=f"R{index}", output=replace(rule.output, type=f"Out{index}"))
        for index, rule in enumerate(rules)
    ]


def busy(rule: Rule) -> Rule:
    """The rule with fewer types, so that rules and streams meet more often."""
    return with_fewer_types(rule)


@st.composite
def lives(draw: st.DrawFn, ordered: Sequence[Event]) -> tuple[int, int]:
    """A stretch of events; a rule leaves only between events with different ends."""
    begin = draw(st.one_of(st.just(0), places)) % (len(ordered) + 1)
    end = draw(st.one_of(st.just(len(ordered)), st.integers(begin, len(ordered))))
    while begin < end < len(ordered) and ordered[end - 1].end == ordered[end].end:
        end += 1
    return begin, end if end > begin else len(ordered)


@st.composite
def stories(draw: st.DrawFn, languages: Sequence[str]) -> Story:
    """Rules of some languages that come and go, events, cuts, and restores."""
    kinds = st.sampled_from(list(languages)).flatmap(lambda language: RULES[language])
    rules = numbered([busy(rule) for rule in draw(st.lists(kinds, min_size=1, max_size=3))])
    events = [with_fewer(event) for event in draw(streams(MANY))]
    story = Story(rules, events, [])
    story.lives = [draw(lives(story.ordered)) for _ in rules]
    story.cuts = draw(st.lists(places, max_size=4))
    story.restores = draw(st.lists(places, max_size=2))
    story.until = draw(ends)
    return story


def with_fewer(event: Event) -> Event:
    return replace(event, type={"C": "A", "D": "B"}.get(event.type, event.type))


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
