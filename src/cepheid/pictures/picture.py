"""What pictures are handed out as: they show themselves in notebooks and can be saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from cepheid.errors import PictureError


@dataclass(frozen=True)
class Picture:
    """A picture in SVG. Notebooks show it; `save` writes it to a file.

    >>> import cepheid
    >>> rules = cepheid.load("define Visit as [a: Door] ; [b: Person]", language="core")
    >>> rules.draw()
    Picture of rule Visit
    """

    svg: str = field(repr=False)
    subject: str = ""

    def __repr__(self) -> str:
        return f"Picture of {self.subject}"

    def _repr_svg_(self) -> str:
        """What notebooks show."""
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file that ends in .svg; the result is its path."""
        return _saved(Path(path), ".svg", self.svg, "rsvg-convert picture.svg -o picture.png")


@dataclass(frozen=True)
class Page:
    """A page in HTML that needs no other file and no network. Notebooks show it; `save` writes it.

    >>> import cepheid
    >>> rules = cepheid.load("define Visit as [a: Door] ; [b: Person]", language="core")
    >>> rules.matches([]).report()
    Page of rule Visit
    """

    html: str = field(repr=False)
    subject: str = ""

    def __repr__(self) -> str:
        return f"Page of {self.subject}"

    def _repr_html_(self) -> str:
        """What notebooks show: the page in a frame, apart from the notebook's own."""
        style = "width:100%;height:80vh;border:1px solid #8888"
        frame = f'sandbox="allow-scripts" title="{escape(self.subject)}" style="{style}"'
        return f'<iframe srcdoc="{escape(self.html)}" {frame}></iframe>'

    def save(self, path: str | Path) -> Path:
        """Write the page to a file that ends in .html; the result is its path."""
        return _saved(Path(path), ".html", self.html, "open the page in a browser and print it")


def _saved(path: Path, ending: str, text: str, other: str) -> Path:
    if path.suffix.lower() not in (ending, ".htm" if ending == ".html" else ending):
        raise PictureError(
            f"the file must end in {ending}; got {path.name}\n\nhint: for others, {other}"
        )
    try:
        path.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise PictureError(f"{path} must be a file that can be written: {error.strerror}") from None
    return path
