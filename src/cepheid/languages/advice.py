"""Advice on a text that cannot be read: what was meant, judged by what could have stood there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_SWAPPED = {"'=>'": ">=", "'=<'": "<=", "'=='": "=", "'<>'": "!=", "'&&'": "and", "'||'": "or"}
_UNIT = "a unit of time"
_ARTICLES = ("a", "an", "the")
_FEW = 4
"""So many words that could stand somewhere are named one by one."""


def misspelt(found: str, expected: Sequence[str]) -> str:
    """Advice on a word that is almost one that could stand there.

    >>> misspelt("'witin'", ["between", "within"])
    'did you mean within?'
    """
    if _SWAPPED.get(found) in expected:
        return f"write {_SWAPPED[found]}"
    word = found.strip("'").lower()
    if len(word) < 3 or not word.isalpha():
        return ""
    firsts = {one.split()[0].lower(): one for one in reversed(expected) if one.strip()}
    # What is described, such as the end of the rule, is no word that could be misspelt.
    known = [first for first in firsts if first.isalpha() and first not in _ARTICLES]
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    return f"did you mean {firsts[close[0]]}?" if close else ""


def missing(found: str, expected: Sequence[str]) -> str:
    """Advice on what was left out before something.

    >>> missing("'measured'", [")", ","])
    "put a comma before 'measured', or close the bracket there"
    """
    if found in (repr('"'), repr("'")):
        return "close the quotes: the text that begins here has no end"
    if _UNIT in expected and found.strip("'").isalpha():
        return "units of time are us, ms, s, min, h and d, such as 5 min"
    if ")" in expected:
        comma = f"put a comma before {found}, or close the bracket there"
        return comma if len(expected) <= _FEW else f"close the bracket before {found}"
    if len(expected) <= _FEW:
        return f"before {found} must stand {' or '.join(expected)}"
    return ""
