"""The algebra to Python code of the binding, for any rule."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.algebra import (
    Collection,
    Component,
    Detector,
    Each,
    Equivalence,
    Instant,
    Key,
    Negation,
    Output,
    Policy,
    Rule,
    Run,
    Selection,
    Tree,
    Window,
    conjuncts,
    input_types,
)
from cepheid.binding.layout import wrapped
from cepheid.binding.write_parts import PartWriting
from cepheid.languages.fitting import deadline_of


def write(rule: Rule) -> str:
    """A rule as a Python expression that gives its draft.

    >>> import cepheid
    >>> (rule,) = cepheid.load('"A" preceded by "B" within 5 min', language="pretty")
    >>> print(write(rule))
    event("A")
    .preceded_by(event("B"), within="5 min")
    """
    return PythonWriting(rule).text()


def program(rules: Sequence[Rule]) -> str:
    """Rules as a Python program that loads them."""
    writings = [PythonWriting(rule) for rule in rules]
    drafts = [writing.text() for writing in writings]
    used = sorted({name for writing in writings for name in writing.used})
    listed = "".join(f"{_indented(draft, 8)},\n" for draft in drafts)
    return (
        "import cepheid\n"
        f"from cepheid.binding import {', '.join(used)}\n\n"
        f"rules = cepheid.load(\n    [\n{listed}    ]\n)\n"
    )


def _indented(text: str, blanks: int) -> str:
    return "\n".join(f"{' ' * blanks}{line}" for line in text.split("\n"))


class PythonWriting(PartWriting):
    """Writes one rule as Python code."""

    def text(self) -> str:
        """The whole rule: a chain of methods, each on a line of its own."""
        pattern = self.rule.pattern
        if isinstance(pattern, Tree):
            lines = self._tree(pattern)
        elif isinstance(pattern, Run):
            lines = self._run(pattern)
        elif isinstance(pattern, Collection):
            lines = self._collection(pattern)
        else:
            lines = self._detector(pattern)
        lines += self._gives(self.rule.output)
        lines += [".as_point()"] if self.rule.point else []
        lines += [".accepting_missing_values()"] if self.rule.missing else []
        if self.rule.consuming:
            lines.append(f".consuming({', '.join(map(self.string, self.rule.consuming))})")
        return "\n".join(map(wrapped, [*lines, *self._named(lines)]))

    # --- trees ---------------------------------------------------------------

    def _tree(self, tree: Tree) -> list[str]:
        if _is_chain(tree):
            events = [self._component(component) for component in tree.components[::-1]]
            lines = [events[0], *(f".followed_by({event})" for event in events[1:])]
        else:
            lines = [self._component(tree.terminator), *self._backwards(tree)]
        lines += [self._negation(negation) for negation in tree.negations]
        lines += [self._equivalence(test) for test in tree.equivalences]
        for binding in tree.bindings:
            value = self.operand_text(binding.value)
            lines.append(f".let({self.arguments({binding.name: value})})")
        if tree.conditions:
            given = ", ".join(self.condition(part) for part in tree.conditions)
            lines.append(f".provided({given})")
        if tree.within is not None:
            lines.append(f".all_within({self.duration(tree.within)})")
        if tree.deadline is not None and tree.deadline != deadline_of(tree.negations):
            lines.append(f".decided({self.end(tree.deadline)})")
        return lines

    def _component(self, component: Component) -> str:
        event = self.event(component.label, component.predicate)
        return f"{event}{_selection(component.selection)}"

    def _backwards(self, tree: Tree) -> list[str]:
        lines = []
        for component, before in zip(tree.components[1:], tree.components, strict=False):
            assert component.window is not None  # noqa: S101 (only the terminator has no window)
            window = self._relative(component.window, before.label)
            lines.append(f".preceded_by({self._component(component)}{window})")
        return lines

    def _relative(self, window: Window, previous: str) -> str:
        """A window, shorter where it hangs on the event that is named before."""
        if window == Window(None, Instant(previous)):
            return ""
        if window.length and window == Window.within(window.length, previous):
            return f", within={self.duration(window.length)}"
        return f", {self.window(window)}"

    def _negation(self, negation: Negation) -> str:
        event = self.described(negation.predicate, negation.label)
        return f".without({event}, {self.window(negation.window)})"

    def _equivalence(self, test: Equivalence) -> str:
        if test.value is None:
            return f".on_same({self.string(test.attribute)})"
        return f".on({self.arguments({test.attribute: self.constant(test.value)})})"

    # --- others --------------------------------------------------------------

    def _run(self, run: Run) -> list[str]:
        event = self.event(run.label, run.predicate)
        lines = [f"{self.use('watch')}({event}, {self.size(run.window)})"]
        if isinstance(run.condition, Each):
            lines.append(f".each_has({self.condition(run.condition.condition)})")
        elif run.condition is not None:
            given = ", ".join(self.condition(part) for part in conjuncts(run.condition))
            lines.append(f".provided({given})")
        return lines + [self._key(key, run.predicate.types) for key in run.partition]

    def _collection(self, collection: Collection) -> list[str]:
        window = "" if collection.window is None else f", {self.limit(collection.window)}"
        types = input_types(self.rule)
        keys = [self._key(key, types) for key in collection.partition]
        return [f"{self.use('collect')}({self.part(collection.body)}{window})", *keys]

    def _detector(self, detector: Detector) -> list[str]:
        within = "" if detector.within is None else f", within={self.duration(detector.within)}"
        lines = [f"{self.use('detect')}({self.part(detector.body)}{within})"]
        if detector.where is not None:
            given = ", ".join(self.condition(part) for part in conjuncts(detector.where))
            lines.append(f".provided({given})")
        return lines

    def _key(self, key: Key, types: tuple[str, ...]) -> str:
        names = {name for _, name in key.attributes}
        whole = len(names) == 1 and tuple(type_ for type_, _ in key.attributes) == types
        if whole and key.value is None:
            return f".on_same({self.string(min(names))})"
        if whole and key.value is not None:
            return f".on({self.arguments({min(names): self.constant(key.value)})})"
        members = ", ".join(f"{self.string(t)}: {self.string(n)}" for t, n in key.attributes)
        value = "" if key.value is None else f", {self.constant(key.value)}"
        return f".on_related({{{members}}}{value})"

    # --- output --------------------------------------------------------------

    def _gives(self, output: Output) -> list[str]:
        everything = isinstance(self.rule.pattern, Tree)
        if output == Output(self.rule.name, (), everything):
            return []
        given = {}
        for attribute in output.attributes:
            kind, value = attribute.kind, attribute.value
            typed = f".typed({self.string(kind)})" if kind else ""
            text = f"{self.receiver(value)}{typed}" if kind else self.operand_text(value)
            given[attribute.name] = text
        parts = [self.string(output.type)]
        parts += [self.arguments(given, "everything")] if given else []
        parts += ["everything=True"] if output.everything else []
        return [f".gives({', '.join(parts)})"]

    def _named(self, lines: list[str]) -> list[str]:
        gives = any(line.startswith(".gives(") for line in lines)
        default = self.rule.output.type if gives else "Match"
        return [] if self.rule.name == default else [f".named({self.string(self.rule.name)})"]


def _is_chain(tree: Tree) -> bool:
    """Whether the events only follow each other, which reads better forwards."""
    followers = [component.label for component in tree.components]
    return len(followers) > 1 and all(
        component.window == Window(None, Instant(follower))
        for component, follower in zip(tree.components[1:], followers, strict=False)
    )


def _selection(selection: Selection) -> str:
    if selection.policy is Policy.EACH:
        return ""
    return f".{selection.policy}({'' if selection.count == 1 else selection.count})"
