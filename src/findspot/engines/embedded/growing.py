"""An array that grows at its end. What was handed out before stays as it is, and costs no copy."""

from typing import Any

import numpy as np
import numpy.typing as npt

_LEAST = 1024


class Growing:
    def __init__(self, kind: npt.DTypeLike, width: int | None = None) -> None:
        self._room: npt.NDArray[Any] = np.empty((0,) if width is None else (0, width), kind)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def array(self) -> npt.NDArray[Any]:
        return self._room[: self._length]

    def extend(self, values: npt.ArrayLike) -> None:
        """Add rows. There is room for as many again, so that each is moved only a few times."""
        added = np.asarray(values, self._room.dtype).reshape(-1, *self._room.shape[1:])
        length = self._length + len(added)
        if length > len(self._room):
            room = np.empty((max(_LEAST, length * 2), *self._room.shape[1:]), self._room.dtype)
            room[: self._length] = self.array
            self._room = room
        self._room[self._length : length] = added
        self._length = length
