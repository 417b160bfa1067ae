"""Advice in the words of the language that a rule was written in."""

from __future__ import annotations

from cepheid.algebra import Rule

_HINTS: dict[str, dict[str, str]] = {
    "negation": {
        "": "add a WITHIN clause",
        "pretty": "say how far: within 5 min before an event, or between two events",
    },
    "tree": {
        "": "add WITHIN and a length of time",
        "pretty": "say how far the events may lie apart: all within 1 h",
    },
    "collection": {
        "": "add Within(…) or Batch(…)",
        "pretty": "say how far the events may lie apart: within 1 h, or within 100 events",
    },
    "detector": {
        "": "add within and a length of time, or a timing operator",
        "pretty": "say how far the events may lie apart: within 1 h, or start a timer",
    },
    "empty": {
        "": "let it need at least one event, such as [A] [A]* instead of [A]*",
        "pretty": 'let it need at least one event: "A" then any number of "A"',
    },
    "own": {
        "": "write {label}.{name}",
        "pretty": "write {name} of {label}",
    },
    "bare": {
        "": 'a text stands in quotes: "{name}"',
        "tesla": 'a text stands in quotes: "{name}", and a parameter is written ${name}',
        "pretty": 'a text stands in quotes: "{name}", and a parameter is written ${name}',
    },
    "parameter": {
        "": "bind it where an event has it: Smoke(area = ${name}); "
        "negations and aggregates cannot bind parameters",
        "pretty": "say what it stands for: let ${name} be area of Smoke",
    },
}
"""What to do, by the case and the language; no language stands for those of the papers."""


def hint(case: str, rule: Rule, name: str = "", label: str = "") -> str:
    """The advice for a case, as one who wrote the rule can follow it."""
    known = _HINTS[case]
    return known.get(rule.language, known[""]).format(name=name, label=label)
