"""Watch over three patients for two days: `python examples/medication/demo.py`.

What they took stands in events.csv, 19 lines that can be read by eye. The rules stand in
medication.sase.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cepheid
from cepheid.tables.files import read_files

HERE = Path(__file__).parent
EXPECTED = [
    "2026-07-01 14:00 John: Antacid, then Antibiotics 90 minutes later",
    "2026-07-02 07:10 Mary: no Antibiotics for nine hours",
    "2026-07-02 10:15 Tom: 1200 mg of Painkiller within four hours",
    "2026-07-02 18:00 Mary: Antibiotics, then Antacid 30 minutes later",
]
"""What a person finds in the file."""


def told(found: dict[str, object]) -> str:
    """A finding as a sentence."""
    moment, name = f"{found['ts']:%Y-%m-%d %H:%M}", found["name"]
    if found["type"] == "Overdose":
        return f"{moment} {name}: {found['amount']} mg of {found['medicine']} within four hours"
    if found["type"] == "MissedDose":
        return f"{moment} {name}: no {found['medicine']} for nine hours"
    apart = (found["ts"] - found["start"]).seconds // 60  # type: ignore[operator]  # both are times
    return f"{moment} {name}: {found['first']}, then {found['then']} {apart} minutes later"


def main() -> int:
    """Run the rules over the file, show what they found; the result is the exit status."""
    events = read_files([HERE / "events.csv"])
    rules = cepheid.load(
        HERE / "medication.sase", schema=(HERE / "events.schema").read_text("utf-8")
    )
    found = [told(one) for one in rules.detect(events).to_pylist()]
    print(f"{len(events)} events, {len(found)} findings\n")
    print("\n".join(found))
    if found != EXPECTED:
        print("\nA person finds:\n" + "\n".join(EXPECTED))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
