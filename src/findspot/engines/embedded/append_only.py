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
    with _open(path) as file:
        size = file.seek(0, os.SEEK_END)
    if size < checksum.size:
        raise Damaged(f"{path.name} has {size} bytes, expected {checksum.size}")
    if size > checksum.size:
        os.truncate(path, checksum.size)


def append(path: Path, checksum: Checksum, data: bytes | memoryview) -> Checksum:
    """Write after the valid part, over anything a failed attempt left there, and return the new checksum."""
    with path.open("r+b") as file:
        file.seek(checksum.size)
        file.write(data)
    return Checksum(checksum.size + memoryview(data).nbytes, zlib.crc32(data, checksum.crc))


def read(path: Path, checksum: Checksum) -> bytes:
    """Return the valid part. Raises Damaged if it is not what was written."""
    with _open(path) as file:
        data = file.read(checksum.size)
    _check(path, checksum, len(data), zlib.crc32(data))
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
