"""Random rules that no language of the papers can say: odd names, parts of all of them together."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import replace

from hypothesis import strategies as st

from cepheid import algebra as al
from cepheid.algebra import (
    EACH,
    Attribute,
    Equivalence,
    EventPredicate,
    Instant,
    Key,
    OutputAttribute,
    Pick,
    Policy,
    Rule,
    Selection,
    TimerSignal,
    Window,
)
from cepheid.automaton.resolve import rewritten
from tests.strategies import SECOND, durations, numbers, texts

ODD_NAMES = (
    *("last", "within", "of", "count", "and", "is", "Timer", "rule", "its", "class", "everything"),
    *("my area", 'say "hi"', "A-1", "größe", "5th", "a.b", "$p", "two\nlines", "it's", "\\", "_"),
)
"""Names that are words of a language, or that only quotes can hold."""


@st.composite
def varied(draw: st.DrawFn, rules: st.SearchStrategy[Rule]) -> Rule:
    """A rule with odd names, and with parts that no language of the papers has together."""
    rule = renamed(draw(rules), draw(st.permutations(ODD_NAMES)))
    output = replace(rule.output, type=draw(st.sampled_from(["Out", *ODD_NAMES])))
    rule = replace(rule, missing=draw(st.booleans()), output=output)
    if isinstance(rule.pattern, al.Tree):
        everything = replace(output, everything=draw(st.booleans()))
        tree = draw(varied_trees(rule.pattern))
        rule = replace(rule, point=draw(st.booleans()), output=everything, pattern=tree)
        rule = replace(rule, consuming=() if tree.deadline else rule.consuming)
    return replace(rule, language="pretty")


@st.composite
def varied_trees(draw: st.DrawFn, tree: al.Tree) -> al.Tree:
    """A tree with windows, policies and conditions of all languages."""
    components = [tree.terminator]
    for component in tree.components[1:]:
        assert component.window is not None
        assert component.window.high is not None
        policy = draw(st.sampled_from(list(Policy)))
        selection = EACH if policy is Policy.EACH else Selection(policy, draw(st.integers(1, 3)))
        parent = component.window.high.label
        high = Instant(parent, -draw(st.integers(0, 1)) * SECOND)
        low = draw(st.one_of(st.none(), instants([parent, tree.terminator.label], high)))
        window = Window(low, high)
        components.append(replace(component, selection=selection, window=window))
    labels = [component.label for component in components]
    high = Instant(labels[0], SECOND)
    lows = instants(labels, high)
    negations = [replace(part, window=Window(draw(lows), high)) for part in tree.negations]
    late = draw(st.booleans()) and bool(negations)
    return replace(
        tree,
        components=tuple(components),
        negations=tuple(negations) if late else tree.negations,
        equivalences=tuple(draw(st.lists(equivalences(), max_size=2))),
        within=draw(st.one_of(st.none(), durations)) if tree.deadline is None else tree.within,
        deadline=Instant(labels[0], draw(durations)) if late else tree.deadline,
    )


def instants(labels: Many[str], high: Instant) -> st.SearchStrategy[Instant]:
    """A moment before or after an event where a window may begin that ends at another one."""
    offsets = st.integers(-5, 5).map(lambda count: count * SECOND)
    found = st.builds(Instant, st.sampled_from(list(labels)), offsets)
    return found.filter(lambda low: low.label != high.label or low.offset < high.offset)


def equivalences() -> st.SearchStrategy[Equivalence]:
    """An attribute that is the same in all events, perhaps with a value."""
    values = st.one_of(st.none(), texts, numbers, st.booleans())
    return st.builds(Equivalence, st.sampled_from(["k", *ODD_NAMES]), values)


def renamed(rule: Rule, names: Many[str]) -> Rule:
    """A rule in which types, attributes, events and timers have other names."""
    known: dict[str, str] = {}

    def new(name: str) -> str:
        return known.setdefault(name, names[len(known) % len(names)]) if name else name

    def change(node: al.Node, inside: bool) -> al.Node:
        given: dict[str, object] = {}
        for field in ("label", "attribute", "timer"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                given[field] = new(value)
        if isinstance(node, Attribute | TimerSignal | OutputAttribute):
            given["name"] = new(node.name)
        if isinstance(node, EventPredicate | Pick):
            given["types"] = tuple(map(new, node.types))
        if isinstance(node, Key):
            given["attributes"] = tuple((new(one), new(other)) for one, other in node.attributes)
        if isinstance(node, Rule):
            given["consuming"] = tuple(map(new, node.consuming))
        return replace(node, **given)  # type: ignore[arg-type]  # names of fields that it has

    return rewritten(rule, change)
