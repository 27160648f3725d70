"""The manifest of a namespace: the files that are valid, with their checksums. Replacing it switches everything.

Nothing is synced to disk, because the store is the source of truth. A killed process loses nothing that the operating
system has accepted. After a power failure, sizes and checksums show what is missing, and the namespace is rebuilt.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from findspot.engines.embedded.os_errors import damage_if_missing
from findspot.engines.protocol import Damaged

FORMAT = 2
WITHOUT_CONTEXTS = 1  # the format before: it has no fields for titles and headings, and is replaced when it is found
FILE = "manifest.json"
_SLICE = 1 << 20
_CRC_LENGTH = 8  # hexadecimal digits in the first line


class Checksum(NamedTuple):
    """Length and CRC-32 of a file, or of its valid part."""

    size: int
    crc: int


Checksums: TypeAlias = Mapping[str, Checksum]  # by file name


@dataclass(frozen=True, slots=True)
class Manifest:
    """The valid files. A namespace without a generation is empty and has no files."""

    format: int = FORMAT
    generation: str = ""  # the folder of everything below
    fingerprint: str = ""
    dimension: int = 0
    shortest: int = 0  # no source is shorter, in characters
    meta: str = ""  # tantivy's own list of its segments
    keywords: dict[str, Checksum] = field(default_factory=dict)
    vectors: str = ""  # the folder of the vector files
    rows: dict[str, Checksum] = field(default_factory=dict)

    @property
    def is_outdated(self) -> bool:
        return bool(self.generation) and self.format != FORMAT

    @property
    def bytes(self) -> int:
        return sum(size for size, _ in [*self.keywords.values(), *self.rows.values()])


def read(folder: Path) -> Manifest:
    """Return the manifest of a namespace. Raises Damaged if it is missing or not as it was written."""
    with damage_if_missing(folder):
        raw = (folder / FILE).read_bytes()
    crc, _, body = raw.partition(b"\n")
    if crc != _crc_line(body):
        raise Damaged(f"{folder.name}: the manifest is not as it was written")
    try:
        manifest = msgspec.json.decode(body, type=Manifest)
    except msgspec.DecodeError as error:
        raise Damaged(f"{folder.name}: the manifest cannot be read: {error}") from error
    if manifest.format not in (WITHOUT_CONTEXTS, FORMAT):
        raise Damaged(f"{folder.name}: the manifest has the format {manifest.format}, not {FORMAT}")
    return manifest


def version(folder: Path) -> bytes | None:
    """Return what changes with every manifest of a namespace: its CRC. None if there is no namespace, b"" if only its
    manifest is missing. Cheaper than reading the manifest, and safer than comparing times of files."""
    try:
        handle = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return b"" if folder.is_dir() else None
    try:
        return os.read(handle, _CRC_LENGTH)
    finally:
        os.close(handle)


def write(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest in one step."""
    body = msgspec.json.encode(manifest)
    new = folder / f"{FILE}.new"
    new.write_bytes(_crc_line(body) + b"\n" + body)
    new.replace(folder / FILE)


def checksum(file: Path) -> Checksum:
    """Return the checksum of a whole file."""
    size = crc = 0
    with file.open("rb", buffering=0) as stream:
        while piece := stream.read(_SLICE):
            size, crc = size + len(piece), zlib.crc32(piece, crc)
    return Checksum(size, crc)


def check_sizes(folder: Path, expected: Checksums) -> None:
    """Raise Damaged if a file is missing or has another size."""
    with damage_if_missing(folder):
        for name, (size, _) in expected.items():
            if os.stat(folder / name).st_size != size:  # noqa: PTH116 - twice as fast as Path.stat for many files
                raise Damaged(f"{folder}: {name} does not have the size it was written with")


def verify_files(folder: Path, expected: Checksums) -> None:
    """Read files again. Raises Damaged if one is missing or not as it was written."""
    with damage_if_missing(folder):
        for name, wanted in expected.items():
            if checksum(folder / name) != wanted:
                raise Damaged(f"{folder}: {name} is not as it was written")


def _crc_line(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)
