"""Hypothesis settings: how many examples a property tries, and no deadline on a busy machine."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.long_run import TESTS, Note, code_behind, leave_out, write_note

EXAMPLES = int(os.environ.get("CEPHEID_EXAMPLES", "300"))
NOTED = "CEPHEID_NOTED" in os.environ
"""Whether this is the long run, which notes what has passed."""

settings.register_profile(
    "cepheid",
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="CEPHEID_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("cepheid")


def pytest_configure() -> None:
    """Look at the code before it is tried: it may be changed while the long run goes on."""
    if NOTED:
        for test in TESTS.glob("test_*.py"):
            code_behind(test)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the long run has tried before."""
    if NOTED:
        done = leave_out(items, EXAMPLES)
        config.hook.pytest_deselected(items=done)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what has passed, in the process that hears from all workers."""
    if (
        NOTED
        and report.when == "call"
        and report.passed
        and "PYTEST_XDIST_WORKER" not in os.environ
    ):
        file, _, _ = report.nodeid.partition("::")
        code = code_behind(TESTS.parent / file)
        write_note(report.nodeid, Note(code=code, examples=EXAMPLES))
