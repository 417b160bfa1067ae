"""`cepheid test`: run spec files, show what differs."""

from __future__ import annotations

import argparse
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

from cepheid.cli.capture import add_capture, capture_command
from cepheid.errors import SpecError
from cepheid.testing import RUNTIMES, SPARK_RUNTIMES, Result, read_cases, run_cases

TEST_HELP = """\
examples:
  cepheid test fire.test                the cases of a spec file
  cepheid test tests/ --runtime all     every *.test below a folder, on every runtime

  make a case from real data, checked before it is written:
  cepheid test --capture fire.tesla --input day.parquet --match 1 --rule R1 --to fire.test
  cepheid test --capture fire.tesla --input day.parquet --id 11aa4f2a >> fire.test
  cepheid test --capture fire.tesla --input day.parquet --rule R1 --key area=A1 \\
      --around "2026-07-01 12:20"       what the rule finds there, or that it finds nothing
"""


def add_test(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its arguments."""
    command = commands.add_parser(
        "test",
        help="run spec files: rules with events and what they must give",
        epilog=TEST_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("specs", nargs="+", type=Path, metavar="SPEC", help="files or folders")
    command.add_argument("--runtime", choices=[*RUNTIMES, *SPARK_RUNTIMES, "all"], default="oracle")
    add_capture(command)
    command.set_defaults(run=test_command)


def test_command(options: argparse.Namespace) -> int:
    """Run the cases of spec files; 0 when all of them pass."""
    if options.capture:
        return capture_command(options)
    runtimes = _everywhere() if options.runtime == "all" else [options.runtime]
    if not set(runtimes).isdisjoint(SPARK_RUNTIMES) and not find_spec("pyspark"):
        print(
            "error: Spark is not installed\n\nhint: pip install 'cepheid[spark]'", file=sys.stderr
        )
        return 2
    try:
        cases = [
            case for path in options.specs for file in _files(path) for case in read_cases(file)
        ]
    except SpecError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    failed = ran = 0
    for runtime in runtimes:
        for result in run_cases([case for case in cases if case.runs_on(runtime)], runtime):
            ran += 1
            if not result.passed:
                failed += 1
                print(_shown(result, runtime))
    print(f"{ran - failed} passed, {failed} failed{_left_out(len(cases) * len(runtimes) - ran)}")
    return 1 if failed or not ran else 0


def _everywhere() -> list[str]:
    """All runtimes that are there."""
    return [*RUNTIMES, *(SPARK_RUNTIMES if find_spec("pyspark") else ())]


def _left_out(count: int) -> str:
    """What is said of cases whose events arrive in a way that a runtime does not know."""
    return f", {count} left out (they need --runtime embedded or spark-stream)" if count else ""


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*.test") if file.is_file())


def _shown(result: Result, runtime: str) -> str:
    case = result.case
    difference = textwrap.indent(result.difference, "  ")
    return f"FAILED {case.place} on {runtime}: {case.name}\n{difference}\n"
