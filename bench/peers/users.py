"""What people ask for: logins, unpaid orders, rising prices, shoplifting; one rule each.

Esper: row patterns (reference, chapter 8) where the next event decides, patterns (chapter 7) where
something has to stay away. Flink: a keyed pattern each (its page on pattern processing), and in SQL
MATCH_RECOGNIZE, or an interval join where something has to stay away at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from bench.peers.contest import MILLISECOND, Contest, Told, numbered
from bench.streams import SECOND, Column, Ints, Stream, every

HOUR = 3600 * SECOND


def _keys(name: str, codes: Ints, count: int) -> Column:
    return Column(codes, tuple(f"{name}-{number}" for number in range(count)))


# --- three failed logins, then a success ----------------------------------------------------------

LOGINS = """
    define Guessed as
      [a: Failed]
      [[b: Failed(key = a.key)] [c: Failed(key = a.key)] [s: Success(key = a.key)]
       in {Failed(key = a.key), Success(key = a.key)}]
      within 10 min
      return (key = a.key)"""


LOGIN = ("Failed", "Success")


def login_stream(users: int, count: int) -> Stream:
    """A hundred logins a second, one in seven fails."""
    random = np.random.default_rng(13)
    kinds = (random.random(count) < 0.85).astype(np.int64)
    columns = {"key": _keys("user", random.integers(0, users, count), users)}
    return Stream(LOGIN, kinds, every(count, SECOND // 100), columns)


def _row_pattern(types: str, pattern: str, define: str, rows: str, *, overlap: bool = False) -> str:
    skip = "all matches after match skip to next row" if overlap else ""
    measures = ", ".join(f"{name}.row as r{place}" for place, name in enumerate(rows))
    found = ", ".join(f"r{place}" for place in range(len(rows)))
    return (
        f"select {found} from {types} match_recognize (partition by key measures {measures} {skip} "
        f"pattern ({pattern}) define {define})"
    )


def _siddhi(pattern: str, names: str, *streams: str) -> Told:
    """A pattern, in a partition by key of the streams that are named."""
    rows = ", ".join(f"{name}.row as r{place}" for place, name in enumerate(names))
    told = {"queries": [f"{pattern} select {rows}"]}
    keys = ", ".join(f"key of {stream}" for stream in streams)
    return told | {"partition": f"partition with ({keys})"} if streams else told


def _logins() -> Contest:
    return Contest(
        "users/logins",
        "core",
        lambda: LOGINS,
        partial(login_stream, 10_000),
        1_000_000,
        "keyed",
        {
            "esper": lambda: {
                "statements": [
                    "create variant schema Login as Failed, Success",
                    "insert into Login select * from Failed",
                    "insert into Login select * from Success",
                    *numbered(
                        [
                            _row_pattern(
                                "Login",
                                "a b c s",
                                "a as a.kind = 0, b as b.kind = 0, c as c.kind = 0, "
                                "s as s.kind = 1 and s.ts - a.ts <= 600000",
                                "abcs",
                            )
                        ]
                    ),
                ]
            },
            "siddhi": lambda: _siddhi(
                "from every a=Failed, b=Failed, c=Failed, s=Success within 10 min", "abcs", *LOGIN
            ),
            "flink": lambda: {"pattern": "logins", "window": 600_001},
            "flink-sql": lambda: {"sql": _LOGIN_SQL},
        },
        width=4,
        checked=60_000,
        aim=3.0,
        pipeline=True,
    )


_LOGIN_SQL = """
    SELECT 0, r0, r1, r2, r3 FROM events MATCH_RECOGNIZE (
      PARTITION BY `key` ORDER BY moment
      MEASURES a.`row` AS r0, b.`row` AS r1, c.`row` AS r2, s.`row` AS r3
      ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
      PATTERN (a b c s) WITHIN INTERVAL '600.001' SECOND(3, 3)
      DEFINE a AS a.kind = 0, b AS b.kind = 0, c AS c.kind = 0, s AS s.kind = 1)"""


# --- an order without payment ---------------------------------------------------------------------

ORDERS = (
    "QUERY Unpaid EVENT SEQ(Placed o, !(Paid p)) WHERE [key] WITHIN 1 hours RETURN Late(k = o.key)"
)


def order_stream(count: int) -> Stream:
    """A hundred orders a second; most are paid within the hour, some later, some never."""
    random = np.random.default_rng(14)
    orders = count // 2 + 1
    placed = np.arange(orders) * (SECOND // 100) // MILLISECOND
    waits = random.exponential(1_200_000, orders).astype(np.int64) + 1
    paid = random.random(orders) < 0.98
    times = np.concatenate((placed, (placed + waits)[paid]))
    kinds = np.concatenate((np.zeros(orders, np.int64), np.ones(int(paid.sum()), np.int64)))
    codes = np.concatenate((np.arange(orders), np.flatnonzero(paid)))
    return _in_order(("Placed", "Paid"), kinds, times, _keys("order", codes, orders)).head(count)


def _in_order(names: tuple[str, ...], kinds: Ints, times: Ints, keys: Column) -> Stream:
    """Events by time, no two in the same millisecond: the first stays, others come a bit later."""
    order = np.argsort(times, kind="stable")
    sorted_times = times[order]
    steps = np.arange(len(order))
    apart = np.maximum.accumulate(sorted_times - steps) + steps
    columns = {"key": replace(keys, values=keys.values[order])}
    return Stream(names, kinds[order], apart * MILLISECOND, columns)


def _orders() -> Contest:
    return Contest(
        "users/orders",
        "sase",
        lambda: ORDERS,
        order_stream,
        1_000_000,
        "keyed",
        {
            "esper": lambda: {
                "statements": numbered(
                    [
                        "select o.row from pattern [every o=Placed -> "
                        "(timer:interval(1 hour) and not Paid(key = o.key))]"
                    ]
                )
            },
            "siddhi": lambda: _siddhi(
                "from every o=Placed -> not Paid[key == o.key] for 1 hour", "o"
            ),
            "flink": lambda: {"pattern": "orders", "window": 3_600_000},
            "flink-sql": lambda: {"sql": _ORDER_SQL},
            "duckdb": lambda: {"sql": _ORDER_JOIN},
        },
        width=1,
        patience=2 * HOUR,
        checked=60_000,
        aim=3.0,
        pipeline=True,
        cannot={},
    )


_ORDER_SQL = """
    SELECT 0, o.`row`
    FROM (SELECT * FROM events WHERE kind = 0) AS o
    LEFT JOIN (SELECT * FROM events WHERE kind = 1) AS p
    ON o.`key` = p.`key`
    AND p.moment BETWEEN o.moment AND o.moment + INTERVAL '59:59.999' MINUTE TO SECOND(3)
    WHERE p.`row` IS NULL"""
_ORDER_JOIN = """
    SELECT 0, o.row FROM events AS o WHERE o.kind = 0 AND NOT EXISTS (
      SELECT 1 FROM events AS p
      WHERE p.kind = 1 AND p.key = o.key AND p.ts > o.ts AND p.ts < o.ts + 3600000)"""


# --- a rising price -------------------------------------------------------------------------------

RISES = 6
_LETTERS = "abcdef"


def _rising_text() -> str:
    rest = " ".join(
        f"[{later}: Tick(key = a.key and value > {first}.value)]"
        for first, later in pairwise(_LETTERS)
    )
    return f"""
        define Rising as [a: Tick] [{rest} in {{Tick(key = a.key)}}]
        return (key = a.key, rise = f.value - a.value)"""


def tick_stream(symbols: int, count: int) -> Stream:
    """A thousand ticks a second; each price goes up or down a little."""
    random = np.random.default_rng(15)
    codes = random.integers(0, symbols, count)
    steps = random.integers(-50, 50, count)
    order = np.argsort(codes, kind="stable")
    walk = np.cumsum(steps[order])
    begins = np.searchsorted(codes[order], np.arange(symbols))
    before = np.concatenate((np.zeros(1, np.int64), walk))[begins]
    values = np.empty(count, np.int64)
    values[order] = 100_000 + walk - before[codes[order]]
    columns = {"key": _keys("share", codes, symbols), "value": Column(values)}
    return Stream(("Tick",), np.zeros(count, np.int64), every(count, MILLISECOND), columns)


def _rising() -> Contest:
    pairs = list(pairwise(_LETTERS))
    higher = ", ".join(f"{b} as {b}.value > {a}.value" for a, b in pairs)
    return Contest(
        "users/rising",
        "core",
        _rising_text,
        partial(tick_stream, 1000),
        1_000_000,
        "keyed",
        {
            "esper": lambda: {
                "statements": numbered(
                    [_row_pattern("Tick", " ".join(_LETTERS), higher, _LETTERS, overlap=True)]
                )
            },
            "siddhi": lambda: _siddhi(f"from every {_rising_siddhi()}", _LETTERS, "Tick"),
            "flink": lambda: {"pattern": "rising", "length": RISES},
            "flink-sql": lambda: {"sql": _rising_sql()},
        },
        width=RISES,
        checked=60_000,
        aim=3.0,
        pipeline=True,
    )


def _rising_siddhi() -> str:
    rest = [f"{b}=Tick[value > {a}.value]" for a, b in pairwise(_LETTERS)]
    return ", ".join(["a=Tick", *rest])


def _rising_sql() -> str:
    pairs = list(pairwise(_LETTERS))
    rows = ", ".join(f"{name}.`row` AS r{place}" for place, name in enumerate(_LETTERS))
    found = ", ".join(f"r{place}" for place in range(RISES))
    higher = ", ".join(f"{b} AS {b}.`value` > LAST({a}.`value`)" for a, b in pairs)
    return f"""
        SELECT 0, {found} FROM events MATCH_RECOGNIZE (
          PARTITION BY `key` ORDER BY moment
          MEASURES {rows}
          ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
          PATTERN ({" ".join(_LETTERS)})
          DEFINE {higher})"""


# --- shoplifting ----------------------------------------------------------------------------------

SHOP = (
    "QUERY Stolen EVENT SEQ(Shelf x, !(Counter y), Exit z) WHERE [key] WITHIN 12 hours "
    "RETURN Alert(tag = x.key)"
)


SHELF = ("Shelf", "Counter", "Exit")


def shop_stream(tags: int, count: int) -> Stream:
    """Tags are read at a shelf, some of them twice, most at a counter, then at the exit."""
    random = np.random.default_rng(16)
    tags = max(1, min(tags, count * 10 // 31 + 1))
    shelf = np.sort(random.integers(0, 500 * tags + 1, tags))
    counter = shelf + random.integers(60_000, 3_600_000, tags)
    leaves = counter + random.integers(1, 600_000, tags)
    late = random.random(tags) < 0.01
    leaves[late] += 12 * 3_600_000
    twice, paid = random.random(tags) < 0.1, random.random(tags) < 0.97
    everyone = np.arange(tags)
    parts = (
        (0, shelf, everyone),
        (0, shelf[twice] + 30_000, everyone[twice]),
        (1, counter[paid], everyone[paid]),
        (2, leaves, everyone),
    )
    kinds = np.concatenate([np.full(len(codes), kind) for kind, _, codes in parts])
    times = np.concatenate([times for _, times, _ in parts])
    codes = np.concatenate([codes for _, _, codes in parts])
    return _in_order(SHELF, kinds, times, _keys("tag", codes, tags)).head(count)


def _shop() -> Contest:
    return Contest(
        "users/shoplifting",
        "sase",
        lambda: SHOP,
        partial(shop_stream, 1_000_000),
        3_100_000,
        "keyed",
        {
            "esper": lambda: {
                "statements": numbered(
                    [
                        "select x.row, z.row from pattern [every x=Shelf -> "
                        "(every z=Exit(key = x.key) and not Counter(key = x.key)) "
                        "where timer:within(12 hours)]"
                    ]
                )
            },
            "siddhi": lambda: _siddhi(
                "from every x=Shelf -> not Counter[key == x.key] and z=Exit[key == x.key] "
                "within 12 hours",
                "xz",
                *SHELF,
            ),
            "flink": lambda: {"pattern": "shoplifting", "window": 43_200_000},
            "flink-sql": lambda: {"sql": _SHOP_SQL},
            "duckdb": lambda: {"sql": _SHOP_JOIN},
        },
        checked=60_000,
        aim=3.0,
        pipeline=True,
    )


_SHOP_SQL = """
    SELECT 0, r0, r1 FROM events MATCH_RECOGNIZE (
      PARTITION BY `key` ORDER BY moment
      MEASURES x.`row` AS r0, z.`row` AS r1
      ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
      PATTERN (x s* z) WITHIN INTERVAL '12' HOUR
      DEFINE x AS x.kind = 0, s AS s.kind = 0, z AS z.kind = 2)"""
_SHOP_JOIN = """
    SELECT 0, x.row, z.row
    FROM events AS x JOIN events AS z
    ON z.kind = 2 AND z.key = x.key AND z.ts > x.ts AND z.ts < x.ts + 43200000
    WHERE x.kind = 0 AND NOT EXISTS (
      SELECT 1 FROM events AS y
      WHERE y.kind = 1 AND y.key = x.key AND y.ts > x.ts AND y.ts < z.ts)"""


def contests() -> Iterator[Contest]:
    """All of them."""
    yield _logins()
    yield _orders()
    yield _rising()
    yield _shop()
