"""How late composite events may be told, so that what waits for them is not dropped too early.

A composite event is told with the event that completes it, except that a detector may wait for
timers first: each timer is set once between two events, so it is at most as late as all timers of
the rule together. What is made of late events is late itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cepheid.algebra import Collection, EventPredicate, Node, Pick, Rule, Run, Timing, walk
from cepheid.kernel.store import NEVER

FAILURE = "Failure"


@dataclass
class Lateness:
    """Knows what every rule looks at and how long its own timers run."""

    _facts: dict[int, tuple[tuple[str, ...], tuple[str, ...], int]] = field(default_factory=dict)

    def by_type(self, rules: Sequence[Rule | None]) -> Mapping[str, int]:
        """How late events of a type may be, for the types that are late at all."""
        facts = [self._fact(n, rule) for n, rule in enumerate(rules) if rule is not None]
        late: dict[str, int] = {}
        rounds, changed = 0, any(own for _, _, own in facts)
        while changed:
            changed, rounds = False, rounds + 1
            for inputs, outputs, own in facts:
                time = min(NEVER, own + max((late.get(type_, 0) for type_ in inputs), default=0))
                for type_ in outputs:
                    if time > late.get(type_, 0):
                        # A circle that gets later in every round has no bound.
                        late[type_] = NEVER if rounds > len(facts) else time
                        changed = True
        return late

    def _fact(self, number: int, rule: Rule) -> tuple[tuple[str, ...], tuple[str, ...], int]:
        if number not in self._facts:
            fails = isinstance(rule.pattern, Run | Collection)
            outputs = (rule.output.type, FAILURE) if fails else (rule.output.type,)
            nodes = list(walk(rule))
            self._facts[number] = (inputs_in(nodes), outputs, _waiting(nodes))
        return self._facts[number]


def own_lateness(rule: Rule) -> int:
    """How late a rule may tell what is complete, because it waits for timers."""
    return _waiting(list(walk(rule)))


def inputs_in(nodes: Iterable[Node]) -> tuple[str, ...]:
    """The event types that the nodes of a rule look at."""
    found: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, Pick) or (isinstance(node, EventPredicate) and node.every is None):
            found.update(dict.fromkeys(node.types))
    return tuple(found)


def _waiting(nodes: Iterable[Node]) -> int:
    timings = [node for node in nodes if isinstance(node, Timing)]
    if any(timing.duration is None for timing in timings):
        return NEVER
    return sum(timing.duration or 0 for timing in timings)
