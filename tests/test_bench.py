"""The benchmarks' own counts, which judge the kernel, are judged by the oracle here."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bench import __main__ as command
from bench import fires, laipl, office, sase, sequences, where
from bench.counting import largest, taken_last
from bench.figure import Figure, Options, Task
from bench.scenario import Reach, Scenario, agrees
from bench.streams import Column, Stream
from cepheid.oracle import evaluate

SCENARIOS = [
    scenario
    for family in (fires, sequences, sase, laipl, office)
    for scenario in family.scenarios(tiny=True)
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_expects_what_the_oracle_finds(scenario: Scenario) -> None:
    stream = scenario.stream(150)
    outcome = evaluate(scenario.rules().rules, stream.events(), until=scenario.until(stream))
    found = Counter(event.rule for event in outcome.events)
    assert found
    assert agrees(scenario.expected(stream), found)


def test_tiny_scenarios_are_those_that_are_measured() -> None:
    def families(tiny: bool) -> list[str]:
        return [s.name for family in (fires, sase, laipl, office) for s in family.scenarios(tiny)]

    assert families(True) == families(False)


def test_what_refers_to_another_figure_comes_after_it() -> None:
    seen: set[str] = set()
    for family in (fires, sequences, sase, laipl, office):
        for scenario in family.scenarios():
            assert scenario.reach is None or scenario.reach.of in {"", *seen}
            seen.add(scenario.name)


def test_counts_by_rule_must_agree_for_every_rule() -> None:
    assert agrees({"A": 1, "B": 0}, {"A": 1})
    assert not agrees({"A": 1, "B": 2}, {"A": 2, "B": 1})
    assert agrees(3, {"A": 2, "B": 1})
    assert not agrees(3, {"A": 2})


def test_taken_last_is_a_stack() -> None:
    random = np.random.default_rng(11)
    for length in (5, 20, 1000):
        times = np.arange(200)
        is_push = random.random(200) < 0.5
        stack: list[int] = []
        count = 0
        for time in times:
            if is_push[time]:
                stack.append(int(time))
            elif stack and time - stack[-1] < length:
                stack.pop()
                count += 1
        assert taken_last(times[is_push], times[~is_push], length) == count


def test_largest_of_ranges() -> None:
    values = np.array([3, 1, 4, 1, 5, 9, 2, 6])
    ranges = [(a, b) for a in range(8) for b in range(a, 9)]
    begins, ends = (np.array(side) for side in zip(*ranges, strict=True))
    assert list(largest(values, begins, ends)) == [max(values[a:b], default=0) for a, b in ranges]


def test_a_stream_leaves_missing_values_out() -> None:
    present = np.array([True, False])
    columns = {
        "x": Column(np.array([1, 2]), present=present),
        "t": Column(np.array([0, 1]), ("a", "b")),
    }
    stream = Stream(("A",), np.zeros(2, np.int64), np.array([5, 6]), columns)
    assert [event.attributes for event in stream.events()] == [{"x": 1, "t": "a"}, {"t": "b"}]


def _run(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(command, "tasks", lambda: [task])
    return command.main(["--json", str(tmp_path / "figures.json")])


def test_the_command_writes_figures_and_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = Task("fast", lambda options: [Figure("fast", 200.0, reach=Reach(rate=100.0))])
    assert _run(task, tmp_path, monkeypatch) == 0
    (figure,) = json.loads((tmp_path / "figures.json").read_text("utf-8"))["figures"]
    assert (figure["value"], figure["target"], figure["ratio"]) == (200.0, 100.0, 2.0)
    assert "1 of 1 targets reached" in capsys.readouterr().out


def _failing(options: Options) -> list[Figure]:
    raise ValueError("no such thing")


@pytest.mark.parametrize(
    "task",
    [Task("bad", lambda options: [Figure("bad", 1.0, right=False)]), Task("bad", _failing)],
    ids=["wrong count", "error"],
)
def test_the_command_fails_when_a_figure_is_wrong(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(task, tmp_path, monkeypatch) == 1
    assert "WRONG" in capsys.readouterr().out


def test_matching_is_a_part_of_the_time() -> None:
    (scenario,) = (s for s in sase.scenarios(tiny=True) if s.name == "sase/5/length 2")
    (figure,) = where.parted(scenario, Options(events=2000, repeat=1))
    assert figure.right
    assert 0 < figure.details["matching"] < figure.value


def test_a_share_of_another_figure_is_a_target() -> None:
    figures = {"R1": Figure("R1", 100.0), "R3": Figure("R3", 40.0, reach=Reach(share=0.5, of="R1"))}
    assert figures["R3"].target(figures) == 50.0
    assert figures["R3"].ratio(50.0) == 0.8
    assert figures["R3"].target({}) is None
