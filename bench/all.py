"""`python -m bench.all`: measure everything, draw the plots, write docs/benchmarks.md.

python -m bench.all [--parts NAME …] [--quick] [--scale F] [--repeat N]

A part is measured by a command of its own into bench/out; what comes out of it is kept in
bench/results, from which plots and document are made. With --quick everything runs once, small, and
nothing is kept. It ends with 1 if a count is wrong, with 2 if a part could not be measured.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from bench import document, plots, recorded
from bench.document import losses, tables
from bench.recorded import Results

ROOT = Path(__file__).parent.parent
OUT = Path(__file__).parent / "out"

COMMANDS = {
    "papers": ("bench", "--full", "--long", "--skip", "queue/*"),
    "queue": ("bench", "--full", "--only", "queue/*"),
    "spark": ("bench.spark",),
    "peers": ("bench.peers", "--budget", "2", "--repeat", "2"),
}
"""What measures a part."""
SCALED = ("--scale", "0.02", "--repeat", "1")
SHORT = ("--budget", "0.5", *SCALED)
QUICK = {
    "papers": ("bench", *SCALED),
    "queue": ("bench", "--only", "queue/filters", "--only", "queue/last/*/size 100", *SCALED),
    "spark": ("bench.spark", "--only", "batch", "--only", "small", *SCALED),
    "peers": ("bench.peers", "--only", "logins", "--engines", "cepheid", "esper", "flink", *SHORT),
}  # fmt: skip
"""The same, small."""
PARTS = (*COMMANDS, "plots", "document")
WRONG, FAILED = 1, 2


def measure(part: str, words: Sequence[str], out: Path) -> int:
    """Run the command of a part; how it ended."""
    module, *rest = words
    if find_spec(module) is None:
        print(f"{part}: there is no {module} here, so it is left out", file=sys.stderr)
        return 0
    out.parent.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    # What is measured notes its command, which is to be one for every machine.
    place = out.relative_to(ROOT) if out.is_relative_to(ROOT) else out
    command = [sys.executable, "-m", module, *rest, "--json", str(place)]
    print(f"\n{part}: python -m {' '.join(words)}", flush=True)
    ended = subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603 (our own)
    if ended not in (0, WRONG) or not out.exists():
        print(f"{part}: could not be measured; its former figures stay", file=sys.stderr)
        return FAILED
    return ended


def draw(results: Results, folder: Path) -> int:
    """Draw all plots, if there is what draws."""
    if find_spec("matplotlib") is None:
        print(
            "plots must have matplotlib to be drawn; it is not installed\n\n"
            "hint: pip install -r requirements/bench.lock",
            file=sys.stderr,
        )
        return FAILED
    written = plots.draw_all(results, folder)
    print(f"plots: {len(written)} in {folder}")
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="python -m bench.all", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="NAME", help=", ".join(PARTS))
    add("--quick", action="store_true", help="everything once, small; keeps nothing")
    add("--scale", help="times each scenario's own number of events")
    add("--repeat", help="runs to take the best of")
    add("--results", type=Path, default=recorded.FOLDER, help="where results are kept")
    add("--images", type=Path, default=plots.FOLDER, help="where plots are written")
    add("--page", type=Path, default=document.OUT, help="the document to write")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the parts that are asked for, in their order."""
    options = parsed(arguments)
    if options.quick:
        return _quick(options)
    given = [*(("--scale", options.scale) if options.scale else ())]
    given += ("--repeat", options.repeat) if options.repeat else ()
    ended = []
    for part in [part for part in COMMANDS if part in options.parts]:
        out = OUT / f"{part}.json"
        ended.append(measure(part, (*COMMANDS[part], *given), out))
        if ended[-1] != FAILED and out.exists():
            options.results.mkdir(parents=True, exist_ok=True)
            shutil.copy(out, options.results / out.name)
    ended.append(_shown(options))
    return max(ended)


def _shown(options: argparse.Namespace) -> int:
    """Plots and document, from all results there are; after a measurement in any case."""
    results, ended = Results.read(options.results), 0
    if "plots" in options.parts or set(options.parts) & set(COMMANDS):
        ended = draw(results, options.images)
    if "document" in options.parts or set(options.parts) & set(COMMANDS):
        print(f"document: {document.write(results, options.page)}")
    return ended


def _quick(options: argparse.Namespace) -> int:
    """Every part once, small, in a folder that is thrown away; what came out is printed."""
    with tempfile.TemporaryDirectory(prefix="cepheid-bench-") as name:
        folder = Path(name)
        parts = [part for part in COMMANDS if part in options.parts]
        ended = [measure(part, QUICK[part], folder / f"{part}.json") for part in parts]
        results = Results.read(folder)
        ended.append(draw(results, folder / "images") if "plots" in options.parts else 0)
        if "document" in options.parts:
            document.write(results, folder / "benchmarks.md")
        print(f"\n{tables.machine(results)}\n\n{losses.section(results)}")
    return max(ended)


if __name__ == "__main__":
    sys.exit(main())
