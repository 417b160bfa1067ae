"""The parts of an automaton in words, the same for every way of drawing it."""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.algebra import (
    Aggregate,
    Attribute,
    Coalesce,
    Collected,
    CountWindow,
    Equivalence,
    EventPredicate,
    Expression,
    Instant,
    Item,
    Key,
    Node,
    Parameter,
    Policy,
    Rule,
    Selection,
    TimerSignal,
    TimeWindow,
    Window,
    find,
)
from cepheid.automaton.model import (
    Absent,
    Arrival,
    Automaton,
    Computed,
    Constraint,
    Deadline,
    Form,
    Guard,
    Lane,
    Signal,
    Stage,
    State,
    Timer,
    Transition,
    Trigger,
)
from cepheid.languages.writing import Level, Writing
from cepheid.literals import format_value

STRATEGY = {
    Form.TREE: "lazy",
    Form.RUN: "eager",
    Form.COLLECTION: "eager",
    Form.DETECTOR: "eager",
}
"""How a kind of pattern is matched: by a search backwards, or step by step."""
TIE_COLOUR, ABSENT_COLOUR, COMPUTED_COLOUR = "steelblue", "firebrick", "darkgreen"
"""What hangs on states is told apart by colour."""


class _Notation(Writing):
    """Expressions in a notation of no language in particular."""

    def operand(self, node: Node) -> str:
        """Attributes, parameters and aggregates."""
        if isinstance(node, Attribute):
            return node.name if node.label is None else f"{node.label}.{node.name}"
        if isinstance(node, Parameter):
            return f"${node.name}"
        if isinstance(node, Aggregate):
            attribute = f".{node.attribute}" if node.attribute else ""
            return (
                f"{node.function}({self.signal(node.predicate)}{attribute} {window(node.window)})"
            )
        if isinstance(node, Collected):
            return self._collected(node)
        if isinstance(node, Item):
            index = "last" if node.index == -1 else str(node.index)
            return f"{node.label}[{index}].{node.attribute}"
        if isinstance(node, Coalesce):
            return f"first of ({', '.join(map(self.expression, node.options))})"
        return super().operand(node)

    def _collected(self, node: Collected) -> str:
        attribute = f".{node.attribute}" if node.attribute else ""
        test = f" where {self.expression(node.filter)}" if node.filter else ""
        return f"{node.function}({node.label}{attribute}{test})"

    def signal(self, node: Signal, label: str = "") -> str:
        """A description of events, or a timer."""
        if isinstance(node, TimerSignal):
            return node.name
        if node.every is not None:
            return f"every {self.duration(node.every)}"
        types = " or ".join(node.types)
        named = f" {label}" if label and label not in node.types else ""
        inside = f"({self.expression(node.filter)})" if node.filter else ""
        return f"{types}{named}{inside}"


_NOTATION = _Notation(rule=None)  # type: ignore[arg-type]  # only needed to say what cannot be said


def duration(microseconds: int) -> str:
    """A length of time, such as `5 min`."""
    return _NOTATION.duration(microseconds)


def expression(node: Expression) -> str:
    """An expression, such as `Temp.area = Smoke.area`."""
    return _NOTATION.expression(node)


def signal(node: Signal, label: str = "") -> str:
    """What a state looks at, such as `Temp(value > 45)`."""
    return _NOTATION.signal(node, label)


def signals(nodes: tuple[Signal, ...]) -> str:
    """Several of them."""
    return ", ".join(dict.fromkeys(map(signal, nodes)))


# --- windows -----------------------------------------------------------------


def window(node: Window) -> str:
    """Where something is looked for, such as `in the 5 min before Smoke`."""
    if node.length is not None and node.high is not None:
        return f"in the {duration(node.length)} before {node.high.label}"
    if node.low is None or node.high is None:
        bounds = [f"after {instant(node.low)}"] if node.low else []
        bounds += [f"before {instant(node.high)}"] if node.high else []
        return " ".join(bounds)
    return f"between {instant(node.low)} and {instant(node.high)}"


def instant(node: Instant) -> str:
    """A time, such as `1 h after x`."""
    if not node.offset:
        return node.label
    where = "before" if node.offset < 0 else "after"
    return f"{duration(abs(node.offset))} {where} {node.label}"


def length(node: TimeWindow | CountWindow) -> str:
    """How long a window is, such as `5 min` or `300 events`."""
    if isinstance(node, TimeWindow):
        return duration(node.length)
    return f"{node.size} event{'' if node.size == 1 else 's'}"


def limit(automaton: Automaton) -> str:
    """What the whole match must fit into; empty when nothing limits it."""
    found = automaton.limit
    if found is None:
        return ""
    if isinstance(found.window, CountWindow):
        return f"the match lies within {length(found.window)} of its types"
    most = "at most" if found.closed else "less than"
    return f"from its first to its last event {most} {length(found.window)}"


# --- states and transitions --------------------------------------------------


def title(state: State) -> str:
    """The name of a state, with the event that is kept there."""
    if state.stage is Stage.FORK:
        return "all of, in any order"
    if state.stage is Stage.JOIN:
        return "all met"
    if state.stage is Stage.CHOICE:
        return "any of"
    if state.event is None or state.event == state.title:
        return state.title
    return f"{state.title} {state.event}"


def remarks(automaton: Automaton, state: State) -> list[str]:
    """What else is to say about a state: its domain, its timers, how long it waits."""
    found = []
    if state.domain:
        found.append(f"looks at {signals(state.domain)}")
    found += [timer(one) for one in automaton.timers if state.name in one.set_in]
    if state.wait is not None:
        found.append(_wait(automaton, state.wait))
    return found


def _wait(automaton: Automaton, node: TimeWindow | CountWindow) -> str:
    if automaton.form is Form.RUN:
        return f"grows until it is full: {length(node)}"
    if isinstance(node, CountWindow):
        return f"waits for at most {node.size - 1} more events"
    return f"waits for at most {length(node)}"


def timer(node: Timer) -> str:
    """When a timer fires, such as `sets T1 = 5 min`."""
    if node.duration is not None:
        return f"sets {node.name} = {duration(node.duration)}"
    return f"sets {node.name} at time {duration(node.at or 0)}"


def transition(automaton: Automaton, step: Transition) -> list[str]:
    """What makes the automaton take a step, line by line; the first says which event."""
    lines = [_trigger(step)] if step.trigger is not None else []
    lines += _chosen(step, automaton.state(step.source).event or "")
    if step.strong is not None and step.selection is None and not _is_timer(step.trigger):
        lines.append("strongly after" if step.strong else "weakly after")
    if step.until is not None:
        lines.append(f"until {expression(step.until)}")
    if step.guard is not None:
        lines += _guard(step.guard)
    if step.failure is not None:
        lines.append(f"failure: {step.failure}")
    return lines


def _is_timer(node: Trigger | None) -> bool:
    """Whether only timers are waited for; the order that matters is then that of time."""
    return isinstance(node, Arrival) and all(isinstance(s, TimerSignal) for s in node.accepts)


def _trigger(step: Transition) -> str:
    text = trigger(step.trigger)
    if step.times > 1:
        return f"{step.times} of {text}"
    if step.index is not None:
        return f"{_ordinal(step.index)} {text}"
    return text


def trigger(node: Trigger | None) -> str:
    """The event, time or pair that a step waits for."""
    if isinstance(node, Arrival):
        besides = f" but not {signals(node.excludes)}" if node.excludes else ""
        return signals(node.accepts) + besides
    if isinstance(node, Deadline):
        return f"time: {instant(node.instant)}"
    return f"a pair of {' and '.join(node.lanes)}" if node else ""


def _ordinal(index: int) -> str:
    if index == -1:
        return "the last"
    return "the first" if index == 1 else f"number {index}"


def _chosen(step: Transition, label: str) -> list[str]:
    """Which of the candidates under the source's label are taken."""
    if step.selection is None:
        return []
    place = ""
    if step.window is not None:
        plain = step.window.low is None and step.window.high and not step.window.high.offset
        place = "before" if plain else _before(step.window)
    return [f"{selection(step.selection)} {label} {place}".strip()]


def _before(node: Window) -> str:
    return f"of the {duration(node.length)} before" if node.length else window(node)


def selection(node: Selection) -> str:
    """A selection policy, such as `each` or `the last 2`."""
    if node.policy is Policy.EACH:
        return "each"
    return f"the {node.policy}" + (f" {node.count}" if node.count > 1 else "")


def _guard(guard: Guard) -> list[str]:
    lines = []
    if guard.full is not None:
        lines.append("the window is full" if guard.full else "the window is not full")
    if guard.condition is not None:
        text = expression(guard.condition)
        lines.append(text if guard.holds else f"not {_bracketed(guard.condition)}")
    return lines


def _bracketed(node: Expression) -> str:
    return _NOTATION.expression(node, Level.COMPARISON)


# --- what hangs on states ----------------------------------------------------


def constraint(node: Constraint) -> str:
    """What ties events, such as `Temp.area = Smoke.area`."""
    test = node.condition
    if isinstance(test, Equivalence):
        if test.value is not None:
            return f"every {test.attribute} = {format_value(test.value)}"
        return f"all have the same {test.attribute}"
    if isinstance(test, Key):
        parts = [f"{type_}.{attribute}" for type_, attribute in test.attributes]
        if test.value is not None:
            parts.append(format_value(test.value))
        return " = ".join(parts) if len(parts) > 1 else f"the same {parts[0]}"
    return expression(test)


def absent(node: Absent) -> str:
    """What must not be, such as `no Rain between Wind and Smoke`."""
    where = window(node.window) if node.window else "between the first and the last event"
    return f"no {signal(node.predicate, node.label)} {where}"


def computed(node: Computed) -> str:
    """A value that is computed, such as `$t = Avg(…)`."""
    name = f"${node.name} = " if node.name else ""
    return f"{name}{expression(node.value)}"


def headline(rule: Rule) -> str:
    """What a rule gives."""
    names = [attribute.name for attribute in rule.output.attributes]
    names += ["…"] if rule.output.everything else []
    inside = f"({', '.join(names)})" if names else ""
    return f"{rule.output.type}{inside}"


def size(automaton: Automaton) -> str:
    """What kind of automaton it is."""
    count = len(automaton.lanes)
    lanes = f" of {count} {'sequences' if automaton.form is Form.TREE else 'lanes'}"
    return f"{automaton.form}{lanes if count > 1 else ''}"


def footnotes(automaton: Automaton) -> list[str]:
    """What holds for the match as a whole."""
    found = [limit(automaton)] if automaton.limit else []
    found += [f"timer {one.name} is looked at in {_scope(one)}" for one in automaton.timers]
    if automaton.consuming:
        found.append(f"uses up {', '.join(automaton.consuming)}")
    return found


def _scope(node: Timer) -> str:
    return ", ".join(node.scope) if node.scope else "no state"


def kept(predicate: EventPredicate) -> str:
    """The types of a predicate, as they are stored."""
    return " or ".join(predicate.types)


@dataclass(frozen=True, slots=True)
class Hanging:
    """What hangs on states: their labels, the words, a colour for its kind.

    With `to_deadline` it reaches to the state where time decides the match.
    """

    labels: tuple[str, ...]
    text: str
    colour: str
    to_deadline: bool = False

    def states(self, lane: Lane) -> list[State]:
        """The states of a lane that it hangs on; none unless the lane has them all."""
        kept = [state for state in lane.states if state.event in self.labels]
        if not self.labels or len({state.event for state in kept}) < len(self.labels):
            return []
        return kept + ([lane.states[-1]] if self.to_deadline else [])

    def ends(self, automaton: Automaton) -> list[str]:
        """The first and the last state that it hangs on, in whichever lane they are."""
        whole = [state for lane in automaton.lanes for state in self.states(lane)]
        apart = [state for label in self.labels for state in automaton.keeping(label)[:1]]
        found = whole[: len(self.labels) + self.to_deadline] or apart or [automaton.lanes[0].start]
        return [found[0].name, found[-1].name]


def hangings(automaton: Automaton) -> list[Hanging]:
    """All that hangs on states."""
    found = [Hanging(_tied(one), constraint(one), TIE_COLOUR) for one in automaton.constraints]
    found += [
        Hanging(one.labels, absent(one), ABSENT_COLOUR, one.to_deadline)
        for one in automaton.negations
    ]
    found += [Hanging(one.labels, computed(one), COMPUTED_COLOUR) for one in apart(automaton)]
    return found


def _tied(node: Constraint) -> tuple[str, ...]:
    """The labels that a constraint hangs on; keys and equivalence tests are about all events."""
    return () if isinstance(node.condition, Equivalence | Key) else node.labels


def apart(automaton: Automaton) -> list[Computed]:
    """The aggregates that do not already stand in a condition."""
    tied = [one.condition for one in automaton.constraints]
    within = [part for condition in tied for part in find(condition, Aggregate)]
    return [one for one in automaton.aggregates if one.name or one.value not in within]
