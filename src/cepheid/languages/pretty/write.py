"""The algebra to text of the pretty language, which has words for all of it."""

from __future__ import annotations

from cepheid.algebra import (
    EACH,
    Collection,
    Component,
    Detector,
    Each,
    Equivalence,
    Instant,
    Key,
    Negation,
    Output,
    OutputAttribute,
    Policy,
    Rule,
    Run,
    Selection,
    Tree,
    Window,
    input_types,
)
from cepheid.languages.fitting import deadline_of
from cepheid.languages.pretty.write_bodies import BodyWriting
from cepheid.languages.writing import Level
from cepheid.literals import format_value

WIDTH = 100
"""The longest line, where it can be broken."""


def write(rule: Rule) -> str:
    """A rule as text of the pretty language."""
    return PrettyWriting(rule, "pretty").text()


class PrettyWriting(BodyWriting):
    """Writes one rule in the pretty language."""

    def text(self) -> str:
        """The whole rule: its name, its pattern, its clauses, each on a line of its own."""
        pattern = self.rule.pattern
        lines = [f"rule {self.name(self.rule.name)}"]
        if isinstance(pattern, Tree):
            lines += self._tree(pattern)
        elif isinstance(pattern, Run):
            lines += self._run(pattern)
        elif isinstance(pattern, Collection):
            lines += self._collection(pattern)
        else:
            lines += self._detector(pattern)
        lines += self._gives(self.rule.output)
        lines += ["  as a point"] if self.rule.point else []
        lines += ["  accepting missing values"] if self.rule.missing else []
        if self.rule.consuming:
            lines.append(f"  consuming {', '.join(map(self.name, self.rule.consuming))}")
        return "\n".join(lines) + "\n"

    # --- trees ---------------------------------------------------------------

    def _tree(self, tree: Tree) -> list[str]:
        if _is_chain(tree):
            events = [self._component(component) for component in tree.components[::-1]]
            lines = [f"  when {events[0]}", *(f"  followed by {event}" for event in events[1:])]
        else:
            lines = [f"  when {self._component(tree.terminator)}"]
            lines += self._backwards(tree)
        lines += [f"  without {self._negation(negation)}" for negation in tree.negations]
        lines += [self._equivalence(test) for test in tree.equivalences]
        for binding in tree.bindings:
            lines.append(f"  let ${binding.name} be {self.expression(binding.value)}")
        if tree.conditions:
            joined = " and ".join(self.expression(part, Level.NOT) for part in tree.conditions)
            lines.append(f"  provided {joined}")
        lines += [] if tree.within is None else [f"  all within {self.duration(tree.within)}"]
        if tree.deadline is not None and tree.deadline != deadline_of(tree.negations):
            lines.append(f"  decided {self.instant(tree.deadline)}")
        return lines

    def _component(self, component: Component) -> str:
        return (
            f"{_selection(component.selection)}{self.event(component.label, component.predicate)}"
        )

    def _backwards(self, tree: Tree) -> list[str]:
        lines = []
        for component, before in zip(tree.components[1:], tree.components, strict=False):
            assert component.window is not None  # noqa: S101 (only the terminator has no window)
            window = self._relative(component.window, before.label)
            lines.append(f"  preceded by {self._component(component)}{window}")
        return lines

    def _relative(self, window: Window, previous: str) -> str:
        """A window, shorter where it hangs on the event that is named before."""
        if window == Window(None, Instant(previous)):
            return ""
        if window.length and window == Window.within(window.length, previous):
            return f" within {self.duration(window.length)}"
        return f" {self.window(window)}"

    def _negation(self, negation: Negation) -> str:
        called = f" called {self.name(negation.label)}" if negation.label else ""
        event = f"{self.types(negation.predicate)}{called}{self.where(negation.predicate.filter)}"
        return f"{event} {self.window(negation.window)}"

    def _equivalence(self, test: Equivalence) -> str:
        if test.value is None:
            return f"  on same {self.name(test.attribute)}"
        return f"  on {self.name(test.attribute)} = {format_value(test.value)}"

    # --- others --------------------------------------------------------------

    def _run(self, run: Run) -> list[str]:
        lines = [f"  watch {self.event(run.label, run.predicate)} for {self.size(run.window)}"]
        if isinstance(run.condition, Each):
            lines.append(f"  provided each has {self.expression(run.condition.condition)}")
        elif run.condition is not None:
            lines.append(f"  provided {self.expression(run.condition)}")
        return lines + [self._key(key, run.predicate.types) for key in run.partition]

    def _collection(self, collection: Collection) -> list[str]:
        window = f" within {self.size(collection.window)}" if collection.window else ""
        types = input_types(self.rule)
        keys = [self._key(key, types) for key in collection.partition]
        return [f"  collect {self.body(collection.body)}{window}", *keys]

    def _detector(self, detector: Detector) -> list[str]:
        within = "" if detector.within is None else f" within {self.duration(detector.within)}"
        lines = [f"  detect {self.body(detector.body)}{within}"]
        if detector.where is not None:
            lines.append(f"  provided {self.expression(detector.where)}")
        return lines

    def _key(self, key: Key, types: tuple[str, ...]) -> str:
        names = {name for _, name in key.attributes}
        whole = len(names) == 1 and tuple(type_ for type_, _ in key.attributes) == types
        if whole and key.value is None:
            return f"  on same {self.name(min(names))}"
        members = [f"{self.name(name)} of {self.quoted(type_)}" for type_, name in key.attributes]
        members = [self.name(min(names))] if whole else members
        members += [] if key.value is None else [format_value(key.value)]
        return f"  on {' = '.join(members)}"

    # --- output --------------------------------------------------------------

    def _gives(self, output: Output) -> list[str]:
        everything = isinstance(self.rule.pattern, Tree)
        if output == Output(self.rule.name, (), everything):
            return []
        given = ["everything"] if output.everything else []
        given += [self._given(attribute) for attribute in output.attributes]
        line = f"  gives {self.quoted(output.type)}"
        if not given:
            return [line]
        whole = f"{line} with {', '.join(given)}"
        if len(whole) <= WIDTH:
            return [whole]
        return [f"{line} with", *(f"    {one}," for one in given[:-1]), f"    {given[-1]}"]

    def _given(self, attribute: OutputAttribute) -> str:
        kind = "" if attribute.kind is None else f" as {attribute.kind}"
        return f"{self.name(attribute.name)}{kind} = {self.expression(attribute.value)}"


def _is_chain(tree: Tree) -> bool:
    """Whether the events only follow each other, which reads better forwards."""
    followers = [component.label for component in tree.components]
    return len(followers) > 1 and all(
        component.window == Window(None, Instant(follower))
        for component, follower in zip(tree.components[1:], followers, strict=False)
    )


def _selection(selection: Selection) -> str:
    if selection.policy is Policy.EACH:
        return "" if selection == EACH else f"{selection.policy} "
    return f"{selection.policy} {'' if selection.count == 1 else f'{selection.count} '}"
