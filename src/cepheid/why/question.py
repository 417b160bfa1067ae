"""The question why a rule did not match, and its answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cepheid.algebra import Rule, Tree, input_types
from cepheid.events import CompositeEvent, Event
from cepheid.why.attempts import Aim, Attempt
from cepheid.why.changes import Arrive, Change, parts_of
from cepheid.why.contradictions import contradicts
from cepheid.why.given import (
    Given,
    Near,
    key_with,
    types_of,
)
from cepheid.why.lateness import Late, in_time
from cepheid.why.results import Check, Nearby, WhyNot
from cepheid.why.search import STORIES, Answer, Search, key_of
from cepheid.why.story import Setting, Story, leaves_of

WHY_NOT_LIMIT = 200
"""How many events are looked at to tell why a rule found nothing."""
NEARBY = 3
"""How many matches near what is asked about are told."""
CHUNKS = 20
"""How many stretches of a long list are looked through for the attempt that came furthest."""


@dataclass(frozen=True)
class Question:
    """Why a rule did not match, with everything that the answer depends on."""

    setting: Setting
    rule: Rule
    given: Given
    aim: Aim
    until: int | None
    delay: int | None
    late: list[Event]

    def answer(self) -> WhyNot:
        """How far the rule came, what failed, and the nearest change."""
        events, until, note = self._events()
        kept, late = in_time(events, self.delay) if self.delay is not None else (events, [])
        late += [Late(event, None, None) for event in self.late]
        story = Story(self.setting, kept, until)
        matches = [event for event in story.of(self.rule.name) if self._is_meant(event)]
        base = WhyNot(self.rule.name, events=tuple(events), words=self.setting.words, note=note)
        if matches:
            return replace(base, matches=tuple(matches))
        base = replace(base, near=self._near(story))
        return replace(self, until=until)._explained(base, story, late)

    def _near(self, story: Story) -> tuple[Nearby, ...]:
        """Matches that are not the one asked about, but lie near it, the nearest first."""
        time = self.aim.time if self.aim.event is None else self.aim.event.end
        if time is None:
            return ()
        found = [Nearby(event, _away(event, time)) for event in story.of(self.rule.name)]
        near = [one for one in found if abs(one.away) <= self.aim.reach]
        return tuple(sorted(near, key=lambda one: abs(one.away))[:NEARBY])

    def _is_meant(self, event: CompositeEvent) -> bool:
        """Whether a match is the one that is asked about."""
        if self.aim.event is not None:
            return any(leaf == self.aim.event for leaf in leaves_of(event))
        leaves = leaves_of(event)
        if self.aim.time is None or not leaves:
            return True
        first = min(leaf.start for leaf in leaves)
        return first <= self.aim.time <= max(event.end, *(leaf.end for leaf in leaves))

    def _explained(self, base: WhyNot, story: Story, late: list[Late]) -> WhyNot:
        answer, tried = self._search(base.events, story, late)
        aim = replace(self.aim, end=story.end)
        attempts = story.attempts(self.rule.name, aim)
        attempt = _attempt_for(answer.change, attempts, story)
        reasons = [test.check for test in attempt.failing] if attempt else []
        reasons += self._below(attempt, story, aim)
        reasons = [*_lateness(answer.change, late, self.setting), *reasons]
        impossible = answer.change is None and contradicts(self.rule)
        return replace(
            base,
            places=attempt.places if attempt else (),
            reasons=tuple(dict.fromkeys(reasons)),
            passed=tuple(t.check for t in attempt.tests if t.check.holds) if attempt else (),
            change=answer.change,
            then=answer.event,
            possible=not impossible,
            note="; ".join(filter(None, [base.note, _cut(answer, tried, impossible)])),
        )

    def _search(
        self, events: Sequence[Event], story: Story, late: list[Late]
    ) -> tuple[Answer, int]:
        known = [frozenset(map(key_of, leaves_of(e))) for e in story.of(self.rule.name)]
        before = {key_of(leaf): leaf for e in story.of(self.rule.name) for leaf in leaves_of(e)}

        def goal(after: Story, change: Change | None) -> CompositeEvent | None:
            old = [
                frozenset(
                    key_of(change.follow(before[key]) if change else before[key]) for key in one
                )
                for one in known
            ]
            for event in after.of(self.rule.name):
                new = frozenset(map(key_of, leaves_of(event)))
                if new not in old and self._is_wanted(event, change):
                    return event
            return None

        search = Search(
            self.setting,
            self.rule,
            events,
            self.aim,
            goal,
            until=self.until,
            admit=self._admit,
            first=[one.change(self.aim.reach, self.setting.words) for one in late],
        )
        return search.run(), search.tried

    def _admit(self, events: list[Event]) -> list[Event]:
        return events if self.delay is None else in_time(events, self.delay)[0]

    def _is_wanted(self, event: CompositeEvent, change: Change | None) -> bool:
        """Whether a match after a change is one that was asked about."""
        if self.aim.event is not None:
            target = change.follow(self.aim.event) if change else self.aim.event
            return any(leaf == target for leaf in leaves_of(event))
        return self.aim.time is None or self.aim.distance(leaves_of(event) or [event]) < 1.0

    def _below(self, attempt: Attempt | None, story: Story, aim: Aim) -> list[Check]:
        """Why other rules did not make the events that are missing."""
        found = []
        asked = [type_ for test in (attempt.failing if attempt else []) for type_ in test.asks]
        for maker in (
            maker for type_ in dict.fromkeys(asked) for maker in self.setting.makers(type_)
        ):
            if maker.name == self.rule.name or story.of(maker.name):
                continue
            attempts = story.attempts(maker.name, replace(aim, event=None))
            for test in attempts[0].failing if attempts else []:
                found.append(replace(test.check, text=f"rule {maker.name}: {test.check.text}"))
        return found

    # --- which events are looked at ------------------------------------------

    def _events(self) -> tuple[list[Event], int | None, str]:
        """The events near what is asked about, how far time went, and what is to say of it."""
        given = self.given
        if given.count <= WHY_NOT_LIMIT:
            return given.all(), self.until, ""
        time = self.aim.time if self.aim.event is None else self.aim.event.end
        if time is None:
            return self._furthest()
        low, high = time - 2 * self.aim.reach, time + 2 * self.aim.reach
        types = types_of(self.setting.rules)
        anchor = self.aim.event or next(
            iter(given.near(low, high, Near(_ending(self.rule), 1))), None
        )
        key = key_with(self.setting.rules, anchor)
        near = given.near(low, high, Near(types, WHY_NOT_LIMIT, key))
        if self.aim.event is not None and self.aim.event not in near:
            near.append(self.aim.event)
        until = min(max(given.end, self.until or given.end), high)
        return near, until, f"looked at the {len(near)} events around {given.words.time(time)}"

    def _furthest(self) -> tuple[list[Event], int | None, str]:
        """The stretch of a long list in which the rule came furthest."""
        given, half = self.given, WHY_NOT_LIMIT // 2
        mine = np.flatnonzero(given.of_types(types_of(self.setting.rules)))
        order = mine[np.argsort(given.ends[mine], kind="stable")]
        begins = range(0, max(len(order) - half, 1), half)
        best: tuple[float, list[Event]] = math.inf, []
        for begin in begins[-CHUNKS:]:
            events = given.pick(order[begin : begin + WHY_NOT_LIMIT].tolist())
            cost = self._nearness(events)
            if not best[1] or cost < best[0]:
                best = cost, events
        cut = f" of the last {CHUNKS} stretches" if len(begins) > CHUNKS else ""
        told = f"looked at the {len(best[1])} events{cut} among which it came furthest"
        return best[1], self.until, told

    def _nearness(self, events: list[Event]) -> float:
        """How near the rule came to a match among events; negative where it matched."""
        story = Story(self.setting, events, None)
        if story.of(self.rule.name):
            return -1.0
        attempts = story.attempts(self.rule.name, replace(self.aim, end=story.end))
        return attempts[0].cost if attempts else math.inf


def _away(event: Event, time: int) -> int:
    """How much later than a time an event lies; negative where it is over by then."""
    return max(event.start - time, 0) or min(event.end - time, 0)


def _ending(rule: Rule) -> frozenset[str]:
    """The types of the event that completes a rule, as far as that is one."""
    if isinstance(rule.pattern, Tree):
        return frozenset(rule.pattern.terminator.predicate.types)
    return frozenset(input_types(rule))


def _attempt_for(
    change: Change | None, attempts: Iterable[Attempt], story: Story
) -> Attempt | None:
    """The attempt that a change completes; else the one that came furthest."""
    listed = list(attempts)
    parts = parts_of(change) if change is not None else []
    for attempt in listed:
        for test in attempt.failing[:1]:
            proposals = [p for r in test.repairs for c in story.grounded(r) for p in parts_of(c)]
            if any(part == proposal for part in parts for proposal in proposals):
                return attempt
    return listed[0] if listed else None


def _lateness(change: Change | None, late: list[Late], setting: Setting) -> list[Check]:
    arrived = [p.event for p in parts_of(change) if isinstance(p, Arrive)] if change else []
    return [one.check(setting.words) for one in late if one.event in arrived]


def _cut(answer: Answer, tried: int, impossible: bool) -> str:
    if answer.change is not None or impossible or not answer.cut:
        return ""
    return f"the search was cut after {min(tried, STORIES)} lists of events"
