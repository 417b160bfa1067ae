"""`cepheid explain`: show the automaton and the plan of rules."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace

from cepheid.automaton import compile_rule, draw_dot, draw_mermaid
from cepheid.cli.loading import loaded
from cepheid.errors import did_you_mean
from cepheid.rules import Rules

FORMATS: dict[str, Callable[[Rules], str]] = {
    "text": Rules.explain,
    "dot": lambda rules: draw_dot(map(compile_rule, rules)),
    "mermaid": lambda rules: draw_mermaid(map(compile_rule, rules)),
    "svg": lambda rules: rules.svg(),
}
"""The ways to show automata, by name."""


def explain_command(options: argparse.Namespace) -> int:
    """Print the automata of rules; 0 when there are some."""
    rules = loaded(options)
    if rules is None:
        return 1
    if options.rule is not None:
        chosen = tuple(rule for rule in rules if rule.name == options.rule)
        if not chosen:
            return _no_such_rule(options.rule, [rule.name for rule in rules])
        rules = replace(rules, rules=chosen)
    if options.shards is None:
        print(FORMATS[options.format](rules))
    else:
        print(rules.explain(shards=options.shards))
    return 0


def _no_such_rule(name: str, names: list[str]) -> int:
    hint = did_you_mean(name, names) or f"the rules are {', '.join(names[:20])}"
    print(f"error: no rule is called {name}\n\nhint: {hint}", file=sys.stderr)
    return 1
