"""Repair: what to change in a text that cannot be read, found by trying.

Reading stops where a mistake shows, which is often behind the place where it was made. So small
changes around that place are tried, the likeliest first, and the first one with which the rule can
be read is told. It is advice only: nothing is read that was not written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lark import Lark
from lark.exceptions import UnexpectedInput

from cepheid.languages.advice import likely, words_of
from cepheid.languages.fault import OPENING, Fault, Spot
from cepheid.languages.trials import (
    FIRST,
    PAIRED,
    SAMPLES,
    Trial,
    bracketed,
    completed,
    computed,
    confused,
    dropped,
    put,
    sample,
    trailing,
    unopened,
)

LENGTH_LIMIT = 1000
"""Longer rules are not tried, in characters: each trial reads the rule anew."""
USUAL = ("within", "with", "called", "where", "followed by", "then")
QUOTED = ("within", "with", "gives", "followed by", "then", "called", "where")
"""The words that are forgotten most often, before a name or number and before a text in quotes."""
FEW = 3
"""So many keywords are tried in the place of another word."""


@dataclass(frozen=True)
class Repairs:
    """Looks for what makes a text of a language readable.

    `keywords` are the words of the language, `openers` those that a rule begins with, `clauses`
    those that begin its parts, in their order, and `functions` names its functions.
    """

    parser: Lark
    keywords: Sequence[str]
    openers: Sequence[str]
    clauses: Sequence[str]
    functions: str = ""

    def advice(self, fault: Fault) -> str:
        """What to put there or to write otherwise; nothing where nothing that was tried helps."""
        return self._first(self._trials(fault), fault)

    def surplus(self, fault: Fault) -> str:
        """What to take out."""
        return self._first(dropped(fault), fault)

    def _first(self, trials: Iterator[Trial], fault: Fault) -> str:
        for trial in trials if len(fault.here.text) <= LENGTH_LIMIT else ():
            reach = self._reach(trial.text)
            if reach > len(trial.text) or (not trial.whole and _is_far(trial, fault, reach)):
                return trial.advice
        return ""

    def _reach(self, text: str) -> int:
        """How far a text can be read; further than its end if it is a rule."""
        try:
            self.parser.parse(text)
        except UnexpectedInput as error:
            token = getattr(error, "token", None)
            at_end = error.pos_in_stream is None or (token is not None and token.type == "$END")
            return len(text) if at_end else error.pos_in_stream or 0
        return len(text) + 1

    def _trials(self, fault: Fault) -> Iterator[Trial]:
        yield from self._misspelt(fault)
        yield from trailing(fault)
        yield from self._called(fault)
        yield from confused(fault)
        yield from self._parted(fault)
        yield from self._opened(fault, alone=True)
        yield from self._swallowed(fault)
        yield from completed(fault)
        yield from self._inserted(fault)
        yield from self._begun(fault)
        yield from bracketed(fault)
        yield from self._replaced(fault)
        yield from self._opened(fault, alone=False)
        yield from unopened(fault)
        yield from computed(fault)

    def _misspelt(self, fault: Fault) -> Iterator[Trial]:
        """The word before, which was taken for a name, may be a keyword with a slip."""
        if fault.before is None or self.is_keyword(fault.before):
            return
        for word in likely(fault.before.written, self.keywords):
            if word.lower() != fault.before.written.lower():
                yield Trial(fault.before.replaced(word), f"did you mean {word}?", whole=False)

    def _parted(self, fault: Fault) -> Iterator[Trial]:
        """Where one rule ends and the next begins without a line of its own."""
        for spot in self._ends(fault):
            for opener in likely(spot.written, self.openers):
                if opener.lower() != spot.written.lower():
                    text = f"{opener}{spot.text[spot.end :]}"
                    yield Trial(text, f"did you mean {opener}?", whole=False)
                elif not spot.begins_line:
                    advice = f"begin a new line before {spot}: each rule has lines of its own"
                    yield Trial(spot.text[spot.start :], advice, whole=False)

    def _opened(self, fault: Fault, *, alone: bool) -> Iterator[Trial]:
        """A rule without the word that it begins with; its name may stand alone on its line."""
        for spot in self._ends(fault):
            cut = not fault.bare[spot.end :].strip() and fault.bare[: spot.start].strip()
            if alone and not (cut and re.fullmatch(r"[\w\-]+", spot.written)):
                continue
            if spot.begins_line and spot.written.lower() not in self._lower(self.openers):
                for opener in self.openers:
                    text = f"{opener} {spot.text[spot.start :]}"
                    yield Trial(text, f"put {opener} before {spot}", whole=False)

    def _ends(self, fault: Fault) -> list[Spot]:
        """The words before which a rule may be over."""
        spots = [spot for spot in (fault.before, fault.here) if spot is not None]
        return [spot for spot in spots if spot.written and self._may_end(spot)]

    def _swallowed(self, fault: Fault) -> Iterator[Trial]:
        """A keyword that was taken for a name, because a name is missing before it."""
        before = fault.before
        if before is not None and self.is_keyword(before):
            for missing in ("x", "1"):
                advice = f"something is missing before {before}: a name or a value"
                yield Trial(before.preceded(missing), advice)
            if "(" not in fault.expected.values():
                yield Trial(fault.here.preceded("("), f"put ( before {fault.here}")

    def _inserted(self, fault: Fault) -> Iterator[Trial]:
        """Something that was left out."""

        def likelihood(terminal: str) -> tuple[int, int, str]:
            said = fault.expected[terminal]
            if terminal == "OF" or (said in self.clauses and fault.here.begins_line):
                return 0, 0, said
            if said in FIRST:
                return 1, FIRST.index(said), said
            usual = QUOTED if fault.here.written[:1] in ("'", '"') else USUAL
            if said.lower() in usual:
                return 2, usual.index(said.lower()), said
            return 3 + (terminal in SAMPLES), len(said.split()), said

        for terminal in sorted(fault.expected, key=likelihood):
            said = fault.expected[terminal]
            text = sample(terminal, said, fault.here.written)
            if text:
                yield Trial(fault.here.preceded(text), put(terminal, said, fault))
            if said in PAIRED:
                both, named = PAIRED[said]
                yield Trial(fault.here.preceded(both), f"put {named} before {fault.here}")

    def _called(self, fault: Fault) -> Iterator[Trial]:
        """A function that the language does not have."""
        before, words = fault.before, words_of([self.functions])
        if before is not None and before.written.isalpha() and fault.here.written == "(":
            for word in words[:1]:
                advice = f"{before.written} is no function; there are {self.functions}"
                yield Trial(before.replaced(word), advice)

    def _replaced(self, fault: Fault) -> Iterator[Trial]:
        """Another word in the place of a keyword; where many could stand, none is meant."""
        words = [said for said in fault.expected.values() if said in self.keywords]
        if fault.here.written.isalpha() and len(words) <= FEW:
            for word in words:
                advice = f"write {word} in the place of {fault.here}"
                yield Trial(fault.here.replaced(word), advice)

    def _begun(self, fault: Fault) -> Iterator[Trial]:
        """A clause without the word that it begins with, which was read on as the one before."""
        before = fault.before
        if before is not None and before.begins_line and before.written in OPENING:
            texts = {word: before.preceded(word) for word in self.clauses}
            words = [word for word, text in texts.items() if self._reach(text) > len(text)]
            if words:
                yield Trial(texts[words[0]], f"put {' or '.join(words)} before {before}")

    def is_keyword(self, spot: Spot) -> bool:
        """Whether a word of the language stands there."""
        return spot.written.lower() in self._lower(self.keywords)

    @staticmethod
    def _lower(words: Sequence[str]) -> list[str]:
        return [word.lower() for word in words]

    def _may_end(self, spot: Spot) -> bool:
        text = spot.text[: spot.start]
        return not text.strip() or self._reach(text) > len(text)

    def order(self, fault: Fault) -> str:
        """Advice on a clause that stands behind one that it must precede."""
        names = self._lower(self.clauses)
        here = fault.here.written.lower()
        if here not in names or here in self._lower(self.openers):
            return ""
        words = re.findall(r"\w+", fault.bare[: fault.here.start].lower())
        later = set(re.findall(r"\w+", fault.bare[fault.here.end :].lower()))
        awaited = {said.lower() for said in fault.expected.values()} & set(names)
        last = max((names.index(word) for word in words if word in names), default=-1)
        if last == names.index(here) and fault.here.begins_line:
            return f"{fault.here.written} stands once in a rule: join the two"
        if last > names.index(here) or awaited & later:
            return f"the parts of a rule stand in this order: {', '.join(self.clauses)}"
        return ""


def _is_far(trial: Trial, fault: Fault, reach: int) -> bool:
    """Whether reading goes on beyond the line of the fault, or to the end of the text."""
    if reach == len(trial.text):
        return True
    here, left = fault.here, len(trial.text) - reach
    return "\n" in here.text[here.end : max(here.end, len(here.text) - left)]
