"""A numpy array that grows at its end."""

from typing import Any

import numpy as np
import numpy.typing as npt

_MIN_CAPACITY = 1024


class GrowableArray:
    """Arrays returned earlier stay valid and are not copied when rows are added."""

    def __init__(self, kind: npt.DTypeLike, width: int | None = None) -> None:
        self._buffer: npt.NDArray[Any] = np.empty((0,) if width is None else (0, width), kind)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def array(self) -> npt.NDArray[Any]:
        return self._buffer[: self._length]

    def extend(self, values: npt.ArrayLike) -> None:
        """Add rows. The buffer doubles when it is full, so that each row is copied only a few times."""
        added = np.asarray(values, self._buffer.dtype).reshape(-1, *self._buffer.shape[1:])
        length = self._length + len(added)
        if length > len(self._buffer):
            buffer = np.empty((max(_MIN_CAPACITY, length * 2), *self._buffer.shape[1:]), self._buffer.dtype)
            buffer[: self._length] = self.array
            self._buffer = buffer
        self._buffer[self._length : length] = added
        self._length = length
