"""Texts as codes: compiled code compares numbers, never letters.

All texts lie as UTF-8 in one pool and are found by a hash table, both in compiled code, so that a
column of texts gets its codes without an object for any of them. Codes that nothing refers to any
more are given up from time to time, with their texts.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from cepheid.kernel.compiled import compiled, inlined
from cepheid.kernel.hashing import PRIME
from cepheid.kernel.memory import unowned
from cepheid.kernel.values import Ints

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

FEW_TEXTS = 1 << 16
"""So many texts may be kept without need before they are looked through."""

_ROOM = 64
"""How many texts there is room for in the beginning; a power of two."""
_SIZE, _FREE, _LIVE, _USED = range(4)
"""Heads: codes handed out so far, codes to hand out again, texts, bytes of the pool."""
_SHIFT, _HIGH, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF00000000), np.uint64(0xFFFFFFFF)
_GONE = -1
"""The length of a text that was given up."""


class Texts:
    """Codes for texts, handed out in the order of appearance.

    Codes that `keep` gives up are handed out again, the smallest first.
    """

    def __init__(self) -> None:
        # Nobody outside can know which texts have the same place in the table.
        self._seed = np.uint64(secrets.randbits(64))
        self._heads = np.zeros(4, np.int64)
        self._spans = np.zeros((_ROOM, 2), np.int64)
        self._pool = np.zeros(_ROOM, np.uint8)
        self._table = np.zeros(2 * _ROOM, np.uint64)
        self._free = np.zeros(0, np.int64)
        self._codes: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._pinned: set[int] = set()
        self._broken: set[int] = set()
        self._pinning = False
        self._kept = 0
        self.version = 0
        """Goes up with every text that gets a code."""
        self.epoch = 0
        """Goes up when codes are given up: a code that was known before may mean another text."""

    def __len__(self) -> int:
        """One more than the largest code."""
        return int(self._heads[_SIZE])

    def __getitem__(self, code: int) -> str:
        """The text of a code."""
        text = self._texts.get(code)
        if text is None:
            begin, length = self._spans[code].tolist()
            assert length != _GONE  # noqa: S101 (nobody holds codes that were given up)
            text = self._pool[begin : begin + length].tobytes().decode("utf-8", "surrogatepass")
            self._texts[code] = text
        return text

    # --- codes ---------------------------------------------------------------

    def code(self, text: str) -> int:
        """The code of a text, new if need be."""
        found = self._codes.get(text)
        if found is None:
            found = self._add(text)
        if self._pinning:
            self._pinned.add(found)
        return found

    def _add(self, text: str) -> int:
        written = text.encode("utf-8", "surrogatepass")
        bounds, data = np.array([0, len(written)], np.int64), np.frombuffer(written, np.uint8)
        found = int(self.codes(bounds, data)[0])
        self._codes[text], self._texts[found] = found, text
        if not _is_whole(text):
            self._broken.add(found)
        return found

    def codes(self, bounds: Ints, data: Bytes) -> Ints:
        """The codes of many texts, given where each begins in the data and the last one ends."""
        found = np.empty(len(bounds) - 1, np.int64)
        done, before = 0, self._heads[_LIVE]
        while (done := code_texts(bounds, data, done, found, *self._tables())) < len(found):
            self._grow(int(bounds[done + 1] - bounds[done]))
        self.version += int(self._heads[_LIVE] - before)
        return found

    def codes_at(self, places: Ints, known: Ints, bounds: Ints, data: Bytes) -> Ints:
        """The codes of the texts at some places of many; `known` is what was found before, or -1.

        What is found now is written there too, and is good for as long as the epoch.
        """
        found = np.empty(len(places), np.int64)
        done, before = 0, self._heads[_LIVE]
        while True:
            done = code_places(places, known, bounds, data, done, found, *self._tables())
            if done == len(found):
                break
            place = places[done]
            self._grow(int(bounds[place + 1] - bounds[place]))
        self.version += int(self._heads[_LIVE] - before)
        return found

    def _tables(self) -> tuple[np.uint64, Ints, Ints, Bytes, Words, Ints]:
        return self._seed, self._heads, self._spans, self._pool, self._table, self._free

    def _grow(self, length: int) -> None:
        """Make room for one more text, and for as many again as there are."""
        size, _, live, used = self._heads.tolist()
        if size == len(self._spans):
            self._spans = np.concatenate([self._spans, np.zeros_like(self._spans)])
        if used + length > len(self._pool):
            pool = np.empty(max(2 * len(self._pool), used + length), np.uint8)
            pool[:used] = self._pool[:used]
            self._pool = pool
        if 2 * (live + 1) > len(self._table):
            self._table = np.zeros(2 * len(self._table), np.uint64)
            fill_table(size, self._spans, self._pool, self._table, self._seed)

    # --- asking --------------------------------------------------------------

    def texts(self) -> list[str]:
        """All texts, by code; of codes that were never given up."""
        return [self[code] for code in range(len(self))]

    def ranks(self) -> Ints:
        """For every code the place of its text in the order of texts, which is that of UTF-8."""
        ranks = np.zeros(max(1, len(self)), np.int64)
        pool = self._pool.tobytes()
        spans = self._spans[: len(self)].tolist()
        written = sorted(
            (pool[begin : begin + length], code)
            for code, (begin, length) in enumerate(spans)
            if length != _GONE
        )
        ranks[[code for _, code in written]] = np.arange(len(written))
        return ranks

    def written(self, codes: Ints) -> tuple[Ints, Bytes]:
        """The texts of codes as UTF-8: where each begins in the data and the last one ends."""
        return gather_texts(codes, self._spans, self._pool)

    def are_whole(self, codes: Ints) -> bool:
        """Whether the texts of codes are valid UTF-8; half of a surrogate pair is not."""
        return not self._broken or not self._broken.intersection(codes.tolist())

    # --- giving up -----------------------------------------------------------

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Within this, texts get codes that are never given up."""
        self._pinning = True
        try:
            yield
        finally:
            self._pinning = False

    @property
    def is_large(self) -> bool:
        """Whether there may be as many texts without need as with it."""
        return self._loose > 2 * self._kept + FEW_TEXTS

    @property
    def _loose(self) -> int:
        return int(self._heads[_LIVE]) - len(self._pinned)

    def keep(self, needed: Iterable[Ints]) -> None:
        """Give up all texts but those of some codes, and those that are pinned."""
        used = np.zeros(len(self), np.bool_)
        for codes in (*needed, np.array(list(self._pinned), np.int64)):
            used[codes] = True
        live = np.flatnonzero(used & (self._spans[: len(self), 1] != _GONE))
        size = int(live[-1]) + 1 if len(live) else 0
        bounds, data = gather_texts(live, self._spans, self._pool)
        self._place(size, live, bounds, data)
        self._codes = {t: c for t, c in self._codes.items() if used[c]}
        self._texts = {c: t for t, c in self._codes.items()}
        self._broken.intersection_update(live.tolist())

    def _place(self, size: int, live: Ints, bounds: Ints, data: Bytes) -> None:
        """Hold some texts and no others; codes below the size that have none are free."""
        room = max(_ROOM, 1 << size.bit_length())
        self._spans = np.full((room, 2), _GONE, np.int64)
        self._spans[live, 0], self._spans[live, 1] = bounds[:-1], np.diff(bounds)
        self._pool = np.concatenate([data, np.zeros(max(_ROOM, len(data)), np.uint8)])
        self._table = np.zeros(2 * room, np.uint64)
        fill_table(size, self._spans, self._pool, self._table, self._seed)
        self._free = np.flatnonzero(self._spans[:size, 1] == _GONE)[::-1].copy()
        self._heads[:] = size, len(self._free), len(live), len(data)
        self._kept = self._loose
        self.version += 1
        self.epoch += 1

    # --- state ---------------------------------------------------------------

    def state(self) -> list[str | None]:
        """All texts by code, None for those that were given up."""
        lengths = self._spans[: len(self), 1].tolist()
        return [None if length == _GONE else self[code] for code, length in enumerate(lengths)]

    def load(self, texts: Sequence[str | None]) -> None:
        """Go on from a state; what is pinned must have the code in it that it has here."""
        live = [code for code, text in enumerate(texts) if text is not None]
        written = [(texts[code] or "").encode("utf-8", "surrogatepass") for code in live]
        bounds = np.zeros(len(live) + 1, np.int64)
        np.cumsum([len(one) for one in written], out=bounds[1:])
        data = np.frombuffer(b"".join(written), np.uint8)
        self._place(len(texts), np.array(live, np.int64), bounds, data)
        self._codes, self._texts = {}, {}
        self._broken = {code for code in live if not _is_whole(texts[code] or "")}


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@inlined
def _hash(data: Bytes, begin: int, end: int, seed: np.uint64) -> np.uint64:
    bits = seed
    for at in range(begin, end):
        bits = (bits ^ np.uint64(data[at])) * PRIME
    bits = (bits ^ (bits >> _SHIFT)) * PRIME
    return bits ^ (bits >> _SHIFT)


@inlined
def _is_same(data: Bytes, begin: int, pool: Bytes, own: int, length: int) -> bool:
    for at in range(length):  # noqa: SIM110 (compiled)
        if data[begin + at] != pool[own + at]:
            return False
    return True


@inlined
def _code(
    data: Bytes,
    begin: int,
    end: int,
    seed: np.uint64,
    heads: Ints,
    spans: Ints,
    pool: Bytes,
    table: Words,
    free: Ints,
) -> int:
    """The code of a text, new if need be; -1 if there is no room for it.

    A place of the table is 0, or half of a hash and half of a code, which counts from 1.
    """
    bits, length = _hash(data, begin, end, seed), end - begin
    mask, high = np.uint64(len(table) - 1), bits & _HIGH
    at = bits & mask
    while table[at] != np.uint64(0):
        if table[at] & _HIGH == high:
            known = int(table[at] & _LOW) - 1
            if spans[known, 1] == length and _is_same(data, begin, pool, spans[known, 0], length):
                return known
        at = (at + np.uint64(1)) & mask
    no_code = heads[_FREE] == 0 and heads[_SIZE] == len(spans)
    used = heads[_USED]
    if no_code or used + length > len(pool) or 2 * (heads[_LIVE] + 1) > len(table):
        return -1
    if heads[_FREE] > 0:
        heads[_FREE] -= 1
        code = int(free[heads[_FREE]])
    else:
        code = int(heads[_SIZE])
        heads[_SIZE] += 1
    heads[_LIVE] += 1
    heads[_USED] += length
    spans[code, 0], spans[code, 1] = used, length
    for place in range(length):
        pool[used + place] = data[begin + place]
    table[at] = high | np.uint64(code + 1)
    return code


@compiled
def code_texts(
    bounds: Ints,
    data: Bytes,
    first: int,
    found: Ints,
    seed: np.uint64,
    heads: Ints,
    spans: Ints,
    pool: Bytes,
    table: Words,
    free: Ints,
) -> int:
    """Write the codes of texts, from one on; the result is the first for which there is no room."""
    data, heads, spans, pool = unowned(data), unowned(heads), unowned(spans), unowned(pool)
    table, free = unowned(table), unowned(free)
    for number in range(first, len(found)):
        begin, end = bounds[number], bounds[number + 1]
        code = _code(data, begin, end, seed, heads, spans, pool, table, free)
        if code < 0:
            return number
        found[number] = code
    return len(found)


@compiled
def code_places(
    places: Ints,
    known: Ints,
    bounds: Ints,
    data: Bytes,
    first: int,
    found: Ints,
    seed: np.uint64,
    heads: Ints,
    spans: Ints,
    pool: Bytes,
    table: Words,
    free: Ints,
) -> int:
    """The same for texts at some places of many, each of which is looked up once."""
    data, heads, spans, pool = unowned(data), unowned(heads), unowned(spans), unowned(pool)
    table, free = unowned(table), unowned(free)
    for number in range(first, len(found)):
        place = places[number]
        code = known[place]
        if code < 0:
            begin, end = bounds[place], bounds[place + 1]
            code = _code(data, begin, end, seed, heads, spans, pool, table, free)
            if code < 0:
                return number
            known[place] = code
        found[number] = code
    return len(found)


@compiled
def fill_table(size: int, spans: Ints, pool: Bytes, table: Words, seed: np.uint64) -> None:
    """Write all texts into an empty table."""
    pool = unowned(pool)
    mask = np.uint64(len(table) - 1)
    for code in range(size):
        begin, length = spans[code, 0], spans[code, 1]
        if length != _GONE:
            bits = _hash(pool, begin, begin + length, seed)
            at = bits & mask
            while table[at] != np.uint64(0):
                at = (at + np.uint64(1)) & mask
            table[at] = (bits & _HIGH) | np.uint64(code + 1)


@compiled
def gather_texts(codes: Ints, spans: Ints, pool: Bytes) -> tuple[Ints, Bytes]:
    """The texts of codes one after the other, and where each begins and the last one ends."""
    bounds = np.zeros(len(codes) + 1, np.int64)
    for number in range(len(codes)):
        bounds[number + 1] = bounds[number] + spans[codes[number], 1]
    data = np.empty(bounds[-1], np.uint8)
    for number in range(len(codes)):
        begin = spans[codes[number], 0] - bounds[number]
        for at in range(bounds[number], bounds[number + 1]):
            data[at] = pool[begin + at]
    return bounds, data
