"""The commands and their arguments; what they do is done by the package."""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import sys
from collections.abc import Sequence

from cepheid.cli.backtest import add_backtest
from cepheid.cli.check import add_check
from cepheid.cli.completion import add_completion
from cepheid.cli.explain import FORMATS, explain_command
from cepheid.cli.language_server import add_language_server
from cepheid.cli.loading import add_rules
from cepheid.cli.new import add_new
from cepheid.cli.parsing import Parser
from cepheid.cli.report import add_report
from cepheid.cli.run import RUN_HELP, add_run_arguments
from cepheid.cli.test import add_test
from cepheid.cli.translate import add_translate
from cepheid.cli.why import add_why

_STOPPED = 130
"""The exit status of what was stopped with Ctrl-C, as usual."""
_EXPLAIN_HELP = """\
examples:
  cepheid explain fire.tesla                             automata and plans as text
  cepheid explain rules/ --rule R1                       one rule only
  cepheid explain rules/ --format svg > rules.svg        a picture
"""


_HELP = """\
the first ten minutes:
  cepheid new fire                      a project with a rule, its tests and sample events
  cd fire
  cepheid test rules/                   what the rule must find, and does
  cepheid why rules/ --input data/events.csv --match 1
  cepheid backtest rules/ --input data/events.csv
  cepheid explain rules/                how the rule works

Every command has examples: cepheid backtest --help
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the result is the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character shows its number instead.
            stream.reconfigure(errors="backslashreplace")
    options = parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return _STOPPED
    return status


def parser() -> argparse.ArgumentParser:
    """What reads the command line, with all commands."""
    parser: argparse.ArgumentParser = Parser(
        prog="cepheid",
        description="Complex event processing: rules over events.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = importlib.metadata.version("cepheid")
    parser.add_argument("--version", action="version", version=f"cepheid {version}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_new(commands)
    add_check(commands)
    _add_explain(commands)
    add_translate(commands)
    add_test(commands)
    _add_run(commands)
    add_backtest(commands)
    add_report(commands)
    add_why(commands)
    add_language_server(commands)
    add_completion(commands)
    return parser


def _add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "explain",
        help="show the automaton and the plan of rules",
        epilog=_EXPLAIN_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_rules(command)
    command.add_argument("--format", choices=list(FORMATS), default="text")
    command.add_argument("--rule", metavar="NAME", help="this rule only")
    command.add_argument(
        "--shards", type=int, metavar="N", help="also how a job on Spark with N shards is laid out"
    )
    command.set_defaults(run=explain_command)


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "run",
        help="run rules over events with Spark, once or as a stream",
        epilog=RUN_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_run_arguments(command)
