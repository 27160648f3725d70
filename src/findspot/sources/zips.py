"""Reads zip archives. The central directory is checked before any file is read; sizes in headers are not trusted."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from findspot.sources.file_dates import zip_date
from findspot.sources.file_filter import FileFilter, SelectedFile
from findspot.sources.files import File, Skipped
from findspot.sources.limits import ArchiveError, Limits, too_large, total_exceeded
from findspot.sources.paths import printable

_END = struct.Struct("<4s4H2LH")
_END64_SIZE, _LOCATOR_SIZE = 56, 20
_IN_END64 = 40  # offset of the size of the central directory
_LOCAL_HEADER = 30
_ENCRYPTED, _UTF8 = 0x1, 0x800
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # with the others, the archive decides how much memory is used
_DAMAGED = "The archive is damaged or incomplete: the list of files at the end of the zip cannot be read."
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    OverflowError,
)


def open_zip(stream: BinaryIO, limits: Limits) -> tuple[int, Iterator[File | Skipped]]:
    """Return the number of files and an iterator over them. Raise ArchiveError if the archive is damaged or hostile."""
    archive = _opened(stream, limits)
    listed = [info for info in archive.infolist() if not info.is_dir()]
    return len(listed), _files(archive, listed, limits)


def zip_names(stream: BinaryIO, limits: Limits) -> list[str]:
    """Return the names of the files of an archive. Raise ArchiveError as `open_zip` does."""
    return [_name(info) for info in _opened(stream, limits).infolist() if not info.is_dir()]


def _opened(stream: BinaryIO, limits: Limits) -> zipfile.ZipFile:
    _check_entry_count(stream, limits)
    try:
        archive = zipfile.ZipFile(stream)
    except _UNREADABLE:
        raise ArchiveError(_DAMAGED) from None
    _check_overlap(archive)
    return archive


def _check_entry_count(stream: BinaryIO, limits: Limits) -> None:
    """Count the entries before the list is loaded: a list of millions of entries would fill the memory."""
    size = stream.seek(0, io.SEEK_END)
    start = max(0, size - _END.size - 0xFFFF - _END64_SIZE - _LOCATOR_SIZE)
    stream.seek(start)
    tail = stream.read(size - start)
    at = len(tail) - _END.size
    if at < 0 or tail[at : at + 4] != b"PK\x05\x06" or tail[-2:] != b"\0\0":
        at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + _END.size > len(tail):
        raise ArchiveError(_DAMAGED)
    length = _END.unpack_from(tail, at)[5]
    before = at - _LOCATOR_SIZE - _END64_SIZE
    if before >= 0 and tail[before : before + 4] == b"PK\x06\x06":
        (length,) = struct.unpack_from("<Q", tail, before + _IN_END64)
        at = before
    if length > limits.entries * 1000:
        raise ArchiveError(_too_many(limits))
    stream.seek(max(0, start + at - length))
    if stream.read(length).count(b"PK\x01\x02") > limits.entries:
        raise ArchiveError(_too_many(limits))
    stream.seek(0)


def _too_many(limits: Limits) -> str:
    return f"The archive has more than {limits.entries:,} entries. Split it, or import the folder."


def _check_overlap(archive: zipfile.ZipFile) -> None:
    """Reject entries that share bytes: a zip bomb uses them to unpack to a huge size."""
    end = 0
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise ArchiveError("Entries of the archive overlap, as in a zip bomb. It was not read.")
        end = info.header_offset + _LOCAL_HEADER + info.compress_size
    if end > archive.start_dir:
        raise ArchiveError(_DAMAGED)


def _files(archive: zipfile.ZipFile, listed: list[zipfile.ZipInfo], limits: Limits) -> Iterator[File | Skipped]:
    file_filter, total = FileFilter(), 0
    for number, info in enumerate(listed):
        name = _name(info)
        refusal = _refusal(info)
        selected = Skipped(printable(name), refusal) if refusal else file_filter.select(name)
        if isinstance(selected, SelectedFile):
            found = _read(archive, info, selected, limits)
            total += min(info.file_size, limits.file)  # damaged files count too: they were unpacked
            if total > limits.total:
                yield total_exceeded(limits, len(listed) - number)
                return
            yield found
        elif selected is not None:
            yield selected


def _name(info: zipfile.ZipInfo) -> str:
    """Return the name of an entry. Without the UTF-8 flag the encoding is unknown, but today's tools write UTF-8."""
    if info.flag_bits & _UTF8:
        return info.orig_filename
    return info.orig_filename.encode("cp437").decode("utf-8", "surrogateescape")


def _refusal(info: zipfile.ZipInfo) -> str | None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "it is a link, and links are not followed"
    if kind not in (0, stat.S_IFREG):
        return "it is a device or a pipe, not a file"
    if info.flag_bits & _ENCRYPTED:
        return "it is encrypted; pack it again without a password"
    if info.compress_type not in _METHODS:
        return "its compression method is not supported; pack it again as an ordinary zip"
    return None


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, selected: SelectedFile, limits: Limits) -> File | Skipped:
    if info.file_size > limits.file:
        return too_large(selected.path, limits)
    try:
        with archive.open(info) as stream:
            data = stream.read(limits.file + 1)
    except _UNREADABLE:
        return Skipped(printable(selected.path), "it is damaged in the archive")
    if len(data) > limits.file:
        return too_large(selected.path, limits)
    return File(selected.name, selected.path, data, modified=zip_date(info.date_time, info.extra))
