"""Compares what engines found, composite event by composite event."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.peers.data import Lines

SHOWN = 3
"""So many composite events of a difference are shown."""


@dataclass(frozen=True)
class Difference:
    """Composite events that only one of two engines found."""

    missing: Lines
    added: Lines

    def __bool__(self) -> bool:
        return bool(len(self.missing) or len(self.added))

    def __str__(self) -> str:
        said = [
            f"{len(lines)} {name} (such as {_shown(lines)})"
            for name, lines in (("missing", self.missing), ("too many", self.added))
            if len(lines)
        ]
        return ", ".join(said) or "the same"


def _shown(lines: Lines) -> str:
    return "; ".join(f"rule {line[0]}: {line[1:].tolist()}" for line in lines[:SHOWN])


def compare(own: Lines, other: Lines) -> Difference:
    """What another engine misses and what it has beyond, as multisets."""
    lines, places = np.unique(np.concatenate((own, other)), axis=0, return_inverse=True)
    places = places.ravel()  # one number a line, also where it comes as a column
    more = np.bincount(places[: len(own)], minlength=len(lines)) - np.bincount(
        places[len(own) :], minlength=len(lines)
    )
    return Difference(
        np.repeat(lines, np.maximum(more, 0), axis=0),
        np.repeat(lines, np.maximum(-more, 0), axis=0),
    )
