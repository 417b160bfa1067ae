"""Structure: windows that are windows, trees that are trees, patterns that can match and end."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.algebra import (
    Alternation,
    Atom,
    Body,
    Collection,
    Component,
    CountWindow,
    Detector,
    EventPredicate,
    Iteration,
    Node,
    Output,
    Parallel,
    Rule,
    Sequence,
    TimeWindow,
    Timing,
    Tree,
    Window,
)
from cepheid.check.facts import Facts
from cepheid.check.hints import hint
from cepheid.errors import Report, did_you_mean

RESERVED = ("id", "type", "ts", "start", "rule", "events")
"""The fields that every composite event has, which its attributes stand beside in a table."""


def check_structure(facts: Facts, report: Report) -> bool:
    """Report what does not hold together; True when everything does."""
    before = len(report.errors)
    rule = facts.rule
    structure = _Structure(rule, facts, report)
    structure.check_lengths()
    structure.check_output(rule.output)
    if isinstance(rule.pattern, Tree):
        structure.check_tree(rule.pattern)
    elif isinstance(rule.pattern, Detector):
        structure.check_detector(rule.pattern)
    elif isinstance(rule.pattern, Collection) and rule.pattern.window is None:
        structure.unbounded(rule.pattern, hint("collection", rule))
    return len(report.errors) == before


def nullable(body: Body) -> bool:
    """Whether a part of a detector accepts nothing at all."""
    if isinstance(body, Iteration):
        return True
    if isinstance(body, Sequence):
        return all(nullable(part) for part in body.parts)
    if isinstance(body, Alternation):
        return any(nullable(part) for part in body.parts)
    if isinstance(body, Timing):
        return nullable(body.first) and nullable(body.second)
    if isinstance(body, Parallel):
        return nullable(body.left) or nullable(body.right)
    return False


@dataclass
class _Structure:
    rule: Rule
    facts: Facts
    report: Report

    def _error(self, condition: str, message: str, node: Node, advice: str = "") -> None:
        span = node.span or self.rule.span
        self.report.error(condition, message, span, hint=advice, rule=self.rule.name)

    def unbounded(self, node: Node, advice: str) -> None:
        """Warn of state that nothing limits."""
        self.report.warn(
            "UNBOUNDED_STATE",
            f"rule {self.rule.name} may keep events for ever: nothing limits its match in time",
            node.span or self.rule.span,
            hint=advice,
            rule=self.rule.name,
        )

    # --- lengths -------------------------------------------------------------

    def check_lengths(self) -> None:
        """Every window and timer is longer than nothing."""
        for node in (node for kind in _WITH_LENGTH for node in self.facts.all(kind)):
            length = _length(node)
            if length is not None and length <= 0:
                self._error(
                    "WRONG_WINDOW",
                    f"window in rule {self.rule.name} must be longer than nothing; got {length}",
                    node,
                    "write a positive length",
                )
        for window in self.facts.all(Window):
            low, high = window.low, window.high
            if low and high and low.label == high.label and low.offset >= high.offset:
                self._error(
                    "WRONG_WINDOW",
                    f"a window in rule {self.rule.name} must end after it begins",
                    window,
                    "write the earlier moment first",
                )

    # --- output --------------------------------------------------------------

    def check_output(self, output: Output) -> None:
        """Every attribute of the composite event has a name of its own."""
        for attribute in output.attributes:
            if attribute.name in RESERVED:
                self._error(
                    "WRONG_STRUCTURE",
                    f"attribute {attribute.name} of {output.type} in rule {self.rule.name} needs "
                    f"another name: every composite event has a field {attribute.name}",
                    attribute,
                    f"call it {_prefix(output.type).lower()}_{attribute.name}; the fields are "
                    f"{', '.join(RESERVED)}",
                )
        if output.everything and isinstance(self.rule.pattern, Tree):
            self._check_prefixes(self.rule.pattern)

    def _check_prefixes(self, tree: Tree) -> None:
        """Attributes are called `label_attribute`: x has y_id, and x_y has id."""
        by_prefix = {_prefix(part.label): part for part in tree.components}
        for prefix, component in by_prefix.items():
            cuts = (i for i, letter in enumerate(prefix) if letter == "_")
            other = next((by_prefix[prefix[:i]] for i in cuts if prefix[:i] in by_prefix), None)
            if other is not None:
                self._error(
                    "DUPLICATE_LABEL",
                    f"the attributes of {other.label} and {component.label} in rule "
                    f"{self.rule.name} could get the same names",
                    component,
                    f"they are called {other.label}_… and {component.label}_…: rename one of the "
                    "two, or say with RETURN what the result has",
                )

    # --- trees ---------------------------------------------------------------

    def check_tree(self, tree: Tree) -> None:
        """Every component hangs on the terminator, and every negation has bounds."""
        by_label = {component.label: component for component in tree.components}
        grounded = {tree.terminator.label}
        for component in tree.components[1:]:
            self._check_path(component, by_label, grounded)
            self._check_before(component, tree.terminator.label)
        for negation in tree.negations:
            if negation.window.low is None or negation.window.high is None:
                self._error(
                    "NEGATION_WITHOUT_WINDOW",
                    f"negation of {' or '.join(negation.predicate.types)} in rule "
                    f"{self.rule.name} must have a window",
                    negation,
                    hint("negation", self.rule),
                )
        open_windows = [part for part in tree.components[1:] if part.window and not part.window.low]
        if open_windows and tree.within is None:
            self.unbounded(tree, hint("tree", self.rule))

    def _check_path(
        self, component: Component, by_label: dict[str, Component], grounded: set[str]
    ) -> None:
        """Follow windows to a component that is known to hang on the terminator."""
        path: dict[str, None] = {}
        current = component
        while current.label not in grounded:
            path[current.label] = None
            parent = current.parent
            if parent is None or parent not in by_label:
                self._error(
                    "UNKNOWN_LABEL",
                    f"no event of rule {self.rule.name} is called {parent}",
                    current.window or current,
                    did_you_mean(parent or "", by_label),
                )
                return
            if parent in path:
                self._error(
                    "WRONG_STRUCTURE",
                    f"event {component.label} in rule {self.rule.name} hangs on itself",
                    component.window or component,
                    f"let one of the windows end at the terminator {next(iter(by_label))}",
                )
                return
            current = by_label[parent]
        grounded.update(path)

    def _check_before(self, component: Component, terminator: str) -> None:
        """What lies after the event that completes the match is never found."""
        window = component.window
        if window is None or window.labels != {terminator} or not (window.low and window.high):
            return
        if window.high.offset > window.low.offset >= 0:
            self._error(
                "WRONG_STRUCTURE",
                f"event {component.label} in rule {self.rule.name} must come before {terminator}, "
                "which completes the match",
                window,
                f"let the window begin before {terminator}",
            )

    # --- detectors -----------------------------------------------------------

    def check_detector(self, detector: Detector) -> None:
        """The pattern needs an event, a timing's first part too; something should limit it."""
        if nullable(detector.body):
            self._error(
                "EMPTY_MATCH",
                f"the pattern of rule {self.rule.name} accepts nothing at all",
                detector.body,
                hint("empty", self.rule),
            )
        for timing in self.facts.all(Timing):
            if nullable(timing.first):
                self._error(
                    "EMPTY_MATCH",
                    f"the first part of timing {timing.timer} in rule {self.rule.name} "
                    "accepts nothing at all",
                    timing.first,
                    "a timer is set at the end of the first part, so it needs an event",
                )
        if detector.within is None and _waits_untimed(detector.body, timed=False):
            self.unbounded(detector, hint("detector", self.rule))


def _waits_untimed(body: Body, *, timed: bool) -> bool:
    """Whether a branch may wait without a timer that ends it."""
    if isinstance(body, Timing):
        return _waits_untimed(body.first, timed=timed) or _waits_untimed(body.second, timed=True)
    if isinstance(body, Atom):
        return False
    if isinstance(body, Sequence | Iteration):
        return not timed
    if isinstance(body, Parallel):
        return True
    parts = body.parts if isinstance(body, Alternation) else ()
    return any(_waits_untimed(part, timed=timed) for part in parts)


_WITH_LENGTH = (TimeWindow, CountWindow, Timing, EventPredicate, Tree, Detector)


def _length(node: Node) -> int | None:
    if isinstance(node, TimeWindow):
        return node.length
    if isinstance(node, CountWindow):
        return node.size
    if isinstance(node, Timing):
        return node.duration
    if isinstance(node, EventPredicate):
        return node.every
    return node.within if isinstance(node, Tree | Detector) else None


def _prefix(name: str) -> str:
    """What an attribute's name can begin with: types may have hyphens, attributes may not."""
    return name.replace("-", "_")
