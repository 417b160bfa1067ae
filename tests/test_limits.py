"""Limits bound what is kept for a rule, and touch nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid
from cepheid import CompositeEvent, Engine, Event, LimitError, Limits, Rules
from cepheid.algebra import Detector, Pattern, Rule, Run, Tree, input_types
from cepheid.events import Order
from cepheid.kernel.kernel import Kernel
from cepheid.kernel.limits import Keeper, Limit
from cepheid.kernel.memory import Memory
from cepheid.kernel.registry import Registry
from cepheid.kernel.tables import WAIT_HEAP
from cepheid.kernel.watch import Watch
from cepheid.oracle import evaluate
from tests.strategies import RULES, SECOND, TYPES, laipl_collections, laipl_runs, streams

LONG = 1000


def at(second: int, type_: str = "A", key: str = "k") -> Event:
    """An event whose id is its second."""
    return Event(type_, second * SECOND, second * SECOND, {"value": 1, "source": key}, id=second)


def made_of(found: Sequence[CompositeEvent]) -> list[list[int]]:
    """The ids of the events that composite events are made of."""
    return sorted(sorted(int(part.id or 0) for _, part in event.events) for event in found)


@dataclass
class Kind:
    """A rule called R, a limit, and events, of which those of the last second decide.

    `over` is the event that goes beyond the limit. `dropped` is what the limit leaves to be
    found, `whole` what is found without it; `counted` how much was dropped until the end.
    """

    language: str
    text: str
    limits: Limits
    events: list[Event]
    over: int
    dropped: list[list[int]]
    whole: list[list[int]]
    counted: int = 1

    @property
    def rules(self) -> Rules:
        return cepheid.load(self.text, language=self.language)

    def engine(self, policy: str) -> Engine:
        """An engine of two rules that are alike, of which one has the limit."""
        (rule,) = self.rules
        free = replace(rule, name="Free", output=replace(rule.output, type="Free"))
        limits = replace(self.limits, policy=policy)  # type: ignore[arg-type]  # it is one of two
        return Rules((rule, free)).engine(limits={"R": limits})


@dataclass
class Played:
    """What came of the events of a kind."""

    found: list[CompositeEvent] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)

    def of(self, rule: str) -> list[list[int]]:
        return made_of([event for event in self.found if event.rule == rule])

    def push(self, engine: Engine, event: Event) -> None:
        self.take(lambda: engine.push(event), int(event.id or 0))

    def take(self, call: Callable[[], list[CompositeEvent]], second: int) -> None:
        try:
            self.found += call()
        except LimitError as error:
            assert isinstance(error.found, list)
            self.found += error.found
            self.errors.append(second)


def held(engine: Engine, rule: str = "R") -> tuple[int, int]:
    """How many events a rule keeps, and how much it has begun."""
    matcher = engine._matcher
    return matcher.kernel.held(matcher.numbers[rule])


def play(engine: Engine, kind: Kind) -> Played:
    played = Played()
    for event in kind.events:
        played.push(engine, event)
    played.take(lambda: engine.advance(LONG * SECOND), LONG)
    return played


AB = [at(1), at(2), at(3), at(4, "B")]
KINDS = {
    "tree, events": Kind(
        "sase",
        "QUERY R EVENT SEQ(A x, B y) WITHIN 100 s",
        Limits(stored=2),
        AB,
        over=3,
        dropped=[[2, 4], [3, 4]],
        whole=[[1, 4], [2, 4], [3, 4]],
    ),
    "tree, matches that wait": Kind(
        "sase",
        "QUERY R EVENT SEQ(A x, !(B y)) WITHIN 100 s",
        Limits(partial=2),
        [at(1), at(2), at(3)],
        over=3,
        dropped=[[2], [3]],
        whole=[[1], [2], [3]],
    ),
    "run, events": Kind(
        "laipl",
        "Rule R Define R(v: Integer) From A Where Sum(A.value) > 0 Within(4 s)",
        Limits(stored=2),
        [at(1), at(2), at(3), at(5), at(7)],
        over=3,
        dropped=[[3, 5, 7]],
        whole=[[1, 2, 3, 5]],
        counted=2,
    ),
    "run, runs": Kind(
        "laipl",
        "Rule R Define R(v: Integer) From A Where Sum(A.value) > 0 Batch(2) Composite A.source",
        Limits(partial=1),
        [at(1, key="j"), at(2), at(3), at(4, key="j"), at(5, key="j")],
        over=2,
        dropped=[[2, 3], [4, 5]],
        whole=[[1, 4], [2, 3]],
    ),
    "run, runs by time": Kind(
        "laipl",
        "Rule R Define R(v: Integer) From A Where Sum(A.value) > 0 Within(5 s) Composite A.source",
        Limits(partial=1),
        [at(1), at(2, key="j"), at(3), at(6), at(8)],
        over=2,
        dropped=[[3, 6, 8]],
        whole=[[1, 3, 6]],
        counted=2,
    ),
    "collection, events": Kind(
        "laipl",
        "Rule R Define R(v: Integer, w: Integer) From A, B\n"
        "Where Count(A > 0) = 2 And B > 0 Within(100 s)",
        Limits(stored=2),
        AB,
        over=3,
        dropped=[[2, 3, 4]],
        whole=[[1, 2, 4]],
    ),
    "collection, partitions": Kind(
        "laipl",
        "Rule R Define R(v: Integer, w: Integer) From A, B\n"
        "Where A > 0 And B > 0 Within(9 s) Composite A.source = B.source",
        Limits(partial=1),
        [at(1), at(2, key="j"), at(3, "B", "j"), at(4, "B")],
        over=2,
        dropped=[[2, 3]],
        whole=[[1, 4], [2, 3]],
    ),
    "detector, events": Kind(
        "core",
        "define R as [x: A] ; [y: B] within 100 s",
        Limits(stored=2),
        AB,
        over=3,
        dropped=[[2, 4], [3, 4]],
        whole=[[1, 4], [2, 4], [3, 4]],
    ),
    "detector, branches": Kind(
        "core",
        "define R as ([x: A], [T1 in {T1, B}]) T1 = 60 s",
        Limits(partial=2),
        [at(1), at(2), at(3)],
        over=3,
        dropped=[[2], [3]],
        whole=[[1], [2], [3]],
    ),
    "detector, matches of sides": Kind(
        "core",
        "define R as [x: A] || [y: B] within 100 s",
        Limits(partial=2),
        AB,
        over=3,
        dropped=[[2, 4], [3, 4]],
        whole=[[1, 4], [2, 4], [3, 4]],
        counted=2,
    ),
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@kinds
def test_the_oldest_gives_way_and_is_counted(kind: Kind) -> None:
    engine = kind.engine("drop")
    played = play(engine, kind)
    assert (played.of("R"), played.errors) == (kind.dropped, [])
    assert engine.counters.limited == {"R": kind.counted}


@kinds
def test_a_rule_beside_one_that_drops_finds_everything(kind: Kind) -> None:
    assert play(kind.engine("drop"), kind).of("Free") == kind.whole


@kinds
def test_going_beyond_is_an_error_and_nothing_is_given_up(kind: Kind) -> None:
    engine = kind.engine("refuse")
    played = play(engine, kind)
    assert played.errors[0] == kind.over
    assert (played.of("R"), played.of("Free")) == (kind.whole, kind.whole)
    assert engine.counters.limited == {"R": len(played.errors)}


@kinds
def test_a_rule_is_never_beyond_its_limits_after_an_event(kind: Kind) -> None:
    engine = kind.engine("drop")
    for event in kind.events:
        engine.push(event)
        stored, partial = held(engine)
        assert stored <= (kind.limits.stored or LONG)
        assert partial <= (kind.limits.partial or LONG)


@kinds
def test_limits_and_what_was_counted_survive_a_snapshot(kind: Kind) -> None:
    for policy in ("drop", "refuse"):
        whole, engine = kind.engine(policy), kind.engine(policy)
        expected, played = Played(), Played()
        for event in kind.events:
            engine = cepheid.restore(engine.snapshot())
            expected.push(whole, event)
            played.push(engine, event)
            assert engine.counters == whole.counters
            assert held(engine) == held(whole)
        assert played == expected


@kinds
def test_a_batch_is_looked_at_when_it_is_through(kind: Kind) -> None:
    engine = kind.engine("drop")
    found = engine.push_batch(kind.events[: kind.over])
    assert found == []
    assert held(engine) < held(engine, "Free")
    engine = kind.engine("refuse")
    with pytest.raises(LimitError, match="rule R must keep at most"):
        engine.push_batch(kind.events[: kind.over])
    assert engine.counters.consumed == kind.over


# --- what has expired --------------------------------------------------------

EXPIRING = {name: kind for name, kind in KINDS.items() if not name.startswith("run")}
"""Runs wait for as long as it takes, so they have nothing that expires."""


@pytest.mark.parametrize("kind", EXPIRING.values(), ids=EXPIRING)
def test_what_has_expired_does_not_count_any_more(kind: Kind) -> None:
    engine = kind.engine("refuse")
    first, *_ = kind.events
    for second in range(1, 4):
        later = (second * LONG) * SECOND
        engine.push(replace(first, start=later, end=later))
        assert (0, 0) < held(engine) <= (1, 1)
    engine.advance(9 * LONG * SECOND)
    assert (held(engine), engine.counters.limited) == ((0, 0), {})


def test_a_run_that_is_decided_does_not_count_any_more() -> None:
    kind = KINDS["run, runs"]
    engine = kind.engine("refuse")
    for second in range(1, 9):
        engine.push(at(second, key="ijkl"[(second - 1) // 2]))
        assert held(engine) == ((1, 1) if second % 2 else (0, 0))
    assert engine.counters.limited == {}


def test_a_rule_that_is_refused_is_good_again_when_time_has_passed() -> None:
    engine = KINDS["tree, events"].engine("refuse")
    engine.push_batch(AB[:2])
    with pytest.raises(LimitError):
        engine.push(AB[2])
    with pytest.raises(LimitError):
        engine.advance(50 * SECOND)
    assert engine.advance(102 * SECOND) == []
    assert engine.push(at(103)) == []


@kinds
def test_room_goes_back_to_its_base(kind: Kind) -> None:
    """Three seconds of events, all of which the rule would keep."""
    kernels = [Kernel(), Kernel()]
    for kernel, limit in zip(kernels, (None, Limit(5, 5, drop=True)), strict=True):
        kernel.deploy(list(kind.rules), [limit])
        for begin in range(0, 3000, 300):
            events = [
                Event("A", ms * 1000, ms * 1000, {"value": 1, "source": f"k{ms}"})
                for ms in range(begin, begin + 300)
            ]
            assert list(kernel.feed(kernel.encoder.encode(events, begin))) == []
        kernel.compact()
    assert kernels[0].stored == 3000
    assert kernels[1].stored <= 10


# --- several rules -----------------------------------------------------------

PAIRS = "QUERY One EVENT SEQ(A x, B y) WITHIN 100 s\nQUERY Two EVENT SEQ(A x, B y) WITHIN 100 s"


def test_a_rule_that_is_refused_keeps_no_other_from_dropping() -> None:
    rules = cepheid.load(PAIRS, language="sase")
    limits = {"One": Limits(stored=2), "Two": Limits(stored=2, policy="drop")}
    engine, played = rules.engine(limits=limits), Played()
    for event in [at(1), at(2), at(3), at(4), at(5, "B")]:
        played.push(engine, event)
    assert played.errors == [3, 4, 5]
    assert played.of("One") == [[1, 5], [2, 5], [3, 5], [4, 5]]
    assert played.of("Two") == [[3, 5], [4, 5]]
    assert engine.counters.limited == {"One": 3, "Two": 2}


def test_all_events_of_a_batch_are_taken_before_a_rule_is_refused() -> None:
    rules = cepheid.load("QUERY R EVENT SEQ(A x, B y) WITHIN 2000 s", language="sase")
    kernel, found = Kernel(), 0
    kernel.deploy(list(rules), [Limit(stored=1)])
    events = [at(1 + second) for second in range(300)]
    events += [at(400 + second, "B") for second in range(300)]
    portions = kernel.feed(kernel.encoder.encode(events, 0))
    with pytest.raises(LimitError, match="rule R must keep at most 1 events; it keeps 300"):
        while True:
            found += len(next(portions))
    assert found == 300 * 300


def test_a_rule_that_is_removed_takes_its_limits_along() -> None:
    engine, played = KINDS["tree, events"].engine("refuse"), Played()
    for event in AB[:3]:
        played.push(engine, event)
    engine.remove("R")
    played.push(engine, AB[3])
    assert (played.errors, engine.counters.limited) == ([3], {"R": 1})


def test_limits_hold_for_rules_that_are_added_and_replaced() -> None:
    rules = cepheid.load(KINDS["tree, events"].text, language="sase")
    engine = Rules(()).engine(limits=Limits(stored=1, policy="drop"))
    for change in (engine.add, engine.replace):
        change(rules)
        engine.push_batch([at(LONG), at(LONG)])
        assert held(engine)[0] == 1
    assert engine.counters.limited == {"R": 2}


# --- random rules ------------------------------------------------------------

LIMITED = {
    **{language: rules for language, rules in RULES.items() if language != "laipl"},
    "laipl runs": laipl_runs(),
    "laipl collections": laipl_collections(),
}


def busy(events: Sequence[Event], rules: Sequence[Rule]) -> list[Event]:
    """Events of the types that rules look at, in their order."""
    types = sorted({type_ for rule in rules for type_ in input_types(rule)} - {"Timer"})
    told = [replace(one, type=types[TYPES.index(one.type) % len(types)]) for one in events if types]
    return sorted(told, key=Order().key)


@pytest.mark.property
@pytest.mark.parametrize("language", LIMITED)
@given(data=st.data())
def test_random_rules_keep_their_limits_and_leave_others_alone(
    language: str, data: st.DataObject
) -> None:
    """Whatever is dropped, and wherever rows are given up or the engine is restored."""
    drawn = data.draw(st.lists(LIMITED[language], min_size=1, max_size=2))
    rules = [
        replace(rule, name=f"{name}{index}", output=replace(rule.output, type=f"{name}{index}"))
        for index, rule in enumerate(drawn)
        for name in ("Free", "Few")
    ]
    few = Limits(data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2)), "drop")
    engine = Rules(tuple(rules)).engine(limits={f"Few{index}": few for index in range(2)})
    found: list[CompositeEvent] = []
    ordered = busy(data.draw(streams(30)), drawn)
    for event in ordered:
        found += engine.push(event)
        for index in range(len(drawn)):
            stored, partial = held(engine, f"Few{index}")
            assert stored <= (few.stored or 0)
            assert partial <= (few.partial or 0)
        match data.draw(st.integers(0, 3)):
            case 0:
                engine._matcher.kernel.compact()
            case 1:
                engine = cepheid.restore(engine.snapshot())
    free = [rule for rule in rules if rule.name.startswith("Free")]
    found += engine.advance(max(60 * SECOND, ordered[-1].end)) if ordered else []
    told = Counter((event.rule, event.id) for event in found if event.rule.startswith("Free"))
    assert told == Counter(
        (event.rule, event.id) for event in evaluate(free, ordered, until=60 * SECOND).events
    )


# --- when rules are looked at ------------------------------------------------


@dataclass
class Counting(Keeper):
    """Keeps as much as it is told, and counts how often it is asked."""

    stored: int = 0
    partial: int = 0
    asked: int = 0
    grows: bool = False

    def begun(self, memory: Memory) -> int | None:
        return memory.count(WAIT_HEAP) if self.grows else None

    def held(self, memory: Memory, number: int, now: int) -> tuple[int, int]:
        self.asked += 1
        return self.stored, self.partial

    def drop(self, memory: Memory, number: int, now: int, stored: int, partial: int) -> None:
        self.stored -= stored
        self.partial -= partial


def watched(pattern: type[Pattern], limit: Limit) -> tuple[Watch, Counting]:
    """A watch over one rule with a pattern and a limit."""
    texts = {
        Tree: KINDS["tree, events"],
        Run: KINDS["run, events"],
        Detector: KINDS["detector, events"],
    }
    (rule,) = texts[pattern].rules
    keeper = Counting(grows=pattern is not Run)
    registry = Registry(rules=[rule], limits={0: limit})
    return Watch(registry, {pattern: keeper}), keeper


@pytest.mark.parametrize("pattern", [Tree, Run, Detector])
def test_a_rule_far_from_its_limits_is_seldom_looked_at(pattern: type[Pattern]) -> None:
    watch, keeper = watched(pattern, Limit(stored=100))
    for entered in range(1, 101):
        keeper.stored += 1
        assert watch.keep(Memory(), 0, entered) is None
    assert keeper.asked == 1
    keeper.stored += 1
    assert isinstance(watch.keep(Memory(), 0, 101), LimitError)
    assert isinstance(watch.keep(Memory(), 0, 101), LimitError)
    assert watch.limited == {0: 2}


@pytest.mark.parametrize("pattern", [Tree, Detector])
def test_what_may_grow_at_will_is_looked_at_when_there_is_enough_of_it(
    pattern: type[Pattern],
) -> None:
    watch, keeper = watched(pattern, Limit(partial=100))
    memory = Memory()
    for begun, asked in ((0, 1), (100, 1), (101, 2), (102, 3), (100, 3)):
        memory.put(WAIT_HEAP, [0] * begun)
        assert watch.keep(memory, 0, 7) is None
        assert keeper.asked == asked
    memory.put(WAIT_HEAP, [0] * 101)
    keeper.partial = 101
    assert isinstance(watch.keep(memory, 0, 7), LimitError)


def test_every_rule_is_looked_at_again_when_it_must_be() -> None:
    watch, keeper = watched(Tree, Limit(stored=100))
    for _ in range(3):
        watch.keep(Memory(), 0, 5)
        watch.look_again()
    assert keeper.asked == 3
