"""Append-only files whose valid part is given by its checksum: length and CRC-32.

The manifest keeps the checksums. Bytes after the valid part were written by a process that was killed, and are cut off.
Missing or changed bytes are detected. Appending costs only the new bytes, because a CRC can be continued.
"""

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from findspot.engines.embedded.manifest import Checksum
from findspot.engines.protocol import Damaged

_SLICE = 4 << 20


def create(path: Path) -> Checksum:
    path.write_bytes(b"")
    return Checksum(0, 0)


def truncate(path: Path, checksum: Checksum) -> None:
    """Cut off what follows the valid part. Raises Damaged if the file is shorter than that."""
    if require_size(path, checksum.size) > checksum.size:
        os.truncate(path, checksum.size)


def require_size(path: Path, expected: int) -> int:
    """Return the size of a file. Raises Damaged if it is shorter than expected."""
    with _open(path) as file:
        size = file.seek(0, os.SEEK_END)
    if size < expected:
        raise Damaged(f"{path.name} has {size} bytes, expected {expected}")
    return size


def append(path: Path, checksum: Checksum, data: bytes | memoryview) -> Checksum:
    """Write after the valid part, over anything a failed attempt left there, and return the new checksum."""
    with path.open("r+b") as file:
        file.seek(checksum.size)
        file.write(data)
    return Checksum(checksum.size + memoryview(data).nbytes, zlib.crc32(data, checksum.crc))


def read_added(path: Path, before: Checksum, checksum: Checksum) -> bytes:
    """Return what was appended to a valid part. Raises Damaged if the file does not continue it."""
    with _open(path) as file:
        file.seek(before.size)
        data = file.read(max(0, checksum.size - before.size))
    _check(path, checksum, before.size + len(data), zlib.crc32(data, before.crc))
    return data


def verify(path: Path, checksum: Checksum, stop: Callable[[], None] = lambda: None) -> None:
    """Read the valid part in slices. Raises Damaged if it is not what was written."""
    size = crc = 0
    with _open(path) as file:
        while data := file.read(min(_SLICE, checksum.size - size)):
            stop()
            size, crc = size + len(data), zlib.crc32(data, crc)
    _check(path, checksum, size, crc)


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise Damaged(f"{path.name} is missing") from None


def _check(path: Path, checksum: Checksum, size: int, crc: int) -> None:
    if (size, crc) != checksum:
        raise Damaged(f"{path.name} is not as it was written")
