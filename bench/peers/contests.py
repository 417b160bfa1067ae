"""All contests, in the order in which they are reported."""

from __future__ import annotations

from bench.peers import laipe, sequence, trex, users
from bench.peers.contest import Contest


def contests() -> list[Contest]:
    """The papers' comparisons first, then what users do."""
    found = [*trex.contests(), *laipe.contests(), *sequence.contests(), *users.contests()]
    return sorted(found, key=lambda one: one.name.startswith("users/"))


def named(name: str) -> Contest:
    """The contest of a name."""
    return next(one for one in contests() if one.name == name)
