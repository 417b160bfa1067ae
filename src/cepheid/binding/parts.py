"""Parts of patterns that are written in Python: how they are joined to each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from cepheid.algebra import (
    Alternation,
    Body,
    Conjunction,
    Iteration,
    Parallel,
    Sequence,
    Timing,
)
from cepheid.binding.places import here, name_of, wrong
from cepheid.binding.windows import Duration, length, microseconds


class Part(ABC):
    """A part of a pattern that is collected or detected, which decides what it means."""

    @abstractmethod
    def body(self, *, collecting: bool) -> Body:
        """The part as algebra, in a collection or in a detector."""

    def then(self, *others: Part) -> Part:
        """This, and strictly after it the others, one after the other."""
        return _Joined((self, *others), lambda parts: _sequence(parts, strong=True))

    def loosely_then(self, *others: Part) -> Part:
        """This, and the others after it, where each may begin before the one before has ended."""
        return _Joined((self, *others), lambda parts: _sequence(parts, strong=False), "detect")

    def alongside(self, other: Part) -> Part:
        """This and another part, found independently of each other; every pair counts."""
        return _Joined((self, other), lambda parts: Parallel(*parts, span=here()), "detect")

    def __or__(self, other: Part) -> Part:
        """This or another part."""
        return _Joined((self, other), _alternation)

    def __and__(self, other: Part) -> Part:
        """This and another part, in any order."""
        return _Joined((self, other), _conjunction, "collect")

    def repeated(self) -> Part:
        """Any number of this part, none included."""
        return _Joined((self,), _iteration, "detect")

    def start_timer(
        self, name: str, of: Duration | None = None, *, at: Duration | None = None, then: Part
    ) -> Part:
        """After this part a timer is set, `of` a length or `at` a fixed time; `then` the rest.

        The rest may wait for the timer: `then=timer("T").among(event("Logout"))`.
        """
        if (of is None) is (at is None):
            raise wrong(
                "WRONG_WINDOW",
                f"timer {name} must have a length or a fixed time",
                f'write start_timer("{name}", "5 min", then=…), or at="10 min"',
            )
        name_of(name, "a timer")
        duration = None if of is None else length(of)
        moment = None if at is None else microseconds(at)
        span = here()
        return _Joined(
            (self, then),
            lambda parts: Timing(parts[0], parts[1], name, duration, moment, span=span),
            "detect",
        )


@dataclass(frozen=True)
class _Joined(Part):
    parts: tuple[Part, ...]
    join: Callable[[list[Body]], Body]
    only: str = ""

    def body(self, *, collecting: bool) -> Body:
        if self.only and collecting is (self.only == "detect"):
            verb = "collect" if collecting else "detect"
            raise wrong(
                "WRONG_STRUCTURE",
                f"a part of the pattern cannot stand in {verb}(…)",
                f"it belongs to {self.only}(…)",
            )
        return self.join([part.body(collecting=collecting) for part in self.parts])


def _sequence(parts: list[Body], *, strong: bool) -> Body:
    flat: list[Body] = []
    for part in parts:
        same = isinstance(part, Sequence) and part.strong is strong
        flat.extend(part.parts if isinstance(part, Sequence) and same else (part,))
    return Sequence(tuple(flat), strong) if len(flat) > 1 else flat[0]


def _alternation(parts: list[Body]) -> Body:
    flat: list[Body] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Alternation) else (part,))
    return Alternation(tuple(flat))


def _conjunction(parts: list[Body]) -> Body:
    flat: list[Body] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Conjunction) else (part,))
    return Conjunction(tuple(flat))


def _iteration(parts: list[Body]) -> Body:
    return parts[0] if isinstance(parts[0], Iteration) else Iteration(parts[0])
