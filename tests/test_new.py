"""`cepheid new`: the project is whole, its next steps work as typed, nothing is written over."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import cepheid
from cepheid.cli import main
from cepheid.cli.new import languages
from cepheid.languages import LANGUAGES
from cepheid.testing import read_cases, run_case

ROOT = Path(__file__).parents[1]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_project_can_begin_in_every_language() -> None:
    assert set(languages()) == set(LANGUAGES)


@pytest.mark.parametrize("language", languages())
def test_the_next_steps_work_as_typed(
    language: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "my project", "--language", language]) == 0
    steps = capsys.readouterr().out.partition("next:\n")[2].partition("\n\n")[0].splitlines()
    enter, *commands = map(shlex.split, steps)
    assert enter == ["cd", "my project"]
    monkeypatch.chdir(here / enter[1])
    assert [command[:2] for command in commands] == [
        ["cepheid", "check"],
        ["cepheid", "test"],
        ["cepheid", "why"],
        ["cepheid", "backtest"],
    ]
    for command in commands:
        assert main(command[1:]) == 0, command
    told = capsys.readouterr().out
    assert "1 rule in order\n" in told
    assert "0 failed" in told
    assert "0 composite events" not in told


def test_the_documentation_shows_what_is_printed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["new", "fire"])
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    assert f"$ cepheid new fire\n{capsys.readouterr().out}" in page


@pytest.mark.parametrize("language", languages())
def test_the_tests_of_a_project_are_of_its_rule_and_its_schema(language: str, here: Path) -> None:
    main(["new", "made", "--language", language])
    (spec,) = Path("made/rules").glob("*.test")
    (file,) = (file for file in Path("made/rules").iterdir() if file != spec)
    schema = Path("made/events.schema").read_text("utf-8")
    rules = cepheid.load(file, schema=schema)
    assert rules.warnings == ()
    cases = read_cases(spec)
    assert {rule for case in cases for rule in case.load()} == set(rules)
    assert all(run_case(case).passed for case in cases)


def test_settings_of_a_project_are_those_of_a_job(here: Path) -> None:
    from cepheid.spark.project import project_of

    main(["new", "made"])
    project = project_of({}, Path("made/cepheid.yml"))
    assert project.format == "csv"
    assert [Path(path).exists() for path in (*project.rules, project.input or "")] == [True, True]


def test_backtest_takes_everything_from_the_project_file(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["new", "made"])
    monkeypatch.chdir(here / "made")
    capsys.readouterr()
    assert main(["backtest"]) == 0
    assert "Fire → Fire: 2 composite events" in capsys.readouterr().out


def test_nothing_is_written_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("full").mkdir()
    Path("full/notes.txt").write_text("mine")
    Path("file").write_text("mine")
    for name, what in {"full": "a folder with files in it", "file": "a file"}.items():
        assert main(["new", name]) == 1
        assert f"{name} is {what}" in capsys.readouterr().err
    assert [file.name for file in Path("full").iterdir()] == ["notes.txt"]
    assert Path("file").read_text() == "mine"


def test_an_empty_folder_will_do(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "."]) == 0
    told = capsys.readouterr().out
    assert "  cd " not in told
    assert Path("cepheid.yml").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_where_nothing_can_be_written_is_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here.chmod(0o500)
    assert main(["new", "made"]) == 1
    assert "made cannot be made: Permission denied" in capsys.readouterr().err


def test_a_wheel_carries_the_templates(tmp_path: Path) -> None:
    """Installed from a wheel, without the sources, `cepheid new` makes the same project."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    done = subprocess.run(
        [sys.executable, "-m", "cepheid", "new", "made", "--language", "sase"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "made" / "rules" / "theft.sase").exists()
    assert (tmp_path / "made" / ".gitignore").read_text() == "found/\n"
