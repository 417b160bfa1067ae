"""Trials: changes of a text around a fault, each with the advice that tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cepheid.languages.fault import CLOSING, OPENING, Fault, Spot

SAMPLES = {"NAME": "x", "TYPE": "x", "VARIABLE": "x", "RULE_NAME": "x", "INT": "1", "UNIT": "s"}
"""What stands for a terminal of many forms."""
_SAID = {
    "a whole number": "a number",
    ",": "a comma",
    ":": "a colon",
    ";": "a semicolon",
    ".": "a point",
}
FIRST = (*CLOSING, ".", ":", "=", ",", *OPENING)
"""What is forgotten most often."""
PAIRED = {":": (": x", "a colon and a type"), "(": ("()", "()")}
"""What is forgotten together with something else."""
_JOINING = ("AND", "OR", "_THEN")
"""The terminals that join two conditions."""
_SELDOM = ("+", "-", "*", "/", ";", "!", "true", "false", "null", "!=", "<", "<=", ">", ">=")
"""What nobody forgets to write, or what another one stands for."""
_CONFUSED: Mapping[str, tuple[str, ...]] = {
    "=>": (">=",),
    "=<": ("<=",),
    "==": ("=",),
    "===": ("=",),
    "=!": ("!=",),
    "<>": ("!=",),
    ":=": ("=",),
    "&&": ("and", ","),
    "&": ("and", ","),
    "||": ("or",),
    "|": ("or",),
    ",": (".", "and", ";"),
    "and": (",",),
    ";": (",", "and"),
    ":": ("=",),
    "=": (":",),
    ".": (",",),
    "}": (")", "]"),
    "]": (")", "}"),
    ")": ("]", "}"),
}
"""What is written in the place of something else, and what may have been meant."""


@dataclass(frozen=True)
class Trial:
    """A change of the text, and the advice that tells it."""

    text: str
    advice: str
    whole: bool = True
    """Whether the rule must be readable to its end with it."""


def trailing(fault: Fault) -> Iterator[Trial]:
    """A comma behind the last of a list."""
    before = fault.before
    if before is not None and before.written == "," and fault.here.written in CLOSING:
        yield Trial(before.replaced(" "), f"take the comma before {fault.here} out")


def confused(fault: Fault) -> Iterator[Trial]:
    """A sign that stands for another one elsewhere."""
    here, before = fault.here, fault.before
    spots = [Spot(here.text, here.start, here.start + 2), here]
    if before is not None and before.end == here.start:
        spots.insert(0, Spot(here.text, before.start, here.end))
    for spot in spots:
        for meant in _CONFUSED.get(spot.written.lower(), ()):
            yield _exchanged(spot, meant)


def bracketed(fault: Fault) -> Iterator[Trial]:
    """Brackets of another form."""
    here = fault.here
    other = _partner(here, fault.bare) if here.written in OPENING else None
    if other is None:
        return
    for meant in OPENING:
        text = Spot(other.replaced(OPENING[meant]), here.start, here.end).replaced(meant)
        both = f"{meant} and {OPENING[meant]}"
        yield Trial(text, f"write {both} in the place of {here.written} and {other.written}")


def _exchanged(spot: Spot, meant: str) -> Trial:
    """One sign in the place of another."""
    if _is_decimal(spot, meant):
        return Trial(spot.replaced(meant), "a number is written with a point: 45.5")
    new = f" {meant} " if meant.isalpha() else meant
    return Trial(spot.replaced(new), f"write {meant} in the place of {spot.written}")


def completed(fault: Fault) -> Iterator[Trial]:
    """A keyword of several words, of which one stands there."""
    here = fault.here
    fitting = sorted({s for s in fault.expected.values() if here.written.lower() in s.split()})
    for said in fitting:
        advice = f"write {' or '.join(fitting)} in the place of {here}"
        yield Trial(here.replaced(said), advice)


def computed(fault: Fault) -> Iterator[Trial]:
    """A sign between two values."""
    if "PLUS" in fault.expected:
        yield Trial(fault.here.preceded("+"), f"put a sign such as + before {fault.here}")


def unopened(fault: Fault) -> Iterator[Trial]:
    """A bracket that is closed and was not opened."""
    for spot in (fault.here, fault.before):
        if spot is not None and spot.written in CLOSING:
            opening = CLOSING[spot.written]
            advice = f"take {spot} out, or open the bracket before it with {opening}"
            yield Trial(spot.replaced(" "), advice)


def dropped(fault: Fault) -> Iterator[Trial]:
    """Something that is too much."""
    for spot in (fault.here, fault.before):
        if spot is not None and spot.written:
            yield Trial(spot.replaced(" "), f"take {spot} out")


def sample(terminal: str, said: str, followed: str) -> str:
    """A text of a terminal before another one; nothing for those that nobody leaves out."""
    if terminal in SAMPLES:
        return SAMPLES[terminal]
    if said.endswith("(…)") and followed != "(":
        return ""
    word = said.removesuffix("(…)")
    if word in _SELDOM or " or " in word or word.split()[0] in ("a", "an", "the"):
        return ""
    return word


def put(terminal: str, said: str, fault: Fault) -> str:
    """The advice to put something before a spot, or behind the line before it."""
    spot, word = fault.here, said.removesuffix("(…)")
    where = f"before {spot}" if spot.written else "at the end"
    if word in (*CLOSING, ",") and (spot.begins_line or not spot.written) and fault.before:
        where = f"after {fault.before}"
    if word in CLOSING:
        return f"close the bracket {where} with {word}"
    return f"put {_named(terminal, word, fault)} {where}"


def _named(terminal: str, word: str, fault: Fault) -> str:
    """What is missing, in words; where one thing stands for several, all of them."""
    joining = [fault.expected[name] for name in _JOINING if name in fault.expected]
    if len(joining) > 1 and (terminal in _JOINING or (word == "," and "_THEN" in fault.expected)):
        return f"one of {', '.join(joining)}"
    if terminal == "EQUAL" and "LESS" in fault.expected:
        return "a comparison such as ="
    if terminal in SAMPLES and "STRING" in fault.expected and fault.here.written != ".":
        return "a value"
    return _SAID.get(word, word)


def _is_decimal(spot: Spot, meant: str) -> bool:
    beside = (spot.text[spot.start - 1 : spot.start], spot.text[spot.end : spot.end + 1])
    return (spot.written, meant) == (",", ".") and all(one.isdigit() for one in beside)


def _partner(spot: Spot, bare: str) -> Spot | None:
    """The bracket that closes the one at a spot."""
    opening, depth = spot.written, 0
    for place in range(spot.start, len(bare)):
        depth += (bare[place] == opening) - (bare[place] == OPENING[opening])
        if depth == 0:
            return Spot(spot.text, place, place + 1)
    return None
