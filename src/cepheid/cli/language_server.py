"""`cepheid language-server`: diagnostics and explanations for editors, over standard input.

It speaks the language server protocol: messages of JSON-RPC with a header that tells their length.
Documents are held whole. Columns of the protocol count the units of UTF-16, ours count characters.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

from cepheid.algebra import Rule
from cepheid.automaton import compile_rule, explained
from cepheid.diagnostics import (
    SPEC,
    TYPES,
    Diagnostic,
    diagnose_schema,
    diagnose_spec,
    diagnostic_of,
    language_of,
    read_rules,
    rule_in_spec,
    schema_near,
    with_neighbours,
)
from cepheid.errors import CannotExpressError, Source
from cepheid.languages import LANGUAGES

SERVER_HELP = """\
examples:
  cepheid language-server               started by an editor, which talks to it
  cepheid check rules/ --format json    the same problems once, for other tools

Editors: name it as the server for *.tesla, *.sase, *.laipl, *.ce, *.pretty and *.test; see
docs/editors.md.
"""
_SEVERITIES = {"error": 1, "warning": 2, "note": 3}
_METHOD_NOT_FOUND, _INVALID = -32601, -32600
_FEW_CASES = 20
"""So many cases of a spec file are run with every change, more when it is opened or saved."""
_LARGEST = 64 << 20
"""The longest message that is read, in bytes."""

Message = dict[str, Any]


def add_language_server(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command."""
    command = commands.add_parser(
        "language-server",
        help="tell editors what is wrong while rules are written",
        epilog=SERVER_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--stdio", action="store_true", help="what it always does")
    command.set_defaults(run=language_server_command)


def language_server_command(options: argparse.Namespace) -> int:
    """Serve an editor until it says goodbye."""
    return LanguageServer(sys.stdin.buffer, sys.stdout.buffer).serve()


class LanguageServer:
    """The documents that an editor has open, and what is said about them."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._documents: dict[str, str] = {}
        self._asked_to_end = False
        self._requests = {
            "initialize": self._initialize,
            "shutdown": self._shutdown,
            "textDocument/hover": self._hover,
        }
        self._notices = {
            "textDocument/didOpen": self._opened,
            "textDocument/didChange": self._changed,
            "textDocument/didSave": self._saved,
            "textDocument/didClose": self._closed,
        }

    def serve(self) -> int:
        """Answer messages until the last; 0 when the editor had announced its end."""
        while (message := self._read()) is not None:
            if message.get("method") == "exit":
                break
            try:
                self._take(message)
            except Exception as error:
                # An editor is not left alone because of one text that nobody thought of.
                self._say(f"{message.get('method')} failed: {type(error).__name__}: {error}")
        return 0 if self._asked_to_end else 1

    # --- messages ---------------------------------------------------------------------------

    def _read(self) -> Message | None:
        length = -1
        while (line := self._incoming.readline()).strip():
            name, _, value = line.decode("ascii", "replace").partition(":")
            if name.lower() == "content-length" and value.strip().isdigit():
                length = int(value)
        if not 0 <= length <= _LARGEST:
            return None
        body = self._incoming.read(length)
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        return found if isinstance(found, dict) else {}

    def _write(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._outgoing.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._outgoing.flush()

    def _say(self, text: str) -> None:
        params = {"type": 1, "message": f"cepheid: {text}"}
        self._write({"method": "window/logMessage", "params": params})

    def _take(self, message: Message) -> None:
        method, number = str(message.get("method", "")), message.get("id")
        given = message.get("params") or {}
        if number is None:
            notice = self._notices.get(method)
            if notice is not None and isinstance(given, dict):
                notice(given)
            return
        answer = self._requests.get(method)
        if answer is None or not isinstance(given, dict):
            code = _METHOD_NOT_FOUND if answer is None else _INVALID
            self._write({"id": number, "error": {"code": code, "message": f"{method} is unknown"}})
        else:
            self._write({"id": number, "result": answer(given)})

    def _initialize(self, given: Message) -> Message:
        import cepheid

        return {
            "capabilities": {
                "textDocumentSync": {"openClose": True, "change": 1, "save": True},
                "hoverProvider": True,
            },
            "serverInfo": {"name": "cepheid", "version": cepheid.__version__},
        }

    def _shutdown(self, given: Message) -> None:
        self._asked_to_end = True

    # --- documents --------------------------------------------------------------------------

    def _opened(self, given: Message) -> None:
        document = given.get("textDocument", {})
        self._keep(document.get("uri"), document.get("text"), whole=True)

    def _changed(self, given: Message) -> None:
        changes = given.get("contentChanges") or [{}]
        self._keep(given.get("textDocument", {}).get("uri"), changes[-1].get("text"))

    def _saved(self, given: Message) -> None:
        """What is saved may matter for the documents beside it."""
        for uri in list(self._documents):
            self._publish(uri, whole=True)

    def _closed(self, given: Message) -> None:
        uri = given.get("textDocument", {}).get("uri")
        if self._documents.pop(uri, None) is not None:
            self._send(uri, [])

    def _keep(self, uri: object, text: object, *, whole: bool = False) -> None:
        if isinstance(uri, str) and isinstance(text, str):
            self._documents[uri] = text
            self._publish(uri, whole=whole)

    def _publish(self, uri: str, *, whole: bool) -> None:
        """Tell what is wrong; many cases of a spec file are not run while one types."""
        text, file = self._documents[uri], file_of(uri)
        lines = text.split("\n")
        found = self._diagnose(text, file, run=whole or text.count("\n---") < _FEW_CASES)
        self._send(uri, [_as_protocol(one, lines) for one in found])

    def _send(self, uri: str, found: list[Message]) -> None:
        params = {"uri": uri, "diagnostics": found}
        self._write({"method": "textDocument/publishDiagnostics", "params": params})

    def _diagnose(self, text: str, file: Path, *, run: bool) -> list[Diagnostic]:
        if file.suffix == SPEC:
            return list(diagnose_spec(text, str(file), run=run))
        if file.suffix == TYPES:
            return list(diagnose_schema(text, str(file)))
        _, problems = self._rules(text, file)
        return [one for one in map(diagnostic_of, problems) if one.file in ("", str(file))]

    def _rules(self, text: str, file: Path) -> tuple[list[Rule], list[Any]]:
        source = Source(text, str(file))
        if language_of(file) is None or not text.strip():
            return [], []
        return read_rules(with_neighbours(source, file), schema_near(file))

    # --- explanations -----------------------------------------------------------------------

    def _hover(self, given: Message) -> Message | None:
        uri = given.get("textDocument", {}).get("uri", "")
        text, line = self._documents.get(uri), given.get("position", {}).get("line", 0) + 1
        if text is None:
            return None
        file = file_of(uri)
        if file.suffix == SPEC:
            rule = rule_in_spec(text, str(file), line)
        else:
            rule = _rule_at(self._rules(text, file)[0], str(file), line)
        if rule is None:
            return None
        return {"contents": {"kind": "markdown", "value": _explanation(rule)}}


def _explanation(rule: Rule) -> str:
    """A rule in English words, and how it runs."""
    try:
        words = f"```pretty\n{LANGUAGES['pretty'].write(rule).rstrip()}\n```\n\n"
    except CannotExpressError:
        words = ""
    return f"{words}```text\n{explained(compile_rule(rule))}\n```"


def file_of(uri: str) -> Path:
    """The file that an address stands for.

    >>> file_of("file:///rules/my%20fire.tesla").name
    'my fire.tesla'
    """
    parsed = urlparse(uri)
    return Path(url2pathname(parsed.path) if parsed.scheme == "file" else unquote(parsed.path))


def _rule_at(rules: Iterable[Rule], file: str, line: int) -> Rule | None:
    """The last rule of a file that begins on a line or above it."""
    above = [
        (rule.span.line, rule)
        for rule in rules
        if rule.span is not None
        and rule.span.source is not None
        and rule.span.source.name == file
        and rule.span.line <= line
    ]
    return max(above, key=lambda pair: pair[0])[1] if above else None


def _as_protocol(one: Diagnostic, lines: list[str]) -> Message:
    begin = _position(one.line or 1, one.column or 1, lines)
    end = _position(one.end_line or one.line or 1, one.end_column or 1, lines)
    more = [f"expected: {one.expected}"] if one.expected else []
    more += [f"hint: {one.hint}"] if one.hint else []
    return {
        "range": {"start": begin, "end": end},
        "severity": _SEVERITIES[one.severity],
        "code": one.condition,
        "source": "cepheid",
        "message": "\n".join([one.message, *more]),
    }


def _position(line: int, column: int, lines: list[str]) -> dict[str, int]:
    text = lines[line - 1] if line <= len(lines) else ""
    units = len(text[: column - 1].encode("utf-16-le", "surrogatepass")) // 2
    return {"line": line - 1, "character": units}
