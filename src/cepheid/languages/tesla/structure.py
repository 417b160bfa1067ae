"""What must hold for a TESLA rule as a whole, once all of it is lowered.

Windows lead to the terminator, parameters stand for something, and an attribute without an event
stands only where an event is being tested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from cepheid.algebra import (
    Attribute,
    Binding,
    Component,
    EventPredicate,
    Node,
    Parameter,
    Rule,
    Tree,
    find,
    parameters_of,
)
from cepheid.errors import did_you_mean
from cepheid.languages.lowering import Lowering

CHAIN_LIMIT = 32
"""The longest chain of windows, and of parameters that stand for each other."""


def check(rule: Rule, lowering: Lowering) -> None:
    """Report what does not fit together."""
    tree = rule.pattern
    if isinstance(tree, Tree):
        _check_windows(tree, lowering)
        _check_bound(rule, tree, lowering)
        _check_bindings(tree, lowering)
        _check_owners(rule, lowering)


def _check_windows(tree: Tree, lowering: Lowering) -> None:
    """Every event must hang on the terminator, directly or through others."""
    parents = {component.label: component.parent for component in tree.components}
    for component in tree.components:
        chain = _chain(component.label, parents)
        if len(chain) > CHAIN_LIMIT:
            lowering.error(
                "LIMIT_EXCEEDED",
                f"event {component.label} in rule {lowering.rule} must hang on the terminator "
                f"by less than {CHAIN_LIMIT} windows",
                component.span,
                hint="split the rule in two: one rule may use what another one defines",
            )
            return
        if chain[-1] != tree.terminator.label:
            _report_circle(component, tree, lowering)


def _chain(label: str, parents: Mapping[str, str | None]) -> list[str]:
    """The labels from one to the terminator, or up to the first that comes again."""
    chain = [label]
    while (parent := parents.get(chain[-1])) is not None and len(chain) <= CHAIN_LIMIT:
        if parent in chain:
            break
        chain.append(parent)
    return chain


def _report_circle(component: Component, tree: Tree, lowering: Lowering) -> None:
    lowering.error(
        "WRONG_STRUCTURE",
        f"the window of {component.label} in rule {lowering.rule} does not lead to the terminator",
        component.window.span if component.window else component.span,
        expected="windows from the terminator, or from events that have such a window",
        hint=f"write: within … from {tree.terminator.label}",
    )


def _check_bound(rule: Rule, tree: Tree, lowering: Lowering) -> None:
    bound = {binding.name for binding in tree.bindings}
    for parameter in find(rule, Parameter):
        if parameter.name not in bound:
            lowering.error(
                "UNKNOWN_PARAMETER",
                f"parameter ${parameter.name} in rule {rule.name} is not bound",
                parameter.span,
                expected=f"an event that binds it, such as Smoke(area = ${parameter.name})",
                hint=did_you_mean(parameter.name, bound),
            )


def _check_bindings(tree: Tree, lowering: Lowering) -> None:
    """No parameter may stand for itself, nor for too long a chain of others."""
    uses = {binding.name: parameters_of(binding.value) for binding in tree.bindings}
    settled: set[str] = set()
    for _ in range(CHAIN_LIMIT):
        settled |= {name for name, used in uses.items() if used & uses.keys() <= settled}
    for binding in tree.bindings:
        if binding.name not in settled:
            _report_binding(binding, lowering)


def _report_binding(binding: Binding, lowering: Lowering) -> None:
    lowering.error(
        "WRONG_STRUCTURE",
        f"parameter ${binding.name} in rule {lowering.rule} stands for itself",
        binding.span,
        expected=f"parameters that lead to an event in less than {CHAIN_LIMIT} steps",
    )


def _check_owners(rule: Rule, lowering: Lowering) -> None:
    """`area` alone is an attribute of the event in whose brackets it stands; elsewhere of none."""
    for attribute in _outside(rule):
        if attribute.label is None:
            lowering.error(
                "UNKNOWN_NAME",
                f"attribute {attribute.name} in rule {rule.name} belongs to no event",
                attribute.span,
                expected=f"the event's name before it, such as Smoke.{attribute.name}",
            )


def _outside(node: Node) -> Iterator[Attribute]:
    """All attributes that stand outside the brackets of an event."""
    stack: list[object] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, tuple):
            stack.extend(reversed(current))
        elif isinstance(current, Attribute):
            yield current
        elif isinstance(current, Node) and not isinstance(current, EventPredicate):
            names = [item.name for item in fields(current) if item.name != "span"]
            stack.extend(getattr(current, name) for name in reversed(names))
