"""Texts that mean no good: mutations, token soup and shapes that grow without end."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from importlib import import_module

from lark.lexer import PatternStr

from cepheid.languages import LANGUAGES
from cepheid.languages.reading import Grammar
from tests.cases import SPEC_CASES

RULE_TEXTS = {
    language: [case.rule for case in SPEC_CASES if case.language == language]
    for language in LANGUAGES
}

_TOKEN = re.compile(r"""\$?\w+|"[^"\n]*"|'[^'\n]*'|\s+|=>|:=|\|\||[<>!]=|.""", re.DOTALL)
_BRACKETS = "()[]{}<>\"'“’"
_STRANGE = [
    *["\0", "\r\n", "\ufeff", "\ud800", "\udfff", "\u2028", "\u0301", "é", "中", "٣", "²", "ⅷ"],
    *["/*", "*/", "//", "#", "\\", "\\u", "---", "99999999999999999999", "1e999", "0", "-"],
    *["¬", "⊆", "∧", "∨", "≤", "≠", "∥", "×", "−", "$a", "5 min", "1.5", "x.y", '"a"', "A", "v"],
]


def vocabulary(language: str) -> list[str]:
    """The words and signs of a language's grammar, with a few that stand for names and numbers."""
    grammar: Grammar = import_module(f"cepheid.languages.{language}.lower").GRAMMAR
    words = [
        terminal.pattern.value
        if isinstance(terminal.pattern, PatternStr)
        else terminal.name.strip("_").lower()
        for terminal in grammar.parser.terminals
    ]
    return sorted({*words, *_STRANGE})


# --- mutations ---------------------------------------------------------------


def _cut(text: str, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(text) + 1)
    return start, min(len(text), start + chance.randint(1, 12))


def _delete(text: str, chance: random.Random, words: list[str]) -> str:
    start, end = _cut(text, chance)
    return text[:start] + text[end:]


def _repeat(text: str, chance: random.Random, words: list[str]) -> str:
    start, end = _cut(text, chance)
    return text[:end] + text[start:end] * chance.randint(1, 4) + text[end:]


def _swap(text: str, chance: random.Random, words: list[str]) -> str:
    tokens = _TOKEN.findall(text) or [""]
    one, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]
    return "".join(tokens)


def _insert_character(text: str, chance: random.Random, words: list[str]) -> str:
    start, _ = _cut(text, chance)
    return (
        text[:start] + chr(chance.randrange(chance.choice([128, 0x3000, 0x110000]))) + text[start:]
    )


def _insert_word(text: str, chance: random.Random, words: list[str]) -> str:
    start, _ = _cut(text, chance)
    gap = chance.choice(["", " ", "\n"])
    return text[:start] + gap + chance.choice(words) + gap + text[start:]


def _insert_bracket(text: str, chance: random.Random, words: list[str]) -> str:
    start, end = _cut(text, chance)
    return text[:start] + chance.choice(_BRACKETS) * chance.randint(1, 40) + text[end:]


def _truncate(text: str, chance: random.Random, words: list[str]) -> str:
    return text[: _cut(text, chance)[0]]


def _replace_token(text: str, chance: random.Random, words: list[str]) -> str:
    """Put a token in the place of another one of its sort, which often stays a rule."""
    tokens = _TOKEN.findall(text) or [""]
    place = chance.randrange(len(tokens))
    alike = [token for token in tokens if token[:1].isalpha() == tokens[place][:1].isalpha()]
    tokens[place] = chance.choice(alike)
    return "".join(tokens)


Mutation = Callable[[str, random.Random, list[str]], str]
MUTATIONS: list[Mutation] = [
    _delete,
    _repeat,
    _swap,
    _insert_character,
    _insert_word,
    _insert_bracket,
    _truncate,
    *[_replace_token] * 5,
]


def mutants(language: str, seed: int) -> Iterator[str]:
    """Endlessly many mutations of rules, mostly of the language itself."""
    chance, words = random.Random(f"{language} {seed}"), vocabulary(language)
    while True:
        own = chance.random() < 0.9
        text = chance.choice(RULE_TEXTS[language if own else chance.choice(list(LANGUAGES))])
        if chance.random() < 0.1:
            text += "\n" + chance.choice(RULE_TEXTS[language])
        for _ in range(chance.randint(1, 4)):
            text = chance.choice(MUTATIONS)(text, chance, words)
        yield text


def soups(language: str, seed: int) -> Iterator[str]:
    """Endlessly many texts of the language's words in any order."""
    chance, words = random.Random(f"soup {language} {seed}"), vocabulary(language)
    while True:
        gap = chance.choice([" ", " ", "\n", ""])
        yield gap.join(chance.choice(words) for _ in range(chance.randint(0, 60)))


# --- shapes ------------------------------------------------------------------

REPEATED: dict[str, str] = {
    "round": "(",
    "square": "[",
    "curly": "{",
    "angle": "<",
    "closing round": ")",
    "closing square": "]",
    "closing curly": "}",
    "closing angle": ">",
    "alternating": "([{",
    "name": "v",
    "underscores": "_",
    "letters beyond ASCII": "é",
    "combining": "\u0301",
    "digits": "9",
    "zeros": "0",
    "Arabic digits": "٣",
    "exponents": "1e",
    "points": "1.",
    "double quotes": '"',
    "single quotes": "'",
    "typographic quotes": "“",
    "opened quotes": "“a",
    "closing quotes": "’",
    "backslashes": "\\",
    "comments": "/*",
    "comments that never close": "/* ",
    "comments that close": "/**/",
    "comments half open": "/*/",
    "slashes": "/",
    "hashes": "#",
    "lines of hashes": "#\n",
    "stars": "*",
    "null bytes": "\0",
    "surrogates": "\ud800",
    "byte order marks": "\ufeff",
    "CRLF": "\r\n",
    "CR": "\r",
    "line separators": "\u2028",
    "blanks": " ",
    "tabs": "\t",
    "lines": "\n",
    "nots": "not ",
    "exclamation marks": "!",
    "minus signs": "-",
    "minus signs apart": "- ",
    "sum": "v+",
    "sum of numbers": "1 + ",
    "product": "1*",
    "conjunction": "v > 1 and ",
    "disjunction": "v > 1 or ",
    "comparisons": "1<",
    "path": "a.",
    "list": "a,",
    "hyphens": "a-",
    "parameters": "$a ",
    "atoms": "[A]",
    "strong atoms": "[A];",
    "alternatives": "[A]|",
    "parallels": "[A]||",
    "iterations": "[A]*",
    "then": "A > 1 Then ",
    "aggregates": "Avg(",
    "equivalences": "[a] AND ",
    "negations": "!(A x), ",
    "rule": "rule ",
    "define": "define ",
    "lines of rule": "\nrule ",
    "lines of define": "\ndefine ",
    "lines of event": "\nevent ",
    "lines of query": "\nquery ",
    "lines of assign": "\nassign ",
    "lines of constant": "\nconstant ",
    "predecessors": "preceded by A ",
    "negations in words": "without A ",
    "repetitions": "any number of ",
    "alternatives in words": "A or ",
    "instants": "1 s before ",
    "assigned": "1 => A, ",
    "window": ", within ",
    "separators": "---\n",
}
"""What a text may consist of again and again."""

BEGINNINGS: dict[str, list[str]] = {
    "tesla": [
        "",
        "Rule R define X() from A(",
        "Rule R define X(v: int) from A where v = ",
        "Assign ",
    ],
    "sase": ["", "QUERY Q EVENT SEQ(", "EVENT A x WHERE ", "EVENT A x RETURN B(v = "],
    "laipl": [
        "",
        "Rule R Define X() From A Where ",
        "Rule R Define X() From A Where A > ",
        "Rule R Define X() From A Where A Composite ",
    ],
    "core": [
        "",
        "define X as ",
        "define X as [a: A] where ",
        "define X as [A(",
        "define X as [A in {",
    ],
    "pretty": [
        "",
        "when A where ",
        "A preceded by B within 5 min before ",
        "collect A and ",
        "detect A among (",
        "A gives B with v = ",
    ],
}
"""What such a text may begin with, so that it gets past the first word."""


def grown(unit: str, size: int, beginning: str = "") -> str:
    """A beginning and a unit, again and again, as long as the size allows."""
    return beginning + unit * max(1, (size - len(beginning)) // len(unit))


def nested(size: int, opening: str = "(", closing: str = ")") -> str:
    """Brackets in brackets around something."""
    return opening * (size // 2) + "v" + closing * (size // 2)


MANY_RULES: dict[str, list[Callable[[int], str]]] = {
    "tesla": [
        lambda i: f"define X{i}() from X{i - 1}",
        lambda i: f"define X{i}() from X{i + 1}",
        lambda i: f"define X{i}() from X{(i + 1) % 1000}",
        lambda i: "define X() from X",
        lambda i: "Rule R define X() from A",
        lambda i: f"define X{i}() from",
        lambda i: f"define X(v: int) from A where v = A.a{i}",
        lambda i: f"define X{i}() from B and each C() as C{i} within 1 s from C{i + 1}",
    ],
    "sase": [
        lambda i: f"QUERY X{i} EVENT X{i - 1}",
        lambda i: f"QUERY X{i} EVENT X{i + 1} x",
        lambda i: f"QUERY X{i} EVENT X{(i + 1) % 1500}",
        lambda i: f"QUERY X{i} EVENT ANY(X{i + 1}, X{i - 1})",
        lambda i: "QUERY A EVENT A",
        lambda i: "EVENT A",
        lambda i: "EVENT",
    ],
    "laipl": [
        lambda i: f"Rule {i} Define X{i}() From X{i - 1} Where X{i - 1}",
        lambda i: f"Rule {i} Define X{i}() From X{i + 1} Where X{i + 1}",
        lambda i: f"Rule {i} Define X() From A Where B",
        lambda i: f"Constant C{i} = {i}",
        lambda i: f"Constant C = {i}",
        lambda i: "Rule",
    ],
    "core": [
        lambda i: f"define X{i} as [X{i - 1}]",
        lambda i: f"define X{i} as [X{i + 1}]",
        lambda i: f"define X{i} as [X{(i + 1) % 2000}]",
        lambda i: "define X as [X]",
        lambda i: f"define X{i} as [A]*",
        lambda i: f"define X{i} as [A] where b",
    ],
    "pretty": [
        lambda i: f"rule X{i} when X{i - 1}",
        lambda i: f"rule X{i} when X{i + 1}",
        lambda i: f"rule X{i} detect X{(i + 1) % 1500}",
        lambda i: "rule X when X",
        lambda i: f"rule X{i} collect no A",
        lambda i: f"rule X{i} when A provided b",
        lambda i: "rule",
    ],
}
"""Thousands of small rules, by their number: chains, circles, doubles, mistakes."""


def filled(line: Callable[[int], str], size: int) -> str:
    """As many numbered lines as the size allows."""
    lines: list[str] = []
    length = 0
    while length + len(line(len(lines))) < size:
        lines.append(line(len(lines)))
        length += len(lines[-1]) + 1
    return "\n".join(lines)


def unknown_names(language: str, length: int, size: int) -> str:
    """Many names, and as many that are nearly like them: each asks for a hint."""
    chance = random.Random(length)

    def name() -> str:
        return "".join(chance.choice("ab") for _ in range(length))

    half = size // 2 // (length + 16)
    known, unknown = [name() for _ in range(half)], [name() for _ in range(half)]
    if language == "laipl":
        constants = "".join(f"Constant {found} = 1\n" for found in known)
        rules = (f"Rule {i} Define X{i}() From A Where A > {n}" for i, n in enumerate(unknown))
        return constants + "\n".join(rules)
    tests = " and ".join(f"{found}.v = 1" for found in unknown)
    if language == "sase":
        return f"EVENT SEQ({', '.join(f'A {found}' for found in known)}) WHERE {tests}"
    if language == "pretty":
        tests = " and ".join(f"v of {found} = 1" for found in unknown)
        return f"A {' '.join(f'followed by A called {found}' for found in known)} provided {tests}"
    if language == "core":
        return f"define X as {' '.join(f'[{found}: A]' for found in known)} where {tests}"
    events = " and ".join(f"each A() as {found} within 1 s from B" for found in known)
    return f"define X() from B and {events} and {tests}"
