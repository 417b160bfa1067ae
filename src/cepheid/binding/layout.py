"""The layout of Python code: calls that are too long for a line have their arguments on lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

WIDTH = 80
"""The longest line, before the code is moved to the right."""

_SIGN = re.compile(r'"(?:[^"\\]|\\.)*"|.', re.DOTALL)
_INDENT = "    "


def wrapped(code: str, width: int = WIDTH) -> str:
    """Code of one line, on several lines if it is too long and ends in a call.

    >>> print(wrapped('.gives("Fire", area=attribute("area", of="Smoke"))', 40))
    .gives(
        "Fire",
        area=attribute("area", of="Smoke"),
    )
    """
    opening = _last_call(code)
    if len(code) <= width or opening is None:
        return code
    head, inside = code[: opening + 1], code[opening + 1 : -1]
    lines = [wrapped(argument, width - len(_INDENT)) for argument in _arguments(inside)]
    if not lines:
        return code
    body = "".join(f"{line},\n" for line in lines)
    return f"{head}\n{re.sub('^', _INDENT, body.rstrip(), flags=re.MULTILINE)}\n)"


def _last_call(code: str) -> int | None:
    """Where the brackets open that close at the end."""
    opened: list[int] = []
    last: int | None = None
    for sign, at in _signs(code):
        if sign in "([{":
            opened.append(at)
        elif sign in ")]}":
            last = opened.pop()
    if last is None or not code.endswith(")"):
        return None
    # Brackets that only group take no comma, which would make a tuple of them.
    return last if re.search(r"\w$", code[:last]) else None


def _arguments(code: str) -> list[str]:
    """What stands between the commas that are in no brackets."""
    depth, begin, found = 0, 0, []
    for sign, at in _signs(code):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            found.append(code[begin:at].strip())
            begin = at + 1
    return [part for part in [*found, code[begin:].strip()] if part]


def _signs(code: str) -> Iterator[tuple[str, int]]:
    return ((match[0], match.start()) for match in _SIGN.finditer(code))
