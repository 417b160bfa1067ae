"""Checking rules: everything that can be known to be wrong before the first event.

The check works on the algebra, so that rules of every language are checked alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cepheid.algebra import Rule
from cepheid.check.definitions import Definitions
from cepheid.check.facts import Facts
from cepheid.check.families import Families, Family
from cepheid.check.names import check_names
from cepheid.check.structure import check_structure
from cepheid.errors import Report
from cepheid.events import Schema

__all__ = ["Family", "check", "uses"]


def check(rules: Sequence[Rule], schema: Schema, report: Report) -> None:
    """Report everything that is wrong with rules, or worth knowing about them."""
    definitions = Definitions(rules, schema)
    definitions.check(report)
    families = Families(definitions, report)
    for rule in rules:
        facts = Facts(rule)
        sound = check_structure(facts, report)
        sound = check_names(facts, definitions, report) and sound
        if sound:
            families.check(facts)


def uses(rules: Sequence[Rule], schema: Schema) -> Mapping[tuple[str, str], tuple[Family, str]]:
    """What sound rules take attributes of types for, and which rule does; what a schema says is not
    among it.
    """
    families = Families(Definitions(rules, schema), Report())
    for rule in rules:
        families.check(Facts(rule))
    return families.used_as
