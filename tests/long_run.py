"""The long run in parts: what has passed on the same code is not tried again.

All properties with many examples take longer than a day's work leaves a machine alone. So
`make test-long` notes every property that has passed in `tests/long_run.json`, with the number of
examples and what the code was: a digest of all that it may depend on. A property whose note still
holds is left out, so that the run goes on where it ended; a change of the code voids the notes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TypedDict

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "cepheid"
NOTES = TESTS / "long_run.json"
ASIDE = ("capture", "cli", "templates")
"""Parts of the package that no property looks at."""
FOR_SOME = "spark"
"""A part that is behind the properties of test files that name it, and of no others."""

SETTINGS = ("conftest.py", "long_run.py")
"""How many examples there are, and what is noted of them."""


class Note(TypedDict):
    """What is known of a property that has passed."""

    code: str
    examples: int


def read_notes(path: Path | None = None) -> dict[str, Note]:
    """The notes by property; none where there is no file yet."""
    path = path or NOTES
    if not path.exists():
        return {}
    notes: dict[str, Note] = json.loads(path.read_text("utf-8"))
    return notes


def write_note(name: str, note: Note, path: Path | None = None) -> None:
    """Note a property; a run that is killed meanwhile loses nothing."""
    path = path or NOTES
    notes = read_notes(path)
    notes[name] = note
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(dict(sorted(notes.items())), indent=1) + "\n", "utf-8")
    fresh.replace(path)


@cache
def code_behind(test: Path) -> str:
    """A digest of everything that the properties of a test file may depend on."""
    aside = ASIDE if FOR_SOME in test.read_text("utf-8") else (*ASIDE, FOR_SOME)
    parts = [
        path
        for path in PACKAGE.rglob("*")
        if path.suffix in {".py", ".lark"} and path.relative_to(PACKAGE).parts[0] not in aside
    ]
    helpers = [path for path in TESTS.glob("*.py") if not path.name.startswith("test_")]
    kept = [path for path in helpers if path.name not in SETTINGS]
    return digest([*parts, *kept, test])


def digest(paths: Iterable[Path]) -> str:
    """One word for the names and contents of some files, in any order."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(f"{path.name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return found.hexdigest()[:16]


def leave_out(items: list[pytest.Item], examples: int) -> list[pytest.Item]:
    """Take out the properties whose notes hold; these are the result."""
    notes = read_notes()
    done = [
        item
        for item in items
        if (note := notes.get(item.nodeid)) is not None
        and note["examples"] >= examples
        and note["code"] == code_behind(item.path)
    ]
    items[:] = [item for item in items if item not in done]
    return done
