"""How long events must be kept, derived from the windows of a rule.

The times hold for events that are points; one with a duration is kept by its length longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cepheid.algebra import (
    Alternation,
    Atom,
    Body,
    Collection,
    CountWindow,
    Detector,
    Instant,
    Run,
    Timing,
    Tree,
    Window,
)
from cepheid.automaton import words
from cepheid.automaton.model import Automaton
from cepheid.automaton.uses import Use, uses

FOREVER = math.inf
"""How long events are kept that nothing limits."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The longest time that an event of a type must be kept, and for what.

    `until` says it in words where it is not a time.
    """

    type: str
    time: float
    reasons: tuple[str, ...]
    until: str = ""


def stored(automaton: Automaton) -> list[Kept]:
    """How long events of each type must be kept."""
    pattern = automaton.rule.pattern
    if isinstance(pattern, Tree):
        times = [(use, _tree_time(pattern, use)) for use in uses(automaton)]
        return _by_type(times)
    found = uses(automaton)
    if isinstance(pattern, Detector):
        length = min(_length(pattern.body), FOREVER if pattern.within is None else pattern.within)
        return _by_type([(use, 0 if use.passing else length) for use in found])
    assert isinstance(pattern, Run | Collection)  # noqa: S101 (there is no other kind)
    return _windowed(pattern, found)


def _by_type(times: list[tuple[Use, float]], until: str = "") -> list[Kept]:
    by_type: dict[str, list[tuple[Use, float]]] = {}
    for use, time in times:
        if use.predicate.every is None:
            for type_ in use.predicate.types:
                by_type.setdefault(type_, []).append((use, time))
    return [
        Kept(type_, max(time for _, time in found), _reasons(found), until)
        for type_, found in by_type.items()
    ]


def _reasons(found: list[tuple[Use, float]]) -> tuple[str, ...]:
    """The uses that need the longest time."""
    longest = max(time for _, time in found)
    return tuple(dict.fromkeys(use.name for use, time in found if time == longest))


# --- trees -------------------------------------------------------------------


def _tree_time(tree: Tree, use: Use) -> float:
    """How long before the end of a match an event may lie that is used for it."""
    whole = FOREVER if tree.within is None else tree.within
    if tree.deadline is not None:
        # A match waits for its deadline, which is counted from its first event.
        return whole
    if use.label is not None:
        return min(_lag(tree, use.label), whole)
    return min(_window_lag(tree, use.window, whole), whole)


def _lag(tree: Tree, label: str, seen: frozenset[str] = frozenset()) -> float:
    """How long before the terminator the event under a label may lie."""
    by_label = {component.label: component for component in tree.components}
    component = by_label.get(label)
    if component is None or label in seen or label == tree.terminator.label:
        return 0 if label == tree.terminator.label else FOREVER
    low = component.window.low if component.window else None
    if low is None:
        return FOREVER
    return _lag(tree, low.label, seen | {label}) - low.offset


def _window_lag(tree: Tree, window: Window | None, whole: float) -> float:
    """How long before the terminator a window may begin; it may be written in either order."""
    if window is None or window.low is None:
        return FOREVER
    return max(_instant_lag(tree, end, whole) for end in (window.low, window.high) if end)


def _instant_lag(tree: Tree, instant: Instant, whole: float) -> float:
    return min(_lag(tree, instant.label), whole) - instant.offset


# --- runs and collections ----------------------------------------------------


def _windowed(pattern: Run | Collection, found: list[Use]) -> list[Kept]:
    window = pattern.window
    if window is None:
        return _by_type([(use, FOREVER) for use in found])
    if isinstance(pattern, Run):
        if isinstance(window, CountWindow) and window.size == 1:
            return _by_type([(use, 0) for use in found])
        until = f"until the run is full ({words.length(window)}) or broken"
        return _by_type([(use, FOREVER) for use in found], until)
    if isinstance(window, CountWindow):
        until = f"the last {window.size} of the rule's events"
        return _by_type([(use, FOREVER) for use in found], until)
    return _by_type([(use, window.length) for use in found])


# --- detectors ---------------------------------------------------------------


def _length(body: Body) -> float:
    """How long a branch may live: only one event, or as long as a timer lets it wait."""
    if isinstance(body, Atom):
        return 0
    if isinstance(body, Alternation):
        return max(_length(part) for part in body.parts)
    if isinstance(body, Timing) and body.duration is not None:
        return _length(body.first) + body.duration
    return FOREVER
