"""Automata as SVG pictures that stand alone: no font, style sheet or other program is needed.

Each automaton is a card with a background of its own, so that it reads on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from cepheid.automaton import below, words
from cepheid.automaton.below import Link
from cepheid.automaton.layout import Box, LaneLayout, Route
from cepheid.automaton.model import (
    Automaton,
    Form,
    Lane,
    Stage,
    State,
    Tie,
    Transition,
    lane_of,
)
from cepheid.automaton.pen import FONT, Pen, number, width, wrap

PAPER, INK, SOFT, EDGE = "#fbfaf7", "#2b2922", "#5d584c", "#3c3930"
_COLOURS = {
    words.TIE_COLOUR: "#1f5f99",
    words.ABSENT_COLOUR: "#b3261e",
    words.COMPUTED_COLOUR: "#2f6b2f",
}
_FAILURE = _COLOURS[words.ABSENT_COLOUR]
_JOIN = "#77715f"
MARGIN = 22.0
_LABEL, _SMALL, _LINE = 12.5, 11.0, 15.0
_MOST = 170.0
"""How wide a label gets before it is wrapped."""


def draw_svg(automata: Iterable[Automaton]) -> str:
    """Automata as one SVG, below each other.

    >>> import cepheid
    >>> from cepheid.automaton import compile_rule
    >>> (rule,) = cepheid.load("define Visit as [a: Door] ; [b: Person]", language="core")
    >>> draw_svg([compile_rule(rule)])[:39]
    '<svg xmlns="http://www.w3.org/2000/svg"'
    """
    cards = [_Card(automaton) for automaton in automata]
    for card in cards:
        card.arrange()
    wide = max((card.width for card in cards), default=0)
    high = sum(card.height + 14 for card in cards) - 14 if cards else 0
    pen = Pen()
    top = 0.0
    for card in cards:
        pen.elements.append(f'<g transform="translate(0 {number(top)})">')
        card.draw(pen, wide)
        pen.elements.append("</g>")
        top += card.height + 14
    size = f'viewBox="0 0 {number(wide)} {number(high)}" width="{number(wide)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} height="{number(high)}" role="img"'
    return "\n".join([f'{head} font-family="{FONT}">', *pen.elements, "</svg>"])


@dataclass
class _Label:
    """The words of a step: those above its line and those below it."""

    upper: list[str]
    lower: list[str]

    @property
    def width(self) -> float:
        """How long its line must be."""
        sizes = [width(text, _LABEL) for text in self.upper]
        sizes += [width(text, _SMALL) for text in self.lower]
        return max(sizes, default=0)

    @property
    def above(self) -> float:
        """How far it reaches up."""
        return 4 + _LINE * len(self.upper)

    @property
    def below(self) -> float:
        """How far it reaches down."""
        return 4 + _LINE * len(self.lower)


def _label(automaton: Automaton, step: Transition) -> _Label:
    texts = words.transition(automaton, step)
    upper = _wrapped_signal(texts[0]) if texts else []
    return _Label(upper, [line for text in texts[1:] for line in wrap(text, _MOST, _SMALL)])


def _wrapped_signal(text: str) -> list[str]:
    """The words for an event; what is too long goes on at its bracket first."""
    name, bracket, rest = text.partition("(")
    if width(text, _LABEL) <= _MOST or not name:
        return wrap(text, _MOST, _LABEL)
    return [line for part in (name, bracket + rest) for line in wrap(part, _MOST, _LABEL) if line]


@dataclass
class _Port:
    """Where steps with the same words reach a state: they share the last stretch and the words."""

    label: _Label
    routes: list[Route] = field(default_factory=list)
    y: float = 0
    failure: bool = False


class _Card:
    """One automaton, laid out and drawn."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.lanes = [
            LaneLayout(lane, {s.name: self._box(s) for s in lane.states})
            for lane in automaton.lanes
        ]
        self.ports: dict[str, list[_Port]] = {}
        self.links: list[list[Link]] = []
        self.levels: list[list[float]] = []
        self.lines: list[tuple[str, str]] = []
        self.width = self.height = 0.0
        self.last = 0

    # --- sizes ---------------------------------------------------------------

    def _box(self, state: State) -> Box:
        if state.stage in (Stage.FORK, Stage.JOIN):
            return Box(state.name, 7, 56, 30, 30)
        if state.stage is Stage.CHOICE:
            return Box(state.name, 22, 22, 13, 13)
        if self._is_dot(state):
            return Box(state.name, 16, 16, 10, 10)
        lines = self._inside(state)
        wide = max(width(text, 13.5 if not n else _SMALL) for n, text in enumerate(lines))
        high = 20 + _LINE * (len(lines) - 1) + 14
        return Box(state.name, max(wide + 26, 44), high, high / 2, high / 2)

    def _is_dot(self, state: State) -> bool:
        return state.stage is Stage.START and self.automaton.form is Form.TREE

    def _inside(self, state: State) -> list[str]:
        """The name of a state and, small, what else is to say about it."""
        remarks = words.remarks(self.automaton, state)
        return [
            words.title(state),
            *(line for text in remarks for line in wrap(text, _MOST, _SMALL)),
        ]

    # --- layout --------------------------------------------------------------

    def arrange(self) -> None:
        """Find the place of everything."""
        self._reserve()
        longest = max(len(layout.lane.states) for layout in self.lanes)
        for layout in self.lanes:
            shared = self.automaton.form is Form.TREE
            layout.arrange(longest - len(layout.lane.states) if shared else 0)
        for layout in self.lanes:
            self._make_ports(layout)
        right = self._set_columns()
        self._make_links()
        self._set_rows()
        self._set_size(right)

    def _reserve(self) -> None:
        """Room for the words at each state, before the states are placed."""
        for layout in self.lanes:
            labels: dict[str, dict[tuple[str, ...], _Label]] = {}
            loops: dict[str, float] = {}
            for step in layout.lane.transitions:
                label = _label(self.automaton, step)
                if step.source == step.target:
                    room = 22 + _LINE * len(label.upper + label.lower)
                    loops[step.target] = max(room, loops.get(step.target, 0))
                else:
                    key = (*label.upper, "|", *label.lower)
                    labels.setdefault(step.target, {})[key] = label
            for name, found in labels.items():
                _make_room(layout.boxes[name], list(found.values()), loops.get(name, 0))

    def _make_ports(self, layout: LaneLayout) -> None:
        for route in layout.routes:
            label = _label(self.automaton, route.step)
            ports = self.ports.setdefault(route.step.target, [])
            port = next((port for port in ports if port.label == label), None)
            if port is None:
                port = _Port(label, failure=route.step.failure is not None)
                ports.append(port)
            port.routes.append(route)
        for name in layout.boxes:
            _spread_ports(self.ports.get(name, []))

    def _set_columns(self) -> float:
        """The middle of every column, the same for all lanes; the result is the right edge."""
        count = max(len(layout.columns) for layout in self.lanes)
        self.last = count - 1
        edge = MARGIN
        for column in range(count):
            boxes = [
                box
                for layout in self.lanes
                for boxes in layout.columns[column : column + 1]
                for box in boxes
            ]
            states = [box for box in boxes if box.is_state]
            words_ = max((self._stretch(box) for box in states), default=0)
            wide = max((box.width for box in states), default=0)
            edge += (34 if column else 0) + words_
            for box in boxes:
                box.x = edge + wide / 2
                if not box.is_state:
                    # A step that passes the column runs straight past its states and words.
                    box.x -= words_ / 2
                    box.width = wide + words_
            edge += wide
        return edge

    def _stretch(self, box: Box) -> float:
        ports = self.ports.get(box.name, [])
        return max((port.label.width + 22 for port in ports), default=0)

    def _make_links(self) -> None:
        for layout in self.lanes:
            self.links.append([self._back(layout, step) for step in layout.backward])
        for hanging in words.hangings(self.automaton):
            self._hang(hanging)
        self.lines += [(text, SOFT) for text in words.footnotes(self.automaton)]
        self.levels = [below.arrange(links) for links in self.links]

    def _back(self, layout: LaneLayout, step: Transition) -> Link:
        source, target = layout.boxes[step.source], layout.boxes[step.target]
        left, right = sorted((source, target), key=lambda box: box.x)
        texts = words.transition(self.automaton, step)
        colour, dash = (_FAILURE, "5 4") if step.failure else (EDGE, "")
        return Link(left, right, [(text, colour) for text in texts], colour, dash, target)

    def _hang(self, hanging: words.Hanging) -> None:
        """Below the states it hangs on if one lane has them all, else below the whole."""
        text, colour = hanging.text, _COLOURS[hanging.colour]
        for layout, links in zip(self.lanes, self.links, strict=True):
            boxes = [layout.boxes[state.name] for state in hanging.states(layout.lane)]
            if 0 < len(boxes) <= 2:
                left, right = boxes[0], boxes[-1]
                self._add(links, Link(left, right, [(text, colour)], colour))
                return
        self.lines.append((text, colour))

    def _add(self, links: list[Link], new: Link) -> None:
        """What hangs on the same states shares a line: on one state in any case, else by kind."""
        if new.hangs and new.left.column == self.last:
            new.side = "left" if new.left.x > 240 else "right"
        for link in links:
            same = link.left is new.left and link.right is new.right and not link.arrow_to
            if same and (link.hangs or link.colour == new.colour):
                link.words += new.words
                return
        links.append(new)

    def _set_rows(self) -> None:
        """Stack the lanes, each with the room for its lines below."""
        top = 66.0
        for layout, levels in zip(self.lanes, self.levels, strict=True):
            shift = top + self._title(layout.lane) - layout.top
            for column in layout.columns:
                for box in column:
                    box.y += shift
            for box in layout.boxes.values():
                for port in self.ports.get(box.name, []):
                    port.y += box.y
            top = layout.bottom + sum(levels) + (14 if levels else 0) + 22
        self.height = top

    def _title(self, lane: Lane) -> float:
        return 14 if len(self.automaton.lanes) > 1 else 0

    def _set_size(self, right: float) -> None:
        reach = [right + (104 if self.automaton.joins else 0)]
        for links in self.links:
            reach += [link.room[1] for link in links]
        for layout in self.lanes:
            for name in {step.source for step in layout.loops}:
                labels = [_label(self.automaton, s) for s in layout.loops if s.source == name]
                reach.append(layout.boxes[name].x + sum(la.width + 20 for la in labels) / 2)
        head = width(self._head(), 15) * 1.06 + width(words.size(self.automaton), 12) + 70
        self.width = max([*reach, head, 420]) + MARGIN
        room = self.width - 2 * MARGIN - 14
        self.notes = [
            (line, colour, not n)
            for text, colour in self.lines
            for n, line in enumerate(wrap(text, room, 12))
        ]
        self.height += 17 * len(self.notes) + (4 if self.notes else 0)

    def _head(self) -> str:
        return f"{self.automaton.rule.name} → {words.headline(self.automaton.rule)}"

    # --- drawing -------------------------------------------------------------

    def draw(self, pen: Pen, wide: float) -> None:
        """Paint the card: joins first, then lines, then states, so that nothing is hidden."""
        pen.add("title", f"Automaton of rule {self._head()}")
        pen.box(0.5, 0.5, wide - 1, self.height - 1, rx=10, fill=PAPER, stroke="#d5d0c4")
        pen.text(MARGIN, 31, self._head(), INK, 15, font_weight="600")
        form = f"{words.size(self.automaton)}, {words.STRATEGY[self.automaton.form]}"
        pen.text(wide - MARGIN, 31, form, SOFT, 12, text_anchor="end")
        self._draw_joins(pen)
        for layout, links, levels in zip(self.lanes, self.links, self.levels, strict=True):
            if len(self.lanes) > 1:
                name = layout.lane.name or "the whole"
                pen.text(MARGIN, layout.top - 6, name, SOFT, 12, font_weight="600")
            below.draw(pen, links, levels, layout.bottom + 14, PAPER)
            self._draw_steps(pen, layout)
            for state in layout.lane.states:
                self._draw_state(pen, layout.boxes[state.name], state)
        self._draw_notes(pen)

    def _draw_notes(self, pen: Pen) -> None:
        y = self.height - 17 * len(self.notes) - 4
        for line, colour, first in self.notes:
            if first:
                pen.add("circle", cx=MARGIN + 4, cy=y - 4, r=3, fill=colour)
            pen.text(MARGIN + 14, y, line, colour, 12)
            y += 17

    def _draw_joins(self, pen: Pen) -> None:
        boxes = {name: box for layout in self.lanes for name, box in layout.boxes.items()}
        for join in self.automaton.joins:
            word = "same event" if join.tie is Tie.SHARED else "a pair"
            for one, other in pairwise(join.states):
                text = word if lane_of(one) != lane_of(other) else ""
                self._draw_join(pen, boxes[one], boxes[other], text)

    def _draw_join(self, pen: Pen, upper: Box, lower: Box, text: str) -> None:
        """A dashed line around the right side of both states, or straight down between others."""
        if upper.column < self.last:
            x = max(upper.x - upper.width / 2, lower.x - lower.width / 2) + 8
            start, end = upper.y + upper.height / 2, lower.y - lower.height / 2
            pen.line(f"M{number(x)} {number(start)}V{number(end)}", _JOIN, dash="2 4", thick=1.6)
            pen.text(x + 6, end - 6, text, _JOIN, _SMALL)
            return
        x = max(upper.x + upper.width / 2, lower.x + lower.width / 2) + 16
        starts = [box.x + box.width / 2 for box in (upper, lower)]
        ends = [number(upper.y), number(lower.y)]
        path = f"M{number(starts[0])} {ends[0]}H{number(x)}V{ends[1]}H{number(starts[1])}"
        pen.line(path, _JOIN, dash="2 4", thick=1.6)
        pen.text(x + 6, (upper.y + lower.y) / 2 + 4, text, _JOIN, _SMALL)

    def _draw_steps(self, pen: Pen, layout: LaneLayout) -> None:
        for name, box in layout.boxes.items():
            for port in self.ports.get(name, []):
                self._draw_port(pen, box, port)
        for name in dict.fromkeys(step.source for step in layout.loops):
            loops = [step for step in layout.loops if step.source == name]
            self._draw_loops(pen, layout.boxes[name], loops)

    def _draw_port(self, pen: Pen, box: Box, port: _Port) -> None:
        """The steps into a state: each to the start of the last stretch, which they share."""
        colour, dash = (_FAILURE, "5 4") if port.failure else (EDGE, "")
        end = box.x - box.width / 2
        start = end - (port.label.width + 22 if port.label.width else 12)
        for route in port.routes:
            pen.line(_curve(route, start, port.y), colour, dash=dash)
        pen.line(f"M{number(start)} {number(port.y)}H{number(end - 8)}", colour, dash=dash)
        pen.arrow(end - 1, port.y, colour)
        middle = (start + end - 8) / 2
        for place, text in enumerate(reversed(port.label.upper)):
            pen.text(middle, port.y - 6 - place * _LINE, text, INK, _LABEL, text_anchor="middle")
        for place, text in enumerate(port.label.lower):
            y = port.y + 14 + place * _LINE
            pen.text(middle, y, text, SOFT, _SMALL, text_anchor="middle")

    def _draw_loops(self, pen: Pen, box: Box, steps: list[Transition]) -> None:
        """Steps from a state to itself, above it, one beside the other."""
        labels = [_label(self.automaton, step) for step in steps]
        x = box.x - sum(label.width + 20 for label in labels) / 2
        for step, label in zip(steps, labels, strict=True):
            middle = x + label.width / 2 + 10
            reach = box.width / 2 - 16
            foot = min(max(middle, box.x - reach), box.x + reach)
            self._draw_loop(pen, foot, box.y - box.height / 2, failure=step.failure is not None)
            texts = [(text, SOFT, _SMALL) for text in reversed(label.lower)]
            texts += [(text, INK, _LABEL) for text in reversed(label.upper)]
            for place, (text, colour, size) in enumerate(texts):
                y = box.y - box.height / 2 - 22 - place * _LINE
                pen.text(middle, y, text, colour, size, text_anchor="middle")
            x += label.width + 20

    def _draw_loop(self, pen: Pen, x: float, y: float, *, failure: bool) -> None:
        colour, dash = (_FAILURE, "5 4") if failure else (EDGE, "")
        path = f"M{number(x - 10)} {number(y)}v-14h20v8"
        pen.line(path, colour, dash=dash)
        pen.arrow(x + 10, y, colour, "down")

    def _draw_state(self, pen: Pen, box: Box, state: State) -> None:
        left, top = box.x - box.width / 2, box.y - box.height / 2
        if state.stage is Stage.CHOICE:
            half = number(box.width / 2)
            rhomb = f"l{half} {half} l-{half} {half} l-{half} -{half} z"
            pen.line(f"M{number(box.x)} {number(top)}{rhomb}", EDGE)
            return
        if state.stage in (Stage.FORK, Stage.JOIN) or self._is_dot(state):
            round_ = 8 if self._is_dot(state) else 2
            pen.box(left, top, box.width, box.height, rx=round_, fill=EDGE)
            return
        pen.box(left, top, box.width, box.height, rx=12, fill="#ffffff", stroke=EDGE)
        if state.stage is Stage.END:
            wide, high = box.width - 7, box.height - 7
            pen.box(left + 3.5, top + 3.5, wide, high, rx=9, fill="#fdebc8", stroke=EDGE)
        lines = self._inside(state)
        y = box.y + 5 - (len(lines) - 1) * _LINE / 2
        for place, text in enumerate(lines):
            colour, font, weight = (SOFT, _SMALL, "400") if place else (INK, 13.5, "600")
            pen.text(box.x, y, text, colour, font, text_anchor="middle", font_weight=weight)
            y += _LINE


def _make_room(box: Box, labels: list[_Label], loops: float) -> None:
    """A state is as high as the words of all that leads to it, one below the other."""
    if len(labels) > 1:
        box.height = max(box.height, sum(label.above + label.below for label in labels) + 6)
    above, below_ = (labels[0].above, labels[0].below) if len(labels) == 1 else (0.0, 0.0)
    box.above = max(box.height / 2 + loops, above)
    box.below = max(box.height / 2, below_)


def _spread_ports(ports: list[_Port]) -> None:
    """The heights of ports, from the middle of their state."""
    if len(ports) < 2:
        return
    y = -sum(port.label.above + port.label.below for port in ports) / 2
    for port in ports:
        port.y = y + port.label.above
        y += port.label.above + port.label.below


def _curve(route: Route, x: float, y: float) -> str:
    """From the first box of a route, through those that it passes, to a point."""
    first = route.boxes[0]
    points = [(first.x + first.width / 2, first.y)]
    for box in route.boxes[1:-1]:
        points += [(box.x - box.width / 2, box.y), (box.x + box.width / 2, box.y)]
    path = f"M{number(points[0][0])} {number(points[0][1])}"
    for (x0, y0), (x1, y1) in zip(points, [*points[1:], (x, y)], strict=True):
        if abs(y0 - y1) < 0.5:
            path += f"H{number(x1)}"
        else:
            middle, bend = number((x0 + min(x1, x0 + 44)) / 2), number(min(x1, x0 + 44))
            path += f"C{middle} {number(y0)} {middle} {number(y1)} {bend} {number(y1)}"
            path += f"H{number(x1)}"
    return path
