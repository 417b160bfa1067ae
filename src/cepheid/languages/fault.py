"""Faults: where the reading of a text stopped, and what stands around that place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lark.exceptions import UnexpectedCharacters, UnexpectedInput

LONGEST_WORD = 80
"""How far before a fault the word before it is looked for."""
# A text in quotes is a row of dashes where strings are blanked out.
_LAST = re.compile(r"(?:\w+(?:-\w+)*|-+|[^\s\w])$")

CLOSING = {")": "(", "]": "[", "}": "{"}
OPENING = {opening: closing for closing, opening in CLOSING.items()}


@dataclass(frozen=True)
class Spot:
    """A stretch of a text: a word or a sign."""

    text: str
    start: int
    end: int

    @property
    def written(self) -> str:
        """What stands there."""
        return self.text[self.start : self.end]

    @property
    def begins_line(self) -> bool:
        """Whether nothing stands before it on its line."""
        return not self.text[: self.start].rpartition("\n")[2].strip()

    def replaced(self, new: str) -> str:
        """The text with something else there."""
        return f"{self.text[: self.start]}{new}{self.text[self.end :]}"

    def preceded(self, new: str) -> str:
        """The text with something more before it."""
        return f"{self.text[: self.start]} {new} {self.text[self.start :]}"

    def __str__(self) -> str:
        return repr(self.written)


@dataclass(frozen=True)
class Fault:
    """Where the reading of a text stopped: what stands there and before, and what could stand.

    `expected` are terminals of the grammar with what a person calls them, and `bare` is the text
    without comments and strings. At the end of a text, nothing stands there.
    """

    here: Spot
    before: Spot | None
    expected: Mapping[str, str]
    bare: str

    @staticmethod
    def of(text: str, bare: str, error: UnexpectedInput, expected: Mapping[str, str]) -> Fault:
        """The fault that the parser tells of."""
        token = getattr(error, "token", None)
        if isinstance(error, UnexpectedCharacters):
            start = error.pos_in_stream or 0
            here = Spot(text, start, start + 1)
        elif token is not None and token.type != "$END" and token.start_pos is not None:
            here = Spot(text, token.start_pos, token.end_pos)
        else:
            end = len(bare.rstrip())
            here = Spot(text, end, end)
        return Fault(here, _before(text, bare, here.start), expected, bare)


def _before(text: str, bare: str, start: int) -> Spot | None:
    """What stands before a place."""
    end = len(bare[:start].rstrip())
    begin = max(0, end - LONGEST_WORD)
    last = _LAST.search(bare, begin, end)
    return Spot(text, last.start(), end) if last else None


def unbalanced(fault: Fault) -> str:
    """Advice on a bracket that is never opened or never closed, wherever that may be."""
    for opening, closing in OPENING.items():
        more = fault.bare.count(opening) - fault.bare.count(closing)
        if more > 0:
            return f"close every bracket: there are more {opening} than {closing}"
        if more < 0:
            return f"open every bracket that is closed: there are more {closing} than {opening}"
    return ""
