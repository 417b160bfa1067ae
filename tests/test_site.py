"""The site of docs/: it builds strictly, its links hold, and it loads nothing from elsewhere."""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
ELSEWHERE = re.compile(r"\w+:|//")


class Page(HTMLParser):
    """The links of a page, the names in it, and what it loads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.links: list[str] = []
        self.names: set[str] = set()
        self.loaded: list[str] = []
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("link", "script", "img"):
            self.loaded += [given[name] for name in ("href", "src") if name in given]


def _build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    site = tmp_path_factory.mktemp("site")
    built = _build(ROOT, site)
    assert built.returncode == 0, built.stderr
    # The page that says that nothing is there is served from anywhere, so its links are absolute.
    files = [file for file in site.rglob("*.html") if file.name != "404.html"]
    return {file: Page(file) for file in files}


def _leads(page: Page, link: str, pages: dict[Path, Page]) -> bool:
    path, _, name = link.partition("#")
    target = (page.file.parent / unquote(path)).resolve() if path else page.file
    if target not in pages:
        return target.is_file()
    return not name or unquote(name) in pages[target].names


def test_every_link_of_the_site_leads_to_a_file_and_a_heading(pages: dict[Path, Page]) -> None:
    links = [(page, link) for page in pages.values() for link in page.links]
    inside = [(page, link) for page, link in links if not ELSEWHERE.match(link)]
    assert len(inside) > 1000
    broken = [(page.file.name, link) for page, link in inside if not _leads(page, link, pages)]
    assert broken == []


def test_the_site_loads_nothing_from_elsewhere(pages: dict[Path, Page]) -> None:
    loaded = [(page, link) for page in pages.values() for link in page.loaded]
    assert [link for _, link in loaded if ELSEWHERE.match(link)] == []
    missing = [link for page, link in loaded if not _leads(page, link.partition("?")[0], pages)]
    assert missing == []


def test_every_page_is_in_the_navigation(pages: dict[Path, Page]) -> None:
    (home,) = (page for page in pages.values() if page.file.name == "index.html" and _is_top(page))
    linked = {(home.file.parent / link.partition("#")[0]).resolve() for link in home.links}
    docs = [file.relative_to(ROOT / "docs") for file in (ROOT / "docs").rglob("*.md")]
    wanted = {home.file.parent / file.with_suffix(".html") for file in docs}
    assert wanted <= linked | {home.file}


def _is_top(page: Page) -> bool:
    return (page.file.parent / "sitemap.xml").exists()


def test_rules_and_programs_are_shown_as_code(pages: dict[Path, Page]) -> None:
    """A block that is not marked as code would come out as quotations in quotations."""
    for page in pages.values():
        text = re.sub(r"<pre>.*?</pre>", "", page.file.read_text("utf-8"), flags=re.DOTALL)
        assert "&gt;&gt;&gt;" not in text and "<blockquote>" not in text, page.file.name
        assert "```" not in text, page.file.name


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[gone](gone.md)", "contains a link 'gone.md', but the target is not found"),
        ("[no heading](index.md#nowhere)", "does not contain an anchor '#nowhere'"),
        ("[outside](../gone.txt)", "but the target"),
        ("nothing", 'not included in the "nav" configuration:\n  - added.md'),
    ],
)
def test_a_page_that_leads_nowhere_ends_the_build(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for file in ("mkdocs.yml", "docs/outside.py"):
        shutil.copy(ROOT / file, tmp_path / file)
    settings = (tmp_path / "mkdocs.yml").read_text("utf-8").partition("nav:\n  - Home")[0]
    nav = "nav: [index.md]" if text == "nothing" else "nav: [index.md, added.md]"
    (tmp_path / "mkdocs.yml").write_text(settings + nav, "utf-8")
    (tmp_path / "docs" / "index.md").write_text("# Home\n", "utf-8")
    (tmp_path / "docs" / "added.md").write_text(f"# Added\n\n{text}\n", "utf-8")
    built = _build(tmp_path, tmp_path / "site")
    assert built.returncode == 1
    assert told in built.stderr
