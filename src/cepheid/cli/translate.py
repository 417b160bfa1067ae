"""`cepheid translate`: write rules in another language, or as a Python program."""

from __future__ import annotations

import argparse
import sys

from cepheid.cli.loading import add_rules, chosen, loaded
from cepheid.errors import CannotExpressError
from cepheid.languages.translating import TARGETS

TRANSLATE_HELP = """\
examples:
  cepheid translate fire.tesla --to pretty               in English words
  cepheid translate rules/ --to python > rules.py        a program with the same rules
  cepheid translate fire.pretty --to tesla --rule R1     one rule only
"""


def add_translate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its arguments."""
    command = commands.add_parser(
        "translate",
        help="write rules in another language, or as a Python program",
        epilog=TRANSLATE_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_rules(command)
    command.add_argument("--to", choices=list(TARGETS), required=True, help="the other language")
    command.add_argument("--rule", metavar="NAME", help="this rule only")
    command.set_defaults(run=translate_command)


def translate_command(options: argparse.Namespace) -> int:
    """Print rules in another language; 0 when it has words for all of them."""
    rules = loaded(options)
    rules = rules and chosen(rules, options.rule)
    if rules is None:
        return 1
    try:
        print(rules.translate(options.to), end="")
    except CannotExpressError as error:
        print(error, file=sys.stderr)
        return 1
    return 0
