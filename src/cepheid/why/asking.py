"""Asking: why a composite event was found, and why a rule found none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from cepheid.algebra import Rule
from cepheid.errors import EventError, did_you_mean
from cepheid.events import CompositeEvent, Event
from cepheid.units import parse_time
from cepheid.why.attempts import Aim, Attempt
from cepheid.why.changes import Arrive, Change, parts_of
from cepheid.why.contradictions import contradicts
from cepheid.why.given import Given, is_time, reach_of
from cepheid.why.lateness import Late, in_time
from cepheid.why.results import Check, Why, WhyNot
from cepheid.why.search import STORIES, Answer, Search, key_of
from cepheid.why.story import Setting, Story, leaves_of

if TYPE_CHECKING:
    from cepheid.rules import Rules

WHY_LIMIT = 1000
"""How many events are looked at to tell why a composite event was found."""
WHY_NOT_LIMIT = 200
"""How many events are looked at to tell why a rule found nothing."""
CHUNKS = 50
"""How many stretches of a long list are looked through for the attempt that came furthest."""


def why(
    rules: Rules,
    events: object,
    what: object,
    *,
    unit: str | None = None,
    until: int | datetime | None = None,
) -> Why:
    """Why rules found a composite event; see `Rules.why`."""
    given = Given.of(events, unit, rules.schema)
    wanted = _id_of(what)
    setting = Setting(rules.rules, rules.schema, given.words)
    end = None if until is None else given.time(until)
    if given.count <= WHY_LIMIT:
        story = Story(setting, given.all(), end)
    else:
        story = _story_of(rules, given, wanted, setting, end)
    for event in story.found:
        if str(event.id) == wanted:
            return _told(story, event)
    raise EventError(
        f"composite event must be one that the rules find in these events; got id {wanted}\n\n"
        f"hint: {_known(story)}"
    )


def _known(story: Story) -> str:
    shown = [f"{event.id} ({story.setting.words.event(event)})" for event in story.found[:3]]
    return f"they find {', '.join(shown)}" if shown else "they find nothing in them; ask why_not"


def _id_of(what: object) -> str:
    if isinstance(what, Event):
        return str(what.id)
    if isinstance(what, str | int):
        return str(what)
    try:
        return str(what["id"])  # type: ignore[index]
    except (TypeError, KeyError, IndexError):
        raise EventError(
            "composite event must be an event that detect gave, or its id; "
            f"got {type(what).__name__}"
        ) from None


def _story_of(
    rules: Rules,
    given: Given,
    wanted: str,
    setting: Setting,
    until: int | None,
) -> Story:
    """The events around a composite event that the engine finds, as far as they are needed."""
    found = _found_by_engine(rules, given, until)
    for event in found:
        if str(event.id) == wanted:
            break
    else:
        raise EventError(
            "composite event must be one that the rules find in these events; "
            f"got id {wanted}\n\nhint: they find {len(found)} others"
        )
    reach = reach_of(rules) or max(event.end - event.start, 1)
    story = Story(setting, [])
    while True:
        near = given.near(event.start - 2 * reach, event.end + reach, WHY_LIMIT)
        story = Story(setting, near, event.end if until is not None else None)
        known = any(str(other.id) == wanted for other in story.found)
        if known or len(near) >= min(WHY_LIMIT, given.count):
            return story
        reach *= 4


def _found_by_engine(rules: Rules, given: Given, until: int | None) -> list[CompositeEvent]:
    from cepheid.tables.detecting import detect_events

    return detect_events(rules.rules, rules.schema, given.all(), until=until)


def _told(story: Story, event: CompositeEvent) -> Why:
    told = story.traces[event.rule].tell(event, story.means(event.rule))
    below = [part for _, part in event.events if isinstance(part, CompositeEvent)]
    return Why(
        event,
        event.rule,
        told.places,
        told.parameters,
        told.checks,
        told.consumed,
        tuple(_told(story, part) for part in below if part.rule in story.traces),
        words=story.setting.words,
    )


# --- why not -----------------------------------------------------------------


def why_not(
    rules: Rules,
    rule: str | Rule,
    events: object,
    *,
    around: int | datetime | Event | Mapping[str, Any] | None = None,
    unit: str | None = None,
    until: int | datetime | None = None,
    delay: int | str | timedelta | None = None,
    late: Sequence[Event | Mapping[str, Any]] = (),
) -> WhyNot:
    """Why a rule did not match; see `Rules.why_not`."""
    asked = _rule_of(rules, rule)
    given = Given.of(events, unit, rules.schema)
    setting = Setting(rules.rules, rules.schema, given.words)
    question = _Question(
        setting,
        asked,
        given,
        _aim(rules, given, around),
        None if until is None else given.time(until),
        None if delay is None else _delay(delay, given),
        [given.event(event) for event in late],
    )
    return question.answer(rules)


def _rule_of(rules: Rules, rule: str | Rule) -> Rule:
    name = rule if isinstance(rule, str) else rule.name
    for known in rules:
        if known.name == name:
            return known
    names = [known.name for known in rules]
    raise EventError(
        f"rule must be one of those that were loaded; got {name}\n\n"
        f"hint: {did_you_mean(name, names)}"
    )


def _aim(rules: Rules, given: Given, around: object) -> Aim:
    reach = reach_of(rules)
    length = max(given.spans[1], default=0) - min(given.spans[0], default=0)
    reach = max(length, 1_000_000) if reach is None else max(reach, 1)
    if around is None:
        return Aim(reach=reach)
    if is_time(around):
        return Aim(given.time(around), reach=reach)
    if not isinstance(around, Event | Mapping):
        raise EventError(
            f"around must be a time or an event; got {type(around).__name__}\n\n"
            "hint: a time has the form of the events' own times"
        )
    return Aim(event=given.event(around), reach=reach)


def _delay(delay: int | str | timedelta, given: Given) -> int:
    if isinstance(delay, timedelta):
        return delay // timedelta(microseconds=1)
    return parse_time(delay) if isinstance(delay, str) else given.time(delay)


@dataclass(frozen=True)
class _Question:
    """Why a rule did not match, with everything that the answer depends on."""

    setting: Setting
    rule: Rule
    given: Given
    aim: Aim
    until: int | None
    delay: int | None
    late: list[Event]

    def answer(self, rules: Rules) -> WhyNot:
        """How far the rule came, what failed, and the nearest change."""
        events, note = self._events(rules)
        if self.aim.event is not None and self.aim.event not in events:
            raise EventError(
                f"around must be one of the events; got {self.setting.words.event(self.aim.event)}"
                "\n\nhint: give the event as it stands in the list"
            )
        kept, late = in_time(events, self.delay) if self.delay is not None else (events, [])
        late += [Late(event, None, None) for event in self.late]
        story = Story(self.setting, kept, self.until)
        matches = [event for event in story.of(self.rule.name) if self._is_meant(event)]
        base = WhyNot(self.rule.name, events=tuple(events), words=self.setting.words, note=note)
        if matches:
            return replace(base, matches=tuple(matches))
        return self._explained(base, story, late)

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

    def _events(self, rules: Rules) -> tuple[list[Event], str]:
        """The events near what is asked about, and what is to say about their choice."""
        given = self.given
        if given.count <= WHY_NOT_LIMIT:
            return given.all(), ""
        time = self.aim.time if self.aim.event is None else self.aim.event.end
        if time is None:
            return self._furthest(rules)
        near = given.near(time - 2 * self.aim.reach, time + 2 * self.aim.reach, WHY_NOT_LIMIT)
        return near, f"looked at the {len(near)} events around {given.words.time(time)}"

    def _furthest(self, rules: Rules) -> tuple[list[Event], str]:
        """The stretch of a long list in which the rule came furthest."""
        given = self.given
        order = sorted(range(given.count), key=lambda row: given.spans[1][row])
        half = WHY_NOT_LIMIT // 2
        begins = range(0, max(len(order) - half, 1), half)
        best: tuple[float, list[Event]] | None = None
        for begin in list(begins)[-CHUNKS:]:
            events = given.pick(order[begin : begin + WHY_NOT_LIMIT])
            story = Story(self.setting, events, None)
            if story.of(self.rule.name):
                return events, f"looked at {len(events)} events in which it matched"
            attempts = story.attempts(self.rule.name, replace(self.aim, end=story.end))
            cost = attempts[0].cost if attempts else float("inf")
            if best is None or cost < best[0]:
                best = cost, events
        chosen = best[1] if best else []
        cut = " of the last stretches" if len(begins) > CHUNKS else ""
        return chosen, f"looked at the {len(chosen)} events{cut} among which it came furthest"


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
