"""A day in an office that knows who is where: `python examples/office/demo.py`.

Doors, people, thermometers and boards of four rooms tell what they see. The rules stand in
office.ce. They run in an engine, event by event, as they would while the day goes on.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import cepheid

HERE = Path(__file__).parent
SEED = 2003
DAY = datetime(2026, 7, 1, tzinfo=UTC)
PLANTED = [
    ("Cold", "FE04", "08:30"),
    ("LeftOpen", "FE02", "09:15"),
    ("Meeting", "M1", "11:00"),
    ("Meeting", "M1", "15:40"),
    ("LeftOpen", "M1", "15:45"),
]
"""What happens: its type, its room, and when its last event is."""

Record = dict[str, Any]


def make_day(random: Random) -> list[Record]:
    """The events of a day, in order."""
    events = [*visits(random), *temperatures(random), *meetings()]
    # Doors that stay open: nobody closes them for half an hour.
    for room, time in (("FE02", "09:15"), ("M1", "15:45")):
        events += [event("Opening", room, time), event("Closing", room, time, minutes=30)]
    # Somebody comes early into a room that is not heated yet; it is measured two minutes later.
    events += [event("Person", "FE04", "08:28"), event("Temp", "FE04", "08:30", value=12.5)]
    return sorted(events, key=lambda one: (one["ts"], one["type"], one["room"]))


def event(type_: str, room: str, time: str, *, minutes: float = 0, **more: float) -> Record:
    """An event of a room, some minutes after a time of the day."""
    hour, minute = map(int, time.split(":"))
    return {
        "type": type_,
        "ts": DAY + timedelta(hours=hour, minutes=minute + minutes),
        "room": room,
        **more,
    }


def visits(random: Random) -> list[Record]:
    """People who come into a room and close the door behind them."""
    events = []
    for number in range(40):
        room, time = random.choice(("FE05", "FE06")), f"{9 + number // 5}:{random.randrange(50):02}"
        for type_, minutes in (("Opening", 0), ("Person", 0.2), ("Closing", 0.5)):
            events.append(event(type_, room, time, minutes=minutes))
    return events


def temperatures(random: Random) -> list[Record]:
    """Every room is measured every ten minutes; before eight it is cold everywhere."""
    return [
        event("Temp", room, f"{hour}:{minute:02}", value=round(random.uniform(*between), 1))
        for room in ("FE02", "FE05", "FE06", "M1")
        for hour in range(6, 19)
        for between in [(11.0, 14.0) if hour < 8 else (18.0, 22.0)]
        for minute in range(1, 60, 10)
    ]


def meetings() -> list[Record]:
    """The board goes on, people move about, the board goes off; once nobody comes."""
    events = []
    for begin, end, moves in (("10:05", "11:00", 3), ("12:05", "12:15", 0), ("14:35", "15:40", 5)):
        events += [event("BoardOn", "M1", begin), event("BoardOff", "M1", end)]
        events += [event("Person", "M1", begin, minutes=3 + 9 * n) for n in range(moves)]
    return events


def main() -> int:
    """Push the day through an engine, show what it tells; the result is the exit status."""
    events = make_day(Random(SEED))
    rules = cepheid.load(HERE / "office.ce", schema=(HERE / "events.schema").read_text("utf-8"))
    engine = rules.engine()
    told: list[tuple[datetime, Record]] = []
    for one in events:
        told += [(one["ts"], found) for found in engine.push(one)]
    end = DAY + timedelta(days=1)
    told += [(end, found) for found in engine.advance(end)]
    print(f"{len(events)} events, {len(told)} composite events\n")
    print("told at  what      room  when")
    for moment, found in told:
        when = f"{found['start']:%H:%M} to {found['ts']:%H:%M}"
        print(f"{moment:%H:%M}    {found['type']:9} {found['room']:5} {when}")
    found_now = sorted((one["type"], one["room"], f"{one['ts']:%H:%M}") for _, one in told)
    right = found_now == sorted(PLANTED)
    print("\n" + ("That is what happened." if right else f"what happened was {sorted(PLANTED)}"))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
