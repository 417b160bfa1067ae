"""Rules as data: the algebra as plain JSON values and back, for snapshots and for sending rules.

A node is written as an object with its class under `node` and its fields by name. Only classes of
the algebra are read, and only fields with values that they may have: whatever the text says, no
other code runs. The place in the text that a node came from (`span`) is left out.
"""

from __future__ import annotations

import math
import types
from dataclasses import MISSING, fields
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

from cepheid import algebra
from cepheid.algebra.expressions import Node
from cepheid.algebra.rules import Rule
from cepheid.errors import SnapshotError
from cepheid.events import Kind

NODES: dict[str, type[Node]] = {
    kind.__name__: kind
    for kind in (
        algebra.Absence,
        algebra.Accumulate,
        algebra.Aggregate,
        algebra.Alternation,
        algebra.And,
        algebra.Arithmetic,
        algebra.Atom,
        algebra.Attribute,
        algebra.Binding,
        algebra.Coalesce,
        algebra.Collected,
        algebra.Collection,
        algebra.Comparison,
        algebra.Component,
        algebra.Conjunction,
        algebra.CountWindow,
        algebra.Detector,
        algebra.Each,
        algebra.Equivalence,
        algebra.EventPredicate,
        algebra.Instant,
        algebra.Item,
        algebra.Iteration,
        algebra.Key,
        algebra.Literal,
        algebra.Negation,
        algebra.Negative,
        algebra.Not,
        algebra.Or,
        algebra.Output,
        algebra.OutputAttribute,
        algebra.Parallel,
        algebra.Parameter,
        algebra.Pick,
        algebra.Rule,
        algebra.Run,
        algebra.Selection,
        algebra.Sequence,
        algebra.Take,
        algebra.TimeWindow,
        algebra.TimerSignal,
        algebra.Timing,
        algebra.Tree,
        algebra.Window,
    )
}
"""The classes that a node may have, by name."""

WORDS: dict[str, type[StrEnum]] = {
    kind.__name__: kind
    for kind in (algebra.Function, algebra.Policy, algebra.Relation, algebra.Sign, Kind)
}
"""The enumerations that a value may be of, by name."""

_HINTS: dict[type[Node], dict[str, Any]] = {
    kind: {name: hint for name, hint in get_type_hints(kind).items() if name != "span"}
    for kind in NODES.values()
}
"""The fields of every class that are written, with their types."""

_NEEDED: dict[type[Node], list[str]] = {
    kind: [item.name for item in fields(kind) if item.default is MISSING] for kind in NODES.values()
}
"""The fields of every class that have no default."""


def encode(node: Node) -> dict[str, Any]:
    """A node as JSON values.

    >>> encode(algebra.Negative(algebra.Parameter("a")))
    {'node': 'Negative', 'operand': {'node': 'Parameter', 'name': 'a'}}
    """
    written: dict[str, Any] = {"node": type(node).__name__}
    for name in _HINTS[type(node)]:
        written[name] = _encoded(getattr(node, name))
    return written


def decode(written: object) -> Node:
    """The node that JSON values stand for; whatever does not fit is a SnapshotError."""
    found = _decoded(written)
    if not isinstance(found, Node):
        raise SnapshotError(f"part of a rule must be a node of the algebra; got {_shown(written)}")
    return found


def decode_rule(written: object) -> Rule:
    """The rule that JSON values stand for."""
    found = decode(written)
    if not isinstance(found, Rule):
        raise SnapshotError(f"rule must be of class Rule; got {type(found).__name__}")
    return found


def _encoded(value: object) -> Any:  # noqa: ANN401 (JSON has no type of its own)
    if isinstance(value, Node):
        return encode(value)
    if isinstance(value, tuple):
        return [_encoded(item) for item in value]
    if isinstance(value, StrEnum):
        return {"word": type(value).__name__, "value": value.value}
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no word for these.
        return {"double": repr(value)}
    return value


def _decoded(written: object) -> object:
    if isinstance(written, list):
        return tuple(_decoded(item) for item in written)
    if not isinstance(written, dict):
        return written
    if "node" in written:
        return _node(written)
    if set(written) == {"word", "value"}:
        return _word(written)
    if written in ({"double": "inf"}, {"double": "-inf"}):
        return float(written["double"])
    raise SnapshotError(f"part of a rule is not known; got {_shown(written)}")


def _word(written: dict[str, Any]) -> StrEnum:
    kind = WORDS.get(str(written["word"]))
    if kind is None or written["value"] not in {str(word) for word in kind}:
        raise SnapshotError(f"word of a rule is not known; got {_shown(written)}")
    return kind(written["value"])


def _node(written: dict[str, Any]) -> Node:
    kind: type[Any] | None = NODES.get(str(written["node"]))
    if kind is None:
        raise SnapshotError(f"class of a node is not known; got {_shown(written['node'])}")
    given = {name: _decoded(value) for name, value in written.items() if name != "node"}
    hints = _HINTS[kind]
    for name, value in given.items():
        if name not in hints or not _fits(value, hints[name]):
            raise SnapshotError(
                f"field {name} of {kind.__name__} must have a value that fits; got {_shown(value)}"
            )
    missing = [name for name in _NEEDED[kind] if name not in given]
    if missing:
        raise SnapshotError(f"{kind.__name__} must have a field {missing[0]}")
    found: Node = kind(**given)
    return found


def _fits(value: object, hint: Any) -> bool:  # noqa: ANN401 (a type hint is any object)
    """Whether a value is of the type that a field is declared with."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, option) for option in inner)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if inner[-1] is Ellipsis:
            return all(_fits(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(map(_fits, value, inner))
    if hint in (int, str):
        # A bool is an int and a word is a text to Python, but not to a rule.
        return type(value) is hint
    return isinstance(value, hint)


def _shown(value: object) -> str:
    return repr(value)[:80]
