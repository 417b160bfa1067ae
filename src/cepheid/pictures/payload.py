"""What a page carries: the drawn events and matches, and the counts of all, ready for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cepheid.algebra import Attribute, Binding, Item, Rule, find
from cepheid.pictures.counting import Counts, count_all
from cepheid.pictures.drawn import Drawn, Scene, column_of
from cepheid.tables.arrow import Array, Ints, pa, pc
from cepheid.tables.writing import OWN

_SAFE = 2**53
"""Whole numbers up to this are exact in a browser."""


def payload(scene: Scene, drawn: Drawn, rules: Sequence[Rule]) -> dict[str, Any]:
    """Everything that the page's script needs; times count from `begin`, in microseconds."""
    trace, span = scene.trace, max(1, scene.end - scene.begin)
    counts = count_all([scene.event_marks, scene.match_marks], span)
    return {
        "begin": scene.begin,
        "end": scene.end,
        "dates": trace.dates,
        "key": scene.tracks.title,
        "keys": scene.tracks.keys,
        "tracks": list(scene.tracks.names),
        "types": _series(scene.types.names, scene.types.counts),
        "rules": _series(scene.rules.names, scene.rules.counts),
        "parameters": {rule.name: _parameters(rule) for rule in rules},
        "total": {"events": len(trace.events), "matches": len(trace.ends)},
        "counts": {
            "size": counts[0].size,
            "events": _counts(counts[0], scene.begin),
            "matches": _counts(counts[1], scene.begin),
        },
        "events": _events(scene, drawn),
        "matches": _matches(scene, drawn),
    }


def _series(names: Sequence[str], counts: Sequence[int]) -> list[dict[str, Any]]:
    return [{"name": name, "count": n} for name, n in zip(names, counts, strict=True)]


def _parameters(rule: Rule) -> list[list[str]]:
    """The parameters that are an attribute of one of a rule's events: name, label, attribute."""
    found = []
    for binding in find(rule, Binding):
        value = binding.value
        if isinstance(value, Attribute) and value.label is not None:
            found.append([binding.name, value.label, value.name])
        if isinstance(value, Item):
            found.append([binding.name, value.label, value.attribute])
    return found


def _counts(counts: Counts, begin: int) -> dict[str, list[int]]:
    return {
        "at": (counts.stretches - begin // counts.size).tolist(),
        "track": counts.tracks.tolist(),
        "series": counts.series.tolist(),
        "count": counts.counts.tolist(),
    }


def _events(scene: Scene, drawn: Drawn) -> dict[str, Any]:
    events, rows = scene.trace.events, drawn.events
    table = events.take(rows)
    columns: dict[str, list[Any]] = {}
    for name, array in table.columns:
        # An attribute of several kinds has several columns, of which one has the value.
        known, more = columns.get(name, [None] * len(rows)), _plain(array)
        columns[name] = [a if b is None else b for a, b in zip(known, more, strict=True)]
    return {
        "ts": (events.ends[rows] - scene.begin).tolist(),
        "start": (events.starts[rows] - scene.begin).tolist(),
        "type": table.types.cast(pa.string()).to_pylist(),
        "series": scene.types.of[rows].tolist(),
        "track": scene.tracks.events[rows].tolist(),
        "values": columns,
    }


def _matches(scene: Scene, drawn: Drawn) -> dict[str, Any]:
    trace, rows = scene.trace, drawn.matches
    found = trace.found.take(pa.array(rows))
    begins, ends, tracks = scene.begins[rows], trace.ends[rows], scene.tracks.matches[rows]
    return {
        "id": column_of(found, "id").to_pylist(),
        "type": column_of(found, "type").to_pylist(),
        "rule": column_of(found, "rule").to_pylist(),
        "ts": (ends - scene.begin).tolist(),
        "begin": (begins - scene.begin).tolist(),
        "series": scene.rules.of[rows].tolist(),
        "track": tracks.tolist(),
        "values": {
            name: _plain(column_of(found, name)) for name in found.column_names if name not in OWN
        },
        "parts": _parts(scene, drawn, column_of(found, "events")),
    }


def _parts(scene: Scene, drawn: Drawn, made: Array) -> list[list[list[Any]]]:
    """Of each match its constituents: label, type, time, place of the event, place of the match."""
    trace = scene.trace
    lengths = np.diff(trace.offsets)[drawn.matches]
    flat = np.repeat(trace.offsets[drawn.matches] - np.cumsum(lengths) + lengths, lengths)
    places = flat + np.arange(len(flat))
    inner = pc.list_flatten(made)
    columns = [
        pc.struct_field(inner, "label").to_pylist(),
        pc.struct_field(inner, "type").to_pylist(),
        (_times(scene, places) - scene.begin).tolist(),
        _found(drawn.events, trace.rows[places]).tolist(),
        _found(drawn.matches, trace.wholes[places]).tolist(),
    ]
    parts = [list(part) for part in zip(*columns, strict=True)]
    ends = np.cumsum(lengths).tolist()
    return [parts[end - n : end] for end, n in zip(ends, lengths.tolist(), strict=True)]


def _times(scene: Scene, places: Ints) -> Ints:
    """When constituents ended; timers, which are no rows, when the match did."""
    trace = scene.trace
    rows, wholes = trace.rows[places], trace.wholes[places]
    found = trace.ends[trace.owners[places]]
    if len(trace.ends):
        found = np.where(wholes >= 0, trace.ends[wholes], found)
    return np.where(rows >= 0, trace.events.ends[rows], found) if len(trace.events) else found


def _found(sorted_: Ints, rows: Ints) -> Ints:
    """The places of rows among those that are drawn; -1 stays what it is."""
    return np.where(rows >= 0, np.searchsorted(sorted_, rows), -1)


def _plain(array: Array) -> list[Any]:
    """Values for JSON: numbers that a browser would change are texts."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    values: list[Any] = array.to_pylist()
    if pa.types.is_integer(array.type):
        return [v if v is None or -_SAFE <= v <= _SAFE else str(v) for v in values]
    if pa.types.is_floating(array.type):
        return [v if v is None or math.isfinite(v) else str(v) for v in values]
    return values
