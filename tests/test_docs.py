"""The documentation is true: links lead somewhere, conditions are explained, rules can be read."""

import re
from collections import Counter
from pathlib import Path

import pytest

import cepheid
from cepheid.errors import CONDITIONS
from cepheid.languages import LANGUAGES

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def _prose(page: Path) -> str:
    """A page without its code, in which nothing is a link or a heading."""
    return FENCED.sub("", page.read_text("utf-8"))


def _links(page: Path) -> list[str]:
    without_code = re.sub(r"(?<!\[)`[^`\n]*`(?!\])", "", _prose(page))
    return [link for link in LINK.findall(without_code) if not re.match(r"\w+:", link)]


def _anchors(page: Path) -> set[str]:
    """What a heading is called in a link: lower case, blanks as hyphens, a number when repeated."""
    seen: Counter[str] = Counter()
    anchors = set()
    for heading in HEADING.findall(_prose(page)):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return anchors


def _is_broken(page: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    if not target.exists():
        return True
    return bool(anchor) and anchor not in _anchors(target)


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert [link for link in _links(page) if _is_broken(page, link)] == []


def test_every_page_can_be_reached_from_the_map() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in _links(index)}
    pages = set((ROOT / "docs").rglob("*.md")) - {index}
    assert {_name(page) for page in pages - linked} == set()


def test_the_errors_page_has_every_condition_with_its_meaning_in_order() -> None:
    text = (ROOT / "docs" / "errors.md").read_text("utf-8")
    rows = re.findall(r"^\| \[(\w+)\]\(#(\w+)\) \| (.*) \|$", text, re.MULTILINE)
    assert rows == [(name, name.lower(), CONDITIONS[name]) for name in sorted(CONDITIONS)]
    assert re.findall(r"^### (\w+)$", text, re.MULTILINE) == sorted(CONDITIONS)


def test_the_errors_page_provokes_every_condition_that_a_rule_can_have() -> None:
    text = (ROOT / "docs" / "errors.md").read_text("utf-8")
    expected = set(re.findall(r"^  .*\[([A-Z_]+)\](?: at \d+:\d+)?$", text, re.MULTILINE))
    assert expected == set(CONDITIONS)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_blocks_that_are_marked_with_a_language_are_rules_of_it(page: Path) -> None:
    for mark, block in FENCED.findall(page.read_text("utf-8")):
        if mark in LANGUAGES:
            assert cepheid.load(block, language=mark).warnings == ()


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 200
