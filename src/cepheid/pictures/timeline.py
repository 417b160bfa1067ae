"""The timeline as an SVG that stands alone: events and matches over time, one track for each key.

It has a background of its own, so that it reads on light and dark pages.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cepheid.automaton.pen import FONT, Pen, number, width
from cepheid.automaton.svg import INK, PAPER, SOFT
from cepheid.pictures.axis import moment, ticks
from cepheid.pictures.drawn import Drawn, Scene, choose, stacked
from cepheid.tables.arrow import Ints

COLOURS = (
    "#3b6fb5",
    "#c26a1b",
    "#2f8f6b",
    "#8a5ab0",
    "#b3453f",
    "#6d7a1f",
    "#1f8fa3",
    "#a8577e",
    "#7a6348",
    "#566173",
)
"""For types and rules; the same as in the page."""
_RULE = "#d9d4c7"
_WIDTH, _MARGIN, _BAR, _BAND = 960.0, 16.0, 7.0, 24.0
_LEVELS = 4
"""How many matches lie above each other in a track before they cover each other."""
_LABEL, _SMALL = 12.5, 11.0


def colour(at: int) -> str:
    """The colour of a type or a rule."""
    return COLOURS[at % len(COLOURS)]


@dataclass
class _Track:
    """A track: its name, and where its parts are."""

    name: str
    top: float
    levels: int

    @property
    def floor(self) -> float:
        """Below which its matches lie, and events begin."""
        return self.top + 7 + self.levels * (_BAR + 2)

    @property
    def bottom(self) -> float:
        """Where the next track begins."""
        return self.floor + _BAND


def draw_timeline(scene: Scene, *, events: int, matches: int) -> str:
    """The text of an SVG file."""
    return _Timeline(scene, choose(scene, events=events, matches=matches)).draw()


class _Timeline:
    """A timeline, laid out and drawn."""

    def __init__(self, scene: Scene, drawn: Drawn) -> None:
        self.scene, self.drawn, self.pen = scene, drawn, Pen()
        self.levels = self._levels()
        self.left = _MARGIN + min(150.0, max(width(n, _LABEL) for n in scene.tracks.names)) + 12
        self.right = _WIDTH - _MARGIN - 8
        self.span = max(1, scene.end - scene.begin)

    def _levels(self) -> Ints:
        scene, rows = self.scene, self.drawn.matches
        gap = max(1, (scene.end - scene.begin) // 100)
        tracks = scene.tracks.matches[rows]
        return stacked(scene.begins[rows], scene.trace.ends[rows], tracks, gap, _LEVELS)

    def draw(self) -> str:
        top = self._draw_head()
        tracks = self._arranged(top)
        bottom = tracks[-1].bottom
        paper = Pen()
        paper.box(0, 0, _WIDTH, bottom + 34, rx=10, fill=PAPER)
        self._draw_axis(top, bottom)
        for track in tracks:
            self._draw_track(track)
        self._draw_matches(tracks)
        self._draw_events(tracks)
        size = f'viewBox="0 0 {number(_WIDTH)} {number(bottom + 34)}" width="{number(_WIDTH)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} height="{number(bottom + 34)}"'
        title = Pen()
        title.add("title", self._told())
        elements = [*title.elements, *paper.elements, *self.pen.elements]
        return "\n".join([f'{head} role="img" font-family="{FONT}">', *elements, "</svg>"])

    def _told(self) -> str:
        """What is drawn, of how much."""
        scene, drawn = self.scene, self.drawn
        events, matches = len(scene.trace.events), len(scene.trace.ends)
        if not events:
            return "no events"
        between = " to ".join(
            moment(at, dates=scene.trace.dates) for at in (scene.begin, scene.end)
        )
        return (
            f"{_some(len(drawn.events), events, 'events')} and "
            f"{_some(len(drawn.matches), matches, 'matches')}, {between}"
        )

    def _draw_head(self) -> float:
        """What is drawn, and what the colours mean; the result is where tracks begin."""
        self.pen.text(_MARGIN, 26, self._told(), INK, _LABEL, font_weight="600")
        x, y = _MARGIN, 48.0
        keys = [(name, at, True) for at, name in enumerate(self.scene.rules.names)]
        keys += [(name, self._hue(at), False) for at, name in enumerate(self.scene.types.names)]
        for name, at, is_rule in keys:
            wide = width(name, _SMALL) + 30
            if x + wide > self.right:
                x, y = _MARGIN, y + 18
            if is_rule:
                self.pen.box(x, y - 8, 13, _BAR, rx=3, fill=colour(at))
            else:
                self.pen.add("circle", None, cx=x + 6, cy=y - 4, r=3.5, fill=colour(at))
            self.pen.text(x + 18, y, name, SOFT, _SMALL)
            x += wide
        return y + 14

    def _arranged(self, top: float) -> list[_Track]:
        tracks = []
        of = self.scene.tracks.matches[self.drawn.matches]
        for at, name in enumerate(self.scene.tracks.names):
            own = self.levels[of == at]
            tracks.append(_Track(name, top, int(own.max(initial=-1)) + 1))
            top = tracks[-1].bottom
        return tracks

    def _draw_axis(self, top: float, bottom: float) -> None:
        scene = self.scene
        if not len(scene.trace.events):
            return
        for at, text in ticks(scene.begin, scene.end, 8, dates=scene.trace.dates):
            x = self._x(at)
            self.pen.line(f"M{number(x)} {number(top)}V{number(bottom)}", _RULE, thick=1)
            half = width(text, _SMALL) / 2
            place = min(max(x, self.left + half - 8), _WIDTH - half - 8)
            self.pen.text(place, bottom + 18, text, SOFT, _SMALL, text_anchor="middle")

    def _draw_track(self, track: _Track) -> None:
        self.pen.line(
            f"M{number(_MARGIN)} {number(track.bottom)}H{number(_WIDTH - _MARGIN)}", _RULE, thick=1
        )
        name = track.name
        while width(name, _LABEL) > 150 and len(name) > 4:
            name = name[:-2].rstrip("…") + "…"
        self.pen.text(_MARGIN, (track.top + track.bottom) / 2 + 4, name, INK, _LABEL)

    def _draw_matches(self, tracks: list[_Track]) -> None:
        scene = self.scene
        for row, level in zip(self.drawn.matches.tolist(), self.levels.tolist(), strict=True):
            track = tracks[scene.tracks.matches[row]]
            left, right = self._x(scene.begins[row]), self._x(scene.trace.ends[row])
            y = track.floor - (level + 1) * (_BAR + 2)
            hue, long = colour(int(scene.rules.of[row])), max(5.0, right - left + 4)
            self.pen.box(left - 2, y, long, _BAR, rx=3, fill=hue, fill_opacity="0.85")

    def _draw_events(self, tracks: list[_Track]) -> None:
        """Points, each type at one of three heights; what lasts is a line."""
        events = self.scene.trace.events
        for row in self.drawn.events.tolist():
            track, type_ = tracks[self.scene.tracks.events[row]], int(self.scene.types.of[row])
            y, hue = track.floor + 5 + 6 * (type_ % 3), colour(self._hue(type_))
            x, start = self._x(events.ends[row]), self._x(events.starts[row])
            if start < x:
                self.pen.line(f"M{number(start)} {number(y)}H{number(x)}", hue, thick=2)
            self.pen.add("circle", None, cx=x, cy=y, r=2.6, fill=hue)

    def _hue(self, type_: int) -> int:
        """Types have the colours that come after those of the rules."""
        return len(self.scene.rules.names) + type_

    def _x(self, at: int | np.int64) -> float:
        return self.left + (int(at) - self.scene.begin) / self.span * (self.right - self.left)


def _some(drawn: int, whole: int, noun: str) -> str:
    if not whole:
        return f"no {noun}"
    return f"{whole:,} {noun}" if drawn == whole else f"{drawn:,} of {whole:,} {noun}"
