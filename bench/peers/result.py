"""What came out of one engine in one contest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    """The figures of an engine; `wrong` or `differs` say in what its answer is another one.

    `found` holds events and composite events of a run, its seconds on the wall and of computing,
    the largest size of the process (`peak`), the objects alive at the end of a run beyond those
    before it (`state`, of JVMs), percentiles of the time of one event in microseconds, versions.
    """

    contest: str
    engine: str
    cores: int
    found: Mapping[str, Any]
    wrong: str = ""
    differs: str = ""

    @property
    def rate(self) -> float:
        """Events per second on the wall."""
        seconds = self.found.get("seconds")
        return self.found["events"] / seconds if seconds else 0.0
