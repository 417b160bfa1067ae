"""Find fires in an hour of sensor data: `make demo`.

Six areas, a temperature every 20 seconds. In three of them a fire is planted; in the others
something happens that only looks like one. The rules stand in fire.tesla.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import cepheid

HERE = Path(__file__).parent
SEED = 2012
NOON = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
STEP = timedelta(seconds=20)
READINGS = 180
AREAS = ("A1", "A2", "A3", "A4", "A5", "A6")

Record = dict[str, Any]


@dataclass(frozen=True)
class Story:
    """What happens in an area: how many readings rise, to what, and what else is there."""

    name: str
    rising: int = 0
    top: float = 0.0
    smoke: bool = False
    rain: bool = False

    @property
    def is_fire(self) -> bool:
        """Whether the rules should find it: heat that rises, and smoke."""
        return self.smoke and self.rising > 0


STORIES = (
    Story("a fire that grows slowly", rising=20, top=85.0, smoke=True),
    Story("a fire that grows quickly", rising=12, top=95.0, smoke=True),
    Story("a fire that grows slowly", rising=18, top=80.0, smoke=True),
    Story("smoke of a barbecue, no heat", smoke=True),
    Story("a sensor in the sun, no smoke", rising=15, top=52.0),
    Story("a hot exhaust in the rain, no smoke", rising=15, top=55.0, rain=True),
)


# --- the data ----------------------------------------------------------------


def make_hour(random: Random) -> tuple[list[Record], dict[str, tuple[Story, datetime]]]:
    """An hour of events, and for every area its story with the time at which it peaks."""
    stories = random.sample(STORIES, len(STORIES))
    events: list[Record] = []
    plan = {}
    for area, story in zip(AREAS, stories, strict=True):
        peak = random.randrange(40, READINGS - 10)
        plan[area] = (story, NOON + peak * STEP + timedelta(seconds=5))
        events += area_events(area, story, peak, random)
    return sorted(events, key=lambda event: event["ts"]), plan


def area_events(area: str, story: Story, peak: int, random: Random) -> Iterator[Record]:
    """The events of one area; its story ends at reading number `peak`."""
    moment = NOON + peak * STEP
    for number in range(READINGS):
        value = temperature(story, number - peak, random)
        yield {"type": "Temp", "ts": NOON + number * STEP, "area": area, "value": value}
    if story.smoke:
        yield {"type": "Smoke", "ts": moment + timedelta(seconds=5), "area": area}
    if story.rain:
        for minutes in (-6, -4, -2, 0, 2):
            yield {"type": "Rain", "ts": moment + timedelta(minutes=minutes), "area": area}


def temperature(story: Story, since_peak: int, random: Random) -> float:
    """About 20 degrees; towards the peak a steady rise, after it a fall over two minutes."""
    base, noise = 20.0, random.uniform(-1.5, 1.5)
    if -story.rising < since_peak <= 0:
        return round(25.0 + (story.top - 25.0) * (1 + since_peak / story.rising), 1)
    if story.rising and 0 < since_peak < 6:
        return round(base + (story.top - base) * (1 - since_peak / 6), 1)
    return round(base + noise, 1)


# --- what was found ----------------------------------------------------------


def show_fires(found: list[Record]) -> None:
    """One line for every smoke that rules spoke of, with what they were made of."""
    by_smoke: dict[tuple[datetime, str], list[Record]] = defaultdict(list)
    for event in found:
        if event["type"] in ("HotReading", "Fire", "RisingFire"):
            by_smoke[event["ts"], event["area"]].append(event)
    print("smoke at  area  rules      average  hottest  hot readings")
    for (moment, area), parts in sorted(by_smoke.items()):
        rules = " ".join(sorted({part["rule"] for part in parts}))
        average = max((part["measuredTemp"] for part in parts if part["rule"] == "R5"), default=0)
        hot = hot_readings([part for part in parts if part["rule"] == "R1"])
        print(f"{moment:%H:%M:%S}  {area:4}  {rules:9}  {average:7.1f}  {hot}")


def hot_readings(found: list[Record]) -> str:
    """The hottest of the readings that R1 found, their number and their times."""
    if not found:
        return "      -  none"
    hottest = max(event["measuredTemp"] for event in found)
    times = [made["ts"] for event in found for made in event["events"] if made["label"] == "Temp"]
    return f"{hottest:7.1f}  {len(times)}, {min(times):%H:%M:%S} to {max(times):%H:%M:%S}"


def areas_of(found: list[Record], *types: str) -> set[tuple[str, datetime]]:
    """Where and when composite events of some types were found."""
    return {(event["area"], event["ts"]) for event in found if event["type"] in types}


def mistakes(found: list[Record], plan: dict[str, tuple[Story, datetime]]) -> list[str]:
    """How what was found differs from what was planted."""
    planted = {(area, moment) for area, (story, moment) in plan.items() if story.is_fire}
    wrong = []
    for type_ in ("HotReading", "Fire", "RisingFire"):
        got = areas_of(found, type_)
        wrong += [f"{type_} missed in {area} at {at:%H:%M:%S}" for area, at in planted - got]
        wrong += [f"{type_} wrong in {area} at {at:%H:%M:%S}" for area, at in got - planted]
    dry = {area for area, _ in areas_of(found, "DryHeat")}
    hot_and_dry = {area for area, (story, _) in plan.items() if story.rising and not story.rain}
    wrong += [f"DryHeat differs in {area}" for area in sorted(dry ^ hot_and_dry)]
    return wrong


def main() -> int:
    """Make the data, run the rules, show the fires; the result is the exit status."""
    events, plan = make_hour(Random(SEED))
    rules = cepheid.load(HERE / "fire.tesla", schema=(HERE / "events.schema").read_text("utf-8"))
    print(f"Running {len(rules)} rules over {len(events)} events of one hour", flush=True)
    began = time.perf_counter()
    found = rules.detect(events)
    print(f"Found {len(found)} composite events in {time.perf_counter() - began:.1f} s\n")
    show_fires(found)
    print("\nWhat was planted:")
    for area, (story, moment) in plan.items():
        print(f"  {area}  {story.name}, at {moment:%H:%M:%S}")
    wrong = mistakes(found, plan)
    print("\n" + ("\n".join(wrong) or "Every planted fire was found, and nothing else."))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
