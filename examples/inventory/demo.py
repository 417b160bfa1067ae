"""Find things on the wrong shelf: `python examples/inventory/demo.py`.

Readers at the shelves see every item that is put down. Customers carry items about: some bring them
back, some buy them, some leave them anywhere. The rule stands in misplaced.sase.
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
CLOSES = OPENS + timedelta(hours=12)
SHELVES = ("toys", "food", "books", "clothes")
STORIES = {"stays": 200, "misplaced": 8, "brought back": 20, "bought after all": 20}
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
    """The readings of one item: at home, and where it is carried within the hour."""
    home, other = random.sample(SHELVES, 2)
    moment = OPENS + timedelta(seconds=random.randrange(10 * 3600))
    events = [at_shelf(item, moment, home, home)]
    if story == "stays":
        return events
    moment += timedelta(minutes=random.randint(2, 25))
    events.append(at_shelf(item, moment, other, home))
    moment += timedelta(minutes=random.randint(2, 25))
    if story == "brought back":
        events.append(at_shelf(item, moment, home, home))
    if story == "bought after all":
        events.append({"type": "COUNTER-READING", "ts": moment, "id": item})
    return events


def at_shelf(item: int, moment: datetime, shelf: str, home: str) -> Record:
    """A reading at a shelf, with the shelf to which the item belongs."""
    return {"type": "SHELF-READING", "ts": moment, "id": item, "shelf": shelf, "home": home}


def main() -> int:
    """Make the day, run the rule, show what is misplaced; the result is the exit status."""
    events, plan = make_day(Random(SEED))
    rules = cepheid.load(
        HERE / "misplaced.sase", schema=(HERE / "events.schema").read_text("utf-8")
    )
    # The last hour has to pass, too, before it is known what stays where it is.
    found = rules.detect(events, until=CLOSES)
    print(f"{len(events):,} readings of {len(plan)} items, {len(found)} misplaced\n")
    print("known at  item  belongs to  stands at")
    for one in found:
        print(f"{one['ts']:%H:%M:%S} {one['item']:>5}  {one['home']:10}  {one['found']}")
    misplaced = sorted(item for item, story in plan.items() if story == "misplaced")
    right = sorted(one["item"] for one in found) == misplaced
    print("\n" + ("These are the misplaced items." if right else f"misplaced were {misplaced}"))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
