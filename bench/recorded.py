"""Results of former runs: one JSON file for each part, with the machine, the date and the command.

Plots and the document are made from these files alone, so that a part which is not measured again
keeps its figures and their date.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
PARTS = ("papers", "queue", "spark", "peers")
"""What is measured, each with a file of its own."""

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """Everything that has been measured: files by part, figures by name."""

    files: Mapping[str, Record] = field(default_factory=dict)

    @staticmethod
    def read(folder: Path = FOLDER) -> Results:
        """The files of a folder; parts that were never measured are not there."""
        paths = {part: folder / f"{part}.json" for part in PARTS}
        return Results(
            {n: json.loads(p.read_text("utf-8")) for n, p in paths.items() if p.exists()}
        )

    @property
    def figures(self) -> dict[str, Record]:
        """Figures of Cepheid by name; none that could not be measured."""
        return {
            figure["name"]: figure
            for part in self.files.values()
            for figure in part.get("figures", ())
            if not figure["error"]
        }

    def part(self, name: str) -> list[Record]:
        """The figures of a part, also those that went wrong."""
        return list(self.files.get(name, {}).get("figures", ()))

    @property
    def contests(self) -> list[Record]:
        """The results side by side with other engines."""
        return list(self.files.get("peers", {}).get("results", ()))

    @property
    def again(self) -> list[Record]:
        """When and where contests were held again, apart from the others."""
        return list(self.files.get("peers", {}).get("again", ()))

    def peers(self, contest: str) -> dict[str, Record]:
        """Other engines on one core in a contest, with the same answer, by name."""
        return {
            result["engine"]: result
            for result in self.contests
            if result["contest"] == contest
            and result["cores"] == 1
            and result["rate"]
            and result["answer"] == "same"
            and result["engine"] != "cepheid"
        }
