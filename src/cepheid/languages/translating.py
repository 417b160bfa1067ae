"""From rules to text of any language or to Python; what a language cannot say is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cepheid.algebra import Rule
from cepheid.errors import CannotExpressError, did_you_mean
from cepheid.languages import LANGUAGES

PYTHON = "python"
"""The name of the Python binding among the languages that rules can be translated to."""
TARGETS = (*LANGUAGES, PYTHON)
"""What rules can be translated to."""


def translated(rules: Sequence[Rule], to: str) -> str:
    """The rules as text of a language, all of them; else everything that stands in the way."""
    if to not in TARGETS:
        hint = did_you_mean(to, TARGETS)
        raise CannotExpressError(
            f"language must be one of {', '.join(TARGETS)}; got {to}\n\nhint: {hint}"
        )
    texts, problems = [], []
    write = writer(to)
    for rule in rules:
        try:
            texts.append(write(rule))
        except CannotExpressError as error:
            problems.append(f"{error}{_others(rule, error)}")
    if problems:
        raise CannotExpressError("\n\n".join(problems))
    return _program(rules) if to == PYTHON else "\n".join(texts)


def writer(language: str) -> Callable[[Rule], str]:
    """What writes a rule in a language."""
    if language != PYTHON:
        return LANGUAGES[language].write
    from cepheid.binding.write import write

    return write


def _program(rules: Sequence[Rule]) -> str:
    from cepheid.binding.write import program

    return program(rules)


def _others(rule: Rule, error: CannotExpressError) -> str:
    """The end of the hint, which names the languages that have words for a rule."""
    able = [name for name in TARGETS if _can(rule, name)]
    begin = "; " if "\n\nhint: " in str(error) else "\n\nhint: "
    return f"{begin}{_listed(able)} can say the rule"


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _can(rule: Rule, language: str) -> bool:
    try:
        writer(language)(rule)
    except CannotExpressError:
        return False
    return True
