"""Scopes of a text by a TextMate grammar, as editors give them: what the tests need of it.

Rules are `match`, or `begin` and `end`, with names, captures, and includes of other grammars. The
regular expressions of the grammars are such as mean the same in Python and in Oniguruma.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Rule = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """A rule that fits at a place, in the grammar that it belongs to."""

    match: re.Match[str]
    rule: Rule | None
    scope: str


@dataclass(frozen=True)
class Open:
    """A region that has begun: its rule, its grammar, and the scopes inside."""

    rule: Rule
    scope: str
    inside: tuple[str, ...]


class Grammars:
    """The grammars of a folder, by their scopes."""

    def __init__(self, folder: Path) -> None:
        read = [json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))]
        self.by_scope: dict[str, Rule] = {grammar["scopeName"]: grammar for grammar in read}

    def scopes(self, text: str, scope: str) -> list[list[tuple[str, ...]]]:
        """For every character of every line, its scopes from the outermost on."""
        stack = [Open(self.by_scope[scope], scope, (scope,))]
        return [self._line(line, stack) for line in text.split("\n")]

    def _line(self, line: str, stack: list[Open]) -> list[tuple[str, ...]]:
        found = [stack[-1].inside] * len(line)
        at = 0
        while at <= len(line):
            best = self._next(line, at, stack)
            begin = len(line) if best is None else best.match.start()
            found[at:begin] = [stack[-1].inside] * (begin - at)
            if best is None:
                break
            before, end = len(stack), best.match.end()
            self._take(best, stack, found)
            # What has no length and changes nothing would be found for ever.
            at = end if end > at or len(stack) != before else end + 1
        return found

    def _next(self, line: str, at: int, stack: list[Open]) -> Found | None:
        """What begins first; where several do, the end of the region, then the first rule."""
        top = stack[-1]
        best: Found | None = None
        if "end" in top.rule:
            match = re.compile(top.rule["end"]).search(line, at)
            best = None if match is None else Found(match, None, top.scope)
        for rule, scope in self._rules(top.rule.get("patterns", ()), top.scope):
            match = re.compile(rule.get("match") or rule["begin"]).search(line, at)
            if match is not None and (best is None or match.start() < best.match.start()):
                best = Found(match, rule, scope)
        return best

    def _rules(self, patterns: Any, scope: str) -> Iterator[tuple[Rule, str]]:  # noqa: ANN401 (JSON)
        for one in patterns:
            include = one.get("include")
            if include is None:
                yield one, scope
            elif include.startswith("#"):
                held = self.by_scope[scope]["repository"][include[1:]]
                yield from self._rules(held["patterns"], scope)
            else:
                yield from self._rules(self.by_scope[include]["patterns"], include)

    def _take(self, best: Found, stack: list[Open], found: list[tuple[str, ...]]) -> None:
        if best.rule is None:
            closed = stack.pop()
            _paint(found, best.match, closed.rule, "endCaptures", closed.inside)
            return
        rule, base = best.rule, stack[-1].inside
        inside = (*base, rule["name"]) if "name" in rule else base
        _paint(found, best.match, rule, "beginCaptures" if "begin" in rule else "captures", inside)
        if "begin" in rule:
            content = (*inside, rule["contentName"]) if "contentName" in rule else inside
            stack.append(Open(rule, best.scope, content))


def _paint(
    found: list[tuple[str, ...]],
    match: re.Match[str],
    rule: Rule,
    captures: str,
    inside: tuple[str, ...],
) -> None:
    found[match.start() : match.end()] = [inside] * (match.end() - match.start())
    for number, own in sorted(rule.get(captures, {}).items()):
        begin, end = match.span(int(number))
        found[begin:end] = [(*inside, own["name"])] * (end - begin)


def expressions(grammar: Any) -> Iterator[str]:  # noqa: ANN401 (JSON)
    """Every regular expression of a grammar."""
    if isinstance(grammar, dict):
        for key, value in grammar.items():
            if key in ("match", "begin", "end"):
                yield value
            else:
                yield from expressions(value)
    elif isinstance(grammar, list):
        for one in grammar:
            yield from expressions(one)
