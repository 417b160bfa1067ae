"""The examples work: rules without remarks, spec files that pass, demos that find what is there."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import cepheid
from cepheid.languages import LANGUAGES
from cepheid.testing import Case, read_cases, run_case

EXAMPLES = Path(__file__).parents[1] / "examples"
SPECS = sorted(EXAMPLES.rglob("*.test"))
ENDINGS = {language.ending for language in LANGUAGES.values()}
RULE_FILES = sorted(file for file in EXAMPLES.rglob("*") if file.suffix in ENDINGS)
DEMOS = sorted(EXAMPLES.glob("*/demo.py"))
FOLDERS = sorted(file.parent for file in EXAMPLES.glob("*/README.md"))
CASES = [case for file in SPECS for case in read_cases(file)]


def _place(item: Path | Case) -> str:
    return item.name if isinstance(item, Path) else f"{Path(item.source).name}:{item.line}"


@pytest.mark.parametrize("case", CASES, ids=_place)
def test_the_case_of_an_example_passes(case: Case) -> None:
    result = run_case(case)
    assert result.passed, result.difference


@pytest.mark.parametrize("file", RULE_FILES, ids=_place)
def test_the_rules_of_an_example_give_no_remark(file: Path) -> None:
    assert cepheid.load(file).warnings == ()


@pytest.mark.parametrize("file", RULE_FILES, ids=_place)
def test_spec_files_test_exactly_the_rules_of_the_example(file: Path) -> None:
    cases = read_cases(file.with_suffix(".test"))
    assert {rule for case in cases for rule in case.load()} == set(cepheid.load(file))


@pytest.mark.parametrize("demo", DEMOS, ids=lambda demo: demo.parent.name)
def test_a_demo_finds_what_it_planted(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = runpy.run_path(str(demo))["main"]()
    assert status == 0, capsys.readouterr().out


def test_a_demo_runs_from_the_command_line() -> None:
    demo = [sys.executable, str(EXAMPLES / "fire" / "demo.py")]
    done = subprocess.run(demo, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Every planted fire was found, and nothing else." in done.stdout


def test_every_example_has_rules_tests_event_types_a_script_and_a_page() -> None:
    readme = (EXAMPLES / "README.md").read_text("utf-8")
    for folder in FOLDERS:
        files = {file.suffix: file for file in folder.iterdir()}
        assert {".test", ".schema", ".py", ".md"} <= files.keys(), folder
        assert f"[{folder.name}]({folder.name}/README.md)" in readme


@pytest.mark.parametrize("folder", FOLDERS, ids=_place)
def test_rules_fit_the_event_types_of_the_example(folder: Path) -> None:
    cepheid.load(folder, schema=(folder / "events.schema").read_text("utf-8"))
