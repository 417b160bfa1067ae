"""What a tree asks of a match as a whole: its length, its keys, its conditions."""

from __future__ import annotations

from cepheid.events import Event, Value
from cepheid.literals import format_value
from cepheid.oracle.matches import labelled
from cepheid.oracle.values import (
    Bound,
    Tick,
    equal,
)
from cepheid.why.attempts import Aim, Test
from cepheid.why.changes import Change, PassTime, SetValue, together
from cepheid.why.components import ComponentTests
from cepheid.why.results import Check


class WholeTests(ComponentTests):
    """Tests for all events of a match together."""

    def _whole_tests(self, bound: Bound) -> list[Test]:
        found = [self._in_time(bound)] if self.tree.within is not None else []
        found += [self._same(e.attribute, e.value, bound) for e in self.tree.equivalences]
        found += [self._condition("condition", part, bound) for part in self._conditions()]
        return found

    def _in_time(self, bound: Bound) -> Test:
        assert self.tree.within is not None  # noqa: S101 (asked for only where there is one)
        events = [event for _, event in labelled(bound)]
        first, last = min(events, key=lambda e: e.start), max(events, key=lambda e: e.end)
        length, words = last.end - first.start, self.means.words
        held = length < self.tree.within
        over = length - self.tree.within
        text = f"from the first to the last event less than {words.span(self.tree.within)}"
        past = f", {words.span(over)} too long" if over > 0 else ", which is just too long"
        check = Check(
            "within",
            text,
            words.span(length) + ("" if held else past),
            held,
            None if held else over / 1e6,
            tuple(events),
        )
        shift = over + self.means.solver.step
        moves = [(first, shift), (last, -shift)]
        repairs = [
            self.means.move(event, by, self.tree.within)
            for event, by in moves
            if not isinstance(event, Tick)
        ]
        return Test(check, () if held else tuple(repairs))

    def _same(self, attribute: str, value: Value | None, bound: Bound) -> Test:
        """All have the same value in it; who has none fits where missing values are accepted."""
        events = [event for _, event in labelled(bound)]
        having = [event for event in events if attribute in event.attributes]
        found = [event.attributes[attribute] for event in having]
        wanted = [value] if value is not None else found
        alike = all(equal(wanted[0], other) for other in found) if found else True
        strict = not self.rule.missing and len(events) + (value is not None) > 1
        held = alike and not (strict and len(having) < len(events))
        text = f"all have the same {attribute}"
        if value is not None:
            text = f"every {attribute} = {format_value(value)}"
        missing = ["none"] if strict and len(having) < len(events) else []
        different = ", ".join(dict.fromkeys([*map(format_value, found), *missing]))
        check = Check("key", text, different, held, events=tuple(having))
        options = [] if held else dict.fromkeys(wanted)
        changed = events if strict else having
        return Test(check, tuple(self._agreed(attribute, one, changed) for one in options))

    def _agreed(self, attribute: str, value: Value, having: list[Event]) -> Change:
        return together(
            SetValue(event, attribute, value, words=self.means.words)
            for event in having
            if attribute not in event.attributes or not equal(event.attributes[attribute], value)
        )

    def _deadline(self, bound: Bound, aim: Aim) -> list[Test]:
        if self.tree.deadline is None:
            return []
        first = bound[self.tree.deadline.label][0]
        due = first.start + self.tree.deadline.offset
        words = self.means.words
        held = due <= aim.end
        found = f"it is decided at {words.time(due)}, time went on to {words.time(aim.end)}"
        by = None if held else (due - aim.end) / 1e6
        check = Check("time", "the time of the negation has passed", found, held, by)
        return [Test(check, () if held else (PassTime(due, words=words),))]
