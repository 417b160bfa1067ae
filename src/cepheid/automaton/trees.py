"""Trees to automata: one sequence for each branch, joined where they share events.

This follows T-Rex's translation (section 3.2, Algorithm 1): sequence models first, one from each
initiating event to the terminator; then the states that they share; then parameters, negations
and aggregates. SASE's sequences are trees of one branch.
"""

from __future__ import annotations

from dataclasses import replace

from cepheid.algebra import (
    Aggregate,
    Component,
    Expression,
    Negation,
    Node,
    Parameter,
    Policy,
    Rule,
    TimeWindow,
    Tree,
    Window,
    conjunction,
    find,
)
from cepheid.automaton.model import (
    Absent,
    Arrival,
    Automaton,
    Computed,
    Constraint,
    Deadline,
    Form,
    Join,
    Lane,
    Limit,
    Stage,
    State,
    Tie,
    Transition,
)
from cepheid.automaton.resolve import Parameters, bare, split


def compile_tree(rule: Rule, tree: Tree) -> Automaton:
    """The automaton of a rule whose pattern is a tree."""
    return _TreeCompiler(rule, tree).automaton()


class _TreeCompiler:
    def __init__(self, rule: Rule, tree: Tree) -> None:
        self.rule = rule
        self.tree = tree
        self.parameters = Parameters(tree.bindings)
        self.by_label = {component.label: component for component in tree.components}
        self.order = list(self.by_label)
        self.conditions = [self.parameters.resolved(part) for part in tree.conditions]

    def automaton(self) -> Automaton:
        """Everything together, in the steps of Algorithm 1."""
        lanes = tuple(
            self._lane(f"M{number}", branch) for number, branch in enumerate(self._branches(), 1)
        )
        within = self.tree.within
        return Automaton(
            self.rule,
            Form.TREE,
            lanes,
            tuple(self._constraints()),
            tuple(self._absent(negation) for negation in self.tree.negations),
            tuple(self._aggregates()),
            _joins(lanes),
            limit=None if within is None else Limit(TimeWindow(within), closed=False),
        )

    # --- sequences -----------------------------------------------------------

    def _branches(self) -> list[list[Component]]:
        """From each event that nothing hangs on to the terminator."""
        parents = {self._parent(component) for component in self.tree.components}
        leaves = [part for part in self.tree.components if part.label not in parents]
        return [self._path(leaf) for leaf in leaves]

    def _parent(self, component: Component) -> str | None:
        if component.label == self.tree.terminator.label:
            return None
        return component.parent or self.tree.terminator.label

    def _path(self, leaf: Component) -> list[Component]:
        path = [leaf]
        parent = self._parent(leaf)
        while parent is not None and len(path) <= len(self.by_label):
            path.append(self.by_label[parent])
            parent = self._parent(path[-1])
        return path

    def _lane(self, name: str, branch: list[Component]) -> Lane:
        states = [State(f"{name}.0", "start", Stage.START)]
        transitions = []
        for number, component in enumerate(branch, 1):
            state = State(f"{name}.{number}", component.label, event=component.label)
            before = branch[number - 2] if number > 1 else None
            transitions.append(self._transition(states[-1], state, component, before))
            states.append(state)
        if self.tree.deadline is not None:
            decided = State(f"{name}.{len(states)}", "decided")
            deadline = Deadline(self.tree.deadline)
            transitions.append(Transition(states[-1].name, decided.name, deadline))
            states.append(decided)
        states[-1] = replace(states[-1], stage=Stage.END)
        return Lane(name, tuple(states), tuple(transitions))

    def _transition(
        self, source: State, target: State, component: Component, before: Component | None
    ) -> Transition:
        alone, _ = split(component.predicate, component.label, self.parameters)
        pushed = [bare(part, component.label) for part in self._pushed(component)]
        predicate = replace(component.predicate, filter=conjunction([*alone, *pushed]))
        step = Transition(source.name, target.name, Arrival((predicate,)))
        if before is None:
            return step
        return replace(step, strong=True, selection=before.selection, window=before.window)

    def _pushed(self, component: Component) -> list[Expression]:
        """The conditions on the match that an event decides alone (SASE's dynamic filtering).

        Where a policy chooses, a condition on the match comes after the choice, so it must stay.
        """
        if component.selection.policy is not Policy.EACH:
            return []
        return [
            part
            for part in self.conditions
            if self.parameters.labels(part) == {component.label}
            and not any(find(part, Aggregate))
            and not any(find(part, Parameter))
        ]

    # --- what ties the states ------------------------------------------------

    def _constraints(self) -> list[Constraint]:
        tied = [
            part
            for component in self.tree.components
            for part in split(component.predicate, component.label, self.parameters)[1]
        ]
        pushed = [part for component in self.tree.components for part in self._pushed(component)]
        tied += [part for part in self.conditions if part not in pushed]
        found = [Constraint(self._labels(part), part) for part in tied]
        everyone = tuple(reversed(self.order))
        return found + [Constraint(everyone, test) for test in self.tree.equivalences]

    def _absent(self, negation: Negation) -> Absent:
        predicate = self.parameters.resolved(negation.predicate)
        window = self._forward(negation.window)
        due = window.high is not None and window.high == self.tree.deadline
        ends = {window.low.label} if due and window.low else window.labels
        labels = tuple(label for label in self.order[::-1] if label in ends)
        return Absent(negation.label, predicate, window, labels, to_deadline=due)

    def _forward(self, window: Window) -> Window:
        """A window between two events with the earlier one first, where that is known."""
        low, high = window.low, window.high
        if low is None or high is None or low.offset or high.offset:
            return window
        later = [component.label for component in self._path(self.by_label[high.label])]
        return Window(high, low) if low.label in later and low.label != high.label else window

    def _aggregates(self) -> list[Computed]:
        """Parameters that are computed, and the aggregates that stand where they are used."""
        found = [
            Computed(name, value, self._hangs_on(value))
            for name, value in self.parameters.computed.items()
        ]
        filters = (component.predicate for component in self.tree.components)
        places: list[Node] = [*filters, *self.tree.conditions, *self.rule.output.attributes]
        for place in places:
            for aggregate in find(self.parameters.resolved(place), Aggregate):
                computed = Computed(None, aggregate, self._hangs_on(aggregate))
                if computed not in found:
                    found.append(computed)
        return found

    def _hangs_on(self, value: Node) -> tuple[str, ...]:
        labels = {label for part in find(value, Aggregate) for label in part.window.labels}
        return tuple(label for label in self.order[::-1] if label in labels)

    def _labels(self, node: Node) -> tuple[str, ...]:
        labels = self.parameters.labels(node)
        return tuple(label for label in self.order[::-1] if label in labels)


def _joins(lanes: tuple[Lane, ...]) -> tuple[Join, ...]:
    """The states that several sequences share."""
    by_label: dict[str, list[str]] = {}
    for lane in lanes:
        for state in lane.states:
            if state.stage is not Stage.START:
                by_label.setdefault(state.event or state.title, []).append(state.name)
    return tuple(Join(Tie.SHARED, tuple(names)) for names in by_label.values() if len(names) > 1)
