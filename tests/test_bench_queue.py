"""The benchmark of the input queue: every event that is offered is taken or dropped."""

from __future__ import annotations

import numpy as np
import pytest

from bench import queueing
from bench.figure import Options
from bench.scenario import Load
from bench.streams import Column, Stream


@pytest.mark.parametrize(
    "load",
    [queueing.filters(tiny=True), queueing.fire("R1/50%", tiny=True)]
    + [queueing.sequence(policy, tiny=True) for policy in ("each", "last")],
    ids=lambda load: load.scenario.name,
)
def test_what_is_offered_is_taken_or_dropped(load: Load) -> None:
    rules = load.scenario.rules()
    outcome = queueing.offered(load, rules, 2, queueing.spikes(150, 2, 0.01))
    assert outcome.offered == 300 == outcome.taken + outcome.dropped
    assert outcome.taken >= 2
    assert outcome.most <= 2
    assert outcome.right


def test_a_queue_with_room_for_all_loses_nothing() -> None:
    load = queueing.sequence("last", tiny=True)
    outcome = queueing.offered(load, load.scenario.rules(), 500, queueing.spikes(200, 1, 0.0))
    assert (outcome.offered, outcome.dropped, outcome.right) == (200, 0, True)
    figure = outcome.figure("all")
    assert (figure.value, figure.unit, figure.details["taken"]) == (0.0, "% lost", 200)


def test_composite_events_of_others_than_the_taken_ones_are_wrong() -> None:
    load = queueing.sequence("last", tiny=True)
    other = queueing.sequence("each", tiny=True)
    wrong = Load(load.scenario, other.warm, other.ending)
    outcome = queueing.offered(wrong, other.scenario.rules(), 500, queueing.spikes(200, 1, 0.0))
    assert not outcome.right


def test_events_come_at_a_rate_or_in_spikes() -> None:
    assert list(queueing.steady(10.0, 0.3)) == [0.0, 0.1, 0.2]
    found = queueing.spikes(2, 2, 1.0)
    assert np.allclose(found, [0.0, 1e-5, 1.00002, 1.00003])


def test_every_rate_gives_a_figure() -> None:
    load = queueing.filters(tiny=True)
    found = queueing.at_rates(load, "queue/filters", (1000, 2000), 100, Options(scale=0.01))
    assert [figure.name for figure in found] == [
        "queue/filters/1000 a second",
        "queue/filters/2000 a second",
    ]
    assert all(figure.right for figure in found)
    assert [figure.details["offered"] for figure in found] == [40, 80]


def test_events_that_warm_up_end_no_match() -> None:
    stream, before = queueing.sequence("last", tiny=True).stream(30)
    early = {stream.names[kind] for kind in stream.kinds[:before]}
    assert len(stream) == before + 30
    assert early
    assert not any(name.startswith("E2_") for name in early)


def test_a_stream_keeps_the_columns_of_what_is_kept() -> None:
    present = np.array([True, False, True])
    columns = {"x": Column(np.array([1, 2, 3]), present=present)}
    stream = Stream(("A",), np.zeros(3, np.int64), np.array([5, 6, 7]), columns)
    kept = stream.where(np.array([False, True, True]))
    assert [event.attributes for event in kept.events()] == [{}, {"x": 3}]
