"""The command line, as a person runs it: exit statuses, messages, and never a traceback."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import cepheid
from cepheid.cli.main import main, parser
from tests.cases import SPEC

RULE = "Rule Hot\ndefine Alarm(area: string)\nfrom Temp(value > 45)\nwhere area = Temp.area\n"
CASE = """\
# hot readings give an alarm
language: tesla
rule:
  Rule Hot
  define Alarm(area: string)
  from Temp(value > 45)
  where area = Temp.area
events:
  Temp@1(area="A1", value=50.0)
  Temp@2(area="A2", value=40.0)
expect:
  Alarm@1(area="A1")
"""


def run(
    *arguments: str | Path, cwd: Path | None = None, encoding: str = "utf-8"
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "cepheid", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done


# --- the command -------------------------------------------------------------


def test_help_lists_the_commands() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "check" in done.stdout
    assert "test" in done.stdout


def commands() -> dict[str, argparse.ArgumentParser]:
    (found,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(found.choices)


def shown(text: str) -> list[list[str]]:
    """The commands of an example's lines, without what is said beside them or in pipes."""
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = re.findall(r"^  (?:source <\()?cepheid (.*)$", joined, re.MULTILINE)
    return [shlex.split(re.split(r"\s{2,}|[>|)]", line)[0]) for line in lines]


@pytest.mark.parametrize("command", commands())
def test_help_of_a_command_shows_examples_that_can_be_run(command: str) -> None:
    epilog = commands()[command].epilog or ""
    assert epilog.startswith("examples:\n")
    examples = shown(epilog)
    assert command in {words[0] for words in examples}
    for words in examples:
        parser().parse_args(words)


def test_help_shows_how_to_begin() -> None:
    examples = shown(parser().epilog or "")
    assert [words[0] for words in examples] == ["new", "test", "why", "backtest", "explain"]
    for words in examples:
        parser().parse_args(words)


def test_a_command_that_is_stopped_ends_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "hot.tesla").write_text(RULE)
    monkeypatch.setattr("cepheid.cli.check.loaded", stop)
    assert main(["check", str(tmp_path / "hot.tesla")]) == 130
    assert capsys.readouterr().err == "\nstopped\n"


def test_version_is_that_of_the_package() -> None:
    assert run("--version").stdout.strip() == f"cepheid {cepheid.__version__}"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["chekc", "x"],
        ["check"],
        ["test"],
        ["check", "x", "--language", "english"],
        ["test", "x", "--runtime", "abacus"],
    ],
)
def test_a_wrong_command_ends_with_status_2_and_usage(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "usage: cepheid" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["chekc", "x"], "hint: did you mean check?"),
        (["check", "x", "--langauge", "sase"], "cepheid check: error: unrecognized arguments"),
        (["check", "x", "--langauge", "sase"], "hint: did you mean --language?"),
        (["run", "x", "--narow"], "hint: did you mean --narrow or --no-narrow?"),
        (["test", "x", "--runtime=embeded"], "hint: did you mean embedded?"),
    ],
)
def test_a_word_that_is_almost_right_is_told_with_the_right_one(
    arguments: list[str], told: str
) -> None:
    assert told in run(*arguments).stderr


# --- check -------------------------------------------------------------------


def test_check_of_good_rules_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "hot.tesla").write_text(RULE)
    done = run("check", "hot.tesla", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 rule in order\n", "")


def test_check_of_a_folder_reads_every_rule_file_below_it(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "hot.tesla").write_text(RULE)
    (tmp_path / "deep" / "q.sase").write_text("QUERY Q EVENT Alarm a")
    (tmp_path / "deep" / "er" / "x.ce").write_text("define X as [Q]")
    (tmp_path / "notes.txt").write_text("no rules")
    done = run("check", tmp_path)
    assert (done.returncode, done.stdout) == (0, "3 rules in order\n")


def test_check_tells_errors_with_file_line_column_and_counts_them(tmp_path: Path) -> None:
    (tmp_path / "hot.tesla").write_text(RULE.replace("Temp.area", "Tmep.area") + "\nRule R2 define")
    done = run("check", "hot.tesla", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert (
        "hot.tesla:4:14: error: no event of rule Hot is called Tmep [UNKNOWN_LABEL]" in done.stderr
    )
    assert "  4 | where area = Tmep.area\n    |              ^^^^" in done.stderr
    assert "hint: did you mean Temp?" in done.stderr
    assert "hot.tesla:6:15: error: the end of the rule cannot stand here [SYNTAX]" in done.stderr
    assert done.stderr.endswith("2 errors\n")


def test_check_tells_warnings_and_still_succeeds(tmp_path: Path) -> None:
    (tmp_path / "q.sase").write_text("QUERY Q EVENT SEQ(A x, B y)")
    done = run("check", "q.sase", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1 rule in order, 1 remark\n")
    assert "warning: rule Q may keep events for ever" in done.stderr


def test_check_takes_the_language_of_a_file_with_another_ending(tmp_path: Path) -> None:
    (tmp_path / "hot.txt").write_text(RULE)
    unknown = run("check", "hot.txt", cwd=tmp_path)
    assert unknown.returncode == 1
    assert "the language of hot.txt must follow from its ending" in unknown.stderr
    assert run("check", "hot.txt", "--language", "tesla", cwd=tmp_path).returncode == 0


def test_a_file_that_ends_in_the_name_of_a_language_is_told_the_ending(tmp_path: Path) -> None:
    (tmp_path / "door.core").write_text("define X as [a: A]")
    done = run("check", "door.core", cwd=tmp_path)
    assert done.returncode == 1
    assert "hint: call it door.ce, or name the language" in done.stderr


def test_check_uses_a_schema(tmp_path: Path) -> None:
    (tmp_path / "hot.tesla").write_text(RULE)
    (tmp_path / "good.schema").write_text("Temp(area: string, value: double)")
    (tmp_path / "other.schema").write_text("Temp(value: double)")
    assert run("check", "hot.tesla", "--schema", "good.schema", cwd=tmp_path).returncode == 0
    done = run("check", "hot.tesla", "--schema", "other.schema", cwd=tmp_path)
    assert done.returncode == 1
    assert "event Temp in rule Hot has no attribute area [UNKNOWN_ATTRIBUTE]" in done.stderr


def test_check_of_a_schema_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "hot.tesla").write_text(RULE)
    (tmp_path / "bad.schema").write_text("Temp(value: colour)")
    (tmp_path / "latin.schema").write_bytes(b"Temp(gr\xf6\xdfe: int)")
    for schema, message in {
        "bad.schema": "the type of value must be string, int, double or bool",
        "none.schema": "No such file",
        "latin.schema": "not UTF-8 text",
        ".": "s a directory",
    }.items():
        done = run("check", "hot.tesla", "--schema", schema, cwd=tmp_path)
        assert done.returncode == 1
        assert message in done.stderr
        assert schema in done.stderr


def test_check_of_files_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "latin.tesla").write_bytes(b"Rule R define Gr\xf6\xdfe() from A")
    (tmp_path / "empty.tesla").write_text("")
    (tmp_path / "binary.sase").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    for path, message in {
        "latin.tesla": "it is not UTF-8 text",
        "none.tesla": "No such file",
        "empty.tesla": "there is no rule in",
        "binary.sase": "it is not UTF-8 text",
        "folder": "no rule",
        "none": "No such file",
    }.items():
        done = run("check", path, cwd=tmp_path)
        assert done.returncode == 1, path
        assert message in done.stderr, path
        assert path in done.stderr


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read every file")
def test_check_of_a_file_without_permission_says_so(tmp_path: Path) -> None:
    (tmp_path / "secret.tesla").write_text(RULE)
    (tmp_path / "secret.tesla").chmod(0)
    done = run("check", "secret.tesla", cwd=tmp_path)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr


def test_check_reads_files_with_a_byte_order_mark_and_windows_lines(tmp_path: Path) -> None:
    (tmp_path / "hot.tesla").write_bytes(b"\xef\xbb\xbf" + RULE.replace("\n", "\r\n").encode())
    assert run("check", "hot.tesla", cwd=tmp_path).returncode == 0


def test_check_prints_on_a_terminal_that_knows_only_ascii(tmp_path: Path) -> None:
    (tmp_path / "x.ce").write_text("define Größe as [Tür]* where é = '中'", encoding="utf-8")
    done = run("check", "x.ce", cwd=tmp_path, encoding="ascii")
    assert done.returncode == 1
    assert "error" in done.stderr


def test_test_prints_on_a_terminal_that_knows_only_ascii(tmp_path: Path) -> None:
    (tmp_path / "x.test").write_text(CASE.replace("A1", "Größe 中", 1), encoding="utf-8")
    done = run("test", "x.test", cwd=tmp_path, encoding="ascii")
    assert done.returncode == 1
    assert r'unexpected: Alarm@1(area="Gr\xf6\xdfe \u4e2d")' in done.stdout


def test_check_of_a_hostile_file_ends_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "deep.ce").write_text("define X as " + "(" * 10_000)
    (tmp_path / "long.ce").write_text("define X as [A]\n" * 50_000)
    for name in ("deep.ce", "long.ce"):
        done = run("check", name, cwd=tmp_path)
        assert done.returncode == 1
        assert "LIMIT_EXCEEDED" in done.stderr


# --- test --------------------------------------------------------------------


def test_test_of_passing_cases_counts_them(tmp_path: Path) -> None:
    (tmp_path / "hot.test").write_text(f"{CASE}---\n{CASE}")
    done = run("test", "hot.test", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 passed, 0 failed\n", "")


def test_test_shows_what_is_missing_and_what_is_unexpected_and_by_which_rule(
    tmp_path: Path,
) -> None:
    (tmp_path / "hot.test").write_text(CASE.replace('Alarm@1(area="A1")', 'Alarm@2(area="A2")'))
    done = run("test", "hot.test", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == (
        "FAILED hot.test:1 on oracle: hot readings give an alarm\n"
        '  missing:    Alarm@2(area="A2")\n'
        '  unexpected: Alarm@1(area="A1")  (rule Hot)\n'
        "\n"
        "0 passed, 1 failed\n"
    )


def test_test_shows_errors_that_were_not_expected(tmp_path: Path) -> None:
    (tmp_path / "hot.test").write_text(CASE.replace("value > 45", "value > $limit"))
    done = run("test", "hot.test", cwd=tmp_path)
    assert done.returncode == 1
    assert "the rules are not accepted:" in done.stdout
    assert "parameter $limit in rule Hot is bound nowhere [UNKNOWN_PARAMETER]" in done.stdout


def test_test_shows_an_error_that_does_not_come(tmp_path: Path) -> None:
    without = CASE[: CASE.index("events:")]
    (tmp_path / "hot.test").write_text(f"{without}error:\n  something else\n")
    done = run("test", "hot.test", cwd=tmp_path)
    assert done.returncode == 1
    assert "expected an error: something else\n  but the rules are accepted" in done.stdout


def test_test_shows_a_warning_that_does_not_come(tmp_path: Path) -> None:
    (tmp_path / "hot.test").write_text(CASE.replace("expect:", "warning:\n  beware\nexpect:"))
    done = run("test", "hot.test", cwd=tmp_path)
    assert done.returncode == 1
    assert "expected a warning: beware\n  but got:\n  none" in done.stdout


def test_test_of_a_folder_runs_every_spec_file_below_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.test").write_text(CASE)
    (tmp_path / "deep" / "b.test").write_text(CASE)
    (tmp_path / "notes.txt").write_text("no spec")
    done = run("test", tmp_path, "--runtime", "embedded")
    assert (done.returncode, done.stdout) == (0, "2 passed, 0 failed\n")


def test_test_leaves_out_what_the_oracle_does_not_know(tmp_path: Path) -> None:
    hurried = CASE.replace("expect:", "options:\n  policy = best_effort\nexpect:")
    (tmp_path / "hot.test").write_text(f"{CASE}---\n{hurried}")
    done = run("test", tmp_path)
    told = "1 passed, 0 failed, 1 left out (they need --runtime embedded or spark-stream)\n"
    assert (done.returncode, done.stdout) == (0, told)
    done = run("test", tmp_path, "--runtime", "embedded")
    assert (done.returncode, done.stdout) == (0, "2 passed, 0 failed\n")


def test_test_without_a_case_fails(tmp_path: Path) -> None:
    done = run("test", tmp_path)
    assert (done.returncode, done.stdout) == (1, "0 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "a section is needed; got hello"),
        (CASE.replace("language: tesla\n", ""), "a case must have a section language"),
        (CASE.replace("expect:\n", "expects:\n"), "section expects is not known"),
        (CASE + "error:\n  x\n", "either expect or error"),
        (CASE + "expect:\n", "section expect must stand once"),
        (CASE + "options:\n  untill = 5\n", "option untill is not known"),
        (CASE.replace("Temp@1(", "Temp@("), "a time such as 10, 1.5s or 3min is needed"),
        (CASE.replace("Alarm@1(", "Alarm@1[("), "events of the case cannot be read"),
    ],
)
def test_test_of_a_broken_spec_file_tells_file_and_line(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "hot.test").write_text(text)
    done = run("test", "hot.test", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: hot.test:")
    assert message in done.stderr


def test_test_of_files_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "latin.test").write_bytes(b"# gr\xf6\xdfe\n")
    for path in ("latin.test", "none.test"):
        done = run("test", path, cwd=tmp_path)
        assert done.returncode == 2
        assert f"spec file {path} cannot be read" in done.stderr


def test_test_with_a_wrong_option_fails_readably(tmp_path: Path) -> None:
    (tmp_path / "hot.test").write_text(f"{CASE}options:\n  until = soon\n")
    done = run("test", "hot.test", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert "soon" in done.stdout + done.stderr


def test_test_with_an_unknown_language_fails_readably(tmp_path: Path) -> None:
    (tmp_path / "hot.test").write_text(CASE.replace("language: tesla", "language: tesle"))
    done = run("test", "hot.test", cwd=tmp_path)
    assert done.returncode == 1
    assert "did you mean tesla?" in done.stdout


def test_a_reader_that_goes_away_ends_the_command_quietly(tmp_path: Path) -> None:
    (tmp_path / "hot.test").write_text("---\n".join([CASE.replace("A1", "A3", 1)] * 3000))
    command = subprocess.Popen(
        [sys.executable, "-m", "cepheid", "test", "hot.test"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    assert command.stderr is not None
    command.stdout.readline()
    command.stdout.close()
    told = command.stderr.read()
    command.stderr.close()
    command.wait(timeout=60)
    assert "Traceback" not in told
    assert "BrokenPipe" not in told


def test_the_specification_passes_from_the_command_line() -> None:
    done = run("test", SPEC / "tesla_paper.test")
    assert done.returncode == 0
    assert done.stdout.endswith(" passed, 0 failed\n")
