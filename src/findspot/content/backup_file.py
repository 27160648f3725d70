"""The file format of backups: frames of rows, each followed by a digest of everything before it (docs/backup.md).

The reader trusts nothing: it checks lengths against limits and the file size, and each block against its digest.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, BinaryIO, TypeAlias

import msgspec

from findspot.models import ColumnKind, TableShape

Row: TypeAlias = tuple[Any, ...]

MAGIC = b"\x89findspot backup\r\n\x1a\n"  # detects a transfer that changed line endings
FORMAT = 1
BLOCK = 1 << 20  # bytes of a block before it is packed; only a single row may be longer
LONGEST_ROW = 1 << 30  # about what either database can hold
_DESCRIPTION = 1 << 20
FRAME_HEAD = struct.Struct("!cHII")  # kind, number of the table, length packed, length unpacked
LIST_HEAD = struct.Struct("!BI")  # MessagePack's marker of a long list, and its length
LIST = 0xDD
_LEVEL = 1  # higher levels take several times as long and save a few per cent
_HEADER, _ROWS, _END = b"H", b"R", b"E"

_int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_TYPES: dict[ColumnKind, Any] = {
    ColumnKind.INTEGER: _int64,
    ColumnKind.REAL: float,
    ColumnKind.BOOLEAN: bool,
    ColumnKind.TEXT: str,
    ColumnKind.BYTES: bytes,
    ColumnKind.TIMESTAMP: Annotated[datetime, msgspec.Meta(tz=True)],
    ColumnKind.JSON: str,
}
_encoder = msgspec.msgpack.Encoder()


class BadBackup(Exception):
    """A file is no backup, is damaged, or does not fit this Findspot. The message says which."""


@dataclass(frozen=True, slots=True)
class Header:
    """The description of a backup, before its rows."""

    findspot: str
    schema: str
    database: str
    created_at: Annotated[datetime, msgspec.Meta(tz=True)]
    tables: tuple[TableShape, ...]


@dataclass(frozen=True, slots=True)
class End:
    """The totals of a backup, after its rows: rows per table, and their unpacked size in bytes."""

    rows: tuple[int, ...]
    size: int


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one table, packed."""

    table: int
    count: int
    size: int
    packed: bytes


def pack(table: int, rows: Sequence[Row]) -> list[Block]:
    """Return rows of one table as blocks. It shares no state, so any thread may run it."""
    blocks, some, size = [], list[bytes](), LIST_HEAD.size
    for row in rows:
        encoded = _encoder.encode(row)
        if some and size + len(encoded) > BLOCK:
            blocks.append(_block(table, some))
            some, size = [], LIST_HEAD.size
        some.append(encoded)
        size += len(encoded)
    return [*blocks, _block(table, some)] if some else blocks


def _block(table: int, rows: Sequence[bytes]) -> Block:
    plain = b"".join((LIST_HEAD.pack(LIST, len(rows)), *rows))
    if len(plain) > LONGEST_ROW:
        raise ValueError("a row is too long for a backup")
    return Block(table, len(rows), len(plain), zlib.compress(plain, _LEVEL))


class Writer:
    """Produces the bytes of a backup in order."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._digest = hashlib.sha256()
        self._rows = [0] * len(header.tables)
        self._size = 0

    def begin(self) -> bytes:
        start = MAGIC + bytes([FORMAT])
        self._digest.update(start)
        return start + self._described(_HEADER, self._header)

    def seal(self, block: Block) -> bytes:
        self._rows[block.table] += block.count
        self._size += block.size
        return self._frame(_ROWS, block.table, block.size, block.packed)

    def end(self) -> bytes:
        return self._described(_END, End(tuple(self._rows), self._size))

    def _described(self, kind: bytes, value: Header | End) -> bytes:
        plain = _encoder.encode(value)
        return self._frame(kind, 0, len(plain), zlib.compress(plain, _LEVEL))

    def _frame(self, kind: bytes, table: int, size: int, packed: bytes) -> bytes:
        head = FRAME_HEAD.pack(kind, table, len(packed), size)
        self._digest.update(head)
        self._digest.update(packed)
        return b"".join((head, packed, self._digest.digest()))


class Reader:
    """Reads a backup of `size` bytes, and raises BadBackup at the first error."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size
        self._digest = hashlib.sha256()
        self._frame_start = 0
        self.position = 0
        self.end: End | None = None
        self._start()
        kind, _, plain = self._frame()
        if kind != _HEADER:
            raise self._damaged()
        self.header = self._decoded(plain, msgspec.msgpack.Decoder(Header))
        self._decoders = [_decoder(table) for table in self.header.tables]

    @property
    def digest(self) -> bytes:
        """The digest of everything read so far. It identifies the backup."""
        return self._digest.digest()

    def blocks(self) -> Iterator[tuple[TableShape, list[Row]]]:
        """Yield every block of rows. After the last one, check the totals and that nothing follows."""
        counts, size, latest = [0] * len(self._decoders), 0, 0
        while True:
            kind, table, plain = self._frame()
            if kind == _END:
                break
            if kind != _ROWS or not latest <= table < len(self._decoders):
                raise self._damaged()
            rows = self._rows(plain, table)
            latest = table
            counts[table] += len(rows)
            size += len(plain)
            yield self.header.tables[table], rows
        self.end = self._decoded(plain, msgspec.msgpack.Decoder(End))
        if self.end != End(tuple(counts), size):
            raise self._damaged()
        if self.position != self._size:
            raise BadBackup(f"The backup was altered: {self._size - self.position} bytes follow its end.")

    def _start(self) -> None:
        start = self._stream.read(len(MAGIC) + 1)
        if start[: len(MAGIC)] != MAGIC[: len(start)] or not start:
            raise BadBackup("This is not a Findspot backup.")
        self.position = len(start)
        if len(start) <= len(MAGIC):
            raise self._truncated()
        if start[-1] != FORMAT:
            raise BadBackup(f"This backup has the format {start[-1]}; this Findspot reads the format {FORMAT}.")
        self._digest.update(start)

    def _frame(self) -> tuple[bytes, int, bytes]:
        self._frame_start = self.position
        head = self._take(FRAME_HEAD.size)
        kind, table, length, size = FRAME_HEAD.unpack(head)
        limit = LONGEST_ROW if kind == _ROWS else _DESCRIPTION
        if not 0 < size <= limit or not 0 < length <= limit:
            raise self._damaged()
        packed = self._take(length)
        self._digest.update(head)
        self._digest.update(packed)
        if self._take(self._digest.digest_size) != self._digest.digest():
            raise self._damaged()
        return kind, table, self._unpacked(packed, size)

    def _take(self, length: int) -> bytes:
        if length > self._size - self.position:
            raise self._truncated()
        taken = self._stream.read(length)
        self.position += len(taken)
        if len(taken) < length:
            raise self._truncated()
        return taken

    def _unpacked(self, packed: bytes, size: int) -> bytes:
        """Unpack, but never more than the announced size."""
        unpacking = zlib.decompressobj()
        try:
            plain = unpacking.decompress(packed, size + 1)
        except zlib.error:
            raise self._damaged() from None
        if len(plain) != size or not unpacking.eof or unpacking.unused_data:
            raise self._damaged()
        return plain

    def _rows(self, plain: bytes, table: int) -> list[Row]:
        """Decode a block. A large one must hold a single row, because rows need far more memory than their bytes."""
        marker, count = LIST_HEAD.unpack_from(plain) if len(plain) >= LIST_HEAD.size else (0, 0)
        if marker != LIST or count == 0 or (len(plain) > BLOCK and count > 1):
            raise self._damaged()
        rows: list[Row] = self._decoded(plain, self._decoders[table])
        return rows

    def _decoded(self, plain: bytes, decoder: "msgspec.msgpack.Decoder[Any]") -> Any:
        try:
            return decoder.decode(plain)
        except (msgspec.DecodeError, RecursionError):
            raise self._damaged() from None

    def _damaged(self) -> BadBackup:
        return BadBackup(
            f"The backup is damaged or was altered: the block at byte {self._frame_start} is not as it was written."
        )

    def _truncated(self) -> BadBackup:
        return BadBackup(f"The backup is cut off: it ends after {self._size} bytes, in the middle of a block.")


def _decoder(table: TableShape) -> "msgspec.msgpack.Decoder[Any]":
    cells = tuple(_TYPES[column.kind] | None for column in table.columns)
    return msgspec.msgpack.Decoder(list.__class_getitem__(tuple.__class_getitem__(cells)))
