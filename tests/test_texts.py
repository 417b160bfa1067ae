"""Codes of texts, beside a dictionary of Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cepheid.errors import EventError
from cepheid.kernel import texts as module
from cepheid.kernel.columns import Encoder
from cepheid.kernel.texts import Texts
from cepheid.tables.arrow import Array, text_array_of, text_bytes
from cepheid.tables.cells import named
from cepheid.tables.encode import Encoding
from cepheid.tables.table import Table

WORDS = st.text(st.sampled_from("abé€😀 "), max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("code"), WORDS),
        st.tuples(st.just("codes"), st.lists(WORDS, max_size=90)),
        st.tuples(st.just("places"), st.lists(WORDS, min_size=1, max_size=90)),
        st.tuples(st.just("keep"), st.lists(st.integers(0, 200), max_size=40)),
        st.tuples(st.just("state"), st.none()),
    ),
    max_size=12,
)


class Model:
    """The same with a list."""

    def __init__(self) -> None:
        self.held: list[str | None] = []

    def code(self, text: str) -> int:
        """The code of a text."""
        if text not in self.held:
            if None in self.held:
                self.held[self.held.index(None)] = text
            else:
                self.held.append(text)
        return self.held.index(text)

    def keep(self, codes: list[int]) -> None:
        """Give up the others."""
        self.held = [text if code in codes else None for code, text in enumerate(self.held)]
        while self.held and self.held[-1] is None:
            self.held.pop()


@pytest.mark.property
@given(STEPS)
@example([("code", ""), ("code", "a"), ("keep", [1]), ("keep", [0])])
def test_texts_have_the_codes_that_a_list_would_give(steps: list[tuple[str, object]]) -> None:
    texts, model = Texts(), Model()
    for step, given_ in steps:
        if step == "code":
            assert texts.code(str(given_)) == model.code(str(given_))
        elif step == "codes":
            words = list(given_)  # type: ignore[call-overload]
            found = texts.codes(*text_bytes(pa.array(words, pa.string())))
            assert found.tolist() == [model.code(word) for word in words]
        elif step == "places":
            words = list(given_)  # type: ignore[call-overload]
            places = np.arange(len(words), dtype=np.int64)[::-1].copy()
            known = np.full(len(words), -1, np.int64)
            found = texts.codes_at(places, known, *text_bytes(pa.array(words, pa.string())))
            assert found.tolist() == [model.code(words[place]) for place in places]
            assert known.tolist() == [model.code(word) for word in words]
        elif step == "keep":
            codes = [code for code in given_ if code < len(texts)]  # type: ignore[attr-defined]
            texts.keep([np.array(codes, np.int64)])
            model.keep(codes)
        else:
            other = Texts()
            other.load(texts.state())
            texts = other
        assert texts.state() == model.held
        live = [code for code, text in enumerate(model.held) if text is not None]
        assert [texts[code] for code in live] == [model.held[code] for code in live]
        written = text_array_of(*texts.written(np.array(live, np.int64)))
        written.validate(full=True)
        assert written.to_pylist() == [model.held[code] for code in live]
        ranks = texts.ranks()
        assert sorted(live, key=lambda code: ranks[code]) == sorted(
            live, key=lambda code: model.held[code] or ""
        )


def test_pinned_texts_stay() -> None:
    texts = Texts()
    with texts.pinned():
        texts.code("rule")
    texts.code("a")
    texts.code("b")
    texts.keep([np.array([2])])
    assert texts.state() == ["rule", None, "b"]
    assert texts.code("c") == 1


def test_half_of_a_surrogate_pair_is_a_text() -> None:
    texts = Texts()
    codes = np.array([texts.code("\ud83d"), texts.code("x")])
    assert [texts[code] for code in codes.tolist()] == ["\ud83d", "x"]
    assert not texts.are_whole(codes)
    assert named(codes, texts).to_pylist() == ["?", "x"]
    other = Texts()
    other.load(texts.state())
    assert not other.are_whole(codes)
    other.keep([codes[1:]])
    assert other.are_whole(codes[1:])


def test_many_texts_need_no_room_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW_TEXTS", 100)
    texts = Texts()
    for begin in range(0, 100_000, 1000):
        own = pa.array([f"text {number}" for number in range(begin, begin + 1000)])
        codes = texts.codes(*text_bytes(own))
        if texts.is_large:
            texts.keep([codes[:3]])
            assert [texts[code] for code in codes[:3].tolist()] == own[:3].to_pylist()
    assert len(texts) < 3000
    assert len(texts._pool) < 100_000


def test_texts_with_the_same_hash_are_told_apart() -> None:
    """A table of one bucket, so to say: all texts lie one after the other."""
    texts = Texts()
    words = [f"{number:03}" for number in range(40)]
    codes = [texts.code(word) for word in words]
    # What lies after the mark of another text is still found.
    texts._table[texts._table == 0] = np.uint64(0xFFFFFFFF_00000001)
    assert [texts.codes(*text_bytes(pa.array([word])))[0] for word in words] == codes


def cells_of(column: Array, encoder: Encoder) -> list[tuple[int, int]]:
    """Tags and cells of a column, in events that have nothing else."""
    encoder.types.code("A")
    encoder.columns.code("k")
    times = np.arange(len(column), dtype=np.int64)
    types = pa.array(["A"] * len(column)).dictionary_encode()
    table = Table(types, times, times, (), (("k", column),))
    batch = Encoding(table, encoder).batch(0, len(table), 0)
    return list(zip(batch.tags[:, 0].tolist(), batch.cells[:, 0].tolist(), strict=True))


@pytest.mark.parametrize("texts", ["plain", "large", "dictionary", "wide dictionary"])
def test_any_form_of_texts_gives_the_same_codes(texts: str) -> None:
    words = ["b", None, "a", "b", "", "c" * 50]
    column = pa.array(words)
    if texts == "large":
        column = column.cast(pa.large_string())
    elif texts == "dictionary":
        column = column.dictionary_encode()
    elif texts == "wide dictionary":
        known = pa.array([f"w{number}" for number in range(1000)] + ["b", "a", "", "c" * 50])
        places = pa.array([1000, None, 1001, 1000, 1002, 1003])
        column = pa.DictionaryArray.from_arrays(places, known)
    encoder = Encoder()
    for _ in range(3):  # the second time a dictionary is known, after that its codes are not
        for part in (column, column.slice(2)):
            found = [encoder.texts[cell] if tag else None for tag, cell in cells_of(part, encoder)]
            assert found == words[len(words) - len(part) :]
        encoder.texts.keep([])


def test_damaged_texts_are_an_error_and_no_crash() -> None:
    assert text_bytes(pa.array([], pa.string()))[0].tolist() == [0]
    data, known = pa.py_buffer(b"abc"), pa.array(["x", "y"])
    for bounds in ([0, 2**30, 3], [2, 0, 3], [0, -5, 3]):
        own = pa.py_buffer(np.array(bounds, np.int32))
        with pytest.raises(EventError, match="texts must be sound; got texts that lie outside"):
            text_bytes(pa.Array.from_buffers(pa.string(), 2, [None, own, data]))
    for places in ([0, 2], [-1, 0], [10**6, 0]):
        column = pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), known, safe=False)
        with pytest.raises(EventError, match="got a place that its dictionary does not have"):
            cells_of(column, Encoder())
