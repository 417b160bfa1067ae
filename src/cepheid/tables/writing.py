"""Writing: matches become a table of composite events, column by column."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from cepheid.algebra import Rule, input_types
from cepheid.cores import spreading
from cepheid.errors import EventError
from cepheid.events import Kind
from cepheid.kernel.registry import FAILURE
from cepheid.tables.arranging import Arrangement, Matches
from cepheid.tables.arrow import Array, Ints, arrow_of, kind, pa, pc, strings, text_array
from cepheid.tables.cells import column
from cepheid.tables.cells import columns as cell_columns
from cepheid.tables.ids import written
from cepheid.tables.json_texts import json_members, json_objects
from cepheid.tables.outputs import Kinds, output_kinds
from cepheid.tables.parts import Parts
from cepheid.tables.payload import Payload
from cepheid.tables.results import Results
from cepheid.tables.table import ARROW, TEXT, Table
from cepheid.tables.times import Times

OWN = ("id", "type", "ts", "start", "rule", "events")
"""Columns that are no attributes; an attribute of such a name is left out."""
ATTRIBUTES = "attributes"
"""The column of all attributes in the loose form."""


@dataclass(frozen=True)
class Form:
    """How composite events are written: their times, attributes, and the ids of their events.

    A kind that is not known follows from the values that are there. In the `loose` form attributes
    have no columns of their own but are one JSON text: rules that come later may add others.
    Where some `columns` are chosen, only these are made.
    """

    times: Times
    attributes: Mapping[str, Kind | None]
    id_kind: Kind
    loose: bool = False
    columns: tuple[str, ...] | None = None

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

    def chosen(self, columns: Sequence[str] | None) -> Form:
        """The form with some columns alone, in that order; all of them unless told."""
        return self if columns is None else replace(self, columns=tuple(columns))

    def has(self, name: str) -> bool:
        """Whether there is a column of a name."""
        return self.columns is None or name in self.columns


def given_by(rules: Sequence[Rule], *, failures: bool) -> list[str] | None:
    """The attributes that rules give; None if that is known with the events only."""
    if any(rule.output.everything for rule in rules):
        return None
    names = [one.name for rule in rules for one in rule.output.attributes]
    return [*names, "reason"] if failures else names


def check_columns(columns: Sequence[str] | None, attributes: Iterable[str] | None) -> None:
    """Check that columns of composite events are chosen among those that there are.

    Where attributes are not known yet, any name may be one.
    """
    if columns is None:
        return
    listed = isinstance(columns, Sequence) and not isinstance(columns, str)
    if not listed or not columns or {type(name) for name in columns} != {str}:
        raise EventError(
            f"columns must be a list of names, or None; got {columns!r}\n\n"
            'hint: columns=["type", "ts"]'
        )
    if len(set(columns)) < len(columns):
        raise EventError(f"columns must have different names; got {', '.join(columns)}")
    if attributes is None:
        return
    known = list(dict.fromkeys([*OWN[:-1], *attributes, OWN[-1]]))
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise EventError(
            f"columns must be those of composite events; got {', '.join(unknown)}\n\n"
            f"hint: there are {', '.join(known)}"
        )


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
    return _schema(
        form.times.written, tuple(kinds.items()), form.id_kind, form.columns, loose=form.loose
    )


@lru_cache
def _schema(
    time: Any,  # noqa: ANN401 (a type of Arrow)
    kinds: tuple[tuple[str, Kind | None], ...],
    id_kind: Kind,
    columns: tuple[str, ...] | None,
    *,
    loose: bool,
) -> Any:  # noqa: ANN401 (of Arrow)
    event = pa.struct({"label": TEXT, "type": TEXT, "ts": time, "id": ARROW[id_kind]})
    fields = {"id": TEXT, "type": TEXT, "ts": time, "start": time, "rule": TEXT}
    fields |= {n: ARROW[kind_ or Kind.STRING] for n, kind_ in kinds if n not in OWN}
    fields |= {ATTRIBUTES: TEXT} if loose else {}
    fields["events"] = pa.list_(event)
    if columns is not None:
        fields = {name: fields[name] for name in columns if name in fields}
    return pa.schema(fields)


def write(results: Results, payload: Payload, form: Form, cores: int = 1) -> Any:  # noqa: ANN401 (a table of Arrow)
    """All matches as a table, in the total order; several pieces at a time where that pays."""
    kinds = {
        name: known or results.kind(name) or Kind.STRING
        for name, known in form.attributes.items()
        if name not in OWN and form.has(name)
    }
    arranged = results.arranged()
    writer = _Writer(payload, form, kinds, arranged)
    pieces = list(arranged.pieces())
    if len(pieces) == 1:
        return writer.piece(pieces[0])
    with spreading(min(cores, max(1, len(pieces)))) as spread:
        empty = pa.Table.from_batches([], writer.schema)
        return pa.concat_tables([empty, *spread(writer.piece, pieces)])


class _Writer:
    """Writes composite events in one form; what several pieces need is made before."""

    def __init__(
        self, payload: Payload, form: Form, kinds: Mapping[str, Kind], arranged: Arrangement
    ) -> None:
        self._payload = payload
        self._form = form
        self._kinds = kinds
        self._arranged = arranged
        self.schema = schema_of(form, kinds)
        if form.has("events"):
            texts = payload.encoder.texts
            self._labels = text_array(texts[label] for label in arranged.labels.tolist()).cast(TEXT)
            self._event = self.schema.field("events").type.value_type
            known = payload.table(arranged.origins, ())
            self._known = strings(known.types), form.times.write(known.ends), self._part_ids(known)
        heads = arranged.known_heads
        self._types, self._rules = heads.types, heads.rules
        self._gives_everything = heads.everything
        # Computed when first asked for, which pieces must not do at the same time.
        self._cells = {name: arranged.cells(name) for name in kinds}
        self._shared = arranged.origins if self._gives_everything else None
        self._ids = (arranged.identities, arranged.label_fields) if form.has("id") else None

    def piece(self, matches: Ints) -> Any:  # noqa: ANN401 (a table of Arrow)
        """The composite events of some matches, as a table."""
        arranged, times = self._arranged, self._form.times
        rows, parts = arranged.ordered(matches)
        at = arranged.matches[rows]
        own: dict[str, Callable[[], Array]] = {
            "id": lambda: written(arranged.lanes(rows, parts())),
            "type": lambda: self._types.take(arrow_of(arranged.heads(rows))),
            "ts": lambda: times.write(arranged.ends[at]),
            "start": lambda: times.write(arranged.starts[at]),
            "rule": lambda: self._rules.take(arrow_of(arranged.heads(rows))),
            "events": lambda: self._events(parts()),
        }
        by_shape = self._form.loose or self._gives_everything
        attributes = self._by_shape(rows, parts) if by_shape else self._by_match(matches, at)
        columns = [own[n]() if n in own else attributes[n] for n in self.schema.names]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _by_match(self, matches: Ints, at: Ints) -> dict[str, Array]:
        """The attributes of matches, each as often as `at` has it."""
        texts, places = self._payload.encoder.texts, self._arranged.places(matches, at)
        own = {
            name: column(tags[matches], cells[matches], self._kinds[name], texts)
            for name, (tags, cells) in self._cells.items()
        }
        if places is None:
            return own
        return {name: array.take(arrow_of(places)) for name, array in own.items()}

    def _by_shape(self, rows: Ints, parts: Callable[[], Parts]) -> dict[str, Array]:
        """The attributes, shape by shape and then in the order of the rows."""
        begins = self._arranged.begins
        shapes = np.searchsorted(begins, rows, side="right") - 1
        numbers = np.flatnonzero(np.bincount(shapes)).tolist()
        if len(numbers) == 1:
            return self._of_shape(numbers[0], rows, parts)
        places = [np.flatnonzero(shapes == number) for number in numbers]
        pieces = [
            pa.table(self._of_shape(number, rows[own], partial(parts().take, own)))
            for number, own in zip(numbers, places, strict=True)
        ]
        whole = pa.concat_tables(pieces).combine_chunks()
        order = np.empty(len(rows), np.int64)
        order[np.concatenate(places)] = np.arange(len(rows))
        return {name: whole[name].take(arrow_of(order)) for name in whole.column_names}

    def _of_shape(self, number: int, rows: Ints, parts: Callable[[], Parts]) -> dict[str, Array]:
        arranged = self._arranged
        matches, own = arranged.shapes[number], rows - arranged.begins[number]
        if self._form.loose:
            return self._joined(matches, own, parts)
        texts, at = self._payload.encoder.texts, matches.matches[own]
        found: dict[str, list[Array]] = {}
        given = zip(matches.names, matches.tags, matches.cells, strict=True)
        for name, tags, cells in given:
            if name in self._kinds:
                found[name] = [column(tags[at], cells[at], self._kinds[name], texts)]
        for name, array in self._everything(matches.rules[own], parts, matches.names):
            if name in self._kinds:
                found.setdefault(name, []).append(_converted(array, self._kinds[name]))
        return {
            name: _first(found[name]) if name in found else pa.nulls(len(rows), ARROW[kind_])
            for name, kind_ in self._kinds.items()
        }

    def _joined(self, matches: Matches, own: Ints, parts: Callable[[], Parts]) -> dict[str, Array]:
        """All attributes as JSON texts."""
        texts, at = self._payload.encoder.texts, matches.matches[own]
        given = zip(matches.names, matches.tags, matches.cells, strict=True)
        members = [
            json_members(name, array)
            for attribute, tags, cells in given
            for name, array in cell_columns(attribute, tags[at], cells[at], texts)
        ]
        more = self._everything(matches.rules[own], parts, matches.names)
        members += [json_members(name, array) for name, array in more]
        return {ATTRIBUTES: json_objects(members, len(own))}

    def _everything(
        self, rules: Ints, given: Callable[[], Parts], taken: Collection[str]
    ) -> list[tuple[str, Array]]:
        """The attributes of all constituents, for the rules that give them."""
        if not self._gives_everything:
            return []
        arranged, parts = self._arranged, given()
        origins, labels = arranged.origins[parts.origins], arranged.labels[parts.labels]
        outside = Parts(parts.offsets, origins, labels)
        return self._payload.composer.everything(rules, outside, taken)

    def _events(self, parts: Parts) -> Array:
        """What composite events are made of: a list of structures for each."""
        at = arrow_of(parts.origins)
        fields = [
            self._labels.take(arrow_of(parts.labels)),
            *(known.take(at) for known in self._known),
        ]
        events = pa.StructArray.from_arrays(fields, fields=list(self._event))
        return pa.ListArray.from_arrays(arrow_of(parts.offsets.astype(np.int32)), events)

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
