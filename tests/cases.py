"""The cases of the specification: those of tests/spec and those of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from cepheid.testing import Case, parse_cases, read_cases

ROOT = Path(__file__).parent.parent
SPEC = ROOT / "tests" / "spec"

_BLOCK = re.compile(r"^```spec\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _spec_cases() -> Iterator[Case]:
    for path in sorted(SPEC.glob("*.test")):
        yield from read_cases(path)


def _documents() -> list[Path]:
    readme = [ROOT / "README.md"]
    return [*filter(Path.exists, readme), *sorted((ROOT / "docs").rglob("*.md"))]


def _documented_cases() -> Iterator[Case]:
    for path in _documents():
        text = path.read_text("utf-8")
        for block in _BLOCK.finditer(text):
            before = text.count("\n", 0, block.start(1))
            # Empty lines before the block let the places of its cases be those of the page.
            yield from parse_cases("\n" * before + block[1], str(path))


def case_id(case: Case) -> str:
    """Where a case stands, short enough for the name of a test."""
    return f"{Path(case.source).name}:{case.line}"


SPEC_CASES = list(_spec_cases())
DOCUMENTED_CASES = list(_documented_cases())
CASES = [*SPEC_CASES, *DOCUMENTED_CASES]
