"""Rules of the algebra: a pattern, what it gives, and what it uses up."""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.algebra.expressions import Expression, Node
from cepheid.algebra.patterns import Pattern
from cepheid.events import Kind


@dataclass(frozen=True, slots=True)
class OutputAttribute(Node):
    """An attribute of the composite event; kind None means whatever the value has."""

    name: str
    kind: Kind | None
    value: Expression


@dataclass(frozen=True, slots=True)
class Output(Node):
    """The composite event that a match becomes.

    With `everything`, the attributes of all components are added as `label_attribute`.
    """

    type: str
    attributes: tuple[OutputAttribute, ...] = ()
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Rule(Node):
    """A named pattern with its output.

    `consuming` lists labels whose events are gone for this rule after a match. `missing` is what
    a comparison with a missing value gives. `point` places the composite event at its end alone
    instead of the interval of its constituents.
    """

    name: str
    output: Output
    pattern: Pattern
    consuming: tuple[str, ...] = ()
    missing: bool = False
    point: bool = False
    language: str = field(default="", compare=False)
