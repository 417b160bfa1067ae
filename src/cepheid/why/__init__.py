"""Why: what led to a composite event, and what kept a rule from one."""

from cepheid.why.changes import (
    Add,
    Arrive,
    Change,
    Move,
    PassTime,
    Remove,
    SetValue,
    Together,
)
from cepheid.why.results import Check, Nearby, Parameter, Place, Why, WhyNot

__all__ = [
    "Add",
    "Arrive",
    "Change",
    "Check",
    "Move",
    "Nearby",
    "Parameter",
    "PassTime",
    "Place",
    "Remove",
    "SetValue",
    "Together",
    "Why",
    "WhyNot",
]
