"""What must fit together in rules of languages that can say everything the algebra has.

The four languages of the papers cannot even write most of what is refused here; the pretty
language and the Python binding can, so they ask this module.
"""

from __future__ import annotations

from cepheid.algebra import (
    EACH,
    Absence,
    Accumulate,
    Aggregate,
    Alternation,
    Atom,
    Binding,
    Body,
    Coalesce,
    Collected,
    Collection,
    Component,
    Conjunction,
    CountWindow,
    Detector,
    EventPredicate,
    Instant,
    Item,
    Key,
    Negation,
    Node,
    Output,
    Parallel,
    Pattern,
    Pick,
    Rule,
    Run,
    Sequence,
    Take,
    TimerSignal,
    Timing,
    Tree,
    find,
    input_types,
    walk,
)
from cepheid.errors import did_you_mean
from cepheid.languages.core.scope import PARALLEL_LIMIT, Hints, check_scope
from cepheid.languages.laipl.constraints import CONSTRAINT_LIMIT
from cepheid.languages.lowering import Lowering
from cepheid.languages.tesla import limits

_SCOPE = Hints(
    'both sides must have an event: "A" then any number of "A"',
    "{name} holds in what comes after it was started, and not in parts alongside each other",
    "a filter refers to events that come before, not to those alongside; "
    "put the condition behind provided",
)
_SPLIT = "split the rule in two: one rule may use what another one defines"


def check_fit(rule: Rule, lowering: Lowering) -> None:
    """Report parts that do not fit together, in a rule whose names are known."""
    pattern = rule.pattern
    _check_operands(rule, lowering)
    _check_doubles(pattern, lowering)
    _check_parameters(pattern, lowering)
    _check_keys(pattern, lowering)
    if isinstance(pattern, Tree):
        _check_tree(rule, pattern, lowering)
    elif isinstance(pattern, Detector):
        _check_detector(pattern, lowering)
    elif isinstance(pattern, Collection):
        _check_collection(pattern, lowering)
    else:
        _check_run(pattern, lowering)


def types_of(pattern: Pattern) -> tuple[str, ...]:
    """The types that a pattern looks at, in the order of its text."""
    return input_types(Rule("", Output(""), pattern))


def deadline_of(negations: tuple[Negation, ...]) -> Instant | None:
    """When negations that reach beyond the last event are decided, if nothing else is said.

    None where none does, or where they end at different events.
    """
    ends = [part.window.high for part in negations if part.window.high is not None]
    late = [end for end in ends if end.offset > 0]
    if len({end.label for end in late}) != 1:
        return None
    return max(late, key=lambda end: end.offset)


def _check_operands(rule: Rule, lowering: Lowering) -> None:
    in_tree = isinstance(rule.pattern, Tree)
    wrong = (Collected, Item) if in_tree else (Aggregate,)
    found: Node | None = next((node for node in walk(rule) if isinstance(node, wrong)), None)
    if found is not None:
        what = "in a tree a name stands for one event" if in_tree else "all belongs to trees"
        hint = (
            "write value of Temp, or look at all: average value of all (Temp within 5 min before …)"
            if in_tree
            else "here a name stands for all its events: average value of Temp"
        )
        _wrong(lowering, f"a value of rule {rule.name} does not fit: {what}", found, hint)
    for coalesce in find(rule.pattern, Coalesce):
        _wrong(
            lowering,
            f"first known of in rule {rule.name} must stand in what the rule gives",
            coalesce,
            "in a condition, join comparisons with or",
        )
        return


def _check_doubles(pattern: Pattern, lowering: Lowering) -> None:
    """Every event and every timer has a name of its own."""
    seen: set[tuple[bool, str]] = set()
    for node in walk(pattern):
        is_timer = isinstance(node, Timing)
        name = node.timer if isinstance(node, Timing) else None
        if isinstance(node, Component | Take | Accumulate | Pick | Atom):
            name = node.label
        if name is not None and (is_timer, name) in seen:
            lowering.error(
                "DUPLICATE_LABEL",
                f"two {'timers' if is_timer else 'events'} of rule {lowering.rule} "
                f"are called {name}",
                node.span,
                hint=f"give each its own name, such as {name}2",
            )
        if name is not None:
            seen.add((is_timer, name))


def _check_parameters(pattern: Pattern, lowering: Lowering) -> None:
    """Every parameter stands for one value."""
    seen: set[str] = set()
    for binding in find(pattern, Binding):
        if binding.name in seen:
            lowering.error(
                "DUPLICATE_DEFINITION",
                f"parameter ${binding.name} in rule {lowering.rule} gets two values",
                binding.span,
            )
        seen.add(binding.name)


def _check_keys(pattern: Pattern, lowering: Lowering) -> None:
    """Every key is about the types that the rule looks at; without a value, about all of them."""
    types = types_of(pattern)
    for key in find(pattern, Key):
        named = [type_ for type_, _ in key.attributes]
        strange = [type_ for type_ in named if type_ not in types]
        if strange:
            lowering.error(
                "UNKNOWN_EVENT",
                f"on in rule {lowering.rule} speaks of {strange[0]}, "
                "which the rule does not look at",
                key.span,
                hint=f"the rule looks at {', '.join(types)}",
            )
        elif len(set(named)) < len(named) or (key.value is None and set(named) != set(types)):
            _wrong(
                lowering,
                f"on in rule {lowering.rule} must relate one attribute of each of "
                f"{', '.join(types)}",
                key,
                "name each of them once, or write on same and the attribute that all have",
            )


def _wrong(lowering: Lowering, message: str, node: Node, hint: str) -> None:
    lowering.error("WRONG_STRUCTURE", message, node.span, hint=hint)


# --- trees -------------------------------------------------------------------


def _check_tree(rule: Rule, tree: Tree, lowering: Lowering) -> None:
    _check_labels(tree, lowering)
    if any(part.window and part.window.low for part in tree.components) or tree.bindings:
        limits.check(tree, lowering)
    if tree.terminator.selection != EACH:
        _wrong(
            lowering,
            f"event {tree.terminator.label} in rule {rule.name} completes the match, "
            "so there is nothing to choose",
            tree.terminator,
            "each, first and last belong to events that come before it",
        )
    _check_deadline(rule, tree, lowering)


def _check_deadline(rule: Rule, tree: Tree, lowering: Lowering) -> None:
    late = [n for n in tree.negations if n.window.high and n.window.high.offset > 0]
    if late and tree.deadline is None:
        _wrong(
            lowering,
            f"rule {rule.name} must say when it is decided that nothing came",
            late[-1],
            f"add a clause: decided 5 min after {tree.terminator.label}",
        )
    if tree.deadline is not None and not _is_late(tree.deadline, tree):
        _wrong(
            lowering,
            f"rule {rule.name} may be decided before its last event has come",
            tree.deadline if tree.deadline.span else tree,
            f"let it be decided after {tree.terminator.label}, or all within no more than that",
        )
    if tree.deadline is not None and rule.consuming:
        _wrong(
            lowering,
            f"rule {rule.name} cannot consume events: it is decided after its last event",
            tree,
            "leave consuming out, or let what is absent end at the last event",
        )


def _is_late(deadline: Instant, tree: Tree) -> bool:
    """Whether a moment comes after the last event: it is measured from it, or from far enough."""
    if deadline.label == tree.terminator.label:
        return deadline.offset > 0
    return tree.within is not None and deadline.offset >= tree.within


def _check_labels(tree: Tree, lowering: Lowering) -> None:
    """Every window hangs on events that there are."""
    known = {component.label for component in tree.components}
    for instant in find(tree, Instant):
        if instant.label not in known:
            lowering.error(
                "UNKNOWN_LABEL",
                f"no event of rule {lowering.rule} is called {instant.label}",
                instant.span,
                hint=did_you_mean(instant.label, known),
            )


# --- detectors ---------------------------------------------------------------


def _check_detector(detector: Detector, lowering: Lowering) -> None:
    check_scope(detector.body, lowering, _SCOPE)
    parallels = list(find(detector.body, Parallel))
    if len(parallels) > PARALLEL_LIMIT:
        lowering.error(
            "LIMIT_EXCEEDED",
            f"rule {lowering.rule} must have at most {PARALLEL_LIMIT} parallel parts",
            parallels[PARALLEL_LIMIT].span,
            hint=_SPLIT,
        )
    for atom in find(detector.body, Atom):
        _check_atom(atom, lowering)


def _check_atom(atom: Atom, lowering: Lowering) -> None:
    if atom.label and all(isinstance(item, TimerSignal) for item in atom.accepts):
        _wrong(
            lowering,
            f"name {atom.label} in rule {lowering.rule} stands for a timer, which is no event",
            atom,
            "leave the name out",
        )
    if not atom.negated:
        _check_domain(atom, lowering)
    elif all(item in atom.accepts for item in atom.domain):
        _wrong(
            lowering,
            f"a part of rule {lowering.rule} rejects all events that it looks at",
            atom,
            "add the events that may come instead to the list behind among",
        )
    if any(find(atom, Collected)) or any(find(atom, Item)):
        _wrong(
            lowering,
            f"a function in rule {lowering.rule} cannot stand in the filter of an event",
            atom,
            "put the condition behind provided, which is checked on the whole match",
        )


def _check_domain(atom: Atom, lowering: Lowering) -> None:
    inside = {type_ for item in atom.domain for type_ in _types(item)}
    for item in atom.accepts:
        strange = [type_ for type_ in _types(item) if type_ not in inside]
        if strange:
            _wrong(
                lowering,
                f"event {strange[0]} in rule {lowering.rule} must be among those that it is "
                "chosen from",
                item,
                f"add {strange[0]} to the list behind among",
            )


# --- runs and collections ----------------------------------------------------


def _check_run(run: Run, lowering: Lowering) -> None:
    for item in find(run, Item):
        _check_place(item.index, run.window, item, lowering)


def _check_collection(collection: Collection, lowering: Lowering) -> None:
    leaves = [n for n in walk(collection.body) if isinstance(n, Take | Accumulate | Pick | Absence)]
    if len(leaves) > CONSTRAINT_LIMIT:
        lowering.error(
            "LIMIT_EXCEEDED",
            f"rule {lowering.rule} must have at most {CONSTRAINT_LIMIT} parts; got {len(leaves)}",
            leaves[CONSTRAINT_LIMIT].span,
            hint=_SPLIT,
        )
        return
    choices = [part for either in find(collection.body, Alternation) for part in either.parts]
    silent = next((part for part in [*choices, collection.body] if not _happens(part)), None)
    if silent is not None:
        _wrong(
            lowering,
            f"a part of rule {lowering.rule} must be about an event that happens",
            silent,
            "no says what must be absent between the events of the other parts",
        )
    for pick in find(collection.body, Pick):
        _check_place(pick.index, collection.window, pick, lowering)


def _check_place(index: int, window: object, node: Node, lowering: Lowering) -> None:
    if isinstance(window, CountWindow) and index > window.size:
        _wrong(
            lowering,
            f"event {index} in rule {lowering.rule} lies outside its {window.size} events",
            node,
            "ask for an earlier one, or for a larger window",
        )


def _happens(body: Body) -> bool:
    """Whether every match of it has an event."""
    if isinstance(body, Alternation):
        return all(map(_happens, body.parts))
    if isinstance(body, Sequence | Conjunction):
        return any(map(_happens, body.parts))
    return not isinstance(body, Absence)


def _types(signal: EventPredicate | TimerSignal) -> tuple[str, ...]:
    return signal.types if isinstance(signal, EventPredicate) else ()
