"""Asking: why a composite event was found, and why a rule found none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from cepheid.algebra import Rule
from cepheid.errors import EventError, did_you_mean
from cepheid.events import CompositeEvent, Event
from cepheid.units import parse_time
from cepheid.why.attempts import Aim
from cepheid.why.given import (
    Given,
    Near,
    is_time,
    key_with,
    needed_for,
    reach_of,
    taken_types,
    types_of,
)
from cepheid.why.located import located
from cepheid.why.question import Question
from cepheid.why.results import Why, WhyNot
from cepheid.why.story import Setting, Story

if TYPE_CHECKING:
    from cepheid.rules import Rules

WHY_LIMIT = 1000
"""How many events are looked at to tell why a composite event was found."""


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
    if given.count <= WHY_LIMIT:
        end = None if until is None else given.time(until)
        story = Story(Setting(rules.rules, rules.schema, given.words), given.all(), end)
    else:
        story = _near(rules, events, given, wanted, rules.detect(events, unit=unit, until=until))
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


def _near(rules: Rules, events: object, given: Given, wanted: str, found: object) -> Story:
    """The events around a composite event among what was found, as far as they are needed."""
    start, end, name, types = located(found, wanted, given)
    needed = needed_for(_rule_of(rules, name), rules)
    setting = Setting(needed, rules.schema, given.words)
    reach = reach_of(needed) or max(end - start, 1)
    last = given.near(end - 1, end + 1, Near(types, 1))
    while True:
        wish = Near(types_of(needed), WHY_LIMIT, key_with(needed, last[0] if last else None))
        near = given.near(start - 2 * reach, end + reach, wish)
        story = Story(setting, near, end)
        known = any(str(event.id) == wanted for event in story.found)
        if known or len(near) == WHY_LIMIT or reach > given.length:
            break
        reach *= 4
    if not known:
        raise EventError(
            f"composite event {wanted} must follow from at most {WHY_LIMIT} events around it; "
            "got one that needs more\n\nhint: ask with fewer events, such as those of one key"
        )
    return story


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
    needed = needed_for(asked, rules)
    question = Question(
        Setting(needed, rules.schema, given.words),
        asked,
        given,
        _aim(needed, given, around),
        None if until is None else given.time(until),
        None if delay is None else _delay(delay, given),
        [given.event(event) for event in late],
    )
    return question.answer()


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


def _aim(rules: Sequence[Rule], given: Given, around: object) -> Aim:
    reach = reach_of(rules)
    reach = max(given.length, 1_000_000) if reach is None else max(reach, 1)
    if around is None:
        return Aim(reach=reach)
    if is_time(around):
        return Aim(given.time(around), reach=reach)
    if not isinstance(around, Event | Mapping):
        raise EventError(
            f"around must be a time or an event; got {type(around).__name__}\n\n"
            "hint: a time has the form of the events' own times"
        )
    event = given.event(around)
    if event not in given.near(event.start, event.end, Near(frozenset([event.type]), given.count)):
        raise EventError(
            f"around must be one of the events; got {given.words.event(event)}"
            "\n\nhint: give the event as it stands in the list"
        )
    taken = {type_ for rule in rules for type_ in taken_types(rule)}
    # An event that no match can be made of stands for its time.
    return Aim(event=event, reach=reach) if event.type in taken else Aim(event.end, reach=reach)


def _delay(delay: int | str | timedelta, given: Given) -> int:
    if isinstance(delay, timedelta):
        return delay // timedelta(microseconds=1)
    return parse_time(delay) if isinstance(delay, str) else given.time(delay)
