"""`cepheid check`: read rules, tell everything that is wrong."""

from __future__ import annotations

import argparse
import json
import sys

from cepheid.cli.loading import add_rules, count, loaded
from cepheid.diagnostics import Diagnostic, diagnostic_of
from cepheid.errors import CepheidError, RuleError
from cepheid.rules import load

CHECK_HELP = """\
examples:
  cepheid check fire.tesla              one file, its language by its ending
  cepheid check rules/                  every rule file below a folder
  cepheid check q.txt --language sase   a file with another ending
  cepheid check rules/ --schema events.schema
  cepheid check rules/ --format json    for editors: places, severities, messages, hints
"""


def add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its arguments."""
    command = commands.add_parser(
        "check",
        help="read rules and tell what is wrong with them",
        epilog=CHECK_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_rules(command)
    command.add_argument("--format", choices=["text", "json"], default="text")
    command.set_defaults(run=check_command)


def check_command(options: argparse.Namespace) -> int:
    """Check rule files; 0 when they can be used."""
    if options.format == "json":
        return _check_json(options)
    rules = loaded(options)
    if rules is None:
        return 1
    for problem in rules.warnings:
        print(f"{problem}\n", file=sys.stderr)
    warned = f", {count(len(rules.warnings), 'remark')}" if rules.warnings else ""
    print(f"{count(len(rules), 'rule')} in order{warned}")
    return 0


def _check_json(options: argparse.Namespace) -> int:
    """One JSON object on standard output, whatever is wrong."""
    rules, found = 0, []
    try:
        schema = options.schema.read_text("utf-8-sig") if options.schema else None
        checked = load(options.rules, language=options.language, schema=schema)
        rules, found = len(checked), [diagnostic_of(problem) for problem in checked.warnings]
    except RuleError as error:
        found = [diagnostic_of(problem, str(options.rules[0])) for problem in error.problems]
    except (CepheidError, OSError, UnicodeDecodeError) as error:
        found = [_about_schema(str(options.schema), error)]
    print(json.dumps({"rules": rules, "problems": [one.as_json() for one in found]}, indent=1))
    return 1 if any(one.severity == "error" for one in found) else 0


def _about_schema(file: str, error: Exception) -> Diagnostic:
    reason = getattr(error, "strerror", None) or str(error)
    return Diagnostic(file, None, None, None, None, "error", "SCHEMA", reason)
