"""Cells of the kernel as columns: tags and bits become values of their kinds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cepheid.events import Kind, Value
from cepheid.kernel.texts import Texts
from cepheid.kernel.values import BOOL, DOUBLE, INT, MISSING, TEXT
from cepheid.tables.arrow import Array, Bools, Ints, arrow_of, pa, text_array, text_array_of
from cepheid.tables.table import ARROW

Tags = npt.NDArray[np.uint8]

KINDS = {INT: Kind.INT, DOUBLE: Kind.DOUBLE, TEXT: Kind.STRING, BOOL: Kind.BOOL}


def columns(name: str, tags: Tags, cells: Ints, texts: Texts) -> Iterator[tuple[str, Array]]:
    """The columns of an attribute, one for each kind that its values have."""
    for tag in np.unique(tags):
        if tag != MISSING:
            yield name, _column(int(tag), tags == tag, cells, texts)


def column(tags: Tags, cells: Ints, kind: Kind, texts: Texts) -> Array:
    """An attribute as a column of one kind; ints become doubles, what does not fit is missing."""
    if kind is Kind.DOUBLE:
        whole = tags == INT
        values = np.where(whole, cells.astype(np.float64), cells.view(np.float64))
        return arrow_of(values, ~(whole | (tags == DOUBLE)))
    tag = next(tag for tag, own in KINDS.items() if own is kind)
    found = _column(tag, tags == tag, cells, texts)
    return found.cast(ARROW[kind]) if kind is Kind.STRING else found


def _column(tag: int, there: Bools, cells: Ints, texts: Texts) -> Array:
    mask = None if there.all() else ~there
    if tag == TEXT:
        return named(cells, texts, mask)
    if tag == DOUBLE:
        return arrow_of(cells.view(np.float64), mask)
    return arrow_of(cells if tag == INT else cells != 0, mask)


def named(codes: Ints, texts: Texts, mask: Bools | None = None) -> Array:
    """The texts of codes, with a dictionary of those that occur."""
    wanted = codes if mask is None else codes[~mask]
    used = np.zeros(len(texts) + 1, np.bool_)
    used[wanted] = True
    known = np.flatnonzero(used)
    places = np.zeros(len(used), np.int32)
    places[known] = np.arange(len(known))
    indices = places[codes if mask is None else np.where(mask, 0, codes)]
    if texts.are_whole(known):
        names = text_array_of(*texts.written(known))
    else:
        names = text_array(texts[code] for code in known.tolist())
    return pa.DictionaryArray.from_arrays(arrow_of(indices, mask), names)


def decoded(tags: Tags, cells: Ints, texts: Texts) -> list[Value | None]:
    """Cells as values."""
    doubles = cells.view(np.float64).tolist()
    pairs = enumerate(zip(tags.tolist(), cells.tolist(), strict=True))
    return [
        (doubles[at] if tag == DOUBLE else _value(tag, cell, texts)) for at, (tag, cell) in pairs
    ]


def _value(tag: int, cell: int, texts: Texts) -> Value | None:
    if tag == MISSING:
        return None
    if tag == TEXT:
        return texts[cell]
    return bool(cell) if tag == BOOL else cell
