"""`cepheid check`: read rules, tell everything that is wrong."""

from __future__ import annotations

import argparse
import sys

from cepheid.cli.loading import count, loaded


def check_command(options: argparse.Namespace) -> int:
    """Check rule files; 0 when they can be used."""
    rules = loaded(options)
    if rules is None:
        return 1
    for problem in rules.warnings:
        print(f"{problem}\n", file=sys.stderr)
    warned = f", {count(len(rules.warnings), 'remark')}" if rules.warnings else ""
    print(f"{count(len(rules), 'rule')} in order{warned}")
    return 0
