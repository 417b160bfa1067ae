"""`cepheid completion`: the scripts know every command and option; bash proposes what fits."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cepheid.cli import main

BASH = shutil.which("bash")
ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
_cepheid
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", "bash"]) == 0
    file = tmp_path / "cepheid.bash"
    file.write_text(capsys.readouterr().out)
    return file


def proposed(script: Path, *words: str) -> list[str]:
    assert BASH is not None
    command = [BASH, "--noprofile", "--norc", "-c", ASK, "bash", str(script), "cepheid", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["ba"], {"backtest"}),
        (["explain", "--format", ""], {"text", "dot", "mermaid", "svg"}),
        (["explain", "rules/", "--for"], {"--format"}),
        (["check", "--language", "s"], {"sase"}),
        (["test", "--runtime", "spark"], {"spark-batch", "spark-stream"}),
        (["run", "--output-format", "c"], {"csv", "console"}),
        (["completion", "f"], {"fish"}),
        (["backtest", "rules/", "--by", "d"], {"day"}),
        (["check", ""], set()),
        (["check", "--schema", ""], set()),
    ],
)
def test_bash_proposes_what_fits(script: Path, words: list[str], some: set[str]) -> None:
    """Where nothing is proposed, bash itself proposes files."""
    assert set(proposed(script, *words)) == some


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_proposes_every_command_first(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = set(proposed(script, ""))
    assert {"new", "check", "explain", "test", "run", "backtest", "completion"} <= found
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert all(name in told for name in found if not name.startswith("-"))


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_has_every_command_and_option(
    shell: str, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    told = capsys.readouterr().out
    assert "backtest" in told
    assert ("--runtime" if shell == "zsh" else "-l runtime") in told
    program = shutil.which(shell)
    if program is not None:
        (tmp_path / "script").write_text(told)
        subprocess.run([program, "-n", str(tmp_path / "script")], check=True)


def test_an_unknown_shell_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "tcsh"])
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
