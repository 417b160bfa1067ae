"""What an engine is told when it is made: arrival, clock, limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, Literal

from cepheid.errors import EventError, did_you_mean
from cepheid.events import Value
from cepheid.records import Clock
from cepheid.units import TIME_MAX, parse_time

DEPTH_LIMIT = 32
"""How often composite events may cause composite events, counted from a primitive event."""
LATE_LIMIT = 1000
"""How many late events an engine keeps."""

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Limits:
    """How much an engine may keep for one rule, and what happens when a rule wants more.

    `stored` counts events, `partial` what was begun and not decided: open runs, partitions that
    have collected something, branches, matches that wait for a deadline. With the policy `refuse`,
    a call that leaves a rule beyond a limit ends in a `LimitError`; with `drop`, the oldest gives
    way and is counted.

    >>> Limits(stored=100_000, policy="drop")
    Limits(stored=100000, partial=None, policy='drop')
    """

    stored: int | None = None
    partial: int | None = None
    policy: Literal["refuse", "drop"] = "refuse"

    def __post_init__(self) -> None:
        for name in ("stored", "partial"):
            limit = getattr(self, name)
            if limit is not None and (type(limit) is not int or limit < 1):
                raise EventError(
                    f"limit {name} must be a number of at least 1, or None; got {limit!r}"
                )
        if self.policy not in ("refuse", "drop"):
            raise EventError(f"policy of limits must be refuse or drop; got {self.policy!r}")


@dataclass(frozen=True)
class Settings:
    """What an engine is told when it is made, checked and in microseconds."""

    policy: str = "guaranteed"
    delay: int = 0
    heartbeats: tuple[str, ...] = ()
    sources: tuple[Value, ...] | None = None
    unit: str | None = None
    failures: bool = False
    limits: Limits = field(default_factory=Limits)
    rule_limits: Mapping[str, Limits] = field(default_factory=dict)
    depth_limit: int = DEPTH_LIMIT
    late_limit: int = LATE_LIMIT
    idle: int | None = None

    def limits_of(self, rule: str) -> Limits:
        """The limits of a rule: its own, or those of all."""
        return self.rule_limits.get(rule, self.limits)

    def state(self) -> dict[str, Any]:
        """The settings as JSON values."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        own = {name: _limits_state(limits) for name, limits in self.rule_limits.items()}
        return {**plain, "limits": _limits_state(self.limits), "rule_limits": own}

    @staticmethod
    def of_state(state: Mapping[str, Any]) -> Settings:
        """The settings that JSON values stand for."""
        known = {item.name for item in fields(Settings)}
        if set(state) - known:
            raise ValueError(f"setting {min(set(state) - known)}")
        sources = state["sources"]
        return Settings(
            **{
                **state,
                "heartbeats": tuple(state["heartbeats"]),
                "sources": None if sources is None else tuple(sources),
                "limits": Limits(**state["limits"]),
                "rule_limits": {name: Limits(**own) for name, own in state["rule_limits"].items()},
            }
        )


def _limits_state(limits: Limits) -> dict[str, Any]:
    return {item.name: getattr(limits, item.name) for item in fields(limits)}


def settings_of(
    *,
    policy: str,
    delay: int | str | timedelta,
    heartbeats: Iterable[str] | str,
    sources: Iterable[Value] | str | None,
    unit: str | None,
    failures: bool,
    limits: Limits | Mapping[str, Limits] | None,
    depth_limit: int,
    late_limit: int,
    idle: int | str | timedelta | None = None,
) -> Settings:
    """The settings that a caller means; what cannot be meant is an error."""
    for name, least, number in (("depth_limit", 1, depth_limit), ("late_limit", 0, late_limit)):
        if type(number) is not int or number < least:
            raise EventError(f"{name} must be a number of at least {least}; got {number!r}")
    own = {} if limits is None or isinstance(limits, Limits) else _rule_limits(limits)
    return Settings(
        policy,
        _duration("delay", delay, Clock.of(unit)),
        _names("heartbeats", heartbeats),
        None if sources is None else _names("sources", sources),
        unit,
        failures,
        limits if isinstance(limits, Limits) else Limits(),
        own,
        depth_limit,
        late_limit,
        None if idle is None else _duration("idle", idle, Clock.of(unit)),
    )


def _rule_limits(limits: object) -> dict[str, Limits]:
    if not isinstance(limits, Mapping) or not all(isinstance(o, Limits) for o in limits.values()):
        raise EventError(
            "limits must be Limits, or a dictionary from names of rules to Limits; "
            f"got {type(limits).__name__}\n\nhint: limits=cepheid.Limits(stored=100_000)"
        )
    return dict(limits)


def _names(what: str, given: Iterable[Any] | str) -> tuple[Any, ...]:
    """A tuple of names; a single text is one name."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable) or isinstance(given, bytes | Mapping):
        raise EventError(f"{what} must be a list of names; got {type(given).__name__}")
    return tuple(given)


def _duration(name: str, given: object, clock: Clock) -> int:
    """A duration in microseconds."""
    if isinstance(given, timedelta):
        found = given // _MICROSECOND
    elif isinstance(given, str):
        found = parse_time(given)
    elif isinstance(given, int) and not isinstance(given, bool):
        found = given * (clock.unit or 1)
    else:
        raise EventError(
            f"{name} must be a timedelta, a text such as '5 s', or a number of units; "
            f"got {type(given).__name__}"
        )
    if not 0 <= found < TIME_MAX:
        raise EventError(f"{name} must not be negative, and within 64 bits; got {given!r}")
    return found


def unknown_type(type_: str, known: Iterable[str]) -> EventError:
    """The error for a subscription to a type that no rule gives."""
    hint = did_you_mean(type_, known) or "add the rules first, then subscribe"
    return EventError(
        f"type of a subscription must be one that a rule gives; got {type_}\n\nhint: {hint}"
    )
