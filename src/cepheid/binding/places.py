"""Where in a Python program a part of a rule was written, so that errors can point there."""

from __future__ import annotations

import linecache
import sys

from cepheid.errors import Problem, RuleError, Source, Span

_PACKAGE = __name__.rpartition(".")[0]


class Program(Source):
    """A file of Python code, of which lines are read when somebody asks for them."""

    def __init__(self, name: str) -> None:
        super().__init__("", name)

    def line(self, number: int) -> str:
        """The line with this number, counted from 1."""
        return linecache.getline(self.name, number).rstrip("\n")


def here() -> Span | None:
    """The place of the call that led into this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]  # the loop ends where there is none
    if frame is None:
        return None
    program = Program(frame.f_code.co_filename)
    line = program.line(frame.f_lineno)
    column = len(line) - len(line.lstrip()) + 1
    return Span(frame.f_lineno, column, max(1, len(line.strip())), program)


def wrong(condition: str, message: str, hint: str = "") -> RuleError:
    """The error for a call that cannot be part of a rule."""
    return RuleError([Problem(condition, message, here(), hint=hint)])


def name_of(name: object, what: str) -> str:
    """A name, which must be a text that says something."""
    if isinstance(name, str) and name:
        return name
    raise wrong("WRONG_TYPE", f"{what} must be a name; got {name!r}", 'write it in quotes: "Temp"')
