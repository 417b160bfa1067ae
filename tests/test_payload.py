"""The payload: what is kept of tables for matches to come."""

from __future__ import annotations

import numpy as np
import pytest

import cepheid
from cepheid.events import CompositeEvent, Event
from cepheid.kernel.columns import Encoder
from cepheid.kernel.found import Found
from cepheid.tables.arrow import codes, pa
from cepheid.tables.payload import Payload
from cepheid.tables.table import from_events


def test_a_payload_is_as_large_as_what_is_live() -> None:
    payload = Payload(Encoder(), {})
    for batch in range(200):
        first = 100 * batch
        table = from_events([Event("A", at, at, {"v": at}) for at in range(first, first + 100)])
        payload.add_table(first, table)
        payload.add_events(20_000 + batch, [Event("B", first + 99, first + 99)])
        payload.keep(np.arange(max(0, first - 300), first + 100, 10))
    assert sum(len(rows) for rows in payload._rows) < 200
    assert len(payload._rows) < 40
    assert len(payload._objects) == 0
    assert payload.event(19_990) == Event("A", 19_990, 19_990, {"v": 19_990})
    assert not payload.has(np.array([19_991, 5])).any()
    with pytest.raises(KeyError, match="origin 5 is not here"):
        payload.event(5)


def test_long_chains_of_composite_events_are_kept_to_a_depth() -> None:
    rules = cepheid.load(
        "QUERY First EVENT A x RETURN Chain(n = 1)\n"
        "QUERY Next EVENT SEQ(Chain x, A y) WITHIN 9 s RETURN Chain(n = x.n + 1)",
        language="sase",
    )
    events_ = [Event("A", at, at, id=at) for at in range(60)]
    encoder = Encoder()
    payload = Payload(encoder, dict(enumerate(rules)))
    payload.add_events(0, events_)
    for at in range(60):
        payload.add_found(chained(at, encoder))
    last = payload.event(-60)
    assert isinstance(last, CompositeEvent)
    assert last.depth == 60
    payload.keep(np.array([-60]))
    payload.builder.known.clear()
    again = payload.event(-60)
    assert isinstance(again, CompositeEvent)
    assert (again.id, again.depth) == (last.id, 60)
    assert 30 < len(payload._made) < 40


def chained(at: int, encoder: Encoder) -> Found:
    """A composite event that is made of the one before it and an event."""
    label = [encoder.texts.code("x"), encoder.texts.code("y")]
    parts = [at] if at == 0 else [-at, at]
    return Found(
        np.array([0 if at == 0 else 1]),
        np.array([0]),
        np.array([0]),
        np.array([at]),
        np.array([-at - 1]),
        ("n",),
        np.array([[1]], np.uint8),
        np.array([[at + 1]]),
        (),
        np.array(parts),
        np.array([0, len(parts)]),
        np.array(label[: len(parts)]),
    )


def test_a_few_rows_have_only_their_own_texts() -> None:
    many = pa.array([f"area-{number}" for number in range(1000)])
    whole = pa.DictionaryArray.from_arrays(pa.array([7, None, 999, 7]), many)
    found, known = codes(whole)
    assert (found.tolist(), known.to_pylist()) == ([0, -1, 1, 0], ["area-7", "area-999"])


def test_identities_do_not_depend_on_what_else_a_dictionary_holds() -> None:
    rules = cepheid.load("QUERY Q EVENT SEQ(A x, B y) WHERE [k] WITHIN 10 s", language="sase")
    plain = pa.table({"type": ["A", "B"], "ts": [1, 2], "k": ["u5", "u5"]})
    texts = pa.array([f"u{number}" for number in range(100)])
    coded = pa.DictionaryArray.from_arrays(pa.array([5, 5]), texts)
    ids = [
        rules.detect(events, unit="s")["id"].to_pylist()
        for events in (plain, plain.set_column(2, "k", coded))
    ]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 1
