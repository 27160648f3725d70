"""Tar archives, read from front to back. Headers are parsed one by one and never trusted for how much to hold.

The standard library's `tarfile` parses a header block here, and writes one. Its reader is not used: it takes extended
headers and maps of sparse files into memory whole, however large an archive says they are.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

BLOCK = 512
END = bytes(2 * BLOCK)
MAX_EXTENDED = 64 * 1024  # a name is far shorter
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


class Broken(ValueError):
    """An archive that cannot be read any further."""


@dataclass(frozen=True, slots=True)
class Member:
    """One entry. `refusal` says why it is no plain file; `read` gives its bytes while it is the current one."""

    name: str
    size: int
    is_folder: bool
    refusal: str | None
    records: dict[str, str]
    read: Callable[[], Iterator[bytes]]


@dataclass(slots=True)
class _Extended:
    """What extended headers say about the entry that follows them."""

    name: str | None = None
    records: dict[str, str] = field(default_factory=dict)


def members(stream: Reader) -> Iterator[Member]:
    """The entries of a tar archive in order; raises Broken where it ends early or makes no sense."""
    extended = _Extended()
    while (info := _header(stream)) is not None:
        if info.size < 0:
            raise Broken("a header says that a file has less than no bytes")
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
    refusal = None if info.type in _PLAIN or info.isdir() else _KINDS.get(info.type, "it is no plain file")
    if any(key.startswith("GNU.sparse.") for key in extended.records):
        refusal = _KINDS[tarfile.GNUTYPE_SPARSE]
    holds = size if info.type not in (*_KINDS, tarfile.DIRTYPE) or info.type == tarfile.GNUTYPE_SPARSE else 0
    left = holds

    def read() -> Iterator[bytes]:
        nonlocal left
        while left:
            piece = _exactly(stream, min(left, _SLICE))
            left -= len(piece)
            yield piece

    name = extended.records.get("path") or extended.name or info.name
    yield Member(name, size, info.isdir(), refusal, extended.records, read)
    for _ in read():  # whoever did not want it has not read it
        pass
    _exactly(stream, -holds % BLOCK)


def _header(stream: Reader) -> tarfile.TarInfo | None:
    block = stream.read(BLOCK)
    if not block:
        return None  # some tools write no end
    if len(block) < BLOCK:
        raise Broken("it ends in the middle of a header")
    if block == bytes(BLOCK):
        return None
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        raise Broken("a header is damaged") from None
    more = info.type == tarfile.GNUTYPE_SPARSE and block[482]
    while more:  # the map of a sparse file goes on in blocks of its own
        more = _exactly(stream, BLOCK)[504]
    return info


def _whole(stream: Reader, size: int) -> bytes:
    if size > MAX_EXTENDED:
        raise Broken(f"an extended header has {size} bytes; {MAX_EXTENDED} are read")
    data = _exactly(stream, size)
    _exactly(stream, -size % BLOCK)
    return data


def _records(data: bytes) -> dict[str, str]:
    """The records `length key=value` of an extended header."""
    found, at = {}, 0
    while at < len(data) and data[at]:
        length, space, _ = data[at : at + 20].partition(b" ")
        if not space or not length.isdigit() or not len(length) + 1 < int(length) <= len(data) - at:
            raise Broken("an extended header is damaged")
        key, equals, value = data[at + len(length) + 1 : at + int(length) - 1].partition(b"=")
        if equals:
            found[_text(key)] = _text(value)
        at += int(length)
    return found


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _size(extended: str | None, plain: int) -> int:
    if extended is None:
        return plain
    if not (extended.isascii() and extended.isdigit() and len(extended) < 20):
        raise Broken("an extended header holds a size that is no number")
    return int(extended)


def _exactly(stream: Reader, size: int) -> bytes:
    parts, left = [], size
    while left:
        piece = stream.read(left)
        if not piece:
            raise Broken("it ends in the middle of a file")
        parts.append(piece)
        left -= len(piece)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def packed(name: str, size: int, moment: datetime | None = None, records: dict[str, str] | None = None) -> bytes:
    """The header of a file in an archive, which its bytes and `padding` follow."""
    info = tarfile.TarInfo(name)
    info.size = size
    info.mtime = int(moment.timestamp()) if moment else 0
    info.pax_headers = records or {}
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def padding(size: int) -> bytes:
    """What fills the last block of a file."""
    return bytes(-size % BLOCK)
