"""`cepheid new`: a project folder with a rule, its tests, sample events and settings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

_TEMPLATES = "templates"
_COMMON = "common"
_HIDDEN = {"gitignore": ".gitignore"}
"""Files that would be hidden, and by that easily lost, under their names in a project."""

NEW_HELP = """\
examples:
  cepheid new fire                      a project in the folder fire, its rule in TESLA
  cepheid new shop --language sase      another language; the sample fits it
  cepheid new .                         in this folder, if it is empty
"""


def languages() -> list[str]:
    """The languages in which a project can begin, TESLA first."""
    names = [one.name for one in _folder().iterdir() if one.is_dir() and one.name != _COMMON]
    return sorted(names, key=lambda name: (name != "tesla", name))


def add_new(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its arguments."""
    command = commands.add_parser(
        "new",
        help="make a project: a rule, its tests, sample events, settings",
        epilog=NEW_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("name", type=Path, metavar="NAME", help="the folder to make")
    command.add_argument("--language", choices=languages(), default="tesla", help="of the rule")
    command.set_defaults(run=new_command)


def new_command(options: argparse.Namespace) -> int:
    """Make a project; 0 when it is there."""
    folder: Path = options.name
    wrong = _in_the_way(folder)
    if wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 1
    made = dict(_files(options.language))
    words = _words(folder, made)
    try:
        for name, text in made.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(Template(text).substitute(words) if name == "README.md" else text)
    except OSError as error:
        print(f"error: {folder} cannot be made: {error.strerror}", file=sys.stderr)
        return 1
    print(_told(folder, words))
    return 0


def _folder() -> Traversable:
    return files("cepheid").joinpath(_TEMPLATES)


def _in_the_way(folder: Path) -> str:
    """Why a project cannot be made there; nothing that exists is ever written over."""
    if folder.is_dir() and not any(folder.iterdir()):
        return ""
    if folder.exists():
        what = "a folder with files in it" if folder.is_dir() else "a file"
        return (
            f"a new project needs a folder of its own; {folder} is {what}\n\n"
            "hint: choose another name; nothing was written"
        )
    return ""


def _files(language: str) -> Iterator[tuple[str, str]]:
    for part in (_COMMON, language):
        yield from _below(_folder().joinpath(part), "")


def _below(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        name = f"{path}{_HIDDEN.get(one.name, one.name)}"
        if one.is_dir():
            yield from _below(one, f"{name}/")
        else:
            yield name, one.read_text("utf-8")


def _words(folder: Path, made: Mapping[str, str]) -> dict[str, str]:
    rules = [Path(name).name for name in made if name.startswith("rules/")]
    (test,) = (name for name in rules if name.endswith(".test"))
    (rule,) = (name for name in rules if name != test)
    return {"name": folder.resolve().name, "rule": rule, "test": test}


def _told(folder: Path, words: Mapping[str, str]) -> str:
    inside = folder.resolve() == Path.cwd().resolve()
    enter = "" if inside else f"  cd {_quoted(folder)}\n"
    return f"""\
made {folder}
  rules/{words["rule"]:<18} the rule
  rules/{words["test"]:<18} its tests
  events.schema            the event types
  data/events.csv          sample events
  cepheid.yml              settings

next:
{enter}  cepheid check rules/ --schema events.schema
  cepheid test rules/
  cepheid why rules/ --schema events.schema --input data/events.csv --match 1
  cepheid backtest rules/ --schema events.schema --input data/events.csv

with Spark (pip install 'cepheid[spark]'):
  cepheid run"""


def _quoted(folder: Path) -> str:
    import shlex

    return shlex.quote(str(folder))
