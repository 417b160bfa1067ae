"""Spec files: rules with their tests, for Cepheid itself and for users' own rules.

A case is a block; blocks are parted by a line `---`. The format is described in docs/spec-files.md.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cepheid.algebra import Rule
from cepheid.errors import CepheidError, EventError, Problem, RuleError, SpecError, did_you_mean
from cepheid.events import CompositeEvent, Event, kind_of
from cepheid.languages import LANGUAGES
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
OPTIONS = {
    "until": r"\S.*",
    "failures": "true|false",
    "policy": r"guaranteed|best_effort|probable\(.*\)",
    "delay": r"\S.*",
    "late": r"\d+",
}
"""The options of a case, with what their values look like."""
ARRIVAL_OPTIONS = ("policy", "delay", "late")
"""The options with which events arrive in the order in which they are written."""

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

    @property
    def until(self) -> int | None:
        """The time to which time goes on, if the case says so."""
        return parse_time(self.options["until"]) if "until" in self.options else None

    @property
    def failures(self) -> bool:
        """Whether failure events count among what is found."""
        return self.options.get("failures") == "true"

    @property
    def arrives(self) -> bool:
        """Whether events arrive in the order in which they are written, whatever their times."""
        return any(name in self.options for name in ARRIVAL_OPTIONS)

    @property
    def policy(self) -> str:
        """When an event that has arrived is consumed."""
        return self.options.get("policy", "guaranteed")

    @property
    def delay(self) -> int:
        """The allowed delay."""
        return parse_time(self.options.get("delay", "0"))

    def check_late(self, count: int) -> None:
        """Insist on the number of late events that the case asks for."""
        if count != int(self.options.get("late", count)):
            raise SpecError(f"number of late events must be {self.options['late']}; got {count}")

    def runs_on(self, runtime: str) -> bool:
        """Whether a runtime can run the case.

        The oracle knows no arrival that may be wrong, and over a finite table of Spark nothing
        arrives at all.
        """
        if runtime == "spark-batch":
            return not self.arrives
        return runtime != "oracle" or self.policy == "guaranteed"

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
    events = _in_time(case) if case.arrives else case.events
    case.check_late(len(case.events) - len(events))
    outcome = evaluate(
        rules.rules, events, schema=rules.schema, until=case.until, failures=case.failures
    )
    return outcome.events


def _in_time(case: Case) -> list[Event]:
    """The events that are not late: older than the newest of every source by the delay at most."""
    newest: dict[object, int] = {}
    watermark: float = -math.inf
    kept = []
    for event in case.events:
        if event.end >= watermark:
            kept.append(event)
        source = event.attributes.get("source") if case.delay else None
        newest[source] = max(event.end, newest.get(source, event.end))
        watermark = max(watermark, min(newest.values()) - case.delay)
    return kept


def _on_engine(rules: Rules, case: Case) -> Sequence[CompositeEvent]:
    """The engine is imported when it is needed, as it brings large libraries."""
    from cepheid.runtime.cases import run_on_engine

    return run_on_engine(rules, case)


RUNTIMES: dict[str, Runtime] = {"oracle": _on_oracle, "embedded": _on_engine}
"""The runtimes in this process that a case can run on, by name."""
SPARK_RUNTIMES = ("spark-batch", "spark-stream")
"""The runtimes that run many cases in one job; they need Spark and Java."""


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


# --- writing -----------------------------------------------------------------


def format_case(case: Case) -> str:
    """Write a case as it stands in a spec file.

    >>> events = tuple(parse_events("A@1"))
    >>> case = Case("an A", "sase", "EVENT A x", events, tuple(parse_events("Match@1")))
    >>> print(format_case(case), end="")
    # an A
    language: sase
    rule:
      EVENT A x
    events:
      A@1
    expect:
      Match@1
    """
    sections = {
        "schema": case.schema,
        "rule": case.rule,
        "events": _lines(case.events),
        "options": "\n".join(f"{name} = {value}" for name, value in case.options.items()),
        "warning": case.warning or "",
        "error": case.error or "",
    }
    lines = [f"# {line}" for line in case.name.splitlines()] + [f"language: {case.language}"]
    for name, text in sections.items():
        lines += [f"{name}:", textwrap.indent(text, "  ")] if text else []
    if case.expect is not None:
        lines += ["expect:", textwrap.indent(_lines(case.expect), "  ")]
    return "\n".join(filter(None, lines)) + "\n"


def _lines(events: Sequence[Event]) -> str:
    return "\n".join(map(format_event, events))


def format_cases(cases: Sequence[Case]) -> str:
    """Write cases as a spec file."""
    return "---\n".join(map(format_case, cases))


def cases_of(
    name: str,
    rules: Sequence[Rule],
    events: Sequence[Event],
    found: Sequence[CompositeEvent],
    options: dict[str, str] | None = None,
) -> list[Case]:
    """Cases that say what rules find in events: one for every language, as a case has only one.

    >>> rules = load("QUERY Q EVENT A x", language="sase")
    >>> events = parse_events("A@1")
    >>> (case,) = cases_of("an A", list(rules), events, rules.detect(events))
    >>> run_case(case).passed
    True
    """
    cases = []
    for language in dict.fromkeys(rule.language for rule in rules):
        own = [rule for rule in rules if rule.language == language]
        names = {rule.name for rule in own}
        cases.append(
            Case(
                name,
                language,
                "\n".join(LANGUAGES[language].write(rule).rstrip() for rule in own),
                tuple(events),
                tuple(event for event in found if event.rule in names),
                options=options or {},
            )
        )
    return cases


# --- running -----------------------------------------------------------------


def run_case(case: Case, runtime: str = "oracle") -> Result:
    """Run a case on a runtime and tell how what it gave differs from what it expects."""
    (result,) = run_cases([case], runtime)
    return result


def run_cases(cases: Sequence[Case], runtime: str = "oracle", *, seed: int = 0) -> list[Result]:
    """Run cases on a runtime; on Spark they go together, cut into micro-batches by the seed."""
    results: dict[int, Result] = {}
    ready: list[tuple[int, Rules]] = []
    for number, case in enumerate(cases):
        judged = _loaded(case)
        if isinstance(judged, Result):
            results[number] = judged
        else:
            ready.append((number, judged))
    run = _run_on_spark if runtime in SPARK_RUNTIMES else _run_here
    for (number, _), result in zip(
        ready, run([(rules, cases[n]) for n, rules in ready], runtime, seed), strict=True
    ):
        results[number] = result
    return [results[number] for number in range(len(cases))]


def _loaded(case: Case) -> Rules | Result:
    """The rules of a case that is to be run; the result of one that ends with its rules."""
    try:
        rules = case.load()
    except RuleError as error:
        return Result(case, _error_difference(case, error.problems))
    except EventError as error:
        return Result(case, f"the schema of the case cannot be read: {error}")
    if case.error is not None:
        return Result(case, f"expected an error: {case.error}\nbut the rules are accepted")
    warned = _warning_difference(case, rules.warnings)
    return Result(case, warned) if warned else rules


def _run_here(given: Sequence[tuple[Rules, Case]], runtime: str, seed: int) -> Iterator[Result]:
    for rules, case in given:
        try:
            found = RUNTIMES[runtime](rules, case)
        except CepheidError as error:
            yield Result(case, f"evaluation ended with: {error}")
        else:
            yield Result(case, difference(case.expect or (), found))


def _run_on_spark(given: Sequence[tuple[Rules, Case]], runtime: str, seed: int) -> Iterator[Result]:
    """Spark is imported when it is needed; most who test rules do without."""
    from cepheid.spark.cases import run_on_spark

    if not given:
        return
    streaming = runtime == "spark-stream"
    for (_, case), found in zip(
        given, run_on_spark(given, streaming=streaming, seed=seed), strict=True
    ):
        try:
            if streaming:
                case.check_late(found.late)
        except CepheidError as error:
            yield Result(case, str(error))
        else:
            yield Result(case, difference(case.expect or (), found.events))


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


def difference(expected: Sequence[Event], found: Sequence[Event]) -> str:
    """What is missing in a list of events and what is too much; nothing when they are alike.

    >>> print(difference(parse_events("A@1"), parse_events("A@1 A@1")))
    unexpected: A@1
    """
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
