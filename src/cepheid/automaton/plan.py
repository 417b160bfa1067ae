"""The plan of a rule: what is filtered, what partitions the events, what is stored for how long.

It says in words what an engine does with the rule, and what could grow without bound.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.algebra import (
    Collection,
    Comparison,
    Detector,
    Parallel,
    Policy,
    Rule,
    Run,
    TimeWindow,
    Tree,
    find,
    input_types,
)
from cepheid.automaton import words
from cepheid.automaton.model import Automaton, Form
from cepheid.automaton.partition import Partition, partitions
from cepheid.automaton.storage import FOREVER, Kept, stored
from cepheid.automaton.text import draw_text, entries
from cepheid.automaton.uses import first_filters


@dataclass(frozen=True, slots=True)
class Plan:
    """How a rule is run, each part in words.

    `filtered` is what decides first whether an event matters, `partitioned` what parts the events
    into groups that never meet, `stored` how long events are kept, `growth` what nothing bounds.
    """

    strategy: str
    filtered: tuple[str, ...]
    partitioned: tuple[str, ...]
    stored: tuple[str, ...]
    growth: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def text(self) -> str:
        """The plan as lines of text."""
        lines = ["plan"]
        lines += entries("strategy", [self.strategy])
        lines += entries("filter", self.filtered)
        lines += entries("partition", self.partitioned or ("none: all events may meet",))
        lines += entries("store", self.stored)
        lines += entries("unbounded", self.growth or ("nothing",))
        return "\n".join([*lines, *entries("note", self.remarks)])


def plan_of(automaton: Automaton) -> Plan:
    """The plan of a rule.

    >>> import cepheid
    >>> from cepheid.automaton import compile_rule
    >>> (rule,) = cepheid.load("QUERY Q EVENT SEQ(A x, B y) WHERE [id] WITHIN 1 hour",
    ...     language="sase")
    >>> print(plan_of(compile_rule(rule)).text())
    plan
      strategy  lazy: events are stored, and when B (y) comes, the rest is searched backwards
      filter    B: all
                A: all
      partition id of B, A
      store     B: not at all (y)
                A: 1 h (x)
      unbounded nothing
      note      an event without id belongs to every partition
    """
    groups = partitions(automaton)
    kept = stored(automaton)
    return Plan(
        _strategy(automaton),
        tuple(first_filters(automaton)),
        tuple(group.text for group in groups),
        tuple(_stored(one) for one in kept),
        tuple(_growth(automaton, kept, groups)),
        tuple(_remarks(automaton, groups)),
    )


def explained(automaton: Automaton) -> str:
    """The automaton as text, and its plan below."""
    return f"{draw_text(automaton)}\n\n{plan_of(automaton).text()}"


# --- strategy ----------------------------------------------------------------


def _strategy(automaton: Automaton) -> str:
    pattern = automaton.rule.pattern
    name = words.STRATEGY[automaton.form]
    if isinstance(pattern, Tree):
        terminator = pattern.terminator
        what = words.kept(terminator.predicate)
        if terminator.predicate.every is not None:
            what = f"the timer of {words.duration(terminator.predicate.every)}"
        label = "" if terminator.label in terminator.predicate.types else f" ({terminator.label})"
        search = "the rest is searched backwards" if len(pattern.components) > 1 else "it is judged"
        late = ""
        if pattern.deadline is not None:
            late = f"; a match is told at {words.instant(pattern.deadline)}"
        return f"{name}: events are stored, and when {what}{label} comes, {search}{late}"
    return f"{name}: {_EAGER[automaton.form]}"


_EAGER = {
    Form.RUN: "each event opens, fills, ends or breaks the run of its partition",
    Form.COLLECTION: "each event is tried with the free events before it, the oldest first",
    Form.DETECTOR: "each event moves the branches whose state looks at it, and may start one",
}


# --- storage -----------------------------------------------------------------


def _stored(kept: Kept) -> str:
    if kept.time == FOREVER:
        time = "for ever"
    else:
        time = words.duration(int(kept.time)) if kept.time else "not at all"
    reasons = [reason for reason in kept.reasons if reason not in ("", kept.type)]
    return f"{kept.type}: {kept.until or time}" + (f" ({', '.join(reasons)})" if reasons else "")


def _growth(automaton: Automaton, kept: list[Kept], groups: list[Partition]) -> list[str]:
    """What nothing bounds: stored events, open runs, live branches, pairs."""
    pattern = automaton.rule.pattern
    endless = [one.type for one in kept if one.time == FOREVER and not one.until]
    found = []
    expires = isinstance(pattern, Collection) and isinstance(pattern.window, TimeWindow)
    if isinstance(pattern, Run | Collection) and groups and not expires:
        keys = ", ".join(name for group in groups for name in group.attributes)
        found.append(f"one group of events for every value of {keys} ever seen")
    if isinstance(pattern, Detector):
        if endless:
            found.append("live branches: one that waits is kept until an event or timer decides it")
        if pattern.within is None and any(find(pattern, Parallel)):
            found.append("matches of the sides of ||, each waiting for a partner")
    elif endless:
        found.append(f"stored events of {', '.join(endless)}: nothing limits the match in time")
    return found


# --- remarks -----------------------------------------------------------------


def _remarks(automaton: Automaton, groups: list[Partition]) -> list[str]:
    rule = automaton.rule
    found = []
    if rule.missing and any(find(rule.pattern, Comparison)):
        found.append("a comparison with an attribute that an event does not have holds")
    if rule.missing and groups:
        names = ", ".join(dict.fromkeys(name for group in groups for name in group.attributes))
        found.append(f"an event without {names} belongs to every partition")
    if rule.output.type in input_types(rule):
        found.append("the rule feeds on its own output; how deep it goes is limited")
    found += _product(rule)
    return found


def _product(rule: Rule) -> list[str]:
    """Where each choice of one branch is combined with each of another."""
    pattern = rule.pattern
    if not isinstance(pattern, Tree):
        return []
    each = [
        component.label
        for component in pattern.components[1:]
        if component.selection.policy is Policy.EACH
    ]
    if len(each) < 2:
        return []
    return [f"each {' with each '.join(each)} is a match of its own, so matches multiply"]
