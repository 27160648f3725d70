"""Reads tar archives as a stream, and writes tar headers. A header never decides how much memory is used.

The standard library's `tarfile` only parses and writes header blocks here. Its reader is not used: it loads extended
headers and the maps of sparse files completely into memory, whatever size the archive claims.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from findspot.sources.file_dates import date_of

BLOCK = 512
END = bytes(2 * BLOCK)
MAX_EXTENDED = 64 * 1024  # bytes of an extended header; names are far shorter
_SLICE = 256 * 1024
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_KINDS = {
    tarfile.LNKTYPE: "it is a link, and links are not followed",
    tarfile.SYMTYPE: "it is a link, and links are not followed",
    tarfile.CHRTYPE: "it is a device, not a file",
    tarfile.BLKTYPE: "it is a device, not a file",
    tarfile.FIFOTYPE: "it is a pipe, not a file",
    tarfile.GNUTYPE_SPARSE: "it is a sparse file; pack it again without '--sparse'",
}


class Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...


class BrokenArchive(ValueError):
    """An archive that cannot be read any further."""


@dataclass(frozen=True, slots=True)
class Member:
    """One entry. `refusal` says why it is not a regular file. `read` yields its bytes while it is the current entry."""

    name: str
    size: int
    is_folder: bool
    refusal: str | None
    records: dict[str, str]
    modified: datetime | None
    read: Callable[[], Iterator[bytes]]


@dataclass(slots=True)
class _Extended:
    """The extended headers of the entry that follows them."""

    name: str | None = None
    records: dict[str, str] = field(default_factory=dict)


def members(stream: Reader) -> Iterator[Member]:
    """Yield the entries of a tar archive in order. Raise BrokenArchive where it is incomplete or invalid."""
    extended = _Extended()
    while (info := _header(stream)) is not None:
        if info.size < 0:
            raise BrokenArchive("a header has a negative file size")
        if info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
            extended.records |= _records(_whole(stream, info.size))
        elif info.type == tarfile.GNUTYPE_LONGNAME:
            extended.name = _text(_whole(stream, info.size).rstrip(b"\0"))
        elif info.type in (tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK):
            _whole(stream, info.size)
        else:
            yield from _member(stream, info, extended)
            extended = _Extended()


def _member(stream: Reader, info: tarfile.TarInfo, extended: _Extended) -> Iterator[Member]:
    size = _size(extended.records.get("size"), info.size)
    refusal = None if info.type in _PLAIN or info.isdir() else _KINDS.get(info.type, "it is not a regular file")
    if any(key.startswith("GNU.sparse.") for key in extended.records):
        refusal = _KINDS[tarfile.GNUTYPE_SPARSE]
    stored = size if info.type not in (*_KINDS, tarfile.DIRTYPE) or info.type == tarfile.GNUTYPE_SPARSE else 0
    left = stored

    def read() -> Iterator[bytes]:
        nonlocal left
        while left:
            data = _exactly(stream, min(left, _SLICE))
            left -= len(data)
            yield data

    name = extended.records.get("path") or extended.name or info.name
    modified = _modified(extended.records.get("mtime"), info.mtime)
    yield Member(name, size, info.isdir(), refusal, extended.records, modified, read)
    for _ in read():  # skip what the caller did not read
        pass
    _exactly(stream, -stored % BLOCK)


def _header(stream: Reader) -> tarfile.TarInfo | None:
    block = stream.read(BLOCK)
    if not block:
        return None  # some tools do not write the end mark
    if len(block) < BLOCK:
        raise BrokenArchive("it ends in the middle of a header")
    if block == bytes(BLOCK):
        return None
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        raise BrokenArchive("a header is damaged") from None
    more = info.type == tarfile.GNUTYPE_SPARSE and block[482]
    while more:  # the map of a sparse file continues in blocks of its own
        more = _exactly(stream, BLOCK)[504]
    return info


def _whole(stream: Reader, size: int) -> bytes:
    if size > MAX_EXTENDED:
        raise BrokenArchive(f"an extended header has {size} bytes; {MAX_EXTENDED} is the limit")
    data = _exactly(stream, size)
    _exactly(stream, -size % BLOCK)
    return data


def _records(data: bytes) -> dict[str, str]:
    """Parse the records `length key=value` of an extended header."""
    found, at = {}, 0
    while at < len(data) and data[at]:
        length, space, _ = data[at : at + 20].partition(b" ")
        if not space or not length.isdigit() or not len(length) + 1 < int(length) <= len(data) - at:
            raise BrokenArchive("an extended header is damaged")
        key, equals, value = data[at + len(length) + 1 : at + int(length) - 1].partition(b"=")
        if equals:
            found[_text(key)] = _text(value)
        at += int(length)
    return found


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _modified(extended: str | None, plain: float) -> datetime | None:
    try:
        return date_of(plain if extended is None else float(extended))
    except ValueError:
        return None


def _size(extended: str | None, plain: int) -> int:
    if extended is None:
        return plain
    if not (extended.isascii() and extended.isdigit() and len(extended) < 20):
        raise BrokenArchive("an extended header has a size that is not a number")
    return int(extended)


def _exactly(stream: Reader, size: int) -> bytes:
    parts, left = [], size
    while left:
        data = stream.read(left)
        if not data:
            raise BrokenArchive("it ends in the middle of a file")
        parts.append(data)
        left -= len(data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def tar_header(name: str, size: int, modified: datetime | None = None, records: dict[str, str] | None = None) -> bytes:
    """Return the tar header of a file. The file's bytes and `padding` follow it."""
    info = tarfile.TarInfo(name)
    info.size = size
    info.mtime = int(modified.timestamp()) if modified else 0
    info.pax_headers = records or {}
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def padding(size: int) -> bytes:
    """Return the bytes that fill the last block of a file."""
    return bytes(-size % BLOCK)
