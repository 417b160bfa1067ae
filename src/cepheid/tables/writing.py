"""Writing: matches become a table of composite events, column by column."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cepheid.algebra import Rule, input_types
from cepheid.events import Kind
from cepheid.kernel.registry import FAILURE
from cepheid.tables.arrow import Array, Ints, kind, pa, pc, strings
from cepheid.tables.cells import column
from cepheid.tables.cells import columns as cell_columns
from cepheid.tables.ids import written
from cepheid.tables.json_texts import json_members, json_objects
from cepheid.tables.outputs import Kinds, output_kinds
from cepheid.tables.parts import Parts
from cepheid.tables.payload import Payload
from cepheid.tables.results import Matches, Ordered, Results
from cepheid.tables.table import ARROW, TEXT, Table
from cepheid.tables.times import Times

OWN = ("id", "type", "ts", "start", "rule", "events")
"""Columns that are no attributes; an attribute of such a name is left out."""
ATTRIBUTES = "attributes"
"""The column of all attributes in the loose form."""
_PORTION = 1 << 20
"""How many composite events are written at a time."""


@dataclass(frozen=True)
class Form:
    """How composite events are written: their times, attributes, and the ids of their events.

    A kind that is not known follows from the values that are there. In the `loose` form attributes
    have no columns of their own but are one JSON text: rules that come later may add others.
    """

    times: Times
    attributes: Mapping[str, Kind | None]
    id_kind: Kind
    loose: bool = False

    @staticmethod
    def of(
        rules: Sequence[Rule],
        times: Times,
        inputs: Mapping[str, Kinds],
        ids: Collection[Kind],
        *,
        failures: bool,
    ) -> Form:
        """The form for what rules find in events, given their columns and the kinds of their ids.

        It follows from what is given here alone, so that an empty result has it too.
        """
        kinds = output_kinds(rules, inputs)
        if failures:
            kinds.setdefault("reason", Kind.STRING)
        return Form(times.exact(rules), kinds, _id_kind(rules, ids))


def _id_kind(rules: Sequence[Rule], ids: Collection[Kind]) -> Kind:
    """Ids of composite events are texts; where none are constituents, others stay what they are."""
    outputs = {FAILURE, *(rule.output.type for rule in rules)}
    if any(outputs.intersection(input_types(rule)) for rule in rules):
        return Kind.STRING
    if set(ids) == {Kind.INT, Kind.DOUBLE}:
        return Kind.DOUBLE
    return next(iter(ids)) if len(ids) == 1 else Kind.STRING


def schema_of(form: Form, kinds: Mapping[str, Kind | None]) -> Any:  # noqa: ANN401 (of Arrow)
    """The columns of composite events; attributes of which nothing is known are texts."""
    time = form.times.written
    event = pa.struct({"label": TEXT, "type": TEXT, "ts": time, "id": ARROW[form.id_kind]})
    fields = {"id": TEXT, "type": TEXT, "ts": time, "start": time, "rule": TEXT}
    fields |= {n: ARROW[kind_ or Kind.STRING] for n, kind_ in kinds.items() if n not in OWN}
    fields |= {ATTRIBUTES: TEXT} if form.loose else {}
    return pa.schema({**fields, "events": pa.list_(event)})


def write(results: Results, payload: Payload, form: Form) -> Any:  # noqa: ANN401 (a table of Arrow)
    """All matches as a table, in the total order."""
    kinds = {
        name: known or results.kind(name) or Kind.STRING
        for name, known in form.attributes.items()
        if name not in OWN
    }
    writer = _Writer(payload, form, kinds)
    ordered = results.ordered()
    pieces = [writer.schema.empty_table()]
    for at in range(0, len(ordered.order), _PORTION):
        pieces += writer.portion(ordered, ordered.order[at : at + _PORTION])
    return pa.concat_tables(pieces)


class _Writer:
    """Writes composite events in one form."""

    def __init__(self, payload: Payload, form: Form, kinds: Mapping[str, Kind]) -> None:
        self._payload = payload
        self._form = form
        self._kinds = kinds
        self.schema = schema_of(form, kinds)
        self._event = self.schema.field("events").type.value_type

    def portion(self, ordered: Ordered, rows: Ints) -> Iterator[Any]:
        """Some of the matches, as a table."""
        begins = np.cumsum([0, *map(len, ordered.shapes)])
        shapes = np.searchsorted(begins, rows, side="right") - 1
        pieces, places = [], []
        for number in np.unique(shapes).tolist():
            own = np.flatnonzero(shapes == number)
            matches = ordered.shapes[number].take(rows[own] - begins[number])
            pieces.append(self._table(matches, ordered.parts.take(rows[own])))
            places.append(own)
        whole = pa.concat_tables(pieces)
        if len(pieces) > 1:
            whole = whole.take(pa.array(np.argsort(np.concatenate(places))))
        yield whole.combine_chunks()

    def _table(self, matches: Matches, parts: Parts) -> Any:  # noqa: ANN401 (a table of Arrow)
        composer, times = self._payload.composer, self._form.times
        types, names = composer.named(matches.rules, matches.failing)
        columns = {
            "id": written(composer.lanes(matches.rules, matches.failing, parts)),
            "type": strings(types),
            "ts": times.write(matches.ends),
            "start": times.write(matches.starts),
            "rule": strings(names),
            **(self._attributes if not self._form.loose else self._joined)(matches, parts),
            "events": self._events(parts),
        }
        return pa.table(columns, schema=self.schema)

    def _attributes(self, matches: Matches, parts: Parts) -> dict[str, Array]:
        texts = self._payload.encoder.texts
        found: dict[str, list[Array]] = {}
        given = zip(matches.names, matches.tags, matches.cells, strict=True)
        for name, tags, cells in given:
            if name in self._kinds:
                found[name] = [column(tags, cells, self._kinds[name], texts)]
        more = self._payload.composer.everything(matches.rules, parts, matches.names)
        for name, array in more:
            if name in self._kinds:
                found.setdefault(name, []).append(_converted(array, self._kinds[name]))
        return {
            name: _first(found[name]) if name in found else pa.nulls(len(matches), ARROW[kind_])
            for name, kind_ in self._kinds.items()
        }

    def _joined(self, matches: Matches, parts: Parts) -> dict[str, Array]:
        """All attributes as JSON texts."""
        texts = self._payload.encoder.texts
        given = zip(matches.names, matches.tags, matches.cells, strict=True)
        members = [
            json_members(name, array)
            for own, tags, cells in given
            for name, array in cell_columns(own, tags, cells, texts)
        ]
        more = self._payload.composer.everything(matches.rules, parts, matches.names)
        members += [json_members(name, array) for name, array in more]
        return {ATTRIBUTES: json_objects(members, len(matches))}

    def _events(self, parts: Parts) -> Array:
        """What composite events are made of: a list of structures for each."""
        origins, places = parts.known_origins
        table = self._payload.table(origins, ())
        at = pa.array(places)
        labels, label_places = parts.known_labels
        texts = self._payload.encoder.texts
        names = pa.array([texts[label] for label in labels.tolist()], TEXT)
        fields = [
            names.take(pa.array(label_places)),
            strings(table.types).take(at),
            self._form.times.write(table.ends).take(at),
            self._part_ids(table).take(at),
        ]
        events = pa.StructArray.from_arrays(fields, fields=list(self._event))
        return pa.ListArray.from_arrays(pa.array(parts.offsets.astype(np.int32)), events)

    def _part_ids(self, table: Table) -> Array:
        if not table.ids:
            return pa.nulls(len(table), ARROW[self._form.id_kind])
        return _first([_converted(array, self._form.id_kind) for array in table.ids])


def _first(arrays: list[Array]) -> Array:
    """The values of whichever column has one."""
    return arrays[0] if len(arrays) == 1 else pc.coalesce(*arrays)


def _converted(array: Array, wanted: Kind) -> Array:
    """A column as one of a kind; what does not fit is missing."""
    own = kind(array)
    if own is Kind.STRING and wanted is Kind.STRING:
        return strings(array).cast(TEXT)
    if own is wanted:
        return array
    if wanted is Kind.STRING or (own is Kind.INT and wanted is Kind.DOUBLE):
        return array.cast(ARROW[wanted], safe=False)
    return pa.nulls(len(array), ARROW[wanted])
