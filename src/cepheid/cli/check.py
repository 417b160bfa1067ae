"""`cepheid check`: read rules, tell everything that is wrong."""

from __future__ import annotations

import argparse
import sys

from cepheid.errors import CepheidError, RuleError
from cepheid.rules import load


def check_command(options: argparse.Namespace) -> int:
    """Check rule files; 0 when they can be used."""
    try:
        schema = options.schema.read_text("utf-8-sig") if options.schema else None
        rules = load(options.rules, language=options.language, schema=schema)
    except RuleError as error:
        print(error, file=sys.stderr)
        print(f"\n{_count(len(error.problems), 'error')}", file=sys.stderr)
        return 1
    except CepheidError as error:
        print(f"error: schema {options.schema}: {error}", file=sys.stderr)
        return 1
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        print(f"error: schema {options.schema} cannot be read: {reason}", file=sys.stderr)
        return 1
    for problem in rules.warnings:
        print(f"{problem}\n", file=sys.stderr)
    warned = f", {_count(len(rules.warnings), 'remark')}" if rules.warnings else ""
    print(f"{_count(len(rules), 'rule')} in order{warned}")
    return 0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
