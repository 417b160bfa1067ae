"""Garbage in Spark's workers: what is old is spared, and still found when it dies."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from itertools import count

import pytest

from cepheid.spark import garbage


class Circle:
    """An object that only a collection finds."""

    def __init__(self) -> None:
        self.self = self


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_is_there_when_a_task_begins_is_not_looked_through_again() -> None:
    gc.unfreeze()
    alive = len(gc.get_objects())
    garbage.spare_old()
    assert gc.get_freeze_count() >= alive - 100
    assert len(gc.get_objects()) < 100


def test_what_a_task_leaves_behind_is_collected_after_it() -> None:
    garbage.spare_old()
    left = weakref.ref(Circle())
    gc.collect()
    assert left() is None


def test_what_died_after_it_was_spared_is_collected_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(garbage, "_TASKS", count(1))
    circle = Circle()
    garbage.spare_old()
    died = weakref.ref(circle)
    del circle
    for _ in range(998):
        garbage.spare_old()
    gc.collect()
    assert died() is not None
    garbage.spare_old()
    assert died() is None
