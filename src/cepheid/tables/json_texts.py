"""Columns as texts of JSON: what has no columns of its own is told in one text per row."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cepheid.tables.arrow import Array, pa, pc, text_array


def json_members(name: str, array: Array) -> Array:
    """For each row the text `"name": value`; nothing where there is no value.

    >>> json_members("v", pa.array([1, None])).to_pylist()
    ['"v": 1', None]
    """
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    # Every value is written once, however often it occurs.
    key = json.dumps(name)
    values = [f"{key}: {json.dumps(value)}" for value in array.dictionary.to_pylist()]
    return text_array(values).take(array.indices)


def json_objects(members: Sequence[Array], count: int) -> Array:
    """For each row an object with the members that are there.

    >>> json_objects([json_members("v", pa.array([1, None]))], 2).to_pylist()
    ['{"v": 1}', '{}']
    """
    if not members:
        return text_array(["{}"] * count)
    # Arrow leaves out rows of which it skips all parts, so that each gets an empty one first.
    nothing = text_array([""] * count)
    joined = pc.binary_join_element_wise(nothing, *members, ", ", null_handling="skip")
    return pc.binary_join_element_wise("{", pc.utf8_slice_codeunits(joined, 2), "}", "")
