"""Reads the files of an archive one by one. Archives are hostile input: nothing is trusted or written to disk."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal

from findspot.sources.file_filter import FileFilter, SelectedFile, export_record_from, listed_path
from findspot.sources.files import File, Skipped
from findspot.sources.limits import ArchiveError, Limits, rest_unread, too_large, total_exceeded
from findspot.sources.paths import printable
from findspot.sources.tars import BLOCK, BrokenArchive, Member, Reader, members
from findspot.sources.zips import open_zip, zip_names

__all__ = ["Archive", "ArchiveError", "Limits", "format_of", "listed_paths", "open_archive"]

ArchiveFormat = Literal["zip", "tar", "gzip"]
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06")
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Archive:
    """An open archive. `total` is the number of entries, or None if it is unknown before they are read."""

    total: int | None
    files: Iterator[File | Skipped]


def format_of(head: bytes) -> ArchiveFormat | None:
    """Return the archive format of a file that begins with these bytes (up to 512), or None for other files."""
    if head.startswith(_ZIP):
        return "zip"
    if head.startswith(_GZIP):
        return "gzip"
    return "tar" if head[257:262] == b"ustar" or _is_old_tar(head) else None


def _is_old_tar(head: bytes) -> bool:
    """Recognise a tar without the `ustar` mark by the checksum of its header."""
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def open_archive(stream: BinaryIO, limits: Limits) -> Archive | None:
    """Open an archive, or return None if the stream is not one. Raise ArchiveError if it cannot be read."""
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
                "The file is compressed with gzip but is not a tar archive. Unpack it and import the file itself."
            )
    except (EOFError, OSError, zlib.error):
        raise ArchiveError("The archive is damaged: it cannot be decompressed.") from None
    stream.seek(0)
    return gzip.GzipFile(fileobj=stream, mode="rb")


class _TotalExceeded(Exception):
    """More bytes were unpacked than the limit allows."""


class _Counted:
    """A reader that counts the unpacked bytes, including headers and skipped files."""

    def __init__(self, stream: Reader, limits: Limits) -> None:
        self._stream = stream
        self._left = limits.total

    def read(self, size: int, /) -> bytes:
        try:
            data = self._stream.read(size)
        except (EOFError, OSError, zlib.error):
            raise BrokenArchive("it is damaged or incomplete") from None
        self._left -= len(data)
        if self._left < 0:
            raise _TotalExceeded
        return data


def _files(stream: Reader, limits: Limits) -> Iterator[File | Skipped]:
    file_filter = FileFilter()
    try:
        for number, member in enumerate(members(stream)):
            if number >= limits.entries:
                yield rest_unread(f"it has more than {limits.entries:,} entries")
                return
            found = None if member.is_folder else _file(member, file_filter, limits)
            if found is not None:
                yield found
    except BrokenArchive as broken:
        yield rest_unread(str(broken))
    except _TotalExceeded:
        yield total_exceeded(limits)


def _file(member: Member, file_filter: FileFilter, limits: Limits) -> File | Skipped | None:
    if member.refusal:
        return Skipped(printable(member.name), member.refusal)
    selected = file_filter.select(member.name, export_record_from(member.records))
    if not isinstance(selected, SelectedFile):
        return selected
    if member.size > limits.file:
        return too_large(selected.path, limits)
    return File(selected.name, selected.path, b"".join(member.read()), selected.record, member.modified)


def listed_paths(stream: BinaryIO, limits: Limits) -> set[str]:
    """Return the paths of all importable files of an archive, without reading the files.

    Raise ArchiveError if the archive is incomplete: its other files are not known then.
    """
    found = format_of(stream.read(BLOCK))
    stream.seek(0)
    if found == "zip":
        return {path for name in zip_names(stream, limits) if (path := listed_path(name))}
    counted = _Counted(_gunzipped(stream) if found == "gzip" else stream, limits)
    paths: set[str] = set()
    try:
        for number, member in enumerate(members(counted)):
            if number >= limits.entries:
                raise ArchiveError(f"The archive has more than {limits.entries:,} entries.")
            path = None if member.is_folder else listed_path(member.name, export_record_from(member.records))
            if path is not None:
                paths.add(path)
    except BrokenArchive as broken:
        raise ArchiveError(f"The archive is incomplete: {broken}.") from None
    except _TotalExceeded:
        raise ArchiveError(f"The archive unpacks to more than {limits.total:,} bytes.") from None
    return paths
