"""Runs to automata: start, middle and end state, wait time, failure (LAIPE, section 5.1, Fig. 3).

The start state waits for the first event of a run, the middle state holds an open run, the end
state gives the composite event. An event that breaks an Each condition leads back to the start
state; a run that is full and does not hold gives up its oldest events. Both are failures.
"""

from __future__ import annotations

from cepheid.algebra import CountWindow, Each, Key, Rule, Run
from cepheid.automaton.model import (
    Arrival,
    Automaton,
    Constraint,
    Form,
    Guard,
    Lane,
    Stage,
    State,
    Transition,
)

START, OPEN, END = "-", "S1", "+"


def compile_run(rule: Rule, run: Run) -> Automaton:
    """The automaton of a rule whose pattern is a run."""
    single = isinstance(run.window, CountWindow) and run.window.size == 1
    steps = _single(run) if single else _several(run)
    states = [State(START, START, Stage.START)]
    if not single:
        states.append(State(OPEN, OPEN, event=run.label, wait=run.window))
    states.append(State(END, END, Stage.END, event=run.label))
    lane = Lane("A1", tuple(states), tuple(steps))
    return Automaton(rule, Form.RUN, (lane,), keys(run.partition, (run.label,)))


def keys(partition: tuple[Key, ...], labels: tuple[str, ...]) -> tuple[Constraint, ...]:
    """The keys of a LAIPL rule, which tie all of its events."""
    return tuple(Constraint(labels, key) for key in partition)


def _several(run: Run) -> list[Transition]:
    """The first event opens the run, the following ones fill it."""
    arrival = Arrival((run.predicate,))
    each = run.condition.condition if isinstance(run.condition, Each) else None
    steps = [
        Transition(START, OPEN, arrival, guard=Guard(condition=each)),
        Transition(OPEN, OPEN, arrival, guard=Guard(full=False, condition=each)),
    ]
    if isinstance(run.condition, Each):
        guard = Guard(full=True, condition=each)
        broken = Guard(condition=each, holds=False)
        steps.append(Transition(OPEN, END, arrival, guard=guard))
        steps.append(Transition(OPEN, START, arrival, guard=broken, failure="broken"))
        return steps
    steps.append(Transition(OPEN, END, arrival, guard=Guard(full=True, condition=run.condition)))
    if run.condition is not None:
        unmet = Guard(full=True, condition=run.condition, holds=False)
        steps.append(Transition(OPEN, OPEN, arrival, guard=unmet, failure="unmet"))
    return steps


def _single(run: Run) -> list[Transition]:
    """A run of one event is full at once: there is no middle state.

    An event that breaks an Each condition is no failure here, because no run was open.
    """
    arrival = Arrival((run.predicate,))
    if isinstance(run.condition, Each):
        return [Transition(START, END, arrival, guard=Guard(condition=run.condition.condition))]
    steps = [Transition(START, END, arrival, guard=Guard(condition=run.condition))]
    if run.condition is not None:
        unmet = Guard(condition=run.condition, holds=False)
        steps.append(Transition(START, START, arrival, guard=unmet, failure="unmet"))
    return steps
