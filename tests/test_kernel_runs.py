"""Runs in the kernel give what the oracle gives: random rules, streams, cuts, restarts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid
from cepheid.algebra import (
    Attribute,
    Coalesce,
    Collected,
    Comparison,
    CountWindow,
    Each,
    EventPredicate,
    Expression,
    Function,
    Item,
    Key,
    Not,
    Output,
    OutputAttribute,
    Rule,
    Run,
    TimeWindow,
)
from cepheid.events import CompositeEvent, Event, Kind, Order, Schema, Value
from cepheid.kernel.found import Found
from cepheid.kernel.kernel import Kernel
from cepheid.oracle import evaluate
from cepheid.testing import Case
from cepheid.units import parse_time
from tests.cases import CASES, case_id
from tests.engines import contents
from tests.strategies import (
    NUMBERS,
    SECOND,
    arithmetic,
    comparisons,
    conditions,
    durations,
    functions,
    laipl_runs,
    literals,
    own_attributes,
    own_tests,
    relations,
)

LABEL = "x"
INPUTS = ("A", "B")
CAUSED = 50
"""So many composite events may one event cause: rules that feed on themselves come to a million."""


# --- driving the kernel ------------------------------------------------------


@dataclass
class Driver:
    """A kernel with the events that it knows by their origins."""

    kernel: Kernel
    order: Order
    rules: list[Rule] = field(default_factory=list)
    known: dict[int, Event] = field(default_factory=dict)
    told: list[CompositeEvent] = field(default_factory=list)
    history: list[tuple[Rule, ...] | int] = field(default_factory=list)

    def deploy(self, rules: Sequence[Rule]) -> list[int]:
        self.rules += rules
        self.history.append(tuple(rules))
        return self.kernel.deploy(rules)

    def remove(self, number: int) -> None:
        self.history.append(number)
        self.kernel.remove(number)

    def feed(self, ordered: Sequence[Event], begin: int, end: int) -> None:
        self.known.update(enumerate(ordered[begin:end], begin))
        found = list(self.kernel.feed(self.kernel.encoder.encode(ordered[begin:end], begin)))
        origins, times = self.kernel.take_ticks()
        for origin, time in zip(origins.tolist(), times.tolist(), strict=True):
            self.known[origin] = Event("Timer", time, time)
        matches = [match for portion in found for match in self._matches(portion)]
        for origin, portion, at in sorted(matches, key=_made):
            composite = self._composite(portion, at)
            self.told.append(composite)
            if origin < 0:
                self.known[origin] = composite

    def _matches(self, found: Found) -> Iterator[tuple[int, Found, int]]:
        """The matches one by one, after the origin of what they make; 0 where nobody listens."""
        found = found.spread()
        for at in range(len(found)):
            yield 0 if found.origins is None else int(found.origins[at]), found, at

    def _composite(self, found: Found, at: int) -> CompositeEvent:
        assert found.offsets is not None
        assert found.label_codes is not None
        rule, encoder = self.rules[found.rules[at]], self.kernel.encoder
        parts = [
            (encoder.texts[found.label_codes[place]], self.known[int(found.constituents[place])])
            for place in range(found.offsets[at], found.offsets[at + 1])
        ]
        values = encoder.decode(found.tags[:, at].tolist(), found.cells[:, at].tolist())
        given_ = zip(found.names, values, strict=True)
        return CompositeEvent(
            "Failure" if found.failure else rule.output.type,
            int(found.starts[at]),
            int(found.times[at]),
            {name: value for name, value in given_ if value is not None},
            rule=rule.name,
            events=tuple(sorted(parts, key=lambda part: (self.order.key(part[1]), part[0]))),
        )

    def restart(self) -> None:
        """Go on in another kernel with the same rules and the state of this one."""
        state, encoder = self.kernel.state(), self.kernel.encoder
        fresh = Kernel(failures=self.kernel.registry.failures, caused_limit=CAUSED)
        for text in encoder.texts.texts():
            fresh.encoder.texts.code(text)
        for step in self.history:
            if isinstance(step, int):
                fresh.remove(step)
            else:
                fresh.deploy(step)
        assert fresh.encoder.texts.texts() == encoder.texts.texts()
        fresh.load(state)
        self.kernel = fresh


def _made(match: tuple[int, Found, int]) -> tuple[bool, int]:
    """What others are made of comes first: the kernel counts down, and 0 is part of nothing."""
    return match[0] == 0, -match[0]


def detect(
    rules: Sequence[Rule],
    stream: Sequence[Event],
    cuts: Sequence[int] = (),
    *,
    failures: bool = False,
    restarts: bool = False,
    schema: Schema | None = None,
) -> Driver:
    order = Order(schema)
    ordered = sorted(stream, key=order.key)
    driver = Driver(Kernel(failures=failures, caused_limit=CAUSED), order)
    driver.deploy(rules)
    for begin, end in pairwise([0, *sorted(min(cut, len(ordered)) for cut in cuts), len(ordered)]):
        driver.feed(ordered, begin, end)
        driver.kernel.compact()
        if restarts:
            driver.restart()
    return driver


def assert_same(given_: Sequence[CompositeEvent], wanted: Sequence[CompositeEvent]) -> None:
    missing = contents(wanted) - contents(given_)
    unwanted = contents(given_) - contents(wanted)
    assert (missing, unwanted) == (Counter(), Counter())


def numbered(rules: Sequence[Rule]) -> list[Rule]:
    """Rules with names and outputs of their own."""
    return [
        replace(rule, name=f"R{index}", output=replace(rule.output, type=f"Out{index}"))
        for index, rule in enumerate(rules)
    ]


# --- random rules ------------------------------------------------------------


def _values() -> st.SearchStrategy[Expression]:
    """What can be said about a run: its last event, one of its events, all of them.

    A filter may compare an event of the run with others of it.
    """
    average = Collected(Function.AVG, LABEL, "v")
    others = st.sampled_from([Attribute(LABEL, "w"), Item(LABEL, 1, "v"), average])
    inner = st.one_of(
        st.none(), own_tests(), st.builds(Comparison, relations, own_attributes(), others)
    )
    names = st.sampled_from(NUMBERS)
    return st.one_of(
        st.builds(Attribute, st.just(LABEL), names),
        st.builds(Item, st.just(LABEL), st.sampled_from([1, 2, 3, -1, -2]), names),
        st.builds(Collected, functions, st.just(LABEL), names, inner),
        st.builds(Collected, st.just(Function.COUNT), st.just(LABEL), st.none(), inner),
    )


VALUES = _values()
TESTS = st.one_of(own_tests(), comparisons(own_attributes()))
FILTERS = st.one_of(st.none(), TESTS)
CONDITIONS = st.one_of(
    st.none(),
    TESTS.map(Each),
    comparisons(VALUES),
    VALUES.map(Not),
    conditions(VALUES),
)
RESULTS = st.one_of(
    VALUES,
    arithmetic(st.one_of(VALUES, literals())),
    st.lists(VALUES, min_size=2, max_size=2).map(lambda two: Coalesce(tuple(two))),
)
WINDOWS = st.one_of(durations.map(TimeWindow), st.integers(1, 5).map(CountWindow))
OUTPUTS = st.sampled_from([("v",), ("v", "w"), ("w", "k")])
KINDS = st.sampled_from([None, Kind.INT, Kind.DOUBLE])


@st.composite
def keys(draw: st.DrawFn, types: Sequence[str]) -> Key:
    """A key, or a fixed value that all types but the first are free of."""
    name = draw(st.sampled_from(["k", "v", "w"]))
    value = draw(st.sampled_from([None, None, "x", 2, 2.0, 0.5]))
    named = types if value is None else types[:1]
    return Key(tuple((type_, name) for type_ in named), value)


@st.composite
def runs(draw: st.DrawFn, types: Sequence[str] = INPUTS) -> Rule:
    """Any run, also what no language says."""
    chosen = draw(st.lists(st.sampled_from(list(types)), min_size=1, max_size=2, unique=True))
    partition = tuple(draw(st.lists(keys(chosen), max_size=2)))
    predicate = EventPredicate(tuple(chosen), draw(FILTERS))
    run = Run(LABEL, predicate, draw(WINDOWS), draw(CONDITIONS), partition)
    names = draw(OUTPUTS)
    outputs = tuple(OutputAttribute(name, draw(KINDS), draw(RESULTS)) for name in names)
    return Rule("R", Output("Out", outputs), run, missing=draw(st.booleans()))


def on_one_type(rule: Rule) -> Rule:
    """The rule with another input, so that rules and streams meet more often."""
    run = rule.pattern
    assert isinstance(run, Run)
    names = [Key((("A", name),)) for key in run.partition for _, name in key.attributes]
    predicate = replace(run.predicate, types=("A",))
    return replace(rule, pattern=replace(run, predicate=predicate, partition=tuple(names)))


laipl = st.one_of(laipl_runs(), laipl_runs().map(on_one_type))
times = st.tuples(st.integers(0, 30), st.sampled_from([0, 0, 0, 1, 3]))
numbers = st.sampled_from([None, *range(-3, 10), 0.5, 2.0, -1.25, 1e300, 1e-7, 2**45])
values = st.tuples(st.sampled_from([None, "x", "y"]), numbers, numbers)


def present(found: tuple[Value | None, ...]) -> dict[str, Value]:
    return {name: value for name, value in zip("kvw", found, strict=True) if value is not None}


def events_of(drawn: list[tuple[str, tuple[int, int], tuple[Value | None, ...]]]) -> list[Event]:
    return [
        Event(type_, at * SECOND, (at + length) * SECOND, present(found), id=index)
        for index, (type_, (at, length), found) in enumerate(drawn)
    ]


streams = st.lists(st.tuples(st.sampled_from("AAB"), times, values), max_size=30).map(events_of)
cuts = st.lists(st.integers(0, 30), max_size=3)
repeats = st.lists(st.integers(0, 3), max_size=2)


# --- properties --------------------------------------------------------------


@pytest.mark.property
@given(st.lists(laipl, min_size=1, max_size=4), repeats, streams, cuts, st.booleans())
def test_random_runs_of_laipl_give_what_the_oracle_gives(
    some: list[Rule], again: list[int], stream: list[Event], cut: list[int], failures: bool
) -> None:
    rules = numbered([*some, *(some[index % len(some)] for index in again)])
    wanted = evaluate(rules, stream, failures=failures, caused_limit=CAUSED).events
    assert_same(detect(rules, stream, cut, failures=failures).told, wanted)


@pytest.mark.property
@given(st.lists(runs(), min_size=1, max_size=3), repeats, streams, cuts, st.booleans())
def test_any_runs_give_what_the_oracle_gives_after_restarts(
    some: list[Rule], again: list[int], stream: list[Event], cut: list[int], failures: bool
) -> None:
    rules = numbered([*some, *(some[index % len(some)] for index in again)])
    wanted = evaluate(rules, stream, failures=failures, caused_limit=CAUSED).events
    assert_same(detect(rules, stream, cut, failures=failures, restarts=True).told, wanted)


@pytest.mark.property
@given(
    st.lists(runs(types=("A", "Out0", "Out1", "Out2", "Failure")), min_size=2, max_size=4),
    streams,
    cuts,
)
def test_runs_of_what_runs_find_give_what_the_oracle_gives(
    some: list[Rule], stream: list[Event], cut: list[int]
) -> None:
    rules = numbered(some)
    wanted = evaluate(rules, stream, failures=True, caused_limit=CAUSED)
    driver = detect(rules, stream, cut, failures=True)
    assert_same(driver.told, wanted.events)
    assert driver.kernel.cut == wanted.cut


@pytest.mark.property
@given(
    st.lists(st.tuples(laipl, st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=5),
    streams,
)
def test_rules_come_and_go_without_a_trace_in_others(
    some: list[tuple[Rule, int, int]], stream: list[Event]
) -> None:
    """A rule finds what it would find alone in the stretch between its coming and its going."""
    rules = numbered([rule for rule, _, _ in some])
    ordered = sorted(stream, key=Order().key)
    places = [len(ordered) * part // 4 for part in range(5)]
    driver, numbers = Driver(Kernel(failures=True), Order()), dict[int, int]()
    for part in range(4):
        for index, (_, _, last) in enumerate(some):
            if last == part and index in numbers:
                driver.remove(numbers.pop(index))
        new = [index for index, (_, first, last) in enumerate(some) if first == part < last]
        numbers.update(zip(new, driver.deploy([rules[index] for index in new]), strict=True))
        driver.feed(ordered, places[part], places[part + 1])
        driver.restart()
    wanted = [
        event
        for rule, (_, first, last) in zip(rules, some, strict=True)
        for event in evaluate([rule], ordered[places[first] : places[last]], failures=True).events
    ]
    assert_same(driver.told, wanted)


# --- the specification -------------------------------------------------------


def is_for_runs(case: Case) -> bool:
    return case.error is None and all(isinstance(r.pattern, Run) for r in case.load().rules)


RUN_CASES = [case for case in CASES if is_for_runs(case)]


def test_the_specification_has_cases_of_runs() -> None:
    assert len(RUN_CASES) > 40


@pytest.mark.parametrize("case", RUN_CASES, ids=case_id)
def test_spec_cases_of_runs_give_the_same_on_the_kernel(case: Case) -> None:
    rules = case.load()
    until = parse_time(case.options["until"]) if "until" in case.options else None
    failures = case.options.get("failures") == "true"
    wanted = evaluate(
        rules.rules, case.events, schema=rules.schema, until=until, failures=failures
    ).events
    driver = detect(rules.rules, case.events, failures=failures, schema=rules.schema)
    assert_same(driver.told, wanted)


# --- single points -----------------------------------------------------------


def readings(values: Sequence[Value], step: int = SECOND, **others: Value) -> list[Event]:
    return [
        Event("Temp", at * step, at * step, {"value": value, **others}, id=at)
        for at, value in enumerate(values)
    ]


def rule_of(where: str, name: str = "R", composite: str = "") -> Rule:
    text = f"Rule {name} Define Out{name} (x: Double) From Temp Where {where} {composite}"
    return cepheid.load(text, language="laipl").rules[0]


def test_a_run_that_never_holds_keeps_only_its_window() -> None:
    rule = rule_of("Average(Temp.value) > 3.5 Within(100 sec)")
    driver = detect([rule], readings([at % 7 + 0.1 for at in range(3000)]))
    assert driver.told == []
    assert driver.kernel.stored == 100


@pytest.mark.parametrize("large", [2**40, -(2**50), 1e300, -1e300, 2.0**-70, 5e-324, math.inf])
def test_sums_stay_exact_beside_numbers_that_do_not_fit(large: Value) -> None:
    values: list[Value] = [1, 0.1, large, -0.7, 3, 0.1, 0.2, large, 5, 2**51 + 1, 0.3, -5]
    rules = [
        rule_of(f"{function}(Temp.value) {relation} 0.3 Batch(3)", f"R{at}{sign}")
        for at, function in enumerate(("Sum", "Average", "Min", "Max"))
        for sign, relation in enumerate(("<", ">="))
    ]
    stream = readings(values)
    assert_same(detect(rules, stream, [5]).told, evaluate(rules, stream).events)


@pytest.mark.parametrize("window", ["Within(40 sec)", "Batch(23)"])
def test_values_of_windows_that_slide_for_long(window: str) -> None:
    """Most runs do not hold, so that a window slides event by event, over cuts and restarts."""
    random = np.random.default_rng(5)
    drawn = zip(random.integers(-50, 50, 600).tolist(), random.random(600).tolist(), strict=True)
    values = [whole if whole % 3 else whole + part for whole, part in drawn]
    rules = [rule_of(f"{where} {window}", f"R{at}") for at, where in enumerate(RARE)]
    stream = readings(values)
    driver = detect(rules, stream, [100, 250, 251, 500], restarts=True)
    assert_same(driver.told, evaluate(rules, stream).events)
    assert len({event.rule for event in driver.told}) == len(RARE)


RARE = [
    "Average(Temp.value) > 6",
    "Average(Temp.value) < -6",
    "Sum(Temp.value) > 200",
    "Sum(Temp.value) < -200",
    "Min(Temp.value) > -46",
    "Min(Temp.value) < -49",
    "Max(Temp.value) < 46",
    "Max(Temp.value) > 48",
    "Count(Temp.value > 43) = 0",
]


def test_partitions_that_hold_nothing_leave_nothing() -> None:
    rule = rule_of("Temp.value > 0 Batch(2)")
    assert isinstance(rule.pattern, Run)
    rule = replace(rule, pattern=replace(rule.pattern, partition=(Key((("Temp", "source"),)),)))
    stream = [
        Event("Temp", at, at, {"value": 1, "source": f"S{at // 2}"}, id=at) for at in range(4000)
    ]
    driver = Driver(Kernel(), Order())
    driver.deploy([rule])
    sizes = []
    for begin in range(0, 4000, 500):
        driver.feed(stream, begin, begin + 500)
        driver.kernel.compact()
        sizes.append(sum(len(part) for part in driver.kernel.state().values()))
    assert len(driver.told) == 2000
    assert driver.kernel.stored == 0
    assert max(sizes) == min(sizes)


def test_a_rule_with_a_fixed_source_is_found_by_it() -> None:
    rules = [
        rule_of("Temp.value > 0 Batch(1)", f"R{at}", f"Composite Temp.source = S{at}")
        for at in range(50)
    ]
    stream = [*readings([1, 2], source="S7"), *readings([3], source="S50")]
    (first, second) = detect(rules, stream).told
    assert {first.rule, second.rule} == {"R7"}


def test_tests_of_one_chain_end_with_the_first_that_fails() -> None:
    rules = [
        rule_of(f"Temp.value {relation} {bound} Batch(1)", f"R{at}{index}")
        for index, relation in enumerate((">", ">=", "<", "<=", "=", "!="))
        for at, bound in enumerate((3, 1, 2.5, 2, -1, 1e300, 2**60))
    ]
    values: list[Value] = [0, 1, 2, 2.5, 3, 2**60, 2.0**60, 1e300, -5, "text", True]
    stream = [*readings(values), Event("Temp", 99 * SECOND, 99 * SECOND, {}, id=99)]
    assert_same(detect(rules, stream).told, evaluate(rules, stream).events)


def test_rules_that_differ_in_their_names_find_the_same_each_on_its_own() -> None:
    rules = [rule_of("Average(Temp.value) > 2 Batch(3)", f"R{at}") for at in range(4)]
    stream = readings([1, 2, 3, 4, 5, 1, 0])
    driver = detect(rules, stream[:4], failures=True)
    driver.remove(1)
    driver.feed(stream, 4, 7)
    found = Counter((event.rule, event.type) for event in driver.told)
    assert found == Counter(
        {("R0", "Failure"): 2, ("R2", "Failure"): 2, ("R3", "Failure"): 2, ("R1", "Failure"): 1}
        | {(f"R{at}", f"OutR{at}"): 1 for at in range(4)}
    )


def test_a_run_of_ticks_of_a_periodic_timer() -> None:
    run = Run(LABEL, EventPredicate(("Timer",), None, 3 * SECOND), CountWindow(3))
    count = OutputAttribute("v", None, Collected(Function.COUNT, LABEL, None))
    rules = [Rule("R", Output("Out", (count,)), run), rule_of("Temp.value > 0 Batch(1)", "S")]
    stream = readings([1, 2], step=20 * SECOND)
    assert_same(detect(rules, stream).told, evaluate(rules, stream).events)


def test_a_long_run_is_kept_whole_and_given_up_whole() -> None:
    rule = rule_of("Temp.value > 0 Batch(5000)")
    driver = detect([rule], readings(list(range(1, 5001))), cuts=[10, 3000, 4999])
    (match,) = driver.told
    assert len(match.events) == 5000
    assert match.attributes == {"x": 2500.5}
    assert driver.kernel.stored == 0
    assert np.sum(driver.kernel.live()) == 0
