"""The side of Python in the comparison with other engines: events on disk, answers, reasons."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import fires, sequences
from bench.peers import __main__ as command
from bench.peers import data, own, table, trex
from bench.peers.answers import compare
from bench.peers.contest import START, Contest
from bench.peers.contests import contests, named
from bench.peers.engines import CEPHEID, ENGINES, Engine, EngineError, Plan
from bench.peers.result import Result
from cepheid.oracle import evaluate

SMALL = fires.Size(types=2, thresholds=3, window=12, filters=5)
TINY = [
    *trex.contests(SMALL, sequences.Shape("last", rules=20, triggered=4, rate=1.0)),
    *(named(name) for name in ("laipe/4-2/50", "users/orders")),
]
QUICK = ("trex/R1/50%", "trex/R5/50%", "laipe/4-2/50", "users/1000 rules", "users/orders")
"""A contest for each way in which composite events are told apart; the oracle takes its time."""


def _lines(*rows: tuple[int, ...]) -> data.Lines:
    return np.array(rows, np.int32).reshape(len(rows), -1)


def test_answers_are_the_same_whatever_their_order() -> None:
    assert not compare(_lines((0, 1, 2), (0, 3, 4)), _lines((0, 3, 4), (0, 1, 2)))


def test_an_answer_that_is_missing_is_named() -> None:
    difference = compare(_lines((0, 1, 2), (0, 3, 4)), _lines((0, 1, 2)))
    assert str(difference) == "1 missing (such as rule 0: [3, 4])"


def test_an_answer_that_comes_twice_is_one_too_many() -> None:
    difference = compare(_lines((7, 1, 2)), _lines((7, 1, 2), (7, 1, 2)))
    assert str(difference) == "1 too many (such as rule 7: [1, 2])"


def test_nothing_is_the_same_as_nothing() -> None:
    empty = np.zeros((0, 3), np.int32)
    assert not compare(empty, empty)
    assert len(compare(empty, _lines((0, 1, 2))).added) == 1


def test_answers_read_back_as_they_were_written(tmp_path: Path) -> None:
    lines = _lines((0, 1, 2), (5, 3, 4))
    data.save(lines, tmp_path / "answers")
    assert np.array_equal(data.read(tmp_path / "answers", 2), lines)


def test_events_are_written_column_by_column(tmp_path: Path) -> None:
    contest = trex.contests(SMALL).__next__()
    stream = contest.stream(50)
    data.write(contest, stream, tmp_path, ["esper"])
    header = json.loads((tmp_path / "contest.json").read_text("utf-8"))
    assert (header["count"], header["types"], list(header["engines"])) == (
        50,
        ["Reading"],
        ["esper"],
    )
    raw = (tmp_path / "events.bin").read_bytes()
    assert len(raw) == 50 * (8 + 4 + 4 * len(header["columns"]))
    assert np.array_equal(np.frombuffer(raw[:400], "<i8") * 1000, stream.times)
    assert np.array_equal(np.frombuffer(raw[-200:], "<i4"), stream.columns["value"].values)


def test_times_that_peers_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    contest = trex.contests(SMALL).__next__()
    stream = contest.stream(3)
    with pytest.raises(ValueError, match="different whole milliseconds"):
        data.write(contest, replace(stream, times=stream.times // 7), tmp_path, [])


@pytest.mark.parametrize("contest", contests(), ids=lambda contest: contest.name)
def test_a_stream_is_what_all_engines_can_read(contest: Contest, tmp_path: Path) -> None:
    stream = contest.stream(2000)
    assert stream.times[0] >= START
    data.write(contest, stream, tmp_path, contest.engines)
    header = json.loads((tmp_path / "contest.json").read_text("utf-8"))
    assert set(header["engines"]) == set(contest.engines)
    peers = {engine.rules for engine in ENGINES} - {"", "duckdb"}
    assert peers == (set(contest.cannot) | set(contest.engines)) - {"duckdb"}
    assert not set(contest.cannot) & set(contest.engines)


@pytest.mark.parametrize("contest", [c for c in TINY if c.name in QUICK], ids=lambda c: c.name)
def test_cepheid_answers_what_the_oracle_answers(contest: Contest) -> None:
    stream = contest.stream(80)
    until = int(stream.times[-1]) + contest.patience
    outcome = evaluate(contest.rules.rules, stream.events(), until=until)
    expected = Counter(event.rule for event in outcome.events)
    kept: list[object] = []
    own.embedded(contest, own.table(stream), None, kept)
    lines = np.concatenate([own.lines(contest, stream, one) for one in kept])
    names = [rule.name for rule in contest.rules]
    assert expected
    assert Counter(names[line[0]] for line in lines) == expected
    assert lines.shape[1] == 1 + contest.width
    assert (lines[:, 1] < len(stream)).all()


FIGURES: dict[str, object] = {"events": 10, "seconds": 1.0, "peak": 1 << 20}


class _Fake(Engine):
    """An engine that gives the same figures as all others, and an answer of its own."""

    def __init__(
        self, name: str, rules: str, lines: data.Lines | None, figures: dict[str, object] = FIGURES
    ) -> None:
        super().__init__(name, rules)
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "figures", figures)

    def run(self, contest: Contest, folder: Path, answers: Path, plan: Plan) -> dict[str, object]:
        lines: data.Lines | None = vars(self)["lines"]
        if lines is None:
            raise EngineError(f"{self.name} ended with 1: out of luck")
        data.save(lines, answers)
        figures: dict[str, object] = vars(self)["figures"]
        return figures | {"composites": len(lines)}


ANSWER = _lines((0, 1, 2), (0, 3, 4))


def _held(other: data.Lines | None, tmp_path: Path, **changes: object) -> list[Result]:
    contest = replace(named("users/10 M events"), **changes)  # type: ignore[arg-type]
    engines = (_Fake(CEPHEID.name, "", ANSWER), _Fake("esper", "esper", other))
    return command.hold(contest, command.Options(engines, 1e-4, 1, 1.0), tmp_path)


def test_the_same_answer_is_right(tmp_path: Path) -> None:
    results = _held(ANSWER[::-1], tmp_path)
    assert [result.wrong for result in results] == ["", ""]


def test_another_answer_is_wrong_and_no_answer_too(tmp_path: Path) -> None:
    assert "1 missing" in _held(ANSWER[:1], tmp_path)[1].wrong
    assert "out of luck" in _held(None, tmp_path)[1].wrong


def test_another_answer_that_is_explained_is_reported(tmp_path: Path) -> None:
    (_, result) = _held(ANSWER[:1], tmp_path, differs={"esper": "it stops at the first"})
    assert not result.wrong
    assert "1 missing" in result.differs


def test_computing_time_stands_in_for_the_wall(tmp_path: Path) -> None:
    contest = named("users/10 M events")
    figures: dict[str, object] = FIGURES | {"seconds": 4.0, "computed": 2.0}
    engine = _Fake(CEPHEID.name, "", ANSWER, figures)
    options = command.Options((engine,), 1e-4, 1, 1.0, cpu=True)
    (result,) = command.hold(contest, options, tmp_path)
    assert (result.rate, result.found["wall"]) == (5.0, 4.0)


def test_a_wrong_count_is_wrong(tmp_path: Path) -> None:
    results = _held(ANSWER, tmp_path, expected=lambda stream: 3)
    assert results[1].wrong == "2 composite events of 10 events, not 3"


def test_losses_are_in_the_table() -> None:
    contest = named("users/logins")
    figures = {
        "events": 100,
        "composites": 5,
        "seconds": 2.0,
        "peak": 2 << 20,
        "p50": 4.0,
        "p99": 9.0,
    }
    own_result = Result(contest.name, CEPHEID.name, 1, figures)
    faster = Result(
        contest.name, "esper", 1, figures | {"seconds": 1.0, "peak": 1 << 20, "p50": 1.0}
    )
    said = table.markdown([contest], [own_result, faster])
    assert "| users/logins | esper | 1 | 100 | 0.5 × | 3 × |" in said
    assert said.count("loss: users/logins, esper") == 3


def test_results_tell_machine_versions_and_command() -> None:
    contest = named("trex/R5/50%")
    found = table.record(
        [contest], [Result(contest.name, "esper", 1, {}, "no answer")], ["--only", "R5"]
    )
    assert found["machine"]["command"][-2:] == ["--only", "R5"]
    assert {"time", "processor", "cores", "heap", "cepheid"} <= set(found["machine"])
    assert not found["results"][0]["right"]
    assert found["reasons"][0]["engine"] == "flink"


def held(time: str, **rates: float) -> dict[str, Any]:
    results = [{"contest": name, "engine": "esper", "rate": rate} for name, rate in rates.items()]
    reasons = [{"contest": name, "engine": "flink", "why": time} for name in rates]
    return {"machine": {"time": time}, "results": results, "reasons": reasons}


def test_contests_that_are_held_again_take_the_place_of_their_former_results() -> None:
    once = table.merged(held("one", a=1.0, b=2.0, c=3.0), held("two", b=20.0))
    assert [(r["contest"], r["rate"]) for r in once["results"]] == [
        ("a", 1.0),
        ("b", 20.0),
        ("c", 3.0),
    ]
    assert [one["why"] for one in once["reasons"]] == ["one", "one", "two"]
    assert once["machine"] == {"time": "one"}
    assert once["again"] == [{"time": "two", "contests": ["b"]}]


def test_of_contests_that_were_held_again_and_again_the_last_time_counts() -> None:
    once = table.merged(held("one", a=1.0, b=2.0), held("two", a=10.0, b=20.0))
    twice = table.merged(once, held("three", b=200.0, d=4.0))
    assert [(r["contest"], r["rate"]) for r in twice["results"]] == [
        ("a", 10.0),
        ("b", 200.0),
        ("d", 4.0),
    ]
    assert twice["again"] == [
        {"time": "two", "contests": ["a"]},
        {"time": "three", "contests": ["b", "d"]},
    ]


def test_names_that_do_not_exist_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--only", "no such contest"]) == 2
    assert "users/logins" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("mvn"), reason="needs Maven to build the peers' runners")
def test_commands_name_what_maven_builds() -> None:
    for engine in ENGINES:
        assert (
            not engine.module
            or (Path(command.__file__).parent / engine.module / "pom.xml").exists()
        )
