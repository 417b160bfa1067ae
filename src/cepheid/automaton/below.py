"""Lines below a lane: steps back, and what hangs on one or two states.

Each line leaves a state downwards, runs along a level of its own and goes up to the other state.
Narrow lines come first, so that wide ones run around them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.automaton.layout import Box
from cepheid.automaton.pen import Pen, number, width, wrap

SIZE = 12
LINE = 15.0
"""The height of a line of text."""
_LEAST = 190.0
"""The room that text gets even where its line is short."""
_STEP = 11.0


@dataclass
class Link:
    """A line between two boxes, or from one box to its text; words with their colours.

    `side` is where the text of a line stands that is tied to one box only.
    """

    left: Box
    right: Box
    words: list[tuple[str, str]]
    colour: str
    dash: str = "5 4"
    arrow_to: Box | None = None
    level: int = 0
    ends: tuple[float, float] = (0, 0)
    lines: list[tuple[str, str]] = field(default_factory=list)
    side: str = "right"

    @property
    def hangs(self) -> bool:
        """Whether it is tied to one box only."""
        return self.left is self.right

    @property
    def span(self) -> float:
        """How far it reaches."""
        return self.right.x - self.left.x

    @property
    def room(self) -> tuple[float, float]:
        """From where to where it needs its level for itself."""
        text = max((width(line, SIZE) for line, _ in self.lines), default=0)
        if self.hangs:
            left = self.side == "left"
            return self.left.x - (text + 22 if left else 8), self.left.x + (
                8 if left else text + 22
            )
        # Lines that meet at a box leave it on different halves, so they may share a level.
        return self.left.x + 1, max(self.right.x - 1, self.left.x + text + 16)

    @property
    def height(self) -> float:
        """How much room its text needs below the line."""
        return 8 + LINE * len(self.lines)


def arrange(links: list[Link]) -> list[float]:
    """Give every link a level and its ends; the result is the height of each level."""
    for link in links:
        most = max(link.span - 10, _LEAST)
        link.lines = [(line, c) for text, c in link.words for line in wrap(text, most, SIZE)]
    links.sort(key=lambda link: (not link.hangs, link.span, link.left.x))
    levels: list[list[Link]] = []
    for link in links:
        link.level = _free_level(levels, link)
        while len(levels) <= link.level:
            levels.append([])
        levels[link.level].append(link)
    _spread_ends(links)
    return [max(link.height for link in level) + 8 for level in levels]


def _free_level(levels: list[list[Link]], link: Link) -> int:
    """Below everything that it would cross or cover."""
    low, high = link.room
    lowest = 0
    for number_, level in enumerate(levels):
        for other in level:
            start, end = other.room
            if low < end and start < high:
                lowest = number_ + 1
    return lowest


def _spread_ends(links: list[Link]) -> None:
    """Lines to the left leave on a box's left half, lines to the right on its right half.

    On each half those that run deeper stand nearer to the middle's other side, so that no line
    crosses another one's way down.
    """
    places: dict[tuple[int, int], float] = {}
    boxes = {id(box): box for link in links for box in (link.left, link.right)}
    for box in boxes.values():
        hanging = [link for link in links if link.hangs and link.left is box]
        first = [link for link in hanging if link.side == "left"]
        last = [link for link in hanging if link.side == "right"]
        coming = [link for link in links if link.right is box and not link.hangs]
        going = [link for link in links if link.left is box and not link.hangs]
        coming.sort(key=lambda link: link.level)
        going.sort(key=lambda link: -link.level)
        row = [*first, *coming, *going, *last]
        step = min(_STEP, max(box.width - 12, 0) / max(len(row), 1))
        for place, link in enumerate(row):
            places[id(link), id(box)] = box.x + (place - (len(row) - 1) / 2) * step
    for link in links:
        link.ends = places[id(link), id(link.left)], places[id(link), id(link.right)]


def draw(pen: Pen, links: list[Link], heights: list[float], top: float, paper: str) -> None:
    """Draw links below a lane that ends at `top`."""
    starts = [top + sum(heights[:level]) for level in range(len(heights))]
    for link in links:
        _draw_line(pen, link, starts[link.level])
    for link in links:
        _draw_text(pen, link, starts[link.level], paper)


def _draw_line(pen: Pen, link: Link, y: float) -> None:
    (left, right), thick = link.ends, 1.4
    start = link.left.y + link.left.height / 2
    foot = y + link.height - 2 if link.hangs else y
    path = f"M{number(left)} {number(start)}V{number(foot)}"
    if not link.hangs:
        path += f"H{number(right)}V{number(link.right.y + link.right.height / 2)}"
    pen.line(path, link.colour, dash=link.dash, thick=thick)
    if link.arrow_to is not None:
        x = left if link.arrow_to is link.left else right
        pen.arrow(x, link.arrow_to.y + link.arrow_to.height / 2, link.colour, "up")


def _draw_text(pen: Pen, link: Link, y: float, paper: str) -> None:
    anchor = "end" if link.hangs and link.side == "left" else "start"
    x = link.ends[0] + (-6 if anchor == "end" else 6)
    for place, (line, colour) in enumerate(link.lines):
        pen.text(
            x,
            y + 13 + place * LINE,
            line,
            colour,
            SIZE,
            text_anchor=anchor,
            paint_order="stroke",
            stroke=paper,
            stroke_width=4,
        )
