"""`cepheid backtest`: rules over history: how often, when, and at what cost."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cepheid.cli.history import Dial, add_history, add_project, read_history, with_project
from cepheid.cli.loading import add_rules, count, loaded
from cepheid.errors import CepheidError
from cepheid.units import format_time

if TYPE_CHECKING:
    from cepheid.runtime.backtest import Backtest, Findings

DONE, FAILED, USAGE = 0, 1, 2
BACKTEST_HELP = """\
examples:
  cepheid backtest fire.tesla --input events.parquet       all rules of a file over a file
  cepheid backtest rules/ --input 2025/ 2026/ --by day     folders; composite events by day
  cepheid backtest rules/ --input e.jsonl --unit ms        times that count milliseconds
  cepheid backtest rules/ --input events.csv --each        what each rule costs by itself
  cepheid backtest rules/ --input events.csv --format json | jq .rules
  cepheid backtest                                         what cepheid.yml says

It runs in this process, on one core, without Spark, and reads all events into memory.
Exit status: 0 done, 1 the events cannot be used, 2 usage or rules.
"""
_SIZES = {
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}
_MONDAY = 4 * _SIZES["day"]
"""The first Monday after the epoch, from which weeks count."""
_SOME_ROWS = 62
"""How long a histogram may be before a coarser one is taken."""
_MANY = 10_000
"""From how many events on a time says something."""
_BARS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"
_WIDTH = 40


def add_backtest(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its arguments."""
    command = commands.add_parser(
        "backtest",
        help="run rules over history: how often, when, at what cost",
        epilog=BACKTEST_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_rules(command, needed=False)
    add_history(command)
    add_project(command)
    command.add_argument("--until", metavar="TIME", help="let time go on to this after the last")
    command.add_argument("--by", choices=list(_SIZES), help="what the histograms count by")
    command.add_argument("--top", type=int, default=5, metavar="N", help="so many keys a rule (5)")
    command.add_argument("--each", action="store_true", help="also time every rule by itself")
    command.add_argument("--format", choices=["text", "json"], default="text", help="of the report")
    command.set_defaults(run=backtest_command)


def backtest_command(options: argparse.Namespace) -> int:
    """Run rules over history and tell; the result is the exit status."""
    try:
        options = with_project(options)
    except CepheidError as error:
        return _told(error, USAGE)
    rules = loaded(options)
    if rules is None:
        return USAGE
    try:
        from cepheid.runtime.backtest import backtest

        dial = Dial(options.unit)
        until = None if options.until is None else dial.read(options.until)
        events = read_history(options, rules)
        with _Line() as line:
            result = backtest(
                rules, events, unit=options.unit, until=until, each=options.each, shown=line.show
            )
    except CepheidError as error:
        return _told(error, FAILED)
    if options.format == "json":
        print(json.dumps(as_json(result, dial, options.by, options.top), ensure_ascii=False))
    else:
        print("\n".join(as_text(result, dial, options.by, options.top)))
    return DONE


def _told(error: CepheidError, status: int) -> int:
    from cepheid.spark.causes import in_commands

    print(f"error: {in_commands(str(error))}", file=sys.stderr)
    return status


class _Line:
    """A line in the terminal that says how far it is; nothing where nobody looks."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._began = self._last = time.monotonic()

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def show(self, done: int, whole: int) -> None:
        """So much is done."""
        now = time.monotonic()
        if not self._shown or (now - self._last < 0.2 and done < whole):
            return
        self._last, rate = now, done / max(now - self._began, 1e-9)
        left = (whole - done) / rate
        text = f"{100 * done / whole:.0f} %, {rate:,.0f} events a second, {left:.0f} s left"
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


# --- when -----------------------------------------------------------------------------------


def histogram(result: Backtest, own: Findings, by: str | None) -> tuple[str, dict[int, int]]:
    """What is counted by, and the number of composite events from each moment on."""
    by = by or _coarseness(result)
    size, first = _SIZES[by], _MONDAY if by == "week" else 0
    if not own.moments:
        return by, {}
    import numpy as np

    places = (np.concatenate(own.moments) - first) // size
    low = int(places.min())
    counts = np.bincount(places - low).tolist()
    return by, {(low + at) * size + first: count for at, count in enumerate(counts)}


def _coarseness(result: Backtest) -> str:
    span = (result.end or 0) - (result.begin or 0)
    return next((by for by, size in _SIZES.items() if span // size < _SOME_ROWS), "week")


def _bar(value: int, most: int) -> str:
    eighths = round(value / most * _WIDTH * 8)
    whole, rest = divmod(max(eighths, 1) if value else 0, 8)
    return "█" * whole + _BARS[rest].strip()


def _levels(samples: list[int]) -> str:
    """What was kept over time, as a row of at most 30 blocks."""
    if len(samples) < 2 or not max(samples):
        return ""
    step = -(-len(samples) // 30)
    seen = [max(samples[at : at + step]) for at in range(0, len(samples), step)]
    most = max(seen)
    return "".join(_LEVELS[(value * (len(_LEVELS) - 1)) // most] for value in seen)


# --- text -----------------------------------------------------------------------------------


def as_text(result: Backtest, dial: Dial, by: str | None, top: int) -> Iterator[str]:
    """The report for people."""
    yield (
        f"{count(result.events, 'event', separated=True)} "
        f"from {dial.text(result.begin)} to {dial.text(result.end)}, "
        f"{count(len(result.findings), 'rule')}, "
        f"{count(result.found, 'composite event', separated=True)}"
    )
    for own in result.findings.values():
        yield ""
        yield from _rule_text(result, own, dial, by, top)
    yield ""
    yield from _cost_text(result)


def _rule_text(
    result: Backtest, own: Findings, dial: Dial, by: str | None, top: int
) -> Iterator[str]:
    rule = own.rule
    yield f"{rule.name} → {rule.output.type}: {count(own.count, 'composite event', separated=True)}"
    if own.count:
        yield f"  first {dial.text(own.first)}, last {dial.text(own.last)}"
        yield f"  longest from first to last event: {format_time(own.longest, bare='')}"
        yield from _histogram_text(result, own, dial, by)
        yield from _keys_text(own, top)
        for number, (id_, at) in enumerate(own.examples):
            yield f"  {'' if number else 'such as':<7} {dial.text(at)}, id {id_}"
    else:
        yield f"  {_why_none(result, own)}"
    yield from _kept_text(own, dial)
    if own.alone is not None:
        fed = f", with {', '.join(own.fed_by)} that it feeds on" if own.fed_by else ""
        yield f"  by itself{fed}: {own.alone:.2f} µs an event"
    for growth in own.growth:
        yield f"  could grow without bound: {growth}"


def _why_none(result: Backtest, own: Findings) -> str:
    """The first thing to look at where a rule found nothing."""
    from cepheid.algebra import input_types

    made = {other.rule.output.type for other in result.findings.values()}
    absent = [t for t in input_types(own.rule) if t not in result.by_type and t not in made]
    if absent:
        there = ", ".join(sorted(result.by_type)[:8]) or "none"
        return f"there is no event of type {', '.join(absent)}; there are {there}"
    return "every event type that it looks at is there"


def _histogram_text(result: Backtest, own: Findings, dial: Dial, by: str | None) -> Iterator[str]:
    by, counted = histogram(result, own, by)
    most = max(counted.values())
    yield f"  by {by}"
    for at, value in counted.items():
        yield f"    {_bucket(at, by, dial):<16} {value:>8,} {_bar(value, most)}".rstrip()


def _bucket(at: int, by: str, dial: Dial) -> str:
    text = dial.text(at)
    return text if dial.unit is not None else text[: 10 if by in ("day", "week") else 16]


def _keys_text(own: Findings, top: int) -> Iterator[str]:
    if own.by_key and top > 0:
        yield f"  by {', '.join(own.keys)}: {count(len(own.by_key), 'key')} with a composite event"
        for key, number in own.by_key.most_common(top):
            yield f"    {', '.join(map(str, key)):<16} {number:>8,}"


def _kept_text(own: Findings, dial: Dial) -> Iterator[str]:
    peak = own.peak
    if peak.stored or peak.partial:
        begun = f" and {peak.partial:,} begun" if peak.partial else ""
        yield f"  kept at most {count(peak.stored, 'event', separated=True)}{begun}, at " + (
            f"{dial.text(peak.at)}  {_levels(peak.samples)}".rstrip()
        )


def _cost_text(result: Backtest) -> Iterator[str]:
    rate, each = _rates(result)
    yield "cost, in this process on one core"
    few = "; too few events for a measure" if result.events < _MANY else ""
    yield f"  {result.seconds:.3f} s, {rate:,.0f} events a second, {each:.2f} µs an event{few}"
    yield f"  at most {count(result.stored, 'event', separated=True)} kept for all rules together"
    yield f"  state of {_bytes(result.state_bytes)} when written down"
    if result.process_bytes:
        yield f"  the process had {_bytes(result.process_bytes)}, with the history that it read"
    if result.cut:
        yield f"  {count(result.cut, 'composite event')} cut: rules feed on each other too deeply"


def _rates(result: Backtest) -> tuple[float, float]:
    if not result.events or not result.seconds:
        return 0.0, 0.0
    return result.events / result.seconds, result.seconds / result.events * 1e6


def _bytes(number: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


# --- JSON -----------------------------------------------------------------------------------


def as_json(result: Backtest, dial: Dial, by: str | None, top: int) -> Mapping[str, Any]:
    """The report for programs."""
    rate, each = _rates(result)
    return {
        "events": result.events,
        "begin": dial.text(result.begin),
        "end": dial.text(result.end),
        "events_by_type": dict(result.by_type),
        "composites": result.found,
        "rules": [_rule_json(result, own, dial, by, top) for own in result.findings.values()],
        "cost": {
            "seconds": round(result.seconds, 6),
            "events_per_second": round(rate),
            "microseconds_per_event": round(each, 3),
            "stored_most": result.stored,
            "state_bytes": result.state_bytes,
            "process_bytes": result.process_bytes,
            "cut": result.cut,
        },
    }


def _rule_json(
    result: Backtest, own: Findings, dial: Dial, by: str | None, top: int
) -> dict[str, Any]:
    by, counted = histogram(result, own, by)
    return {
        "rule": own.rule.name,
        "type": own.rule.output.type,
        "composites": own.count,
        "first": None if own.first is None else dial.text(own.first),
        "last": None if own.last is None else dial.text(own.last),
        "longest_seconds": own.longest / 1e6,
        "by": by,
        "histogram": [{"from": dial.text(at), "composites": n} for at, n in counted.items()],
        "keys": list(own.keys),
        "keys_found": len(own.by_key),
        "top": [
            {"key": dict(zip(own.keys, key, strict=True)), "composites": number}
            for key, number in own.by_key.most_common(max(top, 0))
        ],
        "examples": [{"id": id_, "at": dial.text(at)} for id_, at in own.examples],
        "stored_most": own.peak.stored,
        "partial_most": own.peak.partial,
        "kept": own.peak.samples,
        "microseconds_alone": None if own.alone is None else round(own.alone, 3),
        "unbounded": list(own.growth),
    }
