"""The tutorial, typed as it stands: files are written, commands run, answers compared."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from cepheid.cli import main

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^(?:[^\n]*`(\S+)`:\n\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

COMPILING = re.compile(r"^cepheid: .*compil.*\n", re.MULTILINE)
"""What is told only the first time on a machine."""


@dataclass(frozen=True)
class Step:
    """Something that the reader does, and the answer that the page shows."""

    do: str
    text: str
    answer: str = ""


def _steps(page: str) -> list[Step]:
    found = []
    for file, kind, text in BLOCK.findall(page):
        if kind == "console":
            typed = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
            found += [Step("type", line, answer) for line, answer in typed]
        else:
            found.append(Step("python" if kind == "python" else f"write {file}", text))
    return found


def _is_as_shown(told: str, shown: str) -> bool:
    """Whether an answer is the one of the page, in which … stands for anything."""
    pattern = ".*".join(map(re.escape, shown.rstrip().split("…")))
    return re.fullmatch(pattern, told.rstrip(), re.DOTALL) is not None


def _typed(line: str, capfd: pytest.CaptureFixture[str]) -> str:
    words = shlex.split(line)
    if words[0] == "cd":
        os.chdir(words[1])
    elif words[:2] == ["cepheid", "run"]:
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr
    elif words[0] == "cepheid":
        main(words[1:])
    else:
        subprocess.run(["/bin/sh", "-c", line], check=True)
    out, err = capfd.readouterr()
    return out + COMPILING.sub("", err)


STEPS = _steps((ROOT / "docs" / "tutorial.md").read_text("utf-8"))


def test_the_tutorial_has_steps_of_every_kind() -> None:
    assert {step.do.split()[0] for step in STEPS} == {"type", "write", "python"}
    commands = {step.text.split()[1] for step in STEPS if step.text.startswith("cepheid ")}
    assert commands >= {"new", "why", "check", "test", "backtest", "report"}


def test_everything_in_the_tutorial_happens_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for step in STEPS:
        if step.do == "type":
            told = _typed(step.text, capfd)
            assert _is_as_shown(told, step.answer), f"$ {step.text}\n{told}"
        elif step.do == "python":
            subprocess.run([sys.executable, "-c", step.text], check=True)
        else:
            Path(step.do.split()[1]).write_text(step.text, "utf-8")


def test_an_answer_that_is_not_the_pages_is_seen() -> None:
    assert _is_as_shown("made fire\nand more\n", "made fire\n…\n")
    assert not _is_as_shown("made water\nand more\n", "made fire\n…\n")
    assert not _is_as_shown("made fire\nand more\n", "made fire\n")


def test_the_readme_shows_what_the_tutorial_shows() -> None:
    """The commands of the first two minutes are steps of the tutorial, with the same answers."""
    readme = _steps((ROOT / "README.md").read_text("utf-8"))
    typed = [step for step in readme if step.do == "type"]
    assert len(typed) >= 4
    for step in typed:
        answers = [other.answer for other in STEPS if other.text == step.text]
        assert any(_is_as_shown(answer, step.answer) for answer in answers), step.text
