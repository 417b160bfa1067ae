"""Collections in the kernel give what the oracle gives, and keep no more than they need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid
from cepheid.algebra import (
    Absence,
    Accumulate,
    Alternation,
    Arithmetic,
    Atom,
    Attribute,
    Body,
    Collected,
    Collection,
    Comparison,
    Conjunction,
    CountWindow,
    Detector,
    EventPredicate,
    Expression,
    Function,
    Item,
    Key,
    Literal,
    Output,
    OutputAttribute,
    Pick,
    Relation,
    Rule,
    Run,
    Sign,
    Take,
    TimerSignal,
    TimeWindow,
    Timing,
)
from cepheid.algebra import (
    Sequence as Then,
)
from cepheid.errors import LimitError
from cepheid.events import CompositeEvent, Event, Kind, Order, Schema, Value
from cepheid.kernel.programs import FRAME_ROW
from cepheid.oracle import evaluate
from cepheid.runtime.matcher import Matcher
from cepheid.runtime.settings import Settings
from cepheid.testing import Case
from tests.cases import CASES, case_id
from tests.engines import contents
from tests.strategies import SECOND, laipl_collections, streams

# --- through the kernel ------------------------------------------------------


@dataclass
class Detection:
    """Feeds a kernel; at every cut it goes on from a snapshot, or forgets what it can."""

    rules: Sequence[Rule]
    schema: Schema = field(default_factory=Schema)
    found: list[CompositeEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.matcher = Matcher(Settings(), self.schema)
        self.matcher.deploy(self.rules)

    def feed(self, events: Sequence[Event]) -> None:
        """Feed events that come after all others."""
        self.found += self.matcher.composites(self.matcher.feed(events))
        self.matcher.raise_limit(None)

    def compact(self) -> None:
        """Forget whatever nothing refers to."""
        self.matcher.kernel.compact()

    def restart(self) -> None:
        """Go on with another kernel."""
        state = self.matcher.state()
        self.matcher = Matcher(Settings(), self.schema)
        self.matcher.load(*state)


def detect(
    rules: Sequence[Rule],
    events: Sequence[Event],
    cuts: Sequence[int] = (),
    schema: Schema | None = None,
) -> list[CompositeEvent]:
    """What the kernel finds."""
    detection = Detection(rules, schema or Schema())
    ordered = sorted(events, key=Order(schema).key)
    places = [0, *sorted(min(cut, len(ordered)) for cut in cuts), len(ordered)]
    for number, (begin, end) in enumerate(pairwise(places)):
        detection.feed(ordered[begin:end])
        if number % 2:
            detection.compact()
        elif end < len(ordered):
            detection.restart()
    if ordered:
        portions = detection.matcher.advance(max(event.end for event in ordered))
        detection.found += detection.matcher.composites(portions)
    return detection.found


def assert_equal_to_the_oracle(
    rules: Sequence[Rule], events: Sequence[Event], cuts: Sequence[int] = ()
) -> None:
    try:
        wanted = contents(evaluate(rules, events).events)
    except LimitError:
        # The kernel tries fewer assignments, so it may well come to an end.
        return
    given_ = contents(detect(rules, events, cuts))
    assert (wanted - given_, given_ - wanted) == (Counter(), Counter())


def load(text: str) -> Sequence[Rule]:
    return cepheid.load(text, language="laipl").rules


def at(type_: str, second: float, value: Value | None = None, **attributes: Value) -> Event:
    """An event at a time, with a value."""
    time = int(second * SECOND)
    own = attributes if value is None else {"value": value, **attributes}
    return Event(type_, time, time, own, id=None)


def numbered(events: Sequence[Event]) -> list[Event]:
    return [replace(event, id=index) for index, event in enumerate(events)]


# --- random rules ------------------------------------------------------------


@dataclass
class Author:
    """Writes collections as the algebra allows them: nested, with absences in any place."""

    random: Random
    types: Sequence[str] = ("A", "B", "C")
    values: list[Expression] = field(default_factory=list)
    labels: Counter[str] = field(default_factory=Counter)

    def rule(self, name: str) -> Rule:
        """A rule in which at least one event happens."""
        self.values, self.labels = [], Counter()
        body = self.body(self.random.choice([1, 1, 2, 2, 3]))
        if not self.values:
            body = Conjunction((self.leaf(), body))
        kinds = [Kind.DOUBLE, Kind.INT, None]
        outputs = tuple(
            OutputAttribute(f"o{place}", self.random.choice(kinds), value)
            for place, value in enumerate(self.values)
        )
        collection = Collection(body, self.window(), self.keys())
        unmet = self.random.random() < 0.15
        return Rule(name, Output(f"Out{name}", outputs), collection, missing=unmet)

    def body(self, depth: int) -> Body:
        """Constraints under and, or and then."""
        if depth == 0 or self.random.random() < 0.3:
            return self.leaf() if self.random.random() < 0.85 else self.absence()
        parts = tuple(self.body(depth - 1) for _ in range(self.random.choice([2, 2, 3])))
        kind = self.random.choice(["and", "and", "then", "then", "or"])
        if kind == "then":
            return Then(parts, strong=True)
        return Conjunction(parts) if kind == "and" else Alternation(parts)

    def leaf(self) -> Body:
        """A constraint; now and then about two types."""
        type_ = self.random.choice(self.types)
        self.labels[type_] += 1
        label = f"{type_}{self.labels[type_]}"
        other = self.random.choice(self.types) if self.random.random() < 0.15 else type_
        types = tuple(dict.fromkeys([type_, other]))
        form = self.random.choice(["one", "one", "one", "some", "sum", "pick"])
        if form == "sum":
            return self.accumulate(label, types)
        self.values.append(Attribute(label, "v"))
        if form == "pick":
            return Pick(label, types, self.random.choice([1, 2, 3, -1, -2]), self.test())
        count = 1 if form == "one" else self.random.choice([2, 3])
        return Take(label, EventPredicate(types, self.test()), count)

    def accumulate(self, label: str, types: tuple[str, ...]) -> Body:
        """A constraint on an aggregate."""
        function, relation = self.random.choice(list(Function)), self.random.choice(list(Relation))
        self.values.append(Collected(function, label, "v"))
        bound: Expression = Literal(self.random.choice([1, 2, 3, 4, 5, 6.5]))
        if self.random.random() < 0.3:
            bound = Arithmetic(Sign.ADD, bound, Literal(1))
        predicate = EventPredicate(types, self.test())
        return Accumulate(label, predicate, function, "v", relation, bound)

    def absence(self) -> Body:
        return Absence(EventPredicate((self.random.choice(self.types),), self.test()))

    def test(self) -> Expression | None:
        """A condition on an event, or none."""
        if self.random.random() < 0.3:
            return None
        relations = [Relation.GREATER, Relation.AT_LEAST, Relation.LESS, Relation.UNEQUAL]
        bound = Literal(self.random.choice([0, 1, 2, 3, 2.5]))
        return Comparison(self.random.choice(relations), Attribute(None, "v"), bound)

    def window(self) -> TimeWindow | CountWindow | None:
        return self.random.choice(
            [
                None,
                TimeWindow(self.random.randint(1, 12) * SECOND),
                TimeWindow(self.random.randint(3, 40) * SECOND),
                CountWindow(self.random.randint(1, 4)),
                CountWindow(self.random.randint(3, 9)),
            ]
        )

    def keys(self) -> tuple[Key, ...]:
        """No partition, or one by one or two attributes, or by a constant."""
        if self.random.random() < 0.6:
            return ()
        keys = [Key(tuple((type_, "k") for type_ in self.types))]
        if self.random.random() < 0.3:
            keys.append(Key((("A", "v"),), self.random.choice([2, 2.0, 1])))
        if self.random.random() < 0.3:
            keys.append(Key(tuple((type_, "w") for type_ in self.types)))
        return tuple(keys)

    def events(self, count: int) -> list[Event]:
        """Events with few different values, of which some have a length."""
        pace, long = self.random.choice([0.3, 1, 1, 3]), self.random.choice([0, 0, 0.3])
        types = self.random.choice([("A",), ("A", "B"), ("A", "B", "C"), ("A", "B", "C")])
        found, now = [], 0
        for number in range(count):
            now += int(self.random.expovariate(1 / pace)) if self.random.random() < 0.8 else 0
            length = self.random.choice([1, 2, 5]) if self.random.random() < long else 0
            values = [0, 1, 2, 3, 1.5, 2.0, 0.1, 0.2, 1e16, -1]
            drawn: dict[str, tuple[float, list[Value]]] = {
                "v": (0.93, [*values]),
                "k": (0.93, ["x", "y"]),
                "w": (0.97, [1, 1.0]),
            }
            attributes = {
                name: self.random.choice(choices)
                for name, (share, choices) in drawn.items()
                if self.random.random() < share
            }
            start, end = (now - length) * SECOND, now * SECOND
            found.append(Event(self.random.choice(types), start, end, attributes, number))
        return found


def below(random: Random) -> Rule:
    """A rule that gives events of type M: at once, when a run is full, or after a while."""
    outputs: tuple[OutputAttribute, ...] = (
        OutputAttribute("v", None, Attribute("A", "v")),
        OutputAttribute("k", None, Attribute("A", "k")),
        OutputAttribute("w", None, Literal(1)),
    )
    only = EventPredicate(("A",))
    pattern: Run | Collection | Detector = Run("A", only, CountWindow(2))
    form = random.choice(["run", "collection", "late", "late"])
    if form == "run":
        outputs = tuple(replace(one, value=_latest(one.value)) for one in outputs)
    elif form == "collection":
        pattern = Collection(Conjunction((Take("A", only), Take("B", EventPredicate(("B",))))))
    else:
        timer = TimerSignal("T")
        length = random.choice([0, 1, 3, 8]) * SECOND
        waiting = Atom(None, (timer,), (timer,))
        pattern = Detector(Timing(Atom("A", (only,), (only,)), waiting, "T", length))
    return Rule("Below", Output("M", outputs), pattern)


def _latest(value: Expression) -> Expression:
    return Item("A", -1, value.name) if isinstance(value, Attribute) else value


cuts = st.lists(st.integers(0, 30), max_size=5)
seeds = st.integers(0, 2**32)


@pytest.mark.property
@given(rules=st.lists(laipl_collections(), min_size=1, max_size=2), events=streams(22), cut=cuts)
def test_random_collections_of_the_language_give_what_the_oracle_gives(
    rules: list[Rule], events: list[Event], cut: list[int]
) -> None:
    named = [
        replace(rule, name=f"R{place}", output=replace(rule.output, type=f"Out{place}"))
        for place, rule in enumerate(rules)
    ]
    assert_equal_to_the_oracle(named, events, cut)


@pytest.mark.property
@given(seed=seeds, size=st.sampled_from([8, 14, 22, 26]), cut=cuts)
def test_random_collections_of_the_algebra_give_what_the_oracle_gives(
    seed: int, size: int, cut: list[int]
) -> None:
    author = Author(Random(seed))
    rules = [author.rule(f"R{place}") for place in range(author.random.choice([1, 2]))]
    assert_equal_to_the_oracle(rules, author.events(size), cut)


@pytest.mark.property
@given(seed=seeds, size=st.sampled_from([8, 12, 16]), cut=cuts)
def test_collections_of_composite_events_give_what_the_oracle_gives(
    seed: int, size: int, cut: list[int]
) -> None:
    author = Author(Random(seed), ("A", "B", "M"))
    rules = [below(author.random), author.rule("Above")]
    assert_equal_to_the_oracle(rules, author.events(size), cut)


# --- the specification -------------------------------------------------------


def is_for_collections(case: Case) -> bool:
    if case.error is not None:
        return False
    return all(isinstance(rule.pattern, Collection) for rule in case.load().rules)


OWN_CASES = [case for case in CASES if is_for_collections(case)]


def test_the_specification_has_cases_of_collections() -> None:
    assert len(OWN_CASES) > 40


@pytest.mark.parametrize("case", OWN_CASES, ids=case_id)
def test_spec_cases_of_collections_give_the_same_on_the_kernel(case: Case) -> None:
    rules = case.load()
    wanted = evaluate(rules.rules, case.events, schema=rules.schema).events
    places = range(len(case.events))
    assert contents(detect(rules.rules, case.events, schema=rules.schema)) == contents(wanted)
    alone = detect(rules.rules, case.events, places, rules.schema)
    assert contents(alone) == contents(wanted)


# --- which assignment is first -----------------------------------------------


def first_parts(body: Body, events: Sequence[Event]) -> list[tuple[tuple[str, object], ...]]:
    """The constituents of all matches of a body; the oracle must find the same."""
    rule = Rule("R", Output("Out"), Collection(body))
    found = detect([rule], numbered(events))
    assert contents(found) == contents(evaluate([rule], numbered(events)).events)
    return [tuple((label, part.id) for label, part in event.events) for event in found]


def one(label: str, type_: str | None = None) -> Take:
    return Take(label, EventPredicate((type_ or label,)))


def test_an_alternative_is_tried_before_the_next_candidate_of_the_constraint_before_it() -> None:
    # With A at 1, B cannot follow after D; C can. A at 2 would do for B.
    after = Then((one("A"), one("D")), strong=True)
    body = Conjunction((one("A2", "A"), Alternation((Conjunction((one("B"), after)), one("C")))))
    events = [at("A", 1), at("C", 2), at("A", 3)]
    assert first_parts(body, events) == [(("A2", 0), ("C", 1))]


def test_a_match_has_room_for_all_of_its_constraints() -> None:
    """Also where no condition speaks of them; what is beyond the room belongs to others."""
    names = [f"T{number}" for number in range(50)]
    body = Then(tuple(map(one, names)), strong=True)
    events = [at(name, time) for time, name in enumerate(names, 1)]
    assert first_parts(body, events) == [tuple((name, n) for n, name in enumerate(names))]
    matcher = Matcher(Settings(), Schema({}))
    matcher.deploy([Rule("R", Output("Out"), Collection(body))])
    assert matcher.kernel._memory.room(FRAME_ROW) >= len(names)


def test_a_sequence_waits_for_the_end_of_everything_that_a_part_took() -> None:
    both = Conjunction((one("A"), one("B")))
    body = Then((both, one("C")), strong=True)
    events = [at("A", 1), at("C", 2), at("B", 3), at("C", 3), at("C", 4)]
    assert first_parts(body, events) == [(("A", 0), ("B", 2), ("C", 4))]


def test_events_of_a_shared_type_are_left_to_the_constraint_that_needs_them() -> None:
    high = Comparison(Relation.GREATER, Attribute(None, "value"), Literal(5))
    two = Take("A", EventPredicate(("A",)), 2)
    body = Conjunction((two, Take("A2", EventPredicate(("A",), high))))
    events = [at("A", 1, 9), at("A", 2, 1), at("A", 3, 1)]
    assert first_parts(body, events) == [(("A2", 0), ("A", 1), ("A", 2))]


def test_what_must_be_absent_rules_out_the_oldest_events_only() -> None:
    absent = Absence(EventPredicate(("C",)))
    body = Conjunction((one("A"), one("B"), absent))
    events = [at("A", 1), at("C", 2), at("A", 3), at("B", 4), at("B", 5)]
    assert first_parts(body, events) == [(("A", 2), ("B", 3))]


def test_an_event_that_a_constraint_took_is_not_absent() -> None:
    absent = Absence(EventPredicate(("A",)))
    body = Conjunction((one("B"), one("A"), one("C"), absent))
    events = [at("B", 1), at("A", 2), at("C", 3)]
    assert first_parts(body, events) == [(("B", 0), ("A", 1), ("C", 2))]


def test_a_sum_goes_on_where_it_was_and_begins_anew_when_its_events_are_gone() -> None:
    (rule,) = load("Rule R Define S(s: Integer, y: Integer) From A, B Where Sum(A) > 10 And B")
    values = [4, 3, 2, 2, 7, 1, 3, 9]
    events = [at("B", 0, 0)] + [at("A", place + 1, value) for place, value in enumerate(values)]
    events += [at("B", 20, 1), at("A", 21, 5)]
    found = detect([rule], numbered(events), range(len(events)))
    assert [event.attributes["s"] for event in found] == [11, 11]
    assert_equal_to_the_oracle([rule], numbered(events))


def test_a_late_composite_event_finds_events_that_were_there_at_its_time() -> None:
    late = cepheid.load("define Late as ([A], [T1]) T1 = 10 s", language="core").rules
    above = load("Rule R Define Out() From Late, B Where Late And B Within(5 sec)")
    events = numbered([at("A", 1), at("B", 3), *(at("X", second) for second in range(4, 20))])
    rules = [*late, *above]
    found = [event for event in detect(rules, events, range(4, 18)) if event.rule == "R"]
    assert [(event.start, event.end) for event in found] == [(1 * SECOND, 3 * SECOND)]
    assert_equal_to_the_oracle(rules, events)


# --- limits and memory -------------------------------------------------------


def test_too_many_assignments_are_an_error_that_names_the_rule() -> None:
    # Every A may be the one that must be absent, so that nothing can be ruled out beforehand.
    (rule,) = load("Rule R Define Out() From A, B, C Where A And B And C And Not A > 5")
    events = [at("A", 1, 1) for _ in range(400)] + [at("A", 2, 9)]
    events += [at("B", 3) for _ in range(400)] + [at("C", 4)]
    detection = Detection([rule])
    with pytest.raises(LimitError, match="rule R must be decided within 100000 assignments"):
        detection.feed(numbered(events))
    detection.feed([at("A", 5, 1), at("B", 6)])


def fed(text: str, events: Sequence[Event]) -> Detection:
    detection = Detection(load(text))
    for begin in range(0, len(events), 100):
        detection.feed(events[begin : begin + 100])
    detection.compact()
    return detection


def test_what_has_left_the_window_is_forgotten() -> None:
    text = """
        Rule R Define Out() From A, B Where A And B And Not B > 5 Within(10 sec)
        Composite A.source = B.source
    """
    events = [at("A", second, 1, source=f"S{second % 50}") for second in range(5000)]
    detection = fed(text, events)
    assert detection.matcher.kernel.stored <= 11
    assert len(detection.matcher.kernel.state()["collection_lists"]) < 200


def test_what_is_consumed_is_forgotten() -> None:
    text = "Rule R Define Out() From A, B Where A Then B"
    events = [at("AB"[second % 2], second) for second in range(4001)]
    detection = fed(text, events)
    assert len(detection.found) == 2000
    assert detection.matcher.kernel.stored == 1


def test_what_must_be_absent_is_only_kept_after_an_event_that_waits() -> None:
    text = "Rule R Define Out() From A, B, C Where (A Then B) And Not C"
    detection = fed(text, [at("C", second) for second in range(1000)])
    assert detection.matcher.kernel.stored == 0
    detection.feed([at("A", 1000), at("C", 1001), at("B", 1002)])
    assert detection.found == []


def test_a_batch_keeps_its_last_events_alone() -> None:
    text = "Rule R Define Out() From A, B Where A And B > 5 Batch(7)"
    detection = fed(text, [at("AB"[second % 2], second, 1) for second in range(1000)])
    assert detection.matcher.kernel.stored == 3


def test_a_rule_that_is_removed_is_forgotten_and_others_go_on() -> None:
    detection = Detection(
        load("""
            Rule R Define Out() From A, B Where A Then B
            Rule Q Define Other() From A, B Where A And B
        """)
    )
    detection.feed([at("A", 1)])
    detection.matcher.remove("R")
    detection.compact()
    detection.feed([at("B", 2)])
    assert [event.rule for event in detection.found] == ["Q"]
    detection.compact()
    assert detection.matcher.kernel.stored == 0
    assert len(detection.matcher.kernel.state()["collection_parts"]) == 0
