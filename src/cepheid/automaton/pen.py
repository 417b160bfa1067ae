"""What drawing an SVG needs: how wide text is, how it wraps, and the elements themselves."""

from __future__ import annotations

import re
import unicodedata
from xml.sax.saxutils import escape, quoteattr

FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
_NARROW = frozenset("iljtfrI.,:;'|!()[]{}\" /-")
_WIDE = frozenset("mwMW@%…→")
# Characters that XML 1.0 has no way to write.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def width(text: str, size: float) -> float:
    """About how wide a text is in a common sans-serif font."""
    return sum(map(_share, text)) * size


def _share(sign: str) -> float:
    if sign in _NARROW:
        return 0.34
    if sign in _WIDE or unicodedata.east_asian_width(sign) in "WF":
        return 1.0
    return 0.68 if sign.isupper() else 0.57


def wrap(text: str, most: float, size: float) -> list[str]:
    """A text in lines of at most a width; words longer than that are cut."""
    lines = [""]
    for word in text.split(" "):
        for piece in _pieces(word, most, size):
            longer = f"{lines[-1]} {piece}" if lines[-1] else piece
            if width(longer, size) <= most or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(piece)
    return lines


def _pieces(word: str, most: float, size: float) -> list[str]:
    """A word, cut after a sign where a name may be parted, or anywhere if there is none."""
    pieces = [""]
    for sign in word:
        if pieces[-1] and width(pieces[-1] + sign, size) > most:
            at = max(pieces[-1].rfind(mark) for mark in "_-.(,=") + 1
            pieces[-1:] = [pieces[-1][:at], pieces[-1][at:]] if at > 2 else [pieces[-1], ""]
        pieces[-1] += sign
    return pieces


class Pen:
    """Collects the elements of a drawing, in the order in which they are painted."""

    def __init__(self) -> None:
        self.elements: list[str] = []

    def add(self, name: str, body: str | None = None, **attributes: str | float) -> None:
        """Any element; a trailing underscore in a name is left out, others become hyphens."""
        written = "".join(
            f" {key.rstrip('_').replace('_', '-')}={quoteattr(number(value))}"
            for key, value in attributes.items()
        )
        end = "/>" if body is None else f">{escape(clean(body))}</{name}>"
        self.elements.append(f"<{name}{written}{end}")

    def box(self, x: float, y: float, wide: float, high: float, **looks: str | float) -> None:
        """A rectangle."""
        self.add("rect", None, x=x, y=y, width=wide, height=high, **looks)

    def line(self, d: str, colour: str, *, dash: str = "", thick: float = 1.3) -> None:
        """A path that is not filled."""
        dashes = {"stroke_dasharray": dash} if dash else {}
        self.add("path", d=d, fill="none", stroke=colour, stroke_width=thick, **dashes)

    def arrow(self, x: float, y: float, colour: str, towards: str = "right") -> None:
        """The head of an arrow, its tip at a point."""
        turn = {"right": "l-9 -4.5 v9 z", "up": "l-4.5 9 h9 z", "down": "l-4.5 -9 h9 z"}[towards]
        self.add("path", d=f"M{number(x)} {number(y)} {turn}", fill=colour)

    def text(
        self, x: float, y: float, body: str, colour: str, size: float, **more: str | float
    ) -> None:
        """A line of text on its base line."""
        self.add("text", body, x=x, y=y, fill=colour, font_size=size, **more)


def number(value: str | float) -> str:
    """A number as short as it can be with one digit after the point."""
    if isinstance(value, str):
        return clean(value)
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def clean(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
