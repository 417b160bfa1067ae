"""`cepheid test --capture`: a match or its absence from real data becomes a case."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.cli.history import Dial, add_history, read_history
from cepheid.cli.loading import count, loaded
from cepheid.errors import CepheidError, EventError, SpecError
from cepheid.languages import LANGUAGES
from cepheid.units import parse_time

if TYPE_CHECKING:
    from cepheid.capture import History
    from cepheid.testing import Case

DONE, FAILED, USAGE = 0, 1, 2
_LATER = "\0"
"""Stands for the name of a case that says what was found."""


def add_capture(command: argparse.ArgumentParser) -> None:
    """The arguments of `cepheid test` that are for capturing."""
    command.add_argument(
        "--capture", action="store_true", help="make a case from real data; SPEC names the rules"
    )
    group = command.add_argument_group("with --capture")
    which = group.add_mutually_exclusive_group()
    which.add_argument("--id", help="the composite event with this id, or that begins with it")
    which.add_argument("--match", type=int, metavar="N", help="the N-th composite event")
    which.add_argument("--around", metavar="TIME", help="what the rule finds there, or does not")
    group.add_argument("--rule", metavar="NAME", help="the rule that is meant")
    group.add_argument("--margin", metavar="TIME", help="how far around the time (1min)")
    group.add_argument(
        "--key", action="append", default=[], metavar="NAME=VALUE", help="only events of this key"
    )
    group.add_argument("--name", help="what the case is called")
    group.add_argument("--to", type=Path, metavar="FILE", help="add the case to this spec file")
    add_history(group)
    group.add_argument("--language", choices=list(LANGUAGES), help="instead of the files' ending")
    group.add_argument("--schema", type=Path, help="a file that declares the event types")


def capture_command(options: argparse.Namespace) -> int:
    """Make a case, check it, and write it; the result is the exit status."""
    if options.id is None and options.match is None and options.around is None:
        return _told("--id, --match or --around must say what to capture", USAGE)
    if not options.input:
        return _told("--input must say where the events are\n\nhint: --input events.csv", USAGE)
    rules = loaded(argparse.Namespace(**{**vars(options), "rules": options.specs}))
    if rules is None:
        return USAGE
    try:
        from cepheid.capture import History

        history = History.of(rules, read_history(options, rules), options.unit)
        case = _captured(history, options)
        return _write(case, options.to)
    except CepheidError as error:
        from cepheid.spark.causes import in_commands

        return _told(in_commands(str(error)), FAILED)


def _told(message: str, status: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


def _captured(history: History, options: argparse.Namespace) -> Case:
    from cepheid.capture import MARGIN, capture_around, capture_match

    dial = Dial(options.unit)
    if options.around is None:
        wanted = options.id
        id_ = history.by_id(wanted) if wanted else history.by_number(options.match, options.rule)
        return capture_match(history, id_, options.name or _match_name(history, id_, dial, options))
    rule, moment = history.named(options.rule), dial.read(options.around)
    margin = parse_time(options.margin) if options.margin else MARGIN
    case = capture_around(
        history, rule, moment, margin=margin, keys=_keys(options.key), name=options.name or _LATER
    )
    what = f"{rule.name} finds {'what is expected' if case.expect else 'nothing'}"
    known = f"rule {what} around {dial.text(moment)}{_from(options)}"
    return replace(case, name=case.name.replace(_LATER, known, 1))


def _match_name(history: History, id_: str, dial: Dial, options: argparse.Namespace) -> str:
    import pyarrow.compute as pc  # type: ignore[import-untyped]  # it has no types

    ids = history.found["id"]
    (row,) = history.found.filter(pc.equal(ids, id_)).to_pylist()
    return f"a match of rule {row['rule']} at {dial.text(row['ts'])}{_from(options)}"


def _from(options: argparse.Namespace) -> str:
    return f", captured from {', '.join(path.name for path in options.input)}"


def _keys(given: list[str]) -> dict[str, str]:
    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise EventError(f"--key must be NAME=VALUE; got {pair[:40]}")
        found[name] = value
    return found


def _write(case: Case, file: Path | None) -> int:
    from cepheid.testing import format_case

    text = format_case(case)
    if file is None:
        # Parted from whatever stands before it in a file to which this is added.
        print(f"---\n{text}", end="")
        return DONE
    try:
        before = file.read_text("utf-8") if file.exists() else ""
        parted = before and not before.rstrip().endswith("---")
        gap = "" if before.endswith("\n") or not before else "\n"
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"{gap}---\n{text}" if parted else f"{gap}{text}")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{file} cannot be written: {error}") from None
    events, found = len(case.events), len(case.expect or ())
    size = f"{count(events, 'event')}, {count(found, 'composite event')}"
    print(f"added to {file}: {case.name.splitlines()[0]} ({size})")
    return DONE
