"""Where Cepheid loses: targets that are missed, engines that are faster, answers that are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench.document.tables import MIB, TITLES, called, is_reduced, known_ratio, number
from bench.peers.contests import contests
from bench.peers.engines import OWN
from bench.recorded import PARTS, Record, Results

T_REX = 12_000
"""Events a second that T-Rex takes with `last` and a queue of 100, as its paper says."""


def section(results: Results) -> str:
    """All losses, as a list; the plain sentence if there are none."""
    short = ", ".join(TITLES[part] for part in PARTS if is_reduced(results, part))
    lines = [f"Measured with few events, so of little weight here: {short}."] * bool(short)
    lines += [*_wrong(results), *_missed(results), *_known(results), *_queue(results)]
    lines += _peers(results)
    left = [TITLES[part] for part in PARTS if part not in results.files]
    held = {record["contest"] for record in results.contests}
    left += [f"`{contest.name}`" for contest in contests() if held and contest.name not in held]
    if left:
        lines.append(f"Not measured yet, so not known: {', '.join(left)}.")
    return "\n".join(f"- {line}" for line in lines) if lines else "Nowhere in what was measured."


def _wrong(results: Results) -> Iterator[str]:
    for part in PARTS:
        for figure in results.part(part):
            if not figure["right"]:
                yield f"**Wrong**: `{figure['name']}` {figure['error'] or 'gives another count'}."


def _missed(results: Results) -> Iterator[str]:
    """Targets that are missed, the worst first."""
    figures = [f for part in ("papers", "spark", "queue") for f in results.part(part)]
    missed = [figure for figure in figures if figure["ratio"] is not None and figure["ratio"] < 1]
    for figure in sorted(missed, key=lambda one: float(one["ratio"])):
        value, target = number(figure["value"]), number(figure["target"])
        unit = figure["unit"]
        yield f"Target missed: `{figure['name']}` is {value} {unit}, to reach was {target}."


def _known(results: Results) -> Iterator[str]:
    for figure in results.part("papers"):
        ratio = known_ratio(figure)
        if ratio is not None and ratio < 1:
            known = f"{number(figure['known'])} {figure['unit']}"
            yield f"Behind the paper's system: `{figure['name']}`, {number(ratio)} × of {known}."


def _queue(results: Results) -> Iterator[str]:
    """Events one by one, beside what T-Rex's paper says of its queue."""
    prefix = "queue/last/rates/size 100/"
    found = [f for f in results.part("queue") if f["name"].startswith(prefix)]
    kept = [float(figure["offered/s"]) for figure in found if figure["value"] < 1]
    if found and max(kept, default=0.0) < 0.99 * T_REX:
        yield (
            f"Event by event, a queue of 100 with `last` loses events beyond "
            f"{number(max(kept, default=0.0))} a second; T-Rex on six cores from {T_REX:,} on."
        )


def _peers(results: Results) -> list[str]:
    """What other engines do better; one line for all contests in which it is the same."""
    told: dict[tuple[str, str], list[str]] = {}
    ours = [r for r in results.contests if r["engine"] in ("cepheid", "cepheid on spark")]
    own = {(r["contest"], r["cores"]): r for r in ours}
    for result in (r for r in results.contests if r["engine"] not in OWN):
        for kind, what in _behind(result, own.get((result["contest"], result["cores"]))):
            told.setdefault((kind, called(result)), []).append(what)
    return [_line(kind, engine, whats) for (kind, engine), whats in told.items()]


def _line(kind: str, engine: str, whats: Sequence[str]) -> str:
    return f"{engine} {kind}: {'; '.join(whats)}."


def _behind(result: Record, own: Record | None) -> Iterator[tuple[str, str]]:
    """In what Cepheid is behind an engine in one contest, or not as far ahead as was the aim."""
    name, times, aim = f"`{result['contest']}`", result.get("cepheid"), result.get("aim")
    if not result["right"]:
        yield "gives no answer or another one without a known reason", name
    if times and times < 1:
        yield "is faster", f"{name} ({1 / times:.1f} ×)"
    elif times and aim and times < aim:
        yield "is slower, but by less than the aim", f"{name} ({times:.1f} × of {aim:g} ×)"
    if own is not None:
        yield from _smaller(result, own, name)


def _smaller(result: Record, own: Record, name: str) -> Iterator[tuple[str, str]]:
    if _less(result, own, "peak"):
        sizes = [number(one["peak"] / MIB) for one in (result, own)]
        yield "needs less memory", f"{name} ({sizes[0]} against {sizes[1]} MiB)"
    if _less(result, own, "p50"):
        waits = [number(one["p50"]) for one in (result, own)]
        yield "needs less time for one event alone", f"{name} ({waits[0]} against {waits[1]} µs)"


def _less(result: Mapping[str, float], own: Mapping[str, float], name: str) -> bool:
    return bool(result.get(name)) and bool(own.get(name)) and result[name] < own[name]
