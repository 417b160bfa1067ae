"""What must hold of the oracle whatever the rule: no second implementation is needed to see it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cepheid import CompositeEvent, Event, load, parse_events
from cepheid.algebra import EACH, Detector, Parallel, Rule, Tree, find, input_types
from cepheid.oracle import evaluate
from tests.strategies import RULES, SECOND, core_rules, events, sase_rules, tesla_rules

MAX_EVENTS = 16
END = 200 * SECOND
"""A time by which everything that is due in a random stream has happened."""

each_language = pytest.mark.parametrize("language", RULES)

# Rules take long to make up, and every property is tried in four languages.
fewer = settings(max_examples=max(1, settings.get_profile("cepheid").max_examples // 6))


@st.composite
def scenes(draw: st.DrawFn, rules: st.SearchStrategy[Rule]) -> tuple[Rule, list[Event]]:
    """A rule and a stream of the events that it looks for, dense enough to find something."""
    rule = draw(rules)
    chance = random.Random(draw(st.integers(0, 2**32)))
    stream = dense_stream(chance, input_types(rule), draw(st.integers(MAX_EVENTS // 2, MAX_EVENTS)))
    return rule, stream


def dense_stream(chance: random.Random, types: Sequence[str], size: int) -> list[Event]:
    """Events of some types, many of them at the same time, with few values between them."""
    stream = []
    for number in range(size):
        start = chance.randint(0, size) * SECOND // chance.choice([1, 1, 2])
        values = {name: chance.choice([*range(-3, 10), 0.5, 2.0]) for name in ("v", "w")}
        kept = {name: value for name, value in values.items() if chance.random() < 0.95}
        key = {"k": chance.choice("xxxy")} if chance.random() < 0.95 else {}
        end = start + chance.choice([0, 0, 0, 0, 1, 3]) * SECOND
        stream.append(Event(chance.choice(types), start, end, {**key, **kept}, number))
    return stream


def found(
    rules: Rule | list[Rule], given_events: list[Event], until: int | None = END
) -> list[CompositeEvent]:
    several = [rules] if isinstance(rules, Rule) else rules
    outcome = evaluate(several, given_events, until=until, failures=True)
    assert outcome.cut == 0
    return list(outcome.events)


def constituents(event: CompositeEvent) -> tuple[tuple[str, int | str | None], ...]:
    return tuple((label, part.id) for label, part in event.events)


def content(event: CompositeEvent, shift: int = 0) -> tuple[object, ...]:
    """Everything about a composite event that does not name absolute times."""
    attributes = sorted(event.attributes.items())
    return (event.type, event.start - shift, event.end - shift, attributes, constituents(event))


# --- what holds for every language -------------------------------------------


@pytest.mark.property
@each_language
def test_random_rules_find_something_in_random_streams(language: str) -> None:
    """Without this, the properties below might speak of nothing."""
    sizes: list[int] = []

    @fewer
    @given(scene=scenes(RULES[language]))
    def collect(scene: tuple[Rule, list[Event]]) -> None:
        rule, stream = scene
        sizes.append(sum(event.type != "Failure" for event in found(rule, stream)))

    collect()
    assert sum(size > 0 for size in sizes) > len(sizes) / 8


@pytest.mark.property
@each_language
@fewer
@given(data=st.data())
def test_the_order_in_which_events_are_listed_does_not_matter(
    language: str, data: st.DataObject
) -> None:
    rule, stream = data.draw(scenes(RULES[language]))
    shuffled = data.draw(st.permutations(stream))
    assert found(rule, shuffled) == found(rule, stream)


@pytest.mark.property
@each_language
@fewer
@given(data=st.data())
def test_events_that_no_rule_uses_change_nothing(language: str, data: st.DataObject) -> None:
    rule, stream = data.draw(scenes(RULES[language]))
    others = [
        replace(event, id=f"other {index}")
        for index, event in enumerate(data.draw(st.lists(events(types=("Z",)), max_size=4)))
    ]
    assert found(rule, [*others, *stream]) == found(rule, stream)


@pytest.mark.property
@each_language
@fewer
@given(data=st.data())
def test_what_comes_later_takes_nothing_back(language: str, data: st.DataObject) -> None:
    rule, stream = data.draw(scenes(RULES[language]))
    cut = data.draw(st.sampled_from(sorted({event.end for event in stream})))
    before = found(rule, [event for event in stream if event.end <= cut], until=cut)
    assert found(rule, stream)[: len(before)] == before


@pytest.mark.property
@each_language
@fewer
@given(data=st.data())
def test_time_that_passes_adds_but_takes_nothing_back(language: str, data: st.DataObject) -> None:
    rule, stream = data.draw(scenes(RULES[language]))
    before = found(rule, stream, until=None)
    assert found(rule, stream)[: len(before)] == before


@pytest.mark.property
@each_language
@fewer
@given(
    data=st.data(),
    shift=st.sampled_from([-77 * SECOND, -1, 1, SECOND, 10**15]),
)
def test_shifting_all_times_shifts_what_is_found(
    language: str, data: st.DataObject, shift: int
) -> None:
    rule, stream = data.draw(scenes(RULES[language]))
    moved = [replace(e, start=e.start + shift, end=e.end + shift) for e in stream]
    there = found(rule, moved, until=END + shift)
    assert [content(event, shift) for event in there] == list(map(content, found(rule, stream)))


@pytest.mark.property
@each_language
@fewer
@given(data=st.data())
def test_ids_differ_exactly_when_constituents_do(language: str, data: st.DataObject) -> None:
    rule, stream = data.draw(scenes(RULES[language]))
    by_id: dict[object, tuple[object, ...]] = {}
    for event in found(rule, stream):
        made_of = (event.type, constituents(event))
        assert by_id.setdefault(event.id, made_of) == made_of
    assert len(set(by_id.values())) == len(by_id)


@pytest.mark.property
@each_language
@fewer
@given(data=st.data())
def test_the_same_constituents_are_told_once(language: str, data: st.DataObject) -> None:
    rule, stream = data.draw(scenes(RULES[language]))
    ids = [event.id for event in found(rule, stream)]
    assert len(ids) == len(set(ids))


@pytest.mark.property
@each_language
@fewer
@given(data=st.data())
def test_constituents_are_events_of_the_stream(language: str, data: st.DataObject) -> None:
    rule, stream = data.draw(scenes(RULES[language]))
    types = set(input_types(rule))
    for event in found(rule, stream):
        assert event.events
        assert event.rule == rule.name
        for _, part in event.events:
            assert part in stream
            assert part.type in types


@pytest.mark.property
@each_language
@fewer
@given(data=st.data())
def test_a_composite_event_lasts_as_long_as_its_constituents(
    language: str, data: st.DataObject
) -> None:
    rule, stream = data.draw(scenes(RULES[language]))
    deadline = isinstance(rule.pattern, Tree) and rule.pattern.deadline is not None
    for event in found(rule, stream):
        start = min(part.start for _, part in event.events)
        end = max(part.end for _, part in event.events)
        if rule.point or event.type == "Failure":
            assert event.start == event.end == end
        elif deadline:
            assert event.start == start
            assert event.end >= end
        else:
            assert (event.start, event.end) == (start, end)


@pytest.mark.property
@each_language
@fewer
@given(data=st.data())
def test_two_rules_that_do_not_feed_each_other_find_what_each_finds_alone(
    language: str, data: st.DataObject
) -> None:
    first, stream = data.draw(scenes(RULES[language]))
    second, others = data.draw(scenes(st.one_of(*RULES.values())))
    stream += [replace(event, id=f"second {event.id}") for event in others]
    second = replace(second, name="Second", output=replace(second.output, type="Second"))
    together = found([first, second], stream)
    for rule in (first, second):
        alone = found(rule, stream)
        assert [event for event in together if event.rule == rule.name] == alone


@pytest.mark.property
@each_language
@fewer
@given(data=st.data())
def test_a_rule_over_the_output_of_another_sees_each_of_its_events(
    language: str, data: st.DataObject
) -> None:
    below, stream = data.draw(scenes(RULES[language]))
    text = f"QUERY Above EVENT {below.output.type} x RETURN Above()"
    (above,) = load(text, language="sase")
    both = [event for event in found([below, above], stream) if event.type != "Failure"]
    lower = [event for event in both if event.rule == below.name]
    upper = [event for event in both if event.rule == above.name]
    assert lower == [event for event in found(below, stream) if event.type != "Failure"]
    assert [event.events[0][1] for event in upper] == lower


# --- what holds for one language ---------------------------------------------


@pytest.mark.property
@fewer
@given(scene=scenes(tesla_rules()))
def test_first_and_last_choose_among_what_each_finds(scene: tuple[Rule, list[Event]]) -> None:
    rule, stream = scene
    tree = rule.pattern
    assert isinstance(tree, Tree)
    chosen = replace(rule, consuming=())
    every = replace(
        chosen,
        pattern=replace(
            tree, components=tuple(replace(part, selection=EACH) for part in tree.components)
        ),
    )
    assert set(map(constituents, found(chosen, stream))) <= set(
        map(constituents, found(every, stream))
    )


@pytest.mark.property
@fewer
@given(scene=scenes(tesla_rules()))
def test_a_consumed_event_takes_part_in_the_matches_of_one_terminator(
    scene: tuple[Rule, list[Event]],
) -> None:
    rule, stream = scene
    tree = rule.pattern
    assert isinstance(tree, Tree)
    seen: dict[tuple[str, object], object] = {}
    for event in found(rule, stream):
        parts = dict(event.events)
        for label in rule.consuming:
            terminator = parts[tree.terminator.label].id
            assert seen.setdefault((label, parts[label].id), terminator) == terminator


@pytest.mark.property
@fewer
@given(scene=scenes(sase_rules()))
def test_without_negations_a_query_finds_at_least_as_much(scene: tuple[Rule, list[Event]]) -> None:
    rule, stream = scene
    tree = rule.pattern
    assert isinstance(tree, Tree)
    positive = replace(rule, pattern=replace(tree, negations=(), deadline=None))
    assert set(map(constituents, found(rule, stream))) <= set(
        map(constituents, found(positive, stream))
    )


@pytest.mark.property
@fewer
@given(scene=scenes(sase_rules()))
def test_the_events_of_a_query_follow_each_other_strictly_within_its_window(
    scene: tuple[Rule, list[Event]],
) -> None:
    rule, stream = scene
    tree = rule.pattern
    assert isinstance(tree, Tree)
    labels = [component.label for component in reversed(tree.components)]
    for event in found(rule, stream):
        parts = dict(event.events)
        chain = [parts[label] for label in labels]
        assert all(one.precedes(other) for one, other in pairwise(chain))
        assert tree.within is None or chain[-1].end - chain[0].start < tree.within


@pytest.mark.property
@fewer
@given(scene=scenes(RULES["laipl"]))
def test_every_event_takes_part_in_at_most_one_composite_event_of_a_laipl_rule(
    scene: tuple[Rule, list[Event]],
) -> None:
    rule, stream = scene
    matches = [event for event in found(rule, stream) if event.type != "Failure"]
    used = Counter(part.id for event in matches for _, part in event.events)
    assert all(count == 1 for count in used.values())


@pytest.mark.property
@fewer
@given(scene=scenes(core_rules()))
def test_within_keeps_the_matches_that_are_short_enough(scene: tuple[Rule, list[Event]]) -> None:
    rule, stream = scene
    detector = rule.pattern
    assert isinstance(detector, Detector)
    length = detector.within
    # A pair that is too long decides about nothing, so that a later one may do in its place.
    assume(not any(find(rule, Parallel)))
    endless = replace(rule, pattern=replace(detector, within=None))
    short = [e for e in found(endless, stream) if length is None or e.end - e.start <= length]
    assert found(rule, stream) == short


def test_a_collection_stays_within_its_window_when_a_composite_event_is_told_late() -> None:
    # F ends at 0 but is told at 10, so the window that ends at the newest event does not see it.
    late = load("define F as ([X], [T1]) T1 = 10s", language="core")
    text = "Rule R Define Out(v: Integer) From A, F Where Each(A.value) > 0 And F Within({})"
    listed = parse_events("X@0 A@6(value=1) Z@20")
    for window, found in (("5 sec", 0), ("6 sec", 1)):
        collection = load(text.format(window), language="laipl")
        outcome = evaluate([*late, *collection], listed)
        assert sum(event.type == "Out" for event in outcome.events) == found
