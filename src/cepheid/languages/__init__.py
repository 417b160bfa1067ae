"""The rule languages: each a grammar, a lowering to the algebra and a way back to text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from cepheid.algebra import Rule, difference
from cepheid.errors import Report, Source
from cepheid.languages.lowering import Context
from cepheid.languages.reading import TEXT_LIMIT
from cepheid.languages.writing import cannot_say


@dataclass(frozen=True, slots=True)
class Language:
    """A rule language: its name and the ending of its files."""

    name: str
    ending: str

    def read(
        self, source: Source, context: Context, report: Report, limit: int = TEXT_LIMIT
    ) -> Iterator[Rule]:
        """Every rule of a text, lowered to the algebra; what is wrong is reported."""
        reader: Callable[..., Iterator[Rule]] = import_module(
            f"cepheid.languages.{self.name}.lower"
        ).read
        return reader(source, context, report, limit)

    def write(self, rule: Rule) -> str:
        """A rule as text of this language, which reads back as the same rule.

        Raises CannotExpressError when the language has no words for it.
        """
        writer: Callable[[Rule], str] = import_module(f"cepheid.languages.{self.name}.write").write
        text = writer(rule)
        report = Report()
        again = list(self.read(Source(text), Context(), report))
        if report.errors or again != [rule]:
            raise cannot_say(rule, self.name, _reason(rule, report, again))
        return text


def _reason(rule: Rule, report: Report, again: list[Rule]) -> str:
    """Why what was written does not read as the rule."""
    if report.errors:
        return f"it: there {report.errors[0].message}"
    if len(again) != 1:
        return "it so that it reads back as one rule"
    return f"it so that it reads back the same: {difference(rule, again[0])} would be another"


LANGUAGES: dict[str, Language] = {
    "tesla": Language("tesla", ".tesla"),
    "sase": Language("sase", ".sase"),
    "laipl": Language("laipl", ".laipl"),
    "core": Language("core", ".ce"),
    "pretty": Language("pretty", ".pretty"),
}
"""The languages by name."""
