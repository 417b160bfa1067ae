"""Checking rules: everything that can be known to be wrong before the first event."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.algebra import Rule
from cepheid.errors import Report
from cepheid.events import Schema


def check(rules: Sequence[Rule], schema: Schema, report: Report) -> None:
    """Report everything that is wrong with rules, or worth knowing about them."""
