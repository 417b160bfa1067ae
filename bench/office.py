"""Scenario 2 of the Active Office (composite event detection framework, equations 1 and 2).

A meeting: the board of a room goes on, people move in the room, the board goes off again. Its host,
who switched the board on, gets its contents unless she logs in within five minutes of its end.
There are 1,000 rooms, where the paper has nine; every room sees about an event a minute, nine in
ten of them people who move.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.counting import Keyed
from bench.scenario import Counts, Reach, Scenario
from bench.streams import SECOND, Column, Ints, Stream, uneven

NAMES = ("Boardon", "Pers", "Boardoff", "Login")
CHANCES = (0.025, 0.9, 0.025, 0.05)
PATIENCE = 300 * SECOND

TEXT = """
define C1 as
  [on: Boardon]
  [[Pers(room = on.room)] [Pers(room = on.room)]* [off: Boardoff(room = on.room)]
   in {Pers(room = on.room), Boardoff(room = on.room)}]
  return (room = on.room, host = on.name, contents = off.contents)

define C as
  ([c: C1], [T1] in {T1, Login(name = c.host)}) T1 = 5min
  return (room = c.room, host = c.host, contents = c.contents)
"""


def stream(rooms: int, count: int) -> Stream:
    """Events of all rooms; each room has a host of its own, who logs in elsewhere."""
    random = np.random.default_rng(9)
    kinds = random.choice(len(NAMES), count, p=CHANCES)
    room, login = random.integers(0, rooms, count), NAMES.index("Login")
    texts = tuple(f"Host {number}" for number in range(rooms))
    board = kinds == NAMES.index("Boardoff")
    columns = {
        "room": Column(room, tuple(f"Room {number}" for number in range(rooms)), kinds != login),
        "name": Column(room, texts, ~board),
        "contents": Column(random.integers(0, 1_000_000, count), present=board),
    }
    return Stream(NAMES, kinds, uneven(random, count, rooms / 60), columns)


def expected(events: Stream) -> Counts:
    """Meetings, and those that no login of the host follows."""
    rooms, span = events.columns["room"].values, len(events)
    on, moves, off, login = (Keyed.of(events.rows(n), rooms, span) for n in NAMES)
    begins = on.rows
    moved, ended = _following(moves, rooms, begins), _following(off, rooms, begins)
    held = (moved < ended) & (ended < span)
    begins, ended = begins[held], ended[held]
    # A timer comes after the events of its own time, so that a login then is still in time.
    stops = np.searchsorted(events.times, events.times[ended] + PATIENCE, "right")
    lower, upper = login.between(rooms[begins], ended, stops)
    return {"C1": len(begins), "C": int(np.count_nonzero(lower == upper))}


def _following(table: Keyed, keys: Ints, rows: Ints) -> Ints:
    """The next row of the table with the key of each row, or the span if there is none."""
    lower, upper = table.between(keys[rows], rows, np.full(len(rows), table.span))
    places = np.minimum(lower, max(0, len(table.rows) - 1))
    found = table.rows[places] if len(table.rows) else np.zeros(len(rows), np.int64)
    return np.where(upper > lower, found, table.span)


def scenarios(tiny: bool = False) -> list[Scenario]:
    """One rule for all rooms."""
    rooms = 3 if tiny else 1000
    return [
        Scenario(
            "office/1000 rooms",
            "core",
            lambda: TEXT,
            partial(stream, rooms),
            expected,
            1_000_000,
            Reach(rate=3e6),
            patience=PATIENCE,
        )
    ]
