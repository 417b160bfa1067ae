"""Drafts: rules that are being written in Python, and their lowering to the algebra."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cepheid.algebra import (
    EACH,
    Binding,
    Collection,
    Component,
    CountWindow,
    Detector,
    Each,
    Equivalence,
    Expression,
    Instant,
    Key,
    Negation,
    Output,
    Pattern,
    Rule,
    Run,
    TimeWindow,
    Tree,
    Window,
    conjunction,
    conjuncts,
)
from cepheid.binding.clauses import Clauses, size_of
from cepheid.binding.events import EventTerm, own
from cepheid.binding.parts import Part
from cepheid.binding.places import here, wrong
from cepheid.binding.windows import Duration, WindowOptions, length, window_of
from cepheid.errors import Report, Source, Span
from cepheid.events import Value as Constant
from cepheid.languages.fitting import check_fit, deadline_of, types_of
from cepheid.languages.lowering import Context, Lowering
from cepheid.languages.reading import Passage

Keyed = tuple[str | tuple[tuple[str, str], ...], Constant | None]
"""An attribute of all events, or one of each type, and the value that it must have."""
Size = TimeWindow | CountWindow

_CLAUSES = {
    "keys": "on_same, on and on_related",
    "conditions": "provided",
    "each": "each_has",
    "bindings": "let",
    "window": "all_within",
    "deadline": "decided",
    "point": "as_point",
    "consumed": "consuming",
}
_ALLOWED = {
    "event": ("keys", "conditions", "bindings", "window", "deadline", "point", "consumed"),
    "watch": ("keys", "conditions", "each"),
    "collect": ("keys", "window"),
    "detect": ("conditions", "window"),
}
"""The clauses that each kind of pattern may have, besides those that every rule has."""


@dataclass(frozen=True)
class Draft(Clauses):
    """A rule that is being written; `cepheid.load` turns it into `Rules`."""

    kind: str
    events: tuple[Component, ...] = ()
    negations: tuple[Negation, ...] = ()
    mentioned: tuple[str, ...] = ()
    backwards: bool = False
    part: Part | None = None
    window: Size | None = None
    conditions: tuple[Expression, ...] = ()
    each: Expression | None = None
    keys: tuple[Keyed, ...] = ()
    bindings: tuple[Binding, ...] = ()
    deadline: Instant | None = None
    output: Output | None = None
    point: bool = False
    missing: bool = False
    consumed: tuple[str, ...] = ()
    name: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)

    def draft(self) -> Draft:
        return self

    # --- trees ---------------------------------------------------------------

    def preceded(self, other: EventTerm, options: WindowOptions) -> Draft:
        """The draft with an event that comes before others."""
        component = self._component(other, "preceded_by")
        previous = self.events[-1].label if self.backwards else self.events[0].label
        window = _hung(options, previous)
        return replace(
            self,
            events=(*self.events, replace(component, window=window)),
            mentioned=(*self.mentioned, component.label),
            backwards=True,
        )

    def followed(self, other: EventTerm, within: Duration | None) -> Draft:
        """The draft with an event that comes after the last one and completes the match."""
        component = self._component(other, "followed_by")
        if self.backwards:
            raise wrong(
                "WRONG_STRUCTURE",
                "followed_by must stand before preceded_by",
                "write the events that follow each other first, then what precedes them",
            )
        window = _hung({"within": within}, component.label)
        first, *rest = self.events
        return replace(
            self,
            events=(component, replace(first, window=window), *rest),
            mentioned=(*self.mentioned, component.label),
        )

    def negated(self, other: EventTerm, options: WindowOptions) -> Draft:
        """The draft with an event that must not come."""
        self._component(other, "without")
        window = window_of(options) or self._gap(options)
        found = Negation(other.label, other.predicate, window, span=other.span)
        return replace(self, negations=(*self.negations, found))

    def _component(self, term: EventTerm, method: str) -> Component:
        if self.kind != "event":
            hint = f"it belongs to events: event(…).{method}(…)"
            raise wrong("WRONG_STRUCTURE", f"{method} cannot go with {self.kind}(…)", hint)
        if not isinstance(term, EventTerm):
            found = type(term).__name__
            raise wrong(
                "WRONG_TYPE", f"{method} must get an event; got {found}", 'write event("Temp")'
            )
        return Component(term.name, term.own_predicate, term.selection or EACH, span=term.span)

    def _gap(self, options: WindowOptions) -> Window:
        within = options.get("within")
        if within is not None:
            return Window.within(length(within), self.events[0].label, here())
        if len(self.mentioned) < 2:
            raise wrong(
                "NEGATION_WITHOUT_WINDOW",
                "without must have a window where only one event is named before it",
                f'write within="5 min", before="{self.mentioned[0]}"',
            )
        last = self.mentioned[-1]
        if not self.backwards:
            return Window(Instant(self.mentioned[-2]), Instant(last), span=here())
        component = next(part for part in self.events if part.label == last)
        other = component.parent or self.events[0].label
        return Window(Instant(last), Instant(other), span=here())

    # --- to the algebra ------------------------------------------------------

    def lower(self, report: Report) -> Rule | None:
        """The rule as algebra; what is wrong is reported."""
        name = self.name or (self.output.type if self.output else "Match")
        self._check_clauses(name)
        output = self.output or Output(name, (), self.kind == "event", span=self.span)
        rule = Rule(
            name,
            output,
            self._pattern(),
            self.consumed,
            self.missing,
            self.point,
            language="pretty",
            span=self.span,
        )
        lowering = Lowering(Passage(Source(""), "", 0), report, Context(), name)
        check_fit(rule, lowering)
        return rule if lowering.sound else None

    def _check_clauses(self, name: str) -> None:
        for clause, words in _CLAUSES.items():
            given = getattr(self, clause)
            if given and clause not in _ALLOWED[self.kind] and not self._own_window(clause):
                others = " and ".join(kind for kind in _ALLOWED if clause in _ALLOWED[kind])
                raise wrong(
                    "WRONG_STRUCTURE",
                    f"{words} of rule {name} cannot go with {self.kind}(…)",
                    f"it belongs to {others}",
                )

    def _own_window(self, clause: str) -> bool:
        return clause == "window" and self.kind == "watch"

    def _pattern(self) -> Pattern:
        if self.kind == "event":
            return self._tree()
        if self.kind == "watch":
            return self._run()
        assert self.part is not None  # noqa: S101 (collect and detect have one)
        body = self.part.body(collecting=self.kind == "collect")
        if self.kind == "detect":
            return Detector(
                body, conjunction(list(self.conditions)), self._within(), span=self.span
            )
        found = Collection(body, self.window, span=self.span)
        return replace(found, partition=self._partition(types_of(found)))

    def _tree(self) -> Tree:
        conditions = conjuncts(conjunction(list(self.conditions)))
        found = Tree(
            self.events,
            self.negations,
            self.bindings,
            conditions,
            tuple(self._equivalence(*key) for key in self.keys),
            self._within(),
            span=self.span,
        )
        return replace(found, deadline=self.deadline or deadline_of(self.negations))

    def _within(self) -> int | None:
        if isinstance(self.window, CountWindow):
            raise wrong(
                "WRONG_WINDOW",
                "the window must be a length of time",
                "a number of events belongs to watch(…) and collect(…)",
            )
        return None if self.window is None else self.window.length

    def _equivalence(
        self, name: str | tuple[tuple[str, str], ...], value: Constant | None
    ) -> Equivalence:
        if not isinstance(name, str):
            raise wrong(
                "WRONG_STRUCTURE",
                "on_related belongs to watch(…) and collect(…)",
                'events are compared by provided(attribute("a", of="A") == attribute("b", of="B"))',
            )
        return Equivalence(name, value, span=self.span)

    def _run(self) -> Run:
        component, window = self.events[0], self.window
        assert window is not None  # noqa: S101 (watch gives one)
        condition: Each | Expression | None = conjunction(list(self.conditions))
        if self.each is not None:
            if condition is not None:
                raise wrong(
                    "DUPLICATE_DEFINITION", "a run must have one condition: each_has or provided"
                )
            condition = Each(own(self.each, component.label))
        types = component.predicate.types
        return Run(
            component.label,
            component.predicate,
            window,
            condition,
            self._partition(types),
            span=self.span,
        )

    def _partition(self, types: tuple[str, ...]) -> tuple[Key, ...]:
        return tuple(
            Key(
                tuple((type_, names) for type_ in types) if isinstance(names, str) else names,
                value,
                span=self.span,
            )
            for names, value in self.keys
        )


def _hung(options: WindowOptions, label: str) -> Window:
    """A window; where it does not say on what it hangs, on the event under a label."""
    found = window_of(options)
    if found is not None:
        return found
    within = options.get("within")
    if within is None:
        return Window(None, Instant(label), span=here())
    return Window.within(length(within), label, here())


def tree_of(term: EventTerm) -> Draft:
    """The draft of a rule that looks for one event, to which others are added."""
    component = Component(term.name, term.own_predicate, term.selection or EACH, span=term.span)
    return Draft("event", (component,), mentioned=(component.label,), span=term.span)


def watch(term: EventTerm, duration: Duration | None = None, *, events: int | None = None) -> Draft:
    """All events of a kind for a length of time, or a number of them, judged when it is over.

    >>> import cepheid
    >>> from cepheid.binding import average, event
    >>> busy = watch(event("CPU"), "5 min").provided(average("value", of="CPU") > 80)
    >>> print(cepheid.load(busy.gives("Busy")).text())
    rule Busy
      watch "CPU" for 5 min
      provided average value of CPU > 80
    <BLANKLINE>
    """
    if not isinstance(term, EventTerm) or term.selection is not None:
        raise wrong("WRONG_TYPE", f"watch must get an event that is not chosen; got {term!r}")
    draft = tree_of(term)
    return replace(draft, kind="watch", window=size_of(duration, events), span=here())


def collect(part: Part, *, within: Duration | None = None, events: int | None = None) -> Draft:
    """Events that together fulfil all parts, the oldest first; each takes part in one match.

    >>> import cepheid
    >>> from cepheid.binding import event
    >>> pair = collect(event("A") & event("B"), within="10 s").gives("Pair")
    >>> print(cepheid.load(pair).text())
    rule Pair
      collect "A" and "B" within 10 s
    <BLANKLINE>
    """
    window = None if within is None and events is None else size_of(within, events)
    return Draft("collect", part=_part(part), window=window, span=here())


def detect(part: Part, *, within: Duration | None = None) -> Draft:
    """Events that come one after the other as the parts say, each decided by the next that counts.

    >>> import cepheid
    >>> from cepheid.binding import event
    >>> visit = detect(event("Open").then(event("Close")), within="1 h").gives("Visit")
    >>> print(cepheid.load(visit).text())
    rule Visit
      detect "Open" then "Close" within 1 h
    <BLANKLINE>
    """
    window = None if within is None else size_of(within, None)
    return Draft("detect", part=_part(part), window=window, span=here())


def _part(part: object) -> Part:
    if not isinstance(part, Part):
        raise wrong("WRONG_TYPE", f"a pattern must be made of events; got {type(part).__name__}")
    return part
