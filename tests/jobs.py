"""Jobs of `cepheid run` in processes of their own, which can be killed and started again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.cases import ROOT
from tests.killed import CORE, TESLA
from tests.test_exactly_once import LIMIT, kill_group

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
"""The environment of a command that runs the code of this repository."""


@dataclass(frozen=True)
class Job:
    """The command as a user gives it, over rules of fires and doors; its state is in `state`."""

    folder: Path
    arguments: list[str]
    python: str = sys.executable

    def start(self) -> subprocess.Popen[bytes]:
        """Start it, as a process group."""
        (self.folder / "fire.tesla").write_text(TESLA)
        (self.folder / "door.ce").write_text(CORE)
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                [self.python, "-m", "cepheid", "run", "fire.tesla", "door.ce", *self.arguments],
                cwd=self.folder,
                env={**ENVIRONMENT, "PYSPARK_PYTHON": self.python},
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def finish(self, status: int = 0) -> str:
        """Run it to its end, which must be a good one unless told; what was said."""
        process = self.start()
        try:
            process.wait(LIMIT)
        finally:
            kill_group(process)
        said = (self.folder / "said").read_text(errors="replace")
        assert process.returncode == status, said[-3000:]
        return said

    def kill_after(self, batches: int) -> bool:
        """Kill it -9 when so many batches were begun; whether it was still at work."""
        process = self.start()
        end = time.monotonic() + LIMIT
        try:
            while self.begun < batches and process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            return process.poll() is None
        finally:
            kill_group(process)

    @property
    def begun(self) -> int:
        """How many batches were begun."""
        return len(list((self.folder / "state" / "offsets").glob("[0-9]*")))
