"""Detectors in the kernel give what the oracle gives, and keep no more than they need."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid
from cepheid.algebra import (
    Alternation,
    Atom,
    Attribute,
    Body,
    Collected,
    Comparison,
    Detector,
    EventPredicate,
    Expression,
    Function,
    Iteration,
    Literal,
    Output,
    OutputAttribute,
    Parallel,
    Relation,
    Rule,
    TimerSignal,
    Timing,
    conjunction,
)
from cepheid.algebra import (
    Sequence as Then,
)
from cepheid.errors import LimitError
from cepheid.events import CompositeEvent, Event, Order
from cepheid.kernel.detector_automaton import Automaton
from cepheid.kernel.detector_machine import Machine
from cepheid.kernel.found import Found
from cepheid.kernel.kernel import Kernel
from cepheid.kernel.limits import Limit
from cepheid.oracle import evaluate
from cepheid.testing import Case
from tests.cases import CASES, case_id
from tests.engines import contents
from tests.pace import within
from tests.strategies import SECOND, TYPES, core_rules, streams

DEPTH = 4
"""How deep rules may feed on themselves: two matches of an event double with every step."""
CAUSED = 8
"""So many composite events may one event cause before no more are let in."""

# --- through the kernel ------------------------------------------------------


@dataclass
class Detection:
    """Feeds a kernel, and makes composite events of what it finds."""

    rules: Sequence[Rule]
    kernel: Kernel = field(default_factory=lambda: Kernel(depth_limit=DEPTH, caused_limit=CAUSED))
    found: list[CompositeEvent] = field(default_factory=list)
    events: dict[int, Event] = field(default_factory=dict)
    order: Order = field(default_factory=Order)
    limit: Limit | None = None

    def __post_init__(self) -> None:
        self.kernel.deploy(self.rules, [self.limit for _ in self.rules])

    def feed(self, events: Sequence[Event]) -> None:
        """Feed events that come after all others."""
        first = len([origin for origin in self.events if origin >= 0])
        self.events |= dict(enumerate(events, first))
        self.take(list(self.kernel.feed(self.kernel.encoder.encode(events, first))))

    def advance(self, until: int) -> None:
        """Let time pass."""
        self.take(list(self.kernel.advance(until)))

    def take(self, portions: list[Found]) -> None:
        """Make composite events, what others are made of first."""
        spread = [portion.spread() for portion in portions]
        waiting = [(portion, at) for portion in spread for at in range(len(portion))]
        while waiting:
            later = []
            for portion, at in waiting:
                if self.knows(portion, at):
                    self.found.append(self.composite(portion, at))
                else:
                    later.append((portion, at))
            assert len(later) < len(waiting), "a constituent is missing"
            waiting = later

    def knows(self, portion: Found, at: int) -> bool:
        """Whether all constituents of a match are there."""
        return all(origin in self.events for _, origin in self.parts(portion, at))

    def parts(self, portion: Found, at: int) -> Iterator[tuple[str, int]]:
        """Labels and origins of the constituents of a match."""
        assert portion.offsets is not None
        assert portion.label_codes is not None
        texts = self.kernel.encoder.texts.texts()
        for place in range(portion.offsets[at], portion.offsets[at + 1]):
            yield texts[portion.label_codes[place]], int(portion.constituents[place])

    def composite(self, portion: Found, at: int) -> CompositeEvent:
        """The composite event of a match."""
        rule = self.rules[portion.rules[at]]
        cells = portion.tags[:, at].tolist(), portion.cells[:, at].tolist()
        values = zip(portion.names, self.kernel.encoder.decode(*cells), strict=True)
        parts = [(label, self.events[origin]) for label, origin in self.parts(portion, at)]
        made = CompositeEvent(
            rule.output.type,
            int(portion.starts[at]),
            int(portion.times[at]),
            {name: value for name, value in values if value is not None},
            rule=rule.name,
            events=tuple(sorted(parts, key=lambda part: (self.order.key(part[1]), part[0]))),
        )
        if portion.origins is not None and portion.origins[at] < 0:
            self.events[int(portion.origins[at])] = made
        return made

    def restart(self) -> None:
        """Go on with another kernel, from a compacted snapshot of this one."""
        self.kernel.compact()
        other = Kernel(depth_limit=DEPTH, caused_limit=CAUSED)
        other.deploy(self.rules)
        for text in self.kernel.encoder.texts.texts():
            other.encoder.texts.code(text)
        other.load(self.kernel.state())
        self.kernel = other


def detect(
    rules: Sequence[Rule], events: Sequence[Event], until: int, cuts: Sequence[int] = ()
) -> list[CompositeEvent]:
    """What the kernel finds, with a restart at every cut."""
    detection = Detection(rules)
    ordered = sorted(events, key=detection.order.key)
    places = [0, *sorted(min(cut, len(ordered)) for cut in cuts), len(ordered)]
    for begin, end in pairwise(places):
        detection.feed(ordered[begin:end])
        if end < len(ordered):
            detection.restart()
    if ordered:
        detection.advance(max(until, *(event.end for event in ordered)))
    return detection.found


def assert_equal_to_the_oracle(
    rules: Sequence[Rule], events: Sequence[Event], until: int, cuts: Sequence[int]
) -> None:
    outcome = evaluate(rules, events, until=until, depth_limit=DEPTH, caused_limit=CAUSED)
    wanted = contents(outcome.events)
    given_ = contents(detect(rules, events, until, cuts))
    assert (wanted - given_, given_ - wanted) == (Counter(), Counter())


# --- random rules ------------------------------------------------------------


@dataclass
class Author:
    """Writes random rules with labels, keys, conditions, timers and values."""

    random: Random
    types: Sequence[str] = TYPES
    labels: list[str] = field(default_factory=list)
    timers: int = 0

    def rule(self, name: str) -> Rule:
        """A rule that the algebra allows, whether or not the language does."""
        self.labels, self.timers = [], 0
        body = self.body(self.random.choice([1, 2, 2, 3, 3, 4]), None)
        body = Then((self.atom(None), body), strong=False) if nullable(body) else body
        within = self.random.choice([None, None, 1, 4, 9, 20])
        detector = Detector(body, self.where(), None if within is None else within * SECOND)
        return Rule(name, Output(name, self.outputs()), detector, language="core")

    def body(self, size: int, timer: str | None) -> Body:
        """An expression of so many atoms, in which a timer may be used."""
        if size <= 1:
            return self.atom(timer)
        first = self.random.randint(1, size - 1)
        sizes = (first, size - first)
        kind = self.random.choice(["then", "then", "weak", "or", "again", "timing", "beside"])
        if kind == "again":
            return Iteration(self.body(size - 1, timer))
        if kind == "timing":
            return self.timing(sizes, timer)
        inner = None if kind == "beside" else timer
        parts = tuple(self.body(part, inner) for part in sizes)
        if kind == "or" or (kind == "beside" and any(map(nullable, parts))):
            return Alternation(parts)
        return Parallel(*parts) if kind == "beside" else Then(parts, strong=kind == "then")

    def timing(self, sizes: tuple[int, int], timer: str | None) -> Body:
        """A timer between two parts; the first must need an event."""
        first = self.body(sizes[0], timer)
        if nullable(first):
            return Then((first, self.body(sizes[1], timer)), strong=False)
        self.timers += 1
        name = f"T{self.timers}"
        second = self.body(sizes[1], name)
        if self.random.random() < 0.15:
            return Timing(first, second, name, None, self.random.randint(0, 40) * SECOND)
        return Timing(first, second, name, self.random.randint(1, 9) * SECOND)

    def atom(self, timer: str | None) -> Body:
        """An atom, perhaps with a label, a wider domain, a negation or a timer."""
        shared = self.filter() if self.random.random() < 0.4 else None
        types = self.random.sample(list(self.types), self.random.choice([1, 1, 2, 3]))
        signals: list[EventPredicate | TimerSignal] = [
            EventPredicate((type_,), shared or self.filter()) for type_ in types
        ]
        if timer is not None and self.random.random() < 0.4:
            signals.insert(self.random.randint(0, len(signals)), TimerSignal(timer))
        accepts = tuple(signals[: self.random.choice([1, 1, 1, 2])])
        negated = len(signals) > len(accepts) and self.random.random() < 0.15
        wide = negated or self.random.random() < 0.6
        label = None
        if self.random.random() < 0.6:
            # Now and then a label is called like a type, which is a name of other events then.
            free = [name for name in ("A", "B") if name not in self.labels]
            label = f"l{len(self.labels)}"
            label = free[0] if free and self.random.random() < 0.05 else label
            self.labels.append(label)
        return Atom(label, accepts, tuple(signals) if wide else accepts, negated)

    def filter(self) -> Expression | None:
        """Conditions on the event, with a constant, and with an event before it."""
        parts: list[Expression] = []
        if self.random.random() < 0.2:
            parts.append(Comparison(self.relation(), Attribute(None, "v"), self.number()))
        if self.random.random() < 0.15:
            parts.append(Comparison(Relation.EQUAL, Literal("x"), Attribute(None, "k")))
        if self.labels and self.random.random() < 0.5:
            label, names = self.random.choice(self.labels), self.random.choice(["kk", "vv", "vw"])
            other: Expression = Attribute(label, names[1])
            if self.random.random() < 0.1:
                other = Collected(Function.COUNT, label, None)
            relation = Relation.EQUAL if self.random.random() < 0.8 else self.relation()
            parts.append(Comparison(relation, Attribute(None, names[0]), other))
        return conjunction(parts)

    def where(self) -> Expression | None:
        """A condition on the whole match."""
        if not self.labels or self.random.random() < 0.7:
            return None
        one, other = self.random.choice(self.labels), self.random.choice(self.labels)
        options: list[Expression] = [
            Attribute(other, "v"),
            Collected(Function.COUNT, other, None),
        ]
        right = self.random.choice(options)
        return Comparison(self.relation(), Attribute(one, "v"), right)

    def outputs(self) -> tuple[OutputAttribute, ...]:
        """Values of the composite event, under names that filters ask for."""
        if not self.labels:
            return ()
        values = {name: Attribute(self.random.choice(self.labels), name) for name in "kv"}
        count = Collected(Function.COUNT, self.random.choice(self.labels), None)
        found = [OutputAttribute(name, None, value) for name, value in values.items()]
        return (*found, OutputAttribute("w", None, count))

    def relation(self) -> Relation:
        """How two values are compared."""
        return self.random.choice(list(Relation))

    def number(self) -> Literal:
        """A constant."""
        return Literal(self.random.choice([0, 1, 2.0, 0.5]))


def nullable(body: Body) -> bool:
    if isinstance(body, Iteration):
        return True
    if isinstance(body, Then):
        return all(map(nullable, body.parts))
    if isinstance(body, Alternation):
        return any(map(nullable, body.parts))
    return isinstance(body, Timing) and nullable(body.first) and nullable(body.second)


randoms = st.randoms(use_true_random=False)
cuts = st.lists(st.integers(0, 14), max_size=3)
ends = st.integers(0, 60).map(lambda seconds: seconds * SECOND)


def busy_streams() -> st.SearchStrategy[list[Event]]:
    """Events of few types with few values, so that much happens."""
    few = {"C": "A", "D": "B"}
    values = st.sampled_from([0, 1, 1.0, 2])
    return st.one_of(
        streams(),
        st.tuples(streams(), st.lists(values, min_size=14, max_size=14)).map(
            lambda pair: [
                replace(
                    event,
                    type=few.get(event.type, event.type),
                    attributes={**event.attributes, "v": value},
                )
                for event, value in zip(*pair, strict=False)
            ]
        ),
    )


@pytest.mark.property
@given(rules=st.lists(core_rules(), min_size=1, max_size=3), events=streams(), until=ends, cut=cuts)
def test_random_rules_give_what_the_oracle_gives(
    rules: list[Rule], events: list[Event], until: int, cut: list[int]
) -> None:
    named = [
        replace(rule, name=f"R{number}", output=Output(f"R{number}"))
        for number, rule in enumerate(rules)
    ]
    assert_equal_to_the_oracle(named, events, until, cut)


@pytest.mark.property
@given(random=randoms, events=busy_streams(), until=ends, cut=cuts)
def test_rules_with_labels_give_what_the_oracle_gives(
    random: Random, events: list[Event], until: int, cut: list[int]
) -> None:
    assert_equal_to_the_oracle([Author(random).rule("R")], events, until, cut)


@pytest.mark.property
@given(random=randoms, events=busy_streams(), until=ends, cut=cuts)
def test_rules_over_rules_give_what_the_oracle_gives(
    random: Random, events: list[Event], until: int, cut: list[int]
) -> None:
    types = [*TYPES, "R0", "R1", "R2"]
    rules = [Author(random, types[: 5 + number]).rule(f"R{number}") for number in range(3)]
    assert_equal_to_the_oracle(rules, events, until, cut)


CORE_CASES = [case for case in CASES if case.language == "core" and case.expect is not None]


@pytest.mark.parametrize("case", CORE_CASES, ids=case_id)
def test_cases_of_the_core_language_pass_with_a_restart_after_every_event(case: Case) -> None:
    rules, until = case.load().rules, case.until or 0
    assert_equal_to_the_oracle(rules, case.events, until, range(1, len(case.events)))


# --- single properties -------------------------------------------------------


def rules_of(text: str) -> list[Rule]:
    return list(cepheid.load(text, language="core").rules)


def points(text: str, gap: int = SECOND) -> list[Event]:
    """Events one after the other, as `A B AA`; k tells how often the type is written."""
    return [
        Event(word[0], at * gap, at * gap, {"k": len(word), "v": at}, id=at)
        for at, word in enumerate(text.split())
    ]


def test_composite_events_of_equal_events_follow_the_order_of_these() -> None:
    rules = rules_of("define Pair as [B] || [B]\n\ndefine Two as [Pair] [Pair]")
    assert_equal_to_the_oracle(rules, [Event("B", 0, 0), Event("B", 0, 0)], 0, [])


def test_branches_are_found_by_the_attribute_that_all_of_the_domain_must_share() -> None:
    (rule,) = rules_of(
        """
        define Meeting as
          [on: Boardon]
          [[Pers(room = on.room)] [Pers(room = on.room)]* [Boardoff(place = on.room)]
           in {Pers(room = on.room), Boardoff(place = on.room)}]
        """
    )
    assert isinstance(rule.pattern, Detector)
    automaton = Automaton.of(rule.pattern.body)
    machine = Machine(0, 0, automaton, 0, ordered=False, side=False)
    machine.find_cases(lambda predicate: [sum(map(ord, predicate.types[0]))])
    machine.choose_keys()
    keys = {case.key.column if case.key else None for case in machine.cases.values() if case.state}
    assert list(machine.ways) == [("on", "room")]
    assert keys == {"room", "place"}


def test_constants_that_are_equal_in_python_are_different_rules() -> None:
    texts = [f"define R{n} as [A(k = {value})]" for n, value in enumerate(["1", "1.0", "true"])]
    events = [Event("A", 1, 1, {"k": k}, id=n) for n, k in enumerate([1, 1.0, True])]
    found = detect([rule for text in texts for rule in rules_of(text)], events, 0)
    assert Counter(event.type for event in found) == {"R0": 2, "R1": 2, "R2": 1}


def test_a_rule_of_a_thousand_is_found_by_its_constant() -> None:
    text = "\n".join(f"define R{n} as [A(k = {n})] ; [B(k = {n} and v > 0)]" for n in range(1000))
    events = [
        Event(type_, time_, time_, {"k": 7, "v": v}, id=time_)
        for time_, (type_, v) in enumerate([("A", 0), ("B", 0), ("B", 1), ("B", 1)])
    ]
    assert [event.type for event in detect(rules_of(text), events, 0)] == ["R7"]


def test_twins_do_not_multiply() -> None:
    # Every A takes two transitions; with a branch for each there would be 2 ** 60 of them.
    rules = rules_of("define X as [S] ([A] | [A in {A, B}])* [C]")
    detection = Detection(rules)
    detection.feed(points("S " + "A " * 60 + "C"))
    assert [(event.start, event.end) for event in detection.found] == [(0, 61 * SECOND)]


def test_without_a_time_a_side_keeps_a_thousand_matches() -> None:
    rules = rules_of("define X as [a: A] || [B] return (v = a.v)")
    found = detect(rules, points("A " * 1005 + "B"), 0)
    assert sorted(event.attributes["v"] for event in found) == list(range(5, 1005))


def test_matches_of_one_event_are_kept_in_the_order_of_their_branches() -> None:
    # The B completes 1,100 matches at once, of which the last thousand wait for the C.
    rules = rules_of("define X as [a: A] [B] || [C] return (v = a.v)")
    found = detect(rules, points("A " * 1100 + "B C"), 0)
    assert sorted(event.attributes["v"] for event in found) == list(range(100, 1100))


@pytest.mark.parametrize(
    "text",
    [
        # Two branches take the same events in pairs of their own; the older one tells them.
        "define X as ([a: A] || [b: B])* [C] within 1min return (n = Count(a), v = a.v)",
        # An event goes by the same name with a label and without; the first one tells it.
        "define X as [D] ([B] | [B: B]) return (v = B.v)",
        "define X as [D] ([B: B] | [B]) return (v = B.v)",
    ],
)
def test_of_equal_constituents_the_first_branch_tells(text: str) -> None:
    events = points("A A B B C D B")
    assert_equal_to_the_oracle(rules_of(text), events, 0, [])
    assert detect(rules_of(text), events, 0)


@pytest.mark.parametrize(
    "text",
    [
        "define X as [a: A] ; [b: C(k = a.k)] within 10s",
        "define X as [A] [B]* [C] within 10s",
        "define X as [A] || [B] within 10s",
        "define X as [C] ([A] || [B]) within 10s",
        "define X as [D] ; ([A] ; [B] || [C]) within 10s",
        "define X as [C] ([A] ; [E] || [B]) within 10s",
        "define X as ([A] | [A in {A, D}], [T1] | [D]) T1 = 3s",
        "define X as ([A], [T1]) T1 = 3s || [B] within 10s",
        "define Y as ([A], [T1]) T1 = 3s define X as [Y] ; [D] within 10s",
    ],
)
def test_state_is_as_large_as_the_window(text: str) -> None:
    rules, held = rules_of(text), []
    detection = Detection(rules)
    random = Random(1)
    for batch in range(12):
        words = [random.choice(["A", "AA", "B", "C"]) for _ in range(60)]
        events = points(" ".join(words))
        late = batch * 60 * SECOND
        detection.feed(
            [
                replace(event, start=event.start + late, end=event.end + late, id=batch * 60 + n)
                for n, event in enumerate(events)
            ]
        )
        detection.kernel.compact()
        held.append(detection.kernel.stored + size_of_state(detection.kernel))
    assert max(held[6:]) <= 2 * max(held[:6])


def size_of_state(kernel: Kernel) -> int:
    """How many words of state grow with events."""
    names = ("branches", "nodes", "keys", "heap", "matches", "told")
    return sum(len(kernel.state()[f"detector_{name}"]) for name in names)


def test_a_rule_that_is_removed_leaves_nothing_behind() -> None:
    rules = rules_of(
        """
        define X as ([A], [T1] | [C]) T1 = 5s
        define Y as [A] || [B] within 1min
        define Z as [a: A] ; [C(k = a.k)]
        """
    )
    detection = Detection(rules)
    detection.feed(points("A B A"))
    for number in range(3):
        detection.kernel.remove(number)
    detection.found.clear()
    detection.feed([replace(event, start=9 * SECOND, end=9 * SECOND) for event in points("C")])
    detection.advance(60 * SECOND)
    detection.kernel.compact()
    state = detection.kernel.state()
    assert detection.found == []
    assert [len(state["detector_branches"]), len(state["detector_nodes"])] == [0, 0]


@pytest.mark.parametrize(
    ("text", "limit", "left"),
    [
        ("define X as [a: A] ; [B] return (v = a.v)", Limit(partial=3, drop=True), {3, 4, 5}),
        ("define X as [a: A] ; [B] return (v = a.v)", Limit(stored=2, drop=True), {4, 5}),
        ("define X as [a: A] || [B] return (v = a.v)", Limit(partial=2, drop=True), {4, 5}),
    ],
)
def test_beyond_a_limit_what_was_begun_first_is_given_up(
    text: str, limit: Limit, left: set[int]
) -> None:
    rules = rules_of(text)
    detection = Detection(rules, limit=limit)
    for event in points("A A A A A A B"):
        detection.feed([event])
    assert {event.attributes["v"] for event in detection.found} == left


def test_beyond_a_limit_without_dropping_there_is_an_error() -> None:
    detection = Detection(rules_of("define X as [A] ; [B]"), limit=Limit(partial=2))
    detection.feed(points("A A"))
    with pytest.raises(LimitError, match="at most 2 partial matches; it keeps 3"):
        detection.feed(points("A"))


def test_rules_that_stay_keep_their_state_while_others_come_and_go() -> None:
    one, other = rules_of("define X as [A] ; [B] define Y as [A] ; [B] ; [B]")
    detection = Detection([one])
    events = points("A A B A B B")
    detection.feed(events[:2])
    detection.kernel.deploy([other])
    detection.rules = [one, other]
    detection.feed(events[2:4])
    detection.kernel.remove(0)
    detection.feed(events[4:])
    assert Counter(event.type for event in detection.found) == {"X": 2, "Y": 1}


def test_an_event_does_not_walk_over_branches_of_other_keys() -> None:
    rules = rules_of("define X as [a: A] [B(k = a.k)]")
    count = 20_000
    detection = Detection(rules)
    kernel = detection.kernel

    def fed(type_: str, first: int, keys: range) -> float:
        events = [Event(type_, first + n, first + n, {"k": k}, id=n) for n, k in enumerate(keys)]
        batch = kernel.encoder.encode(events, first)
        begin = time.process_time()
        found = sum(len(portion) for portion in kernel.feed(batch))
        assert found == (count if type_ == "B" else 0)
        return time.process_time() - begin

    fed("A", 0, range(count))
    # With a walk over all branches this would be 200 million steps.
    assert within(fed("B", count, range(count)), 1.0)
