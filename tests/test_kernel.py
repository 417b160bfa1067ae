"""The kernel gives what the oracle gives: random rules, random streams, random cuts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid
from cepheid.algebra import (
    EACH,
    Aggregate,
    Attribute,
    Binding,
    Comparison,
    Component,
    EventPredicate,
    Expression,
    Function,
    Literal,
    Negation,
    Node,
    Not,
    Or,
    Output,
    OutputAttribute,
    Parameter,
    Policy,
    Relation,
    Rule,
    Selection,
    Tree,
    Window,
    conjunction,
    find,
)
from cepheid.events import CompositeEvent, Event, Kind, Order, Schema, Value
from cepheid.kernel.families import families
from cepheid.kernel.kernel import Kernel
from cepheid.kernel.store import RANKS
from cepheid.oracle import evaluate
from cepheid.runtime.matcher import Matcher
from cepheid.runtime.settings import Settings
from cepheid.testing import Case, read_cases
from cepheid.units import parse_time
from tests.engines import contents
from tests.strategies import SECOND, numbers, sase_rules, streams, tesla_rules

N = TypeVar("N", bound=Node)
FEWER = {"C": "A", "D": "B"}
"""Types that are taken together, so that random rules and streams meet more often."""


def detect(
    rules: Sequence[Rule],
    events: Sequence[Event],
    until: int | None = None,
    cuts: Sequence[int] = (),
    schema: Schema | None = None,
) -> list[CompositeEvent]:
    ordered = sorted(events, key=Order(schema).key)
    matcher = Matcher(Settings(), schema or Schema())
    matcher.deploy(rules)
    places = [0, *sorted(min(cut, len(ordered)) for cut in cuts), len(ordered)]
    found: list[CompositeEvent] = []
    for number, (begin, end) in enumerate(pairwise(places)):
        found += matcher.composites(matcher.feed(ordered[begin:end]))
        if number % 2:
            matcher.kernel.compact()
        else:
            state, matcher = matcher.state(), Matcher(Settings(), schema or Schema())
            matcher.load(*state)
    if ordered:
        last = max(event.end for event in ordered)
        portions = matcher.advance(last if until is None else max(last, until))
        found += matcher.composites(portions)
    return found


def assert_equal_to_the_oracle(
    rules: Sequence[Rule], events: Sequence[Event], until: int, cuts: Sequence[int]
) -> None:
    wanted = contents(evaluate(rules, events, until=until).events)
    given_ = contents(detect(rules, events, until, cuts))
    assert (wanted - given_, given_ - wanted) == (Counter(), Counter())


def with_fewer_types(node: N) -> N:
    """The node with some types taken together."""
    if isinstance(node, EventPredicate):
        types = tuple(dict.fromkeys(FEWER.get(type_, type_) for type_ in node.types))
        node = cast("N", replace(node, types=types))
    changes: dict[str, Any] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            changes[item.name] = with_fewer_types(value)
        elif isinstance(value, tuple):
            changes[item.name] = tuple(
                with_fewer_types(part) if isinstance(part, Node) else part for part in value
            )
    return replace(node, **changes)


def numbered(rules: Sequence[Rule]) -> list[Rule]:
    """Rules with names and outputs of their own."""
    return [
        replace(rule, name=f"R{index}", output=replace(rule.output, type=f"Out{index}"))
        for index, rule in enumerate(rules)
    ]


def busy_streams() -> st.SearchStrategy[list[Event]]:
    return streams(max_size=18).map(
        lambda found: [replace(e, type=FEWER.get(e.type, e.type)) for e in found]
    )


cuts = st.lists(st.integers(0, 18), max_size=3)
ends = st.integers(0, 60).map(lambda seconds: seconds * SECOND)
tree_rules = st.one_of(tesla_rules(), sase_rules()).map(with_fewer_types)


@pytest.mark.property
@given(
    rules=st.lists(tree_rules, min_size=1, max_size=3), events=busy_streams(), until=ends, cut=cuts
)
def test_random_trees_give_what_the_oracle_gives(
    rules: list[Rule], events: list[Event], until: int, cut: list[int]
) -> None:
    assert_equal_to_the_oracle(numbered(rules), events, until, cut)


@pytest.mark.property
@given(
    rule=tree_rules,
    others=st.lists(numbers, min_size=1, max_size=5),
    place=st.integers(0, 5),
    events=busy_streams(),
    cut=cuts,
)
def test_families_give_what_the_oracle_gives(
    rule: Rule, others: list[Value], place: int, events: list[Event], cut: list[int]
) -> None:
    rules = numbered([rule, *(with_constant(rule, place, value) for value in others)])
    assert_equal_to_the_oracle(rules, events, 40 * SECOND, cut)


@pytest.mark.property
@given(
    policy=st.sampled_from(["each", "first", "last"]),
    relation=st.sampled_from(["<", "<=", ">", ">=", "="]),
    constants=st.lists(st.integers(0, 6), min_size=2, max_size=6),
    values=st.lists(st.one_of(st.none(), st.integers(0, 6)), min_size=4, max_size=16),
    consuming=st.booleans(),
    cut=cuts,
)
def test_policies_choose_for_every_member_of_a_family(
    *,
    policy: str,
    relation: str,
    constants: list[int],
    values: list[int | None],
    consuming: bool,
    cut: list[int],
) -> None:
    text = "\n".join(
        f"Rule R{index} define F{index}(v: int) from B() and "
        f"{policy} A(v {relation} {constant}) within 9 s from B where v = A.v"
        + (" consuming A" if consuming else "")
        for index, constant in enumerate(constants)
    )
    rules = cepheid.load(text, language="tesla").rules
    if policy == "each" or (relation != "=" and not (consuming and policy == "first")):
        assert len(families(rules)) == 1
    events = [
        Event(
            "B" if v is None else "A", at * SECOND, at * SECOND, {} if v is None else {"v": v}, at
        )
        for at, v in enumerate(values)
    ]
    assert_equal_to_the_oracle(rules, events, 40 * SECOND, cut)


@cache
def consuming_member(policy: str, constant: int) -> Rule:
    (rule,) = cepheid.load(
        "Rule R define F(v: int, w: int) from B() and "
        f"{policy} A(v > {constant}) within 9 s from B and each A(v > 3) as C within 5 s from A "
        "where v = A.v and w = C.v consuming A",
        language="tesla",
    ).rules
    return rule


@pytest.mark.property
@given(
    constants=st.lists(st.integers(0, 200), min_size=66, max_size=70),
    values=st.lists(st.one_of(st.none(), st.integers(0, 200)), min_size=4, max_size=7),
    policy=st.sampled_from(["each", "last"]),
)
def test_large_families_consume_for_every_member(
    constants: list[int], values: list[int | None], policy: str
) -> None:
    """More members than fit into one word of bits."""
    read = [consuming_member(policy, constant) for constant in constants]
    rules = [
        replace(rule, name=f"R{index}", output=replace(rule.output, type=f"F{index}"))
        for index, rule in enumerate(read)
    ]
    assert len(families(rules)) == 1
    events = [
        Event(
            "B" if v is None else "A", at * SECOND, at * SECOND, {} if v is None else {"v": v}, at
        )
        for at, v in enumerate(values)
    ]
    assert_equal_to_the_oracle(rules, events, 40 * SECOND, [7])


LOOKING_AGAIN = (
    "and not A() between B and C",
    "and 1 <= Count(A() within 4 s from C)",
    "and each A() as again within 4 s from C",
    "and not D() between B and C",
)
"""Looks for events that may be consumed, in other lists than those that they were found in."""


@pytest.mark.property
@given(
    forms=st.lists(
        st.tuples(
            st.sampled_from(["each", "first", "last", "2-last", "2-first"]),
            st.sampled_from(["each", "first", "last", "2-last"]),
            st.sampled_from(["A", "B", "A, B", "A, C"]),
            st.integers(2, 12),
            st.sampled_from(["", "k = $k"]),
            st.sampled_from(["", *LOOKING_AGAIN]),
        ),
        min_size=1,
        max_size=3,
    ),
    stream=st.lists(st.tuples(st.sampled_from("AABBC"), st.integers(0, 2)), max_size=30),
    cut=cuts,
)
def test_what_a_rule_alone_consumes_is_gone(
    forms: list[tuple[str, str, str, int, str, str]], stream: list[tuple[str, int]], cut: list[int]
) -> None:
    text = "\n".join(
        f"Rule R{index} define F{index}(v: int) from C({key}) "
        f"and {one} B({key}) within {wait} s from C "
        f"and {other} A({key}) within {wait} s from B {more} where v = A.v consuming {consumed}"
        for index, (one, other, consumed, wait, key, more) in enumerate(forms)
    )
    rules = cepheid.load(text, language="tesla").rules
    events = [
        Event(type_, at * SECOND // 2, at * SECOND // 2, {"v": at, "k": k} if k else {"v": at}, at)
        for at, (type_, k) in enumerate(stream)
    ]
    assert_equal_to_the_oracle(rules, events, 40 * SECOND, cut)


# --- filters -----------------------------------------------------------------

NAMES = ("v", "w", "k")
constants: st.SearchStrategy[Value] = st.one_of(
    st.integers(-1, 3), st.sampled_from([0.5, 1.0, 2.0, -0.0, 2.0**60, 2**60 + 1, "x", "y", True])
)
"""Few, so that bounds are equal and intervals empty; of all kinds for every attribute."""
attributes = st.dictionaries(
    st.sampled_from(NAMES), st.one_of(constants, st.sampled_from([float("nan"), "z", 0.25, False]))
)


@st.composite
def local_tests(draw: st.DrawFn) -> Expression:
    """An attribute of the event itself, compared with a constant from either side."""
    own, other = Attribute(None, draw(st.sampled_from(NAMES))), Literal(draw(constants))
    sides = (own, other) if draw(st.booleans()) else (other, own)
    return Comparison(draw(st.sampled_from(list(Relation))), *sides)


local_conditions = st.one_of(
    local_tests(),
    local_tests(),
    st.lists(local_tests(), min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    local_tests().map(Not),
    st.sampled_from(NAMES).map(lambda name: Attribute(None, name)),
)


@st.composite
def filtering_rules(draw: st.DrawFn) -> Rule:
    """A rule whose terminator, component, negation and aggregate have filters of their own."""
    predicates = [
        EventPredicate((type_,), conjunction(draw(st.lists(local_conditions, max_size=4))))
        for type_ in ("A", "B", "A", "B")
    ]
    terminator, part, absent, counted = predicates
    policy = draw(st.sampled_from([EACH, Selection(Policy.LAST, 1), Selection(Policy.FIRST, 1)]))
    parts = [Component("a", terminator)]
    window = Window.within(9 * SECOND, "a")
    bindings, negations, outputs = [], [], []
    if draw(st.booleans()):
        parts.append(Component("b", part, policy, window))
    if draw(st.integers(0, 3)) == 0:
        negations.append(Negation("", absent, Window.within(3 * SECOND, "a")))
    if draw(st.integers(0, 3)) == 0:
        bindings.append(Binding("q", Aggregate(Function.COUNT, counted, None, window)))
        outputs.append(OutputAttribute("q", Kind.INT, Parameter("q")))
    tree = Tree(tuple(parts), tuple(negations), tuple(bindings))
    output = Output("Out", tuple(outputs))
    return Rule("R", output, tree, missing=draw(st.booleans()), language="tesla")


@pytest.mark.property
@given(
    rules=st.lists(filtering_rules(), min_size=1, max_size=8),
    later=st.lists(filtering_rules(), max_size=2),
    found=st.lists(st.tuples(st.sampled_from("AB"), attributes), max_size=14),
    cut=cuts,
)
def test_filters_choose_what_the_oracle_chooses(
    rules: list[Rule], later: list[Rule], found: list[tuple[str, dict[str, Value]]], cut: list[int]
) -> None:
    events = [
        Event(type_, at * SECOND, at * SECOND, values, at)
        for at, (type_, values) in enumerate(found)
    ]
    assert_equal_to_the_oracle(numbered([*rules, *later]), events, 40 * SECOND, cut)


@pytest.mark.property
@given(
    bounds=st.lists(
        st.tuples(constants, constants, constants, st.integers(0, 1)), min_size=10, max_size=24
    ),
    relations=st.permutations(list(Relation)),
    found=st.lists(attributes, min_size=1, max_size=6),
    missing=st.booleans(),
)
def test_many_filters_of_one_form_choose_what_the_oracle_chooses(
    bounds: list[tuple[Value, Value, Value, int]],
    relations: list[Relation],
    found: list[dict[str, Value]],
    *,
    missing: bool,
) -> None:
    """So many that the index has several levels, and that families form."""

    def rule(low: Value, high: Value, key: Value, which: int) -> Rule:
        tests: list[Expression] = [
            Comparison(relations[0], Attribute(None, "v"), Literal(low)),
            Comparison(relations[1], Attribute(None, "vw"[which]), Literal(high)),
            Comparison(Relation.EQUAL, Attribute(None, "k"), Literal(key)),
        ]
        tree = Tree((Component("a", EventPredicate(("A",), conjunction(tests[: 2 + which]))),))
        return Rule("R", Output("Out", ()), tree, missing=missing, language="tesla")

    events = [Event("A", at * SECOND, at * SECOND, v, at) for at, v in enumerate(found)]
    rules = numbered([rule(*bound) for bound in bounds])
    assert_equal_to_the_oracle(rules, events, 40 * SECOND, [3])


def with_constant(rule: Rule, place: int, value: Value) -> Rule:
    """The rule with one of the numbers in its component filters replaced."""
    tree = rule.pattern
    assert isinstance(tree, Tree)
    found = [
        condition
        for part in tree.components
        for condition in find(part.predicate, Comparison)
        if isinstance(condition.right, Literal)
    ]
    if not found:
        return rule
    target = found[place % len(found)]
    return _replaced(rule, target, replace(target, right=Literal(value)))


def _replaced(node: N, old: Node, new: Node) -> N:
    if node is old:
        return cast("N", new)
    changes: dict[str, Any] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, Node):
            changes[item.name] = _replaced(value, old, new)
        elif isinstance(value, tuple):
            changes[item.name] = tuple(
                _replaced(part, old, new) if isinstance(part, Node) else part for part in value
            )
    return replace(node, **changes)


# --- the specification -------------------------------------------------------


def is_for_trees(case: Case) -> bool:
    """Whether a case has only trees."""
    return case.error is None and all(isinstance(r.pattern, Tree) for r in case.load().rules)


SPEC = Path(__file__).parent / "spec"
CASES = [
    case for path in sorted(SPEC.glob("*.test")) for case in read_cases(path) if is_for_trees(case)
]


def test_most_of_the_specification_of_trees_runs_on_the_kernel() -> None:
    assert len(CASES) > 200


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.place)
def test_spec_cases_of_trees_give_the_same_on_the_kernel(case: Case) -> None:
    rules = case.load()
    until = parse_time(case.options["until"]) if "until" in case.options else None
    wanted = evaluate(rules.rules, case.events, schema=rules.schema, until=until).events
    given_ = detect(rules.rules, case.events, until, schema=rules.schema)
    assert contents(given_) == contents(wanted)


# --- families and state ------------------------------------------------------


def rule_with_threshold(threshold: int) -> Rule:
    text = f"""
        Rule R{threshold}
        define Fire(value: int)
        from Smoke(area = $a) and
          last Temp(area = $a and value > {threshold}) within 10 s from Smoke
        where value = Temp.value
    """
    return cepheid.load(text, language="tesla").rules[0]


def test_rules_that_differ_in_one_constant_are_one_family() -> None:
    rules = [rule_with_threshold(threshold) for threshold in (30, 10, 20)]
    (family,) = families(rules)
    assert family.members == (1, 2, 0)
    assert family.constants == (10, 20, 30)


def test_what_has_expired_is_forgotten() -> None:
    kernel = Kernel()
    kernel.deploy([rule_with_threshold(0)])
    stored = []
    for batch in range(100):
        first = 100 * batch
        events = [
            Event("Temp", at * SECOND, at * SECOND, {"area": f"A{at}", "value": 5})
            for at in range(first, first + 100)
        ]
        list(kernel.feed(kernel.encoder.encode(events, first)))
        stored.append(kernel.stored)
    assert max(stored) < 1200
    kernel.compact()
    assert kernel.stored == 10
    assert kernel.live().tolist() == list(range(9990, 10000))


def test_labels_of_rules_that_come_later_have_their_place_in_the_order() -> None:
    kernel = Kernel()
    kernel.deploy([rule_with_threshold(0)])
    list(kernel.feed(kernel.encoder.encode([Event("Temp", 1, 1, {"area": "new"})], 0)))
    kernel.deploy(cepheid.load("define V as [a: Door] ; [b: Person]", language="core").rules)
    ranks = kernel._memory.get(RANKS)
    texts = kernel.encoder.texts.texts()
    assert [texts[code] for code in ranks.argsort()] == sorted(texts)


# --- rules that double -------------------------------------------------------

DOUBLING = """
Rule R define A() from A()
Rule S define A() from A()
Rule T define B() from A()
"""


def caused(kernel: Kernel) -> Counter[str]:
    """How many composite events of each rule one event causes in rules that double."""
    names = [rule.name for rule in cepheid.load(DOUBLING, language="tesla")]
    kernel.deploy(tuple(cepheid.load(DOUBLING, language="tesla")))
    found: Counter[str] = Counter()
    for portion in kernel.feed(kernel.encoder.encode([Event("A", 0, 0)], 0)):
        found.update(names[number] for number in portion.rules)
    return found


@pytest.mark.parametrize("limit", range(1, 12))
def test_what_one_event_causes_is_cut_where_the_oracle_cuts_it(limit: int) -> None:
    kernel = Kernel(caused_limit=limit)
    wanted = evaluate(
        tuple(cepheid.load(DOUBLING, language="tesla")), [Event("A", 0, 0)], caused_limit=limit
    )
    assert caused(kernel) == Counter(event.rule for event in wanted.events)
    assert kernel.cut == wanted.cut > 0


def test_a_rule_that_doubles_with_every_level_comes_to_an_end() -> None:
    kernel = Kernel()
    found = caused(kernel)
    assert 1_000_000 <= found["R"] + found["S"] <= 1_000_002
    assert kernel.cut > 1_000_000
