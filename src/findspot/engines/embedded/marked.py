"""Files that only grow, each with a mark: its length and the CRC-32 of its bytes.

A mark that is kept elsewhere says what of a file counts. What a killed process wrote after it is cut off, and what is
missing or changed is noticed. Growing a file costs no more than the new bytes, because a CRC can be continued.
"""

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from findspot.engines.protocol import Damaged

_AT_ONCE = 4 << 20


class Mark(NamedTuple):
    size: int = 0
    crc: int = 0


def create(path: Path) -> Mark:
    path.write_bytes(b"")
    return Mark()


def cut(path: Path, mark: Mark) -> None:
    """Bring a file to its mark. Raises Damaged if it is too short."""
    with _open(path) as file:
        size = file.seek(0, os.SEEK_END)
    if size < mark.size:
        raise Damaged(f"{path.name} has {size} bytes of {mark.size}")
    if size > mark.size:
        os.truncate(path, mark.size)


def append(path: Path, mark: Mark, data: bytes | memoryview) -> Mark:
    """Write after the mark, over whatever a failed attempt left there, and return the mark that follows."""
    with path.open("r+b") as file:
        file.seek(mark.size)
        file.write(data)
    return Mark(mark.size + memoryview(data).nbytes, zlib.crc32(data, mark.crc))


def read(path: Path, mark: Mark) -> bytes:
    """What counts of a file. Raises Damaged if it is not what was written."""
    with _open(path) as file:
        data = file.read(mark.size)
    _check(path, mark, len(data), zlib.crc32(data))
    return data


def verify(path: Path, mark: Mark, stop: Callable[[], None]) -> None:
    """Read a file again, in slices. Raises Damaged if it is not what was written."""
    size = crc = 0
    with _open(path) as file:
        while data := file.read(min(_AT_ONCE, mark.size - size)):
            stop()
            size, crc = size + len(data), zlib.crc32(data, crc)
    _check(path, mark, size, crc)


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise Damaged(f"{path.name} is missing") from None


def _check(path: Path, mark: Mark, size: int, crc: int) -> None:
    if (size, crc) != mark:
        raise Damaged(f"{path.name} is not what was written")
