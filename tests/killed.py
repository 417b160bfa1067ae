"""A stream that is killed and started again, for the tests of exactly once.

    python -m tests.killed FOLDER

FOLDER/events holds the files of events, one a micro-batch; composite events go to FOLDER/found as
parquet, the checkpoint to FOLDER/checkpoint. It ends when all files are read.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cepheid
from cepheid.rules import Rules
from cepheid.spark.cases import session

SCHEMA = "type string, ts bigint, area string, value double"
TESLA = """
Rule Fire
define Fire(area: string, temp: double)
from Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
where area = Smoke.area and temp = Temp.value

Rule Dry
define DryFire(area: string)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
  and not Rain(area = $a) between Temp and Smoke
where area = Smoke.area
"""
CORE = """
define LeftOpen as ([o: Opening], [T1 in {T1, Closing(area = o.area)}]) T1 = 5min
  return (area = o.area)
"""


def rules() -> Rules:
    """Rules with windows, a negation and an absence."""
    loaded = [cepheid.load(TESLA, language="tesla"), cepheid.load(CORE, language="core")]
    return Rules(tuple(rule for own in loaded for rule in own))


def main(folder: Path) -> None:
    """Run the stream to the end of its files."""
    spark = session()
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    found = rules().detect(reader.parquet(str(folder / "events")), unit="s")
    query = (
        found.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "found"))
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
