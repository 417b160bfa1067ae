"""`cepheid report`: rules over events, as one page to look at."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from cepheid.cli.history import Dial, add_history, add_project, read_history, with_project
from cepheid.cli.loading import add_rules, loaded
from cepheid.errors import CepheidError
from cepheid.records import Clock

DONE, FAILED, USAGE = 0, 1, 2
REPORT_HELP = """\
examples:
  cepheid report fire.tesla --input events.csv                        writes report.html
  cepheid report rules/ --input 2026/ --output july.html              a folder of files
  cepheid report rules/ --input e.jsonl --unit ms --key area          tracks by an attribute
  cepheid report                                                      what cepheid.yml says

The page needs no network and no other file. Every event and match is counted; of many, a fair
sample is drawn, and the page says of how many.
Exit status: 0 done, 1 the events cannot be used or the page not be written, 2 usage or rules.
"""


def add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its arguments."""
    command = commands.add_parser(
        "report",
        help="a page with rules, timeline, counts and explained matches",
        epilog=REPORT_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_rules(command, needed=False)
    add_history(command)
    add_project(command)
    command.add_argument(
        "--output", type=Path, default=Path("report.html"), metavar="FILE", help="(report.html)"
    )
    command.add_argument("--title", help="what the page is called (the rules)")
    command.add_argument(
        "--key", metavar="ATTRIBUTE", help="a track for each value of this (what parts the rules)"
    )
    command.add_argument("--until", metavar="TIME", help="let time go on to this after the last")
    command.add_argument(
        "--draw-events", type=int, default=10_000, metavar="N", help="about so many (10000)"
    )
    command.add_argument(
        "--draw-matches", type=int, default=1_000, metavar="N", help="about so many (1000)"
    )
    command.set_defaults(run=report_command)


def report_command(options: argparse.Namespace) -> int:
    """Write the page and say what is on it; the result is the exit status."""
    try:
        options = with_project(options, command="report")
    except CepheidError as error:
        return _told(error, USAGE)
    rules = loaded(options)
    if rules is None:
        return USAGE
    try:
        events = read_history(options, rules)
        until = None if options.until is None else _moment(options.until, options.unit)
        matches = rules.matches(events, unit=options.unit, until=until)
        matches.report(
            options.output,
            key=options.key,
            title=options.title,
            events=options.draw_events,
            matches=options.draw_matches,
        )
    except CepheidError as error:
        return _told(error, FAILED)
    print(f"{options.output}: {matches!r}")
    return DONE


def _moment(text: str, unit: str | None) -> Any:  # noqa: ANN401 (as events write times)
    """A time as a person writes it, in the form of the events' own times."""
    return Clock.of(unit).write(Dial(unit).read(text))


def _told(error: CepheidError, status: int) -> int:
    from cepheid.spark.causes import in_commands

    print(f"error: {in_commands(str(error))}", file=sys.stderr)
    return status
