"""Reads a request body that arrived in several segments as one file, without copying the segments together."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any


class SegmentedFile(io.RawIOBase):
    """A readable, seekable file over several byte segments."""

    def __init__(self, segments: Sequence[bytes]) -> None:
        super().__init__()
        self._segments = [segment for segment in segments if segment]
        self._starts = [0, *accumulate(map(len, self._segments))]
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._starts[-1]}[whence]
        if base + offset < 0:
            raise OSError("cannot seek before the start of the file")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        if self._at >= self._starts[-1]:
            return 0
        number = bisect_right(self._starts, self._at) - 1
        start = self._at - self._starts[number]
        part = memoryview(self._segments[number])[start : start + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)
