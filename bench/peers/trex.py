"""T-Rex's comparisons (section 5.1 of its paper) and its default workload, for every engine.

Esper joins a terminator with a window, as its reference advises for "what was there when this came"
(chapter 5, unidirectional joins; chapter 14, data windows): `#time` for each, `#unique` for the
last, a table of averages (chapter 6, tables) for the aggregate. Flink has no shared filters and one
operator for a pattern; a thousand rules are one keyed pattern there, each event being sent to the
keys of the rules that it concerns, as in the project's own articles on dynamic rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from bench import fires, sequences
from bench.peers.contest import Contest, Told, numbered, slower
from bench.streams import SECOND, Stream

SIZE = fires.Size()
NO_AGGREGATE = "patterns have no aggregate over the time before an event"
MANY = "a statement for each of 1,000 rules is a job of 1,000 branches"


# --- filters --------------------------------------------------------------------------------------


def _filters(size: fires.Size) -> Contest:
    return Contest(
        "trex/filters",
        "tesla",
        partial(fires.filter_text, "value = {n}", size),
        partial(fires.filter_stream, 1, size),
        2_000_000,
        "reading",
        {
            "esper": partial(_esper_filters, size),
            "flink": lambda: {"pattern": "filters", "count": size.filters},
            "siddhi": partial(_siddhi_filters, size),
        },
        width=1,
        expected=partial(fires.filtered, 1, size),
        cannot={"flink-sql": MANY},
    )


def _esper_filters(size: fires.Size) -> Told:
    texts = [f"select row from Reading(value = {n})" for n in range(size.filters)]
    return {"statements": numbered(texts)}


def _siddhi_filters(size: fires.Size) -> Told:
    return {"queries": [f"from Reading[value == {n}L] select row" for n in range(size.filters)]}


# --- R1, R2, R5 -----------------------------------------------------------------------------------

_ESPER = {
    "R1": "select t.row, s.row from Smoke{t} as s unidirectional, "
    "Temp{t}(value > {n})#time({w} sec) as t where s.area = t.area",
    "R2": "select t.row, s.row from Smoke{t} as s unidirectional, "
    "Temp{t}(value > {n})#unique(area) as t where s.area = t.area and t.ts > s.ts - {w}000",
    "R5": "select s.row, 1000 * Mean{t}[s.area].mean from Smoke{t} as s "
    "where Mean{t}[s.area].mean > {low}",
}
_MEAN = (
    "create table Mean{t}(area string primary key, mean avg(long))",
    "into table Mean{t} select avg(value) as mean from Temp{t}#time({w} sec) group by area",
)
_SIDDHI = {
    "R1": "from Smoke{t} as s unidirectional join Temp{t}[value > {n}L]#window.time({w} sec) as t "
    "on s.area == t.area select t.row as r0, s.row as r1",
}
_NO_SIDDHI = {
    "R2": "a window of the last event of each area is in an extension, not among its own",
    "R5": "an aggregate over a join is over its answers, not over the window at this moment",
}


def _esper_fires(name: str, size: fires.Size) -> Told:
    tables = [
        text.format(t=t, w=size.window) for t in range(size.types) for text in _MEAN if name == "R5"
    ]
    return {"statements": tables + numbered(_each_rule(_ESPER[name], size))}


def _each_rule(text: str, size: fires.Size) -> list[str]:
    return [
        text.format(t=t, n=n, w=size.window, low=n - 200)
        for t in range(size.types)
        for n in range(1, size.thresholds + 1)
    ]


def _flink_fires(policy: str, size: fires.Size) -> Told:
    """Rules that a reading concerns: those of its type with a threshold below its value."""
    thresholds = range(1, size.thresholds + 1)
    routes = [
        [[t * size.thresholds + n - 1, role, n if role == 0 else -1] for n in thresholds]
        for role in (0, 1)
        for t in range(size.types)
    ]
    windows = [1000 * size.window] * (size.types * size.thresholds)
    return {"pattern": "routed", "policy": policy, "routes": routes, "windows": windows}


def _flink_sql_fires(size: fires.Size) -> Told:
    """An average over rows before this one, joined with the thresholds of all rules."""
    minutes, seconds = divmod(size.window - 1, 60)
    before = f"INTERVAL '{minutes}:{seconds:02}.999' MINUTE TO SECOND(3)"
    limits = ", ".join(f"({n})" for n in range(1, size.thresholds + 1))
    return {
        "sql": f"""
            SELECT CAST(s.t * {size.thresholds} + n - 1 AS INT), s.`row`,
                   CAST(ROUND(1000 * s.mean, 0) AS INT)
            FROM (
              SELECT MOD(kind, {size.types}) AS t, kind, `row`,
                     AVG(CASE WHEN kind < {size.types} THEN CAST(`value` AS DOUBLE) END) OVER (
                       PARTITION BY MOD(kind, {size.types}), area ORDER BY moment
                       RANGE BETWEEN {before} PRECEDING
                       AND CURRENT ROW) AS mean
              FROM events) AS s
            CROSS JOIN (VALUES {limits}) AS limits(n)
            WHERE s.kind >= {size.types} AND s.mean > n - 200"""
    }


def _fires(name: str, place: int, size: fires.Size) -> Contest:
    share = fires.SHARES[place]
    engines: dict[str, Callable[[], Told]] = {"esper": partial(_esper_fires, name, size)}
    if name == "R5":
        engines["flink-sql"] = partial(_flink_sql_fires, size)
        cannot = {"flink": NO_AGGREGATE}
    else:
        policy = {"R1": "each", "R2": "last"}[name]
        engines["flink"] = partial(_flink_fires, policy, size)
        cannot = {"flink-sql": MANY}
    if name in _SIDDHI:
        engines["siddhi"] = lambda: {"queries": _each_rule(_SIDDHI[name], size)}
    else:
        cannot["siddhi"] = _NO_SIDDHI[name]
    return Contest(
        f"trex/{name}/{share:.0%}",
        "tesla",
        partial(fires.text, fires.KINDS[name], size),
        partial(fires.stream, share, size),
        fires.EVENTS[name],
        "reading",
        engines,
        made_of="value" if name == "R5" else "events",
        expected=partial(fires.COUNTS[name], size),
        checked=2500,
        batch=250 if name == "R1" else 4096,
        cannot=cannot,
    )


# --- a thousand different rules -------------------------------------------------------------------

SHAPE = sequences.Shape("last")


def _sequences(shape: sequences.Shape) -> Contest:
    slow = replace(shape, seconds=1000 * shape.seconds)
    return Contest(
        "users/1000 rules",
        "tesla",
        partial(sequences.text, slow),
        lambda count: slower(sequences.stream(shape, count)),
        500_000,
        "reading",
        {
            "esper": partial(_esper_sequences, slow),
            "flink": partial(_flink_sequences, slow),
            "siddhi": partial(_siddhi_sequences, slow),
        },
        expected=partial(sequences.expected, slow),
        checked=20_000,
        cannot={"flink-sql": MANY},
    )


def _esper_sequences(shape: sequences.Shape) -> Told:
    texts = [
        f"select a.row, b.row from E1_{later} as b unidirectional, E0_{first}#lastevent as a "
        f"where a.ts > b.ts - {wait}"
        for first, later, wait in zip(*shape.types, *shape.milliseconds, strict=True)
    ]
    return {"statements": numbered(texts)}


def _siddhi_sequences(shape: sequences.Shape) -> Told:
    texts = [
        f"from E1_{later} as b unidirectional join E0_{first}#window.length(1) as a "
        f"on a.ts > b.ts - {wait}L select a.row as r0, b.row as r1"
        for first, later, wait in zip(*shape.types, *shape.milliseconds, strict=True)
    ]
    return {"queries": texts}


def _flink_sequences(shape: sequences.Shape) -> Told:
    routes: list[list[list[int]]] = [[] for _ in range(2 * shape.groups)]
    for role, kinds in enumerate(shape.types):
        for rule, kind in enumerate(kinds):
            routes[role * shape.groups + int(kind)].append([rule, role, -1])
    windows = [int(wait) for wait in shape.milliseconds[0]]
    return {"pattern": "routed", "policy": shape.policy, "routes": routes, "windows": windows}


# --- one rule over many events --------------------------------------------------------------------

AREAS = 10_000
HOT = 990
ONE = f"""
    Rule R1
    define Fire(area: string, measured: double)
    from Smoke(area=$a) and each Temp(area=$a and value>{HOT}) within 5 min from Smoke
    where area=Smoke.area and measured=Temp.value"""


def one_stream(areas: int, count: int) -> Stream:
    """Readings in many areas, one a millisecond, of which one in a hundred is hot."""
    from bench.streams import Column, every

    random = np.random.default_rng(12)
    smoke = random.random(count) < 0.1
    texts = tuple(f"area-{number}" for number in range(areas))
    columns = {
        "area": Column(random.integers(0, areas, count), texts),
        "value": Column(random.integers(0, 1000, count), present=~smoke),
    }
    return Stream(("Temp", "Smoke"), smoke.astype(np.int64), every(count, SECOND // 1000), columns)


def _one(areas: int) -> Contest:
    return Contest(
        "users/10 M events",
        "tesla",
        lambda: ONE,
        partial(one_stream, areas),
        10_000_000,
        "reading",
        {
            "esper": lambda: {
                "statements": numbered(
                    [
                        f"select t.row, s.row from pattern [every t=Temp(value > {HOT}) -> "
                        "(every s=Smoke(area = t.area)) where timer:within(5 min)]"
                    ]
                )
            },
            "siddhi": lambda: {"queries": [_ONE_SIDDHI]},
            "flink": lambda: {"pattern": "pair", "above": HOT, "window": 300_000},
            "flink-sql": lambda: {"sql": _ONE_SQL},
            "duckdb": lambda: {"sql": _ONE_JOIN},
        },
        checked=200_000,
        aim=3.0,
        pipeline=True,
    )


_ONE_SIDDHI = (
    f"from Smoke as s unidirectional join Temp[value > {HOT}L]#window.time(5 min) as t "
    "on s.area == t.area select t.row as r0, s.row as r1"
)
_ONE_SQL = f"""
    SELECT 0, t.`row`, s.`row`
    FROM (SELECT * FROM events WHERE kind = 0 AND `value` > {HOT}) AS t
    JOIN (SELECT * FROM events WHERE kind = 1) AS s
    ON t.area = s.area
    AND s.moment BETWEEN t.moment + INTERVAL '0.001' SECOND(1, 3)
    AND t.moment + INTERVAL '299.999' SECOND(3, 3)"""
_ONE_JOIN = f"""
    SELECT 0, t.row, s.row
    FROM events AS t JOIN events AS s ON t.area = s.area AND s.ts > t.ts AND s.ts < t.ts + 300000
    WHERE t.kind = 0 AND t.value > {HOT} AND s.kind = 1"""


def contests(size: fires.Size = SIZE, shape: sequences.Shape = SHAPE) -> Iterator[Contest]:
    """All of them."""
    yield _filters(size)
    for name in ("R1", "R2", "R5"):
        for place in range(len(fires.SHARES)):
            yield _fires(name, place, size)
    yield _sequences(shape)
    yield _one(AREAS)
