"""Editor support: grammars that can be read, and colours that fit what the parsers see."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from lark import Token

from cepheid.errors import Report, Source
from cepheid.languages import LANGUAGES
from cepheid.testing import Case, read_cases
from tests.cases import SPEC
from tests.textmate import Grammars, expressions

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "editors" / "vscode"
PACKAGE = json.loads((FOLDER / "package.json").read_text("utf-8"))["contributes"]
GRAMMARS = Grammars(FOLDER / "syntaxes")
SCOPES = {
    "tesla": "tesla",
    "sase": "sase",
    "laipl": "laipl",
    "core": "cepheid-core",
    "pretty": "pretty",
}
CASES = [case for file in sorted(SPEC.glob("*.test")) for case in read_cases(file)]
RULES = [case for case in CASES if case.error is None]
SPECS = [*sorted(SPEC.glob("*.test")), *sorted((ROOT / "examples").rglob("*.test"))]

WANTED = {
    "STRING": r"string\.|entity\.name|variable\.other",
    "INT": r"constant\.numeric|storage\.modifier",
    "DECIMAL": r"constant\.numeric",
    "TRUE": r"constant\.language",
    "FALSE": r"constant\.language",
    "NULL": r"constant\.language",
    "AND": r"keyword\.operator",
    "OR": r"keyword\.operator",
    "NOT": r"keyword\.operator",
    "UNIT": r"keyword\.other\.unit",
    "PARAMETER": r"variable\.parameter",
    "FUNCTION": r"support\.function",
    "COUNT": r"support\.function",
    "EACH": r"support\.function|storage\.modifier",
    "SUMMARY": r"support\.function",
    "FIRST": r"storage\.modifier|constant\.numeric",
    "LAST": r"storage\.modifier|constant\.numeric",
    "ORDINAL": r"storage\.modifier",
    "OF": r"keyword\.control",
    "IS": r"keyword\.operator",
    "SELECTION": r"storage\.modifier",
    "RULE_NAME": r"entity\.name\.function",
    "DEFINED": r"entity\.name\.function",
    "TYPE": r"entity\.name|variable\.other",
    "NAME": r"entity\.name|variable\.other|storage\.type|support\.type",
}
"""By the terminal that a parser sees, the scope that a reader must see."""
NAMES = ("NAME", "RULE_NAME", "TYPE", "VARIABLE", "WORD", "HYPHENATED", "DEFINED")
FUNCTIONS = ("avg", "average", "sum", "min", "max", "count")
KEYWORDS = r"keyword\.control|keyword\.operator|support\.|punctuation"


# --- the files ------------------------------------------------------------------------------


def test_the_package_names_files_that_are_there_and_fit() -> None:
    languages = {one["id"] for one in PACKAGE["languages"]}
    for one in PACKAGE["grammars"]:
        grammar = json.loads((FOLDER / one["path"]).read_text("utf-8"))
        assert grammar["scopeName"] == one["scopeName"]
        assert one["language"] in languages
        assert set(one.get("embeddedLanguages", {}).values()) <= languages
    for one in PACKAGE["languages"]:
        json.loads((FOLDER / one["configuration"]).read_text("utf-8"))
    named = {(FOLDER / one["path"]).name for one in PACKAGE["grammars"]}
    assert named == {file.name for file in (FOLDER / "syntaxes").iterdir()}


def test_every_kind_of_file_has_its_language() -> None:
    endings = {ending for one in PACKAGE["languages"] for ending in one["extensions"]}
    assert {one.ending for one in LANGUAGES.values()} | {".test", ".schema"} == endings
    assert SCOPES.keys() == LANGUAGES.keys()


@pytest.mark.parametrize("scope", sorted(GRAMMARS.by_scope))
def test_regular_expressions_compile_and_match_something(scope: str) -> None:
    for expression in expressions(GRAMMARS.by_scope[scope]):
        assert not re.compile(expression).match("") or expression.startswith("^(?=")


# --- rules ----------------------------------------------------------------------------------


def tokens(language: str, text: str) -> Iterator[tuple[Token, int]]:
    """The terminals of rules as their parser sees them, with the lines before each rule."""
    grammar = import_module(f"cepheid.languages.{language}.lower").GRAMMAR
    for passage, _ in grammar.read(Source(text), Report()):
        for token in grammar.parser.parse_interactive(passage.text).iter_parse():
            yield token, passage.lines_before


def needs_more(token: Token, line: str, language: str) -> bool:
    """Whether a terminal cannot be told from its own line, which is all that editors look at."""
    if token.type == "DEFINED":
        return "≡" not in line
    # A name may be a word of the language where only what stands around it tells.
    return token.type == "NAME" and is_word(token.value, language)


def is_word(name: str, language: str) -> bool:
    parser = import_module(f"cepheid.languages.{language}.lower").GRAMMAR.parser
    words = [one.pattern.to_regexp() for one in parser.terminals if one.name not in NAMES]
    return name.lower() in FUNCTIONS or any(re.fullmatch(word, name) for word in words)


def wrong(case: Case) -> Iterator[str]:
    """The terminals of the rules of a case that have a scope that does not fit."""
    scopes = GRAMMARS.scopes(case.rule, f"source.{SCOPES[case.language]}")
    for token, before in tokens(case.language, case.rule):
        if token.value.strip() and token.line is not None and token.column is not None:
            own = scopes[token.line - 1 + before][token.column - 1]
            wanted = WANTED.get(token.type, KEYWORDS if token.type.startswith("_") else "")
            line = case.rule.split("\n")[token.line - 1 + before]
            if needs_more(token, line, case.language):
                continue
            if not re.search(wanted, " ".join(own[1:])) or len(own) < 2:
                yield f"{case.place}: {token.type} {token.value!r} has {own}"


@pytest.mark.parametrize("language", SCOPES)
def test_what_parsers_see_has_the_scope_that_readers_want(language: str) -> None:
    cases = [case for case in RULES if case.language == language]
    assert cases
    assert [line for case in cases for line in wrong(case)][:20] == []


# --- spec files -----------------------------------------------------------------------------


@pytest.mark.parametrize("file", SPECS, ids=lambda file: file.name)
def test_every_character_of_a_spec_file_has_a_scope(file: Path) -> None:
    text = file.read_text("utf-8")
    for number, (line, scopes) in enumerate(
        zip(text.split("\n"), GRAMMARS.scopes(text, "source.cepheid-spec"), strict=True), start=1
    ):
        for sign, own in zip(line, scopes, strict=True):
            assert sign.isspace() or len(own) > 1, f"{file.name}:{number}: {sign!r} in {line!r}"


def test_rules_in_spec_files_have_the_scopes_of_their_language() -> None:
    one = "# x\nlanguage: sase\nrule:\n  EVENT SEQ(A x, B y)\nexpect:\n"
    text = f"{one}---\nlanguage: tesla\nrule:\n  Rule R\n"
    scopes = GRAMMARS.scopes(text, "source.cepheid-spec")
    assert scopes[0][0][1] == "comment.line.title.cepheid-spec"
    assert scopes[3][2][1:] == ("meta.embedded.block.sase", "keyword.control.sase")
    assert scopes[5][0][1:] == ("meta.separator.cepheid-spec",)
    assert scopes[8][2][1:] == ("meta.embedded.block.tesla", "keyword.control.tesla")


def test_event_types_have_scopes() -> None:
    for file in (ROOT / "examples").rglob("*.schema"):
        text = file.read_text("utf-8")
        for line, scopes in zip(
            text.split("\n"), GRAMMARS.scopes(text, "source.cepheid-schema"), strict=True
        ):
            assert all(s.isspace() or len(o) > 1 for s, o in zip(line, scopes, strict=True))


# --- the extension --------------------------------------------------------------------------

NODE = shutil.which("node")
STAND_IN = """
const Module = require("module"), [, , extension, command, file, bad, good] = process.argv;
const heard = {}, told = [], state = { text: bad };
const on = (name) => (does) => ((heard[name] = does), { dispose() {} });
const uri = { toString: () => require("url").pathToFileURL(file).href };
const document = { uri, languageId: "tesla", version: 1, getText: () => state.text };
const vscode = {
  languages: {
    createDiagnosticCollection: () => ({ set: (_, found) => step(found) }),
    registerHoverProvider: (_, provider) => ((heard.hover = provider), { dispose() {} }),
  },
  workspace: {
    workspaceFolders: undefined,
    textDocuments: [document],
    getConfiguration: () => ({ get: () => command }),
    onDidOpenTextDocument: on("open"), onDidChangeTextDocument: on("change"),
    onDidSaveTextDocument: on("save"), onDidCloseTextDocument: on("close"),
  },
  window: { showWarningMessage: (text) => { console.log(JSON.stringify({ warned: text })); } },
  Uri: { parse: (text) => text },
  Range: class { constructor(...place) { this.place = place; } },
  Diagnostic: class {
    constructor(...own) { [this.range, this.message, this.severity] = own; }
  },
  Hover: class { constructor(contents) { this.contents = contents; } },
  MarkdownString: class { constructor(value) { this.value = value; } },
};
const load = Module._load;
Module._load = (name, ...more) => (name === "vscode" ? vscode : load(name, ...more));
const { activate, deactivate } = require(extension);
async function step(found) {
  told.push(found);
  if (told.length === 1) { state.text = good; heard.change({ document }); }
  if (told.length === 2) {
    const hover = await heard.hover.provideHover(document, { line: 0, character: 5 });
    await deactivate();
    console.log(JSON.stringify({ told, hover: hover.contents.value }));
  }
}
activate({ subscriptions: [] });
"""
BAD = "Rule Hot define Alarm() from Temp(value > $limit)"
GOOD = "Rule Hot define Alarm() from Temp(value > 45)"


def extension(tmp_path: Path, command: str) -> dict[str, Any]:
    """What the extension does in a stand-in for the editor, with a real server."""
    assert NODE is not None
    (tmp_path / "editor.js").write_text(STAND_IN)
    arguments = [str(FOLDER / "extension.js"), command, str(tmp_path / "hot.tesla"), BAD, GOOD]
    done = subprocess.run(
        [NODE, str(tmp_path / "editor.js"), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(NODE is None, reason="there is no node")
def test_the_extension_shows_problems_and_explanations(tmp_path: Path) -> None:
    command = tmp_path / "cepheid"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m cepheid "$@"\n')
    command.chmod(0o755)
    found = extension(tmp_path, str(command))
    ((problem,), after) = found["told"]
    assert problem["code"] == "UNKNOWN_PARAMETER"
    assert problem["severity"] == 0
    assert problem["range"]["place"][:2] == [0, BAD.index("$limit")]
    assert after == []
    assert "Hot → Alarm" in found["hover"]


@pytest.mark.skipif(NODE is None, reason="there is no node")
def test_the_extension_says_when_there_is_no_command(tmp_path: Path) -> None:
    found = extension(tmp_path, str(tmp_path / "none"))
    assert "cannot be started" in found["warned"]
    assert "cepheid.command" in found["warned"]
