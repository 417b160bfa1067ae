"""SASE's sequences (sections 5.2 to 5.4 of its paper) for every engine, and as a relational join.

The paper's peer was a relational stream engine, TelegraphCQ; a join in DuckDB is in its place: it
knows all events beforehand, so it need not keep a window, and gives no answer before the end.
Esper: patterns with `every` and filters that refer to earlier events, which it indexes (reference,
chapter 7). Flink: a keyed pattern with relaxed, non-deterministic contiguity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from bench import sase
from bench.peers.contest import Contest, Told, numbered
from bench.streams import Stream

BASE = sase.Query()
QUERIES = {
    "5.2 window 10000": BASE,
    "5.2 window 100000": replace(BASE, window=100_000),
    "5.3 domain 100 and 20": replace(BASE, domain=100, second=20),
    "5.4 predicates": replace(BASE, domain=100, second=20, simple=True, compared=True),
    "5.4 negation": replace(BASE, domain=100, second=20, negated=True),
    "5.4 length 5": replace(BASE, domain=1000, length=5),
}


def _same(query: sase.Query, of: str) -> str:
    names = ("attr1", "attr2") if query.second else ("attr1",)
    return ", ".join(f"{name} = {of}.{name}" for name in names)


def _esper(query: sase.Query) -> Told:
    """`and not` ends the wait for the second event, not what the second event began."""
    first = f"every x1=E1{'(attr3 = 1)' * query.simple}"
    rest = []
    for k in range(2, query.length + 1):
        more = ", attr4 > x1.attr4" if query.compared and k == query.length else ""
        part = f"every x{k}=E{k}({_same(query, 'x1')}{more})"
        if query.negated and k == 2:
            part = f"({part} and not E{query.length + 1}({_same(query, 'x1')}))"
        rest.append(part)
    rows = ", ".join(f"x{k}.row" for k in range(1, query.length + 1))
    inner = " -> ".join(rest)
    text = f"{first} -> ({inner}) where timer:within({query.window} sec)"
    return {"statements": numbered([f"select {rows} from pattern [{text}]"])}


def _flink(query: sase.Query) -> Told:
    return {
        "pattern": "sequence",
        "length": query.length,
        "window": 1000 * query.window,
        "second": bool(query.second),
        "simple": query.simple,
        "compared": query.compared,
        "negated": query.negated,
    }


def _join(query: sase.Query) -> Told:
    """Each event joined with the one before it, and the window with the first."""
    on = "x{k}.attr1 = x1.attr1" + " AND x{k}.attr2 = x1.attr2" * bool(query.second)
    joins = [
        f"JOIN events AS x{k} ON x{k}.kind = {k - 1} AND {on.format(k=k)} "
        f"AND x{k}.ts > x{k - 1}.ts AND x{k}.ts < x1.ts + {1000 * query.window}"
        for k in range(2, query.length + 1)
    ]
    where = ["x1.kind = 0"] + ["x1.attr3 = 1"] * query.simple
    where += [f"x1.attr4 < x{query.length}.attr4"] * query.compared
    if query.negated:
        where.append(
            f"NOT EXISTS (SELECT 1 FROM events AS n WHERE n.kind = {query.length} "
            "AND n.attr1 = x1.attr1"
            + " AND n.attr2 = x1.attr2" * bool(query.second)
            + " AND n.ts > x1.ts AND n.ts < x2.ts)"
        )
    rows = ", ".join(f"x{k}.row" for k in range(1, query.length + 1))
    return {
        "sql": f"SELECT 0, {rows} FROM events AS x1 {' '.join(joins)} WHERE {' AND '.join(where)}"
    }


def _contest(name: str, query: sase.Query) -> Contest:
    def stream(count: int) -> Stream:
        made = sase.stream(query, count)
        columns = {f"attr{n}": made.columns[f"attr{n}"] for n in range(1, 5)}
        return replace(made, columns=columns)

    return Contest(
        f"sase/{name}",
        "sase",
        lambda: _text(query),
        stream,
        1_000_000,
        "attributed",
        {
            "esper": partial(_esper, query),
            "flink": partial(_flink, query),
            "duckdb": partial(_join, query),
        },
        width=query.length,
        expected=partial(sase.expected, query),
        checked=60_000,
        aim=3.0,
        cannot={
            "flink-sql": "a match of MATCH_RECOGNIZE is contiguous: no row may be skipped",
            "siddhi": "a partial match takes the first event that fits, not every one",
        },
    )


def _text(query: sase.Query) -> str:
    """The query without what it returns: nothing here is but the events."""
    return sase.text(query).partition("RETURN")[0] + "RETURN Sequence(first = x1.attr4)"


def contests() -> Iterator[Contest]:
    """Windows, equivalence tests, predicates, negation, length."""
    for name, query in QUERIES.items():
        yield _contest(name, query)
