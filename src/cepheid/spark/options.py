"""What can be told about events in Spark, and how to know them without importing Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypedDict

from cepheid.events import Value

if TYPE_CHECKING:
    from cepheid.runtime.settings import Limits


class SparkOptions(TypedDict, total=False):
    """What `Rules.detect` can be told about events in a DataFrame of Spark."""

    type: str
    time: str
    policy: str
    delay: int | str | timedelta
    sources: Iterable[Value] | str | None
    heartbeats: Iterable[str] | str
    idle: int | str | timedelta | None
    limits: Limits | Mapping[str, Limits] | None
    shards: int | None
    outputs: str
    narrow: bool
    changes: Any
    key: str | Mapping[str, str] | None


def is_spark(events: object) -> bool:
    """Whether something is a DataFrame of Spark, or a mapping from types to such."""
    if isinstance(events, Mapping):
        return bool(events) and all(map(is_spark, events.values()))
    return any(
        base.__module__.startswith("pyspark.") and base.__name__ == "DataFrame"
        for base in type(events).__mro__
    )
