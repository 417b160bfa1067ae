"""Diagnostics for editors: `cepheid check --format json`, and the language server, over pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cepheid.cli import main
from cepheid.diagnostics import diagnose_spec

GOOD = "Rule Hot\ndefine Alarm(area: string)\nfrom Temp(value > 45)\nwhere area = Temp.area\n"
BAD = GOOD.replace("Temp.area", "Tmep.area")
CASE = f"""\
# hot

language: tesla
rule:

    {GOOD.strip().replace(chr(10), chr(10) + "    ")}
events:
  Temp@1(area="A1", value=50.0)
expect:
  Alarm@1(area="A1")
"""

Message = dict[str, Any]


# --- check ----------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Message]:
    status = main(["check", *arguments, "--format", "json"])
    told = capsys.readouterr()
    assert told.err == ""
    found: Message = json.loads(told.out)
    return status, found


def test_check_gives_places_severities_messages_and_hints(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "hot.tesla").write_text(BAD)
    status, found = checked(capsys, "hot.tesla")
    assert status == 1
    assert found == {
        "rules": 0,
        "problems": [
            {
                "file": "hot.tesla",
                "line": 4,
                "column": 14,
                "end_line": 4,
                "end_column": 18,
                "severity": "error",
                "condition": "UNKNOWN_LABEL",
                "message": "no event of rule Hot is called Tmep",
                "expected": "the name of an event of the rule",
                "hint": "did you mean Temp?",
                "rule": "Hot",
            }
        ],
    }


def test_check_gives_warnings_of_rules_that_are_in_order(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "hot.tesla").write_text(GOOD)
    assert checked(capsys, "hot.tesla") == (0, {"rules": 1, "problems": []})
    (here / "q.sase").write_text("QUERY Q EVENT SEQ(A x, B y)")
    status, found = checked(capsys, "q.sase")
    assert (status, found["rules"]) == (0, 1)
    (problem,) = found["problems"]
    assert (problem["severity"], problem["condition"]) == ("warning", "UNBOUNDED_STATE")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.tesla"], "rules cannot be read from none.tesla"),
        (["hot.txt"], "the language of hot.txt must follow from its ending"),
        (["hot.tesla", "--schema", "none.schema"], "No such file"),
        (["hot.tesla", "--schema", "bad.schema"], "the type of area must be"),
    ],
)
def test_check_gives_what_cannot_be_read_as_json_too(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (here / "hot.tesla").write_text(GOOD)
    (here / "hot.txt").write_text(GOOD)
    (here / "bad.schema").write_text("Temp(area: colour)")
    status, found = checked(capsys, *arguments)
    assert status == 1
    assert message in found["problems"][0]["message"]


# --- spec files -----------------------------------------------------------------------------


def test_problems_of_a_rule_in_a_spec_file_are_at_their_place_in_the_file() -> None:
    text = f"{CASE}---\n{CASE.replace('Temp.area', 'Tmep.area')}"
    (found,) = diagnose_spec(text, "hot.test")
    assert found.line is not None
    assert found.column is not None
    assert found.end_column is not None
    line = text.split("\n")[found.line - 1]
    assert line[found.column - 1 : found.end_column - 1] == "Tmep"


def test_a_rule_on_the_line_of_its_section_is_found_too() -> None:
    text = "language: sase\nrule: EVENT SEQ(A x, !(B y))\nexpect:\n"
    (found,) = diagnose_spec(text, "x.test")
    assert found.line == 2
    assert found.column is not None
    assert text.split("\n")[1][found.column - 1 :].startswith("!(B y)")


def test_cases_that_fail_and_files_that_cannot_be_read_are_told() -> None:
    assert list(diagnose_spec(CASE, "x.test")) == []
    (found,) = diagnose_spec(CASE.replace("Alarm@1", "Alarm@2"), "x.test")
    assert (found.line, found.condition) == (1, "FAILED")
    assert "missing:    Alarm@2" in found.message
    (found,) = diagnose_spec(CASE.replace("expect:", "expects:"), "x.test")
    assert (found.line, found.condition) == (12, "SPEC")


# --- the language server --------------------------------------------------------------------


class Editor:
    """Talks to a server through real pipes."""

    def __init__(self) -> None:
        self.server = subprocess.Popen(
            [sys.executable, "-m", "cepheid", "language-server", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._number = 0
        self._opened: set[str] = set()

    def send(self, message: Message) -> None:
        assert self.server.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.server.stdin.flush()

    def receive(self) -> Message:
        assert self.server.stdout is not None
        header = self.server.stdout.readline()
        assert self.server.stdout.readline() == b"\r\n"
        found: Message = json.loads(self.server.stdout.read(int(header.split(b":")[1])))
        return found

    def ask(self, method: str, **params: object) -> Message:
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        answer = self.receive()
        assert answer["id"] == self._number
        return answer

    def tell(self, method: str, **params: object) -> None:
        self.send({"method": method, "params": params})

    def problems(self) -> list[Message]:
        told = self.receive()
        assert told["method"] == "textDocument/publishDiagnostics"
        found: list[Message] = told["params"]["diagnostics"]
        return found

    def open(self, file: Path, text: str) -> list[Message]:
        self._opened.add(file.as_uri())
        document = {"uri": file.as_uri(), "languageId": "x", "version": 1, "text": text}
        self.tell("textDocument/didOpen", textDocument=document)
        return self.problems()

    def change(self, file: Path, text: str) -> list[Message]:
        document = {"uri": file.as_uri(), "version": 2}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])
        return self.problems()

    def close(self) -> None:
        for uri in sorted(self._opened):
            self.tell("textDocument/didClose", textDocument={"uri": uri})
            assert self.problems() == []
        self._opened.clear()


@pytest.fixture
def editor(running: Editor) -> Iterator[Editor]:
    """An editor with nothing open."""
    yield running
    running.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Editor]:
    one = Editor()
    yield one
    assert one.ask("shutdown")["result"] is None
    one.tell("exit")
    assert one.server.wait(timeout=10) == 0
    for pipe in (one.server.stdin, one.server.stdout):
        assert pipe is not None
        pipe.close()


def test_the_server_tells_what_it_can(editor: Editor) -> None:
    answer = editor.ask("initialize", processId=None, rootUri=None, capabilities={})
    assert answer["result"]["capabilities"]["hoverProvider"] is True
    editor.tell("initialized")
    assert editor.ask("textDocument/rename")["error"]["code"] == -32601


def test_problems_come_while_a_rule_is_written_and_go_when_it_is_right(
    editor: Editor, tmp_path: Path
) -> None:
    file = tmp_path / "my rules.tesla"
    (problem,) = editor.open(file, BAD)
    assert problem["range"] == {
        "start": {"line": 3, "character": 13},
        "end": {"line": 3, "character": 17},
    }
    assert problem["message"].startswith("no event of rule Hot is called Tmep")
    assert "did you mean Temp?" in problem["message"]
    assert editor.change(file, GOOD) == []
    assert editor.change(file, "") == []
    assert editor.change(file, BAD) != []
    editor.close()


def test_hover_explains_the_rule_under_the_cursor(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "hot.tesla"
    editor.open(file, GOOD + "\nRule Other define Other() from Alarm()\n")
    where = {"textDocument": {"uri": file.as_uri()}}
    answer = editor.ask("textDocument/hover", **where, position={"line": 2, "character": 3})
    assert "Hot → Alarm(area)" in answer["result"]["contents"]["value"]
    answer = editor.ask("textDocument/hover", **where, position={"line": 5, "character": 3})
    assert "Other → Other" in answer["result"]["contents"]["value"]


def test_hover_says_it_in_english_and_in_spec_files_too(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "hot.test"
    two = CASE.replace("Alarm", "Bell").replace("Hot", "Warm")
    editor.open(file, f"{CASE}---\n{two}")
    where = {"textDocument": {"uri": file.as_uri()}}
    last = len(CASE.split("\n")) + 8
    for line, name in ((6, "Hot"), (10, "Hot"), (last, "Warm")):
        answer = editor.ask("textDocument/hover", **where, position={"line": line, "character": 3})
        told = answer["result"]["contents"]["value"]
        assert told.startswith(f"```pretty\nrule {name}")
        assert f"{name} → " in told
    assert editor.change(file, "language: tesla\n") != []
    answer = editor.ask("textDocument/hover", **where, position={"line": 0, "character": 3})
    assert answer["result"] is None


def test_columns_count_as_the_protocol_counts(editor: Editor, tmp_path: Path) -> None:
    text = "define X as [A(name = '𝄞')] where b.n = 1\n"
    (problem,) = editor.open(tmp_path / "x.ce", text)
    # The note is one character of ours and two units of UTF-16.
    assert problem["range"]["start"]["character"] == text.index("b.n") + 1


def test_a_schema_and_the_files_beside_it_are_known(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "events.schema").write_text("Temp(area: string, value: double)")
    (tmp_path / "rules" / "hot.tesla").write_text(GOOD)
    file = tmp_path / "rules" / "q.sase"
    assert editor.open(file, "QUERY Q EVENT Alarm a WHERE a.area = 'A1'") == []
    (problem,) = editor.change(file, "QUERY Q EVENT Alram a WHERE a.area = 'A1'")
    assert problem["code"] == "UNKNOWN_EVENT"


def test_event_types_are_read(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "events.schema"
    (problem,) = editor.open(file, "Temp(area: string)\nSmoke(area: colour)")
    assert problem["range"]["start"] == {"line": 1, "character": 12}
    assert problem["message"].startswith("the type of area must be")
    assert editor.change(file, "Temp(area: string)") == []


def test_spec_files_are_run(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "hot.test"
    assert editor.open(file, CASE) == []
    (problem,) = editor.change(file, CASE.replace("Alarm@1", "Alarm@2"))
    assert problem["code"] == "FAILED"


def test_many_cases_are_run_when_they_are_saved(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "many.test"
    many = "---\n".join([CASE] * 25)
    assert editor.open(file, many) == []
    assert editor.change(file, many.replace("Alarm@1", "Alarm@2")) == []
    editor.tell("textDocument/didSave", textDocument={"uri": file.as_uri()})
    assert len(editor.problems()) == 25


def test_a_message_that_breaks_something_is_told_and_survived(
    editor: Editor, tmp_path: Path
) -> None:
    editor.tell("textDocument/didOpen", textDocument=7)
    told = editor.receive()
    assert told["method"] == "window/logMessage"
    assert "textDocument/didOpen failed" in told["params"]["message"]
    assert editor.open(tmp_path / "hot.tesla", GOOD) == []


def test_messages_that_make_no_sense_end_nothing(editor: Editor, tmp_path: Path) -> None:
    assert editor.server.stdin is not None
    editor.server.stdin.write(b"Content-Length: 7\r\n\r\nno json")
    editor.server.stdin.flush()
    editor.tell("textDocument/didOpen", textDocument={})
    editor.tell("textDocument/didChange")
    assert editor.open(tmp_path / "hot.tesla", GOOD) == []
