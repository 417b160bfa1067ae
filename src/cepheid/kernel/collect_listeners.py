"""The tables by which an event finds collections: by its type, and by values that rules ask for.

A rule may ask for events of one source alone. Such rules are found by the value of that attribute,
so that an event costs nothing for the rules of all other sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from cepheid.algebra import Collection, Key
from cepheid.kernel import collect_slots as slots
from cepheid.kernel.collect_state import key_of
from cepheid.kernel.collect_steps import Plan, Use
from cepheid.kernel.columns import Encoder
from cepheid.kernel.memory import Memory
from cepheid.kernel.values import MISSING

Fixed = tuple[int, int, int]
"""An attribute and the value that it must have: column, tag and cell."""
Listener = tuple[int, ...]
T = TypeVar("T")


class Listeners:
    """The rules that look at each type, in the order in which they were deployed."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._types = encoder.types.names()
        self._keys: list[Fixed] = []
        self._uses: list[Use] = []
        self._free: dict[int, list[Listener]] = {}
        self._fixed: dict[int, dict[int, dict[tuple[int, int], list[Listener]]]] = {}

    def add(self, place: int, plan: Plan) -> None:
        """Let a rule listen to the types that it uses."""
        by_type: dict[int, list[Use]] = {}
        for use in plan.uses:
            by_type.setdefault(use.type, []).append(use)
        for code, uses in by_type.items():
            keys = self._keys_of(plan.collection, code)
            if keys is not None:
                spans = (*_span(self._uses, uses), *_span(self._keys, keys))
                self._listeners_of(code, keys).append((place, *spans))

    def _listeners_of(self, code: int, keys: Sequence[Fixed]) -> list[Listener]:
        """Those that are found in the same way: by the type, or also by a value."""
        for column, tag, cell in keys:
            if tag != MISSING:
                values = self._fixed.setdefault(code, {}).setdefault(column, {})
                return values.setdefault((tag, cell), [])
        return self._free.setdefault(code, [])

    def _keys_of(self, collection: Collection, code: int) -> list[Fixed] | None:
        """The keys of events of a type; None when such events are in no partition."""
        found = []
        for key in collection.partition:
            name = key.attribute(self._types[code])
            if name is not None:
                found.append((self._encoder.columns.code(name), *self._value(key)))
            elif key.value is None:
                return None
        return found

    def _value(self, key: Key) -> tuple[int, int]:
        """The value that a key must have; nothing if it tells the partition."""
        if key.value is None:
            return MISSING, 0
        tag, cell = key_of(*self._encoder.cell(key.value))
        return int(tag), int(cell)

    # --- tables --------------------------------------------------------------

    def write(self, memory: Memory) -> None:
        """Put everything into the memory."""
        rows, begins = list[Listener](), [0]
        for code in range(len(self._types)):
            rows += self._free.get(code, [])
            begins.append(len(rows))
        memory.put(slots.TYPE_RULES, begins)
        self._write_groups(memory, rows)
        memory.put(slots.LISTENER, rows)
        memory.put(slots.USE, [(use.list, use.program, use.kind, use.bit) for use in self._uses])
        memory.put(slots.KEY, self._keys)

    def _write_groups(self, memory: Memory, rows: list[Listener]) -> None:
        begins, groups, values = [0], list[tuple[int, ...]](), list[tuple[int, ...]]()
        for code in range(len(self._types)):
            for column, by_value in self._fixed.get(code, {}).items():
                groups.append((column, len(values), len(values) + len(by_value)))
                for value, listeners in sorted(by_value.items()):
                    values.append((*value, *_span(rows, listeners)))
            begins.append(len(groups))
        memory.put(slots.TYPE_GROUPS, begins)
        memory.put(slots.GROUP, groups)
        memory.put(slots.FIXED, values)


def _span(items: list[T], more: Sequence[T]) -> tuple[int, int]:
    """Add items to others; where they begin and end."""
    begin = len(items)
    items += more
    return begin, len(items)
