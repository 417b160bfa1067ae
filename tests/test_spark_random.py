"""Random rules on Spark itself: many in one job, in a batch and as a stream, beside the oracle."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cepheid.algebra import Rule
from cepheid.events import Event
from cepheid.oracle import evaluate
from cepheid.testing import SPARK_RUNTIMES, Case, cases_of, run_cases
from tests.spark import MARKS
from tests.strategies import RULES, streams

pytestmark = MARKS

TOGETHER = 24
"""A job of Spark takes seconds whatever is in it, so that many rules share one."""
ANY = st.tuples(st.one_of(*RULES.values()), streams(24))


def case_of(rule: Rule, events: list[Event], number: int) -> Case:
    (case,) = cases_of(f"random {number}", [rule], events, evaluate([rule], events).events)
    return case


@pytest.mark.parametrize("runtime", SPARK_RUNTIMES)
@settings(
    max_examples=1,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(drawn=st.lists(ANY, min_size=TOGETHER, max_size=TOGETHER), seed=st.integers(0, 999))
def test_random_rules_find_on_spark_what_the_oracle_finds(
    runtime: str, drawn: list[tuple[Rule, list[Event]]], seed: int
) -> None:
    cases = [case_of(rule, events, number) for number, (rule, events) in enumerate(drawn)]
    results = run_cases(cases, runtime, seed=seed)
    assert [result.difference for result in results if not result.passed] == []
