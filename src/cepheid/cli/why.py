"""`cepheid why`: what led to a composite event, or what kept a rule from one."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cepheid.cli.history import Dial, add_history, read_history
from cepheid.cli.loading import add_rules, count, loaded
from cepheid.errors import CepheidError, EventError
from cepheid.events import CompositeEvent, Order
from cepheid.literals import parse_events

if TYPE_CHECKING:
    from cepheid.rules import Rules
    from cepheid.why.given import Given
    from cepheid.why.results import Why, WhyNot

DONE, FAILED, USAGE = 0, 1, 2
WHY_HELP = """\
examples:
  cepheid why fire.tesla --input day.csv                    what was found, with numbers and ids
  cepheid why fire.tesla --input day.csv --match 3          why the third was found
  cepheid why fire.tesla --input day.csv --id 5722e8fc      why this one; the first digits will do
  cepheid why fire.tesla --input day.csv --not R1           why R1 found nothing
  cepheid why fire.tesla --input day.csv --not R1 --around "2026-07-01 12:03"
  cepheid why fire.tesla --input day.jsonl --unit s --not R1 --around 90 --format json
  cepheid why fire.tesla --input small.events --not R1      events as text: Temp@10(value=43.5)

Of a rule that found nothing it tells how far it came, what failed and by how much, and the
nearest change of the events with which it would have matched; that change was tried.
Exit status: 0 told, 1 the events cannot be used or hold nothing of the kind, 2 usage or rules.
"""
_LISTED = 100
"""How many composite events are listed at most."""
_LITERAL = (".events", ".txt")
"""The endings of files with events as text."""


def add_why(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its arguments."""
    command = commands.add_parser(
        "why",
        help="tell why a composite event was found, or why a rule found none",
        epilog=WHY_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_rules(command)
    add_history(command)
    asked = command.add_mutually_exclusive_group()
    asked.add_argument("--id", metavar="ID", help="the id of a composite event, or its beginning")
    asked.add_argument("--match", type=int, metavar="N", help="the N-th of what is found, from 1")
    asked.add_argument("--not", dest="rule", metavar="RULE", help="a rule that did not match")
    command.add_argument("--around", metavar="TIME", help="with --not: where it should have")
    command.add_argument("--until", metavar="TIME", help="let time go on to this after the last")
    command.add_argument(
        "--delay", metavar="TIME", help="with --not: events come as in the file, so much late"
    )
    command.add_argument("--format", choices=["text", "json"], default="text")
    command.set_defaults(run=why_command)


def why_command(options: argparse.Namespace) -> int:
    """Tell why, or why not; the result is the exit status."""
    if not options.input:
        return _told("--input must say where the events are\n\nhint: --input day.csv", USAGE)
    if options.rule is None and (options.around or options.delay):
        return _told("--around and --delay must go with --not\n\nhint: --not RULE", USAGE)
    rules = loaded(options)
    if rules is None:
        return USAGE
    try:
        return _asked(options, rules)
    except CepheidError as error:
        return _told(error, FAILED)


def _asked(options: argparse.Namespace, rules: Rules) -> int:
    from cepheid.why.given import Given

    events, literal = _events(options, rules)
    unit = None if literal else options.unit
    given = Given.of(events, unit, rules.schema)
    until = None if options.until is None else _moment(options.until, given, literal)
    if options.rule is not None:
        around = None if options.around is None else _moment(options.around, given, literal)
        told: Why | WhyNot = rules.why_not(
            options.rule, events, around=around, unit=unit, until=until, delay=options.delay
        )
    else:
        found = _found(rules, given, until, lambda: rules.detect(events, unit=unit, until=until))
        if options.id is None and options.match is None:
            return _list(found, given, options.format)
        told = rules.why(events, _chosen(options, _ids(found)), unit=unit, until=until)
    _print(told, options.format)
    return DONE


def _found(rules: Rules, given: Given, until: Any, detect: Callable[[], Any]) -> Any:  # noqa: ANN401
    """What the rules find: in few events by the oracle, which has nothing to compile first."""
    from cepheid.oracle import evaluate
    from cepheid.why.asking import WHY_LIMIT

    if given.count > WHY_LIMIT:
        return detect()
    end = None if until is None else given.time(until)
    found = evaluate(rules.rules, given.all(), schema=rules.schema, until=end).events
    return sorted(found, key=Order(rules.schema).key)


def _ids(found: Any) -> list[str]:  # noqa: ANN401 (a list, or a table of Arrow)
    if isinstance(found, list):
        return [str(event.id) for event in found]
    ids: list[str] = found.column("id").to_pylist()
    return ids


def _events(options: argparse.Namespace, rules: Rules) -> tuple[Any, bool]:
    """The events, and whether they are written as text."""
    if all(path.suffix in _LITERAL for path in options.input):
        return parse_events("\n".join(map(_text, options.input))), True
    return read_history(options, rules), False


def _text(path: Path) -> str:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise EventError(f"events cannot be read from {path}: {reason}") from None
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))


def _moment(text: str, given: Given, literal: bool) -> Any:  # noqa: ANN401 (as events write times)
    """A time as a person writes it, in the form of the events' own times."""
    unit = given.words.clock.unit
    names = {1: "us", 1_000: "ms", 1_000_000: "s", 60_000_000: "min", 3_600_000_000: "h"}
    moment = Dial(None if literal or unit is None else names.get(unit, "d")).read(text)
    return moment if literal else given.words.clock.write(moment)


def _chosen(options: argparse.Namespace, ids: list[str]) -> str:
    if options.match is not None:
        if not ids:
            raise EventError(
                f"--match must name what was found; got {options.match}, and nothing was\n\n"
                "hint: ask with --not RULE"
            )
        if not 1 <= options.match <= len(ids):
            raise EventError(f"--match must be from 1 to {len(ids)}; got {options.match}")
        return ids[int(options.match) - 1]
    fitting = [known for known in ids if known.startswith(options.id)]
    if len(fitting) != 1:
        many = count(len(fitting), "composite event") if fitting else "no composite event"
        raise EventError(
            f"--id must be that of one composite event; got {options.id}, which {many} "
            f"{'begin' if len(fitting) > 1 else 'begins'} with\n\n"
            "hint: without --id, all are listed"
        )
    return fitting[0]


def _list(found: Any, given: Given, form: str) -> int:  # noqa: ANN401 (as for _ids)
    words, total = given.words, len(found)
    first = found[:_LISTED] if isinstance(found, list) else _composites(found, given)
    if form == "json":
        print(json.dumps([words.record(event) for event in first], ensure_ascii=False))
        return DONE
    for number, event in enumerate(first, start=1):
        print(f"{number:>4}  {str(event.id)[:8]}  {words.event(event)}  by {event.rule}")
    if total > _LISTED:
        print(f"      and {total - _LISTED} more")
    if not total:
        print("nothing was found; --not RULE tells why")
    return DONE


def _composites(found: Any, given: Given) -> list[CompositeEvent]:  # noqa: ANN401 (of Arrow)
    """The first rows of a table as composite events, without what they are made of."""
    rows = found.slice(0, _LISTED).to_pylist()
    own = ("id", "type", "ts", "start", "rule", "events")
    return [
        CompositeEvent(
            row["type"],
            given.time(row["start"]),
            given.time(row["ts"]),
            {name: value for name, value in row.items() if name not in own},
            row["id"],
            row["rule"],
        )
        for row in rows
    ]


def _print(found: Why | WhyNot, form: str) -> None:
    print(json.dumps(found.to_dict(), ensure_ascii=False, indent=2) if form == "json" else found)


def _told(error: object, status: int) -> int:
    print(f"error: {error}", file=sys.stderr)
    return status
