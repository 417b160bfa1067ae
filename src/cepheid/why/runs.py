"""Runs: why a run of events matched, and why others were not full or failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from cepheid.algebra import (
    Attribute,
    Comparison,
    CountWindow,
    Each,
    EventPredicate,
    Expression,
    Key,
    Literal,
    Relation,
    conjuncts,
)
from cepheid.automaton import words as drawn
from cepheid.automaton.model import Constraint
from cepheid.events import CompositeEvent, Event
from cepheid.literals import format_value
from cepheid.oracle.run import RunEvaluator, partition_of
from cepheid.oracle.values import Scope, equal, satisfies
from cepheid.why.attempts import Aim, Attempt, Means, Test, Told, best
from cepheid.why.changes import Add, Change, Remove, together
from cepheid.why.measure import condition_check
from cepheid.why.results import Check, Place
from cepheid.why.words import counted

ATTEMPTS = 8
"""How many attempts are told."""
LAST = 20
"""How many runs that failed are looked at, the last ones."""


def key_ties(keys: Sequence[Key], type_: str, like: Event | None) -> Iterator[Expression]:
    """What the keys ask of an event of a type that belongs with another one."""
    for key in keys:
        name = key.attribute(type_)
        if name is None:
            continue
        value = key.value
        if value is None and like is not None:
            value = like.attributes.get(key.attribute(like.type) or "")
        if value is not None:
            yield Comparison(Relation.EQUAL, Attribute(None, name), Literal(value))
        else:
            own = Attribute(None, name)
            yield Comparison(Relation.EQUAL, own, own)


def key_tests(keys: Sequence[Key], events: Sequence[Event], means: Means) -> Iterator[Test]:
    """Whether events belong together by their keys."""
    for key in keys:
        text = drawn.constraint(Constraint((), key))
        having = [e for e in events if key.attribute(e.type) is not None]
        if not having:
            continue
        first = having[0]
        wanted = key.value
        if wanted is None:
            wanted = first.attributes.get(key.attribute(first.type) or "")
        wrong = [e for e in having if not _has(e, key, wanted)]
        seen = [e.attributes.get(key.attribute(e.type) or "") for e in having]
        found = ", ".join(dict.fromkeys(map(format_value, seen)))
        check = Check("key", text, found, not wrong, events=tuple(wrong))
        repairs = [
            change
            for event in wrong[:1]
            for tie in key_ties([key], event.type, first if wanted is not None else None)
            for change in means.solver.make(tie, Scope(own=event))
        ]
        if wrong and wanted is not None and key.value is None and len(having) == 2:
            other = wrong[0].attributes.get(key.attribute(wrong[0].type) or "")
            if other is not None:
                tie = Comparison(
                    Relation.EQUAL, Attribute(None, key.attribute(first.type) or ""), Literal(other)
                )
                repairs += means.solver.make(tie, Scope(own=first))
        yield Test(check, tuple(repairs))


def _has(event: Event, key: Key, wanted: object) -> bool:
    value = event.attributes.get(key.attribute(event.type) or "")
    return value is not None and wanted is not None and equal(value, wanted)  # type: ignore[arg-type]


@dataclass
class RunTrace(RunEvaluator):
    """Evaluates a run and remembers those that failed."""

    made: dict[str, list[Event]] = field(default_factory=dict)
    unmet: list[list[Event]] = field(default_factory=list)
    broken: list[list[Event]] = field(default_factory=list)
    outside: list[Event] = field(default_factory=list)

    def see(self, event: Event) -> list[CompositeEvent]:
        """The composite or failure event that an event causes."""
        partition = partition_of(event, self.run.partition)
        scope = Scope(missing=self.rule.missing)
        if event.type in self.run.predicate.types:
            if partition is None or not satisfies(event, self.run.predicate, scope):
                self.outside.append(event)
            elif isinstance(self.run.condition, Each):
                opened = [*self._open.get(partition, []), event]
                if not satisfies(event, self._each(self.run.condition), self._scope([])):
                    self.broken.append(opened)
        return super().see(event)

    def _each(self, condition: Each) -> EventPredicate:
        return replace(self.run.predicate, filter=condition.condition)

    def _compose(self, events: list[Event]) -> CompositeEvent:
        found = super()._compose(events)
        self.made[str(found.id)] = list(events)
        return found

    def _failure(self, events: list[Event], last: Event, reason: str) -> list[CompositeEvent]:
        if reason == "unmet":
            self.unmet.append(list(events))
        return super()._failure(events, last, reason)

    def tell(self, event: CompositeEvent, means: Means) -> Told:
        """Why an event was found."""
        events = self.made[str(event.id)]
        view = RunView(self, means)
        tests = [*view.belonging(events), view.full(events), *view.judged(events)]
        checks = tuple(test.check for test in tests)
        return Told(tuple(view.places(events)), checks, consumed=tuple(events))

    def averting(self, event: CompositeEvent, means: Means) -> Iterator[Change]:
        """Changes with which an event would not have been found."""
        events = self.made[str(event.id)]
        for part in self.conditions():
            own = events[-1] if isinstance(self.run.condition, Each) else None
            yield from means.solver.make(part, self._scope(events, own), wanted=False)

    def attempts(self, aim: Aim, means: Means) -> list[Attempt]:
        """How far the rule came, the attempts that are nearest to a match first."""
        view = RunView(self, means)
        found = [
            view.attempt(events, view.full(events)) for events in self._open.values() if events
        ]
        found += [view.attempt(e, view.full(e), *view.judged(e)) for e in self.unmet[-LAST:]]
        found += [view.attempt(e, *view.judged(e)) for e in self.broken[-LAST:]]
        found += [view.attempt([e], *view.belonging([e])) for e in self.outside[-LAST:]]
        found.append(view.unbegun(aim))
        return best(found, aim, ATTEMPTS)

    def conditions(self) -> tuple[Expression, ...]:
        """The conditions on the whole run, or on each of its events."""
        condition = self.run.condition
        return conjuncts(condition.condition if isinstance(condition, Each) else condition)


@dataclass(frozen=True)
class RunView:
    """Runs, looked at one by one."""

    trace: RunTrace
    means: Means

    def places(self, events: Sequence[Event]) -> Iterator[Place]:
        """The events of a run."""
        for number, event in enumerate(events):
            chosen = "opens the run" if number == 0 else ""
            if number and number == len(events) - 1:
                chosen = "the newest"
            yield self.means.place(self.trace.run.label, event, chosen)

    def attempt(self, events: Sequence[Event], *tests: Test) -> Attempt:
        """A run that failed or is not full."""
        return Attempt(tuple(self.places(events)), tests)

    def belonging(self, events: Sequence[Event]) -> list[Test]:
        """What the run asks of its events, whichever they are."""
        found = list(key_tests(self.trace.run.partition, events, self.means))
        for part in conjuncts(self.trace.run.predicate.filter):
            for event in events[:1]:
                own = Scope(own=event, missing=self.trace.rule.missing)
                check = condition_check("filter", part, own, event.type)
                repairs = () if check.holds else tuple(self.means.solver.make(part, own))
                found.append(Test(check, repairs))
        return found

    def judged(self, events: Sequence[Event]) -> Iterator[Test]:
        """The condition on the run, or on the first event that breaks it."""
        run = self.trace.run
        bound = {run.label: tuple(events)}
        for part in self.trace.conditions():
            if isinstance(run.condition, Each):
                yield self._each(part, events)
                continue
            scope = Scope(bound, missing=self.trace.rule.missing)
            check = condition_check("condition", part, scope)
            check = replace(
                check, found=self._seen(part, events, check.found), events=tuple(events)
            )
            repairs = () if check.holds else tuple(self.means.solver.make(part, scope))
            yield Test(check, repairs)

    def _seen(self, part: Expression, events: Sequence[Event], found: str) -> str:
        from cepheid.algebra import Collected, find
        from cepheid.why.measure import seen_by

        for node in find(part, Collected):
            return f"{found}; {seen_by(node.function, list(events), node.attribute)}"
        return found

    def _each(self, part: Expression, events: Sequence[Event]) -> Test:
        scopes = [Scope(own=event, missing=self.trace.rule.missing) for event in events]
        label = self.trace.run.label
        checks = [condition_check("condition", part, own, label) for own in scopes]
        for check, own in zip(checks, scopes, strict=True):
            if not check.holds and own.own is not None:
                changes = [*self.means.solver.make(part, own)]
                changes.append(Remove(own.own, words=self.means.words))
                broken = f"{check.found}, in {self.means.words.event(own.own)}"
                return Test(replace(check, text=f"each {check.text}", found=broken), tuple(changes))
        found = ", ".join(check.found for check in checks[:10])
        return Test(Check("condition", f"each {checks[0].text}", found, events=tuple(events)))

    def full(self, events: Sequence[Event]) -> Test:
        """Whether the window of a run is full."""
        window, words = self.trace.run.window, self.means.words
        if isinstance(window, CountWindow):
            missing = window.size - len(events)
            text = f"the run has {counted(window.size, 'event')}"
            check = Check(
                "count",
                text,
                counted(len(events), "event"),
                missing <= 0,
                max(missing, 0) or None,
                tuple(events),
            )
            return Test(check, () if missing <= 0 else tuple(self._more(events, missing)))
        lasted = events[-1].end - events[0].start
        missing = window.length - lasted
        text = f"an event comes {words.span(window.length)} or more after the first of the run"
        found = f"the newest came after {words.span(lasted)}"
        if len(events) == 1:
            found = "none came after it"
        elif missing > 0:
            found += f", {words.span(missing)} too early"
        check = Check(
            "within", text, found, missing <= 0, max(missing, 0) / 1e6 or None, tuple(events)
        )
        return Test(
            check, () if missing <= 0 else tuple(self._longer(events, missing, window.length))
        )

    def _longer(self, events: Sequence[Event], missing: int, length: int) -> Iterator[Change]:
        """The newest event later, or a further one."""
        if len(events) > 1:
            yield self.means.move(events[-1], missing, length)
        yield from self._drafts(events, [events[0].start + length])

    def _more(self, events: Sequence[Event], missing: int) -> Iterator[Change]:
        step = self.means.solver.step
        yield from self._drafts(events, [events[-1].end + step * (n + 1) for n in range(missing)])

    def _drafts(self, events: Sequence[Event], times: Sequence[int]) -> Iterator[Change]:
        run, solver = self.trace.run, self.means.solver
        like = events[-1] if events else None
        ties = [*key_ties(run.partition, run.predicate.types[0], like)]
        if isinstance(run.condition, Each):
            ties += self.trace.conditions()
        scope = Scope(history=self.trace.world.history, missing=self.trace.rule.missing)
        drafts = [solver.draft(run.predicate, scope, time, ties) for time in times]
        found = [draft for draft in drafts if draft is not None]
        if len(found) == len(times):
            yield together([Add(draft, words=self.means.words) for draft in found])

    def unbegun(self, aim: Aim) -> Attempt:
        """The attempt that has no event at all."""
        predicate, step = self.trace.run.predicate, self.means.solver.step
        newest = max((e.end for e in self.trace.world.history), default=aim.end)
        time = newest + step if aim.time is None else aim.time
        asks = tuple(t for t in predicate.types if t in self.means.solver.produced)
        check = Check(
            "missing",
            f"it begins with {drawn.signal(predicate)}",
            "no such event came",
            holds=False,
        )
        return Attempt((), (Test(check, tuple(self._drafts([], [time])), asks),), 1.0)
