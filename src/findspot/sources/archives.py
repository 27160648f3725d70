"""The files in an archive, one by one. Archives are hostile input: nothing in them is trusted or written to disk."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal

from findspot.sources.files import File, Skipped
from findspot.sources.limits import ArchiveError, Limits, cut_off, past_total, too_large
from findspot.sources.paths import shown
from findspot.sources.sieve import Sieve, Wanted, known_from
from findspot.sources.tars import BLOCK, Broken, Member, Reader, members
from findspot.sources.zips import open_zip

__all__ = ["Archive", "ArchiveError", "Limits", "format_of", "open_archive"]

ArchiveFormat = Literal["zip", "tar", "gzip"]
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06")
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Archive:
    """An open archive. `total` is the number of its entries, where that is known before they are read."""

    total: int | None
    files: Iterator[File | Skipped]


def format_of(head: bytes) -> ArchiveFormat | None:
    """Which kind of archive begins with these bytes (512 of them, if there are as many); None for none."""
    if head.startswith(_ZIP):
        return "zip"
    if head.startswith(_GZIP):
        return "gzip"
    return "tar" if head[257:262] == b"ustar" or _old_tar(head) else None


def _old_tar(head: bytes) -> bool:
    """Old tools wrote no mark; the checksum of the header tells."""
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def open_archive(stream: BinaryIO, limits: Limits) -> Archive | None:
    """The files of an archive; None if the stream holds something else. Raises ArchiveError if it cannot be read."""
    found = format_of(stream.read(BLOCK))
    stream.seek(0)
    if found is None:
        return None
    if found == "zip":
        return Archive(*open_zip(stream, limits))
    counted = _Counted(_gunzipped(stream) if found == "gzip" else stream, limits)
    return Archive(None, _files(counted, limits))


def _gunzipped(stream: BinaryIO) -> Reader:
    try:
        if format_of(gzip.GzipFile(fileobj=stream, mode="rb").read(BLOCK)) != "tar":
            raise ArchiveError(
                "This is compressed with gzip, but no tar archive. Unpack it and import the file itself."
            )
    except (EOFError, OSError, zlib.error):
        raise ArchiveError("The archive is damaged: it cannot be uncompressed.") from None
    stream.seek(0)
    return gzip.GzipFile(fileobj=stream, mode="rb")


class _PastTotal(Exception):
    """More was unpacked than may be."""


class _Counted:
    """A reader that counts what really comes out, headers and unwanted files included."""

    def __init__(self, stream: Reader, limits: Limits) -> None:
        self._stream = stream
        self._left = limits.total

    def read(self, size: int, /) -> bytes:
        try:
            data = self._stream.read(size)
        except (EOFError, OSError, zlib.error):
            raise Broken("it is damaged or cut off") from None
        self._left -= len(data)
        if self._left < 0:
            raise _PastTotal
        return data


def _files(stream: Reader, limits: Limits) -> Iterator[File | Skipped]:
    sieve = Sieve()
    try:
        for number, member in enumerate(members(stream)):
            if number >= limits.entries:
                yield cut_off(f"it holds more than {limits.entries:,} entries")
                return
            found = None if member.is_folder else _file(member, sieve, limits)
            if found is not None:
                yield found
    except Broken as broken:
        yield cut_off(str(broken))
    except _PastTotal:
        yield past_total(limits)


def _file(member: Member, sieve: Sieve, limits: Limits) -> File | Skipped | None:
    if member.refusal:
        return Skipped(shown(member.name), member.refusal)
    wanted = sieve.pick(member.name, known_from(member.records))
    if not isinstance(wanted, Wanted):
        return wanted
    if member.size > limits.file:
        return too_large(wanted.path, limits)
    return File(wanted.name, wanted.path, b"".join(member.read()), wanted.known)
