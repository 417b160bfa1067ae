"""Limits: how much the kernel may keep for a rule, and what happens when a rule wants more.

They are looked at whenever compiled code returns: after every event that is pushed alone, and
after every portion of a batch. What has expired by then does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cepheid.errors import LimitError
from cepheid.kernel.memory import Memory


@dataclass(frozen=True)
class Limit:
    """How many events may be kept for a rule, and how much that was begun and is not decided.

    With `drop` the oldest gives way, otherwise going beyond the limit is an error.
    """

    stored: int | None = None
    partial: int | None = None
    drop: bool = False


class Keeper(Protocol):
    """A strategy, as limits see it: what it keeps is counted and dropped by rule."""

    def held(self, memory: Memory, number: int, now: int) -> tuple[int, int]:
        """How many events a rule keeps, and how much that was begun and is not decided."""

    def begun(self, memory: Memory) -> int | None:
        """At most so much was begun by all rules; None where an event begins at most one."""

    def drop(self, memory: Memory, number: int, now: int, stored: int, partial: int) -> None:
        """Give up so many events of a rule, and so much of what was begun: the oldest."""


def excess(limit: Limit, held: tuple[int, int]) -> tuple[int, int]:
    """By how much a rule is beyond its limits."""
    most = (limit.stored, limit.partial)
    over = [
        max(0, have - may) if may is not None else 0 for have, may in zip(held, most, strict=True)
    ]
    return over[0], over[1]


def refuse(rule: str, limit: Limit, over: tuple[int, int]) -> LimitError:
    """The error of a rule that wants to keep more than it may."""
    if over[0]:
        what, may, have = "events", limit.stored, (limit.stored or 0) + over[0]
    else:
        what, may, have = "partial matches", limit.partial, (limit.partial or 0) + over[1]
    return LimitError(
        f"rule {rule} must keep at most {may} {what}; it keeps {have}\n\n"
        "hint: write a shorter window, raise the limit, or let the oldest give way with "
        'Limits(policy="drop")'
    )
