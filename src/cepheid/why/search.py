"""The search for the nearest change: proposals from what failed, judged by the oracle.

It is a search by cost (A*): a state is a list of events that were changed so far. The oracle runs
over it; if the rule matches, the changes are the answer. Otherwise each of the attempts that came
nearest proposes what would let its first failing test hold. So whatever is told is true, and what
is told is the cheapest of what was proposed, within the limits below.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from cepheid.algebra import Rule
from cepheid.errors import CepheidError
from cepheid.events import CompositeEvent, Event
from cepheid.why.attempts import Aim, Attempt, Test
from cepheid.why.changes import Add, Change, Move, SetValue, parts_of, together
from cepheid.why.story import Setting, Story

STORIES = 240
"""How many lists of events are tried."""
FURTHER = 24
"""How many more are tried for something cheaper, once a single change suffices."""
CHANGES = 12
"""How many changes are tried together."""
DEPTH = 3
"""How many rules below each other are asked for an event that is missing."""
PLUNGE = 18
"""How many lists of events are tried from each first change in the search in depth."""
BRANCHES = 6
"""How many changes are followed at each step of the search in depth."""
PROPOSALS = 60
"""How many changes are followed from one list of events."""

Goal = Callable[[Story, Change | None], CompositeEvent | None]
"""The composite event that is wanted, if it is there after a change."""


@dataclass(frozen=True)
class Answer:
    """The nearest change and what the rule finds with it; or that the search was cut."""

    change: Change | None = None
    event: CompositeEvent | None = None
    cut: bool = False


@dataclass(order=True)
class _State:
    priority: float
    number: int
    cost: float = field(compare=False)
    changes: tuple[Change, ...] = field(compare=False)
    story: Story | None = field(compare=False, default=None)


def _left(state: _State) -> tuple[float, float]:
    """What is left to do after changes, and what they cost."""
    return state.priority - state.cost, state.cost


class Search:
    """Looks for the nearest change of events with which a rule matches."""

    def __init__(
        self,
        setting: Setting,
        rule: Rule,
        events: Sequence[Event],
        aim: Aim,
        goal: Goal,
        *,
        until: int | None = None,
        admit: Callable[[list[Event]], list[Event]] = list,
        first: Sequence[Change] = (),
    ) -> None:
        self._setting, self._rule, self._aim, self._goal = setting, rule, aim, goal
        self._events, self._until, self._admit = list(events), until, admit
        self._first = list(first)
        self._numbers = itertools.count()
        self._seen: set[tuple[object, ...]] = set()
        self.tried = 0
        self._cut = False
        self._fruitless: list[_State] = []

    def run(self) -> Answer:
        """The nearest change, or none within the limits."""
        start = _State(0.0, next(self._numbers), 0.0, ())
        story = self._story(())
        if story is None or self._goal(story, None) is not None:
            return Answer()
        first = list(self._following(start, story))
        single = self._single(first)
        if single is not None and single.change is not None:
            return self._cheapest(single.change.cost) or single
        return self._cheapest() or self._deepest() or Answer(cut=self._cut)

    def _single(self, first: list[_State]) -> Answer | None:
        """The cheapest change that suffices alone; all are judged before several are tried."""
        for state in sorted(first):
            found = self._judged(state)
            if isinstance(found, Answer):
                return found
            if found is not None:
                self._fruitless.append(found)
        return None

    def _cheapest(self, below: float = math.inf) -> Answer | None:
        """The cheapest of several changes together, in the order of their cost."""
        queue = list(self._fruitless)
        heapq.heapify(queue)
        most = self.tried + (STORIES // 2 if below == math.inf else FURTHER)
        while queue and queue[0].priority < below and self.tried < most:
            found = self._tried_out(heapq.heappop(queue))
            if isinstance(found, Answer):
                return found
            for more in found:
                heapq.heappush(queue, more)
        self._cut = bool(queue)
        return None

    def _deepest(self) -> Answer | None:
        """Any changes together that suffice: from each first change on, step by step."""
        for first in sorted(self._fruitless):
            state: _State | None = first
            most = min(self.tried + PLUNGE, STORIES)
            while state is not None and self.tried < most:
                found = self._best_of(state)
                if isinstance(found, Answer):
                    return replace(found, cut=True)
                state = found
        return None

    def _best_of(self, state: _State) -> Answer | _State | None:
        """The answer, if one of the changes that follow suffices; else the best of them."""
        following = self._following(state, state.story) if state.story else ()
        best: _State | None = None
        for more in sorted(following, key=_left)[:BRANCHES]:
            found = self._judged(more)
            if isinstance(found, Answer):
                return found
            best = best or found
        return best

    def _tried_out(self, state: _State) -> Answer | list[_State]:
        """The answer, if changes suffice; else what they lead on to."""
        found = state if state.story is not None else self._judged(state)
        if isinstance(found, Answer):
            return found
        return (
            [] if found is None or found.story is None else [*self._following(found, found.story)]
        )

    def _judged(self, state: _State) -> Answer | _State | None:
        """The answer, if changes suffice; else the state with its story, unless it is known."""
        story = self._story(state.changes)
        if story is None:
            return None
        event = self._goal(story, together(state.changes))
        if event is not None:
            return self._fewest(state.changes, event)
        return replace(state, story=story)

    def _story(self, changes: tuple[Change, ...]) -> Story | None:
        """The events with changes, run; None when they were tried before, or cannot be."""
        try:
            events = self._admit(self._changed(changes))
        except CepheidError:
            return None
        until = max((u for u in (self._until, *_untils(changes)) if u is not None), default=None)
        key = (until, *sorted(map(key_of, events)))
        if key in self._seen:
            return None
        self._seen.add(key)
        self.tried += 1
        return Story(self._setting, events, until)

    def _changed(self, changes: Sequence[Change]) -> list[Event]:
        events = self._events
        for change in changes:
            events = change.apply(events)
        return events

    # --- proposals -----------------------------------------------------------

    def _following(self, state: _State, story: Story) -> Iterator[_State]:
        if len(state.changes) >= CHANGES:
            return
        aim = replace(self._aim, end=story.end)
        if aim.event is not None and state.changes:
            aim = replace(aim, event=together(state.changes).follow(aim.event))
        proposals = list(self._proposed(story, self._rule, aim, 0, frozenset()))
        if not state.changes:
            proposals += [(change, 0.0) for change in self._first]
        proposals.sort(key=lambda pair: pair[0].cost + pair[1])
        for change, to_come in proposals[:PROPOSALS]:
            changes = (*state.changes, change)
            if not _undoes(state.changes, change):
                cost = together(changes).cost
                yield _State(cost + to_come, next(self._numbers), cost, changes)

    def _proposed(
        self, story: Story, rule: Rule, aim: Aim, depth: int, asked: frozenset[str]
    ) -> Iterator[tuple[Change, float]]:
        """Changes that bring attempts on, with what would still be to do."""
        for attempt in story.attempts(rule.name, aim):
            test = _first_failing(attempt)
            if test is None:
                continue
            rest = attempt.cost - test.cost if attempt.cost < float("inf") else 0.0
            for repair in test.repairs:
                for change in story.grounded(repair):
                    yield change, rest
            yield from self._asked(story, test, aim, depth, asked | {rule.name})

    def _asked(
        self, story: Story, test: Test, aim: Aim, depth: int, asked: frozenset[str]
    ) -> Iterator[tuple[Change, float]]:
        """What keeps other rules from making an event that is missing."""
        if depth >= DEPTH:
            return
        times = test.when or (aim.time if aim.event is None else aim.event.end,)
        for type_, time in itertools.product(test.asks, times):
            for maker in self._setting.makers(type_):
                if maker.name not in asked:
                    near = replace(aim, event=None, time=time)
                    yield from self._proposed(story, maker, near, depth + 1, asked)

    # --- the answer ----------------------------------------------------------

    def _fewest(self, changes: tuple[Change, ...], event: CompositeEvent) -> Answer:
        """The changes without those that are not needed."""
        kept = list(parts_of(together(changes)))
        for change in list(kept):
            fewer = [other for other in kept if other is not change]
            found = self._matches(fewer)
            if fewer and found is not None:
                kept, event = fewer, found
        return Answer(together(kept), event)

    def _matches(self, changes: list[Change]) -> CompositeEvent | None:
        story = self._story(tuple(changes)) if changes else None
        return None if story is None else self._goal(story, together(changes))


def _first_failing(attempt: Attempt) -> Test | None:
    """The first failing test, if all of them could be made to hold."""
    failing = attempt.failing
    if any(not test.repairs and not test.asks for test in failing):
        return None
    return failing[0] if failing else None


def _undoes(changes: tuple[Change, ...], change: Change) -> bool:
    """Whether a change is about what was changed already.

    A value may be corrected once, and those of an added event at will, but not its time.
    """
    added = [p.event for one in changes for p in parts_of(one) if isinstance(p, Add)]
    if any(isinstance(part, Move) and part.event in added for part in parts_of(change)):
        return True
    done = Counter(
        _subject(part, part.follow(part.event))
        for part in (one for other in changes for one in parts_of(other))
        if isinstance(part, SetValue | Move)
    )
    return any(
        done[_subject(part, part.event)] > isinstance(part, SetValue)
        for part in parts_of(change)
        if isinstance(part, SetValue | Move)
    )


def _subject(change: SetValue | Move, event: Event) -> tuple[object, ...]:
    """What a change is about: an event's time, or an attribute of it whatever its value."""
    if isinstance(change, Move):
        return change.kind, key_of(event)
    others = {name: v for name, v in event.attributes.items() if name != change.name}
    return change.kind, change.name, key_of(replace(event, attributes=others))


def _untils(changes: Sequence[Change]) -> Iterator[int | None]:
    return (change.until for change in changes)


def key_of(event: Event) -> tuple[object, ...]:
    """What tells events of a list from each other, for sorting and finding."""
    attributes = sorted((n, type(v).__name__, str(v)) for n, v in event.attributes.items())
    return event.end, event.start, event.type, str(event.id), tuple(attributes)
