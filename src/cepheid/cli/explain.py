"""`cepheid explain`: show the automaton and the plan of rules."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from cepheid.automaton import compile_rule, draw_dot, draw_mermaid
from cepheid.cli.loading import chosen, loaded
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
    rules = rules and chosen(rules, options.rule)
    if rules is None:
        return 1
    if options.shards is None:
        print(FORMATS[options.format](rules))
    else:
        print(rules.explain(shards=options.shards))
    return 0
