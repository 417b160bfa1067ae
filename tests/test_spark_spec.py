"""The specification on Spark: every case gives what it expects, as a table and as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cepheid.testing import SPARK_RUNTIMES, Case, Result, run_cases
from tests.cases import CASES, case_id
from tests.spark import MARKS, session

pytestmark = MARKS


@pytest.fixture(scope="module")
def judged() -> Iterator[Callable[[str], dict[str, Result]]]:
    """All cases of a runtime in one job, when the first of them is asked for."""
    spark = session()
    known: dict[str, dict[str, Result]] = {}

    def judge(runtime: str) -> dict[str, Result]:
        if runtime not in known:
            known[runtime] = {}  # a job that fails is not tried again for every case
            own = [case for case in CASES if case.runs_on(runtime)]
            results = run_cases(own, runtime, seed=len(own))
            known[runtime].update((result.case.place, result) for result in results)
        return known[runtime]

    yield judge
    spark.stop()


RUNS = [
    pytest.param(case, runtime, id=f"{case_id(case)}-{runtime}")
    for runtime in SPARK_RUNTIMES
    for case in CASES
    if case.runs_on(runtime)
]


@pytest.mark.parametrize(("case", "runtime"), RUNS)
def test_case_gives_what_it_expects_on_spark(
    case: Case, runtime: str, judged: Callable[[str], dict[str, Result]]
) -> None:
    result = judged(runtime)[case.place]
    assert result.passed, f"{case.place}: {case.name}\n{result.difference}"
