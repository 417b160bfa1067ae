"""Arrays that grow at their end, at a cost per element that does not grow with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Growing:
    """An array with room behind its end; all but the last axis are fixed."""

    def __init__(self, kind: type, *shape: int) -> None:
        self._room: npt.NDArray[Any] = np.zeros((*shape, 64), kind)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, values: npt.NDArray[Any]) -> None:
        """Add elements at the end."""
        count = self._count + values.shape[-1]
        if count > self._room.shape[-1]:
            room = np.zeros((*self._room.shape[:-1], max(count, 2 * self._count)), self._room.dtype)
            room[..., : self._count] = self.view
            self._room = room
        self._room[..., self._count : count] = values
        self._count = count

    @property
    def view(self) -> npt.NDArray[Any]:
        """What is there, good until the next change."""
        return self._room[..., : self._count]

    def replace(self, values: npt.NDArray[Any]) -> None:
        """Hold other elements instead."""
        self._room = values.copy()
        self._count = values.shape[-1]
