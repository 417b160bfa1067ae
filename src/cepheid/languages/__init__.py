"""The rule languages: each a grammar, a lowering to the algebra and a way back to text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from cepheid.algebra import Rule
from cepheid.errors import CannotExpressError, Report, Source
from cepheid.languages.lowering import Context
from cepheid.languages.reading import TEXT_LIMIT


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
            raise CannotExpressError(
                f"rule {rule.name}: {self.name} cannot say it so that it reads back the same"
            )
        return text


LANGUAGES: dict[str, Language] = {
    "tesla": Language("tesla", ".tesla"),
    "sase": Language("sase", ".sase"),
    "laipl": Language("laipl", ".laipl"),
    "core": Language("core", ".ce"),
}
"""The languages by name."""
