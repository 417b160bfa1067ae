"""Cepheid: complex event processing for Python and Spark.

A rule describes a situation made of several events; Cepheid tells every time it happens.
"""

from cepheid.errors import (
    CannotExpressError,
    CepheidError,
    EventError,
    LimitError,
    Problem,
    RuleError,
    SnapshotError,
    SpecError,
)
from cepheid.events import CompositeEvent, Event, Interval, Kind, Schema
from cepheid.literals import format_event, parse_event, parse_events, parse_schema
from cepheid.rules import Rules, load

__version__ = "0.1.0"

__all__ = [
    "CannotExpressError",
    "CepheidError",
    "CompositeEvent",
    "Event",
    "EventError",
    "Interval",
    "Kind",
    "LimitError",
    "Problem",
    "RuleError",
    "Rules",
    "Schema",
    "SnapshotError",
    "SpecError",
    "format_event",
    "load",
    "parse_event",
    "parse_events",
    "parse_schema",
]
