"""Random events and random rules of every language, as algebra."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import replace
from functools import cache
from itertools import pairwise, permutations, product

from hypothesis import strategies as st

from cepheid import algebra as al
from cepheid.algebra import (
    EACH,
    Absence,
    Accumulate,
    Aggregate,
    Alternation,
    And,
    Arithmetic,
    Atom,
    Attribute,
    Binding,
    Body,
    Collected,
    Collection,
    Comparison,
    Component,
    Conjunction,
    CountWindow,
    Detector,
    Each,
    Equivalence,
    EventPredicate,
    Expression,
    Function,
    Instant,
    Item,
    Iteration,
    Key,
    Literal,
    Negation,
    Negative,
    Not,
    Or,
    Output,
    OutputAttribute,
    Parallel,
    Parameter,
    Pick,
    Policy,
    Relation,
    Rule,
    Run,
    Selection,
    Sequence,
    Sign,
    Take,
    TimerSignal,
    TimeWindow,
    Timing,
    Window,
)
from cepheid.events import Event, Kind, Value

TYPES = ("A", "B", "C", "D")
NUMBERS = ("v", "w")
KEYS = ("k",)
SECOND = 1_000_000

durations = st.integers(1, 20).map(lambda count: count * SECOND)
run_windows = st.one_of(durations.map(TimeWindow), st.integers(1, 4).map(CountWindow))
collection_windows = st.one_of(
    st.none(), durations.map(TimeWindow), st.integers(2, 6).map(CountWindow)
)
one_type = st.sampled_from(TYPES)
few_types = st.lists(one_type, min_size=2, max_size=3)
# One choice each: drawing takes most of the time of many properties.
_NUMBERS = [*range(10), -1, -2, -3, *[0.5, 2.0, -1.25, 1e300, 1e-7, float(2**60)] * 2]
_MISSING = None
_MOMENTS = [(start, length) for length in (0, 0, 0, 1, 3) for start in range(31)]
numbers = st.sampled_from(_NUMBERS)
texts = st.one_of(st.sampled_from(["x", "y", ""]), st.text(max_size=5))
_moments = st.sampled_from(_MOMENTS)
# One strategy for all draws, too: making and checking it takes longer than drawing from it.
_perhaps_numbers = st.sampled_from([*_NUMBERS, *[_MISSING] * 5])
_perhaps_keys = st.sampled_from([*["x", "y"] * 5, *[_MISSING] * 2])
_VALUES = {"k": _perhaps_keys, "v": _perhaps_numbers, "w": _perhaps_numbers}
relations = st.sampled_from(list(Relation))
functions = st.sampled_from(list(Function))
summaries = st.sampled_from([found for found in Function if found is not Function.COUNT])
policies = st.sampled_from(list(Policy))
one_number = st.sampled_from(NUMBERS)


# --- events ------------------------------------------------------------------


@cache
def events(types: Many[str] = TYPES) -> st.SearchStrategy[Event]:
    """An event with few different times, keys and values, so that things happen."""
    return st.builds(_event, st.sampled_from(types), _moments, *_VALUES.values())


def _event(type_: str, moment: tuple[int, int], *values: Value | None) -> Event:
    start, length = moment
    attributes = {
        name: value for name, value in zip(_VALUES, values, strict=True) if value is not _MISSING
    }
    return Event(type_, start * SECOND, (start + length) * SECOND, attributes)


@cache
def streams(max_size: int = 14) -> st.SearchStrategy[list[Event]]:
    """A list of events in no particular order of time: with ids, or some of them equal."""
    several = st.lists(st.tuples(events(), st.sampled_from([1, 1, 2])), max_size=max_size // 2)
    return st.one_of(
        several.map(lambda found: [event for event, count in found for _ in range(count)]),
        st.lists(events(), max_size=max_size).map(
            lambda found: [replace(event, id=number) for number, event in enumerate(found)]
        ),
    )


# --- expressions -------------------------------------------------------------


@cache
def literals() -> st.SearchStrategy[Expression]:
    """A number."""
    return numbers.map(Literal)


@cache
def _or_number(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(leaves, literals())


@cache
def _or_parameter(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(leaves, st.just(Parameter("p1")))


@cache
def _shares(leaves: int) -> st.SearchStrategy[tuple[int, ...]]:
    """How many leaves two or three parts may have, of so many together."""
    counts = range(1, leaves)
    pairs = [pair for pair in product(counts, repeat=2) if sum(pair) <= leaves]
    return st.sampled_from([*pairs, *[(1, 1, leaves - 2)] * (leaves > 2)])


_SUMS = st.sampled_from(["leaf", "leaf", "leaf", "minus", "sum", "sum"])
_signs = st.sampled_from(list(Sign))


@cache
@st.composite
def arithmetic(draw: st.DrawFn, leaves: st.SearchStrategy[Expression], most: int = 4) -> Expression:
    """Sums and products of leaves; a minus before a number is part of the number."""
    form = draw(_SUMS) if most > 1 else "leaf"
    if form == "leaf":
        return draw(leaves)
    if form == "minus":
        inner = draw(arithmetic(leaves, most - 1))
        return inner if isinstance(inner, Literal | Negative) else Negative(inner)
    left, right = draw(_shares(most))[:2]
    return Arithmetic(draw(_signs), draw(arithmetic(leaves, left)), draw(arithmetic(leaves, right)))


@cache
def comparisons(leaves: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """A leaf compared with an arithmetic expression."""
    return st.builds(Comparison, relations, leaves, arithmetic(_or_number(leaves)))


_TESTS = st.sampled_from(["test", "test", "test", "and", "or", "not"])


@cache
@st.composite
def conditions(draw: st.DrawFn, leaves: st.SearchStrategy[Expression], most: int = 4) -> Expression:
    """Comparisons under and, or and not, nested but never the same in itself."""
    form = draw(_TESTS) if most > 1 else "test"
    if form == "test":
        return draw(comparisons(leaves))
    if form == "not":
        inner = draw(conditions(leaves, most - 1))
        return inner if isinstance(inner, Not) else Not(inner)
    kind: type[And | Or] = And if form == "and" else Or
    parts: list[Expression] = []
    for share in draw(_shares(most)):
        part = draw(conditions(leaves, share))
        parts += part.operands if isinstance(part, kind) else [part]
    return kind(tuple(parts))


@cache
def own_attributes() -> st.SearchStrategy[Expression]:
    """A number of the event being tested."""
    return st.sampled_from(NUMBERS).map(lambda name: Attribute(None, name))


@cache
def attributes_of(labels: Many[str]) -> st.SearchStrategy[Expression]:
    """A number of an event of the match."""
    return st.builds(Attribute, st.sampled_from(list(labels)), st.sampled_from(NUMBERS))


@cache
def optional_conditions(
    leaves: st.SearchStrategy[Expression],
) -> st.SearchStrategy[Expression | None]:
    """A condition, or none."""
    return st.one_of(st.none(), conditions(leaves))


@cache
def _one_of(*labels: str) -> st.SearchStrategy[str]:
    return st.sampled_from(labels)


@cache
def _some_of(labels: Many[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(_one_of(*labels), max_size=2, unique=True)


@cache
def _orders(labels: Many[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.sampled_from(list(permutations(labels)))


# --- TESLA -------------------------------------------------------------------


@st.composite
def tesla_rules(draw: st.DrawFn, name: str = "R") -> Rule:
    """A rule that TESLA can say, and that means something on `streams`."""
    count = draw(st.integers(1, 4))
    labels = tuple(f"L{index}" for index in range(count))
    keyed = draw(st.booleans())
    bindings: list[Binding] = []
    if keyed:
        bindings.append(Binding("p0", Attribute(labels[0], "k")))
    bound_number = draw(st.booleans())
    if bound_number:
        bindings.append(Binding("p1", Attribute(labels[0], "v")))
    parents = draw(tesla_parents(labels))
    components = []
    for index, label in enumerate(labels):
        leaves = own_attributes()
        later = index > 0 and bound_number
        usable = _or_parameter(leaves) if later else leaves
        parts: list[Expression] = []
        if index > 0 and keyed and draw(st.booleans()):
            parts.append(Comparison(Relation.EQUAL, Attribute(None, "k"), Parameter("p0")))
        if draw(st.booleans()):
            relation = draw(relations)
            right = draw(arithmetic(_or_number(usable)))
            left = draw(leaves)
            binds = relation is Relation.EQUAL and isinstance(right, Parameter)
            parts.append(Comparison(Relation.LESS if binds else relation, left, right))
        predicate = EventPredicate((draw(one_type),), al.conjunction(parts))
        if index == 0:
            components.append(Component(label, predicate))
            continue
        policy = draw(policies)
        selection = EACH if policy is Policy.EACH else Selection(policy, draw(st.integers(1, 3)))
        window = Window.within(draw(durations), parents[label])
        components.append(Component(label, predicate, selection, window))
    negations = draw(_some_negations(labels, keyed=keyed))
    aggregate = draw(tesla_aggregates(labels, keyed=keyed)) if draw(st.booleans()) else None
    tests: list[Expression] = []
    if aggregate is not None:
        bindings.append(Binding("q", aggregate))
        tests.append(Comparison(draw(relations), draw(literals()), Parameter("q")))
    values: list[Expression] = [Attribute(label, "v") for label in labels]
    values += [Parameter(binding.name) for binding in bindings if binding.name == "q"]
    outputs = tuple(
        OutputAttribute(f"o{index}", Kind.DOUBLE, value) for index, value in enumerate(values)
    )
    consuming = tuple(draw(_some_of(labels)))
    tree = al.Tree(tuple(components), tuple(negations), tuple(bindings), tuple(tests))
    return Rule(name, Output(f"Out{name}", outputs), tree, consuming, point=True, language="tesla")


@cache
@st.composite
def tesla_parents(draw: st.DrawFn, labels: Many[str]) -> dict[str, str]:
    """What each event but the first hangs on: a tree that need not follow the order of the text."""
    parents: dict[str, str] = {}
    for label in draw(_orders(labels[1:])):
        parents[label] = draw(_one_of(labels[0], *parents))
    return parents


@cache
@st.composite
def closed_predicates(draw: st.DrawFn, *, keyed: bool) -> EventPredicate:
    """What a negation or an aggregate looks for."""
    parts: list[Expression] = []
    if keyed and draw(st.booleans()):
        parts.append(Comparison(Relation.EQUAL, Attribute(None, "k"), Parameter("p0")))
    if draw(st.booleans()):
        parts.append(draw(comparisons(own_attributes())))
    return EventPredicate((draw(one_type),), al.conjunction(parts))


@cache
@st.composite
def tesla_windows(draw: st.DrawFn, labels: Many[str]) -> Window:
    """A window by time, or between two events."""
    if len(labels) > 1 and draw(st.booleans()):
        first, second = draw(_orders(labels))[:2]
        return Window(Instant(first), Instant(second))
    return Window.within(draw(durations), draw(_one_of(*labels)))


@cache
@st.composite
def tesla_negations(draw: st.DrawFn, labels: Many[str], *, keyed: bool) -> Negation:
    """A negation."""
    return Negation("", draw(closed_predicates(keyed=keyed)), draw(tesla_windows(labels)))


@cache
def _some_negations(labels: Many[str], *, keyed: bool) -> st.SearchStrategy[list[Negation]]:
    return st.lists(tesla_negations(labels, keyed=keyed), max_size=2)


@cache
@st.composite
def tesla_aggregates(draw: st.DrawFn, labels: Many[str], *, keyed: bool) -> Aggregate:
    """An aggregate."""
    function = draw(functions)
    attribute = None if function is Function.COUNT else draw(one_number)
    predicate = draw(closed_predicates(keyed=keyed))
    return Aggregate(function, predicate, attribute, draw(tesla_windows(labels)))


# --- SASE --------------------------------------------------------------------

_one_or_two_types = st.sampled_from([*((t,) for t in TYPES), *permutations(TYPES, 2)])
_equivalences = st.sampled_from([(), (), (Equivalence("k", None),), (Equivalence("k", "x"),)])


@st.composite
def sase_rules(draw: st.DrawFn, name: str = "Q") -> Rule:
    """A query that SASE can say."""
    labels = tuple(f"x{index}" for index in range(draw(st.integers(1, 4))))
    within = draw(_windows())
    components = []
    for label, follower in zip(labels, [*labels[1:], None], strict=True):
        types = draw(_one_or_two_types)
        window = None if follower is None else Window(None, Instant(follower))
        components.append(Component(label, EventPredicate(types), EACH, window))
    slots = [(one, other) for one, other in pairwise(labels)]
    gaps: list[tuple[Window, Instant | None]] = [
        (Window(Instant(one), Instant(other)), None) for one, other in slots
    ]
    if within is not None:
        start = Window(Instant(labels[-1], -within), Instant(labels[0]))
        end = Window(Instant(labels[-1]), Instant(labels[0], within))
        gaps = [(start, None), *gaps, (end, Instant(labels[0], within))]
    negations, deadline = [], None
    for index, (window, due) in enumerate(gaps):
        if draw(st.integers(0, 3)) == 0:
            tested = draw(optional_conditions(own_attributes()))
            parts = list(al.conjuncts(tested))
            if draw(st.booleans()):
                right = draw(attributes_of(labels))
                parts.append(Comparison(draw(relations), Attribute(None, "v"), right))
            predicate = EventPredicate((draw(one_type),), al.conjunction(parts))
            negations.append(Negation(f"n{index}", predicate, window))
            deadline = due or deadline
    whole = draw(optional_conditions(attributes_of(labels)))
    equivalences = draw(_equivalences)
    tree = al.Tree(
        tuple(reversed(components)),
        tuple(negations),
        (),
        al.conjuncts(whole),
        equivalences,
        within,
        deadline,
    )
    output = Output(name, (), everything=True)
    if draw(st.booleans()):
        value = draw(arithmetic(attributes_of(labels)))
        output = Output(f"Out{name}", (OutputAttribute("o", None, value),))
    return Rule(name, output, tree, missing=True, language="sase")


# --- LAIPL -------------------------------------------------------------------


@st.composite
def laipl_runs(draw: st.DrawFn, name: str = "R") -> Rule:
    """A rule with one constraint."""
    type_ = draw(one_type)
    keys = (Key(((type_, "k"),)),) if draw(st.booleans()) else ()
    window = draw(run_windows)
    relation, bound = draw(relations), draw(literals())
    filter_: Expression | None = None
    condition: Each | Expression | None
    form = draw(st.sampled_from(["each", "bare", "aggregate", "count", "item"]))
    if form == "each":
        condition = Each(Comparison(relation, Attribute(None, "v"), bound))
        value: Expression = Item(type_, -1, "v")
    elif form == "bare":
        filter_, condition = Comparison(relation, Attribute(None, "v"), bound), None
        value = Collected(Function.AVG, type_, "v")
    elif form == "aggregate":
        function = draw(summaries)
        value = Collected(function, type_, "v")
        condition = Comparison(relation, value, bound)
    elif form == "count":
        value = Collected(Function.COUNT, type_, None, draw(_perhaps_tests()))
        size = window.size if isinstance(window, CountWindow) else 4
        # A count that no full batch reaches is an error, and a whole batch has all its events.
        condition = Comparison(Relation.AT_LEAST, value, Literal(draw(st.integers(0, size))))
        if value.filter is not None:
            exact = st.sampled_from([Relation.AT_LEAST, Relation.AT_MOST, Relation.EQUAL])
            condition = replace(condition, relation=draw(exact))
    else:
        value = Item(type_, draw(st.sampled_from([1, -1])), "v")
        condition = Comparison(relation, value, bound)
    run = Run(type_, EventPredicate((type_,), filter_), window, condition, keys)
    output = Output(f"Out{name}", (OutputAttribute("o", Kind.DOUBLE, value),))
    return Rule(name, output, run, language="laipl")


@st.composite
def laipl_collections(draw: st.DrawFn, name: str = "R") -> Rule:
    """A rule with several constraints, which may be about one type."""
    types = draw(few_types)
    leaves: list[Body] = []
    values: list[Expression] = []
    for index, type_ in enumerate(types):
        number = types[: index + 1].count(type_)
        leaf, value = draw(laipl_leaves(type_, type_ if number == 1 else f"{type_}{number}"))
        leaves.append(leaf)
        values.append(value)
    body: Body = Conjunction(tuple(leaves))
    shape = draw(st.sampled_from(["and", "or", "then", "mixed", "not"]))
    if shape == "or":
        body = Alternation(tuple(leaves))
    elif shape == "then":
        body = Sequence(tuple(leaves), strong=True)
    elif shape == "mixed" and len(leaves) == 3:
        body = Sequence((Conjunction(tuple(leaves[:2])), leaves[2]), strong=True)
    elif shape == "not" and len(leaves) == 3:
        absent = Absence(EventPredicate((types[2],), draw(_perhaps_tests())))
        body = Conjunction((*leaves[:2], absent))
        values.pop()
    window = draw(collection_windows)
    keys = (
        (Key(tuple((type_, "k") for type_ in dict.fromkeys(types))),) if draw(st.booleans()) else ()
    )
    if window is None and any(isinstance(leaf, Pick) for leaf in leaves):
        window = CountWindow(5)
    outputs = tuple(
        OutputAttribute(f"o{index}", Kind.DOUBLE, value) for index, value in enumerate(values)
    )
    collection = Collection(body, window, keys)
    return Rule(name, Output(f"Out{name}", outputs), collection, language="laipl")


@cache
def own_tests() -> st.SearchStrategy[Expression]:
    """The value of an event compared with a number."""
    return st.builds(Comparison, relations, st.just(Attribute(None, "v")), literals())


@cache
def _perhaps_tests() -> st.SearchStrategy[Expression | None]:
    return st.one_of(st.none(), own_tests())


@cache
@st.composite
def laipl_leaves(draw: st.DrawFn, type_: str, label: str) -> tuple[Body, Expression]:
    """A constraint about a type under a label, and its value."""
    form = draw(st.sampled_from(["take", "count", "accumulate", "pick"]))
    test = draw(own_tests())
    assert isinstance(test, Comparison)
    if form == "take":
        return Take(label, EventPredicate((type_,), test)), Attribute(label, "v")
    if form == "count":
        count = draw(st.integers(2, 3))
        value = Collected(Function.COUNT, label, None)
        return Take(label, EventPredicate((type_,), test), count), value
    if form == "accumulate":
        function = draw(summaries)
        leaf = Accumulate(label, EventPredicate((type_,)), function, "v", test.relation, test.right)
        return leaf, Collected(function, label, "v")
    index = draw(st.sampled_from([1, 2, -1]))
    return Pick(label, (type_,), index, test), Attribute(label, "v")


# --- core --------------------------------------------------------------------


@st.composite
def core_rules(draw: st.DrawFn, name: str = "X") -> Rule:
    """A definition that the core language can say."""
    body, within = draw(_definite_bodies()), draw(_windows())
    return Rule(name, Output(name), Detector(_numbered(body), None, within), language="core")


@cache
@st.composite
def _definite_bodies(draw: st.DrawFn) -> Body:
    body = draw(core_bodies())
    return _sequence([body, draw(core_atoms())], strong=False) if _nullable(body) else body


@cache
def _windows() -> st.SearchStrategy[int | None]:
    return st.one_of(st.none(), durations)


@cache
def core_atoms() -> st.SearchStrategy[Body]:
    """An atom with a domain of its own."""

    domains = st.lists(core_signals(), min_size=1, max_size=3, unique=True)

    def atom(draw: st.DrawFn) -> Body:
        domain = draw(domains)
        if draw(st.booleans()):
            return Atom(None, (domain[0],), (domain[0],))
        negated = draw(st.booleans()) and len(domain) > 1
        return Atom(None, (domain[0],), tuple(domain), negated)

    return st.composite(atom)()


@cache
@st.composite
def core_signals(draw: st.DrawFn) -> EventPredicate:
    """An event description."""
    filter_ = draw(_signal_filters())
    return EventPredicate((draw(_one_type()),), filter_)


@cache
def _signal_filters() -> st.SearchStrategy[Expression | None]:
    return st.one_of(st.none(), st.none(), own_tests())


@cache
def _one_type() -> st.SearchStrategy[str]:
    return st.sampled_from(TYPES)


_ONE = st.sampled_from(["atom", "atom", "atom", "repeat"])
_SEVERAL = st.sampled_from(
    ["atom", "atom", "weak", "strong", "either", "repeat", "parallel", "timing", "waiting"]
)


@cache
@st.composite
def core_bodies(draw: st.DrawFn, most: int = 5) -> Body:
    """Expressions over at most so many atoms."""
    form = draw(_SEVERAL if most > 1 else _ONE)
    if form == "atom":
        return draw(core_atoms())
    if form == "repeat":
        body = draw(core_bodies(most - 1) if most > 1 else core_atoms())
        return body if isinstance(body, Iteration) else Iteration(body)
    parts = [draw(core_bodies(share)) for share in draw(_shares(most))]
    first, second = parts[:2]
    if form == "either":
        return _alternation(parts)
    if form == "parallel" and not (_nullable(first) or _nullable(second)):
        return Parallel(first, second)
    if form in ("timing", "waiting"):
        return _timing(first, second, draw(durations), waits=form == "waiting")
    return _sequence(parts, strong=form == "strong")


def _sequence(parts: list[Body], strong: bool) -> Body:
    flat: list[Body] = []
    for part in parts:
        same = isinstance(part, Sequence) and part.strong == strong
        flat.extend(part.parts if isinstance(part, Sequence) and same else [part])
    return Sequence(tuple(flat), strong)


def _alternation(parts: list[Body]) -> Body:
    flat: list[Body] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Alternation) else [part])
    return Alternation(tuple(flat))


def _timing(first: Body, second: Body, duration: int, *, waits: bool) -> Body:
    """Timing whose second part may wait for the timer; the name is given later."""
    if _nullable(first):
        return _sequence([first, second], strong=False)
    signal = TimerSignal("?")
    after: Body = Atom(None, (signal,), (signal, EventPredicate(("D",)))) if waits else second
    return Timing(first, after, "?", duration)


def _nullable(body: Body) -> bool:
    if isinstance(body, Iteration):
        return True
    if isinstance(body, Sequence):
        return all(map(_nullable, body.parts))
    if isinstance(body, Alternation):
        return any(map(_nullable, body.parts))
    if isinstance(body, Timing):
        return _nullable(body.first) and _nullable(body.second)
    return False


def _numbered(body: Body) -> Body:
    """The expression with a name of its own for every timer."""
    count = iter(range(1000))

    def visit(node: Body, timer: str) -> Body:
        if isinstance(node, Timing):
            name = f"T{next(count)}"
            first, second = visit(node.first, timer), visit(node.second, name)
            return replace(node, first=first, second=second, timer=name)
        if isinstance(node, Sequence | Alternation):
            return replace(node, parts=tuple(visit(part, timer) for part in node.parts))
        if isinstance(node, Iteration):
            return replace(node, body=visit(node.body, timer))
        if isinstance(node, Parallel):
            return replace(node, left=visit(node.left, timer), right=visit(node.right, timer))
        if isinstance(node, Atom) and any(isinstance(s, TimerSignal) for s in node.accepts):
            signal = TimerSignal(timer)
            return replace(node, accepts=(signal,), domain=(signal, node.domain[1]))
        return node

    return visit(body, "")


RULES: dict[str, st.SearchStrategy[Rule]] = {
    "tesla": tesla_rules(),
    "sase": sase_rules(),
    "laipl": st.one_of(laipl_runs(), laipl_collections()),
    "core": core_rules(),
}
"""Random rules by language."""
