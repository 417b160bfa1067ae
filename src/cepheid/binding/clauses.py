"""The clauses of a rule that is written in Python, as methods of drafts and of events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from cepheid.algebra import Binding, CountWindow, Output, OutputAttribute, TimeWindow
from cepheid.binding.places import here, name_of, wrong
from cepheid.binding.values import Operand, Value, condition_of, literal
from cepheid.binding.windows import Duration, Moment, WindowOptions, instant_of, length
from cepheid.events import Value as Constant

if TYPE_CHECKING:
    from cepheid.binding.drafts import Draft
    from cepheid.binding.events import EventTerm


class Clauses(ABC):
    """What can be said about a rule; every method gives a new draft."""

    @abstractmethod
    def draft(self) -> Draft:
        """The draft that the clause is added to."""

    # --- events of a tree ----------------------------------------------------

    def preceded_by(
        self, other: EventTerm, *, on: str | None = None, **window: Unpack[WindowOptions]
    ) -> Draft:
        """An event that comes before the one named last, or in the window that is given.

        `on` is an attribute that is the same in all events of the rule.
        """
        found = self.draft().preceded(other, window)
        return found if on is None else found.on_same(on)

    def followed_by(
        self, other: EventTerm, *, within: Duration | None = None, on: str | None = None
    ) -> Draft:
        """An event that comes after the one named last, `within` a time; it completes the match."""
        found = self.draft().followed(other, within)
        return found if on is None else found.on_same(on)

    def without(self, other: EventTerm, **window: Unpack[WindowOptions]) -> Draft:
        """No such event in a window, or between the two events that were named last."""
        return self.draft().negated(other, window)

    # --- conditions ----------------------------------------------------------

    def provided(self, *conditions: Value) -> Draft:
        """Conditions on the whole match."""
        draft = self.draft()
        given = tuple(condition_of(condition, "provided") for condition in conditions)
        return replace(draft, conditions=(*draft.conditions, *given))

    def each_has(self, condition: Value) -> Draft:
        """A condition on every event that is watched; one that does not fulfil it ends the run."""
        return replace(self.draft(), each=condition_of(condition, "each_has"))

    def on_same(self, *names: str) -> Draft:
        """Attributes that have the same value in all events."""
        draft = self.draft()
        return replace(
            draft, keys=(*draft.keys, *((name_of(name, "an attribute"), None) for name in names))
        )

    def on(self, values: Mapping[str, Constant] | None = None, /, **more: Constant) -> Draft:
        """Attributes that have a given value in all events."""
        draft = self.draft()
        given = {**(values or {}), **more}
        found = tuple((name, _constant(value)) for name, value in given.items())
        return replace(draft, keys=(*draft.keys, *found))

    def on_related(self, attributes: Mapping[str, str], value: Constant | None = None) -> Draft:
        """For each type that is watched or collected, the attribute whose value must be equal.

        With a value, the attributes must have that value.
        """
        draft = self.draft()
        known = None if value is None else _constant(value)
        return replace(draft, keys=(*draft.keys, (tuple(attributes.items()), known)))

    def let(self, values: Mapping[str, Operand] | None = None, /, **more: Operand) -> Draft:
        """Parameters and what they stand for."""
        draft = self.draft()
        found = tuple(
            Binding(name, _value(value).expression, span=here())
            for name, value in {**(values or {}), **more}.items()
        )
        return replace(draft, bindings=(*draft.bindings, *found))

    def all_within(self, duration: Duration | None = None, *, events: int | None = None) -> Draft:
        """A window around the whole match: a length of time, or a number of events."""
        return replace(self.draft(), window=size_of(duration, events))

    def decided(self, at: str | Moment) -> Draft:
        """When it is decided that nothing came which is negated."""
        return replace(self.draft(), deadline=instant_of(at))

    # --- what the rule gives -------------------------------------------------

    def gives(
        self,
        type_: str,
        attributes: Mapping[str, Operand] | None = None,
        /,
        *,
        everything: bool = False,
        **more: Operand,
    ) -> Draft:
        """The composite event: its type and its attributes.

        With `everything`, it also has the attributes of all events, as `label_attribute`.
        """
        given = {**(attributes or {}), **more}
        name_of(type_, "the type of the composite event")
        found = tuple(
            OutputAttribute(name, _value(value).kind, _value(value).expression, span=here())
            for name, value in given.items()
        )
        return replace(self.draft(), output=Output(type_, found, everything, span=here()))

    def as_point(self) -> Draft:
        """The composite event lies at its end, not on the interval of its events."""
        return replace(self.draft(), point=True)

    def accepting_missing_values(self) -> Draft:
        """A comparison with a missing value holds, instead of not holding."""
        return replace(self.draft(), missing=True)

    def consuming(self, *names: str) -> Draft:
        """Events that take part in one match only."""
        draft = self.draft()
        given = (name_of(name, "an event") for name in names)
        return replace(draft, consumed=(*draft.consumed, *given))

    def named(self, name: str) -> Draft:
        """The name of the rule; else it is called like what it gives."""
        return replace(self.draft(), name=name_of(name, "a rule"))


def size_of(duration: Duration | None, events: int | None) -> TimeWindow | CountWindow:
    """A window by time or by count."""
    if (duration is None) is (events is None):
        raise wrong(
            "WRONG_WINDOW",
            "a window must have a length of time or a number of events",
            'write "5 min", or events=300',
        )
    if duration is not None:
        return TimeWindow(length(duration), span=here())
    if not isinstance(events, int) or isinstance(events, bool) or events < 1:
        raise wrong(
            "WRONG_WINDOW",
            f"a number of events must be at least 1; got {events}",
            "write events=300",
        )
    return CountWindow(events, span=here())


def _value(value: Operand) -> Value:
    return value if isinstance(value, Value) else literal(value)


def _constant(value: Constant) -> Constant:
    if value is None or isinstance(value, Value):
        raise wrong("WRONG_TYPE", "the value of an attribute of all events must be a constant")
    literal(value)
    return value
