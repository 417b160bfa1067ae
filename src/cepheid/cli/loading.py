"""Reading the rules that a command names; what is wrong is told on standard error."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from cepheid.errors import CepheidError, RuleError, did_you_mean
from cepheid.languages import LANGUAGES
from cepheid.rules import Rules, load


def add_rules(command: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """The arguments that name rules."""
    command.add_argument(
        "rules", nargs="+" if needed else "*", type=Path, metavar="RULES", help="files or folders"
    )
    command.add_argument("--language", choices=list(LANGUAGES), help="instead of the file's ending")
    command.add_argument("--schema", type=Path, help="a file that declares the event types")


def loaded(options: argparse.Namespace) -> Rules | None:
    """The rules that a command names; None when they cannot be used."""
    try:
        schema = options.schema.read_text("utf-8-sig") if options.schema else None
        return load(options.rules, language=options.language, schema=schema)
    except RuleError as error:
        print(error, file=sys.stderr)
        print(f"\n{count(len(error.problems), 'error')}", file=sys.stderr)
    except CepheidError as error:
        print(f"error: schema {options.schema}: {error}", file=sys.stderr)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        print(f"error: schema {options.schema} cannot be read: {reason}", file=sys.stderr)
    return None


def chosen(rules: Rules, name: str | None) -> Rules | None:
    """The rule of a name, or all of them; None when there is no such rule, which is told."""
    if name is None:
        return rules
    found = tuple(rule for rule in rules if rule.name == name)
    if found:
        return replace(rules, rules=found)
    names = [rule.name for rule in rules]
    hint = did_you_mean(name, names) or f"the rules are {', '.join(names[:20])}"
    print(f"error: no rule is called {name}\n\nhint: {hint}", file=sys.stderr)
    return None


def count(number: int, noun: str, *, separated: bool = False) -> str:
    """A number with its noun, which is in the plural unless there is one."""
    shown = f"{number:,}" if separated else str(number)
    return f"{shown} {noun}{'' if number == 1 else 's'}"
