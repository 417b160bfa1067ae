"""From algebra to the pretty language: names, events, windows and values."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Coalesce,
    Collected,
    CountWindow,
    EventPredicate,
    Expression,
    Function,
    Instant,
    Item,
    Node,
    Parameter,
    TimeWindow,
    Window,
)
from cepheid.languages.pretty.terms import FUNCTIONS, default_label
from cepheid.languages.writing import Level, Writing
from cepheid.literals import format_value

_WORDS = """
accepting after all alongside also among and any anything as at average avg be before between called
collect consuming count decided detect each equals event events every everything false first
followed for gives having highest in is its largest last let loosely lowest max min no not null
number of on one or preceded provided rule smallest start sum then timer total true until watch when
where with within without
"""
RESERVED = frozenset(_WORDS.split())
"""Words that stand in quotes where they are names."""

WORDS: dict[Function, str] = {}
for _word, _function in FUNCTIONS.items():
    WORDS.setdefault(_function, _word)

_NUMBERED = {1: "first", -1: "last"}
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def ordinal(index: int) -> str:
    """The word for a place among several events.

    >>> [ordinal(index) for index in (1, 2, 3, 4, 11, 22, -1)]
    ['first', '2nd', '3rd', '4th', '11th', '22nd', 'last']
    """
    teens = 10 < index % 100 < 20
    return _NUMBERED.get(index) or f"{index}{'th' if teens else _ENDINGS.get(index % 10, 'th')}"


class TermWriting(Writing):
    """Writes what all kinds of patterns have in common."""

    own: str | None = None
    """The name of the event whose filter is being written."""
    _plain = re.compile(r"[^\W\d]\w*")

    # --- names ---------------------------------------------------------------

    def name(self, name: str) -> str:
        """A name: bare where it can be, else in quotes."""
        if self._plain.fullmatch(name) and name.lower() not in RESERVED:
            return name
        return self.quoted(name)

    def quoted(self, name: str) -> str:
        """A name in quotes."""
        if "\ud800" <= max(name, default="") <= "\udfff":
            raise self.cannot(f"the name {name!r}")
        return format_value(name)

    # --- events --------------------------------------------------------------

    def types(self, predicate: EventPredicate) -> str:
        """The types of an event, or its timer."""
        if predicate.every is not None:
            if predicate.types != ("Timer",):
                raise self.cannot("a periodic timer under another type")
            return f"timer every {self.duration(predicate.every)}"
        return self.any_of(predicate.types)

    def any_of(self, types: Iterable[str]) -> str:
        """One type, or any of several."""
        names = [self.quoted(type_) for type_ in types]
        return names[0] if len(names) == 1 else f"any of ({', '.join(names)})"

    def called(self, label: str, types: tuple[str, ...]) -> str:
        """The name of an event, where it is not that of its type."""
        return "" if label == default_label(types) else f" called {self.name(label)}"

    def event(self, label: str, predicate: EventPredicate, level: Level = Level.OR) -> str:
        """An event with its name and its filter."""
        named = f"{self.types(predicate)}{self.called(label, predicate.types)}"
        return f"{named}{self.where(predicate.filter, level)}"

    def where(self, filter_: Expression | None, level: Level = Level.OR) -> str:
        """A filter on an event."""
        return "" if filter_ is None else f" where {self.expression(filter_, level)}"

    # --- windows -------------------------------------------------------------

    def window(self, window: Window) -> str:
        """A window that says what it hangs on."""
        low, high = window.low, window.high
        if low is None or high is None:
            ends = [f"after {self.instant(low)}"] if low else []
            ends += [f"before {self.instant(high)}"] if high else []
            return ends[0] if ends else "at any time"
        if low.label == high.label and not high.offset and low.offset < 0:
            return f"within {self.duration(-low.offset)} before {self.name(high.label)}"
        if low.label == high.label and not low.offset and high.offset > 0:
            return f"within {self.duration(high.offset)} after {self.name(high.label)}"
        return f"between {self.instant(low)} and {self.instant(high)}"

    def instant(self, instant: Instant) -> str:
        """A moment."""
        name = self.name(instant.label)
        if not instant.offset:
            return name
        side = "before" if instant.offset < 0 else "after"
        return f"{self.duration(abs(instant.offset))} {side} {name}"

    def size(self, window: TimeWindow | CountWindow) -> str:
        """The size of a window by time or by count."""
        if isinstance(window, TimeWindow):
            return self.duration(window.length)
        return f"{window.size} event{'' if window.size == 1 else 's'}"

    # --- values --------------------------------------------------------------

    def operand(self, node: Node) -> str:
        """Attributes, parameters, functions."""
        if isinstance(node, Attribute):
            return self._attribute(node)
        if isinstance(node, Parameter):
            if not self._plain.fullmatch(node.name):
                raise self.cannot(f"the parameter {node.name}")
            return f"${node.name}"
        if isinstance(node, Item):
            place = ordinal(node.index)
            return f"{self.name(node.attribute)} of {place} {self.name(node.label)}"
        if isinstance(node, Collected):
            return self._collected(node)
        if isinstance(node, Aggregate):
            where = self.where(node.predicate.filter)
            inside = f"{self.types(node.predicate)}{where} {self.window(node.window)}"
            return f"{self.function(node.function, node.attribute)} of all ({inside})"
        if isinstance(node, Coalesce):
            return f"first known of ({', '.join(map(self.expression, node.options))})"
        return super().operand(node)

    def _attribute(self, node: Attribute) -> str:
        if node.label is not None:
            return f"{self.name(node.name)} of {self.name(node.label)}"
        name = self.name(node.name)
        return f"its {name}" if name.startswith('"') else name

    def _collected(self, node: Collected) -> str:
        label = self.name(node.label)
        if node.filter is not None:
            label = f"({label}{self.where(node.filter)})"
        return f"{self.function(node.function, node.attribute)} of {label}"

    def function(self, function: Function, attribute: str | None) -> str:
        """A function with the attribute that it is over."""
        name = "" if attribute is None else f" {self.name(attribute)}"
        return f"{WORDS[function]}{name}"
