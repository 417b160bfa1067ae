"""SASE's experiments 1 to 6 (section 5 of its paper): sequences with equivalence tests.

20 event types, equally likely, with five attributes; windows are counted in events, so events come
one a second. Experiments 1 and 2 have no equivalence test: its effect is had from more types, as
in the paper, by a factor of V1^((L-1)/L). Experiment 4 adds a simple predicate, a comparison
between two events, and a negation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bench.counting import Keyed, spread
from bench.scenario import Reach, Scenario
from bench.streams import SECOND, Bools, Column, Ints, Stream, every

TERMINATORS = 2000
"""So many terminators are joined at a time, so that memory stays small."""


@dataclass(frozen=True)
class Query:
    """A query of the paper's template, and the domains of the attributes that it looks at."""

    length: int = 3
    window: int = 10_000
    domain: int = 10_000
    second: int = 0
    types: int = 20
    simulated: bool = False
    simple: bool = False
    compared: bool = False
    negated: bool = False

    @property
    def kinds(self) -> int:
        """The number of event types."""
        if not self.simulated:
            return self.types
        factor: float = self.domain ** ((self.length - 1) / self.length)
        return round(self.types * factor)


def text(query: Query) -> str:
    """The query."""
    parts = [f"E{k} x{k}" for k in range(1, query.length + 1)]
    if query.negated:
        parts.insert(1, f"!(E{query.length + 1} n)")
    where = [f"[{'attr1, attr2' if query.second else 'attr1'}]"] * (not query.simulated)
    where += ["x1.attr3 = 1"] * query.simple
    where += [f"x1.attr4 < x{query.length}.attr4"] * query.compared
    return f"""
        QUERY Q EVENT SEQ({", ".join(parts)})
        {"WHERE " + " AND ".join(where) if where else ""}
        WITHIN {query.window} s
        RETURN Sequence(first = x1.attr5, last = x{query.length}.attr5)"""


def stream(query: Query, count: int) -> Stream:
    """Events of all types with all attributes."""
    random = np.random.default_rng(7)
    names = tuple(f"E{k}" for k in range(1, query.kinds + 1))
    kinds = random.integers(0, query.kinds, count)
    domains = (query.domain, query.second or 20, 5, 1000, 10_000)
    columns = {
        f"attr{number}": Column(random.integers(0, domain, count))
        for number, domain in enumerate(domains, 1)
    }
    return Stream(names, kinds, every(count, SECOND), columns)


def expected(query: Query, events: Stream) -> int:
    """Matches, joined backwards from the terminators; a second is a row."""
    keys = _keys(query, events)
    tables = [
        Keyed.of(_rows(query, events, k), keys, len(events)) for k in range(1, query.length + 2)
    ]
    last = np.sort(tables[query.length - 1].rows)
    cuts = range(0, len(last), TERMINATORS)
    return sum(_joined(query, events, keys, tables, last[cut : cut + TERMINATORS]) for cut in cuts)


def _keys(query: Query, events: Stream) -> Ints:
    values = events.columns["attr1"].values * (not query.simulated)
    if query.second:
        values = values * query.second + events.columns["attr2"].values
    return np.asarray(values, np.int64)


def _rows(query: Query, events: Stream, k: int) -> Ints:
    rows = events.rows(f"E{k}") if k <= query.kinds else np.zeros(0, np.int64)
    if k == 1 and query.simple:
        rows = rows[events.columns["attr3"].values[rows] == 1]
    return rows


def _joined(query: Query, events: Stream, keys: Ints, tables: list[Keyed], last: Ints) -> int:
    """The matches of some terminators: `rows` are the events that were joined latest."""
    rows = later = last
    for k in range(query.length - 2, -1, -1):
        begins, ends = tables[k].between(keys[last], last - query.window, rows)
        if k == 0 and not (query.compared or query.negated):
            return int((ends - begins).sum())
        places, owners = spread(begins, ends)
        later, last, rows = rows[owners], last[owners], tables[k].rows[places]
    return int(np.count_nonzero(_kept(query, events, keys, tables[-1], (rows, later, last))))


def _kept(
    query: Query, events: Stream, keys: Ints, negated: Keyed, match: tuple[Ints, Ints, Ints]
) -> Bools:
    """Which matches stand, given their first, second and last events."""
    first, second, last = match
    kept = np.ones(len(first), bool)
    if query.compared:
        values = events.columns["attr4"].values
        kept &= values[first] < values[last]
    if query.negated:
        begins, ends = negated.between(keys[first], first, second)
        kept &= begins == ends
    return kept


def _queries() -> Iterator[tuple[str, Query, bool]]:
    """All experiments: name, query, and whether it belongs to the long run only."""
    for domain in (100, 300, 1000, 3000, 10_000):
        yield f"1/domain {domain}", Query(domain=domain, simulated=True), domain < 10_000
    for window in (20_000, 50_000, 100_000):
        query = Query(window=window, simulated=True)
        yield f"2/window {window}", query, window < 100_000
    for second in (20, 5):
        for domain in (10, 100, 500, 1000, 10_000):
            query = Query(domain=domain, second=second)
            yield f"3/domain {domain} and {second}", query, (domain, second) != (100, 20)
    base = Query(domain=100, second=20)
    yield "4/simple", replace(base, simple=True), True
    yield "4/compared", replace(base, compared=True), True
    yield "4/both", replace(base, simple=True, compared=True), False
    yield "4/negation", replace(base, negated=True), False
    for length in range(2, 7):
        yield f"5/length {length}", Query(length=length, domain=100), length in (3, 4, 5)
        yield f"5/length {length} of 10000", Query(length=length), length in (3, 4, 5)
    for domain in (10, 100, 1000, 10_000):
        yield f"6/domain {domain}", Query(domain=domain), domain in (100, 1000)


_TARGETS = {
    "6/domain 10000": Reach(rate=5e6),
    "5/length 6": Reach(share=0.6, of="sase/5/length 2"),
    "5/length 6 of 10000": Reach(share=0.6, of="sase/5/length 2 of 10000"),
}


def _small(query: Query) -> Query:
    types = query.length + 2
    domain = 4 if query.simulated else min(query.domain // 5, 2)
    rest = (query.simulated, query.simple, query.compared, query.negated)
    return Query(query.length, 60, max(1, domain), min(query.second, 2), types, *rest)


def _events(query: Query) -> int:
    """Few events where they give many matches."""
    return 60_000 if query.domain * max(1, query.second) <= 50 else 1_000_000


def scenarios(tiny: bool = False) -> list[Scenario]:
    """All experiments, or the same with few types, small domains and short windows."""
    return [
        Scenario(
            f"sase/{name}",
            "sase",
            partial(text, _small(query) if tiny else query),
            partial(stream, _small(query) if tiny else query),
            partial(expected, _small(query) if tiny else query),
            _events(query),
            _TARGETS.get(name),
            sweep=sweep,
        )
        for name, query, sweep in _queries()
    ]
