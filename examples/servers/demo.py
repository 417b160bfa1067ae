"""Find servers that are overloaded: `python examples/servers/demo.py`.

Six servers, three hours, a reading of the processor every minute and an answer every 20 seconds.
One of them is overloaded; the others only look like it. The rules stand in servers.laipl.
"""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import cepheid

HERE = Path(__file__).parent
SEED = 2013
BEGIN = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
MINUTES = 180
STORY = range(60, 80)
"""The minutes in which something happens."""
STORIES = {
    "S1": "calm",
    "S2": "busy",
    "S3": "slow, then an error of its own",
    "S4": "busy and slow, then an error of its own",
    "S5": "busy and slow, then an error of the client",
    "S6": "a peak of two minutes",
}
TYPES = ("CPU_High", "Trouble", "Overload")
PLANTED = {
    "S2": {"CPU_High"},
    "S3": {"Trouble"},
    "S4": {"CPU_High", "Trouble", "Overload"},
    "S5": {"CPU_High", "Trouble"},
}
"""What the rules should tell of each server."""

Record = dict[str, Any]


def make_hours(random: Random) -> list[Record]:
    """Three hours of all servers."""
    events = [event for server in STORIES for event in readings(server, random)]
    return sorted(events, key=lambda event: (event["ts"], event["source"], event["type"]))


def readings(server: str, random: Random) -> list[Record]:
    """What one server tells."""
    story, events = STORIES[server], []
    for minute in range(MINUTES):
        moment = BEGIN + timedelta(minutes=minute)
        events.append(event("CPU", server, moment, processor(story, minute, random)))
        for second in (5, 25, 45):
            took = answer(story, minute, random)
            events.append(event("Response", server, moment + timedelta(seconds=second), took))
        if "error" in story and minute == STORY[-1]:
            code = 404 if "client" in story else 503
            events.append(event("Fault", server, moment + timedelta(seconds=50), code))
    return events


def event(type_: str, server: str, moment: datetime, value: float) -> Record:
    """One event."""
    return {"type": type_, "ts": moment, "source": server, "value": value}


def processor(story: str, minute: int, random: Random) -> float:
    """How busy the processor is, in percent."""
    peak = story.startswith("a peak") and minute in STORY[:2]
    if peak or ("busy" in story and minute in STORY):
        return round(random.uniform(88, 99), 1)
    return round(random.uniform(20, 50), 1)


def answer(story: str, minute: int, random: Random) -> float:
    """How long an answer takes, in milliseconds."""
    if "slow" in story and minute in STORY[-5:]:
        return round(random.uniform(1100, 3000), 1)
    return round(random.uniform(50, 400), 1)


def main() -> int:
    """Make the data, run the rules, show what they told; the result is the exit status."""
    events = make_hours(Random(SEED))
    rules = cepheid.load(HERE / "servers.laipl", schema=(HERE / "events.schema").read_text("utf-8"))
    found = rules.detect(events)
    counts = Counter((one["source"], one["type"]) for one in found)
    print(f"{len(events):,} events of {len(STORIES)} servers, {len(found)} composite events\n")
    print(f"server  {'  '.join(TYPES)}  what happens")
    for server, story in STORIES.items():
        shown = "  ".join(f"{counts[server, type_]:>{len(type_)}}" for type_ in TYPES)
        print(f"{server:6}  {shown}  {story}")
    told = {server: {t for t in TYPES if counts[server, t]} for server in STORIES}
    right = {server: types for server, types in told.items() if types} == PLANTED
    print("\n" + ("Only S4 is overloaded, as planted." if right else f"planted was {PLANTED}"))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
