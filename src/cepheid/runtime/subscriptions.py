"""Subscriptions: functions that are called with composite events of a type, or with late events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cepheid.errors import EventError
from cepheid.events import CompositeEvent, Event

Callback = Callable[[Any], object]


class Subscription:
    """A function that is called with events, until it is cancelled.

    >>> subscriptions = Subscriptions()
    >>> subscription = subscriptions.add_late(print)
    >>> subscriptions.tell([], [Event("A", 1, 1)])
    Event(type='A', start=1, end=1, attributes={}, id=None)
    >>> subscription.cancel()
    >>> subscriptions.tell([], [Event("A", 1, 1)])
    """

    def __init__(self, callback: Callback, among: list[Subscription]) -> None:
        self.callback = callback
        self._among = among

    def cancel(self) -> None:
        """Call the function no more; to cancel twice does nothing."""
        if self in self._among:
            self._among.remove(self)


class Subscriptions:
    """All subscriptions of an engine, in the order in which they came."""

    def __init__(self) -> None:
        self._by_type: dict[str, list[Subscription]] = {}
        self._late: list[Subscription] = []

    def add(self, type_: str, callback: Callback) -> Subscription:
        """Subscribe to composite events of a type."""
        return _added(callback, self._by_type.setdefault(type_, []))

    def add_late(self, callback: Callback) -> Subscription:
        """Subscribe to late events."""
        return _added(callback, self._late)

    @property
    def types(self) -> set[str]:
        """The types that somebody wants to hear of."""
        return {type_ for type_, among in self._by_type.items() if among}

    @property
    def wants_late(self) -> bool:
        """Whether somebody wants to hear of late events."""
        return bool(self._late)

    def tell(self, found: Sequence[CompositeEvent], late: Sequence[Event]) -> None:
        """Call everyone; an error of one is raised when all have been called."""
        errors: list[Exception] = []
        if self._late:
            for event in late:
                _call(self._late, event, errors)
        if self._by_type:
            for event in found:
                _call(self._by_type.get(event.type, ()), event, errors)
        if errors:
            raise errors[0]


def _added(callback: Callback, among: list[Subscription]) -> Subscription:
    if not callable(callback):
        raise EventError(
            f"subscriber must be a function of one event; got {type(callback).__name__}"
        )
    among.append(Subscription(callback, among))
    return among[-1]


def _call(among: Sequence[Subscription], event: Event, errors: list[Exception]) -> None:
    # A copy, as a function may cancel its own subscription.
    for subscription in tuple(among):
        try:
            subscription.callback(event)
        except Exception as error:
            errors.append(error)
