"""The pretty language's parse tree to the algebra: a pattern, and clauses in any order behind it.

Everything that the algebra can say has English words here (see docs/languages/pretty.md). What a
bare word means follows from its first word: `when` gives a tree, `watch` a run, `collect` a
collection, `detect` a detector.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token

from cepheid.algebra import (
    Binding,
    Collection,
    CountWindow,
    Detector,
    Each,
    Expression,
    Output,
    OutputAttribute,
    Pattern,
    Rule,
    Run,
    TimeWindow,
    conjunction,
    conjuncts,
)
from cepheid.errors import Report, Source
from cepheid.languages.fitting import check_fit, types_of
from cepheid.languages.lowering import Context, ParseTree, parts
from cepheid.languages.pretty.keys import KeyLowering
from cepheid.languages.pretty.terms import word
from cepheid.languages.pretty.trees import TreeClauses
from cepheid.languages.reading import TEXT_LIMIT, Grammar

_KEYWORDS = """
_RULE _WHEN _WATCH _COLLECT _DETECT _PRECEDED_BY _FOLLOWED_BY _WITHOUT EACH FIRST LAST _WHERE
_CALLED _WITHIN BEFORE AFTER _BETWEEN _IN_BETWEEN _AT_ANY_TIME _FOR _EVENTS _ALONGSIDE _THEN
_LOOSELY_THEN _START_TIMER _ANY_NUMBER_OF _ANY_OF _ONE_OF _ANYTHING_BUT _TIMER _EVERY _HAVING
_UNTIL _NO _AMONG _PROVIDED _ON_SAME _ON _LET _BE _ALL_WITHIN _DECIDED _GIVES _WITH _EVERYTHING _AS
_CONSUMING _ITS OF AT _ALL IS IS_NOT IS_BELOW IS_AT_MOST IS_ABOVE IS_AT_LEAST
"""
"""Terminals that are called like the words that they stand for."""

GRAMMAR = Grammar.load(
    __package__ or "",
    starts=r"^[ \t]*rule\b(?!\s+of\b)",
    friendly={
        **{name: name.strip("_").lower().replace("_", " ") for name in _KEYWORDS.split()},
        "_AFTER_TIMED": "after",
        "_POINT": "as a point",
        "_MISSING": "accepting missing values",
        "_PROVIDED_EACH": "provided each has",
        "_FIRST_KNOWN": "first known of",
        "FUNCTION": "average, total, lowest, highest or number",
        "SUMMARY": "average, total, lowest, highest or number",
        "ORDINAL": "a place such as 2nd",
        "UNIT": "a unit of time",
        "PARAMETER": "a parameter such as $a",
    },
    openers=("rule",),
    hints=[
        (r"[\"\w]\s+as\s+(?!a\s+point)\w", 'a name is given with called: "Temp" called hot'),
        (
            r"\b(collect|detect)\b.*\bwhere\b[^()]*\b(and|or)\b",
            "several conditions on one event stand in brackets: where (value > 45 and ok = true)",
        ),
        (
            r"\bnot\s+(followed|preceded)|\bwhen\b.*\bno\s|^\s*no\b|\bbut\s+not?\b",
            'what must not come is written: without "Rain" between Temp and Smoke',
        ),
        (
            r"\bif\b",
            "conditions on an event stand behind where, on the whole match behind provided",
        ),
        (
            r"^\s*(define|give|return|select)\b",
            'what the rule gives stands behind gives: gives "Fire" with area = area of Smoke',
        ),
        (r"->|→|;", 'one event after the other is written: "A" followed by "B"'),
        (
            r"\bis\s+\w+er\b\s*|\b(over|under|exceeds|more|less)\b",
            "compare with is above, is below, > or <",
        ),
        (r"\bon\s+(?!same)\w+\s*$", "an attribute that all events share is written: on same area"),
        (r"\bfor\s+\d", 'watch says how long: watch "CPU" for 5 min'),
        (r"\bin\s+\d", "a window is written: within 5 min"),
        (r"\bfor\s+\D", "watch says how long: watch CPU for 5 min, or for 300 events"),
        (
            r"(?<!\bon )(?<!\bthe )\bsame\b",
            "an attribute that all events share is written: on same area",
        ),
        (r"\bwith\b", 'attributes are written: gives "Fire" with area = area of Smoke'),
    ],
)

_ONCE = ("each_has", "all_within", "decided", "gives", "point", "missing", "consuming")
_CLAUSES = {
    "tree": (
        *("provided", "same", "keyed", "let", "all_within", "decided"),
        *("gives", "point", "missing", "consuming"),
    ),
    "run": ("provided", "each_has", "same", "keyed", "gives", "missing"),
    "collection": ("same", "keyed", "all_within", "gives", "missing"),
    "detector": ("provided", "all_within", "gives", "missing"),
}
"""The clauses that each kind of pattern may have."""
_WORDS = {
    "provided": "provided",
    "each_has": "provided each has",
    "same": "on same",
    "keyed": "on",
    "let": "let",
    "all_within": "all within",
    "decided": "decided",
    "gives": "gives",
    "point": "as a point",
    "missing": "accepting missing values",
    "consuming": "consuming",
}
_VERBS = {"tree": "when", "run": "watch", "collection": "collect", "detector": "detect"}
_INSTEAD = {
    ("collection", "provided"): 'test each event where it stands: "Temp" where value > 45',
    ("detector", "same"): 'give the events names and compare: "B" called b where key = key of a',
    ("detector", "keyed"): 'give the events names and compare: "B" called b where key = key of a',
    ("run", "all_within"): "the window of watch stands behind its event: for 5 min",
    ("run", "consuming"): "the events of a run are used up by themselves",
    ("collection", "consuming"): "the events of a match are used up by themselves",
}


def read(
    source: Source, context: Context, report: Report, limit: int = TEXT_LIMIT
) -> Iterator[Rule]:
    """Every rule of a text, lowered; what is wrong is reported."""
    for passage, tree in GRAMMAR.read(source, report, limit):
        rule = PrettyLowering(passage, report, context).lower(tree)
        if rule is not None:
            yield rule


@dataclass
class PrettyLowering(KeyLowering):
    """Lowers one rule."""

    def lower(self, tree: ParseTree) -> Rule | None:
        """Lower `start`."""
        name, pattern, *clauses = parts(tree)
        for clause in clauses:
            self.clauses.setdefault(str(clause.data), []).append(clause)
        gives = self._one("gives")
        self.rule = word(name or (parts(gives)[0] if gives else Token("NAME", "Match")))
        self._check_more_than_a_word(pattern)
        self._check_clauses(str(pattern.data))
        self._collect_labels(pattern)
        lowered = self._pattern(pattern)
        rule = Rule(
            self.rule,
            self._output(gives, everything=pattern.data == "tree"),
            lowered,
            self._consuming(),
            missing="missing" in self.clauses,
            point="point" in self.clauses,
            language="pretty",
            span=self.span(name or pattern),
        )
        if self.sound:
            check_fit(rule, self)
        return rule if self.sound else None

    def _check_more_than_a_word(self, pattern: ParseTree) -> None:
        """Report a text of one word, which is rather the name of a file than a rule."""
        only = self.passage.text.strip()
        if only.isidentifier():
            self.error(
                "SYNTAX",
                f"{only[:40]} alone is no rule",
                pattern,
                expected=f"when {only[:40]}, or another pattern",
                hint=f"every such event is found by: when {only[:40]}",
            )

    # --- clauses -------------------------------------------------------------

    def _one(self, form: str) -> ParseTree | None:
        return self.clauses.get(form, [None])[0]

    def _check_clauses(self, kind: str) -> None:
        for form, given in self.clauses.items():
            if form not in _CLAUSES[kind]:
                self.error(
                    "WRONG_STRUCTURE",
                    f"{_WORDS[form]} in rule {self.rule} cannot go with {_VERBS[kind]}",
                    given[0],
                    hint=_INSTEAD.get((kind, form), ""),
                )
            elif form in _ONCE and len(given) > 1:
                self.error(
                    "DUPLICATE_DEFINITION",
                    f"{_WORDS[form]} stands twice in rule {self.rule}",
                    given[1],
                )

    def _collect_labels(self, pattern: ParseTree) -> None:
        if pattern.data == "tree":
            self.tree_labels(pattern)
        elif pattern.data == "run":
            types, called, _ = parts(parts(pattern)[0])
            token = parts(called)[0] if called else self._first(types)
            self.declare(self.name_of(types, called), token)
        else:
            self.collecting = pattern.data == "collection"
            self.body_labels(parts(pattern)[0])

    # --- patterns ------------------------------------------------------------

    def _pattern(self, pattern: ParseTree) -> Pattern:
        if pattern.data == "tree":
            return self.tree(pattern, self._tree_clauses())
        if pattern.data == "run":
            return self._run(pattern)
        body, size = parts(pattern)
        if pattern.data == "collection":
            lowered = Collection(self.body(body), self._window(size), span=self.span(pattern))
            return Collection(
                lowered.body, lowered.window, self.keys(types_of(lowered)), span=lowered.span
            )
        within = self._within() if size is None else self.length(size)
        self._check_one_window(size)
        return Detector(self.body(body), self._condition(), within, span=self.span(pattern))

    def _run(self, pattern: ParseTree) -> Run:
        event, size = parts(pattern)
        label, predicate = self.event(event)
        each = self._one("each_has")
        condition: Each | Expression | None = self._condition()
        if each is not None:
            tested = self.tested(each, label)
            if condition is not None:
                self.error(
                    "DUPLICATE_DEFINITION",
                    f"rule {self.rule} must have one condition: on each event or on all",
                    each,
                )
            condition = Each(tested, span=self.span(each)) if tested is not None else None
        return Run(
            label,
            predicate,
            self.size(size),
            condition,
            self.keys(predicate.types),
            span=self.span(pattern),
        )

    def _condition(self) -> Expression | None:
        given = self.clauses.get("provided", [])
        return conjunction([self.expression(parts(clause)[0]) for clause in given])

    def _within(self) -> int | None:
        """The length of the window that `all within` gives."""
        clause = self._one("all_within")
        window = self.size(parts(clause)[0]) if clause else None
        if window is None or isinstance(window, TimeWindow):
            return window.length if window else None
        self.error(
            "WRONG_WINDOW",
            f"window in rule {self.rule} must be a length of time",
            clause,
            hint="a number of events belongs to watch and collect",
        )
        return 1

    def _window(self, size: ParseTree | None) -> TimeWindow | CountWindow | None:
        self._check_one_window(size)
        clause = self._one("all_within")
        if size is None and clause is not None:
            size = parts(clause)[0]
        return self.size(size) if size is not None else None

    def _check_one_window(self, size: ParseTree | None) -> None:
        clause = self._one("all_within")
        if size is not None and clause is not None:
            self.error("DUPLICATE_DEFINITION", f"rule {self.rule} must have one window", clause)

    # --- clauses of a tree ---------------------------------------------------

    def _tree_clauses(self) -> TreeClauses:
        decided = self._one("decided")
        return TreeClauses(
            self._bindings(),
            conjuncts(self._condition()),
            self.equivalences(),
            self._within(),
            self.instant(parts(decided)[0]) if decided else None,
        )

    def _bindings(self) -> tuple[Binding, ...]:
        found: dict[str, Binding] = {}
        for clause in self.clauses.get("let", []):
            parameter, value = parts(clause)
            name = str(parameter)[1:]
            if name in found:
                self.error(
                    "DUPLICATE_DEFINITION",
                    f"parameter ${name} in rule {self.rule} gets two values",
                    parameter,
                )
            found[name] = Binding(name, self.expression(value), span=self.span(clause))
        return tuple(found.values())

    # --- output --------------------------------------------------------------

    def _output(self, gives: ParseTree | None, *, everything: bool) -> Output:
        """What the rule gives; a tree that says nothing of it gives everything."""
        if gives is None:
            return Output(self.rule, (), everything)
        type_, *given = parts(gives)
        attributes: dict[str, OutputAttribute] = {}
        for item in (found for found in given if found is not None and found.data == "given"):
            name = parts(item)[0]
            if word(name) in attributes:
                self.error(
                    "DUPLICATE_DEFINITION",
                    f"attribute {word(name)} in rule {self.rule} gets two values",
                    name,
                )
            attributes[word(name)] = self._attribute_of(item)
        whole = any(found is not None and found.data == "everything" for found in given)
        return Output(word(type_), tuple(attributes.values()), whole, span=self.span(type_))

    def _attribute_of(self, item: ParseTree) -> OutputAttribute:
        name, kind, _, value = parts(item)
        known = self.kind(kind, ("string", "int", "double", "bool")) if kind else None
        return OutputAttribute(word(name), known, self.expression(value), span=self.span(name))

    def _consuming(self) -> tuple[str, ...]:
        clause = self._one("consuming")
        return tuple(self.label(name) for name in self.names(clause)) if clause else ()
