"""The report: one page of HTML with the rules, their automata, and what they found.

The page asks the network for nothing: style, script and data are in it. Whatever comes from events
or rules is escaped where it is put, and a policy in the page keeps the browser from running any
script but the page's own.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from html import escape
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Any

from cepheid.algebra import Rule
from cepheid.automaton import compile_rule, draw_svg
from cepheid.languages import LANGUAGES
from cepheid.pictures.axis import moment
from cepheid.pictures.drawn import Drawn, Scene, choose
from cepheid.pictures.payload import payload
from cepheid.pictures.picture import Page
from cepheid.pictures.reasons import Reasons

if TYPE_CHECKING:
    from cepheid.pictures.matches import Matches

_SCRIPTS = ("time.js", "data.js", "draw.js", "tell.js", "main.js")
"""The parts of the script, in the order in which they need each other."""
_PICTURED = 40
"""How many rules are shown with their automata; all are counted."""
_OPEN = 2
"""Up to how many rules are shown unfolded."""


def make_report(
    found: Matches, *, key: str | None, title: str | None, events: int, matches: int
) -> Page:
    """The page for events and what was found in them."""
    scene = found.scene(key)
    drawn = choose(scene, events=events, matches=matches)
    names = ", ".join(rule.name for rule in found.rules)
    subject = title or (names if len(names) <= 60 else f"{len(found.rules)} rules")
    noun = "rule" if len(found.rules) == 1 else "rules"
    script = _script()
    html = Template(_text("page.html")).substitute(
        title=escape(subject),
        policy=escape(_policy(script)),
        style=_text("page.css"),
        script=script,
        data=_json(_data(found, scene, drawn)),
        summary=_summary(scene),
        sample=_sample(scene, drawn),
        counts=_counts(found),
        rules="\n".join(_rules(found)),
    )
    return Page(html, title or f"{noun} {names[:60]}")


def _data(found: Matches, scene: Scene, drawn: Drawn) -> dict[str, Any]:
    data = payload(scene, drawn, found.rules.rules)
    data["matches"]["why"] = Reasons(found.rules, scene, drawn, found.trace.unit).all()
    return data


def _text(name: str) -> str:
    return resources.files("cepheid.pictures").joinpath("page", name).read_text("utf-8")


def _script() -> str:
    body = "\n".join(_text(name) for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{body}\n}})();\n'


def _policy(script: str) -> str:
    """Nothing may be fetched, and only this script runs."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _json(value: object) -> str:
    """JSON in which nothing can end the element that holds it, or be anything but ASCII."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _summary(scene: Scene) -> str:
    trace = scene.trace
    events, matches = len(trace.events), len(trace.ends)
    if not events:
        return "There are no events."
    begin, end = (moment(at, dates=trace.dates) for at in (scene.begin, scene.end))
    keys = (
        f", {scene.tracks.keys:,} values of {escape(scene.tracks.title)}"
        if scene.tracks.key
        else ""
    )
    return (
        f"<b>{matches:,}</b> {'match' if matches == 1 else 'matches'} in <b>{events:,}</b> "
        f"{'event' if events == 1 else 'events'}{keys}, from {begin} to {end}"
    )


def _sample(scene: Scene, drawn: Drawn) -> str:
    """What is drawn, of how much."""
    pairs = (
        (len(drawn.events), len(scene.trace.events), "events"),
        (len(drawn.matches), len(scene.trace.ends), "matches"),
    )
    if all(some == whole for some, whole, _ in pairs):
        return "Every event and every match is drawn."
    told = " and ".join(f"{some:,} of {whole:,} {noun}" for some, whole, noun in pairs)
    return f"Drawn are {told}, with all events of each match that is drawn. Counts are of all."


def _counts(found: Matches) -> str:
    counts = found.counts
    rows = [
        f"<tr><td>{escape(rule.name)}</td><td>{escape(rule.output.type)}</td>"
        f'<td class="number">{counts[rule.name]:,}</td></tr>'
        for rule in list(found.rules)[:_PICTURED]
    ]
    return "\n".join(rows)


def _rules(found: Matches) -> Iterator[str]:
    unfolded = " open" if len(found.rules) <= _OPEN else ""
    counts = found.counts
    for rule in list(found.rules)[:_PICTURED]:
        count = f"{counts[rule.name]:,} {'match' if counts[rule.name] == 1 else 'matches'}"
        yield (
            f"<details{unfolded}><summary><h3>{escape(rule.name)}</h3> "
            f'<span class="soft">gives {escape(rule.output.type)}: {count}</span></summary>\n'
            f"<pre>{escape(_written(rule))}</pre>\n"
            f'<div class="automaton" tabindex="0" role="group" '
            f'aria-label="automaton of {escape(rule.name)}">'
            f"{draw_svg([compile_rule(rule)])}</div></details>"
        )
    if len(found.rules) > _PICTURED:
        yield f"<p>and {len(found.rules) - _PICTURED:,} more rules, which are counted too.</p>"


def _written(rule: Rule) -> str:
    return LANGUAGES[rule.language].write(rule).strip()
