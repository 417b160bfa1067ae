"""`python -m bench`: measure, print a table, write JSON; 1 when a count is wrong.

python -m bench [--only PATTERN] [--skip PATTERN] [--full] [--long] [--events N | --scale F]
                [--json FILE]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from bench import (
    embedded,
    fires,
    laipl,
    latency,
    memory,
    office,
    queueing,
    report,
    sase,
    scaling,
    sequences,
    where,
)
from bench.figure import Figure, Options, Task
from bench.measure import as_task

OUT = Path(__file__).parent / "out" / "figures.json"


def tasks() -> list[Task]:
    """Everything that can be measured; what refers to another figure comes after it."""
    families = (fires, sequences, sase, laipl, office)
    scenarios = [scenario for family in families for scenario in family.scenarios()]
    others = (embedded, memory, latency, where, scaling, queueing)
    return [*map(as_task, scenarios), *(task for module in others for task in module.tasks())]


def chosen(all_tasks: Iterable[Task], options: argparse.Namespace) -> list[Task]:
    """Those that the options ask for; a pattern asks for sweeps too, not for what is long."""
    return [
        task
        for task in all_tasks
        if (not options.only or any(_fits(task.name, pattern) for pattern in options.only))
        and not any(_fits(task.name, pattern) for pattern in options.skip)
        and (not task.sweep or options.full or options.only)
        and (not task.long or options.long)
    ]


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern if "*" in pattern else f"*{pattern}*")


def figures(task: Task, options: Options) -> Iterator[Figure]:
    """The figures of a task; an error is a wrong figure and does not stop the others."""
    try:
        yield from task.run(options)
    except Exception as error:  # whatever it is, it is shown, and the run fails
        said = str(error).split("\n", maxsplit=1)[0]
        yield Figure(task.name, 0.0, right=False, error=f"{type(error).__name__}: {said}")


def measure(picked: Sequence[Task], options: Options) -> dict[str, Figure]:
    """Measure one after the other, with the table on the way."""
    found: dict[str, Figure] = {}
    print(report.head(), flush=True)
    for number, task in enumerate(picked, 1):
        print(f"[{number}/{len(picked)}] {task.name} …", file=sys.stderr, flush=True)
        for figure in figures(task, options):
            found[figure.name] = figure
            print(report.row(figure, found), flush=True)
    return found


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--only", action="append", metavar="PATTERN", help="names that contain or match it")
    add("--skip", action="append", default=[], metavar="PATTERN", help="not these")
    add("--full", action="store_true", help="all sweeps of the papers' figures")
    add("--long", action="store_true", help="also what takes 50 million events")
    add("--events", type=int, help="events per scenario, instead of each scenario's own number")
    add("--scale", type=float, default=1.0, help="times each scenario's own number of events")
    add("--batch", type=int, default=Options.batch, help="events per batch (%(default)s)")
    add("--repeat", type=int, default=Options.repeat, help="runs to take the best of (%(default)s)")
    add("--shared", action="store_true", help="a row for every match, with the rules it counts for")
    add("--cpu", action="store_true", help="computing time, on a machine that others use too")
    add("--json", type=Path, default=OUT, help="where the figures are written (bench/out)")
    add("--list", action="store_true", help="say what there is, and measure nothing")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; 1 when something is wrong."""
    options = parsed(arguments)
    if options.list:
        for task in tasks():
            print(task.name, "(--full)" * task.sweep + "(--long)" * task.long)
        return 0
    picked = chosen(tasks(), options)
    if not picked:
        print("no scenario has such a name\n\nhint: --list shows all of them", file=sys.stderr)
        return 2
    names = ("events", "scale", "batch", "repeat", "cpu", "shared")
    given = {name: getattr(options, name) for name in names}
    found = measure(picked, Options(**given))
    print(report.summary(found))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    command = ["python", "-m", "bench", *(sys.argv[1:] if arguments is None else arguments)]
    options.json.write_text(report.as_json(found, command) + "\n", "utf-8")
    return 0 if all(figure.right for figure in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
