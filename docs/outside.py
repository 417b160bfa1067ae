"""Part of building the site: what pages link to outside docs/ comes along, below `source/`.

Links in the pages are those of the repository, so that they work there too. MkDocs knows only files
below docs/; here the others are added, and the links to them are written anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

SOURCE = "source"
CODE = re.compile(r"^```.*?^```$|(?<!\[)`[^`\n]*`(?!\])", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)")


def anchor(heading: str, separator: str) -> str:
    """What a heading is called in a link, as code hosts call it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Headings are called as in the repository, so that links hold in both."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = anchor
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the files outside docs/ that pages lead to, and those that these lead to."""
    docs = Path(config.docs_dir)
    waiting = [docs / page.src_uri for page in files.documentation_pages()]
    known = set(waiting)
    while waiting:
        for target in set(_targets(waiting.pop())) - known:
            known.add(target)
            if target.is_relative_to(docs) or not target.is_file():
                continue
            files.append(_added(target, config))
            if target.suffix == ".md":
                waiting.append(target)
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, **_: Any) -> str:  # noqa: ANN401
    """Let every link lead to where its file is on the site."""
    here = Path(str(page.file.abs_src_path))
    folder = os.path.dirname(page.file.src_uri)  # noqa: PTH120 (an address, not a path)

    def moved(link: re.Match[str]) -> str:
        target = (here.parent / link[1]).resolve()
        return os.path.relpath(_address(target, config), folder or ".")

    return _outside_code(markdown, moved)


def _added(target: Path, config: MkDocsConfig) -> File:
    address = _address(target, config)
    level = InclusionLevel.NOT_IN_NAV
    return File.generated(config, address, abs_src_path=str(target), inclusion=level)


def _address(target: Path, config: MkDocsConfig) -> str:
    """Where a file of the repository is on the site."""
    docs = Path(config.docs_dir)
    if target.is_relative_to(docs):
        return target.relative_to(docs).as_posix()
    return os.path.join(SOURCE, os.path.relpath(target, docs.parent))  # noqa: PTH118


def _targets(page: Path) -> Iterator[Path]:
    for part in CODE.split(page.read_text("utf-8")):
        yield from ((page.parent / link).resolve() for link in LINK.findall(part))


def _outside_code(markdown: str, moved: Any) -> str:  # noqa: ANN401 (a function over matches)
    """A page with its links written anew, and its code as it was."""
    kept = CODE.findall(markdown)
    parts = [LINK.sub(moved, part) for part in CODE.split(markdown)]
    return "".join(part + code for part, code in zip(parts, [*kept, ""], strict=True))
