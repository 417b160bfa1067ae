"""From algebra to automaton, for every kind of pattern."""

from __future__ import annotations

from cepheid.algebra import Collection, Detector, Rule, Run, Tree
from cepheid.automaton.detectors import compile_detector
from cepheid.automaton.gathering import compile_collection
from cepheid.automaton.model import Automaton
from cepheid.automaton.runs import compile_run
from cepheid.automaton.trees import compile_tree


def compile_rule(rule: Rule) -> Automaton:
    """The automaton of a rule.

    >>> import cepheid
    >>> (rule,) = cepheid.load('''
    ...     Rule R1 define Fire(area: string)
    ...     from Smoke(area = $a) and
    ...       each Temp(area = $a and value > 45) within 5 min from Smoke
    ...     where area = Smoke.area
    ... ''', language="tesla")
    >>> automaton = compile_rule(rule)
    >>> [state.title for state in automaton.states], automaton.accepting[0].title
    (['start', 'Temp', 'Smoke'], 'Smoke')
    """
    pattern = rule.pattern
    if isinstance(pattern, Tree):
        return compile_tree(rule, pattern)
    if isinstance(pattern, Run):
        return compile_run(rule, pattern)
    if isinstance(pattern, Collection):
        return compile_collection(rule, pattern)
    assert isinstance(pattern, Detector)  # noqa: S101 (there is no other kind)
    return compile_detector(rule, pattern)
