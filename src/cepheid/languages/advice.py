"""Advice on a text that cannot be read: what was meant, judged by what could have stood there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_UNIT = "a unit of time"
_ARTICLES = ("a", "an", "the")
_FEW = 4
"""So many words that could stand somewhere are named one by one."""
_VALUES = ("a whole number", "a text in quotes")


def misspelt(found: str, expected: Sequence[str]) -> str:
    """Advice on a word that is almost one that could stand there.

    >>> misspelt("'witin'", ["between", "within"])
    'did you mean within?'
    """
    word = found.strip("'")
    firsts = {first.split()[0]: one for one in reversed(expected) for first in _words(one)[:1]}
    if word.lower() in {first.lower() for first in firsts}:
        return ""
    for first in likely(word, firsts):
        return f"did you mean {firsts[first]}?"
    others = {word for one in expected for word in _words(one)}
    return next((f"did you mean {other}?" for other in likely(word, others)), "")


def likely(word: str, known: Iterable[str]) -> list[str]:
    """The words that a word with a slip may stand for, the nearest first.

    >>> likely("adn", ["and", "or", "any"])
    ['and']
    """
    if len(word) < 3 or not word.isalpha():
        return []
    by_lower = {one.lower(): one for one in known}
    close = difflib.get_close_matches(word.lower(), by_lower, n=3, cutoff=0.7)
    swapped = [other for other in by_lower if sorted(other) == sorted(word.lower())]
    return [by_lower[other] for other in dict.fromkeys([*swapped, *close])]


def words_of(said: Iterable[str]) -> list[str]:
    """The single words of a language among what a person calls its terminals.

    >>> words_of(["within", "a name", "on same", "first or last"])
    ['within', 'on', 'same', 'first', 'last']
    """
    return list(
        dict.fromkeys(word for one in said for part in _words(one) for word in part.split())
    )


def _words(said: str) -> list[str]:
    """The words themselves; what is described, such as the end of the rule, is none."""
    plain = said.replace("(…)", "")
    if not plain or plain.split()[0] in _ARTICLES:
        return []
    if "," not in plain and " or " not in plain:
        return [plain] if plain.replace(" ", "").isalpha() else []
    return [word for word in plain.replace(",", " ").split() if word.isalpha() and word != "or"]


def unknown(found: str, expected: Sequence[str]) -> str:
    """Advice on a text without an end and on a unit of time that nobody knows.

    >>> unknown("'minuets'", ["a unit of time", "RETURN"])
    'units of time are us, ms, s, min, h and d, such as 5 min'
    """
    if found in (repr('"'), repr("'"), repr("‘"), repr("“"), repr("’")):
        return "close the quotes: the text that begins here has no end"
    if _UNIT in expected and found.strip("'").isalpha():
        return "units of time are us, ms, s, min, h and d, such as 5 min"
    return ""


def missing(found: str, expected: Sequence[str]) -> str:
    """Advice on what was left out before something.

    >>> missing("'measured'", [")", ","])
    "put a comma before 'measured', or close the bracket there"
    """
    if ")" in expected:
        comma = f"put a comma before {found}, or close the bracket there"
        return (
            comma
            if len(expected) <= _FEW and "," in expected
            else f"close the bracket before {found}"
        )
    if len(expected) <= _FEW:
        return f"before {found} must stand {' or '.join(expected)}"
    if all(value in expected for value in _VALUES):
        return f"a value is missing before {found}: a number, a text in quotes or an attribute"
    return ""
