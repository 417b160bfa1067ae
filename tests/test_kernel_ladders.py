"""Ladders, which stand for many partial matches at once, give what the oracle gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepheid
from cepheid.algebra import Rule
from cepheid.errors import LimitError
from cepheid.events import CompositeEvent, Event, Order, Schema, Value
from cepheid.kernel.kernel import Kernel
from cepheid.kernel.limits import Limit
from cepheid.oracle import evaluate
from cepheid.runtime.matcher import Matcher
from cepheid.runtime.settings import Settings
from tests import test_kernel, test_kernel_detectors
from tests.engines import contents
from tests.strategies import SECOND, core_rules
from tests.test_kernel_detectors import Detection
from tests.test_limits import made_of
from tests.test_stories import Story, lives, numbered, renamed

T = TypeVar("T")
BOTH = ("A", "B")
"""The types that random ladders look at."""


def rules_of(text: str) -> list[Rule]:
    return list(cepheid.load(text, language="core").rules)


def are_ladders(text: str) -> list[bool]:
    """Of all machines of some rules, whether the kernel keeps their branches as ladders."""
    kernel = Kernel()
    kernel.deploy(rules_of(text))
    return [machine.ladder for machine in kernel._detectors._machines]


# --- which rules -------------------------------------------------------------

LADDERS = {
    "weak": "define X as [a: A] [[b: A(k = a.k, v > a.v)] [A(k = a.k, v > b.v)] in {A(k = a.k)}]",
    "strong": "define X as [a: A] ; [[b: A(k = a.k, v > a.v)] ; [A(k = a.k)] in {A(k = a.k)}]",
    "two types": "define X as [a: A] [[b: B(k = a.k)] [c: A(k = a.k)] in {A(k = a.k), B(k = a.k)}]",
    "without a key": "define X as [a: A] [[b: A(v > a.v)] [c: A(v > b.v)] in {A}] within 9s",
    "without labels": "define X as [A] [B] [B]",
    "a pair": "define X as [a: A] ; [A(v > a.v) in {A}]",
    "a condition on an event long ago": "define X as [a: A] [[b: A] [A(v > a.v)] [A(v > b.v)]"
    " in {A}] return (v = a.v)",
    "a condition on the first of four": "define X as [a: A] [[A] [A] [A(v < a.v)] in {A}]",
    "a program": "define X as [a: A] [[b: A(v > a.v + 1 or w = 1)] [A] in {A}]",
    "a constant before all": "define X as [a: A(w = 1)] [[A(w = 1, k = a.k)] [A(k = a.k, w = 1)]"
    " in {A(w = 1, k = a.k)}]",
    "a key under two names": "define X as [a: A(v > 0)] [[b: A(k = a.j)] [c: B(k = a.j)]"
    " in {A(k = a.j), B(k = a.j)}]",
    "a key written the other way": "define X as [a: A] ; [A(a.k = k, v = 2) in {A(a.k = k)}]",
    "a negation": "define X as [a: A] [!A(k = a.k and v > 1) in {A(k = a.k)}] [A(k = a.k)]",
    "a condition on the whole": "define X as [a: A] [b: B] where Count(a) < b.v"
    " return (n = Count(a))",
}
NEAR_MISSES = {
    "one atom": "define X as [A]",
    "a domain that can be passed over": "define X as [a: A] [A(v > a.v)]",
    "a domain with a condition": "define X as [a: A] [[b: A(v > 1)] [A(v > 1)] in {A(v > 1)}]",
    "a key missing in one state": "define X as [a: A] [[b: A(k = a.k)] in {A(k = a.k)}] [A]",
    "a key of another event": "define X as [a: A] [b: A(k = a.k)] [A(k = b.k)]",
    "a key under another name": "define X as [a: A] [A(k = a.k)] [A(j = a.k)]",
    "a type missing in one state": "define X as [A] [A in {A, B}] [A]",
    "alternation": "define X as [A] ([B] | [C]) [B]",
    "iteration": "define X as [A] [B]* [B]",
    "a timer": "define X as ([A] [A], [B]) T1 = 5s",
    "mixed strengths": "define X as [A] [A] ; [A]",
    "two ways for one event": "define X as [a: A] ([A] | [A(v > a.v) in {A}])",
    "a condition on the whole that becomes a filter": "define X as [a: A] [b: A] where a.v < b.v",
    "a label that is called like a type": "define X as [A: B] [A] [A]",
}


@pytest.mark.parametrize("text", LADDERS.values(), ids=LADDERS)
def test_a_sequence_in_which_every_event_decides_is_a_ladder(text: str) -> None:
    assert are_ladders(text) == [True]


@pytest.mark.parametrize("text", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_a_rule_in_which_partial_matches_may_differ_in_more_has_no_ladders(text: str) -> None:
    assert are_ladders(text) == [False]


def test_neither_a_parallel_expression_nor_its_sides_are_ladders() -> None:
    assert are_ladders("define X as [A] [A] || [B] [B] within 9s") == [False] * 3


# --- large ones --------------------------------------------------------------


def rising(text: str) -> list[Event]:
    """Points one second after the other, as `A1 B2`: a type and a value."""
    return [
        Event(word[0], at * SECOND, at * SECOND, {"v": int(word[1:]), "k": 1, "w": 1, "j": 1}, at)
        for at, word in enumerate(text.split())
    ]


@pytest.mark.parametrize(("count", "ladder"), [(60, True), (61, False)])
def test_a_match_of_a_ladder_has_sixty_events_at_most(count: int, ladder: bool) -> None:
    text = "define X as [a: A] [" + "[A(v > a.v)] " * (count - 1) + "in {A}] return (v = a.v)"
    assert are_ladders(text) == [ladder]
    events = rising(" ".join(f"A{at % 70}" for at in range(140)))
    found = test_kernel.detect(rules_of(text), events, cuts=[59, 60, 61, 130])
    assert len(found) == 2 * (70 - count + 1)
    assert contents(found) == contents(evaluate(rules_of(text), events).events)


@pytest.mark.parametrize("key", ["k = a.k", "k = a.j"])
def test_ladders_of_many_keys_are_kept_apart(key: str) -> None:
    text = f"define X as [a: A] [[b: A({key}, v > a.v)] [A({key}, v > b.v)] in {{A({key})}}]"
    random = Random(1)
    events = [
        Event("A", at * SECOND, at * SECOND, {"k": k, "j": (k + at % 2) % 100, "v": at % 97}, at)
        for at, k in enumerate(random.randrange(100) for _ in range(500))
    ]
    assert are_ladders(text) == [True]
    found = test_kernel.detect(rules_of(text), events, cuts=range(50, 500, 50))
    assert found
    assert contents(found) == contents(evaluate(rules_of(text), events).events)


# --- random rules ------------------------------------------------------------

KEYS = (None, "k = a.k", "k = a.k", "a.k = k", "k = a.j")
COMPARED = ("v > {}.v", "v >= {}.v", "v < {}.w", "{}.v != v", "w >= {}.v", "v <= {}.v")
COMPUTED = ("v > {}.v + 1", "v + w >= {}.v", "not v < {}.v", "v > {}.v or w = 1", "v * 2 > {}.w")
ALONE = ("v > 0", "w = 1", "v != 2", "v + w > 1", "w = 1 or v = 2")


@dataclass
class Author:
    """Writes the texts of rules whose branches are mostly ladders."""

    draw: st.DrawFn
    types: Sequence[str]
    shared: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def rule(self, name: str) -> str:
        """A rule; what all events after the first one share is about `a`, or about none."""
        key, gate = self.one(KEYS), self.one([None, None, None, "w = 1"])
        own = [
            part for part in (gate, self.one([None] * len(ALONE) + [*ALONE])) if part is not None
        ]
        self.shared = [part for part in (key, gate) if part is not None]
        first = self.atom(self.one([*self.types, self.types[0]]), own, named=key is not None)
        few = self.types[self.one([0, 0, 0, 1]) :][: self.one([1, 1, 2])]
        others = [self.later(few) for _ in range(self.one([1, 1, 2, 2, 3, 4, 5]))]
        gap = self.one([" ", " ; "])
        begin = self.one([gap] * 9 + [" ; "])
        return f"define {name} as [{first}]{begin}{self.confined(others, few, gap)}{self.clauses()}"

    def confined(self, atoms: Sequence[str], types: Sequence[str], gap: str) -> str:
        """Atoms with one domain, which stands behind all or behind each, but for a few of them."""
        domain = "{" + ", ".join(self.described(type_, self.shared) for type_ in types) + "}"
        if self.one([True, False]):
            bare = [not atom.startswith("!") and self.one(range(5)) == 4 for atom in atoms]
            ends = ["]" if is_bare else f" in {domain}]" for is_bare in bare]
            return gap.join(f"[{atom}{end}" for atom, end in zip(atoms, ends, strict=True))
        return "[" + gap.join(f"[{atom}]" for atom in atoms) + f" in {domain}]"

    def later(self, types: Sequence[str]) -> str:
        """An atom after the first one; now and then it is what it must not be."""
        conditions = [self.condition() for _ in range(self.one([0, 0, 0, 1, 1, 2]))]
        parts = [*self.shared, *conditions]
        if conditions and self.one(range(8)) == 7:
            return "!" + self.described(self.one(types), parts)
        return self.atom(self.one(types), parts, named=self.one([True, True, False]))

    def atom(self, type_: str, parts: Sequence[str], *, named: bool) -> str:
        """The inside of an atom, perhaps with a label."""
        described = self.described(type_, parts)
        if not named and self.one([True, False]):
            return described
        self.labels.append("abcdef"[len(self.labels)])
        return f"{self.labels[-1]}: {described}"

    def described(self, type_: str, parts: Sequence[str]) -> str:
        """A type with conditions."""
        return f"{type_}({', '.join(parts)})" if parts else type_

    def condition(self) -> str:
        """A condition on an event alone, or with one before it, often the latest."""
        if not self.labels:
            return self.one(ALONE)
        label = self.one([self.labels[-1], *self.labels])
        return self.one([*COMPARED, *COMPARED, *COMPUTED, *ALONE]).format(label)

    def clauses(self) -> str:
        """What follows the expression."""
        within = self.one(["", "", " within 1s", " within 4s", " within 12s"])
        if not self.labels:
            return within
        one, other = self.one(self.labels), self.one(self.labels)
        where = self.one(["", "", "", f" where {one}.v <= {other}.w + Count({one})"])
        values = f" return (k = {one}.k, j = {other}.j, v = {other}.v + 1, w = {one}.w)"
        return where + within + values

    def one(self, items: Sequence[T]) -> T:
        """One of some items."""
        found: T = self.draw(_among(tuple(items)))
        return found


@cache
def _among(items: tuple[T, ...]) -> st.SearchStrategy[T]:
    return st.sampled_from(items)


@st.composite
def ladders(draw: st.DrawFn, name: str = "X", types: Sequence[str] = BOTH) -> str:
    """The text of a rule whose branches are mostly ladders."""
    return Author(draw, types).rule(name)


values = st.sampled_from([0, 1, 1, 2, 2, 3, 1.0, 2.5])
keys: st.SearchStrategy[Value] = st.sampled_from([1, 1, 1, 1, 1, 1, 1.0, 2, "x"])
_none_missing: st.SearchStrategy[str | None] = st.none()
_perhaps_missing = st.sampled_from([None] * 30 + ["k", "j", "v", "w"])


def attributes(*, whole: bool = False) -> st.SearchStrategy[dict[str, Value]]:
    """Few keys and values; now and then one is missing, unless all are wanted."""
    missing = _none_missing if whole else _perhaps_missing
    return st.builds(_but, missing, keys, keys, values, st.sampled_from([1, 1, 1, 0, 2]))


def _but(missing: str | None, *given_: Value) -> dict[str, Value]:
    found = zip(("k", "j", "v", "w"), given_, strict=True)
    return {name: value for name, value in found if name != missing}


steps = st.tuples(
    st.sampled_from("AAAAABBC"),
    st.sampled_from([0, 0, 1, 1, 1, 2, 5, 20]),
    st.sampled_from([0, 0, 0, 0, 0, 1, 3]),
    st.sampled_from([1, 1, 1, 1, 1, 2]),
    attributes(),
)
"""Of an event its type, how long after the last one it ends, how long it lasts, how often it is
there, and its attributes."""


@cache
def _some_steps(most: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(steps, min_size=most // 2, max_size=most)


@cache
@st.composite
def streams(draw: st.DrawFn, most: int = 24) -> list[Event]:
    """Events with ties, overlaps, gaps and duplicates, with ids or without.

    Half of the streams have one type and key, so that long matches are found as well.
    """
    found, now, same = list[Event](), 0, draw(st.booleans())
    for type_, gap, length, count, values_ in draw(_some_steps(most)):
        now += gap * SECOND
        event = Event(type_, now - length * SECOND, now, values_)
        if same:
            event = replace(event, type="A", attributes={**values_, "k": 1, "j": 1})
        found += [event] * count
    if draw(st.booleans()):
        return found
    return [replace(event, id=number) for number, event in enumerate(found)]


cuts = st.lists(st.integers(0, 24), max_size=4)


@pytest.mark.property
@given(text=ladders(), events=streams(), cut=cuts)
def test_random_ladders_give_what_the_oracle_gives(
    text: str, events: list[Event], cut: list[int]
) -> None:
    test_kernel.assert_equal_to_the_oracle(rules_of(text), events, 0, cut)


@pytest.mark.property
@given(
    inner=ladders().filter(lambda text: "return" in text),
    outer=ladders("Y", ("X", "A")),
    events=streams(12),
    cut=cuts,
)
def test_ladders_of_ladders_give_what_the_oracle_gives(
    inner: str, outer: str, events: list[Event], cut: list[int]
) -> None:
    rules = rules_of(f"{inner}\n{outer}")
    test_kernel_detectors.assert_equal_to_the_oracle(rules, events, 0, cut)


others = st.one_of(
    st.sampled_from([*LADDERS.values(), *NEAR_MISSES.values()]).map(lambda text: rules_of(text)[0]),
    core_rules().map(lambda rule: renamed(rule, {"D": "A"})),
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Ladders and other rules that come and go over one stream."""
    texts = draw(st.lists(ladders(), min_size=1, max_size=3))
    rules = [rule for text in texts for rule in rules_of(text)]
    story = Story(numbered(rules + draw(st.lists(others, max_size=2))), draw(streams(16)), [])
    story.lives = [draw(lives(story.ordered)) for _ in story.rules]
    story.cuts, story.restores = draw(cuts), draw(cuts)
    story.until, story.forgets = 60 * SECOND, draw(st.booleans())
    return story


@pytest.mark.property
@given(story=stories())
def test_ladders_that_come_and_go_beside_others_find_what_the_oracle_finds(story: Story) -> None:
    story.check()


# --- states ------------------------------------------------------------------


def plain_kernel() -> Kernel:
    """A kernel as it was before there were ladders."""
    kernel = Kernel(depth_limit=test_kernel_detectors.DEPTH)
    kernel.ladders = False
    return kernel


def found_by_an_older_state(
    rules: Sequence[Rule], events: Sequence[Event], cuts: Sequence[int]
) -> list[CompositeEvent]:
    """What is found where the first part of the events came before there were ladders."""
    ordered = sorted(events, key=Order().key)
    matcher = Matcher(Settings(), Schema())
    matcher.kernel.ladders = False
    matcher.deploy(rules)
    found: list[CompositeEvent] = []
    begin = 0
    for cut in sorted(min(cut, len(ordered)) for cut in cuts):
        found += matcher.composites(matcher.feed(ordered[begin:cut]))
        (head, arrays), begin = matcher.state(), cut
        matcher = Matcher(Settings(), Schema())
        matcher.load({name: part for name, part in head.items() if name != "ladders"}, arrays)
        assert not matcher.kernel.ladders
    return found + matcher.composites(matcher.feed(ordered[begin:]))


@pytest.mark.property
@given(text=ladders(), events=streams(), cut=cuts)
def test_states_of_older_versions_go_on_without_ladders(
    text: str, events: list[Event], cut: list[int]
) -> None:
    rules = rules_of(text)
    wanted = contents(evaluate(rules, events).events)
    assert contents(found_by_an_older_state(rules, events, cut)) == wanted


@pytest.mark.parametrize("text", LADDERS.values(), ids=LADDERS)
def test_ladders_go_on_from_a_state_after_every_event(text: str) -> None:
    events = rising("A1 A2 B3 A4 A4 B5 B6 A6 A7 A1 A2 A3 A4 A6")
    rules = rules_of(text)
    assert evaluate(rules, events).events
    test_kernel.assert_equal_to_the_oracle(rules, events, 0, range(len(events)))
    test_kernel_detectors.assert_equal_to_the_oracle(rules, events, 0, range(len(events)))


def test_rules_that_are_added_to_an_older_state_have_no_ladders_either() -> None:
    older, matcher = Matcher(Settings(), Schema()), Matcher(Settings(), Schema())
    older.kernel.ladders = False
    head, arrays = older.state()
    matcher.load(head, arrays)
    matcher.deploy(rules_of(LADDERS["weak"]))
    assert [machine.ladder for machine in matcher.kernel._detectors._machines] == [False]


# --- limits ------------------------------------------------------------------

RUN = "define X as [a: A] [[b: A] [c: A] [B] in {A, B}] return (v = a.v)"
KEYED = "define X as [a: A] ; [[b: A(k = a.k)] ; [B(k = a.k)] in {A(k = a.k), B(k = a.k)}]"
LONG_RUN = "define X as [a: A] [" + "[A] " * 9 + "[B] in {A, B}] return (v = a.v)"


@pytest.mark.parametrize(
    ("text", "limit", "left"),
    [
        (RUN, None, [2]),
        (RUN, Limit(partial=3, drop=True), [2]),
        (RUN, Limit(partial=2, drop=True), []),
        (RUN, Limit(stored=3, drop=True), [2]),
        (RUN, Limit(stored=2, drop=True), []),
        (LONG_RUN, None, [1]),
        (LONG_RUN, Limit(partial=10, drop=True), [1]),
        (LONG_RUN, Limit(partial=9, drop=True), []),
        (LONG_RUN, Limit(partial=1, drop=True), []),
    ],
)
def test_beyond_a_limit_the_longest_partial_matches_are_given_up(
    text: str, limit: Limit | None, left: list[int]
) -> None:
    assert are_ladders(text) == [True]
    detection = Detection(rules_of(text), limit=limit)
    events = rising("A1 A2 A3 A4 B5" if text == RUN else "A0 " + "A1 " * 10 + "B5")
    for event in events:
        detection.feed([event])
    assert [event.attributes["v"] for event in detection.found] == left


@pytest.mark.parametrize(
    ("limit", "left"), [(None, [[0, 5, 6], [1, 2, 4]]), (Limit(partial=3, drop=True), [[1, 2, 4]])]
)
def test_the_oldest_gives_way_whichever_ladder_it_is_on(
    limit: Limit | None, left: list[list[int]]
) -> None:
    detection = Detection(rules_of(KEYED), limit=limit)
    parts = [("A", 1), ("A", 2), ("A", 2), ("A", 3), ("B", 2), ("A", 1), ("B", 1)]
    for at, (type_, key) in enumerate(parts):
        detection.feed([Event(type_, at * SECOND, at * SECOND, {"k": key}, id=at)])
    assert made_of(detection.found) == left
    assert detection.kernel.limited == ({} if limit is None else {0: 1})


@pytest.mark.parametrize("text", [RUN, LONG_RUN])
def test_beyond_a_limit_on_ladders_without_dropping_there_is_an_error(text: str) -> None:
    detection = Detection(rules_of(text), limit=Limit(partial=2))
    detection.feed(rising("A1 A2"))
    with pytest.raises(LimitError, match="at most 2 partial matches; it keeps 3"):
        detection.feed([Event("A", 9 * SECOND, 9 * SECOND, {}, id=9)])


@st.composite
def points(draw: st.DrawFn) -> list[Event]:
    """Events at different times with all attributes, so that one begins before the other."""
    types = draw(st.lists(st.sampled_from("AAAAB"), min_size=2, max_size=20))
    times = [draw(st.sampled_from([1, 1, 2, 5])) for _ in types]
    return [
        Event(type_, end, end, draw(attributes(whole=True)), id=number)
        for number, type_ in enumerate(types)
        for end in [sum(times[: number + 1]) * SECOND]
    ]


limits = st.one_of(
    st.builds(Limit, stored=st.integers(1, 4), drop=st.just(True)),
    st.builds(Limit, partial=st.integers(1, 4), drop=st.just(True)),
    st.builds(Limit, stored=st.integers(1, 4), partial=st.integers(1, 4), drop=st.just(True)),
)


@pytest.mark.property
@given(text=ladders(), limit=limits, events=points(), compacted=st.booleans())
def test_limits_of_ladders_are_those_of_branches(
    text: str, limit: Limit, events: list[Event], *, compacted: bool
) -> None:
    one = Detection(rules_of(text), limit=limit)
    other = Detection(rules_of(text), plain_kernel(), limit=limit)
    for event in events:
        for detection in (one, other):
            detection.feed([event])
            if compacted:
                detection.kernel.compact()
        assert one.kernel.held(0) == other.kernel.held(0)
    assert one.kernel.limited == other.kernel.limited
    assert contents(one.found) == contents(other.found)
    assert is_within(one.kernel.held(0), limit)


def is_within(held: tuple[int, int], limit: Limit) -> bool:
    """Whether a rule keeps no more than it may."""
    most = (limit.stored, limit.partial)
    return all(may is None or have <= may for have, may in zip(held, most, strict=True))


@pytest.mark.property
@given(text=ladders(), free=ladders("Free"), limit=limits, events=streams(16))
def test_ladders_keep_their_limits_and_leave_others_alone(
    text: str, free: str, limit: Limit, events: list[Event]
) -> None:
    rules, ordered = rules_of(f"{text}\n{free}"), sorted(events, key=Order().key)
    kernel, found = Kernel(), Counter[int]()
    kernel.deploy(rules, [limit, None])
    for at, event in enumerate(ordered):
        for portion in kernel.feed(kernel.encoder.encode([event], at)):
            found.update(portion.spread().rules.tolist())
        assert is_within(kernel.held(0), limit)
    wanted = Counter(event.rule for event in evaluate(rules, ordered).events)
    assert found[1] == wanted["Free"]
    assert found[0] <= wanted["X"]
