"""`cepheid run`: the Spark job, batch or stream."""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from cepheid.cli.loading import loaded
from cepheid.errors import CepheidError, ProjectError
from cepheid.spark.causes import cause_of, in_commands
from cepheid.spark.progress import Progress
from cepheid.spark.project import OPTIONS, SUBMIT, Option, Project, project_of

if TYPE_CHECKING:
    from cepheid.rules import Rules

DONE, FAILED, USAGE = 0, 1, 2
"""Exit statuses; a job that was stopped by a signal ends with 128 and its number, as usual."""
_SIGNALLED = 128

RUN_HELP = """\
examples:
  cepheid run fire.tesla --input events/ --output fires/
  cepheid run rules/ --input events.jsonl --unit ms --output-format console
  cepheid run rules/ --stream --input events/ --output fires/ --late late/ --dead-letter bad/
  cepheid run rules/ --stream --input kafka://localhost:9092/events --schema events.schema \\
      --output kafka://localhost:9092/fires --checkpoint state/
  cepheid run --project cepheid.yml --master spark://host:7077 --executor-memory 4g

Settings may stand in a file cepheid.yml, under the same names; see docs/run.md.
Exit status: 0 done, 1 the job failed, 2 it was not begun (usage, rules, columns, no Java),
130 stopped with Ctrl-C.
"""


def add_run_arguments(command: argparse.ArgumentParser) -> None:
    """All settings of a job as arguments."""
    command.add_argument("rules", nargs="*", metavar="RULES", help=OPTIONS["rules"].about)
    command.add_argument("--project", type=Path, metavar="FILE", help="settings, cepheid.yml")
    for name, option in OPTIONS.items():
        if name != "rules":
            _add(command, name, option)
    spark = command.add_argument_group("Spark", "handed on to spark-submit")
    for name, option in SUBMIT.items():
        _add(spark, name, option)
    command.set_defaults(run=run_command)


def _add(command: argparse._ActionsContainer, name: str, option: Option) -> None:
    flag = f"--{name.replace('_', '-')}"
    about = option.about.replace("%", "%%")
    if option.kind == "flag":
        action = argparse.BooleanOptionalAction
        command.add_argument(flag, action=action, default=None, help=about)
    elif option.kind == "pairs" or name == "packages":
        command.add_argument(flag, action="append", metavar=option.shown, help=about)
    else:
        command.add_argument(flag, metavar=option.shown, help=about)


def run_command(options: argparse.Namespace) -> int:
    """Run a job; the result is the exit status."""
    given = {name: getattr(options, name) for name in (*OPTIONS, *SUBMIT)}
    try:
        project = project_of(given, options.project)
    except ProjectError as error:
        return _told(error)
    rules = loaded(
        argparse.Namespace(
            rules=[Path(path) for path in project.rules],
            language=project.language,
            schema=Path(project.schema) if project.schema else None,
        )
    )
    if rules is None:
        return USAGE
    try:
        return _run(project, rules)
    except KeyboardInterrupt:
        return _SIGNALLED + 2


def _run(project: Project, rules: Rules) -> int:
    try:
        from cepheid.spark.run import Stopped, run
        from cepheid.spark.session import placed, started
    except ImportError as error:
        return _told(f"Spark is not installed: {error.name}\n\nhint: pip install 'cepheid[spark]'")
    project = placed(project)
    progress = Progress(project.progress or "auto")
    log: Path | None = None
    try:
        with started(project, rules, progress.say) as (spark, log):
            run(project, rules, spark, progress)
        progress.end("done")
        status = DONE
    except Stopped as stop:
        progress.end(str(stop))
        status = _SIGNALLED + stop.number
    except CepheidError as error:
        progress.clear()
        status = _told(error)
    except Exception as error:
        progress.end("failed")
        status = _failed(error, project, log)
        log = None
    if log is not None:
        log.unlink(missing_ok=True)
    return status


def _failed(error: Exception, project: Project, log: Path | None) -> int:
    """Tell why a job failed; Spark's own messages are kept."""
    if project.verbose:
        traceback.print_exception(error)
    else:
        kept = f", and what Spark said is in {log}" if log else ""
        kept = f"\n\n--verbose shows the whole trace{kept}"
    print(f"error: {cause_of(error)}{'' if project.verbose else kept}", file=sys.stderr)
    return FAILED


def _told(error: object) -> int:
    print(f"error: {in_commands(str(error))}", file=sys.stderr)
    return USAGE
