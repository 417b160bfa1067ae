"""Events in, matches out: a kernel together with what its origins stand for.

The kernel knows events by number alone. The matcher gives out the numbers, keeps the events that
matches may still be made of, and turns matches into composite events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cepheid.algebra import EventPredicate, Rule, find, input_types
from cepheid.algebra.codec import decode_rule, encode
from cepheid.errors import LimitError
from cepheid.events import CompositeEvent, Event, Schema
from cepheid.kernel.few import Few
from cepheid.kernel.found import Found
from cepheid.kernel.kernel import Kernel
from cepheid.kernel.limits import Limit
from cepheid.runtime.row import Row
from cepheid.runtime.settings import Settings
from cepheid.tables.arrow import Bools
from cepheid.tables.encode import Encoding
from cepheid.tables.order import Ordering
from cepheid.tables.payload import Payload
from cepheid.tables.table import Table

P = TypeVar("P", bound=Found | Few)

_END = attrgetter("end")
Here = Callable[[Table], Bools]
"""Tells which events of a table no other engine has."""

_SPARE = 1 << 17
"""How many rows of tables may be kept without need before they are looked through."""
_BORROWED = 1 << 28
"""How many bytes may be kept from being given back because a few rows of a table are of use."""
_OBJECT = 32
"""An event that came on its own takes as much room as so many rows."""
_PORTION = 1 << 16
"""How many events of a table go into the kernel at a time."""


class Matcher:
    """Holds a kernel, its rules by number, and the events that its origins stand for."""

    def __init__(self, settings: Settings, schema: Schema) -> None:
        ordered = settings.policy != "best_effort"
        self.kernel = Kernel(
            depth_limit=settings.depth_limit, failures=settings.failures, ordered=ordered
        )
        self.rules: dict[int, Rule] = {}
        self.numbers: dict[str, int] = {}
        self._settings = settings
        self.payload = Payload(self.kernel.encoder, self.rules, schema)
        # Where not, origins follow the order of arrival.
        self.payload.origins_tell = ordered
        self._next_origin = 0
        self._inputs: dict[int, frozenset[str]] = {}
        self._ticking: set[int] = set()
        self._steps: list[tuple[Rule, ...] | int] = []
        """The rules that were deployed together, and the numbers of those removed, in turn."""
        self.limit: LimitError | None = None
        self._added = self._room = 0
        self._row = Row(self.kernel.encoder)

    def use(self, schema: Schema) -> None:
        """Break ties between events as a schema says."""
        self.payload.schema = schema

    # --- rules ---------------------------------------------------------------

    def deploy(self, rules: Sequence[Rule]) -> None:
        """Let rules see events from now on."""
        numbers = self.kernel.deploy(rules, [self._limit(rule) for rule in rules])
        self.rules.update(zip(numbers, rules, strict=True))
        self.numbers.update(zip((rule.name for rule in rules), numbers, strict=True))
        for number, rule in zip(numbers, rules, strict=True):
            self._inputs[number] = frozenset(input_types(rule))
            if any(found.every is not None for found in find(rule, EventPredicate)):
                self._ticking.add(number)
        self._steps.append(tuple(rules))
        self._row = Row(self.kernel.encoder)

    def remove(self, name: str) -> None:
        """Forget a rule with all its state."""
        number = self.numbers.pop(name)
        self.kernel.remove(number)
        self._ticking.discard(number)
        self._steps.append(number)
        self._row = Row(self.kernel.encoder)

    def _limit(self, rule: Rule) -> Limit | None:
        """What the kernel may keep for a rule."""
        limits = self._settings.limits_of(rule.name)
        if limits.stored is None and limits.partial is None:
            return None
        return Limit(limits.stored, limits.partial, limits.policy == "drop")

    def active(self) -> list[Rule]:
        """The rules that see events, in the order in which they came."""
        return [self.rules[number] for number in self.numbers.values()]

    def looked_at(self) -> frozenset[str]:
        """The types that the rules look at."""
        return frozenset().union(*(self._inputs[number] for number in self.numbers.values()))

    # --- events --------------------------------------------------------------

    def feed_one(self, event: Event) -> Sequence[Found | Few]:
        """The matches that one event causes; the shortest way there is."""
        origin = self._next_origin
        self._next_origin += 1
        batch = self._row.encode(event, origin)
        if self._row.is_looked_at:
            self.payload.add_events(origin, [event])
            self._added += 1
            self._room += _OBJECT
        found, error = self.kernel.feed_one(batch)
        self.limit = error or self.limit
        return self._noted(found) if found or self._ticking else found

    def feed(self, events: Sequence[Event]) -> Sequence[Found | Few]:
        """The matches that events cause, which are in the order in which they are consumed."""
        if len(events) == 1:
            return self.feed_one(events[0])
        first = self._next_origin
        self._next_origin += len(events)
        self.payload.add_events(first, list(events))
        self._added += len(events)
        self._room += _OBJECT * len(events)
        return self._gathered(self.kernel.feed(self.kernel.encoder.encode(events, first)))

    def feed_table(self, table: Table, found: Ordering) -> list[Found]:
        """The matches that the events of a table cause, which are in the order of consumption."""
        first = self._next_origin
        self._next_origin += len(table)
        self.payload.add_table(first, table, found.ranks)
        self._added += len(table)
        self._room += len(table)
        encoding = Encoding(table, self.kernel.encoder)
        portions: list[Found] = []
        for begin in range(0, len(table), _PORTION):
            end = min(len(table), begin + _PORTION)
            portions += self._gathered(self.kernel.feed(encoding.batch(begin, end, first + begin)))
        return portions

    def advance(self, time: int) -> list[Found]:
        """The matches that the passing of time causes."""
        return self._gathered(self.kernel.advance(time))

    def _gathered(self, portions: Iterator[Found]) -> list[Found]:
        found: list[Found] = []
        try:
            found.extend(portions)
        except LimitError as error:
            # What was found until then is told first; see `raise_limit`.
            self.limit = error
        return self._noted(found)

    def _noted(self, found: list[P]) -> list[P]:
        """What is to be told of matches, after those were kept of which others may be made."""
        if self._ticking:
            self.payload.add_ticks(*self.kernel.take_ticks())
        for portion in found:
            if isinstance(portion, Found) and portion.origins is not None:
                self.payload.add_found(portion)
        if self._settings.failures:
            return found
        # Failures that only rules listen to are constituents, but nobody else is told.
        return [portion for portion in found if not portion.failure]

    def made_here(self, portion: Found, here: Here, *, whole: bool) -> Found:
        """The matches with an event that is here, or (`whole`) with no other ones.

        Composite events are here.
        """
        origins, places = np.unique(portion.constituents, return_inverse=True)
        own = origins < 0
        own[~own] = here(self.payload.table(origins[~own]))
        of_parts = own[places.reshape(portion.constituents.shape)]
        reached = np.logical_and if whole else np.logical_or
        if portion.offsets is None:
            found = reached.reduce(of_parts, axis=0)
        else:
            found = reached.reduceat(of_parts, portion.offsets[:-1])
        return portion.take(found[portion.matches])

    def composites(self, portions: Sequence[Found | Few]) -> list[CompositeEvent]:
        """Matches as composite events, in the order of their ends."""
        builder = self.payload.builder
        events: list[CompositeEvent] = []
        for portion in portions:
            if isinstance(portion, Few):
                events += builder.few(portion)
            else:
                events += builder.composites(portion)
        if len(events) > 1:
            events.sort(key=_END)
        return events

    def raise_limit(self, found: object) -> None:
        """Tell that a limit was hit, together with what was found all the same."""
        error, self.limit = self.limit, None
        if error is not None:
            error.found = found
            raise error

    def limited(self) -> dict[str, int]:
        """How often rules were refused more, or how much of them was dropped, by name."""
        found: Counter[str] = Counter()
        for number, count in self.kernel.limited.items():
            found[self.rules[number].name] += count
        return dict(found)

    def trim(self) -> None:
        """Give up events that no match can be made of, once they may outweigh the others."""
        outweighed = self._room > _SPARE and self._added > self.kernel.stored
        if outweighed or self.payload.borrowed > _BORROWED:
            self.forget(texts=self.kernel.encoder.texts.is_large)

    def forget(self, *, texts: bool) -> None:
        """Give up events that nothing refers to, and texts, if wanted.

        Only between calls: what was found must have been told, and no event be encoded already.
        """
        if texts:
            self.kernel.compact()
        self.payload.keep(self.kernel.live())
        self._added = self._room = 0
        if texts:
            needed = (self.kernel.text_codes(), *self.payload.text_codes())
            self.kernel.encoder.texts.keep(needed)

    # --- state ---------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Everything that matching depends on, as JSON values and arrays."""
        encoder = self.kernel.encoder
        self.forget(texts=encoder.texts.is_large)
        head = {
            "steps": [
                step if isinstance(step, int) else [encode(rule) for rule in step]
                for step in self._steps
            ],
            "next_origin": self._next_origin,
            "compactions": self.kernel.compactions,
            "limited": list(self.kernel.limited.items()),
            "ladders": self.kernel.ladders,
            "types": encoder.types.names(),
            "columns": encoder.columns.names(),
            "texts": encoder.texts.state(),
        }
        arrays = {f"kernel/{name}": array for name, array in self.kernel.state().items()}
        arrays |= {f"payload/{name}": array for name, array in self.payload.state().items()}
        return head, arrays

    def load(self, head: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state; for a matcher that has seen nothing yet."""
        encoder = self.kernel.encoder
        for name, codes in (
            ("types", encoder.types),
            ("columns", encoder.columns),
            ("texts", encoder.texts),
        ):
            # Before the rules, so that everything gets the code that it had.
            codes.load(head[name])
        # Older states know nothing of ladders, and go on without them.
        self.kernel.ladders = bool(head.get("ladders", False))
        for step in head["steps"]:
            if isinstance(step, int):
                self.remove(self.rules[step].name)
            else:
                self.deploy([decode_rule(written) for written in step])
        self._next_origin = int(head["next_origin"])
        self.kernel.compactions = int(head["compactions"])
        self.kernel.limited.update((int(number), int(count)) for number, count in head["limited"])
        self.kernel.load(_under("kernel/", arrays))
        self.payload.load(_under("payload/", arrays))
        self._row = Row(self.kernel.encoder)


def _under(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
