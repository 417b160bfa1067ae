"""Tracks: the events and matches of one key go side by side in a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cepheid.algebra import Rule
from cepheid.automaton import compile_rule
from cepheid.automaton.partition import partitions
from cepheid.errors import PictureError, did_you_mean
from cepheid.tables.arrow import Array, Ints, codes, pa, pc, strings
from cepheid.tables.table import Table
from cepheid.tables.tracing import Trace

_FAR = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Tracks:
    """What tells keys apart, the tracks of a picture, and the track of every event and match."""

    key: tuple[str, ...]
    keys: int
    """How many keys there are; those that have no track of their own share one."""
    names: tuple[str, ...]
    events: Ints
    matches: Ints

    @property
    def title(self) -> str:
        """What a track stands for."""
        return " or ".join(self.key)


def key_of(rules: Iterable[Rule], events: Table) -> tuple[str, ...]:
    """The attributes by which most rules part events; none where no rule does."""
    known = {name for name, _ in events.columns}
    votes: Counter[tuple[str, ...]] = Counter()
    for rule in rules:
        for group in partitions(compile_rule(rule)):
            votes[tuple(name for name in group.attributes if name in known)] += 1
    del votes[()]
    return votes.most_common(1)[0][0] if votes else ()


def checked_key(key: str, events: Table) -> tuple[str, ...]:
    """The attribute that a person named."""
    known = list(dict.fromkeys(name for name, _ in events.columns))
    if key not in known and len(events):
        hint = did_you_mean(key, known) or f"the attributes are {', '.join(known[:20])}"
        raise PictureError(f"key must be an attribute of the events; got {key}\n\nhint: {hint}")
    return (key,)


def tracks_of(trace: Trace, key: tuple[str, ...], most: int) -> Tracks:
    """The tracks of a key: one for each value, those with most matches first."""
    if not key:
        events = np.zeros(len(trace.events), np.int64)
        return Tracks(key, 1, ("all events",), events, np.zeros(len(trace.ends), np.int64))
    values, names = _values(trace.events, key)
    matched = _of_matches(trace, values, names, key)
    places, titles = _chosen(values, matched, names, most)
    return Tracks(key, len(names), titles, places[values], places[matched])


def _values(events: Table, key: tuple[str, ...]) -> tuple[Ints, Array]:
    """The key of each event, as a code and the texts of the codes; -1 where it has none."""
    columns = [strings(a).cast(pa.large_string()) for name in key for a in events.named(name)]
    if not columns:
        return np.full(len(events), -1, np.int64), pa.array([], pa.large_string())
    return codes(pc.coalesce(*columns))


def _of_matches(trace: Trace, values: Ints, names: Array, key: tuple[str, ...]) -> Ints:
    """The key of each match: that of its first event with one, else what it says itself."""
    known = values[trace.rows] if len(values) else np.full(len(trace.rows), -1)
    own = np.where(trace.rows >= 0, known, -1)
    found = first_of(own, trace.offsets)
    for name in key:
        if name in trace.found.column_names and len(names):
            texts = trace.found[name].cast(pa.large_string())
            told = pc.index_in(texts, names).fill_null(-1).to_numpy()
            found = np.where(found < 0, told, found)
    while (nested := (trace.wholes >= 0) & (own < 0)).any():
        own = np.where(nested, found[trace.wholes], own)
        better = np.where(found < 0, first_of(own, trace.offsets), found)
        if np.array_equal(better, found):
            break
        found = better
    return found


def first_of(values: Ints, offsets: Ints) -> Ints:
    """The first value that is not negative of each group; -1 where there is none."""
    found = np.full(len(offsets) - 1, -1, np.int64)
    full = np.flatnonzero(np.diff(offsets))
    if len(full):
        places = np.where(values >= 0, np.arange(len(values)), _FAR)
        firsts = np.minimum.reduceat(places, offsets[full])
        there = firsts < _FAR
        found[full[there]] = values[firsts[there]]
    return found


def _chosen(values: Ints, matched: Ints, names: Array, most: int) -> tuple[Ints, tuple[str, ...]]:
    """The track of each key, the last one for events without a key, and what tracks are called."""
    by_match = np.bincount(matched[matched >= 0], minlength=len(names))
    by_event = np.bincount(values[values >= 0], minlength=len(names))
    order = np.lexsort((np.arange(len(names)), -by_event, -by_match))
    own = order[:most] if len(order) > most else order
    places = np.full(len(names) + 1, len(own), np.int64)
    places[own] = np.arange(len(own))
    titles = names.take(pa.array(own)).to_pylist()
    if len(order) > len(own):
        titles.append(f"{len(order) - len(own):,} other keys")
    places[-1] = len(titles)
    if (values < 0).any() or (matched < 0).any():
        titles.append("no key")
    return places, tuple(titles)
