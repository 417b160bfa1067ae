"""Which machines of detectors have ladders for branches; see `ladders` for what these are.

It takes a sequence without timers in which every event that concerns a partial match decides about
it, and concerns all with the same last event alike: the domains of all states have the same types,
found by the same key, and nothing in them can be passed over.
"""

from __future__ import annotations

from cepheid.algebra import Atom, Parallel, labels_of
from cepheid.kernel.conditions import Condition, speaks_of_all
from cepheid.kernel.detector_automaton import START, Automaton
from cepheid.kernel.detector_machine import Case, Machine, gate_of

_MANY_RUNGS = 60
"""A match can have so many events: a mask has a bit for each."""


def is_ladder(machine: Machine) -> bool:
    """Whether the branches of a machine are ladders; its cases have their keys by now."""
    automaton = machine.automaton
    if machine.ordered or not _is_sequence(automaton):
        return False
    states = range(START + 1, len(automaton.atoms) - 1)
    types = {case.type for case in machine.cases.values() if case.state in states}
    keys = set()
    for type_ in types:
        cases = [machine.cases.get((state, type_)) for state in states]
        found = [case for case in cases if case is not None]
        if len(found) < len(cases) or not _always_decide(found):
            return False
        if any(not _speaks_of_the_past(automaton, case) for case in found):
            return False
        if len({case.key for case in found}) > 1:
            return False
        keys |= {(case.key.label, case.key.attribute) if case.key else None for case in found}
    return len(keys) == 1


def _is_sequence(automaton: Automaton) -> bool:
    """Whether one state follows the other to the end, as strongly everywhere, without timers."""
    count = len(automaton.atoms)
    if automaton.timers or not 2 < count <= _MANY_RUNGS + 1:
        return False
    if any(isinstance(atom, Parallel) for atom in automaton.atoms):
        return False
    labels = [atom.label for atom in automaton.atoms if isinstance(atom, Atom) and atom.label]
    following = [[state + 1] if state + 1 < count else [] for state in range(count)]
    strengths = {strong for found in automaton.transitions[1:] for strong in found.values()}
    return (
        [list(found) for found in automaton.transitions] == following
        and automaton.accepting == {count - 1}
        and len(strengths) == 1
        and len(set(labels)) == len(labels)
    )


def _always_decide(cases: list[Case]) -> bool:
    """Whether an event that comes through the gate of some cases decides in each of them."""
    gate = gate_of(cases)
    for case in cases:
        rest, options = Condition(tuple(case.rest)), [what for _, _, what in case.options]
        if gate is not None:
            rest, options = rest.given(gate), [what.given(gate) for what in options]
        if len(options) > 1 or all(what.expression is not None for what in [rest, *options]):
            return False
    return True


def _speaks_of_the_past(automaton: Automaton, case: Case) -> bool:
    """Whether a case speaks of single events only, and only of those that were taken before."""
    atoms = automaton.atoms[START + 1 : case.state + 1]
    known = [atom.label for atom in atoms if isinstance(atom, Atom)]
    if case.key is not None and case.key.label != known[0]:
        return False
    conditions = [what.expression for _, _, what in case.options]
    return all(
        labels_of(what).issubset(known) and not speaks_of_all(what)
        for what in conditions
        if what is not None
    )
