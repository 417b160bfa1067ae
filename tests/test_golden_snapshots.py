"""Snapshots that were written by earlier versions: they are read, and the engine goes on.

Each file holds an engine after the first half of `EVENTS`. A change of the format adds a file and
keeps the others: `python -m tests.test_golden_snapshots NAME` writes one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import cepheid
from cepheid.events import CompositeEvent, Value
from cepheid.oracle import evaluate
from cepheid.rules import Rules
from cepheid.testing import difference

FOLDER = Path(__file__).parent / "snapshots"
TEXTS = {
    "tesla": """
Rule Fire
define Fire(area: string, temp: double)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
  and not Rain(area = $a) between Temp and Smoke
where area = Smoke.area and temp = Temp.value
consuming Temp
Rule Hot
define Hot(area: string, mean: double)
from Smoke(area = $a) and 40 < $t = Avg(Temp(area = $a).value within 5 min from Smoke)
where area = Smoke.area and mean = $t
Rule Double
define Double(area: string)
from Fire(area = $a) as second and each Fire(area = $a) as first within 40 min from second
where area = second.area
""",
    "sase": "QUERY Pair EVENT SEQ(Temp x, !(Rain n), Smoke y) WHERE [area] WITHIN 3 min",
    "laipl": """
Rule Run
Define Run(v: Double)
From Temp
Where Each(Temp.value) > 5 Within(90 s)
""",
    "core": """
define Left as ([s: Smoke], [T1 in {T1, Rain(area = s.area)}]) T1 = 2min
  return (area = s.area)
""",
}
MINUTE = 60_000_000


def rules() -> Rules:
    """Rules of every strategy."""
    loaded = [cepheid.load(text, language=language) for language, text in TEXTS.items()]
    return Rules(tuple(rule for one in loaded for rule in one))


def events() -> list[cepheid.Event]:
    """Three areas for an hour."""
    found = []
    for number in range(120):
        type_ = ("Temp", "Temp", "Smoke", "Temp", "Rain", "Temp", "Smoke")[number % 7]
        values: dict[str, Value] = {"area": f"A{number % 3}", "value": float(number * 37 % 60)}
        found.append(cepheid.Event(type_, number * MINUTE // 2, number * MINUTE // 2, values))
    return found


HALF = 61


def first_half() -> bytes:
    """A snapshot after the first half of the events."""
    engine = rules().engine()
    engine.push_batch(events()[:HALF])
    return engine.snapshot()


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.snapshot")), ids=lambda file: file.stem)
def test_a_snapshot_of_an_earlier_version_goes_on(file: Path) -> None:
    engine = cepheid.restore(file.read_bytes())
    found: list[CompositeEvent] = [*engine.push_batch(events()[HALF:]), *engine.close()]
    whole = evaluate(list(rules()), events()).events
    before = rules().engine()
    told = before.push_batch(events()[:HALF])
    assert {rule.output.type for rule in rules()} == {event.type for event in found}
    assert not difference(whole, [*told, *found])


def test_there_are_such_snapshots() -> None:
    assert any(FOLDER.glob("*.snapshot"))


if __name__ == "__main__":
    (FOLDER / f"{sys.argv[1]}.snapshot").write_bytes(first_half())
