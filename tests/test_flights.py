"""The example of flights finds what its README says, checked without Cepheid, by plain pandas."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pytest

HERE = Path(__file__).parents[1] / "examples" / "flights"
Found = list[dict[str, Any]]


@pytest.fixture(scope="module")
def example() -> Iterator[Any]:
    """The script, as a module."""
    sys.path.insert(0, str(HERE))
    import flights  # type: ignore[import-not-found]

    yield flights
    sys.path.remove(str(HERE))
    del sys.modules["flights"]


@pytest.fixture(scope="module")
def found(example: Any) -> Found:  # noqa: ANN401 (a module)
    return list(example.find(example.read_events()))


@pytest.fixture(scope="module")
def departures(example: Any) -> Any:  # noqa: ANN401 (a module, a table of pandas)
    """Every departure with the one after it, from the file itself."""
    flights = pd.read_csv(example.data_folder() / "flights.csv.zip").dropna(subset="dep_delay")
    minutes = pd.to_timedelta(flights.minute + flights.dep_delay, unit="min")
    flights["left"] = pd.to_datetime(flights.time_hour) + minutes
    flights = flights.sort_values("left")
    flights["gap"] = flights.groupby("origin").left.shift(-1) - flights.left
    return flights


@pytest.fixture(scope="module")
def weather(example: Any) -> Any:  # noqa: ANN401 (a module, a table of pandas)
    weather = pd.read_csv(example.data_folder() / "weather.csv")
    weather["at"] = pd.to_datetime(weather.time_hour)
    return weather.sort_values("at")


def of_type(found: Found, type_: str) -> set[tuple[Any, ...]]:
    return {(one["origin"], pd.Timestamp(one["start"])) for one in found if one["type"] == type_}


def gaps(departures: Any, length: str) -> Any:  # noqa: ANN401 (a table of pandas)
    return departures[departures.gap >= length]


def test_airports_closed_when_nothing_left_for_twelve_hours(
    found: Found,
    departures: Any,  # noqa: ANN401 (a table of pandas)
) -> None:
    long = gaps(departures, "12h")
    assert of_type(found, "Closed") == set(zip(long.origin, long.left, strict=True))
    assert {origin for origin, _ in of_type(found, "Closed")} == {"EWR", "JFK", "LGA"}
    assert {f"{moment:%d %b}" for _, moment in of_type(found, "Closed")} == {"08 Feb"}


def test_departures_stopped_where_there_is_a_gap_by_day(
    found: Found,
    departures: Any,  # noqa: ANN401 (a table of pandas)
) -> None:
    long = gaps(departures, "75min")
    hours = long.left.dt.tz_convert("America/New_York").dt.hour
    by_day = long[(hours >= 7) & (hours < 19)]
    assert of_type(found, "Stopped") == set(zip(by_day.origin, by_day.left, strict=True))
    shown = {f"{origin} {moment:%d %b}" for origin, moment in of_type(found, "Stopped")}
    assert shown == {
        "EWR 08 Feb",
        "LGA 08 Feb",
        "JFK 08 Feb",
        "JFK 09 Feb",
        "LGA 22 Jul",
        "LGA 05 Dec",
    }


def test_what_the_readme_says_of_the_22nd_of_july(example: Any) -> None:  # noqa: ANN401 (a module)
    flights = pd.read_csv(example.data_folder() / "flights.csv.zip")
    day = flights[(flights.month == 7) & (flights.day == 22) & (flights.origin == "LGA")]
    evening = day[day.sched_dep_time.between(1700, 2000)]
    assert (len(evening), int(evening.dep_time.isna().sum())) == (69, 52)


def test_what_the_readme_says_of_the_5th_of_december(weather: Any) -> None:  # noqa: ANN401 (pandas)
    day = weather[(weather.month == 12) & (weather.day == 5) & (weather.origin == "LGA")]
    assert day[day.hour.isin([9, 10])].visib.tolist() == [0.0, 0.0]


def test_fog_is_the_first_report_below_a_mile_in_six_hours(
    found: Found,
    weather: Any,  # noqa: ANN401 (a table of pandas)
) -> None:
    thick = weather[weather.visib < 1]
    expected = {
        (origin, moment)
        for origin, own in thick.groupby("origin")
        for moment, gap in zip(own["at"], own["at"].diff(), strict=True)
        if pd.isna(gap) or gap >= pd.Timedelta("6h")
    }
    assert of_type(found, "Fog") == expected
    assert len(expected) == 73


def test_jams_are_hours_of_late_departures_after_fog(
    found: Found,
    departures: Any,  # noqa: ANN401 (a table of pandas)
    weather: Any,  # noqa: ANN401 (the same)
) -> None:
    hour, fogs = pd.Timedelta("1h"), of_type(found, "Fog")
    expected = {}
    for origin, own in departures.groupby("origin"):
        moments = weather["at"][weather.origin == origin]
        after = {m for m in moments for o, at in fogs if o == origin and at < m < at + 6 * hour}
        for end in after:
            first, last = own.left.searchsorted([end - hour, end], side="left")
            # The window is open at both ends.
            hour_of = own.iloc[first:last][own.left.iloc[first:last] > end - hour]
            late = int((hour_of.dep_delay > 60).sum())
            if late >= 10:
                expected[origin, end] = (late, hour_of.dep_delay.mean())
    jams = {(j["origin"], pd.Timestamp(j["ts"])): j for j in found if j["type"] == "Jam"}
    assert jams.keys() == expected.keys()
    assert len(jams) == 12
    for key, (late, mean) in expected.items():
        assert jams[key]["late"] == late
        assert jams[key]["mean"] == pytest.approx(mean)
    worst = max(jams.values(), key=lambda jam: jam["late"])
    told = (worst["origin"], example_time(worst["ts"]), worst["late"], round(worst["mean"]))
    assert told == ("EWR", "18 Mar 22:00", 18, 117)


def example_time(moment: Any) -> str:  # noqa: ANN401 (a time)
    return f"{pd.Timestamp(moment).tz_convert('America/New_York'):%d %b %H:%M}"


def test_the_readme_tells_the_number_of_events(example: Any) -> None:  # noqa: ANN401 (a module)
    readme = (HERE / "README.md").read_text("utf-8")
    assert f"{example.read_events().num_rows:,} events" in readme
