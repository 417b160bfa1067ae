"""Limits on what TESLA's parameters and windows may pile up.

Windows hang on each other and parameters stand for expressions with parameters, so a short text
can describe something very deep, or endlessly large once it is written out. Circles are none of
this module's business: the check of all languages reports them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cepheid.algebra import Binding, Parameter, Tree, find, walk
from cepheid.languages.lowering import Lowering

CHAIN_LIMIT = 32
"""The longest chain of windows, and of parameters that stand for each other."""
EVENTS_LIMIT = 64
"""The most events that one rule may select."""
SIZE_LIMIT = 10_000
"""The largest expression that a parameter may stand for, with all others written out."""

_SPLIT = "split the rule in two: one rule may use what another one defines"


def check(tree: Tree, lowering: Lowering) -> None:
    """Report what is too deep or too large."""
    if len(tree.components) > EVENTS_LIMIT:
        lowering.error(
            "LIMIT_EXCEEDED",
            f"rule {lowering.rule} must have at most {EVENTS_LIMIT} events; "
            f"got {len(tree.components)}",
            tree.components[EVENTS_LIMIT].span,
            hint=_SPLIT,
        )
        return
    _check_windows(tree, lowering)
    _check_bindings(tree, lowering)


def _check_windows(tree: Tree, lowering: Lowering) -> None:
    parents = {component.label: component.parent for component in tree.components}
    for component in tree.components:
        if _height(component.label, parents) > CHAIN_LIMIT:
            lowering.error(
                "LIMIT_EXCEEDED",
                f"event {component.label} in rule {lowering.rule} must hang on the terminator by "
                f"at most {CHAIN_LIMIT} windows",
                component.window.span if component.window else component.span,
                hint=_SPLIT,
            )
            return


def _height(label: str, parents: Mapping[str, str | None]) -> int:
    """How many windows lead from an event to the terminator, as far as the limit allows."""
    seen = [label]
    while (parent := parents.get(seen[-1])) is not None and len(seen) <= CHAIN_LIMIT + 1:
        if parent in seen:
            return 0
        seen.append(parent)
    return len(seen) - 1


def _check_bindings(tree: Tree, lowering: Lowering) -> None:
    """Measure from the parameters that use no others upwards; circles are never reached."""
    uses = {binding.name: _uses(binding) for binding in tree.bindings}
    users = _turned_round(uses)
    open_uses = {name: len(set(used) & uses.keys()) for name, used in uses.items()}
    bindings = {binding.name: binding for binding in tree.bindings}
    measured: dict[str, _Measure] = {}
    ready = [name for name, count in open_uses.items() if not count]
    while ready:
        name = ready.pop()
        measured[name] = _measure(bindings[name], [measured[u] for u in uses[name] if u in uses])
        if measured[name].too_much:
            _report(bindings[name], lowering)
            return
        for user in users.get(name, ()):
            open_uses[user] -= 1
            if not open_uses[user]:
                ready.append(user)


@dataclass(frozen=True, slots=True)
class _Measure:
    size: int
    depth: int

    @property
    def too_much(self) -> bool:
        return self.size > SIZE_LIMIT or self.depth > CHAIN_LIMIT


def _measure(binding: Binding, below: list[_Measure]) -> _Measure:
    own = sum(1 for _ in walk(binding.value))
    return _Measure(
        own + sum(measure.size for measure in below),
        1 + max((measure.depth for measure in below), default=0),
    )


def _uses(binding: Binding) -> list[str]:
    """The parameters in what a parameter stands for, each as often as it is used."""
    return [parameter.name for parameter in find(binding.value, Parameter)]


def _turned_round(uses: Mapping[str, list[str]]) -> dict[str, set[str]]:
    users: dict[str, set[str]] = {}
    for name, used in uses.items():
        for other in used:
            users.setdefault(other, set()).add(name)
    return users


def _report(binding: Binding, lowering: Lowering) -> None:
    lowering.error(
        "LIMIT_EXCEEDED",
        f"parameter ${binding.name} in rule {lowering.rule} stands for too long an expression",
        binding.span,
        expected=f"at most {CHAIN_LIMIT} parameters in a row and {SIZE_LIMIT} terms in all",
        hint="compute a part of it in a rule of its own",
    )
