"""`python -m bench.peers`: the same events through every engine; answers first, then figures.

python -m bench.peers [--only PATTERN] [--engines NAME …] [--scale F] [--repeat N] [--json FILE]
python -m bench.peers --only PATTERN --again --json bench/results/peers.json

It ends with 1 if an engine gives no answer, or another answer than Cepheid without a reason that is
written down with the contest.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from bench.peers import data, table
from bench.peers.answers import compare
from bench.peers.contest import Contest
from bench.peers.contests import contests
from bench.peers.engines import CEPHEID, ENGINES, Engine, EngineError, Plan, build
from bench.peers.result import Result
from bench.streams import Stream

OUT = Path(__file__).parent.parent / "out" / "peers.json"


@dataclass(frozen=True)
class Options:
    """What to run and how."""

    engines: tuple[Engine, ...]
    scale: float
    repeat: int
    budget: float
    cpu: bool = False


def hold(contest: Contest, options: Options, folder: Path) -> list[Result]:
    """Let all engines run on the same events, Cepheid first: the others are compared with it."""
    count = max(1000, int(contest.events * options.scale))
    stream = contest.stream(count)
    entrants = [engine for engine in options.engines if engine.takes_part(contest)]
    data.write(contest, stream, folder, {engine.rules for engine in entrants if engine.rules})
    plan = Plan(count, contest.checked, options.budget, options.repeat)
    results: list[Result] = []
    for engine in entrants:
        print(f"  {engine.name} …", file=sys.stderr, flush=True)
        result = _entered(engine, contest, stream, folder, plan)
        results.append(_computed(result) if options.cpu else result)
        print(table.note(results[-1]), file=sys.stderr, flush=True)
    return results


def _computed(result: Result) -> Result:
    """The result with computing time in place of the wall's; that of all threads together."""
    found = result.found
    if found:
        found = {**found, "seconds": found["computed"], "wall": found["seconds"]}
    return replace(result, found=found)


def _entered(engine: Engine, contest: Contest, stream: Stream, folder: Path, plan: Plan) -> Result:
    answers = folder / f"{engine.name}.answers"
    try:
        found = engine.run(contest, folder, answers, plan)
    except EngineError as error:
        return Result(contest.name, engine.name, engine.cores, {}, wrong=str(error))
    said = _compared(engine, contest, folder)
    said = said or _counted(contest, stream, found["events"], found["composites"])
    why = contest.differs.get(engine.rules, "") if engine.rules else ""
    return Result(contest.name, engine.name, engine.cores, found, "" if why else said, why and said)


def _counted(contest: Contest, stream: Stream, events: int, count: int) -> str:
    """The number of composite events of the measured run against one that is counted otherwise."""
    if contest.expected is None:
        return ""
    expected = contest.expected(stream.head(events))
    total = expected if isinstance(expected, int) else sum(expected.values())
    return "" if total == count else f"{count} composite events of {events} events, not {total}"


def _compared(engine: Engine, contest: Contest, folder: Path) -> str:
    """What the engine found, composite event by composite event, against what Cepheid found."""
    own = data.read(folder / f"{CEPHEID.name}.answers", contest.width)
    other = data.read(folder / f"{engine.name}.answers", contest.width)
    if not len(own):
        return "nothing was found that could be compared"
    difference = compare(own, other)
    return str(difference) if difference else ""


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add, names = parser.add_argument, [engine.name for engine in ENGINES]
    add("--only", action="append", metavar="PATTERN", help="contests that contain or match it")
    add("--engines", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    add("--scale", type=float, default=1.0, help="times each contest's own number of events")
    add("--repeat", type=int, default=3, help="runs to take the median of (%(default)s)")
    add("--budget", type=float, default=3.0, help="seconds that a run may take (%(default)s)")
    add("--cpu", action="store_true", help="computing time, on a machine that others use too")
    add("--json", type=Path, default=OUT, help="where the results are written (bench/out)")
    add("--again", action="store_true", help="of the results in the file, keep the other contests")
    add("--list", action="store_true", help="say what there is, and run nothing")
    return parser.parse_args(arguments)


def chosen(only: Sequence[str] | None) -> list[Contest]:
    """The contests that are asked for."""
    return [
        contest
        for contest in contests()
        if not only or any(fnmatchcase(contest.name, p if "*" in p else f"*{p}*") for p in only)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Hold the contests that are asked for; 1 when something is wrong."""
    given = parsed(arguments)
    picked = chosen(given.only)
    if given.list or not picked:
        for contest in contests():
            print(contest.name)
        return 0 if given.list else 2
    engines = tuple(e for e in ENGINES if e.name in given.engines or e is CEPHEID)
    options = Options(engines, given.scale, given.repeat, given.budget, given.cpu)
    try:
        build({engine.module for engine in engines if engine.module})
    except EngineError as error:
        print(error, file=sys.stderr)
        return 2
    given.json.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(given.json.read_text("utf-8")) if given.again else None
    results: list[Result] = []
    for number, held in enumerate(_held(picked, options), 1):
        results += held
        # After each of them, as all of them take long.
        found = table.record(picked[:number], results, sys.argv[1:])
        found = found if before is None else table.merged(before, found)
        given.json.write_text(f"{json.dumps(found, indent=1)}\n", "utf-8")
    print(table.markdown(picked, results))
    return 1 if any(result.wrong for result in results) else 0


def _held(picked: Sequence[Contest], options: Options) -> Iterator[list[Result]]:
    for number, contest in enumerate(picked, 1):
        print(f"[{number}/{len(picked)}] {contest.name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="cepheid-peers-") as folder:
            yield hold(contest, options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
