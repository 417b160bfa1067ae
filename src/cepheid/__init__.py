"""Cepheid: complex event processing for Python and Spark.

A rule describes a situation made of several events; Cepheid tells every time it happens.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cepheid.errors import (
    CannotExpressError,
    CepheidError,
    EventError,
    LimitError,
    PictureError,
    Problem,
    RuleError,
    SnapshotError,
    SpecError,
)
from cepheid.events import CompositeEvent, Event, Interval, Kind, Schema
from cepheid.literals import format_event, parse_event, parse_events, parse_schema
from cepheid.rules import Rules, load

if TYPE_CHECKING:
    from cepheid.binding import attribute, event
    from cepheid.pictures.matches import Matches
    from cepheid.pictures.picture import Page, Picture
    from cepheid.runtime.counters import Counters
    from cepheid.runtime.engine import Engine, restore
    from cepheid.runtime.queue import InputQueue, QueueCounters
    from cepheid.runtime.settings import Limits
    from cepheid.why.results import Why, WhyNot

__version__ = "0.1.0"

_LATER = {
    "Counters": "cepheid.runtime.counters",
    "Engine": "cepheid.runtime.engine",
    "InputQueue": "cepheid.runtime.queue",
    "Limits": "cepheid.runtime.settings",
    "Matches": "cepheid.pictures.matches",
    "Page": "cepheid.pictures.picture",
    "Picture": "cepheid.pictures.picture",
    "QueueCounters": "cepheid.runtime.queue",
    "Why": "cepheid.why.results",
    "WhyNot": "cepheid.why.results",
    "attribute": "cepheid.binding",
    "event": "cepheid.binding",
    "restore": "cepheid.runtime.engine",
}
"""Names that bring much with them, the engine large libraries: imported when first asked for."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'cepheid' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


__all__ = [
    "CannotExpressError",
    "CepheidError",
    "CompositeEvent",
    "Counters",
    "Engine",
    "Event",
    "EventError",
    "InputQueue",
    "Interval",
    "Kind",
    "LimitError",
    "Limits",
    "Matches",
    "Page",
    "Picture",
    "PictureError",
    "Problem",
    "QueueCounters",
    "RuleError",
    "Rules",
    "Schema",
    "SnapshotError",
    "SpecError",
    "Why",
    "WhyNot",
    "attribute",
    "event",
    "format_event",
    "load",
    "parse_event",
    "parse_events",
    "parse_schema",
    "restore",
]
