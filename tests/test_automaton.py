"""Automata, their drawings and the plan: golden text, and properties over random rules."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid
from cepheid.algebra import Accumulate, Atom, Component, Detector, Pick, Rule, Run, Take, find, walk
from cepheid.automaton import (
    Automaton,
    compile_rule,
    draw_dot,
    draw_mermaid,
    draw_svg,
    draw_text,
    explained,
    plan_of,
)
from cepheid.automaton.model import Lane, Stage
from cepheid.automaton.storage import stored
from cepheid.cli import main
from cepheid.events import Event
from cepheid.oracle import evaluate
from cepheid.oracle.automaton import START
from cepheid.oracle.automaton import Automaton as OracleAutomaton
from tests.strategies import RULES, core_rules, streams

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden"
SOURCES = sorted(path for path in GOLDEN.iterdir() if path.suffix not in (".txt", ".dot", ".mmd"))
SOURCES = [path for path in SOURCES if path.suffix != ".md"]

DRAWINGS: dict[str, Callable[[list[Automaton]], str]] = {
    ".txt": lambda automata: "\n\n\n".join(map(explained, automata)),
    ".dot": draw_dot,
    ".mmd": draw_mermaid,
}

any_rule = st.one_of(list(RULES.values()))


def automata_of(path: Path) -> list[Automaton]:
    return [compile_rule(rule) for rule in cepheid.load(path)]


# --- golden ------------------------------------------------------------------


@pytest.mark.parametrize("ending", DRAWINGS)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_golden_drawings_stay_as_they_are(source: Path, ending: str) -> None:
    drawn = DRAWINGS[ending](automata_of(source)) + "\n"
    golden = source.with_suffix(ending)
    if os.environ.get("CEPHEID_GOLDEN") == "write":
        golden.write_text(drawn, "utf-8")
    assert drawn == golden.read_text("utf-8")


PICTURES = {"automaton-tree": "R7.tesla", "automaton-detector": "scenario_2.ce"}


@pytest.mark.parametrize("name", PICTURES)
def test_golden_pictures_of_the_documentation_are_those_of_today(name: str) -> None:
    drawn = draw_svg(automata_of(GOLDEN / PICTURES[name])) + "\n"
    picture = ROOT / "docs" / "images" / f"{name}.svg"
    if os.environ.get("CEPHEID_GOLDEN") == "write":
        picture.write_text(drawn, "utf-8")
    assert drawn == picture.read_text("utf-8")


# --- what the papers draw ----------------------------------------------------


def steps(lane: Lane) -> list[tuple[str, str]]:
    titles = {state.name: state.title for state in lane.states}
    return [(titles[step.source], titles[step.target]) for step in lane.transitions]


def test_rule_r7_has_the_two_sequences_of_figure_2_joined_at_the_smoke() -> None:
    (automaton,) = automata_of(GOLDEN / "R7.tesla")
    assert [steps(lane) for lane in automaton.lanes] == [
        [("start", "Temp"), ("Temp", "Smoke")],
        [("start", "Wind"), ("Wind", "Smoke")],
    ]
    (join,) = automaton.joins
    assert [automaton.state(name).title for name in join.states] == ["Smoke", "Smoke"]
    (negation,) = automaton.negations
    assert negation.labels == ("Wind", "Smoke")
    assert {one.labels for one in automaton.constraints} == {("Temp", "Smoke"), ("Wind", "Smoke")}


def test_rule_1_2_has_the_states_and_the_failure_of_figure_3() -> None:
    (automaton,) = automata_of(GOLDEN / "rule_1-2.laipl")
    (lane,) = automaton.lanes
    assert steps(lane) == [("-", "S1"), ("S1", "S1"), ("S1", "+"), ("S1", "-")]
    assert [step.failure for step in lane.transitions] == [None, None, None, "broken"]


def test_scenario_2_has_the_domains_of_figure_11() -> None:
    meeting, _ = automata_of(GOLDEN / "scenario_2.ce")
    assert steps(meeting.lanes[0]) == [
        ("S0", "S1"),
        ("S1", "S2"),
        ("S2", "S3"),
        ("S2", "S4"),
        ("S3", "S3"),
        ("S3", "S4"),
    ]
    assert [len(state.domain) for state in meeting.states] == [0, 2, 2, 2, 0]


def test_a_run_of_one_event_has_no_middle_state() -> None:
    (rule,) = cepheid.load("Rule 1 Define B(v: Double) From A Where A > 3", language="laipl")
    assert [state.title for state in compile_rule(rule).states] == ["-", "+"]


def test_a_negation_at_the_end_is_decided_by_time() -> None:
    (automaton,) = automata_of(GOLDEN / "misplaced.sase")
    assert [state.title for state in automaton.accepting] == ["decided"]
    assert automaton.negations[0].to_deadline


def test_a_condition_behind_a_choice_is_not_moved_before_it() -> None:
    (rule,) = cepheid.load(
        "Rule R define O() from A() and last B(v = $v) within 5 min from A and $v > 3",
        language="tesla",
    )
    text = draw_text(compile_rule(rule))
    assert "B(v > 3)" not in text
    assert "B.v > 3" in text


@given(core_rules())
@pytest.mark.property
def test_detectors_have_the_steps_of_the_oracle(rule: Rule) -> None:
    """Both are written from appendix B, by different hands."""
    assert isinstance(rule.pattern, Detector)
    oracle = OracleAutomaton.of(rule.pattern.body)
    expected = {
        (f"S{source + 1}", f"S{step.target + 1}", None if source == START else step.strong)
        for source, found in oracle.transitions.items()
        for step in found
    }
    lane = compile_rule(rule).lanes[0]
    assert {(step.source, step.target, step.strong) for step in lane.transitions} == expected
    ends = {state.name for state in lane.states if state.stage is Stage.END}
    assert ends == {f"S{state + 1}" for state in oracle.accepting}


# --- properties of every automaton -------------------------------------------


def reachable(lane: Lane) -> set[str]:
    found, waiting = set[str](), [lane.start.name]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [step.target for step in lane.transitions if step.source == name]
    return found


@given(any_rule)
@pytest.mark.property
def test_every_state_is_reached_and_every_lane_can_end(rule: Rule) -> None:
    for lane in compile_rule(rule).lanes:
        assert reachable(lane) == {state.name for state in lane.states}
        assert any(state.stage is Stage.END for state in lane.states)


def labels(rule: Rule) -> set[str]:
    parts = (part for part in walk(rule) if isinstance(part, Component | Run | Take | Accumulate))
    found = {part.label for part in parts} | {pick.label for pick in find(rule, Pick)}
    return found | {atom.label for atom in find(rule, Atom) if atom.label}


@given(any_rule)
@pytest.mark.property
def test_every_label_appears_in_every_drawing(rule: Rule) -> None:
    automaton = compile_rule(rule)
    assert {state.event for state in automaton.states} >= labels(rule)
    for drawn in (draw_text(automaton), draw_dot([automaton]), draw_mermaid([automaton])):
        assert all(label in drawn for label in labels(rule))


@given(any_rule)
@pytest.mark.property
def test_names_lead_to_states(rule: Rule) -> None:
    automaton = compile_rule(rule)
    names = [state.name for state in automaton.states]
    assert len(set(names)) == len(names)
    named = [name for join in automaton.joins for name in join.states]
    named += [name for timer in automaton.timers for name in (*timer.set_in, *timer.scope)]
    named += [name for step in automaton.transitions for name in (step.source, step.target)]
    assert set(named) <= set(names)


# --- the formats are well formed ---------------------------------------------

_DOT_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|->|[\w.]+|[{}\[\]=,]|\s+')


def check_dot(text: str) -> None:
    """Tokens, brackets that match, and edges between nodes that were declared."""
    tokens, place = [], 0
    while place < len(text):
        match = _DOT_TOKEN.match(text, place)
        assert match, text[place : place + 30]
        tokens += [match[0]] if match[0].strip() else []
        place = match.end()
    assert tokens[:3] == ["digraph", "rules", "{"]
    for open_, close in ("{}", "[]"):
        assert tokens.count(open_) == tokens.count(close)
    nodes = {one for one, after in pairwise(tokens) if after == "["}
    for place in (place for place, found in enumerate(tokens) if found == "->"):
        assert {tokens[place - 1], tokens[place + 1]} <= nodes


_MERMAID = [
    re.compile(r"stateDiagram-v2|direction LR|\}|end note"),
    re.compile(r'state "(?P<text>[^"]*)" as \w+(?: \{)?'),
    re.compile(r"state \w+ <<(?:fork|join|choice)>>"),
    re.compile(r"(?:\[\*\]|\w+) --> (?:\[\*\]|\w+)(?: : (?P<text>.+))?"),
    re.compile(r"note right of \w+"),
]
_MERMAID_TEXT = re.compile(r"(?:[\w .,()/=+*$…']|#\d+;|<br/>)*")


def check_mermaid(text: str) -> None:
    """Every line is a statement, every text is escaped, every state is declared."""
    assert text.count("{") == text.count("}")
    declared = set(re.findall(r'^ +state (?:"[^"]*" as )?(\w+)', text, re.MULTILINE))
    inside = False
    for line in map(str.strip, text.split("\n")):
        found = next((match for one in _MERMAID if (match := one.fullmatch(line))), None)
        if inside and line != "end note":
            assert _MERMAID_TEXT.fullmatch(line), line
            continue
        assert found, line
        assert _MERMAID_TEXT.fullmatch(found.groupdict().get("text") or ""), line
        inside = line.startswith("note ")
    for one, other in re.findall(r"^ +(\S+) --> (\S+)", text, re.MULTILINE):
        assert {one, other} - {"[*]"} <= declared


def check_svg(text: str) -> None:
    """It is XML, and everything with a place lies in the picture."""
    root = ET.fromstring(text)  # noqa: S314 (our own text)
    wide, high = float(root.attrib["width"]), float(root.attrib["height"])
    top = 0.0
    for group in root:
        top = float(re.findall(r"[\d.]+", group.attrib["transform"])[1])
        for element in group:
            if "x" in element.attrib:
                assert -1 <= float(element.attrib["x"]) <= wide
                assert -1 <= top + float(element.attrib["y"]) <= high


CHECKS: list[tuple[Callable[[Iterable[Automaton]], str], Callable[[str], None]]] = [
    (draw_dot, check_dot),
    (draw_mermaid, check_mermaid),
    (draw_svg, check_svg),
]


@pytest.mark.parametrize(("draw", "check"), CHECKS, ids=["dot", "mermaid", "svg"])
@given(st.lists(any_rule, min_size=1, max_size=2))
@pytest.mark.property
def test_drawings_are_well_formed(
    draw: Callable[[Iterable[Automaton]], str], check: Callable[[str], None], rules: list[Rule]
) -> None:
    check(draw([compile_rule(rule) for rule in rules]))


@pytest.mark.parametrize(
    "text", ['a"b\\c', "<&>", "x\ufffey\x07", "end note", "--> [*] : {", "日本"]
)
def test_names_and_texts_are_escaped(text: str) -> None:
    source = f"define N as [a: A(k = {cepheid_text(text)})]"
    (rule,) = cepheid.load(source, language="core")
    automaton = compile_rule(replace(rule, name=text))
    for draw, check in CHECKS:
        check(draw([automaton]))


def cepheid_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def test_a_rule_of_many_states_is_drawn() -> None:
    chain = " ; ".join(f"[a{number}: A]" for number in range(60))
    (rule,) = cepheid.load(f"define Long as {chain}", language="core")
    automaton = compile_rule(rule)
    assert len(automaton.states) == 61
    check_svg(draw_svg([automaton]))


# --- the plan ----------------------------------------------------------------


@given(any_rule, streams())
@pytest.mark.property
def test_no_event_of_a_match_is_older_than_the_plan_keeps_it(
    rule: Rule, events: list[Event]
) -> None:
    points = [replace(event, start=event.end) for event in events]
    kept = {one.type: one.time for one in stored(compile_rule(rule))}
    for match in evaluate([rule], points).events:
        for _, event in match.events:
            assert match.end - event.start <= kept[event.type]


@given(any_rule)
@pytest.mark.property
def test_what_is_kept_for_ever_is_told_to_grow(rule: Rule) -> None:
    plan = plan_of(compile_rule(rule))
    endless = any(": for ever" in line for line in plan.stored)
    assert not endless or plan.growth


@pytest.mark.parametrize(
    ("text", "language", "line"),
    [
        ("EVENT SEQ(A x, B y) WITHIN 5", "sase", "A: 5 s (x)"),
        ("EVENT SEQ(A x, B y)", "sase", "A: for ever (x)"),
        ("define X as ([a: A], [b: B]) T1 = 5min", "core", "A: 5 min (a)"),
        ("define X as [a: A] ; [b: B]", "core", "A: for ever (a)"),
        ("define X as [a: A] ; [b: B] within 1h", "core", "A: 1 h (a)"),
        (
            "Rule R define O() from A() and each B() within 5 min from A "
            "and each C() within 2 min from B",
            "tesla",
            "C: 7 min",
        ),
        (
            "Rule R define O() from A() and last B() within 5 min from A "
            "and not C() between B and A",
            "tesla",
            "C: 5 min (no C)",
        ),
    ],
)
def test_events_are_kept_as_long_as_windows_reach(text: str, language: str, line: str) -> None:
    (rule,) = cepheid.load(text, language=language)
    assert line in plan_of(compile_rule(rule)).stored


def test_events_without_the_partition_attribute_are_told() -> None:
    (rule,) = cepheid.load(
        "Rule R define O() from A(k = $k) and each B(k = $k) within 5 min from A "
        "and each C() within 2 min from A",
        language="tesla",
    )
    assert plan_of(compile_rule(rule)).partitioned == ("k of B, A; C may have any",)


# --- the command -------------------------------------------------------------


def test_explain_shows_the_automaton_and_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(GOLDEN / "R1.tesla")]) == 0
    assert capsys.readouterr().out == (GOLDEN / "R1.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "check"), [("dot", check_dot), ("mermaid", check_mermaid), ("svg", check_svg)]
)
def test_explain_draws_in_every_format(
    name: str, check: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(ROOT / "examples"), "--format", name]) == 0
    check(capsys.readouterr().out.rstrip("\n"))


def test_explain_shows_one_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(ROOT / "examples"), "--rule", "R5"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("R5 → ")
    assert out.count("\nplan\n") == 1


def test_explain_names_the_nearest_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(ROOT / "examples"), "--rule", "LeftOpn"]) == 1
    error = capsys.readouterr().err
    assert error == "error: no rule is called LeftOpn\n\nhint: did you mean LeftOpen?\n"


def test_explain_tells_what_is_wrong_with_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.ce").write_text("define X as [a: A", "utf-8")
    assert main(["explain", str(tmp_path / "bad.ce")]) == 1
    assert "bad.ce:1:" in capsys.readouterr().err
