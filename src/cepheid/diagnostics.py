"""Diagnostics: what is wrong with rule files and spec files, as editors want to be told.

Each problem has its file and place, from the first character to the one after the last, lines and
columns counted from 1. `cepheid check --format json` prints them, the language server sends them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cepheid.algebra import Rule
from cepheid.errors import (
    CepheidError,
    EventError,
    Problem,
    Report,
    RuleError,
    Source,
    SpecError,
)
from cepheid.events import Schema
from cepheid.languages import LANGUAGES, Language
from cepheid.languages.lowering import Context
from cepheid.literals import parse_schema
from cepheid.rules import read_texts
from cepheid.testing import Case, parse_cases, run_case

SPEC = ".test"
"""The ending of spec files."""
TYPES = ".schema"
"""The ending of files with event types."""
SCHEMA = "events.schema"
"""The file in which an editor looks for the event types, beside the rules or above them."""
_LINE_COLUMN = re.compile(r"line (\d+), column (\d+): ")
_PLACE = re.compile(r".*?:(\d+): (.*)", re.DOTALL)


@dataclass(frozen=True)
class Diagnostic:
    """One problem with its place; line and column are None where it has none."""

    file: str
    line: int | None
    column: int | None
    end_line: int | None
    end_column: int | None
    severity: str
    condition: str
    message: str
    expected: str = ""
    hint: str = ""
    rule: str = ""

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def diagnostic_of(problem: Problem, file: str = "") -> Diagnostic:
    """A problem as a diagnostic.

    >>> import cepheid
    >>> try:
    ...     cepheid.load("QUERY Q EVENT A x WITHIN 0", language="sase", name="q.sase")
    ... except cepheid.RuleError as error:
    ...     found = diagnostic_of(error.problems[0])
    >>> found.file, found.line, found.column, found.end_column, found.condition
    ('q.sase', 1, 26, 27, 'WRONG_WINDOW')
    """
    span = problem.span
    if span is not None and span.source is not None:
        file = span.source.name or file
    return Diagnostic(
        file,
        span.line if span else None,
        span.column if span else None,
        span.line if span else None,
        span.column + span.length if span else None,
        problem.severity,
        problem.condition,
        problem.message,
        problem.expected,
        problem.hint,
        problem.rule,
    )


# --- rule files -----------------------------------------------------------------------------


def language_of(file: Path) -> Language | None:
    """The language that the ending of a file speaks of."""
    return next((one for one in LANGUAGES.values() if one.ending == file.suffix), None)


def read_rules(
    sources: Iterable[tuple[Source, Language]], schema: Schema | None
) -> tuple[list[Rule], list[Problem]]:
    """Rules as far as they can be read, and everything that is wrong with them."""
    report = Report()
    rules = read_texts(sources, Context(schema or Schema()), report)
    return rules, report.problems


def with_neighbours(text: Source, file: Path) -> list[tuple[Source, Language]]:
    """A rule file that is being edited, with the others of its folder as they are on disk.

    Rules may use what a rule of another file defines.
    """
    own = language_of(file)
    found = [] if own is None else [(text, own)]
    for other in sorted(file.parent.glob("*")) if file.parent.is_dir() else ():
        language = language_of(other)
        if language is not None and other.name != file.name and other.is_file():
            try:
                found.append((Source(other.read_text("utf-8-sig"), str(other)), language))
            except (OSError, UnicodeDecodeError):
                continue
    return found


def schema_near(file: Path) -> Schema | None:
    """The event types that are declared beside a file or in one of the two folders above."""
    for folder in list(file.parents)[:3]:
        try:
            return parse_schema((folder / SCHEMA).read_text("utf-8-sig"))
        except (OSError, UnicodeDecodeError, EventError):
            continue
    return None


def diagnose_schema(text: str, name: str) -> Iterator[Diagnostic]:
    """What is wrong with a file of event types; reading ends at the first mistake."""
    try:
        parse_schema(text)
    except EventError as error:
        place = _LINE_COLUMN.match(str(error))
        line, column = (int(place[1]), int(place[2])) if place else (1, 1)
        message = str(error)[place.end() if place else 0 :]
        yield Diagnostic(name, line, column, line, column + 1, "error", "SCHEMA", message)


# --- spec files -----------------------------------------------------------------------------


def diagnose_spec(text: str, name: str, *, run: bool = True) -> Iterator[Diagnostic]:
    """What is wrong with a spec file: how it is written, its rules, and cases that fail."""
    try:
        cases = parse_cases(text, name)
    except SpecError as error:
        place = _PLACE.fullmatch(str(error))
        line, message = (int(place[1]), place[2]) if place else (1, str(error))
        yield _at_line(name, line, text, "SPEC", message)
        return
    lines = text.split("\n")
    for case in cases:
        yield from _diagnose_case(case, lines, name, run=run)


def rule_in_spec(text: str, name: str, line: int) -> Rule | None:
    """The rule of a spec file in whose text a line lies, else the nearest of its case."""
    try:
        cases = [case for case in parse_cases(text, name) if case.line <= line]
        rules = cases[-1].load().rules if cases else ()
    except CepheidError:
        return None
    if not rules:
        return None
    first, _ = _rule_section(cases[-1], text.split("\n"))
    above = [rule for rule in rules if rule.span and rule.span.line + first - 1 <= line]
    return above[-1] if above else rules[0]


def _diagnose_case(
    case: Case, lines: Sequence[str], name: str, *, run: bool
) -> Iterator[Diagnostic]:
    try:
        case.load()
    except RuleError as error:
        if case.error is None:
            for problem in error.problems:
                yield _moved(diagnostic_of(problem), case, lines, name)
            return
    except EventError as error:
        yield _at_line(name, case.line, "\n".join(lines), "SPEC", f"the schema: {error}")
        return
    if run and case.runs_on("oracle"):
        result = run_case(case)
        if not result.passed:
            yield _at_line(name, case.line, "\n".join(lines), "FAILED", result.difference)


def _moved(found: Diagnostic, case: Case, lines: Sequence[str], name: str) -> Diagnostic:
    """A problem of a case's rule, at its place in the whole file."""
    if found.line is None or found.column is None or found.end_column is None:
        return replace(found, file=name, line=case.line, column=1, end_line=case.line, end_column=2)
    first, indent = _rule_section(case, lines)
    line = first + found.line - 1
    return replace(
        found,
        file=name,
        line=line,
        column=found.column + indent,
        end_line=line,
        end_column=found.end_column + indent,
    )


def _rule_section(case: Case, lines: Sequence[str]) -> tuple[int, int]:
    """The line on which the rules of a case begin, and how far they are indented."""
    at = next(n for n in range(case.line - 1, len(lines)) if lines[n].startswith("rule:"))
    wanted = case.rule.split("\n")
    if lines[at].removeprefix("rule:").strip():
        return at + 1, len(lines[at]) - len(lines[at].removeprefix("rule:").lstrip())
    begin = next(n for n in range(at + 1, len(lines)) if lines[n].strip())
    return begin + 1, lines[begin].find(wanted[0].strip()[:1]) - (
        len(wanted[0]) - len(wanted[0].lstrip())
    )


def _at_line(name: str, line: int, text: str, condition: str, message: str) -> Diagnostic:
    lines = text.split("\n")
    length = len(lines[line - 1]) if 1 <= line <= len(lines) else 0
    return Diagnostic(name, line, 1, line, max(length, 1) + 1, "error", condition, message)
