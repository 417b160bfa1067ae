"""Columns that hold other values than rules expect: a number compared with a text is never true.

Two values of such a column compare as what it holds: "10" comes before "9". A file without a schema
says itself what its columns hold, and one word in a column of numbers makes texts of them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cepheid.check import Family
from cepheid.tables.arrow import Arrow, pa, pc


def misfits(table: Arrow, uses: Mapping[tuple[str, str], tuple[Family, str]]) -> Iterator[str]:
    """What is odd about the columns of a table, for what rules take attributes for.

    >>> events = pa.table({"type": ["Temp"] * 3, "ts": [1, 2, 3], "value": ["50", "hot", "51"]})
    >>> print(*misfits(events, {("Temp", "value"): (Family.NUMBER, "Fire")}))
    column value holds texts, such as "hot", where rule Fire expects a number of Temp: \
compared with a number they are never true, and with each other they compare as texts
    <BLANKLINE>
    hint: correct the value; a schema with Temp(value: double) tells its row
    """
    for (type_, name), (wanted, rule) in uses.items():
        held = _held(table[name].type) if name in table.column_names else None
        if held is None or held is wanted or name == "type":
            continue
        own = table[name].filter(pc.equal(table["type"], type_)).drop_null()
        if not len(own):
            continue
        yield (
            f"column {name} holds {_PLURALS[held]}, such as {_odd(own, wanted)}, where rule {rule} "
            f"expects {wanted} of {type_}: compared with {wanted} they are never true, and with "
            f"each other they compare as {_PLURALS[held]}\n\n"
            f"hint: {_hint(wanted, type_, name)}"
        )


_PLURALS = {Family.NUMBER: "numbers", Family.TEXT: "texts", Family.TRUTH: "bools"}
_SOME = 100_000
"""How many values are looked through for one to show."""


def _held(kind: Arrow) -> Family | None:
    """What a column of a type of Arrow holds, as far as rules can compare it."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Family.NUMBER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return Family.TEXT
    return Family.TRUTH if pa.types.is_boolean(kind) else None


def _odd(column: Arrow, wanted: Family) -> str:
    """A value of the column, at best one that could not even be written as what is wanted."""
    values = pc.unique(column.slice(0, _SOME)).to_pylist()
    if wanted is Family.NUMBER and isinstance(values[0], str):
        values = [value for value in values if not _is_number(value)] or values
    return f'"{values[0]}"' if isinstance(values[0], str) else str(values[0])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _hint(wanted: Family, type_: str, name: str) -> str:
    if wanted is Family.NUMBER:
        return f"correct the value; a schema with {type_}({name}: double) tells its row"
    kind = "string" if wanted is Family.TEXT else "bool"
    return f"compare what the column holds, or give a schema with {type_}({name}: {kind})"
