"""Tables through the engine: what is known of the tables that came in, so that tables go out.

The columns of composite events follow from the rules and from the columns of all tables so far,
never from what was found: an event of today's table may be made of rows of yesterday's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cepheid.algebra import Rule, input_types
from cepheid.events import Kind, Schema
from cepheid.kernel.found import Found
from cepheid.kernel.registry import FAILURE
from cepheid.records import Clock
from cepheid.tables.arrow import kind, pa
from cepheid.tables.frames import Frame, give
from cepheid.tables.outputs import ANY, output_kinds
from cepheid.tables.payload import Payload
from cepheid.tables.reading import Reading
from cepheid.tables.results import Results
from cepheid.tables.times import Times
from cepheid.tables.writing import Form, write

Kinds = dict[str, dict[str, Kind | None]]


@dataclass(frozen=True)
class Tabular:
    """The form of the tables that came in: library, times, columns by type, kinds of ids."""

    frame: Frame
    times: Times
    kinds: Kinds = field(default_factory=dict)
    id_kinds: frozenset[Kind] = frozenset()
    loose: bool = False
    """Whether composite events have their attributes in one column."""
    columns: tuple[str, ...] | None = None
    """The columns that composite events have; all of them unless told."""

    @staticmethod
    def of(reading: Reading, before: Tabular | None) -> Tabular:
        """The form of a table, with the columns of those before it."""
        known = Tabular(reading.frame, reading.times) if before is None else before
        kinds = {type_: dict(own) for type_, own in known.kinds.items()}
        for type_, given in reading.kinds.items():
            own = kinds.setdefault(type_, dict(kinds.get(ANY, {})))
            own.update((name, kind_ or own.get(name)) for name, kind_ in given.items())
        id_kinds = known.id_kinds | {kind(array) for array in reading.table.ids}
        return Tabular(reading.frame, reading.times, kinds, id_kinds)

    def form(self, rules: Sequence[Rule], schema: Schema, *, failures: bool) -> Form:
        """How composite events of rules are written."""
        if self.loose:
            # Whatever rules come later, the columns of times stay what they are.
            whole = self.times.type is not None or self.times.clock.unit == 1
            loose = Form(replace(self.times, whole=whole), {}, Kind.STRING, loose=True)
            return loose.chosen(self.columns)
        inputs: Kinds = {type_: dict(own) for type_, own in self.kinds.items()}
        for type_, declared in schema.items():
            own = inputs.setdefault(type_, dict(inputs.get(ANY, {})))
            own.update((name, own.get(name) or declared[name]) for name in declared if name in own)
        kinds = output_kinds(rules, inputs)
        if failures:
            kinds.setdefault("reason", Kind.STRING)
        return Form(self.times.exact(rules), kinds, self._id_kind(rules)).chosen(self.columns)

    def _id_kind(self, rules: Sequence[Rule]) -> Kind:
        """Ids of composite events are texts; others stay what they are."""
        outputs = {FAILURE, *(rule.output.type for rule in rules)}
        if any(outputs.intersection(input_types(rule)) for rule in rules):
            return Kind.STRING
        if self.id_kinds == {Kind.INT, Kind.DOUBLE}:
            return Kind.DOUBLE
        return next(iter(self.id_kinds)) if len(self.id_kinds) == 1 else Kind.STRING

    def written(self, portions: Sequence[Found], payload: Payload, form: Form, cores: int) -> Any:  # noqa: ANN401
        """Matches as a table of the library that was used."""
        results = Results(payload)
        for portion in portions:
            results.add(portion)
        return give(write(results, payload, form, cores), self.frame)

    def state(self) -> dict[str, Any]:
        """The form as JSON values."""
        type_ = self.times.type
        return {
            "frame": self.frame.value,
            "unit": self.times.clock.unit,
            "type": None if type_ is None else [type_.unit, type_.tz],
            "kinds": self.kinds,
            "id_kinds": sorted(self.id_kinds),
            "loose": self.loose,
            "columns": self.columns,
        }

    @staticmethod
    def of_state(state: Mapping[str, Any]) -> Tabular:
        """The form that JSON values stand for."""
        type_ = None if state["type"] is None else pa.timestamp(*state["type"])
        kinds = {
            name: {attribute: kind_ and Kind(kind_) for attribute, kind_ in own.items()}
            for name, own in state["kinds"].items()
        }
        id_kinds = frozenset(map(Kind, state["id_kinds"]))
        times = Times(Clock(state["unit"]), type_)
        chosen = state.get("columns")  # older states have none
        columns = None if chosen is None else tuple(chosen)
        return Tabular(Frame(state["frame"]), times, kinds, id_kinds, state["loose"], columns)
