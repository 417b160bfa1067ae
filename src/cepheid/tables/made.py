"""Composite events that others may be made of, as columns.

They are kept as the kernel gave them; adding one is cheap, and what is derived from them is
computed over columns, when it is first asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.events import Value
from cepheid.kernel.columns import Encoder, text_codes
from cepheid.kernel.found import Found
from cepheid.tables.arrow import Array, Bools, Ints
from cepheid.tables.cells import Tags, columns, decoded
from cepheid.tables.growing import Growing
from cepheid.tables.mixing import Lanes, deepen, identify
from cepheid.tables.parts import Parts, concat_parts, parts_of

_COLUMNS = ("origins", "rules", "starts", "ends", "depths", "portions", "places")


@dataclass(frozen=True)
class Portion:
    """The output attributes of composite events of one shape: tags and cells by name."""

    names: tuple[str, ...]
    failure: bool
    tags: Tags
    cells: Ints


class Made:
    """Composite events, the oldest first; their origins fall.

    `portions` and `places` tell where the attributes of an event are. `lanes` are its id and
    `identities` what it adds to the ids of others; they are there for the first `identified` rows.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._waiting: list[Found] = []
        self._columns = {name: Growing(np.int64) for name in _COLUMNS}
        self._begins = Growing(np.int64)
        self._begins.append(np.zeros(1, np.int64))
        self._part_origins, self._part_labels = Growing(np.int64), Growing(np.int64)
        self._lanes, self._identities = Growing(np.uint64, 2), Growing(np.uint64, 2)
        self._portions: list[Portion] = []

    def __len__(self) -> int:
        self._settle()
        return len(self._columns["origins"])

    def column(self, name: str) -> Ints:
        """A column: origins, rules, starts, ends or depths."""
        self._settle()
        return self._columns[name].view

    def rows(self, origins: Ints) -> Ints:
        """The rows of events by their origins; -1 for those that are not here."""
        known = self.column("origins")
        if len(known) == 0:
            return np.full(len(origins), -1, np.int64)
        rows = np.minimum(np.searchsorted(-known, -origins), len(known) - 1)
        return np.where(known[rows] == origins, rows, -1)

    def parts(self, rows: Ints) -> Parts:
        """The constituents of events."""
        return self._all_parts().take(rows)

    def _all_parts(self) -> Parts:
        self._settle()
        return Parts(self._begins.view, self._part_origins.view, self._part_labels.view)

    def failures(self, rows: Ints) -> Bools:
        """Which of the events are failures of runs."""
        failing = np.array([portion.failure for portion in self._portions], np.bool_)
        return failing[self.column("portions")[rows]]

    def attributes(self, rows: Ints) -> Iterator[tuple[Ints, list[tuple[str, Array]]]]:
        """The output attributes of events: for some of the rows at a time, their columns."""
        portions, places = self.column("portions")[rows], self.column("places")[rows]
        for number in np.unique(portions):
            here = np.flatnonzero(portions == number)
            portion, at = self._portions[number], places[here]
            yield (
                here,
                [
                    pair
                    for name, tags, cells in zip(
                        portion.names, portion.tags, portion.cells, strict=True
                    )
                    for pair in columns(name, tags[at], cells[at], self._encoder.texts)
                ],
            )

    def values(self, row: int) -> dict[str, Value | None]:
        """The output attributes of one event."""
        portion = self._portions[self.column("portions")[row]]
        place = self.column("places")[row]
        tags, cells = portion.tags[:, place].copy(), portion.cells[:, place].copy()
        return dict(zip(portion.names, decoded(tags, cells, self._encoder.texts), strict=True))

    def pairs(self, row: int) -> list[tuple[str, int]]:
        """The labels and origins of one event's constituents."""
        parts, texts = self._all_parts(), self._encoder.texts
        here = slice(parts.offsets[row], parts.offsets[row + 1])
        labels = [texts[label] for label in parts.labels[here].tolist()]
        return list(zip(labels, parts.origins[here].tolist(), strict=True))

    # --- adding --------------------------------------------------------------

    def add(self, found: Found) -> None:
        """Keep matches that are events themselves."""
        if found.origins is not None:
            self._waiting.append(found.spread())

    def _settle(self) -> None:
        """Take up what was added: shape by shape, then all in the order of origins."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        shapes: dict[tuple[Any, ...], list[Found]] = {}
        for found in waiting:
            shapes.setdefault((found.names, found.labels, found.failure), []).append(found)
        taken = [self._take(founds) for founds in shapes.values()]
        values = {name: np.concatenate([one[name] for one, _ in taken]) for name in taken[0][0]}
        order = np.argsort(-values["origins"])
        parts = concat_parts([part for _, part in taken]).take(order)
        self._append({name: column[order] for name, column in values.items()}, parts)

    def _take(self, founds: Sequence[Found]) -> tuple[dict[str, Ints], Parts]:
        """Matches of one shape; origin 0 means that no rule listens to a match."""
        origins = np.concatenate([_origins(found) for found in founds])
        left = np.flatnonzero(origins)
        portion = Portion(
            founds[0].names,
            founds[0].failure,
            np.concatenate([found.tags for found in founds], axis=1)[:, left],
            np.concatenate([found.cells for found in founds], axis=1)[:, left],
        )
        self._portions.append(portion)
        values = {
            "origins": origins[left],
            "rules": np.concatenate([found.rules for found in founds])[left],
            "starts": np.concatenate([found.starts for found in founds])[left],
            "ends": np.concatenate([found.times for found in founds])[left],
            "portions": np.full(len(left), len(self._portions) - 1, np.int64),
            "places": np.arange(len(left)),
        }
        parts = concat_parts([parts_of(found, self._encoder) for found in founds])
        return values, parts if len(left) == len(origins) else parts.take(left)

    def _append(self, values: Mapping[str, Ints], parts: Parts) -> None:
        first = len(self._columns["origins"])
        for name, column in values.items():
            self._columns[name].append(column)
        self._begins.append(parts.offsets[1:] + len(self._part_origins))
        self._part_origins.append(parts.origins)
        self._part_labels.append(parts.labels)
        self._columns["depths"].append(np.zeros(len(parts), np.int64))
        depths = self._columns["depths"].view
        deepen(parts.offsets, self.rows(parts.origins), depths, first)

    # --- identities ----------------------------------------------------------

    @property
    def unidentified(self) -> Ints:
        """The rows whose ids are not known yet; they are the last ones."""
        return np.arange(len(self._lanes), len(self))

    def identify(self, outside: Lanes, fields: Lanes, wholes: Lanes, events: Lanes) -> None:
        """Find the ids of those rows.

        Given are the identities of the constituents that have one, in the order of
        `parts(unidentified).known_origins`, and the fields of their labels; see
        `cepheid.tables.mixing` for the rest.
        """
        rows = self.unidentified
        parts, first = self.parts(rows), len(self._lanes)
        origins, places = parts.known_origins
        own = self.rows(origins)
        at = np.where(own >= first, own - first, len(rows) + np.arange(len(origins)))
        identities = np.concatenate([np.zeros((2, len(rows)), np.uint64), outside], axis=1)
        lanes = np.zeros((2, len(rows)), np.uint64)
        labels = parts.known_labels[1]
        identify(parts.offsets, labels, fields, at[places], identities, wholes, events, lanes)
        self._lanes.append(lanes)
        self._identities.append(identities[:, : len(rows)])

    @property
    def lanes(self) -> Lanes:
        """The ids of the rows that are identified."""
        return self._lanes.view

    @property
    def identities(self) -> Lanes:
        """The identities of the rows that are identified."""
        return self._identities.view

    # --- giving up, writing down ---------------------------------------------

    def keep(self, rows: Ints) -> None:
        """Give up all events but those of some rows, which are in order."""
        identified = rows[rows < len(self._lanes)]
        parts = self.parts(rows)
        values = {name: self.column(name)[rows] for name in _COLUMNS}
        self._portions = self._kept(values)
        for name, column in values.items():
            self._columns[name].replace(column)
        self._begins.replace(parts.offsets)
        self._part_origins.replace(parts.origins)
        self._part_labels.replace(parts.labels)
        self._lanes.replace(self._lanes.view[:, identified])
        self._identities.replace(self._identities.view[:, identified])

    def _kept(self, values: dict[str, Ints]) -> list[Portion]:
        """The attributes of events that are kept, those of one shape together."""
        shapes: dict[tuple[tuple[str, ...], bool], list[int]] = {}
        for number in np.unique(values["portions"]).tolist():
            portion = self._portions[number]
            shapes.setdefault((portion.names, portion.failure), []).append(number)
        kept: list[Portion] = []
        portions, places = values["portions"].copy(), values["places"].copy()
        for (names, failure), numbers in shapes.items():
            pieces: list[tuple[Tags, Ints]] = []
            begin = 0
            for number in numbers:
                here = np.flatnonzero(portions == number)
                at = places[here]
                pieces.append(
                    (self._portions[number].tags[:, at], self._portions[number].cells[:, at])
                )
                values["portions"][here] = len(kept)
                values["places"][here] = np.arange(begin, begin + len(here))
                begin += len(here)
            tags = np.concatenate([tags for tags, _ in pieces], axis=1)
            cells = np.concatenate([cells for _, cells in pieces], axis=1)
            kept.append(Portion(names, failure, tags, cells))
        return kept

    def text_codes(self) -> Iterator[Ints]:
        """The codes of texts among the attributes."""
        self._settle()
        return (text_codes(portion.tags, portion.cells) for portion in self._portions)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything, as arrays by name; texts are codes of the encoder."""
        self._settle()
        found: dict[str, npt.NDArray[Any]] = dict(self._fixed())
        shapes = [[portion.names, portion.failure] for portion in self._portions]
        found["shapes"] = np.frombuffer(json.dumps(shapes).encode(), np.uint8)
        for number, portion in enumerate(self._portions):
            found[f"tags {number}"], found[f"cells {number}"] = portion.tags, portion.cells
        return found

    def _fixed(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        for name, column in self._growing().items():
            yield name, column.view.copy()

    def _growing(self) -> dict[str, Growing]:
        return {
            **self._columns,
            "begins": self._begins,
            "part origins": self._part_origins,
            "part labels": self._part_labels,
            "lanes": self._lanes,
            "identities": self._identities,
        }

    def load(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from a state."""
        self._waiting = []
        for name, column in self._growing().items():
            column.replace(state[name])
        shapes = json.loads(state["shapes"].tobytes())
        self._portions = [
            Portion(tuple(names), failure, state[f"tags {number}"], state[f"cells {number}"])
            for number, (names, failure) in enumerate(shapes)
        ]


def _origins(found: Found) -> Ints:
    assert found.origins is not None  # noqa: S101 (others are not added)
    return found.origins
