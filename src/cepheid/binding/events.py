"""Events of rules that are written in Python, and what a pattern can make of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cepheid.algebra import (
    EACH,
    Absence,
    Accumulate,
    Atom,
    Body,
    Collected,
    Comparison,
    EventPredicate,
    Expression,
    Pick,
    Policy,
    Selection,
    Take,
    TimerSignal,
    conjunction,
)
from cepheid.automaton.resolve import bare
from cepheid.binding.clauses import Clauses
from cepheid.binding.parts import Part
from cepheid.binding.places import here, name_of, wrong
from cepheid.binding.values import Value, attribute, condition_of
from cepheid.binding.windows import Duration, length
from cepheid.errors import Span
from cepheid.languages.pretty.terms import default_label

if TYPE_CHECKING:
    from cepheid.binding.drafts import Draft


@dataclass(frozen=True)
class EventTerm(Part, Clauses):
    """An event of a rule: its types, its name, a filter, and how it is chosen.

    By itself it is a draft of a rule that finds every such event.
    """

    types: tuple[str, ...]
    label: str = ""
    filter: Expression | None = None
    every: int | None = None
    selection: Selection | None = None
    span: Span | None = None

    def called(self, name: str) -> EventTerm:
        """The event under a name of its own, instead of that of its type.

        >>> event("Temp").called("t").name
        't'
        """
        return replace(self, label=name_of(name, "an event"))

    def where(self, *conditions: Value) -> EventTerm:
        """Only events that fulfil all conditions.

        >>> from cepheid.binding import attribute
        >>> event("Temp").where(attribute("value") > 45).filter.right.value
        45
        """
        given = [condition_of(condition, "where") for condition in conditions]
        before = [] if self.filter is None else [self.filter]
        return replace(self, filter=conjunction([*before, *given]))

    def each(self) -> EventTerm:
        """Every event that can be chosen; this is also what happens by itself."""
        return replace(self, selection=EACH)

    def first(self, count: int = 1) -> EventTerm:
        """The first event that can be chosen, or as many of the first ones as a count."""
        return replace(self, selection=_selection(Policy.FIRST, count))

    def last(self, count: int = 1) -> EventTerm:
        """The last event that can be chosen, or as many of the last ones as a count."""
        return replace(self, selection=_selection(Policy.LAST, count))

    def __getitem__(self, name: str) -> Value:
        """An attribute of this event, for other parts of the rule.

        >>> event("Temp").called("t")["value"]
        Value(t.value)
        """
        return attribute(name, of=self.name)

    @property
    def name(self) -> str:
        """What the event is called."""
        return self.label or default_label(self.types)

    @property
    def predicate(self) -> EventPredicate:
        """Which events are meant, where the event has only the name that it was given."""
        return self._described(self.label)

    @property
    def own_predicate(self) -> EventPredicate:
        """Which events are meant, where the event is one of the match."""
        return self._described(self.name)

    def _described(self, label: str) -> EventPredicate:
        """Which events are meant: attributes under a label are those of the event being tested."""
        filter_ = None if self.filter is None else own(self.filter, label)
        return EventPredicate(self.types, filter_, self.every, span=self.span)

    def draft(self) -> Draft:
        from cepheid.binding.drafts import tree_of

        return tree_of(self)

    # --- as a part -----------------------------------------------------------

    def body(self, *, collecting: bool) -> Body:
        """One event: taken by a collection, or the next one for a detector."""
        if self.selection is not None:
            raise _not_chosen(self)
        if collecting:
            return Take(self.name, self.own_predicate, span=self.span)
        signals = (self.predicate,)
        return Atom(self.label or None, signals, signals, span=self.span)

    def times(self, count: int) -> Part:
        """As many of these events as a count, in a collection."""
        if not isinstance(count, int) or count < 1:
            raise wrong(
                "WRONG_WINDOW",
                f"a number of events must be at least 1; got {count}",
                "write times(3)",
            )
        return _Collected(lambda: Take(self.name, self.own_predicate, count, span=self.span))

    def until(self, condition: Value) -> Part:
        """These events, oldest first, until a function over them fulfils a condition.

        >>> import cepheid
        >>> from cepheid.binding import collect, total
        >>> (rule,) = cepheid.load(collect(event("Sale").until(total("amount") > 100)))
        >>> rule.pattern.body.attribute
        'amount'
        """
        found = condition_of(condition, "until")
        left = found.left if isinstance(found, Comparison) else None
        if not isinstance(left, Collected) or left.label or left.filter or left.attribute is None:
            raise wrong(
                "WRONG_STRUCTURE",
                f"until of {self.name} must compare a function over an attribute",
                'write until(total("amount") > 100)',
            )
        assert isinstance(found, Comparison)  # noqa: S101 (it has a left side)
        function, name = left.function, left.attribute
        relation, bound = found.relation, found.right
        return _Collected(
            lambda: Accumulate(
                self.name, self.own_predicate, function, name, relation, bound, span=self.span
            )
        )

    def at(self, place: int, *, having: Value | None = None) -> Part:
        """The event at a place among those of its types: from 1, or -1 for the last.

        `having` is tested on the event that is there.
        """
        if not isinstance(place, int) or place == 0:
            raise wrong(
                "WRONG_STRUCTURE",
                f"a place must count from 1, or be -1; got {place}",
                "write at(1)",
            )
        if self.filter is not None or self.every is not None:
            raise wrong(
                "WRONG_STRUCTURE",
                f"{self.name} is chosen among all events of its type",
                "say with having= what the event at this place must fulfil",
            )
        condition = None if having is None else own(condition_of(having, "having"), self.name)
        return _Collected(lambda: Pick(self.name, self.types, place, condition, span=self.span))

    def absent(self) -> Part:
        """No such event between the first and the last event of the match."""
        return _Collected(lambda: Absence(self.predicate, span=self.span))

    def among(self, *others: Signal) -> Part:
        """The next event of those given, which must be this one; other events are passed over."""
        return replace(one_of(self), label=self.label).among(*others)


def own(condition: Expression, label: str) -> Expression:
    """A condition in which the attributes under a label are those of the event being tested."""
    return bare(condition, label) if label else condition


def _selection(policy: Policy, count: int) -> Selection:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise wrong(
            "WRONG_WINDOW", f"{policy} must choose at least 1 event; got {count}", "write last(2)"
        )
    return Selection(policy, count, span=here())


def _not_chosen(term: EventTerm) -> Exception:
    return wrong(
        "WRONG_STRUCTURE",
        f"{term.name} cannot be chosen by each, first or last in collect(…) or detect(…)",
        "in collect(…) an event at a place is written .at(1) or .at(-1)",
    )


@dataclass(frozen=True)
class _Collected(Part):
    make: Callable[[], Body]

    def body(self, *, collecting: bool) -> Body:
        if not collecting:
            raise wrong(
                "WRONG_STRUCTURE",
                "times, until, at and absent cannot stand in detect(…)",
                "they belong to collect(…)",
            )
        return self.make()


# --- atoms of a detector -----------------------------------------------------


@dataclass(frozen=True)
class AtomTerm(Part):
    """The next event of some, which must be (or must not be) one of those that are named."""

    accepts: tuple[Signal, ...]
    negated: bool = False
    label: str = ""
    domain: tuple[Signal, ...] | None = None
    span: Span | None = None

    def called(self, name: str) -> AtomTerm:
        """The event under a name."""
        return replace(self, label=name_of(name, "an event"))

    def among(self, *others: Signal) -> AtomTerm:
        """The events that are looked at; all others are passed over."""
        if not others:
            raise wrong("WRONG_STRUCTURE", "among must get the events that are looked at")
        return replace(self, domain=others)

    def body(self, *, collecting: bool) -> Body:
        """The atom as algebra."""
        if collecting:
            raise wrong(
                "WRONG_STRUCTURE",
                "among, one_of, anything_but and timer cannot stand in collect(…)",
                "they belong to detect(…)",
            )
        accepts = self._signals(self.accepts)
        if self.negated and self.domain is None:
            raise wrong(
                "WRONG_STRUCTURE",
                "anything_but must say among which events",
                'write anything_but(event("B")).among(event("A"), event("B"))',
            )
        domain = accepts if self.domain is None else self._signals(self.domain)
        return Atom(self.label or None, accepts, domain, self.negated, span=self.span)

    def _signals(self, terms: tuple[Signal, ...]) -> tuple[EventPredicate | TimerSignal, ...]:
        return tuple(self._signal(term) for term in terms)

    def _signal(self, term: Signal) -> EventPredicate | TimerSignal:
        if isinstance(term, TimerTerm):
            return TimerSignal(term.timer, span=term.span)
        if not isinstance(term, EventTerm):
            raise wrong("WRONG_TYPE", f"an event or a timer is needed; got {term!r}")
        return term._described(self.label)


@dataclass(frozen=True)
class TimerTerm(AtomTerm):
    """The timer that `start_timer` sets."""

    timer: str = ""


Signal = EventTerm | TimerTerm
"""What a detector looks at: an event, or a timer."""


def event(*types: str) -> EventTerm:
    """An event of a type, or of any of several types.

    >>> event("Temp").name, event("Fire", "Flood").name
    ('Temp', 'Fire_or_Flood')
    """
    if not types or not all(isinstance(type_, str) for type_ in types):
        hint = 'write event("Temp"), or event("Fire", "Flood")'
        raise wrong("WRONG_TYPE", f"event must get the name of a type; got {types!r}", hint)
    return EventTerm(types, span=here())


def every(period: Duration) -> EventTerm:
    """The ticks of a timer: an event at every multiple of a period, called Timer.

    >>> every("5 min").name
    'Timer'
    """
    return EventTerm(("Timer",), every=length(period), span=here())


def one_of(*signals: Signal) -> AtomTerm:
    """One of several events or timers, each with its own filter, in a detector."""
    if not signals:
        raise wrong("WRONG_STRUCTURE", "one_of must get an event")
    return AtomTerm(signals, span=here())


def anything_but(*signals: Signal) -> AtomTerm:
    """The next event, which must be none of these; `among` says which events are looked at."""
    if not signals:
        raise wrong("WRONG_STRUCTURE", "anything_but must get an event")
    return AtomTerm(signals, negated=True, span=here())


def timer(name: str) -> TimerTerm:
    """The timer that `start_timer` sets under a name, in the rest of the pattern."""
    found = TimerTerm((), span=here(), timer=name_of(name, "a timer"))
    return replace(found, accepts=(found,))
