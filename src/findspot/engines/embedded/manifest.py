"""Which files of a namespace are valid, and what is in them? One small file says so; switching it switches everything.

Nothing is synced to disk: the store is the truth. A killed process loses nothing that the system has taken; after a
power cut, sizes and checksums show what did not reach the disk, and the namespace is built anew.
"""

from __future__ import annotations

import errno
import os
import re
import zlib
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from findspot.engines.protocol import Damaged
from findspot.errors import FindspotError

if TYPE_CHECKING:
    from collections.abc import Iterator

Mark: TypeAlias = tuple[int, int]  # size and CRC-32 of a file, or of the part of it that counts
Marks: TypeAlias = Mapping[str, Mark]

FORMAT = 1
FILE = "manifest.json"
_SLICE = 1 << 20
_SYSTEMS_NUMBER = re.compile(r"(?:os error|code:) (\d+)")
_SIGNS_OF_DAMAGE = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is valid. A namespace without a generation is empty and has no files."""

    format: int = FORMAT
    generation: str = ""  # the folder of all that follows
    fingerprint: str = ""
    dimension: int = 0
    shortest: int = 0  # no source is shorter, in characters
    meta: str = ""  # tantivy's own list of its segments
    keywords: dict[str, Mark] = field(default_factory=dict)
    vectors: str = ""  # the folder of the vectors
    rows: dict[str, Mark] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(size for size, _ in [*self.keywords.values(), *self.rows.values()])


def read(folder: Path) -> Manifest:
    """The manifest of a namespace. Raises Damaged if it is not there as it was written."""
    with files_in(folder):
        raw = (folder / FILE).read_bytes()
    seal, _, body = raw.partition(b"\n")
    if seal != _seal(body):
        raise Damaged(f"{folder.name}: the manifest is not as it was written")
    try:
        manifest = msgspec.json.decode(body, type=Manifest)
    except msgspec.DecodeError as error:
        raise Damaged(f"{folder.name}: the manifest cannot be read: {error}") from error
    if manifest.format != FORMAT:
        raise Damaged(f"{folder.name}: the manifest has the format {manifest.format}, not {FORMAT}")
    return manifest


def write(folder: Path, manifest: Manifest) -> None:
    """Put a manifest in the place of the one before, at once."""
    body = msgspec.json.encode(manifest)
    beside = folder / f"{FILE}.new"
    beside.write_bytes(_seal(body) + b"\n" + body)
    beside.replace(folder / FILE)


def mark(file: Path) -> Mark:
    """The size and checksum of a whole file."""
    size = crc = 0
    with file.open("rb", buffering=0) as stream:
        while piece := stream.read(_SLICE):
            size, crc = size + len(piece), zlib.crc32(piece, crc)
    return size, crc


def check_sizes(folder: Path, marks: Marks) -> None:
    with files_in(folder):
        for name, (size, _) in marks.items():
            if os.stat(folder / name).st_size != size:  # noqa: PTH116 - a thousand of these take half the time
                raise Damaged(f"{folder}: {name} has not the size it was written with")


def check_sums(folder: Path, marks: Marks) -> None:
    with files_in(folder):
        for name, expected in marks.items():
            if mark(folder / name) != expected:
                raise Damaged(f"{folder}: {name} is not as it was written")


@contextmanager
def files_in(folder: Path) -> Iterator[None]:
    """A file that is gone or cannot be read is damage; a full disk or too many open files is not."""
    try:
        yield
    except OSError as error:
        if not tells_of_damage(error):
            raise
        raise Damaged(f"{folder}: {error}") from error


def tells_of_damage(error: BaseException) -> bool:
    """Whether files may be to blame."""
    number = systems_number(error)
    if number is not None:
        return number in _SIGNS_OF_DAMAGE
    return isinstance(error, (ValueError, OSError)) or _is_panic(error)


@contextmanager
def telling_of_trouble() -> Iterator[None]:
    """What the system refuses, such as room on the disk or one more open file, is no fault of ours and may pass."""
    try:
        yield
    except BaseException as error:
        number = systems_number(error)
        if number is None and not isinstance(error, OSError):
            raise
        reason = str(error) if number is None else os.strerror(number)  # without the path, which is nobody's business
        message = f"The index cannot be used: {reason}. What is saved is kept, and this is tried again until it works."
        raise FindspotError("ENGINE_UNAVAILABLE", message) from error


def systems_number(error: BaseException) -> int | None:
    """The number of the system's error. tantivy has no errors of its own: it raises ValueError, with the number in its
    words if there is one, or panics, under a name that cannot be imported."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if not (isinstance(error, (ValueError, OSError)) or _is_panic(error)):
        return None
    number = _SYSTEMS_NUMBER.search(str(error))
    return int(number[1]) if number else None


def _is_panic(error: BaseException) -> bool:
    return type(error).__name__ == "PanicException"


def _seal(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)
