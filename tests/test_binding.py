"""Rules written in Python: the same rules as texts, and errors that point at the program."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pytest

import cepheid
from cepheid import RuleError, Rules, load
from cepheid.binding import (
    Draft,
    Value,
    anything_but,
    attribute,
    average,
    collect,
    detect,
    event,
    every,
    first_known,
    highest,
    literal,
    lowest,
    moment,
    number,
    one_of,
    parameter,
    timer,
    total,
    watch,
)
from cepheid.binding.clauses import Clauses

A, B, C = event("A"), event("B"), event("C")
v, w, x = attribute("v"), attribute("w"), attribute("x")


class Same(NamedTuple):
    """A construct, a draft that has it, and the text that means the same."""

    construct: str
    draft: Clauses
    text: str


SAME = [
    Same("an event", A, "when A"),
    Same("any of several", event("A", "B"), 'when any of ("A", "B")'),
    Same("a timer", every("5 s"), "when timer every 5 s"),
    Same("a filter", A.where(v > 1, v < 9), "when A where v > 1 and v < 9"),
    Same("filters in turn", A.where(v > 1).where(v < 9), "when A where v > 1 and v < 9"),
    Same(
        "conditions",
        A.where((v == 1) | ~(v != 2) & (v >= 3)),
        "when A where v = 1 or not v != 2 and v >= 3",
    ),
    Same(
        "arithmetic",
        A.where(-v + 1 <= 2 - v * 3 / (v - 1)),
        "when A where -v + 1 <= 2 - v * 3 / (v - 1)",
    ),
    Same("a constant on the left", A.where(literal(1) < v), "when A where 1 < v"),
    Same(
        "a text, a bool, nothing",
        A.where(v == "x", w == True, x == None),  # noqa: E711, E712
        'when A where v = "x" and w = true and x = null',
    ),
    Same("its own name", A.called("a").where(attribute("v", of="a") > 1), "A called a where v > 1"),
    Same("its own attribute", A.where(A["v"] > 1), "when A where v > 1"),
    Same(
        "preceded by",
        A.preceded_by(B.last(2), within="5 min").preceded_by(C.first(), before="A"),
        "A preceded by last 2 B within 5 min preceded by first C before A",
    ),
    Same(
        "followed by, on",
        A.followed_by(B.each(), within=5, on="k").followed_by(C, within=timedelta(seconds=6)),
        "A followed by B within 5 s followed by C within 6 s on same k",
    ),
    Same(
        "without",
        A.followed_by(B).without(C).without(C, within="5 s").without(C, within=5, after="B"),
        "A followed by B without C without C within 5 s without C within 5 s after B",
    ),
    Same(
        "without what precedes",
        A.preceded_by(B, within=9).without(C.where(v > attribute("v", of="B"))),
        "A preceded by B within 9 s without C where v > v of B",
    ),
    Same(
        "moments",
        A.preceded_by(B, between=(moment("A", "-9 s"), moment("A", -5))),
        "A preceded by B between 9 s before A and 5 s before A",
    ),
    Same(
        "decided",
        A.without(B, within=5, after="A").decided(moment("A", "9 s")),
        "when A without B within 5 s after A decided 9 s after A",
    ),
    Same(
        "parameters and aggregates",
        A.let(n=number(of=B, within="5 s", before="A")).provided(parameter("n") > 2),
        "when A let $n be number of all (B within 5 s before A) provided $n > 2",
    ),
    Same(
        "aggregates with filters",
        A.provided(average("v", of=B.where(v > 1), where=v < 5, after="A") > 1),
        "when A provided average v of all (B where v > 1 and v < 5 after A) > 1",
    ),
    Same(
        "on values, windows, consumption",
        A.followed_by(B).on({"area": "x"}, n=1).all_within("1 h").consuming("A").as_point(),
        'A followed by B on area = "x" on n = 1 all within 1 h consuming A as a point',
    ),
    Same(
        "gives",
        A.gives("X", {"class": A["v"]}, w=A["w"].typed("double"), one=1, everything=True),
        "when A gives X with everything, class = v of A, w as double = w of A, one = 1",
    ),
    Same("named", A.gives("X").named("R 1"), 'rule "R 1" when A gives X'),
    Same("missing", A.accepting_missing_values(), "when A accepting missing values"),
    Same(
        "watch by time",
        watch(A, "5 s").provided(lowest("v", of="A") > 1, highest("v", of="A") < 9).on_same("k"),
        "watch A for 5 s provided lowest v of A > 1 and highest v of A < 9 on same k",
    ),
    Same(
        "watch by count",
        watch(A, events=3).each_has(v > 1).gives("X", v=attribute("v", of="A", at=-1)),
        "watch A for 3 events provided each has v > 1 gives X with v = v of last A",
    ),
    Same(
        "count those that",
        watch(A, events=3).provided(number(of="A", where=v > 1) > 1),
        "watch A for 3 events provided number of (A where v > 1) > 1",
    ),
    Same(
        "collect",
        collect(
            A.times(2) & (B | C.until(total("v") > 5)).then(event("D").at(-1, having=v > 1)),
            within="5 s",
        ),
        "collect 2 A and (B or C until total v > 5 then last D having v > 1) within 5 s",
    ),
    Same(
        "collect by count, absent, related",
        collect(A & B & C.absent(), events=9)
        .on_related({"A": "k", "B": "l", "C": "m"})
        .on_related({"A": "s"}, "x"),
        'collect A and B and no C within 9 events on k of A = l of B = m of C on s of A = "x"',
    ),
    Same(
        "first known",
        collect(A | B).gives("X", v=first_known(A["v"], B["v"])),
        "collect A or B gives X with v = first known of (v of A, v of B)",
    ),
    Same(
        "detect",
        detect(A.called("a").then(B.repeated().loosely_then(C | A)), within="1 h"),
        "detect A called a then any number of B loosely then (C or A) within 1 h",
    ),
    Same(
        "atoms",
        detect(
            A.among(A, B)
            .then(one_of(A, B.where(v > 1)).called("x").among(A, B, C))
            .then(anything_but(A).among(A, B))
        ),
        "detect A among (A, B) then one of (A, B where v > 1) called x among (A, B, C) "
        "then anything but A among (A, B)",
    ),
    Same(
        "timers",
        detect(
            A.start_timer("T", "5 s", then=timer("T").among(timer("T"), B)).alongside(
                C.start_timer("U", at="9 s", then=timer("U"))
            )
        ),
        "detect (after A start timer T of 5 s, then timer T among (timer T, B)) alongside "
        "(after C start timer U at 9 s, then timer U)",
    ),
]


@pytest.mark.parametrize("same", SAME, ids=lambda same: same.construct)
def test_a_draft_is_the_same_rule_as_its_text(same: Same) -> None:
    assert load(same.draft).rules == load(same.text, language="pretty").rules


def test_a_draft_stays_as_it_is_when_clauses_are_added() -> None:
    draft = A.followed_by(B, within=5)
    draft.on_same("k").consuming("A")
    assert load(draft).rules == load("A followed by B within 5 s", language="pretty").rules


def test_drafts_and_files_are_loaded_together(tmp_path: Path) -> None:
    file = tmp_path / "a.pretty"
    file.write_text('rule X when "A" gives "X"')
    rules = load([file, event("X").gives("Y")])
    assert [rule.name for rule in rules] == ["X", "Y"]
    found = rules.detect(cepheid.parse_events("A@1"))
    assert [one.type for one in found] == ["X", "Y"]


def test_a_schema_checks_drafts_too() -> None:
    with pytest.raises(RuleError, match="UNKNOWN_ATTRIBUTE"):
        load(A.where(attribute("w") > 1), schema="A(v: int)")


def test_rules_of_drafts_work_on_tables_and_in_engines() -> None:
    rules = load(A.followed_by(B, within=10, on="k").gives("AB", k=A["k"]))
    table = pa.table({"type": ["A", "B", "B"], "ts": [1, 2, 3], "k": [1, 2, 1]})
    assert rules.detect(table, unit="s")["k"].to_pylist() == [1]
    engine = rules.engine(unit="s")
    found = [one for row in table.to_pylist() for one in engine.push(row)]
    assert [one["k"] for one in [*found, *engine.close()]] == [1]


# --- what is wrong -----------------------------------------------------------

WRONG: list[tuple[str, Callable[[], object]]] = [
    ("where must get a condition; got v > 45", lambda: A.where("v > 45")),  # type: ignore[arg-type]
    ("where must get a condition; got True", lambda: A.where(True)),  # type: ignore[arg-type]
    ("event must get the name of a type", event),
    ("preceded_by must get an event; got str", lambda: A.preceded_by("B")),  # type: ignore[arg-type]
    ("must stand before preceded_by", lambda: A.preceded_by(B).followed_by(C)),
    ("two events of rule Match are called A", lambda: A.followed_by(A)),
    ("longer than nothing; got 0", lambda: A.followed_by(B, within=0)),
    ("got 'soon'", lambda: A.followed_by(B, within="soon")),
    ("a timedelta; got bool", lambda: A.followed_by(B, within=True)),
    ("given in one way", lambda: A.preceded_by(B, before="A", after="A")),
    ("between must get two ends", lambda: A.preceded_by(B, between=("A",))),  # type: ignore[arg-type]
    ("without must have a window", lambda: A.without(B)),
    ("no event of rule Match is called C", lambda: A.provided(C["v"] > 1)),
    ("v in rule Match must say of which event", lambda: A.provided(v > 1)),
    ("no event of rule Match is called D", lambda: A.preceded_by(B, before="D")),
    ("no event of rule Match is called D", lambda: A.consuming("D")),
    ("a constant must be a string", lambda: A.where(v == [1])),
    ("must fit into 64 bits", lambda: A.where(v == 2**70)),
    ("got nan", lambda: literal(math.nan)),
    ("got number", lambda: A["v"].typed("number")),
    ("parameter $x in rule Match is bound nowhere", lambda: A.where(v > parameter("x"))),
    ("parameter $x in rule Match gets two", lambda: A.let(x=A["v"]).let(x=A["w"])),
    ("completes the match", lambda: A.last().preceded_by(B, within=5)),
    ("at least 1 event; got 0", lambda: B.last(0)),
    ("cannot stand in collect", lambda: collect(A.alongside(B))),
    ("cannot stand in collect", lambda: collect(A.among(A, B))),
    ("cannot stand in detect", lambda: detect(A & B)),
    ("cannot stand in detect", lambda: detect(A.times(3))),
    ("cannot be chosen by each, first or last", lambda: detect(A.last())),
    ("an event that happens", lambda: collect(A | B.absent())),
    ("must be at least 1; got 0", lambda: A.times(0)),
    ("must compare a function", lambda: A.until(v > 5)),
    ("count from 1", lambda: A.at(0)),
    ("chosen among all events", lambda: A.where(v > 1).at(1)),
    ("among which events", lambda: detect(anything_but(A))),
    ("timer T in rule Match is not set here", lambda: detect(A.then(timer("T")))),
    ("a length or a fixed time", lambda: A.start_timer("T", then=B)),
    ("a length of time or a number of events", lambda: watch(A)),
    ("at least 1; got 0", lambda: watch(A, events=0)),
    ("consuming of rule Match cannot go with watch", lambda: watch(A, 5).consuming("A")),
    ("preceded_by cannot go with watch", lambda: watch(A, 5).preceded_by(B)),
    ("one condition", lambda: watch(A, 5).each_has(v > 1).provided(number(of="A") > 1)),
    ("a name stands for one event", lambda: A.provided(average("v", of="A") > 1)),
    ("must have a window", lambda: average("v", of=A)),
    ("has no window", lambda: average("v", of="A", within=5)),
    ("all belongs to trees", lambda: watch(A, 5).provided(number(of=B, before="A") > 1)),
    ("made of events; got str", lambda: collect("A")),  # type: ignore[arg-type]
    ("must be a length of time", lambda: A.all_within(events=5)),
    ("on_related belongs to", lambda: A.on_related({"A": "k"})),
    ("must be a constant", lambda: A.on(k=v)),  # type: ignore[arg-type]
    ("one attribute of each of A, B", lambda: collect(A & B).on_related({"A": "k"})),
    ("speaks of C", lambda: collect(A & B).on_related({"A": "k", "C": "k"})),
    ("got int", lambda: load([A, 5])),  # type: ignore[list-item]
    ("cannot consume", lambda: A.without(B, within=5, after="A").consuming("A")),
    ("must be a name; got 5", lambda: A.named(5)),  # type: ignore[arg-type]
    ("must be a name; got ''", lambda: A.called("")),
    ("no truth of its own", lambda: 1 < v < 5),
    ("no truth of its own", lambda: (v > 1) and (v < 5)),
]


@pytest.mark.parametrize(("message", "make"), WRONG, ids=[message for message, _ in WRONG])
def test_what_is_wrong_is_told_with_the_line_of_the_program(
    message: str, make: Callable[[], object]
) -> None:
    with pytest.raises(RuleError) as caught:
        made = make()
        assert isinstance(made, Clauses | Value | Draft | Rules), "it is told later than it could"
        load(made)  # type: ignore[arg-type]  # whatever it is
    told = str(caught.value)
    assert message in told
    assert "hint: " in told


def test_an_error_points_at_the_call() -> None:
    with pytest.raises(RuleError) as caught:
        A.followed_by(B, within="never")
    (problem,) = caught.value.problems
    assert problem.span is not None
    assert problem.span.source is not None
    assert problem.span.source.name == __file__
    assert 'A.followed_by(B, within="never")' in str(caught.value)
