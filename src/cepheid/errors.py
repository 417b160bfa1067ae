"""What can go wrong, said so that it can be put right: problems with a place, a cause and a hint.

Every stage on the way of a rule reports `Problem`s instead of raising at the first one, so that
one run tells everything that is wrong. The exceptions at the end carry them to the caller.
"""

from __future__ import annotations

import difflib
import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Literal

CONDITIONS: dict[str, str] = {
    "AMBIGUOUS_LABEL": "a label or type name stands for more than one event of the rule",
    "DUPLICATE_DEFINITION": "a type is defined twice with different attributes",
    "DUPLICATE_LABEL": "a label names two events of one rule",
    "DUPLICATE_RULE": "two rules have the same name",
    "EMPTY_MATCH": "the pattern accepts nothing at all",
    "EMPTY_TEXT": "a text without a rule",
    "LIMIT_EXCEEDED": "a stated limit on size or depth",
    "NEGATION_WITHOUT_WINDOW": "a negation at an end of the pattern needs a window",
    "NOT_SPLITTABLE": "a WHERE clause mixes positive and negative components",
    "NUMBER_OUT_OF_RANGE": "a number does not fit into 64 bits",
    "RECURSIVE_RULES": "rules feed on each other's output around a circle",
    "SYNTAX": "the text is not of the language",
    "UNBOUNDED_STATE": "the rule may keep events for ever",
    "UNKNOWN_ATTRIBUTE": "an attribute that the event does not have",
    "UNKNOWN_EVENT": "an event type that nothing declares or defines",
    "UNKNOWN_LABEL": "a label that the rule does not bind",
    "UNKNOWN_LANGUAGE": "a file ending or language name that is not known",
    "UNKNOWN_NAME": "a name that is not declared",
    "UNKNOWN_PARAMETER": "a parameter that nothing binds",
    "WRONG_STRUCTURE": "the parts of the rule do not fit together",
    "WRONG_TYPE": "a value of another type is needed",
    "WRONG_WINDOW": "a window must be longer than nothing",
}
"""Every condition that a problem can have, by its stable name."""

_EXPECTED: dict[str, tuple[str, str]] = {
    "AMBIGUOUS_LABEL": ("a name that stands for one event", "name the event that is meant"),
    "DUPLICATE_DEFINITION": (
        "every name defined once, with the same attributes everywhere",
        "take one of them out, or give it another name",
    ),
    "DUPLICATE_LABEL": ("a name of its own for every event", "give one of them another name"),
    "DUPLICATE_RULE": ("a name of its own for every rule", "give one of them another name"),
    "EMPTY_MATCH": ("a pattern that needs at least one event", "let a part of it be needed"),
    "EMPTY_TEXT": ("at least one rule", "write a rule"),
    "LIMIT_EXCEEDED": ("a text within the stated limits", "split the rule or the text"),
    "NEGATION_WITHOUT_WINDOW": ("a window around every negation", "add a window"),
    "NOT_SPLITTABLE": (
        "conditions that speak either of one absent event or of none",
        "write the alternatives as rules of their own",
    ),
    "NUMBER_OUT_OF_RANGE": ("a number that fits into 64 bits", "write a smaller number"),
    "SYNTAX": (
        "a rule of the language",
        "the page of the language shows how each clause is written",
    ),
    "UNKNOWN_ATTRIBUTE": ("an attribute that the event has", "look at the event's declaration"),
    "UNKNOWN_EVENT": ("a declared or defined event", "declare it, or correct its name"),
    "UNKNOWN_LABEL": ("the name of an event of the rule", "name one of the rule's events"),
    "UNKNOWN_LANGUAGE": ("a known language", "name one of the languages"),
    "UNKNOWN_NAME": ("a name that is known", "declare it, or correct it"),
    "UNKNOWN_PARAMETER": ("a parameter that an event binds", "bind it: Smoke(area = $a)"),
    "WRONG_STRUCTURE": (
        "parts that fit together",
        "the page of the language shows what may stand where",
    ),
    "WRONG_TYPE": ("a value of the right type", "give it a value of that type"),
    "WRONG_WINDOW": ("a window longer than nothing", "write a positive length"),
}
"""What is expected in general where a problem does not say it better, and advice."""

PROBLEM_LIMIT = 100
"""How many errors one report keeps, and how many warnings and notes."""

HINT_LENGTH = 40
"""The longest name that a hint proposes."""

Severity = Literal["error", "warning", "note"]


class Source:
    """A text with a name: what spans point into."""

    def __init__(self, text: str, name: str = "") -> None:
        self.text = text
        self.name = name
        self._lines: list[str] | None = None

    def line(self, number: int) -> str:
        """The line with this number, counted from 1."""
        if self._lines is None:
            self._lines = self.text.split("\n")
        return self._lines[number - 1] if 1 <= number <= len(self._lines) else ""


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text: line and column count from 1, length in characters."""

    line: int
    column: int
    length: int = 1
    source: Source | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a rule, a spec file or an event.

    >>> problem = Problem("UNKNOWN_EVENT", "event Tmep is not known", hint="did you mean Temp?")
    >>> print(problem)
    error: event Tmep is not known [UNKNOWN_EVENT]
    expected: a declared or defined event
    hint: did you mean Temp?
    """

    condition: str
    message: str
    span: Span | None = None
    expected: str = ""
    hint: str = ""
    rule: str = ""
    severity: Severity = "error"

    def __post_init__(self) -> None:
        """An error says what is expected and what to do, at least in general."""
        if self.severity == "error":
            expected, hint = _EXPECTED.get(self.condition, ("", ""))
            object.__setattr__(self, "expected", self.expected or expected)
            object.__setattr__(self, "hint", self.hint or hint)

    def __str__(self) -> str:
        lines = [f"{self.place}{self.severity}: {self.message} [{self.condition}]", *self.caret]
        if self.expected:
            lines.append(f"expected: {self.expected}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    @property
    def place(self) -> str:
        """Where it is, as file, line and column; nothing where that is not known."""
        if self.span is None:
            return ""
        name = self.span.source.name if self.span.source else ""
        return f"{name or '<text>'}:{self.span.line}:{self.span.column}: "

    @property
    def caret(self) -> list[str]:
        """The line that it is in, and a mark below the place."""
        if self.span is None or self.span.source is None:
            return []
        text, start = _clip(self.span.source.line(self.span.line), self.span.column - 1)
        number = str(self.span.line)
        width = max(1, min(self.span.length, len(text) - start))
        return [f"  {number} | {text}", f"  {' ' * len(number)} | {' ' * start}{'^' * width}"]


def _clip(line: str, column: int, room: int = 160) -> tuple[str, int]:
    """The part of a line around a column, and where the column is in it; tabs become blanks."""
    line = line.replace("\t", " ")
    if len(line) <= room:
        return line, column
    start = max(0, column - room // 2)
    return line[start : start + room], column - start


@dataclass(slots=True)
class Report:
    """Collects problems, so that one run tells all of them."""

    _kept: dict[Problem, None] = field(default_factory=dict)
    _counts: Counter[bool] = field(default_factory=Counter)
    """How many errors (True) and other problems (False) are kept."""

    @property
    def problems(self) -> list[Problem]:
        """All problems, in the order in which they were found."""
        return list(self._kept)

    @property
    def is_full(self) -> bool:
        """Whether there are so many errors that looking for more helps nobody."""
        return self._counts[True] >= PROBLEM_LIMIT

    def add(self, problem: Problem) -> None:
        """Keep a problem, once; warnings have room of their own, so that they hide no error."""
        is_error = problem.severity == "error"
        if problem not in self._kept and self._counts[is_error] < PROBLEM_LIMIT:
            self._counts[is_error] += 1
            self._kept[problem] = None

    def error(
        self,
        condition: str,
        message: str,
        span: Span | None = None,
        *,
        expected: str = "",
        hint: str = "",
        rule: str = "",
    ) -> None:
        """Keep an error."""
        self.add(Problem(condition, message, span, expected, hint, rule))

    def warn(
        self,
        condition: str,
        message: str,
        span: Span | None = None,
        *,
        hint: str = "",
        rule: str = "",
    ) -> None:
        """Keep a warning: the rule runs, but it may not do what its author thinks."""
        self.add(Problem(condition, message, span, "", hint, rule, "warning"))

    def note(
        self, condition: str, message: str, span: Span | None = None, *, rule: str = ""
    ) -> None:
        """Keep a note: worth knowing, nothing to put right."""
        self.add(Problem(condition, message, span, "", "", rule, "note"))

    @property
    def errors(self) -> list[Problem]:
        """The problems that keep the rules from running."""
        return [problem for problem in self.problems if problem.severity == "error"]

    @property
    def warnings(self) -> list[Problem]:
        """The problems that do not."""
        return [problem for problem in self.problems if problem.severity != "error"]

    def fail_on_errors(self) -> None:
        """Raise all errors together, if there are any."""
        if self.errors:
            raise RuleError(self.errors)


class CepheidError(Exception):
    """The base of everything that Cepheid raises on purpose.

    >>> import cepheid
    >>> try:
    ...     cepheid.parse_event("Temp at noon")
    ... except cepheid.CepheidError as error:
    ...     print(error)
    line 1, column 6: @ is needed; got at noon
    """


class RuleError(CepheidError):
    """Rules that cannot be used, with every problem that was found.

    >>> import cepheid
    >>> try:
    ...     cepheid.load("EVENT SEQ(A x, !(B y)) WHERE z.id = 1", language="sase")
    ... except cepheid.RuleError as error:
    ...     print([problem.condition for problem in error.problems])
    ['UNKNOWN_LABEL', 'NEGATION_WITHOUT_WINDOW']
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n\n".join(map(str, self.problems)))


class EventError(CepheidError):
    """An event, a schema or a time that cannot be read.

    >>> import cepheid
    >>> cepheid.parse_event("Temp@soon")
    Traceback (most recent call last):
    ...
    cepheid.errors.EventError: line 1, column 6: a time such as 10, 1.5s or 3min is needed; got soon
    """


class SpecError(CepheidError):
    """A spec file that cannot be read.

    >>> from cepheid.testing import parse_cases
    >>> parse_cases("rule: EVENT A", "my.test")
    Traceback (most recent call last):
    ...
    cepheid.errors.SpecError: my.test:1: a case must have a section language
    """


class LimitError(CepheidError):
    """A stated limit was reached while events were evaluated.

    It is raised by `Rules.detect` and by engines; the message says which limit and what to do. What
    an engine had found until then is in `found`, in the form in which the call would have given it.

    >>> raise LimitError("periodic timers must give at most 1000000 events in one run")
    Traceback (most recent call last):
    ...
    cepheid.errors.LimitError: periodic timers must give at most 1000000 events in one run
    """

    found: object = ()


class SnapshotError(CepheidError):
    """A snapshot that cannot be restored, or that cannot be taken.

    >>> import cepheid
    >>> cepheid.restore(b"something else")
    Traceback (most recent call last):
    ...
    cepheid.errors.SnapshotError: snapshot must begin with the mark of a Cepheid snapshot...
    """


class ProjectError(CepheidError):
    """Settings of a job, from the command line or a project file, that cannot be used.

    >>> from cepheid.spark.project import checked_project, Project
    >>> checked_project(Project(rules=("fire.tesla",)))
    Traceback (most recent call last):
    ...
    cepheid.errors.ProjectError: --input must say where the events are
    """


class PictureError(CepheidError):
    """A picture that cannot be made or saved as asked.

    >>> import cepheid
    >>> cepheid.load("QUERY Q EVENT A x", language="sase").draw().save("q.png")
    Traceback (most recent call last):
    ...
    cepheid.errors.PictureError: the file must end in .svg; got q.png
    <BLANKLINE>
    hint: for others, rsvg-convert picture.svg -o picture.png
    """


class CannotExpressError(CepheidError):
    """A rule cannot be written in the language that was asked for.

    >>> import cepheid
    >>> from cepheid.languages import LANGUAGES
    >>> rule, = cepheid.load("EVENT A x WHERE x.id = 1", language="sase")
    >>> LANGUAGES["laipl"].write(rule)
    Traceback (most recent call last):
    ...
    cepheid.errors.CannotExpressError: <text>:1:7: rule Match: LAIPL cannot say a tree: ...
    """


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known names, or all of them when there are few.

    >>> did_you_mean("vlaue", ["area", "value"])
    'did you mean value?'
    """
    names = sorted(other for other in set(known) if len(other) <= HINT_LENGTH)
    by_lower = {candidate.lower(): candidate for candidate in names}
    close = _closest(name.lower(), list(by_lower)) if len(name) <= HINT_LENGTH else []
    if close:
        return f"did you mean {' or '.join(by_lower[match] for match in close)}?"
    return f"known: {', '.join(names[:8])}" if names else ""


def slip_of(name: str, known: Iterable[str], declared: Iterable[str]) -> str:
    """A hint where a name is right, and the known one that is like it is not declared.

    >>> slip_of("Smoke", ["Smok", "Temp"], ["Smoke", "Temp"])
    'Smok is not declared, Smoke is: write Smoke in the place of Smok'
    """
    right = set(declared)
    close = _closest(name, [other for other in known if len(other) <= HINT_LENGTH])
    wrong = next((other for other in close if other not in right), "")
    if name not in right or not wrong:
        return ""
    return f"{wrong} is not declared, {name} is: write {name} in the place of {wrong}"


def _closest(name: str, known: list[str]) -> list[str]:
    """The nearest names; only the likeliest are compared in full, which takes long."""
    letters = _pairs(name)
    likely = heapq.nlargest(6, known[:1000], key=lambda other: len(letters & _pairs(other)))
    return difflib.get_close_matches(name, likely, n=2, cutoff=0.6)


@lru_cache(maxsize=4096)
def _pairs(name: str) -> frozenset[tuple[str, str]]:
    """The pairs of neighbouring letters, with the ends."""
    return frozenset(pairwise(f" {name} "))
