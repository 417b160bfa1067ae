"""From text to parse tree: splitting a file into rules, parsing each, explaining what is wrong.

Each rule is parsed by itself, so that a mistake in one does not hide the mistakes in the others.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from cepheid.errors import Problem, Report, Source, Span
from cepheid.languages.advice import missing, misspelt, unknown, words_of
from cepheid.languages.fault import Fault, unbalanced
from cepheid.languages.repair import Repairs

TEXT_LIMIT = 64 * 1024
"""The largest text that is read, in characters, unless the caller raises the limit."""
RULE_LIMIT = 16 * 1024
"""The largest single rule that is read, in characters."""
NESTING_LIMIT = 32
"""The deepest nesting of brackets that is read."""

TRIED = 6
"""For so many mistakes of a text changes are tried, which takes longer than reading it."""

HINT_REACH = 400
"""How far around a mistake its line is searched for something to give a hint about."""

_COMMENT_OR_STRING = re.compile(
    r"""(?P<comment>/\*(?:.|\n)*?\*/|(?://|\#)[^\n]*)"""
    # What is never closed reaches to the end of the text or line, so that nothing is scanned twice.
    r"""|/\*[\s\S]*"""
    r"""|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|“[^”\n]*”?|‘[^’\n]*’?|’[^’\n]*’?"""
)
_OPENING, _CLOSING = "([{", ")]}"

FRIENDLY: Mapping[str, str] = {
    "NAME": "a name",
    "INT": "a whole number",
    "DECIMAL": "a number",
    "STRING": "a text in quotes",
    "AND": "and",
    "OR": "or",
    "NOT": "not",
    "TRUE": "true",
    "FALSE": "false",
    "NULL": "null",
    "EQUAL": "=",
    "UNEQUAL": "!=",
    "AT_MOST": "<=",
    "AT_LEAST": ">=",
    "MINUS": "-",
    "TIMES": "*",
    "OVER": "/",
    "$END": "the end of the rule",
}
"""What a person calls the terminals of the grammars."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The text of one rule inside a source, with the number of lines before it."""

    source: Source
    text: str
    lines_before: int

    def span(self, item: Tree[Token] | Token) -> Span:
        """Where a token or a parse tree stands in the source."""
        if isinstance(item, Token):
            return self._span(item.line, item.column, len(item.value.split("\n")[0]))
        meta = item.meta
        if meta.empty:
            return self._span(1, 1, 1)
        same_line = meta.line == meta.end_line
        return self._span(meta.line, meta.column, meta.end_column - meta.column if same_line else 1)

    def _span(self, line: int | None, column: int | None, length: int) -> Span:
        return Span((line or 1) + self.lines_before, column or 1, max(1, length), self.source)


@dataclass(frozen=True)
class Grammar:
    """A language's grammar, ready to parse.

    `starts` matches where a rule begins at the start of a line, `friendly` adds to the names of
    terminals, `hints` maps a pattern in the offending line to advice, and `repairs` tries changes.
    """

    parser: Lark
    starts: re.Pattern[str]
    friendly: Mapping[str, str]
    hints: tuple[tuple[re.Pattern[str], str], ...]
    repairs: Repairs

    @staticmethod
    def load(
        package: str,
        starts: str,
        friendly: Mapping[str, str],
        *,
        hints: Iterable[tuple[str, str]] = (),
        openers: Sequence[str] = (),
        clauses: Sequence[str] = (),
    ) -> Grammar:
        """Build the parser from `grammar.lark` in a package."""
        text = resources.files(package).joinpath("grammar.lark").read_text("utf-8")
        common = resources.files("cepheid.languages").joinpath("common.lark").read_text("utf-8")
        parser = Lark(
            f"{text}\n{common}",
            parser="lalr",
            lexer="contextual",
            propagate_positions=True,
            maybe_placeholders=True,
        )
        compiled = tuple((re.compile(pattern, re.IGNORECASE), hint) for pattern, hint in hints)
        said = {**FRIENDLY, **friendly}
        repairs = Repairs(
            parser, words_of(said.values()), openers, clauses, said.get("FUNCTION", "")
        )
        begins = re.compile(starts, re.IGNORECASE | re.MULTILINE)
        return Grammar(parser, begins, said, compiled, repairs)

    def read(
        self, source: Source, report: Report, limit: int = TEXT_LIMIT
    ) -> Iterator[tuple[Passage, Tree[Token]]]:
        """The parse tree of every rule that can be read; what cannot is reported."""
        if len(source.text) > limit:
            report.error(
                "LIMIT_EXCEEDED",
                f"text must have at most {limit} characters; got {len(source.text)}",
                Span(1, 1, 1, source),
                hint="split it into several files, or raise the limit= of load",
            )
            return
        bare = blank_out(source.text)
        for passage in self._passages(source, bare):
            if report.is_full:
                return
            tree = self._parse(passage, report)
            if tree is not None:
                yield passage, tree

    def _passages(self, source: Source, bare: str) -> Iterator[Passage]:
        begins = [match.start() for match in self.starts.finditer(bare)]
        if not begins or bare[: begins[0]].strip():
            begins.insert(0, 0)
        line_ends = [match.start() for match in re.finditer("\n", bare)]
        for begin, end in zip(begins, [*begins[1:], len(bare)], strict=True):
            if bare[begin:end].strip():
                yield Passage(source, source.text[begin:end], bisect_right(line_ends, begin - 1))

    def _parse(self, passage: Passage, report: Report) -> Tree[Token] | None:
        problem = _too_long(passage) or _too_deep(passage)
        if problem is None:
            try:
                return self.parser.parse(passage.text)
            except UnexpectedInput as error:
                few = len(report.errors) < TRIED
                problem = self._explain(passage, error, trying=few)
        report.add(problem)
        return None

    def _explain(self, passage: Passage, error: UnexpectedInput, *, trying: bool) -> Problem:
        found, span = _found(passage, error)
        expected = {name: self._word(name) for name in sorted(_terminals(error))}
        words = sorted(set(expected.values()))
        told = ", ".join(words[:10]) + (", …" if len(words) > 10 else "")
        fault = Fault.of(passage.text, blank_out(passage.text), error, expected)
        hint = (
            misspelt(found, words)
            or self._known(span, touching=True)
            or self._advice(fault, words, trying=trying)
            or unbalanced(fault)
            or self._known(span, touching=False)
            or (self.repairs.surplus(fault) if trying else "")
            or missing(found, words)
        )
        return Problem("SYNTAX", f"{found} cannot stand here", span, expected=told, hint=hint)

    def _advice(self, fault: Fault, words: Sequence[str], *, trying: bool) -> str:
        strange = "" if self.repairs.is_keyword(fault.here) else unknown(str(fault.here), words)
        tried = self.repairs.advice if trying else lambda _: ""
        return strange or self.repairs.order(fault) or tried(fault)

    def _known(self, span: Span, *, touching: bool) -> str:
        """The hint on a well-known confusion in the line of a mistake, at its place or anywhere."""
        line = span.source.line(span.line) if span.source else ""
        first = max(0, span.column - 1 - HINT_REACH)
        near = line[first : span.column - 1 + HINT_REACH]
        start = span.column - 1 - first
        for pattern, hint in self.hints:
            for match in pattern.finditer(near):
                if not touching or match.start() - span.length < start <= match.end():
                    return hint
        return ""

    def _word(self, terminal: str) -> str:
        if terminal in self.friendly:
            return self.friendly[terminal]
        for definition in self.parser.terminals:
            if definition.name == terminal and isinstance(definition.pattern, PatternStr):
                return definition.pattern.value
        return terminal.lower()


def _terminals(error: UnexpectedInput) -> set[str]:
    """What could have stood where reading stopped."""
    if isinstance(error, UnexpectedToken):
        return set(error.accepts or error.expected)
    return set(getattr(error, "allowed", None) or getattr(error, "expected", None) or ())


def blank_out(text: str) -> str:
    """The text with comments blanked and strings dashed, every other character in its place."""

    def one(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " " if match["comment"] else "-", match[0])

    return _COMMENT_OR_STRING.sub(one, text)


def _too_long(passage: Passage) -> Problem | None:
    if len(passage.text) <= RULE_LIMIT:
        return None
    return Problem(
        "LIMIT_EXCEEDED",
        f"a rule must have at most {RULE_LIMIT} characters; got {len(passage.text)}",
        Span(passage.lines_before + 1, 1, 1, passage.source),
        hint="split the rule in two: one rule may use what another one defines",
    )


def _too_deep(passage: Passage) -> Problem | None:
    depth, line, column = 0, 1, 0
    for character in blank_out(passage.text):
        column += 1
        if character == "\n":
            line, column = line + 1, 0
        elif character in _OPENING:
            depth += 1
            if depth > NESTING_LIMIT:
                span = Span(passage.lines_before + line, column, 1, passage.source)
                return Problem(
                    "LIMIT_EXCEEDED",
                    f"brackets must be nested at most {NESTING_LIMIT} deep",
                    span,
                    hint="split the rule in two: one rule may use what another one defines",
                )
        elif character in _CLOSING:
            depth -= 1
    return None


def _found(passage: Passage, error: UnexpectedInput) -> tuple[str, Span]:
    if isinstance(error, UnexpectedCharacters):
        text = passage.text[error.pos_in_stream or 0 :][:1]
        return repr(text), passage._span(error.line, error.column, 1)
    token = getattr(error, "token", None)
    if isinstance(error, UnexpectedEOF) or token is None or token.type == "$END":
        stripped = passage.text.rstrip()
        line = stripped.count("\n") + 1
        column = len(stripped) - (stripped.rfind("\n") + 1) + 1
        return "the end of the rule", passage._span(line, column, 1)
    shown = str(token)[:40].split("\n")[0]
    return f"{shown!r}", passage.span(token)
