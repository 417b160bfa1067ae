"""The process from which Spark's Python workers are forked, with the engine in it already.

A worker that loads the compiled engine for itself takes seconds, and a job has several of them.
Everything that is loaded here leaves this process with a single thread, as it must be before a
fork; so Arrow and pandas, which start threads of their own, are left to the workers.

    spark.python.daemon.module = cepheid.spark.daemon
"""

from __future__ import annotations

import os

STRATEGIES = "CEPHEID_STRATEGIES"
"""The variable that says what to load: for every strategy 1 or 0, several parted by commas."""


def _load() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from cepheid.kernel.ready import load

    for wanted in filter(None, os.environ.get(STRATEGIES, "").split(",")):
        load(tuple(1 if digit == "1" else None for digit in wanted))


if __name__ == "__main__":
    _load()
    from pyspark.daemon import manager

    manager()
