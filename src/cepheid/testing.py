"""Spec files: rules with their tests, for Cepheid itself and for users' own rules.

A case is a block; blocks are parted by a line `---`. The format is described in docs/spec-files.md.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cepheid.errors import CepheidError, EventError, Problem, RuleError, SpecError, did_you_mean
from cepheid.events import CompositeEvent, Event, kind_of
from cepheid.literals import format_event, parse_events
from cepheid.oracle import evaluate
from cepheid.rules import Rules, load
from cepheid.units import parse_time

SECTIONS = (
    "language",
    "schema",
    "rule",
    "events",
    "options",
    "expect",
    "warning",
    "error",
)
OPTIONS = {"until": r"\S.*", "failures": "true|false"}
"""The options of a case, with what their values look like."""

_HEADER = re.compile(rf"({'|'.join(SECTIONS)}):[ \t]*(.*)")
_SECTION_LIKE = re.compile(r"[a-z]+:\s*")
_POSITION = re.compile(r"(.*?)\s+at\s+(\d+):(\d+)", re.DOTALL)


@dataclass(frozen=True)
class Case:
    """One case of a spec file."""

    name: str
    language: str
    rule: str
    events: tuple[Event, ...] = ()
    expect: tuple[Event, ...] | None = None
    error: str | None = None
    warning: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    schema: str = ""
    source: str = ""
    line: int = 1

    @property
    def place(self) -> str:
        """Where the case stands."""
        return f"{self.source}:{self.line}" if self.source else f"line {self.line}"

    def load(self) -> Rules:
        """The rules of the case, checked."""
        return load(
            self.rule + "\n",
            language=self.language,
            schema=self.schema or None,
            name=f"rule of the case at {self.place}",
        )


@dataclass(frozen=True)
class Result:
    """How a case ended: nothing in `difference` means that it passed."""

    case: Case
    difference: str = ""

    @property
    def passed(self) -> bool:
        """Whether the case gave what it expects."""
        return not self.difference


Runtime = Callable[[Rules, Case], Sequence[CompositeEvent]]


def _on_oracle(rules: Rules, case: Case) -> Sequence[CompositeEvent]:
    until = parse_time(case.options["until"]) if "until" in case.options else None
    failures = case.options.get("failures", "false") == "true"
    outcome = evaluate(
        rules.rules, case.events, schema=rules.schema, until=until, failures=failures
    )
    return outcome.events


RUNTIMES: dict[str, Runtime] = {"oracle": _on_oracle}
"""The runtimes that a case can run on, by name."""


# --- reading -----------------------------------------------------------------


def read_cases(path: str | Path) -> list[Case]:
    """The cases of a spec file."""
    file = Path(path)
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"spec file {file} cannot be read: {error}") from None
    return parse_cases(text, str(file))


def parse_cases(text: str, source: str = "") -> list[Case]:
    """The cases of a text.

    >>> case, = parse_cases('''# a filter
    ... language: tesla
    ... rule:
    ...   Rule Hot define Alarm() from Temp(value > 45)
    ... events:
    ...   Temp@1(value=50.0)
    ... expect:
    ...   Alarm@1
    ... ''')
    >>> case.name, run_case(case).passed
    ('a filter', True)
    """
    return [_parse_case(block, line, source) for block, line in _blocks(text)]


def _blocks(text: str) -> Iterator[tuple[list[str], int]]:
    block: list[str] = []
    start = 1
    for number, line in enumerate([*text.split("\n"), "---"], start=1):
        if line.rstrip() == "---":
            if any(content.strip() and not content.startswith("#") for content in block):
                yield block, start
            block, start = [], number + 1
        else:
            block.append(line)


def _parse_case(lines: list[str], first: int, source: str) -> Case:
    sections: dict[str, list[str]] = {}
    title: list[str] = []
    current: list[str] | None = None
    for number, line in enumerate(lines, start=first):
        header = _HEADER.fullmatch(line.rstrip())
        if header:
            if header[1] in sections:
                raise _wrong(source, number, f"section {header[1]} must stand once in a case")
            current = sections.setdefault(header[1], [header[2]] if header[2] else [])
        elif _SECTION_LIKE.fullmatch(line):
            word = line.strip(": ")
            hint = did_you_mean(word, SECTIONS)
            raise _wrong(source, number, f"section {word} is not known ({hint})")
        elif current is not None:
            current.append(line)
        elif line.startswith("#"):
            title.append(line.lstrip("# ").rstrip())
        elif line.strip():
            raise _wrong(source, number, f"a section is needed; got {line.strip()[:40]}")
    start = first + next((i for i, line in enumerate(lines) if line.strip()), 0)
    return _build_case(" ".join(title), sections, source, start)


def _build_case(name: str, sections: dict[str, list[str]], source: str, line: int) -> Case:
    texts = {key: textwrap.dedent("\n".join(lines)).strip("\n") for key, lines in sections.items()}
    for needed in ("language", "rule"):
        if not texts.get(needed, "").strip():
            raise _wrong(source, line, f"a case must have a section {needed}")
    if ("expect" in texts) == ("error" in texts):
        raise _wrong(source, line, "a case must have either expect or error")
    try:
        events = tuple(parse_events(_uncommented(texts.get("events", ""))))
        expect = tuple(parse_events(_uncommented(texts["expect"]))) if "expect" in texts else None
    except EventError as error:
        raise _wrong(source, line, f"events of the case cannot be read: {error}") from None
    return Case(
        name,
        texts["language"].strip(),
        texts["rule"],
        events,
        expect,
        texts["error"].strip() if "error" in texts else None,
        texts["warning"].strip() if "warning" in texts else None,
        _options(texts.get("options", ""), source, line),
        texts.get("schema", ""),
        source,
        line,
    )


def _uncommented(text: str) -> str:
    return "\n".join("" if line.lstrip().startswith("#") else line for line in text.split("\n"))


def _options(text: str, source: str, line: int) -> dict[str, str]:
    options = {}
    for entry in filter(str.strip, text.split("\n")):
        key, _, value = (part.strip() for part in entry.partition("="))
        if key not in OPTIONS:
            hint = did_you_mean(key, OPTIONS)
            raise _wrong(source, line, f"option {key} is not known ({hint})")
        if not re.fullmatch(OPTIONS[key], value):
            raise _wrong(source, line, f"option {key} must be {OPTIONS[key]}; got {value}")
        options[key] = value
    return options


def _wrong(source: str, line: int, message: str) -> SpecError:
    return SpecError(f"{source or '<text>'}:{line}: {message}")


# --- running -----------------------------------------------------------------


def run_case(case: Case, runtime: str = "oracle") -> Result:
    """Run a case on a runtime and tell how what it gave differs from what it expects."""
    try:
        rules = case.load()
    except RuleError as error:
        return Result(case, _error_difference(case, error.problems))
    except EventError as error:
        return Result(case, f"the schema of the case cannot be read: {error}")
    if case.error is not None:
        return Result(case, f"expected an error: {case.error}\nbut the rules are accepted")
    difference = _warning_difference(case, rules.warnings)
    if difference:
        return Result(case, difference)
    try:
        found = RUNTIMES[runtime](rules, case)
    except CepheidError as error:
        return Result(case, f"evaluation ended with: {error}")
    return Result(case, _difference(case.expect or (), found))


def _error_difference(case: Case, problems: Sequence[Problem]) -> str:
    told = "\n\n".join(map(str, problems))
    if case.error is None:
        return f"the rules are not accepted:\n{told}"
    if any(_is_meant(case.error, problem) for problem in problems):
        return ""
    return f"expected an error: {case.error}\nbut got:\n{told}"


def _warning_difference(case: Case, warnings: Sequence[Problem]) -> str:
    if case.warning is None or any(_is_meant(case.warning, problem) for problem in warnings):
        return ""
    told = "\n\n".join(map(str, warnings)) or "none"
    return f"expected a warning: {case.warning}\nbut got:\n{told}"


def _is_meant(text: str, problem: Problem) -> bool:
    match = _POSITION.fullmatch(text)
    if match is None:
        return text in str(problem)
    span = problem.span
    at_place = span is not None and (span.line, span.column) == (int(match[2]), int(match[3]))
    return at_place and match[1] in str(problem)


def _difference(expected: Sequence[Event], found: Sequence[CompositeEvent]) -> str:
    wanted = Counter(map(_content, expected))
    given = Counter(map(_content, found))
    lines = [f"missing:    {format_event(e)}" for e in _left_over(expected, wanted - given)]
    for event in _left_over(found, given - wanted):
        rule = f"  (rule {event.rule})" if isinstance(event, CompositeEvent) else ""
        lines.append(f"unexpected: {format_event(event)}{rule}")
    return "\n".join(lines)


def _left_over(events: Sequence[Event], surplus: Counter[tuple[object, ...]]) -> Iterator[Event]:
    for event in events:
        content = _content(event)
        if surplus[content] > 0:
            surplus[content] -= 1
            yield event


def _content(event: Event) -> tuple[object, ...]:
    attributes = frozenset((n, kind_of(v).value, v) for n, v in event.attributes.items())
    return (event.type, event.start, event.end, attributes)
