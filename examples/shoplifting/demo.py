"""Find thefts in a day of a shop: `python examples/shoplifting/demo.py`.

Every item has a tag that is read when it leaves its shelf, at the counter and at a door. Some items
are stolen. The rule stands in shoplifting.sase.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import cepheid

HERE = Path(__file__).parent
SEED = 2006
OPENS = datetime(2026, 7, 1, 8, 0, tzinfo=UTC)
SHELVES = ("toys", "food", "books", "clothes")
DOORS = ("north", "south")
STORIES = {"bought": 400, "stolen": 6, "put back": 60, "paid at the door": 10}
"""What happens to items, and to how many of them."""

Record = dict[str, Any]


def make_day(random: Random) -> tuple[list[Record], dict[int, str]]:
    """The readings of a day, and the story of every item."""
    stories = [story for story, count in STORIES.items() for _ in range(count)]
    random.shuffle(stories)
    plan = dict(enumerate(stories, start=1))
    events = [event for item, story in plan.items() for event in readings(item, story, random)]
    return sorted(events, key=lambda event: event["ts"]), plan


def readings(item: int, story: str, random: Random) -> list[Record]:
    """The readings of one item."""
    taken = OPENS + timedelta(seconds=random.randrange(9 * 3600))
    events = [reading("SHELF", item, taken, shelf=random.choice(SHELVES))]
    if story == "put back":
        return events
    left = taken + timedelta(minutes=random.randint(5, 90))
    if story != "stolen":
        # Who is called back at the door pays a few seconds before going through it again.
        before = timedelta(seconds=20 if story == "paid at the door" else random.randint(60, 240))
        events.append(reading("COUNTER", item, left - before))
    return [*events, reading("EXIT", item, left, door=random.choice(DOORS))]


def reading(where: str, item: int, moment: datetime, **more: str) -> Record:
    """One reading of a tag."""
    return {"type": f"{where}-READING", "ts": moment, "id": item, **more}


def main() -> int:
    """Make the day, run the rule, show the thefts; the result is the exit status."""
    events, plan = make_day(Random(SEED))
    rules = cepheid.load(
        HERE / "shoplifting.sase", schema=(HERE / "events.schema").read_text("utf-8")
    )
    thefts = rules.detect(events)
    print(f"{len(events):,} readings of {len(plan)} items, {len(thefts)} thefts\n")
    print("left the shop  item  from shelf  by door")
    for theft in thefts:
        print(
            f"{theft['ts']:%H:%M:%S}      {theft['item']:>5}  {theft['shelf']:10}  {theft['door']}"
        )
    stolen = sorted(item for item, story in plan.items() if story == "stolen")
    right = sorted(theft["item"] for theft in thefts) == stolen
    print("\n" + ("These are the items that were stolen." if right else f"stolen were {stolen}"))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
