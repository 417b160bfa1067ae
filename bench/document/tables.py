"""Tables of the document, from results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench import queueing
from bench.curves import PEERS
from bench.plots import plots
from bench.recorded import PARTS, Record, Results

TITLES = {
    "papers": "the papers' scenarios",
    "queue": "input queue",
    "spark": "Spark",
    "peers": "other engines",
}
COMMANDS = {part: f"make bench PARTS={part}" for part in PARTS}
NOT_YET = "Not measured yet: `{command}` does it."
MIB = 1024 * 1024
MORE = {
    "cepheid": "Cepheid",
    "cepheid on spark": "Cepheid on Spark",
    "cepheid on a dataframe": "Cepheid on Spark, a DataFrame",
    "flink 2 slots": "Flink CEP, 2 slots",
    "flink-sql 2 slots": "Flink SQL, 2 slots",
}
"""Engines that are in tables only."""
ENOUGH = 0.2
"""A scale below which figures say little."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None, unit: str = "") -> str:
    """A number as it is read: three digits and more without a point."""
    if value is None:
        return ""
    return (f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}") + unit


def missing(part: str) -> str:
    """What stands where a part has no results."""
    return NOT_YET.format(command=COMMANDS[part])


# --- where figures come from -----------------------------------------------------------------


def machine(results: Results) -> str:
    """When, on what and with which command each part was measured."""
    rows = []
    for part in PARTS:
        told = results.files.get(part, {}).get("machine", {})
        if not told:
            rows.append([TITLES[part], "not measured yet", "", "", f"`{COMMANDS[part]}`"])
            continue
        rows.append(_measured(TITLES[part], told, results.files[part].get("results", ())))
    for told in results.again:
        held = [result for result in results.contests if result["contest"] in told["contests"]]
        rows.append(_measured(", ".join(f"`{name}`" for name in told["contests"]), told, held))
    found = table(("part", "measured", "machine", "versions", "command"), rows)
    return "\n\n".join([found, *_notes(results), *_reduced(results)])


def _measured(title: str, told: Record, found: Sequence[Record]) -> list[str]:
    command = " ".join(map(_quoted, told.get("command", ())))
    cells = [_date(told), _place(told), _versions(told, found)]
    return [title, *cells, f"`{command}`" if command else "see below"]


def _date(told: Record) -> str:
    """When it was measured; of figures that were only copied, when they were published."""
    if "time" not in told:
        return f"published {told['published']}, time not recorded"
    return f"{told['time'].replace('T', ' ').removesuffix('+00:00')} UTC"


def _place(told: Record) -> str:
    cores = f"{told['cores']} cores" if "cores" in told else ""
    system = told.get("system", "").partition("-with")[0]
    return ", ".join(filter(None, (told.get("processor"), cores, system)))


def _notes(results: Results) -> list[str]:
    """What has to be said about where figures come from."""
    told = [(TITLES[part], file["machine"].get("note")) for part, file in results.files.items()]
    told += [(", ".join(again["contests"]), again.get("note")) for again in results.again]
    return [f"**{title}**: {note}" for title, note in told if note]


def _quoted(word: str) -> str:
    return f'"{word}"' if any(sign in word for sign in " *%") else word


def _versions(told: Record, found: Sequence[Record]) -> str:
    names = {"cepheid": "Cepheid", "python": "Python", "numba": "numba", "numpy": "numpy"}
    names |= {"pyarrow": "pyarrow"}
    own = [f"{title} {told[name]}" for name, title in names.items() if name in told]
    others = [result["version"] for result in found if result.get("version")]
    return ", ".join(dict.fromkeys([*own, *(v for v in others if not v.startswith("Cepheid"))]))


def _reduced(results: Results, parts: Sequence[str] = PARTS) -> list[str]:
    """A warning where fewer events were measured than scenarios have."""
    short = [part for part in parts if is_reduced(results, part)]
    if not short:
        return []
    named = ", ".join(TITLES[part] for part in short)
    return [
        f"**With fewer events than the scenarios have: {named}.** Windows are not full there and "
        "what is done once weighs more, so these figures tell that everything runs, not how fast."
    ]


def is_reduced(results: Results, part: str) -> bool:
    """Whether a part was measured with so few events that figures say little."""
    words = results.files.get(part, {}).get("machine", {}).get("command", ())
    if "--scale" not in words:
        return False
    return float(words[words.index("--scale") + 1]) < ENOUGH


# --- the papers' scenarios -------------------------------------------------------------------


def papers(results: Results) -> str:
    """The plain run; sweeps are in the plots."""
    from bench.__main__ import tasks

    plain = tuple(task.name for task in tasks() if not task.sweep)
    rows = [_row(figure) for figure in results.part("papers") if figure["name"].startswith(plain)]
    if not rows:
        return missing("papers")
    head = (
        "scenario",
        "figure",
        "unit",
        "to reach",
        "× target",
        "× known",
        "of limit",
        "composites/s",
        "check",
    )
    return table(head, rows)


def _row(figure: Record) -> list[str]:
    check = "right" if figure["right"] else f"WRONG {figure['error'] or ''}".strip()
    return [
        f"`{figure['name']}`",
        number(figure["value"]),
        figure["unit"],
        number(figure["target"]),
        number(figure["ratio"]),
        number(known_ratio(figure)),
        f"{figure['value'] / figure['limit']:.1%}" if figure.get("limit") else "",
        number(figure.get("composites/s")),
        check,
    ]


def known_ratio(figure: Record) -> float | None:
    """How far it is against what was known before: 1 and more means as good or better."""
    known, value = figure["known"], figure["value"]
    if not known or not value:
        return None
    return float(known / value if figure["better"] == "less" else value / known)


# --- plots -----------------------------------------------------------------------------------


def figures(results: Results) -> str:
    """Every experiment with its plot and what the paper says."""
    lines = _reduced(results, ("papers", "queue"))
    for plot in plots(results):
        lines += [f"### {plot.title}", f"The paper: {plot.said[0].lower()}{plot.said[1:]}"]
        if plot.drawn:
            lines.append(f"![{plot.title}](images/bench/{plot.name}.svg)")
        else:
            lines.append("Not measured yet.")
    return "\n\n".join(lines)


def queue(results: Results) -> str:
    """The highest offered rate at which a queue loses less than a hundredth."""
    figures = results.figures
    if not results.part("queue"):
        return missing("queue")
    rows = []
    for policy in queueing.RATES:
        for size in queueing.SIZES:
            prefix = f"queue/{policy}/rates/size {size}/"
            found = [figure for name, figure in figures.items() if name.startswith(prefix)]
            kept = [figure["offered/s"] for figure in found if figure["value"] < 1]
            most = max(found, key=lambda figure: float(figure["offered/s"]), default=None)
            lost = f"{most['value']:.0f} % at {most['offered/s']:,.0f}" if most else ""
            rows.append([policy, f"{size:,}", number(max(kept, default=None)), lost])
    return table(("policy", "queue", "events/s with less than 1 % lost", "lost at most"), rows)


def time(results: Results) -> str:
    """How much of an event's time is matching."""
    prefix = "where/"
    rows = [
        [
            f"`{figure['name'].removeprefix(prefix)}`",
            number(figure["value"]),
            number(figure["matching"]),
            number(figure["composites an event"]),
        ]
        for name, figure in results.figures.items()
        if name.startswith(prefix)
    ]
    head = ("scenario", "in all, ns", "of it matching, ns", "composite events per event")
    return table(head, rows) if rows else missing("papers")


# --- Spark -----------------------------------------------------------------------------------

SPARK = {
    "spark/batch": ("a finite table, 10,000 keys, few composite events",
                    "read, repartition, identity in Python"),
    "spark/stream": ("a stream, large micro-batches", "identity in Python, no state"),
    "spark/native source": ("files read past the JVM", "the same stream as a DataFrame"),
    "spark/small batches": ("micro-batches of 2,000 events", "streaming `groupBy().count()`"),
    "spark/keys 10": ("10 keys", "10,000 keys"),
    "spark/keys 1000000": ("a million keys", "10,000 keys"),
    "spark/1000 rules": ("1,000 rules of T-Rex's R2", "the embedded engine, one core"),
    "spark/state written": ("state written while a window keeps everything",
                            "bytes of the new events"),
}  # fmt: skip
"""What each figure is, and against what."""


def spark(results: Results) -> str:
    """The pipeline beside Spark without it."""
    rows = []
    for figure in results.part("spark"):
        what, against = SPARK.get(figure["name"], (figure["name"], ""))
        bound = "at most" if figure["better"] == "less" else "at least"
        wanted = f"{bound} {figure['target']:g} {figure['unit']}"
        more = f" ({figure['events/s']:,.0f} events/s)" if "events/s" in figure else ""
        rows.append([what, against, wanted, f"{figure['value']:.2f} {figure['unit']}{more}"])
    head = ("what", "against", "wanted", "measured")
    return table(head, rows) if rows else missing("spark")


# --- other engines ---------------------------------------------------------------------------


def peers(results: Results) -> str:
    """All engines on the same events."""
    rows = [_contest(result) for result in results.contests]
    if not rows:
        return missing("peers")
    head = ("contest", "engine", "cores", "events/s", "Cepheid is", "aim", "composites/s",
            "p50 µs", "p99 µs", "peak MiB", "answer")  # fmt: skip
    return "\n\n".join([table(head, rows), *_reasons(results)])


def _contest(result: Record) -> list[str]:
    times, aim = result.get("cepheid"), result.get("aim")
    seconds = result.get("seconds")
    return [
        f"`{result['contest']}`",
        called(result),
        str(result["cores"]),
        number(result["rate"]) if result["rate"] else "",
        f"{times:,.1f} ×" if times else "",
        f"{aim:g} ×" if aim and times else "",
        number(result["composites"] / seconds) if seconds else "",
        number(result.get("p50")),
        number(result.get("p99")),
        number(result["peak"] / MIB) if "peak" in result else "",
        answer(result),
    ]


def called(result: Record) -> str:
    """An engine's name as people know it."""
    return (PEERS | MORE).get(result["engine"], str(result["engine"]))


def answer(result: Record) -> str:
    """Whether an engine gave the same answer as Cepheid."""
    if not result["right"]:
        return "WRONG"
    return "same" if result["answer"] == "same" else "differs"


def _reasons(results: Results) -> list[str]:
    told: dict[tuple[str, str], list[str]] = {}
    for reason in results.files["peers"].get("reasons", ()):
        told.setdefault((called(reason), reason["why"]), []).append(f"`{reason['contest']}`")
    lines = [f"- {engine}: {why} ({', '.join(names)})" for (engine, why), names in told.items()]
    return ["Where an engine did not run, or means something else:", "\n".join(lines)] * bool(lines)


def spent(results: Results) -> str:
    """What of Cepheid's own time in contests is matching, and what a whole answer takes."""
    rows = [
        [
            f"`{result['contest']}`",
            number(1e9 * result["seconds"] / result["events"]),
            number(1e9 * result["kernel"] / result["events"]),
            number(1e9 * result["whole"] / result["events"]),
        ]
        for result in results.contests
        if result["engine"] == "cepheid" and "kernel" in result
    ]
    head = ("contest", "an event, ns", "of it matching, ns", "with ids and constituents, ns")
    return table(head, rows) if rows else missing("peers")
